"""The report of an average over links: one HTML file that needs nothing else."""

from __future__ import annotations

import datetime
import platform
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gevglm import __version__
from gevglm._files import check_target, write_text
from gevglm.averaging.prediction import WHAT_LIMITS_SHOW
from gevglm.averaging.summary import HEADERS, notes_on, weight_rows
from gevglm.calibration.assessment import Assessment
from gevglm.plots import new_axes
from gevglm.report import study
from gevglm.report.assessment import Assessed, calibration
from gevglm.report.code import call
from gevglm.report.effects import predictors
from gevglm.report.figures import CURVES, SIZE, SQUARE, Gallery
from gevglm.report.html import Html, items, joined, table, tag
from gevglm.report.numbers import count, percent
from gevglm.report.page import Section, page
from gevglm.results import check_alpha

if TYPE_CHECKING:
    from gevglm.averaging.averaged import AveragedLinks


def write_report(
    average: AveragedLinks, path: Any, *, title: str | None, author: str, alpha: float, resamples: int | None, rng: Any
) -> Path:
    """Write the report of an average; see :meth:`gevglm.AveragedLinks.report`."""
    path = check_target(path)
    check_alpha(alpha)
    new_axes()  # says how to get matplotlib, before anything is computed
    design = average.rows("a report").design
    assessed = average.calibration()
    sections = [
        Section("findings", "Findings", [items(_findings(average, assessed), class_="findings")]),
        Section("study", "Model and data", [_facts(average), study.characteristics(average.results)]),
        Section("weights", "Weights of the links", _weights(average)),
        Section("effects", "Effects on the risk", _effects(average, alpha, resamples, rng)),
        Section("predictions", "Predictions and calibration", _predictions(average, assessed)),
        Section("code", "Code", [tag("pre", tag("code", Html(escape(_code(average)))))]),
    ]
    subtitle = ", ".join(part for part in (author, datetime.date.today().isoformat(), "average over links") if part)
    foot = f"Made with gevglm {__version__} and Python {platform.python_version()}."
    write_text(path, page(title or f"Risks of {design.outcome}", subtitle, sections, foot))
    return path


def _findings(average: AveragedLinks, assessed: Assessment) -> list[str]:
    best = average.weights.sort_values(average.criterion).iloc[0]
    mean, score = average.scores[average.criterion], average.criterion.replace("_", " ")
    slope = assessed.summary_frame().loc["calibration slope", "estimate"]
    return [
        f"{count(average.nobs)} observations, {count(average.n_events)} events; the risks of {len(average.weights)} links are averaged.",
        f"The held-out {score} of the average is {mean:.5f}; that of the best single link, {best.name}, is {best[average.criterion]:.5f}. "
        "Weights and link were chosen on the same rows.",
        f"The calibration slope on held-out rows is {slope:.3f}; 1 is perfect.",
    ]


def _facts(average: AveragedLinks) -> Html:
    model = average.rows("a report")
    rows = [
        ("Outcome", f"{model.design.outcome} (the event: {average.results.event})"),
        ("Observations", count(average.nobs)),
        ("Events", f"{count(average.n_events)} ({percent(average.n_events / average.nobs, 3)})"),
        ("Model", getattr(model, "formula", f"{len(model.design.names)} columns of a design matrix")),
        ("Criterion", average.criterion.replace("_", " ")),
        *((name.rstrip(":"), words[0]) for name, words in model.sampling.facts()),
    ]
    return tag("div", table((), rows, words=2), class_="facts")


def _weights(average: AveragedLinks) -> list[Html]:
    gallery = Gallery()
    shown = partial(average.plot_weights, ax=new_axes(*SIZE))
    gallery.add("weights", shown, "Weights of the links", "Weights of the links.")
    return [table(("candidate", *HEADERS), weight_rows(average), words=2), items(notes_on(average)), gallery.html()]


def _effects(average: AveragedLinks, alpha: float, resamples: int | None, rng: Any) -> list[Html]:
    """Return the risk along the first variables of the model."""
    gallery, options = Gallery(), {"alpha": alpha, "resamples": resamples, "rng": rng}
    names = predictors(average.results)
    for i, name in enumerate(names[:CURVES]):
        gallery.add(
            f"effect-{i}",
            lambda name=name: average.plot_effect(name, ax=new_axes(*SIZE), **options),  # type: ignore[misc]
            f"Predicted risk by {name}",
            f"Risk by {name}.",
        )
    which = (
        "Predicted risk"
        if len(names) <= CURVES
        else f"Predicted risk along the first {CURVES} of {len(names)} variables"
    )
    drawn = len(average.bootstrap(resamples, rng))
    how = f"{100 * (1 - alpha):g} % bands by the bootstrap of the whole procedure ({drawn} resamples)"
    text = f"{which}, averaged over {count(average.nobs)} observations with everything else unchanged; {how}. {WHAT_LIMITS_SHOW}"
    return [tag("p", text, class_="note"), gallery.html()]


def _predictions(average: AveragedLinks, assessed: Assessment) -> list[Html]:
    model, gallery = average.rows("a report"), Gallery()
    by_outcome = model.sampling.population_weights(np.array([0.0, 1.0])) is not None
    weighted = by_outcome or model.design.represents is not None
    how = "held-out rows"
    gallery.add(
        "calibration",
        lambda: assessed.plot(ax=new_axes(*SQUARE)),
        "Reliability diagram",
        f"Share of events by predicted risk ({how}); calibrated predictions lie on the diagonal.",
    )
    return [joined([calibration(average.results, Assessed(assessed, how, weighted)), gallery.html()])]


def _code(average: AveragedLinks) -> str:
    formula = getattr(average.results.model, "formula", None)
    first = "y, X" if formula is None else f"{formula!r}, data"
    made = call(first, average.code, "average = gevglm.average_links")
    return f"import gevglm\n\n{made}\nprint(average.summary())\naverage.report('report.html')"
