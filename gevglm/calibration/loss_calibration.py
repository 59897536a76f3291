"""Loss calibration: whether the scores of a class-weighted learner lie where its loss wants them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlog1py, xlogy

from gevglm.calibration.bins import binned
from gevglm.calibration.corp import reliability
from gevglm.calibration.correction import ClassWeight, loss_corrected, optimal_score, weight_odds
from gevglm.calibration.cox import cox_calibration
from gevglm.calibration.estimates import CalibrationTest
from gevglm.calibration.sample import Sample, predictions
from gevglm.calibration.smooth import curve_grid
from gevglm.display.brief import Brief
from gevglm.exceptions import unknown_option

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class LossCalibrationCurve(Brief):
    r"""Share of events against score, beside the curve of a loss-calibrated learner.

    Attributes
    ----------
    bins : DataFrame
        One row per bin: ``score`` (mean), ``rate`` (share of events) with ``lower`` and ``upper`` limits (Wilson), ``n``, ``events``,
        ``corrected`` (mean loss-corrected score, which is the share of events under loss calibration).
    score, theory : ndarray
        The theoretical curve: scores, and the share of events at them.
    beta1 : float
        Weight of events among both.
    level : float
        Coverage of the limits, and of the band.
    corp : DataFrame or None
        With a band: ``score``, ``rate`` (the isotonic regression of events on scores), and ``lower`` and ``upper``, between which
        the latter lies at every score with probability `level` if the learner is loss-calibrated.
    """

    bins: pd.DataFrame
    score: NDArray
    theory: NDArray
    beta1: float
    level: float
    corp: pd.DataFrame | None = None

    @property
    def n_without_events(self) -> int:
        """Bins in which no event happened, whose rate has no logarithm."""
        return int((self.bins["events"] == 0).sum())

    def plot(self, ax: Axes | None = None, *, scale: str = "log", label: str | None = None) -> Axes:
        """Draw the curve; see :func:`gevglm.calibration.plot_loss_calibration`."""
        from gevglm.plots.calibration import plot_loss_calibration

        return plot_loss_calibration({label or f"$\\beta_1$ = {self.beta1:.3g}": self}, ax=ax, scale=scale)


def loss_calibration_curve(
    y: ArrayLike,
    p: ArrayLike,
    weight: ClassWeight,
    *,
    weights: ArrayLike | None = None,
    bins: int = 10,
    by: str = "mass",
    level: float = 0.95,
    band: bool = False,
    resamples: int = 500,
    rng: int | np.random.Generator | None = None,
) -> LossCalibrationCurve:
    r"""Calibration curve of a class-weighted learner, beside the theoretical one.

    A loss-calibrated learner with weight :math:`\beta_1` on events has the score
    :math:`c(\gamma) = \beta_1 \gamma/(1 - \beta_1 - \gamma + 2 \beta_1 \gamma)` where the share of events is :math:`\gamma`.

    Parameters
    ----------
    y, p : array_like
        Outcomes 0 or 1, and scores in [0, 1].
    weight : float or dict
        :math:`\beta_1`, or class weights ``{0: w0, 1: w1}`` (see :func:`loss_corrected`).
    weights : array_like, optional
        How many observations each row stands for.
    bins : int
    by : {"mass", "width"}
        Bins of equal numbers of observations (deciles, as in the paper), or of equal width.
    level : float
        Coverage of the limits of the shares of events.
    band : bool
        Whether to add a curve without bins, with the band in which it lies under loss calibration: the reliability curve of the
        loss-corrected scores (:func:`reliability`), which are calibrated if and only if the scores are loss-calibrated.
    resamples, rng : int, int or Generator
        Behind the band.

    References
    ----------
    Caplin, Martin and Marx (2022), Calibrating for class weights by modeling machine learning, Figures 1 to 4.
    """
    odds = weight_odds(weight)
    sample = predictions(y, p, weights)
    cells = binned(sample, bins, by)
    corrected = np.bincount(cells.index, sample.weight * loss_corrected(sample.p, weight)) / cells.weight
    frame = cells.table(level).assign(corrected=corrected)
    grid = curve_grid(sample.p)
    theory = np.asarray(loss_corrected(grid, weight))
    corp = _without_bins(sample, weight, level, resamples, rng) if band else None
    return LossCalibrationCurve(frame, grid, theory, odds / (1.0 + odds), level, corp)


def _without_bins(
    sample: Sample, weight: ClassWeight, level: float, resamples: int, rng: int | np.random.Generator | None
) -> pd.DataFrame:
    """Return the isotonic curve and its band, at scores."""
    corrected = loss_corrected(sample.p, weight)
    found = reliability(
        sample.y, corrected, sample.weight, band="consistency", level=level, resamples=resamples, rng=rng
    )
    assert found.band is not None, "a band was asked for"
    x = found.band.x
    columns = {"score": optimal_score(x, weight), "rate": found.calibrated(x)}
    return pd.DataFrame(columns | {"lower": found.band.lower, "upper": found.band.upper})


def switching_gain(
    y: ArrayLike,
    p: ArrayLike,
    weight: ClassWeight,
    *,
    weights: ArrayLike | None = None,
    loss: str = "log",
    bins: int | None = 10,
) -> pd.DataFrame:
    r"""What wholesale switching of scores would save: the definition of loss calibration as a check.

    Scores are loss-calibrated if no other score :math:`a'` in the place of all scores a lowers the weighted loss,

    .. math:: a \in \operatorname{argmin}_{a'} \sum_y P(a, y) \beta_y L(a', y).

    With a share of events :math:`\gamma` among the rows of a score, the best one is :math:`c(\gamma)` of :func:`optimal_score`.

    Parameters
    ----------
    y, p, weight, weights
        See :func:`loss_calibration_curve`.
    loss : {"log", "squared"}
        L; the best scores are the same for both.
    bins : int or None
        Groups of neighbouring scores that are switched together; None for the distinct scores themselves.

    Returns
    -------
    DataFrame
        One row per group: mean ``score``, ``rate`` of events, ``best`` score, ``n``, and the ``gain``, the weighted loss per
        observation that switching the group to its best score saves. The gains add up to what loss calibration is short of; by
        chance alone they are about (number of groups)/2n of the log loss.

    References
    ----------
    Caplin, Martin and Marx (2022), Calibrating for class weights by modeling machine learning, Definition 2.
    """
    if loss not in SWITCHED:
        raise unknown_option("loss", loss, SWITCHED)
    sample, odds = predictions(y, p, weights), weight_odds(weight)
    places = np.unique(sample.p, return_inverse=True)[1] if bins is None else binned(sample, bins, "mass").index
    n = np.bincount(places, sample.weight)
    score, rate = (np.bincount(places, sample.weight * values) / n for values in (sample.p, sample.y))
    best = np.asarray(optimal_score(rate, weight))
    beta = np.where(sample.y == 1.0, odds, 1.0) / (1.0 + odds)
    with np.errstate(divide="ignore", invalid="ignore"):
        saved = beta * (SWITCHED[loss](sample.y, sample.p) - SWITCHED[loss](sample.y, best[places]))
    gain = np.bincount(places, sample.weight * saved) / sample.total
    return pd.DataFrame({"score": score, "rate": rate, "best": best, "n": n, "gain": gain})


SWITCHED: dict[str, Callable[[NDArray, NDArray], NDArray]] = {
    "log": lambda y, a: -(xlogy(y, a) + xlog1py(1.0 - y, -a)),
    "squared": lambda y, a: (y - a) ** 2,
}


def loss_calibration_test(
    y: ArrayLike, p: ArrayLike, weight: ClassWeight, *, weights: ArrayLike | None = None
) -> CalibrationTest:
    """Test of loss calibration: intercept 0 and slope 1 of the loss-corrected scores.

    Scores are loss-calibrated if and only if the loss-corrected scores are calibrated (Caplin, Martin and Marx 2022,
    Proposition 5); the test is the joint one of :func:`cox_calibration`.

    Parameters
    ----------
    y, p, weight, weights
        See :func:`loss_calibration_curve`; scores strictly between 0 and 1, of cases that the learner has not seen.
    """
    what = "the test of loss calibration"
    sample = predictions(y, p, weights).need_counts(what).need_distinct(what)
    test = cox_calibration(sample.y, loss_corrected(sample.p, weight), sample.weight).test
    return replace(test, name="loss calibration", null="loss-corrected scores have intercept 0 and slope 1")
