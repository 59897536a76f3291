r"""Maximum likelihood for the shape xi of a GEV link, with both losses: the search, and what the profile over the shape says.

With the log loss, coefficients and shape maximise the likelihood together. With the canonical loss the losses of different shapes are
different yardsticks; the shape then maximises the Bernoulli log-likelihood of the canonical fit. The equations that both solve are those
of :mod:`gevglm.inference.shape_equations`.

The likelihood may have several maxima over the shape, and kinks, where rows cross the end of the support of the link. Every maximum on the grid is
followed up, and the largest taken. Where the likelihood falls off from it in another way than its curvature says (rows at the end of the
support, a shape below -1/2: Smith 1985), or the maximum is at an end of the grid, standard errors come from the profile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.signal import find_peaks
from scipy.stats import chi2, norm

from gevglm.engine.base import make_pass, make_passes, run, run_in_lockstep
from gevglm.engine.linalg import Cholesky, one_blas_thread
from gevglm.estimation.checks import THINNEST
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.exceptions import CollinearityError, GevglmError, InvalidDataError, WeakShapeWarning, unknown_option, warn
from gevglm.inference.shape_equations import LossOf, log_loss_sum, shape_score
from gevglm.inference.shape_track import ShapeTrack
from gevglm.losses import Log, Loss

ROUGH = 1e-3  # tolerance of the fits on the grid
REACH, APART = 0.35, 0.08  # how far away the fits may be that predict the next one, and how close to each other
LOWER_PEAK = 1.0  # how much lower than the best of the grid a maximum of the likelihood may begin
VALLEY = 1e-3  # depth of a valley of the log-likelihood that is not that of rough fits
NEARBY = 1e-4  # distance from a maximum found by values at which the score may have changed its sign
QUANTILE = float(norm.ppf(0.975))
NO_ROOT = 0.05  # a score, times the standard error, that is not zero
DISAGREEMENT = 3.0  # between standard errors by curvature and by profile


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
            found = self.problem_at(xi, self._predicted(xi), tol).estimate()
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
            try:
                rough = [path.fit(xi, tol) for xi in order]
                starts = [found.params if found.converged else None for found in rough]
            except CollinearityError:  # in the part, that is
                pass
        fits = [self.problem_at(xi, start, tol).estimation() for xi, start in zip(order, starts, strict=True)]
        with one_blas_thread():
            for xi, found in zip(order, run_in_lockstep(fits, make_passes), strict=True):
                self._fits[xi] = (tol, found)
                self.steps += found.n_iter
        self.passes += max(found.n_passes for _, found in self._fits.values())

    def problem_at(self, xi: float, start: NDArray | None = None, tol: float | None = None) -> Problem:
        """Return the problem of the coefficients at a shape."""
        tol = self.problem.tol if tol is None else tol
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

    def track(self, estimate: float, shapes: Iterable[float]) -> ShapeTrack:
        """Return how the coefficients move with the shape, from the fits that converged at some shapes, and at the estimate."""
        fits = {xi: self.fit(xi, np.inf) for xi in shapes}
        fits = {xi: found for xi, found in fits.items() if found.converged or xi == estimate}
        errors = [np.sqrt(np.diagonal(found.inverse_information)) for found in fits.values()]
        errors = [np.where(error == 0.0, 1.0, error) for error in errors]  # of columns that are left out
        return ShapeTrack(
            estimate, np.array(list(fits)), np.array([found.params for found in fits.values()]), np.array(errors)
        )

    def score(self, xi: float) -> float:
        """Return the derivative of :meth:`log_likelihood` by the shape."""
        return shape_score(self.problem.engine, self.loss_of(xi), self.fit(xi).params)

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
    track: ShapeTrack  # the fits on the grid and at the estimate
    score: float  # the derivative of the log-likelihood by the shape at xi, which a maximum without a kink has at zero
    path: ShapePath | None  # for further shapes; None after the rows were dropped
    irregular: str = ""  # why the curvature at the maximum says nothing about its accuracy; empty if it does

    @cached_property
    def llf(self) -> float:
        return self._log_likelihood(self.xi)

    @property
    def range(self) -> tuple[float, float]:
        """The ends of the grid, between which the likelihood was maximised."""
        shapes = self.profile["xi"]
        return float(shapes.min()), float(shapes.max())

    @property
    def n_peaks(self) -> int:
        """The number of maxima of the likelihood over the shape, as far as the grid shows them."""
        return len(_peaks(self.profile["llf"].to_numpy()))

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
        return self.needed_path.log_likelihood(xi)

    @property
    def needed_path(self) -> ShapePath:
        """The fits at other shapes, which need the rows."""
        if self.path is None:
            raise InvalidDataError("the data are gone, which the likelihood of another shape needs.")
        return self.path

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

    # -- where the curvature says nothing ----------------------------------------------------

    @cached_property
    def profile_error(self) -> float:
        """The standard error of the shape by how the likelihood falls off on the grid; NaN where it does so at once on both sides.

        The distance to where the signed root reaches 1.96, over 1.96, averaged over both sides; cut off at the ends of the grid.
        """
        shapes, values = self.profile["xi"].to_numpy(), self.profile["llf"].to_numpy()
        roots = np.sqrt(np.maximum(2.0 * (self.llf - values), 0.0))
        distances = np.abs(shapes - self.xi)
        sides = [
            _distance_per_root(distances[side], roots[side])
            for side in (shapes < self.xi, shapes > self.xi)
            if side.any()
        ]
        reached = [distance for distance in sides if distance > 0.0]
        return float(np.mean(reached)) if reached else np.nan

    def covariance(self, joint: NDArray, conditional: NDArray, *, weighted: bool = False) -> NDArray:
        """Return the covariance of coefficients and shape: `joint`, by the curvature, if that can be believed, else by the profile.

        The latter starts from `conditional`, that of the coefficients at the estimated shape. The profile of rows that are `weighted` by their
        outcome is not that of a likelihood, and no yardstick.
        """
        self.irregular = self._irregularity(joint, weighted)
        return self.profile_covariance(conditional) if self.irregular else joint

    def _irregularity(self, joint: NDArray, weighted: bool) -> str:
        error, variance = self.profile_error, joint[-1, -1]
        if self.boundary:
            return "it is an end of the grid"
        kept = np.diagonal(joint) != 0.0  # columns that are left out have no variance
        if not (np.isfinite(joint).all() and Cholesky(joint[np.ix_(kept, kept)]).positive):
            return "the information there is not positive definite"
        if not abs(self.score) * error < NO_ROOT:
            return f"the score there is {self.score:.2g} instead of 0, as where rows cross the end of the support"
        if not weighted and not error / DISAGREEMENT < np.sqrt(variance) < DISAGREEMENT * np.ptp(self.range):
            return f"by its curvature the standard error would be {np.sqrt(variance):.2g}, by its profile it is {error:.2g}"
        return ""

    def profile_covariance(self, conditional: NDArray) -> NDArray:
        """Return the covariance of coefficients and shape by the profile, from that of the coefficients at the estimated shape.

        With s the standard error of the shape by its profile and c the change of the coefficients with the shape, between the fits at one
        standard error below and above, that of the coefficients is ``conditional + s**2 c c'``.
        """
        error, path = self.profile_error, self.needed_path
        fits = {self.xi: self.fitted}
        if np.isfinite(error):
            fits |= {xi: path.fit(xi) for xi in np.clip([self.xi - error, self.xi + error], *self.range).tolist()}
        usable = sorted(xi for xi, found in fits.items() if found.converged)
        if len(usable) < 2:
            return np.full((len(conditional) + 1,) * 2, np.nan)
        first, last = usable[0], usable[-1]
        change = np.append((fits[last].params - fits[first].params) / (last - first), 1.0)
        joint = error**2 * np.outer(change, change)
        joint[:-1, :-1] += conditional
        return joint


def _distance_per_root(distances: NDArray, roots: NDArray) -> float:
    """Return the distance at which the signed root of one side reaches 1.96, over 1.96; at most up to the end of the side."""
    order = np.argsort(distances)
    distances, roots = np.append(0.0, distances[order]), np.append(0.0, roots[order])
    beyond = np.flatnonzero(roots >= QUANTILE)
    if not len(beyond):
        return float(distances[-1] / max(roots[-1], 1.0))
    outer, inner = beyond[0], beyond[0] - 1
    share = (QUANTILE - roots[inner]) / (roots[outer] - roots[inner])
    return float(distances[inner] + share * (distances[outer] - distances[inner])) / QUANTILE


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
        llf, score = path.log_likelihood(xi), path.score(xi)
    profile = pd.DataFrame({"xi": np.append(shapes, xi), "llf": np.append(values, llf)}).drop_duplicates("xi")
    profile = profile.sort_values("xi", ignore_index=True)
    track = path.track(float(xi), profile["xi"])
    estimate = ShapeEstimate(float(xi), found, loss_of(xi), profile, boundary, track, score, path)
    _warn(estimate, shapes, values)
    return estimate


def outwards(grid: Sequence[float] | NDArray) -> list[float]:
    """Return the shapes of a sorted grid from the one nearest to zero outwards, so that each has a neighbour before it."""
    middle = int(np.argmin(np.abs(grid)))
    return [*grid[middle:], *grid[:middle][::-1]]


def _best(path: ShapePath, grid: NDArray, values: NDArray) -> tuple[float, bool]:
    """Return the shape of the largest likelihood between the ends of the grid, and whether it is an end where the likelihood still rises."""
    peaks = [int(i) for i in _peaks(values) if values[i] > values.max() - LOWER_PEAK]
    found = [_peak(path, grid, values, i) for i in peaks]
    return found[0] if len(found) == 1 else max(found, key=lambda peak: path.log_likelihood(peak[0]))


def _peaks(values: NDArray) -> NDArray:
    """Return the places of the largest value and of the maxima that valleys separate from a larger one."""
    floor = values[np.isfinite(values)].min() - 1.0
    padded = np.concatenate([[floor], np.maximum(values, floor), [floor]])
    found, _ = find_peaks(padded, prominence=VALLEY)
    return np.union1d(found - 1, np.argmax(values))


def _peak(path: ShapePath, grid: NDArray, values: NDArray, top: int) -> tuple[float, bool]:
    """Return the maximum next to a shape of the grid, and whether the likelihood rises beyond the grid."""
    here = float(grid[top])
    slope = path.score(here)
    if slope == 0.0 or np.isnan(slope) or values[top] > -VALLEY:  # separated outcomes: no shape is better
        return here, False
    neighbour = top + (1 if slope > 0 else -1)
    if not 0 <= neighbour < len(grid):
        return here, True
    low, high = sorted((here, float(grid[neighbour])))
    if np.isfinite(values[neighbour]):
        root = _root_of_score(path, low, high)
        if root is not None and path.log_likelihood(root) >= path.log_likelihood(here):
            return root, False
    # the score has no root, or several: rows cross the end of the support in between
    floor = values[np.isfinite(values)].min() - 1.0
    best = minimize_scalar(
        lambda xi: -max(path.log_likelihood(xi), floor), bounds=(low, high), method="bounded", options={"xatol": 1e-8}
    )
    if -best.fun <= path.log_likelihood(here):
        return here, False
    around = _root_of_score(path, max(best.x - NEARBY, low), min(best.x + NEARBY, high))
    return float(best.x) if around is None else around, False


def _root_of_score(path: ShapePath, low: float, high: float) -> float | None:
    """Return where the profile score falls through zero; None if it does not have both signs."""
    if not path.score(low) > 0 > path.score(high):
        return None
    return float(brentq(path.score, low, high, xtol=1e-10, rtol=1e-12))


def warn_of_irregularity(estimate: ShapeEstimate, n_outside: int) -> None:
    """Warn of a maximum that is not a regular one; that at an end of the grid was warned of when it was found."""
    if not estimate.irregular or estimate.boundary:
        return
    name, link = estimate.loss.link.shape_name, estimate.loss.link
    outside = f"; {n_outside} rows lie outside the support of the link" if n_outside else ""
    other = ", or use loss='canonical'" if estimate.loss.is_likelihood else ""
    warn(
        f"{name}={link.shape:.4g} is an irregular maximum of the likelihood: {estimate.irregular}{outside}. Standard errors are by the profile of "
        f"{name} instead; use {name}_conf_int() and conf_int(method='profile') for intervals, fix {name}{other}.",
        WeakShapeWarning,
    )


def _warn(estimate: ShapeEstimate, grid: NDArray, values: NDArray) -> None:
    name = estimate.loss.link.shape_name
    if estimate.boundary:
        warn(
            f"the likelihood is largest at {name}={estimate.xi:g}, an end of the grid: the data ask for a shape beyond it, or for "
            f"another link. It has no standard error (xi_bse is NaN); those of the coefficients are by the profile of {name}.",
            WeakShapeWarning,
        )
    elif (2.0 * (estimate.llf - values) < chi2.ppf(0.95, 1)).all():
        warn(
            f"the data do not determine the shape: every {name} from {grid[0]:g} to {grid[-1]:g} is compatible with them at the 5 % level; "
            f"fix {name}, or choose a simpler link.",
            WeakShapeWarning,
        )


def shape_interval(estimate: ShapeEstimate, error: float, alpha: float, method: str) -> tuple[float, float]:
    """Return the interval of the shape by a word of the user."""
    if method == "wald":
        reach = float(norm.ppf(1.0 - alpha / 2.0)) * error
        return estimate.xi - reach, estimate.xi + reach
    if method != "profile":
        raise unknown_option("method", method, ("profile", "wald"))
    return estimate.interval(alpha)
