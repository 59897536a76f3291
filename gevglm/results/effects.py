"""Effects people report: standardised risks and their contrasts, ratios from coefficients, attributable fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.observations import Part
from gevglm.effects.covariance import bootstrap_risks, check_draws
from gevglm.effects.interaction import Interaction
from gevglm.effects.joint_exposures import interaction_in
from gevglm.effects.margins import Margins
from gevglm.effects.rows import RowGroups, Rows, Scenario
from gevglm.effects.sampled import average_uncertainty, influence_for
from gevglm.effects.slopes import VariableEffects, variable_effects
from gevglm.effects.standardised import (
    Contrast,
    Risk,
    RiskContrast,
    averages,
    bootstrap_limits,
    contrast_of,
    contrast_table,
    risk_table,
)
from gevglm.effects.worlds import World, Worlds
from gevglm.exceptions import InvalidOptionError, unknown_option
from gevglm.results.clusters import kept_rows
from gevglm.results.core import ResultsCore, check_alpha
from gevglm.results.refit import Refit, refit_many

METHODS = ("delta", "bootstrap", "posterior")


class RiskEffects(ResultsCore):
    """Effects on the risk scale; a part of :class:`gevglm.BinaryGLMResults`."""

    def risk(
        self,
        variable: str | Sequence[str],
        at: Any = None,
        *,
        contrast: str = "difference",
        by: Any = None,
        data: Any = None,
        covariates: str | None = None,
        method: str | None = None,
        alpha: float = 0.05,
        draws: int = 500,
        groups: Any = None,
        rng: Any = None,
        progress: bool = False,
    ) -> RiskContrast:
        r"""Risks with a variable set to some values and everything else unchanged, and what the change makes (g-computation).

        Parameters
        ----------
        variable : str or sequence of str
            A variable of the formula, wherever it enters: interactions, splines and transforms are built anew from its new values. For fits of
            arrays, a column of the design. Of several variables all combinations are compared, with that of their references.
        at : sequence, {"unit", "sd", "iqr", "range"} or dict, optional
            The values to compare, the first being the reference; or how to move every row: by a unit or a standard deviation centred on where it
            is, from the first to the third quartile, from the smallest to the largest value. By default all levels of a factor (first the
            reference of the formula) and both values of a variable that has two, else a standard deviation. Of several variables a dict from
            each to such values.
        contrast : {"difference", "ratio", "odds"}
            Of the risks: difference, ratio, odds ratio. Limits of ratios are symmetric for their logarithms.
        by : str, list of str or array_like, optional
            Average within groups of rows: the values of a variable, the combinations of several, or those given for each row.
        data : table, optional
            Rows to average over, with the columns of weights that the model names; by default those of the fit, weighted to the population if
            they were sampled by their outcome. What is compared is taken from the data of the fit in any case.
        covariates : {"fixed", "sampled"}, optional
            Whether the rows are the population of interest, or a sample from it whose randomness is added to the standard errors. By default
            they are a sample if they have sampling weights.
        method : {"delta", "bootstrap", "posterior"}, optional
            Standard errors by the delta method from the covariance of the fit, or percentiles of the whole procedure refitted to resamples of
            the observations (of the clusters, for cluster-robust fits). After ``xi="map"`` those of the posterior by default, for rows in
            memory; else the delta method.
        alpha : float
            One minus the coverage.
        draws, rng, progress
            Resamples or draws, their seed, and whether to show a bar.
        groups : str or array_like, optional
            Column or array of clusters that are drawn as a whole by ``method="bootstrap"``; by default those of a cluster-robust fit. With
            clusters of two kinds, say which.

        Returns
        -------
        RiskContrast
            ``summary_frame()`` has columns estimate, se, ci_lower, ci_upper; ``risks`` the risks themselves; ``number_needed`` the
            number needed to treat.

        Notes
        -----
        See :mod:`gevglm.effects.standardised` for the formulas, and :mod:`gevglm.effects.sampled` for those of ``covariates="sampled"``.
        """
        rule = contrast_of(contrast)
        check_alpha(alpha)
        method = self._default_method(method)
        influence = influence_for(self, covariates, data)
        rows = Rows.of(self, data)
        moved: list[World]
        if isinstance(variable, str):
            chosen = rows.scenarios(variable, at)
            moved, title = [{variable: scenario} for scenario in chosen], variable
        else:
            joint = rows.joint_scenarios(list(variable), at)
            chosen, moved, title = [each for each, _ in joint], [world for _, world in joint], ", ".join(variable)
        worlds, within = Worlds.of(rows, moved), rows.groups(by)
        found = averages(worlds, self.risk_at_estimates, within)
        names, pairs, index = labels_of(variable, chosen, within.labels, rule)
        known = average_uncertainty(self, worlds, within, found, influence, f"the risk by {title}")
        note = f"averaged over {rows.observations:,.0f} observations{'' if influence is None else ', a sample'}"
        note = "; ".join(filter(None, (chosen[0].remark, note)))
        table, tests = contrast_table(rule, found.risks, known, pairs, index, alpha)
        if method != "delta":
            if method == "bootstrap":
                drawn = self._bootstrapped(worlds, within, data, groups, draws, rng, progress)
            else:
                drawn = self._drawn_risks(worlds, within, draws)
            table[["se", "ci_lower", "ci_upper"]] = bootstrap_limits(rule, drawn, pairs, alpha).T
            known, tests = replace(known, cov=np.cov(drawn, rowvar=False)), tests * np.nan
            how = "bootstrap of the whole procedure" if method == "bootstrap" else "posterior"
            note += f"; {how}, {len(drawn)} {'resamples' if method == 'bootstrap' else 'draws'}"
        else:
            note += f"; delta method, {self.cov_type} covariance"
        note = "; ".join(filter(None, (note, self.model.sampling.remark())))
        risks = risk_table(found.risks, known, names, alpha)
        return RiskContrast(title, contrast, risks, table, tests, known, note, tuple(chosen))

    def margins(
        self,
        variables: str | Sequence[str] | None = None,
        *,
        by: Any = None,
        data: Any = None,
        covariates: str | None = None,
        alpha: float = 0.05,
    ) -> VariableEffects:
        r"""Average effects of variables on the risk, wherever they enter the formula: dy/dx of a number, differences of the levels of a factor.

        With interactions, polynomials and splines this is the slope by the *variable*, all of its columns moving together, as Stata's ``margins,
        dydx()`` and ``avg_slopes`` of marginaleffects have it; :meth:`get_margeff` has one slope per column, as statsmodels.

        Parameters
        ----------
        variables : str or sequence of str, optional
            All of the formula by default; for fits of arrays, columns of the design.
        by, data, covariates
            See :meth:`risk`.
        alpha : float
            One minus the coverage.

        Returns
        -------
        VariableEffects
            ``summary_frame()`` has columns estimate, se, z (or t and df), pvalue, ci_lower and ci_upper; ``t_test`` tests combinations of effects.

        Examples
        --------
        >>> import gevglm
        >>> res = gevglm.fit("event ~ age * smoker", gevglm.datasets.simulate_study(rng=1), link="logit")
        >>> res.margins().table["estimate"].round(4).to_dict()
        {('age', 'dy/dx'): 0.0023, ('smoker', '1 - 0'): 0.0666}
        """
        check_alpha(alpha)
        return variable_effects(self, variables, by, data, covariates, alpha)

    def interaction(
        self, first: str, second: str, *, at: Any = None, contrast: str = "ratio", data: Any = None, alpha: float = 0.05
    ) -> Interaction:
        r"""Interaction of two exposures on the additive scale: RERI, attributable proportion and synergy index.

        Parameters
        ----------
        first, second : str
            Variables, of which two values each are compared.
        at : dict, optional
            From a variable to its two values, the first being the absence of the exposure; by default both values of a variable that has two.
        contrast : {"ratio", "odds", "coefficients"}
            Ratios of standardised risks, odds ratios of standardised risks, or for logits the odds ratios of the coefficients, other variables
            at their reference, as epiR has it.
        data : table, optional
            Rows to average over; by default those of the fit.
        alpha : float
            One minus the coverage.

        Returns
        -------
        Interaction

        Notes
        -----
        See :mod:`gevglm.effects.interaction` for the formulas. The measures are meant for exposures that raise the risk: recode those that do not.
        """
        check_alpha(alpha)
        return interaction_in(self, first, second, at, contrast, data, alpha)

    def attributable_fraction(
        self, variable: str, reference: Any, *, data: Any = None, alpha: float = 0.05
    ) -> pd.DataFrame:
        r"""The share of the risk that would not be there if everybody had the reference value.

        .. math:: AF = 1 - R_{\text{reference}} / R_{\text{as observed}}

        Parameters
        ----------
        variable : str
        reference : value
            Of the variable; the absence of the exposure.
        data : table, optional
            Rows to average over; by default those of the fit.
        alpha : float
            One minus the coverage; limits are symmetric for :math:`\ln(1 - AF)`.

        Returns
        -------
        DataFrame
            One row, with columns estimate, se, ci_lower and ci_upper.
        """
        check_alpha(alpha)
        rows = Rows.of(self, data)
        without, *_ = rows.scenarios(variable, [reference, reference])
        worlds, everybody = Worlds.of(rows, [{}, {variable: without}]), RowGroups()
        found = averages(worlds, self.risk_at_estimates, everybody)
        influence = influence_for(self, None, data)
        known = average_uncertainty(self, worlds, everybody, found, influence, f"the risk by {variable}")
        index = pd.Index([f"{variable} = {without.label} for all"])
        table, _ = contrast_table(contrast_of("ratio"), found.risks, known, [(0, 1)], index, alpha)
        limits = {"ci_lower": 1.0 - table["ci_upper"], "ci_upper": 1.0 - table["ci_lower"]}
        return pd.DataFrame({"estimate": 1.0 - table["estimate"], "se": table["se"]} | limits)

    def exp_params(self, alpha: float = 0.05, method: str | None = None) -> pd.DataFrame:
        """Exponentiated coefficients, named by what they are: odds, risk, survival or hazard ratios.

        Odds ratios are those of the logit, risk ratios of the log link, survival ratios of logc (with the sign of the coefficient changed), hazard
        ratios of the complementary log-log.

        Parameters
        ----------
        alpha : float
            One minus the coverage.
        method : {"wald", "profile"}, optional
            Of the limits, see :meth:`conf_int`.

        Returns
        -------
        DataFrame
            One row per coefficient but the constant; columns ``odds_ratio``, ``risk_ratio``, ``survival_ratio`` or ``hazard_ratio``, ``ci_lower``,
            ``ci_upper`` and ``pvalue``.
        """
        link = self.model.population_link
        if link.exponentiated is None:
            raise InvalidOptionError(
                f"exp(b) has no meaning with {link!r}: it is an odds ratio for the logit, a risk ratio for the log link and a hazard ratio for the "
                "complementary log-log only. Use risk(variable, contrast='ratio') for risk ratios, or contrast='odds'."
            )
        results: Any = self
        limits = np.asarray(self.conf_int(alpha=alpha, method=method))
        table = link.ratios(np.column_stack([self.estimates, limits]))
        frame = pd.DataFrame(table, index=self.model.exog_names, columns=[link.exponentiated, "ci_lower", "ci_upper"])
        frame["pvalue"] = np.asarray(results.tests(method)[1])
        constant = self.model.design.constant
        return frame if constant is None else frame.drop(index=frame.index[constant])

    def odds_ratios(self, alpha: float = 0.05, method: str | None = None) -> pd.DataFrame:
        """Odds ratios of a logit model; see :meth:`exp_params`."""
        link = self.model.population_link
        if link.exponentiated != "odds_ratio":
            raise InvalidOptionError(
                f"coefficients of {link!r} are not log odds ratios; use risk(variable, contrast='odds') for odds ratios of standardised risks."
            )
        return self.exp_params(alpha=alpha, method=method)

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
        self.model.design.need_rows("get_margeff()", "average over other rows with risk(..., data=...)")
        options = (at, method, atexog, dummy, count, self.row_weights.in_population, influence_for(self, None))
        return Margins(self._with_link(self.model.population_link), options)

    def _default_method(self, method: str | None) -> str:
        if method is None:
            return "delta" if self.posterior is None or not self.has_data else "posterior"
        _known("method", method, METHODS)
        if method == "posterior" and self.posterior is None:
            raise InvalidOptionError("method='posterior' needs a fit with xi='map'; use 'delta' or 'bootstrap'.")
        return method

    def _drawn_risks(self, worlds: Worlds, within: RowGroups, draws: int) -> NDArray:
        """Return the risks at draws from the posterior, one row per draw."""
        check_draws(draws)
        assert self.posterior is not None
        worlds, link = worlds.held(), self.model.population_link
        return np.array(
            [
                averages(worlds, Risk(link.with_shape(float(draw[-1])), draw[:-1]), within).risks
                for draw in self.posterior.thinned(draws)
            ]
        )

    def _bootstrapped(
        self, worlds: Worlds, within: RowGroups, data: Any, groups: Any, draws: int, rng: Any, progress: bool
    ) -> NDArray:
        """Return the risks by the procedure refitted to resamples, one row per resample."""
        check_draws(draws)
        if not self.has_data:
            raise InvalidOptionError(
                "method='bootstrap' refits the model, but the rows are not in memory; use the delta method."
            )
        of_rows = kept_rows(self, groups)
        size = np.maximum(of_rows.observations, np.finfo(float).tiny)  # rows of no observation are not drawn
        worlds = worlds.held()

        def risks_of(drawn: Part, again: Refit) -> NDArray:
            share = None if data is not None or drawn.counts is None else drawn.counts / size
            return averages(worlds, Risk(again.population_link, np.asarray(again.params)), within, share).risks

        refits = partial(refit_many, self)
        return bootstrap_risks(refits, risks_of, self.model.design.y, of_rows, draws, rng, progress)


def labels_of(
    variable: str | Sequence[str], chosen: list[Scenario], groups: pd.Index | None, rule: Contrast
) -> tuple[pd.Index, list[tuple[int, int]], pd.Index]:
    """Return the names of all risks, the pairs that are contrasted, and the names of the contrasts."""
    arms = [f"{variable} = {arm.label}" if isinstance(variable, str) else arm.label for arm in chosen]
    first, *others = (arm.label for arm in chosen)
    contrasts = [rule.label(other, first) for other in others]
    n, g = len(chosen), 1 if groups is None else len(groups)
    pairs = [(group * n, group * n + j) for group in range(g) for j in range(1, n)]
    if groups is None:
        return pd.Index(arms), pairs, pd.Index(contrasts)
    return _within(groups, arms), pairs, _within(groups, contrasts)


def _within(groups: pd.Index, labels: list[str]) -> pd.MultiIndex:
    keys = [group if isinstance(group, tuple) else (group,) for group in groups]
    return pd.MultiIndex.from_tuples([(*key, label) for key in keys for label in labels], names=[*groups.names, None])


def _known(name: str, word: Any, words: tuple[str, ...]) -> None:
    if word not in words:
        raise unknown_option(name, word, words)
