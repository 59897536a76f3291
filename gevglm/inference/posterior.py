"""A posterior as weighted draws of coefficients and shape: what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.display.brief import Brief
from gevglm.exceptions import InvalidOptionError

DEFAULTS = {"xi_mean": 0.0, "xi_scale": 0.5, "coef_scale": 2.5}


@dataclass(frozen=True)
class ShapePrior:
    r"""The prior of coefficients and shape.

    The shape is normal, cut off at the ends of the range; coefficients of columns scaled to unit variance are normal with mean zero on the
    scale of log odds ratios (at the share of events), and the constant is flat.
    """

    mean: float  # of the shape
    scale: float  # standard deviation of the shape, before it is cut off
    coef_scale: float  # standard deviation of the coefficients, as log odds ratios
    lowest: float
    highest: float

    @classmethod
    def of(cls, words: Mapping[str, Any], grid: Sequence[float]) -> ShapePrior:
        """Return the prior that the words of a search describe, between the ends of a grid unless they have one."""
        given = {word: words.get(word, default) for word, default in DEFAULTS.items()}
        for word, value in given.items():
            if isinstance(value, bool) or not (isinstance(value, Real) and np.isfinite(float(value))):
                raise InvalidOptionError(f"{word}={value!r} must be a finite number.")
            if word != "xi_mean" and not float(value) > 0.0:
                raise InvalidOptionError(f"{word}={value!r} is a standard deviation of the prior and must be positive.")
        grid = words.get("grid", grid)
        lowest, highest = float(min(grid)), float(max(grid))
        if not lowest < highest:
            raise InvalidOptionError(
                f"grid={list(grid)!r} must have two ends, between which the prior of the shape lies."
            )
        mean, scale, coef_scale = map(float, given.values())
        return cls(mean, scale, coef_scale, lowest, highest)

    def log_density(self, xi: NDArray | float) -> NDArray | float:
        """Return the log density of the shape inside the range, up to a constant."""
        return -0.5 * ((np.asarray(xi) - self.mean) / self.scale) ** 2

    def __str__(self) -> str:
        return (
            f"N({self.mean:g}, {self.scale:g}^2) between {self.lowest:g} and {self.highest:g} for the shape, N(0, {self.coef_scale:g}^2) for coefficients "
            "of standardised columns as log odds ratios, flat for the constant"
        )


@dataclass(frozen=True, repr=False)
class Posterior(Brief):
    """The posterior of coefficients and shape after ``xi="map"``, as weighted draws.

    Attributes
    ----------
    draws : ndarray of shape (m, k + 1)
        Coefficients and, last, the shape.
    weights : ndarray of shape (m,)
        Importance weights, which add up to one.
    prior : ShapePrior
    density : ndarray of shape (p, 2)
        Shapes, and the log of their marginal posterior density by Laplace's method, up to a constant.
    """

    draws: NDArray
    weights: NDArray
    prior: ShapePrior
    density: NDArray

    @property
    def effective_draws(self) -> float:
        """The number of independent draws that would be as accurate: one over the sum of squared weights."""
        return float(1.0 / (self.weights**2).sum())

    @property
    def mean(self) -> NDArray:
        """Posterior means of the coefficients and, last, the shape."""
        return self.weights @ self.draws

    @property
    def covariance(self) -> NDArray:
        """The posterior covariance of coefficients and shape."""
        deviations = self.draws - self.mean
        return (self.weights[:, None] * deviations).T @ deviations

    def intervals(self, alpha: float = 0.05) -> NDArray:
        """Return equal-tailed intervals of the coefficients and, last, the shape; of shape (k + 1, 2)."""
        return self.quantiles(self.draws, [alpha / 2.0, 1.0 - alpha / 2.0]).T

    def quantiles(self, values: NDArray, shares: list[float]) -> NDArray:
        """Return posterior quantiles of functions of the draws, of which `values` has a column each; of shape (q, columns)."""
        order = np.argsort(values, axis=0)
        below = np.cumsum(self.weights[order], axis=0) - 0.5 * self.weights[order]
        ordered = np.take_along_axis(values, order, axis=0)
        columns = range(values.shape[1])
        return np.array([np.interp(shares, below[:, j], ordered[:, j]) for j in columns]).reshape(-1, len(shares)).T

    def thinned(self, n: int) -> NDArray:
        """Return `n` draws of equal weight, by systematic resampling along the shape."""
        order = np.argsort(self.draws[:, -1], kind="stable")
        places = np.searchsorted(np.cumsum(self.weights[order]), (np.arange(n) + 0.5) / n)
        return self.draws[order[np.minimum(places, len(order) - 1)]]
