"""BinaryGLMResults: what the user sees, in statsmodels' words."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import statsmodels.base.wrapper as wrap
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import chi2
from statsmodels.base.model import LikelihoodModelResults
from statsmodels.genmod.generalized_linear_model import GLMResults, GLMResultsWrapper

from gevglm.calibration.metrics import auc
from gevglm.covariance import Covariance, covariance_of
from gevglm.design import numeric_matrix
from gevglm.effects import Margins
from gevglm.engine import MemoryEngine
from gevglm.estimation import Estimate, estimate
from gevglm.exceptions import (
    InvalidDataError,
    InvalidOptionError,
    NotDefinedForLoss,
    SupportWarning,
    unknown_option,
    warn,
)
from gevglm.families import saturated_loss
from gevglm.formulas import using_engine
from gevglm.influence import BinaryInfluence
from gevglm.losses import Log
from gevglm.profile import profile_interval
from gevglm.reducers import ArraySum, LossSums
from gevglm.scoretest import score_test
from gevglm.summary import summary_of
from gevglm.tables import vector

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM


class BinaryGLMResults(GLMResults):
    """Results of a binary regression: everything statsmodels' GLMResults has, right for both losses.

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
        Observations whose fitted probability is exactly 0 or 1.
    xi : float or None
        Shape of the link, if it has one.
    alpha : float
        Ridge penalty.
    """

    def __init__(
        self,
        model: BinaryGLM,
        fitted: Estimate,
        cov_params: NDArray,
        *,
        covariance: Covariance,
        cov_words: tuple[str, dict[str, Any] | None],
        alpha: float = 0.0,
        n_outside_support: int = 0,
        use_t: bool | None = None,
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
        self.alpha = alpha
        self.k_params = len(fitted.params)
        self.method = "Newton"
        self.fit_history = {"iteration": fitted.n_iter}
        self.nobs = len(model.endog)

    @property
    def xi(self) -> float | None:
        return self.link.parameters.get("xi")

    @property
    def event(self) -> Any:
        """The level of the outcome that is the event."""
        return self.model.design.event

    @property
    def cov_params_matrix(self) -> NDArray:
        """The covariance of the coefficients as a plain array."""
        return self.cov_params_default

    @property
    def n_trials_total(self) -> float:
        """Observations, each row counted by its frequency weight and trials."""
        return self._scalars["n_trials_total"]

    # -- how well it predicts --------------------------------------------------------------

    @property
    def log_loss(self) -> float:
        """Mean negative Bernoulli log-likelihood of the fitted probabilities."""
        return self._scalars["log_loss"]

    @property
    def brier(self) -> float:
        """Mean squared error of the fitted probabilities."""
        return self._scalars["brier"]

    @property
    def auc(self) -> float:
        """Area under the ROC curve, in sample."""
        return self._scalars["auc"]

    @cached_property
    def _scalars(self) -> dict[str, float]:
        """One pass over the rows for every scalar that the summary shows."""
        params, loss = self._params, self.loss
        log = Log(self.link)

        def sums(block) -> NDArray:
            v = block.linear_predictor(params)
            point = self.link.at(v)
            y = block.y
            size = np.ones_like(y)
            for factor in (block.freq, block.trials):
                size = size if factor is None else size * factor
            weight = np.ones_like(y) if block.weight is None else block.weight
            surprise = log.value_at(y, point)
            squared = y * point.sf**2 + (1.0 - y) * point.cdf**2
            excess = loss.value_at(y, point) - saturated_loss(loss, y)
            pearson = (y - point.cdf) ** 2 / (point.cdf * point.sf)
            terms = (size, surprise), (size, squared), (weight, excess), (weight, surprise), (weight, pearson)
            return np.array([size.sum(), *(np.where(w > 0, w * value, 0.0).sum() for w, value in terms)])

        total, surprise, squared, excess, weighted_surprise, pearson = self.model.engine().reduce(ArraySum(sums))
        weights = self.model.freq_weights * self.model.n_trials
        return {
            "n_trials_total": float(total),
            "log_loss": float(surprise / total),
            "brier": float(squared / total),
            "deviance": float(2.0 * excess),
            "bernoulli_llf": float(-weighted_surprise),
            "pearson_chi2": float(pearson),
            "auc": auc(self.model.endog, self.model.predict(params, which="linear"), weights),
        }

    # -- likelihood, where there is one ----------------------------------------------------

    @property
    def llf(self) -> float:
        """Log-likelihood; for counts with the binomial coefficients, as R and statsmodels have it."""
        self._need_likelihood(
            "llf", "log_loss and brier compare predictions on a scale that does not depend on the loss"
        )
        return self._scalars["bernoulli_llf"] + self._log_coefficients

    @cached_property
    def _log_coefficients(self) -> float:
        design = self.model.design
        if design.trials is None:
            return 0.0
        n, successes = design.trials, design.trials * design.y
        return float((gammaln(n + 1) - gammaln(successes + 1) - gammaln(n - successes + 1)) @ self.model.iweights)

    def llf_scaled(self, scale=None) -> float:
        """Return the log-likelihood; the scale of a binary outcome is 1."""
        return self.llf

    @property
    def aic(self) -> float:
        return self.info_criteria("aic")

    @property
    def bic(self) -> float:
        return self.info_criteria("bic")

    bic_llf = bic

    def info_criteria(self, crit, scale=None, dk_params=0):
        """Return AIC, BIC or QAIC; see statsmodels."""
        self._need_likelihood(crit, "compare models by cross-validated log_loss or brier")
        if self.alpha:
            raise InvalidOptionError(f"{crit} is not defined for a penalised fit, whose coefficients are not all free.")
        return super().info_criteria(crit, scale=scale, dk_params=dk_params)

    @property
    def bic_deviance(self) -> float:
        """BIC from the deviance; see statsmodels."""
        self._need_likelihood("bic_deviance", "compare models by cross-validated log_loss or brier")
        return self.deviance - (self.model.wnobs - self.df_model - 1) * np.log(self.model.wnobs)

    def compare_lr_test(self, restricted: BinaryGLMResults) -> tuple[float, float, float]:
        """Likelihood-ratio test against a restricted model.

        Parameters
        ----------
        restricted : BinaryGLMResults
            A fit of the same outcome with fewer columns.

        Returns
        -------
        lr_stat, p_value, df_diff : float
        """
        self._need_likelihood("compare_lr_test", "use wald_test or score_test")
        if not restricted.loss.is_likelihood:
            raise NotDefinedForLoss("the restricted model has the canonical loss, which has no likelihood.")
        if self.alpha or restricted.alpha:
            raise InvalidOptionError("penalised fits have no likelihood-ratio test.")
        same = self.model.nobs == restricted.model.nobs and np.array_equal(self.model.endog, restricted.model.endog)
        if not same:
            raise InvalidDataError(
                f"the models are fitted to different data ({self.model.nobs} and {restricted.model.nobs} rows); "
                "fit both to the same complete rows."
            )
        df = self.df_model - restricted.df_model
        if df <= 0:
            raise InvalidOptionError("the restricted model has no fewer coefficients than this one.")
        statistic = 2.0 * (self.llf - restricted.llf)
        return float(statistic), float(chi2.sf(statistic, df)), float(df)

    def conf_int(self, alpha: float = 0.05, cols: Any = None, method: str = "wald") -> NDArray:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        alpha : float
            One minus the coverage.
        cols : sequence of int, optional
            Which coefficients; all by default.
        method : {"wald", "profile"}
            Profile-likelihood intervals are defined for the log loss without a penalty.
        """
        if method == "wald":
            limits = super().conf_int(alpha=alpha)
            return limits if cols is None else limits[np.asarray(cols)]
        if method != "profile":
            raise unknown_option("method", method, ("wald", "profile"))
        self._need_likelihood("conf_int(method='profile')", "use method='wald'")
        if self.alpha:
            raise InvalidOptionError("profile intervals are not defined for a penalised fit; use method='wald'.")
        engine = self.model.engine()

        def evaluate(params: NDArray):
            return engine.reduce(LossSums(self.loss, params, value=True))

        sums = evaluate(self._params)
        errors = np.sqrt(np.diagonal(self.normalized_cov_params))
        columns = range(self.k_params) if cols is None else cols
        return np.array([profile_interval(evaluate, self._params, sums, errors[j], j, alpha) for j in columns])

    # -- deviance and residuals ------------------------------------------------------------

    @property
    def deviance(self) -> float:
        """Twice the loss above that of the saturated model (relative where the canonical loss diverges)."""
        return self._scalars["deviance"]

    @property
    def pearson_chi2(self) -> float:
        """Sum of the squared Pearson residuals."""
        return self._scalars["pearson_chi2"]

    @property
    def resid_pearson(self) -> NDArray:
        r"""Pearson residuals, :math:`\sqrt{n}\,(y - \mu)/\sqrt{\mu(1-\mu)}`, for both losses."""
        with np.errstate(all="ignore"):
            point = self.link.at(self.model.predict(self._params, which="linear"))
            scale = np.sqrt(self.model.n_trials * self.model.var_weights)
            return scale * (self.model.endog - point.cdf) / np.sqrt(point.cdf * point.sf)

    @property
    def resid_deviance(self) -> NDArray:
        """Deviance residuals: signed square roots of each row's part of the deviance."""
        y, linear = self.model.endog, self.model.predict(self._params, which="linear")
        excess = self.loss.value(y, linear) - saturated_loss(self.loss, y)
        squared = 2.0 * self.model.n_trials * self.model.var_weights * np.maximum(excess, 0.0)
        return np.sign(y - self.link.inverse(linear)) * np.sqrt(squared)

    @property
    def resid_working(self) -> NDArray:
        """Working residuals, (y - mu)/F'."""
        linear = self.model.predict(self._params, which="linear")
        return (self.model.endog - self.link.inverse(linear)) / self.link.inverse_deriv(linear)

    @cached_property
    def null(self) -> NDArray:
        """Fitted values of the model with a constant only."""
        design, y = self.model.design, self.model.endog
        weights = self.model.iweights * self.model.n_trials
        if design.offset is None:
            return np.full(len(y), float(weights @ y / weights.sum()))
        engine = MemoryEngine(
            np.ones((len(y), 1)), y, freq=design.freq, var=design.var, trials=design.trials, offset=design.offset
        )
        constant = estimate(engine, self.loss, constant=0).params[0]
        return self.link.inverse(constant + design.offset)

    @cached_property
    def null_deviance(self) -> float:
        """Deviance of the model with a constant only."""
        y = self.model.endog
        excess = self.loss.value(y, self.link(self.null)) - saturated_loss(self.loss, y)
        return float(2.0 * (self.model.iweights * self.model.n_trials) @ excess)

    @cached_property
    def llnull(self) -> float:
        """Log-likelihood of the model with a constant only."""
        self._need_likelihood("llnull", "pseudo_rsquared uses the Bernoulli likelihood of the predictions")
        return self._bernoulli_llnull + self._log_coefficients

    @property
    def _bernoulli_llnull(self) -> float:
        surprise = Log(self.link).value(self.model.endog, self.link(self.null))
        return float(-(self.model.iweights * self.model.n_trials) @ surprise)

    def pseudo_rsquared(self, kind: str = "cs") -> float:
        """Pseudo R-squared of Cox and Snell ("cs") or McFadden ("mcf"), by the Bernoulli likelihood of the predictions."""
        llf, llnull = self._scalars["bernoulli_llf"], self._bernoulli_llnull
        if self.loss.is_likelihood:
            llf, llnull = self.llf, self.llnull
        if kind.lower().startswith("mcf"):
            return 1.0 - llf / llnull
        if kind.lower().startswith("cox") or kind.lower() in ("cs", "lr"):
            return 1.0 - np.exp((llnull - llf) * (2.0 / self.model.wnobs))
        raise unknown_option("kind", kind, ("cs", "mcf"))

    # -- influence, tests, effects ---------------------------------------------------------

    def get_hat_matrix_diag(self, observed: bool = False) -> NDArray:
        """Leverages; by the expected second derivative, as R has them."""
        weights = self.model.hessian_factor(self._params, observed=observed)
        exog = self.model.exog
        return weights * np.einsum("ij,ij->i", np.dot(exog, self.normalized_cov_params), exog)

    def get_influence(self, observed: bool = False) -> BinaryInfluence:
        """Influence of single rows; see :class:`gevglm.influence.BinaryInfluence`."""
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
        covariance = covariance_of(*words, model._rows_of)
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
        return using_engine(recipe.engine) if recipe is not None else nullcontext()

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
        return Margins(self, (at, method, atexog, dummy, count))

    # -- prediction ------------------------------------------------------------------------

    def predict(self, exog=None, transform=True, *, exposure=None, offset=None, which="mean"):
        """Predict for the rows of the model or for new data.

        Parameters
        ----------
        exog : table or array_like, optional
            New data: a table for models from formulas (with the columns of offset and exposure, if the model names them), else a design matrix.
        transform : bool
            Whether to apply the formula to `exog`.
        exposure, offset : str or array_like, optional
        which : {"mean", "linear", "var_unscaled"}

        Returns
        -------
        ndarray or Series
        """
        exog, offset, exposure, index = self._new_rows(exog, transform, offset, exposure)
        values = self.model.predict(self._params, exog, exposure=exposure, offset=offset, which=which)
        return values if index is None else pd.Series(values, index=index)

    def get_prediction(
        self,
        exog=None,
        exposure=None,
        offset=None,
        transform=True,
        which=None,
        average=False,
        agg_weights=None,
        row_labels=None,
    ):
        """Predictions with standard errors and intervals inside (0, 1); see statsmodels."""
        exog, offset, exposure, index = self._new_rows(exog, transform, offset, exposure)
        if exog is None:
            offset = self.model.offset if offset is None else offset
        row_labels = index if row_labels is None else row_labels
        return GLMResults.get_prediction(
            self._of_arrays(),
            exog=exog,
            exposure=exposure,
            offset=offset,
            transform=False,
            which=which,
            average=average,
            agg_weights=agg_weights,
            row_labels=row_labels,
        )

    def get_distribution(self, exog=None, exposure=None, offset=None, var_weights=1.0, n_trials=1.0):
        """Return the binomial distribution of new outcomes, as a frozen distribution of scipy; see statsmodels."""
        mean = np.asarray(self.predict(exog, exposure=exposure, offset=offset))
        return self.family.get_distribution(mean, 1.0, var_weights=var_weights, n_trials=n_trials)

    def _of_arrays(self) -> BinaryGLMResults:
        """Return a shallow copy that knows no formula, for statsmodels' predictions from design matrices."""
        results, model = copy(self), copy(self.model)
        model.__dict__.pop("formula", None)
        results.model = model
        return results

    def _new_rows(self, exog, transform, offset, exposure):
        """Return design matrix, offset, exposure and row labels of new data."""
        if exog is None:
            n, frame = len(self.model.endog), self.model.design.frame
            return None, vector(offset, frame, "offset", n), vector(exposure, frame, "exposure", n), None
        index = exog.index if isinstance(exog, (pd.DataFrame, pd.Series)) else None
        if transform and self.model.design.recipe is not None and not isinstance(exog, np.ndarray):
            exog, offset, index = self.model.design_of(exog, offset, exposure)
            exposure = None
        else:
            if isinstance(exog, pd.DataFrame) and set(exog.columns) == set(self.model.exog_names):
                exog = exog[self.model.exog_names]
            exog = numeric_matrix(np.asarray(exog))
            exog = exog.reshape(-1, self.k_params) if exog.size == self.k_params else exog
            if exog.shape[1] != self.k_params:
                raise InvalidDataError(
                    f"exog has {exog.shape[1]} columns, but the model has {self.k_params} coefficients."
                )
            index = None if index is not None and len(index) != len(exog) else index
            n = len(exog)
            offset = self.model._new_offset(vector(offset, None, "offset", n), vector(exposure, None, "exposure", n))
            exposure = None
        linear = self.model.predict(self._params, exog, exposure=exposure, offset=offset, which="linear")
        outside = int((self.link.outside(linear) & np.isfinite(linear)).sum())
        if outside:
            warn(
                f"{outside} of {len(linear)} rows lie outside the support of {self.link!r}; their probability is exactly 0 or 1.",
                SupportWarning,
            )
        return exog, offset, exposure, index

    # -- reports and files -----------------------------------------------------------------

    def summary(self, yname=None, xname=None, title=None, alpha=0.05):
        """One table of what was fitted, how well, and what to mind; see :func:`gevglm.summary.summary_of`."""
        return summary_of(self, yname=yname, xname=xname, title=title, alpha=alpha)

    def remove_data(self) -> None:
        """Drop everything of the length of the data; summaries, tests and predictions for new data still work."""
        _ = self._scalars
        if self.loss.is_likelihood:
            _ = self._log_coefficients
        super().remove_data()
        design = self.model.design
        design.X = design.y = design.freq = design.var = design.trials = design.offset = design.rows = design.frame = (
            None
        )
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
        _save(self, self, fname, remove_data)

    @classmethod
    def load(cls, fname: str | Path):
        """Load saved results; as with every pickle, only from sources you trust."""
        return load(fname)

    @property
    def _params(self) -> NDArray:
        return np.asarray(self.params)

    def _need_likelihood(self, what: str, instead: str) -> None:
        if not self.loss.is_likelihood:
            raise NotDefinedForLoss(f"{what} is not defined for the canonical loss, which is no likelihood; {instead}.")


class BinaryGLMResultsWrapper(GLMResultsWrapper):
    """Results with the labels of the data attached."""

    _wrap_methods = {name: how for name, how in GLMResultsWrapper._wrap_methods.items() if name != "conf_int"}

    def conf_int(self, alpha: float = 0.05, cols: Any = None, method: str = "wald"):
        """Confidence intervals of the coefficients; see :meth:`BinaryGLMResults.conf_int`."""
        limits = self._results.conf_int(alpha=alpha, cols=cols, method=method)
        if not isinstance(self.params, pd.Series):
            return limits
        return pd.DataFrame(limits, index=self.params.index if cols is None else self.params.index[list(cols)])

    def save(self, fname: str | Path, remove_data: bool = True) -> None:
        """Save the results, by default without the data; see :meth:`BinaryGLMResults.save`."""
        _save(self, self._results, fname, remove_data)


wrap.populate_wrapper(BinaryGLMResultsWrapper, BinaryGLMResults)


def load(fname: str | Path) -> BinaryGLMResultsWrapper:
    """Load results saved by :meth:`BinaryGLMResults.save`.

    Unpickling runs code from the file: load only what you, or somebody you trust, saved.

    Parameters
    ----------
    fname : path
    """
    with nullcontext(fname) if hasattr(fname, "read") else open(fname, "rb") as file:
        results = pickle.load(file)
    if not isinstance(results, (BinaryGLMResultsWrapper, LikelihoodModelResults)):
        raise InvalidDataError(f"{str(fname)!r} does not hold results of gevglm but a {type(results).__name__}.")
    return results


def _save(shell: Any, results: BinaryGLMResults, fname: Any, remove_data: bool) -> None:
    if remove_data:
        results.remove_data()
    with nullcontext(fname) if hasattr(fname, "write") else open(fname, "wb") as file:
        pickle.dump(shell, file)
