"""How a solution is looked for: where to begin, and which iterations lead to it, by the kind of loss."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import Passes
from gevglm.estimation.adjusted_roots import first_root, rough_start
from gevglm.estimation.adjusted_walls import refused_at_wall
from gevglm.estimation.boundary import interior_point, minimum_with_edge
from gevglm.estimation.newton import SINGULAR, SolverResult
from gevglm.estimation.objective import Adjustment
from gevglm.estimation.refusals import refuse_impossible_risks, refuse_nonfinite_columns
from gevglm.exceptions import SupportError
from gevglm.losses import Canonical

if TYPE_CHECKING:
    from gevglm.estimation.estimate import Problem

SHIFTS = 60
BEFORE_A_KINK = 12  # steps that do not look for kinks


def solution(
    problem: Problem, start: NDArray | None, before: SolverResult | None = None
) -> Passes[tuple[SolverResult, int]]:
    """Find the minimum, or the root of the adjusted score, and the number of steps before the last iteration.

    With `before`, steps in front of a wall were taken until one was to be shortened.
    """
    if before is not None:
        return (yield from minimum_with_edge(problem, before)), 0
    if problem.adjustment is None:
        return (yield from _minimum(problem, start))
    return (yield from _root(problem, problem.adjustment, start)), 0


def _minimum(problem: Problem, start: NDArray | None) -> Passes[tuple[SolverResult, int]]:
    """Find the minimum, and the number of steps of Fisher scoring before the last iteration."""
    given, wall = start is not None, problem.has_walls
    edge = problem.loss.link.edge if problem.loss.is_likelihood else ""
    if problem.loss.convex:
        first = (yield from problem.start_from_part()) if start is None else start
        # a kink in the way makes steps that do not see it ever shorter
        few = min(problem.maxiter, BEFORE_A_KINK) if edge == "kink" else None
        result = yield from problem.minimise(first, inside=wall, maxiter=few)
        # starting values may lie where there is no curvature, or (from a part of the rows) outside the support of the rest
        if not np.isfinite(result.decrement) or (given and not result.converged and problem.maxiter > 0 and not wall):
            second = yield from _feasible(problem, first if wall or not given else problem.null_start)
            result = yield from problem.minimise(second, inside=wall, maxiter=few)
        unfinished = not result.converged and result.reason != SINGULAR and problem.maxiter > 0
        if unfinished and edge:
            result = yield from minimum_with_edge(problem, result)
        return result, 0
    first = (yield from _canonical_start(problem)) if start is None else start
    first = yield from _feasible(problem, first)
    rough = yield from problem.minimise(first, expected=True, tol=1e-2, falling=True)
    return (yield from problem.minimise(rough.params, falling=True)), rough.n_iter


def _root(problem: Problem, adjustment: Adjustment, start: NDArray | None) -> Passes[SolverResult]:
    """Find the root of an adjusted score."""
    first = (yield from rough_start(problem)) if start is None else start
    if np.isfinite(problem.loss.link.support).any():
        first = yield from _feasible(problem, first)
    found = yield from first_root(problem, adjustment, first)
    if problem.has_walls and found.reason != SINGULAR and problem.maxiter > 0:
        found = yield from refused_at_wall(problem, adjustment, found)
    return found


def _canonical_start(problem: Problem) -> Passes[NDArray]:
    """Find the canonical fit of the same link: convex, so always found."""
    canonical = replace(problem, loss=Canonical(problem.loss.link), tol=1e-2)
    result = yield from canonical.minimise((yield from canonical.start_from_part()))
    problem.passes = canonical.passes
    return result.params


def _feasible(problem: Problem, start: NDArray) -> Passes[NDArray]:
    """Find the first of `start` and the null coefficients, their constant moved ever further, where the loss is finite at every row."""
    null_start, constant = problem.null_start, problem.constant
    lower, upper = problem.loss.link.support
    candidates = [start, null_start]
    if constant is not None:
        unit = np.zeros_like(null_start)
        unit[constant] = 1.0 if np.isfinite(lower) else -1.0
        candidates += [null_start + unit * 2.0**j for j in range(-3, SHIFTS)]
    if problem.loss.link.edge == "wall":
        inner = yield from interior_point(problem, start)
        candidates = [start] if inner is None else [inner]
    for candidate in candidates:
        sums = yield from problem.sums_at(candidate, value=True)
        if sums.feasible and np.isfinite(sums.value):
            return candidate
    refuse_nonfinite_columns(problem.engine, problem.names)
    if problem.loss.link.edge == "wall":
        refuse_impossible_risks(problem)
    raise SupportError(
        f"no starting values keep every row inside the support of {problem.loss.link!r} "
        f"({lower:g} to {upper:g}); give start_params, use loss='canonical', or another xi."
    )
