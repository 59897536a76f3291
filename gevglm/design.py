"""From what the user has (formula and table, or arrays) to a design: numbers, names, and nothing else."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gevglm import formulas
from gevglm.exceptions import InvalidDataError, MissingRowsWarning, nearest, unknown_option, warn
from gevglm.linalg import one_blas_thread
from gevglm.tables import as_frame, check_labels, vector, without_unused_levels

MISSING = ("drop", "raise", "none")


@dataclass
class Design:
    """The numbers of a regression.

    Attributes
    ----------
    X : ndarray of shape (n, k)
    y : ndarray of shape (n,)
        Outcomes in [0, 1]; shares of successes for grouped rows.
    names : list of str
    outcome : str
        Name of the outcome.
    event : object
        The level of the outcome that counts as the event.
    freq, var, trials, offset : ndarray of shape (n,) or None
    rows : ndarray of int or None
        Positions of the rows used in the data given; None if all were.
    n_given : int
        Rows of the data given.
    n_missing : int
        Rows dropped because of missing values.
    array_offset, array_exposure : bool
        Whether an offset, an exposure was given as an array, so that prediction on new data has to be given one too.
    offset_name, exposure_name : str or None
        Columns that prediction on new data looks for.
    recipe : Recipe or None
        The right-hand side of the formula.
    frame : DataFrame or None
        The rows used of the table given.
    """

    X: NDArray
    y: NDArray
    names: list[str]
    outcome: str = "y"
    event: Any = 1
    freq: NDArray | None = None
    var: NDArray | None = None
    trials: NDArray | None = None
    offset: NDArray | None = None
    rows: NDArray | None = None
    n_given: int = 0
    n_missing: int = 0
    array_offset: bool = False
    array_exposure: bool = False
    offset_name: str | None = None
    exposure_name: str | None = None
    recipe: formulas.Recipe | None = None
    frame: pd.DataFrame | None = field(default=None, repr=False)

    @cached_property
    def constant(self) -> int | None:
        """The first column of equal nonzero values that are 1, if there is one."""
        head = self.X[:64]
        for j in np.flatnonzero((head == 1.0).all(axis=0)):
            if (self.X[:, j] == 1.0).all():
                return int(j)
        return None

    def rows_of(self, values: ArrayLike, role: str) -> NDArray:
        """Return per-row values of the data given (cluster codes, say), for the rows used."""
        array = np.asarray(values)
        if len(array) == self.n_given:
            return array if self.rows is None else array[self.rows]
        if len(array) != len(self.y):
            raise InvalidDataError(f"{role} has {len(array)} rows, but the data have {self.n_given}.")
        return array


def from_formula(
    formula: str,
    data: Any,
    *,
    scope: dict[str, Any],
    event: Any = None,
    offset: Any = None,
    exposure: Any = None,
    freq_weights: Any = None,
    var_weights: Any = None,
    subset: Any = None,
    missing: str = "drop",
    engine: str | None = None,
) -> Design:
    """Build a design from a formula and a table."""
    _check_missing_word(missing)
    frame = as_frame(data)
    if len(frame) == 0:
        raise InvalidDataError("the data have no rows.")
    left, right = formulas.split(formula)
    scope = {name: value for name, value in scope.items() if name not in frame.columns}
    twice = [name for name in formulas.names_in(formula) if (frame.columns == name).sum() > 1]
    if twice:
        raise InvalidDataError(f"the data have more than one column {twice[0]!r}.")
    n = len(frame)
    columns = {
        "offset": vector(offset, frame, "offset", n),
        "exposure": vector(exposure, frame, "exposure", n),
        "freq_weights": vector(freq_weights, frame, "freq_weights", n),
        "var_weights": vector(var_weights, frame, "var_weights", n),
    }
    values, outcome = formulas.evaluate_outcome(left, frame, scope)
    predictors = set(formulas.names_in(right))
    repeated = [name for name in formulas.names_in(left) if name in frame.columns and name in predictors]
    if repeated:
        raise InvalidDataError(f"the outcome {repeated[0]!r} also stands on the right-hand side of the formula.")
    used = [name for name in formulas.names_in(formula) if name in frame.columns]
    rows, n_missing = _rows_to_keep(frame, subset, missing, [values, *columns.values()], used)
    if rows is not None:
        frame = frame.iloc[rows]
        values = values.iloc[rows] if isinstance(values, pd.Series) else np.asarray(values)[rows]
        columns = {role: None if column is None else column[rows] for role, column in columns.items()}
    if missing == "none":
        for name in used:
            absent = 0 if pd.api.types.is_numeric_dtype(frame[name].dtype) else int(frame[name].isna().sum())
            if absent:
                raise InvalidDataError(f"{name!r} is missing in {absent} rows; missing='drop' drops them.")
    recipe = formulas.Recipe(right, without_unused_levels(frame, used), scope, engine or formulas.default_engine())
    return _finish(
        recipe.take_first(),
        values,
        recipe.names,
        columns,
        outcome=outcome,
        event=event,
        rows=rows,
        n_given=n,
        n_missing=n_missing,
        array_offset=offset is not None and not isinstance(offset, str),
        array_exposure=exposure is not None and not isinstance(exposure, str),
        offset_name=offset if isinstance(offset, str) else None,
        exposure_name=exposure if isinstance(exposure, str) else None,
        recipe=recipe,
        frame=frame,
    )


def from_arrays(
    endog: Any,
    exog: Any,
    *,
    event: Any = None,
    offset: Any = None,
    exposure: Any = None,
    freq_weights: Any = None,
    var_weights: Any = None,
    n_trials: Any = None,
    subset: Any = None,
    missing: str = "none",
) -> Design:
    """Build a design from an outcome and a design matrix, the latter as it is."""
    _check_missing_word(missing)
    if hasattr(exog, "to_pandas"):  # polars and pyarrow
        exog = exog.to_pandas()
    names = [str(name) for name in exog.columns] if hasattr(exog, "columns") else None
    if isinstance(exog, pd.DataFrame):
        options = {"offset": offset, "exposure": exposure, "freq_weights": freq_weights, "var_weights": var_weights}
        for role, value in options.items():
            check_labels(value, exog.index, role)
    outcome = str(getattr(endog, "name", None) or "y")
    if isinstance(endog, pd.Series) and isinstance(exog, pd.DataFrame) and not endog.index.equals(exog.index):
        raise InvalidDataError("the outcome and the design have different indexes; align them, or give arrays.")
    X = numeric_matrix(exog)
    y = np.asarray(endog.to_numpy() if hasattr(endog, "to_numpy") else endog)
    n = len(X)
    if n == 0:
        raise InvalidDataError("the data have no rows.")
    if y.shape not in ((n,), (n, 1), (n, 2)):
        raise InvalidDataError(f"the outcome has shape {y.shape}; for {n} rows it has one column, or two of counts.")
    columns = {
        "offset": vector(offset, None, "offset", n),
        "exposure": vector(exposure, None, "exposure", n),
        "freq_weights": vector(freq_weights, None, "freq_weights", n),
        "var_weights": vector(var_weights, None, "var_weights", n),
        "n_trials": vector(n_trials, None, "n_trials", n),
    }
    checked = [] if missing == "none" else [y, X, *columns.values()]
    rows, n_missing = _rows_to_keep(
        pd.DataFrame(index=range(n)) if subset is not None else n, subset, missing, checked, []
    )
    if rows is not None:
        X, y = X[rows], y[rows]
        columns = {role: None if column is None else column[rows] for role, column in columns.items()}
    design = _finish(
        X,
        y,
        names or [],
        columns,
        outcome=outcome,
        event=event,
        rows=rows,
        n_given=n,
        n_missing=n_missing,
        array_offset=offset is not None,
        array_exposure=exposure is not None,
    )
    if names is None:
        others = itertools.count(1)
        design.names = ["const" if j == design.constant else f"x{next(others)}" for j in range(X.shape[1])]
    return design


def resolve_outcome(values: Any, event: Any, name: str) -> tuple[NDArray, Any]:
    """Return the outcome as 0 and 1 (or shares in between) and the level that is the event.

    Raises
    ------
    InvalidDataError
        Unless there are two levels and it is clear which one is the event.
    """
    absent = int(pd.isna(values).sum())
    if absent:
        raise InvalidDataError(f"the outcome {name!r} is missing in {absent} rows; missing='drop' drops them.")
    array = np.asarray(pd.Series(values).infer_objects())
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidDataError(f"the outcome {name!r} is infinite in {int(np.isinf(array).sum())} rows.")
    if (event is None or event in (1, True)) and array.dtype.kind in "biuf":
        y = array.astype(float, copy=False)
        if ((y == 0) | (y == 1)).all():
            return y, (True if array.dtype.kind == "b" else 1)
        if array.dtype.kind == "f" and np.isfinite(y).all() and y.min() >= 0 and y.max() <= 1:
            return y, 1
    levels = [getattr(level, "item", lambda level=level: level)() for level in pd.unique(pd.Series(array))]
    shown = ", ".join(map(repr, levels[:5])) + (", ..." if len(levels) > 5 else "")
    if len(levels) != 2 and not (event is not None and len(levels) == 1):
        raise InvalidDataError(f"the outcome {name!r} has {len(levels)} levels ({shown}); a binary outcome has two.")
    if event is None:
        raise InvalidDataError(
            f"the outcome {name!r} has the levels {shown}; say which one is the event, as in event={levels[0]!r}."
        )
    if event not in levels:
        raise InvalidDataError(
            f"event={event!r} is not a level of {name!r} ({shown}).{nearest(event, map(str, levels))}"
        )
    return (array == event).astype(float), event


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


def _finish(X: NDArray, values: Any, names: list[str], columns: dict[str, NDArray | None], **facts: Any) -> Design:
    event = facts.pop("event")
    if X.shape[1] == 0:
        raise InvalidDataError("the design has no columns; a model with a constant only is 'y ~ 1'.")
    freq, trials = columns["freq_weights"], columns.get("n_trials")
    for role in ("freq_weights", "var_weights"):
        _check_weights(columns[role], role)
    if np.ndim(values) == 2 and np.shape(values)[1] == 2:
        if event is not None:
            raise InvalidDataError("event= does not go with counts: the first column counts the events.")
        y, trials = _from_counts(values, facts["outcome"])
        event = "successes"
    else:
        y, event = resolve_outcome(np.ravel(values), event, facts["outcome"])
        if trials is None and ((y > 0) & (y < 1)).any():
            if freq is None:
                raise InvalidDataError(
                    f"the outcome {facts['outcome']!r} has shares between 0 and 1; give the number of trials behind each as freq_weights=, "
                    "or two columns of counts (successes, failures)."
                )
            freq, trials = None, freq
    if y.min() == y.max() and y[0] in (0.0, 1.0):
        raise InvalidDataError(
            f"the outcome {facts['outcome']!r} is {y[0]:g} in all {len(y)} rows; a binary regression needs both outcomes."
        )
    exposure, offset = columns["exposure"], columns["offset"]
    offset = combined_offset(offset, exposure)
    return Design(
        X, y, names, event=event, freq=freq, var=columns["var_weights"], trials=trials, offset=offset, **facts
    )


def _rows_to_keep(table: Any, subset: Any, missing: str, arrays: list, used: list[str]) -> tuple[NDArray | None, int]:
    """Return the positions of the rows to use (None for all) and how many were dropped as incomplete."""
    n = table if isinstance(table, int) else len(table)
    keep = np.ones(n, dtype=bool) if subset is None else _subset_mask(table, subset, n)
    n_selected = int(keep.sum())
    if n_selected == 0:
        raise InvalidDataError(f"subset selects none of the {n} rows.")
    if missing != "none":
        complete = np.ones(n, dtype=bool)
        for array in arrays:
            if array is not None:
                complete &= ~_incomplete(array)
        for name in used:
            complete &= ~table[name].isna().to_numpy()
        n_missing = int((keep & ~complete).sum())
        if n_missing and missing == "raise":
            raise InvalidDataError(f"{n_missing} of {n_selected} rows have missing values; missing='drop' drops them.")
        keep &= complete
    else:
        n_missing = 0
    if not keep.any():
        raise InvalidDataError(f"every one of the {n_selected} rows has a missing value; nothing is left to fit.")
    if n_missing:
        warn(f"{n_missing} of {n_selected} rows were dropped because of missing values.", MissingRowsWarning)
    return (None if keep.all() else np.flatnonzero(keep)), n_missing


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


def _from_counts(values: Any, name: str) -> tuple[NDArray, NDArray]:
    try:
        counts = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidDataError(
            f"the outcome {name!r} names two columns, which must be counts; they are not numbers."
        ) from None
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        raise InvalidDataError("counts of successes and failures must be finite and not negative.")
    trials = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.where(trials > 0, counts[:, 0] / trials, 0.0), trials


def _check_weights(weights: NDArray | None, role: str) -> None:
    if weights is None:
        return
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        raise InvalidDataError(
            f"{role} must be finite and not negative; {int(wrong.sum())} rows are not (the first is {weights[wrong][0]:g})."
        )
    if not weights.any():
        raise InvalidDataError(f"{role} are zero in all {len(weights)} rows.")


def _check_missing_word(missing: str) -> None:
    if missing not in MISSING:
        raise unknown_option("missing", missing, MISSING)


def numeric_matrix(exog: Any) -> NDArray:
    """Return a design matrix as floats, in the precision it has."""
    X = exog.to_numpy() if hasattr(exog, "to_numpy") else np.asarray(exog)
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
