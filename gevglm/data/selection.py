"""What a model takes from a table: the complete rows asked for, their outcome, weights and offsets."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from gevglm.data import formula as formulas
from gevglm.data.columns import as_numbers, widened, with_columns
from gevglm.data.expressions import Expression, condition, expression, names_in, rows_where
from gevglm.data.formula_engines import offsets_of
from gevglm.data.scope import packed, unpacked
from gevglm.data.tables import added, aligned, columns_given, vector
from gevglm.engine.linalg import one_blas_thread
from gevglm.engine.sparse import rows_with
from gevglm.exceptions import InvalidDataError, MissingRowsWarning, unknown_option, warn

WEIGHTS = ("freq_weights", "var_weights", "sampling_weights")
ROLES = ("offset", "exposure", *WEIGHTS)
MISSING = ("drop", "raise", "none")


class Selected(NamedTuple):
    """The rows of a table that a model uses."""

    frame: pd.DataFrame
    values: Any  # the outcome, not yet coded
    columns: dict[str, NDArray | None]  # offset, exposure and weights
    rows: NDArray | None  # positions in the table; None if all rows are used
    # rows asked for, of them those with a weight above zero, and those among these that are incomplete
    n_asked: int
    n_selected: int
    n_missing: int
    factors: list[str]  # columns of categories that the formula names


@dataclass(frozen=True)
class Selection:
    """A formula and the options that name columns; what they say is compiled once, and again only where a pickled one arrives."""

    formula: str
    scope: dict[str, Any] = field(
        repr=False
    )  # objects of the user's scope that the formula names, or the subset with an @
    offset: Any = None
    exposure: Any = None
    freq_weights: Any = None
    var_weights: Any = None
    sampling_weights: Any = None
    subset: Any = None
    missing: str = "drop"
    clusters: Any = None  # rows without one are incomplete
    left: Expression = field(init=False, repr=False)  # the left-hand side of the formula
    right: str = field(init=False, repr=False)  # the right-hand side
    offsets: list[Expression] = field(init=False, repr=False)  # those named on the right-hand side
    _condition: Expression | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        left, right = formulas.split(self.formula)
        compiled = condition(self.subset) if isinstance(self.subset, str) else None
        offsets = offsets_of(right)
        parts = {"left": expression(left), "right": right, "offsets": offsets, "_condition": compiled}
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    @cached_property
    def _names(self) -> tuple[list[str], list[str], set[str]]:
        """Names in the formula, on its left and on its right, that are not called."""
        parts = (self.formula, self.left.text, self.right)
        names, left, right = (names_in(part, called=False) for part in parts)
        return names, left, set(right)

    def used(self, columns: Any) -> list[str]:
        """Return the names of the formula that are columns, or say what is wrong with them."""
        names, left, right = self._names
        columns = columns if isinstance(columns, pd.Index) else pd.Index(columns)
        used = [name for name in names if name in columns]
        twice = [] if columns.is_unique else [name for name in used if (columns == name).sum() > 1]
        if twice:
            raise InvalidDataError(f"the data have more than one column {twice[0]!r}.")
        repeated = [name for name in left if name in columns and name in right]
        if repeated:
            raise InvalidDataError(f"the outcome {repeated[0]!r} also stands on the right-hand side of the formula.")
        return used

    def scope_beside(self, columns: Any) -> dict[str, Any]:
        """Return the scope without what columns hide, which are no functions."""
        hidden = {name for name in self._names[0] if name in columns}
        return {name: value for name, value in self.scope.items() if name not in hidden}

    def of(self, frame: pd.DataFrame) -> Selected:
        """Return what a table holds of it."""
        n = len(frame)
        used = self.used(frame.columns)
        frame = with_columns(frame, used, as_numbers)
        columns = {role: vector(getattr(self, role), frame, role, n) for role in ROLES}
        inside = formulas.evaluate_offset(self.offsets, frame, self.scope_beside(frame.columns))
        columns["offset"] = added(columns["offset"], inside)
        values = self.outcome(frame)
        asked = self.asked_for(frame)
        selected = rows_with_weight(n, values, columns) & (True if asked is None else asked)
        given = [values, *columns.values(), *cluster_columns(self.clusters, n, frame, frame.index)]
        named = [frame[name] for name in used]
        complete = complete_rows(n, self.missing, [*given, *named])
        keep = selected & complete
        rows = None if keep.all() else np.flatnonzero(keep)
        n_asked, n_selected = n if asked is None else int(asked.sum()), int(selected.sum())
        if rows is not None:
            frame = frame.iloc[rows]
            values = values.iloc[rows] if isinstance(values, pd.Series) else np.asarray(values)[rows]
            columns = {role: None if given is None else given[rows] for role, given in columns.items()}
        if self.missing == "none":
            _refuse_missing_levels(frame, used)
        factors = [str(one.name) for one in named if isinstance(one.dtype, pd.CategoricalDtype)]
        return Selected(frame, values, columns, rows, n_asked, n_selected, n_selected - len(frame), factors)

    def outcome(self, frame: pd.DataFrame) -> Any:
        """Return the outcome of all rows of a table, not yet coded."""
        return formulas.evaluate_outcome(self.left, frame, self.scope_beside(frame.columns))

    def asked_for(self, frame: pd.DataFrame) -> NDArray | None:
        """Return which rows of a table are asked for; None if all are."""
        subset = self.subset
        if self._condition is not None:
            try:
                subset = rows_where(self._condition, with_columns(frame, names_in(self.subset), widened), self.scope)
            except NameError as error:
                raise InvalidDataError(
                    f"subset={self.subset!r} could not be evaluated: {error}. Names are those of columns; a variable of your own is "
                    "written with an @, as in 'age < @limit'."
                ) from None
            except Exception as error:
                raise InvalidDataError(f"subset={self.subset!r} could not be evaluated: {error}") from None
            if isinstance(subset, pd.Series) and pd.api.types.is_bool_dtype(subset.dtype):
                subset = subset.fillna(False).astype(bool)  # what is missing is not more than 1, as with NaN
            if np.asarray(subset).dtype != bool:
                raise InvalidDataError("subset as a string must be a condition, such as 'age > 40'.")
        return None if subset is None else _subset_mask(frame, subset)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "scope": packed(self.scope)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "scope": unpacked(state["scope"])})


def are_all_used(missing: str, y: NDArray, columns: dict[str, NDArray | None]) -> bool:
    """Whether no row has weight zero or a missing outcome, as far as a quick look tells: the sum of complete numbers is finite."""
    if missing not in MISSING or y.ndim > 1 or any(given is not None for given in columns.values()):
        return False
    with np.errstate(all="ignore"):
        return _is_complete(y)


def complete_rows(n: int, missing: str, arrays: list[Any]) -> NDArray:
    """Return which of n rows have no missing value in any of some arrays (None stands for one that is not given)."""
    if missing not in MISSING:
        raise unknown_option("missing", missing, MISSING)
    complete = np.ones(n, dtype=bool)
    for array in arrays if missing != "none" else ():
        with np.errstate(all="ignore"):
            unknown = array is not None and not _is_complete(array)
        if unknown:
            complete &= ~_incomplete(array)
    return complete


def cluster_columns(clusters: Any, n: int, frame: pd.DataFrame | None, index: pd.Index | None) -> list[Any]:
    """Return the columns that say which cluster each of n rows is in; none where clusters are not given, or not for these rows."""
    if clusters is None:
        return []
    table = columns_given(clusters, frame, "groups", [n])
    if len(table) != n:
        return []
    if isinstance(clusters, (pd.Series, pd.DataFrame)) and index is not None:
        table = aligned(table, index, "groups")
    return [table.iloc[:, j] for j in range(table.shape[1])]


def rows_with_weight(n: int, values: Any, columns: dict[str, NDArray | None]) -> NDArray:
    """Return which of n rows have a weight above zero; the others, and counts of no trials, are as if they were not there."""
    present = np.ones(n, dtype=bool)
    for role in (*WEIGHTS, "n_trials"):
        if (weights := columns.get(role)) is not None:
            present &= weights != 0
    if np.ndim(values) == 2 and np.shape(values)[1] == 2:
        present &= ~(np.asarray(values) == 0).all(axis=1)
    return present


def check_weights(weights: NDArray | None, role: str) -> None:
    """Refuse weights that are negative or not finite."""
    wrong = None if weights is None else ~(np.isfinite(weights) & (weights >= 0))
    if weights is not None and wrong is not None and wrong.any():
        raise InvalidDataError(
            f"{role} must be finite and not negative; {int(wrong.sum())} rows are not (the first is {weights[wrong][0]:g})."
        )


def check_rows(
    n_given: int, n_asked: int, n_selected: int, n_missing: int, missing: str, weights: dict[str, Any]
) -> None:
    """Refuse data of which nothing is left, and warn of rows that were dropped; `weights` are as given, by their roles."""
    if n_asked == 0:
        raise InvalidDataError(f"subset selects none of the {n_given} rows.")
    if n_selected == 0:
        roles = [role for role, given in weights.items() if given is not None]
        raise InvalidDataError(f"{' or '.join(roles) or 'the counts'} are zero in all {n_asked} rows.")
    if n_missing and missing == "raise":
        raise InvalidDataError(f"{n_missing} of {n_selected} rows have missing values; missing='drop' drops them.")
    if n_missing == n_selected:
        raise InvalidDataError(f"every one of the {n_selected} rows has a missing value; nothing is left to fit.")
    if n_missing:
        warn(f"{n_missing} of {n_selected} rows were dropped because of missing values.", MissingRowsWarning)


def _is_complete(array: Any) -> bool:
    """Whether an array or column has no missing value, as far as its type and sum tell; the sum of complete numbers is finite."""
    array = array.data if issparse(array) else array
    dtype = getattr(array, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf":
        return False
    return dtype.kind != "f" or isfinite(np.add.reduce(np.asarray(array), axis=None))


def _incomplete(array: Any) -> NDArray:
    """Return which rows have a missing value, without a temporary of the size of a design."""
    if issparse(array):
        return rows_with(array, np.isnan(array.data))
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


def _subset_mask(frame: pd.DataFrame, subset: Any) -> NDArray:
    n = len(frame)
    if isinstance(subset, pd.Series) and len(subset) == n:
        subset = aligned(subset, frame.index, "subset")
    array = np.asarray(np.ma.filled(subset, False) if isinstance(subset, np.ma.MaskedArray) else subset)
    if array.dtype == object and all(isinstance(value, (bool, np.bool_)) for value in array.ravel()):
        array = array.astype(bool)
    if array.ndim != 1:
        raise InvalidDataError("subset must be booleans, one per row, labels of the index, or a condition as a string.")
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


def _refuse_missing_levels(frame: pd.DataFrame, used: list[str]) -> None:
    """Refuse missing values of factors, which no design has columns for."""
    for name in used:
        absent = 0 if pd.api.types.is_numeric_dtype(frame[name].dtype) else int(frame[name].isna().sum())
        if absent:
            raise InvalidDataError(f"{name!r} is missing in {absent} rows; missing='drop' drops them.")
