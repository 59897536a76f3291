"""New data, read the way the data of a model were: design matrix, offset, weights and labels of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from gevglm.data.design import Layout
from gevglm.data.formula import count_columns
from gevglm.data.row_weights import RowWeights
from gevglm.data.selection import check_weights
from gevglm.data.tables import added, as_frame, column, combined_offset, numeric_matrix, vector
from gevglm.engine.base import product
from gevglm.engine.linalg import Matrix, dense, with_missing_rows
from gevglm.exceptions import GevglmWarning, InvalidDataError, listed, warn


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
    """Read a design matrix unchanged; the columns of a DataFrame are found by their names, if it has those of the model."""
    k = len(layout.names)
    index = exog.index if isinstance(exog, (pd.DataFrame, pd.Series)) else None
    X = numeric_matrix(_by_name(exog, layout.names) if isinstance(exog, pd.DataFrame) else exog)
    X = X.reshape(-1, k) if not issparse(X) and X.size == k else X
    if X.shape[1] != k:
        raise InvalidDataError(f"exog has {X.shape[1]} columns, but the model has {k} coefficients.")
    n = X.shape[0]
    shift = _offset(layout, vector(offset, None, "offset", n), vector(exposure, None, "exposure", n))
    return NewRows(X, shift, index if index is not None and len(index) == n else None)


def _by_name(exog: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return the columns of a design matrix by their names, in the order of the model; unchanged if it has other names."""
    given = [str(name) for name in exog.columns]
    if given == names or not set(given).intersection(names):
        return exog
    for name in names:
        if given.count(name) != 1:
            held = "no" if name not in given else "more than one"
            raise InvalidDataError(
                f"exog has {held} column {name!r}, and the columns of the model are {listed(names)}."
            )
    return exog.iloc[:, [given.index(name) for name in names]]


def read_weights(layout: Layout, data: Any) -> RowWeights:
    """Read what the rows of a table stand for, by the columns of weights and counts that the model names."""
    frame = as_frame(data)
    n, columns = len(frame), {}
    for role, name in weights_in(layout, frame.columns).items():
        columns[role] = vector(name, frame, role, n)
        check_weights(columns[role], f"{role} of the new data")
    counts = count_columns(layout.outcome)
    trials = frame[counts].to_numpy(float).sum(axis=1) if counts and set(counts) <= set(frame.columns) else None
    check_weights(trials, "counts of the new data")
    represents = product(columns.get("var_weights"), columns.get("sampling_weights"))
    return RowWeights(n, columns.get("freq_weights"), trials=trials, represents=represents)


def weights_in(layout: Layout, columns: Any) -> dict[str, str]:
    """Return the columns of weights that new data have, by their roles, and warn of those that the model names and they do not have."""
    there = {role: name for role, name in layout.weight_names.items() if name in columns}
    for role, name in layout.weight_names.items():
        if role not in there:
            warn(
                f"the model has {role}={name!r}, a column that the new data do not have: their rows count as if it were 1.",
                GevglmWarning,
            )
    return there


def outcomes_in(layout: Layout, frame: pd.DataFrame) -> Any:
    """Return the outcomes of a table: the column of the outcome, or its two columns of counts."""
    counts = count_columns(layout.outcome)
    if counts and set(counts) <= set(frame.columns):
        return frame[counts].to_numpy()
    return column(frame, layout.outcome, "outcome")


def is_read_by_formula(layout: Layout, data: Any) -> bool:
    """Whether new data are a table for the formula of a model, and no design matrix."""
    return layout.recipe is not None and not isinstance(data, np.ndarray) and not issparse(data)


def _offset(layout: Layout, offset: NDArray | None, exposure: NDArray | None) -> NDArray | None:
    """Return the offset of new data, the log of the exposure included; both, if the model has them."""
    for role, value, needed in (
        ("offset", offset, layout.array_offset or layout.offset_name is not None),
        ("exposure", exposure, layout.array_exposure or layout.exposure_name is not None),
    ):
        if needed and value is None:
            raise InvalidDataError(f"the model has an {role}, which the new data do not; give {role}= for them too.")
    return combined_offset(offset, exposure)
