"""The tables as csv and markdown, for reading and for the documentation to include."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.report import table
from replications.gev_canonical import comparison, paper, protocol, store, synthetic
from replications.gev_canonical.methods import PAPER_METHODS
from replications.gev_canonical.study import DRAWS, LOSSES, SPLITS

DIGITS = {"brier": 4, "calibration": 4, "log_loss": 3}
WORDS = {"brier": "Brier score", "calibration": "calibration loss", "log_loss": "log loss"}


def write(folder: Path) -> None:
    """Write every table and picture that the records in the folder allow."""
    everything = store.read(folder / SPLITS, protocol.COLUMNS, protocol.KEYS)
    draws = store.read(folder / DRAWS, synthetic.COLUMNS, synthetic.KEYS)
    shown = _tables(folder, everything)
    if len(draws):
        _synthetic(folder, draws)
    _cost(folder, {"splits": everything, "draws": draws})
    try:
        from replications.gev_canonical import figures
    except ModuleNotFoundError as missing:
        print(f"pictures skipped: {missing.name} is not installed; pip install {missing.name}", file=sys.stderr)
        return
    figures.loss_shapes()
    if len(draws):
        figures.synthetic_errors(draws)
    if len(shown):
        figures.beside_the_paper(shown)


def _tables(folder: Path, everything: pd.DataFrame) -> pd.DataFrame:
    """Write the tables of the UCI tasks; return the records of the eight columns."""
    whole = comparison.complete(everything)
    if not len(whole):
        return whole
    records = comparison.with_choices(whole)
    eighth = comparison.recommended(records).index[0]
    shown = comparison.eight(records, eighth)
    for measure in WORDS:
        _measure(folder, shown, measure)
    _against_paper(folder, shown)
    _ranks(folder, shown)
    _variants(folder, records, eighth)
    _paired(folder, everything)
    _run_times(folder, shown)
    return shown


def number(value: float, digits: int = 4) -> str:
    """Return a number without the zero before the point."""
    if not np.isfinite(value):
        return "infinite" if np.isinf(value) else "n/a"
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def with_error(value: float, error: float, digits: int = 4) -> str:
    """Return a number with its standard error in units of its last digit, as .0084 (3)."""
    return number(value, digits) + (f"&#8239;({10**digits * error:.0f})" if np.isfinite(error) else "")


def _keep(folder: Path, name: str, numbers: pd.DataFrame, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    numbers.to_csv(folder / f"{name}.csv", float_format="%.6g")
    (folder / f"{name}.md").write_text(text + "\n")


def _measure(folder: Path, records: pd.DataFrame, measure: str) -> None:
    """Tables 3 and 4, and the same for the log loss: two lines a task, ours and the paper's."""
    mean, error = comparison.means(records, measure), comparison.standard_errors(records, measure)
    stars = comparison.marks(records, measure) if measure in paper.TABLES else None
    theirs = paper.printed(paper.TABLES[measure]) if measure in paper.TABLES else None
    lines = []
    for task in mean.index:
        best = mean.loc[task].idxmin()
        cells = []
        for name in mean.columns:
            cell = with_error(mean.loc[task, name], error.loc[task, name], DIGITS[measure])
            cell = f"**{cell}**" if name == best else cell
            cells.append(cell + _escaped(stars.loc[task, name] if stars is not None else ""))
        lines.append([task, *cells])
        if theirs is not None:
            lines.append(["*paper*", *(f"*{_escaped(cell)}*" for cell in theirs.loc[task]), ""])
    numbers = pd.concat({"mean": mean, "se": error}, axis=1)
    _keep(folder, measure, numbers, table(["task", *mean.columns], lines))


def _escaped(marked: str) -> str:
    """Raise the stars of a number, so that Markdown does not take them for emphasis."""
    bare = marked.rstrip("*")
    raised = "\\*" * (len(marked) - len(bare))
    return bare + (f"<sup>{raised}</sup>" if raised else "")


def _against_paper(folder: Path, records: pd.DataFrame) -> None:
    found = comparison.against_paper(records)
    lines = [
        [task, number(row["ours"]), number(row["se"]), number(row["paper"]), f"{row['distance']:+.1f}"]
        for task, row in found.iterrows()
    ]
    within = int((found["distance"].abs() <= 2).sum())
    text = table(["task", "ours", "standard error", "paper", "difference / standard error"], lines)
    text += f"\n\nWithin two standard errors: {within} of {len(found)} tasks."
    _keep(folder, "against_paper", found, text)


def _ranks(folder: Path, records: pd.DataFrame) -> None:
    found = comparison.ranks(records).sort_values("brier")
    theirs = {f"paper_{measure}": paper.numbers(text).rank(axis=1).mean() for measure, text in paper.TABLES.items()}
    found = found.join(pd.DataFrame(theirs))
    lines = [[name, *("" if np.isnan(value) else f"{value:.2f}" for value in row)] for name, row in found.iterrows()]
    header = ["method", *WORDS.values(), *(f"{WORDS[measure]}, paper (of seven)" for measure in paper.TABLES)]
    tests = ", ".join(f"{WORDS[measure]} {p:.2g}" for measure, p in comparison.friedman(records).items())
    text = table(header, lines) + f"\n\nFriedman's test that all eight are alike, p-values: {tests}."
    _keep(folder, "ranks", found, text)


def _variants(folder: Path, records: pd.DataFrame, eighth: str) -> None:
    found = comparison.variants(records)
    lines = [
        [
            f"**{name}**" if name == eighth else name,
            f"{row['validation']:.2f}" if np.isfinite(row["validation"]) else "",
            *(f"{row[measure]:.2f}" for measure in WORDS),
            f"{row['infinite']:.0f}",
            f"{row['failures']:.0f}",
        ]
        for name, row in found.iterrows()
    ]
    header = [
        "variant",
        "rank on held-out training rows",
        *WORDS.values(),
        "splits with infinite log loss",
        "failed splits",
    ]
    _keep(folder, "variants", found, table(header, lines))


def _paired(folder: Path, records: pd.DataFrame) -> None:
    """The log loss against the canonical loss, split by split."""
    first, second = LOSSES
    found = comparison.paired(records, first, second)
    lines = [
        [
            task,
            number(row[first]),
            number(row[second]),
            f"{row['difference']:+.4f}",
            number(row["se"]),
            number(row["corrected_se"]),
            f"{row['won']:.0f} of {row['splits']:.0f}",
            f"{row['pvalue']:.3f}",
        ]
        for task, row in found.iterrows()
    ]
    header = ["task", first, second, "difference", "plain se", "corrected se", "splits won by the first", "Wilcoxon p"]
    _keep(folder, "losses", found, table(header, lines))


def _run_times(folder: Path, records: pd.DataFrame) -> None:
    found = comparison.run_times(records)
    lines = [[task, *(f"{value:.2f}" for value in row)] for task, row in found.iterrows()]
    _keep(folder, "run_times", found, table(["task", *found.columns], lines))


def _synthetic(folder: Path, draws: pd.DataFrame) -> None:
    groups = draws.groupby(["distribution", "rows", "method"])["rmse"]
    mean, error, count = (part.unstack()[list(PAPER_METHODS)] for part in (groups.mean(), groups.sem(), groups.size()))
    lines = []
    for key, row in mean.iterrows():
        cells = [with_error(value, error.loc[key, name]) for name, value in row.items()]
        cells = [f"**{cell}**" if name == row.idxmin() else cell for name, cell in zip(row.index, cells, strict=True)]
        lines.append([key[0], f"{key[1]:,}", f"{count.loc[key].min():.0f}", *cells])
    numbers = pd.concat({"mean": mean, "se": error, "draws": count}, axis=1)
    _keep(folder, "synthetic_rmse", numbers, table(["distribution", "rows", "draws", *mean.columns], lines))


def _cost(folder: Path, records: Mapping[str, pd.DataFrame]) -> None:
    """How long everything took, in processor time, which a busy machine does not change much."""
    found = pd.DataFrame({"cpu_minutes": {name: part["cpu"].sum() / 60 for name, part in records.items()}})
    total = found["cpu_minutes"].sum()
    lines = [[name, f"{minutes:.1f}"] for name, minutes in found["cpu_minutes"].items()]
    text = table(["records", "processor minutes"], [*lines, ["all", f"{total:.1f}"]])
    _keep(folder, "cost", found, f"{text}\n\nOn two idle cores about {total / 2:.0f} minutes.")
