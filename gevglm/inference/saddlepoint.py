r"""Saddle-point approximation to the distribution of scores, for tests of rare columns of rare outcomes.

The score of a column, :math:`S = \sum_i a_i (y_i - \mu_i)`, is a sum of independent variables with the cumulant generating function

.. math:: K(t) = \sum_i \left[\ln(1 - \mu_i + \mu_i e^{a_i t}) - a_i \mu_i t\right],

at the estimated :math:`\mu_i` of the model without the column. With :math:`K'(t) = s`,
:math:`r = \mathrm{sign}(t) \sqrt{2 (t s - K(t))}` and :math:`v = t \sqrt{K''(t)}`, the probability of values beyond s is that of normal ones beyond
:math:`r + \ln(v / r) / r` (Barndorff-Nielsen 1990; for score tests Dey et al. 2017). The p-value adds both tails.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from gevglm.engine.base import times
from gevglm.inference.score_scan import NullModel

STEPS = 100
ACCURACY = 1e-10  # of the score that is met, in standard deviations
NEAR_MEAN = 1e-2  # in standard deviations: nearer, the formula is 0/0, and the normal approximation as good


def saddlepoint_pvalues(null: NullModel, columns: NDArray) -> NDArray:
    """Return two-sided p-values of the scores of columns, of which what the model explains is taken away; of shape (m, n)."""
    point = null.loss.link.at(null.linear)
    with np.errstate(divide="ignore", invalid="ignore"):  # rows beyond the support, whose outcomes are certain
        scale = np.where(null.curvature > 0.0, null.loss.residual_factor_at(point), 0.0)
    pvalues = []
    for column in columns:
        factors = column * scale
        score = abs(float(column @ null.factors[:, 0]))
        tails = (BernoulliSum(sign * factors, point.cdf, point.sf, null.counts).upper(score) for sign in (1.0, -1.0))
        pvalues.append(sum(tails))
    return np.array(pvalues)


class BernoulliSum:
    """The sum of factors times Bernoulli variables less their means."""

    def __init__(self, factors: NDArray, mean: NDArray, rest: NDArray, counts: NDArray | None):
        self.factors, self.mean, self.rest = factors, mean, rest
        self.counts = np.ones(()) if counts is None else counts
        self.deviation = float(np.sqrt(times(factors**2, mean, rest, self.counts).sum()))

    def upper(self, s: float) -> float:
        """Return the probability of values from s, which is not below the mean."""
        if s < NEAR_MEAN * self.deviation:
            return float(norm.sf(s / self.deviation))
        most = self.factors > 0.0
        largest = times(np.where(most, self.factors * self.rest, -self.factors * self.mean), self.counts).sum()
        if s >= largest * (1.0 - 1e-12):  # every outcome as it is best, or never
            extreme = times(np.log(np.where(most, self.mean, self.rest)), self.factors != 0.0, self.counts).sum()
            return float(np.exp(extreme)) if s <= largest * (1.0 + 1e-12) else 0.0
        t = self._saddlepoint(s)
        value, _, curvature = self.cumulants(t)
        r, v = np.sqrt(2.0 * (t * s - value)), t * np.sqrt(curvature)
        return float(norm.sf(r + np.log(v / r) / r))

    def _saddlepoint(self, s: float) -> float:
        """Return where the slope of K is s > 0, by Newton steps between bounds that close in."""
        low, high, t = 0.0, np.inf, s / self.deviation**2
        for _ in range(STEPS):
            _, slope, curvature = self.cumulants(t)
            if abs(slope - s) <= ACCURACY * self.deviation:
                break
            low, high = (t, high) if slope < s else (low, t)
            with np.errstate(divide="ignore"):
                t = float(t + (s - slope) / curvature)
            if not low < t < high:
                t = 2.0 * low if np.isinf(high) else 0.5 * (low + high)
        return t

    def cumulants(self, t: float) -> tuple[float, float, float]:
        """Return K and its first two derivatives at t."""
        exponent = self.factors * t
        larger = np.maximum(exponent, 0.0)  # taken out of both terms, so that none overflows
        event, none = self.mean * np.exp(exponent - larger), self.rest * np.exp(-larger)
        total = event + none
        tilted = event / total
        value = times(np.log(total) + larger - self.mean * exponent, self.counts).sum()
        slope = times(self.factors * (tilted - self.mean), self.counts).sum()
        return float(value), float(slope), float(times(self.factors**2 * tilted * (none / total), self.counts).sum())
