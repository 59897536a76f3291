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

SHARE = 0.25  # of the memory of this machine that the columns may take; a fit needs as much again, and more


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
    most, so_far = SHARE * physical_memory(), 0.0
    with closing(source.map(_whole, columns)) as pieces:
        for _, piece in pieces:
            so_far += float(piece.memory_usage(index=False).sum())
            if so_far > most:
                raise InvalidDataError(
                    f"fits within units or sets have the columns of the model in memory ({', '.join(columns)}), and more than {most / 1e9:.1f} GB of them were read; "
                    "give rows of fewer units, have the units as C(...) among the terms, whose sums are made piece by piece, or take a machine with more memory."
                )
            yield piece


def _whole(table: pd.DataFrame, number: tuple[int, int]) -> pd.DataFrame:
    return table


def _names(word: Any) -> set[str]:
    """Return what a word may name: itself, or the names in a condition."""
    if isinstance(word, str):
        return {word, *names_in(word)}
    return {one for one in word if isinstance(one, str)} if isinstance(word, (list, tuple)) else set()
