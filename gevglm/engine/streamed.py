"""Rows that are read anew for every pass: from files, from tables that a function hands out, or on a Dask cluster."""

from __future__ import annotations

from contextlib import closing
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pandas as pd

from gevglm.engine.base import Engine, Partial, Reducer
from gevglm.linalg import one_blas_thread

if TYPE_CHECKING:
    from gevglm.reader import Reader
    from gevglm.sources.base import Number, Source


class StreamedEngine(Engine):
    """Blocks that are built from a table in pieces.

    Parameters
    ----------
    source : Source
        The table.
    reader : Reader
        From its pieces to blocks.
    kept : dict
        Complete rows of every batch of rows, in their order.

    Notes
    -----
    Blocks begin where batches of rows do, and are as long as those of :class:`~gevglm.engine.memory.MemoryEngine`: the partial sums, and
    the order in which they are added, are the same for the same boundaries.
    """

    in_memory = False

    def __init__(self, source: Source, reader: Reader, kept: dict[Number, int]):
        self.source = source
        self.reader = reader
        self.n_cols = len(reader.recipe.names)
        self.n_rows = sum(kept.values())
        self._kept = kept
        self._starts = dict(zip(kept, accumulate(kept.values(), initial=0), strict=False))
        self._every = 1

    def thin(self, every: int) -> StreamedEngine:
        thinned = copy(self)
        thinned.__dict__.pop("known", None)
        thinned._every = self._every * every
        thinned.n_rows = sum(rows for (piece, _), rows in self._kept.items() if piece % thinned._every == 0)
        return thinned

    def carrying(self, grouping: Any) -> StreamedEngine:
        carrier = copy(self)
        carrier.reader = replace(self.reader, grouping=grouping if grouping.columns else None)
        return carrier

    def reduce(self, reducer: Reducer[Partial]) -> Partial:
        total = reducer.zero()
        task = partial(_parts, self.reader, reducer, self._starts, self._kept)
        parts_of_batches = self.source.map(task, self.reader.all_columns, self._every)
        with one_blas_thread(), closing(parts_of_batches):
            for _, parts in parts_of_batches:
                for part in parts:
                    total = reducer.combine(total, part)
        return total


def _parts(
    reader: Reader,
    reducer: Reducer[Partial],
    starts: dict[Number, int],
    kept: dict[Number, int],
    table: pd.DataFrame,
    number: Number,
) -> list[Partial]:
    """Return the partial sums of the blocks of a batch of rows."""
    blocks = reader.blocks(table, starts.get(number, 0), kept.get(number, 0))
    return reducer.condensed([reducer.map(block) for block in blocks])
