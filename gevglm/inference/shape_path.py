"""The fits of one problem along the shape of its link, each started from its neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import Pass, make_pass, make_passes, run, run_in_lockstep
from gevglm.engine.cholesky import Cholesky
from gevglm.engine.linalg import one_blas_thread
from gevglm.estimation.checks import THINNEST
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.sums import LossSums
from gevglm.inference.shape_equations import LossOf, log_loss_sum, shape_score
from gevglm.inference.shape_track import ShapeTrack
from gevglm.losses import Log

ROUGH = 1e-3  # tolerance of the fits on the grid
REACH, APART = 0.35, 0.08  # how far away the fits may be that predict the next one, and how close to each other


class ShapePath:
    """The fits of one problem along the shape, each with its own loss and started from its neighbours."""

    def __init__(self, problem: Problem, loss_of: LossOf, part: ShapePath | None = None):
        self.problem = problem
        self.loss_of = loss_of
        self.part = part  # the same fits to a part of the rows, for starting values
        self.passes = self.steps = 0
        self._fits: dict[float, tuple[float, Estimate]] = {}

    def fit(self, xi: float, tol: float | None = None, start: NDArray | None = None) -> Estimate:
        """Return the fit at a shape, at least as accurate as `tol`; from a prediction, unless it is told where to `start`."""
        tol = self.problem.tol if tol is None else tol
        cached = self._fits.get(xi)
        if cached is None or cached[0] > tol:
            found = self.problem_at(xi, self._predicted(xi) if start is None else start, tol).estimate()
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

    def at_most(self, xi: float, tol: float, far: float) -> float:
        """Return what the log-likelihood of the fit at a shape is no larger than: a first bound below `far`, or where there is none its value.

        On its way, the fit is half a Newton decrement below its maximum, of which a whole one is allowed for: most of its steps are
        spared, and there are many where rows meet the end of the support. Convex losses, which take few steps, are fitted without looking at
        their values.
        """
        if xi in self._fits and self._fits[xi][0] <= tol:
            return self.log_likelihood(xi, tol)
        fit = self.problem_at(xi, self._predicted(xi), tol).estimation()
        answer: Any = None
        with np.errstate(all="ignore"):
            while True:
                try:
                    asked = fit.send(answer)
                except StopIteration as end:
                    self._fits[xi] = (tol, end.value)
                    self.steps += end.value.n_iter
                    return self.log_likelihood(xi, tol)
                answer = make_pass(asked)
                self.passes += asked.engine is self.problem.engine
                bound = self._bound(asked, answer)
                if bound < far:
                    return bound

    def _bound(self, asked: Pass, answer: Any) -> float:
        """Return what the log-likelihood of all rows is no larger than, by a look that a fit takes at them; infinity if it does not tell."""
        reducer = asked.reducer
        if not (isinstance(reducer, LossSums) and reducer.value and reducer.loss.is_likelihood and answer.feasible):
            return np.inf
        kept = np.flatnonzero(answer.hessian.diagonal())  # columns that are left out have no information
        factor = Cholesky(answer.hessian[np.ix_(kept, kept)])
        gradient = answer.gradient[kept]
        bound = float(gradient @ factor.solve(gradient)) - answer.value
        return bound if asked.engine is self.problem.engine and factor.positive and np.isfinite(bound) else np.inf

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
            return self.problem.start if self.part is None else self.part._predicted(xi)
        params = self._fits[near[0]][1].params
        apart = [other for other in near[1:] if abs(other - near[0]) >= APART and abs(other - xi) <= REACH]
        if near[0] == xi or not apart:
            return params
        slope = (params - self._fits[apart[0]][1].params) / (near[0] - apart[0])
        return params + slope * (xi - near[0])


def outwards(grid: Sequence[float] | NDArray) -> list[float]:
    """Return the shapes of a sorted grid from the one nearest to zero outwards, so that each has a neighbour before it."""
    middle = int(np.argmin(np.abs(grid)))
    return [*grid[middle:], *grid[:middle][::-1]]
