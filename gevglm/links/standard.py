"""Logit, probit and cauchit, in the same contract as the GEV links."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import cosdg, erfcx, log_ndtr, ndtr, ndtri, sindg

from gevglm.links.base import BinaryLink, Point

_SQRT_2 = np.sqrt(2.0)
_SQRT_2_OVER_PI = np.sqrt(2.0 / np.pi)
_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
LARGEST_EXPONENT = 708.0  # whose exponential is finite


class LogitPoint(Point):
    """The logistic distribution; hazard and reverse hazard are F and 1 - F themselves."""

    v: NDArray
    cdf: NDArray
    sf: NDArray

    def __init__(self, v: NDArray):
        self.v = v
        # exp(-v) stays finite, so that 1 - F = exp(-v) F never is infinity times zero
        odds_against = np.negative(v)
        if not np.maximum.reduce(odds_against, axis=None, initial=0.0) <= LARGEST_EXPONENT:
            np.minimum(odds_against, LARGEST_EXPONENT, out=odds_against)
        np.exp(odds_against, out=odds_against)
        self.cdf = odds_against + 1.0
        np.divide(1.0, self.cdf, out=self.cdf)
        self.sf = np.multiply(odds_against, self.cdf, out=odds_against)

    @cached_property
    def pdf(self) -> NDArray:
        return self.cdf * self.sf

    @cached_property
    def dlogpdf(self) -> NDArray:
        return -np.tanh(0.5 * self.v)

    @cached_property
    def d2logpdf(self) -> NDArray:
        return -2.0 * self.pdf

    @cached_property
    def log_cdf(self) -> NDArray:
        return np.minimum(self.v, 0.0) - self._minus_log_larger

    @cached_property
    def log_sf(self) -> NDArray:
        return -np.maximum(self.v, 0.0) - self._minus_log_larger

    @cached_property
    def _minus_log_larger(self) -> NDArray:
        """Minus the logarithm of the larger of F and 1 - F."""
        return np.log1p(np.exp(-np.abs(self.v)))

    @property
    def reverse_hazard(self) -> NDArray:
        return self.sf

    @property
    def hazard(self) -> NDArray:
        return self.cdf

    @cached_property
    def dlog_reverse_hazard(self) -> NDArray:
        return -self.cdf

    @property
    def dlog_hazard(self) -> NDArray:
        return self.sf


class Logit(BinaryLink):
    r"""Logit link, :math:`F(v) = 1/(1 + e^{-v})`; its log and canonical losses coincide."""

    word = "logit"
    canonical_is_log = True
    exponentiated = "odds_ratio"

    def at(self, v: NDArray) -> LogitPoint:
        return LogitPoint(v)

    def at_probability(self, p: NDArray) -> LogitPoint:
        point = LogitPoint.__new__(LogitPoint)
        point.v, point.cdf, point.sf = np.log(p) - np.log1p(-p), p, 1.0 - p
        return point

    def write_cdf_pdf(self, v: NDArray, cdf: NDArray, pdf: NDArray) -> None:
        odds_against = np.negative(v, out=pdf)
        np.minimum(odds_against, LARGEST_EXPONENT, out=odds_against)
        np.exp(odds_against, out=odds_against)
        np.add(odds_against, 1.0, out=cdf)
        np.divide(1.0, cdf, out=cdf)
        np.multiply(odds_against, cdf, out=pdf)
        np.multiply(pdf, cdf, out=pdf)

    def integral_cdf(self, v: NDArray) -> NDArray:
        return np.logaddexp(0.0, v)

    def integral_sf(self, v: NDArray) -> NDArray:
        return np.logaddexp(0.0, -np.asarray(v))


class ProbitPoint(Point):
    """The standard normal distribution, with hazards through the scaled error function."""

    v: NDArray

    def __init__(self, v: NDArray):
        self.v = v

    @cached_property
    def cdf(self) -> NDArray:
        return ndtr(self.v)

    @cached_property
    def sf(self) -> NDArray:
        return ndtr(-self.v)

    @cached_property
    def pdf(self) -> NDArray:
        return np.exp(-0.5 * self.v**2 - _LOG_SQRT_2PI)

    @cached_property
    def dlogpdf(self) -> NDArray:
        return -self.v

    @cached_property
    def d2logpdf(self) -> NDArray:
        return np.full_like(self.v, -1.0)

    @cached_property
    def log_cdf(self) -> NDArray:
        return log_ndtr(self.v)

    @cached_property
    def log_sf(self) -> NDArray:
        return log_ndtr(-self.v)

    @cached_property
    def reverse_hazard(self) -> NDArray:
        return _SQRT_2_OVER_PI / erfcx(-self.v / _SQRT_2)

    @cached_property
    def hazard(self) -> NDArray:
        return _SQRT_2_OVER_PI / erfcx(self.v / _SQRT_2)

    @cached_property
    def dlog_reverse_hazard(self) -> NDArray:
        return -_excess_of_mills(self.reverse_hazard, -self.v)

    @cached_property
    def dlog_hazard(self) -> NDArray:
        return _excess_of_mills(self.hazard, self.v)


def _excess_of_mills(hazard: NDArray, v: NDArray) -> NDArray:
    """The normal hazard minus v, which cancel in the upper tail: there by their asymptotic series."""
    w = 1.0 / np.maximum(v, 1.0) ** 2
    tail = (1.0 - w * (2.0 - w * (10.0 - w * (74.0 - 706.0 * w)))) / np.maximum(v, 1.0)
    return np.where(v > 100.0, tail, hazard - v)


class Probit(BinaryLink):
    r"""Probit link, :math:`F(v) = \Phi(v)`.

    Notes
    -----
    :math:`\int_{-\infty}^v \Phi = v\,\Phi(v) + \varphi(v)`, and the other integral is its mirror image.
    """

    word = "probit"

    def at(self, v: NDArray) -> ProbitPoint:
        return ProbitPoint(v)

    def at_probability(self, p: NDArray) -> ProbitPoint:
        return ProbitPoint(ndtri(p))

    def integral_cdf(self, v: NDArray) -> NDArray:
        point = ProbitPoint(np.asarray(v, dtype=float))
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = point.pdf * (1.0 + point.v / point.reverse_hazard)
        return np.where(point.v < 0, tail, point.v * point.cdf + point.pdf)

    def integral_sf(self, v: NDArray) -> NDArray:
        return self.integral_cdf(-np.asarray(v, dtype=float))


class CauchitPoint(Point):
    """The standard Cauchy distribution."""

    v: NDArray

    def __init__(self, v: NDArray):
        self.v = v

    @cached_property
    def cdf(self) -> NDArray:
        return np.arctan2(1.0, -self.v) / np.pi

    @cached_property
    def sf(self) -> NDArray:
        return np.arctan2(1.0, self.v) / np.pi

    @cached_property
    def pdf(self) -> NDArray:
        return 1.0 / (np.pi * (1.0 + self.v**2))

    @cached_property
    def dlogpdf(self) -> NDArray:
        return -2.0 * self.v / (1.0 + self.v**2)

    @cached_property
    def d2logpdf(self) -> NDArray:
        return 2.0 * (self.v**2 - 1.0) / (1.0 + self.v**2) ** 2


class Cauchit(BinaryLink):
    r"""Cauchit link, :math:`F(v) = 1/2 + \arctan(v)/\pi`.

    Notes
    -----
    Neither integral of the canonical loss converges; both start at v = 0:
    :math:`\int_0^v F = v F(v) - \ln(1 + v^2)/(2\pi)`.
    """

    word = "cauchit"
    log_concave = False
    relative_integrals = (True, True)

    def at(self, v: NDArray) -> CauchitPoint:
        return CauchitPoint(v)

    def at_probability(self, p: NDArray) -> CauchitPoint:
        # sines and cosines in degrees are exact at the quarter turns
        return CauchitPoint(-cosdg(180.0 * p) / sindg(180.0 * p))

    def integral_cdf(self, v: NDArray) -> NDArray:
        v = np.asarray(v, dtype=float)
        return v * CauchitPoint(v).cdf - np.log1p(v**2) / (2.0 * np.pi)

    def integral_sf(self, v: NDArray) -> NDArray:
        return self.integral_cdf(-np.asarray(v, dtype=float))
