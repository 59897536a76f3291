r"""The generalised-extreme-value links, in both orientations.

===========  =====================================================  =============================
link         F(v)                                                   at xi = 0
===========  =====================================================  =============================
GEV(xi)      :math:`e^{-t},\ t = (1 + \xi v)_+^{-1/\xi}`            loglog, :math:`e^{-e^{-v}}`
GEVc(xi)     :math:`1 - e^{-t},\ t = (1 - \xi v)_+^{-1/\xi}`        cloglog, :math:`1 - e^{-e^v}`
===========  =====================================================  =============================

Agarwal et al. (2014) and Calabrese and Osmetti (2013, with tau for xi) use GEV; Wang and Dey (2010) use GEVc.
GEVc is GEV mirrored, :math:`F_c(v) = 1 - F(-v)`, and is written here as nothing else; see equation :eq:`gev` of the theory pages.

Everything is a function of :math:`\ln t = -\ln(1 + \xi v)/\xi`, which is accurate for every xi. At
xi = 0 the quotient is evaluated at :math:`\xi = 2^{-1000}`, where it equals v to the last bit, so
that zero needs no formula of its own.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gevglm.exceptions import InvalidOptionError
from gevglm.links._gamma import SERIES_LIMIT, deficit_constant, gamma_deficit, gamma_excess, upper_gamma
from gevglm.links.base import AT_THE_END, BinaryLink, JointDerivatives, Point
from gevglm.links.mirrored import MirroredLink, MirroredPoint

PAPER_GRID = (*(round(-1.0 + 0.1 * j, 1) for j in range(26)), -0.2567)  # of Agarwal et al. (2014)
SMALLEST_SHAPE = 2.0**-1000
LARGEST_SHAPE = 5.0
LARGEST_LOG_HAZARD = 350.0  # of the reverse hazard, whose square must stay finite
JUST_INSIDE = -1.0 + 2.0**-53
VANISHED = 1e-290  # a t that may have lost digits to underflow
SMALL = 0.1  # size of xi v below which derivatives by xi are series
# of phi(u) and of its derivative, from the constants on; of shape (terms, 2)
_SHAPE_SERIES = np.array(
    [((-1.0) ** j * (j + 1) / (j + 2), -((-1.0) ** j) * (j + 1) * (j + 2) / (j + 3)) for j in range(18)]
)
_EXCESS_SERIES = np.array([1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000])


class GEVPoint(Point):
    r"""The GEV distribution at :math:`\ln t`; see :class:`gevglm.links.base.Point`."""

    v: NDArray

    def __init__(self, xi: float, v: NDArray, log_t: NDArray, outside: NDArray | None = None):
        self.xi = xi
        self.v = v
        self.log_t = log_t
        self.t = np.exp(log_t)
        self.outside = outside

    def _inside(self, value: NDArray) -> NDArray:
        """Set what vanishes outside the support to zero there."""
        if self.outside is not None:
            value[self.outside] = 0.0
        return value

    @cached_property
    def cdf(self) -> NDArray:
        return np.exp(-self.t)

    @cached_property
    def sf(self) -> NDArray:
        return -np.expm1(-self.t)

    @cached_property
    def pdf(self) -> NDArray:
        value = (1.0 + self.xi) * self.log_t
        value -= self.t
        return self._inside(np.exp(value, out=value))

    @cached_property
    def dlogpdf(self) -> NDArray:
        log_t = self._capped_log_t
        above_mode = np.where(np.abs(log_t) < 0.5, np.expm1(log_t) - self.xi, np.exp(log_t) - (1.0 + self.xi))
        return self._inside(above_mode * np.exp(self.xi * log_t))

    @cached_property
    def d2logpdf(self) -> NDArray:
        return self._inside((1.0 + self.xi) * (self.xi - self.t) * np.exp(2.0 * self.xi * self.log_t))

    @cached_property
    def log_cdf(self) -> NDArray:
        return -self.t

    @cached_property
    def log_sf(self) -> NDArray:
        return np.where(self.t < 0.5, self.log_t + np.log(self._sf_over_t), np.log1p(-self.cdf))

    @cached_property
    def reverse_hazard(self) -> NDArray:
        return self._inside(np.exp((1.0 + self.xi) * self._capped_log_t))

    @cached_property
    def hazard(self) -> NDArray:
        return self._inside(np.exp(self.xi * self.log_t - self.t) / self._sf_over_t)

    @cached_property
    def dlog_reverse_hazard(self) -> NDArray:
        r""":math:`-(1 + \xi) t^\xi`."""
        return self._inside(-(1.0 + self.xi) * np.exp(self.xi * self._capped_log_t))

    @cached_property
    def dlog_hazard(self) -> NDArray:
        r""":math:`t^\xi (t/(1 - e^{-t}) - 1 - \xi)`; the excess over 1 by its Bernoulli series for small t."""
        log_t = self._capped_log_t
        t = np.exp(log_t)
        excess = t / -np.expm1(-t) - 1.0
        small = t < 0.25
        s = t[small]
        excess[small] = 0.5 * s + s**2 * np.polynomial.polynomial.polyval(s**2, _EXCESS_SERIES)
        return self._inside((excess - self.xi) * np.exp(self.xi * log_t))

    @cached_property
    def _capped_log_t(self) -> NDArray:
        """Log t where the reverse hazard and its square are finite, so that no row adds zero times infinity."""
        return np.minimum(self.log_t, LARGEST_LOG_HAZARD / (1.0 + abs(self.xi)))

    @cached_property
    def _sf_over_t(self) -> NDArray:
        """(1 - F)/t, which is 1 where t has underflown."""
        return np.where(self.t > 0.0, -np.expm1(-self.t) / np.minimum(self.t, 1e300), 1.0)

    @cached_property
    def dcdf_dshape(self) -> NDArray:
        r""":math:`\partial F/\partial\xi = -e^{-t}\, t\, \partial \ln t/\partial\xi`."""
        return self._inside(-np.exp(self.log_t - self.t) * self.dlog_t_dxi)

    @cached_property
    def dlog_t_dxi(self) -> NDArray:
        r""":math:`v^2 [\ln(1 + u) - u/(1 + u)]/u^2` with :math:`u = \xi v`; a series for small u."""
        u = self.xi * self.v
        small = np.abs(u) < SMALL
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (np.log1p(u) - u / (1.0 + u)) / u**2
        ratio[small] = np.polynomial.polynomial.polyval(u[small], _SHAPE_SERIES[:, 0])
        return self.v**2 * ratio

    def joint_derivatives(self, y: NDArray) -> JointDerivatives:
        r"""Return the log loss and its derivatives, by the chain rule through :math:`L = \ln t`.

        With :math:`g = t/(e^t - 1)`, the loss :math:`y t + (1-y) \ln(1 + 1/(e^t - 1))` has the derivatives :math:`y t - (1-y) g` and
        :math:`y t - (1-y) g (1 - t - g)` by L; with :math:`w = 1/(1 + \xi v)`, L has :math:`-w` and :math:`\xi w^2` by v, :math:`v w^2` by v
        and xi, and :math:`v^2 \varphi(u)` and :math:`v^3 \varphi'(u)` by xi, where :math:`v^2 \varphi(u) = -(L + v w)/\xi` and
        :math:`\varphi'(u) = [w^2 - 2 \varphi(u)]/u`.
        """
        t, xi, other = self.t, self.xi, 1.0 - y
        odds = np.expm1(t)  # of the event not to happen
        g = t / odds
        if not t.min(initial=1.0) > 0.0:
            g[t == 0.0] = 1.0
        events, others = y * t, other * g
        first = events - others
        others *= 1.0 - t - g
        second = np.subtract(events, others, out=others)
        value = np.log1p(1.0 / odds)
        value *= other
        value += events
        if not np.isfinite(value.sum()):  # an infinite loss of the outcome that has not happened is none
            value = np.where(y > 0.0, events, 0.0) + np.where(other > 0.0, other * np.log1p(1.0 / odds), 0.0)
        w, a, change = self._by_shape()
        bent = first * w
        found = JointDerivatives(
            value=value,
            slope=-bent,
            curvature=(second + xi * first) * (w * w),
            score=first * a,
            mixed=(bent * self.v - second * a) * w,
            second=second * a * a + first * change,
        )
        if self.outside is not None:
            for derivative in found[1:]:
                derivative[self.outside] = 0.0
        return found

    def _by_shape(self) -> tuple[NDArray, NDArray, NDArray]:
        """Return w, and the first and second derivative of log t by xi."""
        v, xi = self.v, self.xi or SMALLEST_SHAPE
        u = xi * v
        small = np.flatnonzero(np.abs(u) < SMALL)
        w = 1.0 / (1.0 + u)
        if len(small) == len(v):
            a, change = np.empty_like(v), np.empty_like(v)
        else:
            along = v * w
            a = (self.log_t + along) * (-1.0 / xi)
            change = (along * along - 2.0 * a) * (1.0 / xi)
        if len(small):
            near, u = v[small], u[small]
            series = np.repeat(_SHAPE_SERIES[-1][:, None], len(u), axis=1)
            for coefficients in _SHAPE_SERIES[-2::-1]:
                series *= u
                series += coefficients[:, None]
            a[small] = near**2 * series[0]
            change[small] = near**3 * series[1]
        return w, a, change


class GEV(BinaryLink):
    r"""Generalised-extreme-value link, :math:`F(v) = \exp(-(1 + \xi v)_+^{-1/\xi})`.

    Parameters
    ----------
    xi : float
        Shape, between -5 and 5. Larger values give a heavier right tail; xi = 0 is the loglog link and xi = -0.2567
        the nearly symmetric member.

    Notes
    -----
    With :math:`t = (1 + \xi v)^{-1/\xi}`, :math:`F' = e^{-t} t^{1+\xi}` and :math:`F'' = F' (t^{1+\xi} - (1+\xi) t^\xi)`.
    The support is v > -1/xi for xi > 0 and v < -1/xi for xi < 0. The log loss of the link is convex for
    xi in [-1, 0] only: for xi > 0 the hazard falls in the upper tail.

    The integrals behind the canonical loss are :math:`\int_{-\infty}^v F = \Gamma(-\xi, t)` and
    :math:`\int_v^\infty (1-F) = \int_0^t (1 - e^{-s}) s^{-1-\xi} ds`, in closed form in equation :eq:`closed-form`; the second diverges for
    :math:`\xi \ge 1` and is then taken from t = 1, that is v = 0.

    Examples
    --------
    >>> from gevglm.links import GEV
    >>> link = GEV(0.5)
    >>> link
    GEV(xi=0.5)
    >>> round(float(link.inverse(link(0.03))), 12)
    0.03
    """

    word = "gev"
    default_loss = "canonical"
    shape_name: str | None = "xi"
    default_grid = PAPER_GRID
    regular_above = -0.5  # Smith (1985)

    def __init__(self, xi: float):
        self.xi = checked_shape(xi)
        self._shape = self.xi or SMALLEST_SHAPE

    @property
    def support(self) -> tuple[float, float]:
        if self.xi == 0.0:
            return (-np.inf, np.inf)
        end = -1.0 / self._shape
        return (end, np.inf) if self._shape > 0 else (-np.inf, end)

    @property
    def log_concave(self) -> bool:
        return -1.0 <= self.xi <= 0.0

    @property
    def edge(self) -> str:
        return "kink" if -1.0 <= self.xi < -0.5 else ""  # above -1 smooth on paper, but not in doubles

    @property
    def relative_integrals(self) -> tuple[bool, bool]:
        return (False, self.xi >= 1.0)

    def at(self, v: NDArray) -> GEVPoint:
        u = self._shape * v
        outside = None
        if not u.min(initial=np.inf) > -1.0:
            if self.edge:  # rows at the kink, up to rounding, are inside
                outside = u < -1.0 - AT_THE_END
                np.maximum(u, JUST_INSIDE if self.xi == -1.0 else AT_THE_END - 1.0, out=u)
                u[outside] = -1.0
            else:
                outside = u <= -1.0
                np.maximum(u, -1.0, out=u)
        log_t = np.log1p(u, out=u)
        log_t /= -self._shape
        return GEVPoint(self.xi, v, log_t, outside)

    def at_probability(self, p: NDArray) -> GEVPoint:
        log_t = np.log(-np.log(p))
        return GEVPoint(self.xi, np.expm1(-self._shape * log_t) / self._shape, log_t)

    def integral_cdf(self, v: NDArray) -> NDArray:
        # where t is too small to be told from zero, and above the support, Gamma(-xi, t) is linear in v
        v = np.asarray(v, dtype=float)
        t = self._t(v)
        value = upper_gamma(-self.xi, t)
        return np.where(t < VANISHED, v + gamma_excess(-self.xi), value) if self.xi < 1.0 else value

    def integral_sf(self, v: NDArray) -> NDArray:
        # for large t, and below the support, from (t^-xi - 1)/xi = v without forming t
        v = np.asarray(v, dtype=float)
        t = self._t(v)
        tail = deficit_constant(-self.xi) + v - upper_gamma(-self.xi, np.maximum(t, SERIES_LIMIT))
        return np.where(t > SERIES_LIMIT, -tail, gamma_deficit(-self.xi, np.minimum(t, SERIES_LIMIT)))

    def _t(self, v: NDArray) -> NDArray:
        with np.errstate(divide="ignore", over="ignore"):
            t = self.at(np.atleast_1d(np.asarray(v, dtype=float))).t.reshape(np.shape(v))
        return np.where(v < self.support[1], t, 0.0) if self.edge else t


class GEVc(MirroredLink):
    r"""Complementary GEV link, :math:`F(v) = 1 - \exp(-(1 - \xi v)_+^{-1/\xi})`: GEV mirrored.

    Parameters
    ----------
    xi : float
        Shape, between -5 and 5, in Wang and Dey's orientation; xi = 0 is the cloglog link.

    Notes
    -----
    :math:`F_c(v) = 1 - F(-v)` with F the :class:`GEV` of the same xi. The support is v < 1/xi for xi > 0 and v > 1/xi for xi < 0.
    """

    word = "gevc"
    default_loss = "canonical"
    shape_name: str | None = "xi"
    default_grid = PAPER_GRID
    regular_above = -0.5  # Smith (1985)
    mirrors: GEV

    def __init__(self, xi: float):
        self.mirrors = GEV(xi)
        self.xi = self.mirrors.xi

    @property
    def exponentiated(self) -> str | None:
        return "hazard_ratio" if self.xi == 0.0 else None

    def at_probability(self, p: NDArray) -> MirroredPoint:
        log_t = np.log(-np.log1p(-p))
        shape = self.mirrors._shape
        return MirroredPoint(GEVPoint(self.xi, np.expm1(-shape * log_t) / shape, log_t))


class LogLog(GEV):
    r"""Log-log link, :math:`F(v) = e^{-e^{-v}}`: :class:`~gevglm.links.GEV` at xi = 0."""

    word = "loglog"
    default_loss = "log"
    shape_name = None

    def __init__(self) -> None:
        super().__init__(0.0)


class CLogLog(GEVc):
    r"""Complementary log-log link, :math:`F(v) = 1 - e^{-e^v}`: :class:`~gevglm.links.GEVc` at xi = 0."""

    word = "cloglog"
    default_loss = "log"
    shape_name = None

    def __init__(self) -> None:
        super().__init__(0.0)


def checked_shape(xi: float) -> float:
    """Return xi as a float, or explain why it cannot be a shape parameter."""
    try:
        value = float(xi)
    except (TypeError, ValueError):
        raise InvalidOptionError(f"xi must be a number, got {xi!r}.") from None
    if not math.isfinite(value) or abs(value) > LARGEST_SHAPE:
        raise InvalidOptionError(
            f"xi={value:g} is not usable: it must be finite and between {-LARGEST_SHAPE:g} and {LARGEST_SHAPE:g} "
            "(data rarely support values outside [-1, 1.5])."
        )
    return value if abs(value) > SMALLEST_SHAPE else 0.0
