"""Methods that adjust the score: mean and median bias reduction, Jeffreys' prior."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gevglm.bias.base import BiasReduction, need_positive
from gevglm.bias.log_f import LogF
from gevglm.covariance import Fitted, Nonrobust
from gevglm.engine.arrow_cholesky import ArrowCholesky
from gevglm.engine.base import Block, Engine
from gevglm.engine.cholesky import Cholesky, CholeskyOfAll
from gevglm.engine.factored_matrix import products
from gevglm.engine.linalg import quadratic_forms, row_products
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.objective import Objective
from gevglm.estimation.sums import NewtonSums
from gevglm.links.base import Point
from gevglm.losses import Loss

Factor: TypeAlias = Cholesky | ArrowCholesky | CholeskyOfAll  # of one information matrix, or of many
FALLBACKS = (1.0, 4.0, 0.25)  # degrees of freedom of log-F priors, whose estimates are starts where the usual one fails


class Adjusted(BiasReduction):
    """A method that adjusts the score; see ``gevglm.estimation.objective.Adjustment``."""

    by_quadratic_forms = False

    def estimate(self, problem: Problem) -> Estimate:
        found = self.as_problem(problem).estimate()
        for m in () if found.converged or problem.maxiter == 0 else FALLBACKS:
            start = LogF(m).estimate(problem).params
            again = replace(problem, adjustment=self, start=start).estimate()
            if again.converged:
                return again
        return found

    def as_problem(self, problem: Problem) -> Problem:
        return replace(problem, adjustment=self)

    def maximises_likelihood(self, loss: Loss) -> bool:
        return loss.is_likelihood and self.has_objective(loss)

    def penalised_likelihood(self, problem: Problem, params: NDArray) -> tuple[Objective, NDArray]:
        return self.as_problem(problem).objective(), params

    def has_objective(self, loss: Loss) -> bool:
        return False

    def matrix(self, engine: Engine, loss: Loss, params: NDArray, inverse: NDArray) -> NDArray:
        return inverse

    @abstractmethod
    def shift(self, loss: Loss, block: Block, point: Point, matrix: NDArray) -> NDArray:
        """Return what one block adds to the score (or several such sums)."""

    def row_shift(self, loss: Loss, block: Block, point: Point, quadratic: NDArray) -> NDArray:
        """Return what is added to the score factor of each row, if the method looks at rows by their quadratic forms only."""
        raise NotImplementedError

    @abstractmethod
    def apply(self, loss: Loss, sums: NewtonSums, total: NDArray, matrix: NDArray, factor: Factor) -> None:
        """Change gradient and value of the loss in place."""

    def rates(self, loss: Loss, point: Point) -> list[NDArray]:
        """Return what a row adds to its score factor per unit of its quadratic form.

        Where the constant of a group is concerned in another way than other coefficients, first for the constant, then for the others.
        """
        raise NotImplementedError

    def rate_slopes(self, loss: Loss, point: Point) -> list[NDArray]:
        """Return the derivatives by v of :meth:`rates`."""
        raise NotImplementedError

    def penalty(self, loss: Loss, log_determinant: float) -> float:
        """Return what is added to the loss, where the adjusted score is a gradient."""
        return 0.0


class AdjustedRows(Adjusted):
    """A method that adjusts the score factor of each row, by the quadratic form of the row."""

    by_quadratic_forms = True

    def shift(self, loss: Loss, block: Block, point: Point, matrix: NDArray) -> NDArray:
        return self.row_shift(loss, block, point, quadratic_forms(block.X, matrix)) @ block.X

    @abstractmethod
    def row_shift(self, loss: Loss, block: Block, point: Point, quadratic: NDArray) -> NDArray:
        """Return what is added to the score factor of each row."""


@dataclass(frozen=True)
class MeanReduction(AdjustedRows):
    """Mean bias reduction: Firth's method and its generalisation to every link and to the canonical loss.

    Notes
    -----
    Solves equation :eq:`mean-log` (log loss) or :eq:`mean-canonical` (canonical loss) of the theory pages.
    """

    word = "mean"
    title = "mean bias reduction (Firth)"

    def has_objective(self, loss: Loss) -> bool:
        return loss.link.canonical_is_log

    def matrix(self, engine: Engine, loss: Loss, params: NDArray, inverse: NDArray) -> NDArray:
        if loss.is_likelihood:  # as Nonrobust has it; asked for in every step
            return inverse
        return Nonrobust().matrix(Fitted(engine, loss, params, inverse, 0.0))

    def row_shift(self, loss: Loss, block: Block, point: Point, quadratic: NDArray) -> NDArray:
        return block.weighted(loss.mean_adjustment_at(point, quadratic))

    def apply(self, loss: Loss, sums: NewtonSums, total: NDArray, matrix: NDArray, factor: Factor) -> None:
        sums.gradient -= total
        if self.has_objective(loss):
            sums.value -= 0.5 * factor.log_determinant

    def rates(self, loss: Loss, point: Point) -> list[NDArray]:
        return [loss.mean_adjustment_at(point, np.ones(()))]

    def rate_slopes(self, loss: Loss, point: Point) -> list[NDArray]:
        return [loss.mean_adjustment_slope_at(point)]

    def penalty(self, loss: Loss, log_determinant: float) -> float:
        return -0.5 * log_determinant if self.has_objective(loss) else 0.0


@dataclass(frozen=True)
class MedianReduction(Adjusted):
    """Median bias reduction: each estimate is as often too large as too small, whatever the scale of its coefficient.

    Notes
    -----
    Equation :eq:`median` of the theory pages.
    """

    word = "median"
    title = "median bias reduction"
    needs_likelihood = True

    def shift(self, loss: Loss, block: Block, point: Point, matrix: NDArray) -> NDArray:
        projected = products(block.X, matrix)
        quadratic = row_products(block.X, projected)
        mean = block.weighted(loss.mean_adjustment_at(point, quadratic)) @ block.X
        return np.stack([mean, np.dot(self.cubes(loss, block, point), projected**3)])

    def cubes(self, loss: Loss, block: Block, point: Point) -> NDArray:
        """Return the weights of the third powers of rows."""
        # F' times the derivative of ln(mu (1 - mu)) is the reverse hazard minus the hazard
        skewness = (point.reverse_hazard - point.hazard) / 6.0 - 0.5 * point.dlogpdf
        return block.weighted(loss.expected_curvature_at(point) * skewness)

    def apply(self, loss: Loss, sums: NewtonSums, total: NDArray, matrix: NDArray, factor: Factor) -> None:
        mean, cubes = total
        sums.gradient -= mean + sums.hessian @ (cubes / matrix.diagonal())

    def rates(self, loss: Loss, point: Point) -> list[NDArray]:
        # the median of the estimate of a constant alone, whose adjustment does not have the curvature of the link
        third = (point.reverse_hazard - point.hazard) / 6.0
        return [loss.expected_curvature_at(point) * third, loss.mean_adjustment_at(point, np.ones(()))]

    def rate_slopes(self, loss: Loss, point: Point) -> list[NDArray]:
        third = (point.reverse_hazard - point.hazard) / 6.0
        change = (point.reverse_hazard * point.dlog_reverse_hazard - point.hazard * point.dlog_hazard) / 6.0
        of_constant = loss.expected_curvature_at(point) * change + loss.expected_curvature_slope_at(point) * third
        return [of_constant, loss.mean_adjustment_slope_at(point)]


@dataclass(frozen=True)
class Jeffreys(AdjustedRows):
    r"""Maximum likelihood penalised by a power of Jeffreys' prior, :math:`a \ln |I(b)|`.

    Parameters
    ----------
    power : float
        The a; with 1/2 and the logit, mean bias reduction.

    Notes
    -----
    Equation :eq:`jeffreys` of the theory pages.
    """

    power: float = 0.5
    word = "jeffreys"
    title = "Jeffreys penalised likelihood"
    needs_likelihood = True

    def __post_init__(self) -> None:
        need_positive("power", self.power)

    def has_objective(self, loss: Loss) -> bool:
        return True

    def row_shift(self, loss: Loss, block: Block, point: Point, quadratic: NDArray) -> NDArray:
        leverage = block.weighted(loss.expected_curvature_at(point) * quadratic)
        return self.power * leverage * (point.dlog_reverse_hazard + point.dlog_hazard)

    def apply(self, loss: Loss, sums: NewtonSums, total: NDArray, matrix: NDArray, factor: Factor) -> None:
        sums.gradient -= total
        sums.value -= self.power * factor.log_determinant

    def rates(self, loss: Loss, point: Point) -> list[NDArray]:
        return [self.power * loss.expected_curvature_slope_at(point)]

    def rate_slopes(self, loss: Loss, point: Point) -> list[NDArray]:
        dlog = point.dlog_reverse_hazard + point.dlog_hazard
        change = 2.0 * point.d2logpdf - point.reverse_hazard * point.dlog_reverse_hazard
        change += point.hazard * point.dlog_hazard
        slope = loss.expected_curvature_slope_at(point)
        return [self.power * (slope * dlog + loss.expected_curvature_at(point) * change)]

    def penalty(self, loss: Loss, log_determinant: float) -> float:
        return -self.power * log_determinant
