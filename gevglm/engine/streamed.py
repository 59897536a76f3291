"""Rows that are read anew for every pass: from files, from tables that a function hands out, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from gevglm.engine.base import Block, Engine, Partial, Reducer
from gevglm.engine.linalg import one_blas_thread
from gevglm.engine.monitor import NULL_MONITOR, Monitor

if TYPE_CHECKING:
    import pandas as pd

    from gevglm.data.reader import Reader
    from gevglm.data.sources.base import Number, Source

    BlocksOf = Callable[[pd.DataFrame, Number], Iterator[Block]]


class StreamedEngine(Engine):
    """Blocks that are built from a table in pieces; `kept` are the complete rows of every batch of rows, in their order.

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
        self._monitor = NULL_MONITOR

    @cached_property
    def _blocks(self) -> Source | None:
        """The blocks, where the source keeps them."""
        n_bytes = self.n_rows * self.reader.row_bytes
        return self.source.cached(partial(_all_blocks, self._blocks_of), self.reader.all_columns, n_bytes)

    @property
    def _blocks_of(self) -> BlocksOf:
        return partial(_blocks_of, self.reader, self._starts, self._kept)

    def _subsampled(self, every: int) -> StreamedEngine:
        part = self._copy()
        part._every = self._every * every
        part.n_rows = sum(rows for (piece, _), rows in self._kept.items() if piece % part._every == 0)
        return part

    def with_groups(self, grouping: Any) -> StreamedEngine:
        carrier = self._copy()
        carrier.reader = replace(self.reader, grouping=grouping if grouping.columns else None)
        carrier._blocks = None
        _ = grouping.index  # made before threads look rows up in it
        return carrier

    def with_monitor(self, monitor: Monitor) -> StreamedEngine:
        if not monitor.follows_passes:
            return self
        blocks, cache = self._blocks, self.cache
        followed = self._copy()
        followed._blocks, followed.cache, followed._monitor = blocks, cache, monitor
        return followed

    def reduce(self, reducer: Reducer[Partial]) -> Partial:
        total = reducer.zero()
        if self._blocks is not None:
            parts_of_batches = self._blocks.map(partial(_parts_of_blocks, reducer), (), self._every)
        else:
            task = partial(_parts, self._blocks_of, reducer)
            parts_of_batches = self.source.map(task, self.reader.all_columns, self._every)
        self._monitor.on_pass(self.n_rows)
        with one_blas_thread(), closing(parts_of_batches):
            for number, parts in parts_of_batches:
                for part in parts:
                    total = reducer.combine(total, part)
                self._monitor.on_rows(self._kept.get(number, 0))
        return total

    def _copy(self) -> StreamedEngine:
        other = copy(self)
        other.__dict__.pop("cache", None)
        other.__dict__.pop("_parts", None)
        return other


def _blocks_of(
    reader: Reader, starts: dict[Number, int], kept: dict[Number, int], table: pd.DataFrame, number: Number
) -> Iterator[Block]:
    return reader.blocks(table, starts.get(number, 0), kept.get(number, 0))


def _all_blocks(blocks_of: BlocksOf, table: pd.DataFrame, number: Number) -> list[Block]:
    return list(blocks_of(table, number))


def _parts(blocks_of: BlocksOf, reducer: Reducer[Partial], table: pd.DataFrame, number: Number) -> list[Partial]:
    """Return the partial sums of the blocks of a batch of rows."""
    return _parts_of_blocks(reducer, blocks_of(table, number), number)


def _parts_of_blocks(reducer: Reducer[Partial], blocks: Iterable[Block], number: Number) -> list[Partial]:
    return reducer.compact([reducer.map(block) for block in blocks])
