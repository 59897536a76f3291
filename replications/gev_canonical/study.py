"""Both experiments: which splits and draws there are, and where their records go."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from gevglm.exceptions import MissingDatasetError
from replications.gev_canonical import protocol, store, synthetic
from replications.gev_canonical.methods import PAPER_METHODS
from replications.gev_canonical.ours import VARIANTS
from replications.gev_canonical.tasks import TASKS

RESULTS = Path(__file__).parent / "results"
SPLITS, DRAWS = "splits.csv.gz", "draws.csv.gz"  # files of records in the folder
SPLITS_OF_A_TASK = 10
LOSSES = {name: PAPER_METHODS[name] for name in ("GEV-log", "GEV-canonical")}
METHODS = {"the paper's methods": PAPER_METHODS, "our variants": VARIANTS, "the two GEV losses again": LOSSES}
CONTESTED = ("letter-A", "letter-vowel", "car", "vehicle", "german")  # tasks on which the two losses get more splits
CONTEST = 3  # times as many
SLOW_FIRST = ("nursery", "letter-A", "letter-vowel", "german")


def available(names: Sequence[str]) -> list[str]:
    """Return the tasks whose data are there; name the others, with how to get them."""
    there = []
    for name in names:
        try:
            TASKS[name].load()
            there.append(name)
        except MissingDatasetError as missing:
            print(f"{name} skipped: {missing}", file=sys.stderr, flush=True)
    return there


def split_records(task: str, number: int, methods: str) -> list[dict]:
    return protocol.run_split(task, TASKS[task].load(), number, METHODS[methods])


def run_splits(folder: Path, names: Sequence[str], splits: int, processes: int) -> None:
    """Run the splits of the UCI tasks that are not in the folder yet."""
    path = folder / SPLITS
    names = sorted(available(names), key=lambda name: SLOW_FIRST.index(name) if name in SLOW_FIRST else 99)
    for word, methods in METHODS.items():
        again = methods is LOSSES
        numbers = range(splits, CONTEST * splits) if again else range(splits)
        done = store.finished(path, ("task", "split"), list(methods))
        jobs = [
            (name, number, word)
            for number in numbers
            for name in names
            if (name in CONTESTED or not again) and (name, number) not in done
        ]
        print(f"UCI tasks, {word}: {len(jobs)} splits to do", file=sys.stderr, flush=True)
        store.run(path, protocol.COLUMNS, jobs, split_records, processes)


def run_draws(folder: Path, repetitions: int, processes: int) -> None:
    """Run the draws of the synthetic distributions that are not in the folder yet."""
    path = folder / DRAWS
    done = store.finished(path, ("distribution", "rows", "repetition"), list(synthetic.METHODS))
    jobs = [
        job
        for rows in synthetic.SIZES[::-1]
        for name in synthetic.DISTRIBUTIONS
        for repetition in range(repetitions)
        if (job := (name, rows, repetition)) not in done
    ]
    print(f"synthetic distributions: {len(jobs)} draws to do", file=sys.stderr, flush=True)
    store.run(path, synthetic.COLUMNS, jobs, synthetic.run_draw, processes)
