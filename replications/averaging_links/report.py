"""From the records of the splits to tables of mean ranks."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy.stats import friedmanchisquare

from replications.averaging_links.study import OURS, PEERS
from replications.gev_canonical.methods import PAPER_METHODS
from replications.gev_canonical.study import RESULTS as PAPER_RESULTS
from replications.gev_canonical.study import SPLITS

MEASURES = {"brier": "Brier score", "calibration": "calibration loss", "log_loss": "log loss"}


def write(folder: Path) -> None:
    """Write the ranks on the twelve tasks, of each average among the paper's methods, and on the further ones."""
    ours, further = (pd.read_csv(folder / f"{name}.csv.gz") for name in ("twelve", "further"))
    paper = pd.read_csv(PAPER_RESULTS / SPLITS).drop_duplicates(["task", "split", "method"], keep="last")
    paper = paper[paper["method"].isin(PAPER_METHODS)]
    parts = []
    for name in OURS:
        own = ours[ours["method"] == name]
        among = pd.concat([paper.merge(own[["task", "split"]]), own])
        parts.append(_table(among, f"Twelve tasks, {own['split'].nunique()} splits: {name}, and the paper's methods"))
    methods = [*OURS, *PAPER_METHODS, *PEERS]
    known = further[further["method"].isin(methods)]
    parts.append(_table(known, f"Eight further tasks, {known['split'].nunique()} splits"))
    (folder / "ranks.md").write_text("\n\n".join(parts) + "\n")


def _table(records: pd.DataFrame, title: str) -> str:
    """Mean rank over the tasks of the mean score, its standard error, and Friedman's test that all methods are alike."""
    ranks = {m: records.groupby(["task", "method"])[m].mean().unstack().rank(axis=1) for m in MEASURES}
    tests = ", ".join(f"{MEASURES[m]} {friedmanchisquare(*r.T.to_numpy()).pvalue:.2g}" for m, r in ranks.items())
    ruled_out = records[records["ruled_out"] > 0].groupby("method").size()
    lines = [
        f"| method | {' | '.join(MEASURES.values())} | splits with infinite log loss |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name in ranks["brier"].mean().sort_values().index:
        cells = [f"{r[name].mean():.2f} ({r[name].sem():.2f})" for r in ranks.values()]
        lines.append(f"| {name} | {' | '.join(cells)} | {int(ruled_out.get(name, 0))} |")
    return (
        f"**{title}** (mean rank, standard error over tasks)\n\n"
        + "\n".join(lines)
        + f"\n\nFriedman's test, p-values: {tests}."
    )
