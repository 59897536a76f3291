"""From rows and a loss to coefficients: starting values, the strategy for each kind of loss, and the checks afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import entr

from gevglm.engine.base import Block, Engine
from gevglm.exceptions import CollinearityError, InvalidDataError, SupportError, listed
from gevglm.linalg import COLLINEAR, Cholesky, dependent_columns, one_blas_thread, weighted_gram
from gevglm.links.base import Point
from gevglm.losses import Canonical, Loss
from gevglm.reducers import ArraySum, LossSums, NewtonSums
from gevglm.solver import (
    Evaluate,
    SolverResult,
    bounded_search,
    newton,
    residual_search,
    slope_search,
    value_search,
)

EVENTS_PER_COLUMN = 20  # events (and non-events) a part of the data needs to give starting values
GROWING = 1e-3  # relative change of a coefficient, and change of a linear predictor, too large for a last step
ROUGH_TOL = 1e-6
TIGHTER, MANY_STEPS = 1e-4, 20  # tolerance and steps of a second look at a solution that still moves
VANISHED = 1e-8  # share of the null model's information on a column below which its coefficient is infinite
THINNEST = 16  # the part is never less than one block in this many
SHIFTS = 60
EVENTS_FOR_ROUGH_START = 5  # events a column from which the plain fit is a start for the adjusted one
ROUGH_STEPS = 6
MANY_ROWS = 5_000


class Penalty(Protocol):
    """A function of the coefficients that is added to the loss."""

    def added_to(self, sums: NewtonSums, params: NDArray) -> NewtonSums:
        """Return the sums of loss plus penalty."""

    @property
    def curvature(self) -> NDArray:
        """Second derivative by each coefficient, at zero."""


@dataclass(frozen=True)
class Ridge:
    r"""Ridge penalty :math:`\frac{\alpha}{2} \sum_j d_j b_j^2`.

    Attributes
    ----------
    alpha : float
    columns : ndarray of shape (k,)
        The :math:`d_j`: 1 for penalised columns, 0 for the others.
    """

    alpha: float
    columns: NDArray

    @property
    def curvature(self) -> NDArray:
        return self.alpha * self.columns

    def added_to(self, sums: NewtonSums, params: NDArray) -> NewtonSums:
        sums.gradient += self.curvature * params
        sums.hessian[np.diag_indices_from(sums.hessian)] += self.curvature
        sums.value += 0.5 * float(self.curvature @ params**2)
        return sums


class Adjustment(Protocol):
    """What bias reduction adds to the score; see :mod:`gevglm.bias`."""

    def has_objective(self, loss: Loss) -> bool:
        """Whether the adjusted score is a gradient, that is, whether there is a penalised loss."""

    def matrix(self, engine: Engine, loss: Loss, params: NDArray, inverse: NDArray) -> NDArray:
        """Return the matrix that measures rows, given the inverse information."""

    def shift(self, loss: Loss, block: Block, point: Point, matrix: NDArray) -> NDArray:
        """Return what one block adds to the score (or several such sums)."""

    def apply(self, loss: Loss, sums: NewtonSums, total: NDArray, matrix: NDArray, factor: Cholesky) -> None:
        """Change gradient and value in place; `factor` is that of the information."""


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
        task = _Task(engine, loss, penalty, tol, null_loss(weight, events), maxiter)
        null_start = null_coefficients(loss, engine.n_cols, constant, events / weight)
        find = _minimum if adjustment is None else partial(_root, adjustment)
        return find(task, start, null_start, constant, weight, events, names)


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


def _minimum(
    task: _Task,
    start: NDArray | None,
    null_start: NDArray,
    constant: int | None,
    weight: float,
    events: float,
    names: Sequence[str] | None,
) -> Estimate:
    engine, loss, penalty = task.engine, task.loss, task.penalty
    given = start is not None
    if given:
        start = np.asarray(start, dtype=float)
    elif loss.convex:
        start = task.start_from_part(null_start, weight, events)
    else:
        start = _canonical_start(task, null_start, weight, events)

    steps = 0
    if loss.convex:
        result = task.minimise(start)
        # starting values may lie where there is no curvature, or (from a part of the rows) outside the support of the rest
        if not np.isfinite(result.decrement) or (given and not result.converged and task.maxiter > 0):
            result = task.minimise(_feasible(task, null_start if given else start, null_start, constant, names))
    else:
        start = _feasible(task, start, null_start, constant, names)
        result = task.minimise(start, expected=True, tol=1e-2, falling=True)
        steps = result.n_iter
        result = task.minimise(result.params, falling=True)
    if not np.isfinite(result.decrement):
        _refuse_nonfinite_columns(engine, names)
    moving = result.converged and _still_moving(task, result)
    if moving:  # towards infinity, or just slowly
        again = replace(task, tol=TIGHTER * task.tol, maxiter=MANY_STEPS)
        second = again.minimise(result.params, falling=not loss.convex)
        if second.converged:
            result, moving = second, _still_moving(task, second)
    converged, reason = _verdict(task, result, events / weight, moving)
    observed = result.sums.hessian
    information = observed if loss.curvature_is_expected else task.evaluator(expected=True)(result.params).hessian
    factor = Cholesky(observed)
    if factor.smallest_pivot < COLLINEAR:
        _refuse_collinear_columns(engine, penalty, names)
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


def _root(
    adjustment: Adjustment,
    task: _Task,
    start: NDArray | None,
    null_start: NDArray,
    constant: int | None,
    weight: float,
    events: float,
    names: Sequence[str] | None,
) -> Estimate:
    """The root of an adjusted score, by Fisher scoring."""
    engine, loss = task.engine, task.loss
    rarer = min(events, weight - events)
    if start is None and loss.convex and rarer >= EVENTS_FOR_ROUGH_START * engine.n_cols:
        rough = replace(task, tol=1e-2, maxiter=ROUGH_STEPS).minimise(task.start_from_part(null_start, weight, events))
        start = rough.params if rough.converged else None
    start = null_start if start is None else np.asarray(start, dtype=float)
    if np.isfinite(loss.link.support).any():
        start = _feasible(task, start, null_start, constant, names)
    result = _first_root(task, adjustment, start)
    if not np.isfinite(result.decrement):
        _refuse_nonfinite_columns(engine, names)
    information = result.sums.hessian
    factor = Cholesky(information)
    if factor.smallest_pivot < COLLINEAR:
        _refuse_collinear_columns(engine, None, names)
    return Estimate(
        params=result.params,
        information=information,
        inverse_information=factor.inverse(),
        observed=information,
        weight=weight,
        events=events,
        n_iter=result.n_iter,
        n_passes=task.passes,
        decrement=result.decrement,
        converged=result.converged,
        positive_definite=factor.positive,
        reason=result.reason,
    )


def _first_root(task: _Task, adjustment: Adjustment, start: NDArray) -> SolverResult:
    """Return the first root that Fisher scoring finds, from `start` or, helped by Powell's method, from elsewhere.

    The size of an adjusted score has minima that are no roots; the root often lies further out in the same direction.
    """
    falling = adjustment.has_objective(task.loss)
    searches = [value_search] if falling else [bounded_search, residual_search]
    attempts = [(search, factor) for factor in (None, 1.0, 2.0) for search in searches]
    large = task.engine.n_rows > MANY_ROWS
    if large and falling:  # values cost more than they are worth where the start is good
        attempts.insert(0, (bounded_search, None))
    scale = max(1.0, task.scale)
    # Fisher-scoring steps shrink by a constant factor, so that the last one says less about the distance left
    options = {"tol": (1.0 if large else 0.1) * task.tol, "scale": scale, "maxiter": task.maxiter, "extrapolate": True}
    best = None
    for search, factor in attempts:
        evaluate = task.adjusted(adjustment, value=search is value_search)
        point = start if factor is None else _root_by_secants(evaluate, best, factor)
        found = newton(evaluate, point, search=search, **options)
        if best is None or found.decrement < best.decrement:
            best = found
        if not np.isfinite(best.decrement) or task.maxiter == 0:
            return best
        if best.decrement <= task.tol**2 * scale:
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


def _verdict(task: _Task, result: SolverResult, rate: float, moving: bool) -> tuple[bool, str]:
    """Say whether the iteration has ended at a solution, and why not.

    On the way to infinity the decrement vanishes too; but the last step still moves the linear predictor, or hardly any
    information is left. That cannot be told from the last step of a rough solution.
    """
    engine, loss = task.engine, task.loss
    if not result.converged:
        edge = " (it may lie at the end of the support, where the log loss is not smooth)"
        stuck = result.reason.startswith("no step") and loss.is_likelihood and np.isfinite(loss.link.support).any()
        return False, result.reason + (edge if stuck else "")
    if moving or (task.tol <= ROUGH_TOL and _uninformed(engine, loss, result.sums.hessian, rate)):
        return False, "the coefficients grow without bound while the loss hardly falls, as they do under separation"
    return True, result.reason


def _still_moving(task: _Task, result: SolverResult) -> bool:
    """Whether the last step still changed the linear predictor; of a rough solution it may."""
    if task.tol > ROUGH_TOL or not (np.abs(result.step) > GROWING * np.abs(result.params)).any():
        return False
    return bool(task.engine.reduce(ArraySum(lambda block: ((_used_rows(block) @ result.step) ** 2).sum())) > GROWING**2)


def _uninformed(engine: Engine, loss: Loss, information: NDArray, rate: float) -> bool:
    """Whether hardly any information is left on some column; part of the rows tells whether all need be looked at."""
    part = engine.thin(THINNEST)
    for rows in (part, engine):
        share = rows.n_rows / engine.n_rows
        if not (information_left(rows, loss, share * information, rate) < VANISHED).any():
            return False
    return True


def information_left(engine: Engine, loss: Loss, information: NDArray, rate: float) -> NDArray:
    """Return the information on each column, as a share of that in the null model of the given event rate."""
    null = loss.expected_curvature_at(loss.link.at(np.atleast_1d(loss.link(rate))))

    def squares(block: Block) -> NDArray:
        weight = block.weight
        return np.einsum("ij,ij->j", block.X, block.X) if weight is None else weight @ block.X**2

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.diagonal(information) / (engine.reduce(ArraySum(squares)) * null)


def _used_rows(block: Block) -> NDArray:
    return block.X if block.weight is None else block.X[block.weight > 0]


def objective(
    engine: Engine,
    loss: Loss,
    *,
    penalty: Penalty | None = None,
    adjustment: Adjustment | None = None,
) -> Evaluate:
    """Return what :func:`estimate` minimises: value, gradient and second derivative as a function of the coefficients."""
    task = _Task(engine, loss, penalty, 1e-8, 1.0, 100)
    return task.evaluator(value=True) if adjustment is None else task.adjusted(adjustment, value=True)


@dataclass
class _Task:
    """A loss on an engine, with a count of the passes over its rows."""

    engine: Engine
    loss: Loss
    penalty: Penalty | None
    tol: float
    scale: float
    maxiter: int
    passes: int = 0

    def evaluator(self, *, expected: bool = False, value: bool = False) -> Evaluate:
        def evaluate(params: NDArray) -> NewtonSums:
            self.passes += 1
            sums = self.engine.reduce(LossSums(self.loss, params, expected=expected, value=value))
            return sums if self.penalty is None else self.penalty.added_to(sums, params)

        return evaluate

    def adjusted(self, adjustment: Adjustment, *, value: bool) -> Evaluate:
        """Return the adjusted sums: one pass for the information, one for the leverages by its inverse."""
        engine, loss = self.engine, self.loss
        plain = self.evaluator(expected=True, value=value)

        def evaluate(params: NDArray) -> NewtonSums:
            sums = plain(params)
            factor = Cholesky(sums.hessian)
            sums.feasible &= factor.positive
            if sums.feasible:
                self.passes += 1
                matrix = adjustment.matrix(engine, loss, params, factor.inverse())
                total = engine.reduce(ArraySum(partial(self._shift, adjustment, params, matrix)))
                adjustment.apply(loss, sums, total, matrix, factor)
            return sums

        return evaluate

    def _shift(self, adjustment: Adjustment, params: NDArray, matrix: NDArray, block: Block) -> NDArray:
        return adjustment.shift(self.loss, block, self.loss.link.at(block.linear_predictor(params)), matrix)

    def minimise(
        self, start: NDArray, *, expected: bool = False, falling: bool = False, tol: float | None = None
    ) -> SolverResult:
        return newton(
            self.evaluator(expected=expected, value=falling),
            start,
            search=value_search if falling else slope_search,
            tol=self.tol if tol is None else tol,
            scale=max(1.0, self.scale),
            maxiter=self.maxiter,
        )

    def start_from_part(self, start: NDArray, weight: float, events: float) -> NDArray:
        """Return the rough solution on every j-th block, if the rarer class has rows enough for that, else `start`."""
        rarer = min(events, weight - events)
        every = min(THINNEST, int(rarer / (EVENTS_PER_COLUMN * len(start))))
        part = self.engine.thin(every) if every > 1 else self.engine
        if part.n_rows > self.engine.n_rows // 2:
            return start
        rough = _Task(part, self.loss, self.penalty, 0.1, 1.0, 20).minimise(start)
        return rough.params if rough.converged else start


def totals(engine: Engine) -> tuple[float, float]:
    """Return the sum of the weights and of the weighted outcomes, or say what is wrong with them."""

    def count(block: Block) -> NDArray:
        weight, y = block.weight, block.y
        if weight is None:
            return np.array([len(y), y.sum(), 0.0, _outside_unit_interval(y)])
        used = weight > 0
        events = np.where(used, weight * y, 0.0).sum()
        return np.array([weight.sum(), events, (~(weight >= 0)).sum(), _outside_unit_interval(y[used])])

    weight, events, bad_weights, bad_outcomes = engine.reduce(ArraySum(count)) if engine.n_rows else np.zeros(4)
    if bad_outcomes:
        raise InvalidDataError(
            f"the outcome is missing or outside [0, 1] in {bad_outcomes:.0f} rows; drop those rows or recode them."
        )
    if bad_weights or not np.isfinite(weight):
        raise InvalidDataError(f"weights must be finite and not negative; {bad_weights:.0f} rows have other weights.")
    if weight <= 0:
        raise InvalidDataError(f"there is nothing to fit: the weights of the {engine.n_rows} rows sum to zero.")
    if not 0 < events < weight:
        outcome = 0 if events <= 0 else 1
        raise InvalidDataError(
            f"the outcome is {outcome} in every row with weight; a binary regression needs both outcomes."
        )
    return float(weight), float(events)


def _outside_unit_interval(y: NDArray) -> int:
    return int((~((y >= 0.0) & (y <= 1.0))).sum())


def null_loss(weight: float, events: float) -> float:
    """The log loss of the model with a constant only, the yardstick of convergence for every loss."""
    rate = events / weight
    return float(weight * (entr(rate) + entr(1.0 - rate)))


def null_coefficients(loss: Loss, n_cols: int, constant: int | None, rate: float) -> NDArray:
    """Coefficients of the model with the constant only; zero without a constant."""
    params = np.zeros(n_cols)
    if constant is not None:
        params[constant] = loss.link(rate)
    return params


def _canonical_start(task: _Task, null_start: NDArray, weight: float, events: float) -> NDArray:
    """The canonical fit of the same link: convex, so always found."""
    canonical = _Task(task.engine, Canonical(task.loss.link), task.penalty, 1e-2, task.scale, task.maxiter)
    start = canonical.start_from_part(null_start, weight, events)
    result = canonical.minimise(start)
    task.passes += canonical.passes
    return result.params


def _feasible(
    task: _Task, start: NDArray, null_start: NDArray, constant: int | None, names: Sequence[str] | None
) -> NDArray:
    """Return `start`, or else the null coefficients, their constant moved until the loss is finite at every row."""
    evaluate = task.evaluator(value=True)
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
    _refuse_nonfinite_columns(task.engine, names)
    raise SupportError(
        f"no starting values keep every row inside the support of {task.loss.link!r} "
        f"({task.loss.link.support[0]:g} to {task.loss.link.support[1]:g}); give start_params, use loss='canonical', or another xi."
    )


def _refuse_nonfinite_columns(engine: Engine, names: Sequence[str] | None) -> None:
    counts = engine.reduce(ArraySum(lambda block: (~np.isfinite(block.X)).sum(axis=0)))
    bad = [f"{names[j] if names is not None else f'column {j}'} ({counts[j]:.0f} rows)" for j in np.flatnonzero(counts)]
    if bad:
        raise InvalidDataError(f"these columns are infinite or not numbers: {listed(bad)}; mend or drop those rows.")


def _refuse_collinear_columns(engine: Engine, penalty: Penalty | None, names: Sequence[str] | None) -> None:
    gram = engine.reduce(ArraySum(lambda block: weighted_gram(block.X, _ones_where_used(block))))
    if penalty is not None:
        gram[np.diag_indices_from(gram)] += penalty.curvature
    dependent = dependent_columns(gram)
    if dependent:
        labels = [str(names[j]) if names is not None else f"column {j}" for j in dependent]
        empty = [label for label, j in zip(labels, dependent, strict=True) if gram[j, j] == 0]
        if empty:
            raise CollinearityError(
                f"{listed(empty)}: zero in every row; drop it (a level without rows is the usual cause)."
            )
        raise CollinearityError(
            f"{listed(labels)}: an exact linear combination of the columns before it. "
            "Drop it (a constant beside a full set of dummies, or the same variable twice, are the usual causes)."
        )


def _ones_where_used(block: Block) -> NDArray:
    weight = block.weight
    return np.ones(len(block.y)) if weight is None else (weight > 0).astype(float)
