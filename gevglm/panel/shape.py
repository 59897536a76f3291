r"""A shape estimated beside absorbed constants: the maximum of the likelihood over it, its profile, and the errors of slopes that follow.

The constants are eliminated from the joint second derivative as they are from that of the slopes: with D their curvatures, B the sums of columns, and
:math:`h_i = \partial^2 \ell / \partial v \partial \xi` the derivative that a row shares with the shape, the information on slopes and shape is

.. math:: \begin{pmatrix} A - B D^{-1} B' & \sum_i h_i x_i - B D^{-1} h \\ \cdot & \ell_{\xi\xi} - h' D^{-1} h \end{pmatrix}, \qquad h_g = \sum_g h_i.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import chi2

from gevglm.engine.cholesky import inverse
from gevglm.estimation.absorbed import AbsorbedEstimate, AbsorbedProblem
from gevglm.estimation.arrow import BlockColumns
from gevglm.estimation.arrow_sums import linear_predictor
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError, WeakShapeWarning, warn
from gevglm.inference.shape_equations import derivatives_with_shape
from gevglm.inference.shape_search import best_on_grid
from gevglm.links.base import JointDerivatives

if TYPE_CHECKING:
    from gevglm.panel.estimation import PanelFit


@dataclass(frozen=True)
class PanelShape:
    """The maximum-likelihood estimate of the shape."""

    path: PanelPath
    xi: float
    boundary: bool  # whether the likelihood is largest at an end of the grid, where it was cut off
    grid: NDArray

    def covariance(self) -> NDArray:
        """Return the covariance of the levels of a second factor, the slopes and, last, the shape; NaN where there is none."""
        size = self.path.problem(self.xi).n_columns + 1
        if self.boundary:
            return np.full((size, size), np.nan)
        try:
            return inverse(self.path.information(self.xi))
        except np.linalg.LinAlgError:
            return np.full((size, size), np.nan)

    def ratio(self, xi: float) -> float:
        """Return the likelihood-ratio statistic of a shape."""
        return max(2.0 * (self.path.log_likelihood(self.xi) - self.path.log_likelihood(xi)), 0.0)

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the profile interval, cut off at the ends of the grid."""
        quantile = float(chi2.isf(alpha, 1))
        return self._crossing(-1, quantile), self._crossing(1, quantile)

    def _crossing(self, side: int, quantile: float) -> float:
        inner = self.xi
        for outer in self.grid[side * (self.grid - self.xi) > 0.0][::side]:
            if self.ratio(outer) > quantile:
                return float(brentq(lambda xi: self.ratio(xi) - quantile, inner, outer, xtol=1e-9))
            inner = float(outer)
        return inner


class PanelPath:
    """The fits of one panel along the shape, each started from its neighbour."""

    def __init__(self, fit: PanelFit):
        self.fit = fit
        self._found: dict[float, AbsorbedEstimate] = {}

    def problem(self, xi: float) -> AbsorbedProblem:
        """Return the problem at a shape."""
        return replace(self.fit, loss=self.fit.loss.with_shape(xi)).problem

    def at(self, xi: float) -> AbsorbedEstimate:
        """Return the fit at a shape."""
        xi = float(xi)
        if xi not in self._found:
            near = min(self._found, key=lambda other: abs(other - xi), default=None)
            problem = self.problem(xi)
            start = None if near is None else self._found[near].params[len(problem.groups) :]
            found = problem.estimate(start)
            self._found[xi] = found if found.converged or start is None else problem.estimate()
        return self._found[xi]

    def log_likelihood(self, xi: float) -> float:
        """Return the log-likelihood of the fit at a shape; minus infinity where it fails."""
        value = self.at(xi).value
        return -value if np.isfinite(value) else -np.inf

    def score(self, xi: float) -> float:
        """Return the derivative of the log-likelihood of the fits by the shape."""
        return -float(self._derivatives(xi)[1].score.sum())

    def information(self, xi: float) -> NDArray:
        """Return the observed information on the levels of a second factor, the slopes and, last, the shape."""
        rows, found = self._derivatives(xi)
        D, h = rows.sums(found.curvature), rows.sums(found.mixed)
        B, gram = rows.moments(found.curvature)
        p = len(gram)
        information = np.empty((p + 1, p + 1))
        information[:p, :p] = gram - (B / D) @ B.T
        information[p, :p] = information[:p, p] = rows.totals(found.mixed) - B @ (h / D)
        information[p, p] = found.second.sum() - (h**2 / D).sum()
        return information

    def _derivatives(self, xi: float) -> tuple[BlockColumns, JointDerivatives]:
        """Return the derivatives of the rows at the fit of a shape, with their weights."""
        problem, block = self.problem(xi), self.fit.panel.block
        rows = BlockColumns(problem.groups, block)
        with np.errstate(all="ignore"):
            point = problem.loss.link.at(linear_predictor(rows, block, self.at(xi).params))
            found = derivatives_with_shape(problem.loss, block.y, point)
            return rows, JointDerivatives(*(block.weighted(one) for one in found))


def estimated_shape(fit: PanelFit) -> PanelShape:
    """Maximise the likelihood over the shape; warns where it is largest at an end of the grid."""
    link = fit.loss.link
    if not fit.loss.is_likelihood or fit.bias is not None or fit.covariance.name != "nonrobust":
        raise IncompatibleOptionsError(
            f"{link.shape_name}='ml' beside absorbed constants is maximum likelihood: it goes with loss='log', without bias= and with "
            f"cov_type='nonrobust'. Or give {link.shape_name} as a number."
        )
    if fit.panel.groups.large:
        raise IncompatibleOptionsError(
            f"{link.shape_name}='ml' is available where one of two absorbed factors has few levels; give {link.shape_name} as a number."
        )
    path, grid = PanelPath(fit), np.unique(np.asarray(link.default_grid, dtype=float))
    values = np.array([path.log_likelihood(xi) for xi in grid])
    if not np.isfinite(values).any():
        raise InvalidDataError(
            f"no {link.shape_name} on the grid has a finite likelihood; give {link.shape_name} yourself."
        )
    xi, boundary = best_on_grid(path, grid, values)
    if boundary:
        warn(
            f"the likelihood is largest at {link.shape_name}={xi:g}, an end of the grid: the data ask for a shape beyond it, or for another link. "
            f"Nothing has a standard error; give {link.shape_name} as a number.",
            WeakShapeWarning,
        )
    elif (2.0 * (path.log_likelihood(xi) - values) < chi2.ppf(0.95, 1)).all():
        warn(
            f"the data do not determine the shape: every {link.shape_name} from {grid[0]:g} to {grid[-1]:g} is compatible with them at the 5 % level; "
            f"fix {link.shape_name}, or choose a simpler link.",
            WeakShapeWarning,
        )
    return PanelShape(path, xi, boundary, grid)
