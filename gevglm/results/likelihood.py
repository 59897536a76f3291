"""Likelihood inference of results: profile intervals, likelihood-ratio tests, profile curves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.bias import BiasReduction
from gevglm.data.unloaded import rows_needed
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import InvalidDataError, InvalidOptionError, NotDefinedForLoss, listed, nearest, unknown_option
from gevglm.inference.boundary_profile import BoundaryLikelihood
from gevglm.inference.profile import Likelihood, PenalisedLikelihood, Profile, profile, ratio_tests
from gevglm.inference.shape_profile import ShapeLikelihood
from gevglm.results.coefficient_tests import CoefficientTests
from gevglm.results.core import ResultsCore, check_alpha
from gevglm.results.nested import lr_test

METHODS = ("wald", "profile", "posterior")
PROFILE_ROWS = 20_000  # beyond, profiles are made where they are asked for
SHOWN = 0.05  # one minus the coverage of the limits that outlive the data


class LikelihoodInference(CoefficientTests, ResultsCore):
    """Inference from the likelihood; a part of :class:`gevglm.BinaryGLMResults`.

    Defined for maximum likelihood and for estimators that maximise a penalised likelihood: ``bias="jeffreys"``, ``"logf"``,
    ``"flac"`` and, for the logit, ``"mean"`` (Firth). The slopes of ``"flic"`` are Firth's, and so is their inference.
    """

    @property
    def has_likelihood(self) -> bool:
        """Whether profile intervals and likelihood-ratio tests are defined for the fit."""
        try:
            self._likelihood_problem("")
        except (NotDefinedForLoss, InvalidOptionError, InvalidDataError):  # the last where the rows are gone
            return False
        return True

    @property
    def inference(self) -> str:
        """How tests and intervals of the coefficients are made where no method is given: "profile", "posterior" or "wald".

        By the posterior after ``xi="map"``: intervals are its equal-tailed ones, z is a mode over its posterior standard deviation.
        By the profile of the penalised likelihood, as logistf has it, for bias-reduced fits that have one, and by that of the likelihood for fits that
        ended on the boundary, with a model-based covariance and no more than 20,000 rows; by Wald's method otherwise. The summary, ``pvalues``, ``tvalues``, :meth:`conf_int`, :meth:`exp_params`,
        comparisons, plots and reports all follow it. ``bse``, ``t_test`` and ``wald_test`` are Wald's in any case.
        """
        if self.posterior is not None:
            return "posterior"
        regular = self.bias is None and self.boundary is None
        if regular or self.cov_type != "nonrobust" or not self.converged or hasattr(self, "constraints"):
            return "wald"
        if not self.model.design.readable:
            return "profile" if ("tests", None) in self._profiled else "wald"
        return "profile" if self.nobs <= PROFILE_ROWS and self.has_likelihood else "wald"

    def _reference(self) -> Any:
        return self.distribution()

    def conf_int(self, alpha: float = 0.05, cols: Any = None, method: str | None = None) -> NDArray:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        alpha : float
            One minus the coverage.
        cols : sequence of int, optional
            Which coefficients; all by default.
        method : {"wald", "profile", "posterior"}, optional
            That of ``inference`` by default. Profile intervals need a (penalised) likelihood. After ``xi="ml"`` the shape moves with the other
            coefficients.
        """
        method = self._method(method)
        if method != "profile":
            limits = self._wald_limits(alpha) if method == "wald" else self._posterior_limits(alpha)
            return limits if cols is None else limits[np.asarray(cols)]
        columns = list(range(self.k_params) if cols is None else cols)
        known = self._profiled.get(("limits", alpha))
        if known is not None:
            return known[columns]
        if not self.model.design.readable:
            kept = [f"{limit:g}" for what, limit in self._profiled if what == "limits"]
            instead = "use method='wald'" + (f", or alpha={listed(kept)}, whose limits were kept" if kept else "")
            raise InvalidDataError(rows_needed("conf_int(method='profile')", instead))
        likelihood = self._likelihood("conf_int(method='profile')")
        limits, there = np.full((len(columns), 2), np.nan), ~self.is_omitted[columns]
        limits[there] = likelihood.intervals([j for j in columns if not self.is_omitted[j]], alpha)
        limits = self._with_own_constant(limits, columns, self._wald_limits(alpha))
        if cols is None:
            self._profiled["limits", alpha] = limits.copy()
        return limits

    def keep_inference(self) -> None:
        """Compute the tests and intervals of the summary, which need the rows, before these are gone."""
        if self.inference == "profile":
            self.conf_int(alpha=SHOWN)
            self.lr_tests()

    def _wald_limits(self, alpha: float) -> NDArray:
        limits = super().conf_int(alpha=alpha)
        limits[self.is_omitted] = np.nan
        return limits

    def _posterior_limits(self, alpha: float) -> NDArray:
        assert self.posterior is not None
        check_alpha(alpha)
        limits = self.posterior.intervals(alpha)[:-1]
        limits[self.is_omitted] = np.nan
        return limits

    def _method(self, method: str | None) -> str:
        if method is not None and method not in METHODS:
            raise unknown_option("method", method, METHODS)
        if method == "posterior" and self.posterior is None:
            raise InvalidOptionError("method='posterior' needs a fit with xi='map'; use 'wald' or 'profile'.")
        return self.inference if method is None else method

    def lr_tests(self) -> pd.DataFrame:
        """Likelihood-ratio tests that each coefficient is zero, by the penalised likelihood where the fit has one.

        Returns
        -------
        DataFrame
            One row per coefficient, with columns ``statistic`` (chi-squared, one degree of freedom) and ``pvalue``.
        """
        if ("tests", None) not in self._profiled:
            kept = np.flatnonzero(~self.is_omitted).tolist()
            tests = ratio_tests(self._likelihood("lr_tests"), kept, list(self.model.exog_names))
            z, pvalues = self.tests("wald")
            wald = np.column_stack([z**2, pvalues])
            tests[:] = self._with_own_constant(tests.to_numpy(), range(self.k_params), wald)
            self._profiled["tests", None] = tests
        return self._profiled["tests", None].copy()

    def profile(self, column: str | int, alpha: float = 0.05, points: int = 41) -> Profile:
        """The profile likelihood of a coefficient, with a plot.

        Parameters
        ----------
        column : str or int
            Name or position of the coefficient.
        alpha : float
            One minus the coverage of its interval.
        points : int
            Points of the curve.
        """
        names = list(self.model.exog_names)
        if isinstance(column, str):
            if column not in names:
                raise InvalidOptionError(f"there is no coefficient {column!r}.{nearest(column, names)}")
            column = names.index(column)
        if self.is_omitted[column]:
            raise InvalidOptionError(
                f"{names[column]!r} was left out of the fit as a combination of other columns, and has no profile."
            )
        return profile(self._likelihood("profile"), column, names[column], alpha, points)

    def compare_lr_test(self, restricted: LikelihoodInference) -> tuple[float, float, float]:
        """Likelihood-ratio test against a restricted model.

        Parameters
        ----------
        restricted : BinaryGLMResults
            A fit of the same outcomes, weights and offsets in the same rows, by the same method, whose columns are linear combinations of those of
            this one. After ``xi="ml"``, the shape of the restricted model may be estimated as well, or given, which is one degree of freedom
            more.

        Returns
        -------
        lr_stat, p_value, df_diff : float

        Notes
        -----
        With bias reduction the restriction is tested within this model, so that both sides have the same penalty (as
        ``anova.logistf`` does). Fits with a robust covariance have no likelihood to compare: test them by ``wald_test``.
        """
        other: Any = getattr(restricted, "_results", restricted)
        return lr_test(self, other)

    def _likelihood(self, what: str) -> Likelihood:
        problem, method = self._likelihood_problem(what)
        if self._shape is not None:
            return ShapeLikelihood(self._shape, self._params, self.cov_params_matrix)
        if method is None:
            if not (self.converged or self.has_data):
                raise InvalidDataError(
                    f"{what} starts from the maximum of the likelihood, which this fit of data in pieces has not reached ({self.reason}); "
                    "use bias='firth', or rows in memory, where separation is looked for."
                )
            infinite = self.infinite if self.separated else None
            if self.boundary is not None and infinite is None:
                return BoundaryLikelihood.on(problem, self._params, self.cov_params_matrix)
            return PenalisedLikelihood.of(problem, self._params, infinite)
        return PenalisedLikelihood.at(*method.penalised_likelihood(problem, self._params), problem.engine.n_rows)

    def _likelihood_problem(self, what: str) -> tuple[Problem, BiasReduction | None]:
        """Return what the likelihood is maximised over, and the method whose likelihood it is; refuse where there is none."""
        self.model.sampling.refuse_likelihood(what)
        self.need_likelihood(what, "use method='wald' for intervals, wald_test or score_test")
        if self.posterior is not None:
            raise InvalidOptionError(
                f"{what} is not defined after xi='map', whose intervals are those of the posterior."
            )
        if self.alpha:
            raise InvalidOptionError(f"{what} is not defined for a penalised (ridge) fit; use Wald intervals.")
        problem = self.model.problem()
        method = self.bias
        if method is not None and self._shape is not None:
            raise InvalidOptionError(
                f"{what} is not defined after bias={method.word!r} with {self.link.shape_name}='ml': the shape maximises the likelihood, and the "
                "coefficients a penalised one. Use Wald intervals, which account for the shape, or give the shape."
            )
        if method is not None and not method.maximises_likelihood(problem.loss):
            raise InvalidOptionError(
                f"{what} needs a penalised likelihood, which bias={method.word!r} does not have with {self.loss!r}; "
                "use Wald intervals, or bias='jeffreys'."
            )
        return problem, method

    def _with_own_constant(self, rows: NDArray, columns: Any, wald: NDArray) -> NDArray:
        """Give a constant that was estimated apart its Wald inference."""
        if self.bias is not None and self.bias.own_constant:
            rows, constant = rows.copy(), self.model.data.const_idx
            for i, j in enumerate(columns):
                if j == constant:
                    rows[i] = wald[j]
        return rows
