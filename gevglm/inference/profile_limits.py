r"""Limits and ratios of a profile likelihood by joint Newton steps.

The signed root (equation :eq:`signed-root` of the theory pages) :math:`z(b_j) = \mathrm{sign}(b_j - \hat b_j) \sqrt{2 (\ell(b_j) - \ell(\hat b))}` of the likelihood ratio, with
:math:`\ell(b_j)` minimised over the other coefficients, is close to linear in :math:`b_j`. A limit, where it crosses a normal
quantile, is found by Newton steps that move the coefficient along z and the others towards their minimum at the same time
(Venzon and Moolgavkar 1988).

Every look at a likelihood costs passes over the rows, so all limits are looked for at once, a row of arrays for each, and no look is wasted on making
sure: the steps shrink ever faster, and the last two
of them say how much the next one would have moved. The upper limits start where the bends of the paths to the lower limits send them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.cholesky import CholeskyOfAll
from gevglm.estimation.objective import Objective

STEPS = 12
LONGEST_STEP = 2.0  # of a coefficient, in standard errors
ACCURACY = 1e-8  # of a limit in standard errors, of a ratio


@dataclass(frozen=True)
class JointSteps:
    """Newton steps on a likelihood with some coefficients held, or one of them moved to its limit."""

    evaluate: Objective
    params: NDArray  # the estimates; of shape (k,)
    value: float  # the negative log-likelihood there
    covariance: NDArray  # the inverse of the second derivative there; of shape (k, k)
    # the smallest share of a miss that a step is believed to leave. Steps on a penalised likelihood leave out the second
    # derivative of the penalty: they shrink fast at first and by a constant factor in the end, which the first two do not show
    smallest_contraction: float = 0.1

    def limits(self, columns: Sequence[int], quantile: float) -> NDArray:
        """Return the lower and the upper limits of coefficients by a quantile of the signed root (1.96), of shape (b, 2); NaN for one not found."""
        j = np.asarray(columns, dtype=np.intp)
        center, error = self.params[j], np.sqrt(self.covariance[j, j])
        tangent = self.covariance[j] / error[:, None] ** 2
        reach = quantile * error[:, None]
        with np.errstate(all="ignore"):
            lower = self._limits(j, -quantile, self.params - reach * tangent, np.ones(len(j)))
            below, above = lower.value - center, lower.opposite(center, -quantile)
            known = (above > 0.0)[:, None]
            bend = lower.point - self.params - below[:, None] * tangent
            bent = above[:, None] * tangent + (above / below)[:, None] ** 2 * bend
            start = self.params + np.where(known, bent, reach * tangent)
            upper = self._limits(j, quantile, start, np.where(known[:, 0], lower.contraction, 1.0))
        return np.column_stack([lower.value, upper.value])

    def ratios(self, hypotheses: Sequence[list[int]], start: NDArray) -> NDArray:
        """Return the likelihood-ratio statistics with some coefficients held at their values in `start`, of shape (b, k); NaN where the steps do not find it."""
        points, found = start.copy(), np.full(len(start), np.nan)
        last, held = np.full(len(start), np.inf), np.zeros(start.shape, dtype=bool)
        for row, columns in zip(held, hypotheses, strict=True):
            row[columns] = True
        first, active = np.array([columns[0] for columns in hypotheses]), np.arange(len(start))
        with np.errstate(all="ignore"):
            for _ in range(STEPS):
                if not len(active):
                    break
                look, before = self._look(points[active], first[active], held[active]), last[active]
                contraction = np.where(before == np.inf, 1.0, look.decrement / before)
                contraction = np.maximum(contraction, self.smallest_contraction)
                last[active] = look.decrement
                good = look.decrement <= before
                done = good & (contraction * look.decrement <= ACCURACY)
                found[active[done]] = np.maximum(look.rise[done], 0.0)
                points[active] -= look.towards
                active = active[good & ~done]
        return found

    def _limits(self, j: NDArray, target: float, points: NDArray, contraction: NDArray) -> _Limits:
        error, last = np.sqrt(self.covariance[j, j]), np.full(len(j), np.nan)
        held = j[:, None] == np.arange(points.shape[1])
        slope, found, active = np.full(len(j), np.nan), np.zeros(len(j), dtype=bool), np.arange(len(j))
        for _ in range(STEPS):
            if not len(active):
                break
            look, scale, before = self._look(points[active], j[active], held[active]), error[active], last[active]
            good = (look.rise > 0.0) & (target * look.slope > 0.0)
            root = np.copysign(np.sqrt(look.rise), target)
            step = np.clip((target - root) * root / look.slope, -LONGEST_STEP * scale, LONGEST_STEP * scale)
            points[active] -= look.towards + look.along * step[:, None]
            points[active, j[active]] += step
            missed = np.abs(step) / scale + look.decrement
            shrunk = np.maximum(np.minimum(missed / before, 1.0), self.smallest_contraction)
            contraction[active] = np.where(np.isnan(before), contraction[active], shrunk)
            last[active], slope[active] = missed, look.slope / root
            done = good & (contraction[active] * missed <= ACCURACY)
            found[active[done]] = True
            active = active[good & ~done]
        points[~found] = np.nan
        return _Limits(points, points[np.arange(len(j)), j], slope, contraction)

    def _look(self, points: NDArray, first: NDArray, held: NDArray) -> _Look:
        """Project onto the minimum over the coefficients that are not held; NaN where there is none in sight."""
        sums, rows = self.evaluate.at_all(points), np.arange(len(points))
        information = np.where(held[:, :, None] | held[:, None, :], np.eye(points.shape[1]), sums.hessian)
        factor = CholeskyOfAll(information)
        inverse, across = factor.inverse(), sums.hessian[rows, first]
        gradient, across = np.where(held, 0.0, sums.gradient), np.where(held, 0.0, across)
        towards = np.einsum("bij,bj->bi", inverse, gradient)
        decrement = np.einsum("bi,bi->b", gradient, towards)
        slope = sums.gradient[rows, first] - np.einsum("bi,bi->b", across, towards)
        usable = sums.feasible & np.isfinite(sums.value) & factor.positive
        decrement = np.where(usable, decrement, np.nan)
        along = np.einsum("bij,bj->bi", inverse, across)
        return _Look(2.0 * (sums.value - self.value) - decrement, slope, towards, along, decrement)


class _Limits(NamedTuple):
    """Limits: all coefficients there, those in question, the slopes of the signed roots by them, and the share of a miss that the last step left."""

    point: NDArray  # of shape (b, k)
    value: NDArray  # of shape (b,), as are the others
    slope: NDArray
    contraction: NDArray

    def opposite(self, center: NDArray, target: float) -> NDArray:
        """Return how far from `center` the limit on the other side is, if the signed root is a parabola; NaN if there is none."""
        distance = self.value - center
        bend = (self.slope - target / distance) / distance
        rate = target / distance - bend * distance
        return -2.0 * target / (rate + np.sqrt(rate**2 - 4.0 * bend * target))


class _Look(NamedTuple):
    """A likelihood at points, a row for each.

    The likelihood ratio at the minimum over the other coefficients and its slope, the step `towards` that minimum, how it moves `along` with
    the first of the held coefficients, and twice the fall of the likelihood on the way there.
    """

    rise: NDArray  # of shape (b,)
    slope: NDArray
    towards: NDArray  # of shape (b, k); zero for held coefficients
    along: NDArray
    decrement: NDArray
