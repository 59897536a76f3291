"""A table over models as journals print it, in every format they ask for: text, HTML, LaTeX, Markdown, Word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

import pandas as pd

from gevglm._files import check_target, writing
from gevglm.exceptions import GevglmError

LATEX = (
    {"\\": r"\textbackslash{}"}
    | {mark: "\\" + mark for mark in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$"}
)


@dataclass(frozen=True)
class PublicationTable:
    """Models side by side.

    Attributes
    ----------
    frame : DataFrame
        Text, one column per model; the rows of coefficients come first, each with a row of errors or limits below it, whose label is empty.
    n_coefficients : int
        How many rows belong to coefficients.
    note : str
        What the numbers in parentheses are.
    caption, label : str
        What the table is about, and its label in LaTeX.
    """

    frame: pd.DataFrame
    n_coefficients: int
    note: str
    caption: str = ""
    label: str = ""

    def __str__(self) -> str:
        cells = [
            ["", *self.frame.columns],
            *([str(label), *row] for label, row in zip(self.frame.index, self.frame.to_numpy(), strict=True)),
        ]
        widths = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
        lines = [
            f"{row[0]:<{widths[0]}}  " + "  ".join(f"{cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))
            for row in cells
        ]
        rule = "-" * len(lines[0])
        body = [lines[0], rule, *lines[1 : 1 + self.n_coefficients], rule, *lines[1 + self.n_coefficients :]]
        head = [self.caption, ""] if self.caption else []
        return "\n".join([*head, *(line.rstrip() for line in body), rule, self.note])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """Return the table as HTML."""
        names = "".join(f"<th>{escape(str(name))}</th>" for name in self.frame.columns)
        rows = [
            f"<tr{' class=fit' if i == self.n_coefficients else ''}><th>{escape(str(label))}</th>"
            + "".join(f"<td>{escape(cell)}</td>" for cell in row)
            + "</tr>"
            for i, (label, row) in enumerate(zip(self.frame.index, self.frame.to_numpy(), strict=True))
        ]
        foot = f'<tfoot><tr><td colspan="{1 + len(self.frame.columns)}">{escape(self.note)}</td></tr></tfoot>'
        head = f"<thead><tr><th></th>{names}</tr></thead>"
        caption = [f"<caption>{escape(self.caption)}</caption>"] if self.caption else []
        return "\n".join(["<table>", *caption, head, "<tbody>", *rows, "</tbody>", foot, "</table>"])

    def to_latex(self) -> str:
        """Return the table as LaTeX, for the booktabs package; inside a ``table`` if it has a caption or a label."""

        def line(cells: list[str]) -> str:
            return " & ".join(_latex(str(cell)) for cell in cells) + r" \\"

        lines = [line([label, *row]) for label, row in zip(self.frame.index, self.frame.to_numpy(), strict=True)]
        n, columns = self.n_coefficients, "l" + "r" * len(self.frame.columns)
        body = [line(["", *self.frame.columns]), r"\midrule", *lines[:n], r"\midrule", *lines[n:], r"\bottomrule"]
        note = rf"\multicolumn{{{len(columns)}}}{{l}}{{\footnotesize {_latex(self.note)}}} \\"
        tabular = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *body, note, r"\end{tabular}"]
        if not (self.caption or self.label):
            return "\n".join(tabular)
        caption = [rf"\caption{{{_latex(self.caption)}}}"] if self.caption else []
        label = [rf"\label{{{self.label}}}"] if self.label else []
        return "\n".join([r"\begin{table}", r"\centering", *caption, *label, *tabular, r"\end{table}"])

    def to_markdown(self) -> str:
        """Return the table as Markdown."""

        def line(cells: list[str]) -> str:
            return "| " + " | ".join(str(cell).replace("|", r"\|").replace("*", r"\*") for cell in cells) + " |"

        rows = [line([label, *row]) for label, row in zip(self.frame.index, self.frame.to_numpy(), strict=True)]
        head = [line(["", *self.frame.columns]), "|---|" + "---:|" * len(self.frame.columns)]
        caption = [f"**{self.caption}**", ""] if self.caption else []
        return "\n".join([*caption, *head, *rows, "", self.note.replace("*", r"\*")])

    def to_docx(self, path: str | Path) -> Path:
        """Write the table to a file for Word; needs python-docx.

        Parameters
        ----------
        path : path
            Of the file, which ends in .docx.

        Returns
        -------
        Path
            Of the file written.
        """
        path = Path(path)
        check_target(path)
        document = _document(self)
        with writing(path) as file:
            document.save(file)
        return path


def _document(table: PublicationTable):
    """Return a Word document with a table in it."""
    try:
        from docx import Document
        from docx.enum.text import WD_ALIGN_PARAGRAPH
    except ImportError:
        raise GevglmError('tables for Word need python-docx; pip install "gevglm[word]".') from None
    document = Document()
    if table.caption:
        document.add_paragraph(table.caption).runs[0].bold = True
    cells = [["", *map(str, table.frame.columns)]]
    cells += [[str(label), *row] for label, row in zip(table.frame.index, table.frame.to_numpy(), strict=True)]
    grid = document.add_table(rows=len(cells), cols=len(cells[0]), style="Light Shading")
    for line, row in zip(grid.rows, cells, strict=True):
        for j, (cell, text) in enumerate(zip(line.cells, row, strict=True)):
            cell.text = text
            cell.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.LEFT if j == 0 else WD_ALIGN_PARAGRAPH.RIGHT
    document.add_paragraph(table.note)
    return document


def _latex(text: str) -> str:
    escaped = "".join(LATEX.get(mark, mark) for mark in text)
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", escaped)
