"""BinaryGLMResults: what the user sees, in statsmodels' words, put together from the parts."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gevglm.covariance import covariance_of
from gevglm.data.design import FIT_AGAIN
from gevglm.data.formula import using_engine
from gevglm.data.tables import numeric_matrix
from gevglm.engine.linalg import hstack_columns, quadratic_forms
from gevglm.exceptions import InvalidDataError, InvalidOptionError, listed
from gevglm.inference.influence import BinaryInfluence
from gevglm.inference.score_test import score_test
from gevglm.results.calibration import CalibrationChecks
from gevglm.results.effects import RiskEffects
from gevglm.results.fit_statistics import FitStatistics
from gevglm.results.likelihood import LikelihoodInference
from gevglm.results.other_packages import OtherPackages
from gevglm.results.plotting import Plotting
from gevglm.results.population import PopulationRisks
from gevglm.results.prediction import Predictions
from gevglm.results.refit import refit
from gevglm.results.saving import load, save, strip
from gevglm.results.scoring import Scoring
from gevglm.results.shape import ShapeInference
from gevglm.results.stability import StabilityChecks
from gevglm.results.summary import summary_of
from gevglm.results.terms import TermInference
from gevglm.results.updating import Updating
from gevglm.results.validation import Validation
from gevglm.results.wild import WildInference

if TYPE_CHECKING:
    from gevglm.results.statsmodels_wrapper import BinaryGLMResultsWrapper


class BinaryGLMResults(
    CalibrationChecks,
    FitStatistics,
    LikelihoodInference,
    OtherPackages,
    Plotting,
    PopulationRisks,
    Predictions,
    RiskEffects,
    Scoring,
    ShapeInference,
    StabilityChecks,
    TermInference,
    Updating,
    Validation,
    WildInference,
):
    """Results of a binary regression: everything statsmodels' GLMResults has, right for both losses.

    Statistics of fit are in :mod:`gevglm.results.fit_statistics`, predictions in :mod:`gevglm.results.prediction`, risks in the
    population in :mod:`gevglm.results.population`, inference from the likelihood in :mod:`gevglm.results.likelihood`; tests, reports
    and files here. The state is that of ``gevglm.results.core.ResultsCore``; the order of the parts has no meaning.

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
    boundary : Boundary or None
        Where a fit ended on the boundary of the model: ``rows`` whose outcome it holds to be certain, those among them that are ``active``, and their
        ``multipliers``; see ``gevglm.estimation.boundary``.
    xi : float or None
        Shape of the link, if it has one.
    alpha : float
        Ridge penalty.
    bias : BiasReduction or None
        How the bias of the estimates was reduced.
    separation : Separation
        Whether a combination of the columns separates the outcomes, and which estimates are infinite then.
    """

    def get_hat_matrix_diag(self, observed: bool = False) -> NDArray:
        """Leverages; by the expected second derivative, as R has them."""
        weights = self.model.hessian_factor(self._params, observed=observed)
        return weights * quadratic_forms(self.model.exog, self.normalized_cov_params)

    def get_influence(self, observed: bool = False) -> BinaryInfluence:
        """Influence of single rows; see :class:`gevglm.inference.influence.BinaryInfluence`."""
        self.model.design.need_rows("influence", FIT_AGAIN)
        return BinaryInfluence(
            self, resid=self.resid_pearson, hat_matrix_diag=self.get_hat_matrix_diag(observed=observed)
        )

    def score_test(self, exog_extra=None, *, cov_type: str | None = None, cov_kwds: dict | None = None, **kwargs):
        """Score test of columns that were left out, or of the constraints of a constrained fit.

        After ``xi="ml"`` the shape is a nuisance parameter, as the coefficients are.

        Parameters
        ----------
        exog_extra : array_like of shape (n, m), optional
            Columns to test, one row per row of the model.
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
        if cov_type is None:
            cov_type, cov_kwds = self._cov_words
        covariance = covariance_of(cov_type, cov_kwds, model.design.grouping, model.design.sample)
        model.sampling.refuse_covariance(covariance.assumes_model)
        if exog_extra is None:
            constraints = getattr(self, "constraints", None)
            if constraints is None:
                raise InvalidOptionError("give the columns to test as exog_extra, or test a fit of fit_constrained.")
            matrix = constraints.coefs if hasattr(constraints, "coefs") else constraints.constraint_matrix
            return score_test(model.engine(), self.loss, self._params, np.atleast_2d(matrix), covariance, model.wnobs)
        extra = numeric_matrix(model.design.rows_of(exog_extra, "exog_extra"))
        m = extra.shape[1]
        engine = model.engine(hstack_columns(model.exog, extra))
        restriction = np.hstack([np.zeros((m, self.k_params)), np.eye(m)])
        params, with_shape = np.append(self._params, np.zeros(m)), self._joint is not None
        return score_test(engine, self.loss, params, restriction, covariance, model.wnobs, with_shape=with_shape)

    def wald_test(self, r_matrix, **kwargs):
        """Wald test of linear restrictions; see statsmodels. Restrictions of coefficients that were left out do not count.

        With ``use_t="satterthwaite"`` it is the F test "HTZ" of R's clubSandwich, with a survey design that of the design.
        """
        try:
            return super().wald_test(r_matrix, **kwargs)
        except ValueError as error:
            if not self.separated:
                raise
            raise InvalidDataError(
                f"there is no Wald test of infinite estimates ({listed(self.infinite_names)}); use lr_tests(), compare_lr_test, or bias='firth'."
            ) from error

    def wald_test_terms(self, *args, **kwargs):
        """Wald tests of all terms of the formula; see statsmodels."""
        with self._formula_engine():
            return super().wald_test_terms(*args, **kwargs)

    def t_test_pairwise(self, *args, **kwargs):
        """Pairwise comparisons of the levels of a factor; see statsmodels."""
        with self._formula_engine():
            return super().t_test_pairwise(*args, **kwargs)

    def _formula_engine(self) -> AbstractContextManager:
        recipe = self.model.design.recipe
        if recipe is None:
            return nullcontext()
        recipe.check_saved()
        return using_engine(recipe.engine)

    def refit(self, rows: NDArray, *, choose_shape: bool = True) -> BinaryGLMResultsWrapper:
        """Run the whole procedure behind the fit again on some of its rows, the choice of xi and alpha included."""
        return refit(self, rows, choose_shape=choose_shape)

    # -- reports and files -----------------------------------------------------------------

    def __repr__(self) -> str:
        what = (
            getattr(self.model, "formula", None) or f"{self.model.design.outcome}, {len(self.model.exog_names)} columns"
        )
        link = repr(self.link.population).replace("()", "")
        counted = f"{self.n_events:,.10g} events in {self.n_trials_total:,.10g} observations"
        return f"<BinaryGLMResults: {what}; {link}, {self.loss.name} loss; {counted}>"

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def summary(
        self,
        yname=None,
        xname=None,
        title=None,
        alpha=0.05,
        method: str | None = None,
        exponentiate: bool = False,
    ):
        """One table of what was fitted, how well, and what to know about it.

        Parameters
        ----------
        yname, xname, title
            Names for the outcome and the coefficients, and a title.
        alpha : float
            One minus the coverage of the intervals.
        method : {"wald", "profile", "posterior"}, optional
            Of tests and intervals; that of ``inference`` by default.
        exponentiate : bool
            Show odds ratios (logit) or hazard ratios (complementary log-log) instead of coefficients; see :meth:`exp_params`.
        """
        return summary_of(
            self, yname=yname, xname=xname, title=title, alpha=alpha, method=method, exponentiate=exponentiate
        )

    def report(
        self,
        path: Any,
        *,
        title: str | None = None,
        author: str = "",
        code: str | None = None,
        alpha: float = 0.05,
        checklist: str | None = None,
        progress: bool | None = None,
    ) -> Path:
        """Write a report of the fit: one HTML file with tables, findings in words, pictures and a calculator, that needs no network.

        Parameters
        ----------
        path : path
            Where to write it.
        title, author : str, optional
        code : str, optional
            The code that made the fit; by default it is put together from the results.
        alpha : float
            One minus the coverage of the intervals.
        checklist : {"tripod+ai"}, optional
            Adds a reporting guideline, item by item: where the report has it, and what its authors have to write. Headings have the numbers of the items.
        progress : bool, optional
            Whether a bar follows the sections; by default it appears in terminals and notebooks after two seconds, if tqdm is installed.

        Returns
        -------
        Path
            Of the file written.
        """
        from gevglm.report import write_report

        return write_report(
            self, path, title=title, author=author, code=code, alpha=alpha, checklist=checklist, progress=progress
        )

    def remove_data(self) -> None:
        """Drop everything of the length of the data; summaries, tests and predictions for new data still work.

        The model, and other results of it, keep their rows.
        """
        strip(self)

    def save(self, fname: str | Path, remove_data: bool = True) -> None:
        """Save the results, by default without the data, which the object at hand keeps.

        Parameters
        ----------
        fname : path
        remove_data : bool
            Save nothing of the length of the data.
        """
        save(self, fname, remove_data)

    @classmethod
    def load(cls, fname: str | Path):
        """Load saved results; as with every pickle, only from sources you trust."""
        return load(fname)
