"""How far predictions are from a smooth calibration curve: ICI, E50, E90 and Emax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from scipy.stats import norm
from statsmodels.nonparametric.smoothers_lowess import lowess

from gevglm.calibration._logistic import IDENTITY, fit_logistic
from gevglm.calibration.bins import weighted_quantile
from gevglm.calibration.estimates import checked_level
from gevglm.calibration.loess import loess
from gevglm.calibration.sample import Clusters, Sample, predictions
from gevglm.display.brief import Brief
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError, unknown_option

METHODS = ("spline", "loess", "lowess")
GRID = 200
SPANS = {"loess": 0.75, "lowess": 2.0 / 3.0}
EVENTS_PER_COLUMN = 10  # of the rarer outcome, for each curved column of the default spline
KNOT_SHARES = {  # Harrell, Regression Modeling Strategies, section 2.4.6
    3: (0.1, 0.5, 0.9),
    4: (0.05, 0.35, 0.65, 0.95),
    5: (0.05, 0.275, 0.5, 0.725, 0.95),
    6: (0.05, 0.23, 0.41, 0.59, 0.77, 0.95),
    7: (0.025, 0.1833, 0.3417, 0.5, 0.6583, 0.8167, 0.975),
}


@dataclass(frozen=True, repr=False)
class SmoothCurve(Brief):
    """A smooth calibration curve.

    Attributes
    ----------
    x, fitted : ndarray
        Predictions, and the smoothed share of events there.
    lower, upper : ndarray or None
        Pointwise confidence limits, if the method has them.
    level : float
    """

    x: NDArray
    fitted: NDArray
    lower: NDArray | None
    upper: NDArray | None
    level: float


@dataclass(frozen=True, repr=False)
class IntegratedCalibration(Brief):
    """Distances of the predictions from a smooth calibration curve.

    Attributes
    ----------
    ici : float
        Mean absolute distance: the integrated calibration index (Eavg of rms).
    e50, e90, emax : float
        Median, 90 % quantile and maximum of the absolute distances over the rows.
    eci : float
        100 times the mean squared distance: the estimated calibration index.
    method : str
    curve : SmoothCurve
    """

    ici: float
    e50: float
    e90: float
    emax: float
    eci: float
    method: str
    curve: SmoothCurve


def integrated_calibration(
    y: ArrayLike,
    p: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    groups: Clusters | None = None,
    method: str = "spline",
    knots: int | None = None,
    span: float | None = None,
    level: float = 0.95,
) -> IntegratedCalibration:
    r"""Integrated calibration index, E50, E90 and Emax of a smooth calibration curve.

    .. math:: \mathrm{ICI} = \frac 1n \sum_i |p_i - \hat c(p_i)|

    Parameters
    ----------
    y, p, weights : array_like
        Outcomes 0 or 1, predicted probabilities, and how many observations each row stands for.
    groups : array_like, optional
        Cluster of each row, for the limits of the spline's curve.
    method : {"spline", "loess", "lowess"}
        How the share of events is smoothed, see Notes.
    knots : int, optional
        Knots of the spline, 3 to 7, or 2 for a straight line in the log-odds; by default 5, or fewer with less than 10 observations
        of the rarer outcome for each curved column.
    span : float, optional
        Share of the observations in each neighbourhood of ``"loess"`` (default 0.75) and ``"lowess"`` (default 2/3).
    level : float
        Coverage of the pointwise limits of the spline's curve.

    Notes
    -----
    ``"spline"``, the default, is a logistic regression on a restricted cubic spline of the log-odds of the predictions. It stays
    between 0 and 1, has limits, and resolves small probabilities: neighbourhoods on the probability scale, which the two
    others have, put most of the predictions of a rare event into one. The knots are quantiles of the predictions weighted
    by :math:`p(1-p)`, the information that a prediction carries, since with rare events the plain quantiles lie where hardly
    anything happens.

    ``"loess"`` is local quadratic regression as in R's loess: the ICI of Austin and Steyerberg, and Eavg and ECI of
    CalibrationCurves::val.prob.ci.2 (whose Emax is that of the logistic recalibration on a grid over [0, 1], not of this curve).

    ``"lowess"`` is Cleveland's local linear regression without robustness iterations, as in rms::val.prob, whose Eavg, E90
    and Emax it gives. It has no weights.

    References
    ----------
    Austin and Steyerberg (2019), Statistics in Medicine 38, 4051-4065; Van Hoorde et al. (2015), Journal of Biomedical Informatics 54,
    283-293.
    """
    if method not in METHODS:
        raise unknown_option("method", method, METHODS)
    sample = predictions(y, p, weights, groups=groups).need_both_outcomes("a smooth calibration curve")
    sample.need_distinct("a smooth calibration curve")
    if method == "spline":
        if span is not None:
            raise IncompatibleOptionsError('span belongs to method="loess" and "lowess"; the spline has knots.')
        fitted, curve = _spline(sample, knots, checked_level(level))
    else:
        if knots is not None:
            raise IncompatibleOptionsError(f'knots belong to method="spline"; method={method!r} has a span.')
        if span is not None and not 0.0 < span <= 1.0:
            raise InvalidOptionError(f"span={span!r} is not a share of the observations; give a number in (0, 1].")
        fitted, curve = (_loess if method == "loess" else _lowess)(sample, span, level)
    distance = np.abs(fitted - sample.p)
    e50, e90 = weighted_quantile(distance, sample.weight, np.array([0.5, 0.9]))
    ici, emax, eci = sample.mean(distance), float(distance.max()), 100.0 * sample.mean(distance**2)
    return IntegratedCalibration(ici, float(e50), float(e90), emax, eci, method, curve)


def curve_grid(p: NDArray, points: int = GRID) -> NDArray:
    """Return points over the range of predictions, half of them evenly spaced, half evenly on the scale of log-odds."""
    low, high = float(p.min()), float(p.max())
    first, last = logit(np.clip((low, high), 1e-12, 1.0 - 1e-12))
    spread = expit(np.linspace(first, last, points - points // 2))
    return np.unique(np.clip(np.concatenate([np.linspace(low, high, points // 2), spread]), low, high))


# -- the three smoothers -----------------------------------------------------------------------


def _spline(sample: Sample, knots: int | None, level: float) -> tuple[NDArray, SmoothCurve]:
    places = spline_knots(sample, knots)
    columns = spline_columns(sample.log_odds, places)
    what, start = "the spline of the calibration curve", np.append(IDENTITY, np.zeros(columns.shape[1] - 2))
    fit = fit_logistic(columns, sample.y, sample.weight, what=what, start=start, advice="Take fewer knots.")
    fit = fit.robust(columns, sample)
    x = curve_grid(sample.p)
    on_grid = spline_columns(np.log(x) - np.log1p(-x), places)
    linear = on_grid @ fit.params
    reach = norm.isf((1.0 - level) / 2.0) * np.sqrt(np.einsum("ij,jk,ik->i", on_grid, fit.cov, on_grid))
    curve = SmoothCurve(x, expit(linear), expit(linear - reach), expit(linear + reach), level)
    return expit(columns @ fit.params), curve


def spline_knots(sample: Sample, number: int | None = None) -> NDArray:
    """Return the knots of the spline, on the scale of log-odds; none for a straight line."""
    if number is None:
        rarer = min(sample.events, sample.total - sample.events)
        number = int(min(5, 2 + rarer // EVENTS_PER_COLUMN))
    elif number != 2 and number not in KNOT_SHARES:
        raise InvalidOptionError(f"knots={number!r} is not possible; give 2 to 7.")
    eta = sample.log_odds
    if number == 2:
        return np.empty(0)
    information = sample.weight * sample.p * (1.0 - sample.p)
    order = np.argsort(eta, kind="stable")
    ends = np.cumsum(information[order])
    at = np.searchsorted(ends, np.array(KNOT_SHARES[number]) * ends[-1])
    places = np.unique(eta[order][np.minimum(at, len(eta) - 1)])
    return places if len(places) >= 3 else np.empty(0)


def spline_columns(eta: NDArray, knots: NDArray) -> NDArray:
    """Constant, log-odds, and the curved columns of a cubic spline that is straight outside the knots."""
    columns = [np.ones_like(eta), eta]
    if len(knots):
        *inner, before, last = knots
        end, near_end = (np.maximum(eta - knot, 0.0) ** 3 for knot in (last, before))
        for knot in inner:
            cube = np.maximum(eta - knot, 0.0) ** 3
            cube += (end * (before - knot) - near_end * (last - knot)) / (last - before)
            columns.append(cube / (last - knots[0]) ** 2)
    return np.column_stack(columns)


def _loess(sample: Sample, span: float | None, level: float) -> tuple[NDArray, SmoothCurve]:
    smooth = loess(sample.p, sample.y, sample.weight, span=span or SPANS["loess"])
    x = curve_grid(sample.p)
    return smooth(sample.p), SmoothCurve(x, smooth(x), None, None, level)


def _lowess(sample: Sample, span: float | None, level: float) -> tuple[NDArray, SmoothCurve]:
    if (sample.weight != sample.weight[0]).any():
        raise IncompatibleOptionsError('method="lowess" has no weights; use method="loess" or "spline".')
    order = np.argsort(sample.p, kind="stable")
    p = sample.p[order]
    near, span = 0.01 * (p[-1] - p[0]), span or SPANS["lowess"]
    smooth = lowess(sample.y[order], p, frac=span, it=0, delta=near, is_sorted=True, return_sorted=False)
    fitted = np.empty_like(smooth)
    fitted[order] = smooth
    x = curve_grid(p)
    return fitted, SmoothCurve(x, np.interp(x, p, smooth), None, None, level)
