"""Numbers as people read them: rounded by what is known about them."""

from __future__ import annotations

import re

import numpy as np

MINUS = "\N{MINUS SIGN}"


def count(value: float) -> str:
    """Return a number of things.

    Examples
    --------
    >>> count(45211.0), count(12.5)
    ('45,211', '12.5')
    """
    return f"{value:,.10g}"


def plain(value: float, digits: int = 3) -> str:
    """Return a number with a few significant digits and without an exponent, where that is short.

    Examples
    --------
    >>> plain(0.012345), plain(-1234.5), plain(float("nan"))
    ('0.0123', '−1,234', 'not available')
    """
    if value is None or np.isnan(value):
        return "not available"
    if np.isinf(value):
        return "infinite" if value > 0 else f"{MINUS}infinite"
    if value == 0.0:
        return "0"
    decimals = digits - 1 - int(np.floor(np.log10(abs(value))))
    text = f"{value:,.{max(decimals, 0)}f}" if decimals <= 7 else f"{value:.{digits - 1}e}"
    return text.replace("-", MINUS)


def percent(share: float, digits: int = 2) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> percent(0.0163), percent(0.0004)
    ('1.6 %', '0.040 %')
    """
    return f"{plain(100.0 * share, max(digits, 3) if share >= 0.1 else digits)} %"


def with_limits(estimate: float, lower: float, upper: float, *, scale: float = 1.0, unit: str = "") -> str:
    """Return a number with its limits, to two digits of the width between them.

    Examples
    --------
    >>> with_limits(0.0612, 0.047, 0.0755, scale=100, unit=" points")
    '6.1 points (4.7 to 7.5)'
    """
    values = [scale * value for value in (estimate, lower, upper)]
    number, low, high = rounded(values)
    return f"{number}{unit} ({low} to {high})"


def rounded(values: list[float]) -> list[str]:
    """Return numbers with their limits, all with the decimals that the distance of the limits supports."""
    _, low, high = values
    half = 0.5 * (high - low)
    if not np.isfinite(half) or half <= 0.0:
        return [plain(value) for value in values]
    decimals = int(np.clip(1 - np.floor(np.log10(half)), 0, 7))
    return [f"{value:,.{decimals}f}".replace("-", MINUS) for value in values]


def pvalue(p: float) -> str:
    """Return a p-value.

    Examples
    --------
    >>> pvalue(0.0004), pvalue(0.0213), pvalue(0.4567)
    ('< 0.001', '0.021', '0.46')
    """
    if np.isnan(p):
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def level(text: str) -> str:
    """Return a value of a variable, shortened if it is a number with many digits.

    Examples
    --------
    >>> level("0.0685928"), level("-7"), level("14.5"), level("north")
    ('0.0686', '−7', '14.5', 'north')
    """
    if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text) is None:
        return text
    short = f"{float(text):.{max(3, len(str(abs(int(float(text))))))}g}"
    return (short if len(short) < len(text) else text).replace("-", MINUS)
