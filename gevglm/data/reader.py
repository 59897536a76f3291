"""From a piece of a table to blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data import row_dependence
from gevglm.data.formula import Recipe
from gevglm.data.grouping import Grouping
from gevglm.data.outcome import Coding
from gevglm.data.selection import Selection
from gevglm.data.tables import combined_offset
from gevglm.engine.base import Block, product
from gevglm.engine.memory import default_block_rows
from gevglm.exceptions import InvalidDataError

SLICE_ELEMENTS = 1 << 24  # of a design matrix that is built at once


@dataclass(frozen=True)
class Reader:
    """All that is needed to turn tables into blocks; small, and the same for every piece."""

    selection: Selection
    recipe: Recipe
    coding: Coding
    columns: tuple[str, ...]  # what is read of the table
    outcome: str  # name of the outcome
    weights: Callable[[NDArray], NDArray | None] | None = None  # from outcomes to weights that are added
    grouping: Grouping | None = field(default=None, repr=False)  # clusters that blocks carry

    @property
    def all_columns(self) -> list[str]:
        """What is read of the table, the columns of clusters included."""
        return list(dict.fromkeys([*self.columns, *([] if self.grouping is None else self.grouping.columns)]))

    @property
    def row_bytes(self) -> float:
        """What a row of the design and its outcome, weights, offset and cluster take in memory."""
        return 8 * 5 + self.recipe.row_numbers * (8 + 4 * self.recipe.sparse)

    def blocks(self, table: pd.DataFrame, start: int, n_expected: int) -> Iterator[Block]:
        """Cut the complete rows of a table into blocks; those of few tables at a time are in memory.

        `start` is the position of its first complete row among all of them, `n_expected` their number at the first look.
        """
        chosen = self.selection.of(table)
        rows, n = chosen.frame, len(chosen.frame)
        if n != n_expected:
            raise InvalidDataError(
                f"the data have changed during the fit: {n} complete rows where there were {n_expected}. A function that returns tables "
                "must return the same ones each time, and files must not be written to."
            )
        vectors = self._vectors(chosen.values, chosen.columns, rows)
        block_rows = default_block_rows(len(self.recipe.names), self.recipe.sparse)
        slice_rows = max(int(SLICE_ELEMENTS / self.recipe.row_numbers) // block_rows, 1) * block_rows
        for first in range(0, n, slice_rows):
            X = self.recipe.build(rows if n <= slice_rows else rows.iloc[first : first + slice_rows])
            for inner in range(0, X.shape[0], block_rows):
                here = slice(first + inner, min(first + inner + block_rows, n))
                parts: dict[str, Any] = {
                    name: None if vector is None else vector[here] for name, vector in vectors.items()
                }
                yield Block(start + here.start, X[inner : inner + block_rows], **parts)

    def _vectors(
        self, values: Any, columns: dict[str, NDArray | None], rows: pd.DataFrame
    ) -> dict[str, NDArray | None]:
        y, _, freq, trials = self.coding.apply(values, columns["freq_weights"], self.outcome)
        represents = product(columns["var_weights"], columns["sampling_weights"])
        var = product(None if self.weights is None else self.weights(y), represents)
        groups = None if self.grouping is None else self.grouping.positions(rows)
        if groups is not None and (groups < 0).any():
            raise InvalidDataError(
                f"the data have changed during the fit: {int((groups < 0).sum())} rows are in new clusters."
            )
        offset = combined_offset(columns["offset"], columns["exposure"])
        weights = {"freq": freq, "var": var, "trials": trials, "represents": represents}
        return {"y": y, **weights, "offset": offset, "groups": groups}


def refuse_dependence_on_other_rows(reader: Reader, example: pd.DataFrame) -> None:
    """Refuse an outcome or a subset whose value in a row depends on other rows, such as ``x > x.mean()``: pieces do not see them all."""
    selection = reader.selection

    def outcome(rows: NDArray) -> NDArray:
        return reader.coding.apply(selection.outcome(example.iloc[rows]), None, reader.outcome).y

    def subset(rows: NDArray) -> NDArray:
        return np.asarray(selection.asked_for(example.iloc[rows]), dtype=float)

    if reader.outcome not in example.columns:
        row_dependence.refuse(reader.outcome, outcome, example, example.columns)
    if selection.subset is not None:
        row_dependence.refuse(f"subset={selection.subset}", subset, example, example.columns)
