"""The estimate of few rows at once: Newton's steps where the rows are one block and nothing unusual happens.

A small fit takes less time than asking for its passes does. The steps, and what is looked at after them, are those of
:mod:`gevglm.estimation.strategies` and :mod:`gevglm.estimation.checks`. Where a step would be shortened, columns are collinear, or
coefficients still move at the end, there is no answer here: the general way finds it, or says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from gevglm.engine.base import Block
from gevglm.engine.cholesky import COLLINEAR, LARGE_MATRIX
from gevglm.engine.linalg import column_squares
from gevglm.estimation.checks import GROWING, ROUGH_TOL, VANISHED
from gevglm.estimation.found import Estimate
from gevglm.estimation.newton import CONVERGED, SLOPE_LOST, SLOPE_OVERSHOT
from gevglm.estimation.sums import LossSums, NewtonSums
from gevglm.links.standard import Logit

if TYPE_CHECKING:
    from gevglm.estimation.estimate import Problem


def estimate_at_once(problem: Problem, start: NDArray | None) -> Estimate | None:
    """Return the estimate of a plain convex problem, whose weights and events are known; None if it is not that simple."""
    block, loss = problem.engine.only_block, problem.loss
    plain = problem.adjustment is None and problem.penalty is None and problem.monitor.checkpoint is None
    if block is None or not plain or problem.omitted or problem.tol > ROUGH_TOL or block.X.shape[1] >= LARGE_MATRIX:
        return None
    inside = problem.has_walls
    if not (loss.convex and (loss.curvature_is_expected or inside)):
        return None
    sums_at = _logit_sums(block) if type(loss.link) is Logit else lambda point: LossSums(loss, point).map(block)
    params, slope, enough = problem.null_start if start is None else start, 0.0, problem.tol**2 * problem.scale
    step = params
    for n_iter in range(problem.maxiter + 1):
        sums = sums_at(params)
        gradient, hessian = sums.gradient, sums.hessian
        if not sums.feasible:
            return None
        if n_iter and not SLOPE_LOST * slope <= gradient.dot(step) <= -SLOPE_OVERSHOT * slope:
            return None  # a search would shorten or lengthen the step
        factor, info = lapack.dpotrf(hessian)
        if info:
            return None
        step = lapack.dpotrs(factor, -gradient)[0]
        slope = float(gradient.dot(step))
        if -slope <= enough:
            break
        params = params + step
    else:
        return None
    params, information = params + step, hessian.diagonal()
    null = float(loss.expected_curvature_at(problem.null_point)[0])
    least = float((information / (column_squares(block.X, block.weight) * null)).min())
    moves = (np.abs(step) > GROWING * np.abs(params)).any()
    if moves or not least >= VANISHED or (factor.diagonal() ** 2 < COLLINEAR * information).any():
        return None
    if inside:
        information = (expected := LossSums(loss, params, expected=True).map(block).hessian).diagonal()
        factor = lapack.dpotrf(expected)[0]
    inverse = lapack.dpotri(factor)[0]
    inverse += np.triu(inverse, 1).T
    return Estimate(
        params=params,
        information=information,
        inverse_information=inverse,
        weight=problem.weight,
        events=problem.events,
        n_iter=n_iter,
        n_passes=n_iter + 1,
        decrement=-slope,
        converged=True,
        positive_definite=True,
        reason=CONVERGED,
        least_information=None if inside else least,
    )


def _logit_sums(block: Block) -> Callable[[NDArray], NewtonSums]:
    """Return a function that sums the loss of the logit as :class:`LossSums` does, into arrays that are made once."""
    X, offset, weight = block.X, block.offset, block.weight
    moments = X.T.dot(block.y if weight is None else weight * block.y)
    odds, F, scaled = np.empty(len(X)), np.empty(len(X)), np.empty_like(X)

    def sums_at(params: NDArray) -> NewtonSums:
        np.dot(X, -params, out=odds)
        if offset is not None:
            np.subtract(odds, offset, out=odds)
        np.exp(odds, out=odds)  # against the event; where it overflows there is no finite sum
        np.add(odds, 1.0, out=F)
        np.divide(1.0, F, out=F)
        np.multiply(odds, F, out=odds)
        np.multiply(odds, F, out=odds)
        if weight is not None:
            np.multiply(F, weight, out=F)
            np.multiply(odds, weight, out=odds)
        np.multiply(X, np.sqrt(odds, out=odds)[:, None], out=scaled)
        return NewtonSums(F.dot(X) - moments, np.dot(scaled.T, scaled))

    return sums_at
