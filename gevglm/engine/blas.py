"""BLAS at one thread per call, while anybody wants it, and as it was before when nobody does."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

FEW = 1 << 13  # numbers in a matrix that OpenBLAS multiplies by a vector in one thread (it takes more from 9216 on)
_ALONE: AbstractContextManager = nullcontext()


class _Limit:
    """Some libraries at one thread: the first that enters sets it, the last that leaves restores what was before."""

    def __init__(self) -> None:
        self.inside = 0
        self._before: list[tuple[Any, int]] = []

    def enter(self, libraries: list[Any]) -> None:
        if self.inside == 0:
            before = [(library, library.num_threads) for library in libraries]
            for library in libraries:
                library.set_num_threads(1)
            self._before = [(library, n) for library, n in before if n != 1 and library.num_threads == 1]
        self.inside += 1

    def leave(self) -> None:
        self.inside -= 1
        if self.inside == 0:
            self.restore()

    def restore(self) -> None:
        for library, n in self._before:
            # newer threadpoolctl lets only the thread that has set a number set another one, unless it is relieved
            relieve = getattr(library, "clear_controlling_thread", None)
            if relieve is not None:
                relieve(force=True)
            library.set_num_threads(n)
            if relieve is not None:
                relieve()
        self._before = []


class _OfThread(threading.local):
    """How deep a thread is inside, and its own limits."""

    def __init__(self) -> None:
        self.depth = 0
        self.limit = _Limit()


class _OneBlasThread:
    """Limits BLAS from the first that enters to the last that leaves.

    Most libraries have one pool of threads for the whole process, whoever calls them; those on top of OpenMP have one for each thread that calls,
    which limits and restores its own.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._shared = _Limit()
        self._thread = _OfThread()

    def __enter__(self) -> None:
        thread = self._thread
        if thread.depth == 0:
            with self.lock:
                self._shared.enter(_libraries(of_threads=False))
            thread.limit.enter(_libraries(of_threads=True))
        thread.depth += 1

    def __exit__(self, *error: object) -> None:
        thread = self._thread
        thread.depth -= 1
        if thread.depth == 0:
            thread.limit.leave()
            with self.lock:
                self._shared.leave()

    def after_fork(self) -> None:
        """Forget, in a forked child, the threads that only the parent has."""
        self._shared.inside = int(self._thread.depth > 0)
        if self._shared.inside == 0:
            self._shared.restore()
        self.lock.release()


_one_blas_thread = _OneBlasThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_one_blas_thread.lock.acquire,
        after_in_parent=_one_blas_thread.lock.release,
        after_in_child=_one_blas_thread.after_fork,
    )


def one_blas_thread(numbers: float = np.inf) -> AbstractContextManager:
    """Keep BLAS to one thread per call: our own threads work on different blocks, and k x k algebra is too small to share.

    With matrices of so few numbers that it has no use for more threads, it is let alone: setting a limit takes longer than a product.
    """
    return _one_blas_thread if numbers > FEW else _ALONE


@cache
def _libraries(of_threads: bool) -> list[Any]:
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library for library in libraries if (getattr(library, "threading_layer", "") == "openmp") == of_threads]
