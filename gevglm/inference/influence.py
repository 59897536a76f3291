"""Influence of single rows on a fit, right for both losses."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.outliers_influence import GLMInfluence

from gevglm.covariance import Fitted, Nonrobust
from gevglm.engine.cholesky import inverse


class BinaryInfluence(GLMInfluence):
    r"""statsmodels' GLMInfluence with one-step changes that hold for every loss and weight.

    Notes
    -----
    Leaving out row i, with all its copies and trials, changes the coefficients by about

    .. math:: d_i = \frac{A^{-1} x_i s_i}{1 - h_i},

    with s the weighted score factor and h the leverage of the row. Cook's distance is :math:`d_i' V^{-1} d_i / k` with V the
    model-based covariance; for the log loss that is R's definition. Where rows have sampling weights, and stand for any number of others, V is the
    covariance of the fit.
    """

    @cached_property
    def d_params(self) -> NDArray:
        """Change of the coefficients when a row is left out."""
        results = self.results
        model = results.model
        factor = model.score_factor(results._params) / (1.0 - self.hat_matrix_diag)
        exog = model.design.dense(
            "the influence of rows on each coefficient", "fit the rows in question without each other"
        )
        return (exog @ results.normalized_cov_params) * factor[:, None]

    @cached_property
    def cooks_distance(self) -> tuple[NDArray, NDArray]:
        """Cook's distance, and its tail probability by the F distribution."""
        results = self.results
        model = results.model
        fit = Fitted(model.engine(), results.loss, results._params, results.normalized_cov_params, model.wnobs)
        if model.sampling.covariates_sampled:
            precision = np.linalg.pinv(results.cov_params_matrix, hermitian=True)
        else:
            precision = inverse(Nonrobust().matrix(fit))
        distance = np.einsum("ij,ij->i", self.d_params @ precision, self.d_params) / results.rank
        return distance, stats.f.sf(distance, results.rank, results.df_resid)
