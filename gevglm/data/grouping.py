"""Which cluster each row is in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.engine.base import Block
from gevglm.exceptions import InvalidDataError, InvalidOptionError, listed


@dataclass(frozen=True)
class Grouping:
    """Clusters of rows, in one way or in two."""

    keys: pd.DataFrame  # the distinct clusters (pairs of clusters, for two ways) in the order of their first rows
    codes: NDArray | None = None  # position in `keys` of each row; None if blocks carry their own

    @classmethod
    def of(cls, values: Any) -> Grouping:
        """Return the clusters of rows held in memory, from a table or an array of one or two columns, each of its own type."""
        table = pd.DataFrame(values)
        check_ways(list(table.columns))
        refuse_missing(int(table.isna().any(axis=1).sum()), len(table))
        table = table.set_axis(range(table.shape[1]), axis=1)
        codes = [pd.factorize(table[j])[0] for j in table]
        both = codes[0] if len(codes) == 1 else codes[0].astype(np.int64) * (codes[1].max() + 1) + codes[1]
        positions, found = pd.factorize(both)
        first = np.zeros(len(found), dtype=np.intp)
        first[positions[::-1]] = np.arange(len(table))[::-1]
        return cls(table.iloc[first], positions)

    @cached_property
    def ways(self) -> list[tuple[float, NDArray]]:
        """The sign of each sum over clusters, and the cluster of each key."""
        single = [(1.0, pd.factorize(self.keys[name])[0]) for name in self.keys]
        return single if len(single) == 1 else [*single, (-1.0, np.arange(len(self.keys)))]

    @property
    def columns(self) -> list[str]:
        """The columns that blocks have to carry."""
        return list(self.keys.columns) if self.codes is None else []

    @cached_property
    def index(self) -> pd.Index:
        """The keys as an index, to look up rows in."""
        single = self.keys.shape[1] == 1
        index = pd.Index(self.keys.iloc[:, 0]) if single else pd.MultiIndex.from_frame(self.keys)
        index.get_indexer(
            index[:1]
        )  # makes the table that pandas looks up in, which threads must not do at the same time
        return index

    def positions(self, frame: pd.DataFrame) -> NDArray:
        """Return the position among the keys of rows of a table."""
        names = list(self.keys.columns)
        rows = pd.Index(frame[names[0]]) if len(names) == 1 else pd.MultiIndex.from_frame(frame[names])
        return self.index.get_indexer(rows)

    def of_block(self, block: Block) -> NDArray:
        """Return the position among the keys of each row of a block."""
        if self.codes is None:
            assert block.groups is not None, "blocks of rows that are not in memory carry their clusters"
            return block.groups
        return self.codes[block.start : block.start + len(block.y)]


def check_ways(columns: list[Any]) -> None:
    """Refuse more than two ways of clustering."""
    if len(columns) > 2:
        named = f" ({listed(columns)})" if all(isinstance(name, str) for name in columns) else ""
        raise InvalidOptionError(f"groups has {len(columns)} columns{named}; clustering is one- or two-way.")


def refuse_missing(count: int, total: int) -> None:
    """Refuse rows of no cluster."""
    if count:
        raise InvalidDataError(
            f"groups are missing in {count} of the {total} rows of the model. Leave those rows out of the data; gevglm.fit(formula, data, "
            "missing='drop', ...) does so itself, because it knows the clusters before it chooses the rows."
        )
