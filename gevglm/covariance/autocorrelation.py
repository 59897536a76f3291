"""The covariance of rows in time order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gevglm.covariance.base import Covariance, Fitted, GroupScores
from gevglm.engine.base import Block
from gevglm.engine.linalg import dense
from gevglm.exceptions import InvalidOptionError, unknown_option


class HAC(Covariance):
    """Heteroscedasticity- and autocorrelation-robust (Newey-West) sandwich, rows in time order, as in statsmodels.

    Parameters
    ----------
    maxlags : int
    kernel : str
        "bartlett" or "uniform".
    use_correction : bool
        Multiply by n/(n - k).
    """

    name = "HAC"

    def __init__(self, maxlags: int, kernel: str = "bartlett", use_correction: bool = False):
        if kernel not in ("bartlett", "uniform"):
            raise unknown_option("kernel", kernel, ("bartlett", "uniform"))
        self.maxlags = maxlags
        self.kernel = kernel
        self.use_correction = use_correction
        self.description = (
            f"Standard errors are robust to heteroscedasticity and autocorrelation (HAC, {maxlags} lags)."
        )

    def meat(self, fit: Fitted) -> NDArray:
        from statsmodels.stats import sandwich_covariance as sandwich

        weights = sandwich.weights_bartlett if self.kernel == "bartlett" else sandwich.weights_uniform
        n = fit.engine.n_rows
        if not fit.engine.in_memory:
            raise InvalidOptionError(
                "cov_type='HAC' needs the rows in memory, in time order; use 'HC0' to 'HC3' or 'cluster'."
            )
        scores = fit.engine.reduce(GroupScores(fit.loss, fit.params, _positions, n))
        meat = dense(scores.T @ scores)
        for lag, share in enumerate(weights(self.maxlags)[1:], 1):
            product = dense(scores[lag:].T @ scores[:-lag])
            meat += share * (product + product.T)
        return meat * (fit.nobs / (fit.nobs - fit.rank)) if self.use_correction else meat


def _positions(block: Block) -> NDArray:
    return np.arange(block.start, block.start + len(block.y))
