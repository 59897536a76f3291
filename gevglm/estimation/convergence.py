"""Whether an iteration has ended at a solution: on the way to infinity the Newton decrement vanishes too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import ArraySum, Block, Engine
from gevglm.engine.linalg import Matrix, column_squares
from gevglm.estimation.lockstep import Pass, Passes
from gevglm.estimation.newton import SolverResult
from gevglm.losses import Loss

if TYPE_CHECKING:
    from gevglm.estimation.estimate import Problem

THINNEST = 16  # a part of the rows is never less than one block in this many
GROWING = 1e-3  # relative change of a coefficient, and change of a linear predictor, too large for a last step
ROUGH_TOL = 1e-6  # beyond, the last step of a solution says nothing
VANISHED = 1e-8  # share of the null model's information on a column below which its coefficient is infinite
TIGHTER, MANY_STEPS = 1e-4, 20  # tolerance and steps of a second look at a solution that still moves


def check_convergence(problem: Problem, result: SolverResult) -> Passes[tuple[SolverResult, bool, str]]:
    """Look at a solution, a second time if it still moves; find the solution, whether it is one, and why (not).

    On the way to infinity the last step still moves the linear predictor, or hardly any information is left.
    """
    loss = problem.loss
    if not result.converged:
        edge = " (it may lie at the end of the support, where the log loss is not smooth)"
        stuck = result.reason.startswith("no step") and loss.is_likelihood and np.isfinite(loss.link.support).any()
        return result, False, result.reason + (edge if stuck else "")
    if problem.tol > ROUGH_TOL:
        return result, True, result.reason
    moving = yield from _still_moving(problem.engine, result)
    if moving:  # towards infinity, or just slowly
        tol = TIGHTER * problem.tol
        second = yield from problem.minimise(result.params, falling=not loss.convex, tol=tol, maxiter=MANY_STEPS)
        if second.converged:
            result, moving = second, (yield from _still_moving(problem.engine, second))
    if moving or (yield from is_uninformed(problem.engine, loss, result.sums.hessian, problem.rate, VANISHED)):
        reason = "the coefficients grow without bound while the loss hardly falls, as they do under separation"
        return result, False, reason
    return result, True, result.reason


def is_uninformed(engine: Engine, loss: Loss, information: NDArray, rate: float, share: float) -> Passes[bool]:
    """Find out whether less than a share of the null model's information is left on some column.

    A part of the rows tells whether all of them need be looked at.
    """
    for rows in (engine.subsample_blocks(THINNEST), engine):
        part = rows.n_rows / engine.n_rows
        left = yield from information_left(rows, loss, part * information, rate)
        if not (left < share).any():
            return False
    return True


def _still_moving(engine: Engine, result: SolverResult) -> Passes[bool]:
    """Find out whether the last step still changed the linear predictor."""
    if not (np.abs(result.step) > GROWING * np.abs(result.params)).any():
        return False
    change = yield Pass(engine, ArraySum(lambda block: ((_used_rows(block) @ result.step) ** 2).sum()))
    return bool(change > GROWING**2)


def information_left(engine: Engine, loss: Loss, information: NDArray, rate: float) -> Passes[NDArray]:
    """Sum up the information on each column, as a share of that in the null model of the given event rate."""
    null = loss.expected_curvature_at(loss.link.at(np.atleast_1d(loss.link(rate))))
    squares = yield Pass(engine, ArraySum(lambda block: column_squares(block.X, block.weight)))
    return np.diagonal(information) / (squares * null)


def _used_rows(block: Block) -> Matrix:
    return block.X if block.weight is None else block.X[block.weight > 0]
