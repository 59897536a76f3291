"""The tables of coefficients and of effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gevglm.report.effects import Effects
from gevglm.report.html import Html, items, joined, table, tag
from gevglm.report.numbers import MINUS, percent, plain, pvalue, rounded, with_limits
from gevglm.results.summary import OMITTED, notes_on_inference

if TYPE_CHECKING:
    from gevglm.results import BinaryGLMResults

ARROW = "\N{RIGHTWARDS ARROW}"
CHANGED = {
    "odds_ratio": "odds of the event",
    "hazard_ratio": "hazard",
    "risk_ratio": "risk",
    "survival_ratio": "probability of no event, with its sign changed,",
}


def coefficients(results: BinaryGLMResults, alpha: float) -> Html:
    """Return the table of coefficients, and what they mean."""
    method = results.inference
    params, bse = results.estimates, np.asarray(results.bse)
    limits = np.asarray(results.conf_int(alpha=alpha))
    z, p = results.tests()
    letter = "t" if results.use_t and method == "wald" else "z"
    meaning = results.model.population_link.exponentiated
    ratio = [meaning.replace("_", " ")] if meaning else []
    header = ("", "coefficient", "std. error", f"{100 * (1 - alpha):g} % interval", letter, "p", *ratio)
    rows = []
    for j, name in enumerate(results.model.exog_names):
        if results.infinite[j] != 0.0:
            rows.append([name, plain(params[j]), "separated", *[""] * (len(header) - 3)])
            continue
        if results.is_omitted[j]:
            rows.append([name, "0", OMITTED, *[""] * (len(header) - 3)])
            continue
        number, low, high = rounded([params[j], *limits[j]])
        row = [name, number, plain(bse[j], 2), f"{low} to {high}", f"{z[j]:.2f}".replace("-", MINUS), pvalue(p[j])]
        if meaning:
            row.append("" if j == results.model.data.const_idx else _exponentiated(results, [params[j], *limits[j]]))
        rows.append(row)
    by = "profile penalised likelihood" if method == "profile" else f"Wald ({results.cov_type} covariance)"
    notes = tag("p", " ".join(notes_on_inference(results, method)), class_="note")
    numbers = table(header, rows, caption=f"Tests and intervals: {by}.")
    return joined([numbers, tag("p", _meaning(results, meaning)), notes])


def _exponentiated(results: BinaryGLMResults, numbers: list[float]) -> str:
    return with_limits(*results.model.population_link.ratios(np.array(numbers)).tolist())


def _meaning(results: BinaryGLMResults, meaning: str | None) -> str:
    if meaning is not None:
        ratio = f"{'an' if meaning == 'odds_ratio' else 'a'} {meaning.replace('_', ' ')}"
        return f"A coefficient is the change of the log {CHANGED[meaning]} for one unit of its variable; exponentiated, {ratio}."
    return (
        f"A coefficient is the change of the linear predictor of {results.link.population.label} for one unit of its variable: its sign says "
        "whether the risk rises or falls. With this link exp(coefficient) is not an odds ratio; sizes are read from the effects on the risk."
    )


def effects_table(effects: Effects, alpha: float) -> Html:
    """Return the table of effects on the risk."""
    coverage = f"{100 * (1 - alpha):g} %"
    header = ("Variable", "compared", "risk", "difference, points", "risk ratio", "p")
    rows = []
    for effect in effects.known:
        first, *others = effect.levels
        risk, *risks = effect.risks["estimate"]
        for position, (level, other) in enumerate(zip(others, risks, strict=True)):
            difference, ratio = effect.differences.iloc[position], effect.ratios.iloc[position]
            rows.append(
                (
                    effect.variable if position == 0 else "",
                    _compared(effect.kind, first, level),
                    f"{percent(risk)} {ARROW} {percent(other)}",
                    with_limits(*difference[["estimate", "ci_lower", "ci_upper"]], scale=100.0),
                    with_limits(*ratio[["estimate", "ci_lower", "ci_upper"]]),
                    pvalue(effect.pvalues.iloc[position]),
                )
            )
    caption = (
        "Average predicted risk with the variable set to one value and then to another in every row, the difference in percentage points, and the ratio, "
        f"with {coverage} intervals (delta method; ratios on the log scale). Continuous variables are compared at their quartiles, or, where these are equal, "
        "half a standard deviation below and above each row."
    )
    parts = [table(header, rows, words=2, caption=caption)]
    if effects.missing:
        parts.append(items(f"{name}: not available, {why}" for name, why in effects.missing.items()))
    return joined(parts)


def _compared(kind: str, first: str, second: str) -> str:
    if kind == "sd":
        return f"{MINUS}1/2 sd {ARROW} +1/2 sd"
    return f"{first} {ARROW} {second}"
