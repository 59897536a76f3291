"""Risks and predictions at draws from the posterior of coefficients and shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from gevglm.effects.king_zeng import RiskModel
from gevglm.engine.linalg import Matrix
from gevglm.exceptions import InvalidDataError
from gevglm.inference.posterior import Posterior
from gevglm.links.base import BinaryLink

ROWS = 1024  # of which all draws are held at a time


def values_at(draws: NDArray, link: BinaryLink | None, X: Matrix, offset: NDArray | float) -> NDArray:
    """Return the risks of rows at draws of coefficients and shape, one row per draw; linear predictors without a link."""
    linear = np.asarray(X @ draws[:, :-1].T).T + offset
    if link is None:
        return linear
    return np.array([link.with_shape(float(xi)).inverse(row) for xi, row in zip(draws[:, -1], linear, strict=True)])


def _by_rows(X: Matrix, offset: Any, compute: Callable[[Matrix, NDArray], NDArray]) -> NDArray:
    """Compute something of all rows, a part of them at a time; the rows are the last axis of the answer."""
    offset = np.broadcast_to(offset, (X.shape[0],))
    starts = range(0, max(X.shape[0], 1), ROWS)
    return np.concatenate([compute(X[i : i + ROWS], offset[i : i + ROWS]) for i in starts], axis=-1)


@dataclass(frozen=True)
class PosteriorRisks(RiskModel):
    """Risks whose uncertainty is that of a posterior; see :class:`gevglm.effects.king_zeng.RiskModel`."""

    posterior: Posterior = field(kw_only=True)

    def limits(self, X: Matrix, offset: NDArray | float, quantile: float) -> tuple[NDArray, NDArray]:
        """Return the posterior limits of the risks of rows, at the level of a normal quantile."""
        tail = float(norm.sf(quantile))
        lower, upper = _by_rows(
            X, offset, lambda rows, shift: self.posterior.quantiles(self._risks(rows, shift), [tail, 1.0 - tail])
        )
        return lower, upper

    def averaged(self, X: Matrix, offset: NDArray | float) -> NDArray:
        """Return the posterior mean of the risks of rows."""
        return _by_rows(X, offset, lambda rows, shift: self.posterior.weights @ self._risks(rows, shift))

    def draws(self, X: Matrix, offset: NDArray | float, normals: NDArray) -> NDArray:
        """Return risks at as many draws from the posterior as there are rows of `normals`."""
        return values_at(self.posterior.thinned(len(normals)), self.link, X, offset)

    def _risks(self, X: Matrix, offset: NDArray) -> NDArray:
        return values_at(self.posterior.draws, self.link, X, offset)


@dataclass(frozen=True)
class DrawnPredictions:
    """The posterior of predictions of rows, or of their average."""

    posterior: Posterior
    X: Matrix
    offset: Any
    link: BinaryLink | None  # None for linear predictors
    average: Any = False  # False for predictions of rows, else weights of the rows, None for ones

    def summed_up(self, compute: Callable[[NDArray], NDArray]) -> NDArray:
        """Compute something of the draws, which are the first axis."""

        def values(rows: Matrix, shift: NDArray) -> NDArray:
            return values_at(self.posterior.draws, self.link, rows, shift)

        if self.average is False:
            return _by_rows(self.X, self.offset, lambda rows, shift: compute(values(rows, shift)))
        n = self.X.shape[0]
        weights = np.ones(n) if self.average is None else np.asarray(self.average, dtype=float)
        if weights.shape != (n,):
            raise InvalidDataError(
                f"agg_weights has shape {weights.shape}, but {n} rows are averaged; after xi='map' give one weight per row."
            )
        total, offset = np.zeros(len(self.posterior.draws)), np.broadcast_to(self.offset, (n,))
        for i in range(0, n, ROWS):
            total += values(self.X[i : i + ROWS], offset[i : i + ROWS]) @ weights[i : i + ROWS]
        return compute((total / n)[:, None])

    @property
    def variance(self) -> NDArray:
        """Posterior variances."""
        weights = self.posterior.weights
        return self.summed_up(lambda values: weights @ (values - weights @ values) ** 2)

    def limits(self, alpha: float = 0.05) -> NDArray:
        """Return equal-tailed limits; of shape (n, 2)."""
        shares = [alpha / 2.0, 1.0 - alpha / 2.0]
        return self.summed_up(lambda values: self.posterior.quantiles(values, shares)).T

    def given_to(self, found: Any) -> Any:
        """Give predictions of statsmodels the errors and limits of the posterior."""
        variance = self.variance
        found.var_pred = np.reshape(variance, np.shape(found.var_pred))
        found.conf_int = partial(_limits, self)
        return found


def _limits(drawn: DrawnPredictions, method: str = "endpoint", alpha: float = 0.05, **_: Any) -> NDArray:
    """Return limits as ``conf_int`` of statsmodels' predictions does; `method` is one of theirs, and does not matter."""
    return drawn.limits(alpha)
