"""Rows in memory: arrays, or compressed rows of a sparse matrix, cut into blocks that fit the cache, with threads over the blocks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from gevglm.engine.base import Asked, Block, Engine, Found, Partial, Reducer
from gevglm.engine.linalg import Matrix, one_blas_thread

BLOCK_ELEMENTS = 1 << 18  # a block of doubles and its weighted copy stay in the cache
SMALLEST_BLOCK = 512
SPARSE_BLOCK_ELEMENTS = 1 << 24  # of a block of sparse rows, zeros included: what a few methods make of it is dense
SPARSE_BLOCK_PAIRS = 1 << 17  # of elements that stand in the same row
LARGEST_BLOCK = 8192  # vectors of a block stay below the size from which malloc asks the system for pages
WINDOW = 256  # blocks that threads work on before they wait for each other: no more partial sums than these are held


class MemoryEngine(Engine):
    """Rows held as arrays; blocks are views, converted to float64 one block at a time.

    The design is float32 or float64, in C or Fortran order, or a sparse matrix of such numbers; for the other arrays see :class:`~gevglm.engine.base.Block`. The rows of a block are
    a function of the number of columns by default, unless the first row of each is given (`starts`); the threads over blocks are as many as there are cores.
    """

    def __init__(
        self,
        X: Matrix,
        y: NDArray,
        *,
        freq: NDArray | None = None,
        var: NDArray | None = None,
        trials: NDArray | None = None,
        offset: NDArray | None = None,
        represents: NDArray | None = None,
        block_rows: int | None = None,
        starts: Sequence[int] | None = None,
        threads: int | None = None,
    ):
        self.n_rows, self.n_cols = X.shape
        self._threads = threads
        vectors = {"freq": freq, "var": var, "trials": trials, "offset": offset, "represents": represents}
        self._X, self._y = X, y
        self._vectors = {name: vector for name, vector in vectors.items() if vector is not None}
        rows = block_rows or _rows_of_block(X)
        self._starts = range(0, self.n_rows, rows) if starts is None else starts
        ends = (
            [min(start + rows, self.n_rows) for start in self._starts] if starts is None else [*starts[1:], self.n_rows]
        )
        self._ends = dict(zip(self._starts, ends, strict=True))
        if len(self._starts) == 1 and X.dtype == np.float64 and not issparse(X):
            # few rows are one block, which is made once, and its sums are the total
            self.only_block = Block(0, X, y, **self._vectors)

    @property
    def threads(self) -> int:
        """Threads over the blocks."""
        return self._threads or available_cores()

    @property
    def X(self) -> Matrix:
        """The whole design."""
        return self._X

    def subsample_blocks(self, every: int) -> Engine:
        return self if self.only_block is not None else super().subsample_blocks(every)

    def _subsampled(self, every: int) -> MemoryEngine:
        part = object.__new__(MemoryEngine)
        part.__dict__.update({name: value for name, value in self.__dict__.items() if name not in ("cache", "_parts")})
        part._starts = self._starts[::every]
        part.n_rows = sum(self._ends[start] - start for start in part._starts)
        return part

    def reduce(self, reducer: Reducer[Partial]) -> Partial:
        if self.only_block is not None:
            return reducer.total(self.only_block)
        total = reducer.zero()
        workers = min(self.threads, len(self._starts))
        if workers <= 1:
            for start in self._starts:
                total = reducer.combine(total, reducer.map(self._block(start)))
            return total
        with one_blas_thread():
            for first in range(0, len(self._starts), WINDOW):
                total = self._added(reducer, total, self._starts[first : first + WINDOW], workers)
        return total

    def _added(self, reducer: Reducer[Partial], total: Partial, starts: Sequence[int], workers: int) -> Partial:
        """Return a sum to which some blocks were added, each as soon as those before it are: few parts wait at any time."""
        waiting: dict[int, Partial] = {}
        place, lock = 0, threading.Lock()

        def add(i: int) -> None:
            nonlocal total, place
            part = reducer.map(self._block(starts[i]))
            with lock:
                waiting[i] = part
                while place in waiting:
                    total = reducer.combine(total, waiting.pop(place))
                    place += 1

        _share_out(add, len(starts), workers)
        return total

    def _block(self, start: int) -> Block:
        rows = slice(start, self._ends.get(start, start))
        vectors = {name: vector[rows] for name, vector in self._vectors.items()}
        return Block(start, self._X[rows].astype(np.float64, copy=False), self._y[rows], **vectors)


def _rows_of_block(X: Any) -> int:
    """Rows of a block: for the cross-products of sparse rows, as many as their elements leave room for."""
    n_rows, n_cols = X.shape
    if not issparse(X):
        return default_block_rows(n_cols)
    pairs = max(X.nnz / max(n_rows, 1), 1.0) ** 2
    return max(SMALLEST_BLOCK, min(default_block_rows(n_cols, sparse=True), int(SPARSE_BLOCK_PAIRS / pairs)))


def default_block_rows(n_cols: int, sparse: bool = False) -> int:
    """Rows of a block that fits the cache: a function of the number of columns, so that results do not depend on the machine."""
    elements = SPARSE_BLOCK_ELEMENTS if sparse else BLOCK_ELEMENTS
    return max(SMALLEST_BLOCK, min(LARGEST_BLOCK, elements // max(n_cols, 1)))


def physical_memory(free: bool = False) -> float:
    """The bytes of memory this machine has, or (roughly) has free; infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES" if free else "SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def each_by_threads(function: Callable[[Asked], Found], items: Sequence[Asked], workers: int) -> list[Found]:
    """Return what a function makes of each item, in their order, by some threads with one of BLAS each."""
    found: dict[int, Found] = {}

    def keep(i: int) -> None:
        found[i] = function(items[i])

    _share_out(keep, len(items), workers)
    return [found[i] for i in range(len(items))]


def _share_out(do: Callable[[int], None], count: int, workers: int) -> None:
    """Do what is to be done for 0, 1, ... by some threads, of which this one is one."""
    queue, lock = iter(range(count)), threading.Lock()

    def work() -> None:
        with one_blas_thread():  # in every thread: some libraries have a limit for each
            while True:
                with lock:
                    i = next(queue, None)
                if i is None:
                    return
                do(i)

    # this thread works too: one that waits frees its core, to which the system is apt to send the others
    helpers = [_pool(workers - 1).submit(work) for _ in range(workers - 1)]
    try:
        work()
    finally:
        wait(helpers)
    for helper in helpers:
        helper.result()


def available_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="gevglm")


if hasattr(os, "register_at_fork"):  # the threads of a pool stay with the parent
    os.register_at_fork(after_in_child=_pool.cache_clear)
