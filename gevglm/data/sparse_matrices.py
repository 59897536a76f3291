"""Design matrices that are sparse, of SciPy or as sparse columns of a pandas table, as compressed rows of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse

from gevglm.engine.sparse import SparseColumn, matrix_of
from gevglm.exceptions import InvalidDataError


def is_sparse(exog: Any) -> bool:
    """Whether a design matrix is sparse: a matrix or array of SciPy, or a table with columns of a sparse type."""
    if isinstance(exog, pd.DataFrame):
        return any(isinstance(dtype, pd.SparseDtype) for dtype in exog.dtypes)
    return issparse(exog)


def compressed_rows(exog: Any, *, copy: bool = True) -> csr_array:
    """Return a sparse matrix or table as compressed rows: each element once, in the order of the columns, and without stored zeros."""
    if isinstance(exog, pd.DataFrame):
        rows = matrix_of([_column(exog.iloc[:, j], str(name)) for j, name in enumerate(exog.columns)], len(exog))
    else:
        if exog.ndim != 2:
            raise InvalidDataError(f"the sparse design has shape {exog.shape}; it needs rows and columns.")
        _refuse_what_is_no_number(exog.dtype)
        kind = np.float32 if exog.dtype == np.float32 else np.float64
        rows = csr_array(exog, dtype=kind, copy=copy)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return csr_array(
        (rows.data, rows.indices, rows.indptr), shape=rows.shape
    )  # indices of 32 bits, where they are enough


def _column(column: pd.Series, name: str) -> SparseColumn:
    """Return a column of a table by its rows that are not zero, missing values among them."""
    if isinstance(column.dtype, pd.SparseDtype):
        _refuse_what_is_no_number(column.dtype.subtype, name)
        if not pd.isna(column.dtype.fill_value) and column.dtype.fill_value == 0:
            stored: Any = column.array
            return SparseColumn(stored.sp_index.to_int_index().indices, np.asarray(stored.sp_values, dtype=float), 1.0)
    try:
        values = column.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        raise InvalidDataError(
            f"the column {name!r} of the design is not numbers; use a formula, which turns factors into dummies."
        ) from None
    rows = np.flatnonzero(values)
    return SparseColumn(rows, values[rows], 1.0)


def _refuse_what_is_no_number(dtype: np.dtype, name: str | None = None) -> None:
    where = "the sparse design" if name is None else f"the column {name!r} of the design"
    if dtype.kind == "c":
        raise InvalidDataError(f"{where} has complex numbers; give their real or imaginary parts.")
    if dtype.kind not in "fiub":
        raise InvalidDataError(f"{where} holds {dtype}, not numbers; give it as floats, as in X.astype(float).")
