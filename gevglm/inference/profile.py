r"""Profile likelihood: intervals, tests and curves, for maximum likelihood and for every penalised likelihood.

Limits and ratios come from :mod:`gevglm.inference.profile_limits`, the limits of few rows from :mod:`gevglm.inference.limits_at_once`. Where their steps fail,
the constrained minimum is followed step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import chi2, norm

from gevglm.display.brief import Brief
from gevglm.engine.arrow_cholesky import factor_of
from gevglm.engine.base import run, run_in_lockstep
from gevglm.engine.linalg import one_blas_thread
from gevglm.estimation.estimate import Problem
from gevglm.estimation.newton import newton, value_search
from gevglm.estimation.objective import Objective
from gevglm.estimation.sums import NewtonSums
from gevglm.exceptions import GevglmError
from gevglm.inference.limits_at_once import limits_at_once
from gevglm.inference.profile_limits import JointSteps

MANY_ROWS = 5_000
ROUGH = 1e-5  # distance from a constrained minimum, in standard errors, whose square the value does not see
STEPS = 40
FARTHEST = 200.0  # in standard errors: beyond, a limit is reported as infinite


class Curve(Protocol):
    """A likelihood ratio as a function of some coefficients."""

    def restart(self) -> None:
        """Return to the estimates, before turning to another side."""

    def ratio(self, values: NDArray) -> float:
        """Return the likelihood-ratio statistic at given values."""


class Likelihood(Protocol):
    """What a likelihood at its maximum answers; also that of :mod:`gevglm.inference.shape_profile`."""

    @property
    def params(self) -> NDArray: ...
    @property
    def covariance(self) -> NDArray: ...
    @property
    def infinite(self) -> NDArray | None: ...
    def is_infinite(self, column: int) -> bool:
        """Whether a coefficient is infinite, or not determined, under separation."""

    def intervals(self, columns: Sequence[int], alpha: float) -> list[tuple[float, float]]:
        """Return the profile intervals of coefficients."""

    def ratios(self, hypotheses: Sequence[list[int]]) -> list[float]:
        """Return the likelihood-ratio statistics of hypotheses that coefficients are zero."""

    def curve(self, columns: list[int]) -> Curve:
        """Return the likelihood ratio as a function of some coefficients."""


@dataclass(frozen=True)
class PenalisedLikelihood:
    """A likelihood at its maximum."""

    # from coefficients to value, gradient and second derivative (or information) of the negative log-likelihood
    evaluate: Objective
    params: NDArray  # the estimates; of shape (k,)
    sums: NewtonSums  # value, gradient and second derivative there
    covariance: NDArray  # the inverse of the second derivative; of shape (k, k)
    n_rows: int  # above MANY_ROWS, looks at the likelihood are expensive
    problem: Problem | None = (
        None  # of which it is the loss; minimised from scratch where steps from the estimates fail
    )
    # under separation, where the estimates lie: -inf, inf, 0 for finite ones, NaN for those that are not determined; of shape (k,)
    infinite: NDArray | None = None

    @classmethod
    def at(
        cls,
        evaluate: Objective,
        params: NDArray,
        n_rows: int,
        problem: Problem | None = None,
        infinite: NDArray | None = None,
    ) -> PenalisedLikelihood:
        """Look at a likelihood at its maximum, or where it hardly rises any more on the way to infinity."""
        with one_blas_thread():
            sums = evaluate(params)
            return cls(evaluate, params, sums, factor_of(sums.hessian).inverse(), n_rows, problem, infinite)

    @classmethod
    def of(cls, problem: Problem, params: NDArray, infinite: NDArray | None = None) -> PenalisedLikelihood:
        """Look at the loss of a problem at its minimum, where it is a likelihood."""
        return cls.at(problem.objective(), params, problem.engine.n_rows, problem, infinite)

    def interval(self, column: int, alpha: float) -> tuple[float, float]:
        """Return the profile interval of a coefficient, infinite where the ratio never reaches the quantile."""
        return self.intervals([column], alpha)[0]

    def intervals(self, columns: Sequence[int], alpha: float) -> list[tuple[float, float]]:
        """Return the profile intervals of coefficients."""
        quantile = float(ndtri(1.0 - alpha / 2.0))
        steps, together = self.steps, self.evaluate.together
        finite = [j for j in columns if not self.is_infinite(j)]
        with one_blas_thread():
            limits = {} if together is None else limits_at_once(together, steps, finite, quantile)
            rest = [j for j in finite if j not in limits]
            found = run_in_lockstep((steps.limits(j, quantile) for j in rest), self.evaluate.at_all)
            for j, (lower, upper) in zip(rest, found, strict=True):
                limits[j] = self._limit(j, -quantile, lower), self._limit(j, quantile, upper)
            return [
                limits[j] if j in limits else (self._far_limit(j, -quantile), self._far_limit(j, quantile))
                for j in columns
            ]

    def is_infinite(self, column: int) -> bool:
        """Whether a coefficient is infinite, or not determined, under separation."""
        return self.infinite is not None and self.infinite[column] != 0.0

    def _far_limit(self, column: int, target: float) -> float:
        """Return a limit of an infinite estimate: infinite on its own side, and where the ratio reaches the quantile on the other."""
        assert self.infinite is not None
        if self.infinite[column] == np.copysign(np.inf, target):
            return float(self.infinite[column])
        information = self.evaluate(np.zeros_like(self.params)).hessian[column, column]
        unit = 1.0 / np.sqrt(information) if np.isfinite(information) and information > 0.0 else 1.0
        return _far_crossing(ProfileCurve(self, [column]), target, unit)

    def _limit(self, column: int, target: float, found: float | None) -> float:
        """Return a limit; where joint steps have not found it, by following the constrained minimum."""
        return crossing(ProfileCurve(self, [column]), target) if found is None else found

    def ratio(self, columns: list[int]) -> float:
        """Return the likelihood-ratio statistic of the hypothesis that coefficients are zero."""
        return self.ratios([columns])[0]

    def ratios(self, hypotheses: Sequence[list[int]]) -> list[float]:
        """Return the likelihood-ratio statistics of hypotheses that coefficients are zero."""
        steps, curves = self.steps, [ProfileCurve(self, columns) for columns in hypotheses]
        with one_blas_thread():
            searches = (steps.ratio(curve.columns, curve.predicted(curve.null)) for curve in curves)
            found = run_in_lockstep(searches, self.evaluate.at_all)
            return [
                curve.ratio(curve.null) if ratio is None else ratio for curve, ratio in zip(curves, found, strict=True)
            ]

    def limit(self, column: int, target: float) -> float:
        """Find where the signed root of a coefficient reaches a value, below the estimate if that is negative."""
        with one_blas_thread():
            lower, upper = run(self.steps.limits(column, abs(target)), self.evaluate)
            return self._limit(column, target, lower if target < 0.0 else upper)

    def curve(self, columns: list[int]) -> ProfileCurve:
        """Return the likelihood ratio as a function of some coefficients."""
        return ProfileCurve(self, columns)

    @property
    def steps(self) -> JointSteps:
        """The steps to limits and ratios."""
        careful = {} if self.n_rows <= MANY_ROWS else {"smallest_contraction": 0.0}
        return JointSteps(self.params, self.sums.value, self.covariance, **careful)


class ProfileCurve:
    """The minimum over the other coefficients, as a function of some of them."""

    def __init__(self, likelihood: PenalisedLikelihood, columns: list[int]):
        self.likelihood = likelihood
        self.columns = list(columns)
        self.free = np.delete(np.arange(len(likelihood.params)), columns)
        self.restart()

    @property
    def center(self) -> NDArray:
        """The estimates of the coefficients in question."""
        return self.likelihood.params[self.columns]

    @property
    def null(self) -> NDArray:
        """The hypothesis that they are zero."""
        return np.zeros(len(self.columns))

    def restart(self) -> None:
        """Return to the estimates, before turning to another side."""
        self._last = (self.likelihood.params, self.likelihood.sums)

    def ratio(self, values: NDArray) -> float:
        """Return the likelihood-ratio statistic at given values; infinite where no minimum is found."""
        point = self.predicted(values)
        if not len(self.free):
            sums = self.likelihood.evaluate(point)
            self._last = (point, sums)
            return max(2.0 * (sums.value - self.likelihood.sums.value), 0.0)
        steps = newton(point[self.free], search=value_search, tol=ROUGH, extrapolate=True)
        found = run(steps, partial(self._constrained, values))
        rise = 2.0 * (found.sums.value - self.likelihood.sums.value)
        if found.converged or found.decrement < ROUGH**2:
            return max(
                rise - found.decrement, 0.0
            )  # the last step, not evaluated, lowers the value by half its decrement
        if self.likelihood.infinite is None:
            return self.from_scratch(values)[0]
        return max(rise, 0.0)  # others may be on their way to infinity, where the value hardly changes

    def from_scratch(self, values: NDArray, start: NDArray | None = None) -> tuple[float, NDArray | None]:
        """Return the likelihood-ratio statistic by a fit of the other coefficients that knows nothing of the estimates, and that fit; infinite where there is none."""
        if self.likelihood.problem is None:
            return np.inf, None
        problem = replace(self.likelihood.problem.holding(self.columns, values), start=start)
        try:
            params = problem.estimate().params
        except GevglmError:  # no coefficients keep every row inside the support
            return np.inf, None
        value = problem.objective()(params).value
        if not np.isfinite(value):
            return np.inf, None
        return max(2.0 * (value - self.likelihood.sums.value), 0.0), params

    def root(self, value: float) -> float:
        """Return the signed root z at a value of a single coefficient."""
        return float(np.sign(value - self.center[0]) * np.sqrt(self.ratio(np.array([value]))))

    def predicted(self, values: NDArray) -> NDArray:
        """Follow the tangent of the constrained minimum."""
        point, sums = self._last
        moved = point.copy()
        moved[self.columns] = values
        if len(self.free):
            change = sums.hessian[self.free[:, None], self.columns] @ (values - point[self.columns])
            factor = factor_of(sums.hessian[np.ix_(self.free, self.free)])
            if factor.positive:  # not where other coefficients are infinite as well
                moved[self.free] -= factor.solve(change)
        return moved

    def _constrained(self, values: NDArray, free_params: NDArray) -> NewtonSums:
        """Look at the likelihood as a function of the other coefficients."""
        full = np.empty(len(self.likelihood.params))
        full[self.free], full[self.columns] = free_params, values
        sums = self.likelihood.evaluate(full)
        self._last = (full, sums)
        hessian = sums.hessian[np.ix_(self.free, self.free)]
        return NewtonSums(sums.gradient[self.free], hessian, sums.value, sums.feasible)


@dataclass(frozen=True, repr=False)
class Profile(Brief):
    """The profile likelihood of one coefficient.

    Attributes
    ----------
    name : str
    estimate : float
    interval : tuple of float
        At one minus `alpha`.
    alpha : float
    frame : DataFrame
        Columns ``value``, ``ratio`` (the likelihood-ratio statistic) and ``wald`` (its quadratic approximation).
    """

    name: str
    estimate: float
    interval: tuple[float, float]
    alpha: float
    frame: pd.DataFrame

    def plot(self, ax=None):
        """Draw the curve, its approximation and the interval; see :func:`gevglm.plots.plot_profile`."""
        from gevglm.plots import plot_profile

        return plot_profile(self, ax=ax)


def profile(likelihood: Likelihood, column: int, name: str, alpha: float, points: int = 41) -> Profile:
    """Return the profile likelihood of a coefficient, from beyond one limit to beyond the other."""
    center, error = likelihood.params[column], np.sqrt(likelihood.covariance[column, column])
    ((lower, upper),) = likelihood.intervals([column], alpha)
    reach = float(norm.ppf(1.0 - alpha / 2.0)) * error
    if likelihood.is_infinite(column):  # the curve ends where the iteration did, on the way to the estimate
        error, reach = np.nan, 0.0
    first = lower if np.isfinite(lower) else center - 3.0 * reach
    last = upper if np.isfinite(upper) else center + 3.0 * reach
    values = np.linspace(center - 1.25 * (center - first), center + 1.25 * (last - center), points)
    curve = likelihood.curve([column])
    ratio = np.empty(points)
    with one_blas_thread():
        for side in (np.flatnonzero(values < center)[::-1], np.flatnonzero(values >= center)):
            curve.restart()
            for i in side:
                ratio[i] = curve.ratio(values[i : i + 1])
    frame = pd.DataFrame({"value": values, "ratio": ratio, "wald": ((values - center) / error) ** 2})
    estimate = likelihood.infinite[column] if likelihood.infinite is not None and np.isnan(error) else center
    return Profile(name, float(estimate), (lower, upper), alpha, frame)


def ratio_tests(likelihood: Likelihood, columns: list[int], names: list[str]) -> pd.DataFrame:
    """Return the likelihood-ratio tests of coefficients being zero: columns ``statistic`` and ``pvalue``, NaN where none was asked for."""
    statistics = np.full(len(names), np.nan)
    statistics[columns] = likelihood.ratios([[j] for j in columns])
    return pd.DataFrame({"statistic": statistics, "pvalue": chi2.sf(statistics, 1)}, index=names)


def crossing(curve: Any, target: float, tol: float = 1e-9) -> float:
    """Return where z crosses a quantile, by secant steps from minimum to minimum."""
    sign = np.sign(target)
    curve.restart()
    center, scale = float(curve.center[0]), float(np.sqrt(curve.likelihood.covariance.diagonal()[curve.columns[0]]))
    inner, z_inner = center, 0.0
    outer, z_outer = np.nan, np.nan
    value = center + target * scale
    for _ in range(STEPS):
        z = curve.root(value)
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


def _far_crossing(curve: ProfileCurve, target: float, unit: float) -> float:
    """Return where z crosses a quantile, from an estimate at infinity: by steps of growing length, then by root finding."""
    center, sign = float(curve.center[0]), float(np.sign(target))
    inner, step = center, unit

    def beyond(value: float) -> float:
        curve.restart()
        return min(float(np.sqrt(curve.ratio(np.array([value])))), FARTHEST) - abs(target)

    for _ in range(STEPS):
        outer = inner + sign * step
        if beyond(outer) >= 0.0:
            return float(brentq(beyond, *sorted((inner, outer)), xtol=1e-10 * unit, rtol=1e-12))
        inner, step = outer, 2.0 * step
    return float(sign * np.inf)
