"""Tables as summaries of statsmodels: text, LaTeX, and HTML in which names and levels are text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from html import escape
from textwrap import fill

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from statsmodels.iolib.summary import Summary, fmt_2cols, fmt_params
from statsmodels.iolib.table import SimpleTable

from gevglm.display.digits import column_texts

LEAST_WIDTH = 78
TESTS = ("z", "statistic", "df", "pvalue", "P>|z|")  # columns that have digits of their own


class EscapedTable(SimpleTable):
    """A table that shows its text as it is in HTML, too: names and levels come from the data, and are no markup."""

    @classmethod
    def of(cls, table: SimpleTable) -> EscapedTable:
        """Return a table that statsmodels has made, as one of these."""
        escaped = cls.__new__(cls)
        escaped.extend(table)
        escaped.__dict__.update(table.__dict__)
        return escaped

    def as_html(self, **options) -> str:
        """Return the table as HTML."""
        shown = deepcopy(self)
        shown.title = escape(self.title) if self.title else self.title
        for cell in (cell for row in shown for cell in row):
            if isinstance(cell.data, str):
                cell.data = escape(cell.data)
        return SimpleTable.as_html(shown, **options)


class EscapedSummary(Summary):
    """A summary of statsmodels whose HTML, which notebooks show, has its text escaped."""

    @classmethod
    def of(cls, summary: Summary) -> EscapedSummary:
        """Return a summary that statsmodels has made, as one of these."""
        escaped = cls()
        escaped.tables = _as_wide_as_the_widest([EscapedTable.of(table) for table in summary.tables])
        escaped.extra_txt = summary.extra_txt
        return escaped

    def as_text(self) -> str:
        """Return tables and notes as text; notes are no wider than the tables."""
        tables = copy(self)
        tables.extra_txt = None
        text = Summary.as_text(tables)
        if self.extra_txt is None:
            return text
        width = max(LEAST_WIDTH, *(len(line) for line in text.splitlines()))
        notes = [fill(note, width, subsequent_indent="    ") for note in self.extra_txt.splitlines()]
        return "\n".join([text, "", *notes])

    def as_html(self) -> str:
        """Return tables and notes as HTML."""
        tables = "\n".join(table.as_html() for table in self.tables)
        notes = "" if self.extra_txt is None else "<br/><br/>" + escape(self.extra_txt).replace("\n", "<br/>")
        return tables + notes


def _as_wide_as_the_widest(tables: list[EscapedTable]) -> list[EscapedTable]:
    """Return tables whose first columns are wide enough to make all tables of the same width, as text."""
    widths = [max(map(len, table.as_text().splitlines())) for table in tables]
    for table, width in zip(tables, widths, strict=True):
        if width < max(widths):
            columns = list(table.get_colwidths("txt"))
            columns[0] += max(widths) - width
            formats = {kind: dict(options) for kind, options in table.output_formats.items()}
            formats["txt"]["colwidths"] = columns
            table.output_formats = formats
            table._colwidths = {}
    return tables


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
    return EscapedSummary.of(summary)


def _table(frame: pd.DataFrame, formats: Mapping[str, str]) -> SimpleTable:
    """Return a table whose rows are different quantities: the numbers of a row have the same decimals, those of tests their own."""
    alone = [
        name for name in frame.columns if name in TESTS or name in formats or not is_numeric_dtype(frame[name].dtype)
    ]
    alone += [name for name in frame.columns if name not in alone and _whole(frame[name])]
    together = [name for name in frame.columns if name not in alone]
    texts = {name: [_cell(value, formats.get(name, ".4g")) for value in frame[name]] for name in alone}
    rows = [column_texts(row) for row in frame[together].to_numpy(float)]
    texts |= {name: [row[j] for row in rows] for j, name in enumerate(together)}
    cells = [[texts[name][i] for name in frame.columns] for i in range(len(frame))]
    return SimpleTable(
        cells, headers=list(frame.columns), stubs=[str(name) for name in frame.index], txt_fmt=fmt_params
    )


def _whole(column: pd.Series) -> bool:
    values = column.to_numpy(float)
    return bool((np.isnan(values) | (values == np.floor(values))).all())


def _cell(value: str | float | None, spec: str) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or np.isnan(value) else format(value, spec)
