"""Columns of tables in the types that formulas work with, and those of new data as they were in the data of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from gevglm.exceptions import InvalidDataError


def with_columns(frame: pd.DataFrame, names: Iterable[str], change: Callable[[pd.Series], pd.Series]) -> pd.DataFrame:
    """Return a table with some columns changed; the table itself if none is."""
    changed = {name: new for name in names if name in frame and (new := change(old := frame[name])) is not old}
    return frame.assign(**changed) if changed else frame


def plain(column: pd.Series, engine: str) -> pd.Series:
    """Return a column in a NumPy type; patsy does not know pandas' own types, but for categories."""
    dtype = column.dtype
    if isinstance(dtype, (np.dtype, pd.CategoricalDtype)) or (
        engine == "formulaic" and isinstance(dtype, pd.StringDtype)
    ):
        return column
    if pd.api.types.is_bool_dtype(dtype):
        return column.astype(bool)
    if pd.api.types.is_integer_dtype(dtype) and not column.hasnans:
        return column.astype(np.int64)
    return column.astype(float if pd.api.types.is_numeric_dtype(dtype) else object)


def is_number(dtype: Any) -> bool:
    """Whether a column of this type holds numbers; booleans are not."""
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def as_before(column: pd.Series, dtype: Any) -> pd.Series:
    """Return a column of new data as the kind of column it was in the data of the model, where it can be one."""
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
