"""What README and documentation say about speed: sentences that ``make bench`` writes, with figures of the record, measured on a quiet machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any

from benchmarks.report import table
from benchmarks.speed.record import OURS, ratios

ROOT = Path(__file__).parents[1]
QUIET = 0.3  # cores that other processes may have used
PLACE = re.compile(r"(?P<start><!-- speed: (?P<name>[a-z ]+) -->)(?P<text>.*?)(?P<end><!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Claim:
    """Words with figures at ``{}``: each how much longer a peer takes at a task of the record, or, without a peer, how many seconds we take."""

    file: str
    words: str
    figures: tuple[tuple[str, str | None], ...]  # tasks with their peers

    def text(self, record: Mapping[str, Any]) -> str:
        """Return what the record supports: the words, or nothing if a task was not measured, or not on a quiet machine."""
        facts = [record["tasks"].get(task) for task, _ in self.figures]
        if any(each is None or not each["others"] <= QUIET for each in facts):
            return ""
        return self.words.format(*(_figure(each, peer) for each, (_, peer) in zip(facts, self.figures, strict=True)))


def _figure(facts: Mapping[str, Any], peer: str | None) -> str:
    """Return seconds, or a ratio rounded down."""
    if peer is None:
        return f"{facts['took'][OURS]:.1f}"
    ratio = ratios(facts)[peer]
    return f"{floor(ratio)}" if ratio >= 10.0 else f"{floor(10.0 * ratio) / 10.0:.1f}"


@dataclass(frozen=True)
class Ratios:
    """A table with a row for each task, and in its cells how much longer each peer takes; tasks not measured on a quiet machine are left out."""

    file: str
    rows: tuple[str, ...]  # tasks of the record
    columns: Mapping[str, tuple[str, ...]]  # headings, each with the peers below it, one of which a task has

    @property
    def figures(self) -> tuple[tuple[str, str | None], ...]:
        """Tasks, and the peers that a record may have of them."""
        return tuple((task, peers[0]) for task in self.rows for peers in self.columns.values())

    def text(self, record: Mapping[str, Any]) -> str:
        """Return the rows that the record supports as a table, or nothing."""
        rows = []
        for task in self.rows:
            facts = record["tasks"].get(task)
            if facts is not None and facts["others"] <= QUIET:
                ours = f"{1e3 * facts['took'][OURS]:,.3g} ms"
                rows.append([task, ours, *(_cell(facts, peers) for peers in self.columns.values())])
        header = ["", "gevglm", *self.columns]
        return f"\n\n{table(header, rows)}\n\n" if rows else ""


def _cell(facts: Mapping[str, Any], peers: tuple[str, ...]) -> str:
    return next((f"{_figure(facts, peer)} x" for peer in peers if peer in facts["took"]), "")


MANY = "bootstrap fits, 2,000 of 1,000 x 5"
CLAIMS: dict[str, Claim | Ratios] = {
    "table": Ratios(
        "README.md",
        (
            "fit with standard errors, 1,000 x 5",
            "fit with standard errors, 100,000 x 20",
            "fit with standard errors, 1,000,000 x 20",
            "formula, 1,000,000 x 3 and a factor",
            "Firth, profile, 20,000 x 20",
            MANY,
        ),
        {
            "statsmodels GLM": ("sm.GLM", "smf.glm"),
            "statsmodels Logit": ("sm.Logit", "a loop over sm.Logit"),
            "scikit-learn": ("scikit-learn newton-cholesky",),
            "glum": ("glum",),
            "firthmodels": ("firthmodels",),
        },
    ),
    "many fits": Claim(
        "docs/many_fits.md",
        " 2,000 bootstrap fits of 1,000 rows and 5 columns are {} times as fast as a loop over `sm.Logit`, and {} times as fast as one over `gevglm.fit`.",
        ((MANY, "a loop over sm.Logit"), (MANY, "a loop over gevglm.fit")),
    ),
    "scan": Claim(
        "docs/scan.md",
        " 10,000 columns of 20,000 rows with Firth's test below 0.05 take {} seconds on two cores.",
        (("scan, Firth below 0.05, 10,000 columns of 20,000", None),),
    ),
}


def update(record: Mapping[str, Any], root: Path = ROOT) -> None:
    """Write what the record supports into the places that are marked."""
    for claim in CLAIMS.values():
        path = root / claim.file
        path.write_text(
            PLACE.sub(
                lambda place: place["start"] + CLAIMS[place["name"]].text(record) + place["end"], path.read_text()
            )
        )
