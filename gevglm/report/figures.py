"""The pictures of the report; those that cannot be drawn say why."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gevglm.effects.curves import effect_curve
from gevglm.exceptions import GevglmError
from gevglm.plots import new_axes, plot_cooks_distance, plot_dfbetas, plot_effect
from gevglm.report.assessment import Assessed
from gevglm.report.effects import Effects
from gevglm.report.html import Html, items, joined, tag
from gevglm.report.svg import figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gevglm.results import BinaryGLMResults

CURVES = 6
POINTS = 31
AVERAGED_ROWS = 5000  # of an effect curve
SIZE = 4.8, 3.5  # inches; all are equally wide, so that their letters are equally large
SQUARE = 4.8, 4.4
PICTURES = {  # description and caption
    "coefficients": ("Coefficients with intervals", "Coefficients times the standard deviation of their column, with intervals: comparable with each other."),
    "risks": ("Distribution of predicted risks by outcome", "How predicted risks are spread among events and among the others (fitted rows)."),
    "link": ("Fitted link against the logit", "The fitted link, the logit nearest to it, and the share of events in tenths of the data."),
    "roc": ("ROC curve", "Events found against false alarms, for all thresholds (fitted rows)."),
    "precision": ("Precision-recall curve", "How many of those called events are events, against the share of events found (fitted rows)."),
    "decision": ("Decision curve", "Net benefit of acting on those whose predicted risk is at least a threshold (fitted rows)."),
    "cooks": ("Cook's distance", "Cook's distance of the most influential rows."),
    "dfbetas": ("Dfbetas", "Change of each coefficient, in standard errors, without one of these rows."),
}  # fmt: skip


def effect_curves(results: BinaryGLMResults, effects: Effects, alpha: float) -> Html:
    """Return the risk along the variables with the clearest effects."""
    gallery = Gallery()
    for i, effect in enumerate(effects.by_evidence()[:CURVES]):
        name = effect.variable
        gallery.add(f"effect-{i}", _effect(results, name, alpha), f"Predicted risk by {name}", f"Risk by {name}.")
    return joined([tag("p", _how_averaged(results, effects, alpha), class_="note"), gallery.html()])


def _how_averaged(results: BinaryGLMResults, effects: Effects, alpha: float) -> str:
    n = len(results.model.endog)
    which = "Predicted risk"
    if len(effects.known) > CURVES:
        which += f" along the {CURVES} variables with the clearest effects,"
    every = f"{results.n_trials_total:,.0f} observations"
    rows = f"{AVERAGED_ROWS:,} of {n:,} rows" if n > AVERAGED_ROWS else every
    band = f"{100 * (1 - alpha):g} % bands"
    known = "".join(f", {remark}" for remark in (results.model.sampling.remark(),) if remark)
    return f"{which} with {band}, averaged over {rows} with everything else unchanged{known}. Ticks at the bottom are percentiles of the data."


def _effect(results: BinaryGLMResults, variable: str, alpha: float) -> Callable[[], Axes]:
    def draw() -> Axes:
        curve = effect_curve(results, variable, points=POINTS, rows=AVERAGED_ROWS, alpha=alpha)
        return plot_effect(curve, ax=new_axes(*SIZE))

    return draw


def coefficients(results: BinaryGLMResults, alpha: float) -> Html:
    """Return the picture of the coefficients, each for a standard deviation of its column."""
    gallery = Gallery()
    gallery.add("coefficients", lambda: results.plot_coefficients(per="sd", alpha=alpha, ax=_rows_of_names(results)))
    return gallery.html()


def predictions(results: BinaryGLMResults, assessed: Assessed | None) -> Html:
    """Return the pictures of predictions."""
    gallery = Gallery()
    gallery.add("risks", lambda: results.plot_risks(ax=new_axes(*SIZE)))
    if assessed is not None:
        caption = f"Share of events by predicted risk ({assessed.how}); calibrated predictions lie on the diagonal."
        diagram = "Reliability diagram", caption
        gallery.add("calibration", lambda: assessed.assessment.plot(ax=new_axes(*SQUARE)), *diagram)
    gallery.add("link", lambda: results.plot_link(ax=new_axes(*SIZE)))
    gallery.add("roc", lambda: results.plot_roc(ax=new_axes(*SQUARE)))
    gallery.add("precision", lambda: results.plot_precision_recall(ax=new_axes(*SIZE)))
    gallery.add("decision", lambda: results.plot_decision(ax=new_axes(*SIZE)))
    return gallery.html()


def influence(results: BinaryGLMResults, rows: pd.DataFrame) -> Html:
    """Return the pictures of influential rows."""
    gallery = Gallery()
    gallery.add("cooks", lambda: plot_cooks_distance(rows, ax=new_axes(*SIZE)))
    gallery.add("dfbetas", lambda: plot_dfbetas(rows[list(results.model.exog_names)], ax=_rows_of_names(results)))
    return gallery.html()


def _rows_of_names(results: BinaryGLMResults) -> Axes:
    """Return Axes with room for a row for each coefficient."""
    return new_axes(SIZE[0], max(1.8, 0.9 + 0.3 * len(results.model.exog_names)))


class Gallery:
    """Pictures side by side, and what could not be drawn."""

    def __init__(self) -> None:
        self.pictures: list[Html] = []
        self.missing: list[str] = []

    def add(self, name: str, draw: Callable[[], Axes], description: str = "", caption: str = "") -> None:
        """Draw a picture, or note why it cannot be drawn; those in ``PICTURES`` have their texts there."""
        description, caption = (description, caption) if description else PICTURES[name]
        try:
            self.pictures.append(figure(draw(), name, caption, description))
        except GevglmError as error:
            self.missing.append(f"{description}: not available, {error}")

    def html(self) -> Html:
        """Return the pictures."""
        parts = [tag("div", *self.pictures, class_="figures")] if self.pictures else []
        return joined([*parts, *([items(self.missing, class_="note")] if self.missing else [])])
