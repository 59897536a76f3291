"""Sums over the rows: of a loss at one set of coefficients or at many, and of weights and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.arrow_rows import Levels, add_products
from gevglm.engine.base import LARGE, ArraySum, Block, Engine, Pass, Passes, Reducer, make_pass, run
from gevglm.engine.linalg import dense, weighted_gram
from gevglm.estimation.newton_sums import NewtonSums
from gevglm.estimation.pairs import ColumnPairs, PairsOfBlocks, symmetric
from gevglm.exceptions import InvalidDataError
from gevglm.links.base import Point
from gevglm.losses import Loss

MOST_COLUMNS = 32  # with more of them, the products of a block are fast enough one by one
FEWEST_POINTS = 4
ROWS = 2048  # of a part of a block: few enough for the cache, enough to keep threads apart


class LossSums(Reducer[NewtonSums]):
    """Gradient, Hessian and (with `value`) value of a loss; with `expected`, by the expected curvature (Fisher scoring).

    `points`, if given, takes the point of the link in each block, by the first row of the block, for whoever asks for more there. `levels` are those of sparse
    rows, if they are known.
    """

    def __init__(
        self,
        loss: Loss,
        params: NDArray,
        *,
        expected: bool = False,
        value: bool = False,
        points: dict[int, Point] | None = None,
        levels: Levels | None = None,
    ):
        self.loss = loss
        self.params = params
        self.levels = levels
        self.expected = expected or loss.curvature_is_expected
        self.value = value
        self.points = points

    def zero(self) -> NewtonSums:
        k = len(self.params)
        return NewtonSums(np.zeros(k), np.zeros(()))

    def map(self, block: Block) -> NewtonSums:
        loss, y = self.loss, block.y
        with np.errstate(all="ignore"):
            v, weight = block.linear_predictor(self.params), block.weight
            used = None if weight is None else weight > 0
            feasible = loss.feasible(y, v) if used is None else loss.feasible(y[used], v[used])
            if not feasible and self.levels is None:  # nothing else is looked at
                k = len(self.params)
                return NewtonSums(np.zeros(k), np.zeros((k, k)), np.inf, False)
            point = loss.link.at(v)
            if self.points is not None:
                self.points[block.start] = point
            slope = loss.slope_at(y, point)
            curvature = loss.expected_curvature_at(point) if self.expected else loss.curvature_at(y, point)
            value = loss.value_at(y, point) if self.value else None
            if used is not None:
                slope = np.where(used, slope * weight, 0.0)
                curvature = np.where(used, curvature * weight, 0.0)
                value = None if value is None else np.where(used, value * weight, 0.0)
            total = 0.0 if value is None else float(value.sum())
            levels = self.levels
            gram = weighted_gram(block.X, curvature) if levels is None else levels.weighted_gram(block, curvature)
            return NewtonSums(slope @ block.X, gram, total, feasible)

    def total(self, block: Block) -> NewtonSums:
        return self.map(block) if isinstance(block.X, np.ndarray) else super().total(block)

    def combine(self, total: NewtonSums, part: NewtonSums) -> NewtonSums:
        total.gradient += part.gradient
        total.hessian = add_products(total.hessian, part.hessian)
        total.value += part.value
        total.feasible &= part.feasible
        return total

    def compact(self, parts: list[NewtonSums]) -> list[NewtonSums]:
        return [reduce(self.combine, parts)] if parts and parts[0].hessian.size > LARGE else parts


class WeightedGram(ArraySum):
    r"""The k x k sum :math:`\sum_i q_i x_i x_i'` with q a function of the row at given coefficients.

    With coefficients of shape (k, b), over rows that have a column for each of b fits, the b sums.
    """

    def __init__(self, loss: Loss, params: NDArray, weigh: Callable[[Block, Point], NDArray]):
        def gram(block: Block) -> NDArray:
            point = loss.link.at(block.linear_predictor(params))
            weights = weigh(block, point)
            if weights.ndim == 1:
                return weighted_gram(block.X, weights)
            used = np.where(block.weight > 0, weights, 0.0) if block.weight is not None else weights
            return symmetric(ColumnPairs(block.X).weighted_sums(used), block.X.shape[1])

        super().__init__(gram)

    def combine(self, total: Any, part: Any) -> Any:
        return add_products(total, part)


def totals(engine: Engine) -> tuple[float, float]:
    """Return the sum of the weights and of the weighted outcomes, or say what is wrong with them."""
    return run(ask_totals(engine), make_pass)


def ask_totals(engine: Engine) -> Passes[tuple[float, float]]:
    """Do what :func:`totals` does; an engine is asked once."""
    if "totals" not in engine.cache:
        counts = (yield Pass(engine, ArraySum(_counts))) if engine.n_rows else np.zeros(4)
        _refuse_bad_totals(engine.n_rows, *counts)
        engine.cache["totals"] = float(counts[0]), float(counts[1])
    return engine.cache["totals"]


def _counts(block: Block) -> NDArray:
    """Sum up weights, weighted outcomes, bad weights and bad outcomes."""
    weight, y = block.weight, block.y
    if weight is None:
        return np.array([len(y), y.sum(), 0.0, _outside_unit_interval(y)])
    used = weight > 0
    events = np.where(used, weight * y, 0.0).sum()
    return np.array([weight.sum(), events, (~(weight >= 0)).sum(), _outside_unit_interval(y[used])])


def _outside_unit_interval(y: NDArray) -> int:
    if np.minimum.reduce(y, initial=0.0) >= 0.0 and np.maximum.reduce(y, initial=1.0) <= 1.0:
        return 0
    return int((~((y >= 0.0) & (y <= 1.0))).sum())


def _refuse_bad_totals(n_rows: int, weight: float, events: float, bad_weights: float, bad_outcomes: float) -> None:
    if bad_outcomes:
        raise InvalidDataError(
            f"the outcome is missing or outside [0, 1] in {bad_outcomes:.0f} rows; drop those rows or recode them."
        )
    if bad_weights or not np.isfinite(weight):
        raise InvalidDataError(f"weights must be finite and not negative; {bad_weights:.0f} rows have other weights.")
    if weight <= 0:
        raise InvalidDataError(f"there is nothing to fit: the weights of the {n_rows} rows sum to zero.")
    if not 0 < events < weight:
        outcome = 0 if events <= 0 else 1
        raise InvalidDataError(
            f"the outcome is {outcome} in every row with weight; a binary regression needs both outcomes."
        )


# -- at many points at once -------------------------------------------------------------------


def worthwhile(n_points: int, n_cols: int) -> bool:
    """Tell whether sums at many points are faster together."""
    return n_points >= FEWEST_POINTS and n_cols <= MOST_COLUMNS


@dataclass(slots=True)
class StackedSums:
    """Sums at many points, or over rows that have a column of outcomes or weights for each of many fits: a column for each of them."""

    gradient: NDArray  # of shape (k, points)
    products: NDArray  # the upper triangle of the Hessians; of shape (k (k + 1) / 2, points)
    value: NDArray  # of shape (points,)
    feasible: NDArray  # bool, of shape (points,)

    def __iadd__(self, other: StackedSums) -> StackedSums:
        self.gradient += other.gradient
        self.products += other.products
        self.value += other.value
        self.feasible &= other.feasible
        return self

    @property
    def hessians(self) -> NDArray:
        """The Hessians, of shape (points, k, k)."""
        return symmetric(self.products, len(self.gradient))

    def unstacked(self) -> list[NewtonSums]:
        """Return the sums at each point."""
        gradients, values, feasible = self.gradient.T.copy(), self.value.tolist(), self.feasible.tolist()
        return [NewtonSums(*sums) for sums in zip(gradients, self.hessians, values, feasible, strict=True)]


class LossSumsAtAll(Reducer[StackedSums]):
    """What :class:`LossSums` sums, at many points; `pairs` remembers the products of columns from one pass to the next.

    `kept`, if given, takes the points of the link in each part of a block, by its first row.
    """

    def __init__(
        self,
        loss: Loss,
        points: Sequence[NDArray] | NDArray,
        *,
        expected: bool = False,
        value: bool = False,
        pairs: PairsOfBlocks | None = None,
        kept: dict[int, Point] | None = None,
    ):
        self.loss = loss
        self.kept = kept
        self.params = np.ascontiguousarray(np.asarray(points).T)
        self.expected = expected or loss.curvature_is_expected
        self.value = value
        self.pairs = pairs or PairsOfBlocks(0)

    def zero(self) -> StackedSums:
        k, points = self.params.shape
        products = np.zeros((k * (k + 1) // 2, points))
        return StackedSums(np.zeros((k, points)), products, np.zeros(points), np.ones(points, dtype=bool))

    def map(self, block: Block) -> StackedSums:
        total = self.zero()
        with np.errstate(all="ignore"):
            for part in parts_of(block):
                total += self.sums_of(part)
        return total

    def combine(self, total: StackedSums, part: StackedSums) -> StackedSums:
        total += part
        return total

    def compact(self, parts: list[StackedSums]) -> list[StackedSums]:
        return [reduce(self.combine, parts)] if parts and parts[0].products.size > LARGE else parts

    def sums_of(self, part: Block) -> StackedSums:
        """Return the sums over a part of a block."""
        loss, y = self.loss, part.y
        v = part.linear_predictor(self.params)
        point = loss.link.at(v)
        if self.kept is not None:
            self.kept[part.start] = point
        curvature = loss.expected_curvature_at(point) if self.expected else loss.curvature_at(y, point)
        gradient = part.X.T @ part.weighted(loss.slope_at(y, point))
        products = self.pairs.of(part).weighted_sums(part.weighted(curvature))
        value = part.weighted(loss.value_at(y, point)).sum(axis=0) if self.value else np.zeros(v.shape[1])
        return StackedSums(gradient, products, value, self._feasible(part, v))

    def _feasible(self, part: Block, v: NDArray) -> NDArray:
        if not np.isfinite(self.loss.link.support).any():
            return np.ones(v.shape[1], dtype=bool)
        weight = np.ones((1, 1)) if part.weight is None else part.weight
        used, y = np.broadcast_to(weight > 0, v.shape), np.broadcast_to(part.y, v.shape)
        columns = zip(used.T, y.T, v.T, strict=True)
        return np.array([self.loss.feasible(outcomes[rows], points[rows]) for rows, outcomes, points in columns])


class ShiftsAtAll(ArraySum):
    """What an adjustment that looks at rows through quadratic forms adds to the scores at many points, of shape (points, k)."""

    def __init__(
        self,
        adjustment,
        loss: Loss,
        points: Sequence[NDArray] | NDArray,
        matrices: Sequence[NDArray] | NDArray,
        pairs: PairsOfBlocks | None = None,
        known: Mapping[int, Point] | None = None,
    ):
        params, stacked, pairs = np.asarray(points).T, np.asarray(matrices), pairs or PairsOfBlocks(0)
        known = known or {}

        def shifts(block: Block) -> NDArray:
            total = np.zeros(params.shape)
            for part in parts_of(block):
                point = known.get(part.start) or loss.link.at(part.linear_predictor(params))
                quadratic = pairs.of(part).quadratic_forms(stacked)
                total += part.X.T @ adjustment.row_shift(loss, part, point, quadratic)
            return total.T

        super().__init__(shifts)


def parts_of(block: Block) -> Iterator[Block]:
    """Yield parts of a block, whose vectors are columns: they go with a column for each point."""

    def column(vector: NDArray) -> NDArray:
        return vector[rows] if vector.ndim == 2 else vector[rows, None]

    for start in range(0, len(block.y), ROWS):
        rows = slice(start, start + ROWS)
        vectors = (block.freq, block.var, block.trials, block.offset)
        columns = (None if vector is None else column(vector) for vector in vectors)
        yield Block(block.start + start, dense(block.X[rows]), column(block.y), *columns)
