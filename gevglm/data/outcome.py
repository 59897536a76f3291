"""The outcome as numbers: which level is the event, and how many trials stand behind each row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.columns import as_numbers
from gevglm.exceptions import InvalidDataError, nearest

WHOLE = 1e-6  # how far from a whole number a count may be, for those computed as shares of trials


class Outcome(NamedTuple):
    """Outcomes in [0, 1], the level that is the event, and what the weights mean."""

    y: NDArray
    event: Any
    freq: NDArray | None
    trials: NDArray | None


def resolve(values: Any, event: Any, name: str, freq: NDArray | None, trials: NDArray | None) -> Outcome:
    """Return the outcome of every row as a number.

    Parameters
    ----------
    values : array_like of shape (n,), (n, 1) or (n, 2)
        Levels, shares of successes, or counts of successes and failures.
    event : object or None
        The level that is the event.
    name : str
        Of the outcome, for messages.
    freq, trials : ndarray of shape (n,) or None
        Frequency weights and trials as given; the former are the latter where `values` are shares.

    Raises
    ------
    InvalidDataError
        Unless both outcomes occur, and it is clear what they are.
    """
    if np.ndim(values) == 2 and np.shape(values)[1] == 2:
        if event is not None:
            raise InvalidDataError("event= does not go with counts: the first column counts the events.")
        y, trials = _from_counts(values, name)
        event = "successes"
    else:
        y, event = _from_levels(np.ravel(values), event, name)
        if trials is None and not _are_binary(y):
            _need_trials(freq, name)
            freq, trials = None, freq
    _need_both(np.minimum.reduce(y), np.maximum.reduce(y), len(y), name)
    return Outcome(y, event, freq, trials)


class Coding(NamedTuple):
    """How the outcome of a table in pieces is read; learned from all of them."""

    event: Any  # the level that is the event
    counts: bool = False  # whether there are two columns, of successes and failures
    numbers: bool = False  # whether the values are the outcomes already
    shares: bool = False  # whether some are shares of successes, whose trials are the frequency weights

    @classmethod
    def learn(cls, levels: list[Any], event: Any, name: str, n_rows: int, has_freq: bool) -> Coding:
        """Return the coding of an outcome with these distinct values; see :func:`resolve` for what is refused."""
        y, found = _from_levels(np.asarray(levels), event, name)
        numbers = _as_numbers(np.asarray(levels), event) is not None
        shares = bool(((y > 0) & (y < 1)).any())
        if shares:
            _need_trials(has_freq or None, name)
        _need_both(y.min(), y.max(), n_rows, name)
        return cls(found, numbers=numbers, shares=shares)

    @classmethod
    def of_new(cls, values: Any, event: Any, name: str) -> Coding:
        """Return the coding of the outcomes of a piece of new data, which need not have both levels."""
        array = np.asarray(as_numbers(pd.Series(np.ravel(values))).infer_objects())
        numbers = _as_numbers(array, event) is not None
        levels = pd.unique(pd.Series(array))
        if not numbers and len(levels) > 2:
            raise InvalidDataError(_not_two(levels.tolist(), name))
        return cls(event, numbers=numbers)

    def apply(self, values: Any, freq: NDArray | None, name: str) -> Outcome:
        """Return the outcomes of some rows as numbers."""
        if self.counts:
            y, trials = _from_counts(values, name)
            return Outcome(y, self.event, freq, trials)
        array = np.ravel(values)
        y = array.astype(float, copy=False) if self.numbers else np.asarray(array == self.event, dtype=float)
        return Outcome(y, self.event, None, freq) if self.shares else Outcome(y, self.event, freq, None)


def _need_trials(freq: Any, name: str) -> None:
    if freq is None:
        raise InvalidDataError(
            f"the outcome {name!r} has shares between 0 and 1; give the number of trials behind each as freq_weights=, "
            "or two columns of counts (successes, failures)."
        )


def _need_both(low: float, high: float, n_rows: int, name: str) -> None:
    if low == high and low in (0.0, 1.0):
        raise InvalidDataError(
            f"the outcome {name!r} is {low:g} in all {n_rows} rows; a binary regression needs both outcomes."
        )


def _are_binary(y: NDArray) -> bool:
    """Whether all numbers are 0 or 1."""
    return np.count_nonzero(y == 0.0) + np.count_nonzero(y == 1.0) == y.size


def _as_numbers(array: NDArray, event: Any) -> NDArray | None:
    """Return outcomes that are numbers in [0, 1] already."""
    if (event is None or event in (1, True)) and array.dtype.kind in "biuf":
        y = array.astype(float, copy=False)
        if _are_binary(y):
            return y
        if array.dtype.kind == "f" and np.isfinite(y).all() and y.min() >= 0 and y.max() <= 1:
            return y
    return None


def _from_levels(values: Any, event: Any, name: str) -> tuple[NDArray, Any]:
    """Return the outcome as 0 and 1 (or shares in between) and the level that is the event."""
    if isinstance(values, np.ndarray) and (y := _as_numbers(values, event)) is not None:
        return y, (True if values.dtype.kind == "b" else 1)
    absent = int(pd.isna(values).sum())
    if absent:
        raise InvalidDataError(f"the outcome {name!r} is missing in {absent} rows; missing='drop' drops them.")
    array = np.asarray(as_numbers(pd.Series(values)).infer_objects())
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidDataError(f"the outcome {name!r} is infinite in {int(np.isinf(array).sum())} rows.")
    y = _as_numbers(array, event)
    if y is not None:
        return y, (True if array.dtype.kind == "b" else 1)
    levels = [getattr(level, "item", lambda level=level: level)() for level in pd.unique(pd.Series(array))]
    shown = _shown(levels)
    if len(levels) != 2 and not (event is not None and len(levels) == 1):
        raise InvalidDataError(_not_two(levels, name))
    if event is None:
        rarer = min(levels, key=lambda level: int((array == level).sum()))
        raise InvalidDataError(
            f"the outcome {name!r} has the levels {shown}; say which one is the event, as in event={rarer!r}."
        )
    if event not in levels:
        alike = [level for level in levels if str(level) == str(event)]
        hint = f" Did you mean event={alike[0]!r}?" if alike else nearest(event, map(str, levels))
        raise InvalidDataError(f"event={event!r} is not a level of {name!r} ({shown}).{hint}")
    return (array == event).astype(float), event


def _shown(levels: list[Any]) -> str:
    return ", ".join(map(repr, levels[:5])) + (", ..." if len(levels) > 5 else "")


def _not_two(levels: list[Any], name: str) -> str:
    return f"the outcome {name!r} has {len(levels)} levels ({_shown(levels)}); a binary outcome has two."


def _from_counts(values: Any, name: str) -> tuple[NDArray, NDArray]:
    try:
        counts = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidDataError(
            f"the outcome {name!r} names two columns, which must be counts; they are not numbers."
        ) from None
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        raise InvalidDataError("counts of successes and failures must be finite and not negative.")
    fractional = np.abs(counts - np.round(counts)) > WHOLE
    if fractional.any():
        raise InvalidDataError(
            f"counts of successes and failures must be whole numbers; {int(fractional.any(axis=1).sum())} rows of {name!r} are not "
            f"(the first is {counts[fractional][0]:g}). Give weights as freq_weights= or var_weights=, and proportions as one "
            "column with the trials behind them as freq_weights=."
        )
    trials = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.where(trials > 0, counts[:, 0] / trials, 0.0), trials
