r"""The two losses of a link, as functions of the linear predictor v.

A loss turns the :class:`~gevglm.links.Point` of its link into what the solver sums over the rows. The log
loss is the Bernoulli log-likelihood with its sign changed. The canonical loss is the matching loss of the link,

.. math:: \ell(0, v) = \int_{-\infty}^v F, \qquad \ell(1, v) = \int_v^\infty (1 - F),

so that :math:`\partial\ell/\partial v = F(v) - y` and :math:`\partial^2\ell/\partial v^2 = F'(v) \ge 0`:
it is convex for every link. For the logit both losses are the same function. Equations :eq:`log-loss` and :eq:`canonical-loss` of the
theory pages.

Outcomes may be proportions: every loss is linear in y.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.links.base import AT_THE_END, BinaryLink, Point


class Loss(ABC):
    """A loss for a link.

    Parameters
    ----------
    link : BinaryLink
        A link instance, such as ``GEV(0.5)``.

    Attributes
    ----------
    name : str
        The word for it in :func:`gevglm.fit` and in summaries.
    is_likelihood : bool
        Whether the loss is a log-likelihood, so that likelihood-ratio tests, AIC and profile intervals exist.
    convex : bool
        Whether the loss is convex in v.
    default_covariance : str
        The covariance of the coefficients that goes with it where nothing else is asked for.
    """

    name: str
    is_likelihood: bool

    def __init__(self, link: BinaryLink):
        if isinstance(link, type):
            shape = getattr(link, "shape_name", None)
            example = f"{link.__name__}({'' if shape is None else f'{shape}=0.5'})"
            raise InvalidOptionError(
                f"the link was given as the class {link.__name__}; give an instance, such as {example}."
            )
        if not isinstance(link, BinaryLink):
            raise InvalidOptionError(
                f"{link!r} is not a link of gevglm; use one from gevglm.links, such as GEV(xi=0.5) or Logit()."
            )
        self.link = link

    def with_shape(self, shape: float) -> Self:
        """Return the same loss of the link with another shape."""
        return type(self)(self.link.with_shape(float(shape)))

    def value(self, y: ArrayLike, v: ArrayLike) -> NDArray:
        r"""Return :math:`\ell(y, v)`."""
        return self._broadcast(lambda y, v: self.value_at(y, self.link.at(v)), y, v)

    def slope(self, y: ArrayLike, v: ArrayLike) -> NDArray:
        r"""Return :math:`\partial\ell/\partial v`."""
        return self._broadcast(lambda y, v: self.slope_at(y, self.link.at(v)), y, v)

    def curvature(self, y: ArrayLike, v: ArrayLike) -> NDArray:
        r"""Return :math:`\partial^2\ell/\partial v^2`."""
        return self._broadcast(lambda y, v: self.curvature_at(y, self.link.at(v)), y, v)

    @property
    @abstractmethod
    def convex(self) -> bool:
        """Whether the loss is convex in v."""

    @property
    def default_covariance(self) -> str:
        return "nonrobust"

    @property
    def curvature_is_expected(self) -> bool:
        """Whether the curvature does not depend on y, so that it equals its expectation."""
        return True

    @abstractmethod
    def slope_at(self, y: NDArray, point: Point) -> NDArray:
        """Return the slope at a point of the link."""

    @abstractmethod
    def curvature_at(self, y: NDArray, point: Point) -> NDArray:
        """Return the curvature at a point of the link."""

    @abstractmethod
    def expected_curvature_at(self, point: Point) -> NDArray:
        """Return the expectation of the curvature over y, the weight of Fisher scoring."""

    @abstractmethod
    def residual_factor_at(self, point: Point) -> NDArray:
        """Return a, with which the score is a (y - F)."""

    @abstractmethod
    def score_variance_at(self, point: Point) -> NDArray:
        """Return the variance of the slope, for a Bernoulli outcome."""

    @abstractmethod
    def mean_adjustment_at(self, point: Point, quadratic: NDArray) -> NDArray:
        """Return what mean bias reduction adds to the score of an observation; `quadratic` is x'Cx, with C the covariance."""

    @abstractmethod
    def mean_adjustment_slope_at(self, point: Point) -> NDArray:
        """Return the derivative by v of that, where x'Cx is 1."""

    @abstractmethod
    def expected_curvature_slope_at(self, point: Point) -> NDArray:
        """Return the derivative by v of the expected curvature."""

    @abstractmethod
    def score_variance_slope_at(self, point: Point) -> NDArray:
        """Return the derivative by v of the variance of the slope."""

    @abstractmethod
    def feasible(self, y: NDArray, v: NDArray) -> bool:
        """Return whether the loss is finite at every row."""

    @abstractmethod
    def value_at(self, y: NDArray, point: Point) -> NDArray:
        """Return the loss at a point of the link."""

    @staticmethod
    def _broadcast(function, y: ArrayLike, v: ArrayLike) -> NDArray:
        y, v = np.broadcast_arrays(np.asarray(y, dtype=float), np.asarray(v, dtype=float))
        if ((y < 0) | (y > 1)).any():
            raise InvalidDataError(f"outcomes must lie in [0, 1], got values from {y.min():g} to {y.max():g}.")
        with np.errstate(all="ignore"):
            return function(np.atleast_1d(y), np.atleast_1d(v)).reshape(y.shape)[()]

    @property
    def key(self) -> str:
        """What tells the loss from all others: its class, those of its links, and their parameters in full precision."""
        classes = [type(self).__name__]
        link: BinaryLink | None = self.link
        while link is not None:
            classes.append(type(link).__name__)
            link = getattr(link, "link", None)
        return json.dumps([classes, {name: float(value) for name, value in self.link.parameters.items()}])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.link!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.link == other.link

    def __hash__(self) -> int:
        return hash((type(self), self.link))


class Log(Loss):
    r"""Log loss, :math:`\ell(y, v) = -y \ln F(v) - (1 - y) \ln(1 - F(v))`.

    Notes
    -----
    With reverse hazard :math:`r = F'/F` and hazard :math:`h = F'/(1 - F)`, both finite far into the tails,

    .. math::

        \ell' = (1 - y) h - y r, \qquad \ell'' = (1 - y)\, h (\ln h)' - y\, r (\ln r)', \qquad
        \mathrm{E}\,\ell'' = r h = \frac{F'^2}{F (1 - F)}.
    """

    name = "log"
    is_likelihood = True

    @property
    def convex(self) -> bool:
        return self.link.log_concave

    @property
    def curvature_is_expected(self) -> bool:
        return self.link.canonical_is_log

    def slope_at(self, y: NDArray, point: Point) -> NDArray:
        return (1.0 - y) * point.hazard - y * point.reverse_hazard

    def curvature_at(self, y: NDArray, point: Point) -> NDArray:
        return (1.0 - y) * point.hazard * point.dlog_hazard - y * point.reverse_hazard * point.dlog_reverse_hazard

    def expected_curvature_at(self, point: Point) -> NDArray:
        return point.reverse_hazard * point.hazard

    def residual_factor_at(self, point: Point) -> NDArray:
        return point.pdf / (point.cdf * point.sf)

    def score_variance_at(self, point: Point) -> NDArray:
        return self.expected_curvature_at(point)

    def mean_adjustment_at(self, point: Point, quadratic: NDArray) -> NDArray:
        return 0.5 * self.expected_curvature_at(point) * point.dlogpdf * quadratic

    def mean_adjustment_slope_at(self, point: Point) -> NDArray:
        slope = self.expected_curvature_at(point) * point.d2logpdf
        return 0.5 * (slope + self.expected_curvature_slope_at(point) * point.dlogpdf)

    def expected_curvature_slope_at(self, point: Point) -> NDArray:
        return self.expected_curvature_at(point) * (point.dlog_reverse_hazard + point.dlog_hazard)

    def score_variance_slope_at(self, point: Point) -> NDArray:
        return self.expected_curvature_slope_at(point)

    def feasible(self, y: NDArray, v: NDArray) -> bool:
        lower, upper = self.link.support
        if lower == -np.inf and upper == np.inf:
            return True
        if np.maximum.reduce(v, initial=-np.inf) < upper and np.minimum.reduce(v, initial=np.inf) > lower:
            return True
        if (((v <= lower) & (y > 0)) | ((v >= upper) & (y < 1))).any():
            return False
        return self.link.edge != "wall" or not ((v < lower - AT_THE_END) | (v > upper + AT_THE_END)).any()

    def value_at(self, y: NDArray, point: Point) -> NDArray:
        return -np.where(y > 0, y * point.log_cdf, 0.0) - np.where(y < 1, (1.0 - y) * point.log_sf, 0.0)


class Canonical(Loss):
    r"""Canonical (matching) loss of a link: slope :math:`F(v) - y`, curvature :math:`F'(v)`.

    Notes
    -----
    Outside the support the loss continues linearly with its slope at the end, which is what the integrals of F and
    1 - F do by themselves, equation :eq:`extension`; it is convex and continuously differentiable for all v. Where an integral
    diverges (GEV with xi >= 1, cauchit), it is taken from v = 0, and the loss is known up to a constant. The links of risks (log, logc,
    identity) go on with their formula instead, beyond probabilities of 0 and 1, so that the Bernoulli variance is not that of the fit: the covariance
    is robust by default.
    """

    name = "canonical"
    is_likelihood = False

    @property
    def convex(self) -> bool:
        return True

    @property
    def default_covariance(self) -> str:
        return "HC0" if self.link.edge == "wall" else "nonrobust"

    def slope_at(self, y: NDArray, point: Point) -> NDArray:
        return point.continued.cdf - y

    def curvature_at(self, y: NDArray, point: Point) -> NDArray:
        return point.continued.pdf

    def expected_curvature_at(self, point: Point) -> NDArray:
        return point.continued.pdf

    def residual_factor_at(self, point: Point) -> NDArray:
        return np.ones_like(point.v)

    def score_variance_at(self, point: Point) -> NDArray:
        return point.cdf * point.sf

    def mean_adjustment_at(self, point: Point, quadratic: NDArray) -> NDArray:
        return 0.5 * point.continued.dpdf * quadratic

    def mean_adjustment_slope_at(self, point: Point) -> NDArray:
        return 0.5 * point.pdf * (point.dlogpdf**2 + point.d2logpdf)

    def expected_curvature_slope_at(self, point: Point) -> NDArray:
        return point.dpdf

    def score_variance_slope_at(self, point: Point) -> NDArray:
        return point.pdf * (point.sf - point.cdf)

    def feasible(self, y: NDArray, v: NDArray) -> bool:
        return True

    def value_at(self, y: NDArray, point: Point) -> NDArray:
        value, y = np.zeros_like(point.v), np.broadcast_to(y, point.v.shape)
        event, rest = y > 0, y < 1
        value[event] = y[event] * self.link.continued_integral_sf(point.v[event])
        value[rest] += (1.0 - y[rest]) * self.link.continued_integral_cdf(point.v[rest])
        return value
