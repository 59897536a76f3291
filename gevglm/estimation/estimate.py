"""From rows and a loss to coefficients: the problem, what is summed over its rows, and its estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from gevglm.engine.arrow_matrix import ArrowMatrix, add_to_diagonal, symmetric
from gevglm.engine.arrow_rows import Levels
from gevglm.engine.base import (
    ArraySum,
    Block,
    Engine,
    MappedEngine,
    Pass,
    Passes,
    Reducer,
    ReducerGroup,
    make_pass,
    relay,
    run,
    without_columns,
)
from gevglm.engine.cholesky import COLLINEAR
from gevglm.engine.factored_matrix import with_value
from gevglm.engine.linalg import dense, one_blas_thread
from gevglm.engine.monitor import NULL_MONITOR, Monitor
from gevglm.estimation.adjusted_roots import MOST_POINTS, adjusted_sums_at
from gevglm.estimation.at_once import estimate_at_once
from gevglm.estimation.checks import THINNEST, check_convergence
from gevglm.estimation.found import Estimate as Estimate
from gevglm.estimation.looks_at_once import LooksAtOnce
from gevglm.estimation.newton import (
    PREDICTED,
    SINGULAR,
    SolverResult,
    inner_search,
    newton,
    slope_search,
    value_search,
)
from gevglm.estimation.objective import Adjustment, Objective, Penalty
from gevglm.estimation.pairs import MOST_PRODUCTS, PairsOfBlocks
from gevglm.estimation.refusals import refuse_collinear_columns, refuse_nonfinite_columns
from gevglm.estimation.strategies import solution
from gevglm.estimation.sums import (
    LossSums,
    LossSumsAtAll,
    NewtonSums,
    ShiftsAtAll,
    ask_totals,
    worthwhile,
)
from gevglm.links.base import LARGEST_PROBABILITY, SMALLEST_PROBABILITY, Point
from gevglm.losses import Loss

SHIFTS = 60
FAR_OFF = (
    10.0  # Newton decrement per column, in units of what chance makes of a part, from which it is not like the rest
)
EVENTS_PER_COLUMN = 20  # events (and non-events) a part of the data needs to give starting values


@dataclass
class Problem:
    """What is to be estimated: a loss on the rows of an engine, what is added to it, and how far to go."""

    engine: Engine
    loss: Loss
    constant: int | None = None  # the column of ones, if there is one
    # starting values; by default those of the model with the constant only, improved on part of the rows; of shape (k,)
    start: NDArray | None = None
    # distance to the solution, in standard errors and relative to the square root of the null model's loss
    tol: float = 1e-8
    maxiter: int = 100
    names: Sequence[str] | None = None  # of the columns, for messages
    penalty: Penalty | None = None
    adjustment: Adjustment | None = None  # bias reduction
    monitor: Monitor = NULL_MONITOR  # follows the iteration
    omitted: Sequence[int] = ()  # columns that are left out: zero in every row of the engine, with coefficients of zero
    stop_if_singular: bool = (
        True  # whether an iteration ends where it begins, if the second derivative is singular there
    )
    # sum of the weights, of the weighted outcomes; found when the estimation begins
    weight: float = np.nan
    events: float = np.nan
    passes: int = 0  # over the rows, so far

    def estimate(self) -> Estimate:
        """Minimise the loss over the rows, or find the root of its adjusted gradient.

        Returns
        -------
        Estimate
            Honest about convergence; warnings are left to the caller.

        Raises
        ------
        CollinearityError
            If columns are linear combinations of others and nothing penalises them.
        SupportError
            If no starting point keeps every row inside the support of the link (log loss only).

        Notes
        -----
        Convex losses take Newton steps with a search on slopes. The log loss of other links starts from the canonical fit where that is
        feasible, takes Fisher-scoring steps that keep the loss finite and falling, and ends with Newton steps. Where there are
        events enough, a part of the rows gives the starting values.

        Adjusted gradients take Fisher-scoring steps, with a search on the penalised loss where there is one and on the size of the
        adjusted gradient elsewhere.
        """
        with one_blas_thread(self.engine.n_rows * self.engine.n_cols):
            return run(self.estimation(), make_pass)

    def estimation(self) -> Passes[Estimate]:
        """Do what :meth:`estimate` does as a computation that asks for its passes, so that others can share them."""
        weight, events = yield from ask_totals(self.engine)
        monitor = self.monitor.on_fit(self.loss)
        problem = replace(self, weight=weight, events=events, passes=0, monitor=monitor)
        start = monitor.resumed(None if self.start is None else np.array(self.start, dtype=float), self.engine.n_cols)
        if start is not None and self.omitted:
            start[list(self.omitted)] = 0.0
        found = estimate_at_once(problem, start)
        if isinstance(found, Estimate):
            return found
        result, steps = yield from solution(problem, start, found)
        if result.reason == SINGULAR:
            refuse_nonfinite_columns(self.engine, self.names)
            refuse_collinear_columns(self.engine, self.penalty, self.names, self.omitted)
            problem.stop_if_singular = False
            result, steps = yield from solution(problem, start)
        if not np.isfinite(result.decrement):
            refuse_nonfinite_columns(self.engine, self.names)
        converged, reason, least = result.converged, result.reason, None
        if self.adjustment is None:
            result, converged, reason, least = yield from check_convergence(problem, result)
        last, boundary = result.sums, result.boundary
        with last.factored() as factor:
            positive, smallest_pivot = factor.positive, factor.smallest_pivot
        if smallest_pivot < COLLINEAR:
            refuse_collinear_columns(self.engine, self.penalty, self.names, self.omitted)
        behind = result.reason == PREDICTED  # by a look, which coefficients do not need but standard errors do
        if boundary is None and (behind or (self.adjustment is None and not self.loss.curvature_is_expected)):
            last, least = (yield from problem.sums_at(result.params, expected=True)), None
        information = last.hessian.diagonal().copy()
        return Estimate(
            params=result.params,
            information=information,
            inverse_information=self.kept_only(
                last.inverted() if boundary is None else boundary.confined(last.hessian)
            ),
            weight=weight,
            events=events,
            n_iter=steps + result.n_iter,
            n_passes=problem.passes,
            decrement=result.decrement,
            converged=converged,
            positive_definite=positive or boundary is not None,
            reason=reason,
            least_information=least,
            boundary=boundary,
        )

    def omitting(self, columns: Sequence[int]) -> Problem:
        """Return the problem without some columns: they are zero in every row, and so are their coefficients and variances."""
        omitted = sorted({*self.omitted, *columns})
        constant = None if self.constant in omitted else self.constant
        return replace(self, engine=without_columns(self.engine, omitted), omitted=omitted, constant=constant)

    def kept_only(self, matrix: NDArray) -> NDArray:
        """Return a k x k matrix with zeros in the rows and columns of coefficients that are left out."""
        if self.omitted:
            matrix = with_value(matrix, list(self.omitted), 0.0)
        return matrix

    def information_at(self, params: NDArray) -> tuple[NDArray, NDArray, bool]:
        """Return the expected second derivative at a point, its inverse, and whether it is positive definite."""
        sums = run(self.sums_at(params, expected=True), make_pass)
        return self.kept_only(sums.hessian), self.kept_only(sums.factor.inverse()), sums.factor.positive

    def holding(self, columns: Sequence[int], values: NDArray) -> Problem:
        """Return the problem of the other coefficients, with what these columns add as an offset."""
        free = np.delete(np.arange(self.engine.n_cols), columns)

        def without(block: Block) -> Block:
            shift = block.X[:, list(columns)] @ values
            return replace(block, X=block.X[:, free], offset=shift if block.offset is None else block.offset + shift)

        engine = MappedEngine(self.engine, without, len(free))
        constant = None if self.constant is None or self.constant in columns else int((free < self.constant).sum())
        names = None if self.names is None else [self.names[int(j)] for j in free]
        omitted = np.flatnonzero(np.isin(free, self.omitted)).tolist()
        return replace(self, engine=engine, constant=constant, names=names, omitted=omitted, start=None)

    def objective(self, *, value: bool = True) -> Objective:
        """Return what is minimised: value, gradient and second derivative as a function of the coefficients."""
        pairs = PairsOfBlocks(MOST_PRODUCTS if self.engine.in_memory else 0)
        sums = self.sums_at_all if self.adjustment is None else partial(self.adjusted_sums_at_all, self.adjustment)
        sums = partial(sums, pairs=pairs)
        return Objective(lambda points: run(sums(points, value=value), make_pass), partial(LooksAtOnce.of, self))

    @property
    def has_walls(self) -> bool:
        """Whether linear predictors beyond the end of the support are no part of the model."""
        return self.loss.is_likelihood and self.loss.link.edge == "wall"

    @property
    def rate(self) -> float:
        """Share of events."""
        return self.events / self.weight

    @cached_property
    def null_point(self) -> Point:
        """The link where its probability is the share of events."""
        inside = min(max(self.rate, SMALLEST_PROBABILITY), LARGEST_PROBABILITY)
        return self.loss.link.at_probability(np.array([inside]))

    @property
    def rarer(self) -> float:
        """Weight of the rarer outcome."""
        return min(self.events, self.weight - self.events)

    @cached_property
    def scale(self) -> float:
        """The yardstick of convergence: the null model's log loss, whatever the loss, and at least 1."""
        return max(1.0, null_loss(self.weight, self.events))

    @property
    def null_start(self) -> NDArray:
        """Coefficients of the model with the constant only; zero without a constant."""
        params = np.zeros(self.engine.n_cols)
        if self.constant is not None:
            params[self.constant] = self.null_point.v[0]
        return params

    def sums_at(
        self, point: NDArray, *, expected: bool = False, value: bool = False, points: dict[int, Point] | None = None
    ) -> Passes[NewtonSums]:
        """Sum loss plus penalty at a point; `points` takes the points of the link in each block."""
        self.passes += 1
        options: dict[str, Any] = {"expected": expected, "value": value, "points": points}
        options["levels"] = self.engine.cache.get("levels")
        sums = yield Pass(self.engine, LossSums(self.loss, point, **options))
        return self.completed(sums, point)

    def sums_at_all(
        self,
        points: list[NDArray],
        *,
        expected: bool = False,
        value: bool = False,
        pairs: PairsOfBlocks | None = None,
        kept: dict[int, Point] | None = None,
    ) -> Passes[list[NewtonSums]]:
        """Sum loss plus penalty at several points, in one pass; `pairs` and `kept` as :class:`LossSumsAtAll` has them."""
        if len(points) == 1:
            return [(yield from self.sums_at(points[0], expected=expected, value=value))]
        self.passes += 1
        options: dict[str, Any] = {"expected": expected, "value": value}
        if worthwhile(len(points), self.engine.n_cols):
            reducer = LossSumsAtAll(self.loss, points, **options, pairs=pairs, kept=kept)
            found = (yield Pass(self.engine, reducer)).unstacked()
        else:
            found = yield Pass(self.engine, ReducerGroup([LossSums(self.loss, point, **options) for point in points]))
        return [self.completed(sums, point) for sums, point in zip(found, points, strict=True)]

    def completed(self, sums: NewtonSums, point: NDArray) -> NewtonSums:
        """Add the penalty; coefficients that are left out get a second derivative of 1, so that they stay where they are."""
        if sums.hessian.ndim == 0:  # the sum of no rows
            sums.hessian = np.zeros((len(point), len(point)))
        sums.hessian = dense(sums.hessian) if self.has_walls else symmetric(sums.hessian)
        if isinstance(sums.hessian, ArrowMatrix) and "levels" not in self.engine.cache:
            self.engine.cache["levels"] = Levels(sums.hessian.shaft, sums.hessian.rest)
        if self.penalty is not None:
            sums = self.penalty.added_to(sums, point)
        if self.omitted:
            without = np.zeros(len(point))
            without[list(self.omitted)] = 1.0
            add_to_diagonal(sums.hessian, without - without * sums.hessian.diagonal())
        return sums

    def adjusted_sums_at_all(
        self, adjustment: Adjustment, points: list[NDArray], *, value: bool, pairs: PairsOfBlocks | None = None
    ) -> Passes[list[NewtonSums]]:
        """Sum the adjusted loss at several points: one pass for the information, one for the leverages by its inverse."""
        if len(points) == 1:
            return [(yield from adjusted_sums_at(self, adjustment, points[0], value=value))]
        few = self.engine.in_memory and self.engine.n_rows * len(points) <= MOST_POINTS
        kept: dict[int, Point] | None = {} if few else None
        found = yield from self.sums_at_all(points, expected=True, value=value, pairs=pairs, kept=kept)
        factors = [sums.factor for sums in found]
        for sums, factor in zip(found, factors, strict=True):
            sums.feasible &= factor.positive
        usable = [i for i, sums in enumerate(found) if sums.feasible]
        if usable:
            self.passes += 1
            matrices = [adjustment.matrix(self.engine, self.loss, points[i], factors[i].inverse()) for i in usable]
            known = kept if len(usable) == len(points) else None
            reducer = self._shifts(adjustment, [points[i] for i in usable], matrices, pairs, known)
            shifts = yield Pass(self.engine, reducer)
            for i, matrix, shift in zip(usable, matrices, shifts, strict=True):
                adjustment.apply(self.loss, found[i], shift, matrix, factors[i])
        return found

    def _shifts(
        self,
        adjustment: Adjustment,
        points: list[NDArray],
        matrices: list[NDArray],
        pairs: PairsOfBlocks | None,
        known: dict[int, Point] | None,
    ) -> Reducer:
        loss = self.loss
        if adjustment.by_quadratic_forms and worthwhile(len(points), self.engine.n_cols):
            return ShiftsAtAll(adjustment, loss, points, matrices, pairs, known)

        def shift(params: NDArray, matrix: NDArray, block: Block) -> NDArray:
            return adjustment.shift(loss, block, loss.link.at(block.linear_predictor(params)), matrix)

        return ReducerGroup([ArraySum(partial(shift, *look)) for look in zip(points, matrices, strict=True)])

    def minimise(
        self,
        start: NDArray,
        *,
        expected: bool = False,
        falling: bool = False,
        inside: bool = False,
        tol: float | None = None,
        maxiter: int | None = None,
    ) -> Passes[SolverResult]:
        """Take Newton (or Fisher-scoring) steps on loss plus penalty, with a search on slopes or, `falling`, on values; `inside` the support only."""
        steps = newton(
            start,
            search=value_search if falling else inner_search if inside else slope_search,
            tol=self.tol if tol is None else tol,
            scale=self.scale,
            maxiter=self.maxiter if maxiter is None else maxiter,
            stop_if_singular=self.stop_if_singular,
            on_step=self.monitor.on_step,
        )
        return relay(steps, partial(self.sums_at, expected=expected, value=falling))

    def start_from_part(self) -> Passes[NDArray]:
        """Find a rough solution on every j-th block, and go on by a step on all rows; the null model's, if the rarer class has few rows."""
        start = self.null_start
        every = min(THINNEST, int(self.rarer / (EVENTS_PER_COLUMN * len(start))))
        part = self.engine.subsample_blocks(every) if every > 1 else self.engine
        if part.n_rows > self.engine.n_rows // 2:
            return start
        rough = yield from replace(self, engine=part).minimise(
            start, inside=self.has_walls, tol=1.0 / np.sqrt(self.scale), maxiter=20
        )
        if not rough.converged:
            return start
        # the part knows the curvature well enough for one step, which takes a gradient only
        self.passes += 1
        gradient = yield Pass(self.engine, ArraySum(partial(_gradient, self.loss, rough.params)))
        if self.penalty is not None:
            still = NewtonSums(gradient, rough.sums.hessian * 0.0)
            gradient = self.penalty.added_to(still, rough.params).gradient
        step = -part.n_rows / self.engine.n_rows * rough.sums.factor.solve(gradient)
        # a part that is like the rest is about as many standard errors away as it is smaller; one of sorted rows is far off
        alike = -float(gradient @ step) <= FAR_OFF * every * len(start)
        return rough.params + step if alike else start


def _gradient(loss: Loss, params: NDArray, block: Block) -> NDArray:
    return block.weighted(loss.slope_at(block.y, loss.link.at(block.linear_predictor(params)))) @ block.X


def null_loss(weight: float, events: float) -> float:
    """The log loss of the model with a constant only, the yardstick of convergence for every loss."""
    rate = events / weight
    return float(weight * (entr(rate) + entr(1.0 - rate)))
