"""fit_many(): many outcomes, or many weightings of the rows, of one design, fitted at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.batches.many_results import Failure, ManyFits
from gevglm.covariance import Fitted
from gevglm.data import outcome as outcomes_of
from gevglm.data.formula import names_in
from gevglm.data.observations import Part
from gevglm.data.scope import caller_names
from gevglm.data.sources import as_source
from gevglm.data.tables import aligned, as_frame, columns_given
from gevglm.engine.memory import MemoryEngine
from gevglm.estimation.batched import BatchRows, batchable, estimate_all, fits_at_once
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import (
    GevglmError,
    GevglmWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    SupportError,
    listed,
    silenced,
    unknown_option,
    warn,
)
from gevglm.fitting import Estimator
from gevglm.model import BinaryGLM
from gevglm.options import FitOptions, ModelOptions, known_arguments

COV_TYPES = ("nonrobust", "HC0")
PLACE = "_outcome"  # stands for the outcome while the design is built


@known_arguments
def fit_many(
    formula_or_endog: Any,
    data_or_exog: Any = None,
    *,
    outcomes: Any = None,
    weights: Any = None,
    xi: float | None = None,
    link: Any = None,
    loss: str | None = None,
    bias: Any = None,
    alpha: float = 0.0,
    penalize_intercept: bool = False,
    offset: Any = None,
    exposure: Any = None,
    freq_weights: Any = None,
    event: Any = None,
    subset: Any = None,
    missing: str = "drop",
    cov_type: str | None = None,
    formula_engine: str | None = None,
    maxiter: int = 100,
    tol: float = 1e-8,
) -> ManyFits:
    """Fit one model to many outcomes, or under many weightings of its rows: simulation studies, bootstraps, jackknives, permutations.

    Parameters
    ----------
    formula_or_endog : str or array_like
        With `weights`: a formula such as ``"y ~ x1 + x2"``, or the outcome. With `outcomes`: the right-hand side, as in ``"~ x1 + x2"``, or the
        design matrix.
    data_or_exog : table or array_like, optional
        With a formula: a table. With an outcome: the design matrix, as it is (no constant is added).
    outcomes : list of str, table or array_like of shape (n, B)
        Outcomes, a column each: names of columns of the data, or their values. Rows in which an outcome is missing are left out of its fit.
    weights : list of str, table or array_like of shape (n, B)
        Weights, a column for each fit, that say how many observations a row is: how often it was drawn in a resample, say.
    xi, link, loss, bias, alpha, penalize_intercept, offset, exposure, event, subset, missing, formula_engine, maxiter, tol
        See :func:`gevglm.fit`; xi and alpha are numbers.
    freq_weights : str or array_like, optional
        How many observations each row is, for all `outcomes`.
    cov_type : {"nonrobust", "HC0"}, optional

    Returns
    -------
    ManyFits
        A row for each fit. A fit without estimates (one class, separation, weights that are not numbers) has missing values and a reason.

    Warns
    -----
    GevglmWarning
        If fits have no estimates.

    Notes
    -----
    Fits that share a design share their matrix products. Each ends where :func:`gevglm.fit` would,
    which takes over where the iteration in common does not converge, and with methods of bias reduction other than "mean", "jeffreys" and "logf".

    Examples
    --------
    >>> import gevglm, numpy as np
    >>> data = gevglm.datasets.simulate_study(rng=1)
    >>> drawn = np.random.default_rng(1).multinomial(len(data), np.full(len(data), 1 / len(data)), size=200).T
    >>> fits = gevglm.fit_many("event ~ age + smoker", data, weights=drawn)
    >>> fits.params.std().round(3)
    Intercept    0.111
    age          0.006
    smoker       0.147
    dtype: float64
    """
    words = locals()
    _check_words(words)
    options = FitOptions.of(words)
    subject = formula_or_endog, data_or_exog
    scope = caller_names(formula_or_endog, subset) if isinstance(formula_or_endog, str) else {}
    model = _model(subject, ModelOptions.of(words), scope, outcomes)
    role, given = ("weights", weights) if outcomes is None else ("outcomes", outcomes)
    table = _columns(model, given, role, subject)
    columns = _weightings(model, table) if outcomes is None else _outcomes(model, table, event, missing)
    fits = _fitted(model, options, columns, table.columns)
    if fits.failures:
        warn(
            f"{len(fits.failures)} of {len(fits)} fits have no estimates and are rows of missing values; see fits.reason. "
            f"The first ({fits.failures[0].fit}) because {fits.failures[0].reason}",
            GevglmWarning,
        )
    return fits


# -- what is fitted ------------------------------------------------------------------------------


def _check_words(words: dict[str, Any]) -> None:
    if (words["outcomes"] is None) == (words["weights"] is None):
        raise IncompatibleOptionsError("give either outcomes=, a column for each fit, or weights=, likewise.")
    for word in ("xi", "alpha"):
        if isinstance(words[word], str):
            raise InvalidOptionError(
                f"{word}={words[word]!r}: many fits at once need {word} as a number; choose it by fit(), or call fit() for each."
            )
    if words["weights"] is not None and words["freq_weights"] is not None:
        raise IncompatibleOptionsError(
            "weights= are frequency weights; multiply them by freq_weights, and leave that out."
        )
    known = {word.lower() for word in COV_TYPES}
    if words["cov_type"] is not None and str(words["cov_type"]).lower() not in known:
        raise unknown_option("cov_type", words["cov_type"], COV_TYPES)


def _model(subject: tuple[Any, Any], options: ModelOptions, scope: dict[str, Any], outcomes: Any) -> BinaryGLM:
    """Build the model; where there are many outcomes, with one in their place that has both classes."""
    first, second = subject
    many_outcomes = outcomes is not None
    if many_outcomes:
        options = replace(options, event=None)
    if not isinstance(first, str):
        endog, exog = (None, first if second is None else second) if many_outcomes else subject
        if exog is None or (many_outcomes and first is not None and second is not None):
            raise InvalidOptionError("give fit_many(y, X, weights=...) or fit_many(X, outcomes=...).")
        if options.subset is not None or options.formula_engine is not None:
            raise InvalidOptionError("subset and formula_engine go with a formula; select the rows of the arrays.")
        model = BinaryGLM.of_arrays(_alternating(len(exog)) if many_outcomes else endog, exog, options)
        return _one_observation_a_row(model)
    if second is None:
        raise InvalidOptionError(f"the formula {first!r} needs data: fit_many(formula, data).")
    if as_source(second) is not None:
        raise InvalidOptionError("many fits at once need the rows in memory; read the table first.")
    frame = as_frame(second)
    if many_outcomes:
        left, _, right = first.rpartition("~")
        if left.strip():
            raise IncompatibleOptionsError(
                f"the formula has the outcome {left.strip()!r}, but outcomes= are given; write '~{right}'."
            )
        named = {name for name in outcomes if isinstance(name, str)} - set(names_in(right))  # are not in y ~ .
        frame = frame.drop(columns=[name for name in frame if name in named])
        first, frame = f"{PLACE} ~ {right.strip()}", frame.assign(**{PLACE: _alternating(len(frame))})
    model = BinaryGLM.of_table(first, frame, options, scope)
    model.design.need_rows("many fits at once")
    return _one_observation_a_row(model)


def _one_observation_a_row(model: BinaryGLM) -> BinaryGLM:
    if model.design.trials is not None:
        raise InvalidDataError(
            "many fits at once take outcomes of single observations, not shares or counts of trials."
        )
    return model


def _alternating(n: int) -> NDArray:
    return np.arange(n) % 2.0


def _columns(model: BinaryGLM, given: Any, role: str, subject: tuple[Any, Any]) -> pd.DataFrame:
    """Return the columns of outcomes or weights, for the rows of the model."""
    design = model.design
    frame = as_frame(subject[1]) if isinstance(subject[0], str) else None
    table = columns_given(given, frame, role, (design.n_given,))
    labels = frame if frame is not None else subject[1] if isinstance(subject[1], pd.DataFrame) else None
    if labels is not None and isinstance(given, pd.DataFrame):
        table = aligned(table, labels.index, role)
    if len(table) != design.n_given:
        raise InvalidDataError(
            f"{role} has {len(table)} rows, but the data have {design.n_given}; a column is a fit, so that {role} has shape (n, B)."
        )
    if not table.shape[1] or (np.ndim(given) == 1 and not isinstance(given, (list, tuple))):
        raise InvalidDataError(f"{role} needs a column for each fit: an array of shape (n, B), or names of columns.")
    return table if design.rows is None else table.iloc[design.rows]


@dataclass(frozen=True)
class _Columns:
    """Outcomes and weights of all fits, and what is wrong with some."""

    y: NDArray  # of shape (n, 1) or (n, B)
    weight: NDArray | None  # likewise
    reasons: dict[int, str]

    @property
    def fits(self) -> int:
        return max(self.y.shape[1], 1 if self.weight is None else self.weight.shape[1])

    def some(self, fits: NDArray) -> tuple[NDArray, NDArray | None]:
        """Return outcomes and weights of some fits."""
        every = len(fits) == fits[-1] - fits[0] + 1
        chosen: Any = slice(fits[0], fits[-1] + 1) if every else fits

        def of(columns: NDArray) -> NDArray:
            return columns if columns.shape[1] == 1 else np.ascontiguousarray(columns[:, chosen])

        return of(self.y), None if self.weight is None else of(self.weight)

    def pooled(self) -> tuple[NDArray, NDArray]:
        """Return the mean outcome and the mean weight of each row over all fits."""
        usable = np.setdiff1d(np.arange(self.fits), list(self.reasons))
        y, weight = self.some(usable if len(usable) else np.arange(self.fits))
        if weight is None or weight.shape[1] == 1 or y.shape[1] == 1:
            total = np.ones(len(y)) if weight is None else weight.mean(axis=1)
            return y.mean(axis=1), total
        total = weight.mean(axis=1)
        return np.divide((weight * y).mean(axis=1), total, out=np.zeros_like(total), where=total > 0), total

    def totals(self) -> tuple[NDArray, NDArray]:
        """Return the sums of weights and of events of each fit."""
        weight = np.ones((len(self.y), 1)) if self.weight is None else self.weight
        shape = (self.fits,)
        if weight.shape[1] == 1 or self.y.shape[1] == 1:
            narrow, wide = sorted((weight, self.y), key=lambda columns: columns.shape[1])
            events = wide.T @ narrow[:, 0]
        else:
            events = np.einsum("nb,nb->b", weight, self.y)
        return np.broadcast_to(weight.sum(axis=0), shape), np.broadcast_to(events, shape)

    def part(self, fit: int) -> Part:
        """Return the observations of a fit."""
        y, weight = (None if each is None else each[:, 0] for each in self.some(np.array([fit])))
        assert y is not None
        weight = np.ones(len(y)) if weight is None else weight
        return Part.of(weight * y, weight * (1.0 - y))


def _weightings(model: BinaryGLM, table: pd.DataFrame) -> _Columns:
    """Return the weights as numbers; those that are none, or are negative, are the affair of their fit."""
    try:
        weight = np.ascontiguousarray(table.to_numpy(dtype=float, na_value=np.nan))
    except (TypeError, ValueError):
        words = [str(name) for name, dtype in table.dtypes.items() if not pd.api.types.is_numeric_dtype(dtype)]
        raise InvalidDataError(f"weights must be numbers, but those of {listed(words)} are not.") from None
    bad = (~(np.isfinite(weight) & (weight >= 0.0))).sum(axis=0)
    reasons = {
        int(j): f"weights must be finite and not negative; {bad[j]} rows have other weights."
        for j in np.flatnonzero(bad)
    }
    if reasons:
        weight = np.where(bad > 0, 0.0, weight)
    empty = np.setdiff1d(np.flatnonzero(weight.sum(axis=0) == 0.0), list(reasons))
    reasons |= {int(j): "there is nothing to fit: the weights of all rows are zero." for j in empty}
    return _Columns(model.design.y[:, None], weight, reasons)


def _outcomes(model: BinaryGLM, table: pd.DataFrame, event: Any, missing: str) -> _Columns:
    """Return the outcomes as numbers, and weights that leave out the rows in which they are missing."""
    absent = table.isna().to_numpy()
    lacking = np.flatnonzero(absent.any(axis=0))
    if missing == "raise" and len(lacking):
        names = listed(f"{table.columns[j]} ({absent[:, j].sum()} rows)" for j in lacking)
        raise InvalidDataError(f"these outcomes are missing in some rows: {names}; missing='drop' leaves them out.")
    reasons: dict[int, str] = {}
    y = _zeros_and_ones(table, event)
    if y is None:
        y = np.zeros(table.shape)
        for j, name in enumerate(table.columns):
            present = ~absent[:, j]
            try:
                values = table.iloc[:, j].to_numpy()[present]
                y[present, j] = outcomes_of.resolve(values, event, str(name), None, None).y
            except GevglmError as error:
                reasons[j] = str(error)
                if len(reasons) == table.shape[1]:
                    raise
    y[absent] = 0.0
    if missing == "none":
        reasons |= {int(j): f"the outcome is missing in {absent[:, j].sum()} rows." for j in lacking}
    freq = model.design.freq
    if len(lacking):
        weight = (~absent).astype(float) * (1.0 if freq is None else freq[:, None])
    else:
        weight = None if freq is None else freq[:, None]
    return _Columns(y, weight, reasons)


def _zeros_and_ones(table: pd.DataFrame, event: Any) -> NDArray | None:
    """Return outcomes that are 0 and 1 (or missing) already, all at once."""
    if event not in (None, 1, True) or not all(pd.api.types.is_numeric_dtype(dtype) for dtype in table.dtypes):
        return None
    y = np.array(table.to_numpy(dtype=float, na_value=np.nan), order="C")
    return y if ((y == 0.0) | (y == 1.0) | np.isnan(y)).all() else None


# -- the fits ------------------------------------------------------------------------------------


def _fitted(model: BinaryGLM, options: FitOptions, columns: _Columns, names: pd.Index) -> ManyFits:
    options.check(len(model.design.names))
    estimator, B, k = Estimator.of(model, options), columns.fits, len(model.design.names)
    params, covariance = np.full((B, k), np.nan), np.full((B, k, k), np.nan)
    n_iter, reasons = np.zeros(B, dtype=int), dict(columns.reasons)
    todo = np.setdiff1d(np.arange(B), list(reasons))
    for fits, *found in _in_batches(model, estimator, options, columns, todo):
        params[fits], covariance[fits], n_iter[fits] = found
    for fit in todo[np.isnan(params[todo]).any(axis=1)]:
        try:
            params[fit], covariance[fit], n_iter[fit] = _alone(model, options, columns.part(int(fit)))
        except GevglmError as error:
            reasons[int(fit)] = str(error)
    failures = [Failure(names[j], reasons[j]) for j in sorted(reasons)]
    name = estimator.covariance.name
    return ManyFits(model, names, params, covariance, n_iter, *columns.totals(), failures, name)


def _in_batches(
    model: BinaryGLM, estimator: Estimator, options: FitOptions, columns: _Columns, fits: NDArray
) -> Iterator[tuple]:
    """Yield numbers of fits that converge in batches, with their coefficients, covariances and steps."""
    design, problem = model.design, _problem(model, estimator, options, columns)
    if problem is None:
        return
    size, pairs, penalised = fits_at_once(design.n_rows), None, estimator.penalty is not None
    for start in range(0, len(fits), size):
        chunk = fits[start : start + size]
        rows = BatchRows(design.X, *columns.some(chunk), offset=design.offset, pairs=pairs)
        found, pairs = estimate_all(problem, rows), rows.pairs
        bread, nobs = found.inverse_information, float(design.n_rows)
        covariance = estimator.covariance.matrix(Fitted(rows, model.loss, found.params.T, bread, nobs, penalised))
        good = found.converged
        yield chunk[good], found.params[good], covariance[good], found.n_iter[good]


def _problem(model: BinaryGLM, estimator: Estimator, options: FitOptions, columns: _Columns) -> Problem | None:
    """Return what is estimated, from the fit to the mean of all weights or outcomes on; None if the fits are made one by one."""
    y, weight = columns.pooled()
    engine = MemoryEngine(model.design.X, y, freq=weight, offset=model.design.offset)
    limits: dict[str, Any] = {"tol": options.tol, "maxiter": options.maxiter}
    problem: Problem | None = model.problem(engine, penalty=estimator.penalty, **limits)
    if estimator.bias is not None and problem is not None:
        problem = estimator.bias.as_problem(problem)
    if problem is None or not batchable(problem):
        return None
    problem.start = np.zeros(problem.engine.n_cols)
    if 0.0 < weight @ y < weight.sum():
        with suppress(SupportError):  # for all rows together
            problem.start = replace(problem, start=None).estimate().params
    return problem


def _alone(model: BinaryGLM, options: FitOptions, part: Part) -> tuple:
    """Fit to some observations as :func:`gevglm.fit` does, and refuse what is no estimate."""
    with silenced():
        # a coefficient of 0 for a column that is left out would pass for an estimate in averages over fits
        found = model.on_rows(part).fit_by(replace(options, collinear="raise"))
    if found.separated:
        infinite = listed(found.infinite_names)
        raise InvalidDataError(f"the outcomes are separated: the estimates of {infinite} are infinite.")
    if not found.converged:
        raise GevglmError(f"the fit has not converged: {found.reason}.")
    return np.asarray(found.params), found.cov_params_matrix, found.n_iter
