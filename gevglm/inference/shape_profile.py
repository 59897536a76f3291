r"""Profile likelihood of coefficients whose link has an estimated shape: the shape moves with the other coefficients.

Regular likelihoods are walked by joint steps in coefficients and shape, as :mod:`gevglm.inference.profile` does it in coefficients alone. Where these fail,
at the ends of the range of the shape, and where the likelihood has several maxima over it, the shape is searched outside of the coefficients.
With :math:`r(\xi)` the likelihood-ratio statistic of a shape and :math:`r_\xi(b_j)` that of a coefficient at that shape,

.. math:: r(b_j) = \min_\xi\, [r(\xi) + r_\xi(b_j)],

so that a profile interval is the union over the shapes of those at a shape, by the quantile that :math:`r(\xi)` leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from gevglm.engine.base import run_in_lockstep
from gevglm.engine.linalg import one_blas_thread
from gevglm.inference.profile import PenalisedLikelihood, ProfileCurve, crossing
from gevglm.inference.shape import ShapeEstimate

SHAPES = 8  # at which the search begins at least
SAME_ROOT = 1e-6  # distance of a signed root from its quantile
SHAPE_ACCURACY = 1e-5  # of the shape in a search, whose square the likelihood does not see


class ShapeLikelihood:
    """A likelihood at its maximum over coefficients and shape; what it answers is that of a :class:`PenalisedLikelihood`."""

    def __init__(self, estimate: ShapeEstimate, params: NDArray, covariance: NDArray):
        self.estimate = estimate
        self.params = params
        self.covariance = covariance
        self._at_shapes: dict[float, PenalisedLikelihood | None] = {}

    infinite = None  # separated outcomes are found before a shape is looked for

    def is_infinite(self, column: int) -> bool:
        """Whether a coefficient is infinite under separation."""
        return False

    def intervals(self, columns: Sequence[int], alpha: float) -> list[tuple[float, float]]:
        """Return the profile intervals of coefficients."""
        quantile = float(norm.ppf(1.0 - alpha / 2.0))
        found: Sequence[tuple[float | None, float | None]] = [(None, None)] * len(columns)
        with one_blas_thread():
            if self.joint is not None:
                searches = (self.joint.steps.limits(j, quantile) for j in columns)
                found = run_in_lockstep(searches, self.joint.evaluate.at_all)
            return [
                (self._limit(j, -quantile, lower), self._limit(j, quantile, upper))
                for j, (lower, upper) in zip(columns, found, strict=True)
            ]

    def ratios(self, hypotheses: Sequence[list[int]]) -> list[float]:
        """Return the likelihood-ratio statistics of hypotheses that coefficients are zero."""
        found: Sequence[float | None] = [None] * len(hypotheses)
        with one_blas_thread():
            if self.joint is not None:
                curves = [ProfileCurve(self.joint, columns) for columns in hypotheses]
                searches = (self.joint.steps.ratio(curve.columns, curve.predicted(curve.null)) for curve in curves)
                found = run_in_lockstep(searches, self.joint.evaluate.at_all)
            return [
                self.held(columns, np.zeros(len(columns))) if ratio is None or not self.is_near(ratio) else ratio
                for columns, ratio in zip(hypotheses, found, strict=True)
            ]

    def curve(self, columns: list[int]) -> ShapeCurve:
        """Return the likelihood ratio as a function of some coefficients."""
        return ShapeCurve(self, columns)

    @property
    def joint(self) -> PenalisedLikelihood | None:
        """The likelihood as a function of coefficients and shape, where it is a regular one with a single maximum."""
        return self.estimate.joint

    def at(self, xi: float) -> PenalisedLikelihood | None:
        """Return the likelihood of the coefficients at a shape; None where it has no maximum."""
        if xi not in self._at_shapes:
            path = self.estimate.needed_path
            found = path.fit(xi)
            usable = np.isfinite(found.params).all() and found.positive_definite
            self._at_shapes[xi] = PenalisedLikelihood.of(path.problem_at(xi), found.params) if usable else None
        return self._at_shapes[xi]

    # -- the shape searched outside of the coefficients ------------------------------------------

    def held(self, columns: list[int], values: NDArray) -> float:
        """Return the likelihood-ratio statistic of coefficients held at values, by a search over the shape."""
        smallest = np.inf

        def ratio(xi: float) -> float:
            nonlocal smallest
            likelihood = self.at(xi)
            if likelihood is None or self._ratio_of(likelihood) >= smallest:
                return np.inf
            found = self._ratio_of(likelihood) + ProfileCurve(likelihood, columns).ratio(values)
            smallest = min(smallest, found)
            return found

        return self._smallest(ratio, self._shapes(np.inf))

    def _limit(self, column: int, target: float, found: float | None) -> float:
        """Return a limit; where joint steps have not found it, by a walk, and where the shape meets an end of its range, by a search."""
        if found is None and self.joint is not None and self.is_near(target**2):
            curve = ProfileCurve(self.joint, [column])
            found = crossing(curve, target)
            if not (np.isfinite(found) and abs(curve.root(found) - target) < SAME_ROOT):
                found = None
        return self._outermost(column, target) if found is None else found

    def is_near(self, ratio: float) -> bool:
        """Whether the shape cannot have met an end of its range where the likelihood ratio is no larger than this."""
        return ratio < 2.0 * (self.estimate.llf - max(self.estimate.ends))

    def _outermost(self, column: int, target: float) -> float:
        """Return a limit as the outermost of those at a shape."""
        side = np.sign(target)

        def inwards(xi: float) -> float:
            likelihood = self.at(xi)
            left = -np.inf if likelihood is None else target**2 - self._ratio_of(likelihood)
            return -side * likelihood.limit(column, side * np.sqrt(left)) if likelihood and left > 0.0 else np.inf

        return float(-side * self._smallest(inwards, self._shapes(target**2)))

    def _ratio_of(self, likelihood: PenalisedLikelihood) -> float:
        """Return the likelihood-ratio statistic of the shape of a likelihood."""
        return max(2.0 * (self.estimate.llf + likelihood.sums.value), 0.0)

    def _shapes(self, largest_ratio: float) -> NDArray:
        """Return the shapes at which a search begins: those of the grid, and more in between, whose ratio is small enough."""
        estimate = self.estimate
        ratios = 2.0 * (estimate.llf - estimate.profile["llf"].to_numpy())
        shapes = estimate.profile["xi"].to_numpy()
        near = np.flatnonzero(ratios <= largest_ratio)
        # up to the neighbours of the shapes that count, between which the ratio is reached
        shapes = shapes[max(near[0] - 1, 0) : near[-1] + 2]
        if len(shapes) < SHAPES:
            shapes = np.unique(np.append(shapes, np.linspace(shapes[0], shapes[-1], SHAPES)))
        return shapes

    def _smallest(self, function: Callable[[float], float], shapes: NDArray) -> float:
        values = np.empty(len(shapes))
        for i in np.argsort(np.abs(shapes - self.estimate.xi)):  # outwards, since a good value spares others
            values[i] = function(float(shapes[i]))
        best = int(np.argmin(values))
        if not np.isfinite(values[best]):
            return float(values[best])
        bounds = shapes[max(best - 1, 0)], shapes[min(best + 1, len(shapes) - 1)]
        ceiling = values[best] + max(1.0, abs(values[best]))
        found = minimize_scalar(
            lambda xi: min(function(float(xi)), ceiling),
            bounds=bounds,
            method="bounded",
            options={"xatol": SHAPE_ACCURACY},
        )
        return float(min(values[best], found.fun))


class ShapeCurve:
    """The minimum over the other coefficients and the shape, as a function of some coefficients.

    Near the estimates it is followed from there; farther away, where other shapes may be better, it is searched for.
    """

    def __init__(self, likelihood: ShapeLikelihood, columns: list[int]):
        self.likelihood = likelihood
        self.columns = columns
        self._walk = None if likelihood.joint is None else ProfileCurve(likelihood.joint, columns)

    def restart(self) -> None:
        """Return to the estimates, before turning to another side."""
        if self._walk is not None:
            self._walk.restart()

    def ratio(self, values: NDArray) -> float:
        """Return the likelihood-ratio statistic at given values."""
        if self._walk is not None:
            ratio = self._walk.ratio(values)
            if self.likelihood.is_near(ratio):
                return ratio
            self._walk = None if np.isinf(ratio) else self._walk
        return self.likelihood.held(self.columns, values)
