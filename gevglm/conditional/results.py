"""ConditionalResults: what a fit to matched sets says, in statsmodels' words."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import statsmodels.base.wrapper as wrap
from numpy.typing import NDArray

from gevglm.conditional.covariance import SetCovariance
from gevglm.conditional.likelihood import ConditionalLikelihood
from gevglm.conditional.sets import MatchedSets
from gevglm.data.new_rows import read_matrix, read_table
from gevglm.data.tables import columns_given
from gevglm.display.digits import iterations
from gevglm.engine.cholesky import Cholesky
from gevglm.estimation.newton import SolverResult
from gevglm.exceptions import InvalidDataError, InvalidOptionError, unknown_option
from gevglm.inference.profile import PenalisedLikelihood
from gevglm.inference.separation import Separation
from gevglm.links import Logit
from gevglm.results.within_groups import WithinGroups, WithinGroupsWrapper

if TYPE_CHECKING:
    from gevglm.conditional.model import ConditionalLogit

PREDICTIONS = ("probability", "linear")
INSTEAD = {
    "risks": "a conditional likelihood has no constants, and so no risks in the population; predict() has probabilities within sets, odds_ratios() ratios, and "
    "for units observed repeatedly 'y ~ x | unit' with bias='firth' has risks() and marginal_effects(), with slopes='conditional' for these slopes",
    "assessment": "a conditional likelihood has no risks in the population to be assessed; predict() has probabilities within sets",
    "rows": "rows have no scores of their own, only sets have; leave out sets instead",
    "tests": "use anova() for terms, lr_tests() for columns, lr_test() for all of them, or wald_test",
    "fit": "llf, llnull and aic compare fits to the same sets",
    "shape": "the constants of sets drop out with the logit only, which has no shape",
    "files": "a score without the constants of sets is no risk; use summary() and predict()",
    "other": "use 'y ~ x | set', whose constants are estimated",
}


class ConditionalResults(WithinGroups):
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

    title, groups, instead, link = "Conditional Logit Results", "sets", INSTEAD, Logit()

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

    def __repr__(self) -> str:
        return f"<ConditionalResults: {self.model.design.outcome}, {self.n_events:,g} cases in {self.n_sets:,} sets>"

    def _facts(self) -> dict[str, str]:
        return {
            "Dep. Variable": self.model.design.outcome,
            "Likelihood": "conditional logit" + (", Firth" if self.firth else ""),
            "Sets": f"{self.n_sets:,}",
            "Rows": f"{self.nobs:,}",
            "Cases": f"{self.n_events:,g}",
            "Covariance": self.cov_type,
            "Log-Likelihood": f"{self.llf:.5g}",
            "LL at zero": f"{self.llnull:.5g}",
            "Converged": f"{'yes' if self.converged else 'NO'}, {iterations(self.n_iter)}",
            "Sets left out": f"{self.n_sets_dropped:,}",
        }

    def _notes_on_groups(self) -> list[str]:
        if not self.n_sets_dropped:
            return []
        return [
            f"{self.n_sets_dropped:,} sets ({self.n_rows_dropped:,} rows) have one outcome only, say nothing, and were left out."
        ]

    @property
    def _is_penalised(self) -> bool:
        return self.firth

    def _profile_likelihood(self, what: str) -> PenalisedLikelihood:
        return self._profiled

    @cached_property
    def _profiled(self) -> PenalisedLikelihood:
        infinite = None if self.separation is None else self.separation.limits
        params = np.asarray(self.params)[self._kept]
        return PenalisedLikelihood.at(self._likelihood.objective, params, self.nobs, infinite=infinite)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_profiled"}


class ConditionalResultsWrapper(WithinGroupsWrapper):
    """Results with the names of the coefficients attached."""


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
