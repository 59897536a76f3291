r"""Links whose odds are multiplied: what a link becomes when rows are sampled, or weighted, by their outcome.

If events are r times as likely to be in the sample as the others, then for every link F of the population

.. math:: G(v) = P(y = 1 \mid x, \text{sampled}) = \frac{r F(v)}{1 - F(v) + r F(v)},

because sampling on the outcome multiplies the odds, :math:`\operatorname{logit} G = \ln r + \operatorname{logit} F`. For the
logit that is a shift of the intercept; for every other link it is another curve. Equation :eq:`sampled-link` of the theory pages.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.links._integral import PiecewiseIntegral
from gevglm.links.base import LARGEST_PROBABILITY, BinaryLink, Point

FARTHEST_LOG_ODDS = 690.0  # against the event; in its favour doubles end earlier
LARGEST_LOG_ODDS = 36.0
GRID = np.linspace(-60.0, 34.0, 4001)  # log odds at which the sign of the curvature is looked at


class ScaledPoint(Point):
    r"""A distribution with its odds multiplied by r; see :class:`gevglm.links.base.Point`.

    With :math:`D = 1 - F + r F`, both distributions have the derivative :math:`\lambda = F'/(F(1-F))` of the log odds in
    common, and so its relative change :math:`e = (\ln \lambda)'`, which is the reverse hazard's of F plus the hazard of F, and the
    hazard's of F minus the reverse hazard of F.
    """

    def __init__(self, point: Point, factor: float):
        self.point = point
        self.factor = factor
        self._mean = point.sf + factor * point.cdf

    @property
    def v(self) -> NDArray:
        return self.point.v

    @cached_property
    def cdf(self) -> NDArray:
        return self.factor * self.point.cdf / self._mean

    @cached_property
    def sf(self) -> NDArray:
        return self.point.sf / self._mean

    @cached_property
    def pdf(self) -> NDArray:
        return self.factor * self.point.pdf / self._mean**2

    @cached_property
    def dlogpdf(self) -> NDArray:
        return self.point.dlogpdf - 2.0 * self._growth

    @cached_property
    def d2logpdf(self) -> NDArray:
        return self.point.d2logpdf - 2.0 * self._growth * (self.point.dlogpdf - self._growth)

    @cached_property
    def log_cdf(self) -> NDArray:
        small = math.log(self.factor) + self.point.log_cdf - np.log(self._mean)
        return np.where(self.cdf < 0.5, small, np.log1p(-self.sf))

    @cached_property
    def log_sf(self) -> NDArray:
        return np.where(self.sf < 0.5, self.point.log_sf - np.log(self._mean), np.log1p(-self.cdf))

    @cached_property
    def reverse_hazard(self) -> NDArray:
        return self.point.reverse_hazard / self._mean

    @cached_property
    def hazard(self) -> NDArray:
        return self.factor * self.point.hazard / self._mean

    @cached_property
    def dlog_reverse_hazard(self) -> NDArray:
        return _smaller_terms(self._bend, -self.hazard, self.point.dlog_reverse_hazard, -self._growth)

    @cached_property
    def dlog_hazard(self) -> NDArray:
        return _smaller_terms(self._bend, self.reverse_hazard, self.point.dlog_hazard, -self._growth)

    @cached_property
    def dcdf_dshape(self) -> NDArray:
        return self.factor * self.point.dcdf_dshape / self._mean**2

    @cached_property
    def _growth(self) -> NDArray:
        """The derivative of ln D."""
        return (self.factor - 1.0) * self.point.pdf / self._mean

    @cached_property
    def _bend(self) -> NDArray:
        """The e above, from the tail in which nothing cancels."""
        point = self.point
        below, above = point.dlog_reverse_hazard + point.hazard, point.dlog_hazard - point.reverse_hazard
        return np.where(point.cdf < 0.5, below, above)


def _smaller_terms(a: NDArray, b: NDArray, c: NDArray, d: NDArray) -> NDArray:
    """Return a + b = c + d, from the pair with the smaller terms, of which less cancels."""
    return np.where(np.abs(a) + np.abs(b) <= np.abs(c) + np.abs(d), a + b, c + d)


class ScaledOdds(BinaryLink):
    r"""A link with its odds multiplied, :math:`G = r F/(1 - F + r F)`.

    Parameters
    ----------
    link : BinaryLink
        The F.
    factor : float
        The r, positive.

    Notes
    -----
    With u = r - 1 and :math:`D = 1 + u F`, the integrals behind the canonical loss are

    .. math::

        \int_{-\infty}^v G = \int_{-\infty}^v F + u \int_{-\infty}^v \frac{F (1-F)}{D}, \qquad
        \int_v^\infty (1 - G) = \frac1r \int_v^\infty (1 - F) + \frac{u}{r} \int_v^\infty \frac{(1-F)^2}{D},

    the first used where G < 1/2, the second elsewhere; they differ by v plus a constant. The second terms have no closed form. As
    functions of the log odds of F they are smooth for every link, and are kept as piecewise polynomials.
    """

    link: BinaryLink
    factor: float

    def __init__(self, link: BinaryLink, factor: float):
        if not isinstance(link, BinaryLink):
            raise InvalidOptionError(f"{link!r} is not a link of gevglm; give one such as GEV(xi=0.5) or Logit().")
        if not (isinstance(factor, Real) and math.isfinite(factor) and factor > 0):
            raise InvalidOptionError(f"odds can be multiplied by positive numbers only, got {factor!r}.")
        self.link = link
        self.factor = float(factor)
        self.canonical_is_log, self.default_loss = link.canonical_is_log, link.default_loss
        self.shape_name, self.default_grid = link.shape_name, link.default_grid

    @property
    def shape(self) -> float | None:
        return self.link.shape

    @property
    def parameters(self) -> dict[str, float]:
        return {**self.link.parameters, "factor": self.factor}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([repr(self.link), *self._arguments()])})"

    def _arguments(self) -> list[str]:
        return [f"factor={self.factor:g}"]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScaledOdds) and super().__eq__(other) and self.link == other.link

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.link))

    def with_shape(self, shape: float) -> ScaledOdds:
        return ScaledOdds(self.link.with_shape(shape), self.factor)

    @property
    def support(self) -> tuple[float, float]:
        return self.link.support

    @property
    def relative_integrals(self) -> tuple[bool, bool]:
        return self.link.relative_integrals

    @property
    def edge(self) -> str:
        return self.link.edge

    @property
    def log_concave(self) -> bool:
        return _log_concave(self.link, self.factor)

    def at(self, v: NDArray) -> ScaledPoint:
        return ScaledPoint(self.link.at(v), self.factor)

    def at_probability(self, p: NDArray) -> ScaledPoint:
        inner = p / (p + self.factor * (1.0 - p))
        return ScaledPoint(self.link.at_probability(np.minimum(inner, LARGEST_PROBABILITY)), self.factor)

    def integral_cdf(self, v: NDArray) -> NDArray:
        return self._integral(v, of_sf=False)

    def integral_sf(self, v: NDArray) -> NDArray:
        return self._integral(v, of_sf=True)

    def _integral(self, v: NDArray, of_sf: bool) -> NDArray:
        v = np.asarray(v, dtype=float)
        value, below = self._pieces(np.atleast_1d(v), of_sf)
        middle = self.link.at_probability(np.array([1.0 / (1.0 + self.factor)])).v
        jump = self._pieces(middle, of_sf, True)[0] - self._pieces(middle, of_sf, False)[0]
        start, from_below = np.zeros(1), not of_sf
        if self.relative_integrals[of_sf]:
            start, (from_below,) = self._pieces(np.zeros(1), of_sf)
        value += np.where(below, 0.0 if from_below else -jump, jump if from_below else 0.0) - start
        return value.reshape(v.shape)

    def _pieces(self, v: NDArray, of_sf: bool, half: bool | None = None) -> tuple[NDArray, NDArray]:
        """Return an integral up to a constant for each half of the distribution, and which half."""
        with np.errstate(all="ignore"):
            point = self.link.at(v)
            log_odds = point.log_cdf - point.log_sf
        below = log_odds < -math.log(self.factor) if half is None else np.full(v.shape, half)
        value = np.empty_like(v)
        value[below] = self._of_cdf(v[below], log_odds[below])
        value[~below] = self._of_sf(v[~below], log_odds[~below])
        other = below if of_sf else ~below
        value[other] += -v[other] if of_sf else v[other]
        return value, below

    def _of_cdf(self, v: NDArray, log_odds: NDArray) -> NDArray:
        rest, _ = _second_terms(self.link, self.factor)
        return self.link.integral_cdf(v) + (self.factor - 1.0) * rest(log_odds)

    def _of_sf(self, v: NDArray, log_odds: NDArray) -> NDArray:
        _, rest = _second_terms(self.link, self.factor)
        return self.link.integral_sf(v) / self.factor + (1.0 - 1.0 / self.factor) * rest(-log_odds)


@lru_cache(maxsize=64)
def _log_concave(link: BinaryLink, factor: float) -> bool:
    """Look at the signs of the second derivatives of ln G and ln(1 - G), at log odds in all parts of the distribution."""
    with np.errstate(all="ignore"):
        point = ScaledPoint(link.at_probability(expit(GRID)), factor)
        tolerance = 1e-9 * (point.hazard + point.reverse_hazard)
        return bool((point.dlog_hazard >= -tolerance).all() and (point.dlog_reverse_hazard <= tolerance).all())


@lru_cache(maxsize=64)
def _second_terms(link: BinaryLink, factor: float) -> tuple[PiecewiseIntegral, PiecewiseIntegral]:
    """Return the integrals without a closed form, up to some log odds of F and from some log odds with their sign changed."""

    def at(log_odds: NDArray) -> tuple[Point, NDArray]:
        point = link.at_probability(expit(log_odds))
        return point, point.cdf * point.sf / (point.pdf * (point.sf + factor * point.cdf))

    def lower(log_odds: NDArray) -> NDArray:
        point, step = at(log_odds)
        return point.cdf * point.sf * step

    def upper(against: NDArray) -> NDArray:
        point, step = at(-against)
        return point.sf**2 * step

    middle, (of_cdf, of_sf) = math.log(factor), link.relative_integrals
    with np.errstate(all="ignore"):
        below = PiecewiseIntegral(lower, -FARTHEST_LOG_ODDS, -middle, from_top=of_cdf)
        above = PiecewiseIntegral(upper, -LARGEST_LOG_ODDS, middle, from_top=of_sf)
    return below, above


def odds(share: float) -> float:
    """Return share / (1 - share)."""
    return share / (1.0 - share)


def checked_share(name: str, value: object) -> float:
    """Return a share of events as a float, or explain why it is none."""
    share = math.nan if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) else float(value)
    if not 0.0 < share < 1.0:
        hint = f" {share:g} % is {name}={share / 100.0:g}." if 1.0 < share < 100.0 else ""
        raise InvalidOptionError(f"{name}={value!r} is not a share of events: it must lie between 0 and 1.{hint}")
    return share


def shift_odds(p: ArrayLike, factor: ArrayLike) -> NDArray | float:
    r"""Multiply the odds of probabilities.

    .. math:: \frac{f p}{1 - p + f p}

    Parameters
    ----------
    p, factor : array_like
        Probabilities, of any shape; positive factors f, one for all or one each.

    >>> shift_odds(0.5, 3)
    0.75
    """
    probabilities, factor = checked_probabilities(p), numbers(factor, "factors of the odds")
    wrong = ~((factor > 0.0) & np.isfinite(factor))
    if wrong.any():
        raise InvalidOptionError(f"odds can be multiplied by positive numbers only, got {factor[wrong].ravel()[0]:g}.")
    try:
        shifted = factor * probabilities / (1.0 - probabilities + factor * probabilities)
    except ValueError:
        raise InvalidDataError(
            f"factors of shape {factor.shape} do not fit probabilities of shape {probabilities.shape}; give one for all, or one each."
        ) from None
    return float(shifted) if shifted.ndim == 0 else shifted


def checked_probabilities(p: ArrayLike) -> NDArray:
    """Return an array of probabilities, of any shape."""
    probabilities = numbers(p, "probabilities")
    wrong = ~((probabilities >= 0.0) & (probabilities <= 1.0))
    if wrong.any():
        raise InvalidDataError(
            f"{int(wrong.sum())} of {wrong.size} probabilities are not in [0, 1] (the first is {probabilities[wrong].ravel()[0]:g})."
        )
    return probabilities


def numbers(values: ArrayLike, name: str) -> NDArray:
    """Return values as numbers, or say by their name that they are not."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidDataError(f"{name} must be numbers, got {str(values)[:60]!r}.") from None
