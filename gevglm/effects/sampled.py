r"""Uncertainty of averages over rows that are themselves a sample: what single observations do to them.

With :math:`\psi_i` the score of an observation (its weight included), :math:`A^{-1}` the bread of the covariance of the coefficients, and R,
G as in :mod:`gevglm.effects.standardised`, the influence of an observation on a risk that is averaged with the weights w is

.. math:: \frac{w_i\,(F(x_i(a)'b) - R_a)}{\sum_j w_j} + G_a A^{-1} \psi_i .

The covariance of several averages is the sum over observations, or clusters, of the products of their influences; for rows with
sampling weights times :math:`n/(n-1)`, with n observations or clusters, as surveys have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gevglm.data.row_weights import RowWeights
from gevglm.engine.linalg import Matrix, group_sums
from gevglm.exceptions import IncompatibleOptionsError, unknown_option

if TYPE_CHECKING:
    from gevglm.results.core import ResultsCore

COVARIATES = ("fixed", "sampled")


@dataclass(frozen=True)
class RowInfluence:
    """The influence of single observations on the coefficients of a fit."""

    X: Matrix  # the design; of shape (n, k)
    bread: NDArray  # what turns a score into a change of the coefficients; of shape (k, k)
    factor: NDArray  # of the row of an observation in its score; of shape (m,)
    row: NDArray  # that the observation is in; of shape (m,)
    size: NDArray  # how many observations are alike; of shape (m,)
    weights: RowWeights
    of_survey: bool  # whether covariances are multiplied by n/(n - 1)

    @classmethod
    def of(cls, results: ResultsCore) -> RowInfluence:
        """Return the influences of the observations of a fit; rows of several trials are so many observations."""
        model, weights = results.model, results.row_weights
        y, row, size = model.endog, np.arange(weights.n_rows), weights.observations
        if weights.trials is not None:
            row, size = np.tile(row, 2), np.concatenate([size * y, size * (1.0 - y)])
            y = np.repeat([1.0, 0.0], len(y))
        linear = np.asarray(model.predict(results._params, which="linear"))[row]
        factor = -results.loss.slope(y, linear) * model.var_weights[row]
        return cls(
            model.exog, results.normalized_cov_params, factor, row, size, weights, model.sampling.covariates_sampled
        )

    def covariance(self, averages: NDArray, gradient: NDArray, values: NDArray, averaged: NDArray) -> NDArray:
        """Return the covariance of averages over the rows.

        `gradient`, of shape (m, k), is theirs by the coefficients; `values` and `averaged`, of shape (n, m), are what is averaged and with which
        weights.
        """
        share = averaged / (self.weights.observations[:, None] * averaged.sum(axis=0))
        of_params = self.X @ (self.bread @ gradient.T)
        influence = self.factor[:, None] * of_params[self.row] + (share * (values - averages))[self.row]
        if self.weights.clusters is None:
            n = self.size.sum()
            return (influence * self.size[:, None]).T @ influence * self._factor(n)
        codes, total = self.weights.clusters.codes, np.zeros((len(averages), len(averages)))
        assert codes is not None  # the rows are in memory
        for sign, cluster_of in self.weights.clusters.ways:
            groups, sums = group_sums(influence, self.size, cluster_of[codes][self.row])
            total += sign * self._factor(len(groups)) * np.dot(np.transpose(sums), sums)
        return total

    def _factor(self, n: float) -> float:
        return n / (n - 1.0) if self.of_survey else 1.0


def influence_for(results: ResultsCore, covariates: Any, data: Any = None) -> RowInfluence | None:
    """Return the influences of observations if the rows that are averaged over are a sample; None if they are the population of interest.

    `covariates` is the word of the user, None for the default: rows with sampling weights are a sample.
    """
    possible = data is None and results._joint is None
    if covariates is None:
        covariates = "sampled" if results.model.sampling.covariates_sampled and possible else "fixed"
    if covariates not in COVARIATES:
        raise unknown_option("covariates", covariates, COVARIATES)
    if covariates == "fixed":
        return None
    if not possible:
        raise IncompatibleOptionsError(
            "covariates='sampled' needs the rows of the fit, and a given xi; use method='bootstrap'."
        )
    return RowInfluence.of(results)
