"""Roots of adjusted scores, by Fisher scoring: bias reduction without a likelihood to climb."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from gevglm.estimation.newton import Evaluate, SolverResult, bounded_search, newton, residual_search, value_search
from gevglm.estimation.objective import Adjustment, Task

EVENTS_FOR_ROUGH_START = 5  # events a column from which the plain fit is a start for the adjusted one
ROUGH_STEPS = 6
ROUGH = 0.7  # standard errors a coefficient, on average: the step after one this long ends close enough
MANY_ROWS = 5_000


def rough_start(task: Task) -> NDArray:
    """Return a few steps of the plain fit where there are events enough, else the null model's coefficients."""
    if task.loss.convex and task.rarer >= EVENTS_FOR_ROUGH_START * task.engine.n_cols:
        tol = ROUGH * np.sqrt(task.engine.n_cols / task.scale)
        rough = task.aside(task.start_from_part(), tol=tol, maxiter=ROUGH_STEPS)
        if rough.converged:
            return rough.params
    return task.null_start


def first_root(task: Task, adjustment: Adjustment, start: NDArray) -> SolverResult:
    """Return the first root that Fisher scoring finds, from `start` or, helped by Powell's method, from elsewhere.

    The size of an adjusted score has minima that are no roots; the root often lies further out in the same direction.
    """
    falling = adjustment.has_objective(task.loss)
    searches = [value_search] if falling else [bounded_search, residual_search]
    attempts = [(search, factor) for factor in (None, 1.0, 2.0) for search in searches]
    large = task.engine.n_rows > MANY_ROWS
    if large and falling:  # values cost more than they are worth where the start is good
        attempts.insert(0, (bounded_search, None))
    # Fisher-scoring steps shrink by a constant factor, so that the last one says less about the distance left
    options = {
        "tol": (1.0 if large else 0.1) * task.tol,
        "scale": task.scale,
        "maxiter": task.maxiter,
        "extrapolate": True,
        "foretell": large,
    }
    best = None
    for search, factor in attempts:
        evaluate = task.adjusted(adjustment, value=search is value_search)
        point = start if factor is None else _root_by_secants(evaluate, best, factor)
        found = newton(evaluate, point, search=search, **options)
        if found.converged:
            return found
        if best is None or found.decrement < best.decrement:
            best = found
        if not np.isfinite(best.decrement) or task.maxiter == 0:
            return best
        if best.decrement <= task.tol**2 * task.scale:
            return replace(best, converged=True)
    reason = "no root of the adjusted score was found, and there may be none; bias='logf' is always finite"
    return replace(best, reason=reason)


def _root_by_secants(evaluate: Evaluate, found: SolverResult, factor: float) -> NDArray:
    """Return where Powell's hybrid method ends, from a multiple of the point where Fisher scoring got stuck."""
    origin = factor * found.params
    unit = 1.0 / np.sqrt(np.diagonal(found.sums.hessian))

    def residual(z: NDArray) -> NDArray:
        sums = evaluate(origin + unit * z)
        return unit * sums.gradient if sums.feasible else np.full_like(z, 1e3)

    with np.errstate(all="ignore"):
        root = origin + unit * optimize.root(residual, np.zeros_like(unit), method="hybr", options={"xtol": 1e-12}).x
    return root if np.isfinite(root).all() and evaluate(root).feasible else found.params
