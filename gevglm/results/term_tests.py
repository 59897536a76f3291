"""Tests of the terms of a formula, each as a whole: analysis of deviance, terms to drop and terms to add."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2, f

from gevglm.covariance import covariance_of
from gevglm.data.design import constant_column
from gevglm.data.formula import Recipe
from gevglm.data.terms import Term, design_terms
from gevglm.display.tables import Part, Shown
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError, listed, nearest, unknown_option
from gevglm.inference.column_set_tests import (
    Hypothesis,
    likelihood_ratios,
    score_statistics,
    wald_restriction,
    wald_statistics,
)
from gevglm.results.nested import columns_outside, dropped_columns, lr_test, refuse_other_rows, refuse_robust

TYPES = ("I", "II", "III")
TESTS = ("LR", "Wald", "score", "F")
TITLES = {"LR": "Likelihood-ratio", "Wald": "Wald", "score": "Score", "F": "F"}
NONE = "(none)"


@dataclass(frozen=True, repr=False)
class TermTests(Shown):
    """Tests of terms, or of models one after the other.

    Attributes
    ----------
    table : DataFrame
        One row per term (or model): ``df``, ``statistic`` and ``pvalue``; ``aic`` where terms are dropped or added.
    title, note : str
        What was tested, and how.
    """

    table: pd.DataFrame
    title: str
    note: str = ""

    def summary_frame(self) -> pd.DataFrame:
        """Return the tests as a table."""
        return self.table

    def _shown_parts(self) -> tuple[str, Sequence[Part], Sequence[str]]:
        return self.title, [Part("", self.table)], [self.note]


def anova_of(results: Any, type: str, test: str | None) -> TermTests:
    """Test every term of a fit; see :meth:`gevglm.BinaryGLMResults.anova`."""
    if type not in TYPES:
        raise unknown_option("type", type, TYPES)
    terms = design_terms(results.model.design)
    hypotheses = [Hypothesis(term.columns, _gone(term, terms, type)) for term in terms]
    title = f"{{}} tests of terms (type {type})"
    return tested(results, [term.name for term in terms], hypotheses, test, title)


def _gone(term: Term, terms: list[Term], type: str) -> tuple[int, ...]:
    """Return the columns of the terms that both models lack when a term is tested."""
    after = terms[terms.index(term) + 1 :]
    others = {"I": after, "II": [other for other in terms if term.is_part_of(other)], "III": []}[type]
    return tuple(sorted(j for other in others for j in other.columns))


def drop1_of(results: Any, scope: Any, test: str | None) -> TermTests:
    """Test the terms that are part of no other; see :meth:`gevglm.BinaryGLMResults.drop1`."""
    terms = design_terms(results.model.design)
    free = {term.name: term for term in terms if not any(map(term.is_part_of, terms))}
    names = list(free) if scope is None else _names(scope)
    for name in names:
        if name not in free:
            known = [term.name for term in terms]
            why = (
                "is part of an interaction, without which it is tested by anova()"
                if name in known
                else "is not in the model"
            )
            raise InvalidOptionError(
                f"the term {name!r} {why}. Terms to drop are {listed(list(free))}.{nearest(name, free)}"
            )
    found = tested(
        results, names, [Hypothesis(free[name].columns) for name in names], test, "{} tests of terms dropped one by one"
    )
    return _with_aic(results, found, -1)


def add1_of(results: Any, scope: Any, test: str | None) -> TermTests:
    """Test terms that are not in the model; see :meth:`gevglm.BinaryGLMResults.add1`."""
    names = _names(scope)
    if not names:
        raise InvalidOptionError("scope names no term; give those to add, as in add1('z + log(w)').")
    parts = []
    for name in names:
        larger, columns = _extended(results, name)
        parts.append(tested(larger, [name], [Hypothesis(columns)], test, "{} tests of terms added one by one"))
    found = replace(parts[0], table=pd.concat([part.table for part in parts]))
    return _with_aic(results, found, 1)


def _names(scope: Any) -> list[str]:
    """Return terms from a text such as "x + a:b", a formula, or a sequence of them."""
    parts: Iterable[str] = [scope] if isinstance(scope, str) else scope
    names = [name.strip() for part in parts for name in _split(part.partition("~")[2] or part)]
    return [name for name in names if name not in (".", "")]


def _split(text: str) -> list[str]:
    """Split a sum of terms where its plus signs are in no parentheses."""
    parts, depth = [""], 0
    for mark in text:
        depth += (mark in "([{") - (mark in ")]}")
        if mark == "+" and depth == 0:
            parts.append("")
        else:
            parts[-1] += mark
    return parts


def _extended(results: Any, name: str) -> tuple[Any, tuple[int, ...]]:
    """Fit a model with one term more to the same rows; return the fit, and the columns of the term."""
    model, design = results.model, results.model.design
    design.need_rows("add1()", "fit the larger model, and compare by gevglm.anova")
    old = design.recipe
    if old is None or design.frame is None:
        raise InvalidOptionError(
            "add1() needs a model with a formula; test columns of arrays by score_test(exog_extra)."
        )
    recipe = Recipe(f"{old.formula} + {name}", design.frame, old.scope, old.engine)
    missing = {column: int(design.frame[column].isna().sum()) for column in recipe.dtypes}
    column = next((column for column, n in missing.items() if n), None)
    if column is not None:
        raise InvalidDataError(
            f"{column!r} is missing in {missing[column]} of the {design.n_rows} rows of the model, which with it would be one of other rows; fit "
            "the smaller model without those rows."
        )
    X = recipe.take_first()
    changed = replace(design, X=X, names=recipe.names, recipe=recipe, constant=constant_column(X), omitted={})
    here = {term.factors for term in design_terms(design)}
    added = [term for term in design_terms(changed) if term.factors not in here]
    if len(added) != 1 or len(added[0].columns) != X.shape[1] - len(design.names):
        raise InvalidOptionError(
            f"{name!r} adds {len(added)} terms, or codes others anew; add1() takes terms that are not in the model, one at a time "
            "(a:b, not a*b)."
        )
    larger = model.changed(changed, model.loss, model.sampling, model.shape_choice)
    return larger.fit_by(results.options.for_other_rows())._results, added[0].columns


def _with_aic(results: Any, found: TermTests, sign: int) -> TermTests:
    """Add the AIC of each model, and a first row of the model as it is; where AIC is defined, and the tests tell it."""
    try:
        aic = results.aic
    except GevglmError:
        return found
    if not found.title.startswith(TITLES["LR"]):
        return found
    table = found.table.assign(aic=aic + sign * (2.0 * found.table["df"] - found.table["statistic"]))
    first = pd.DataFrame({"aic": [aic]}, index=[NONE]).reindex(columns=table.columns)
    return replace(found, table=pd.concat([first.astype(float), table.astype(float)]))


def tested(results: Any, names: Sequence[str], hypotheses: list[Hypothesis], test: str | None, title: str) -> TermTests:
    """Return tests of sets of columns under names; `title` has a place for the kind of test."""
    test = how_to_test(results, test)
    df = np.array([len(each.tested) for each in hypotheses], dtype=float)
    statistic = np.full(len(hypotheses), np.nan)
    there = np.flatnonzero(df)
    if len(there):
        statistic[there] = _statistics(results, [hypotheses[i] for i in there], test)
    by_f = test == "F" or (test == "Wald" and results.use_t)
    scale = _dispersion(results) if test == "F" else 1.0
    note = _note(results, test, scale)
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = statistic / (df * scale) if by_f else statistic
    beyond: Any = results.df_resid
    if test == "Wald" and by_f:
        statistic[there], beyond = _as_f(results, [hypotheses[i] for i in there], statistic[there])
    pvalue = np.full(len(df), np.nan)
    pvalue[there] = f.sf(statistic[there], df[there], beyond) if by_f else chi2.sf(statistic[there], df[there])
    table = pd.DataFrame({"df": df, "statistic": statistic, "pvalue": pvalue}, index=list(names))
    if test == "Wald" and by_f:
        denominators = np.full(len(df), np.nan)
        denominators[there] = beyond
        table.insert(1, "df_denom", denominators)
    return TermTests(table, title.format(TITLES[test]), note)


def _as_f(results: Any, hypotheses: list[Hypothesis], statistics: NDArray) -> tuple[NDArray, NDArray]:
    """Return Wald's statistics over their degrees of freedom as F, and the degrees of freedom of their denominators."""
    tests = [
        results.degrees.of_joint_test(wald_restriction(results.cov_params_matrix, hypothesis))
        for hypothesis in hypotheses
    ]
    beyond, factors = np.array(tests).T
    return statistics * factors, beyond


def how_to_test(results: Any, test: str | None) -> str:
    """Return how to test: as asked, or by likelihood ratio where the fit has one, by Wald's test elsewhere."""
    if test is None:
        return "LR" if results.cov_type == "nonrobust" and results.has_likelihood else "Wald"
    if test not in TESTS:
        raise unknown_option("test", test, TESTS)
    return test


def _statistics(results: Any, hypotheses: list[Hypothesis], test: str) -> NDArray:
    model = results.model
    if test == "Wald":
        columns = sorted({j for each in hypotheses for j in each.all})
        infinite = [model.exog_names[j] for j in columns if results.infinite[j] != 0.0]
        if infinite:
            raise InvalidDataError(
                f"there is no Wald test of infinite estimates ({listed(infinite)}); use test='LR', or bias='firth'."
            )
        return wald_statistics(np.asarray(results.params), results.cov_params_matrix, hypotheses)
    if test == "score":
        if results.bias is not None or results.alpha or results._shape is not None:
            raise InvalidOptionError(
                "score tests of terms are those of plain fits, not of penalised or bias-reduced ones, nor after xi='ml'; use test='LR' or 'Wald'."
            )
        cov_type, cov_kwds = results._cov_words
        covariance = covariance_of(cov_type, cov_kwds, model.design.grouping, model.design.sample)
        model.sampling.refuse_covariance(covariance.assumes_model)
        return score_statistics(model.problem(), covariance, model.wnobs, hypotheses)
    refuse_robust(results)
    return likelihood_ratios(results._likelihood(f"anova(test={test!r})"), hypotheses)


def _dispersion(results: Any) -> float:
    return results.pearson_chi2 / results.df_resid


def _note(results: Any, test: str, scale: float) -> str:
    if test == "F":
        return f"Likelihood ratios per degree of freedom over the dispersion {scale:.4g} (Pearson), with {results.df_resid:.0f} residual degrees of freedom."
    if test == "LR" and results.bias is not None:
        return f"By the penalised likelihood of the full model ({results.bias.title})."
    if results.cov_type != "nonrobust":
        return f"Covariance: {results.cov_type}."
    return ""


# -- models one after the other --------------------------------------------------------------


def anova(*results: Any, test: str | None = None) -> TermTests:
    """Test nested models one after the other.

    Parameters
    ----------
    *results : BinaryGLMResults
        Fits of the same outcomes in the same rows by the same method, from small to large or from large to small.
    test : {"LR", "Wald"}, optional
        By default likelihood ratios (see :meth:`gevglm.BinaryGLMResults.compare_lr_test`), and Wald's test in the larger model, with its
        covariance, where the fits are robust.

    Returns
    -------
    TermTests
        One row per model: ``formula``, ``df_resid``, ``deviance`` (where there is a likelihood), and against the model before it ``df``,
        ``statistic`` and ``pvalue``.

    Examples
    --------
    >>> import gevglm
    >>> study = gevglm.datasets.simulate_study(rng=1)
    >>> fits = [gevglm.fit(f"event ~ {terms}", study, link="logit") for terms in ("1", "age", "age + smoker")]
    >>> gevglm.anova(*fits).table["df"].tolist()[1:]
    [1.0, 1.0]
    """
    fits = [getattr(res, "_results", res) for res in results]
    if len(fits) < 2:
        raise InvalidOptionError("give two fits or more; the terms of one are tested by its method anova().")
    if test is None:
        test = "Wald" if any(how_to_test(fit, None) == "Wald" for fit in fits) else "LR"
    if test not in ("LR", "Wald"):
        raise unknown_option("test", test, ("LR", "Wald"))
    rows = []
    for i, fit in enumerate(fits):
        tests = (np.nan, np.nan, np.nan)
        if i:
            small, large = sorted((fits[i - 1], fit), key=lambda each: each.rank)
            statistic, pvalue, df = lr_test(large, small) if test == "LR" else _nested_wald(large, small)
            tests = df, statistic, pvalue
        deviance = fit.deviance if fit.loss.is_likelihood else np.nan
        rows.append((getattr(fit.model, "formula", listed(fit.model.exog_names)), fit.df_resid, deviance, *tests))
    columns = ["formula", "df_resid", "deviance", "df", "statistic", "pvalue"]
    table = pd.DataFrame(rows, columns=columns, index=[f"model {i}" for i in range(1, len(fits) + 1)])
    return TermTests(table, f"{TITLES[test]} tests of nested models", _note(fits[-1], test, 1.0))


def _nested_wald(full: Any, restricted: Any) -> tuple[float, float, float]:
    """Return Wald's test, in the larger of two models, of the columns that the smaller one lacks."""
    refuse_other_rows(full.model.design, restricted.model.design)
    outside = columns_outside(restricted.model.design, full.model.design)
    if outside or full.rank == restricted.rank:
        why = (
            f"one has columns ({listed(outside)}) that the other lacks" if outside else "they have as many coefficients"
        )
        raise InvalidOptionError(f"the models are not nested: {why}. gevglm.compare shows models that are not.")
    dropped = dropped_columns(full.model.design, restricted.model.design)
    statistic = float(_statistics(full, [Hypothesis(tuple(dropped))], "Wald")[0])
    if full.use_t:
        (found,), (beyond,) = _as_f(full, [Hypothesis(tuple(dropped))], np.array([statistic / len(dropped)]))
        return float(found), float(f.sf(found, len(dropped), beyond)), float(len(dropped))
    return statistic, float(chi2.sf(statistic, len(dropped))), float(len(dropped))
