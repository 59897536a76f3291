"""The rows of a table over models: coefficients or ratios above their errors, and what describes each fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gevglm.data.terms import design_terms
from gevglm.exceptions import GevglmError, InvalidOptionError, listed, nearest
from gevglm.report.numbers import pvalue
from gevglm.report.publication import PublicationTable
from gevglm.results.summary import OMITTED

if TYPE_CHECKING:
    from gevglm.results import BinaryGLMResults

STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
STARS_NOTE = "* p < 0.05, ** p < 0.01, *** p < 0.001."


def _count(number: float) -> float | int:
    return int(number) if float(number).is_integer() else number


def _shape(res: Any) -> str | None:
    estimated = res.xi is not None and res._joint is not None
    return None if res.xi is None else f"{res.xi:.3g}" + (f" ({res.xi_bse:.2g})" if estimated else "")


STATS: dict[
    str, tuple[str, Callable[[Any], Any]]
] = {  # from words to the label of a row and what is in it; None for what a fit does not have
    "link": ("Link", lambda res: type(res.link.population).__name__),
    "loss": ("Loss", lambda res: res.loss.name),
    "xi": ("xi", _shape),
    "bias": ("Bias reduction", lambda res: None if res.bias is None else res.bias.word),
    "penalty": ("Penalty", lambda res: res.alpha or None),
    "covariance": ("Covariance", lambda res: res.cov_type),
    "nobs": ("Observations", lambda res: _count(res.n_trials_total)),
    "events": ("Events", lambda res: _count(res.n_events)),
    "llf": ("Log-likelihood", lambda res: res.llf),
    "aic": ("AIC", lambda res: res.aic),
    "bic": ("BIC", lambda res: res.bic),
    "lr": ("LR chi-squared", lambda res: res.llr),
    "lr_pvalue": ("LR p-value", lambda res: pvalue(res.llr_pvalue)),
    "prsquared": ("McFadden's R2", lambda res: res.prsquared),
    "log_loss": ("Log loss", lambda res: res.log_loss),
    "brier": ("Brier score", lambda res: res.brier),
    "auc": ("AUC", lambda res: res.auc),
}
CV_SLOPE = "cv_slope"  # which a comparison has computed
SHOWN = ("link", "loss", "xi", "bias", "penalty", "covariance", "nobs", "events", "log_loss", "brier", "auc", CV_SLOPE)


@dataclass(frozen=True)
class TableOptions:
    """What a table over models shows, as :meth:`gevglm.comparison.Comparison.summary` has it."""

    stars: bool = False
    interval: bool = False
    decimals: int = 3
    exp: bool = False
    pvalues: bool = False
    rename: Mapping[str, str] | None = None
    drop: str | Sequence[str] = ()
    stats: Sequence[str] | None = None
    caption: str = ""
    label: str = ""


def publication_table(
    results: Mapping[str, BinaryGLMResults], slopes: Mapping[str, float], options: TableOptions
) -> PublicationTable:
    """Return a table over models; `slopes` are their cross-validated calibration slopes."""
    fits: dict[str, Any] = {name: getattr(res, "_results", res) for name, res in results.items()}
    names = list(dict.fromkeys(name for res in fits.values() for name in res.model.exog_names))
    dropped = {pattern: _matched(pattern, fits, names) for pattern in _listed(options.drop)}
    gone = {name for found in dropped.values() for name in found}
    if options.exp:
        gone |= {
            res.model.exog_names[res.model.design.constant]
            for res in fits.values()
            if res.model.design.constant is not None
        }
    kept = [name for name in names if name not in gone]
    rename = dict(options.rename or {})
    cells = {name: _coefficients(name, res, options) for name, res in fits.items()}
    depth = 3 if options.pvalues else 2
    rows: list[tuple[str, list[str]]] = []
    for coefficient in kept:
        stacks = [cells[name].get(coefficient, ("",) * depth) for name in fits]
        rows += [(coefficient if i == 0 else "", [stack[i] for stack in stacks]) for i in range(depth)]
    n_coefficients = len(rows)
    for pattern, found in dropped.items():
        rows.append((pattern, ["yes" if set(found) & set(res.model.exog_names) else "no" for res in fits.values()]))
    rows += _descriptions(fits, slopes, options)
    _check_names(rename, [label for label, _ in rows if label])
    index = [rename.get(label, label) for label, _ in rows]
    frame = pd.DataFrame([row for _, row in rows], index=index, columns=list(fits), dtype=object)
    return PublicationTable(frame, n_coefficients, _note(fits, options), options.caption, options.label)


def _listed(words: str | Iterable[str]) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def _matched(pattern: str, fits: Mapping[str, Any], names: list[str]) -> list[str]:
    """Return the coefficients that a name, a pattern such as "C(country)*" or a term of a formula stands for."""
    found = [name for name in names if name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))]
    terms: dict[str, list[str]] = {}
    for res in fits.values():
        for term in design_terms(res.model.design):
            terms.setdefault(term.name, []).extend(res.model.exog_names[j] for j in term.columns)
    found = list(dict.fromkeys([*found, *terms.get(pattern, [])]))
    if not found:
        known = list(dict.fromkeys([*terms, *names]))
        raise InvalidOptionError(
            f"drop has {pattern!r}, which is no coefficient or term of a model; there are {listed(known)}.{nearest(pattern, known)}"
        )
    return found


def _check_names(rename: Mapping[str, str], labels: list[str]) -> None:
    absent = [name for name in rename if name not in labels]
    if absent:
        raise InvalidOptionError(
            f"rename has {absent[0]!r}, which is no row of the table; there are {listed(labels)}.{nearest(absent[0], labels)}"
        )


def _coefficients(model: str, res: Any, options: TableOptions) -> dict[str, tuple[str, ...]]:
    """Return the cells of each coefficient: the number, its error or limits, and its p-value if asked for."""
    if options.exp and res.model.population_link.exponentiated is None:
        raise InvalidOptionError(
            f"exp=True: exp(b) of {model!r} has no meaning with {res.model.population_link!r}; leave exp out, or show risk ratios by risk()."
        )
    numbers, errors = np.asarray(res.estimates, dtype=float), np.asarray(res.bse, dtype=float)
    limits, tests = np.asarray(res.conf_int(), dtype=float), np.asarray(res.pvalues, dtype=float)
    if options.exp:
        ratios = res.model.population_link.ratios(np.column_stack([numbers, limits]))
        numbers, limits = ratios[:, 0], ratios[:, 1:]
        with np.errstate(over="ignore", invalid="ignore"):
            errors = numbers * errors
    cells: dict[str, tuple[str, ...]] = {}
    for j, name in enumerate(res.model.exog_names):
        p, decimals = float(tests[j]), options.decimals
        mark = next((mark for level, mark in STARS if options.stars and p < level), "")
        spread = limits[j] if options.interval else [errors[j]]
        below = ", ".join(f"{number:.{decimals}f}" for number in spread) if res.infinite[j] == 0.0 else "separated"
        test = pvalue(p)
        stack = f"{numbers[j]:.{decimals}f}{mark}", f"({below})", f"p {test}" if test.startswith("<") else f"p = {test}"
        if res.is_omitted[j]:
            stack = OMITTED, "", ""
        cells[name] = stack if options.pvalues else stack[:2]
    return cells


def _descriptions(
    fits: Mapping[str, Any], slopes: Mapping[str, float], options: TableOptions
) -> list[tuple[str, list[str]]]:
    """Return the rows that describe each fit, those without any entry left out."""
    rows = []
    for word in SHOWN if options.stats is None else _listed(options.stats):
        if word == CV_SLOPE:
            label, values = "Calibration slope (cv)", [float(slopes.get(name, np.nan)) for name in fits]
        elif word in STATS:
            label, entry = STATS[word]
            values = [_defined(entry, res) for res in fits.values()]
        else:
            known = [*STATS, CV_SLOPE]
            raise InvalidOptionError(f"stats has {word!r}; known are {', '.join(known)}.{nearest(str(word), known)}")
        texts = [_text(value, options.decimals) for value in values]
        if any(texts):
            rows.append((label, texts))
    return rows


def _defined(entry: Callable[[Any], Any], res: Any) -> Any:
    try:
        return entry(res)
    except GevglmError:  # there is none for such a fit
        return None


def _note(fits: Mapping[str, Any], options: TableOptions) -> str:
    below = "95 % confidence limits in parentheses." if options.interval else "standard errors in parentheses."
    if options.exp:
        kinds = dict.fromkeys(res.model.population_link.exponentiated.replace("_", " ") + "s" for res in fits.values())
        below = f"{' and '.join(kinds)}; {below}"
    return f"{below[0].upper()}{below[1:]}" + (f" {STARS_NOTE}" if options.stars else "")


def _text(value: Any, decimals: int) -> str:
    formats: dict[type, Callable[[Any], str]] = {int: lambda x: f"{x:,}", str: str, type(None): lambda _: ""}
    if type(value) in formats:
        return formats[type(value)](value)
    if np.isnan(value):
        return ""
    return f"{value:,.2f}" if abs(value) >= 10.0 else f"{value:#.{max(decimals, 4)}g}"
