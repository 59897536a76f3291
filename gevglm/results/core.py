"""BinaryGLMResults: what the user sees, in statsmodels' words."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from statsmodels.base.model import LikelihoodModelResults
from statsmodels.genmod.generalized_linear_model import GLMResults

from gevglm.bias import BiasReduction
from gevglm.covariance import Covariance, covariance_of
from gevglm.data.formula import using_engine
from gevglm.effects.king_zeng import RiskModel
from gevglm.effects.margins import Margins
from gevglm.engine import Engine
from gevglm.estimation.estimate import Estimate
from gevglm.estimation.objective import Ridge
from gevglm.exceptions import InvalidOptionError
from gevglm.inference.influence import BinaryInfluence
from gevglm.inference.score_test import score_test
from gevglm.inference.separation import Separation
from gevglm.results.calibration import CalibrationChecks
from gevglm.results.effects import RiskEffects
from gevglm.results.fit_statistics import FitStatistics
from gevglm.results.likelihood import LikelihoodInference
from gevglm.results.plotting import Pictures
from gevglm.results.population import PopulationRisks
from gevglm.results.prediction import Predictions
from gevglm.results.saving import load, save
from gevglm.results.shape import ShapeInference, refit
from gevglm.results.summary import summary_of

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM
    from gevglm.results.refit import Procedure


class BinaryGLMResults(
    Pictures,
    RiskEffects,
    PopulationRisks,
    CalibrationChecks,
    LikelihoodInference,
    ShapeInference,
    FitStatistics,
    Predictions,
    GLMResults,
):
    """Results of a binary regression: everything statsmodels' GLMResults has, right for both losses.

    Statistics of fit are in :mod:`gevglm.results.fit_statistics`, predictions in :mod:`gevglm.results.prediction`, risks in the population and what sampling by
    the outcome changes in :mod:`gevglm.results.population`, inference from the likelihood in :mod:`gevglm.results.likelihood`; tests, effects and reports here.

    Attributes
    ----------
    params, bse, tvalues, pvalues : array_like of shape (k,)
    converged : bool
    n_iter : int
        Newton steps.
    decrement : float
        Newton decrement where the iteration ended: squared distance to the solution in standard errors.
    n_events : float
        Sum of the outcomes, weighted.
    n_outside_support : int
        Rows whose fitted probability is exactly 0 or 1.
    n_contradicted : int
        Those among them with an event at a probability of 0, or a non-event at one of 1.
    xi : float or None
        Shape of the link, if it has one.
    alpha : float
        Ridge penalty.
    bias : BiasReduction or None
        How the bias of the estimates was reduced.
    separation : Separation
        Whether a combination of the columns separates the outcomes, and which estimates are infinite then.
    """

    bias: BiasReduction | None = None
    procedure: Procedure | None = None  # what the fit was told, for refits
    n_contradicted = 0  # for fits saved before it was counted

    def __init__(
        self,
        model: BinaryGLM,
        fitted: Estimate,
        cov_params: NDArray,
        *,
        covariance: Covariance,
        cov_words: tuple[str, dict[str, Any] | None],
        alpha: float = 0.0,
        penalty: Ridge | None = None,
        bias: BiasReduction | None = None,
        separation: Separation | None = None,
        n_outside_support: int = 0,
        n_contradicted: int = 0,
        use_t: bool | None = None,
        ends: Sequence[RiskModel] = (),
    ):
        super().__init__(model, fitted.params, fitted.inverse_information, 1.0, use_t=use_t)
        self.cov_params_default = cov_params
        self._cov_words = cov_words
        self.cov_type = covariance.name
        self.cov_kwds = {"description": covariance.description}
        self.loss = model.loss
        self.link = model.link
        self.converged = fitted.converged
        self.n_iter = fitted.n_iter
        self.n_passes = fitted.n_passes
        self.decrement = fitted.decrement
        self.reason = fitted.reason
        self.positive_definite = fitted.positive_definite
        self.n_events = model.n_events
        self.n_outside_support = n_outside_support
        self.n_contradicted = n_contradicted
        self.alpha = alpha
        self.penalty = penalty
        self.ends = tuple(ends)
        self.bias = bias
        self._separation = separation
        self.k_params = len(fitted.params)
        self.method = "Newton"
        self.fit_history = {"iteration": fitted.n_iter}
        self.nobs = model.nobs

    @property
    def xi(self) -> float | None:
        return self.link.parameters.get("xi")

    @property
    def separation(self) -> Separation:
        """Whether a combination of the columns separates the outcomes; found by linear programming when first asked for."""
        if self._separation is None:
            self._separation = self.model.separation()
        return self._separation

    @property
    def known_separation(self) -> Separation | None:
        """What :attr:`separation` found, if it was looked for."""
        return self._separation

    @property
    def has_data(self) -> bool:
        """Whether the rows are held in memory: not after saving without them, nor of data that are read in pieces."""
        return self.model.design.has_rows

    @property
    def event(self) -> Any:
        """The level of the outcome that is the event."""
        return self.model.design.event

    @property
    def cov_params_matrix(self) -> NDArray:
        """The covariance of the coefficients as a plain array."""
        return self.cov_params_default

    @property
    def _params(self) -> NDArray:
        return np.asarray(self.params)

    # -- intervals, tests, effects ---------------------------------------------------------

    def get_hat_matrix_diag(self, observed: bool = False) -> NDArray:
        """Leverages; by the expected second derivative, as R has them."""
        weights = self.model.hessian_factor(self._params, observed=observed)
        exog = self.model.exog
        return weights * np.einsum("ij,ij->i", np.dot(exog, self.normalized_cov_params), exog)

    def get_influence(self, observed: bool = False) -> BinaryInfluence:
        """Influence of single rows; see :class:`gevglm.inference.influence.BinaryInfluence`."""
        return BinaryInfluence(
            self, resid=self.resid_pearson, hat_matrix_diag=self.get_hat_matrix_diag(observed=observed)
        )

    def score_test(self, exog_extra=None, *, cov_type: str | None = None, cov_kwds: dict | None = None, **kwargs):
        """Score test of columns that were left out, or of the constraints of a constrained fit.

        Parameters
        ----------
        exog_extra : array_like of shape (n, m), optional
            Columns to test, one row a row of the model.
        cov_type, cov_kwds : str, dict
            Variance of the scores; that of the fit by default.
        **kwargs
            Refused, for other words of statsmodels.

        Returns
        -------
        ScoreTest
        """
        model = self.model
        if kwargs:
            raise InvalidOptionError(
                f"score_test does not take {', '.join(kwargs)}; give exog_extra, or use fit_constrained."
            )
        words = self._cov_words if cov_type is None else (cov_type, cov_kwds)
        covariance = covariance_of(*words, model.design.grouping)
        if exog_extra is None:
            constraints = getattr(self, "constraints", None)
            if constraints is None:
                raise InvalidOptionError("give the columns to test as exog_extra, or test a fit of fit_constrained.")
            restriction = np.atleast_2d(getattr(constraints, "coefs", getattr(constraints, "constraint_matrix", None)))
            return score_test(model.engine(), self.loss, self._params, restriction, covariance, model.wnobs)
        extra = model.design.rows_of(np.asarray(exog_extra, dtype=float), "exog_extra").reshape(len(model.endog), -1)
        m = extra.shape[1]
        engine = model.engine(np.column_stack([model.exog, extra]))
        restriction = np.hstack([np.zeros((m, self.k_params)), np.eye(m)])
        return score_test(engine, self.loss, np.append(self._params, np.zeros(m)), restriction, covariance, model.wnobs)

    def wald_test_terms(self, *args, **kwargs):
        """Wald tests of all terms of the formula; see statsmodels."""
        with self._formula_engine():
            return super().wald_test_terms(*args, **kwargs)

    def t_test_pairwise(self, *args, **kwargs):
        """Pairwise comparisons of the levels of a factor; see statsmodels."""
        with self._formula_engine():
            return super().t_test_pairwise(*args, **kwargs)

    def _formula_engine(self):
        recipe = self.model.design.recipe
        if recipe is None:
            return nullcontext()
        recipe.check_saved()
        return using_engine(recipe.engine)

    def get_margeff(self, at="overall", method="dydx", atexog=None, dummy=False, count=False) -> Margins:
        """Marginal effects on the probability, averaged with the weights of the rows, with the offset of the model.

        Parameters
        ----------
        at : {"overall", "mean", "median", "zero", "all"}
        method : {"dydx", "eyex", "dyex", "eydx"}
        atexog : dict, optional
            Column number to value, for columns held fixed.
        dummy, count : bool
            Treat 0/1 columns, and columns of counts, by discrete changes.
        """
        return Margins(self._in_population(), (at, method, atexog, dummy, count))

    def refit(self, engine: Engine) -> Estimate:
        """Estimate the coefficients anew on other rows, by the same method and at the same shape."""
        return refit(self, engine)

    # -- reports and files -----------------------------------------------------------------

    def summary(self, yname=None, xname=None, title=None, alpha=0.05, method: str | None = None):
        """One table of what was fitted, how well, and what to mind."""
        return summary_of(self, yname=yname, xname=xname, title=title, alpha=alpha, method=method)

    def remove_data(self) -> None:
        """Drop everything of the length of the data; summaries, tests and predictions for new data still work."""
        _ = self._scalars
        if self.loss.is_likelihood:
            _ = self._log_coefficients
        self._drop_shape_data()
        self._data_attr.extend(name for name in self.model._data_attr if "_data." not in name)
        LikelihoodModelResults.remove_data(self)  # that of GLMResults recurses for ever in statsmodels 0.14
        for name in ("_endog", "_freq_weights", "_var_weights", "_iweights", "_n_trials"):
            setattr(self, name, None)
        self.model.design = self.model.design.without_rows()
        data = self.model.data
        for name in ("frame", "orig_endog", "orig_exog", "endog", "exog"):
            if getattr(data, name, None) is not None:
                setattr(data, name, None)
        self.__dict__.pop("null", None)
        self._cov_words = (self.cov_type, None)
        self.family.n = 1

    def save(self, fname: str | Path, remove_data: bool = True) -> None:
        """Save the results, by default without the data.

        Parameters
        ----------
        fname : path
        remove_data : bool
            Keep nothing of the length of the data (also in the object at hand).
        """
        save(self, self, fname, remove_data)

    @classmethod
    def load(cls, fname: str | Path):
        """Load saved results; as with every pickle, only from sources you trust."""
        return load(fname)
