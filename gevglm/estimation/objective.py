"""What the solver is set: a loss, a penalty or an adjustment, on the rows of an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from gevglm.engine.base import ArraySum, Block, Engine, ReducerGroup
from gevglm.engine.linalg import Cholesky
from gevglm.estimation.newton import SolverResult, newton, slope_search, value_search
from gevglm.estimation.sums import LossSums, LossSumsAtAll, NewtonSums, ShiftsAtAll, worthwhile
from gevglm.links.base import Point
from gevglm.losses import Loss

EVENTS_PER_COLUMN = 20  # events (and non-events) a part of the data needs to give starting values
THINNEST = 16  # the part is never less than one block in this many
AT_ONCE = 1 << 16  # numbers in the Hessians that one pass sums up


class Penalty(Protocol):
    """A function of the coefficients that is added to the loss."""

    def added_to(self, sums: NewtonSums, params: NDArray) -> NewtonSums:
        """Return the sums of loss plus penalty."""

    @property
    def curvature(self) -> NDArray:
        """Second derivative by each coefficient, at zero."""


@dataclass(frozen=True)
class Ridge:
    r"""Ridge penalty :math:`\frac{\alpha}{2} \sum_j d_j b_j^2`.

    Attributes
    ----------
    alpha : float
    columns : ndarray of shape (k,)
        The :math:`d_j`: 1 for penalised columns, 0 for the others.
    """

    alpha: float
    columns: NDArray

    @property
    def curvature(self) -> NDArray:
        return self.alpha * self.columns

    def added_to(self, sums: NewtonSums, params: NDArray) -> NewtonSums:
        sums.gradient += self.curvature * params
        sums.hessian[np.diag_indices_from(sums.hessian)] += self.curvature
        sums.value += 0.5 * float(self.curvature @ params**2)
        return sums


class Adjustment(Protocol):
    """What bias reduction adds to the score; see :mod:`gevglm.bias`.

    Attributes
    ----------
    by_quadratic_forms : bool
        Whether it looks at the rows through their quadratic forms only, so that :meth:`row_shift` is all there is to :meth:`shift`.
    """

    by_quadratic_forms: bool

    def has_objective(self, loss: Loss) -> bool:
        """Whether the adjusted score is a gradient, that is, whether there is a penalised loss."""

    def matrix(self, engine: Engine, loss: Loss, params: NDArray, inverse: NDArray) -> NDArray:
        """Return the matrix that measures rows, given the inverse information."""

    def shift(self, loss: Loss, block: Block, point: Point, matrix: NDArray) -> NDArray:
        """Return what one block adds to the score (or several such sums)."""

    def row_shift(self, loss: Loss, block: Block, point: Point, quadratic: NDArray) -> NDArray:
        """Return what is added to the score factor of each row."""

    def apply(self, loss: Loss, sums: NewtonSums, total: NDArray, matrix: NDArray, factor: Cholesky) -> None:
        """Change gradient and value in place; `factor` is that of the information."""


class Objective:
    """What is minimised, as a function of the coefficients: at one point, or at several in the same passes over the rows.

    Parameters
    ----------
    evaluate : callable
        From a list of points to their sums.
    """

    def __init__(self, evaluate: Callable[[list[NDArray]], list[NewtonSums]]):
        self._evaluate = evaluate

    def __call__(self, params: NDArray) -> NewtonSums:
        return self._evaluate([params])[0]

    def at_all(self, points: list[NDArray]) -> list[NewtonSums]:
        """Return the sums at each point, as many of them in one pass as their Hessians leave room for."""
        most = max(1, AT_ONCE // len(points[0]) ** 2) if points else 1
        return [sums for i in range(0, len(points), most) for sums in self._evaluate(points[i : i + most])]


@dataclass
class Task:
    """A loss on an engine, how far to go, and a count of the passes over the rows.

    Attributes
    ----------
    engine : Engine
    loss : Loss
    penalty : Penalty or None
    constant : int or None
        The column of ones.
    names : sequence of str or None
        Of the columns, for messages.
    tol : float
    maxiter : int
    weight, events : float
        Sum of the weights, of the weighted outcomes.
    passes : int
    """

    engine: Engine
    loss: Loss
    penalty: Penalty | None = None
    constant: int | None = None
    names: Sequence[str] | None = None
    tol: float = 1e-8
    maxiter: int = 100
    weight: float = 1.0
    events: float = 0.5
    passes: int = 0

    @property
    def rate(self) -> float:
        """Share of events."""
        return self.events / self.weight

    @property
    def rarer(self) -> float:
        """Weight of the rarer outcome."""
        return min(self.events, self.weight - self.events)

    @property
    def scale(self) -> float:
        """The yardstick of convergence: the null model's log loss, whatever the loss, and at least 1."""
        return max(1.0, null_loss(self.weight, self.events))

    @property
    def null_start(self) -> NDArray:
        """Coefficients of the model with the constant only."""
        return null_coefficients(self.loss, self.engine.n_cols, self.constant, self.rate)

    def evaluator(self, *, expected: bool = False, value: bool = False) -> Objective:
        """Return the sums of loss plus penalty as a function of the coefficients."""

        def evaluate(points: list[NDArray]) -> list[NewtonSums]:
            self.passes += 1
            options = {"expected": expected, "value": value}
            if worthwhile(len(points), self.engine.n_cols):
                found = self.engine.reduce(LossSumsAtAll(self.loss, points, **options)).unstacked()
            else:
                found = self.engine.reduce(ReducerGroup([LossSums(self.loss, point, **options) for point in points]))
            if self.penalty is None:
                return found
            return [self.penalty.added_to(sums, point) for sums, point in zip(found, points, strict=True)]

        return Objective(evaluate)

    def adjusted(self, adjustment: Adjustment, *, value: bool) -> Objective:
        """Return the adjusted sums: one pass for the information, one for the leverages by its inverse."""
        engine, loss = self.engine, self.loss
        plain = self.evaluator(expected=True, value=value)

        def evaluate(points: list[NDArray]) -> list[NewtonSums]:
            found = plain.at_all(points)
            factors = [Cholesky(sums.hessian) for sums in found]
            for sums, factor in zip(found, factors, strict=True):
                sums.feasible &= factor.positive
            usable = [i for i, sums in enumerate(found) if sums.feasible]
            if usable:
                self.passes += 1
                points = [points[i] for i in usable]
                matrices = [
                    adjustment.matrix(engine, loss, point, factors[i].inverse())
                    for i, point in zip(usable, points, strict=True)
                ]
                shifts = self._shifts(adjustment, points, matrices)
                for i, matrix, shift in zip(usable, matrices, shifts, strict=True):
                    adjustment.apply(loss, found[i], shift, matrix, factors[i])
            return found

        return Objective(evaluate)

    def _shifts(self, adjustment: Adjustment, points: list[NDArray], matrices: list[NDArray]) -> Sequence[NDArray]:
        loss = self.loss
        if adjustment.by_quadratic_forms and worthwhile(len(points), self.engine.n_cols):
            return self.engine.reduce(ShiftsAtAll(adjustment, loss, points, matrices))

        def shift(params: NDArray, matrix: NDArray, block: Block) -> NDArray:
            return adjustment.shift(loss, block, loss.link.at(block.linear_predictor(params)), matrix)

        sums = [ArraySum(partial(shift, *look)) for look in zip(points, matrices, strict=True)]
        return self.engine.reduce(ReducerGroup(sums))

    def minimise(
        self, start: NDArray, *, expected: bool = False, falling: bool = False, tol: float | None = None
    ) -> SolverResult:
        """Take Newton (or Fisher-scoring) steps, with a search on slopes or, `falling`, on values."""
        return newton(
            self.evaluator(expected=expected, value=falling),
            start,
            search=value_search if falling else slope_search,
            tol=self.tol if tol is None else tol,
            scale=self.scale,
            maxiter=self.maxiter,
        )

    def aside(self, start: NDArray, *, falling: bool = False, **changes) -> SolverResult:
        """Minimise with something changed, and count the passes all the same."""
        other = replace(self, **changes)
        result = other.minimise(start, falling=falling)
        self.passes = other.passes
        return result

    def start_from_part(self) -> NDArray:
        """Return the rough solution on every j-th block, if the rarer class has rows enough for that, else the null model's."""
        start = self.null_start
        every = min(THINNEST, int(self.rarer / (EVENTS_PER_COLUMN * len(start))))
        part = self.engine.subsample_blocks(every) if every > 1 else self.engine
        if part.n_rows > self.engine.n_rows // 2:
            return start
        rough = replace(self, engine=part, tol=1.0 / np.sqrt(self.scale), maxiter=20).minimise(start)
        return rough.params if rough.converged else start


def null_loss(weight: float, events: float) -> float:
    """The log loss of the model with a constant only, the yardstick of convergence for every loss."""
    rate = events / weight
    return float(weight * (entr(rate) + entr(1.0 - rate)))


def null_coefficients(loss: Loss, n_cols: int, constant: int | None, rate: float) -> NDArray:
    """Coefficients of the model with the constant only; zero without a constant."""
    params = np.zeros(n_cols)
    if constant is not None:
        params[constant] = loss.link(rate)
    return params
