"""Fair times: competitors take turns in one process on the same data."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

SHORTEST = 0.05  # seconds; quicker calls are repeated within a run
QUICK = 1.0  # seconds; such calls are run once before they are timed
SLOW = 5.0  # seconds; of such calls, the run that returns the result also says how long one takes
PATIENCE = 40.0  # seconds after which what is timed sits out the later rounds
FEWEST = 3  # rounds that it takes part in all the same
PAUSE = 0.05  # seconds before a run, for the idle threads of the one before to stop spinning


CPU_TIMES = Path("/proc/stat")


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


def compare(calls: Mapping[str, Callable[[], Any]], repeats: int = 5) -> dict[str, Timing]:
    """Time calls in turn: every round runs each of them once, but those sit out the later rounds that would take longer than ``PATIENCE`` in all.

    Parameters
    ----------
    calls : mapping of name to callable
    repeats : int
        Rounds.

    Returns
    -------
    dict of name to Timing
    """
    results, seconds = {}, {}
    for name, call in calls.items():
        start = time.perf_counter()
        results[name] = call()
        first = time.perf_counter() - start
        seconds[name] = first if first > SLOW else _seconds(call, 1)
    rounds = {name: min(repeats, max(FEWEST, int(PATIENCE / once))) for name, once in seconds.items()}
    loops = {name: max(1, round(SHORTEST / once)) for name, once in seconds.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats):
        for name, call in calls.items():
            if turn < rounds[name]:
                times[name].append(_seconds(call, loops[name], warm=seconds[name] < QUICK))
    return {name: Timing(times[name], results[name]) for name in calls}


def _seconds(call: Callable[[], Any], loops: int, warm: bool = False) -> float:
    """Return the seconds of one call, as the mean over back-to-back calls, without garbage collection.

    A quick call runs once before the clock starts: after a pause, or another's turn, caches are cold and threads sit on the wrong cores.
    """
    gc.collect()
    time.sleep(PAUSE)
    gc.disable()
    try:
        if warm:
            call()
        start = time.perf_counter()
        for _ in range(loops):
            call()
        return (time.perf_counter() - start) / loops
    finally:
        gc.enable()


class OthersLoad:
    """Watch how many cores other processes keep busy; Linux only, elsewhere unknown (NaN)."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._used = self._used_by_others()

    def cores(self) -> float:
        """Return the mean number of cores since the start."""
        return (self._used_by_others() - self._used) / (time.perf_counter() - self._start)

    @staticmethod
    def _used_by_others() -> float:
        """Return the seconds of all cores that were neither idle nor spent in this process."""
        if not CPU_TIMES.exists():
            return float("nan")
        user, nice, system, _, _, irq, softirq, stolen = map(int, CPU_TIMES.read_text().split()[1:9])
        own = os.times()
        return (user + nice + system + irq + softirq + stolen) / os.sysconf("SC_CLK_TCK") - own.user - own.system
