"""Tables as text and as HTML: titles, frames whose numbers have aligned digits, notes below; names and levels are never markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from gevglm.display.digits import column_texts, p_text, table_texts

ESTIMATES = ("estimate", "se", "ci_lower", "ci_upper")
STATISTICS = ("z", "t")
PVALUES = ("pvalue", "p", "lr_p", "vuong_p", "p-value")
WIDTH = 100  # of notes, in characters


@dataclass(frozen=True)
class Part:
    """A table with what stands above it."""

    caption: str
    frame: pd.DataFrame


class Shown:
    """What is shown as a few tables with a title and notes, in terminals and in notebooks.

    Those who inherit give a title, tables and notes by ``_shown_parts``.
    """

    def _shown_parts(self) -> tuple[str, Sequence[Part], Sequence[str]]:
        raise NotImplementedError

    def __str__(self) -> str:
        return as_text(*self._shown_parts())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(*self._shown_parts())


def as_text(title: str, parts: Sequence[Part], notes: Sequence[str] = ()) -> str:
    """Return tables as text, one below the other."""
    texts = [f"{part.caption}\n{_to_string(part.frame)}" if part.caption else _to_string(part.frame) for part in parts]
    head = fill(title, WIDTH) + "\n" if title else ""
    below = "".join(f"\n{fill(note, WIDTH)}" for note in notes if note)
    return head + "\n\n".join(texts) + below


def as_html(title: str, parts: Sequence[Part], notes: Sequence[str] = ()) -> str:
    """Return tables as HTML; whatever is text is escaped."""
    texts = [f"<p><strong>{escape(title)}</strong></p>"] if title else []
    for part in parts:
        texts += [f"<p>{escape(part.caption)}</p>"] if part.caption else []
        texts.append(written(part.frame).to_html(escape=True, border=0))
    return "\n".join([*texts, *(f"<p><small>{escape(note)}</small></p>" for note in notes if note)])


def written(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of text: estimates with the digits their errors support, p-values, all other numbers column by column.

    Examples
    --------
    >>> written(pd.DataFrame({"estimate": [0.0287], "se": [0.00271], "pvalue": [1e-9]}, index=["a"])).iloc[0].tolist()
    ['0.02870', '0.00271', '< 0.0001']
    """
    texts: dict[Any, list[str]] = {}
    together = [name for name in ESTIMATES if name in frame and "se" in frame]
    if together:
        numbers = [frame[name].to_numpy(float) for name in together]
        texts |= dict(zip(together, table_texts(numbers, frame["se"].to_numpy(float)), strict=True))
    for name in frame.columns:
        if name not in texts:
            texts[name] = _column(name, frame[name])
    return pd.DataFrame({name: texts[name] for name in frame.columns}, index=frame.index, dtype=object)


def _column(name: Any, column: pd.Series) -> list[str]:
    if name in PVALUES:
        return [p_text(value) for value in column.to_numpy(float)]
    if name in STATISTICS:
        return ["" if np.isnan(value) else f"{value:.2f}" for value in column.to_numpy(float)]
    if name == "df" and (column % 1 != 0).any():
        return ["" if np.isnan(value) else f"{value:.1f}" for value in column.to_numpy(float)]
    if pd.api.types.is_bool_dtype(column.dtype) or not pd.api.types.is_numeric_dtype(column.dtype):
        return ["" if value is None or value is pd.NA or value != value else str(value) for value in column]
    return column_texts(column.to_numpy(float, na_value=np.nan))


def _to_string(frame: pd.DataFrame) -> str:
    return "\n".join(line.rstrip() for line in written(frame).to_string(max_colwidth=60).splitlines())
