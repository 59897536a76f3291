"""Every phrase of the calculator, in English; words in braces are filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gevglm.exceptions import InvalidOptionError, nearest

PHRASES = (
    # the form
    "Values",
    "choose",
    "yes",
    "no",
    "from {low} to {high} in the data",
    "Typical values",
    "Clear",
    "Print",
    "Type a number.",
    "Write {one} or {other}: a number with one comma or point before three digits may mean either.",
    # the result
    "Risk",
    "Risk of {outcome}",
    "This page needs JavaScript.",
    "{level} % interval: {lower} to {upper}",
    "about {count} in {size}",
    "fewer than 1 in {size}",
    "Fill in {names}.",
    "Correct {names}.",
    "The model has no risk for these values: one of them is beyond what it knows.",
    "For these values the model holds the outcome to be impossible. Be careful: it cannot know that.",
    "For these values the model holds the outcome to be certain. Be careful: it cannot know that.",
    # outside the data
    "Outside the data",
    "{label} {value} is below all values of the data, which begin at {low}. The risk is extrapolated.",
    "{label} {value} is above all values of the data, which end at {high}. The risk is extrapolated.",
    "Each value is within the data, but no combination there is as unusual. The risk is extrapolated.",
    "Each value is within the data, but fewer than 1 in 100 combinations there are as unusual.",
    # what moved it
    "What moved it",
    "For the reference ({values}) the risk is {risk}.",
    "Each line changes one value back to that of the reference and leaves the others as they are.",
    "{label} {value} instead of {reference} raises the risk from {before} to {after}.",
    "{label} {value} instead of {reference} lowers the risk from {before} to {after}.",
    "{label} {value} instead of {reference} leaves the risk at {after}.",
    "As in the reference: {names}.",
    "reference",
    # about the model
    "About this model",
    "Fitted to {total} observations with {events} events.",
    "Model: {formula}. Link: {link}.",
    "Risks are those of a population in which {prevalence} have the outcome.",
    "The interval says how well the data determine this risk; it does not say for whom the outcome will happen.",
    "A calculated risk supports a judgement and does not replace it.",
    "Nothing that is typed leaves this page.",
    "Made with gevglm {version}.",
)
TEXT = {phrase: phrase for phrase in PHRASES}


def translated(text: Mapping[str, str]) -> dict[str, str]:
    """Return all phrases with their translations, English for those that have none; unknown ones are refused."""
    for phrase, own in text.items():
        if phrase not in TEXT:
            raise InvalidOptionError(
                f"text has {phrase!r}, which is not among the phrases of gevglm.report.calculator_text.TEXT.{nearest(phrase, TEXT)}"
            )
        if _gaps(phrase) != _gaps(own):
            raise InvalidOptionError(
                f"text has {own!r} for {phrase!r}, which must have the same words in braces: {', '.join(_gaps(phrase)) or 'none'}."
            )
    return TEXT | dict(text)


def _gaps(phrase: str) -> list[str]:
    return sorted(set(re.findall(r"\{\w+\}", str(phrase))))
