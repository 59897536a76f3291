"""Both experiments: which splits and draws there are, and where their records go."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.replication.gev_canonical import protocol, store, synthetic
from benchmarks.replication.gev_canonical.methods import PAPER_METHODS
from benchmarks.replication.gev_canonical.ours import VARIANTS
from benchmarks.replication.gev_canonical.tasks import SHARED, TASKS, MissingDataError
from benchmarks.report import RESULTS

FOLDER = RESULTS / "gev_canonical"
SPLITS = FOLDER / "splits.csv"
DRAWS = FOLDER / "synthetic.csv"
SLOW_FIRST = ("letter-A", "nursery", "letter-vowel", "german")


def available(names: Sequence[str], shared: Path = SHARED) -> list[str]:
    """Return the tasks whose data are there; name the others, with how to get them."""
    there = []
    for name in names:
        try:
            TASKS[name].load(shared)
            there.append(name)
        except MissingDataError as missing:
            print(f"skipped: {missing}", file=sys.stderr, flush=True)
    return there


def split_records(task: str, number: int, shared: Path) -> list[dict]:
    return protocol.run_split(task, TASKS[task].load(shared), number)


def run_splits(names: Sequence[str], splits: int, processes: int, shared: Path = SHARED) -> None:
    """Run the splits of the UCI tasks that are not in the file yet."""
    done = store.finished(SPLITS, ("task", "split"), [*PAPER_METHODS, *VARIANTS])
    names = sorted(available(names, shared), key=lambda name: SLOW_FIRST.index(name) if name in SLOW_FIRST else 99)
    jobs = [(name, number, shared) for name in names for number in range(splits) if (name, number) not in done]
    print(f"UCI tasks: {len(jobs)} splits to do", file=sys.stderr, flush=True)
    store.run(SPLITS, protocol.COLUMNS, jobs, split_records, processes)


def run_synthetic(repetitions: int, processes: int) -> None:
    """Run the draws of the synthetic distributions that are not in the file yet."""
    done = store.finished(DRAWS, ("distribution", "rows", "repetition"), list(synthetic.METHODS))
    jobs = [
        job
        for rows in synthetic.SIZES[::-1]
        for name in synthetic.DISTRIBUTIONS
        for repetition in range(repetitions)
        if (job := (name, rows, repetition)) not in done
    ]
    print(f"synthetic distributions: {len(jobs)} draws to do", file=sys.stderr, flush=True)
    store.run(DRAWS, synthetic.COLUMNS, jobs, synthetic.run_draw, processes)
