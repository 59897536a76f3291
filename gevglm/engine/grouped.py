"""Rows in memory that are sorted by group: blocks are of whole groups, so that what is known of a group is known within a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.memory import MemoryEngine, default_block_rows


@dataclass(frozen=True)
class Groups:
    """Groups of rows one after the other, and the level of a second factor that each row may have."""

    codes: NDArray  # group of each row, from 0 without gaps, in order; of shape (n,)
    levels: NDArray | None = None  # level of each row, from 0; `n_levels` stands for a level of reference
    n_levels: int = 0
    large: bool = False  # whether there are too many levels for a matrix of them

    @cached_property
    def starts(self) -> NDArray:
        """The first row of each group; of shape (G,)."""
        return np.flatnonzero(np.diff(self.codes, prepend=-1))

    @cached_property
    def sizes(self) -> NDArray:
        """Rows of each group."""
        return np.diff(self.starts, append=len(self.codes))

    def __len__(self) -> int:
        return len(self.starts)

    def sums(self, values: NDArray) -> NDArray:
        """Return the sums of values over the rows of each group, along the last axis."""
        return np.add.reduceat(values, self.starts, axis=-1)

    def at_rows(self, values: NDArray) -> NDArray:
        """Return values of groups, along the last axis, for each of their rows."""
        return values.take(self.codes, axis=-1)

    def block_starts(self, n_cols: int) -> Sequence[int]:
        """Return where blocks of the usual size begin, if they are to end where groups do."""
        wanted = np.arange(0, len(self.codes), default_block_rows(n_cols))
        return self.starts[np.unique(np.searchsorted(self.starts, wanted, side="right") - 1)].tolist()


def grouped_engine(X: NDArray, y: NDArray, groups: Groups, **vectors: NDArray | None) -> MemoryEngine:
    """Return an engine over sorted rows whose blocks are of whole groups."""
    return MemoryEngine(X, y, starts=groups.block_starts(X.shape[1]), **vectors)  # type: ignore[arg-type]
