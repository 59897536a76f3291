"""Dask DataFrames: one task per partition and pass, wherever the scheduler runs it; what comes back are sums."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gevglm.data.sources.base import Answer, Answers, Number, Source
from gevglm.engine.linalg import one_blas_thread
from gevglm.engine.memory import physical_memory
from gevglm.exceptions import GevglmError

FIRST_WAVE, WAVE = 16, 256  # partitions computed at a time, whose sums are then added in order
WAVE_BYTES = 1 << 28  # of such sums that come back at a time
SHARE = 0.25  # of the memory that may hold the design
GONE = ("CancelledError", "FutureCancelledError", "CommClosedError", "ClosedClientError", "TimeoutError")


class DaskSource(Source):
    """The partitions of a Dask DataFrame, computed by the scheduler that Dask uses at the time."""

    name = "the Dask DataFrame"

    def __init__(self, frame: Any):
        self.frame = frame
        self.columns = [str(column) for column in frame.columns]
        self._parts: dict[tuple[str, ...], list[Any]] = {}

    def map(self, function: Callable[[Any, Number], Answer], columns: Sequence[str], every: int = 1) -> Answers[Answer]:
        return computed(self._partitions(columns), function, every)

    def cached(self, function: Callable[[Any, Number], Any], columns: Sequence[str], n_bytes: float) -> Source | None:
        if n_bytes > SHARE * _memory():
            return None
        return CachedParts(_tasks(self._partitions(columns), function, 1))

    def _partitions(self, columns: Sequence[str]) -> list[Any]:
        key = tuple(columns)
        if key not in self._parts:
            self._parts[key] = self.frame[list(columns)].to_delayed()
        return self._parts[key]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_parts": {}}


class CachedParts(Source):
    """What was computed from partitions and stays where it is: in this process, or on the workers."""

    name = "the design"
    columns: list[str] = []

    def __init__(self, tasks: list[Any]):
        import dask

        with one_blas_thread():
            self._parts = list(_guarded(partial(dask.persist, *tasks)))

    def map(self, function: Callable[[Any, Number], Answer], columns: Sequence[str], every: int = 1) -> Answers[Answer]:
        return computed(self._parts, function, every)


def computed(parts: list[Any], function: Callable[[Any, Number], Answer], every: int) -> Answers[Answer]:
    """Apply a function to what delayed parts stand for, where they are, and yield what it returns in their order."""
    import dask

    tasks = _tasks(parts, function, every)
    numbers = [(i, 0) for i in range(0, len(parts), every)]
    first, size = 0, FIRST_WAVE
    while first < len(tasks):
        wave = slice(first, first + size)
        with one_blas_thread():
            answers = _guarded(partial(dask.compute, *tasks[wave]))
        yield from zip(numbers[wave], answers, strict=True)
        first += size
        size = max(2, min(WAVE, WAVE_BYTES // len(pickle.dumps(answers[0]))))


def _tasks(parts: list[Any], function: Callable[[Any, Number], Any], every: int) -> list[Any]:
    import dask

    # a partial is a leaf to Dask, which would look for collections in plain arguments
    return [dask.delayed(partial(_apply, function, (i, 0)), pure=False)(parts[i]) for i in range(0, len(parts), every)]


def _apply(function: Callable[[Any, Number], Answer], number: Number, part: Any) -> Answer:
    return function(part, number)


def _guarded(compute: Callable[[], Any]) -> Any:
    try:
        return compute()
    except GevglmError:
        raise
    except Exception as error:
        kind = type(error).__name__
        if kind == "KilledWorker":
            raise GevglmError(
                f"Dask workers died again and again ({error}); if they ran out of memory, use smaller partitions, as in "
                "data.repartition(partition_size='50MB'), or workers with more memory."
            ) from error
        if kind in GONE or ("closed" in str(error).lower() and type(error).__module__.startswith("distributed")):
            raise GevglmError(
                f"the Dask client or its scheduler has gone away ({kind}: {error}); connect a Client again, and fit with "
                "start_params= or resume= to go on from where the fit was."
            ) from error
        raise


def _memory() -> float:
    """Return the bytes that the scheduler's workers have, or that are free here."""
    try:
        from distributed import default_client

        workers = default_client().scheduler_info(n_workers=-1)["workers"].values()
        return float(sum(worker["memory_limit"] or 0 for worker in workers))
    except (ImportError, ValueError, TypeError):
        pass
    return min(physical_memory(free=True), 1e12)
