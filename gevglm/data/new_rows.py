"""New data, read the way the data of a model were: design matrix, offset and labels of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.design import Layout
from gevglm.data.tables import added, as_frame, combined_offset, numeric_matrix, vector
from gevglm.engine.linalg import Matrix, dense, with_missing_rows
from gevglm.exceptions import InvalidDataError


@dataclass(frozen=True)
class NewRows:
    """Rows to predict."""

    X: Matrix  # not a number in incomplete rows; of shape (n, k)
    offset: NDArray | None  # the log of the exposure included; of shape (n,)
    index: pd.Index | None  # labels of the rows


def read_table(layout: Layout, data: Any, offset: Any = None, exposure: Any = None, sparse: bool = False) -> NewRows:
    """Read a table by the formula of a design, and offset and exposure by its column names unless they are given.

    With `sparse`, the matrix of a design of many columns may be.
    """
    frame = as_frame(data)
    n = len(frame)
    shift = _offset(
        layout,
        vector(layout.offset_name if offset is None else offset, frame, "offset", n),
        vector(layout.exposure_name if exposure is None else exposure, frame, "exposure", n),
    )
    recipe = layout.recipe
    assert recipe is not None, "a table is read by a formula"
    used = [name for name in recipe.used if name in frame.columns]
    complete = ~frame[used].isna().any(axis=1).to_numpy()
    inside = recipe.offset(frame)
    combined_offset(None if inside is None else inside[complete], None)
    shift = added(shift, inside)
    if complete.all():
        X = recipe.matrix(frame)
    else:
        X = with_missing_rows(recipe.matrix(frame[complete]), complete)
    return NewRows(X if sparse else dense(X), shift, frame.index)


def read_matrix(layout: Layout, exog: Any, offset: Any = None, exposure: Any = None) -> NewRows:
    """Read a design matrix unchanged; the columns of a DataFrame may be in any order."""
    k = len(layout.names)
    index = exog.index if isinstance(exog, (pd.DataFrame, pd.Series)) else None
    if isinstance(exog, pd.DataFrame) and set(exog.columns) == set(layout.names):
        exog = exog[layout.names]
    X = numeric_matrix(np.asarray(exog))
    X = X.reshape(-1, k) if X.size == k else X
    if X.shape[1] != k:
        raise InvalidDataError(f"exog has {X.shape[1]} columns, but the model has {k} coefficients.")
    n = len(X)
    shift = _offset(layout, vector(offset, None, "offset", n), vector(exposure, None, "exposure", n))
    return NewRows(X, shift, index if index is not None and len(index) == n else None)


def _offset(layout: Layout, offset: NDArray | None, exposure: NDArray | None) -> NDArray | None:
    """Return the offset of new data, the log of the exposure included; both, if the model has them."""
    for role, value, needed in (
        ("offset", offset, layout.array_offset or layout.offset_name is not None),
        ("exposure", exposure, layout.array_exposure or layout.exposure_name is not None),
    ):
        if needed and value is None:
            raise InvalidDataError(f"the model has an {role}, which the new data do not; give {role}= for them too.")
    return combined_offset(offset, exposure)
