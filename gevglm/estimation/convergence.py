"""Whether an iteration has ended at a solution: on the way to infinity the Newton decrement vanishes too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import ArraySum, Block, Engine
from gevglm.engine.linalg import column_squares
from gevglm.estimation.newton import SolverResult
from gevglm.estimation.objective import THINNEST, Task
from gevglm.losses import Loss

GROWING = 1e-3  # relative change of a coefficient, and change of a linear predictor, too large for a last step
ROUGH_TOL = 1e-6  # beyond, the last step of a solution says nothing
VANISHED = 1e-8  # share of the null model's information on a column below which its coefficient is infinite
TIGHTER, MANY_STEPS = 1e-4, 20  # tolerance and steps of a second look at a solution that still moves


def judged(task: Task, result: SolverResult) -> tuple[SolverResult, bool, str]:
    """Look at a solution, a second time if it still moves; return it, whether it is one, and why (not).

    On the way to infinity the last step still moves the linear predictor, or hardly any information is left.
    """
    loss = task.loss
    if not result.converged:
        edge = " (it may lie at the end of the support, where the log loss is not smooth)"
        stuck = result.reason.startswith("no step") and loss.is_likelihood and np.isfinite(loss.link.support).any()
        return result, False, result.reason + (edge if stuck else "")
    if task.tol > ROUGH_TOL:
        return result, True, result.reason
    moving = _still_moving(task, result)
    if moving:  # towards infinity, or just slowly
        second = task.aside(result.params, falling=not loss.convex, tol=TIGHTER * task.tol, maxiter=MANY_STEPS)
        if second.converged:
            result, moving = second, _still_moving(task, second)
    if moving or uninformed(task.engine, loss, result.sums.hessian, task.rate, VANISHED):
        reason = "the coefficients grow without bound while the loss hardly falls, as they do under separation"
        return result, False, reason
    return result, True, result.reason


def uninformed(engine: Engine, loss: Loss, information: NDArray, rate: float, share: float) -> bool:
    """Whether less than a share of the null model's information is left on some column.

    A part of the rows tells whether all of them need be looked at.
    """
    for rows in (engine.subsample_blocks(THINNEST), engine):
        part = rows.n_rows / engine.n_rows
        if not (information_left(rows, loss, part * information, rate) < share).any():
            return False
    return True


def _still_moving(task: Task, result: SolverResult) -> bool:
    """Whether the last step still changed the linear predictor."""
    if not (np.abs(result.step) > GROWING * np.abs(result.params)).any():
        return False
    return bool(task.engine.reduce(ArraySum(lambda block: ((_used_rows(block) @ result.step) ** 2).sum())) > GROWING**2)


def information_left(engine: Engine, loss: Loss, information: NDArray, rate: float) -> NDArray:
    """Return the information on each column, as a share of that in the null model of the given event rate."""
    null = loss.expected_curvature_at(loss.link.at(np.atleast_1d(loss.link(rate))))
    squares = ArraySum(lambda block: column_squares(block.X, block.weight))

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.diagonal(information) / (engine.reduce(squares) * null)


def _used_rows(block: Block) -> NDArray:
    return block.X if block.weight is None else block.X[block.weight > 0]
