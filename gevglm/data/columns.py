"""Columns of tables in the types that formulas work with, and those of new data as they were in the data of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from gevglm.data.csv_dialect import EXACT
from gevglm.exceptions import InvalidDataError


def with_columns(frame: pd.DataFrame, names: Iterable[str], change: Callable[[pd.Series], pd.Series]) -> pd.DataFrame:
    """Return a table with some columns changed; the table itself if none is."""
    present = frame.columns
    changed = {name: new for name in names if name in present and (new := change(old := frame[name])) is not old}
    return frame.assign(**changed) if changed else frame


def as_numbers(column: pd.Series) -> pd.Series:
    """Return a column of Python's numbers or decimals as numbers; others, and whole numbers that would lose digits, unchanged."""
    if str(column.dtype).startswith("decimal"):  # of pyarrow
        column = column.astype(object)
    kind = pd.api.types.infer_dtype(column, skipna=True) if column.dtype == object else ""
    if kind not in ("decimal", "integer", "floating", "mixed-integer-float"):
        return column
    numbers = column.astype(float)
    if (numbers.abs() < EXACT).all() or (numbers % 1 != 0).any():
        return numbers if column.hasnans or kind != "integer" else numbers.astype(np.int64)
    try:
        return column.map(int, na_action="ignore").astype("Int64" if column.hasnans else np.int64)
    except OverflowError:
        return column


def widened(column: pd.Series) -> pd.Series:
    """Return a column of short numbers, whose products would overflow, in 64 bits; others unchanged."""
    kind, size = column.dtype.kind, getattr(column.dtype, "itemsize", 8)
    if kind in "iu" and size < 8:
        return column.astype(np.int64 if isinstance(column.dtype, np.dtype) else "Int64")
    return column.astype(float) if kind == "f" and size < 4 else column


def plain(column: pd.Series, engine: str) -> pd.Series:
    """Return a column in a NumPy type that is wide enough for arithmetic; patsy does not know pandas' own types, but for categories."""
    column = widened(column)
    dtype = column.dtype
    if isinstance(dtype, (np.dtype, pd.CategoricalDtype)) or (
        engine == "formulaic" and isinstance(dtype, pd.StringDtype)
    ):
        return column
    if pd.api.types.is_bool_dtype(dtype):
        return column.astype(bool)
    if pd.api.types.is_integer_dtype(dtype) and not column.hasnans:
        return column.astype(np.uint64 if dtype.kind == "u" else np.int64)
    return column.astype(float if pd.api.types.is_numeric_dtype(dtype) else object)


def is_number(dtype: Any) -> bool:
    """Whether a column of this type holds numbers; booleans are not."""
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def as_before(column: pd.Series, dtype: Any) -> pd.Series:
    """Return a column of new data as the kind of column it was in the data of the model, where it can be one."""
    column = as_numbers(column)
    if isinstance(dtype, pd.CategoricalDtype):
        if isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.categories.equals(dtype.categories):
            return column
        new = [level for level in column.dropna().unique() if level not in dtype.categories]
        return column.astype(object).astype(pd.CategoricalDtype([*dtype.categories, *new], dtype.ordered))
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    was_boolean, is_boolean = pd.api.types.is_bool_dtype(dtype), pd.api.types.is_bool_dtype(column.dtype)
    if was_boolean and not is_boolean:
        other = column[~column.isin([False, True])]
        if len(other):
            raise InvalidDataError(
                f"{column.name!r} is true or false in the data of the model, but here {other.iloc[0]!r}."
            )
        return column.astype(bool)
    if is_boolean and not was_boolean and pd.api.types.is_numeric_dtype(dtype):
        return column.astype(int)
    return column
