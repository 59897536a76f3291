"""Several computations on the same rows that share their passes over them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from gevglm.engine.base import Engine, Partial, Reducer, ReducerGroup

Answer = TypeVar("Answer")


def together(engine: Engine, jobs: Sequence[Callable[[Engine], Answer]]) -> list[Answer]:
    """Run jobs that look at rows, each as if it were alone; whenever all of them wait for sums, one pass gives them all.

    Parameters
    ----------
    engine : Engine
        The rows.
    jobs : sequence of callable
        From an engine to an answer.

    Returns
    -------
    list
        Of the answers, which are those of each job alone.
    """
    desk = _Desk(len(jobs))
    with ThreadPoolExecutor(max(len(jobs), 1), thread_name_prefix="gevglm") as pool:
        futures = [pool.submit(copy_context().run, desk.employ, job, SharedEngine(engine, desk)) for job in jobs]
        try:
            while requests := desk.waiting():
                _answer(requests)
        except BaseException as error:
            desk.close(error)
            raise
    return [future.result() for future in futures]


class SharedEngine(Engine):
    """The rows of an engine, for one of several jobs.

    Parameters
    ----------
    engine : Engine
    desk : _Desk
        Where sums are asked for.
    """

    def __init__(self, engine: Engine, desk: _Desk):
        self.engine = engine
        self.desk = desk
        self.n_rows, self.n_cols, self.in_memory = engine.n_rows, engine.n_cols, engine.in_memory
        self.cache = engine.cache

    def reduce(self, reducer: Reducer[Partial]) -> Partial:
        return self.desk.ask(self.engine, reducer)

    def subsample_blocks(self, every: int) -> SharedEngine:
        return SharedEngine(self.desk.part(self.engine, every), self.desk)

    def with_groups(self, grouping: Any) -> SharedEngine:
        return SharedEngine(self.engine.with_groups(grouping), self.desk)


class _Desk:
    """Where jobs ask for sums, and wait until all others do too."""

    def __init__(self, n_jobs: int):
        self._working = n_jobs
        self._changed = threading.Condition()
        self._requests: list[tuple[Engine, Reducer, Future]] = []
        self._parts: dict[tuple[int, int], Engine] = {}
        self._closed: BaseException | None = None

    def employ(self, job: Callable[[Engine], Answer], engine: Engine) -> Answer:
        """Run a job."""
        try:
            return job(engine)
        finally:
            with self._changed:
                self._working -= 1
                self._changed.notify()

    def ask(self, engine: Engine, reducer: Reducer[Partial]) -> Partial:
        """Return a sum, in the next pass over the rows."""
        answer: Future = Future()
        with self._changed:
            if self._closed is not None:
                raise self._closed
            self._requests.append((engine, reducer, answer))
            self._working -= 1
            self._changed.notify()
        return answer.result()

    def waiting(self) -> list[tuple[Engine, Reducer, Future]]:
        """Return what all jobs that have not ended ask for, as soon as none of them is at work."""
        with self._changed:
            self._changed.wait_for(lambda: self._working == 0)
            requests, self._requests = self._requests, []
            self._working = len(requests)
        return requests

    def part(self, engine: Engine, every: int) -> Engine:
        """Return a part of the rows, the same one for all jobs."""
        with self._changed:
            return self._parts.setdefault((id(engine), every), engine.subsample_blocks(every))

    def close(self, error: BaseException) -> None:
        """Let every job end with an error."""
        with self._changed:
            self._closed = error
            for _, _, answer in self._requests:
                answer.set_exception(error)
            self._requests = []


def _answer(requests: list[tuple[Engine, Reducer, Future]]) -> None:
    """Make one pass for every set of rows that is asked for."""
    try:
        for engine in {id(engine): engine for engine, _, _ in requests}.values():
            asked = [(reducer, answer) for other, reducer, answer in requests if other is engine]
            sums = engine.reduce(ReducerGroup([reducer for reducer, _ in asked]))
            for (_, answer), total in zip(asked, sums, strict=True):
                answer.set_result(total)
    except BaseException as error:
        for _, _, answer in requests:
            if not answer.done():
                answer.set_exception(error)
        raise
