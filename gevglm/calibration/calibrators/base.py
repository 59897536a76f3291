"""What calibrators share: fitting, predicting and summaries, standard errors of those that are regressions."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from scipy.stats import norm
from statsmodels.iolib.summary import Summary

from gevglm.calibration._logistic import LogisticFit
from gevglm.calibration._summary_table import summary_table
from gevglm.calibration.estimates import checked_level
from gevglm.calibration.sample import Sample, vector
from gevglm.calibration.sample import scores as checked_scores
from gevglm.display.brief import line_in_html
from gevglm.exceptions import GevglmError, InvalidOptionError


class Calibrator(ABC):
    """A map from scores to probabilities; a subclass has ``_fit`` and ``_log_odds``.

    Attributes
    ----------
    word : str
        By which it is asked for; a subclass that has one is known by it from then on.
    params : Series
        The fitted parameters, where there are any.
    n, n_events : float
        Observations and events it was fitted to.
    of_probabilities : bool
        Whether its scores have to be probabilities.
    """

    words: ClassVar[dict[str, type[Calibrator]]] = {}
    word: ClassVar[str] = ""
    of_probabilities: ClassVar[bool] = False
    params: pd.Series
    n: float
    n_events: float

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if vars(cls).get("word"):
            Calibrator.words[cls.word] = cls

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

    def _repr_html_(self) -> str:
        return self.summary().as_html() if hasattr(self, "n") else line_in_html(repr(self))

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
            {"estimate": self.params, "se": self.bse, "ci_lower": self.params - reach, "ci_upper": self.params + reach}
        )

    def _facts(self) -> dict[str, str]:
        return {"Log-likelihood": f"{self.llf:.6g}"}


def checked_penalty(penalty: float) -> float:
    """Return a penalty if it is one."""
    if isinstance(penalty, bool) or not (isinstance(penalty, Real) and 0.0 <= penalty < np.inf):
        raise InvalidOptionError(f"penalty={penalty!r} is not a penalty; give a number from 0.")
    return float(penalty)
