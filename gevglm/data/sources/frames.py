"""Tables that a function hands out one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

import pandas as pd

from gevglm.data.sources.base import BATCH_ROWS, Batches, ReadSource
from gevglm.data.tables import as_frame
from gevglm.exceptions import InvalidDataError

MOST_TABLES = 1_000_000  # more of them are taken for a sequence without end
ENDLESS = (itertools.count, itertools.cycle, itertools.repeat)


class FramesSource(ReadSource):
    """Tables from a function, called anew for every pass over them.

    Parameters
    ----------
    factory : callable
        Without arguments, returns an iterable of tables: the same ones each time.
    """

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
                yield (piece, j), _Slice(table, start)

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


class _Slice:
    """Some rows of a table, cut when they are needed."""

    def __init__(self, table: pd.DataFrame, start: int):
        self.table, self.start = table, start

    def __call__(self) -> pd.DataFrame:
        return self.table.iloc[self.start : self.start + BATCH_ROWS]
