"""What calibrators share, and the logistic, Platt's, the beta and the isotonic one."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from numbers import Real
from typing import ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit
from scipy.stats import norm
from statsmodels.iolib.summary import Summary

from gevglm.calibration._logistic import LogisticFit, Quadratic, bernoulli_llf, fit_logistic
from gevglm.calibration._summary_table import summary_table
from gevglm.calibration.bins import grouped
from gevglm.calibration.estimates import checked_level
from gevglm.calibration.sample import Sample, vector
from gevglm.calibration.sample import scores as checked_scores
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError, unknown_option


class Calibrator(ABC):
    """A map from scores to probabilities; a subclass has ``_fit`` and ``_log_odds``.

    Attributes
    ----------
    word : str
        By which it is asked for, if it is one of the package.
    params : Series
        The fitted parameters, where there are any.
    n, n_events : float
        Observations and events it was fitted to.
    of_probabilities : bool
        Whether its scores have to be probabilities.
    """

    word: ClassVar[str] = ""
    of_probabilities: ClassVar[bool] = False
    params: pd.Series
    n: float
    n_events: float

    def fit(self, scores: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Fit the map.

        Parameters
        ----------
        scores : array_like
            Scores of any classifier, better of cases it was not fitted to.
        y : array_like
            Outcomes, 0 or 1.
        weights : array_like, optional
            How many observations each row stands for.

        Returns
        -------
        self
        """
        name = type(self).__name__
        sample = checked_scores(y, scores, weights).need_counts(f"{name} calibration")
        sample.need_distinct(f"{name} calibration")
        self.n, self.n_events = sample.total, sample.events
        self._fit(sample)
        return self

    def predict(self, scores: ArrayLike) -> NDArray:
        """Return the probabilities of scores."""
        return expit(self.log_odds(scores))

    def log_odds(self, scores: ArrayLike) -> NDArray:
        """Return the log-odds of scores."""
        return self._log_odds(self._checked(scores))

    def _checked(self, scores: ArrayLike) -> NDArray:
        self._need_fit()
        return vector(scores, "scores")

    def _need_fit(self) -> None:
        if not hasattr(self, "n"):
            raise GevglmError(f"{type(self).__name__} is not fitted yet; call fit(scores, y) first.")

    @abstractmethod
    def _fit(self, sample: Sample) -> None:
        """Fit the map to outcomes ``sample.y`` and scores ``sample.p`` with weights ``sample.weight``."""

    @abstractmethod
    def _log_odds(self, scores: NDArray) -> NDArray:
        """Return the log-odds of scores that are finite numbers."""

    # -- what was fitted -----------------------------------------------------------------------

    def summary_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return the parameters, with standard errors and limits where they exist."""
        self._need_fit()
        return pd.DataFrame({"estimate": self.params})

    def summary(self) -> Summary:
        """Summarise the fit."""
        self._need_fit()
        facts = {
            "Calibrator": repr(self),
            "Observations": f"{self.n:,.10g}",
            "Events": f"{self.n_events:,.10g}",
        } | self._facts()
        return summary_table("Calibration of scores", facts, self.summary_frame(), self._notes())

    def _facts(self) -> dict[str, str]:
        return {}

    def _notes(self) -> list[str]:
        return []

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        options = {name: getattr(self, name) for name in self._options}
        changed = [f"{name}={value!r}" for name, value in options.items() if value != defaults[name].default]
        return f"{type(self).__name__}({', '.join(changed)})"

    _options: tuple[str, ...] = ()


class LogisticCalibrator(Calibrator):
    """A calibrator whose log-odds are linear in its parameters, so that it has standard errors.

    Attributes
    ----------
    params, bse : Series
        Parameters and their standard errors.
    llf : float
        Log-likelihood.
    """

    llf: float
    _cov: NDArray

    def _keep(self, names: list[str], fit: LogisticFit) -> None:
        self.params, self.llf, self._cov = pd.Series(fit.params, index=names), fit.llf, fit.cov

    @property
    def bse(self) -> pd.Series:
        return pd.Series(np.sqrt(np.diagonal(self._cov)), index=self.params.index)

    def cov_params(self) -> pd.DataFrame:
        """Return the covariance matrix of the parameters."""
        return pd.DataFrame(self._cov, index=self.params.index, columns=self.params.index)

    def summary_frame(self, level: float = 0.95) -> pd.DataFrame:
        self._need_fit()
        reach = norm.isf((1.0 - checked_level(level)) / 2.0) * self.bse
        return pd.DataFrame(
            {
                "estimate": self.params,
                "se": self.bse,
                "ci_lower": self.params - reach,
                "ci_upper": self.params + reach,
            }
        )

    def _facts(self) -> dict[str, str]:
        return {"Log-likelihood": f"{self.llf:.6g}"}


class Logistic(LogisticCalibrator):
    r"""Logistic regression on the score: Cox's recalibration, if the score is the log-odds of a prediction.

    .. math:: \mathrm{logit}\,P(y = 1 \mid s) = a s + b

    Parameters
    ----------
    penalty : float
        The :math:`\lambda` of the ridge penalty :math:`\lambda (a^2 + b^2)`, added to the sum of the log losses.

    References
    ----------
    Cox (1958), Biometrika 45, 562-565.

    Examples
    --------
    >>> logistic = Logistic().fit([-2, -1, 0, 0.5, 1, 2], [0, 0, 1, 0, 1, 1])
    >>> logistic.predict([0]).round(3)
    array([0.42])
    """

    word = "logistic"
    _options: tuple[str, ...] = ("penalty",)

    def __init__(self, *, penalty: float = 0.0):
        self.penalty = checked_penalty(penalty)

    def _targets(self, sample: Sample) -> NDArray:
        return sample.y

    def _fit(self, sample: Sample) -> None:
        # a large common part of the scores would drown the rest
        center = 0.0 if self.penalty else sample.mean(sample.p)
        fit = fit_logistic(
            np.column_stack([np.ones_like(sample.p), sample.p - center]),
            self._targets(sample),
            sample.weight,
            what=f"{type(self).__name__} calibration",
            penalty=Quadratic(self.penalty * np.eye(2)) if self.penalty else None,
            advice="The scores separate the outcomes; use Platt(smoothed=True) or a penalty.",
        )
        llf = bernoulli_llf(sample.y, fit.params[0] + fit.params[1] * (sample.p - center), sample.weight)
        uncentred = np.array([[1.0, -center], [0.0, 1.0]])
        fit = LogisticFit(uncentred @ fit.params, uncentred @ fit.cov @ uncentred.T, llf)
        self._keep(["intercept", "slope"], fit)

    def _log_odds(self, scores: NDArray) -> NDArray:
        return self.params["intercept"] + self.params["slope"] * scores

    def _notes(self) -> list[str]:
        return ["Penalised: the intervals are approximate."] if self.penalty else []


class Platt(Logistic):
    r"""Logistic regression on the score by smoothed outcomes, which keep the estimates finite.

    Events count as :math:`(N_+ + 1)/(N_+ + 2)` and the others as :math:`1/(N_- + 2)`.

    Parameters
    ----------
    smoothed : bool
        Whether the outcomes are smoothed; :class:`~gevglm.calibration.Logistic` if not.
    penalty : float
        See :class:`~gevglm.calibration.Logistic`.

    References
    ----------
    Platt (1999), Advances in Large Margin Classifiers, 61-74.

    Examples
    --------
    >>> platt = Platt().fit([1, 2, 3, 4], [0, 0, 1, 1])
    >>> platt.predict([1, 4]).round(3)
    array([0.204, 0.796])
    """

    word = "platt"
    _options = ("smoothed", "penalty")

    def __init__(self, *, smoothed: bool = True, penalty: float = 0.0):
        super().__init__(penalty=penalty)
        self.smoothed = bool(smoothed)

    def _targets(self, sample: Sample) -> NDArray:
        if not self.smoothed:
            return sample.y
        others = sample.total - sample.events
        return np.where(sample.y == 1.0, (sample.events + 1.0) / (sample.events + 2.0), 1.0 / (others + 2.0))


class Beta(LogisticCalibrator):
    r"""Beta calibration of scores between 0 and 1.

    .. math:: \mathrm{logit}\,P(y = 1 \mid s) = a \ln s - b \ln(1 - s) + c, \quad a, b \ge 0

    Parameters
    ----------
    parameters : {"abm", "am"}
        All three free, or a = b (Platt's calibration of the log-odds).
    clip : float
        Scores are first moved to [clip, 1 - clip]; with ``clip=0``, scores of exactly 0 or 1 are refused.

    Notes
    -----
    A coefficient that would be negative is 0, so that the map increases; it then has no standard error.

    References
    ----------
    Kull, Silva Filho and Flach (2017), Electronic Journal of Statistics 11, 5052-5080.
    """

    word = "beta"
    of_probabilities = True
    _options = ("parameters", "clip")
    VARIANTS = ("abm", "am")

    def __init__(self, parameters: str = "abm", *, clip: float = 1e-6):
        if parameters not in self.VARIANTS:
            raise unknown_option("parameters", parameters, self.VARIANTS)
        if not 0.0 <= clip < 0.5:
            raise InvalidOptionError(f"clip={clip!r} must be at least 0 and less than 0.5.")
        self.parameters, self.clip = parameters, float(clip)

    def _columns(self, scores: NDArray) -> NDArray:
        """Constant, ln s and -ln(1 - s); the constant and their sum for a = b."""
        outside = (scores < -self.clip) | (scores > 1.0 + self.clip)
        if outside.any():
            raise InvalidDataError(
                f"beta calibration needs scores between 0 and 1; {int(outside.sum())} of {len(outside)} are not "
                f"(the first is {scores[outside][0]:g})."
            )
        clipped = np.clip(scores, self.clip, 1.0 - self.clip)
        end = (clipped == 0.0) | (clipped == 1.0)
        if end.any():
            raise InvalidDataError(
                f"{int(end.sum())} of {len(end)} scores are exactly 0 or 1, where beta calibration is infinite; use Beta(clip=1e-6)."
            )
        low, high = np.log(clipped), -np.log1p(-clipped)
        return np.column_stack([np.ones_like(low), *((low, high) if self.parameters == "abm" else (low + high,))])

    def _fit(self, sample: Sample) -> None:
        if self.parameters == "abm":
            sample.need_distinct("beta calibration with three parameters", 3)
        columns = self._columns(sample.p)
        names = ["c", "a", "b"] if self.parameters == "abm" else ["c", "a"]
        slopes = range(1, len(names))
        tried = [self._restricted(columns, sample, list(slopes))]
        if (tried[0].params[1:] < 0.0).any():
            tried = [self._restricted(columns, sample, keep) for keep in ([[1], [2], []] if len(names) == 3 else [[]])]
        feasible = [fit for fit in tried if (fit.params[1:] >= 0.0).all()]
        self._keep(names, max(feasible, key=lambda fit: fit.llf))

    def _restricted(self, columns: NDArray, sample: Sample, keep: list[int]) -> LogisticFit:
        """Fit with the other slopes at 0."""
        used = [0, *keep]
        fit = fit_logistic(
            columns[:, used],
            sample.y,
            sample.weight,
            what="beta calibration",
            advice="The scores separate the outcomes.",
        )
        params, cov = np.zeros(columns.shape[1]), np.full((columns.shape[1],) * 2, np.nan)
        params[used], cov[np.ix_(used, used)] = fit.params, fit.cov
        return LogisticFit(params, cov, fit.llf)

    def _log_odds(self, scores: NDArray) -> NDArray:
        return self._columns(scores) @ self.params.to_numpy()

    def _notes(self) -> list[str]:
        zero = [name for name in self.params.index[1:] if self.params[name] == 0.0]
        return [f"At the bound 0: {', '.join(zero)}."] if zero else []


class Isotonic(Calibrator):
    """Isotonic regression of the outcomes on the score: the best of all increasing maps, in-sample.

    Parameters
    ----------
    increasing : bool
        Whether higher scores mean more events.
    interpolate : bool
        Join the levels linearly, or let each level reach to the next score.

    Attributes
    ----------
    blocks : DataFrame
        One row per level: ``score_min``, ``score_max``, ``rate``.

    Notes
    -----
    The lowest level is often exactly 0 and the highest 1, so that the log loss of new cases may be infinite.
    """

    word = "isotonic"
    _options = ("increasing", "interpolate")
    blocks: pd.DataFrame

    def __init__(self, *, increasing: bool = True, interpolate: bool = True):
        self.increasing, self.interpolate = bool(increasing), bool(interpolate)

    def _fit(self, sample: Sample) -> None:
        groups = grouped(sample.p, sample.y, sample.weight, len(sample.p))
        fit = isotonic_regression(groups.rate, weights=groups.weight, increasing=self.increasing)
        starts = np.flatnonzero(np.append(True, np.diff(fit.x) != 0.0))
        ends = np.append(starts[1:], len(fit.x)) - 1
        self.blocks = pd.DataFrame(
            {"score_min": groups.score[starts], "score_max": groups.score[ends], "rate": fit.x[starts]}
        )

    def predict(self, scores: ArrayLike) -> NDArray:
        """Return the probabilities of scores."""
        scores, rate = self._checked(scores), self.blocks["rate"].to_numpy()
        if self.interpolate:
            corners = self.blocks[["score_min", "score_max"]].to_numpy().ravel()
            return np.interp(scores, corners, np.repeat(rate, 2))
        level = np.searchsorted(self.blocks["score_min"].to_numpy(), scores, side="right") - 1
        return rate[np.maximum(level, 0)]

    def _log_odds(self, scores: NDArray) -> NDArray:
        return logit(self.predict(scores))

    def summary_frame(self, level: float = 0.95) -> pd.DataFrame:
        self._need_fit()
        return self.blocks

    def _facts(self) -> dict[str, str]:
        return {"Levels": str(len(self.blocks))}


def checked_penalty(penalty: float) -> float:
    """Return a penalty if it is one."""
    if isinstance(penalty, bool) or not (isinstance(penalty, Real) and 0.0 <= penalty < np.inf):
        raise InvalidOptionError(f"penalty={penalty!r} is not a penalty; give a number from 0.")
    return float(penalty)
