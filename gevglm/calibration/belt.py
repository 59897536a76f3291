"""The calibration belt: a polynomial in the log-odds whose degree the data choose, with its test and confidence region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import erfc, expit, logit
from scipy.stats import chi2

from gevglm.calibration._logistic import LogisticBatch, LogisticFit, bernoulli_llf, fit_logistic
from gevglm.calibration.bins import grouped
from gevglm.calibration.estimates import CalibrationTest, checked_level, where_from
from gevglm.calibration.sample import Sample, predictions
from gevglm.calibration.smooth import curve_grid
from gevglm.display.brief import Brief
from gevglm.engine.linalg import one_blas_thread
from gevglm.exceptions import GevglmError, whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EDGE_GROUPS = 2000  # groups of neighbouring predictions that trace the edge of the confidence region
CHUNK = 1 << 15  # numbers, directions times groups, that stay in the cache
MAX_STEPS = 60
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(40)


@dataclass(frozen=True, repr=False)
class CalibrationBelt(Brief):
    """A calibration belt.

    Attributes
    ----------
    degree : int
        Degree of the polynomial in the log-odds.
    test : CalibrationTest
        Of calibration, its p-value accounting for the choice of the degree.
    x, fitted : ndarray
        Predictions, and the share of events by the polynomial.
    bounds : dict
        From each confidence level to the lower and the upper edge of the belt at `x`.
    deviations : DataFrame
        Ranges of predictions over which the belt does not cover the diagonal: ``level``, ``side`` ("over" if events are more than
        predicted), ``x_from``, ``x_to``.
    in_sample : bool
    """

    degree: int
    test: CalibrationTest
    x: NDArray
    fitted: NDArray
    bounds: dict[float, tuple[NDArray, NDArray]]
    deviations: pd.DataFrame
    in_sample: bool

    def plot(self, ax: Axes | None = None, scale: str = "linear") -> Axes:
        """Draw the belt; see :func:`gevglm.calibration.plot_belt`."""
        from gevglm.plots.calibration import plot_belt

        return plot_belt(self, ax=ax, scale=scale)


def calibration_belt(
    y: ArrayLike,
    p: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    levels: float | tuple[float, ...] = (0.8, 0.95),
    in_sample: bool = False,
    threshold: float = 0.95,
    max_degree: int = 4,
    points: int = 200,
) -> CalibrationBelt:
    r"""GiViTI calibration belt and test.

    .. math:: \mathrm{logit}\,P(y = 1) = \beta_0 + \beta_1 \mathrm{logit}\,p + \dots + \beta_m (\mathrm{logit}\,p)^m

    The degree m grows from 1 (2 in sample) while the likelihood-ratio statistic of the next power exceeds the quantile
    `threshold` of :math:`\chi^2_1`. The belt is the range of the curves whose likelihood-ratio statistic against the best one
    is below the quantile of the test's statistic, so that belt and test agree.

    Parameters
    ----------
    y, p, weights : array_like
        Outcomes 0 or 1, predicted probabilities strictly between 0 and 1, and how many observations each row stands for.
    levels : float or tuple of float
        Confidence levels.
    in_sample : bool
        Whether the predictions come from a logistic regression fitted to these data, whose intercept is then 0 and slope 1 in any case.
    threshold : float
        One minus the significance level of the choice of the degree.
    max_degree : int
    points : int
        Number of predictions at which the belt is computed.

    Notes
    -----
    Given m, the statistic is distributed under calibration as the sum of :math:`\chi^2_2` (in sample: :math:`\chi^2_1`) and one
    :math:`\chi^2_1` beyond its threshold for each power that was added. With more than 2,000 distinct predictions the edge
    of the belt is computed from 2,000 groups of neighbouring ones.

    References
    ----------
    Nattino, Finazzi and Bertolini (2014), Statistics in Medicine 33, 2390-2407, and (2016) 35, 709-720.
    """
    start = 2 if in_sample else 1
    max_degree = whole_number("max_degree", max_degree, start)
    coverages = sorted(checked_level(level, "levels") for level in np.atleast_1d(levels))
    cut = chi2.isf(1.0 - checked_level(threshold, "threshold"), 1)
    sample = predictions(y, p, weights)
    eta = sample.log_odds
    sample.need_counts("the calibration belt").need_distinct("the calibration belt", start + 1)
    scale = _Scale(float(sample.mean(eta)), float(np.sqrt(sample.mean((eta - sample.mean(eta)) ** 2))))
    degree, fit = _chosen(sample, scale, start, max_degree, cut)

    statistic = max(2.0 * (fit.llf - bernoulli_llf(sample.y, eta, sample.weight)), 0.0)
    first = 1 if in_sample else 2
    pvalue = float(selected_sf(statistic, first, degree - start, cut))
    test = CalibrationTest(
        "calibration belt", statistic, pvalue, first + degree - start, f"calibrated, {where_from(in_sample)}"
    )

    x = curve_grid(sample.p, points)
    directions = np.vander(scale.of(logit(x)), degree + 1, increasing=True)
    quantiles = [_quantile(level, first, degree - start, cut) for level in coverages]
    bounds = {
        level: tuple(map(expit, edges))
        for level, edges in zip(coverages, _edges(sample, scale, fit, directions, quantiles), strict=True)
    }
    return CalibrationBelt(degree, test, x, expit(directions @ fit.params), bounds, _deviations(x, bounds), in_sample)


@dataclass(frozen=True)
class _Scale:
    """Log-odds to mean 0 and size 1, for the sake of their powers."""

    center: float
    size: float

    def of(self, eta: NDArray) -> NDArray:
        return (eta - self.center) / self.size


def _chosen(sample: Sample, scale: _Scale, start: int, most: int, cut: float) -> tuple[int, LogisticFit]:
    """Choose the degree by forward selection; return it with the fit."""
    z = scale.of(sample.log_odds)
    distinct = len(np.unique(z)) - 1

    def fit(degree: int, before: NDArray) -> LogisticFit:
        columns = np.vander(z, degree + 1, increasing=True)
        begin = np.append(before, np.zeros(degree + 1 - len(before)))
        return fit_logistic(columns, sample.y, sample.weight, what=f"the polynomial of degree {degree}", start=begin)

    best, degree = fit(start, np.array([scale.center, scale.size])), start
    while degree < min(most, distinct):
        try:
            larger = fit(degree + 1, best.params)
        except GevglmError:  # a power that separates the outcomes: no belt is finite with it
            break
        if 2.0 * (larger.llf - best.llf) <= cut:
            break
        best, degree = larger, degree + 1
    return degree, best


# -- the distribution of the statistic ---------------------------------------------------------


def selected_sf(t: ArrayLike, first: int, added: int, cut: float) -> NDArray:
    r"""Probability that :math:`\chi^2_{first} + \sum_{j \le added} X_j > t`, with :math:`X_j \sim \chi^2_1` given :math:`X_j > cut`; `first` is 1 or 2.

    Notes
    -----
    With :math:`S_0` the survival function of :math:`\chi^2_{first}` and density f of :math:`\chi^2_1`,

    .. math:: S_j(t) P(X > c) = P(X > t - (j-1)c) + \int_c^{t-(j-1)c} f(x) S_{j-1}(t - x)\,dx,

    and :math:`S_j(t) = 1` up to jc. Put :math:`x = t - (j-1)c - u^2` and the integrand is smooth.
    """
    t = np.asarray(t, dtype=float)
    if added == 0:
        positive = np.maximum(t, 0.0)
        return np.exp(-0.5 * positive) if first == 2 else erfc(np.sqrt(0.5 * positive))
    top = np.maximum(t - (added - 1) * cut, cut)
    half = 0.5 * np.sqrt(top - cut)[..., None]
    u = half * (1.0 + NODES)
    x = top[..., None] - u**2
    density = np.exp(-0.5 * x) / np.sqrt(2.0 * np.pi * x)
    inner = selected_sf((added - 1) * cut + u**2, first, added - 1, cut)
    integral = (2.0 * u * density * inner * half) @ NODE_WEIGHTS
    return np.minimum((erfc(np.sqrt(0.5 * top)) + integral) / erfc(np.sqrt(0.5 * cut)), 1.0)


def _quantile(level: float, first: int, added: int, cut: float) -> float:
    high = added * cut + 10.0
    while selected_sf(high, first, added, cut) > 1.0 - level:
        high *= 2.0
    return float(brentq(lambda t: float(selected_sf(t, first, added, cut)) - (1.0 - level), added * cut, high))


# -- the edge of the confidence region ---------------------------------------------------------


def _edges(
    sample: Sample, scale: _Scale, fit: LogisticFit, directions: NDArray, quantiles: list[float]
) -> list[tuple[NDArray, NDArray]]:
    """Smallest and largest log-odds at each direction, over the coefficients inside the likelihood region."""
    groups = grouped(sample.log_odds, sample.y, sample.weight, EDGE_GROUPS)
    columns = np.vander(scale.of(groups.score), directions.shape[1], increasing=True)
    powers = np.vander(scale.of(sample.log_odds), directions.shape[1], increasing=True)
    region = _Region(columns, groups.weight, (sample.weight * sample.y) @ powers, fit)
    chunks = np.array_split(directions, max(1, len(directions) * len(columns) // CHUNK))

    def edge(sign: float, quantile: float) -> NDArray:
        return sign * np.concatenate([region.farthest(sign * chunk, quantile) for chunk in chunks])

    with one_blas_thread():
        return [(edge(-1.0, quantile), edge(1.0, quantile)) for quantile in quantiles]


class _Region:
    """Coefficients whose log-likelihood is within a distance of the largest.

    The columns are those of groups of neighbouring predictions; `moments`, their sums over events, are taken row by row.
    """

    def __init__(self, columns: NDArray, weight: NDArray, moments: NDArray, fit: LogisticFit):
        self.batch, self.fit = LogisticBatch(columns, weight, moments), fit
        self._smallest = self.batch.loss(fit.params[None, :])[0]

    def farthest(self, directions: NDArray, quantile: float) -> NDArray:
        r"""Maximise g'b over the region, for each direction g.

        At the solution :math:`\nabla f(b) = \mu g` and :math:`f(b) = f(\hat b) + q/2`, with f the negative log-likelihood. Newton
        steps solve both equations, from the solution of the quadratic approximation.
        """
        bound = self._smallest + 0.5 * quantile
        length = np.sqrt(np.einsum("ij,jk,ik->i", directions, self.fit.cov, directions))
        params = self.fit.params + np.sqrt(quantile) * (directions @ self.fit.cov) / length[:, None]
        pull = np.sqrt(quantile) / length
        excess = self.batch.loss(params) - bound
        for _ in range(MAX_STEPS):
            gradient, hessian = self.batch.derivatives(params)
            residual = gradient - pull[:, None] * directions
            small = np.abs(excess).max() <= 1e-9 * quantile
            if small and (np.abs(residual).max(axis=1) <= 1e-7 * np.abs(gradient).max(axis=1)).all():
                break
            solved = np.linalg.solve(hessian, np.stack([residual, directions], axis=-1))
            toward, along = solved[..., 0], solved[..., 1]
            change = (np.einsum("ij,ij->i", gradient, toward) - excess) / np.einsum("ij,ij->i", gradient, along)
            params, excess = self._near(params + change[:, None] * along - toward, bound, quantile)
            pull = np.maximum(pull + change, 0.1 * pull)
        return np.einsum("ij,ij->i", directions, params)

    def _near(self, params: NDArray, bound: float, quantile: float) -> tuple[NDArray, NDArray]:
        """Pull coefficients that went far out back towards the best ones; return them and by how much they exceed the bound."""
        excess = self.batch.loss(params) - bound
        for _ in range(MAX_STEPS):
            far = ~(excess <= quantile)
            if not far.any():
                break
            params[far] = self.fit.params + 0.5 * (params[far] - self.fit.params)
            excess[far] = self.batch.loss(params[far]) - bound
        return params, excess


def _deviations(x: NDArray, bounds: dict[float, tuple[NDArray, NDArray]]) -> pd.DataFrame:
    rows = []
    for level, (lower, upper) in bounds.items():
        for side, off in (("over", lower > x), ("under", upper < x)):
            change = np.flatnonzero(np.diff(np.concatenate([[False], off, [False]]).astype(int)))
            rows += [(level, side, x[i], x[j - 1]) for i, j in change.reshape(-1, 2)]
    return pd.DataFrame(rows, columns=["level", "side", "x_from", "x_to"])
