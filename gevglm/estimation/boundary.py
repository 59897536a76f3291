r"""Fits that end on the boundary: where the log loss is smallest with some outcomes certain, at the end of the support of the link.

At a wall (log, logc, identity) an event at the upper end, where its probability is 1, has a finite loss with a slope; linear predictors beyond are no
part of the model. With g the gradient, the minimum over :math:`s_i (x_i'b - e) \le 0` has multipliers, one for each row at the end:

.. math:: g(b) + \sum_i \lambda_i s_i x_i = 0, \qquad \lambda_i \ge 0, \qquad \lambda_i\, s_i (x_i'b - e) = 0

(s = 1 at an upper end e, -1 at a lower one). At a kink (GEV with xi = -1, whose F is capped) rows may lie beyond the end, and add nothing to g there; in it
:math:`0 \le \lambda_i \le c_i`, with :math:`c_i` the change of the slope at the end. The wall is the kink with :math:`c_i = \infty`: both are solved by the same steps.

A step minimises the quadratic model of the loss together with the kinks of the rows that it would cross. Its dual is a small problem, in the
multipliers of these rows, that an active-set method solves exactly (Goldfarb and Idnani 1983, with bounds on both sides); rows are added as steps meet them. As soon as the rows that
hold the estimate are known, Newton steps along what they leave free end at the solution, and the multipliers certify it: the loss is convex.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import linprog, lsq_linear, nnls

from gevglm.engine.arrow_cholesky import ArrowCholesky
from gevglm.engine.base import ArraySum, Block, Pass, Passes, ReducerGroup
from gevglm.engine.cholesky import COLLINEAR, Cholesky
from gevglm.engine.linalg import dense, weighted_gram
from gevglm.estimation.edge_rows import AtTheEnd, EdgeRows, Outermost, Reach
from gevglm.estimation.newton import ARMIJO, CONVERGED, NEAR, SLOPE_OVERSHOT, TRIALS, UNBOUNDED, SolverResult
from gevglm.estimation.sums import NewtonSums, WeightedGram
from gevglm.links.base import AT_THE_END, Point

if TYPE_CHECKING:
    from gevglm.estimation.estimate import Problem

LEAST_DAMPING, MOST_DAMPING = 1e-7, 1e3  # shares of the null model's information
LONGEST = 0.99  # share of the way to where an observed outcome would be impossible
ROUNDS = 40  # of rows that are added to one step
POLISHING = 12  # steps along what the rows at the end leave free
DEPENDENT = 1e-10  # share of a normal, squared, that those of other rows leave unexplained
CERTAIN = 1e-7  # share of the size of the scores up to which multipliers may miss them, and be negative
MUCH_LESS = 1e-3  # share of the information at the first point below which that of the null model is looked at
VANISHED = 1e-8  # share of the null model's information below which there is no finite solution
EXACTLY = 1e-14  # share of a coefficient below which a step is none
ROUNDING = 1e-12  # of a linear predictor
ROUNDED = 1e-14  # of a linear predictor, or of a direction: what is zero but for rounding
DEEPEST = 1.0  # distance from the end that starting values are moved to, at most


@dataclass(frozen=True)
class Boundary:
    """Where a fit ended on the boundary of the model: the rows whose outcome it holds to be certain, and the multipliers that certify it."""

    rows: NDArray  # positions of all rows at the end of the support, with the outcome that is certain there
    active: NDArray  # positions of those that hold the estimate, one of those that are alike; of shape (a,)
    multipliers: NDArray  # by how much the log-likelihood would rise with their linear predictors; of shape (a,)
    normals: NDArray  # their rows of the design, with the sign that points outwards; of shape (a, k)
    residual: float  # largest difference between the score and what the multipliers make of it, as a share of the size of the scores

    @cached_property
    def free(self) -> NDArray:
        """An orthonormal basis of the directions that the rows leave free, of shape (k, k - a)."""
        return free_directions(self.normals)

    def confined(self, information: NDArray) -> NDArray:
        """Return the inverse of an information along the directions that are free: the covariance on the boundary."""
        free = self.free
        along = free.T @ information @ free
        factor = Cholesky(along) if len(along) else None
        if factor is not None and factor.positive and factor.smallest_pivot >= COLLINEAR:
            return free @ factor.inverse() @ free.T
        return free @ np.linalg.pinv(along, hermitian=True) @ free.T


def minimum_with_edge(problem: Problem, before: SolverResult) -> Passes[SolverResult]:
    """Minimise the loss from the feasible point where an iteration ended, inside the support or on its boundary."""
    return (yield from _Steps(problem).minimise(before))


def interior_point(problem: Problem, start: NDArray) -> Passes[NDArray | None]:
    """Find coefficients that keep every row inside the support: those given, with their constant moved, or by linear programming; None if there are none."""
    loss, constant = problem.loss, problem.constant
    lower, upper = loss.link.support
    params = start.copy()
    if constant is not None and not (np.isfinite(lower) and np.isfinite(upper)):
        problem.passes += 1
        rows = yield Pass(problem.engine, Outermost(loss, params))
        margin = min(DEEPEST, float(np.abs(problem.null_point.v[0] - (upper if np.isfinite(upper) else lower))))
        excess = rows.rank.max(initial=-np.inf)
        if excess > -margin:
            params[constant] += (-1.0 if np.isfinite(upper) else 1.0) * (excess + margin)
        return params
    return (yield from _by_programme(problem, params))


def _by_programme(problem: Problem, params: NDArray) -> Passes[NDArray | None]:
    """Find the coefficients that are furthest inside, in units of the support, by linear programmes with the rows that are furthest outside."""
    loss, k, support = problem.loss, len(params), problem.loss.link.support
    widest = np.diff(support)[0] / 2.0 if np.isfinite(support).all() else DEEPEST
    rows, margin = EdgeRows.none(k), np.inf
    for _ in range(ROUNDS):
        problem.passes += 1
        new = yield Pass(problem.engine, Outermost(loss, params))
        if -new.rank.max(initial=-np.inf) >= 0.5 * margin:
            return params
        rows = rows.beside(new)
        end = np.where(rows.side > 0, support[1], support[0])
        found = linprog(
            np.append(np.zeros(k), -1.0),
            A_ub=np.column_stack([rows.side[:, None] * rows.X, np.ones(len(rows))]),
            b_ub=rows.side * (end - rows.offset),
            bounds=[*[(None, None)] * k, (None, widest)],
            method="highs",
        )
        if found.x is None or found.x[-1] <= 0.0:
            return None
        params, margin = found.x[:k], float(found.x[-1])
    return None


class _Steps:
    """The iteration, and what it remembers: the rows that steps have met."""

    def __init__(self, problem: Problem):
        self.problem, self.loss = problem, problem.loss
        self.support = problem.loss.link.support
        self.walled = problem.has_walls
        self.met = EdgeRows.none(problem.engine.n_cols)
        self._null: NDArray | None = None

    def minimise(self, before: SolverResult) -> Passes[SolverResult]:
        """Take steps until one ends at the solution, after those that were taken before."""
        problem, params, n_iter = self.problem, before.params, before.n_iter
        enough, last, looks = problem.tol**2 * problem.scale, np.zeros(0), 0
        sums = before.sums if self.walled else (yield from problem.sums_at(params, value=True))
        self._first, look = sums.hessian, True  # the iteration before ended where its step leads outside,
        tried = self.walled  # or too far
        while True:
            step, held, decrement, damped = yield from self._step(params, sums)
            problem.monitor.on_step(params, decrement)
            if len(held) and not look and (decrement < NEAR or np.array_equal(held.position, last)):
                found = yield from self._polished(params + step, held, n_iter)
                if found is not None:
                    return found
            ended = decrement <= enough and not len(held) and not damped
            if n_iter >= problem.maxiter and not ended:
                reason = f"{problem.maxiter} iterations were not enough"
                return SolverResult(params, sums, problem.maxiter, decrement, False, reason, step)
            trial = None
            if not (look or ended):
                trial, tried = (yield from self._shortened(params, sums, step, 1.0, decrement, 1)), True
            if trial is None:
                new, share = yield from self._ahead(params, step)
                if len(new) and looks < ROUNDS:
                    self.met, looks, look, tried = self.met.joined(new), looks + 1, not self.walled, False
                    continue
                if ended:
                    return SolverResult(params + step, sums, n_iter, decrement, True, CONVERGED, step)
                length = min(0.5 if tried else 1.0, LONGEST * share)
                trial = yield from self._shortened(params, sums, step, length, decrement, TRIALS)
            if trial is None:
                return SolverResult(params, sums, n_iter, decrement, False, "no step improves the fit", step)
            # at a kink, a step that met nothing is followed by one that is just tried
            look, last, looks, tried = looks > 0 and not self.walled, held.position, 0, False
            params, sums = trial
            n_iter += 1

    def _step(self, params: NDArray, sums: NewtonSums) -> Passes[tuple[NDArray, EdgeRows, float, bool]]:
        """Find the step that minimises the model of the loss with the kinks of the rows met so far, the rows that hold it, its decrement, and whether it is damped.

        The second derivative is damped where it is singular, and where the step is so ill-conditioned that its model does not fall.
        """
        damping = 0.0
        while damping <= MOST_DAMPING:
            matrix = sums.hessian if damping == 0.0 else sums.hessian + damping * (yield from self.null_information())
            factor = Cholesky(matrix)
            if factor.positive and factor.smallest_pivot >= COLLINEAR:
                step, held = self._held_step(params, sums, factor)
                length = float(step @ matrix @ step)
                if self._model(params, sums, step) + 0.5 * length <= ROUNDING * self.problem.scale:
                    return step, held, length, damping > 0.0
            damping = max(100.0 * damping, LEAST_DAMPING)
        return np.zeros_like(params), self.met.take([]), np.inf, True

    def _held_step(
        self, params: NDArray, sums: NewtonSums, factor: Cholesky | ArrowCholesky
    ) -> tuple[NDArray, EdgeRows]:
        """Return the step in the metric of a second derivative, and the rows that hold it."""
        free = -factor.solve(sums.gradient)
        if not len(self.met):
            return free, self.met
        room = self.met.room(params, self.support)
        way = np.where((room < -AT_THE_END) & np.isfinite(self.met.size), -1.0, 1.0)
        normals = (way * self.met.side)[:, None] * self.met.X
        solved = factor.solve(normals.T)
        multipliers = box_multipliers(normals @ solved, normals @ free - np.maximum(way * room, 0.0), self.met.size)
        return free - solved @ multipliers, self.met.take((multipliers > 0.0) & (multipliers < self.met.size))

    def _ahead(self, params: NDArray, step: NDArray) -> Passes[tuple[EdgeRows, float]]:
        """Look for rows not yet met that a step would take across the end of the support, and for the share of it to where an observed outcome is impossible."""
        self.problem.passes += 1
        crossing, share = yield Pass(self.problem.engine, Reach(self.loss, params, step))
        return crossing.take(~np.isin(crossing.position, self.met.position)) if len(crossing) else crossing, share

    def _model(self, params: NDArray, sums: NewtonSums, step: NDArray) -> float:
        """Return by how much the loss changes along a step by its slope, and by the kinks on the way."""
        kinks = np.isfinite(self.met.size)
        room, towards = self.met.room(params, self.support)[kinks], (self.met.side * (self.met.X @ step))[kinks]
        way = np.where(room < -AT_THE_END, -1.0, 1.0)
        beyond = np.maximum(way * towards - np.maximum(way * room, 0.0), 0.0)
        return float(sums.gradient @ step + self.met.size[kinks] @ beyond)

    def _shortened(
        self, params: NDArray, sums: NewtonSums, step: NDArray, length: float, decrement: float, trials: int
    ) -> Passes[tuple[NDArray, NewtonSums] | None]:
        """Halve the step until the loss falls: by the model, it falls by half the decrement at least."""
        for _ in range(trials):
            moved = params + length * step
            trial = yield from self.problem.sums_at(moved, value=not self.walled)
            if trial.finite and self._falls(sums, trial, step, length * decrement):
                return (moved, trial) if (np.abs(moved - params) > EXACTLY * np.abs(params)).any() else None
            length *= 0.5
        return None

    def _falls(self, sums: NewtonSums, trial: NewtonSums, step: NDArray, expected: float) -> bool:
        """Whether the loss falls enough: by its slope, which is continuous up to a wall, or by its value."""
        if self.walled:
            return float(trial.gradient @ step) <= -SLOPE_OVERSHOT * float(sums.gradient @ step)
        rounding = 8.0 * np.finfo(float).eps * abs(sums.value)
        return bool(trial.value <= sums.value - ARMIJO * 0.5 * expected + rounding)

    def _polished(self, params: NDArray, held: EdgeRows, taken: int) -> Passes[SolverResult | None]:
        """Take Newton steps along what rows at the end leave free, and certify the solution; None if it is not one."""
        problem, normals = self.problem, held.side[:, None] * held.X
        enough = problem.tol**2 * problem.scale
        free = free_directions(normals)
        last, decrement, step = np.inf, 0.0, np.zeros_like(params)
        params = params + np.linalg.lstsq(normals, held.room(params, self.support), rcond=None)[0]
        for _ in range(POLISHING):
            taken += 1
            sums = yield from problem.sums_at(params)
            if not sums.finite:
                return None
            if not free.shape[1]:
                break
            along = free.T @ sums.hessian @ free
            factor = Cholesky(along)
            if not (factor.positive and factor.smallest_pivot >= COLLINEAR):
                return None
            step = -free @ factor.solve(free.T @ sums.gradient)
            decrement = -float(sums.gradient @ step)
            if decrement > last:
                return None
            last, params = decrement, params + step
            if decrement <= enough:  # the last step is taken without looking again
                sums.gradient = sums.gradient + sums.hessian @ step
                break
        params = _without_rounding(params, normals)
        flat = bool(free.shape[1]) and (yield from self._is_flat(free, sums))
        boundary = None if decrement > enough and not flat else (yield from self._certified(params, held, sums))
        if boundary is None:
            return None
        reason = UNBOUNDED if flat else "on the boundary, certified by its multipliers"
        return SolverResult(params, sums, taken, decrement, not flat, reason, step, boundary=boundary)

    def _certified(self, params: NDArray, held: EdgeRows, sums: NewtonSums) -> Passes[Boundary | None]:
        """Find the multipliers of the rows at the end of the support that make up for the gradient; None if there are none.

        With them, the second derivative becomes the information of the other rows: that of those at the end is infinite or none.
        """
        problem = self.problem
        problem.passes += 1
        looks = [AtTheEnd(self.loss, params), WeightedGram(self.loss, params, self._information_inside)]
        there, information = yield Pass(problem.engine, ReducerGroup(looks))
        distinct = there.distinct()
        normals = distinct.side[:, None] * distinct.X
        size = max(float(np.abs(sums.gradient).max()), float(np.abs(normals).max(initial=0.0)), 1e-300)
        if len(distinct) <= len(held):
            multipliers = np.linalg.lstsq(normals.T, -sums.gradient, rcond=None)[0]
        elif self.loss.link.edge == "wall":  # of many that are possible, those of few rows
            multipliers = nnls(normals.T, -sums.gradient)[0]
        else:
            multipliers = lsq_linear(normals.T / size, -sums.gradient / size, (0.0, distinct.size), tol=1e-15).x
        left = float(np.abs(sums.gradient + normals.T @ multipliers).max()) / size
        within = (multipliers >= -CERTAIN * size).all() and (multipliers <= distinct.size + CERTAIN * size).all()
        if not (left <= CERTAIN and within):
            return None
        inside = NewtonSums(np.zeros_like(params), np.asarray(dense(information), dtype=float))
        sums.hessian = problem.completed(inside, params).hessian
        holding = multipliers > CERTAIN * size
        return Boundary(there.position, distinct.position[holding], multipliers[holding], normals[holding], left)

    def _information_inside(self, block: Block, point: Point) -> NDArray:
        lower, upper = self.support
        there = (point.v <= lower + AT_THE_END) | (point.v >= upper - AT_THE_END)
        return block.weighted(np.where(there, 0.0, self.loss.expected_curvature_at(point)))

    def _is_flat(self, free: NDArray, sums: NewtonSums) -> Passes[bool]:
        """Whether hardly any information is left along a direction that is free, as on the way to infinity."""
        left = self._share(free, sums.hessian, self._first)  # of the first point, which costs no pass
        return left < MUCH_LESS and self._share(free, sums.hessian, (yield from self.null_information())) < VANISHED

    @staticmethod
    def _share(free: NDArray, hessian: NDArray, of: NDArray) -> float:
        """Return the smallest share that a second derivative is of another along some directions; zero if that is singular there."""
        try:
            return float(eigh(free.T @ hessian @ free, free.T @ of @ free, eigvals_only=True)[0])
        except np.linalg.LinAlgError:
            return 0.0

    def null_information(self) -> Passes[NDArray]:
        """Find the information of the null model."""
        if self._null is None:
            problem = self.problem
            curvature = float(self.loss.expected_curvature_at(problem.null_point)[0])
            gram = yield Pass(
                problem.engine, ArraySum(lambda block: weighted_gram(block.X, block.weighted(np.ones(len(block.y)))))
            )
            problem.passes += 1
            matrix = curvature * np.asarray(dense(gram), dtype=float)
            matrix[list(problem.omitted), list(problem.omitted)] = 1.0
            self._null = matrix
        return self._null


def free_directions(normals: NDArray) -> NDArray:
    """Return an orthonormal basis of the directions at right angles to all normals, of shape (k, k - rank)."""
    if not len(normals):
        return np.eye(normals.shape[1])
    scale = np.abs(normals).max(axis=0)
    scale[scale == 0.0] = 1.0
    _, values, directions = np.linalg.svd(normals / scale)
    directions[np.abs(directions) < ROUNDED] = 0.0
    basis = directions[int((values > 1e-10 * values[0]).sum()) :].T / scale[:, None]
    return np.linalg.qr(basis)[0] if basis.shape[1] else basis


def _without_rounding(params: NDArray, normals: NDArray) -> NDArray:
    """Return coefficients of which those that only rounding keeps from zero are zero."""
    shares = np.abs(params) * np.abs(normals).max(axis=0)  # of linear predictors
    return np.where((shares < ROUNDED) & (shares > 0.0), 0.0, params)


def box_multipliers(Q: NDArray, violation: NDArray, size: NDArray) -> NDArray:
    r"""Return the multipliers u that minimise :math:`\frac12 u'Qu - c'u` with :math:`0 \le u \le` size, by a dual active-set method.

    Q has the inner products of normals, c how far a step violates each row without any of them. A row with :math:`0 < u <` size is active: it is not
    violated and has no room. The row that is violated most is brought in, the active ones giving way, until none is.
    """
    if len(violation) == 1:
        return np.clip(violation / Q[0], 0.0, size)
    u, active = np.zeros(len(violation)), list[int]()
    for _ in range(20 * len(u) + 20):
        left = violation - Q @ u
        wrong = np.where(u <= 0.0, left, np.where(u >= size, -left, 0.0))
        wrong[active] = 0.0
        i = int(np.argmax(wrong / np.sqrt(np.maximum(np.diagonal(Q), 1e-300)))) if len(u) else 0
        if not len(u) or wrong[i] <= ROUNDING:
            break
        sign = 1.0 if u[i] <= 0.0 else -1.0
        while True:
            share = np.linalg.solve(Q[np.ix_(active, active)], Q[active, i]) if active else np.zeros(0)
            length = Q[i, i] - Q[i, active] @ share
            change = -sign * share
            current = u[active]
            with np.errstate(divide="ignore", invalid="ignore"):
                limits = np.where(change < 0.0, -current / change, (size[active] - current) / change)
            limits = np.where(change == 0.0, np.inf, limits)
            needed = (violation[i] - Q[i] @ u) * sign / length if length > DEPENDENT * Q[i, i] else np.inf
            ends = np.array([needed, size[i] - u[i] if sign > 0 else u[i], limits.min(initial=np.inf)])
            which, t = int(ends.argmin()), max(float(ends.min()), 0.0)
            if not np.isfinite(t):  # no step keeps all rows: the nearest is taken, and shortened
                return u
            u[active] += change * t
            u[i] += sign * t
            if which == 0:
                active.append(i)
                break
            if which == 1:
                u[i] = size[i] if sign > 0 else 0.0
                break
            j = int(limits.argmin())
            u[active[j]] = 0.0 if change[j] < 0.0 else size[active[j]]
            active.pop(j)
    return u
