"""Fair times: competitors take turns in one process on the same data."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

SHORTEST = 0.05  # seconds; quicker calls are repeated within a run
PAUSE = 0.05  # seconds before a run, for the idle threads of the one before to stop spinning


@dataclass(frozen=True)
class Timing:
    """The times of a call, in seconds, and what its first, untimed run returned."""

    runs: list[float]
    result: Any

    @property
    def seconds(self) -> float:
        """The median run."""
        return median(self.runs)

    @property
    def spread(self) -> float:
        """The slowest run over the fastest: far above 1 when something else was using the machine."""
        return max(self.runs) / min(self.runs)


def compare(
    calls: Mapping[str, Callable[[], Any]], repeats: int = 5, fewer: Mapping[str, int] | None = None
) -> dict[str, Timing]:
    """Time calls in turn: every round runs each of them once.

    Parameters
    ----------
    calls : mapping of name to callable
    repeats : int
        Rounds.
    fewer : mapping of name to int, optional
        Calls that sit out the later rounds, and the rounds they take part in.

    Returns
    -------
    dict of name to Timing
    """
    results = {name: call() for name, call in calls.items()}
    loops = {name: max(1, round(SHORTEST / _seconds(call, 1))) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats):
        for name, call in calls.items():
            if turn < (fewer or {}).get(name, repeats):
                times[name].append(_seconds(call, loops[name]))
    return {name: Timing(times[name], results[name]) for name in calls}


def _seconds(call: Callable[[], Any], loops: int) -> float:
    """Return the seconds of one call, as the mean over back-to-back calls, without garbage collection."""
    gc.collect()
    time.sleep(PAUSE)
    gc.disable()
    try:
        start = time.perf_counter()
        for _ in range(loops):
            call()
        return (time.perf_counter() - start) / loops
    finally:
        gc.enable()
