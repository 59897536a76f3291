"""WithinGroups: slopes of fits that compare rows within units or matched sets: their tests and intervals, and what there is none of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2
from statsmodels.base.model import LikelihoodModelResults, LikelihoodResultsWrapper
from statsmodels.iolib.summary import Summary

from gevglm.calibration._summary_table import summary_table
from gevglm.covariance.degrees import Degrees, reference
from gevglm.data.terms import Term, design_terms
from gevglm.exceptions import InvalidOptionError, NotDefinedForLoss, NotDefinedWithinGroups, nearest, unknown_option
from gevglm.inference.profile import PenalisedLikelihood, Profile, profile, ratio_tests
from gevglm.inference.separation import Separation
from gevglm.results.binary_results import BinaryGLMResults
from gevglm.results.coefficient_tests import CoefficientTests
from gevglm.results.core import check_alpha
from gevglm.results.not_within_groups import KIND_OF
from gevglm.results.summary import notes_on_fit_within
from gevglm.results.term_tests import TITLES, TermTests
from gevglm.results.wald_tests import WaldTests

METHODS = ("wald", "profile")


class WithinGroups(CoefficientTests, WaldTests, LikelihoodModelResults):
    """What results of fits that compare rows within groups share.

    Methods of :class:`gevglm.BinaryGLMResults` that they do not have say why, and what to do instead.
    """

    title: str  # of the summary
    groups: str  # what rows are compared within, in words
    instead: Mapping[str, str]  # why there is nothing of other kinds, and what to use; "other" for what has no kind
    separation: Separation | None
    omitted: list[str]
    cov_type: str
    cov_kwds: dict[str, Any]
    converged: bool
    n_iter: int
    link: Any
    _kept: list[int]  # positions of the coefficients that were not left out
    _degrees: Degrees | None = None

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name):  # a property that raises such an error by itself
            return object.__getattribute__(self, name)
        if name.startswith("_") or not hasattr(BinaryGLMResults, name):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}.{nearest(name, dir(type(self)))}"
            )
        reason = self.instead.get(KIND_OF.get(name, "other"), self.instead["other"])
        raise self._not_defined(name, reason)

    @property
    def inference(self) -> str:
        """How tests and intervals are made where no method is given: "wald" or "profile"."""
        return "wald"

    def wald_test_terms(self, *args: Any, **kwargs: Any) -> None:
        """Refused: see :meth:`anova`."""
        raise self._not_defined("wald_test_terms", "use anova(test='Wald')")

    def t_test_pairwise(self, *args: Any, **kwargs: Any) -> None:
        """Refused: see statsmodels' ``t_test``."""
        raise self._not_defined("t_test_pairwise", "use t_test with a contrast of two levels, 'C(f)[b] = C(f)[c]'")

    def remove_data(self) -> None:
        """Refused: constants and profiles need the rows."""
        raise self._not_defined("remove_data", "constants and profiles need the rows; save() keeps them")

    def _not_defined(self, name: str, reason: str) -> NotDefinedWithinGroups:
        return NotDefinedWithinGroups(f"{name} is not defined for a fit within {self.groups}: {reason}.")

    # -- tests and intervals ---------------------------------------------------------------

    @property
    def bse(self) -> NDArray:
        """Standard errors."""
        return np.sqrt(np.diagonal(self.cov_params_default))

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
        params, limits = np.asarray(self.params), np.full((len(self.params), 2), np.nan)
        if self._method(method) == "wald":
            reach = self._reference().isf(alpha / 2.0) * np.where(self.bse == 0.0, np.nan, self.bse)
            limits = np.column_stack([params - reach, params + reach])
        else:
            limits[self._kept] = self._profile_likelihood("conf_int(method='profile')").intervals(
                range(len(self._kept)), alpha
            )
        return limits if cols is None else limits[np.asarray(cols)]

    def lr_tests(self) -> pd.DataFrame:
        """Likelihood-ratio tests that each coefficient is zero, by the penalised likelihood where the fit has one."""
        kept = [self._names[j] for j in self._kept]
        found = ratio_tests(self._profile_likelihood("lr_tests"), list(range(len(kept))), kept)
        return found.reindex(self._names)

    def lr_test(self) -> tuple[float, float, int]:
        """Likelihood-ratio test that all coefficients are zero: statistic, p-value and degrees of freedom."""
        k = len(self._kept)
        statistic = self._profile_likelihood("lr_test").ratio(list(range(k)))
        return statistic, float(chi2.sf(statistic, k)), k

    def anova(self, test: str | None = None) -> TermTests:
        """Test every term of the formula against all others (type III): a factor is one line.

        Parameters
        ----------
        test : {"LR", "Wald"}, optional
            By default likelihood ratios where there is a (penalised) likelihood and errors are model-based, Wald's test otherwise.
        """
        if test not in (None, "LR", "Wald"):
            raise unknown_option("test", test, ("LR", "Wald"))
        places = {column: i for i, column in enumerate(np.asarray(self.model.columns)[self._kept])}
        terms = [(term.name, [places[j] for j in term.columns if j in places]) for term in self._terms]
        terms = [(name, columns) for name, columns in terms if columns]
        if test is None:
            test = "LR" if self.cov_type == "nonrobust" and self._has_likelihood else "Wald"
        degrees, names = [len(columns) for _, columns in terms], [name for name, _ in terms]
        if test == "LR":
            statistics = np.array(
                self._profile_likelihood("anova(test='LR')").ratios([columns for _, columns in terms])
            )
            pvalues = chi2.sf(statistics, degrees)
        else:
            rows = np.eye(len(self._names))[self._kept]
            found = [self.wald_test(rows[columns], scalar=True) for _, columns in terms]
            statistics, pvalues = np.array([[float(one.statistic), float(one.pvalue)] for one in found]).T
        table = pd.DataFrame({"df": degrees, "statistic": statistics, "pvalue": pvalues}, index=names)
        return TermTests(table, f"{TITLES[test]} tests of terms (type III)")

    def profile(self, column: str | int, alpha: float = 0.05, points: int = 41) -> Profile:
        """The profile likelihood of a coefficient, given by name or position, with a plot; see :meth:`gevglm.BinaryGLMResults.profile`."""
        names = self._names
        if isinstance(column, str) and column not in names:
            raise InvalidOptionError(f"there is no coefficient {column!r}.{nearest(column, names)}")
        j = names.index(column) if isinstance(column, str) else int(column)
        if j not in self._kept:
            raise InvalidOptionError(f"{names[j]!r} was left out of the fit, and has no profile.")
        return profile(self._profile_likelihood("profile"), list(self._kept).index(j), names[j], alpha, points)

    def exp_params(self, alpha: float = 0.05, method: str | None = None) -> pd.DataFrame:
        """Exponentiated coefficients, named by what they are: odds or hazard ratios within groups, with ``ci_lower``, ``ci_upper`` and ``pvalue``."""
        if self.link.exponentiated is None:
            raise InvalidOptionError(
                f"exp(b) has no meaning with {self.link!r}: it is an odds ratio for the logit and a hazard ratio for the complementary log-log."
            )
        estimates = np.asarray(self.params).copy()
        if self.separation is not None:
            limits = self.separation.limits
            estimates[self._kept] = np.where(limits == 0.0, estimates[self._kept], limits)
        table = self.link.ratios(np.column_stack([estimates, self.conf_int(alpha, method=method)]))
        frame = pd.DataFrame(table, index=self._names, columns=[self.link.exponentiated, "ci_lower", "ci_upper"])
        frame["pvalue"] = self.tests(method)[1]
        return frame

    def odds_ratios(self, alpha: float = 0.05, method: str | None = None) -> pd.DataFrame:
        """Odds ratios within groups, of a logit: columns ``odds_ratio``, ``ci_lower``, ``ci_upper`` and ``pvalue``, by the intervals of :meth:`conf_int`."""
        if self.link.exponentiated != "odds_ratio":
            raise InvalidOptionError(f"coefficients of {self.link!r} are not log odds ratios.")
        return self.exp_params(alpha, method)

    def plot_coefficients(self, *, alpha: float = 0.05, method: str | None = None, ax: Any = None) -> Any:
        """Draw the coefficients with their intervals; see :func:`gevglm.plots.plot_coefficients` for several fits side by side."""
        from gevglm.plots import plot_coefficients

        table = pd.DataFrame(self.conf_int(alpha, method=method), index=self._names, columns=["ci_lower", "ci_upper"])
        table.insert(0, "estimate", np.asarray(self.params))
        xlabel = f"coefficient, {100 * (1 - alpha):g} % intervals"
        return plot_coefficients({"this model": table.loc[[self._names[j] for j in self._kept]]}, xlabel=xlabel, ax=ax)

    # -- the summary -----------------------------------------------------------------------

    def summary(self, alpha: float = 0.05, method: str | None = None) -> Summary:
        """Summarise the fit: groups, events, likelihood, coefficients, and what is to be known of them."""
        method = self._method(method)
        statistics, pvalues = self.tests(method)
        lower, upper = self.conf_int(alpha, method=method).T
        letter = "z" if self._degrees is None or method == "profile" else "t"
        frame = pd.DataFrame(
            {
                "coef": np.asarray(self.params),
                "std err": self.bse,
                letter: statistics,
                f"P>|{letter}|": pvalues,
                f"[{alpha / 2:g}": lower,
                f"{1 - alpha / 2:g}]": upper,
            },
            index=self._names,
        )
        formats = {letter: ".4g", f"P>|{letter}|": ".4g"}
        return summary_table(self.title, self._facts(), frame, self.notes(method), formats)

    def notes(self, method: str | None = None) -> list[str]:
        """What is to be known of the fit, in sentences."""
        notes = [self.cov_kwds["description"]]
        if self._method(method) == "profile":
            penalised = "penalised " if self._is_penalised else ""
            notes.append(
                f"Tests (z is the signed root of the ratio) and intervals are by profile {penalised}likelihood."
            )
        elif self._degrees is not None:
            listing = ", ".join(f"{name} {df:.1f}" for name, df in zip(self._names, self._degrees_of_each, strict=True))
            notes.append(f"t and F tests by Satterthwaite's degrees of freedom: {listing}.")
        return notes + self._notes_on_groups() + notes_on_fit_within(self, self.groups)

    def _facts(self) -> dict[str, str]:
        """Return what stands above the coefficients."""
        raise NotImplementedError

    def _notes_on_groups(self) -> list[str]:
        """Return what is to be known of groups that are left out, and of the estimator."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    # -- what these rest on ----------------------------------------------------------------

    def _profile_likelihood(self, what: str) -> PenalisedLikelihood:
        """Return the likelihood of the coefficients that were not left out, or say why there is none."""
        raise NotImplementedError

    @property
    def _is_penalised(self) -> bool:
        raise NotImplementedError

    @property
    def _has_likelihood(self) -> bool:
        try:
            self._profile_likelihood("")
        except (NotDefinedForLoss, InvalidOptionError):
            return False
        return True

    @property
    def _terms(self) -> list[Term]:
        """The terms of the formula, with the positions of their columns in the design."""
        if self.model.design.recipe is not None:
            return design_terms(self.model.design)
        return [Term(self._names[i], frozenset(), (j,)) for i, j in enumerate(self.model.columns)]

    @property
    def _names(self) -> list[str]:
        return list(self.model.exog_names)

    def _reference(self) -> Any:
        return reference(self._degrees, np.eye(len(self._names)))

    @cached_property
    def _degrees_of_each(self) -> NDArray:
        assert self._degrees is not None
        return self._degrees.of_contrasts(np.eye(len(self._names)))

    def _method(self, method: str | None) -> str:
        if method is not None and method not in METHODS:
            raise unknown_option("method", method, METHODS)
        return self.inference if method is None else method


class WithinGroupsWrapper(LikelihoodResultsWrapper):
    """Results with the names of the coefficients attached; rows have their labels already."""

    _attrs = {name: what for name, what in LikelihoodResultsWrapper._attrs.items() if what != "rows"}
    _wrap_attrs = _attrs

    def __repr__(self) -> str:
        return repr(self._results)
