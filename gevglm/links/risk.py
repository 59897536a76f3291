r"""Links whose coefficients are effects on the risk itself: ratios of risks, ratios of survival, differences of risks.

========  ==============================  ======================================  =============================
link      F(v)                            v                                       a coefficient b
========  ==============================  ======================================  =============================
Log       :math:`e^v`, v <= 0             log risk                                risk ratio :math:`e^b`
LogC      :math:`1 - e^{-v}`, v >= 0      minus the log of survival               survival ratio :math:`e^{-b}`
Identity  v, 0 <= v <= 1                  risk                                    risk difference b
========  ==============================  ======================================  =============================

The support ends where the risk is 0 or 1, at a *wall*: the likelihood has linear predictors on one side only, and its maximum may lie
on the wall (:mod:`gevglm.estimation.boundary`). The canonical loss has no wall. It goes on with the formula of F, and is then a well-known
one: that of Poisson regression for :class:`Log` (modified Poisson, Zou 2004), least squares for :class:`Identity`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gevglm.links._gamma import gamma_deficit
from gevglm.links.base import BinaryLink, Point
from gevglm.links.mirrored import MirroredLink, MirroredPoint

NEAR_ONE = -1.0  # above, the logarithm of 1 - e^v is taken of the difference


class ExponentialPoint(Point):
    """The exponential function: the log link without the end of its support."""

    v: NDArray

    def __init__(self, v: NDArray):
        self.v = v

    @cached_property
    def cdf(self) -> NDArray:
        return np.exp(self.v)

    @cached_property
    def sf(self) -> NDArray:
        return -np.expm1(self.v)

    @property
    def pdf(self) -> NDArray:
        return self.cdf

    @cached_property
    def dlogpdf(self) -> NDArray:
        return np.ones_like(self.v)

    @cached_property
    def d2logpdf(self) -> NDArray:
        return np.zeros_like(self.v)


class LogPoint(Point):
    """The distribution of the log link; on and beyond the wall the event is certain, and its loss still has the slope -1."""

    v: NDArray

    def __init__(self, v: NDArray):
        self.v = v
        self.outside = None if v.max(initial=-np.inf) < 0.0 else v >= 0.0

    def _inside(self, value: NDArray) -> NDArray:
        if self.outside is not None:
            value[self.outside] = 0.0
        return value

    @cached_property
    def continued(self) -> Point:
        return ExponentialPoint(self.v)

    @cached_property
    def cdf(self) -> NDArray:
        value = np.exp(self.v)
        return value if self.outside is None else np.minimum(value, 1.0, out=value)

    @cached_property
    def sf(self) -> NDArray:
        value = np.expm1(self.v)
        return self._inside(np.negative(value, out=value))

    @cached_property
    def pdf(self) -> NDArray:
        return self.cdf if self.outside is None else self._inside(self.cdf.copy())

    @cached_property
    def dlogpdf(self) -> NDArray:
        return self._inside(np.ones_like(self.v))

    @cached_property
    def d2logpdf(self) -> NDArray:
        return np.zeros_like(self.v)

    @cached_property
    def log_cdf(self) -> NDArray:
        return self.v if self.outside is None else np.minimum(self.v, 0.0)

    @cached_property
    def log_sf(self) -> NDArray:
        return np.where(self.v > NEAR_ONE, np.log(self.sf), np.log1p(-self.cdf))

    @cached_property
    def reverse_hazard(self) -> NDArray:
        return np.ones_like(self.v)

    @cached_property
    def hazard(self) -> NDArray:
        return self.cdf * self.dlog_hazard

    @cached_property
    def dlog_reverse_hazard(self) -> NDArray:
        return np.zeros_like(self.v)

    @cached_property
    def dlog_hazard(self) -> NDArray:
        return self._inside(1.0 / self.sf)


class Log(BinaryLink):
    r"""Log link, :math:`F(v) = e^v` for :math:`v \le 0`: the exponential of a coefficient is a risk ratio.

    Notes
    -----
    With ``loss="log"`` it is the log-binomial model, with :math:`v \le 0` in every row; where the likelihood is largest with some events at a risk
    of exactly 1, the fit ends there, on the boundary. With ``loss="canonical"`` it is modified Poisson regression (Zou 2004), whose fitted
    means may exceed 1, and whose covariance is therefore robust (HC0) by default.

    :class:`~gevglm.links.GEV` with xi = -1 is the same curve with v - 1 for v, but *capped* where this one has a wall: rows beyond the end have a
    risk of 1 there, and the ratio of their risks is not the exponential of a coefficient any more.

    Examples
    --------
    >>> from gevglm.links import Log
    >>> float(Log().inverse(Log()(0.03)).round(12))
    0.03
    """

    word = "log"
    edge = "wall"
    exponentiated = "risk_ratio"
    support = (-np.inf, 0.0)

    def at(self, v: NDArray) -> LogPoint:
        return LogPoint(v)

    def at_probability(self, p: NDArray) -> LogPoint:
        return LogPoint(np.log(p))

    def integral_cdf(self, v: NDArray) -> NDArray:
        v = np.asarray(v, dtype=float)
        return np.exp(np.minimum(v, 0.0)) + np.maximum(v, 0.0)

    def integral_sf(self, v: NDArray) -> NDArray:
        return gamma_deficit(1.0, np.maximum(-np.asarray(v, dtype=float), 0.0))

    def continued_integral_cdf(self, v: NDArray) -> NDArray:
        return np.exp(v)

    def continued_integral_sf(self, v: NDArray) -> NDArray:
        v = np.asarray(v, dtype=float)
        return np.where(v < 0.0, self.integral_sf(v), np.expm1(v) - v)


class LogC(MirroredLink):
    r"""Complementary log link, :math:`F(v) = 1 - e^{-v}` for :math:`v \ge 0`: :class:`gevglm.links.Log` mirrored.

    Notes
    -----
    :math:`e^{-b}` is a ratio of survival, of the probabilities of no event; v is the cumulative hazard. Coefficients have the sign of the
    effect on the risk: those of Stata's ``link(logc)`` and of statsmodels' ``LogC``, which model :math:`\ln(1 - \mu)`, have the other one.
    """

    word = "logc"
    exponentiated = "survival_ratio"
    exponent = -1.0
    mirrors = Log()

    def at_probability(self, p: NDArray) -> MirroredPoint:
        return MirroredPoint(LogPoint(np.log1p(-p)))


class LinearPoint(Point):
    """The straight line: the identity link without the ends of its support."""

    v: NDArray

    def __init__(self, v: NDArray):
        self.v = v

    @property
    def cdf(self) -> NDArray:
        return self.v

    @cached_property
    def sf(self) -> NDArray:
        return 1.0 - self.v

    @cached_property
    def pdf(self) -> NDArray:
        return np.ones_like(self.v)

    @cached_property
    def dlogpdf(self) -> NDArray:
        return np.zeros_like(self.v)

    @cached_property
    def d2logpdf(self) -> NDArray:
        return np.zeros_like(self.v)


class IdentityPoint(LinearPoint):
    """The uniform distribution; at a wall the loss of the outcome that is certain there still has its slope."""

    @cached_property
    def continued(self) -> Point:
        return LinearPoint(self.v)

    @cached_property
    def cdf(self) -> NDArray:
        return np.clip(self.v, 0.0, 1.0)

    @cached_property
    def sf(self) -> NDArray:
        return np.clip(1.0 - self.v, 0.0, 1.0)

    @cached_property
    def pdf(self) -> NDArray:
        return ((self.v > 0.0) & (self.v < 1.0)).astype(float)

    @cached_property
    def reverse_hazard(self) -> NDArray:
        return np.where(self.v > 0.0, 1.0 / self.cdf, 0.0)

    @cached_property
    def hazard(self) -> NDArray:
        return np.where(self.v < 1.0, 1.0 / self.sf, 0.0)

    @cached_property
    def dlog_reverse_hazard(self) -> NDArray:
        return -self.reverse_hazard

    @cached_property
    def dlog_hazard(self) -> NDArray:
        return self.hazard


class Identity(BinaryLink):
    r"""Identity link, :math:`F(v) = v` for :math:`0 \le v \le 1`: a coefficient is a risk difference.

    Notes
    -----
    With ``loss="log"`` it is the binomial model with linear risks, which lie between 0 and 1 in every row; the fit may end where some of them are
    exactly 0 or 1. With ``loss="canonical"`` it is least squares, the linear probability model, with a robust covariance (HC0) by default.
    """

    word = "identity"
    edge = "wall"
    support = (0.0, 1.0)

    def at(self, v: NDArray) -> IdentityPoint:
        return IdentityPoint(v)

    def at_probability(self, p: NDArray) -> IdentityPoint:
        return IdentityPoint(np.asarray(p, dtype=float))

    def integral_cdf(self, v: NDArray) -> NDArray:
        v = np.asarray(v, dtype=float)
        return 0.5 * np.clip(v, 0.0, 1.0) ** 2 + np.maximum(v - 1.0, 0.0)

    def integral_sf(self, v: NDArray) -> NDArray:
        return self.integral_cdf(1.0 - np.asarray(v, dtype=float))

    def continued_integral_cdf(self, v: NDArray) -> NDArray:
        return 0.5 * np.square(v)

    def continued_integral_sf(self, v: NDArray) -> NDArray:
        return 0.5 * np.square(1.0 - np.asarray(v))
