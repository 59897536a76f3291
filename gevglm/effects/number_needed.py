"""Numbers needed to treat, to benefit (NNTB) or to harm (NNTH), as people write them."""

from __future__ import annotations

import numpy as np
import pandas as pd


def number_needed(differences: pd.DataFrame) -> pd.DataFrame:
    """Return one over risk differences, with limits, and how each is written."""
    with np.errstate(divide="ignore"):
        inverse = 1.0 / differences[["estimate", "ci_upper", "ci_lower"]]
    frame = inverse.set_axis(["estimate", "ci_lower", "ci_upper"], axis=1)
    return frame.assign(
        text=[number_needed_text(*row) for row in differences[["estimate", "ci_lower", "ci_upper"]].to_numpy()]
    )


def number_needed_text(difference: float, lower: float, upper: float) -> str:
    """Return a number needed as Altman (1998) writes it: through infinity where the interval of the difference covers zero.

    The event is taken to be a harm: with fewer of them the number is one to benefit.

    Examples
    --------
    >>> number_needed_text(-1 / 13.03, -1 / 7.7, -1 / 41.4)
    'NNTB 13 (8 to 41)'
    >>> number_needed_text(-1 / 142, -1 / 67.9, 1 / 1523.8)
    'NNTB 142 (68 to infinity to NNTH 1,524)'
    >>> number_needed_text(0.05, 0.02, 0.08)
    'NNTH 20 (12 to 50)'
    """
    if np.isnan(difference):
        return ""
    word, other = ("NNTH", "NNTB") if difference > 0.0 else ("NNTB", "NNTH")
    near, far = (upper, lower) if difference > 0.0 else (lower, upper)
    text = f"{word} {_count(difference)}"
    if np.isnan(near) or np.isnan(far):
        return text
    if near * far > 0.0:
        return f"{text} ({_count(near)} to {_count(far)})"
    beyond = f" to {other} {_count(far)}" if far != 0.0 else ""
    return f"{text} ({_count(near)} to infinity{beyond})"


def _count(difference: float) -> str:
    """Return one over the size of a difference, rounded; with decimals where it is below 10 and they matter."""
    if difference == 0.0:
        return "infinity"
    number = 1.0 / abs(difference)
    return f"{number:.1f}" if number < 2.0 else f"{number:,.0f}"
