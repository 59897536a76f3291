"""Data that are probably not what was meant: text that is nearly numbers, factors with many levels, tables that are versions of each other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from gevglm.data.expressions import unquoted
from gevglm.exceptions import SuspectDataWarning, warn

MANY_LEVELS = 50  # of a text column, from which on it is said
FEW = 0.2  # share of levels that are not numbers in a column that is nearly numbers
LEAST = 5  # levels that are numbers in such a column
LOOKED_AT = 1000  # rows of tables that are compared
DISTINCT = 10  # values of a column that two tables do not share by chance
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_WITH_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")


def warn_of_text(levels: Mapping[str, Sequence[Any]], dtypes: Mapping[str, Any]) -> None:
    """Warn of columns of text that become factors though that is hardly meant.

    Parameters
    ----------
    levels : mapping of str to sequence
        The levels of the factors of a formula, by their text; one in ``C()`` is meant to be a factor.
    dtypes : mapping of str to dtype
        The types of columns; those of categories are meant to be factors too.
    """
    for text, found in levels.items():
        meant = text.startswith("C(") or isinstance(dtypes.get(unquoted(text)), pd.CategoricalDtype)
        if meant or unquoted(text) not in dtypes or not all(isinstance(level, str) for level in found):
            continue
        warning = _with_commas(found) or _nearly_numbers(found) or _many(found)
        if warning:
            warn(f"{text!r} is text{warning}; C({text}) says that it is meant to be a factor.", SuspectDataWarning)


def _with_commas(levels: Sequence[str]) -> str:
    commas = [level for level in levels if _WITH_COMMA.fullmatch(level)]
    if len(commas) < LEAST or not all(_WITH_COMMA.fullmatch(level) or _NUMBER.fullmatch(level) for level in levels):
        return ""
    return (
        f" of numbers with decimal commas ({commas[0]!r}), and becomes a factor with {len(levels)} levels. Read it with decimal=',', as in "
        "pd.read_csv(path, decimal=',')"
    )


def _nearly_numbers(levels: Sequence[str]) -> str:
    others = [level for level in levels if not _NUMBER.fullmatch(level)]
    if not others or len(others) > FEW * len(levels) or len(levels) - len(others) < LEAST:
        return ""
    first = repr(others[0]) if len(others) == 1 else f"{len(others)} values, the first of them {others[0]!r}"
    return (
        f" because of {first}, though its {len(levels) - len(others)} other values are numbers, and becomes a factor with {len(levels)} levels. "
        "pd.to_numeric(column, errors='coerce') makes numbers of it, with the rest missing"
    )


def _many(levels: Sequence[str]) -> str:
    if len(levels) <= MANY_LEVELS:
        return ""
    return f" and becomes a factor with {len(levels)} levels. If that is too many, join levels, or write hashed(column, levels=20)"


def warn_of_versions(tables: Sequence[pd.DataFrame]) -> None:
    """Warn of tables, given as pieces of one, that look like imputations of one: most of their values are the same."""
    first, *others = tables
    if not others or any(table.shape != first.shape or list(table.columns) != list(first.columns) for table in others):
        return
    one, other = (table.head(LOOKED_AT) for table in tables[:2])
    shares = []
    distinct = 0
    for place in range(first.shape[1]):
        a, b = (table.iloc[:, place].to_numpy(object) for table in (one, other))
        shares.append(float(np.mean((a == b) | (pd.isna(a) & pd.isna(b)))))
        distinct = max(distinct, one.iloc[:, place].nunique())
    if shares and min(shares) > 0.5 and distinct >= DISTINCT:
        warn(
            f"the {len(tables)} tables look like versions of one table (imputations?): {np.mean(shares):.0%} of the values of the first two are the "
            f"same. They are taken as pieces of one table with {sum(map(len, tables))} rows; for imputations, fit each table by itself and pool the "
            "estimates.",
            SuspectDataWarning,
        )
