"""The digits that numbers are shown with: one rule for a column, or for a table of estimates and their errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

MOST = 8  # decimals; columns that would need more are written with exponents
DIGITS = 5  # of the largest number of a column
DIGITS_OF_ERRORS = 3  # of the smallest standard error of a table
TINY = 1e-13  # nothing but rounding is so small
ROUNDING = 1e-12  # numbers so small beside the largest are zeros that were computed


def column_texts(values: Sequence[float], digits: int = DIGITS) -> list[str]:
    """Return the numbers of a column, all with the decimals that give the largest so many digits; whole ones as such, missing ones blank.

    Examples
    --------
    >>> column_texts([-847.6123, 12.5, 4.9e-16]), column_texts([3.0, 12000.0]), column_texts([0.0213, float("nan")])
    (['-847.61', '12.50', '0.00'], ['3', '12,000'], ['0.021300', ''])
    """
    size = _largest(values)
    if 0.0 < size < TINY:
        return ["" if np.isnan(value) else "0" for value in values]
    if all(value == np.floor(value) for value in values if np.isfinite(value)) and size < 10.0 ** (digits + 4):
        return [_text(value, 0, size) for value in values]
    return [_text(value, decimals_of(size, digits), size) for value in values]


def table_texts(columns: Sequence[Sequence[float]], errors: Iterable[float]) -> list[list[str]]:
    """Return the numbers of columns that belong together, all with the decimals that give the smallest standard error three digits.

    Examples
    --------
    >>> table_texts([[0.028721, 0.095311], [0.0027102, 0.0082369]], [0.0027102, 0.0082369])
    [['0.02872', '0.09531'], ['0.00271', '0.00824']]
    """
    size = _largest(np.concatenate([np.asarray(column, dtype=float) for column in columns] or [np.zeros(0)]))
    known = [error for error in errors if np.isfinite(error) and error > ROUNDING * size]
    if not known:
        return [column_texts(column) for column in columns]
    decimals = max(decimals_of(min(known), DIGITS_OF_ERRORS), 0)
    if decimals > decimals_of(size, 9):  # a tiny error beside large numbers
        decimals = decimals_of(size, DIGITS + 1)
    return [[_text(value, decimals, size) for value in column] for column in columns]


def iterations(count: int) -> str:
    """Return a number of iterations, in words.

    Examples
    --------
    >>> iterations(1), iterations(4)
    ('1 iteration', '4 iterations')
    """
    return f"{count} iteration{'' if count == 1 else 's'}"


def p_text(p: float) -> str:
    """Return a p-value with four decimals.

    Examples
    --------
    >>> p_text(0.01234), p_text(1e-9), p_text(float("nan"))
    ('0.0123', '< 0.0001', '')
    """
    if np.isnan(p):
        return ""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def significant(value: float, digits: int = DIGITS) -> str:
    """Return one number with so many digits, zeros at the end included.

    Examples
    --------
    >>> significant(144.3), significant(0.0417), significant(1.5e-15)
    ('144.30', '0.041700', '1.5000e-15')
    """
    return _text(value, decimals_of(abs(value), digits), abs(value))


def decimals_of(size: float, digits: int) -> int:
    """Return the decimals that give a number of a size so many digits; negative where it has more before the point."""
    return digits if size == 0.0 or not np.isfinite(size) else digits - 1 - int(np.floor(np.log10(size)))


def _largest(values: Iterable[float]) -> float:
    return max((abs(value) for value in values if np.isfinite(value)), default=0.0)


def _text(value: float, decimals: int, size: float) -> str:
    if np.isnan(value):
        return ""
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    if decimals > MOST:
        return "0" if value == 0.0 else f"{value:.4e}"
    shown = 0.0 if abs(value) < ROUNDING * size else value
    text = f"{shown:,.{max(decimals, 0)}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.,") else text
