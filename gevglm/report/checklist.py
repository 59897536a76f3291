"""Reporting guidelines: what each item of TRIPOD+AI asks for, where this report has it, and what its authors have to write.

The items are those of Collins et al., TRIPOD+AI statement, BMJ 2024; 385: e078378, in words of our own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gevglm.exceptions import unknown_option
from gevglm.report.html import Html, joined, tag
from gevglm.report.numbers import count, plain
from gevglm.report.study import estimation_of
from gevglm.results.summary import events_per_parameter

if TYPE_CHECKING:
    from gevglm.report.assessment import Assessed
    from gevglm.results import BinaryGLMResults

CHECKLISTS = ("tripod+ai",)
HERE, PART, AUTHORS, ELSEWHERE = "here", "in part", "authors", "other data"
WORDS = {
    HERE: "in this report",
    PART: "in part",
    AUTHORS: "to be written by the authors",
    ELSEWHERE: "not known: no other data were looked at",
}


SOURCE = (
    "After Collins et al., TRIPOD+AI statement, BMJ 2024; 385: e078378, in words of our own; the statement itself is what counts. "
    "What the fit cannot know is said to be so."
)


@dataclass(frozen=True)
class Known:
    """What a report knows when the checklist is filled in."""

    results: BinaryGLMResults
    assessed: Assessed | None
    calculator: bool  # whether the report ends with one


@dataclass(frozen=True)
class Answer:
    """What a report says of an item."""

    status: str  # a key of WORDS
    text: str = ""
    sections: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """An item of the checklist."""

    number: str
    topic: str
    asks: str
    answer: Callable[[Known], Answer] = lambda known: Answer(AUTHORS)


def _evaluation(known: Known) -> Answer:
    return Answer(ELSEWHERE)


def _title(known: Known) -> Answer:
    design = known.results.model.design
    return Answer(PART, f"Development of a model; the outcome is {design.outcome}. The target population is not known.")


def _objectives(known: Known) -> Answer:
    return Answer(PART, "The model is developed here, and not evaluated in other data. Aims are not known.")


def _preparation(known: Known) -> Answer:
    said = []
    if known.results.omitted:
        said.append(f"Columns that are combinations of others were left out: {', '.join(known.results.omitted)}.")
    if known.results.left_out:
        said.append(f"Levels with one outcome only were left out: {known.results.left_out}.")
    return Answer(PART, " ".join(said), ("study",)) if said else Answer(AUTHORS)


def _outcome(known: Known) -> Answer:
    design = known.results.model.design
    event = "" if design.trials is not None else f"; the event is {known.results.event}"
    return Answer(PART, f"The column {design.outcome}{event}. How and when it was assessed is not known.", ("study",))


def _predictors(known: Known) -> Answer:
    design = known.results.model.design
    names = design.names if design.recipe is None else list(design.recipe.variables)
    return Answer(PART, f"Those used: {', '.join(names)}. How they were measured is not known.", ("study",))


def _size(known: Known) -> Answer:
    each = plain(events_per_parameter(known.results))
    text = f"{each} observations of the rarer outcome per coefficient. planning.sample_size() has the size that a model needs."
    return Answer(PART, text, ("study", "diagnostics"))


def _missing(known: Known) -> Answer:
    design = known.results.model.design
    if not design.n_missing:
        return Answer(PART, "No row that was given to the fit was incomplete.", ("study",))
    share = f"{count(design.n_missing)} of {count(design.n_given)} rows were incomplete and left out"
    return Answer(PART, f"{share}; nothing was imputed. Why values are missing is not known.", ("study", "diagnostics"))


def _use_of_data(known: Known) -> Answer:
    if known.assessed is None:
        return Answer(PART, "All complete rows were used to fit the model.", ("study",))
    text = f"All complete rows were used to fit the model; its performance is assessed by predictions {_how(known.assessed)}."
    return Answer(HERE, text, ("study", "predictions"))


def _how(assessed: Assessed) -> str:
    return assessed.how if assessed.how.startswith("on ") else f"of {assessed.how}"


def _handling(known: Known) -> Answer:
    if known.results.model.design.recipe is None:
        return Answer(PART, "The columns of the design matrix, as they were given.", ("study", "coefficients"))
    return Answer(HERE, f"By the formula {known.results.model.formula}.", ("study", "coefficients"))


def _building(known: Known) -> Answer:
    results = known.results
    text = f"{results.link.population.label} link, {estimation_of(results)}"
    inside = (
        "" if known.assessed is None else f"; validated {known.assessed.how}".replace("validated 10", "validated by 10")
    )
    return Answer(PART, f"{text}{inside}. Why this model, and what else was tried, is not known.", ("study", "code"))


def _heterogeneity(known: Known) -> Answer:
    clusters = known.results.clusters
    if clusters is None:
        return Answer(AUTHORS)
    text = f"Standard errors allow for {clusters.n_clusters} clusters; coefficients are the same in all of them."
    return Answer(PART, text, ("study", "coefficients"))


def _measures(known: Known) -> Answer:
    if known.assessed is None:
        return Answer(AUTHORS)
    text = "Scores, discrimination, calibration with its tests, and net benefit; reliability diagram, ROC, precision-recall and decision curve."
    return Answer(HERE, text, ("predictions",))


def _computed(known: Known) -> Answer:
    return Answer(HERE, "By the formula of the model; the code has the call.", ("coefficients", "code"))


def _imbalance(known: Known) -> Answer:
    sampling = known.results.model.sampling
    facts = "; ".join(f"{name} {words[0].rstrip('.')}" for name, words in sampling.facts())
    if facts:
        return Answer(PART, f"{facts}. Risks are those in the population. The reasons are not known.", ("study",))
    return Answer(HERE, "None: rows were neither weighted nor sampled by their outcome in the fit.", ("study",))


def _output(known: Known) -> Answer:
    text = (
        "A probability, with its interval. No class is assigned; the decision curve shows what thresholds would bring."
    )
    return Answer(HERE, text, ("predictions",))


def _code(known: Known) -> Answer:
    return Answer(PART, "The call of the fit. How the data were prepared is not known.", ("code",))


def _flow(known: Known) -> Answer:
    results = known.results
    events, total = results.n_events, results.n_trials_total
    text = f"{count(total)} observations, {count(events)} with the outcome and {count(total - events)} without. How they were found is not known."
    return Answer(PART, text, ("study",))


def _characteristics(known: Known) -> Answer:
    if not known.results.has_data:
        return Answer(AUTHORS)
    return Answer(PART, "The variables by outcome. Dates, treatments and settings are not known.", ("study",))


def _analysed(known: Known) -> Answer:
    results = known.results
    events, total = count(results.n_events), count(results.n_trials_total)
    return Answer(HERE, f"{total} observations with {events} events in the one analysis that there is.", ("study",))


def _specification(known: Known) -> Answer:
    text = "All coefficients with intervals, the link and the call of the fit"
    more = "; a calculator." if known.calculator else "; results.to_json() writes the formula."
    return Answer(HERE, text + more, ("coefficients", "code", *(["calculator-section"] if known.calculator else [])))


def _performance(known: Known) -> Answer:
    if known.assessed is None:
        return Answer(AUTHORS)
    return Answer(PART, f"Estimated by predictions {_how(known.assessed)}. Subgroups: results.calibration(data, by=).", ("predictions",))  # fmt: skip


def _interpretation(known: Known) -> Answer:
    return Answer(PART, "Sentences made from the numbers. What they mean beside earlier studies is not known.", ("findings",))  # fmt: skip


def _limitations(known: Known) -> Answer:
    return Answer(PART, "What the checks of the fit found. Limits of the study itself are not known.", ("diagnostics",))


def _poor_input(known: Known) -> Answer:
    if not known.calculator:
        return Answer(PART, "Rows with missing values or unknown levels have no prediction.")
    text = "A missing value has no risk; the calculator warns of values and combinations outside the data. What to do then is not known."
    return Answer(PART, text, ("calculator-section",))


TRIPOD_AI = (
    Item("1", "Title", "That a prediction model is developed or evaluated, for whom, and for which outcome.", _title),
    Item("2", "Abstract", "A structured abstract, after the checklist for abstracts."),
    Item("3a", "Background", "The medical context, diagnosis or prognosis; why a model is needed, and which ones there are."),
    Item("3b", "Background", "Whom the model is meant for, its purpose in the course of care, and who will use it."),
    Item("3c", "Background", "Inequalities in health between groups of society, as far as they are known."),
    Item("4", "Objectives", "The aims, and whether a model is developed, evaluated or both.", _objectives),
    Item("5a", "Data", "Where the data come from, why they were used, and whom they represent."),
    Item("5b", "Data", "When participants were included, from the first to the last, and the end of follow-up."),
    Item("6a", "Participants", "The setting, such as primary care, with the number and the places of centres."),
    Item("6b", "Participants", "Who was eligible."),
    Item("6c", "Participants", "Treatments that participants received, and how they were dealt with."),
    Item("7", "Data preparation", "How data were cleaned and checked, and whether this was alike across groups.", _preparation),
    Item("8a", "Outcome", "The outcome and its time horizon; how and when it was assessed, and why it was chosen.", _outcome),
    Item("8b", "Outcome", "Who assessed the outcome, where that takes judgement."),
    Item("8c", "Outcome", "Whether those who assessed it were blind to the predictors."),
    Item("9a", "Predictors", "How the first set of predictors was chosen, and any selection before modelling."),
    Item("9b", "Predictors", "Each predictor; how and when it was measured, and whether blindly.", _predictors),
    Item("9c", "Predictors", "Who measured predictors, where that takes judgement."),
    Item("10", "Sample size", "How the size of the study came about, and that it is enough.", _size),
    Item("11", "Missing data", "How missing values were handled, and why data were left out.", _missing),
    Item("12a", "Analysis", "How data were used and divided for development and evaluation.", _use_of_data),
    Item("12b", "Analysis", "The functional form of predictors, their scaling and transformation.", _handling),
    Item("12c", "Analysis", "The kind of model and why, every step of its building, tuning, internal validation.", _building),
    Item("12d", "Analysis", "How differences between clusters, such as hospitals, were handled and measured.", _heterogeneity),
    Item("12e", "Analysis", "The measures and pictures of performance.", _measures),
    Item("12f", "Analysis", "Updating of the model after its evaluation.", _evaluation),
    Item("12g", "Analysis", "How predictions were computed for the evaluation.", _computed),
    Item("13", "Class imbalance", "Whether classes were balanced, why and how, and how risks were calibrated again.", _imbalance),
    Item("14", "Fairness", "What was done for the fairness of the model, and why."),
    Item("15", "Output", "What the model returns; thresholds of classes, and their reasons.", _output),
    Item("16", "Development and evaluation", "Differences in setting, eligibility, outcome and predictors between both data.", _evaluation),
    Item("17", "Ethics", "The committee that approved the study; consent, or why none was needed."),
    Item("18a", "Open science", "Who paid for the study, and what part they had in it."),
    Item("18b", "Open science", "Conflicts of interest of all authors."),
    Item("18c", "Open science", "Where the protocol is, or that there is none."),
    Item("18d", "Open science", "Where the study is registered, or that it is not."),
    Item("18e", "Open science", "Whether and how the data can be had."),
    Item("18f", "Open science", "Whether and how the code can be had.", _code),
    Item("19", "Patients and public", "What part patients and the public had in the study, or that they had none."),
    Item("20a", "Participants", "The flow of participants: how many with the outcome and without, and their follow-up.", _flow),
    Item("20b", "Participants", "Their characteristics: predictors, dates, treatments, events, missing values.", _characteristics),
    Item("20c", "Participants", "For an evaluation: how they differ from those of the development.", _evaluation),
    Item("21", "Development", "Participants and events in each analysis.", _analysed),
    Item("22", "Specification", "The whole model, so that anyone can predict with it and check it.", _specification),
    Item("23a", "Performance", "Measures of performance with intervals, for important groups too.", _performance),
    Item("23b", "Performance", "How much performance differs between clusters, if that was looked at."),
    Item("24", "Updating", "The updated model and how it performs.", _evaluation),
    Item("25", "Interpretation", "What the results mean, fairness included, beside aims and earlier studies.", _interpretation),
    Item("26", "Limitations", "The limits of the study, and what they do to bias, uncertainty and generality.", _limitations),
    Item("27a", "Use", "What to do about inputs that are poor or missing when the model is used.", _poor_input),
    Item("27b", "Use", "Whether users handle inputs or the model, and what they have to know."),
    Item("27c", "Use", "What research comes next, for the model to be applicable elsewhere."),
)  # fmt: skip


def check_checklist(word: str | None) -> None:
    """Refuse checklists that are not known."""
    if word is not None and str(word).lower() not in CHECKLISTS:
        raise unknown_option("checklist", word, CHECKLISTS)


class Checklist:
    """The checklist of a report whose sections have the titles given."""

    def __init__(self, titles: Mapping[str, str]):
        self.titles = titles
        self.answers: list[Answer] = []

    def fill(self, known: Known) -> list[Html]:
        """Answer every item, and return the checklist."""
        self.answers = [item.answer(known) for item in TRIPOD_AI]
        rows = [_row(item, answer, self.titles) for item, answer in zip(TRIPOD_AI, self.answers, strict=True)]
        head = tag("thead", tag("tr", *(tag("th", word) for word in ("Item", "Asked for", "In this report"))))
        return [
            tag("p", _counted(self.answers)),
            tag("div", tag("table", head, tag("tbody", *rows)), class_="wide checklist"),
            tag("p", SOURCE, class_="note"),
        ]

    def items_of_sections(self) -> dict[str, str]:
        """Return the numbers of the items that each section answers."""
        found: dict[str, list[str]] = {}
        for item, answer in zip(TRIPOD_AI, self.answers, strict=True):
            for key in answer.sections:
                found.setdefault(key, []).append(item.number)
        return {key: f"TRIPOD+AI {', '.join(numbers)}" for key, numbers in found.items()}


def _counted(answers: Sequence[Answer]) -> str:
    known = {status: sum(answer.status == status for answer in answers) for status in WORDS}
    return (
        f"Of {len(answers)} items, {known[HERE]} are in this report and {known[PART]} in part; {known[AUTHORS]} have to be written by the authors, "
        f"and {known[ELSEWHERE]} concern an evaluation in other data. Numbers beside the headings are those of the items."
    )


def _row(item: Item, answer: Answer, titles: Mapping[str, str]) -> Html:
    links = [tag("a", titles[key], href=f"#{key}") for key in answer.sections if key in titles]
    where = joined([" See ", *(part for i, link in enumerate(links) for part in ((", ", link) if i else (link,))), "."])
    status = tag("span", WORDS[answer.status], class_=f"answer {answer.status.replace(' ', '-')}")
    said = tag("td", status, tag("br") if answer.text else "", answer.text, where if links else "")
    return tag("tr", tag("th", item.number, tag("br"), " ", item.topic), tag("td", item.asks), said)
