"""The pictures of the report; those that cannot be drawn say why."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gevglm.effectcurves import effect_curve
from gevglm.exceptions import GevglmError
from gevglm.plots import new_axes, plot_effect
from gevglm.report.checks import Judged
from gevglm.report.effects import Effects
from gevglm.report.html import Html, items, joined, tag
from gevglm.report.svg import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.results import BinaryGLMResults

CURVES = 6
POINTS = 31
ROWS = 5000  # averaged over by an effect curve
SIZE = 4.8, 3.5


def effect_curves(results: BinaryGLMResults, effects: Effects, alpha: float) -> Html:
    """Return the risk along the variables with the clearest effects."""
    gallery = Gallery()
    for i, effect in enumerate(effects.by_evidence()[:CURVES]):
        gallery.add(f"effect-{i}", *_effect(results, effect.variable, alpha))
    return gallery.html()


def _effect(results: BinaryGLMResults, variable: str, alpha: float) -> tuple[Callable[[], Axes], str, str]:
    averaged = "the other variables as they are in the data"
    if results.has_data and len(results.model.endog) > ROWS:
        averaged += f", averaged over {ROWS:,} of {len(results.model.endog):,} rows"
    caption = f"Predicted risk by {variable}, with a {100 * (1 - alpha):g} % band; {averaged}. Ticks at the bottom are percentiles of the data."

    def draw() -> Axes:
        curve = effect_curve(results, variable, points=POINTS, rows=ROWS, alpha=alpha)
        return plot_effect(curve, ax=new_axes(*SIZE))

    return (
        draw,
        caption.replace(" Ticks at the bottom are percentiles of the data.", "")
        if not _ticks(results, variable)
        else caption,
        f"Predicted risk by {variable}",
    )


def _ticks(results: BinaryGLMResults, variable: str) -> bool:
    frame = results.model.design.frame
    return frame is None or frame[variable].nunique() > 5


def coefficients(results: BinaryGLMResults, alpha: float) -> Html:
    """Return the picture of the coefficients, each for a standard deviation of its column."""
    gallery = Gallery()
    gallery.add(
        "coefficients",
        lambda: results.plot_coefficients(per="sd", alpha=alpha),
        "Coefficients times the standard deviation of their column, with intervals: comparable with each other.",
        "Coefficients with intervals",
    )
    return gallery.html()


def predictions(results: BinaryGLMResults, judged: Judged | None) -> Html:
    """Return the pictures of predictions."""
    gallery = Gallery()
    gallery.add(
        "risks",
        lambda: results.plot_risks(ax=new_axes(*SIZE)),
        "How predicted risks are spread among events and among the others (fitted rows).",
        "Distribution of predicted risks by outcome",
    )
    if judged is not None:
        gallery.add(
            "calibration",
            lambda: judged.assessed.plot(ax=new_axes(4.8, 4.4)),
            f"Share of events by predicted risk ({judged.how}); calibrated predictions lie on the diagonal.",
            "Reliability diagram",
        )
    gallery.add(
        "link",
        lambda: results.plot_link(ax=new_axes(*SIZE)),
        "The fitted link, the logit nearest to it, and the share of events in tenths of the data.",
        "Fitted link against the logit",
    )
    gallery.add(
        "roc",
        lambda: results.plot_roc(ax=new_axes(4.2, 4.0)),
        "Events found against false alarms, for all thresholds (fitted rows).",
        "ROC curve",
    )
    gallery.add(
        "precision",
        lambda: results.plot_precision_recall(ax=new_axes(*SIZE)),
        "How many of those called events are events, against the share of events found (fitted rows).",
        "Precision-recall curve",
    )
    gallery.add(
        "decision",
        lambda: results.plot_decision(ax=new_axes(*SIZE)),
        "Net benefit of acting on those whose predicted risk is at least a threshold (fitted rows).",
        "Decision curve",
    )
    return gallery.html()


def influence(results: BinaryGLMResults) -> Html:
    """Return the pictures of influential rows."""
    gallery = Gallery()
    gallery.add(
        "cooks",
        lambda: results.plot_influence(ax=new_axes(*SIZE)),
        "Cook's distance of the most influential rows.",
        "Cook's distance",
    )
    gallery.add(
        "dfbetas",
        lambda: results.plot_influence("dfbetas"),
        "Change of each coefficient, in standard errors, without one of these rows.",
        "Dfbetas",
    )
    return gallery.html()


class Gallery:
    """Pictures side by side, and what could not be drawn."""

    def __init__(self) -> None:
        self.pictures: list[Html] = []
        self.missing: list[str] = []

    def add(self, name: str, draw: Callable[[], Axes], caption: str, description: str) -> None:
        """Draw a picture, or note why it cannot be drawn."""
        try:
            self.pictures.append(figure(draw(), name, caption, description))
        except GevglmError as error:
            self.missing.append(f"{description}: not available, {error}")

    def html(self) -> Html:
        """Return the pictures."""
        parts = [tag("div", *self.pictures, class_="figures")] if self.pictures else []
        return joined([*parts, *([items(self.missing, class_="note")] if self.missing else [])])
