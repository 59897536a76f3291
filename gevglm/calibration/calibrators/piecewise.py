"""Piecewise logistic calibration: log-odds that are linear between a few knots, which the scores choose."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gevglm.calibration._logistic import LogisticFit, bernoulli_llf
from gevglm.calibration.bins import grouped, weighted_quantile
from gevglm.calibration.calibrators._knots import CRITERIA, KnotSearch, fit_pieces, ramps
from gevglm.calibration.calibrators.base import LogisticCalibrator, checked_penalty
from gevglm.calibration.sample import Sample, vector
from gevglm.data.observations import Part
from gevglm.exceptions import GevglmWarning, InvalidDataError, unknown_option, warn, whole_number
from gevglm.inference.folds import make_folds

CHOICES = ("cv", "holdout")
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
MOST = 20  # pieces: their knots are 5 % quantiles of the scores
PENALTY_GROUPS = 5000  # groups of neighbouring scores by which penalties are compared
FOLDS = {"cv": 5, "holdout": 3}


class PiecewiseLogistic(LogisticCalibrator):
    r"""Logistic regression on a piecewise linear function of the score.

    With knots :math:`\theta_0 < \dots < \theta_K` and the hat functions :math:`l_j` on them,

    .. math:: \mathrm{logit}\,P(y = 1 \mid s) = f(s) = \sum_{j=0}^K w_j l_j(s)

    minimises the sum of the log losses plus :math:`\lambda \sum_{j=2}^K (b_j - b_{j-1})^2`, where
    :math:`b_j = (w_j - w_{j-1})/(\theta_j - \theta_{j-1})` is the slope of piece j. For given knots this is convex.

    Parameters
    ----------
    pieces : int or "auto"
        Number of pieces K. 3: the two inner knots are the best pair of a decile of the non-events' and one of the events' scores.
        Other numbers: knots are added one by one from the 5, 10, ..., 95 % quantiles of all scores. "auto": the same until
        `criterion` says enough.
    knots : array_like, optional
        Inner knots, instead of a search.
    penalty : float, "cv" or "holdout"
        :math:`\lambda`; or chosen by the log loss of 5-fold cross-validation, or of a third of the data held out, the knots chosen anew
        each time. The candidates are 0.01, 0.1, 1, 10 and 100 times the variance of the scores, so that the unit of the scores does not matter.
    criterion : {"1%", "aic", "bic"}
        With ``pieces="auto"``: a knot is added while it improves the log-likelihood by 1 % (the paper's rule), or improves AIC or BIC.
    monotone : bool
        Require that no slope is negative.
    rng : int or Generator
        Seed of the folds behind the choice of the penalty, which have their share of events each.

    Attributes
    ----------
    params, bse : Series
        Log-odds at the smallest score and slope of each piece, with standard errors given knots and penalty.
    knots_ : ndarray of shape (K + 1,)
        From the smallest to the largest score.
    values_ : ndarray of shape (K + 1,)
        Log-odds at the knots, the paper's :math:`w_j`.
    slopes_ : ndarray of shape (K,)
    penalty_ : float
        The :math:`\lambda` used.
    path_ : DataFrame or None
        Candidate penalties and their log loss on held-out rows.
    monotone_ : bool
        Whether the fitted map never falls.

    Notes
    -----
    Outside the knots the end pieces continue, so that the outermost knots do not matter for the fit. With more than 500 distinct
    scores the search for knots looks at 500 groups of neighbouring ones (5,000 for the penalty); the final fit uses every row.

    References
    ----------
    Zhang and Yang (2004), Probabilistic score estimation with piecewise logistic regression, ICML.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=2000)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(3 - 2 * np.maximum(scores, 0)))
    >>> fitted = PiecewiseLogistic(penalty=1.0).fit(scores, y)
    >>> fitted.slopes_.round(1), fitted.monotone_
    (array([0.4, 1.9, 1.8]), True)
    """

    word = "piecewise"
    _options = ("pieces", "penalty", "criterion", "monotone")

    def __init__(
        self,
        pieces: int | str = 3,
        *,
        knots: ArrayLike | None = None,
        penalty: float | str = "cv",
        criterion: str = "1%",
        monotone: bool = False,
        rng: int | np.random.Generator = 0,
    ):
        if isinstance(pieces, str) and pieces != "auto":
            raise unknown_option("pieces", pieces, ["auto"])
        if criterion not in CRITERIA:
            raise unknown_option("criterion", criterion, CRITERIA)
        if isinstance(penalty, str) and penalty not in CHOICES:
            raise unknown_option("penalty", penalty, CHOICES)
        self.pieces = pieces if isinstance(pieces, str) else whole_number("pieces", pieces, 1, MOST)
        self.knots = None if knots is None else np.sort(vector(knots, "knots"))
        self.penalty = penalty if isinstance(penalty, str) else checked_penalty(penalty)
        self.criterion, self.monotone, self.rng = criterion, bool(monotone), rng

    # -- fitting -------------------------------------------------------------------------------

    def _fit(self, sample: Sample) -> None:
        asked = 2 if isinstance(self.pieces, str) else self.pieces
        needed = asked if self.knots is None else len(self.knots) + 1
        sample.need_distinct(f"{needed} pieces", needed + 1)
        center = sample.mean(sample.p)
        size = float(np.sqrt(sample.mean((sample.p - center) ** 2)))
        unit = Sample(sample.y, (sample.p - center) / size, sample.weight)
        inner = None if self.knots is None else self._inside((self.knots - center) / size, unit)

        self.path_, penalty = None, self.penalty
        if isinstance(penalty, str):
            self.path_ = self._path(unit, inner, FOLDS[penalty], 1 if penalty == "holdout" else FOLDS[penalty])
            self.path_["penalty"] *= size**2
            penalty = float(self.path_["penalty"][self.path_["log_loss"].idxmin()])
        if inner is None:
            inner = self._search(unit, penalty / size**2)
        if self.knots is None and self.pieces != "auto" and len(inner) < asked - 1:
            room = len(inner) + 1
            warn(f"{asked} pieces were asked for, but ties among the scores leave room for {room}.", GevglmWarning)
        fit, slopes = fit_pieces(unit, inner, penalty / size**2, self.monotone, "piecewise logistic calibration")

        ends = np.array([unit.p.min(), unit.p.max()])
        self.knots_ = center + size * np.concatenate([ends[:1], inner, ends[1:]])
        self.slopes_ = slopes / size
        self.penalty_ = penalty
        scale = np.append(1.0, np.full(len(slopes), 1.0 / size))
        names = ["log-odds at the lowest score", *(f"slope of piece {j}" for j in range(1, len(slopes) + 1))]
        self._keep(names, LogisticFit(fit.params * scale, fit.cov * scale[:, None] * scale, fit.llf))

    def _inside(self, knots: NDArray, unit: Sample) -> NDArray:
        low, high = unit.p.min(), unit.p.max()
        outside = (knots <= low) | (knots >= high)
        if outside.any() or (np.diff(knots) == 0.0).any():
            raise InvalidDataError(
                f"inner knots must differ and lie between the smallest and the largest score; {int(outside.sum())} of "
                f"{len(knots)} do not lie there."
            )
        return knots

    def _search(self, unit: Sample, penalty: float) -> NDArray:
        search = KnotSearch(unit, penalty, self.monotone)
        if self.pieces == 3:
            deciles = np.arange(1, 10) / 10.0
            others, events = unit.weight * (1.0 - unit.y), unit.weight * unit.y
            return search.best_pair(
                *(weighted_quantile(unit.p[w > 0.0], w[w > 0.0], deciles) for w in (others, events))
            )
        candidates = weighted_quantile(unit.p, unit.weight, np.arange(1, MOST) / MOST)
        if isinstance(self.pieces, str):
            return search.climb(candidates, len(candidates), self.criterion)
        return search.climb(candidates, self.pieces - 1, None)

    def _path(self, unit: Sample, given: NDArray | None, folds: int, rounds: int) -> pd.DataFrame:
        """Log loss of held-out rows for each candidate penalty."""
        rarest = min(unit.events, unit.total - unit.events)
        if rarest < 2:
            raise InvalidDataError(
                f"a penalty chosen by held-out observations needs two of each outcome, got {rarest:g} of one; give penalty=a number."
            )
        # by chance, not in the order of scores: it would put the same noise into every fold
        counts = unit.weight if (unit.weight == np.rint(unit.weight)).all() else None
        parts = make_folds(unit.y, folds, self.rng, counts=counts, each_outcome=False).parts
        losses = np.zeros((rounds, len(PENALTIES)))
        for held in range(rounds):
            train, test = (_condensed(unit, part) for part in parts[held])
            train.need_both_outcomes("the choice of the penalty").need_distinct("the choice of the penalty")
            for j, penalty in enumerate(PENALTIES):
                inner = self._search(train, penalty) if given is None else given
                fit, _ = fit_pieces(train, inner, penalty, self.monotone, "the choice of the penalty")
                linear = ramps(test.p, inner, train.p.min()) @ fit.params
                losses[held, j] = -bernoulli_llf(test.y, linear, test.weight) / test.total
        return pd.DataFrame({"penalty": np.array(PENALTIES), "log_loss": losses.mean(axis=0)})

    # -- what was fitted -----------------------------------------------------------------------

    def _log_odds(self, scores: NDArray) -> NDArray:
        return ramps(scores, self.knots_[1:-1], self.knots_[0]) @ self.params.to_numpy()

    @property
    def values_(self) -> NDArray:
        steps = self.slopes_ * np.diff(self.knots_)
        return self.params.iloc[0] + np.concatenate([[0.0], np.cumsum(steps)])

    @property
    def monotone_(self) -> bool:
        return bool((self.slopes_ >= 0.0).all())

    def _facts(self) -> dict[str, str]:
        return super()._facts() | {
            "Penalty": f"{self.penalty_:.4g}",
            "Monotone": "yes" if self.monotone_ else "NO",
            "Inner knots": ", ".join(f"{knot:.4g}" for knot in self.knots_[1:-1]) or "none",
        }

    def _notes(self) -> list[str]:
        notes = ["Standard errors take knots and penalty as given."]
        if not self.monotone_:
            falling = [str(j) for j, slope in enumerate(self.slopes_, 1) if slope < 0.0]
            notes.append(
                f"The probability falls with the score in piece {', '.join(falling)}; monotone=True prevents it."
            )
        elif self.monotone and (self.slopes_ == 0.0).any():
            notes.append("Slopes at the bound 0 have no standard error.")
        return notes


def _condensed(sample: Sample, part: Part) -> Sample:
    """Some observations, neighbouring scores put together: enough to compare penalties by."""
    y, counts = part.outcomes(sample.y)
    weight = sample.weight[part.rows] if counts is None else counts
    groups = grouped(sample.p[part.rows], y, weight, PENALTY_GROUPS)
    return Sample(groups.rate, groups.score, groups.weight)
