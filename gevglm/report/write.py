"""From results to a file."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gevglm import __version__
from gevglm._files import check_target, write_text
from gevglm.engine.linalg import one_blas_thread
from gevglm.engine.monitor import progress_bar
from gevglm.exceptions import GevglmError
from gevglm.plots import new_axes
from gevglm.report import assessment, figures, findings, study, tables
from gevglm.report.calculator import Calculator, Wording
from gevglm.report.checklist import Checklist, Known, check_checklist
from gevglm.report.code import code_of
from gevglm.report.effects import Effects, effects_of
from gevglm.report.html import Html, items, tag
from gevglm.report.page import Section, page
from gevglm.results import check_alpha
from gevglm.results.plotting import ROWS_DRAWN, influential_rows

if TYPE_CHECKING:
    from gevglm.results import BinaryGLMResults

SECTIONS = {
    "findings": "Findings",
    "study": "Model and data",
    "coefficients": "Coefficients",
    "effects": "Effects on the risk",
    "predictions": "Predictions and calibration",
    "diagnostics": "Diagnostics and warnings",
    "code": "Code",
    "checklist": "Checklist: TRIPOD+AI",
    "calculator-section": "Calculator",
}
LARGEST_CALCULATOR = 150_000  # characters that are put into a report
OWN_PAGE = (
    "The interval says how well the data determine the risk; it does not say for whom the outcome will happen. results.calculator() writes a page of its own, "
    "with labels, units and other words."
)
GONE = (
    "Not available: the rows of the fit are not in memory (they were removed, or are read in pieces). Effects on the risk need rows to average over: "
    "results.risk(..., data=...) takes them."
)


def write_report(
    results: BinaryGLMResults,
    path: Any,
    *,
    title: str | None = None,
    author: str = "",
    code: str | None = None,
    alpha: float = 0.05,
    checklist: str | None = None,
    progress: bool | None = None,
) -> Path:
    """Write the report of a fit; see :meth:`gevglm.BinaryGLMResults.report`."""
    path = check_target(path)
    check_alpha(alpha)
    check_checklist(checklist)
    new_axes()  # says how to get matplotlib, before anything is computed
    outcome, link = results.model.design.outcome, results.link.population.label
    subtitle = ", ".join(part for part in (author, datetime.date.today().isoformat(), f"{link} link") if part)
    foot = f"Made with gevglm {__version__} and Python {platform.python_version()}."
    titles = {name: title for name, title in SECTIONS.items() if checklist is not None or name != "checklist"}
    filled = None if checklist is None else Checklist(titles)
    with one_blas_thread():  # what is summed here has few columns
        contents = dict(progress_bar(_contents(results, code, alpha, filled), len(titles), progress))
    items = {} if filled is None else filled.items_of_sections()
    sections = [Section(name, heading, contents[name], items.get(name, "")) for name, heading in titles.items()]
    write_text(path, page(title or f"Regression of {outcome}", subtitle, sections, foot))
    return path


def _contents(
    results: BinaryGLMResults, code: str | None, alpha: float, checklist: Checklist | None
) -> Iterator[tuple[str, list[Html]]]:
    """Yield the sections one after the other, as they are made: the findings last, for they sum up what the others found."""
    stop = assessment.fatal(results)
    yield "study", _study(results)
    picture = [] if stop else [figures.coefficients(results, alpha)]
    yield "coefficients", [tables.coefficients(results, alpha), *picture]
    effects = None if stop or not results.has_data else effects_of(results, alpha)
    yield "effects", _effects(results, effects, stop, alpha)
    assessed, reason = (None, "; ".join(stop)) if stop else _assessed(results)
    yield "predictions", _predictions(results, assessed, reason, stop)
    known = results.has_data and results.converged
    influential = influential_rows(results, ROWS_DRAWN) if known else None
    remarks = assessment.remarks_on(results, influential)
    pictures = [] if stop or influential is None else [figures.influence(results, influential)]
    yield "diagnostics", [assessment.diagnostics(remarks), *pictures]
    yield "findings", _findings(results, effects, assessed, remarks, stop, alpha)
    yield "code", [tag("pre", tag("code", Html(escape(code or code_of(results)))))]
    calculator, reason = (None, "; ".join(stop)) if stop else _calculator(results, alpha)
    if checklist is not None:
        yield "checklist", checklist.fill(Known(results, assessed, calculator is not None))
    yield "calculator-section", [tag("p", f"Not shown: {reason}", class_="note")] if calculator is None else calculator


def _calculator(results: BinaryGLMResults, alpha: float) -> tuple[list[Html] | None, str]:
    """Return the calculator, or why there is none."""
    try:
        made = Calculator.of(results, Wording(), alpha)
    except GevglmError as error:
        return None, str(error)
    if len(made.script) > LARGEST_CALCULATOR:
        return (
            None,
            f"{results.k_params} coefficients make it large; results.calculator() writes it to a page of its own.",
        )
    return [*made.html("Risk", printed=False), tag("p", OWN_PAGE, class_="note")], ""


def _assessed(results: BinaryGLMResults) -> tuple[assessment.Assessed | None, str]:
    try:
        return assessment.assess_predictions(results), ""
    except GevglmError as error:
        return None, str(error)


def _findings(
    results: BinaryGLMResults,
    effects: Effects | None,
    assessed: assessment.Assessed | None,
    remarks: Sequence[assessment.Remark],
    stop: list[str],
    alpha: float,
) -> list[Html]:
    sentences = [findings.overview(results)]
    if stop:
        return [items(sentences, class_="findings"), findings.no_findings(stop)]
    parts = []
    if effects is not None:
        sentences += findings.about_effects(effects, alpha)
    if assessed is not None:
        sentences += findings.about_predictions(assessed.assessment, assessed.how, assessed.tests)
    sentences += findings.warnings_of(remarks)
    parts.append(items(sentences, class_="findings"))
    if effects is None:
        parts.append(tag("p", GONE, class_="note"))
    elif effects.known:
        parts.append(tag("p", findings.caution(effects, alpha), class_="note"))
    return parts


def _study(results: BinaryGLMResults) -> list[Html]:
    described = (
        study.characteristics(results)
        if results.has_data
        else tag("p", "The variables cannot be described: the rows are not in memory.", class_="note")
    )
    return [study.facts(results), described]


def _effects(results: BinaryGLMResults, effects: Effects | None, stop: list[str], alpha: float) -> list[Html]:
    if stop:
        return [tag("p", "Not shown: ", "; ".join(stop), ".", class_="note")]
    if effects is None:
        return [tag("p", GONE, class_="note")]
    if not effects.known and not effects.missing:
        return [tag("p", "The model has no variables.", class_="note")]
    return [tables.effects_table(effects, alpha), figures.effect_curves(results, effects, alpha)]


def _predictions(
    results: BinaryGLMResults, assessed: assessment.Assessed | None, reason: str, stop: list[str]
) -> list[Html]:
    if stop:
        return [tag("p", "Not shown: ", "; ".join(stop), ".", class_="note")]
    table = (
        assessment.calibration(results, assessed)
        if assessed is not None
        else tag("p", f"Calibration is not available: {reason}", class_="note")
    )
    return [table, figures.predictions(results, assessed)]
