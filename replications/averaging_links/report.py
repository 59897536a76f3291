"""From the records of the splits to tables: mean ranks, Friedman's and Nemenyi's tests, paired tests, and scores task by task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range

from replications.averaging_links.study import OURS, PEERS
from replications.gev_canonical.comparison import signed_rank
from replications.gev_canonical.methods import PAPER_METHODS
from replications.gev_canonical.study import RESULTS as PAPER_RESULTS
from replications.gev_canonical.study import SPLITS

MEASURES = {"brier": "Brier score", "calibration": "calibration loss", "log_loss": "log loss"}
LEVEL = 0.05  # of Nemenyi's test


def write(folder: Path) -> None:
    """Write the ranks on the twelve tasks, of each average among the paper's methods, and those on the further tasks with their scores."""
    ours, further = (pd.read_csv(folder / f"{name}.csv.gz") for name in ("twelve", "further"))
    paper = pd.read_csv(PAPER_RESULTS / SPLITS).drop_duplicates(["task", "split", "method"], keep="last")
    paper = paper[paper["method"].isin(PAPER_METHODS)]
    parts = []
    for name in OURS:
        own = ours[ours["method"] == name]
        among = pd.concat([paper.merge(own[["task", "split"]]), own])
        parts.append(f"### {name}\n\n{ranks(among)}\n\n{paired(among, name)}")
    (folder / "twelve.md").write_text("\n\n".join(parts) + "\n")
    records = complete(further)
    parts = [ranks(records), *(paired(records, name) for name in OURS)]
    parts += [f"### {title}, task by task\n\n{by_task(records, measure)}" for measure, title in MEASURES.items()]
    (folder / "further.md").write_text("\n\n".join(parts) + "\n")


def complete(records: pd.DataFrame) -> pd.DataFrame:
    """Return the splits that every method has been through."""
    known = records[records["method"].isin([*OURS, *PAPER_METHODS, *PEERS])]
    methods = known.groupby(["task", "split"])["method"].transform("nunique")
    return known[methods == known["method"].nunique()]


def means(records: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the mean score over the splits: a row per task, a column per method."""
    return records.groupby(["task", "method"])[measure].mean().unstack()


def ranks(records: pd.DataFrame) -> str:
    """Return mean ranks over the tasks of the mean scores, with standard errors, Friedman's test and Nemenyi's critical difference."""
    table = {measure: means(records, measure).rank(axis=1) for measure in MEASURES}
    n, k = table["brier"].shape
    tests = ", ".join(f"{MEASURES[m]} {friedmanchisquare(*r.T.to_numpy()).pvalue:.2g}" for m, r in table.items())
    critical = studentized_range.isf(LEVEL, k, np.inf) / np.sqrt(2.0) * np.sqrt(k * (k + 1) / (6.0 * n))
    impossible = records[records["ruled_out"] > 0].groupby("method").size()
    lines = [
        f"| method | {' | '.join(MEASURES.values())} | splits with infinite log loss |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name in table["brier"].mean().sort_values(kind="stable").index:
        cells = [f"{r[name].mean():.2f} ({r[name].sem():.2f})" for r in table.values()]
        lines.append(f"| {name} | {' | '.join(cells)} | {int(impossible.get(name, 0))} |")
    splits = records.groupby("task")["split"].nunique()
    how_many = f"{splits.min()}" if splits.min() == splits.max() else f"{splits.min()} to {splits.max()}"
    return (
        "\n".join(lines)
        + f"\n\nMean rank among {k} methods over {n} tasks of {how_many} splits each (standard error over the tasks). Friedman's test, p-values: "
        f"{tests}. Nemenyi's critical difference of two mean ranks at the {100 * LEVEL:g} % level: {critical:.2f}."
    )


def paired(records: pd.DataFrame, name: str) -> str:
    """Return Wilcoxon's signed-rank tests over the tasks of one method against each other one."""
    tables = {measure: means(records, measure) for measure in MEASURES}
    header = " | ".join(f"{title}: better on, p" for title in MEASURES.values())
    lines = [f"| {name} against | {header} |", "| --- | ---: | ---: | ---: |"]
    for other in [each for each in tables["brier"] if each != name]:
        cells = []
        for table in tables.values():
            gap = np.nan_to_num(table[other] - table[name], posinf=1e9)  # infinite losses are the largest
            cells.append(f"{int((gap > 0).sum())} of {len(gap)}, {signed_rank(gap):.2g}")
        lines.append(f"| {other} | {' | '.join(cells)} |")
    return "\n".join(lines)


def by_task(records: pd.DataFrame, measure: str) -> str:
    """Return the mean scores, the best of each task in bold."""
    table = means(records, measure)
    table = table[[*OURS, *PEERS, *PAPER_METHODS]]
    lines = [f"| task | {' | '.join(table)} |", "| --- |" + " ---: |" * len(table.columns)]
    for task, row in table.iterrows():
        cells = [f"**{value:.4f}**" if value == row.min() else f"{value:.4f}" for value in row]
        lines.append(f"| {task} | {' | '.join(cells)} |")
    return "\n".join(lines)
