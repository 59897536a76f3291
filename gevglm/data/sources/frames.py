"""Tables that a function hands out one after the other, and a table in memory that is cut into pieces."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import pandas as pd

from gevglm.data.sources.base import BATCH_ROWS, Answer, Batches, Number, ReadSource
from gevglm.data.tables import as_frame
from gevglm.exceptions import InvalidDataError

MOST_TABLES = 1_000_000  # more of them are taken for a sequence without end
ENDLESS = (itertools.count, itertools.cycle, itertools.repeat)


class FramesSource(ReadSource):
    """Tables from a function without arguments, called anew for every pass over them; it returns the same ones each time."""

    def __init__(self, factory: Callable[[], Iterable[Any]]):
        self.factory = factory
        self.name = f"{getattr(factory, '__name__', 'the function')}()"
        with closing(self._tables()) as tables:
            first = next(tables, None)
        if first is None:
            raise InvalidDataError(f"{self.name} returns no tables; it must return an iterable of DataFrames.")
        self.columns = [str(column) for column in first.columns]

    def batches(self, columns: Sequence[str], every: int = 1) -> Batches:
        with closing(self._tables()) as tables:
            yield from self._cut(tables, columns, every)

    def _cut(self, tables: Iterator[pd.DataFrame], columns: Sequence[str], every: int) -> Batches:
        for piece, table in enumerate(tables):
            if piece % every:
                continue
            absent = [column for column in columns if column not in table.columns]
            if absent:
                raise InvalidDataError(
                    f"table {piece} of {self.name} has no column {absent[0]!r}, though the first one has."
                )
            table = table[list(columns)]
            for j, start in enumerate(range(0, len(table), BATCH_ROWS)):
                yield (piece, j), partial(_batch, table, start)

    def _tables(self) -> Generator[pd.DataFrame, None, None]:
        tables = self.factory()
        if isinstance(tables, ENDLESS):
            raise InvalidDataError(
                f"{self.name} returns tables without end ({type(tables).__name__}); a fit needs all of them."
            )
        if isinstance(tables, pd.DataFrame) or not isinstance(tables, Iterable):
            raise InvalidDataError(
                f"{self.name} returns a {type(tables).__name__}; it must return an iterable of DataFrames."
            )
        try:
            for number, table in enumerate(tables):
                if number == MOST_TABLES:
                    raise InvalidDataError(
                        f"{self.name} has returned {number} tables; if it goes on without end, let it stop, and if not, return larger tables."
                    )
                yield as_frame(table)
        finally:
            if hasattr(tables, "close"):
                tables.close()


def _batch(table: pd.DataFrame, start: int) -> pd.DataFrame:
    return table.iloc[start : start + BATCH_ROWS]


class WideSource(FramesSource):
    """A table in memory whose design, which would not fit there as a dense matrix, is built in pieces, sparse, and kept."""

    def __init__(self, table: pd.DataFrame):
        self._table = table
        super().__init__(self._pieces)
        self.name = "the data"

    def cached(
        self, function: Callable[[pd.DataFrame, Number], Answer], columns: Sequence[str], n_bytes: float
    ) -> CachedAnswers:
        return CachedAnswers(list(self.map(function, columns)))

    def _pieces(self) -> Iterator[pd.DataFrame]:
        return (_batch(self._table, start) for start in range(0, len(self._table), BATCH_ROWS))


class CachedAnswers(ReadSource):
    """What was made of the pieces of a table, in memory."""

    name = "the design"
    columns: list[str] = []

    def __init__(self, answers: list[tuple[Number, Answer]]):
        self._answers = answers

    def batches(self, columns: Sequence[str], every: int = 1) -> Batches:
        for number, answer in self._answers:
            if number[0] % every == 0:
                yield number, partial(_same, answer)


def _same(answer: Answer) -> Answer:
    return answer
