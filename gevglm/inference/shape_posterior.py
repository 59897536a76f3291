r"""The posterior of coefficients and shape under a prior: its mode, and draws by importance sampling; no chain.

Coefficients of different shapes are on different scales, so that the prior is one of :math:`u = b / \kappa(\xi)`, which are nearly log odds ratios:
:math:`\kappa` is the slope of the linear predictor in the log odds where the risk is the share of events, :eq:`shape-scale`. The log posterior is

.. math:: \ell(b, \xi) - \frac12 \sum_j d_j u_j^2 / c^2 - \frac12 (\xi - m)^2 / s^2

with :math:`d_j` the variance of a column, :eq:`log-posterior`. It is a curved ridge in coefficients and shape, which no single normal distribution describes. At
each shape, however, the coefficients are nearly normal around their mode :math:`b(\xi)`, with the covariance :math:`V(\xi)` of the penalised fit, so that the
density of the shape is nearly

.. math:: p(\xi) \propto \exp[\log \text{posterior}(b(\xi), \xi)]\; |V(\xi)|^{1/2} / \kappa(\xi)^k

(Laplace; Tierney and Kadane 1986). Draws are taken from it (and some evenly between its ends), then coefficients from a multivariate t distribution around
:math:`b(\xi)`, all from a scrambled Sobol sequence; the ratio of posterior and sampling density, exact for every draw, is its weight. What
Laplace's method gets wrong costs draws, not bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2, norm, qmc

from gevglm.engine.base import ArraySum, Block
from gevglm.engine.linalg import one_blas_thread
from gevglm.estimation.estimate import Problem
from gevglm.estimation.objective import Ridge
from gevglm.exceptions import GevglmError, InvalidOptionError, WeakShapeWarning, warn
from gevglm.inference.posterior import Posterior, ShapePrior
from gevglm.inference.shape_equations import LossOf
from gevglm.inference.shape_path import ROUGH, ShapePath
from gevglm.losses import Log

NODES = 33  # shapes at which the coefficients are fitted
TAIL = 14.0  # how far the log density of the shape is followed below its maximum
FINE = 2001  # points of the density that shapes are drawn from
EVENLY = 0.1  # share of the shapes that are drawn evenly, should the density be wrong
DEGREES = 7.0  # of freedom of the t distribution of coefficients
DRAWS, FEWEST, ROW_DRAWS = 4096, 512, 400_000_000  # by default; at least; rows times draws at most
AT_ONCE = 64  # draws that one reduction looks at
TOO_FEW = 200.0  # effective draws


@dataclass(frozen=True)
class ShapePosterior:
    """The mode of the posterior, and the posterior."""

    xi: float
    params: NDArray  # the coefficients at the mode
    scale: float  # of the coefficients there, against log odds ratios
    boundary: bool  # whether the posterior density is largest at an end of the range
    posterior: Posterior
    path: ShapePath


def posterior_of(
    problem: Problem, loss_of: LossOf, prior: ShapePrior, draws: int | None = None, rng: Any = 0
) -> ShapePosterior:
    """Find the mode of the posterior and draw from it; `problem` has the prior of coefficients on the scale of log odds ratios as its penalty."""
    target = _Target(_Path(problem, loss_of), prior)
    if draws is not None and (isinstance(draws, bool) or not isinstance(draws, Integral) or draws < 2):
        raise InvalidOptionError(f"draws={draws!r} must be a whole number of at least 2.")
    if draws is None:
        draws = int(2 ** np.floor(np.log2(np.clip(ROW_DRAWS / problem.engine.n_rows, FEWEST, DRAWS))))
    with one_blas_thread():
        xi, boundary = target.mode()
        ridge = _Ridge.of(target, xi)
        posterior = _sampled(target, ridge, int(draws), np.random.default_rng(rng))
    path = target.path
    found = ShapePosterior(xi, path.fit(xi).params, path.scale(xi), boundary, posterior, path)
    _warn(found, prior, loss_of(xi).link.shape_name)
    return found


class _Path(ShapePath):
    """Modes of the coefficients along the shape, under a prior that is the same for all shapes on the scale of log odds ratios."""

    @cached_property
    def share(self) -> float:
        """Share of events among the rows."""
        weight, events = self.problem.engine.reduce(ArraySum(_totals))
        return float(events / weight)

    def scale(self, xi: float) -> float:
        """Return the slope of the linear predictor in the log odds, where the risk is the share of events."""
        point = self.loss_of(xi).link.at_probability(np.array([self.share]))
        return float(self.share * (1.0 - self.share) / point.pdf[0])

    def problem_at(self, xi: float, start: NDArray | None = None, tol: float | None = None) -> Problem:
        problem = super().problem_at(xi, start, tol)
        return replace(problem, penalty=Ridge(self.scale(xi) ** -2.0, self.precision))

    @property
    def precision(self) -> NDArray:
        """Prior precision of the coefficients, on the scale of log odds ratios."""
        penalty, k = self.problem.penalty, self.problem.engine.n_cols
        return np.zeros(k) if penalty is None else penalty.curvature

    @property
    def estimated(self) -> NDArray:
        """The columns that are not left out."""
        return np.setdiff1d(np.arange(self.problem.engine.n_cols), list(self.problem.omitted))


def _totals(block: Block) -> NDArray:
    return np.array([block.weighted(np.ones_like(block.y)).sum(), block.weighted(block.y).sum()])


@dataclass(frozen=True)
class _Target:
    """The log posterior of coefficients on the scale of log odds ratios, and shape, up to a constant."""

    path: _Path
    prior: ShapePrior

    def at_mode(self, xi: float, tol: float | None = None) -> float:
        """Return the log posterior at the best coefficients for a shape."""
        value = self.path.log_likelihood(xi, tol)
        if not np.isfinite(value):
            return -np.inf
        ratios = self.path.fit(xi, tol).params / self.path.scale(xi)
        return float(value - 0.5 * ratios**2 @ self.path.precision + self.prior.log_density(xi))

    def mode(self) -> tuple[float, bool]:
        """Return the shape at the mode, and whether it is an end of the range."""
        low, high = self.prior.lowest, self.prior.highest
        grid = np.linspace(low, high, NODES)
        values = np.array([self.at_mode(xi, ROUGH) for xi in grid])
        if not np.isfinite(values).any():
            raise GevglmError("no shape in the range has a finite likelihood; give xi yourself.")
        top = int(np.argmax(values))
        around = float(grid[max(top - 1, 0)]), float(grid[min(top + 1, NODES - 1)])
        floor = values[np.isfinite(values)].min() - 1.0
        best = minimize_scalar(
            lambda xi: -max(self.at_mode(xi), floor), bounds=around, method="bounded", options={"xatol": 1e-9}
        )
        ends = [end for end in (low, high) if end in around and self.at_mode(end) >= -best.fun]
        return (ends[0], True) if ends else (float(best.x), False)

    def at_draws(self, draws: NDArray) -> NDArray:
        """Return the log posterior at draws of coefficients and, last, shape: by passes over the rows, a few draws at a time.

        It is the density of coefficients on the scale of log odds ratios; that of the coefficients themselves is smaller by the scale to the power k.
        """
        engine, values = self.path.problem.engine, np.empty(len(draws))
        for start in range(0, len(draws), AT_ONCE):
            part = draws[start : start + AT_ONCE]
            logs = [Log(self.path.loss_of(float(xi)).link) for xi in part[:, -1]]
            values[start : start + len(part)] = engine.reduce(ArraySum(_log_likelihoods(logs, part[:, :-1])))
        values = np.where(np.isfinite(values), values, -np.inf)
        scale = np.array([self.path.scale(float(xi)) for xi in draws[:, -1]])
        ratios = draws[:, :-1] / scale[:, None]
        return values - 0.5 * ratios**2 @ self.path.precision + self.prior.log_density(draws[:, -1])


def _log_likelihoods(logs: Sequence[Log], params: NDArray):
    """Return what sums up the log-likelihoods of one block at several draws."""

    def totals(block: Block) -> NDArray:
        with np.errstate(all="ignore"):
            values = [
                block.weighted(log.value_at(block.y, log.link.at(block.linear_predictor(b)))).sum()
                for log, b in zip(logs, params, strict=True)
            ]
        return -np.array(values)

    return totals


@dataclass(frozen=True)
class _Ridge:
    """The coefficients along the shape, and the density of the shape, by Laplace's method."""

    shapes: NDArray  # of shape (m,)
    log_density: NDArray  # of shape (m,)
    params: NDArray  # of shape (m, k)
    roots: NDArray  # Cholesky factors of the covariance of the coefficients that were estimated; of shape (m, p, p)
    kept: NDArray  # which coefficients these are; of shape (p,)

    @classmethod
    def of(cls, target: _Target, mode: float) -> _Ridge:
        """Look at the coefficients on shapes around the mode, as far as the density reaches."""
        kept = target.path.estimated
        low, high = target.prior.lowest, target.prior.highest
        coarse = np.unique(np.append(np.linspace(low, high, NODES), mode))
        values = np.array([target.at_mode(xi, ROUGH) for xi in coarse])
        inside = np.flatnonzero(values > values.max() - TAIL)
        first, last = coarse[max(inside[0] - 1, 0)], coarse[min(inside[-1] + 1, len(coarse) - 1)]
        shapes, densities, params, roots = [], [], [], []
        for xi in np.unique(np.append(np.linspace(first, last, NODES), mode)).tolist():
            found, value = target.path.fit(xi, ROUGH), target.at_mode(xi, ROUGH)
            try:
                root = np.linalg.cholesky(found.inverse_information[np.ix_(kept, kept)])
            except np.linalg.LinAlgError:
                continue
            if np.isfinite(value) and np.isfinite(root).all():
                shapes.append(xi)
                densities.append(value + np.log(np.diagonal(root) / target.path.scale(xi)).sum())
                params.append(found.params)
                roots.append(root)
        if len(shapes) < 2:
            raise GevglmError(
                "the posterior of the shape could not be followed: no fits near its mode; fix the shape instead."
            )
        return cls(np.array(shapes), np.array(densities), np.array(params), np.array(roots), kept)

    @property
    def fine(self) -> tuple[NDArray, NDArray]:
        """Shapes close to each other, and their density."""
        shapes = np.linspace(self.shapes[0], self.shapes[-1], FINE)
        log_density = PchipInterpolator(self.shapes, self.log_density)(shapes)
        return shapes, np.exp(log_density - log_density.max())


def _sampled(target: _Target, ridge: _Ridge, draws: int, rng: np.random.Generator) -> Posterior:
    """Draw from the ridge, and weigh the draws by the posterior."""
    k = len(ridge.kept)
    points = qmc.Sobol(k + 2, scramble=True, seed=rng).random_base2(int(np.ceil(np.log2(draws))))
    uniform = np.clip(points[:draws], 1e-12, 1.0 - 1e-12)
    shapes, density = ridge.fine
    cells = 0.5 * (density[1:] + density[:-1])  # the density is taken as constant between two points
    shares = (1.0 - EVENLY) * cells / cells.sum() + EVENLY / len(cells)
    edges = np.append(0.0, np.cumsum(shares))
    edges[-1] = 1.0
    xi = np.interp(uniform[:, 0], edges, shapes)
    cell = np.clip(np.searchsorted(shapes, xi, side="right") - 1, 0, len(cells) - 1)
    log_shape = np.log(shares[cell])

    root = PchipInterpolator(ridge.shapes, ridge.roots)(xi)
    spread = np.sqrt(DEGREES / chi2.ppf(uniform[:, 1], DEGREES))[:, None]
    deviates = norm.ppf(uniform[:, 2:]) * spread
    sampled = np.zeros((draws, ridge.params.shape[1] + 1))
    sampled[:, :-1] = PchipInterpolator(ridge.shapes, ridge.params)(xi)
    sampled[:, ridge.kept] += np.einsum("mij,mj->mi", root, deviates)
    sampled[:, -1] = xi
    square, diagonal = (deviates**2).sum(axis=1), np.diagonal(root, axis1=1, axis2=2)
    log_t = gammaln((DEGREES + k) / 2.0) - gammaln(DEGREES / 2.0) - 0.5 * k * np.log(DEGREES * np.pi)
    log_t = log_t - 0.5 * (DEGREES + k) * np.log1p(square / DEGREES) - np.log(diagonal).sum(axis=1)
    log_scale = np.log([target.path.scale(float(value)) for value in xi])
    log_weights = target.at_draws(sampled) - k * log_scale - log_shape - log_t
    weights = np.exp(log_weights - logsumexp(log_weights))
    return Posterior(sampled, weights, target.prior, np.column_stack([ridge.shapes, ridge.log_density]))


def _warn(found: ShapePosterior, prior: ShapePrior, name: str | None) -> None:
    if found.boundary:
        warn(
            f"the posterior is largest at {name}={found.xi:g}, an end of its range ({prior.lowest:g} to {prior.highest:g}): the data ask for a shape beyond "
            f"it, or for another link. Intervals and standard errors are those of the posterior inside the range.",
            WeakShapeWarning,
        )
    if found.posterior.effective_draws < TOO_FEW:
        warn(
            f"only {found.posterior.effective_draws:.0f} of {len(found.posterior.weights)} draws from the posterior are effective: its means and intervals are "
            f"inaccurate. Give more by search_kwds={{'draws': ...}}.",
            WeakShapeWarning,
        )
