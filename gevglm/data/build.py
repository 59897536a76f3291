"""From a formula and a table, in memory or in pieces, or from arrays, to a design."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from gevglm.data import dialect
from gevglm.data import formula as formulas
from gevglm.data import outcome as outcomes
from gevglm.data.design import Design, constant_column, copied, first_look, weight_names
from gevglm.data.new_rows import is_read_by_formula, outcomes_in, read_matrix, read_table, weights_in
from gevglm.data.selection import (
    WEIGHTS,
    Selection,
    are_all_used,
    check_rows,
    check_weights,
    cluster_columns,
    complete_rows,
    rows_with_weight,
)
from gevglm.data.sources import as_source, wide_source
from gevglm.data.streamed_design import from_source
from gevglm.data.survey import SampleUnits, Survey, sample_of
from gevglm.data.tables import (
    aligned,
    as_frame,
    combined_offset,
    numeric_matrix,
    owned,
    unmasked,
    vector,
    without_unused_levels,
)
from gevglm.engine.base import product, times
from gevglm.engine.linalg import Matrix
from gevglm.engine.monitor import Monitor
from gevglm.exceptions import GevglmWarning, InvalidDataError, warn


def from_table(
    formula: str, data: Any, scope: dict[str, Any], engine: str | None, monitor: Monitor, **facts: Any
) -> Design:
    """Build a design from a formula and whatever holds the rows: in memory, or in pieces."""
    source = as_source(data)
    table = as_frame(data) if source is None else source
    written = dialect.as_read(formula, table.columns, scope)
    if source is None:
        source = wide_source(written, table, engine)
    if source is None:
        return from_formula(written, table, scope=scope, engine=engine, **facts)
    return from_source(written, source, scope=scope, engine=engine, monitor=monitor, **facts)


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
    sampling_weights: Any = None,
    subset: Any = None,
    missing: str = "drop",
    clusters: Any = None,
    design: Survey | None = None,
    engine: str | None = None,
) -> Design:
    """Build a design from a formula and a table."""
    frame = owned(as_frame(data))
    n = len(frame)
    if n == 0:
        raise InvalidDataError("the data have no rows.")
    weights = {"freq_weights": freq_weights, "var_weights": var_weights, "sampling_weights": sampling_weights}
    selection = Selection(
        formula, scope, offset, exposure, **weights, subset=subset, missing=missing, clusters=clusters
    )
    sample = None if design is None else sample_of(design, frame, n)
    chosen = selection.of(frame)
    check_rows(n, chosen.n_asked, chosen.n_selected, chosen.n_missing, missing, weights)
    recipe = formulas.Recipe(
        selection.right,
        without_unused_levels(chosen.frame, chosen.factors),
        selection.scope_beside(frame.columns),
        engine or "formulaic",
    )
    matrix = recipe.take_first()
    return _finish(
        matrix,
        chosen.values,
        chosen.columns,
        constant=constant_column(matrix),
        names=recipe.names,
        recipe=recipe,
        outcome=formulas.outcome_name(selection.left.text, frame.columns),
        event=event,
        rows=chosen.rows,
        index=chosen.frame.index,
        n_given=n,
        n_missing=chosen.n_missing,
        frame=chosen.frame,
        sample=sample if sample is None or chosen.rows is None else sample.taken(chosen.rows),
        weight_names=weight_names(weights),
        **_offset_facts(offset, exposure),
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
    sampling_weights: Any = None,
    n_trials: Any = None,
    missing: str = "none",
    clusters: Any = None,
    design: Survey | None = None,
    owned: bool = False,
) -> Design:
    """Build a design from an outcome and a design matrix: a copy of it, unless it is `owned`, so that nobody else can change it."""
    if hasattr(exog, "to_pandas"):  # polars and pyarrow
        exog = exog.to_pandas()
    names = [str(name) for name in exog.columns] if hasattr(exog, "columns") else None
    labelled = exog if isinstance(exog, pd.DataFrame) else endog if isinstance(endog, pd.Series) else None
    index = None if labelled is None else labelled.index
    weights = {"freq_weights": freq_weights, "var_weights": var_weights, "sampling_weights": sampling_weights}
    options = {"offset": offset, "exposure": exposure, **weights}
    if isinstance(exog, pd.DataFrame):
        options = {role: aligned(value, exog.index, role) for role, value in options.items()}
    outcome = str(getattr(endog, "name", None) or "y")
    if isinstance(endog, pd.Series) and isinstance(exog, pd.DataFrame) and not endog.index.equals(exog.index):
        raise InvalidDataError("the outcome and the design have different indexes; align them, or give arrays.")
    X = numeric_matrix(exog, owned)
    endog = endog.toarray() if issparse(endog) else endog
    y = np.array(endog.to_numpy() if hasattr(endog, "to_numpy") else unmasked(endog))
    n = X.shape[0]
    if n == 0:
        raise InvalidDataError("the data have no rows.")
    if y.shape not in ((n,), (n, 1), (n, 2)):
        raise InvalidDataError(f"the outcome has shape {y.shape}; for {n} rows it has one column, or two of counts.")
    columns = {role: vector(value, None, role, n) for role, value in (options | {"n_trials": n_trials}).items()}
    sample = None if design is None else sample_of(design, None, n)
    rows, n_missing = None, 0
    complete, constant = first_look(X)
    if clusters is not None or not (complete and are_all_used(missing, y, columns)):
        clustered = cluster_columns(clusters, n, None, index)
        rows, n_missing = _rows_used(X, y, columns, clustered, missing, weights | {"n_trials": n_trials})
    if rows is None:
        if not issparse(X) and (X.base is not None or X is exog) and not owned:  # the caller may change theirs
            X = copied(X)
    else:
        X, y = X[rows], y[rows]
        columns = {role: None if given is None else given[rows] for role, given in columns.items()}
        constant = constant_column(X)
    if names is None:
        others = itertools.count(1)
        names = ["const" if j == constant else f"x{next(others)}" for j in range(X.shape[1])]
    return _finish(
        X,
        y,
        columns,
        constant=constant,
        names=names,
        outcome=outcome,
        event=event,
        rows=rows,
        index=index if index is None or rows is None else index[rows],
        n_given=n,
        n_missing=n_missing,
        sample=sample if sample is None or rows is None else sample.taken(rows),
        **_offset_facts(offset, exposure),
    )


def from_new_rows(
    known: Design, data: Any, *, endog: Any = None, clusters: Any = None, sample: SampleUnits | None = None
) -> Design:
    """Build the design of new rows with outcomes as that of a model has it: the same columns, levels, knots, and columns of offset and weights.

    Rows without an outcome, a covariate or their cluster are left out, with a warning.
    """
    by_name = is_read_by_formula(known, data)
    frame = as_frame(data) if by_name or isinstance(data, pd.DataFrame) else None
    read = (read_table if by_name else read_matrix)(known.layout, data)
    n = read.X.shape[0]
    roles: dict[str, Any] = dict.fromkeys(WEIGHTS)
    if by_name:
        roles |= weights_in(known.layout, as_frame(data).columns)
    if endog is None:
        if frame is None or not by_name:
            raise InvalidDataError("give the outcomes of the new data as endog=.")
        endog = outcomes_in(known.layout, frame)
    values = np.asarray(endog)
    if not n or len(values) != n:
        raise InvalidDataError(f"the new data have {n} rows, and {len(values)} outcomes.")
    columns = {role: vector(name, frame, role, n) for role, name in roles.items()} | {"offset": read.offset}
    clustered = cluster_columns(clusters, n, frame, None if frame is None else frame.index)
    selected = rows_with_weight(n, values, columns)
    used = selected & complete_rows(n, "drop", [values, read.X, *columns.values(), *clustered])
    if not used.any():
        raise InvalidDataError(f"none of the {n} new rows has an outcome and all that a prediction needs.")
    lost = int(selected.sum() - used.sum())
    if lost:
        warn(f"{lost} of {n} new rows lack an outcome, or what a prediction needs, and are left out.", GevglmWarning)
    rows = np.flatnonzero(used)
    counted = values.ndim == 2 and values.shape[1] == 2
    return _finish(
        read.X[rows],
        values[rows],
        {role: None if given is None else given[rows] for role, given in columns.items()} | {"exposure": None},
        constant=known.constant,
        names=known.names,
        recipe=known.recipe,
        outcome=known.outcome,
        event=None if counted else known.event,
        rows=None if used.all() else rows,
        index=None if read.index is None else read.index[rows],
        n_given=n,
        n_missing=lost,
        frame=None if frame is None else frame.iloc[rows],
        sample=sample if sample is None or used.all() else sample.taken(rows),
        weight_names=known.weight_names,
        offset_name=known.offset_name,
        exposure_name=known.exposure_name,
    )


def _rows_used(
    X: Matrix,
    y: NDArray,
    columns: dict[str, NDArray | None],
    clustered: Sequence[Any],
    missing: str,
    weights: dict[str, Any],
) -> tuple[NDArray | None, int]:
    """Return the positions of the complete rows with weight, None for all, and how many were left out as incomplete."""
    n = X.shape[0]
    selected = rows_with_weight(n, y, columns)
    used = selected & complete_rows(n, missing, [y, X, *columns.values(), *clustered])
    n_selected, n_missing = int(selected.sum()), int(selected.sum() - used.sum())
    check_rows(n, n, n_selected, n_missing, missing, weights)
    return None if used.all() else np.flatnonzero(used), n_missing


def _finish(X: Matrix, values: Any, columns: dict[str, NDArray | None], **facts: Any) -> Design:
    if X.shape[1] == 0:
        raise InvalidDataError("the design has no columns; a model with a constant only is 'y ~ 1'.")
    for role in WEIGHTS:
        check_weights(columns[role], role)
    y, event, freq, trials = outcomes.resolve(
        values, facts.pop("event"), facts["outcome"], columns["freq_weights"], columns.get("n_trials")
    )
    offset = combined_offset(columns["offset"], columns["exposure"])
    given = product(columns["var_weights"], columns["sampling_weights"])
    vectors: dict[str, Any] = {"freq": freq, "var": given, "trials": trials, "offset": offset, "represents": given}
    members = columns["sampling_weights"]
    population = None if members is None else float(times(members, freq, trials).sum())
    return Design(X=X, y=y, event=event, population=population, **vectors, **facts)


def _offset_facts(offset: Any, exposure: Any) -> dict[str, Any]:
    """Return what a :class:`Layout` says of an offset and an exposure that were given by name, as arrays, or not at all."""
    names = {"offset_name": offset, "exposure_name": exposure}
    arrays = {"array_offset": offset, "array_exposure": exposure}
    return {key: value if isinstance(value, str) else None for key, value in names.items()} | {
        key: value is not None and not isinstance(value, str) for key, value in arrays.items()
    }
