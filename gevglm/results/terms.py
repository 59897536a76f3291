"""Terms of the formula in results: tests of each as a whole, and of the model against none."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import chi2

from gevglm.data.terms import design_terms
from gevglm.exceptions import InvalidOptionError
from gevglm.results.core import ResultsCore
from gevglm.results.summary_facts import OverallTest, overall_test
from gevglm.results.term_tests import TermTests, add1_of, anova_of, drop1_of


class TermInference(ResultsCore):
    """Tests of terms; a part of :class:`gevglm.BinaryGLMResults`."""

    def anova(self, type: str = "II", test: str | None = None) -> TermTests:
        r"""Test every term of the formula: a factor, a spline or an interaction is one line.

        Parameters
        ----------
        type : {"II", "I", "III"}
            Against which model a term is tested. "I": the terms that precede it, as R's ``anova``. "II": all terms but the interactions
            that it is part of, as ``car::Anova``. "III": all other terms, which for a term inside interactions depends on how factors are coded.
        test : {"LR", "Wald", "score", "F"}, optional
            By default likelihood ratios (by the penalised likelihood of the full model, with bias reduction), and Wald's test where the covariance
            is robust or the loss is not a likelihood. "score" fits each smaller model, and tests with the covariance of the fit; "F" divides the
            likelihood ratio by its degrees of freedom and by Pearson's dispersion, for counts that vary more than binomial ones.

        Returns
        -------
        TermTests
            ``table`` has columns df, statistic and pvalue.

        Notes
        -----
        See :mod:`gevglm.inference.column_set_tests` for the formulas. With ``use_t``, Wald's statistic is an F.

        Examples
        --------
        >>> import gevglm
        >>> res = gevglm.fit("event ~ age * smoker", gevglm.datasets.simulate_study(rng=1), link="logit")
        >>> res.anova().table.index.tolist()
        ['age', 'smoker', 'age:smoker']
        """
        return anova_of(self, type, test)

    def drop1(self, scope: Any = None, test: str | None = None) -> TermTests:
        """Test the terms that could be dropped: those that are part of no interaction; see R's ``drop1``.

        Parameters
        ----------
        scope : str or sequence of str, optional
            Terms to drop, as in ``"x + a:b"``; by default all that can be.
        test : {"LR", "Wald", "score", "F"}, optional
            See :meth:`anova`.

        Returns
        -------
        TermTests
            With the column ``aic``, of the model without the term, where the fit maximises a likelihood.
        """
        return drop1_of(self, scope, test)

    def add1(self, scope: Any, test: str | None = None) -> TermTests:
        """Test terms that are not in the model, each added alone; see R's ``add1``.

        Parameters
        ----------
        scope : str or sequence of str
            Terms of the data of the model, as in ``"z + log(w) + a:b"``. Every larger model is fitted, to the rows of this one.
        test : {"LR", "Wald", "score", "F"}, optional
            See :meth:`anova`.

        Returns
        -------
        TermTests
            With the column ``aic``, of the model with the term, where the fit maximises a likelihood.
        """
        return add1_of(self, scope, test)

    @cached_property
    def llr(self) -> float:
        """The likelihood ratio against the model with a constant only; by the penalised likelihood of this model, with bias reduction, as logistf."""
        results: Any = self
        _, method = results._likelihood_problem("llr")
        if method is None:
            return 2.0 * (results.llf - results.llnull)
        columns = [j for term in design_terms(self.model.design) for j in term.columns]
        return float(results._likelihood("llr").ratios([columns])[0])

    @property
    def llr_pvalue(self) -> float:
        """The p-value of :attr:`llr`, chi-squared with ``df_model`` degrees of freedom."""
        if self._shape is not None:
            raise InvalidOptionError(
                f"llr has no chi-squared distribution where {self.link.shape_name} is estimated, which a constant alone does not determine; "
                "test terms by anova()."
            )
        if self.model.design.constant is None:
            raise InvalidOptionError(
                "the model has no constant, and does not contain the one it is compared with; test terms by anova()."
            )
        return float(chi2.sf(self.llr, self.df_model)) if self.df_model > 0 else np.nan

    @property
    def prsquared(self) -> float:
        """McFadden's pseudo R-squared, one minus the ratio of the log-likelihoods with the terms and without."""
        results: Any = self
        self.model.sampling.refuse_likelihood("prsquared")
        self.need_likelihood("prsquared", "pseudo_rsquared uses the Bernoulli likelihood of the predictions")
        if self.alpha:
            raise InvalidOptionError(
                "prsquared is not defined for a penalised (ridge) fit, which does not maximise the likelihood."
            )
        return results.pseudo_rsquared("mcf")

    @cached_property
    def overall_test(self) -> OverallTest | None:
        """The test that all coefficients but the constant are zero, as the summary shows it: ``name``, ``statistic``, ``df`` and ``pvalue``.

        By likelihood ratio (:attr:`llr`) where the fit has one and a model-based covariance, by Wald's test elsewhere; None where there is neither.
        """
        return overall_test(self)
