"""A table over models as journals print it: coefficients above their standard errors, and what describes each fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gevglm.results.summary import OMITTED

if TYPE_CHECKING:
    from gevglm.results import BinaryGLMResults

STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
STARS_NOTE = "* p < 0.05, ** p < 0.01, *** p < 0.001."
LATEX = (
    {"\\": r"\textbackslash{}"}
    | {mark: "\\" + mark for mark in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
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
    """

    frame: pd.DataFrame
    n_coefficients: int
    note: str

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
        return "\n".join([*(line.rstrip() for line in body), rule, self.note])

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
        return "\n".join(["<table>", head, "<tbody>", *rows, "</tbody>", foot, "</table>"])

    def to_latex(self) -> str:
        """Return the table as LaTeX, for the booktabs package."""

        def line(cells: list[str]) -> str:
            return " & ".join(_latex(str(cell)) for cell in cells) + r" \\"

        lines = [line([label, *row]) for label, row in zip(self.frame.index, self.frame.to_numpy(), strict=True)]
        n, columns = self.n_coefficients, "l" + "r" * len(self.frame.columns)
        body = [line(["", *self.frame.columns]), r"\midrule", *lines[:n], r"\midrule", *lines[n:], r"\bottomrule"]
        note = rf"\multicolumn{{{len(columns)}}}{{l}}{{\footnotesize {_latex(self.note)}}} \\"
        return "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *body, note, r"\end{tabular}"])

    def to_markdown(self) -> str:
        """Return the table as Markdown."""

        def line(cells: list[str]) -> str:
            return "| " + " | ".join(str(cell).replace("|", r"\|").replace("*", r"\*") for cell in cells) + " |"

        rows = [line([label, *row]) for label, row in zip(self.frame.index, self.frame.to_numpy(), strict=True)]
        head = [line(["", *self.frame.columns]), "|---|" + "---:|" * len(self.frame.columns)]
        return "\n".join([*head, *rows, "", self.note.replace("*", r"\*")])


def publication_table(
    results: Mapping[str, BinaryGLMResults],
    facts: Mapping[str, Mapping[str, Any]],
    *,
    stars: bool = False,
    interval: bool = False,
    decimals: int = 3,
) -> PublicationTable:
    """Return a table over models.

    `facts` are further rows, for each model; the other options are those of :meth:`gevglm.comparison.Comparison.summary`.
    """
    names = list(dict.fromkeys(name for res in results.values() for name in res.model.exog_names))
    cells = {name: _coefficients(res, stars, interval, decimals) for name, res in results.items()}
    rows: list[tuple[str, list[str]]] = []
    for coefficient in names:
        pairs = [cells[name].get(coefficient, ("", "")) for name in results]
        rows += [(coefficient, [above for above, _ in pairs]), ("", [below for _, below in pairs])]
    shown = {name: _description(res) | dict(facts.get(name, {})) for name, res in results.items()}
    for label in dict.fromkeys(label for description in shown.values() for label in description):
        texts = [_text(shown[name].get(label), decimals) for name in results]
        if any(texts):
            rows.append((label, texts))
    frame = pd.DataFrame(
        [row for _, row in rows], index=[label for label, _ in rows], columns=list(results), dtype=object
    )
    note = ("95 % confidence limits" if interval else "Standard errors") + " in parentheses."
    return PublicationTable(frame, 2 * len(names), f"{note} {STARS_NOTE}" if stars else note)


def _coefficients(res: BinaryGLMResults, stars: bool, interval: bool, decimals: int) -> dict[str, tuple[str, str]]:
    limits, estimates, infinite = np.asarray(res.conf_int()), res.estimates, res.infinite
    omitted = res.is_omitted
    pairs = {}
    for j, name in enumerate(res.model.exog_names):
        p = float(np.asarray(res.pvalues)[j])
        mark = next((mark for level, mark in STARS if stars and p < level), "")
        spread = limits[j] if interval else [np.asarray(res.bse)[j]]
        below = ", ".join(f"{number:.{decimals}f}" for number in spread) if infinite[j] == 0.0 else "separated"
        pairs[name] = (f"{estimates[j]:.{decimals}f}{mark}", f"({below})") if not omitted[j] else (OMITTED, "")
    return pairs


def _description(res: BinaryGLMResults) -> dict[str, Any]:
    """Return what describes a fit; None for what it does not have."""
    estimated = res.xi is not None and res._joint is not None
    return {
        "Link": type(res.link.population).__name__,
        "Loss": res.loss.name,
        "xi": None if res.xi is None else f"{res.xi:.3g}" + (f" ({res.xi_bse:.2g})" if estimated else ""),
        "Bias reduction": None if res.bias is None else res.bias.word,
        "Penalty": res.alpha or None,
        "Covariance": res.cov_type,
        "Observations": int(res.n_trials_total) if float(res.n_trials_total).is_integer() else res.n_trials_total,
        "Events": int(res.n_events) if float(res.n_events).is_integer() else res.n_events,
        "Log loss": res.log_loss,
        "Brier score": res.brier,
        "AUC": res.auc,
    }


def _text(value: Any, decimals: int) -> str:
    formats: dict[type, Callable[[Any], str]] = {int: lambda x: f"{x:,}", str: str, type(None): lambda _: ""}
    if type(value) in formats:
        return formats[type(value)](value)
    return "" if np.isnan(value) else f"{value:.{max(decimals, 4)}g}"


def _latex(text: str) -> str:
    escaped = "".join(LATEX.get(mark, mark) for mark in text)
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", escaped)
