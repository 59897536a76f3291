"""The tree of errors and warnings; every message says what, what was seen, and what to do."""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any

import statsmodels
from statsmodels.tools.sm_exceptions import HessianInversionWarning, ModelWarning

from gevglm.foreign_words import ARGUMENTS, VALUES

_OWN_FILES = (str(Path(__file__).parent), str(Path(statsmodels.__file__).parent))
_TYPED_NUMBER = re.compile(r"\bnp\.(?:u?int|float|bool|str|bytes)\w*\(([^()]*)\)")


def without_types(text: str) -> str:
    """Return a text in which numbers of NumPy look like numbers: 1 in place of np.int64(1)."""
    return _TYPED_NUMBER.sub(r"\1", text)


class GevglmError(Exception):
    """Base of every error gevglm raises on purpose."""

    def __init__(self, *args: Any):
        super().__init__(*(without_types(arg) if isinstance(arg, str) else arg for arg in args))


class InvalidOptionError(GevglmError, ValueError):
    """An option has a value that is not among the allowed ones."""


class UnknownArgumentError(InvalidOptionError, TypeError):
    """A function was given an argument that it does not have; the message names the one that is meant."""


class InvalidDataError(GevglmError, ValueError):
    """The data cannot be used as they are; the message names the column, rows or value."""


class CollinearityError(InvalidDataError):
    """Columns of the design are exact linear combinations of others.

    Attributes
    ----------
    columns : dict of int to tuple of int
        The positions of the columns that can be left out, each with those it is a combination of; none of these if it is zero in every row.
    """

    columns: Mapping[int, tuple[int, ...]] = MappingProxyType({})


class SupportError(GevglmError, ValueError):
    """No coefficients keep every observation inside the support of the link."""


class IncompatibleOptionsError(GevglmError, ValueError):
    """Two options were given that exclude each other."""


class NotDefinedForLoss(GevglmError, AttributeError):
    """A statistic that the loss of this fit does not define; the message names the alternative."""


class NotDefinedWithinGroups(GevglmError, AttributeError):
    """What a fit within units or matched sets does not define; the message says why, and names the alternative."""


class MissingDatasetError(GevglmError, LookupError):
    """A public data set is not at hand; the message says what was tried and what to do."""


class GevglmWarning(ModelWarning):
    """Base of every warning gevglm issues."""


class ConvergenceWarning(GevglmWarning):
    """The iteration ended before the convergence criterion was met."""


class CollinearityWarning(GevglmWarning, HessianInversionWarning):
    """Columns were left out of the fit, because they are exact linear combinations of others."""


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


class SuspectDataWarning(GevglmWarning):
    """The data are probably not what was meant: text that is nearly numbers, or imputations given as pieces of one table."""


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return names joined by commas, the first few of many."""
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def nearest(word: object, allowed: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the allowed word nearest to `word`, or an empty string; never the word itself nor its opposite."""
    typed = str(word).lower()
    others = [other for other in allowed if other != str(word) and other.lower() not in (f"non{typed}", f"un{typed}")]
    close = difflib.get_close_matches(typed, others, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def unknown_option(option: str, value: object, allowed: Iterable[str]) -> InvalidOptionError:
    """Build the error for an unknown word: what it is called here, or the allowed ones and the nearest of them."""
    known_elsewhere = VALUES.get(option, {}).get(str(value).lower())
    if known_elsewhere is not None:
        return InvalidOptionError(f"{option}={value!r} is not known: {known_elsewhere}.")
    allowed = list(allowed)
    words = ", ".join(repr(word) for word in allowed)
    return InvalidOptionError(f"{option}={value!r} is not known; use one of {words}.{nearest(value, allowed)}")


def unknown_argument(function: str, word: str, allowed: Iterable[str], elsewhere: str = "") -> UnknownArgumentError:
    """Build the error for an argument that a function does not have: what it is called here, or the nearest."""
    hint = ARGUMENTS.get(word, elsewhere)
    meant = f": {hint}." if hint else f".{nearest(word, allowed)}"
    return UnknownArgumentError(f"{function}() has no argument {word!r}{meant}")


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
        warnings.warn(without_types(message), category, stacklevel=callers_frame()[1])


def callers_frame() -> tuple[FrameType | None, int]:
    """Return the first frame outside the package and statsmodels, which may have called it, and its number above the function that asks."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FILES):
        frame, level = frame.f_back, level + 1
    return frame, level
