"""Tables as summaries of statsmodels: text, HTML and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary, fmt_2cols, fmt_params
from statsmodels.iolib.table import SimpleTable


def summary_table(
    title: str,
    facts: Mapping[str, str],
    frames: pd.DataFrame | Sequence[pd.DataFrame],
    notes: Sequence[str] = (),
    formats: Mapping[str, str] | None = None,
) -> Summary:
    """Return a statsmodels Summary: facts in two columns, one table or more below, notes at the end.

    Missing numbers are left blank; `formats` has the format of a column where it is not ``".4g"``.
    """
    summary = Summary()
    pairs = [(f"{name}:", value) for name, value in facts.items()]
    pairs += [("", "")] * (len(pairs) % 2)
    half = len(pairs) // 2
    left, right = (
        SimpleTable([[value] for _, value in side], stubs=[name for name, _ in side], title=title, txt_fmt=fmt_2cols)
        for side in (pairs[:half], pairs[half:])
    )
    left.extend_right(right)
    summary.tables.append(left)
    for frame in [frames] if isinstance(frames, pd.DataFrame) else frames:
        summary.tables.append(_table(frame, formats or {}))
    if notes:
        summary.add_extra_txt(["Notes:", *(f"[{i}] {note}" for i, note in enumerate(notes, 1))])
    return summary


def _table(frame: pd.DataFrame, formats: Mapping[str, str]) -> SimpleTable:
    cells = [
        [_cell(value, formats.get(name, ".4g")) for name, value in zip(frame.columns, row, strict=True)]
        for row in frame.itertuples(index=False)
    ]
    return SimpleTable(
        cells, headers=list(frame.columns), stubs=[str(name) for name in frame.index], txt_fmt=fmt_params
    )


def _cell(value: str | float | None, spec: str) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or np.isnan(value) else format(value, spec)
