"""Which rows of the data are used: the subset asked for, without incomplete rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.engine.linalg import one_blas_thread
from gevglm.exceptions import InvalidDataError, MissingRowsWarning, unknown_option, warn

MISSING = ("drop", "raise", "none")


def rows_to_keep(table: Any, subset: Any, missing: str, arrays: list, used: list[str]) -> tuple[NDArray | None, int]:
    """Return the positions of the rows to use (None for all) and how many were dropped as incomplete.

    Parameters
    ----------
    table : DataFrame or int
        The data, or only how many rows they have, where nothing is looked up in them.
    subset : array_like, str or None
        Booleans, labels of the index, or a condition.
    missing : {"drop", "raise", "none"}
    arrays : list of array_like or None
        What else has to be complete.
    used : list of str
        Columns of `table` that have to be.
    """
    n = table if isinstance(table, int) else len(table)
    selected, complete = row_masks(table, subset, missing, arrays, used)
    n_missing = int((selected & ~complete).sum())
    judge_rows(n, int(selected.sum()), n_missing, missing)
    keep = selected & complete
    return (None if keep.all() else np.flatnonzero(keep)), n_missing


def row_masks(table: Any, subset: Any, missing: str, arrays: list, used: list[str]) -> tuple[NDArray, NDArray]:
    """Return which rows are asked for, and which are complete; see :func:`rows_to_keep`."""
    if missing not in MISSING:
        raise unknown_option("missing", missing, MISSING)
    n = table if isinstance(table, int) else len(table)
    selected = np.ones(n, dtype=bool) if subset is None else _subset_mask(table, subset, n)
    complete = np.ones(n, dtype=bool)
    if missing != "none":
        for array in arrays:
            if array is not None:
                complete &= ~_incomplete(array)
        for name in used:
            complete &= ~table[name].isna().to_numpy()
    return selected, complete


def judge_rows(n_given: int, n_selected: int, n_missing: int, missing: str) -> None:
    """Refuse data of which nothing is left, and warn of rows that were dropped."""
    if n_selected == 0:
        raise InvalidDataError(f"subset selects none of the {n_given} rows.")
    if n_missing and missing == "raise":
        raise InvalidDataError(f"{n_missing} of {n_selected} rows have missing values; missing='drop' drops them.")
    if n_missing == n_selected:
        raise InvalidDataError(f"every one of the {n_selected} rows has a missing value; nothing is left to fit.")
    if n_missing:
        warn(f"{n_missing} of {n_selected} rows were dropped because of missing values.", MissingRowsWarning)


def _incomplete(array: Any) -> NDArray:
    """Return which rows have a missing value, without a temporary of the size of a design."""
    if np.ndim(array) == 1:
        return np.asarray(pd.isna(array))
    array = np.asarray(array)
    suspect = np.ones(len(array), dtype=bool)
    if array.dtype.kind == "f":
        with one_blas_thread():
            suspect = np.isnan(np.dot(array, np.ones(array.shape[1])))
    rows = np.flatnonzero(suspect)
    suspect[rows] = pd.isna(array[rows]).any(axis=1)
    return suspect


def _subset_mask(frame: pd.DataFrame, subset: Any, n: int) -> NDArray:
    if isinstance(subset, str):
        try:
            subset = frame.eval(subset)
        except Exception as error:
            raise InvalidDataError(f"subset={subset!r} could not be evaluated: {error}") from error
        if np.asarray(subset).dtype != bool:
            raise InvalidDataError("subset as a string must be a condition, such as 'age > 40'.")
    if isinstance(subset, pd.Series) and not subset.index.equals(frame.index) and len(subset) == n:
        raise InvalidDataError("subset is a Series whose index is not that of the data; align it, or give .to_numpy().")
    array = np.asarray(subset)
    if array.dtype == object and all(isinstance(value, (bool, np.bool_)) for value in array.ravel()):
        array = array.astype(bool)
    if array.ndim != 1:
        raise InvalidDataError("subset must be booleans, one a row, labels of the index, or a condition as a string.")
    if array.dtype == bool:
        if len(array) != n:
            raise InvalidDataError(f"subset has {len(array)} entries, but the data have {n} rows.")
        return array.copy()
    unknown = [label for label in array.tolist() if label not in frame.index]
    if unknown:
        raise InvalidDataError(
            f"subset has {len(unknown)} labels that are not in the index (the first is {unknown[0]!r})."
        )
    return np.asarray(frame.index.isin(array))
