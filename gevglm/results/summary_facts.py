"""What stands above the coefficients in a summary: model, data, fit, and the test of the whole model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gevglm.data.terms import design_terms
from gevglm.display.digits import iterations, p_text, significant
from gevglm.exceptions import GevglmError
from gevglm.inference.column_set_tests import Hypothesis
from gevglm.results.term_tests import tested

if TYPE_CHECKING:
    from gevglm.results.core import ResultsCore

Fact = tuple[str, list[str] | None]


class OverallTest(NamedTuple):
    """The test that all coefficients but the constant are zero."""

    name: str
    statistic: float
    df: int
    pvalue: float


def overall_test(results: Any) -> OverallTest | None:
    """Return the likelihood ratio of the model against a constant alone where the fit has one, else Wald's test; None where there is neither."""
    columns = tuple(j for term in design_terms(results.model.design) for j in term.columns)
    partly = results.updated is not None and results.updated.estimated is not None
    if not columns or partly:
        return None
    try:
        at_once = (
            results.bias is None or results.inference == "profile"
        )  # penalised ratios of many rows take as long as the fit
        if results.cov_type == "nonrobust" and results.has_likelihood and at_once:
            return OverallTest("LR chi2", results.llr, int(results.df_model), results.llr_pvalue)
    except GevglmError:  # no constant, or a shape that was estimated
        pass
    if np.any(results.infinite[list(columns)] != 0.0):
        return None
    try:
        row = tested(results, ["model"], [Hypothesis(columns)], "Wald", "{}").table.iloc[0]
    except (GevglmError, np.linalg.LinAlgError):  # more coefficients than clusters
        return None
    name = "Wald F" if results.use_t else "Wald chi2"
    return OverallTest(name, float(row["statistic"]), len(columns), float(row["pvalue"]))


def facts_of(results: ResultsCore, method: str) -> tuple[list[Fact], list[Fact]]:
    """Return the facts of a fit, as the left and the right half of the top of a summary; `method` is how it was estimated, in words."""
    model, data, fit = _of_model(results, method), _of_data(results), _of_fit(results)
    if len(model) + len(data) - len(fit) <= len(data) + len(fit) - len(model):
        return model + data, fit
    return model, data + fit


def _of_model(results: ResultsCore, method: str) -> list[Fact]:
    facts: list[Fact] = [
        ("Dep. Variable:", None),
        ("Event:", [str(results.event)]),
        ("Link:", [repr(results.link.population).replace("()", "")]),
        ("Loss:", [results.loss.name]),
        ("Method:", [method]),
        ("Covariance Type:", [results.cov_type]),
        ("Converged:", [_convergence(results)]),
    ]
    return facts if results.converged else [*facts, ("Decrement:", [f"{results.decrement:.1e}"])]


def _convergence(results: ResultsCore) -> str:
    """Return whether and where the iteration ended, in words."""
    where = ", on the boundary" if results.boundary is not None else ""
    return f"{'yes' if results.converged else 'NO'}{where}, {iterations(results.n_iter)}"


def _of_data(results: Any) -> list[Fact]:
    events, total = results.n_events, results.n_trials_total
    facts: list[Fact] = [
        ("No. Observations:", [f"{total:g}"]),
        ("Events:", [f"{events:g} ({100 * events / total:.3g} %)"]),
        ("Events/parameter:", [f"{events_per_parameter(results):.3g}"]),
        *results.model.sampling.facts(),
    ]
    outside = results.n_outside_support
    where = "Outside support:" if results.boundary is None else "On the boundary:"
    return [*facts, (where, [f"{outside:d}"])] if outside else facts


def _of_fit(results: Any) -> list[Fact]:
    facts: list[Fact] = [
        ("Pseudo-Log-Lik.:" if results.model.sampling.reweights else "Log-Likelihood:", [_number(results.llf)])
        if results.loss.is_likelihood
        else ("Canonical loss:", [_number(results.deviance / 2)])
    ]
    test = results.overall_test
    if test is not None:
        facts += [(f"{test.name} ({test.df}):", [_number(test.statistic)]), ("P-value:", [p_text(test.pvalue)])]
    criteria: dict[str, Callable[[], float]] = {
        "AIC:": lambda: results.aic,
        "BIC:": lambda: results.bic,
        "McFadden's R2:": lambda: results.prsquared,
    }
    for name, number in criteria.items():
        try:
            facts.append((name, [_number(number())]))
        except GevglmError:  # not defined for the fit, which the loss or the method says
            continue
    scores = {
        "Log loss:": _number(results.log_loss),
        "Brier score:": _number(results.brier),
        "AUC:": f"{results.auc:.4f}",
    }
    return facts + [(name, [text]) for name, text in scores.items()]


def _number(value: float) -> str:
    return significant(value).replace(",", "")


def events_per_parameter(results: ResultsCore) -> float:
    """Return the observations of the rarer outcome for each coefficient."""
    events, total = results.n_events, results.n_trials_total
    return min(events, total - events) / max(results.rank, 1)
