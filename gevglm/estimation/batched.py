r"""Many fits at once: one loss on one design, under many weightings of its rows or for many outcomes.

The fits take Newton steps in lockstep. The rows carry a column of weights or outcomes for each fit, so that linear predictors, gradients and (by
the products of two columns, see :mod:`gevglm.estimation.sums`) Hessians of all fits are one matrix product each. A fit ends where a fit alone
would end: at a Newton decrement of ``tol**2`` times the null model's loss, with the last step taken.

What does not end there (separation, one class, columns that are collinear in a resample) is not judged here: it counts as not converged, and is
left to :meth:`gevglm.estimation.estimate.Problem.estimate`, one fit at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import ArraySum, Block
from gevglm.engine.cholesky import COLLINEAR, CholeskyOfAll, diagonals
from gevglm.engine.linalg import one_blas_thread
from gevglm.engine.memory import MemoryEngine
from gevglm.estimation.adjusted_roots import SHRINKING
from gevglm.estimation.checks import GROWING, UNIDENTIFIED
from gevglm.estimation.estimate import Problem, null_loss
from gevglm.estimation.newton import SLOPE_OVERSHOT
from gevglm.estimation.pairs import PairsOfBlocks, symmetric
from gevglm.estimation.sums import (
    MOST_COLUMNS,
    LossSumsAtAll,
    NewtonSums,
    ShiftsAtAll,
    StackedSums,
    parts_of,
)
from gevglm.losses import Loss

NUMBERS = 1 << 16  # of rows times fits in a block: half a megabyte
BLOCK_ROWS = 1024
MOST_FITS = 128
MOST_NUMBERS = 1 << 23  # of rows times fits in all
MOST_PRODUCTS = 1 << 22  # of two columns that are remembered
ROUNDS = 40
SHORTEST = 2.0**-10  # share of a step below which a fit is left alone
NARROWER = 0.75  # share of unfinished fits from which the columns of the finished ones are dropped

Look: TypeAlias = tuple[NewtonSums, CholeskyOfAll]  # sums with a leading axis for the fits, and their Hessians factored


# -- Newton's iteration for many -----------------------------------------------------------------


@dataclass(frozen=True)
class SolverResults:
    """Where each of many iterations ended; arrays have a leading axis for the fits."""

    params: NDArray  # of shape (b, k)
    hessian: NDArray  # at the last point evaluated, one negligible step before; of shape (b, k, k)
    step: NDArray  # the last one, of shape (b, k)
    n_iter: NDArray
    converged: NDArray  # bool


def newton_all(
    look: Callable[[NDArray, NDArray], Look],
    start: NDArray,
    tolerance: NDArray | float,
    rounds: int = ROUNDS,
) -> SolverResults:
    """Take damped Newton steps in many fits until the decrement of each is at most its tolerance.

    Parameters
    ----------
    look : callable
        Returns the sums of some fits, and the factors of their Hessians, from their coefficients, of shape (a, k), and their numbers.
    start : ndarray of shape (b, k)
    tolerance : float or ndarray of shape (b,)
    rounds : int
        The most points at which a fit is looked at.

    Notes
    -----
    A step is halved until the slope along it has not turned into more than a quarter of what it was. A fit whose Hessian is not positive
    definite, or whose columns are collinear, is left where it is.
    """
    b = len(start)
    tolerance = np.broadcast_to(np.asarray(tolerance, dtype=float), (b,))
    params, step, length = start.copy(), np.zeros_like(start), np.zeros(b)
    slope, hessian = np.full(b, -np.inf), np.zeros((b, *start.shape[1:] * 2))
    converged, n_iter, active = np.zeros(b, dtype=bool), np.zeros(b, dtype=int), np.arange(b)
    for _ in range(rounds):
        trial = params[active] + length[active, None] * step[active]
        sums, factor = look(trial, active)
        descent = factor.solve(-sums.gradient)
        decrement = -np.einsum("bi,bi->b", descent, sums.gradient)
        usable = sums.feasible & factor.positive & (factor.smallest_pivot >= COLLINEAR) & np.isfinite(decrement)
        turned = np.einsum("bi,bi->b", sums.gradient, step[active])
        good = usable & (turned <= -SLOPE_OVERSHOT * slope[active])
        here, there = active[good], active[~good]
        n_iter[here] += length[here] > 0.0
        params[here], step[here], length[here], slope[here] = trial[good], descent[good], 1.0, -decrement[good]
        hessian[here] = sums.hessian[good]
        converged[here] = decrement[good] <= tolerance[here]
        length[there] *= 0.5
        active = active[~converged[active] & (length[active] > SHORTEST)]
        if not len(active):
            break
    params[converged] += step[converged]
    return SolverResults(params, hessian, step, n_iter, converged)


# -- rows with a column for each fit -------------------------------------------------------------


def fits_at_once(n_rows: int) -> int:
    """Return how many fits a batch should have."""
    return max(1, min(MOST_FITS, max(NUMBERS // min(n_rows, BLOCK_ROWS), 16), MOST_NUMBERS // n_rows))


def batchable(problem: Problem) -> bool:
    """Whether fits of a problem can be made in batches: few columns, and any bias reduction by quadratic forms of the rows."""
    by_rows = problem.adjustment is None or problem.adjustment.by_quadratic_forms
    return problem.engine.n_cols <= MOST_COLUMNS and by_rows and problem.maxiter > 0


class BatchRows(MemoryEngine):
    """The rows of a design with outcomes or weights for each of many fits.

    Parameters
    ----------
    X : ndarray of shape (n, k)
    y, weight : ndarray of shape (n, 1) or (n, b)
        Outcomes, and observations behind each row, the same for all fits or those of each; None for weights of one.
    var, offset : ndarray of shape (n,), optional
        Variance weights, and what is added to the linear predictor.
    pairs : PairsOfBlocks, optional
        That of other batches of the same design.
    """

    def __init__(
        self,
        X: NDArray,
        y: NDArray,
        weight: NDArray | None,
        *,
        var: NDArray | None = None,
        offset: NDArray | None = None,
        pairs: PairsOfBlocks | None = None,
    ):
        var, offset = (None if vector is None else vector.reshape(len(X), 1) for vector in (var, offset))
        super().__init__(X, y, freq=weight, var=var, offset=offset, block_rows=BLOCK_ROWS)
        self.fits = max(y.shape[1], 1 if weight is None else weight.shape[1])
        self.pairs = pairs or PairsOfBlocks(MOST_PRODUCTS)

    def narrowed(self, fits: NDArray) -> BatchRows:
        """Return the rows for some of the fits."""

        def some(columns: NDArray) -> NDArray:
            return columns if columns.shape[1] == 1 else columns[:, fits]

        weight, shared = self._vectors.get("freq"), {name: self._vectors.get(name) for name in ("var", "offset")}
        return BatchRows(self._X, some(self._y), None if weight is None else some(weight), pairs=self.pairs, **shared)


# -- estimates -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimates:
    """The coefficients of many fits; arrays have a leading axis for the fits."""

    params: NDArray  # of shape (b, k)
    information: NDArray  # expected second derivative of loss plus penalty; of shape (b, k, k)
    inverse_information: NDArray
    # sum of the weights, of the weighted outcomes; of shape (b,)
    weight: NDArray
    events: NDArray
    n_iter: NDArray
    converged: NDArray  # bool; where it is not, nothing else is of use


def estimate_all(problem: Problem, rows: BatchRows) -> Estimates:
    """Do what :meth:`~gevglm.estimation.estimate.Problem.estimate` does for each of many fits.

    Parameters
    ----------
    problem : Problem
        Loss, penalty, adjustment and tolerance of all fits; its rows are not looked at. The starting values, which must be given, are those of all
        fits or of each, of shape (b, k).
    rows : BatchRows
    """
    with one_blas_thread(), np.errstate(all="ignore"):
        weight, events, squares, moments = _totals(rows)
        start = np.broadcast_to(np.asarray(problem.start, dtype=float), (rows.fits, rows.n_cols)).copy()
        both = (events > 0.0) & (events < weight)
        start[~both] = np.nan  # never feasible, so left alone
        scale = np.ones(rows.fits)
        scale[both] = [max(1.0, null_loss(*pair)) for pair in zip(weight[both], events[both], strict=True)]
        factor = 1.0 if problem.adjustment is None else SHRINKING
        tolerance, rounds = (factor * problem.tol) ** 2 * scale, min(ROUNDS, problem.maxiter + 1)
        found = newton_all(_Sums(problem, rows, moments), start, tolerance, rounds)
        information, converged = found.hessian, found.converged & both
        if problem.penalty is not None:
            converged &= ~_new_constants(problem, rows)
        if problem.adjustment is None:
            converged &= ~(np.abs(found.step) > GROWING * np.abs(found.params)).any(axis=1)
            converged &= ~_uninformed(problem.loss, information, squares, weight, events)
            if not problem.loss.curvature_is_expected:
                information = _Sums(problem, rows, moments).plain(found.params, expected=True).hessian
        inverse = CholeskyOfAll(np.where(converged[:, None, None], information, np.eye(rows.n_cols))).inverse()
        return Estimates(found.params, information, inverse, weight, events, found.n_iter, converged)


def _totals(rows: BatchRows) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return for each fit the sum of weights and of events, of squares of the columns, and of the columns over events."""

    def sums(block: Block) -> NDArray:
        X, weight = block.X, _weights(block)
        events = weight * block.y
        shape = (1, rows.fits)
        totals = [np.broadcast_to(each.sum(axis=0, keepdims=True), shape) for each in (weight, events)]
        stacked = [np.broadcast_to(each, (rows.n_cols, rows.fits)) for each in ((X**2).T @ weight, X.T @ events)]
        return np.concatenate([*totals, *stacked])

    found = rows.reduce(ArraySum(sums))
    squares, moments = np.split(found[2:].T, 2, axis=1)
    return found[0], found[1], squares, moments


def _new_constants(problem: Problem, rows: BatchRows) -> NDArray:
    """Tell in which fits a column that varies is one in all rows with weight, which a penalty might then spare as the constant."""
    constant = problem.constant

    def varying(block: Block) -> NDArray:
        differs = (block.X != 1.0).astype(float)
        if constant is not None:
            differs[:, constant] = 1.0
        return np.broadcast_to(differs.T @ (_weights(block) > 0), (rows.n_cols, rows.fits))

    return (rows.reduce(ArraySum(varying)) == 0.0).any(axis=0)


def _weights(block: Block) -> NDArray:
    return np.ones((len(block.y), 1)) if block.weight is None else block.weight


def _uninformed(loss: Loss, information: NDArray, squares: NDArray, weight: NDArray, events: NDArray) -> NDArray:
    """Tell whether hardly any of the null model's information is left on some column, a symptom of separation."""
    null = loss.expected_curvature_at(loss.link.at_probability(events / weight))
    return ~(diagonals(information) >= UNIDENTIFIED * squares * null[:, None]).all(axis=1)


class _Sums:
    """The sums of a loss, with penalty or adjustment, for some of the fits of a batch."""

    def __init__(self, problem: Problem, rows: BatchRows, moments: NDArray):
        self.problem, self.rows, self.moments = problem, rows, moments
        self.fits = np.arange(rows.fits)
        # a slope of F - y has outcomes in their moments only
        self.by_moments = not problem.loss.is_likelihood or problem.loss.link.canonical_is_log

    def __call__(self, params: NDArray, fits: NDArray) -> Look:
        if len(fits) <= NARROWER * len(self.fits):
            kept = np.searchsorted(self.fits, fits)
            self.rows, self.moments, self.fits = self.rows.narrowed(kept), self.moments[kept], fits
        place = np.searchsorted(self.fits, fits)
        everywhere = np.zeros((len(self.fits), params.shape[1]))
        everywhere[place] = params
        adjustment = self.problem.adjustment
        sums = self.plain(everywhere, expected=adjustment is not None)
        factor = CholeskyOfAll(sums.hessian)
        if adjustment is not None:
            covariance = self._covariance(everywhere, factor.inverse())
            shifts = ShiftsAtAll(adjustment, self.problem.loss, everywhere, covariance, self.rows.pairs)
            adjustment.apply(self.problem.loss, sums, self.rows.reduce(shifts), covariance, factor)
        if len(place) == len(self.fits):
            return sums, factor
        some = NewtonSums(sums.gradient[place], sums.hessian[place], sums.value, sums.feasible[place])
        return some, CholeskyOfAll(some.hessian)

    def plain(self, params: NDArray, *, expected: bool = False) -> NewtonSums:
        """Return the sums of loss plus penalty."""
        kind = ResidualSums if self.by_moments else LossSumsAtAll
        stacked = self.rows.reduce(kind(self.problem.loss, params, expected=expected, pairs=self.rows.pairs))
        gradient = stacked.gradient.T - self.moments if self.by_moments else stacked.gradient.T.copy()
        value = np.zeros(len(params))
        sums = NewtonSums(gradient, stacked.hessians, value, stacked.feasible)
        return sums if self.problem.penalty is None else self.problem.penalty.added_to(sums, params)

    def _covariance(self, params: NDArray, inverse: NDArray) -> NDArray:
        """Return the model-based covariances."""
        loss, pairs = self.problem.loss, self.rows.pairs
        if loss.is_likelihood:
            return inverse

        def meats(block: Block) -> NDArray:
            total = np.zeros(())
            for part in parts_of(block):
                point = loss.link.at(part.linear_predictor(params.T))
                total = total + pairs.of(part).weighted_sums(part.weighted(loss.score_variance_at(point)))
            return total

        return inverse @ symmetric(self.rows.reduce(ArraySum(meats)), params.shape[1]) @ inverse


class ResidualSums(LossSumsAtAll):
    r"""Sums of losses whose slope is :math:`F - y`, but for what outcomes add to the gradient: :math:`\sum_i w_i F_i x_i`, and the Hessians."""

    def sums_of(self, part: Block) -> StackedSums:
        rows, fits = len(part.X), self.params.shape[1]
        F, curvature = _scratch(rows, fits)
        np.matmul(part.X, self.params, out=curvature)
        if part.offset is not None:
            curvature += part.offset
        self.loss.link.write_cdf_pdf(curvature, F, curvature)
        weight = part.weight
        if weight is not None:
            F *= weight
            curvature *= weight
        products = self.pairs.of(part).weighted_sums(curvature)
        return StackedSums(part.X.T @ F, products, np.zeros(fits), np.isfinite(self.params).all(axis=0))


_buffers = threading.local()


def _scratch(rows: int, fits: int) -> NDArray:
    """Return two arrays to write to, kept by each thread: new ones of this size would be paid for page by page."""
    buffer = getattr(_buffers, "numbers", None)
    if buffer is None or buffer.size < 2 * rows * fits:
        buffer = _buffers.numbers = np.empty(2 * rows * fits)
    return buffer[: 2 * rows * fits].reshape(2, rows, fits)
