"""The one table of speed: tasks that modules declare, timed in turns, kept as JSON, and compared with the record before."""

from __future__ import annotations

import json
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any

from benchmarks.report import RESULTS, table
from benchmarks.speed.timing import FEWEST, PATIENCE, OthersLoad, compare
from gevglm.engine.memory import available_cores

RECORD, TABLE = RESULTS / "speed.json", RESULTS / "speed.md"
REPEATS = 7
OURS = "gevglm"
PACKAGES = ("gevglm", "numpy", "scipy", "pandas", "statsmodels", "scikit-learn", "glum", "firthmodels")
UNITS = {"s": (1e3, "ms"), "MB": (1.0, "MB")}
TEXT = """# Speed

Written by `make bench`: medians of {repeats} rounds in which all take turns, in one process on the same data; what takes long sits out the later rounds, but
never the first three. A ratio is what the peer takes over what gevglm takes. Ratios hold on a quiet machine only; other processes used up to {others:.1f} cores meanwhile.

{rows}

{conditions}.
"""


@dataclass(frozen=True)
class Task:
    """Something that gevglm and its peers do, and how much better gevglm is to be; see :mod:`benchmarks` for the contract."""

    name: str
    size: str
    make: Callable[[], Mapping[str, Callable[[], Any]]]  # makes the data, and returns the calls, ours among them
    goals: Mapping[str, float] = field(default_factory=dict)  # the least ratio for each peer
    limit: float | None = None  # the most that ours may take, in the unit
    unit: str = "s"
    measured: bool = False  # whether the calls return what they took, as those in processes of their own do

    @property
    def key(self) -> str:
        """What the record calls it."""
        return f"{self.name}, {self.size}"

    def run(self, repeats: int = REPEATS) -> dict[str, Any]:
        """Measure it, and return its record."""
        others, calls = OthersLoad(), self.make()
        if self.measured:
            turns, start = [], time.perf_counter()
            while len(turns) < repeats and (len(turns) < FEWEST or time.perf_counter() - start < PATIENCE):
                turns.append({name: float(call()) for name, call in calls.items()})
            took = {name: median(turn[name] for turn in turns) for name in calls}
        else:
            took = {name: timing.seconds for name, timing in compare(calls, repeats).items()}
        facts = {"name": self.name, "size": self.size, "unit": self.unit, "took": took, "goals": dict(self.goals)}
        return facts | {"limit": self.limit, "others": round(others.cores(), 2)}


def measure(tasks: Iterable[Task], repeats: int = REPEATS) -> dict[str, Any]:
    """Return the record of tasks, with what they were measured with."""
    found = {}
    for task in tasks:
        found[task.key] = task.run(repeats)
        print(f"{task.key}: {found[task.key]['took']}", flush=True)
    return {"conditions": conditions(), "repeats": repeats, "tasks": found}


def conditions() -> dict[str, Any]:
    """Return versions, and what the machine is."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "cores": available_cores(),
        "machine": platform.machine(),
        "versions": versions,
    }


def read() -> dict[str, Any]:
    """Return the record that is kept; an empty one if there is none."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {"conditions": {}, "repeats": REPEATS, "tasks": {}}


def committed() -> dict[str, Any]:
    """Return the record of the last commit; the one that is kept if there is no commit to be asked."""
    with suppress(OSError, subprocess.CalledProcessError):
        command = ["git", "show", f"HEAD:./{RECORD.name}"]
        return json.loads(subprocess.run(command, cwd=RECORD.parent, check=True, capture_output=True).stdout)
    return read()


def keep(record: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """Write the record, with the tasks that were not measured again, and return its table, beside that of a record before."""
    whole = {**record, "tasks": {**read()["tasks"], **record["tasks"]}}
    RECORD.write_text(json.dumps(whole, indent=1) + "\n")
    TABLE.write_text(markdown(whole))
    return markdown({**record}, before)


def ratios(facts: Mapping[str, Any]) -> dict[str, float]:
    """Return what each peer takes over what we take."""
    return {name: took / facts["took"][OURS] for name, took in facts["took"].items() if name != OURS}


def markdown(record: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> str:
    """Return the table of a record; with one before, also what changed."""
    rows = [row for key, facts in record["tasks"].items() for row in _rows(key, facts, before)]
    header = ["task", "size", "gevglm", "peer", "its", "ratio", "goal", ""]
    facts = record["conditions"]
    versions = ", ".join(f"{name} {number}" for name, number in facts.get("versions", {}).items())
    machine = f"Python {facts.get('python')}, {versions}; {facts.get('cores')} cores ({facts.get('machine')})"
    most = max((facts["others"] for facts in record["tasks"].values()), default=0.0)
    shown = table(header if before is None else [*header, "before"], rows)
    return TEXT.format(repeats=record["repeats"], rows=shown, conditions=machine, others=most)


def _rows(key: str, facts: Mapping[str, Any], before: Mapping[str, Any] | None) -> Iterable[list[str]]:
    scale, unit = UNITS[facts["unit"]]
    ours = facts["took"][OURS]
    past = None if before is None else before["tasks"].get(key)
    earlier = {} if past is None else ratios(past)
    if facts["limit"] is not None:
        met = "met" if ours <= facts["limit"] else "behind"
        goal = f"<= {facts['limit'] * scale:g} {unit}"
        yield [
            facts["name"],
            facts["size"],
            f"{ours * scale:,.4g} {unit}",
            "",
            "",
            "",
            goal,
            met,
            *_change(before, None if past is None else f"{past['took'][OURS] * scale:,.4g} {unit}"),
        ]
    for peer, ratio in ratios(facts).items():
        goal = facts["goals"].get(peer)
        verdict = "" if goal is None else "met" if ratio >= goal else "behind"
        cells = [f"{ours * scale:,.4g} {unit}", peer, f"{facts['took'][peer] * scale:,.4g} {unit}", f"{ratio:.2f}"]
        goal_text = "" if goal is None else f">= {goal:.2g}"
        yield [
            facts["name"],
            facts["size"],
            *cells,
            goal_text,
            verdict,
            *_change(before, f"{earlier[peer]:.2f}" if peer in earlier else None),
        ]


def _change(before: Mapping[str, Any] | None, text: str | None) -> list[str]:
    return [] if before is None else [text or ""]
