"""Any table a user may hold, as a pandas DataFrame; columns by name, with helpful errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.files import read_table
from gevglm.data.lazy_tables import arrow_table
from gevglm.data.sparse_matrices import compressed_rows, is_sparse
from gevglm.engine.linalg import Matrix
from gevglm.exceptions import InvalidDataError, nearest

COPY_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3


def as_frame(data: Any) -> pd.DataFrame:
    """Return a table of any kind, or the path to a file that holds one, as a DataFrame; a pandas one unchanged, without a copy."""
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, pd.Series):  # one row
        return data.to_frame().T.infer_objects()
    if isinstance(data, (str, Path)):
        return read_table(data)
    if isinstance(data, Mapping):
        scalars = all(np.ndim(value) == 0 for value in data.values())
        try:
            return pd.DataFrame(dict(data), index=[0] if scalars else None)
        except ValueError as error:
            lengths = {name: np.size(column) for name, column in data.items()}
            raise InvalidDataError(f"the columns of data do not fit together ({error}); lengths: {lengths}.") from None
    if hasattr(data, "to_pandas"):  # polars and pyarrow
        return with_sorted_levels(data.to_pandas(), data)
    table = arrow_table(data)
    if table is not None:
        return as_frame(table)
    raise InvalidDataError(
        f"data of type {type(data).__name__} is not a table; give a pandas or polars DataFrame, a pyarrow Table, "
        "a dict of columns, or the path of a csv, parquet, Stata, SPSS, SAS or Excel file."
    )


def owned(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table that stays as it is when the caller changes the one given: a copy, made by pandas 3 when something is changed."""
    return frame.copy(deep=not COPY_ON_WRITE)


def unmasked(values: Any) -> Any:
    """Return a masked array with missing values where it is masked; others unchanged."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind in "iuf":
        return np.ma.filled(values.astype(float), np.nan)
    objects = np.array(values.data, dtype=object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def with_sorted_levels(frame: pd.DataFrame, source: Any) -> pd.DataFrame:
    """Sort the levels of categorical columns that only have the order in which they appear."""
    for name in frame.columns:
        levels = frame[name].dtype
        if (
            isinstance(levels, pd.CategoricalDtype)
            and not levels.ordered
            and "Enum" not in str(source[name].type if hasattr(source[name], "type") else source[name].dtype)
        ):
            frame[name] = frame[name].cat.reorder_categories(sorted(levels.categories))
    return frame


def column(frame: pd.DataFrame, name: str, role: str) -> pd.Series:
    """Return a column by name, or say which one was probably meant."""
    if name in frame.columns:
        return frame[name]
    raise InvalidDataError(f"{role}={name!r} is not a column of the data.{suggestion(name, frame.columns)}")


def suggestion(name: str, columns: Any) -> str:
    """Return a sentence that suggests the column nearest to `name`."""
    names = [str(other) for other in columns if str(other) != name]
    if not names:
        return " The data have no columns."
    same_letters = [other for other in names if other.lower() == name.lower()]
    if same_letters:
        return f" Did you mean {same_letters[0]!r}? Names are case-sensitive."
    hint = nearest(name, names)
    listed = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    return hint or f" The columns are {listed}."


def without_unused_levels(frame: pd.DataFrame, factors: list[str]) -> pd.DataFrame:
    """Drop the levels of columns of categories that no row has, as R does."""
    unused = [name for name in factors if frame[name].nunique() < len(frame[name].dtype.categories)]
    return frame.assign(**{name: frame[name].cat.remove_unused_categories() for name in unused}) if unused else frame


def vector(value: Any, frame: pd.DataFrame | None, role: str, n_rows: int) -> NDArray | None:
    """Return an option (`role`) given as a column name or as an array, as a float array of the length of the data."""
    if value is None:
        return None
    if isinstance(value, str):
        if frame is None:
            raise InvalidDataError(f"{role}={value!r} names a column, but the data are arrays; give an array.")
        value = column(frame, value, role)
    elif frame is not None:
        value = aligned(value, frame.index, role)
    value = real(unmasked(value), role)
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidDataError(f"{role} must be numbers, got values such as {np.ravel(value)[0]!r}.") from None
    if array.ndim == 0:
        array = np.broadcast_to(array, (n_rows,))
    if array.shape != (n_rows,):
        raise InvalidDataError(f"{role} has shape {array.shape}, but the data have {n_rows} rows.")
    return array


def added(first: NDArray | None, second: NDArray | None) -> NDArray | None:
    """Return the sum of two vectors, of which either may be missing."""
    return second if first is None else first if second is None else first + second


def combined_offset(offset: NDArray | None, exposure: NDArray | None) -> NDArray | None:
    """Return the offset plus the log of the exposure."""
    if exposure is not None:
        wrong = ~((exposure > 0) & np.isfinite(exposure))
        if wrong.any():
            raise InvalidDataError(f"exposure must be positive and finite; {int(wrong.sum())} rows are not.")
        offset = np.log(exposure) + (0.0 if offset is None else offset)
    if offset is not None and not np.isfinite(offset).all():
        raise InvalidDataError(f"offset is not finite in {int((~np.isfinite(offset)).sum())} rows.")
    return offset


def numeric_matrix(exog: Any, owned: bool = False) -> Matrix:
    """Return a design matrix as floats, in the precision it has; a sparse one as compressed rows, a copy unless it is `owned`."""
    if is_sparse(exog):
        return compressed_rows(exog, copy=not owned)
    X = real(exog.to_numpy() if hasattr(exog, "to_numpy") else np.asarray(unmasked(exog)), "the design")
    if X.ndim == 1:
        X = X[:, None]
    if X.dtype.kind not in "fiub":
        try:
            X = X.astype(float)
        except (TypeError, ValueError):
            raise InvalidDataError(
                "the design has columns that are not numbers; use a formula, which turns factors into dummies."
            ) from None
    return X if X.dtype in (np.float64, np.float32) else X.astype(float)


def aligned(value: Any, index: pd.Index, role: str) -> Any:
    """Return a Series or DataFrame in the order of the data, whose labels it must have; what has no labels as it is."""
    if not isinstance(value, (pd.Series, pd.DataFrame)) or value.index.equals(index):
        return value
    unique = value.index.is_unique and index.is_unique and len(value) == len(index)
    if unique and index.isin(value.index).all():
        return value.iloc[value.index.get_indexer(index)]
    raise InvalidDataError(f"the index of {role} is not that of the data; align it, or give .to_numpy().")


def columns_given(values: Any, frame: pd.DataFrame | None, role: str, lengths: Sequence[int]) -> pd.DataFrame:
    """Return what is known of rows, given by names of columns or as values, as a table whose columns keep their types.

    A list of words that is as long as the data (one of `lengths`) is values, any other list of words is names.
    """
    names = [values] if isinstance(values, str) else values
    words = isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
    if not words or (len(names) in lengths and len(names) > 2):
        return _as_columns(values)
    if frame is None:
        raise InvalidDataError(f"{role}={values!r} names columns, but the model was built from arrays.")
    return pd.concat([column(frame, name, role) for name in names], axis=1)


def _as_columns(values: Any) -> pd.DataFrame:
    """Return values of rows as a table, none of whose columns is converted to the type of another."""
    if hasattr(values, "to_pandas"):  # polars and pyarrow
        values = values.to_pandas()
    if isinstance(values, (list, tuple)) and all(np.ndim(value) == 0 for value in values):
        values = pd.Series(list(values))
    if isinstance(values, pd.Series):
        return values.to_frame()
    if isinstance(values, pd.DataFrame):
        return values
    array = np.atleast_1d(np.asanyarray(values))
    return pd.DataFrame(array if array.ndim < 3 else array.reshape(len(array), -1))


def real(values: Any, what: str) -> Any:
    """Return values, unless they are complex numbers."""
    if np.iscomplexobj(values):
        raise InvalidDataError(f"{what} has complex numbers; give their real or imaginary parts.")
    return values
