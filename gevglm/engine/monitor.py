"""Who follows a fit: a progress bar and a checkpoint, told of passes and steps wherever they are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from numpy.typing import NDArray

from gevglm.engine.checkpoint import Checkpoint
from gevglm.engine.progress import PassBar, pass_bar


class Watch:
    """What is told of passes over the rows and of Newton steps.

    Parameters
    ----------
    bar : PassBar or None
    checkpoint : Checkpoint or None
    """

    def __init__(self, bar: PassBar | None = None, checkpoint: Checkpoint | None = None):
        self.bar = bar
        self.checkpoint = checkpoint

    def fit(self, loss: object, start: NDArray | None, n_params: int) -> NDArray | None:
        """Take notice that a loss is minimised; return where to start: where it was left, or else as planned."""
        _loss.set(repr(loss))
        if self.checkpoint is None or n_params != len(self.checkpoint.names):
            return start
        left = self.checkpoint.start(repr(loss))
        return start if left is None else left

    def step(self, params: NDArray, decrement: float) -> None:
        """Take notice of an iterate and its Newton decrement."""
        if self.bar is not None:
            self.bar.decrement = decrement
        if self.checkpoint is not None:
            self.checkpoint.keep(_loss.get(), params)

    def begin_pass(self, n_rows: int | None) -> None:
        """Take notice of a pass over so many rows; None if nobody knows."""
        if self.bar is not None:
            self.bar.start(n_rows)

    def rows(self, count: int) -> None:
        """Take notice of rows that were looked at."""
        if self.bar is not None:
            self.bar.advance(count)


_NOBODY = Watch()
_loss: ContextVar[str] = ContextVar("gevglm_loss", default="")  # that the fit of this thread minimises
_current: ContextVar[Watch] = ContextVar("gevglm_watch", default=_NOBODY)


def current() -> Watch:
    """Return who follows the fit that is being made."""
    return _current.get()


@contextmanager
def watching(
    progress: bool | None = None, resume: str | Path | None = None, names: list[str] | None = None
) -> Iterator[None]:
    """Follow a fit; fits within it are followed as parts of it.

    Parameters
    ----------
    progress : bool or None
        Whether passes over data in pieces are shown; see :func:`gevglm.engine.progress.pass_bar`.
    resume : path, optional
        File of the checkpoint: read if it exists, written from time to time and when the fit is interrupted, removed at its end.
    names : list of str, optional
        Of the coefficients, for the checkpoint.
    """
    if current() is not _NOBODY:
        yield
        return
    checkpoint = None if resume is None else Checkpoint(resume, names or [])
    bar = pass_bar(progress)
    token = _current.set(Watch(bar, checkpoint))
    try:
        yield
    except BaseException:
        if checkpoint is not None:
            checkpoint.write()
        raise
    else:
        if checkpoint is not None:
            checkpoint.remove()
    finally:
        _current.reset(token)
        if bar is not None:
            bar.close()
