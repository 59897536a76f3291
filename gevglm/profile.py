r"""Profile-likelihood intervals.

The signed root :math:`z(b_j) = \mathrm{sign}(b_j - \hat b_j) \sqrt{2 (\ell(b_j) - \ell(\hat b))}` of the likelihood ratio, with
:math:`\ell(b_j)` minimised over the other coefficients, is close to linear in :math:`b_j`; its crossing of a normal quantile is found by
secant steps, each minimisation starting from the tangent of the last.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from gevglm.linalg import one_blas_thread
from gevglm.reducers import NewtonSums
from gevglm.solver import newton, value_search

STEPS = 40
FARTHEST = 200.0  # in standard errors: beyond, a limit is reported as infinite

Evaluate = Callable[[NDArray], NewtonSums]


def profile_interval(
    evaluate: Evaluate,
    params: NDArray,
    sums: NewtonSums,
    standard_error: float,
    column: int,
    alpha: float,
    tol: float = 1e-9,
) -> tuple[float, float]:
    """Return the profile-likelihood interval of one coefficient.

    Parameters
    ----------
    evaluate : callable
        From coefficients to value, gradient and Hessian of the negative log-likelihood.
    params : ndarray of shape (k,)
        Its minimiser.
    sums : NewtonSums
        Value, gradient and Hessian there.
    standard_error : float
        Of the coefficient.
    column : int
        Which coefficient.
    alpha : float
        One minus the coverage.
    tol : float
        Accuracy of a limit, in standard errors.

    Returns
    -------
    lower, upper : float
        Infinite where the likelihood ratio never reaches the quantile.
    """
    target = norm.ppf(1.0 - alpha / 2.0)
    curve = ProfileCurve(evaluate, params, sums, column)
    with one_blas_thread():
        lower, upper = (
            _crossing(curve, params[column], sign, sign * target, standard_error, tol) for sign in (-1.0, 1.0)
        )
    return lower, upper


class ProfileCurve:
    """The signed root of the likelihood ratio along one coefficient."""

    def __init__(self, evaluate: Evaluate, params: NDArray, sums: NewtonSums, column: int):
        self.evaluate = evaluate
        self.params = params
        self.sums = sums
        self.column = column
        self.free = np.delete(np.arange(len(params)), column)
        self._last = (params, sums)

    def restart(self) -> None:
        """Return to the minimum, before turning to the other side."""
        self._last = (self.params, self.sums)

    def __call__(self, value: float) -> float:
        """Return z at a value of the coefficient."""
        point = self._predicted(value)
        point[self.column] = value
        if len(self.free):
            result = newton(self._constrained(value), point[self.free], search=value_search, tol=1e-7)
            if not result.converged:
                return np.sign(value - self.params[self.column]) * np.inf
            point[self.free] = result.params
        sums = self.evaluate(point)
        self._last = (point, sums)
        ratio = max(2.0 * (sums.value - self.sums.value), 0.0)
        return float(np.sign(value - self.params[self.column]) * np.sqrt(ratio))

    def _predicted(self, value: float) -> NDArray:
        """Follow the tangent of the constrained solution."""
        point, sums = self._last
        free, j = self.free, self.column
        tangent = (
            -np.linalg.solve(sums.hessian[np.ix_(free, free)], sums.hessian[free, j]) if len(free) else np.empty(0)
        )
        moved = point.copy()
        moved[free] += tangent * (value - point[j])
        return moved

    def _constrained(self, value: float) -> Evaluate:
        def evaluate(free_params: NDArray) -> NewtonSums:
            full = np.empty(len(self.params))
            full[self.free], full[self.column] = free_params, value
            sums = self.evaluate(full)
            hessian = sums.hessian[np.ix_(self.free, self.free)]
            return NewtonSums(sums.gradient[self.free], hessian, sums.value, sums.feasible)

        return evaluate


def _crossing(curve: ProfileCurve, center: float, sign: float, target: float, scale: float, tol: float) -> float:
    curve.restart()
    inner, z_inner = center, 0.0
    outer, z_outer = np.nan, np.nan
    value = center + target * scale
    for _ in range(STEPS):
        z = curve(value)
        if sign * z >= sign * target:
            outer, z_outer = value, z
        else:
            inner, z_inner = value, z
            if abs(value - center) > FARTHEST * scale:
                return float(sign * np.inf)
        if np.isnan(outer):
            slope = (z_inner / (inner - center)) if inner != center else 1.0 / scale
            step = (target - z_inner) / slope
            following = inner + sign * min(max(abs(step) * 1.05, 0.1 * scale), 4.0 * abs(inner - center))
        elif np.isinf(z_outer):
            following = 0.5 * (inner + outer)
            curve.restart()
        else:
            share = (target - z_inner) / (z_outer - z_inner)
            following = inner + share * (outer - inner)
        if abs(following - value) <= tol * scale:
            return float(following)
        value = following
    return float(value)
