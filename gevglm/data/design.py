"""From what the user has (formula and table, or arrays) to a design: numbers, names, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data import formula as formulas
from gevglm.data import outcome as outcomes
from gevglm.data.grouping import Grouping
from gevglm.data.row_masks import judge_rows, rows_to_keep
from gevglm.data.row_weights import RowWeights
from gevglm.data.selection import Selection
from gevglm.data.tables import as_frame, check_labels, column, vector, without_unused_levels
from gevglm.engine import MemoryEngine
from gevglm.exceptions import InvalidDataError


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
    index : Index or None
        Labels of the rows used; None if the data given have none.
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
    index: pd.Index | None = field(default=None, repr=False)
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

    @property
    def has_rows(self) -> bool:
        """Whether the rows are held in memory (no more, after they were dropped)."""
        return self.X is not None

    @property
    def n_rows(self) -> int:
        """Rows used."""
        return len(self.y)

    @property
    def counts(self) -> NDArray | None:
        """Observations behind each row, by frequency weight and trials, or None where each row is one."""
        return RowWeights.of(self).counts

    @property
    def n_events(self) -> float:
        """Events, each row counted by its frequency weight and trials."""
        counts = self.counts
        return float((self.y if counts is None else counts * self.y).sum())

    @property
    def n_total(self) -> float:
        """Observations, each row counted by its frequency weight and trials."""
        counts = self.counts
        return float(len(self.y) if counts is None else counts.sum())

    @property
    def sum_freq(self) -> float:
        """Sum of the frequency weights."""
        return float(len(self.y) if self.freq is None else self.freq.sum())

    @property
    def n_broken_frequencies(self) -> int:
        """Frequency weights that are no whole numbers."""
        return 0 if self.freq is None else int((self.freq != np.round(self.freq)).sum())

    def engine(self, exog: NDArray | None = None) -> MemoryEngine:
        """Return the rows, as the solver sees them; with another design matrix, if one is given."""
        if self.y is None:
            raise InvalidDataError(
                "the rows of the fit are not in memory any more (a saved model has none); give data."
            )
        X = self.X if exog is None else exog
        return MemoryEngine(X, self.y, freq=self.freq, var=self.var, trials=self.trials, offset=self.offset)

    def labelled(self) -> tuple[Any, Any]:
        """Return outcome and design matrix with the labels that statsmodels shows."""
        if self.index is None:
            return self.y, self.X
        y = pd.Series(self.y, index=self.index, name=self.outcome, copy=False)
        return y, pd.DataFrame(self.X, index=self.index, columns=self.names, copy=False)

    def reweighted(self, weights: Callable[[NDArray], NDArray | None]) -> Design:
        """Return the design with weights that depend on the outcome."""
        added = weights(self.y)
        if added is None:
            return self
        return replace(self, var=added if self.var is None else added * self.var)

    def unweighted(self) -> Design:
        """Return the design without variance weights."""
        return replace(self, var=None)

    def grouping(self, groups: Any) -> Grouping:
        """Return the clusters of the rows, from arrays or from one or two column names."""
        return Grouping.of(self.rows_of(groups, "groups"))

    def same_outcomes(self, other: Any) -> bool:
        """Whether another design has the same rows, as far as their outcomes tell."""
        return self.n_rows == other.n_rows and other.has_rows and np.array_equal(self.y, other.y)

    def column_variances(self) -> NDArray:
        """Return the variance of each column."""
        return self.X.var(axis=0)

    def rows_of(self, values: Any, role: str) -> NDArray:
        """Return per-row values (cluster codes, say), given as arrays or as one or two column names, for the rows used."""
        names = [values] if isinstance(values, str) else values
        if isinstance(names, (list, tuple)) and len(names) <= 2 and all(isinstance(name, str) for name in names):
            if self.frame is None:
                raise InvalidDataError(f"{role}={values!r} names columns, but the model was built from arrays.")
            return np.column_stack([column(self.frame, name, role).to_numpy() for name in names])
        array = np.asarray(values)
        if len(array) == self.n_given:
            return array if self.rows is None else array[self.rows]
        if len(array) != len(self.y):
            raise InvalidDataError(f"{role} has {len(array)} rows, but the data have {self.n_given}.")
        return array

    def labels_of(self, positions: list[int]) -> list[str]:
        """Return how the user knows the rows at these positions: by label, or by position in the data given."""
        if self.index is not None:
            return [str(label) for label in self.index[positions]]
        return [str(position) for position in (positions if self.rows is None else self.rows[positions])]

    def on_rows(self, rows: NDArray) -> Design:
        """Return the design of some of the rows, or of some of them more than once, without formula and table."""
        vectors = {
            name: None if getattr(self, name) is None else getattr(self, name)[rows]
            for name in ("freq", "var", "trials", "offset")
        }
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            rows=None,
            index=None,
            recipe=None,
            frame=None,
            n_given=len(rows),
            **vectors,
        )

    def without_rows(self) -> Design:
        """Return the design without anything of the length of the data."""
        _ = self.constant  # looked for among the rows
        bare = copy(self)
        bare.X = bare.y = bare.freq = bare.var = bare.trials = bare.offset = bare.rows = bare.index = bare.frame = None
        return bare


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
    frame = as_frame(data)
    n = len(frame)
    if n == 0:
        raise InvalidDataError("the data have no rows.")
    selection = Selection(formula, scope, offset, exposure, freq_weights, var_weights, subset, missing)
    chosen = selection.of(frame)
    judge_rows(n, chosen.n_selected, chosen.n_missing, missing)
    recipe = formulas.Recipe(
        selection.right,
        without_unused_levels(chosen.frame, selection.used(frame.columns)),
        selection.scope_beside(frame.columns),
        engine or formulas.default_engine(),
    )
    return _finish(
        recipe.take_first(),
        chosen.values,
        recipe.names,
        chosen.columns,
        outcome=formulas.outcome_name(selection.left, frame.columns),
        event=event,
        rows=chosen.rows,
        index=chosen.frame.index,
        n_given=n,
        n_missing=chosen.n_missing,
        array_offset=offset is not None and not isinstance(offset, str),
        array_exposure=exposure is not None and not isinstance(exposure, str),
        offset_name=offset if isinstance(offset, str) else None,
        exposure_name=exposure if isinstance(exposure, str) else None,
        recipe=recipe,
        frame=chosen.frame,
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
    if hasattr(exog, "to_pandas"):  # polars and pyarrow
        exog = exog.to_pandas()
    names = [str(name) for name in exog.columns] if hasattr(exog, "columns") else None
    labelled = exog if isinstance(exog, pd.DataFrame) else endog if isinstance(endog, pd.Series) else None
    index = None if labelled is None else labelled.index
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
    rows, n_missing = rows_to_keep(
        pd.DataFrame(index=range(n)) if subset is not None else n, subset, missing, checked, []
    )
    if rows is not None:
        X, y = X[rows], y[rows]
        columns = {role: None if given is None else given[rows] for role, given in columns.items()}
    design = _finish(
        X,
        y,
        names or [],
        columns,
        outcome=outcome,
        event=event,
        rows=rows,
        index=index if index is None or rows is None else index[rows],
        n_given=n,
        n_missing=n_missing,
        array_offset=offset is not None,
        array_exposure=exposure is not None,
    )
    if names is None:
        others = itertools.count(1)
        design.names = ["const" if j == design.constant else f"x{next(others)}" for j in range(X.shape[1])]
    return design


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
    if X.shape[1] == 0:
        raise InvalidDataError("the design has no columns; a model with a constant only is 'y ~ 1'.")
    for role in ("freq_weights", "var_weights"):
        _check_weights(columns[role], role)
    y, event, freq, trials = outcomes.resolve(
        values, facts.pop("event"), facts["outcome"], columns["freq_weights"], columns.get("n_trials")
    )
    offset = combined_offset(columns["offset"], columns["exposure"])
    return Design(
        X, y, names, event=event, freq=freq, var=columns["var_weights"], trials=trials, offset=offset, **facts
    )


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
