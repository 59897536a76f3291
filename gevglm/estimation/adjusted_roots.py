"""Roots of adjusted scores, by Fisher scoring: bias reduction without a likelihood to climb."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from gevglm.engine.base import ArraySum, Block, Pass, Passes, relay
from gevglm.estimation.newton import (
    NEAR,
    SINGULAR,
    Search,
    SolverResult,
    bounded_search,
    newton,
    residual_search,
    value_search,
)
from gevglm.estimation.objective import Adjustment
from gevglm.estimation.sums import NewtonSums
from gevglm.links.base import Point
from gevglm.losses import Loss

if TYPE_CHECKING:
    from gevglm.estimation.estimate import Problem

EVENTS_FOR_ROUGH_START = 5  # events per column from which the plain fit is a start for the adjusted one
ROUGH_STEPS = 6
ROUGH = 0.7  # standard errors per coefficient, on average: the step after one this long ends close enough
MOST_BENT = 0.5  # length of the curve of a step, relative to the step
MANY_ROWS = 5_000
SHRINKING = (
    0.1  # Fisher-scoring steps shrink by a constant factor, so that the last one says less about the distance left
)
MOST_POINTS = 1 << 21  # rows whose points of the link are kept from one pass to the next


def rough_start(problem: Problem) -> Passes[NDArray]:
    """Take a few steps of the plain fit where there are events enough, else the null model's coefficients."""
    k = problem.engine.n_cols
    if has_good_start(problem):
        tol = ROUGH * np.sqrt(k / problem.scale)
        start = yield from problem.start_from_part()
        if problem.loss.link.canonical_is_log:
            start, left = yield from curved_start(problem, start, ROUGH**2 * k)
            if left <= ROUGH**2 * k:
                return start
        rough = yield from problem.minimise(start, tol=tol, maxiter=ROUGH_STEPS)
        if rough.converged:
            return rough.params
    return problem.null_start


def curved_start(problem: Problem, start: NDArray, enough: float) -> Passes[tuple[NDArray, float]]:
    r"""Take a Newton step and, if its decrement is not enough, its curve, for a pass that takes gradients only; find where they lead, and what decrement to expect there.

    With the Hessian H, the gradient g, :math:`s = -H^{-1} g` and W' the derivative of the curvature of a row (Chebyshev's method),

    .. math:: b + s - \tfrac{1}{2} H^{-1} \sum_i W_i' (x_i's)^2 x_i,

    from which the solution is a distance of third order in s. A step that would be bent too far is taken straight.
    """
    loss, points = problem.loss, _room_for_points(problem)
    sums = yield from problem.sums_at(start, points=points)
    step, decrement, damped = sums.step()
    if damped or not sums.finite:
        return start, np.inf
    if decrement <= enough:
        return start + step, decrement

    def bent(block: Block) -> NDArray:
        point = _point(loss, block, start, points)
        return block.weighted(loss.expected_curvature_slope_at(point) * (block.X @ step) ** 2) @ block.X

    problem.passes += 1
    third = -0.5 * (yield Pass(problem.engine, ArraySum(bent)))
    curve = sums.factor.solve(third)
    left = curve_left(float(third @ curve), decrement)
    return start + step if left == np.inf else start + step + curve, left


def curve_left(curve: float, step: float) -> float:
    """Return the decrement to expect after a step and its curve, by the squares of their lengths; infinite if the step is bent too far.

    Each order shrinks as the one before it.
    """
    return curve * (curve / step) if curve <= MOST_BENT**2 * step else np.inf


def has_good_start(problem: Problem) -> bool:
    """Whether a few steps of the plain fit lead near the adjusted one."""
    return problem.loss.convex and problem.rarer >= EVENTS_FOR_ROUGH_START * problem.engine.n_cols


def first_root(problem: Problem, adjustment: Adjustment, start: NDArray) -> Passes[SolverResult]:
    """Find the first root that Fisher scoring reaches, from `start` or, helped by Powell's method, from elsewhere.

    The size of an adjusted score has minima that are not roots; the root often lies further out in the same direction.
    """
    falling = adjustment.has_objective(problem.loss)
    searches: list[Search] = [value_search] if falling else [bounded_search, residual_search]
    attempts = [(search, factor) for factor in (None, 1.0, 2.0) for search in searches]
    large = problem.engine.n_rows > MANY_ROWS
    if falling and (large or has_good_start(problem)):  # values cost more than they are worth where the start is good
        attempts.insert(0, (bounded_search, None))
    best: SolverResult | None = None
    for search, factor in attempts:
        value, point = search is value_search, start
        if factor is not None and best is not None:  # Powell's method asks for passes of its own
            point = _root_by_secants(problem.objective(value=value), best, factor)
        steps = newton(
            point,
            search=search,
            tol=(1.0 if large else SHRINKING) * problem.tol,
            scale=problem.scale,
            maxiter=problem.maxiter,
            extrapolate=True,
            predict_below=NEAR if large else 0.0,
            stop_if_singular=problem.stop_if_singular,
            on_step=problem.monitor.on_step,
        )
        found = yield from relay(steps, partial(adjusted_sums_at, problem, adjustment, value=value))
        if found.converged or found.reason == SINGULAR:
            return found
        if best is None or found.decrement < best.decrement:
            best = found
        if not np.isfinite(best.decrement) or problem.maxiter == 0:
            return best
        if best.decrement <= problem.tol**2 * problem.scale:
            return replace(best, converged=True)
    reason = "no root of the adjusted score was found, and there may be none; bias='logf' is always finite"
    return replace(best or found, reason=reason)


def adjusted_sums_at(problem: Problem, adjustment: Adjustment, point: NDArray, *, value: bool) -> Passes[NewtonSums]:
    """Sum the adjusted loss at a point: one pass for the information, one for the leverages by its inverse.

    The link is evaluated once, where its points have room in memory.
    """
    engine, loss = problem.engine, problem.loss
    points = _room_for_points(problem)
    sums = yield from problem.sums_at(point, expected=True, value=value, points=points)
    factor = sums.factor
    sums.feasible &= factor.positive
    if sums.feasible:
        problem.passes += 1
        matrix = adjustment.matrix(engine, loss, point, factor.inverse())

        def shift(block: Block) -> NDArray:
            return adjustment.shift(loss, block, _point(loss, block, point, points), matrix)

        adjustment.apply(loss, sums, (yield Pass(engine, ArraySum(shift))), matrix, factor)
    return sums


def _room_for_points(problem: Problem) -> dict[int, Point] | None:
    """Return where the points of the link are kept from one pass to the next; None if they have no room in memory."""
    return {} if problem.engine.in_memory and problem.engine.n_rows <= MOST_POINTS else None


def _point(loss: Loss, block: Block, params: NDArray, points: dict[int, Point] | None) -> Point:
    """Return the point of the link in a block: the one that was kept, or another."""
    known = None if points is None else points.get(block.start)
    return loss.link.at(block.linear_predictor(params)) if known is None else known


def _root_by_secants(evaluate: Callable[[NDArray], NewtonSums], found: SolverResult, factor: float) -> NDArray:
    """Return where Powell's hybrid method ends, from a multiple of the point where Fisher scoring got stuck."""
    origin = factor * found.params
    unit = 1.0 / np.sqrt(found.sums.hessian.diagonal())

    def residual(z: NDArray) -> NDArray:
        sums = evaluate(origin + unit * z)
        return unit * sums.gradient if sums.feasible else np.full_like(z, 1e3)

    root = origin + unit * optimize.root(residual, np.zeros_like(unit), method="hybr", options={"xtol": 1e-12}).x
    return root if np.isfinite(root).all() and evaluate(root).feasible else found.params
