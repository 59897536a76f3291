r"""The contract of a link: a distribution function seen from both of its arguments.

A :class:`BinaryLink` is the inverse of a distribution function F. The solver looks at it from the
side of the linear predictor v, through :meth:`BinaryLink.at`, which returns a :class:`Point`: F and all
that derives from it at v, each computed when first asked for and accurate in both tails. Statsmodels looks at
it from the side of the probability, through the six methods of its own link classes, which this
base class builds once, analytically, from the same points.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.genmod.families.links import CDFLink

from gevglm.exceptions import InvalidDataError, InvalidOptionError

SMALLEST_PROBABILITY = 1e-150
LARGEST_PROBABILITY = 1.0 - 2.0**-53
AT_THE_END = 1e-10  # distance from the end of a support up to which v is there, where rounding decides on which side


class JointDerivatives(NamedTuple):
    """The log loss of outcomes and its derivatives by v and by the shape of a link, row by row."""

    value: NDArray
    slope: NDArray  # by v
    curvature: NDArray  # by v, twice
    score: NDArray  # by the shape
    mixed: NDArray  # by v and the shape
    second: NDArray  # by the shape, twice


class Point:
    r"""A distribution function and its relatives at given v.

    A link subclasses this and defines ``cdf``, ``sf``, ``pdf``, ``dlogpdf`` and ``d2logpdf``; it
    overrides the rest wherever the defaults lose accuracy in a tail.

    Attributes
    ----------
    v : ndarray
        The linear predictor.
    cdf, sf : ndarray
        :math:`F(v)` and :math:`1 - F(v)`, neither computed from the other.
    pdf, dpdf : ndarray
        :math:`F'(v)` and :math:`F''(v)`.
    dlogpdf, d2logpdf : ndarray
        First and second derivative of :math:`\ln F'(v)`.
    log_cdf, log_sf : ndarray
        :math:`\ln F(v)` and :math:`\ln(1 - F(v))`.
    reverse_hazard, hazard : ndarray
        :math:`F'/F` and :math:`F'/(1 - F)`.
    dlog_reverse_hazard, dlog_hazard : ndarray
        Derivatives of their logarithms, :math:`c - F'/F` and :math:`c + F'/(1 - F)` with :math:`c = F''/F'`.
    dcdf_dshape : ndarray
        Derivative of F by the shape of the link, for links that have one.
    continued : Point
        What the canonical loss takes for F: the point itself, but for links whose formula goes on beyond the end of the support.
    """

    if TYPE_CHECKING:  # a link defines each as an attribute or as a property

        @property
        def v(self) -> NDArray: ...
        @property
        def cdf(self) -> NDArray: ...
        @property
        def sf(self) -> NDArray: ...
        @property
        def pdf(self) -> NDArray: ...
        @property
        def dlogpdf(self) -> NDArray: ...
        @property
        def d2logpdf(self) -> NDArray: ...
        @property
        def dcdf_dshape(self) -> NDArray: ...

    def joint_derivatives(self, y: NDArray) -> JointDerivatives | None:
        """Return the log loss of outcomes and its derivatives by v and shape; None for links that leave second derivatives to differences."""
        return None

    @property
    def continued(self) -> Point:
        return self

    @cached_property
    def dpdf(self) -> NDArray:
        return self.pdf * self.dlogpdf

    @cached_property
    def log_cdf(self) -> NDArray:
        return np.log(self.cdf)

    @cached_property
    def log_sf(self) -> NDArray:
        return np.log(self.sf)

    @cached_property
    def reverse_hazard(self) -> NDArray:
        return self.pdf / self.cdf

    @cached_property
    def hazard(self) -> NDArray:
        return self.pdf / self.sf

    @cached_property
    def dlog_reverse_hazard(self) -> NDArray:
        return self.dlogpdf - self.reverse_hazard

    @cached_property
    def dlog_hazard(self) -> NDArray:
        return self.dlogpdf + self.hazard


class BinaryLink(CDFLink):
    """Base class of the links: the inverse of a distribution function F.

    A new link defines :meth:`at`, :meth:`at_probability`, :meth:`integral_cdf` and
    :meth:`integral_sf`; everything else in the package follows from these. A link with a shape parameter also names it, and its
    points have the derivative ``dcdf_dshape``; ``fit(link=..., xi="ml")`` then estimates it.

    Attributes
    ----------
    word : str or None
        The word for it in ``fit(link=...)`` and on the command line.
    words : dict of str to type
        The links that have a word, those defined outside the package among them.
    default_loss : str
        The loss that is minimised if none is named: "log" or "canonical".
    shape_name : str or None
        The shape parameter: the name of an attribute and of the only argument of the class.
    default_grid : tuple of float
        Shapes that are tried when the shape is chosen from the data.
    regular_above : float
        The shape above which maximum likelihood of the shape is regular: the information stays finite at the end of the support.
    support : tuple of float
        The open interval of v on which 0 < F(v) < 1.
    edge : str
        What the log loss of the outcome that is certain at a finite end of the support does there: nothing (""), it falls to zero smoothly; "kink", it
        bends, as F is capped; "wall", it ends: linear predictors beyond are no part of the model.
    log_concave : bool
        Whether both :math:`F` and :math:`1 - F` are log-concave, so that the log loss is convex in v.
    relative_integrals : tuple of bool
        Whether the integral of F, and that of 1 - F, diverges and is therefore taken from a
        reference point: the canonical loss is then known up to a constant.
    canonical_is_log : bool
        Whether the canonical loss of the link is its log loss; true of the logit alone.
    exponentiated : str or None
        What the exponential of a coefficient (times ``exponent``) is, if it has a name: ``odds_ratio``, ``hazard_ratio``, ``risk_ratio``,
        ``survival_ratio``.
    exponent : float
        The sign of a coefficient in that: 1, or -1 where larger linear predictors make the ratio smaller.
    """

    words: ClassVar[dict[str, Any]] = {}
    word: str | None = None
    default_loss: str = "log"
    shape_name: str | None = None
    default_grid: tuple[float, ...] = ()
    regular_above: float = -np.inf
    canonical_is_log: bool = False
    exponent: float = 1.0

    @property
    def support(self) -> tuple[float, float]:
        return (-np.inf, np.inf)

    @property
    def log_concave(self) -> bool:
        return True

    @property
    def edge(self) -> str:
        return ""

    @property
    def relative_integrals(self) -> tuple[bool, bool]:
        return (False, False)

    @property
    def exponentiated(self) -> str | None:
        return None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if vars(cls).get("word"):
            BinaryLink.words[str(cls.word)] = cls

    def __init__(self) -> None:  # statsmodels' CDFLink would store a scipy distribution
        pass

    # -- what a link defines ---------------------------------------------------------------

    def at(self, v: NDArray) -> Point:
        """Return the :class:`Point` of F at real `v`."""
        raise NotImplementedError

    def at_probability(self, p: NDArray) -> Point:
        """Return the :class:`Point` of F where F = `p`, for real `p` in (0, 1)."""
        raise NotImplementedError

    def write_cdf_pdf(self, v: NDArray, cdf: NDArray, pdf: NDArray) -> None:
        """Write F and its derivative at `v` into arrays, for many looks at the same rows; `pdf` may be `v` itself."""
        point = self.at(v)
        cdf[...], pdf[...] = point.cdf, point.pdf

    def integral_cdf(self, v: NDArray) -> NDArray:
        r"""Return :math:`\int_{-\infty}^v F`, the canonical loss of a non-event."""
        raise NotImplementedError

    def integral_sf(self, v: NDArray) -> NDArray:
        r"""Return :math:`\int_v^\infty (1 - F)`, the canonical loss of an event."""
        raise NotImplementedError

    def continued_integral_cdf(self, v: NDArray) -> NDArray:
        """Return the canonical loss of a non-event, for the ``continued`` distribution."""
        return self.integral_cdf(v)

    def continued_integral_sf(self, v: NDArray) -> NDArray:
        """Return the canonical loss of an event, for the ``continued`` distribution."""
        return self.integral_sf(v)

    # -- statsmodels' six methods ----------------------------------------------------------

    def __call__(self, p: ArrayLike) -> NDArray:
        r"""Return :math:`v = F^{-1}(p)`."""
        return self._lift(p, lambda q: self._from(q).v, self.deriv)

    def inverse(self, z: ArrayLike) -> NDArray:
        r"""Return :math:`\mu = F(z)`."""
        return self._lift(z, lambda v: self.at(v).cdf, self.inverse_deriv)

    def deriv(self, p: ArrayLike) -> NDArray:
        r"""Return :math:`dv/dp = 1/F'`."""
        return self._lift(p, lambda q: 1.0 / np.maximum(self._from(q).pdf, np.finfo(float).tiny), self.deriv2)

    def deriv2(self, p: ArrayLike) -> NDArray:
        r"""Return :math:`d^2v/dp^2 = -F''/F'^3`."""
        return self._lift(p, self._second_derivative_in_p, self._third_derivative_in_p)

    def inverse_deriv(self, z: ArrayLike) -> NDArray:
        r"""Return :math:`F'(z)`."""
        return self._lift(z, lambda v: self.at(v).pdf, self.inverse_deriv2)

    def inverse_deriv2(self, z: ArrayLike) -> NDArray:
        r"""Return :math:`F''(z)`."""
        return self._lift(z, lambda v: self.at(v).dpdf, self._third_derivative_in_v)

    def _second_derivative_in_p(self, p: NDArray) -> NDArray:
        point = self._from(p)
        return -point.dlogpdf / point.pdf**2

    def _third_derivative_in_p(self, p: NDArray) -> NDArray:
        point = self._from(p)
        return (2.0 * point.dlogpdf**2 - point.d2logpdf) / point.pdf**3

    def _third_derivative_in_v(self, v: NDArray) -> NDArray:
        point = self.at(v)
        return point.pdf * (point.dlogpdf**2 + point.d2logpdf)

    @staticmethod
    def _lift(x, function, derivative):
        """Apply a real function of arrays to any input, with a first-order continuation to complex steps."""
        x = np.asarray(x)
        real = np.atleast_1d(x.real).astype(float)
        with np.errstate(all="ignore"):
            value = function(real)
            if np.iscomplexobj(x):
                value = value + 1j * np.atleast_1d(x.imag) * derivative(real)
        return value.reshape(x.shape)[()]

    def _from(self, p: NDArray) -> Point:
        return self.at_probability(probabilities(p))

    # -- identity --------------------------------------------------------------------------

    @property
    def shape(self) -> float | None:
        """The value of the shape parameter; None for links without one."""
        return None if self.shape_name is None else getattr(self, self.shape_name)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters that, with the class, identify the link."""
        return {} if self.shape_name is None else {self.shape_name: getattr(self, self.shape_name)}

    @property
    def label(self) -> str:
        """The link as people write it: its name, and its shape to three digits."""
        return type(self).__name__ + ("" if self.shape is None else f"({self.shape_name}={self.shape:.3g})")

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({arguments})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BinaryLink) and type(self) is type(other) and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.parameters.items())))

    @property
    def population(self) -> BinaryLink:
        """The link of the population; the link itself, unless rows were sampled or weighted by the outcome."""
        return self

    def with_shape(self, shape: float) -> BinaryLink:
        """Return the same link with another shape, for links that have one."""
        if self.shape_name is None:
            raise InvalidOptionError(f"{self!r} has no shape.")
        return type(self)(**{self.shape_name: shape})

    def outside(self, v: NDArray) -> NDArray:
        """Return where `v` lies outside the support, that is, where F(v) is 0 or 1 exactly; a wall itself is inside."""
        lower, upper = self.support
        if self.edge == "wall":
            return (v < lower - AT_THE_END) | (v > upper + AT_THE_END)
        return (v <= lower) | (v >= upper)

    def ratios(self, estimates: NDArray) -> NDArray:
        """Return estimates with their limits, along the last axis, as the ratios that ``exponentiated`` names."""
        with np.errstate(over="ignore"):
            found = np.exp(self.exponent * np.asarray(estimates, dtype=float))
        return found if self.exponent > 0 else found[..., [0, 2, 1]]


def probabilities(p: NDArray) -> NDArray:
    """Check that `p` lies in [0, 1] and move its ends to where links and their derivatives are finite."""
    wrong = (p < 0) | (p > 1)
    if wrong.any():
        first = p[wrong].flat[0]
        raise InvalidDataError(
            f"{int(wrong.sum())} probabilities lie outside [0, 1] (the first is {first:g}); "
            "a link takes probabilities: pass the mean of the outcome, not the linear predictor or counts."
        )
    return np.clip(p, SMALLEST_PROBABILITY, LARGEST_PROBABILITY)
