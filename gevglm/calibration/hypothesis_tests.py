"""Tests of calibration and of the link: Hosmer-Lemeshow, Spiegelhalter, Stukel, Pregibon."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from scipy.stats import chi2, norm

from gevglm.calibration._logistic import IDENTITY, fit_logistic
from gevglm.calibration.bins import binned
from gevglm.calibration.estimates import CalibrationTest, where_from
from gevglm.calibration.sample import Clusters, Sample, predictions
from gevglm.engine.linalg import dependent_columns
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError, unknown_option

METHODS = ("score", "lr")


def hosmer_lemeshow(
    y: ArrayLike,
    p: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    bins: int = 10,
    by: str = "mass",
    in_sample: bool = False,
) -> CalibrationTest:
    r"""Hosmer and Lemeshow's chi-squared test of calibration.

    .. math:: \sum_g \frac{(O_g - E_g)^2}{E_g (1 - E_g/n_g)}

    with observed events :math:`O_g` and expected ones :math:`E_g` of groups cut at the quantiles of the predictions.

    Parameters
    ----------
    y, p, weights : array_like
        Outcomes, predicted probabilities, and how many observations each row stands for.
    bins : int
        Number of groups; fewer if predictions are tied, since equal ones stay together.
    by : {"mass", "width"}
        Groups of equal size, or of equal width.
    in_sample : bool
        Whether the predictions were fitted to these data, as they are of :meth:`gevglm.BinaryGLMResults.calibration` without new data. There are as
        many degrees of freedom as groups, and two less if they were.

    Notes
    -----
    The verdict depends on the number of groups and grows with the number of observations; it does not say where or how
    predictions fail. :func:`cox_calibration` and :func:`calibration_belt` do.
    """
    sample = predictions(y, p, weights).need_counts("the Hosmer-Lemeshow test")
    cells = binned(sample, bins, by)
    df = len(cells) - (2 if in_sample else 0)
    if df < 1:
        raise InvalidDataError(
            f"the predictions fall into {len(cells)} groups only, which leaves {df} degrees of freedom; "
            "ties are too many for this test, see cox_calibration."
        )
    surplus, variance = cells.events - cells.expected, cells.expected * (1.0 - cells.score)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(surplus == 0.0, 0.0, surplus**2 / variance)
    statistic, null = float(terms.sum()), f"calibrated in {len(cells)} groups, {where_from(in_sample)}"
    return CalibrationTest("Hosmer-Lemeshow", statistic, float(chi2.sf(statistic, df)), df, null)


def spiegelhalter(
    y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None, *, groups: Clusters | None = None
) -> CalibrationTest:
    r"""Spiegelhalter's z test that the Brier score is that of calibrated predictions.

    .. math:: z = \frac{\sum_i (y_i - p_i)(1 - 2 p_i)}{\sqrt{\sum_i (1 - 2 p_i)^2 p_i (1 - p_i)}}

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`hosmer_lemeshow`.
    groups : array_like, optional
        Cluster of each row; the variance is then the sum over clusters of the squares of their part of the numerator.

    Returns
    -------
    CalibrationTest
        With the two-sided p-value.

    References
    ----------
    Spiegelhalter (1986), Statistics in Medicine 5, 421-433.
    """
    sample = predictions(y, p, weights, groups=groups)
    lean = 1.0 - 2.0 * sample.p
    if sample.groups is None:
        variance = sample.weight @ (lean**2 * sample.p * (1.0 - sample.p))
    else:
        variance = float(sample.squares_of_sums(((sample.y - sample.p) * lean)[:, None])[0, 0])
    if variance <= 0.0:
        raise InvalidDataError(
            f"Spiegelhalter's test is not defined: all {len(lean)} probabilities are 0, 1/2 or 1, so that z has no variance."
        )
    z = float(sample.weight @ ((sample.y - sample.p) * lean) / np.sqrt(variance))
    return CalibrationTest("Spiegelhalter z", z, float(2.0 * norm.sf(abs(z))), 1, "Brier score as under calibration")


def stukel(
    y: ArrayLike,
    p: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    groups: Clusters | None = None,
    method: str = "score",
) -> CalibrationTest:
    r"""Stukel's test of the logistic link against lighter or heavier tails.

    The log-odds :math:`\eta` of the predictions are recalibrated by intercept and slope; tested are the coefficients of
    :math:`\tfrac 12 \eta^2 1(\eta \ge 0)` and :math:`-\tfrac 12 \eta^2 1(\eta < 0)` beside them.

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`hosmer_lemeshow`; probabilities strictly between 0 and 1.
    groups : array_like, optional
        Cluster of each row; the variance of the score is then that of its sums over clusters.
    method : {"score", "lr"}
        Score test, which needs no estimates of the added coefficients, or likelihood ratio.

    Returns
    -------
    CalibrationTest
        With 2 degrees of freedom, or 1 if all log-odds have the same sign.

    References
    ----------
    Stukel (1988), JASA 83, 426-431.
    """
    sample = predictions(y, p, weights, groups=groups)
    eta = sample.log_odds
    tails = np.column_stack([0.5 * eta**2 * (eta >= 0.0), -0.5 * eta**2 * (eta < 0.0)])
    return _added_columns(sample, tails, "Stukel's test", "both tails of the logistic link", method)


def pregibon(
    y: ArrayLike,
    p: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    groups: Clusters | None = None,
    method: str = "score",
) -> CalibrationTest:
    r"""Pregibon's link test: whether the squared log-odds of the predictions still matter beside the log-odds.

    Parameters
    ----------
    y, p, weights, groups : array_like
        See :func:`stukel`.
    method : {"score", "lr"}

    References
    ----------
    Pregibon (1980), Applied Statistics 29, 15-24.
    """
    sample = predictions(y, p, weights, groups=groups)
    square, null = sample.log_odds[:, None] ** 2, "no curvature in the log-odds"
    return _added_columns(sample, square, "Pregibon's link test", null, method)


def _added_columns(sample: Sample, added: NDArray, name: str, null: str, method: str) -> CalibrationTest:
    """Test the coefficients of columns added to the recalibration by intercept and slope."""
    if method not in METHODS:
        raise unknown_option("method", method, METHODS)
    sample.need_counts(name).need_distinct(name, 3)
    design = np.column_stack([np.ones(len(added)), sample.log_odds, added])
    dependent = dependent_columns((design * sample.weight[:, None]).T @ design)
    free = [j for j in range(2, design.shape[1]) if j not in dependent]
    if not free:
        raise InvalidDataError(f"{name} has nothing to test: its columns are combinations of intercept and slope.")
    what = "the recalibration by intercept and slope"
    null_fit = fit_logistic(design[:, :2], sample.y, sample.weight, what=what, start=IDENTITY)
    if method == "lr":
        if sample.groups is not None:
            raise IncompatibleOptionsError(
                'a likelihood ratio takes observations as independent; with groups, use method="score".'
            )
        columns, start = design[:, [0, 1, *free]], np.append(null_fit.params, np.zeros(len(free)))
        what, advice = f"the alternative of {name}", 'method="score" does not need it.'
        full = fit_logistic(columns, sample.y, sample.weight, what=what, start=start, advice=advice)
        statistic = 2.0 * (full.llf - null_fit.llf)
    else:
        statistic = _score_statistic(sample, design[:, :2], design[:, free], null_fit.params)
    return CalibrationTest(name, float(statistic), float(chi2.sf(statistic, len(free))), len(free), null)


def _score_statistic(sample: Sample, kept: NDArray, added: NDArray, params: NDArray) -> float:
    r""":math:`s' (Z'WZ - Z'WX (X'WX)^{-1} X'WZ)^{-1} s` with the score :math:`s = Z'(y - \mu)` of the added columns Z.

    With clusters, the matrix is the sum over clusters of :math:`s_c s_c'`, with :math:`s_c` their part of
    :math:`(Z - X (X'WX)^{-1} X'WZ)'(y - \mu)`.
    """
    mu = expit(kept @ params)
    information = (sample.weight * mu * (1.0 - mu))[:, None]
    score = (sample.weight * (sample.y - mu)) @ added
    cross = (information * kept).T @ added
    slopes = np.linalg.solve((information * kept).T @ kept, cross)
    if sample.groups is None:
        inside = (information * added).T @ added - cross.T @ slopes
    else:
        inside = sample.squares_of_sums((sample.y - mu)[:, None] * (added - kept @ slopes))
    return float(score @ np.linalg.solve(inside, score))
