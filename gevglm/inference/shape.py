r"""Maximum likelihood for the shape xi of a GEV link, with both losses: the search, and what the profile over the shape says.

With the log loss, coefficients and shape maximise the likelihood together. With the canonical loss the losses of different shapes are
different yardsticks; the shape then maximises the Bernoulli log-likelihood of the canonical fit. The equations that both solve are those
of :mod:`gevglm.inference.shape_equations`.

The likelihood may have several maxima over the shape, and kinks, where rows cross the end of the support of the link. Every maximum on the grid is
followed up, and the largest taken. Where the likelihood falls off from it in another way than its curvature says (rows at the end of the
support, a shape below -1/2: Smith 1985), or the maximum is at an end of the grid, standard errors come from the profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import chi2, norm

from gevglm.display.brief import Brief
from gevglm.engine.base import run
from gevglm.engine.cholesky import Cholesky
from gevglm.engine.linalg import one_blas_thread
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.sums import NewtonSums
from gevglm.exceptions import GevglmError, InvalidDataError, WeakShapeWarning, unknown_option, warn
from gevglm.inference.profile import PenalisedLikelihood
from gevglm.inference.shape_equations import JointLikelihood, LossOf
from gevglm.inference.shape_neighbourhood import Found, maximum_nearby
from gevglm.inference.shape_path import ROUGH, ShapePath
from gevglm.inference.shape_search import VALLEY, best_on_grid, peaks
from gevglm.inference.shape_track import ShapeTrack
from gevglm.losses import Loss

QUANTILE = float(norm.ppf(0.975))
NO_ROOT = 0.05  # a score, times the standard error, that is not zero
IN_DOUBT = (
    20.0 * VALLEY
)  # a distance of the likelihood ratio of rough fits from a quantile that does not say on which side it is
DISAGREEMENT = 3.0  # between standard errors by curvature and by profile


@dataclass(repr=False)
class ShapeEstimate(Brief):
    """The maximum-likelihood estimate of the shape."""

    xi: float
    params: NDArray  # the coefficients at xi
    loss: Loss  # the loss at xi
    grid: NDArray  # the shapes between whose ends the likelihood was maximised
    boundary: bool  # whether the likelihood is largest at an end of the grid, where it was cut off
    score: float  # the derivative of the log-likelihood by the shape at xi, which a maximum without a kink has at zero
    path: ShapePath | None  # for further shapes; None after the rows were dropped
    values: NDArray | None = None  # the profile log-likelihood on the grid; None until it is asked for
    found: Found | None = None  # the maximum, where it was found without the grid
    irregular: str = ""  # why the curvature at the maximum says nothing about its accuracy; empty if it does

    @cached_property
    def llf(self) -> float:
        return self._log_likelihood(self.xi)

    @cached_property
    def profile(self) -> pd.DataFrame:
        """The profile log-likelihood on the grid and at the estimate, in columns ``xi`` and ``llf``."""
        values = self.needed_path.log_likelihoods(self.grid, ROUGH) if self.values is None else self.values
        frame = pd.DataFrame({"xi": np.append(self.grid, self.xi), "llf": np.append(values, self.llf)})
        return frame.drop_duplicates("xi").sort_values("xi", ignore_index=True)

    @cached_property
    def track(self) -> ShapeTrack:
        """The fits on the grid and at the estimate."""
        return self.needed_path.track(self.xi, self.profile["xi"])

    @property
    def fitted(self) -> Estimate:
        """The fit at xi."""
        return self.needed_path.fit(self.xi, start=self.params)

    @property
    def range(self) -> tuple[float, float]:
        """The ends of the grid, between which the likelihood was maximised."""
        return float(self.grid[0]), float(self.grid[-1])

    @property
    def ends(self) -> tuple[float, float]:
        """The log-likelihood at the ends of the grid is no larger."""
        return self._values_at_ends if self.found is None else self.found.ends

    @property
    def _values_at_ends(self) -> tuple[float, float]:
        values = self.profile["llf"]
        return float(values.iloc[0]), float(values.iloc[-1])

    @property
    def n_peaks(self) -> int:
        """The number of maxima of the likelihood over the shape, as far as a grid shows them."""
        return len(peaks(self.profile["llf"].to_numpy())) if self.found is None else 1

    @cached_property
    def joint(self) -> PenalisedLikelihood | None:
        """The likelihood as a function of coefficients and shape, where it is a regular one with a single maximum."""
        if self.irregular or self.boundary or not self.loss.is_likelihood or self.n_peaks > 1:
            return None
        path = self.needed_path
        joint = JointLikelihood(path.problem.engine, path.loss_of, *self.range, path.problem.omitted)
        theta, rows = np.append(self.params, self.xi), path.problem.engine.n_rows
        if self.sums is None:
            return PenalisedLikelihood.at(joint.objective, theta, rows)
        return PenalisedLikelihood(joint.objective, theta, self.sums, Cholesky(self.sums.hessian).inverse(), rows)

    @property
    def sums(self) -> NewtonSums | None:
        """The likelihood by coefficients and shape at the estimate, if that was looked at."""
        return None if self.found is None else self.found.sums

    def ratio(self, xi: float) -> float:
        """Return the likelihood-ratio statistic of a shape."""
        return max(2.0 * (self.llf - self._log_likelihood(xi)), 0.0)

    def without_rows(self) -> ShapeEstimate:
        """Return the estimate without the fits at other shapes, which hold the rows."""
        _ = self.llf, self.profile, self.track
        bare = copy(self)
        bare.__dict__.pop("joint", None)
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
        found: tuple[float | None, float | None] = (None, None)
        with one_blas_thread():
            if self.joint is not None:
                found = run(self.joint.steps.limits(len(self.params), np.sqrt(quantile)), self.joint.evaluate)
            lower, upper = found
            return (
                self._crossing(-1, quantile) if lower is None else lower,
                self._crossing(1, quantile) if upper is None else upper,
            )

    def _crossing(self, side: int, quantile: float) -> float:
        """Return where the likelihood ratio crosses a quantile, between two shapes of the grid on one side of the estimate."""
        shapes, inner = self.profile["xi"].to_numpy(), self.xi
        rough = 2.0 * (self.llf - self.profile["llf"].to_numpy())
        for i in np.flatnonzero(side * (shapes - self.xi) > 0.0)[::side]:
            outer = float(shapes[i])
            beyond = rough[i] > quantile if abs(rough[i] - quantile) > IN_DOUBT else self.ratio(outer) > quantile
            if beyond:
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
        if self.boundary:
            return "it is an end of the grid"
        kept = np.diagonal(joint) != 0.0  # columns that are left out have no variance
        if not (np.isfinite(joint).all() and Cholesky(joint[np.ix_(kept, kept)]).positive):
            return "the information there is not positive definite"
        variance = joint[-1, -1]
        if self.found is not None and self.found.error < 2.0 * np.sqrt(variance) < np.ptp(self.range):
            return ""  # as the profile of a part of the rows has it
        error = self.profile_error
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
        near = maximum_nearby(path, shapes)
        if near is not None:
            score = path.score(near.xi) if near.sums is None else -float(near.sums.gradient[-1])
            estimate = ShapeEstimate(near.xi, near.params, loss_of(near.xi), shapes, False, score, path, found=near)
            if near.sums is not None:
                estimate.llf = -near.sums.value
            return estimate
        values = path.log_likelihoods(shapes, ROUGH)
        if not np.isfinite(values).any():
            raise GevglmError(
                "no shape on the grid has a finite likelihood (separation, or rows that every shape rules out); give xi yourself."
            )
        xi, boundary = best_on_grid(path, shapes, values)
        params, score = path.fit(xi).params, path.score(xi)
        estimate = ShapeEstimate(float(xi), params, loss_of(xi), shapes, boundary, score, path, values)
        _ = estimate.llf
    _warn(estimate, shapes, values)
    return estimate


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
