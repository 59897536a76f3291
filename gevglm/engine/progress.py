"""Progress bars, where they are asked for and tqdm is installed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any, TypeVar

from gevglm.exceptions import InvalidOptionError

Item = TypeVar("Item")
DELAY = 2.0  # seconds after which a bar that nobody asked for appears


def shown(items: Iterable[Item], total: int, progress: bool) -> Iterable[Item]:
    """Return the items, with a bar that follows them."""
    if not progress:
        return items
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return items
    return tqdm(items, total=total)


class PassBar:
    """A bar for passes over rows: their number, how far the last one is, rows per second, and the Newton decrement.

    Parameters
    ----------
    delay : float
        Seconds before it appears.
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
        told = "" if self.decrement is None else f", decrement {self.decrement:.1e}"
        self._bar.set_description(f"pass {self.passes}{told}")

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()


def pass_bar(progress: bool | None) -> PassBar | None:
    """Return a bar for passes over rows, or None.

    Parameters
    ----------
    progress : bool or None
        None shows it, after a while, where there is a terminal or a notebook and tqdm is installed.
    """
    if progress not in (None, True, False):
        raise InvalidOptionError(f"progress={progress!r} must be True, False or None.")
    if progress is False or (progress is None and not _somebody_looks()):
        return None
    try:
        import tqdm  # noqa: F401
    except ImportError:
        if progress:
            raise InvalidOptionError("progress=True needs tqdm: pip install 'gevglm[progress]'.") from None
        return None
    return PassBar(0.0 if progress else DELAY)


def _somebody_looks() -> bool:
    return "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", bool)())
