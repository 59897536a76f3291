r"""Limits and ratios of a profile likelihood by joint Newton steps.

The signed root (equation :eq:`signed-root` of the theory pages) :math:`z(b_j) = \mathrm{sign}(b_j - \hat b_j) \sqrt{2 (\ell(b_j) - \ell(\hat b))}` of the likelihood ratio, with
:math:`\ell(b_j)` minimised over the other coefficients, is close to linear in :math:`b_j`. A limit, where it crosses a normal
quantile, is found by Newton steps that move the coefficient along z and the others towards their minimum at the same time
(Venzon and Moolgavkar 1988).

Every look at a likelihood costs passes over the rows, so the searches for all limits go in lockstep (:mod:`gevglm.engine.base`), and no look is wasted on making
sure: the steps shrink ever faster, and the last two
of them say how much the next one would have moved. The upper limit starts where the bend of the path to the lower limit sends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.arrow_cholesky import factor_of
from gevglm.estimation.newton import Steps
from gevglm.estimation.sums import NewtonSums

STEPS = 12
LONGEST_STEP = 2.0  # of a coefficient, in standard errors
ACCURACY = 1e-8  # of a limit in standard errors, of a ratio


@dataclass(frozen=True)
class JointSteps:
    """Newton steps on a likelihood with some coefficients held, or one of them moved to its limit."""

    params: NDArray  # the estimates; of shape (k,)
    value: float  # the negative log-likelihood there
    covariance: NDArray  # the inverse of the second derivative there; of shape (k, k)
    # the smallest share of a miss that a step is believed to leave. Steps on a penalised likelihood leave out the second
    # derivative of the penalty: they shrink fast at first and by a constant factor in the end, which the first two do not show
    smallest_contraction: float = 0.1

    def limits(self, column: int, quantile: float) -> Steps[tuple[float | None, float | None]]:
        """Find the lower and the upper limit of a coefficient by a quantile of the signed root (1.96); None for one not found."""
        error = np.sqrt(self.covariance[column, column])
        tangent = self.covariance[:, column] / error**2
        reach = quantile * error
        lower = yield from self._limit(column, -quantile, self.params - reach * tangent, contraction=1.0)
        start, contraction = self.params + reach * tangent, 1.0
        if lower is not None:
            below, above = lower.value - self.params[column], lower.opposite(self.params[column], -quantile)
            if above > 0.0:
                bend = lower.point - self.params - below * tangent
                start, contraction = self.params + above * tangent + (above / below) ** 2 * bend, lower.contraction
        upper = yield from self._limit(column, quantile, start, contraction)
        return None if lower is None else lower.value, None if upper is None else upper.value

    def ratio(self, columns: list[int], start: NDArray) -> Steps[float | None]:
        """Find the likelihood-ratio statistic with some coefficients held at `start`; None if the steps do not find it."""
        point, last = start, np.inf
        for _ in range(STEPS):
            look = self._look((yield point), columns)
            if look is None or look.decrement > last:
                return None
            contraction = 1.0 if np.isinf(last) else max(look.decrement / last, self.smallest_contraction)
            last = look.decrement
            if contraction * look.decrement <= ACCURACY:
                return max(look.rise, 0.0)
            point = point.copy()
            point[look.free] -= look.towards
        return None

    def _limit(self, j: int, target: float, point: NDArray, contraction: float) -> Steps[_Limit | None]:
        error, last = np.sqrt(self.covariance[j, j]), None
        for _ in range(STEPS):
            look = self._look((yield point), [j])
            if look is None or not (look.rise > 0.0 and target * look.slope > 0.0):
                return None
            root = np.copysign(np.sqrt(look.rise), target)
            step = (target - root) * root / look.slope
            step = float(np.clip(step, -LONGEST_STEP * error, LONGEST_STEP * error))
            point = point.copy()
            point[j] += step
            point[look.free] -= look.towards + look.along * step
            missed = abs(step) / error + look.decrement
            if last is not None:
                contraction = max(min(missed / last, 1.0), self.smallest_contraction)
            if contraction * missed <= ACCURACY:
                return _Limit(point, float(point[j]), look.slope / root, contraction)
            last = missed
        return None

    def _look(self, sums: NewtonSums, columns: list[int]) -> _Look | None:
        """Project onto the minimum over the other coefficients; None where there is none in sight."""
        free = np.array([j for j in range(len(sums.gradient)) if j not in columns], dtype=np.intp)
        if not (sums.feasible and np.isfinite(sums.value)):
            return None
        projected = _projections(sums, columns, free)
        if projected is None:
            return None
        towards, along = projected
        decrement = float(sums.gradient[free] @ towards)
        slope = float(sums.gradient[columns[0]] - sums.hessian[columns[0], free] @ towards)
        return _Look(free, 2.0 * (sums.value - self.value) - decrement, slope, towards, along, decrement)


class _Limit(NamedTuple):
    """A limit: all coefficients, the one in question, the slope of the signed root by it, and the share of a miss that the last step left."""

    point: NDArray
    value: float
    slope: float
    contraction: float

    def opposite(self, center: float, target: float) -> float:
        """Return how far from `center` the limit on the other side is, if the signed root is a parabola; NaN if there is none."""
        distance = self.value - center
        bend = (self.slope - target / distance) / distance
        rate = target / distance - bend * distance
        with np.errstate(invalid="ignore"):
            return -2.0 * target / (rate + np.sqrt(rate**2 - 4.0 * bend * target))


class _Look(NamedTuple):
    """A likelihood at one point.

    The other coefficients, the likelihood ratio at their minimum and its slope, the step `towards` that minimum, how it moves `along` with
    the first of the held coefficients, and twice the fall of the likelihood on the way there.
    """

    free: NDArray
    rise: float
    slope: float
    towards: NDArray
    along: NDArray
    decrement: float


def _projections(sums: NewtonSums, columns: list[int], free: NDArray) -> tuple[NDArray, NDArray] | None:
    sides = np.array([sums.gradient[free], sums.hessian[columns[0], free]]).T
    if not len(free):
        return sides[:, 0], sides[:, 1]
    factor = factor_of(sums.hessian[np.ix_(free, free)])
    if not factor.positive:
        return None
    solved = factor.solve(sides)
    return solved[:, 0], solved[:, 1]
