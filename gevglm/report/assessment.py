"""How good the predictions are, and warnings: calibration and diagnostics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gevglm.calibration.assessment import Assessment, assess
from gevglm.calibration.estimates import CalibrationTest
from gevglm.exceptions import GevglmError
from gevglm.report.html import Html, joined, table, tag
from gevglm.report.numbers import count, plain, pvalue, with_limits
from gevglm.results.predicted_rows import assessed_rows
from gevglm.results.summary import FEW_EVENTS_PER_PARAMETER, events_per_parameter

if TYPE_CHECKING:
    from gevglm.results import BinaryGLMResults

SHOWN = ("Brier score", "scaled Brier score", "log loss", "AUC", "average precision", "observed / expected",
         "calibration in the large", "calibration slope", "ICI", "E90")  # fmt: skip
TESTS = ("intercept 0 and slope 1", "Hosmer-Lemeshow", "Stukel")
REFITTED_ROWS = 20_000  # up to which predictions are cross-validated
SEPARATION_ROWS = 20_000  # up to which separation is looked for, if the fit did not
LARGE_DISTANCE = 0.5  # Cook's
FOLDS = 10
LEVELS = ("problem", "warning", "fine")


@dataclass(frozen=True)
class Assessed:
    """How good the predictions are."""

    assessment: Assessment
    how: str  # on which predictions, in a few words
    weighted: bool  # whether rows were weighted to the population, so that intervals and tests do not hold

    @property
    def tests(self) -> dict[str, CalibrationTest]:
        """The tests that are shown, and that the findings speak of."""
        known = {} if self.weighted else self.assessment.tests
        return {name: known[name] for name in TESTS if name in known}


def assess_predictions(results: BinaryGLMResults) -> Assessed:
    """Assess the predictions: cross-validated where that is quick and possible, else on the rows of the fit."""
    model = results.model
    by_outcome = model.sampling.population_weights(np.array([0.0, 1.0]))
    weighted = by_outcome is not None or model.sampling.reweights or model.design.represents is not None
    plain_rows = results.has_data and model.design.counts is None
    if plain_rows and not weighted and results.search is None and len(model.endog) <= REFITTED_ROWS:
        try:
            return Assessed(results.calibration(resampling="cv", folds=FOLDS), f"{FOLDS}-fold cross-validation", False)
        except GevglmError:  # a fold without events, say
            pass
    if (
        not results.has_data or model.design.sample is not None
    ):  # the design of a survey is what intervals and tests go by
        return Assessed(results.calibration(), "on the rows of the fit", weighted and model.design.sample is None)
    return Assessed(assess(*assessed_rows(results), in_sample=True, rng=0), "on the rows of the fit", weighted)


def calibration(results: BinaryGLMResults, assessed: Assessed) -> Html:
    """Return the table of calibration, and how to read it."""
    frame = assessed.assessment.summary_frame()
    rows = []
    for name, row in frame.loc[[name for name in SHOWN if name in frame.index]].iterrows():
        known = np.isfinite(row["ci_lower"]) and not assessed.weighted
        limits = with_limits(row["estimate"], row["ci_lower"], row["ci_upper"]) if known else plain(row["estimate"])
        rows.append((name, limits, ""))
    for name, test in assessed.tests.items():
        rows.append((f"{name} (test)", f"{plain(test.statistic)} on {test.df:g} df", pvalue(test.pvalue)))
    remarks = [f"Predictions: {assessed.how}."]
    if assessed.how.startswith("on the rows"):
        remarks.append("Every model looks better on the rows it was fitted to than on new ones.")
    if assessed.weighted:
        remarks.append(
            "Rows are weighted, for which intervals and tests of calibration do not hold; they are left out."
        )
    remarks += list(assessed.assessment.notes)
    header = ("", f"estimate ({100 * assessed.assessment.level:g} % interval)", "p")
    return joined([table(header, rows), tag("p", " ".join(remarks), class_="note")])


@dataclass(frozen=True)
class Remark:
    """What a check found: a problem, a warning, or nothing."""

    level: str  # one of LEVELS
    text: str


def fatal(results: BinaryGLMResults) -> list[str]:
    """Return reasons for which estimates must not be used."""
    separation = results.known_separation
    if separation is not None and separation.separated and results.bias is None and not results.alpha:
        return [f"{separation}; fit with bias='firth'"]
    if not results.converged:
        return [f"the fit has not converged ({results.reason})"]
    return []


def remarks_on(results: BinaryGLMResults, influential: pd.DataFrame | None) -> list[Remark]:
    """Return the checks with their outcome, the worst first; the most influential rows are known where they can be."""
    checks = (_iteration, _separation, _events, _support, _shape, _rows)
    remarks = [remark for check in checks for remark in check(results)]
    if influential is not None:
        remarks.append(_most_influential(influential))
    return sorted(remarks, key=lambda remark: LEVELS.index(remark.level))


def diagnostics(remarks: Sequence[Remark]) -> Html:
    """Return remarks as a list, each marked by its level."""
    marked = [tag("li", tag("span", one.level, class_="mark"), one.text, class_=one.level) for one in remarks]
    return tag("ul", *marked, class_="status")


def _iteration(results: BinaryGLMResults) -> Iterator[Remark]:
    if not results.converged:
        yield Remark("problem", f"Not converged: {results.reason}. Do not use these estimates.")
    elif not results.positive_definite:
        yield Remark("problem", "The second derivative is not positive definite: the solution may not be a minimum.")
    else:
        yield Remark("fine", f"The iteration converged in {results.n_iter} steps (decrement {results.decrement:.1e}).")


def _separation(results: BinaryGLMResults) -> Iterator[Remark]:
    if results.known_separation is None and not (results.has_data and len(results.model.endog) <= SEPARATION_ROWS):
        return
    found = results.separation
    if not found.separated:
        text = "No combination of the columns separates the outcomes: maximum-likelihood estimates are finite."
        yield Remark("fine", text)
    elif results.bias is not None or results.alpha:
        advice = "the estimates are finite because their bias is reduced or they are penalised"
        yield Remark("warning", f"The outcomes are separated ({found}); {advice}.")
    else:
        yield Remark("problem", f"The outcomes are separated ({found}); fit with bias='firth'.")


def _events(results: BinaryGLMResults) -> Iterator[Remark]:
    each = events_per_parameter(results)
    text = f"{plain(each)} observations of the rarer outcome per coefficient"
    if each >= FEW_EVENTS_PER_PARAMETER:
        yield Remark("fine", f"{text}, enough for {'bias-reduced' if results.bias else 'the usual'} estimates.")
    elif results.bias is not None:
        limits = "the bias of the estimates is reduced, but intervals are wide and selection of variables is not safe"
        yield Remark("warning", f"Only {text}; {limits}.")
    else:
        advice = "estimates are biased away from zero; consider bias='firth'"
        yield Remark("warning", f"Only {text} (fewer than {FEW_EVENTS_PER_PARAMETER}): {advice}.")


def _support(results: BinaryGLMResults) -> Iterator[Remark]:
    if results.n_contradicted:
        text = f"{_many(results.n_contradicted, 'observation')} had an outcome that the fitted link declares impossible (probability exactly 0 or 1)"
        yield Remark("problem", f"{text}: try another xi, or another link.")
    elif results.n_outside_support:
        text = f"{_many(results.n_outside_support, 'row')} outside the support of the link, with a fitted probability of exactly 0 or 1"
        yield Remark("warning", f"{text}; no outcome contradicts it.")


def _many(number: float, thing: str) -> str:
    return f"{count(number)} {thing}{'' if number == 1 else 's'}"


def _shape(results: BinaryGLMResults) -> Iterator[Remark]:
    if results._shape is not None and results._shape.boundary:
        text = "The likelihood is largest at an end of the grid of shapes: these data do not determine xi."
        yield Remark("warning", text)
    elif results._shape is not None and results._shape.irregular:
        text = f"The maximum of the likelihood over xi is irregular: {results._shape.irregular}."
        yield Remark("warning", f"{text} Standard errors are by the profile of xi.")


def _rows(results: BinaryGLMResults) -> Iterator[Remark]:
    design = results.model.design
    if design.n_missing:
        share = design.n_missing / design.n_given
        text = f"{count(design.n_missing)} of {count(design.n_given)} rows were incomplete and left out ({100 * share:.2g} %)."
        yield Remark("warning" if share > 0.05 else "fine", text)
    if not results.has_data:
        text = "The rows are not in memory (removed, or read in pieces): influence of single rows is not shown."
        yield Remark("warning", text)


def _most_influential(rows: pd.DataFrame) -> Remark:
    distances = rows["cooks_distance"].to_numpy()
    first = np.argsort(-distances, kind="stable")[0]  # not argmax, which finds NaN
    text = f"The most influential row is {rows.index[first]} (Cook's distance {plain(float(distances[first]), 2)}"
    if distances[first] > LARGE_DISTANCE:
        return Remark("warning", f"{text}): see how the results change without it.")
    return Remark("fine", f"{text}): no single row dominates.")
