"""The estimate of few rows at once: Newton's steps where the rows are one block and nothing unusual happens.

A small fit takes less time than asking for its passes does. The steps, and what is looked at after them, are those of
:mod:`gevglm.estimation.strategies`, :mod:`gevglm.estimation.adjusted_roots` and :mod:`gevglm.estimation.checks`. Where a step would be
shortened, columns are collinear, or coefficients still move at the end, there is no answer here: the general way finds it, or says what is wrong.
In front of a wall, :mod:`gevglm.estimation.boundary` goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from gevglm.engine.base import Block
from gevglm.engine.cholesky import COLLINEAR, LARGE_MATRIX
from gevglm.engine.linalg import column_squares, weighted_gram
from gevglm.estimation.adjusted_roots import (
    MANY_ROWS,
    ROUGH,
    ROUGH_STEPS,
    SHRINKING,
    curve_left,
    has_good_start,
)
from gevglm.estimation.checks import GROWING, ROUGH_TOL, VANISHED
from gevglm.estimation.found import Estimate
from gevglm.estimation.newton import CONVERGED, NEAR, SLOPE_LOST, SLOPE_OVERSHOT, SolverResult
from gevglm.estimation.objective import Adjustment
from gevglm.estimation.pairs import ColumnPairs
from gevglm.estimation.sums import LossSums
from gevglm.links.base import Point
from gevglm.losses import Loss

if TYPE_CHECKING:
    from gevglm.estimation.estimate import Problem

FEW_COLUMNS = 12  # whose products two by two are worth keeping
ALIKE = 1e-12  # decrement of a step along which the information changes as a straight line does, to the last digits
SHORTENED = "a step is not taken in full"

Look: TypeAlias = Callable[[NDArray], tuple[NDArray, NDArray]]  # gradient and Hessian as functions of the coefficients


def estimate_at_once(problem: Problem, start: NDArray | None) -> Estimate | SolverResult | None:
    """Return the estimate of a convex problem, whose weights and events are known, without a penalty.

    None if it is not that simple; if a step is to be shortened in front of a wall, where it begins.
    """
    block, loss, adjustment = problem.engine.only_block, problem.loss, problem.adjustment
    if block is None or problem.penalty is not None or problem.omitted or problem.monitor.checkpoint is not None:
        return None
    k = block.X.shape[1]
    if k >= LARGE_MATRIX or problem.tol > ROUGH_TOL or not loss.convex:
        return None
    if not (loss.curvature_is_expected or (problem.has_walls and problem.adjustment is None)):
        return None
    by_residuals = loss.link.canonical_is_log
    few = k <= FEW_COLUMNS and by_residuals
    if adjustment is not None and not (few and _is_usual(problem, adjustment)):
        return None
    pairs = ColumnPairs(block.X) if few else None
    looks = _Looks(problem, block)
    look = _residual_sums(loss, block, pairs) if by_residuals else looks.at
    try:
        if adjustment is None or pairs is None:
            return _minimum(problem, block, look, problem.null_start if start is None else start)
        return _root(problem, adjustment, block, pairs, look, start)
    except _NotInFull:
        return looks.before if problem.has_walls else None


def _is_usual(problem: Problem, adjustment: Adjustment) -> bool:
    """Whether the general way begins with steps of the kind that are taken here."""
    by_rows = adjustment.by_quadratic_forms and adjustment.has_objective(problem.loss) and problem.loss.is_likelihood
    return by_rows and problem.engine.n_rows <= MANY_ROWS and has_good_start(problem)


def _minimum(problem: Problem, block: Block, look: Look, start: NDArray) -> Estimate | None:
    """Take full Newton steps until the decrement is below its tolerance, and look at where they end."""
    found = _full_steps(look, start, problem.tol**2 * problem.scale, problem.maxiter)
    if found is None:
        return None
    params, step, hessian, factor, decrement, n_iter = found
    information, null = hessian.diagonal(), float(problem.loss.expected_curvature_at(problem.null_point)[0])
    least = float((information / (column_squares(block.X, block.weight) * null)).min())
    moves = (np.abs(step) > GROWING * np.abs(params)).any()
    if moves or not least >= VANISHED or (factor.diagonal() ** 2 < COLLINEAR * information).any():
        return None
    if not problem.loss.curvature_is_expected:
        point = problem.loss.link.at(block.linear_predictor(params))
        expected = weighted_gram(block.X, block.weighted(problem.loss.expected_curvature_at(point)))
        information, factor = expected.diagonal(), lapack.dpotrf(expected)[0]
    return _estimate(problem, params, information, _inverse(factor), decrement, n_iter, n_iter + 1, least)


def _full_steps(
    look: Look, params: NDArray, enough: float, maxiter: int
) -> tuple[NDArray, NDArray, NDArray, NDArray, float, int] | None:
    """Take full Newton steps; return where they end, the last one, the Hessian before it and its factor, the decrement, and how many there were.

    None if the Hessian is not positive definite.
    """
    step, slope = params, 0.0
    for n_iter in range(maxiter + 1):
        gradient, hessian = look(params)
        if n_iter and not SLOPE_LOST * slope <= gradient.dot(step) <= -SLOPE_OVERSHOT * slope:
            raise _NotInFull
        factor, info = lapack.dpotrf(hessian)
        if info:
            return None
        step = lapack.dpotrs(factor, -gradient)[0]
        slope = float(gradient.dot(step))
        params = params + step
        if -slope <= enough:
            return params, step, hessian, factor, -slope, n_iter
    return None


def _rough_start(problem: Problem, block: Block, pairs: ColumnPairs, look: Look) -> tuple[NDArray, int] | None:
    """Return where a few steps of the plain fit lead, with the number of looks at the rows; None if they do not.

    The first of them is the one of :func:`~gevglm.estimation.adjusted_roots.curved_start` from the null model, where all rows have the same curvature.
    """
    start, loss, enough = problem.null_start, problem.loss, ROUGH**2 * pairs.k
    if block.offset is not None:
        return _rough_steps(look, start, enough, 0)
    point = loss.link.at(np.zeros(1)) if problem.constant is None else problem.null_point
    hessian = pairs.gram(block.weighted(np.full(len(block.y), loss.expected_curvature_at(point)[0])))
    gradient = block.weighted(point.cdf - block.y).dot(block.X)
    factor, info = lapack.dpotrf(hessian)
    if info:
        return None
    step = lapack.dpotrs(factor, -gradient)[0]
    decrement = left = -float(gradient.dot(step))
    if decrement > enough:
        third = block.weighted(block.X.dot(step) ** 2).dot(block.X)
        third *= -0.5 * loss.expected_curvature_slope_at(point)
        curve = lapack.dpotrs(factor, third)[0]
        left = curve_left(float(third.dot(curve)), decrement)
        if left == np.inf:
            return _rough_steps(look, start, enough, 1)
        step += curve
    return (start + step, 1) if left <= enough else _rough_steps(look, start + step, enough, 1)


def _rough_steps(look: Look, start: NDArray, enough: float, taken: int) -> tuple[NDArray, int] | None:
    rough = _full_steps(look, start, enough, ROUGH_STEPS)
    return None if rough is None else (rough[0], taken + rough[-1] + 1)


def _root(
    problem: Problem, adjustment: Adjustment, block: Block, pairs: ColumnPairs, look: Look, start: NDArray | None
) -> Estimate | None:
    """Find the root of an adjusted score: by Fisher scoring and, once near, by Newton steps with the derivative of the adjustment."""
    params, passes, enough = start, 0, (SHRINKING * problem.tol) ** 2 * problem.scale
    if params is None:
        rough = _rough_start(problem, block, pairs, look)
        if rough is None:
            return None
        params, passes = rough
    last, loss = np.inf, problem.loss
    bend: _Bend | None = None
    for n_iter in range(problem.maxiter + 1):
        point = loss.link.at(block.linear_predictor(params))
        hessian = pairs.gram(block.weighted(loss.expected_curvature_at(point)))
        factor, info = lapack.dpotrf(hessian)
        if info or not (factor.diagonal() ** 2 >= COLLINEAR * hessian.diagonal()).all():
            return None
        inverse = _inverse(factor)
        quadratic = pairs.quadratic_form(inverse)
        slope = block.weighted(point.cdf - block.y)  # that of losses whose rows are looked at by their residuals
        slope -= adjustment.row_shift(loss, block, point, quadratic)
        gradient = slope @ block.X
        step = -inverse.dot(gradient)
        decrement = -float(gradient.dot(step))
        if not decrement < max(last, 1.0):
            return None
        if decrement < NEAR and decrement > enough:
            bend = bend or _Bend.at(adjustment, loss, block, point, pairs, inverse, quadratic)
            factor, step, info = lapack.dposv(hessian + bend.of_gradient, -gradient)
            if info:
                return None
            step += lapack.dpotrs(factor, -0.5 * bend.of_hessian(step).dot(step))[0]  # its curve
        if decrement <= enough or (decrement <= ALIKE and bend is not None and decrement**2 <= enough * last < np.inf):
            if bend is not None:
                hessian = hessian + bend.of_hessian(step)
                inverse = _inverse(lapack.dpotrf(hessian)[0])
            passes += 2 * (n_iter + 1)
            return _estimate(problem, params + step, hessian.diagonal(), inverse, decrement, n_iter, passes, None)
        last = decrement
        params = params + step
    return None


class _Bend(NamedTuple):
    """What the information leaves out of the derivative of an adjusted score, and how the information itself changes."""

    of_gradient: NDArray  # of shape (k, k)
    third: NDArray  # derivative of the information by each coefficient; of shape (k, k, k)

    @classmethod
    def at(
        cls,
        adjustment: Adjustment,
        loss: Loss,
        block: Block,
        point: Point,
        pairs: ColumnPairs,
        inverse: NDArray,
        quadratic: NDArray,
    ) -> _Bend:
        r"""Return both at a point, for an adjusted score that is the gradient of :math:`\ell(b) - a \ln |I(b)|`.

        With :math:`T_j` the derivative of the information I by a coefficient, :math:`C = I^{-1}` and :math:`q_i = x_i' C x_i`, the second derivative of
        the penalty is :math:`-a \left(\sum_i W_i'' q_i x_{ij} x_{il} - \mathrm{tr}(T_j C T_l C)\right)`.
        """
        (change,) = adjustment.rate_slopes(loss, point)  # a W''
        third = pairs.third_moments(block.X, block.weighted(loss.expected_curvature_slope_at(point)))
        turned = third @ inverse
        k = pairs.k
        traces = turned.reshape(k, -1) @ turned.transpose(0, 2, 1).reshape(k, -1).T
        power = -adjustment.penalty(loss, 1.0)
        return cls(power * traces - pairs.gram(block.weighted(change * quadratic)), third)

    def of_hessian(self, step: NDArray) -> NDArray:
        """Return by how much the information changes along a short step."""
        k = len(step)
        return step.dot(self.third.reshape(k, -1)).reshape(k, k)


def _inverse(factor: NDArray) -> NDArray:
    """Return the symmetric inverse of a matrix from its upper Cholesky factor."""
    triangle = lapack.dpotri(factor)[0]
    inverse = triangle + triangle.T
    inverse.flat[:: len(inverse) + 1] *= 0.5
    return inverse


def _estimate(
    problem: Problem,
    params: NDArray,
    information: NDArray,
    inverse: NDArray,
    decrement: float,
    n_iter: int,
    passes: int,
    least: float | None,
) -> Estimate:
    return Estimate(
        params=params,
        information=information,
        inverse_information=inverse,
        weight=problem.weight,
        events=problem.events,
        n_iter=n_iter,
        n_passes=passes,
        decrement=decrement,
        converged=True,
        positive_definite=True,
        reason=CONVERGED,
        least_information=least,
    )


class _NotInFull(Exception):
    """A search would shorten or lengthen the last step."""


class _Looks:
    """Looks at a loss, of which the last two are remembered; beyond a wall there are no numbers."""

    def __init__(self, problem: Problem, block: Block):
        self.problem, self.block = problem, block
        self.before: SolverResult | None = None  # the last but one, where the last step begins
        self.last: SolverResult | None = None

    def at(self, params: NDArray) -> tuple[NDArray, NDArray]:
        """Return gradient and second derivative."""
        self.problem.passes += 1
        sums = LossSums(self.problem.loss, params).map(self.block)
        taken = 0 if self.last is None else self.last.n_iter + 1
        self.before = self.last
        self.last = SolverResult(params, sums, taken, np.inf, False, SHORTENED, np.zeros_like(params))
        return sums.gradient if sums.feasible else np.full_like(params, np.nan), sums.hessian


def _residual_sums(loss: Loss, block: Block, pairs: ColumnPairs | None) -> Look:
    """Do what :func:`_sums` does where the slope of the loss is F - y, in arrays that are made once."""
    X, y, offset, weight, link = block.X, block.y, block.offset, block.weight, loss.link
    residual, curvature = np.empty(len(X)), np.empty(len(X))

    def look(params: NDArray) -> tuple[NDArray, NDArray]:
        X.dot(params, out=curvature)
        if offset is not None:
            np.add(curvature, offset, out=curvature)
        link.write_cdf_pdf(curvature, residual, curvature)
        np.subtract(residual, y, out=residual)
        if weight is not None:
            np.multiply(residual, weight, out=residual)
            np.multiply(curvature, weight, out=curvature)
        return residual.dot(X), weighted_gram(X, curvature) if pairs is None else pairs.gram(curvature)

    return look
