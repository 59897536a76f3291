"""Likelihood inference of results: profile intervals, likelihood-ratio tests, profile curves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2

from gevglm.bias import BiasReduction
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import (
    InvalidDataError,
    InvalidOptionError,
    NotDefinedForLoss,
    WeakShapeWarning,
    nearest,
    unknown_option,
    warn,
)
from gevglm.inference.profile import Likelihood, PenalisedLikelihood, Profile, profile, ratio_tests
from gevglm.inference.shape_profile import ShapeLikelihood
from gevglm.results.core import ResultsCore

METHODS = ("wald", "profile")


class LikelihoodInference(ResultsCore):
    """Inference from the likelihood; a part of :class:`gevglm.BinaryGLMResults`.

    Defined for maximum likelihood and for estimators that maximise a penalised likelihood: ``bias="jeffreys"``, ``"logf"``,
    ``"flac"`` and, for the logit, ``"mean"`` (Firth). The slopes of ``"flic"`` are Firth's, and so is their inference.
    """

    @property
    def has_likelihood(self) -> bool:
        """Whether profile intervals and likelihood-ratio tests are defined for the fit."""
        try:
            self._likelihood_problem("")
        except (NotDefinedForLoss, InvalidOptionError):
            return False
        return True

    def conf_int(self, alpha: float = 0.05, cols: Any = None, method: str = "wald") -> NDArray:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        alpha : float
            One minus the coverage.
        cols : sequence of int, optional
            Which coefficients; all by default.
        method : {"wald", "profile"}
            Profile intervals need a (penalised) likelihood. After ``xi="ml"`` the shape moves with the other coefficients.
        """
        if method == "wald":
            limits = super().conf_int(alpha=alpha)
            return limits if cols is None else limits[np.asarray(cols)]
        if method != "profile":
            raise unknown_option("method", method, METHODS)
        likelihood = self._likelihood("conf_int(method='profile')")
        columns = range(self.k_params) if cols is None else cols
        limits = np.array(likelihood.intervals(columns, alpha))
        return self._with_own_constant(limits, columns, super().conf_int(alpha=alpha))

    def lr_tests(self) -> pd.DataFrame:
        """Likelihood-ratio tests that each coefficient is zero, by the penalised likelihood where the fit has one.

        Returns
        -------
        DataFrame
            One row per coefficient, with columns ``statistic`` (chi-squared, one degree of freedom) and ``pvalue``.
        """
        tests = ratio_tests(self._likelihood("lr_tests"), list(self.model.exog_names))
        wald = np.column_stack([np.asarray(self.tvalues) ** 2, np.asarray(self.pvalues)])
        tests[:] = self._with_own_constant(tests.to_numpy(), range(self.k_params), wald)
        return tests

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
        return profile(self._likelihood("profile"), column, names[column], alpha, points)

    def compare_lr_test(self, restricted: LikelihoodInference) -> tuple[float, float, float]:
        """Likelihood-ratio test against a restricted model.

        Parameters
        ----------
        restricted : BinaryGLMResults
            A fit of the same outcome, by the same method, with fewer columns. After ``xi="ml"``, the shape of the restricted model may be
            estimated as well, or given, which is one degree of freedom more.

        Returns
        -------
        lr_stat, p_value, df_diff : float

        Notes
        -----
        With bias reduction the restriction is tested within this model, so that both sides have the same penalty (as
        ``anova.logistf`` does); the columns of the restricted model must then be columns of this one.
        """
        self._likelihood_problem("compare_lr_test")
        restricted._likelihood_problem("compare_lr_test with such a restricted model")
        given = self._given_shapes(restricted)
        if self.bias != restricted.bias or given is None:
            raise InvalidOptionError("the models differ in link or bias reduction; fit both by the same method.")
        if not self.model.design.same_outcomes(restricted.model.design):
            raise InvalidDataError(
                f"the models are fitted to different data ({self.model.nobs} and {restricted.model.nobs} rows); "
                "fit both to the same complete rows."
            )
        df = self.df_model - restricted.df_model + given
        if df <= 0:
            raise InvalidOptionError("the restricted model has no fewer coefficients than this one.")
        if self.bias is None:
            statistic = 2.0 * (self.llf - restricted.llf)
        else:
            kept = set(restricted.model.exog_names)
            dropped = [j for j, name in enumerate(self.model.exog_names) if name not in kept]
            if len(dropped) != df:
                raise InvalidOptionError("the columns of the restricted model are not all columns of this one.")
            statistic = self._likelihood("compare_lr_test").ratios([dropped])[0]
        return float(statistic), float(chi2.sf(statistic, df)), float(df)

    def _given_shapes(self, restricted: LikelihoodInference) -> int | None:
        """Return how many shapes that this model estimates are given in the restricted one; None if their links differ in another way."""
        link, other = self.link, restricted.link
        if self._shape is None:
            return 0 if restricted._shape is None and link == other else None
        if isinstance(other, type(link)) and other.shape_name is None:  # the loglog link is GEV at a shape
            return 1
        if type(link) is not type(other) or link.with_shape(float(other.shape or 0.0)) != other:
            return None
        shapes = [self._shape] if restricted._shape is None else [self._shape, restricted._shape]
        if any(shape.boundary for shape in shapes):
            warn(
                f"the likelihood is largest at an end of the grid of shapes ({link.shape_name} from {shapes[0].range[0]:g} to "
                f"{shapes[0].range[1]:g}): the p-value of a likelihood-ratio test is approximate there.",
                WeakShapeWarning,
            )
        return 1 if restricted._shape is None else 0

    def _likelihood(self, what: str) -> Likelihood:
        problem, method = self._likelihood_problem(what)
        if self._shape is not None:
            return ShapeLikelihood(self._shape, self._params, self.cov_params_matrix)
        if method is None:
            return PenalisedLikelihood.of(problem, self._params)
        return PenalisedLikelihood.at(*method.penalised_likelihood(problem, self._params), problem.engine.n_rows)

    def _likelihood_problem(self, what: str) -> tuple[Problem, BiasReduction | None]:
        """Return what the likelihood is maximised over, and the method whose likelihood it is; refuse where there is none."""
        self.model.sampling.refuse_likelihood(what)
        self.need_likelihood(what, "use method='wald' for intervals, wald_test or score_test")
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
