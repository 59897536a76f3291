"""Who follows a fit: progress bars, and a checkpoint; handed over to whatever makes passes and steps."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from gevglm.engine.checkpoint import Checkpoint
from gevglm.exceptions import InvalidOptionError

Item = TypeVar("Item")
DELAY = 2.0  # seconds after which a bar that was not asked for appears


class HasKey(Protocol):
    """What is minimised, and what tells it from others."""

    @property
    def key(self) -> str: ...


class PassBar:
    """A bar for passes over rows: their number, how far the last one is, rows per second, and the Newton decrement.

    It appears after `delay` seconds.
    """

    def __init__(self, delay: float = 0.0):
        self.passes = 0
        self.decrement: float | None = None
        self._appears = time.monotonic() + delay
        self._total: int | None = None
        self._rows = 0
        self._bar: Any = None

    def start(self, n_rows: int | None) -> None:
        """Begin a pass over so many rows."""
        self.passes += 1
        self._total, self._rows = n_rows, 0
        if self._bar is not None:
            self._bar.reset(n_rows)
            self._describe()

    def advance(self, n_rows: int) -> None:
        """Count rows that were looked at."""
        self._rows += n_rows
        if self._bar is not None:
            self._bar.update(n_rows)
        elif time.monotonic() >= self._appears:
            from tqdm import tqdm

            self._bar = tqdm(total=self._total, initial=self._rows, unit=" rows", unit_scale=True, leave=False)
            self._describe()

    def _describe(self) -> None:
        decrement = "" if self.decrement is None else f", decrement {self.decrement:.1e}"
        self._bar.set_description(f"pass {self.passes}{decrement}")

    def close(self) -> None:
        """Remove the bar for good."""
        if self._bar is not None:
            self._bar.close()
        self._bar, self._appears = None, float("inf")


@dataclass(frozen=True)
class Monitor:
    """Follows passes over the rows and Newton steps; without a bar and a checkpoint, it does nothing."""

    bar: PassBar | None = None
    checkpoint: Checkpoint | None = None
    fit: str = ""  # what tells the fit that is being made from others, in the checkpoint

    @property
    def follows_passes(self) -> bool:
        """Whether passes have to be reported."""
        return self.bar is not None

    def on_fit(self, loss: HasKey) -> Monitor:
        """Return the monitor of a fit that begins, with the loss that it minimises."""
        return self if self.checkpoint is None else replace(self, fit=loss.key)

    def resumed(self, start: NDArray | None, n_params: int) -> NDArray | None:
        """Return where the fit was left, or else the starting values that were planned."""
        if self.checkpoint is None or n_params != len(self.checkpoint.names):
            return start
        left = self.checkpoint.start(self.fit)
        return start if left is None else left

    def on_step(self, params: NDArray, decrement: float) -> None:
        """Take notice of an iterate and its Newton decrement."""
        if self.bar is not None:
            self.bar.decrement = decrement
        if self.checkpoint is not None:
            self.checkpoint.keep(self.fit, params)

    def on_pass(self, n_rows: int | None) -> None:
        """Take notice of a pass over so many rows; None if their number is not known."""
        if self.bar is not None:
            self.bar.start(n_rows)

    def on_rows(self, count: int) -> None:
        """Take notice of rows that were looked at."""
        if self.bar is not None:
            self.bar.advance(count)


NULL_MONITOR = Monitor()


class monitoring(AbstractContextManager[Monitor]):
    """Follow a fit.

    `progress` is whether passes over data in pieces are shown; None shows them, after a while, where there is a terminal or a notebook and
    tqdm is installed. The monitor of a larger fit follows its parts too. `resume` is the file of the checkpoint, by the names of the coefficients:
    read if it exists, written from time to time and when the fit is interrupted, removed at its end.
    """

    def __init__(
        self, progress: bool | Monitor | None = None, resume: str | Path | None = None, names: list[str] | None = None
    ):
        self.own = not isinstance(progress, Monitor)
        if isinstance(progress, Monitor):
            self.monitor = progress
        else:
            checkpoint = None if resume is None else Checkpoint(resume, names or [])
            bar = _pass_bar(progress)
            self.monitor = NULL_MONITOR if checkpoint is bar is None else Monitor(bar, checkpoint)

    def __enter__(self) -> Monitor:
        return self.monitor

    def __exit__(self, kind: object, *error: object) -> None:
        bar, checkpoint = self.monitor.bar, self.monitor.checkpoint
        try:
            if self.own and checkpoint is not None:
                checkpoint.remove() if kind is None else checkpoint.write()
        finally:
            if self.own and bar is not None:
                bar.close()


def progress_bar(items: Iterable[Item], total: int, progress: bool | None) -> Iterable[Item]:
    """Return the items, with a bar that follows them if that is asked for and tqdm is installed; None as in :func:`monitoring`."""
    if not _is_shown(progress):
        return items
    try:
        from tqdm import auto, tqdm
    except ImportError:
        return items
    return auto.tqdm(items, total=total) if progress else tqdm(items, total=total, delay=DELAY, leave=False)


def _pass_bar(progress: bool | None) -> PassBar | None:
    if not _is_shown(progress):
        return None
    try:
        import tqdm  # noqa: F401
    except ImportError:
        if progress:
            raise InvalidOptionError("progress=True needs tqdm: pip install 'gevglm[progress]'.") from None
        return None
    return PassBar(0.0 if progress else DELAY)


def _is_shown(progress: bool | None) -> bool:
    if progress not in (None, True, False):
        raise InvalidOptionError(f"progress={progress!r} must be True, False or None.")
    return _is_interactive() if progress is None else progress


def _is_interactive() -> bool:
    return "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", bool)())
