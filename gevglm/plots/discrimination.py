"""What predicted risks are good for: telling events from others, and deciding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.plots.axes import COLORS, finish, new_axes, plain_log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.calibration.curves import DecisionCurve, PrecisionRecallCurve, RiskSpread, RocCurve

VERTICES = 400  # that a line needs


def plot_roc(curve: RocCurve, *, ax: Axes | None = None) -> Axes:
    """Draw an ROC curve with its area."""
    ax = ax or new_axes(4.4, 4.2)
    x, y = curve.false_positive_rate, curve.true_positive_rate
    shown = _vertices(x + y)
    ax.plot([0.0, 1.0], [0.0, 1.0], color="0.55", linewidth=1, linestyle=":")
    ax.plot(x[shown], y[shown], color=COLORS[0], linewidth=1.8)
    ax.annotate(f"AUC {curve.auc:.3f}", (0.96, 0.06), xycoords="axes fraction", ha="right")
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ax.set_aspect("equal")
    return finish(ax, "share of non-events called events", "share of events found")


def plot_precision_recall(curve: PrecisionRecallCurve, *, ax: Axes | None = None) -> Axes:
    """Draw a precision-recall curve, and the prevalence: the precision of calling at random."""
    ax = ax or new_axes(5.0, 4.0)
    shown = _vertices(np.arange(len(curve.recall)) + 10.0 * len(curve.recall) * curve.recall)
    x, y, label = curve.recall[shown], curve.precision[shown], f"average precision {curve.average_precision:.3g}"
    ax.plot(x, y, color=COLORS[0], linewidth=1.6, drawstyle="steps-pre", label=label)
    label = f"prevalence {_percent(curve.prevalence)}"
    ax.axhline(curve.prevalence, color="0.45", linewidth=1.2, linestyle=":", label=label)
    settled = curve.precision[curve.recall >= 0.02]
    ax.set_ylim(0.0, min(1.0, 1.15 * max(float(settled.max()), 2.0 * curve.prevalence)))
    ax.set_xlim(0.0, 1.0)
    return finish(ax, "share of events found (recall)", "share right (precision)", "above")


def plot_decision(curve: DecisionCurve, *, ax: Axes | None = None) -> Axes:
    """Draw a decision curve: net benefit of acting by the model, with its band, on all, on none."""
    ax = ax or new_axes(5.6, 3.8)
    ax.plot(curve.threshold, curve.net_benefit, color=COLORS[0], linewidth=1.8, label="act by the model")
    ax.fill_between(curve.threshold, curve.lower, curve.upper, color=COLORS[0], alpha=0.15, linewidth=0)
    ax.plot(curve.threshold, curve.act_on_all, color=COLORS[1], linewidth=1.2, linestyle="--", label="act on all")
    ax.axhline(0.0, color="0.45", linewidth=1, linestyle=":", label="act on none")
    top = max(float(curve.upper.max()), float(curve.act_on_all.max()))
    ax.set_ylim(min(-0.12 * top, 1.1 * float(curve.net_benefit.min())), 1.08 * top)
    ax.set_xlim(curve.threshold.min(), curve.threshold.max())
    return finish(ax, "risk from which one acts", "net benefit (true positives per observation)", "above")


def plot_risk_spread(spread: RiskSpread, *, ax: Axes | None = None) -> Axes:
    """Draw how predicted risks are spread among events and others, with their medians."""
    ax = ax or new_axes(6.0, 3.6)
    for share, median, tone, label in (
        (spread.others, spread.median_others, "0.45", "non-events"),
        (spread.events, spread.median_events, COLORS[1], "events"),
    ):
        ax.stairs(share, spread.edges, fill=True, color=tone, alpha=0.35)
        ax.stairs(share, spread.edges, color=tone, linewidth=1.2, label=f"{label}, median {_percent(median)}")
        ax.axvline(median, color=tone, linewidth=1, linestyle="--")
    ax.set_xlim(spread.edges[0], spread.edges[-1])
    if spread.logarithmic:
        ax.set_xscale("log")
        plain_log_ticks(ax.xaxis, *ax.get_xlim())
    ax.set_ylim(bottom=0.0)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    return finish(ax, "predicted risk", "share of the outcome", "above")


def _vertices(along: NDArray) -> NDArray:
    """Return the points of a line that are seen: the first, the last, and those at equal distances between."""
    if len(along) <= VERTICES:
        return np.arange(len(along))
    places = np.searchsorted(along, np.linspace(along[0], along[-1], VERTICES))
    return np.unique(np.concatenate([[0], places.clip(0, len(along) - 1), [len(along) - 1]]))


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %"
