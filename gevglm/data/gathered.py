"""The columns of a model from a table in pieces, brought together in memory: for fits that look at rows by their units or sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pandas as pd

from gevglm.data import dialect
from gevglm.data.expressions import names_in
from gevglm.data.sources import Source, as_source
from gevglm.engine.memory import physical_memory
from gevglm.exceptions import InvalidDataError

SHARE = 0.75  # of the memory of this machine that a fit may take
# numbers that a fit holds for each row, as measured: for each column of the table, and besides
OF_EACH_COLUMN, BESIDES = 4, 12


def gathered(data: Any, formula: str, scope: dict[str, Any], words: Sequence[Any]) -> Any:
    """Return a table of what a formula and other words name, if the data come in pieces; else the data as they are.

    Parameters
    ----------
    data : table, or whatever hands out a table in pieces
    formula : str
    scope : dict
        What the formula may name besides columns.
    words : sequence
        Names of columns, lists of such names, and conditions on rows; anything else names nothing.

    Notes
    -----
    Rows are in the order of the pieces, so that a fit does not depend on how they were cut, to the last bit.
    """
    source = as_source(data)
    if source is None:
        return data
    names = set(names_in(dialect.as_read(formula, source.columns, scope), called=False))
    for word in words:
        names |= _names(word)
    columns = [name for name in source.columns if name in names]
    source.check(columns)
    return pd.concat(list(_pieces(source, columns)), ignore_index=True)


def _pieces(source: Source, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    memory, rows, so_far = physical_memory(), 0, 0.0
    with closing(source.map(_whole, columns)) as pieces:
        for _, piece in pieces:
            rows += len(piece)
            so_far += float(piece.memory_usage(index=False, deep=True).sum())
            needed = so_far + 8.0 * rows * (OF_EACH_COLUMN * len(columns) + BESIDES)
            if needed > SHARE * memory:
                raise InvalidDataError(
                    f"fits within units or sets have the columns of the model in memory ({', '.join(columns)}): {rows:,} rows were read, which take about "
                    f"{needed / 1e9:.3g} GB, and this machine has {memory / 1e9:.3g} GB. Units or sets with one outcome say nothing about slopes: leave their rows "
                    "out before, or have the units as C(...) among the terms, whose sums are made piece by piece."
                )
            yield piece


def _whole(table: pd.DataFrame, number: tuple[int, int]) -> pd.DataFrame:
    return table


def _names(word: Any) -> set[str]:
    """Return what a word may name: itself, or the names in a condition."""
    if isinstance(word, str):
        return {word, *names_in(word)}
    return {one for one in word if isinstance(one, str)} if isinstance(word, (list, tuple)) else set()
