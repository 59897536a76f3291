r"""Maximum likelihood for the shape xi of a GEV link, with both losses.

With the log loss, coefficients and shape maximise the likelihood together. With the canonical loss the losses of different shapes are
different yardsticks; the shape then maximises the Bernoulli log-likelihood of the canonical fit. In both cases the estimates
solve stacked estimating equations

.. math::

    \sum_i w_i a_i (y_i - F_i)\, x_i = 0, \qquad \sum_i w_i e_i (y_i - F_i) = 0,

with :math:`V = F(1-F)` and

* log loss: :math:`a = F'/V` and :math:`e = F_\xi / V`, the scores of coefficients and shape;
* canonical loss: :math:`a = 1` and :math:`e = (F_\xi + F' x'c)/V`, the derivative of the log-likelihood along the path
  :math:`\hat b(\xi)` of canonical fits, whose direction is :math:`c = -(\sum w F' x x')^{-1} \sum w F_\xi x`.

The covariance of all of them is the sandwich of these equations (the inverse joint observed information for the log loss).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import chi2, norm

from gevglm.covariance import Covariance, Fitted
from gevglm.engine.base import (
    ArraySum,
    Block,
    Engine,
    MappedEngine,
    Pass,
    Passes,
    make_pass,
    make_passes,
    run,
    run_in_lockstep,
)
from gevglm.engine.linalg import hstack_column, one_blas_thread, scale_rows
from gevglm.estimation.checks import THINNEST
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.sums import LossSums
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError, WeakShapeWarning, unknown_option, warn
from gevglm.losses import Canonical, Log, Loss

ROUGH = 1e-3  # tolerance of the fits on the grid
REACH, APART = 0.35, 0.08  # how far away the fits may be that predict the next one, and how close to each other
STEP = 1e-5  # of the differences of analytic scores

LossOf = Callable[[float], Loss]


class ShapePath:
    """The fits of one problem along the shape, each with its own loss and started from its neighbours."""

    def __init__(self, problem: Problem, loss_of: LossOf):
        self.problem = problem
        self.loss_of = loss_of
        self.passes = self.steps = 0
        self._fits: dict[float, tuple[float, Estimate]] = {}

    def fit(self, xi: float, tol: float | None = None) -> Estimate:
        """Return the fit at a shape, at least as accurate as `tol`."""
        tol = self.problem.tol if tol is None else tol
        cached = self._fits.get(xi)
        if cached is None or cached[0] > tol:
            found = self._problem_at(xi, self._predicted(xi), tol).estimate()
            self.passes += found.n_passes
            self.steps += found.n_iter
            self._fits[xi] = cached = (tol, found)
        return cached[1]

    def fit_all(self, grid: Sequence[float] | NDArray, tol: float) -> None:
        """Fit several shapes in the same passes over the rows, from starting values that a part of the rows gives."""
        order = outwards(grid)
        part = self.problem.engine.subsample_blocks(THINNEST)
        starts: list[NDArray | None] = [self.problem.start] * len(order)
        if part.n_rows <= self.problem.engine.n_rows // 2:
            path = ShapePath(replace(self.problem, engine=part), self.loss_of)
            rough = [path.fit(xi, tol) for xi in order]
            starts = [found.params if found.converged else None for found in rough]
        fits = [self._problem_at(xi, start, tol).estimation() for xi, start in zip(order, starts, strict=True)]
        with one_blas_thread():
            for xi, found in zip(order, run_in_lockstep(fits, make_passes), strict=True):
                self._fits[xi] = (tol, found)
                self.steps += found.n_iter
        self.passes += max(found.n_passes for _, found in self._fits.values())

    def _problem_at(self, xi: float, start: NDArray | None, tol: float) -> Problem:
        return replace(self.problem, loss=self.loss_of(xi), start=start, tol=tol)

    def log_likelihoods(self, grid: Sequence[float] | NDArray, tol: float) -> NDArray:
        """Return the log-likelihoods of the fits at several shapes; see :meth:`log_likelihood`."""
        if self.problem.engine.in_memory:
            values = {xi: self.log_likelihood(xi, tol) for xi in outwards(grid)}
            return np.array([values[xi] for xi in grid])
        self.fit_all(grid, tol)
        self.passes += 1
        logs = [Log(self.loss_of(xi).link) for xi in grid]
        sums = [
            log_loss_sum(self.problem.engine, log, self._fits[xi][1].params) for xi, log in zip(grid, logs, strict=True)
        ]
        return -np.array(run_in_lockstep(sums, make_passes))

    def log_likelihood(self, xi: float, tol: float | None = None) -> float:
        """Return the Bernoulli log-likelihood of the fit at a shape; minus infinity where the fit fails or rules out a row."""
        found = self.fit(xi, tol)
        if not np.isfinite(found.params).all():
            return -np.inf
        self.passes += 1
        log = Log(self.loss_of(xi).link)
        return -run(log_loss_sum(self.problem.engine, log, found.params), make_pass)

    def _predicted(self, xi: float) -> NDArray | None:
        """Extrapolate the coefficients from two near shapes that are not too close to each other."""
        near = sorted(
            (other for other in self._fits if self._fits[other][1].converged), key=lambda other: abs(other - xi)
        )
        if not near or abs(near[0] - xi) > REACH:
            return self.problem.start
        params = self._fits[near[0]][1].params
        apart = [other for other in near[1:] if abs(other - near[0]) >= APART and abs(other - xi) <= REACH]
        if near[0] == xi or not apart:
            return params
        slope = (params - self._fits[apart[0]][1].params) / (near[0] - apart[0])
        return params + slope * (xi - near[0])


@dataclass
class ShapeEstimate:
    """The maximum-likelihood estimate of the shape."""

    xi: float
    fitted: Estimate  # the coefficients at xi
    loss: Loss  # the loss at xi
    profile: pd.DataFrame  # columns ``xi`` and ``llf``: the profile log-likelihood on the grid and at the estimate
    boundary: bool  # whether the likelihood is largest at an end of the grid, where it was cut off
    path: ShapePath | None  # for further shapes; None after the rows were dropped

    @cached_property
    def llf(self) -> float:
        return self._log_likelihood(self.xi)

    def ratio(self, xi: float) -> float:
        """Return the likelihood-ratio statistic of a shape."""
        return max(2.0 * (self.llf - self._log_likelihood(xi)), 0.0)

    def without_rows(self) -> ShapeEstimate:
        """Return the estimate without the fits at other shapes, which hold the rows."""
        _ = self.llf
        bare = copy(self)
        bare.path = None
        return bare

    def _log_likelihood(self, xi: float) -> float:
        if self.path is None:
            raise InvalidDataError("the data are gone, which the likelihood of another shape needs.")
        return self.path.log_likelihood(xi)

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the profile interval, cut off at the ends of the grid."""
        quantile = float(chi2.ppf(1.0 - alpha, 1))
        grid = self.profile["xi"].to_numpy()
        below, above = np.sort(grid[grid < self.xi]), np.sort(grid[grid > self.xi])
        return self._crossing(below, quantile), self._crossing(above, quantile)

    def _crossing(self, side: NDArray, quantile: float) -> float:
        if not len(side):
            return self.xi
        below = side[0] < self.xi
        inner = self.xi
        for outer in side[::-1] if below else side:
            if self.ratio(outer) > quantile:
                return float(brentq(lambda xi: self.ratio(xi) - quantile, inner, outer, xtol=1e-9))
            inner = outer
        return float(inner)


def estimate_shape(problem: Problem, loss_of: LossOf, grid: Sequence[float] | None = None) -> ShapeEstimate:
    """Maximise the log-likelihood over the shape, between the ends of the grid of those that are tried first.

    Warns if the likelihood is largest at an end of the grid, or hardly distinguishes the shapes on it.
    """
    shapes = np.unique(np.asarray(problem.loss.link.default_grid if grid is None else grid, dtype=float))
    path = ShapePath(problem, loss_of)
    with one_blas_thread():
        values = path.log_likelihoods(shapes, ROUGH)
        if not np.isfinite(values).any():
            raise GevglmError(
                "no shape on the grid has a finite likelihood (separation, or rows that every shape rules out); give xi yourself."
            )
        xi, boundary = _best(path, shapes, values)
        found = path.fit(xi)
        llf = path.log_likelihood(xi)
    profile = pd.DataFrame({"xi": np.append(shapes, xi), "llf": np.append(values, llf)}).drop_duplicates("xi")
    estimate = ShapeEstimate(
        float(xi), found, loss_of(xi), profile.sort_values("xi", ignore_index=True), boundary, path
    )
    _warn(estimate, shapes, values)
    return estimate


def outwards(grid: Sequence[float] | NDArray) -> list[float]:
    """Return the shapes of a sorted grid from the one nearest to zero outwards, so that each has a neighbour before it."""
    middle = int(np.argmin(np.abs(grid)))
    return [*grid[middle:], *grid[:middle][::-1]]


def _best(path: ShapePath, grid: NDArray, values: NDArray) -> tuple[float, bool]:
    """Return the root of the profile score next to the best shape of the grid, and whether there is none inside."""
    best = int(np.nanargmax(values))

    def score(xi: float) -> float:
        return shape_score(path.problem.engine, path.loss_of(xi), path.fit(xi).params)

    slope = score(grid[best])
    if slope == 0.0:
        return float(grid[best]), False
    neighbour = best + (1 if slope > 0 else -1)
    if not 0 <= neighbour < len(grid):
        return float(grid[best]), True
    low, high = sorted((grid[best], grid[neighbour]))
    if not (np.isfinite(values[neighbour]) and score(low) > 0 > score(high)):
        return float(grid[best]), False
    return float(brentq(score, low, high, xtol=1e-10, rtol=1e-12)), False


def _warn(estimate: ShapeEstimate, grid: NDArray, values: NDArray) -> None:
    name = estimate.loss.link.shape_name
    if estimate.boundary:
        warn(
            f"the likelihood is largest at {name}={estimate.xi:g}, an end of the grid: the data ask for a shape beyond it, or for "
            "another link. Its standard error has no meaning.",
            WeakShapeWarning,
        )
    elif (2.0 * (estimate.llf - values) < chi2.ppf(0.95, 1)).all():
        warn(
            f"the data do not determine the shape: every {name} from {grid[0]:g} to {grid[-1]:g} is compatible with them at the 5 % level; "
            f"fix {name}, or choose a simpler link.",
            WeakShapeWarning,
        )


# -- scores and covariances ------------------------------------------------------------------


def log_loss_sum(engine: Engine, log: Log, params: NDArray) -> Passes[float]:
    """Sum up the log loss; infinite where the fit rules out a row."""

    def total(block: Block) -> NDArray:
        value = log.value_at(block.y, log.link.at(block.linear_predictor(params)))
        return block.weighted(value).sum()

    value = float((yield Pass(engine, ArraySum(total))))
    return value if np.isfinite(value) else np.inf


def path_direction(engine: Engine, loss: Loss, params: NDArray) -> NDArray:
    """Return how the coefficients of the canonical fit move with the shape; zero for the log loss."""
    if loss.is_likelihood:  # at its maximum, moving the coefficients does not change it
        return np.zeros_like(params)

    def shift(block: Block) -> NDArray:
        point = loss.link.at(block.linear_predictor(params))
        return block.weighted(point.dcdf_dshape) @ block.X

    hessian = engine.reduce(LossSums(loss, params, expected=True)).hessian
    return -np.linalg.solve(hessian, engine.reduce(ArraySum(shift)))


def shape_score(engine: Engine, loss: Loss, params: NDArray, direction: NDArray | None = None) -> float:
    """Return the derivative of the log-likelihood by the shape, along the path of fits."""
    direction = path_direction(engine, loss, params) if direction is None else direction

    def score(block: Block) -> NDArray:
        point = loss.link.at(block.linear_predictor(params))
        return block.weighted(_shape_factor(block, point, direction) * (block.y - point.cdf)).sum()

    return float(engine.reduce(ArraySum(score)))


def joint_covariance(engine: Engine, loss: Loss, params: NDArray, covariance: Covariance, nobs: float) -> NDArray:
    """Return the covariance of coefficients and shape, the shape last; `loss` is that at the estimated shape."""
    if not covariance.defined_for_shape:
        raise InvalidOptionError(
            f"{covariance.name} is not defined when xi is estimated (which leverage?); use HC0, HC1 or cluster."
        )
    with one_blas_thread():
        if loss.is_likelihood and covariance.assumes_model:
            return np.linalg.inv(observed_information(engine, loss, params))
        direction = path_direction(engine, loss, params)
        bread = np.linalg.inv(_expected_derivative(engine, loss, params, direction))
        k = len(params)

        def stack(block: Block) -> Block:
            linear = block.linear_predictor(params)
            point = loss.link.at(linear)
            factor = _finite(loss.residual_factor_at(point))
            columns = hstack_column(scale_rows(block.X, factor), _shape_factor(block, point, direction))
            return replace(block, X=columns, offset=linear)

        stacked = MappedEngine(engine, stack, k + 1)
        fit = Fitted(stacked, Canonical(loss.link), np.zeros(k + 1), bread, nobs)
        return covariance.finished(bread @ covariance.meat(fit) @ bread.T)


def observed_information(engine: Engine, loss: Loss, params: NDArray) -> NDArray:
    """Return the joint second derivative of the negative log-likelihood, by differences of analytic scores in the shape."""
    link, xi = loss.link, float(loss.link.parameters[str(loss.link.shape_name)])

    def scores(shape: float) -> NDArray:
        moved = Log(link.with_shape(shape))
        return np.append(-engine.reduce(LossSums(moved, params)).gradient, shape_score(engine, moved, params))

    change = -(scores(xi + STEP) - scores(xi - STEP)) / (2.0 * STEP)
    joint = np.empty((len(change), len(change)))
    joint[:-1, :-1] = engine.reduce(LossSums(loss, params)).hessian
    joint[-1], joint[:, -1] = change, change
    return joint


def _expected_derivative(engine: Engine, loss: Loss, params: NDArray, direction: NDArray) -> NDArray:
    """Return minus the expected derivative of the stacked equations."""

    def derivative(block: Block) -> NDArray:
        point = loss.link.at(block.linear_predictor(params))
        factor = _finite(loss.residual_factor_at(point))
        left = hstack_column(scale_rows(block.X, factor), _shape_factor(block, point, direction))
        right = hstack_column(scale_rows(block.X, point.pdf), point.dcdf_dshape)
        return scale_rows(left, block.weighted(np.ones_like(point.v))).T @ right

    return engine.reduce(ArraySum(derivative))


def _shape_factor(block: Block, point, direction: NDArray) -> NDArray:
    change = point.dcdf_dshape + point.pdf * (block.X @ direction)
    return _finite(change / (point.cdf * point.sf))


def _finite(values: NDArray) -> NDArray:
    """Set the factors of rows outside the support, where nothing changes, to zero."""
    return np.where(np.isfinite(values), values, 0.0)


def shape_interval(estimate: ShapeEstimate, error: float, alpha: float, method: str) -> tuple[float, float]:
    """Return the interval of the shape by a word of the user."""
    if method == "wald":
        reach = float(norm.ppf(1.0 - alpha / 2.0)) * error
        return estimate.xi - reach, estimate.xi + reach
    if method != "profile":
        raise unknown_option("method", method, ("profile", "wald"))
    return estimate.interval(alpha)
