"""What is added to a loss, a penalty or the adjustment of bias reduction, and what is minimised as a function of the coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from numpy.typing import NDArray

from gevglm.engine.arrow_cholesky import ArrowCholesky
from gevglm.engine.arrow_matrix import add_to_diagonal
from gevglm.engine.base import Block, Engine
from gevglm.engine.cholesky import Cholesky, CholeskyOfAll
from gevglm.estimation.sums import NewtonSums
from gevglm.links.base import Point
from gevglm.losses import Loss

AT_ONCE = 1 << 16  # numbers in the Hessians that one pass sums up


class Penalty(Protocol):
    """A function of the coefficients that is added to the loss, of one set of them or of many, stacked along the first axis."""

    def added_to(self, sums: NewtonSums, params: NDArray) -> NewtonSums:
        """Return the sums of loss plus penalty."""

    @property
    def curvature(self) -> NDArray:
        """Second derivative by each coefficient, at zero."""


@dataclass(frozen=True)
class Ridge:
    r"""Ridge penalty :math:`\frac{\alpha}{2} \sum_j d_j b_j^2`."""

    alpha: float
    columns: NDArray  # the d_j: 1 for penalised columns, 0 for the others; of shape (k,)

    @property
    def curvature(self) -> NDArray:
        return self.alpha * self.columns

    def added_to(self, sums: NewtonSums, params: NDArray) -> NewtonSums:
        sums.gradient += self.curvature * params
        add_to_diagonal(sums.hessian, self.curvature)
        sums.value += 0.5 * (params**2 @ self.curvature)
        return sums


class Adjustment(Protocol):
    """What bias reduction adds to the score; see :mod:`gevglm.bias`."""

    # whether it looks at rows only through their quadratic forms in the model-based covariance, so that row_shift is all there is to shift
    by_quadratic_forms: bool

    def has_objective(self, loss: Loss) -> bool:
        """Whether the adjusted score is a gradient, that is, whether there is a penalised loss."""

    def matrix(self, engine: Engine, loss: Loss, params: NDArray, inverse: NDArray) -> NDArray:
        """Return the matrix that measures rows, given the inverse information."""

    def shift(self, loss: Loss, block: Block, point: Point, matrix: NDArray) -> NDArray:
        """Return what one block adds to the score (or several such sums)."""

    def row_shift(self, loss: Loss, block: Block, point: Point, quadratic: NDArray) -> NDArray:
        """Return what is added to the score factor of each row; where rows are looked at in this way only, that is all there is."""

    def rate_slopes(self, loss: Loss, point: Point) -> list[NDArray]:
        """Return the derivative by v of what a row adds to its score factor per unit of its quadratic form."""

    def penalty(self, loss: Loss, log_determinant: float) -> float:
        """Return what is added to the loss, where the adjusted score is a gradient."""

    def apply(
        self,
        loss: Loss,
        sums: NewtonSums,
        total: NDArray,
        matrix: NDArray,
        factor: Cholesky | ArrowCholesky | CholeskyOfAll,
    ) -> None:
        """Change gradient and value in place; `factor` is that of the information."""


class Objective:
    """What is minimised, as a function of the coefficients: at one point, or at several in the same passes over the rows."""

    def __init__(self, evaluate: Callable[[list[NDArray]], list[NewtonSums]]):
        self._evaluate = evaluate

    def __call__(self, params: NDArray) -> NewtonSums:
        return self._evaluate([params])[0]

    def at_all(self, points: list[NDArray]) -> list[NewtonSums]:
        """Return the sums at each point, as many of them in one pass as their Hessians leave room for."""
        most = max(1, AT_ONCE // len(points[0]) ** 2) if points else 1
        return [sums for i in range(0, len(points), most) for sums in self._evaluate(points[i : i + most])]
