"""What was found, in sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gevglm.calibration.estimates import CalibrationTest, Measured
from gevglm.report.effects import Effect, Effects
from gevglm.report.html import Html, joined, tag
from gevglm.report.numbers import count, percent, plain, pvalue, rounded, with_limits

if TYPE_CHECKING:
    from gevglm.calibration.assessment import Assessment
    from gevglm.report.assessment import Remark
    from gevglm.results import BinaryGLMResults

MANY = 10  # variables from which chance findings are mentioned
SIGNIFICANT = 0.05
SHOWN = 12  # sentences about variables


def overview(results: BinaryGLMResults) -> Html:
    """Say how many events there are, and what the model is about."""
    events, total = results.n_events, results.n_trials_total
    design = results.model.design
    named = design.trials is None and results.event is not None
    outcome = tag("b", f"{design.outcome} = {results.event}" if named else design.outcome)
    share = f"{count(events)} of {count(total)} observations ({percent(events / total)})"
    parts = [f"{share} have the event, ", outcome, "."]
    if results.prevalence is not None:
        parts.append(
            f" The sample was drawn by the outcome; all risks below are for a population in which {percent(results.prevalence)} have the event."
        )
    population = results.model.sampling.population
    if population is not None and results.has_data:
        weights = results.row_weights.in_population
        rate = float(weights @ results.model.endog / weights.sum())
        stands_for = f"a population of {count(round(population))}, of whom {percent(rate)} have it"
        parts.append(f" By their sampling weights they stand for {stands_for}; all risks below are averages over it.")
    return joined(parts)


def about_effects(effects: Effects, alpha: float) -> list[Html]:
    """Say what each variable goes with, the clearest first; those without a clear direction together."""
    ordered = effects.by_evidence()
    clear = [effect for effect in ordered if _is_clear(effect, alpha)]
    unclear = [effect for effect in ordered if not _is_clear(effect, alpha)]
    shown, more = clear[:SHOWN], len(clear) - SHOWN
    sentences = [_levels_sentence(one) if one.kind == "levels" else _pair_sentence(one, alpha) for one in shown]
    if more > 0:
        sentences.append(joined([f"{more} more variables with a clear direction are in the table of effects."]))
    return sentences + ([_without_direction(unclear, alpha)] if unclear else [])


def _is_clear(effect: Effect, alpha: float) -> bool:
    """Tell whether an effect has a direction, or levels differ; also if its uncertainty is not known."""
    if effect.kind == "levels":
        return not effect.joint >= alpha
    difference = effect.differences.iloc[0]
    return not difference["ci_lower"] <= 0.0 <= difference["ci_upper"]


def _without_direction(unclear: Sequence[Effect], alpha: float) -> Html:
    def short(effect: Effect) -> str:
        if effect.kind == "levels":
            return f"p {_equals(effect.joint)} for its {len(effect.levels)} levels"
        return with_limits(*_triple(effect.differences.iloc[0]), scale=100.0, unit=" points")

    named = [joined([tag("b", effect.variable), f", {short(effect)}"]) for effect in unclear[:SHOWN]]
    more = f"; and {len(unclear) - SHOWN} more" if len(unclear) > SHOWN else ""
    parts = [part for name in named for part in ("; ", name)][1:]
    level = f"{100 * (1 - alpha):g} %"
    end = f". The {level} intervals (in parentheses, percentage points) cover less risk and more; what is compared is in the table of effects."
    return joined([tag("b", "No clear direction"), ": ", *parts, more, end])


def caution(effects: Effects, alpha: float) -> str:
    """Say how the sentences about effects are to be read."""
    text = (
        "Each sentence compares the average predicted risk of the same rows with one variable set to two values and everything else left as it "
        "is. It describes association given the other variables of the model; it is an effect only if they account for all that matters."
    )
    n = len(effects.known)
    if n >= MANY:
        text += f" With {n} variables, about {n * alpha:.1g} of the {100 * (1 - alpha):g} % intervals can be expected to exclude 'no difference' by chance alone."
    return text


def _pair_sentence(effect: Effect, alpha: float) -> Html:
    low, high = effect.risks["estimate"]
    difference, ratio = effect.differences.iloc[0], effect.ratios.iloc[0]
    numbers = rounded([100.0 * abs(difference["estimate"]), *_ordered(difference)])
    name, (below, above) = tag("b", effect.variable), _where(effect)
    if not np.isfinite(difference["se"]):
        text = (
            f": the predicted risk is {percent(high)} {above} and {percent(low)} {below}; its uncertainty is not known."
        )
        return joined([name, text])
    word = "higher" if difference["estimate"] > 0 else "lower"
    times = f", or {with_limits(*_triple(ratio))} times as high" if np.isfinite(ratio["se"]) else ""
    text = (
        f" {above}, {percent(high)}, than {below}, {percent(low)}: {numbers[0]} percentage points {word} "
        f"({100 * (1 - alpha):g} % interval {numbers[1]} to {numbers[2]}){times}."
    )
    return joined([name, ": ", tag("b", f"{word} risk"), text])


def _ordered(difference) -> tuple[float, float]:
    ends = 100.0 * np.sign(difference["estimate"]) * np.array([difference["ci_lower"], difference["ci_upper"]])
    return float(ends.min()), float(ends.max())


def _triple(row) -> tuple[float, float, float]:
    return float(row["estimate"]), float(row["ci_lower"]), float(row["ci_upper"])


def _where(effect: Effect) -> tuple[str, str]:
    first, second = effect.levels
    if effect.kind == "sd":
        return "with half a standard deviation less", "with half a standard deviation more"
    if effect.kind == "quartiles":
        return f"at {first} (first quartile)", f"at {second} (third quartile)"
    return f"with {effect.variable} = {first}", f"with {effect.variable} = {second}"


def _levels_sentence(effect: Effect) -> Html:
    risks = effect.risks["estimate"]
    top, bottom = risks.idxmax(), risks.idxmin()
    limits = {level: with_limits(*_triple(effect.risks.loc[level]), scale=100.0, unit=" %") for level in (top, bottom)}
    text = (
        f": risks differ between its {len(effect.levels)} levels (p {_equals(effect.joint)}). The predicted risk is highest with {top}, {limits[top]}, and lowest with "
        f"{bottom}, {limits[bottom]}."
    )
    return joined([tag("b", effect.variable), text])


def _equals(p: float) -> str:
    text = pvalue(p)
    return text if text.startswith("<") else f"= {text}"


def about_predictions(assessment: Assessment, how: str, tests: Mapping[str, CalibrationTest]) -> list[Html]:
    """Say how well the model tells events from others, and whether its risks can be taken at face value."""
    area = assessment.indices["AUC"]
    pairs = f"a randomly chosen event has a higher predicted risk than a randomly chosen non-event in {percent(float(area))} of pairs"
    ranking = joined([tag("b", "Telling events from others"), f": {pairs} (AUC {_measured(area)}; {how})."])
    slope = assessment.indices.get("calibration slope")
    expected = assessment.n * assessment.mean_prediction
    text = f": {count(round(assessment.n_events, 1))} events happened where the predicted risks add up to {count(round(expected, 1))}"
    if assessment.n % 1.0:  # the effective number of weighted observations, of which nobody has seen the events
        share = assessment.n_events / assessment.n
        text = f": by weight, {percent(share)} had the event where the predicted risks average {percent(assessment.mean_prediction)}"
    spread = "" if slope is None else _spread(slope)
    return [ranking, joined([tag("b", "Calibration"), text, spread, ".", _distance(assessment, tests)])]


def warnings_of(remarks: Sequence[Remark]) -> list[Html]:
    """Say what the checks found, if they found anything."""
    found = [remark.text for remark in remarks if remark.level != "fine"]
    return [joined([tag("b", "Warnings"), ": ", " ".join(found)])] if found else []


def _distance(assessment: Assessment, tests: Mapping[str, CalibrationTest]) -> str:
    """Say how far predicted and observed risks are apart, and whether that may be chance, by all tests that are shown."""
    ici = assessment.indices.get("ICI")
    if ici is None:
        return ""
    text = f" Along the predicted risks, the share of events is {plain(100.0 * float(ici), 2)} percentage points away from them on average"
    if not tests:
        return f"{text}."
    name = min(tests, key=lambda name: tests[name].pvalue)
    smallest = min(len(tests) * tests[name].pvalue, 1.0)  # of Holm's p-values
    chance = "more than chance explains" if smallest < SIGNIFICANT else "which may be chance"
    among = f", the smallest of {len(tests)}, and {pvalue(smallest)} after Holm's correction" if len(tests) > 1 else ""
    return f"{text}, {chance} ({name}: p {_equals(tests[name].pvalue)}{among})."


def _measured(number: float) -> str:
    return (
        with_limits(float(number), number.lower, number.upper) if isinstance(number, Measured) else plain(float(number))
    )


def _spread(slope: float) -> str:
    text = "the spread of the risks fits"
    if isinstance(slope, Measured) and np.isfinite([slope.lower, slope.upper]).all():
        if slope.upper < 1.0:
            text = "the risks are too extreme: high ones are too high, and low ones too low"
        elif slope.lower > 1.0:
            text = "the risks are not extreme enough: high ones are too low, and low ones too high"
    return f"; {text} (calibration slope {_measured(slope)}, 1 being ideal)"


def no_findings(reasons: Sequence[str]) -> Html:
    """Say why there is nothing to tell."""
    return tag("p", "No findings are stated: ", "; ".join(reasons), ".", class_="alert")
