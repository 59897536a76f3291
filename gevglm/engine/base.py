"""Where the rows are: blocks of rows, the one verb that looks at them, and computations that ask for such passes.

Nothing here is statistical. An engine cuts the data into blocks of consecutive rows and sums a reducer over them. The partial sums are
combined in block order, so that the same block boundaries give the same bits whatever the engine and however many threads it has.

A computation is a generator: it yields a question, is sent the answer, and ends with what it found. Newton's iteration asks for the sums at a
point and knows nothing else; an estimate asks for passes over the rows of an engine. Since none of them answers its own questions, the
questions of many can be answered at the same time, and each gets the answers, bit by bit, that it would get alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import zip_longest
from operator import mul
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from gevglm.engine.linalg import add, scale_columns

if TYPE_CHECKING:
    from gevglm.engine.monitor import Monitor

Partial = TypeVar("Partial")
Question = TypeVar("Question")
Answer = TypeVar("Answer")
Asked = TypeVar("Asked")
Found = TypeVar("Found")

LARGE = 64**2  # numbers of a partial sum that are too many to be kept for every block


@dataclass(slots=True)
class Block:
    """Consecutive rows of a design."""

    start: int  # position of the first row in the whole data
    X: NDArray  # design rows, float64, of shape (rows, k)
    y: NDArray  # outcomes in [0, 1]; the share of successes for grouped rows
    # frequency weights, variance weights and number of trials; None for ones
    freq: NDArray | None = None
    var: NDArray | None = None
    trials: NDArray | None = None
    offset: NDArray | None = None  # added to the linear predictor; None stands for zeros
    groups: NDArray | None = None  # clusters of the rows, in engines that were asked to carry them
    represents: NDArray | None = (
        None  # how much an observation counts in averages, by the user's weights; None for ones
    )

    @property
    def rows(self) -> slice:
        """The positions of the rows in the whole data."""
        return slice(self.start, self.start + len(self.y))

    @property
    def weight(self) -> NDArray | None:
        """The weight of each row in the estimating equation: the product of all three."""
        if self.freq is self.var is self.trials is None:
            return None
        return product(self.freq, self.var, self.trials)

    def weighted(self, values: NDArray) -> NDArray:
        """Return values times the weights of their rows; zero for rows of weight zero, whatever their value."""
        weight = self.weight
        return values if weight is None else np.where(weight > 0, values * weight, 0.0)

    def linear_predictor(self, params: NDArray) -> NDArray:
        """Return X params + offset."""
        v = self.X @ params  # dot would copy the block of a larger matrix
        if self.offset is not None:
            v += self.offset
        return v


def product(*factors: NDArray | None) -> NDArray | None:
    """Return the product of weights of which None stands for ones."""
    given = [factor for factor in factors if factor is not None]
    return reduce(mul, given) if given else None


def times(values: NDArray, *factors: NDArray | None) -> NDArray:
    """Return values times weights of which None stands for ones."""
    return reduce(mul, (factor for factor in factors if factor is not None), values)


class Reducer(ABC, Generic[Partial]):
    """What is summed over blocks of rows."""

    @abstractmethod
    def zero(self) -> Partial:
        """Return the empty sum."""

    @abstractmethod
    def map(self, block: Block) -> Partial:
        """Return the contribution of one block."""

    @abstractmethod
    def combine(self, total: Partial, part: Partial) -> Partial:
        """Return the sum of two partial sums; `total` may be reused."""

    def total(self, block: Block) -> Partial:
        """Return the sum over rows that are one block."""
        return self.combine(self.zero(), self.map(block))

    def compact(self, parts: list) -> list:
        """Return fewer partial sums with the same total, where they are as large as the rows they come from."""
        return parts


class ArraySum(Reducer[NDArray]):
    """The sum of an array computed from each block, of the same shape for every block."""

    def __init__(self, function: Callable[[Block], NDArray]):
        self.function = function

    def zero(self) -> NDArray:
        return np.zeros(())

    def map(self, block: Block) -> NDArray:
        with np.errstate(all="ignore"):
            value: Any = self.function(block)
        return value.tocsr() if issparse(value) else np.asarray(value, dtype=float)

    def combine(self, total: NDArray, part: NDArray) -> NDArray:
        return add(total, part)

    def compact(self, parts: list[NDArray]) -> list[NDArray]:
        return [reduce(self.combine, parts)] if parts and parts[0].size > LARGE else parts


class ReducerGroup(Reducer[list]):
    """Several sums in one pass over the rows."""

    def __init__(self, reducers: list[Reducer]):
        self.reducers = reducers

    def zero(self) -> list:
        return [reducer.zero() for reducer in self.reducers]

    def map(self, block: Block) -> list:
        return [reducer.map(block) for reducer in self.reducers]

    def combine(self, total: list, part: list) -> list:
        sums = zip(self.reducers, total, part, strict=True)
        return [whole if some is None else reducer.combine(whole, some) for reducer, whole, some in sums]

    def compact(self, parts: list[list]) -> list[list]:
        """Compact each sum in its own way; None stands for what is in the parts before."""
        columns = zip(self.reducers, zip(*parts, strict=True), strict=True) if parts else ()
        return [list(part) for part in zip_longest(*(r.compact(list(column)) for r, column in columns))]


class Engine(ABC):
    """A place where rows live."""

    # shape of the design
    n_rows: int
    n_cols: int
    in_memory: bool = True  # whether passes are cheap
    only_block: Block | None = None  # all rows, where they are few enough to be one block

    @cached_property
    def cache(self) -> dict[str, Any]:
        """What was found out about the rows and need not be asked for again."""
        return {}

    @abstractmethod
    def reduce(self, reducer: Reducer[Partial]) -> Partial:
        """Return the sum of `reducer` over all blocks, combined in block order."""

    def subsample_blocks(self, every: int) -> Engine:
        """Return an engine over every `every`-th block, for starting values from part of the data; the same one each time."""
        if every not in self._parts:
            self._parts[every] = self._subsampled(every)
        return self._parts[every]

    @cached_property
    def _parts(self) -> dict[int, Engine]:
        return {}

    @abstractmethod
    def _subsampled(self, every: int) -> Engine:
        """Return an engine over every `every`-th block."""

    def with_groups(self, grouping: Any) -> Engine:
        """Return an engine whose blocks know the clusters of their rows, if they cannot be told from positions."""
        return self

    def with_monitor(self, monitor: Monitor) -> Engine:
        """Return an engine that reports its passes, where they take long enough to be followed."""
        return self


class MappedEngine(Engine):
    """An engine whose blocks, of `n_cols` columns, are made from those of another: other columns, other outcomes, added rows."""

    def __init__(self, engine: Engine, transform: Callable[[Block], Block], n_cols: int):
        self.engine = engine
        self.transform = transform
        self.n_rows = engine.n_rows
        self.n_cols = n_cols
        self.in_memory = engine.in_memory

    def reduce(self, reducer: Reducer[Partial]) -> Partial:
        return self.engine.reduce(_MappedReducer(reducer, self.transform))

    def _subsampled(self, every: int) -> MappedEngine:
        return MappedEngine(self.engine.subsample_blocks(every), self.transform, self.n_cols)

    def with_groups(self, grouping: Any) -> MappedEngine:
        return MappedEngine(self.engine.with_groups(grouping), self.transform, self.n_cols)

    def with_monitor(self, monitor: Monitor) -> MappedEngine:
        return MappedEngine(self.engine.with_monitor(monitor), self.transform, self.n_cols)


def without_columns(engine: Engine, columns: Sequence[int]) -> Engine:
    """Return an engine in whose blocks some columns are zero: those that are left out of a fit, and keep their places."""
    if not columns:
        return engine
    kept = np.ones(engine.n_cols)
    kept[list(columns)] = 0.0
    return MappedEngine(engine, lambda block: replace(block, X=scale_columns(block.X, kept)), engine.n_cols)


class _MappedReducer(Reducer):
    def __init__(self, reducer: Reducer, transform: Callable[[Block], Block]):
        self.reducer = reducer
        self.transform = transform

    def zero(self):
        return self.reducer.zero()

    def map(self, block: Block):
        with np.errstate(all="ignore"):
            block = self.transform(block)
        return self.reducer.map(block)

    def combine(self, total, part):
        return self.reducer.combine(total, part)

    def compact(self, parts):
        return self.reducer.compact(parts)


# -- computations that ask: run one by one, or many of them in the same passes -------------------------


class Pass(NamedTuple):
    """A pass over the rows of an engine: the question what a reducer sums up to."""

    engine: Engine
    reducer: Reducer


Passes: TypeAlias = Generator[Pass, Any, Found]  # a computation that asks for passes


def run(search: Generator[Question, Answer, Found], answer: Callable[[Question], Answer]) -> Found:
    """Run a computation; overflows on its way are its own affair, and silent."""
    with np.errstate(all="ignore"):
        reply: Any = None
        while True:
            try:
                question = search.send(reply)
            except StopIteration as end:
                return end.value
            reply = answer(question)


def run_in_lockstep(
    searches: Iterable[Generator[Question, Answer, Found]], answer_all: Callable[[list[Question]], Sequence[Answer]]
) -> list[Found]:
    """Run several computations at the same time: whenever all of them wait, their questions are answered together."""
    searches = list(searches)
    found: list = [None] * len(searches)
    replies: dict[int, Any] = dict.fromkeys(range(len(searches)))
    with np.errstate(all="ignore"):
        while replies:
            questions = {}
            for i, reply in replies.items():
                try:
                    questions[i] = searches[i].send(reply)
                except StopIteration as end:
                    found[i] = end.value
            replies = dict(zip(questions, answer_all(list(questions.values())), strict=True)) if questions else {}
    return found


def relay(
    search: Generator[Question, Answer, Found], answer: Callable[[Question], Generator[Asked, Any, Answer]]
) -> Generator[Asked, Any, Found]:
    """Turn a computation into one that asks other questions: those that the answers to its own take."""
    reply: Any = None
    while True:
        try:
            question = search.send(reply)
        except StopIteration as end:
            return end.value
        reply = yield from answer(question)


def make_pass(asked: Pass) -> Any:
    """Make a pass over the rows."""
    return asked.engine.reduce(asked.reducer)


def make_passes(asked: list[Pass]) -> list[Any]:
    """Make passes over the rows, all of those over the same engine in one."""
    sums: list = [None] * len(asked)
    for engine in {id(one.engine): one.engine for one in asked}.values():
        places = [i for i, one in enumerate(asked) if one.engine is engine]
        totals = engine.reduce(ReducerGroup([asked[i].reducer for i in places]))
        for i, total in zip(places, totals, strict=True):
            sums[i] = total
    return sums
