"""New data, read the way the data of a model were: design matrix, offset and labels of the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data import formula as formulas
from gevglm.data.design import Design, combined_offset, numeric_matrix
from gevglm.data.tables import as_frame, vector
from gevglm.engine.linalg import Matrix, dense, with_missing_rows
from gevglm.exceptions import InvalidDataError


class NewRows(NamedTuple):
    """Rows to predict.

    Attributes
    ----------
    X : ndarray or sparse array of shape (n, k)
        Not a number in incomplete rows.
    offset : ndarray of shape (n,) or None
        The log of the exposure included.
    index : Index or None
        Labels of the rows.
    """

    X: Matrix
    offset: NDArray | None
    index: pd.Index | None


def read_table(design: Design, data: Any, offset: Any = None, exposure: Any = None, sparse: bool = False) -> NewRows:
    """Read a table by the formula of a design, and offset and exposure by its column names unless they are given.

    With `sparse`, the matrix of a design of many columns may be.
    """
    frame = as_frame(data)
    n = len(frame)
    shift = _offset(
        design,
        vector(design.offset_name if offset is None else offset, frame, "offset", n),
        vector(design.exposure_name if exposure is None else exposure, frame, "exposure", n),
    )
    used = [name for name in formulas.names_in(design.recipe.formula) if name in frame.columns]
    complete = ~frame[used].isna().any(axis=1).to_numpy()
    if complete.all():
        X = design.recipe.matrix(frame)
    else:
        X = with_missing_rows(design.recipe.matrix(frame[complete]), complete)
    return NewRows(X if sparse else dense(X), shift, frame.index)


def read_matrix(design: Design, exog: Any, offset: Any = None, exposure: Any = None) -> NewRows:
    """Read a design matrix as it is; the columns of a DataFrame may be in any order."""
    k = len(design.names)
    index = exog.index if isinstance(exog, (pd.DataFrame, pd.Series)) else None
    if isinstance(exog, pd.DataFrame) and set(exog.columns) == set(design.names):
        exog = exog[design.names]
    X = numeric_matrix(np.asarray(exog))
    X = X.reshape(-1, k) if X.size == k else X
    if X.shape[1] != k:
        raise InvalidDataError(f"exog has {X.shape[1]} columns, but the model has {k} coefficients.")
    n = len(X)
    shift = _offset(design, vector(offset, None, "offset", n), vector(exposure, None, "exposure", n))
    return NewRows(X, shift, index if index is not None and len(index) == n else None)


def _offset(design: Design, offset: NDArray | None, exposure: NDArray | None) -> NDArray | None:
    """Return the offset of new data, the log of the exposure included; both, if the model has them."""
    for role, value, needed in (
        ("offset", offset, design.array_offset or design.offset_name is not None),
        ("exposure", exposure, design.array_exposure or design.exposure_name is not None),
    ):
        if needed and value is None:
            raise InvalidDataError(f"the model has an {role}, which the new data do not; give {role}= for them too.")
    return combined_offset(offset, exposure)
