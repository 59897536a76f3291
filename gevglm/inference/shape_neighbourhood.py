r"""The shape from where a part of the rows says it is: no grid of fits to all of them.

A part of the rows gives the profile over a coarse grid of shapes. Where that has one maximum, away from the ends of the grid and from shapes whose likelihood is
irregular, the search goes on from there with all rows: by Newton steps in coefficients and shape together for the log loss, by the root of the score along the path
of fits for the canonical loss. A part of rows in some order may mislead; the likelihood of all rows at the ends of the grid and at another shape has to be far lower, or
the whole grid is searched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import ArraySum, Block, Engine, ReducerGroup, run
from gevglm.engine.cholesky import Cholesky
from gevglm.estimation.checks import THINNEST
from gevglm.estimation.estimate import EVENTS_PER_COLUMN, null_loss
from gevglm.estimation.newton import NEAR, newton, value_search
from gevglm.estimation.sums import NewtonSums, totals
from gevglm.exceptions import GevglmError
from gevglm.inference.shape_equations import JointLikelihood
from gevglm.inference.shape_path import ROUGH, ShapePath
from gevglm.inference.shape_search import best_on_grid, peaks, root_of_score

PARTS = (THINNEST, 4)  # every so many-th block is looked at
STRIDE = 3  # every so many-th shape of the grid is tried on the part
FAR = 10.0  # how much lower the log-likelihood has to be elsewhere
WIDE = 5.0  # reach of the search for a root of the score, in standard errors
UNLIKELY = 10.0  # log loss of a row from which a bound of the likelihood does without it
ROUGHLY = 1e-2  # tolerance of the maximum of the part, in standard errors


@dataclass(frozen=True)
class Neighbourhood:
    """What the likelihood of a part of the rows says, and that of all rows at shapes that are not the estimate."""

    part: ShapePath
    coarse: NDArray  # the shapes tried
    values: NDArray  # the log-likelihood of the part there
    xi: float  # where it is largest
    params: NDArray  # the coefficients there
    error: float  # the standard error of the shape that all rows would have, by the curvature of the part's profile

    @property
    def elsewhere(self) -> list[float]:
        """The ends of the grid, and the better of two shapes well beside the maximum."""
        top, last = int(np.argmax(self.values)), len(self.coarse) - 1
        beside = max(top - 2, 0), min(top + 2, last)
        return [float(self.coarse[i]) for i in sorted({0, last, max(beside, key=lambda i: self.values[i])})]


@dataclass(frozen=True)
class Found:
    """A maximum of the likelihood over the shape that was found without a grid."""

    xi: float
    params: NDArray  # the coefficients there
    error: float  # the standard error of the shape by the profile of a part of the rows
    ends: tuple[float, float]  # the log-likelihood at the ends of the grid is no larger
    sums: NewtonSums | None  # those of coefficients and shape at the maximum, for the log loss


def maximum_nearby(path: ShapePath, grid: NDArray) -> Found | None:
    """Return the maximum, or None where it has to be looked for on the whole grid."""
    near = _neighbourhood(path, grid)
    if near is None:
        return None
    path.part = near.part
    within = float(grid[0]), float(grid[-1])
    found = _by_newton(path, near, within) if path.problem.loss.is_likelihood else _by_score(path, near, within)
    if found is None or found[0] < path.problem.loss.link.population.regular_above:
        return None
    xi, params, llf, sums = found
    shapes = near.elsewhere
    bounds = [np.inf] * len(shapes) if sums is None else _at_most(path, near, shapes)
    # fits where one look does not decide, as far as it takes
    far = llf - FAR
    values = [bound if bound < far else path.at_most(x, ROUGH, far) for x, bound in zip(shapes, bounds, strict=True)]
    if not max(values) < far:
        return None
    return Found(xi, params, near.error, (values[0], values[-1]), sums)


def _neighbourhood(path: ShapePath, grid: NDArray) -> Neighbourhood | None:
    """Look at a part of the rows, and at a larger one if that says too little."""
    engine = path.problem.engine
    parts = (engine.subsample_blocks(every) for every in PARTS)
    return next(filter(None, (_in_part(path, grid, part) for part in parts if part.n_rows <= engine.n_rows // 2)), None)


def _in_part(path: ShapePath, grid: NDArray, part: Engine) -> Neighbourhood | None:
    """Look at a part of the rows; None if it is too small, or its likelihood has no single maximum well inside the grid."""
    problem = path.problem
    engine, coarse = problem.engine, np.unique(np.append(grid[::STRIDE], grid[-1]))
    if len(coarse) < 5:
        return None
    try:
        weight, events = totals(part)
        if min(events, weight - events) < EVENTS_PER_COLUMN * engine.n_cols:
            return None
        rough = ShapePath(replace(problem, engine=part), path.loss_of)
        values = rough.log_likelihoods(coarse, ROUGH)
        top = int(np.argmax(values))
        inside = 0 < top < len(coarse) - 1 and np.isfinite(values[top - 1 : top + 2]).all()
        if not inside or len(peaks(values)) > 1 or max(values[0], values[-1]) > values[top] - FAR / 2.0:
            return None
        xi, params = _maximum_of_part(rough, coarse, values)
    except GevglmError:  # what is wrong with a part need not be so with all rows
        return None
    # a parabola through the three best shapes
    curvature = -2.0 * np.polyfit(coarse[top - 1 : top + 2], values[top - 1 : top + 2], 2)[0]
    error = 1.0 / np.sqrt(curvature * totals(engine)[0] / weight)
    return Neighbourhood(rough, coarse, values, xi, params, float(error))


def _maximum_of_part(rough: ShapePath, coarse: NDArray, values: NDArray) -> tuple[float, NDArray]:
    if not rough.problem.loss.is_likelihood:
        xi, _ = best_on_grid(rough, coarse, values)
        return xi, rough.fit(xi).params
    top = float(coarse[int(np.argmax(values))])
    ends = float(coarse[0]), float(coarse[-1])
    joint = JointLikelihood(rough.problem.engine, rough.loss_of, *ends, rough.problem.omitted)
    start = np.append(rough.fit(top, ROUGH).params, top)
    theta = run(newton(start, search=value_search, tol=ROUGHLY), joint.objective).params
    return float(theta[-1]), theta[:-1]


def _by_newton(
    path: ShapePath, near: Neighbourhood, within: tuple[float, float]
) -> tuple[float, NDArray, float, NewtonSums | None] | None:
    """Take joint steps in coefficients and shape; None if they do not end at a maximum inside the range."""
    problem = path.problem
    joint = JointLikelihood(problem.engine, path.loss_of, *within, problem.omitted)
    steps = newton(
        np.append(near.params, near.xi),
        search=value_search,
        tol=problem.tol,
        scale=max(1.0, null_loss(*totals(problem.engine))),
        maxiter=problem.maxiter,
        predict_below=NEAR,
    )
    found = run(steps, joint.objective)
    path.steps += found.n_iter
    path.passes += found.n_iter + 2
    theta = found.params
    if not (found.converged and within[0] < theta[-1] < within[1]):
        return None
    sums = joint.objective(theta)
    if not (sums.feasible and Cholesky(sums.hessian).positive):
        return None
    return float(theta[-1]), theta[:-1], -sums.value, sums


def _by_score(
    path: ShapePath, near: Neighbourhood, within: tuple[float, float]
) -> tuple[float, NDArray, float, NewtonSums | None] | None:
    """Find the root of the score along the path of fits near the maximum of the part; None if there is none."""
    reach = WIDE * np.sqrt(path.problem.engine.n_rows / near.part.problem.engine.n_rows) * near.error
    low, high = np.clip([near.xi - reach, near.xi + reach], *within)
    xi = root_of_score(path, float(low), float(high))
    return None if xi is None else (xi, path.fit(xi).params, path.log_likelihood(xi), None)


def _at_most(path: ShapePath, near: Neighbourhood, shapes: list[float]) -> list[float]:
    """Return what the log-likelihoods of fits at shapes are no larger than, by one look at all rows.

    At the coefficients of the part, the likelihood is half a Newton decrement below its maximum; a whole one is allowed for. Rows that
    these coefficients rule out, or nearly so, count as certain: without them the likelihood is larger at all coefficients, and their slopes, which grow
    without bound towards the end of the support, would say little about where its maximum is.
    """
    engine, fits = path.problem.engine, [near.part.fit(xi, np.inf) for xi in shapes]

    def look(loss, params: NDArray) -> ArraySum:
        def sums(block: Block) -> NDArray:
            point = loss.link.at(block.linear_predictor(params))
            slope, value = loss.slope_at(block.y, point), loss.value_at(block.y, point)
            certain = ~(value < UNLIKELY)
            slope[certain] = value[certain] = 0.0
            return np.append(block.weighted(slope) @ block.X, block.weighted(value).sum())

        return ArraySum(sums)

    found = engine.reduce(ReducerGroup([look(path.loss_of(xi), f.params) for xi, f in zip(shapes, fits, strict=True)]))
    path.passes += 1
    ratio = near.part.problem.engine.n_rows / engine.n_rows
    return [
        float(total[:-1] @ fit.inverse_information @ total[:-1]) * ratio - float(total[-1])
        for total, fit in zip(found, fits, strict=True)
    ]
