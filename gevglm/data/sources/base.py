"""A table in pieces: read as often as asked for, always in the same order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from functools import partial
from typing import TypeVar

import pandas as pd

from gevglm.data.lazy_tables import BATCH_ROWS as BATCH_ROWS
from gevglm.data.tables import suggestion
from gevglm.engine.memory import available_cores
from gevglm.exceptions import InvalidDataError

Answer = TypeVar("Answer")
Number = tuple[int, int]  # of a piece, and of a batch within it
Load = Callable[[], pd.DataFrame]
Answers = Generator[tuple[Number, Answer], None, None]  # to be closed, which ends the work
Batches = Generator[tuple[Number, Load], None, None]


class Source(ABC):
    """A table in pieces.

    Attributes
    ----------
    name : str
        What the user knows it by.
    columns : list of str
    paths : sequence of str
        The files it reads, if it reads files itself.
    """

    name: str
    columns: list[str]
    paths: Sequence[str] = ()

    @abstractmethod
    def map(
        self, function: Callable[[pd.DataFrame, Number], Answer], columns: Sequence[str], every: int = 1
    ) -> Answers[Answer]:
        """Apply a function to every batch of rows, and yield what it returns in the order of the rows.

        Parameters
        ----------
        function : callable
            From a table and its number.
        columns : sequence of str
            The columns it needs; no others are read.
        every : int
            Look at every so many-th piece only.
        """

    def cached(
        self, function: Callable[[pd.DataFrame, Number], Answer], columns: Sequence[str], n_bytes: float
    ) -> Source | None:
        """Return a source of what a function makes of the tables, computed once, if that is kept somewhere and there is room for it."""
        return None

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns that are not there, or not the same everywhere."""
        for name in columns:
            if name not in self.columns:
                raise InvalidDataError(f"{name!r} is not a column of {self.name}.{suggestion(name, self.columns)}")


class ReadSource(Source):
    """A source that this process reads: the next batch while threads work on the last ones."""

    @abstractmethod
    def batches(self, columns: Sequence[str], every: int = 1) -> Batches:
        """Yield the number of every batch of rows, and what turns it into a table."""

    def map(
        self, function: Callable[[pd.DataFrame, Number], Answer], columns: Sequence[str], every: int = 1
    ) -> Answers[Answer]:
        with closing(self.batches(columns, every)) as batches:
            tasks = (partial(_apply, function, load, number) for number, load in batches)
            yield from in_order(tasks, available_cores())


def in_order(tasks: Iterator[Callable[[], Answer]], workers: int) -> Generator[Answer, None, None]:
    """Run tasks in threads and yield their results in order, with few tasks under way at any time.

    Whatever ends the iteration (an error, an interrupt, or no one asking for more) leaves no task behind.
    """
    pending: deque = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="gevglm") as pool:
        try:
            for task in tasks:
                pending.append(pool.submit(task))
                if len(pending) > workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
            wait(pending)


def _apply(function: Callable, load: Load, number: Number) -> tuple[Number, Answer]:
    return number, function(load(), number)
