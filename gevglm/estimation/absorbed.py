"""Estimates with a constant for each group: the same iteration, on arrows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import ArraySum, Block, run
from gevglm.engine.grouped import Groups
from gevglm.engine.linalg import one_blas_thread
from gevglm.engine.memory import MemoryEngine
from gevglm.engine.monitor import NULL_MONITOR, Monitor
from gevglm.estimation.arrow import Arrow, BlockColumns, RowForms
from gevglm.estimation.arrow_cubes import median_direction
from gevglm.estimation.arrow_sums import (
    AdjustmentSums,
    ArrowLossSums,
    ArrowSums,
    BlockPoint,
    RowAdjustment,
    ScoreVariance,
    Totals,
    linear_predictor,
    sums_of,
)
from gevglm.estimation.estimate import null_loss
from gevglm.estimation.newton import (
    CONVERGED,
    NEAR,
    PREDICTED,
    SolverResult,
    Steps,
    newton,
    slope_search,
    value_search,
)
from gevglm.estimation.newton_sums import Sums
from gevglm.estimation.paired_arrow import Cells, PairedArrow, PairedLossSums
from gevglm.estimation.sums import totals
from gevglm.losses import Loss

MOST_KNOWN = 1 << 22  # rows of which everything is kept from one pass to the next
TRIALS = 30


@dataclass(frozen=True)
class AbsorbedEstimate:
    """Coefficients with the constants of groups, and how they were found."""

    params: NDArray  # the constants, the levels of a second factor, and the slopes; of shape (G + p,)
    information: Arrow | PairedArrow  # expected second derivative there
    value: float  # the loss there
    n_iter: int
    decrement: float
    converged: bool
    reason: str


@dataclass
class AbsorbedProblem:
    """A loss on rows that are sorted by group, each of which has a constant."""

    engine: MemoryEngine  # its columns have a mean of zero in every group, and blocks are of whole groups
    groups: Groups
    loss: Loss
    centres: NDArray  # the means of the groups that were taken off the columns; of shape (k, G)
    adjustment: RowAdjustment | None = None
    tol: float = 1e-8
    maxiter: int = 100
    monitor: Monitor = NULL_MONITOR
    # of the last estimate: the second derivative where it began, and coefficients and sums where it ended
    _first: Arrow | PairedArrow | None = field(default=None, init=False)
    _ended: tuple[NDArray, Totals, dict[int, BlockPoint]] | None = field(default=None, init=False)

    @property
    def n_columns(self) -> int:
        """The number of coefficients beside the constants."""
        return self.groups.n_levels + self.engine.n_cols

    def estimate(self, start: NDArray | None = None) -> AbsorbedEstimate:
        """Minimise the loss, or find the root of its adjusted gradient, from slopes if they are given.

        Notes
        -----
        Every group starts at its own share of events. Convex losses take Newton steps with a search on slopes, others Fisher-scoring steps on
        which the loss falls, adjusted ones Newton steps whose derivative is that of :mod:`gevglm.estimation.arrow_sums`.
        """
        with one_blas_thread(self.engine.n_rows * self.engine.n_cols):
            self._first = None
            result = self._iterate(self._start(start), predict_below=0.0 if self.adjustment else NEAR)
            sums = self._sums_at_end(result.params) if result.converged else self.sums_at(result.params)
            if result.reason == PREDICTED:  # which the sums at the end confirm, or there is more to do
                decrement = sums.step()[1]
                if decrement <= self.tol**2 * self._scale:
                    result = replace(result, n_iter=result.n_iter + 1, decrement=decrement, reason=CONVERGED)
                else:
                    result = self._iterate(result.params)
                    sums = self._sums_at_end(result.params) if result.converged else self.sums_at(result.params)
        self._first = self._first if start is None else None
        how = (result.n_iter, result.decrement, result.converged, result.reason)
        return AbsorbedEstimate(result.params, sums.information, sums.value, *how)

    def at(self, found: AbsorbedEstimate, params: NDArray) -> AbsorbedEstimate:
        """Return an estimate with other coefficients, and the information and loss there."""
        sums = self.sums_at(params)
        return replace(found, params=params, information=sums.information, value=sums.value)

    def sums_at(self, params: NDArray) -> ArrowSums:
        """Return gradient, expected second derivative and value of the loss."""
        return self._sums(params, expected=True, value=True)

    def constants_given(self, slopes: NDArray, start: NDArray) -> SolverResult:
        """Minimise over the constants, or find the root of their adjusted gradient, for given slopes."""
        with one_blas_thread(self.engine.n_rows * self.engine.n_cols):
            return self._iterate(start, slopes)

    def information_without_slopes(self) -> Arrow | PairedArrow:
        """Return the second derivative where every group has its own share of events, whatever its columns: where an estimate begins."""
        return self._first or self._sums(self._start(None), expected=True).information

    def _iterate(self, start: NDArray, slopes: NDArray | None = None, *, predict_below: float = 0.0) -> SolverResult:
        """Iterate over all coefficients, or for given slopes over the constants."""

        def of(evaluate: Callable[[NDArray], ArrowSums]) -> Callable[[NDArray], ArrowSums]:
            if slopes is None:
                return partial(self._noting_the_first, evaluate)
            return lambda constants: evaluate(np.concatenate([constants, slopes])).of_constants(len(slopes))

        options: dict[str, Any] = {"scale": self._scale, "maxiter": self.maxiter, "on_step": self.monitor.on_step}
        options["predict_below"] = predict_below
        if self.adjustment is not None:
            steps = newton(start, search=whole_step, tol=0.1 * self.tol, extrapolate=True, **options)
            return run(steps, of(partial(self.adjusted_sums, self.adjustment)))
        if self.loss.convex:
            return run(newton(start, search=slope_search, tol=self.tol, **options), of(self._sums))
        return run(
            newton(start, search=value_search, tol=0.1 * self.tol, **options),
            of(self.sums_at),
        )

    def _noting_the_first(self, evaluate: Callable[[NDArray], ArrowSums], params: NDArray) -> ArrowSums:
        sums = evaluate(params)
        self._first = self._first or sums.information
        return sums

    @cached_property
    def _scale(self) -> float:
        return max(1.0, null_loss(*totals(self.engine)))

    def _sums(self, params: NDArray, *, expected: bool = False, value: bool = False) -> ArrowSums:
        if self.groups.large:
            paired = PairedLossSums(self.loss, self.groups, self._cells, params, expected=expected, value=value)
            return paired.sums(self.engine.reduce(paired))
        return sums_of(
            self.engine.reduce(ArrowLossSums(self.loss, self.groups, params, expected=expected, value=value))
        )

    @cached_property
    def _cells(self) -> Cells:
        return Cells.of(self.groups)

    def _sums_at_end(self, params: NDArray) -> ArrowSums:
        """Return :meth:`sums_at` the end of the iteration; what a step for the bias there needs besides is kept for it."""
        if self.groups.large or self.adjustment is not None:
            return self.sums_at(params)
        self._ended = (params, *self._expected_sums(params, value=True))
        return sums_of(self._ended[1])

    def _expected_sums(self, params: NDArray, value: bool = False) -> tuple[Totals, dict[int, BlockPoint]]:
        known: dict[int, BlockPoint] = {}
        kept = known if self.engine.n_rows <= MOST_KNOWN else None
        options: dict[str, Any] = {"expected": True, "variance": not self.loss.is_likelihood, "known": kept}
        return self.engine.reduce(ArrowLossSums(self.loss, self.groups, params, value=value, **options)), known

    def adjusted_sums(self, adjustment: RowAdjustment, params: NDArray, *, derivative: bool = True) -> ArrowSums:
        """Sum the adjusted loss: one pass for the information, one for the quadratic forms by its inverse."""
        ended, self._ended = self._ended, None
        total, known = ended[1:] if ended is not None and ended[0] is params else self._expected_sums(params)
        variance = not self.loss.is_likelihood
        sums = sums_of(total)
        if not sums.finite:
            return sums
        arrow, forms = sums.information, None
        assert isinstance(arrow, Arrow), "two large factors have no leverages"
        M = arrow.diagonal
        if variance:
            scores = ScoreVariance.of(total)
            M, forms = scores.of_groups, scores.forms(arrow)
        forms = forms or arrow.forms
        reducer = AdjustmentSums(adjustment, self.loss, self.groups, params, forms, arrow, M, known, derivative)
        reducer.apply(sums, self.engine.reduce(reducer))
        cubes = getattr(adjustment, "cubes", None)
        if cubes is not None:
            direction = median_direction(self.engine, self.groups, self.loss, params, arrow, self.centres, cubes)
            sums.gradient -= arrow.times(direction)
        return sums

    def leverages_at(self, params: NDArray) -> tuple[ArrowSums, RowForms | None]:
        """Return the sums of the loss, and the quadratic form of rows in the covariance if the model is right."""
        total, _ = self._expected_sums(params)
        sums = sums_of(total)
        assert isinstance(sums.information, Arrow), "two large factors have no leverages"
        if not sums.finite:
            return sums, None
        arrow = sums.information
        return sums, arrow.forms if self.loss.is_likelihood else ScoreVariance.of(total).forms(arrow)

    def _start(self, slopes: NDArray | None) -> NDArray:
        """Return the constants at each group's share of events (with half an event added to both outcomes, if the score is adjusted)."""
        half = 0.0 if self.adjustment is None else 0.5
        at_rows = np.zeros(self.n_columns) if slopes is None else slopes
        sums = np.zeros((3, len(self.groups)))

        def add(block: Block) -> NDArray:
            rows = BlockColumns(self.groups, block)
            weight = block.weight
            if slopes is None and block.offset is None and weight is None:
                sums[0, rows.groups], sums[1, rows.groups] = self.groups.sizes[rows.groups], rows.sums(block.y)
                return np.zeros(())
            weight = np.ones(len(block.y)) if weight is None else weight
            shift = linear_predictor(rows, block, np.concatenate([np.zeros(len(self.groups)), at_rows]))
            sums[:, rows.groups] = rows.sums(np.array([weight, weight * block.y, weight * shift]))
            return np.zeros(())

        self.engine.reduce(ArraySum(add))
        weight, events, shift = sums
        share = (events + half) / (weight + 2.0 * half)
        constants = self.loss.link.at_probability(share).v - shift / weight
        return np.concatenate([constants, at_rows])


def unexplained(groups: Groups, X: NDArray) -> NDArray:
    """Return the products of columns beside what the constants of two factors explain of them; of shape (k, k)."""
    block, m = Block(0, X, np.zeros(len(X))), groups.n_levels
    rows, ones = BlockColumns(groups, block), np.ones(len(X))
    D = rows.sums(ones)
    if groups.large:
        by_level = np.array([np.bincount(groups.levels, one, m + 1)[:m] for one in (ones, *X.T)])  # type: ignore[arg-type]
        cells = Cells.of(groups)
        matrix = cells.matrix(np.bincount(cells.of_rows).astype(float), m)
        return PairedArrow(D, by_level[0], matrix, np.hstack([rows.sums(X.T), by_level[1:]]), X.T @ X).schur
    B, gram = rows.moments(ones)
    schur = gram - (B / D) @ B.T
    return schur[m:, m:] - schur[m:, :m] @ np.linalg.solve(schur[:m, :m], schur[:m, m:])


def whole_step(params: NDArray, sums: Sums, step: NDArray) -> Steps[tuple[float, Sums] | None]:
    """Take the whole step, or a half of it as often as the loss is not finite there."""
    length = 1.0
    for _ in range(TRIALS):
        trial = yield params + length * step
        if trial.finite:
            return length, trial
        length *= 0.5
    return None
