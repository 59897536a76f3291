"""The tree of errors and warnings; every message says what, what was seen, and what to do."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral
from pathlib import Path
from types import FrameType
from typing import Any

from statsmodels.tools.sm_exceptions import ModelWarning


class GevglmError(Exception):
    """Base of every error gevglm raises on purpose."""


class InvalidOptionError(GevglmError, ValueError):
    """An option has a value that is not among the allowed ones."""


class InvalidDataError(GevglmError, ValueError):
    """The data cannot be used as they are; the message names the column, rows or value."""


class CollinearityError(InvalidDataError):
    """Columns of the design are exact linear combinations of others."""


class SupportError(GevglmError, ValueError):
    """No coefficients keep every observation inside the support of the link."""


class IncompatibleOptionsError(GevglmError, ValueError):
    """Two options were given that exclude each other."""


class NotDefinedForLoss(GevglmError, AttributeError):
    """A statistic that the loss of this fit does not define; the message names the alternative."""


class MissingDatasetError(GevglmError, LookupError):
    """A public data set is not at hand; the message says what was tried and what to do."""


class GevglmWarning(ModelWarning):
    """Base of every warning gevglm issues."""


class ConvergenceWarning(GevglmWarning):
    """The iteration ended before the convergence criterion was met."""


class SeparationWarning(GevglmWarning):
    """A combination of columns predicts the outcome perfectly in part of the data."""


class SupportWarning(GevglmWarning):
    """Observations lie outside the support of the fitted link."""


class FewEventsWarning(GevglmWarning):
    """There are few events for the number of coefficients."""


class WeakShapeWarning(GevglmWarning):
    """The data hardly determine the shape parameter xi."""


class MissingRowsWarning(GevglmWarning):
    """Rows were dropped because of missing values."""


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return names joined by commas, the first few of many."""
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def nearest(word: object, allowed: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the allowed word nearest to `word`, or an empty string."""
    close = difflib.get_close_matches(str(word).lower(), list(allowed), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def unknown_option(option: str, value: object, allowed: Iterable[str]) -> InvalidOptionError:
    """Build the error for an unknown word: it lists the allowed ones and suggests the nearest."""
    allowed = list(allowed)
    words = ", ".join(repr(word) for word in allowed)
    return InvalidOptionError(f"{option}={value!r} is not known; use one of {words}.{nearest(value, allowed)}")


_silent: ContextVar[bool] = ContextVar("gevglm_silent", default=False)


@contextmanager
def silenced() -> Iterator[None]:
    """Issue no warnings of the package from here, in this thread only: the filters of :mod:`warnings` are those of all threads."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def whole_number(option: str, value: Any, low: int, high: int | None = None) -> int:
    """Return the value of an option that must be a whole number from `low`, or from `low` to `high`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        span = f"from {low}" if high is None else f"from {low} to {high}"
        raise InvalidOptionError(f"{option}={value!r} is not possible; give a whole number {span}.")
    return int(value)


def warn(message: str, category: type[GevglmWarning]) -> None:
    """Issue a warning that points at the user's line."""
    if not _silent.get():
        warnings.warn(message, category, stacklevel=callers_frame()[1])


def callers_frame() -> tuple[FrameType | None, int]:
    """Return the first frame outside the package, and its number above the function that asks."""
    package = str(Path(__file__).parent)
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    return frame, level
