"""A loss on a design as statsmodels asks for it: predictions, scores and second derivatives as functions of the coefficients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from statsmodels.genmod.generalized_linear_model import GLM

from gevglm.engine import Engine
from gevglm.engine.linalg import Matrix, dense, linear_predictor, rows_of, scale_rows
from gevglm.estimation.sums import LossSums
from gevglm.exceptions import unknown_option
from gevglm.links.base import BinaryLink
from gevglm.losses import Loss
from gevglm.results.prediction import PREDICTIONS
from gevglm.sampling.schemes import Sampling


class LossModel(GLM):
    """What :class:`gevglm.BinaryGLM` answers statsmodels at given coefficients."""

    loss: Loss
    link: BinaryLink
    sampling: Sampling

    def engine(self, exog: Matrix | None = None) -> Engine:
        """Return the rows, as the solver sees them; with another design matrix, if one is given."""
        raise NotImplementedError

    @property
    def population_link(self) -> BinaryLink:
        """The link from linear predictors to probabilities in the population."""
        return self.sampling.population_link(self.link)

    @property
    def default_covariance(self) -> str:
        """The covariance where none is asked for: that of how the rows were sampled, or else of the loss."""
        of_sampling = self.sampling.default_covariance
        return self.loss.default_covariance if of_sampling == "nonrobust" else of_sampling

    def predict(self, params, exog=None, exposure=None, offset=None, which="mean"):
        """Return predictions for a design matrix.

        Parameters
        ----------
        params : array_like of shape (k,)
        exog : array_like, optional
            Design matrix; that of the model by default, then with the offset of the model.
        exposure, offset : array_like, optional
            For `exog`.
        which : {"mean", "linear", "var_unscaled", "fitted"}
            "mean" is the probability in the population; "fitted" that of the fit, which differs if rows were sampled or weighted by
            their outcome.
        """
        if which not in PREDICTIONS:
            raise unknown_option("which", which, PREDICTIONS)
        X, shift = (self.exog, self._offset_exposure) if exog is None else (rows_of(exog), 0.0)
        linear = linear_predictor(X, params) + (shift if offset is None else np.asarray(offset))
        linear = linear if exposure is None else linear + np.log(np.asarray(exposure))
        if which in ("linear", "fitted"):
            return linear if which == "linear" else self.link.inverse(linear)
        mean = self.population_link.inverse(linear)
        return mean if which == "mean" else mean * (1.0 - mean)

    def score(self, params, scale=None):
        """Return the score: the gradient of the (quasi-)log-likelihood."""
        return self.score_factor(params) @ self.exog

    def score_obs(self, params, scale=None):
        """Return the score of each row; sparse if the design is."""
        return scale_rows(self.exog, self.score_factor(params))

    def score_factor(self, params, scale=None):
        """Return the factor of each row of `exog` in the score."""
        return -self._weighted(self.loss.slope(self.endog, self.predict(params, which="linear")))

    def hessian_factor(self, params, scale=None, observed=True):
        """Return the factor of each row's cross-product in the negative Hessian."""
        if observed:
            return self._weighted(self.loss.curvature(self.endog, self.predict(params, which="linear")))
        with np.errstate(all="ignore"):
            point = self.link.at(self.predict(params, which="linear"))
            return self._weighted(self.loss.expected_curvature_at(point))

    def hessian(self, params, scale=None, observed=None):
        """Return the Hessian of the (quasi-)log-likelihood, observed by default."""
        sums = LossSums(self.loss, np.asarray(params, dtype=float), expected=observed is False)
        return -dense(self.engine().reduce(sums).hessian)

    def _weighted(self, values: NDArray) -> NDArray:
        return values * self.iweights * self.n_trials
