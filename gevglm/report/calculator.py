"""A page that computes a risk: the formula of a fit with its limits, the columns it asks for, and the words around them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gevglm import __version__
from gevglm._files import check_target, write_text
from gevglm.effects.seen import MOST_COLUMNS, Seen
from gevglm.exceptions import InvalidDataError, InvalidOptionError, nearest
from gevglm.export.scoring import Input
from gevglm.report.calculator_text import translated
from gevglm.report.html import Html, joined, tag
from gevglm.report.numbers import count, percent
from gevglm.results import check_alpha

if TYPE_CHECKING:
    from gevglm.results import BinaryGLMResults

FEW_CHOICES = 4  # that are buttons, and not a list
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"  # no network


@dataclass(frozen=True)
class Wording:
    """What the page calls things; see :meth:`gevglm.BinaryGLMResults.calculator`."""

    title: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    reference: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    text: Mapping[str, str] = field(default_factory=dict)
    language: str = "en"

    def check(self, columns: list[str], outcome: str) -> None:
        """Refuse names that are neither columns of the formula nor, for labels, the outcome."""
        for role in ("labels", "units", "levels", "reference"):
            known = [*columns, outcome] if role == "labels" else columns
            for name in getattr(self, role):
                if name not in known:
                    raise InvalidOptionError(
                        f"{role} has {name!r}, which is not a column of the formula.{nearest(name, known)}"
                    )


@dataclass(frozen=True)
class Question:
    """A column that the page asks for."""

    name: str
    label: str
    unit: str
    choices: list[tuple[Any, str]] | None  # values with their words; None where a number is typed
    reference: Any
    low: float | None = None
    high: float | None = None

    def html(self, i: int, text: Mapping[str, str]) -> Html:
        """Return the field of the form."""
        unit = [" ", tag("span", f"({self.unit})", class_="unit")] if self.unit else []
        if self.choices is None:
            entry = tag("input", id=f"value-{i}", data_input=i, inputmode="decimal", autocomplete="off",
                        aria_describedby=f"hint-{i} error-{i}", aria_invalid="false")  # fmt: skip
            notes = [tag("p", id=f"hint-{i}", class_="hint"), tag("p", id=f"error-{i}", data_error=i, class_="error")]  # fmt: skip
            return tag("div", tag("label", self.label, *unit, for_=f"value-{i}"), entry, *notes, class_="field")
        if len(self.choices) <= FEW_CHOICES:
            buttons = [
                tag("label", tag("input", type="radio", name_=f"value-{i}", value=k), tag("span", word))
                for k, (_, word) in enumerate(self.choices)
            ]
            group = tag("div", *buttons, class_="choices")
            return tag("fieldset", tag("legend", self.label, *unit), group, data_input=i, class_="field")
        options = [tag("option", word, value=k) for k, (_, word) in enumerate(self.choices)]
        first = tag("option", text["choose"], value="")
        entry = tag("select", first, *options, id=f"value-{i}", data_input=i, autocomplete="off")
        return tag("div", tag("label", self.label, *unit, for_=f"value-{i}"), entry, class_="field")


@dataclass(frozen=True)
class Calculator:
    """The parts of a calculator: what it asks, and its script."""

    questions: list[Question]
    script: str
    text: Mapping[str, str]
    wording: Wording

    @classmethod
    def of(cls, results: BinaryGLMResults, wording: Wording, alpha: float, data: Any = None) -> Calculator:
        """Return the calculator of a fit, or refuse fits whose risks have no limits in a formula."""
        check_alpha(alpha)
        text = translated(wording.text)
        refuse(results)
        formula = results.scoring_formula
        if not formula.inputs:
            raise InvalidOptionError("the model has no variables, and a calculator would have nothing to ask for.")
        wording.check([each.column.name for each in formula.inputs], formula.outcome)
        source = results.to_javascript(alpha=alpha)
        seen = _seen(results, data)
        order = {name: i for i, name in enumerate(_as_written(results))}
        inputs = sorted(formula.inputs, key=lambda each: order.get(each.column.name, len(order)))
        questions = [_question(each, seen, wording, text) for each in inputs]
        known = {
            "inputs": [vars(each) for each in questions],
            "reach": seen.reach,
            "level": round(100.0 * (1.0 - alpha), 10),
            "language": wording.language,
            "text": text,
        }
        facts = json.dumps(known, ensure_ascii=False).replace("<", "\\u003c")
        script = f'"use strict";\n(() => {{\nconst model = {facts};\n{source}{asset("calculator.js")}}})();\n'
        return cls(questions, script, text, wording)

    def html(self, heading: str, *, printed: bool = True) -> list[Html]:
        """Return the style, the form with its results, and the script."""
        text = self.text
        words = {"typical": "Typical values", "clear": "Clear", **({"print": "Print"} if printed else {})}
        buttons = [tag("button", text[word], type="button", data_part=part) for part, word in words.items()]
        fields = [question.html(i, text) for i, question in enumerate(self.questions)]
        form = tag("form", *fields, tag("div", *buttons, class_="buttons"), aria_label=text["Values"])

        def part(name: str, word: str = "p", class_: str = "small", **attributes: Any) -> Html:
            return tag(word, data_part=name, class_=class_, **attributes)

        headline = tag(
            "section",
            tag("h2", heading),
            part("risk", class_="risk"),
            part("interval", class_="interval"),
            part("frequency", class_="frequency"),
            part("scale", "div", "picture-of-risk"),
            class_="headline",
        )
        said = part("said", class_="unseen", role="status", aria_live="polite")
        outside = tag(
            "section",
            tag("h3", text["Outside the data"]),
            part("warnings", "ul", ""),
            data_part="outside",
            class_="outside",
            hidden="",
        )
        each = text["Each line changes one value back to that of the reference and leaves the others as they are."]
        why = tag(
            "section",
            tag("h3", text["What moved it"]),
            part("reference"),
            part("moves", "ul", "moves"),
            part("same"),
            tag("p", each, data_part="how", class_="small"),
            data_part="why",
            hidden="",
        )
        details = tag("div", said, outside, why, part("date", class_="small date"), class_="details")
        without = tag("noscript", tag("p", text["This page needs JavaScript."]))
        return [
            tag("style", Html(asset("calculator.css"))),
            without,
            tag("div", form, headline, details, id="calculator", class_="calculator waiting"),
            tag("script", Html(self.script)),
        ]


def refuse(results: BinaryGLMResults) -> None:
    """Refuse fits whose page would mislead, or be too large."""
    if not results.converged:
        raise InvalidDataError(
            f"the fit has not converged ({results.reason}), and a calculator would spread its estimates; see summary()."
        )
    if results.k_params > MOST_COLUMNS:
        raise InvalidOptionError(
            f"the model has {results.k_params} coefficients, and a page with their covariance takes at most {MOST_COLUMNS}; use to_sql() or to_json()."
        )


def write_calculator(results: BinaryGLMResults, path: Any, wording: Wording, alpha: float, data: Any) -> Path:
    """Write the page of a calculator; see :meth:`gevglm.BinaryGLMResults.calculator`."""
    path = check_target(path)
    made = Calculator.of(results, wording, alpha, data)
    outcome = results.model.design.outcome
    title = wording.title or made.text["Risk of {outcome}"].format(outcome=wording.labels.get(outcome, outcome))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="generator", content="gevglm"),
        tag("title", title),
        tag("style", Html(asset("calculator_page.css"))),
    )
    note = [tag("p", wording.note, class_="lead")] if wording.note else []
    header = tag("header", tag("h1", title), *note)
    main = tag("main", *made.html(made.text["Risk"]))
    body = tag("body", header, main, _about(results, made.text))
    page = joined([Html("<!doctype html>\n"), tag("html", head, body, lang=wording.language), "\n"])
    write_text(path, page)
    return path


def asset(name: str) -> str:
    """Return a file beside this one."""
    return files("gevglm.report").joinpath(name).read_text(encoding="utf-8")


def _about(results: BinaryGLMResults, text: Mapping[str, str]) -> Html:
    design, prevalence = results.model.design, results.prevalence
    total, events = count(results.n_trials_total), count(results.n_events)
    model = results.model.formula if design.recipe is not None else f"{design.outcome} ~ {' + '.join(design.names)}"
    sentences = [text["Fitted to {total} observations with {events} events."].format(total=total, events=events)]
    if prevalence is not None:
        words = text["Risks are those of a population in which {prevalence} have the outcome."]
        sentences.append(words.format(prevalence=percent(prevalence, 3)))
    sentences.append(text["Model: {formula}. Link: {link}."].format(formula=model, link=results.link.population.label))
    last = [
        text["The interval says how well the data determine this risk; it does not say for whom the outcome will happen."],
        text["A calculated risk supports a judgement and does not replace it."],
        text["Nothing that is typed leaves this page."],
    ]  # fmt: skip
    return tag(
        "footer",
        tag("h2", text["About this model"]),
        tag("p", " ".join(sentences)),
        tag("p", " ".join(last)),
        tag("p", text["Made with gevglm {version}."].format(version=__version__)),
        class_="about",
    )


def _as_written(results: BinaryGLMResults) -> list[str]:
    recipe = results.model.design.recipe
    return [] if recipe is None else recipe.used


def _seen(results: BinaryGLMResults, data: Any) -> Seen:
    if data is not None or results.has_data:
        return Seen.of(results, data)
    if results._seen is None:
        raise InvalidDataError(
            "the rows of the fit are not in memory, and ranges and typical values of its columns are not known; give data=, a table with them."
        )
    return results._seen


def _question(each: Input, seen: Seen, wording: Wording, text: Mapping[str, str]) -> Question:
    """Return what to ask for a column."""
    name, column = each.column.name, seen.columns[each.column.name]
    named = {True: text["yes"], False: text["no"]} if each.column.kind == "boolean" else {}
    words = named | dict(wording.levels.get(name, {}))
    values = each.levels or column.values or ((False, True) if each.column.kind == "boolean" else ())
    choices = [(value, str(words.get(value, value))) for value in values] or None
    label, unit = wording.labels.get(name, name), wording.units.get(name, "")
    reference = wording.reference.get(name, column.typical)
    if choices is not None:
        unknown = [level for level in wording.levels.get(name, {}) if level not in values]
        if unknown or reference not in values:
            role, value = ("levels", unknown[0]) if unknown else ("reference", reference)
            raise InvalidOptionError(f"{role} has {value!r} for {name!r}, whose values are {', '.join(map(repr, values))}.")  # fmt: skip
        return Question(name, label, unit, choices, values[values.index(reference)])
    if each.column.kind == "text":
        raise InvalidDataError(f"{name!r} is a text with many values, which a page cannot ask for; group them before the fit.")  # fmt: skip
    if name in wording.levels:
        raise InvalidOptionError(f"levels has {name!r}, which is a number with many values; give its unit in units=.")
    if isinstance(reference, (str, bool)) or not _is_number(reference):
        raise InvalidOptionError(f"reference has {reference!r} for {name!r}, which is a number.")
    return Question(name, label, unit, None, float(reference), column.low, column.high)


def _is_number(value: Any) -> bool:
    try:
        return float(value) == float(value)
    except (TypeError, ValueError):
        return False
