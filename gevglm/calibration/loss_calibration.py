"""Loss calibration: whether the scores of a class-weighted learner lie where its loss wants them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gevglm.calibration.bins import binned
from gevglm.calibration.correction import ClassWeight, loss_corrected, weight_odds
from gevglm.calibration.cox import cox_calibration
from gevglm.calibration.estimates import CalibrationTest
from gevglm.calibration.sample import predictions
from gevglm.calibration.smooth import curve_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class LossCalibrationCurve:
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
        Coverage of the limits.
    """

    bins: pd.DataFrame
    score: NDArray
    theory: NDArray
    beta1: float
    level: float

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
    return LossCalibrationCurve(frame, grid, np.asarray(loss_corrected(grid, weight)), odds / (1.0 + odds), level)


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
