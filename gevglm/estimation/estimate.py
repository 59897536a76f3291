"""From rows and a loss to coefficients: starting values, and the strategy for each kind of loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.engine import monitor as watch
from gevglm.engine.base import Engine
from gevglm.engine.linalg import COLLINEAR, Cholesky, one_blas_thread
from gevglm.estimation.adjusted_roots import first_root, rough_start
from gevglm.estimation.convergence import judged
from gevglm.estimation.newton import SolverResult
from gevglm.estimation.objective import Adjustment, Objective, Penalty, Task
from gevglm.estimation.refusals import refuse_collinear_columns, refuse_nonfinite_columns
from gevglm.estimation.sums import totals
from gevglm.exceptions import SupportError
from gevglm.losses import Canonical, Loss

SHIFTS = 60


@dataclass(frozen=True)
class Estimate:
    """Coefficients and how they were found.

    Attributes
    ----------
    params : ndarray of shape (k,)
    information : ndarray of shape (k, k)
        Expected second derivative of the loss (plus penalty) at the solution.
    inverse_information : ndarray of shape (k, k)
    observed : ndarray of shape (k, k)
        Observed second derivative of the loss (plus penalty) at the solution.
    weight, events : float
        Sum of the weights, of the weighted outcomes.
    n_iter, n_passes : int
        Newton steps, and passes over the rows (parts of passes not counted).
    decrement : float
    converged : bool
    positive_definite : bool
        Whether the observed second derivative is, so that the solution is a minimum.
    reason : str
        Why the iteration ended.
    """

    params: NDArray
    information: NDArray
    inverse_information: NDArray
    observed: NDArray
    weight: float
    events: float
    n_iter: int
    n_passes: int
    decrement: float
    converged: bool
    positive_definite: bool
    reason: str


def estimate(
    engine: Engine,
    loss: Loss,
    *,
    constant: int | None = None,
    penalty: Penalty | None = None,
    adjustment: Adjustment | None = None,
    start: NDArray | None = None,
    tol: float = 1e-8,
    maxiter: int = 100,
    names: Sequence[str] | None = None,
) -> Estimate:
    """Minimise a loss over the rows of an engine, or find the root of its adjusted gradient.

    Parameters
    ----------
    engine : Engine
    loss : Loss
    constant : int, optional
        The column of ones, if there is one.
    penalty : Penalty, optional
    adjustment : Adjustment, optional
        Bias reduction.
    start : ndarray of shape (k,), optional
        Starting values; by default those of the model with the constant only.
    tol : float
        Distance to the solution, in standard errors and relative to the square root of the null model's loss.
    maxiter : int
    names : sequence of str, optional
        Names of the columns, for messages.

    Returns
    -------
    Estimate
        Honest about convergence; warnings are left to the caller.

    Raises
    ------
    CollinearityError
        If columns are linear combinations of others and nothing penalises them.
    SupportError
        If no starting point keeps every row inside the support of the link (log loss only).

    Notes
    -----
    Convex losses take Newton steps with a search on slopes. The log loss of other links starts from the canonical fit where that is
    feasible, takes Fisher-scoring steps that keep the loss finite and falling, and ends with Newton steps. Where there are
    events enough, a part of the rows gives the starting values.

    Adjusted gradients take Fisher-scoring steps, with a search on the penalised loss where there is one and on the size of the
    adjusted gradient elsewhere.
    """
    with one_blas_thread():
        weight, events = totals(engine)
        task = Task(engine, loss, penalty, constant, names, tol, maxiter, weight, events)
        start = None if start is None else np.asarray(start, dtype=float)
        start = watch.current().fit(loss, start, engine.n_cols)
        if adjustment is None:
            result, steps = _minimum(task, start)
        else:
            result, steps = _root(task, adjustment, start), 0
        if not np.isfinite(result.decrement):
            refuse_nonfinite_columns(engine, names)
        converged, reason = result.converged, result.reason
        if adjustment is None:
            result, converged, reason = judged(task, result)
        observed = result.sums.hessian
        factor = Cholesky(observed)
        if factor.smallest_pivot < COLLINEAR:
            refuse_collinear_columns(engine, penalty, names)
        information = observed
        if adjustment is None and not loss.curvature_is_expected:
            information = task.evaluator(expected=True)(result.params).hessian
        return Estimate(
            params=result.params,
            information=information,
            inverse_information=Cholesky(information).inverse(),
            observed=observed,
            weight=weight,
            events=events,
            n_iter=steps + result.n_iter,
            n_passes=task.passes,
            decrement=result.decrement,
            converged=converged,
            positive_definite=factor.positive,
            reason=reason,
        )


@dataclass(frozen=True)
class Problem:
    """What is to be estimated: rows, loss and how far to go.

    Attributes
    ----------
    engine : Engine
    loss : Loss
    constant : int or None
        The column of ones.
    start : ndarray or None
    tol : float
    maxiter : int
    names : sequence of str or None
    """

    engine: Engine
    loss: Loss
    constant: int | None = None
    start: NDArray | None = None
    tol: float = 1e-8
    maxiter: int = 100
    names: Sequence[str] | None = None

    def estimate(self, **options: Any) -> Estimate:
        """Minimise the loss; see :func:`estimate`."""
        return estimate(
            self.engine,
            self.loss,
            constant=self.constant,
            start=self.start,
            tol=self.tol,
            maxiter=self.maxiter,
            names=self.names,
            **options,
        )


def objective(
    engine: Engine, loss: Loss, *, penalty: Penalty | None = None, adjustment: Adjustment | None = None
) -> Objective:
    """Return what :func:`estimate` minimises: value, gradient and second derivative as a function of the coefficients."""
    task = Task(engine, loss, penalty)
    return task.evaluator(value=True) if adjustment is None else task.adjusted(adjustment, value=True)


def _minimum(task: Task, start: NDArray | None) -> tuple[SolverResult, int]:
    """Return the minimum, and the steps of Fisher scoring before the last iteration."""
    given = start is not None
    if task.loss.convex:
        start = start if given else task.start_from_part()
        result = task.minimise(start)
        # starting values may lie where there is no curvature, or (from a part of the rows) outside the support of the rest
        if not np.isfinite(result.decrement) or (given and not result.converged and task.maxiter > 0):
            result = task.minimise(_feasible(task, task.null_start if given else start))
        return result, 0
    rough = task.minimise(
        _feasible(task, start if given else _canonical_start(task)), expected=True, tol=1e-2, falling=True
    )
    return task.minimise(rough.params, falling=True), rough.n_iter


def _root(task: Task, adjustment: Adjustment, start: NDArray | None) -> SolverResult:
    """Return the root of an adjusted score."""
    start = rough_start(task) if start is None else start
    if np.isfinite(task.loss.link.support).any():
        start = _feasible(task, start)
    return first_root(task, adjustment, start)


def _canonical_start(task: Task) -> NDArray:
    """Return the canonical fit of the same link: convex, so always found."""
    canonical = replace(task, loss=Canonical(task.loss.link), tol=1e-2)
    result = canonical.minimise(canonical.start_from_part())
    task.passes = canonical.passes
    return result.params


def _feasible(task: Task, start: NDArray) -> NDArray:
    """Return `start`, or else the null coefficients, their constant moved until the loss is finite at every row."""
    evaluate = task.evaluator(value=True)
    null_start, constant = task.null_start, task.constant
    candidates = [start, null_start]
    if constant is not None:
        away = 1.0 if np.isfinite(task.loss.link.support[0]) else -1.0
        unit = np.zeros_like(null_start)
        unit[constant] = away
        candidates += [null_start + unit * 2.0**j for j in range(-3, SHIFTS)]
    for candidate in candidates:
        sums = evaluate(candidate)
        if sums.feasible and np.isfinite(sums.value):
            return candidate
    refuse_nonfinite_columns(task.engine, task.names)
    raise SupportError(
        f"no starting values keep every row inside the support of {task.loss.link!r} "
        f"({task.loss.link.support[0]:g} to {task.loss.link.support[1]:g}); give start_params, use loss='canonical', or another xi."
    )
