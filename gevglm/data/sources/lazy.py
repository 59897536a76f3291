"""Lazy tables that are too large for memory: computed again for every pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pandas as pd

from gevglm.data.lazy_tables import LazyTable
from gevglm.data.sources.arrow import need_pyarrow, table_of
from gevglm.data.sources.base import Batches, ReadSource
from gevglm.data.tables import with_sorted_levels
from gevglm.exceptions import InvalidDataError


class LazySource(ReadSource):
    """A lazy table, in pieces of the same length, whatever the batches in which it comes."""

    def __init__(self, table: LazyTable):
        need_pyarrow()
        self.name = table.name
        self.columns = table.columns
        self._table = table

    def batches(self, columns: Sequence[str], every: int = 1) -> Batches:
        for piece, table in enumerate(self._pieces(columns)):
            if piece % every == 0:
                yield (piece, 0), partial(self._frame, table)

    def _frame(self, table: Any) -> pd.DataFrame:
        frame = table_of(table, self.name)
        return with_sorted_levels(frame, table) if self._table.sorted_levels else frame

    def _pieces(self, columns: Sequence[str]) -> Iterator[Any]:
        try:
            yield from self._table.pieces(columns)
        except (GeneratorExit, InvalidDataError):
            raise
        except Exception as error:
            raise InvalidDataError(f"{self.name} could not be read: {error}") from None
