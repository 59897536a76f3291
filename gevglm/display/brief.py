"""Short forms of objects that hold many numbers: one line as text, their summary or their tables in notebooks."""

from __future__ import annotations

from dataclasses import fields
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from gevglm.display.digits import TINY, column_texts
from gevglm.display.tables import Part, as_html

MOST_ROWS = 12  # of a table in a notebook


class Brief:
    """A dataclass that is shown as one line: its numbers, and how many there are where they are many; its tables too in notebooks."""

    def __repr__(self) -> str:
        parts = [f"{name}={short(value)}" for name, value in _shown_fields(self)]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        given = _shown_fields(self)
        frames = [(name, value) for name, value in given if isinstance(value, pd.DataFrame) and len(value)]
        facts = {name: short(value) for name, value in given if not isinstance(value, (pd.DataFrame, np.ndarray))}
        parts = [Part("", pd.DataFrame({"": facts}))] if facts else []
        parts += [Part(_caption(name, frame), frame.head(MOST_ROWS)) for name, frame in frames]
        return as_html(type(self).__name__, parts)


class Summarised:
    """Shown by its ``summary()`` in notebooks, and by one line, ``_in_a_line``, elsewhere."""

    def _in_a_line(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._in_a_line()}>"

    def _repr_html_(self) -> str:
        summary: Any = self
        return summary.summary().as_html()


def _shown_fields(shown: Any) -> list[tuple[str, Any]]:
    return [
        (each.name, getattr(shown, each.name)) for each in fields(shown) if each.repr and not each.name.startswith("_")
    ]


def _caption(name: str, frame: pd.DataFrame) -> str:
    return f"{name}, the first {MOST_ROWS} of {len(frame):,} rows" if len(frame) > MOST_ROWS else name


def short(value: Any) -> str:
    """Return a value in a few characters.

    Examples
    --------
    >>> short(np.float64(4.9e-16)), short(0.123456789), short(np.arange(99)), short("spline"), short((1.5, 2.25))
    ('0', '0.12346', '<99 numbers>', "'spline'", '(1.5, 2.25)')
    """
    if type(value).__repr__ is not float.__repr__ and isinstance(value, float) and not isinstance(value, np.floating):
        return repr(value)  # numbers that know how to show themselves
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return "0" if abs(number) < TINY else f"{number:.5g}"
    if isinstance(value, pd.DataFrame):
        return f"<table of {len(value):,} rows>"
    if isinstance(value, pd.Series):
        return f"<{len(value):,} values>"
    if isinstance(value, np.ndarray):
        shape = " x ".join(f"{size:,}" for size in value.shape)
        few = value.ndim == 1 and 0 < len(value) <= 4 and value.dtype.kind == "f"
        return f"[{', '.join(column_texts(value.tolist()))}]" if few else f"<{shape} numbers>"
    if isinstance(value, tuple) and len(value) <= 4:
        return f"({', '.join(map(short, value))})"
    if isinstance(value, dict) and len(value) <= 6:
        return "{" + ", ".join(f"{short(key)}: {short(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple, dict)):
        return f"<{len(value)} items>"
    text = repr(value)
    return text if len(text) <= 200 else f"<{type(value).__name__}>"


def line_in_html(text: str) -> str:
    """Return a line of text as HTML."""
    return f"<pre>{escape(text)}</pre>"
