r"""Damped Newton steps on sums over the rows: the iteration behind every estimate of coefficients.

The solver knows nothing of links, losses or rows. It is a generator (see :mod:`gevglm.engine.base`) that yields a point and is sent
gradient and Hessian (and, where the search needs it, the value) there. A line search, a generator too, decides how far to go:

* :func:`slope_search` for convex objectives needs gradients only: the slope along the step is monotone, so the
  step is long enough and not too long when the slope has lost part of its size.
* :func:`value_search` for the others demands that the objective falls (Armijo).
* :func:`bounded_search` and :func:`residual_search`, for equations that are not a gradient, look at the size of the next step.

The iteration has converged when the Newton decrement :math:`g' H^{-1} g`, the squared distance to the solution in
units of standard errors, is at most ``tol**2 * scale`` (equation :eq:`decrement` of the theory pages); the last step is then taken without looking again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from gevglm.engine.cholesky import LARGE_MATRIX
from gevglm.estimation.newton_sums import Sums

Found = TypeVar("Found")
Steps: TypeAlias = Generator[NDArray, Any, Found]  # asks for the sums at points, which are Sums
Search: TypeAlias = "Callable[[NDArray, Sums, NDArray], Steps[tuple[float, Sums] | None]]"

SLOPE_LOST = 0.9  # a step is long enough when the slope has fallen to this share
SLOPE_OVERSHOT = 0.25  # and not too long when it has not turned into more than this share
ARMIJO = 1e-4
TRIALS = 40
LINEAR_TRIALS = 4  # trials after which a bracket that still starts at zero is searched by orders of magnitude
NEAR = 0.01  # decrement from which the last steps predict the next ones
CONVERGED = "the Newton decrement is below its tolerance"
PREDICTED = "the next Newton decrement is predicted to be below its tolerance"
SINGULAR = "the second derivative is singular at the starting values"
UNBOUNDED = "the coefficients grow without bound while the loss hardly falls, as they do under separation"
NEGLIGIBLE = 1e-11  # share of every coefficient below which a step is none


@dataclass(frozen=True)
class SolverResult:
    """Where the iteration ended."""

    params: NDArray  # of shape (k,)
    sums: Any  # at the last point evaluated, one negligible step before `params` when converged
    n_iter: int  # Newton steps taken
    decrement: float  # Newton decrement at the last point evaluated
    converged: bool
    reason: str  # why the iteration ended, in words
    step: NDArray  # the last Newton step, taken if converged; of shape (k,)
    boundary: Any = (
        None  # the rows that hold the solution at the end of the support (:mod:`gevglm.estimation.boundary`), if any do
    )


def newton(
    start: NDArray,
    *,
    search: Search,
    tol: float = 1e-8,
    scale: float = 1.0,
    maxiter: int = 100,
    extrapolate: bool = False,
    predict_below: float = 0.0,
    stop_if_singular: bool = False,
    on_step: Callable[[NDArray, float], None] | None = None,
) -> Steps[SolverResult]:
    """Minimise by damped Newton steps; asks for the sums at one point after the other.

    Parameters
    ----------
    start : ndarray of shape (k,)
        A feasible point.
    search : callable
        :func:`slope_search`, :func:`value_search`, :func:`bounded_search` or :func:`residual_search`.
    tol, scale : float
        Converged when the decrement is at most ``tol**2 * scale``.
    maxiter : int
        Largest number of steps.
    extrapolate : bool
        Learn from the last steps, where the Hessian is not the derivative of the gradient (see :class:`Extrapolation`).
    predict_below : float
        From this decrement on, believe that the next step is shorter than this one by as much as this one is shorter than the last, and save a look.
    stop_if_singular : bool
        Stop at the starting values if the Hessian is singular there, with :data:`SINGULAR` for a reason.
    on_step : callable, optional
        Called with every point and its decrement.
    """
    enough, past = tol**2 * scale, Extrapolation() if extrapolate else None
    # a large Hessian is not kept beside the next one, where the search does without it
    spare = len(start) >= LARGE_MATRIX and search in (slope_search, value_search) and past is None
    params, sums = start, (yield start)
    last, decrement, step = 0.0, np.inf, np.zeros_like(start)
    if not sums.finite:
        reason = "the loss is not finite at the starting values"
        return SolverResult(params, sums, 0, np.inf, False, reason, step)
    for n_iter in range(maxiter + 1):  # searches end where the loss is finite
        step, decrement, damped = sums.step()
        if on_step is not None:
            on_step(params, decrement)
        if decrement <= enough and not damped:
            return SolverResult(params + step, sums, n_iter, decrement, True, CONVERGED, step)
        if decrement < min(predict_below, last) and decrement**2 <= enough * last and not damped:
            return SolverResult(params + step, sums, n_iter, decrement, True, PREDICTED, step)
        if damped and n_iter == 0 and stop_if_singular:
            return SolverResult(params, sums, 0, decrement, False, SINGULAR, step)
        last = decrement
        if n_iter == maxiter:
            break
        found, direction = None, step
        if spare:
            sums.release()
        if past is not None and decrement < NEAR:
            step = past.extrapolated(params, direction)
            found = (yield from search(params, sums, step)) if step is not direction else None
        if found is None:
            step = direction
            found = yield from search(params, sums, step)
        if found is None or _is_negligible(moved := found[0] * step, params):
            reason = "no step along the Newton direction improves the fit"
            sums = (yield params) if spare else sums
            return SolverResult(params, sums, n_iter, decrement, False, reason, step)
        params, sums = params + moved, found[1]
    return SolverResult(
        params,
        sums,
        maxiter,
        decrement,
        False,
        f"{maxiter} iteration{' was' if maxiter == 1 else 's were'} not enough",
        step,
    )


class Extrapolation:
    """Anderson's extrapolation of steps that shrink by a constant factor only.

    Fisher-scoring steps on an adjusted gradient leave out a part of its derivative. The last few steps tell what that part
    does: the combination of them with the smallest remainder is where the iteration is heading.
    """

    MEMORY = 5

    def __init__(self) -> None:
        self._points: list[NDArray] = []
        self._steps: list[NDArray] = []

    def extrapolated(self, params: NDArray, step: NDArray) -> NDArray:
        """Remember a point and its step; return the step to take from there."""
        self._points = [*self._points[-self.MEMORY :], params]
        self._steps = [*self._steps[-self.MEMORY :], step]
        if len(self._points) < 3:
            return step
        points, steps = np.array(self._points), np.array(self._steps)
        moved, changed = (points[1:] - points[:-1]).T, (steps[1:] - steps[:-1]).T
        scale = np.maximum.reduce(np.abs(changed), axis=1, keepdims=True)
        scale[scale == 0.0] = 1.0
        share = _least_squares(changed / scale, step / scale[:, 0])
        better = step - (moved + changed) @ share
        return better if np.isfinite(better).all() else step


def _least_squares(matrix: NDArray, values: NDArray) -> NDArray:
    """Return the shortest of the best solutions, as ``numpy.linalg.lstsq`` does, in less time where the matrix is small."""
    rows, columns = matrix.shape
    sides = np.zeros(max(rows, columns))
    sides[:rows] = values
    return lapack.dgelss(matrix, sides, cond=1e-10)[1][:columns]


def slope_search(params: NDArray, sums: Sums, step: NDArray) -> Steps[tuple[float, Sums] | None]:
    """Find a step length from slopes alone, for convex objectives.

    Starting from the full step, the slope along the step is bracketed around zero and interpolated until it has lost
    part of its size without turning positive by much.
    """
    start_slope = float(sums.gradient @ step)
    low, slope_low, high, slope_high = 0.0, start_slope, np.inf, np.inf
    length, best = 1.0, None
    for trials in range(1, TRIALS + 1):
        trial = yield params + length * step
        slope = float(trial.gradient @ step) if trial.finite else np.inf
        if slope <= -SLOPE_OVERSHOT * start_slope:
            best = (length, trial)
            if slope >= SLOPE_LOST * start_slope:
                break
            low, slope_low = length, slope
        else:
            high, slope_high = length, slope
        if low == 0.0 and trials >= LINEAR_TRIALS:
            length = high * 10.0 ** -(2 ** (trials - LINEAR_TRIALS))
        else:
            length = _between(low, slope_low, high, slope_high)
    return best


def inner_search(params: NDArray, sums: Sums, step: NDArray) -> Steps[tuple[float, Sums] | None]:
    """Do what :func:`slope_search` does, but find nothing where the full step leaves the support."""
    search = slope_search(params, sums, step)
    trial = yield next(search)
    if not trial.finite:
        return None
    while True:
        try:
            trial = yield search.send(trial)
        except StopIteration as end:
            return end.value


def value_search(params: NDArray, sums: Sums, step: NDArray) -> Steps[tuple[float, Sums] | None]:
    """Find a step length by halving until the objective falls enough (Armijo), up to rounding."""
    slope = float(sums.gradient @ step)
    if slope > 0.0:
        return None
    rounding = 8.0 * np.finfo(float).eps * abs(sums.value)
    length = 1.0
    for _ in range(TRIALS):
        trial = yield params + length * step
        if trial.finite and trial.value <= sums.value + ARMIJO * length * slope + rounding:
            return length, trial
        length *= 0.5 if trial.finite else 0.25
    return None


def residual_search(params: NDArray, sums: Sums, step: NDArray) -> Steps[tuple[float, Sums] | None]:
    """Find a step length for equations that are not a gradient, by halving until the next step gets shorter."""
    decrement = sums.step()[1]
    length = 1.0
    for _ in range(TRIALS):
        trial = yield params + length * step
        if trial.finite and trial.step()[1] < (1.0 - ARMIJO * length) * decrement:
            return length, trial
        length *= 0.5
    return None


def bounded_search(params: NDArray, sums: Sums, step: NDArray) -> Steps[tuple[float, Sums] | None]:
    """Find a step length for equations that are not a gradient.

    The full step if the next one gets shorter; else at most one standard error, whatever comes next: the size of an
    adjusted score has minima that are not roots, and a search that insists on falling ends there.
    """
    decrement = sums.step()[1]
    trial = yield params + step
    if trial.finite and trial.step()[1] < decrement:
        return 1.0, trial
    length = min(1.0, 1.0 / np.sqrt(decrement))
    for _ in range(TRIALS):
        trial = yield params + length * step
        if trial.finite:
            return length, trial
        length *= 0.5
    return None


def _between(low: float, slope_low: float, high: float, slope_high: float) -> float:
    """Return the next trial length: longer while nothing brackets zero, else interpolated inside the bracket."""
    if np.isinf(high):
        return 4.0 * low
    if high > 100.0 * low > 0.0:
        return float(np.sqrt(low * high))
    share = slope_low / (slope_low - slope_high) if np.isfinite(slope_high) else 0.25
    return low + min(max(share, 0.05), 0.95) * (high - low)


def _is_negligible(step: NDArray, params: NDArray) -> bool:
    """Whether a step hardly changes any coefficient."""
    if abs(step[0]) > NEGLIGIBLE * abs(params[0]):
        return False
    return bool((np.abs(step) <= NEGLIGIBLE * np.abs(params)).all())
