"""ConditionalResults: what a fit to matched sets says, in statsmodels' words."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pandas as pd
import statsmodels.base.wrapper as wrap
from numpy.typing import NDArray
from scipy.stats import chi2, norm
from statsmodels.base.model import LikelihoodModelResults, LikelihoodResultsWrapper
from statsmodels.iolib.summary import Summary

from gevglm.calibration._summary_table import summary_table
from gevglm.conditional.covariance import SetCovariance
from gevglm.conditional.likelihood import ConditionalLikelihood
from gevglm.conditional.sets import MatchedSets
from gevglm.data.new_rows import read_matrix, read_table
from gevglm.data.tables import columns_given
from gevglm.engine.cholesky import Cholesky
from gevglm.estimation.newton import SolverResult
from gevglm.exceptions import InvalidDataError, InvalidOptionError, nearest, unknown_option
from gevglm.inference.profile import PenalisedLikelihood, Profile, profile, ratio_tests
from gevglm.inference.separation import Separation
from gevglm.results.core import check_alpha
from gevglm.results.summary import notes_on_fit_within

if TYPE_CHECKING:
    from gevglm.conditional.model import ConditionalLogit

METHODS = ("wald", "profile")
PREDICTIONS = ("probability", "linear")


class ConditionalResults(LikelihoodModelResults):
    """Results of a conditional logit: log odds ratios within matched sets.

    There is no constant, and there are no risks in the population: the likelihood is that of who the cases of a set are, given how many there are.

    Attributes
    ----------
    params, bse, tvalues, pvalues : array_like of shape (k,)
        Tests are Wald's, and likelihood-ratio tests after ``bias="firth"`` with model-based errors, as ``inference`` says.
    llf, llnull : float
        Conditional log-likelihood at the estimates and at zero (of Firth's estimates too, without the penalty).
    n_sets, n_sets_dropped, n_rows_dropped : int
        Sets with both outcomes; sets with one outcome and their rows, which were left out.
    nobs, n_events : int, float
        Rows and cases of the sets with both outcomes.
    converged, n_iter, decrement, reason
        How the iteration ended.
    separation : Separation or None
        Which estimates are infinite, if any.
    omitted : list of str
        Columns that do not vary within sets, or are combinations of others there: coefficient and standard error are 0.
    """

    def __init__(
        self,
        model: ConditionalLogit,
        likelihood: ConditionalLikelihood,
        found: SolverResult,
        kept: list[int],
        omitted: dict[int, tuple[int, ...]],
        covariance: SetCovariance,
        separation: Separation | None,
    ):
        at = likelihood.sets.sums(found.params)
        weight, k = likelihood.sets.weight, len(model.design.names)
        inverse = Cholesky(at.information).inverse()
        spread = covariance.matrix(at.score, weight, inverse)
        if separation is not None:
            unknown = np.flatnonzero(separation.limits != 0.0)
            spread = spread.copy()
            spread[unknown] = spread[:, unknown] = np.nan
        params, matrix = np.zeros(k), np.zeros((k, k))
        params[kept], matrix[np.ix_(kept, kept)] = found.params, spread
        super().__init__(model, params, matrix, 1.0)
        self.cov_params_default = matrix
        self.cov_type, self.cov_kwds = covariance.name, {"description": covariance.description}
        self.df_model, self.df_resid = float(len(kept)), float(model.n_events - len(kept))
        self.firth, self.separation = likelihood.penalised, separation
        self.converged, self.n_iter, self.reason = found.converged, found.n_iter, found.reason
        self.decrement = found.decrement
        self.omitted = [model.design.names[j] for j in omitted]
        self._kept, self._likelihood = kept, likelihood
        self._llf = float(weight @ at.value)
        self.llnull = float(weight @ likelihood.sets.sums(np.zeros(len(kept))).value)
        self.nobs, self.n_events, self.n_sets = model.nobs, model.n_events, model.n_sets
        self.n_sets_dropped, self.n_rows_dropped = model.n_sets_dropped, model.n_rows_dropped

    @property
    def llf(self) -> float:
        """The conditional log-likelihood at the estimates."""
        return self._llf

    @property
    def aic(self) -> float:
        """Akaike's criterion, of the conditional likelihood."""
        if self.firth:
            raise InvalidOptionError(
                "aic is not defined for a bias-reduced fit, which does not maximise the likelihood."
            )
        return 2.0 * len(self._kept) - 2.0 * self.llf

    @property
    def inference(self) -> str:
        """How tests and intervals are made where no method is given: by profile likelihood after ``bias="firth"``, by Wald's method otherwise."""
        return "profile" if self.firth and self.cov_type == "nonrobust" and self.converged else "wald"

    @property
    def bse(self) -> NDArray:
        """Standard errors."""
        return np.sqrt(np.diagonal(self.cov_params_default))

    @property
    def tvalues(self) -> NDArray:
        """Statistics of the tests that each coefficient is zero: z, or the signed root of the likelihood ratio, by ``inference``."""
        return self.tests()[0]

    @property
    def pvalues(self) -> NDArray:
        """Two-sided p-values of these tests."""
        return self.tests()[1]

    def tests(self, method: str | None = None) -> tuple[NDArray, NDArray]:
        """Tests that each coefficient is zero: statistics (z, or the signed root of the likelihood ratio) and p-values.

        Parameters
        ----------
        method : {"wald", "profile"}, optional
            That of ``inference`` by default.
        """
        params = np.asarray(self.params)
        if self._method(method) == "wald":
            with np.errstate(divide="ignore", invalid="ignore"):
                z = np.where(self.bse == 0.0, np.nan, params / self.bse)
            return z, 2.0 * norm.sf(np.abs(z))
        tests = self.lr_tests()
        return np.sign(params) * np.sqrt(tests["statistic"].to_numpy()), tests["pvalue"].to_numpy()

    def conf_int(self, alpha: float = 0.05, cols: Any = None, method: str | None = None) -> NDArray:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        alpha : float
            One minus the coverage.
        cols : sequence of int, optional
            Which coefficients; all by default.
        method : {"wald", "profile"}, optional
            That of ``inference`` by default.
        """
        check_alpha(alpha)
        limits = np.full((len(self.params), 2), np.nan)
        if self._method(method) == "wald":
            reach = norm.isf(alpha / 2.0) * self.bse[self._kept]
            params = np.asarray(self.params)[self._kept]
            limits[self._kept] = np.column_stack([params - reach, params + reach])
        else:
            limits[self._kept] = self._profiled.intervals(range(len(self._kept)), alpha)
        return limits if cols is None else limits[np.asarray(cols)]

    def lr_tests(self) -> pd.DataFrame:
        """Likelihood-ratio tests that each coefficient is zero, by the penalised likelihood after ``bias="firth"``."""
        names = self.model.design.names
        found = ratio_tests(self._profiled, list(range(len(self._kept))), [names[j] for j in self._kept])
        return found.reindex(names)

    def lr_test(self) -> tuple[float, float, int]:
        """Likelihood-ratio test that all coefficients are zero: statistic, p-value and degrees of freedom."""
        k = len(self._kept)
        statistic = self._profiled.ratio(list(range(k)))
        return statistic, float(chi2.sf(statistic, k)), k

    def profile(self, column: str | int, alpha: float = 0.05, points: int = 41) -> Profile:
        """The profile likelihood of a coefficient, given by name or position, with a plot; see :meth:`gevglm.BinaryGLMResults.profile`."""
        names = self.model.design.names
        if isinstance(column, str) and column not in names:
            raise InvalidOptionError(f"there is no coefficient {column!r}.{nearest(column, names)}")
        j = names.index(column) if isinstance(column, str) else int(column)
        if j not in self._kept:
            raise InvalidOptionError(f"{names[j]!r} was left out of the fit, and has no profile.")
        return profile(self._profiled, self._kept.index(j), names[j], alpha, points)

    def odds_ratios(self, alpha: float = 0.05, method: str | None = None) -> pd.DataFrame:
        """Odds ratios within sets: columns ``odds_ratio``, ``ci_lower`` and ``ci_upper``, by the intervals of :meth:`conf_int`."""
        estimates = np.asarray(self.params).copy()
        if self.separation is not None:
            limits = self.separation.limits
            estimates[self._kept] = np.where(limits == 0.0, estimates[self._kept], limits)
        table = np.exp(np.column_stack([estimates, self.conf_int(alpha, method=method)]))
        return pd.DataFrame(table, index=self.model.design.names, columns=["odds_ratio", "ci_lower", "ci_upper"])

    exp_params = odds_ratios

    def predict(
        self, exog: Any = None, *, strata: Any = None, cases: Any = 1, offset: Any = None, which: str = "probability"
    ) -> pd.Series:
        """Predict within sets: the probability of each row to be a case, given how many cases its set has.

        Parameters
        ----------
        exog : table or array_like, optional
            New data; by default the rows of the fit, given the cases that their sets had.
        strata : str or array_like, optional
            The sets of new data; by default the column that the fit was given.
        cases : int, str or array_like
            Cases in each set of new data: a number, or of each row the number in its set.
        offset : array_like, optional
            For new data, where the fit had one that was not a column.
        which : {"probability", "linear"}
            "linear" is the linear predictor, without the constant of the set.
        """
        if which not in PREDICTIONS:
            raise unknown_option("which", which, PREDICTIONS)
        model, params = self.model, np.asarray(self.params)
        if exog is None:
            linear, index = model.predict(params), model.design.index
            found = linear if which == "linear" else self._likelihood.sets.risks(params[self._kept])
            return pd.Series(found, index=index, name=which)
        by_formula = model.layout.recipe is not None and not isinstance(exog, np.ndarray)
        rows = (read_table if by_formula else read_matrix)(model.layout, exog, offset)
        linear = np.asarray(rows.X)[:, model.columns] @ params + (0.0 if rows.offset is None else rows.offset)
        if which == "probability":
            linear = _within_sets(linear, exog, model.strata if strata is None else strata, cases)
        return pd.Series(linear, index=rows.index, name=which)

    def calculator(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse a calculator, and say why there is none."""
        raise InvalidOptionError(
            "a conditional fit has no constants, and so no risk of one person for a calculator; fit the whole cohort, if there is one, without strata=."
        )

    def __repr__(self) -> str:
        return f"<ConditionalResults: {self.model.design.outcome}, {self.n_events:,g} cases in {self.n_sets:,} sets>"

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def summary(self, alpha: float = 0.05, method: str | None = None) -> Summary:
        """Summarise the fit: sets, cases, likelihood, coefficients, and what is to be known of them."""
        method = self._method(method)
        z, pvalues = self.tests(method)
        lower, upper = self.conf_int(alpha, method=method).T
        frame = pd.DataFrame(
            {
                "coef": np.asarray(self.params),
                "std err": self.bse,
                "z": z,
                "P>|z|": pvalues,
                f"[{alpha / 2:g}": lower,
                f"{1 - alpha / 2:g}]": upper,
            },
            index=self.model.design.names,
        )
        facts = {
            "Dep. Variable": self.model.design.outcome,
            "Likelihood": "conditional logit" + (", Firth" if self.firth else ""),
            "Sets": f"{self.n_sets:,}",
            "Rows": f"{self.nobs:,}",
            "Cases": f"{self.n_events:,g}",
            "Covariance": self.cov_type,
            "Log-Likelihood": f"{self.llf:.5g}",
            "LL at zero": f"{self.llnull:.5g}",
            "Converged": f"{'yes' if self.converged else 'NO'}, {self.n_iter} iterations",
            "Sets left out": f"{self.n_sets_dropped:,}",
        }
        return summary_table("Conditional Logit Results", facts, frame, self._notes(method))

    def _notes(self, method: str) -> list[str]:
        notes = [self.cov_kwds["description"]]
        if method == "profile":
            penalised = "penalised " if self.firth else ""
            notes.append(
                f"Tests (z is the signed root of the ratio) and intervals are by profile {penalised}likelihood."
            )
        if self.n_sets_dropped:
            notes.append(
                f"{self.n_sets_dropped:,} sets ({self.n_rows_dropped:,} rows) have one outcome only, say nothing, and were left out."
            )
        return notes + notes_on_fit_within(self, "sets")

    def _method(self, method: str | None) -> str:
        if method is not None and method not in METHODS:
            raise unknown_option("method", method, METHODS)
        return self.inference if method is None else method

    @cached_property
    def _profiled(self) -> PenalisedLikelihood:
        infinite = None if self.separation is None else self.separation.limits
        params = np.asarray(self.params)[self._kept]
        return PenalisedLikelihood.at(self._likelihood.objective, params, self.nobs, infinite=infinite)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_profiled"}


class ConditionalResultsWrapper(LikelihoodResultsWrapper):
    """Results with the labels of the data attached."""

    def __repr__(self) -> str:
        return repr(self._results)


wrap.populate_wrapper(ConditionalResultsWrapper, ConditionalResults)


def _within_sets(linear: NDArray, data: Any, strata: Any, cases: Any) -> NDArray:
    """Return the probabilities of rows to be cases, given their sets and how many cases these have."""
    frame = data if isinstance(data, pd.DataFrame) else None
    if strata is None:
        raise InvalidOptionError("predict() for new data needs strata=, the set of each row; or which='linear'.")
    column = columns_given(strata, frame, "strata", [len(linear)]).iloc[:, 0]
    if len(column) != len(linear) or column.isna().any():
        raise InvalidDataError(
            f"strata has {len(column)} values, {int(column.isna().sum())} of them missing, for {len(linear)} rows."
        )
    codes = pd.factorize(column)[0]
    sizes = np.bincount(codes)
    given = (
        columns_given(cases, frame, "cases", [len(linear)]).iloc[:, 0]
        if np.ndim(cases) or isinstance(cases, str)
        else cases
    )
    count = np.zeros(len(sizes))
    count[codes] = given
    if (count[codes] != given).any() or not np.isin(count, np.arange(sizes.max() + 1)).all() or (count > sizes).any():
        raise InvalidDataError("cases is a whole number from 0 to the size of a set, the same in all of its rows.")
    order = np.argsort(codes, kind="stable")
    place = np.empty(len(codes), dtype=np.intp)  # of each row in its set
    place[order] = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    drawn = (place < count[codes]).astype(float)  # which rows are the cases does not matter
    sets = MatchedSets.of(linear[:, None], drawn, codes, None, np.ones(len(sizes)))
    return sets.risks(np.ones(1))
