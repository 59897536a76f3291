r"""Looks at a (penalised) likelihood of few rows at many points at once: rows of arrays are points.

What :class:`~gevglm.estimation.objective.Objective` finds at one point after the other, where the slope of the loss is :math:`F - y`: all predictors are one
matrix product, and so are all gradients, Hessians and leverages, by the products of two columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import Block
from gevglm.engine.cholesky import CholeskyOfAll
from gevglm.estimation.at_once import FEW_COLUMNS
from gevglm.estimation.pairs import ColumnPairs, symmetric

if TYPE_CHECKING:
    from gevglm.estimation.estimate import Problem

NUMBERS = 1 << 16  # of rows times points that are looked at together: they stay in the cache
FARTHEST = 700.0  # of a linear predictor: beyond, the loss is not told from the probability


class Looks(NamedTuple):
    """What is minimised at many points; with a leading axis for them."""

    value: NDArray  # infinite where the second derivative is not positive definite, or a point is too far off
    gradient: NDArray  # of shape (points, k)
    inverse: NDArray  # of the second derivative, or of the information; of shape (points, k, k)


class LooksAtOnce:
    """A function from points, of shape (points, k), to looks."""

    def __init__(self, problem: Problem, block: Block):
        self.loss, self.adjustment = problem.loss, problem.adjustment
        self.block, self.pairs = block, ColumnPairs(block.X)
        self.events = block.weighted(block.y) @ block.X

    @classmethod
    def of(cls, problem: Problem) -> LooksAtOnce | None:
        """Return the looks of a problem; None if it is not that simple."""
        block, loss, adjustment = problem.engine.only_block, problem.loss, problem.adjustment
        if block is None or problem.penalty is not None or problem.omitted or block.X.shape[1] > FEW_COLUMNS:
            return None
        by_rows = adjustment is None or (adjustment.by_quadratic_forms and adjustment.has_objective(loss))
        return cls(problem, block) if by_rows and loss.is_likelihood and loss.link.canonical_is_log else None

    def __call__(self, points: NDArray) -> Looks:
        most = max(1, NUMBERS // len(self.block.y))
        with np.errstate(all="ignore"):
            parts = [self._at(points[i : i + most]) for i in range(0, len(points), most)]
        return parts[0] if len(parts) == 1 else Looks(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _at(self, points: NDArray) -> Looks:
        loss, block = self.loss, self.block
        v = self._predictors(points)
        point = loss.link.at(v)
        hessian = symmetric(
            self.pairs.weighted_sums(block.weighted(loss.expected_curvature_at(point)).T), points.shape[1]
        )
        factor = CholeskyOfAll(hessian)
        inverse = factor.inverse()
        # the loss is -ln(1 - F) - y v
        value = -block.weighted(np.log(point.sf)).sum(axis=1) - points @ self.events
        if block.offset is not None:
            value -= block.weighted(block.y) @ block.offset
        slope = block.weighted(point.cdf - block.y)
        if self.adjustment is not None:
            quadratic = self.pairs.quadratic_forms(inverse).T
            slope -= self.adjustment.row_shift(loss, block, point, quadratic)
            logarithms: Any = factor.log_determinant  # one for each point
            value += self.adjustment.penalty(loss, logarithms)
        usable = factor.positive & (np.abs(v).max(axis=1) < FARTHEST)
        return Looks(np.where(usable, value, np.inf), slope @ block.X, inverse)

    def third_derivatives(self, params: NDArray, directions: NDArray) -> NDArray:
        """Return the third derivative of the loss twice along each direction; both of shape (directions, k)."""
        block = self.block
        steeper = self.loss.expected_curvature_slope_at(self.loss.link.at(block.linear_predictor(params)))
        return block.weighted(steeper * (directions @ block.X.T) ** 2) @ block.X

    def _predictors(self, points: NDArray) -> NDArray:
        v = points @ self.block.X.T
        return v if self.block.offset is None else v + self.block.offset
