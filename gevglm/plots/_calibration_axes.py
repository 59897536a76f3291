"""Axes of pictures of calibration: their scale, range and ticks, the diagonal, and the spread of the predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gevglm.exceptions import unknown_option
from gevglm.plots.axes import COLORS, finish, plain_log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.calibration.bins import Groups

SCALES = ("linear", "log", "logit")
FOOT = 0.11  # share of the height that a histogram takes
BARS = 60
HIGHEST = 1.0 - 1e-9  # probability that a logit axis still shows


def checked_scale(scale: str | None, groups: list[Groups]) -> str:
    """Return the scale of the axes, chosen by the predictions if it is not given."""
    if scale is None:
        return "log" if any(group.is_rare for group in groups) else "linear"
    if scale not in SCALES:
        raise unknown_option("scale", scale, SCALES)
    return scale


def limits(groups: list[Groups], scale: str) -> tuple[float, float]:
    """Range of the axes: where the predictions are."""
    high = max(group.score[-1] for group in groups)
    if scale == "linear":
        return 0.0, float(high)
    low = min(group.log_axis_start for group in groups)
    return low, float(min(high, HIGHEST)) if scale == "logit" else float(high)


def diagonal(ax: Axes, low: float, high: float) -> None:
    """Draw where predictions and shares of events are equal."""
    line = np.linspace(low, high, 200) if low == 0.0 else np.geomspace(low, high, 200)
    ax.plot(line, line, color="0.55", linewidth=1, linestyle=":", zorder=1)


def finish_scaled(
    ax: Axes,
    scale: str,
    low: float,
    high: float,
    *,
    top: float | None = None,
    xlabel: str = "predicted probability",
    legend_top: float = 1.0,
) -> Axes:
    """Set scales, ranges and ticks of axes of probabilities, label them, and draw the legend."""
    top = high if top is None else top
    ax.set_xscale(scale)
    ax.set_yscale(scale)
    if scale == "linear":
        ax.set_xlim(low, 1.02 * high)
        ax.set_ylim(low, 1.02 * top)
    else:
        ax.set_xlim(low, high)
        ax.set_ylim(low, min(top, 1.0 if scale == "log" else HIGHEST))
        for axis, ends in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            plain_log_ticks(axis, *ends, both_ends=scale == "logit")
    return finish(ax, xlabel, "share of events", "upper left", legend_top=legend_top)


def spread_of(ax: Axes, groups: Groups, scale: str, low: float, high: float) -> None:
    """Histograms along the edges: non-events at the bottom, events at the top."""
    edges = _bar_edges(scale, low, high)
    for place, counts, color, label, upside in (
        (0.0, groups.weight - groups.events, "0.45", "non-events", False),
        (1.0, groups.events, COLORS[1], "events", True),
    ):
        height, _ = np.histogram(np.clip(groups.score, edges[0], edges[-1]), bins=edges, weights=counts)
        inset = ax.inset_axes((0.0, place - FOOT if upside else place, 1.0, FOOT), zorder=0)
        inset.stairs(height, edges, fill=True, color=color, alpha=0.45)
        inset.set_xscale(scale)
        inset.set_xlim(ax.get_xlim())
        top = max(float(height.max()), 1.0)
        inset.set_ylim(*((top, 0.0) if upside else (0.0, top)))
        inset.axis("off")
        beside: dict[str, Any] = {"xycoords": "axes fraction", "va": "center", "annotation_clip": False}
        inset.annotate(label, (1.01, 0.5), fontsize="x-small", color=color, **beside)
    ax.patch.set_visible(False)


def _bar_edges(scale: str, low: float, high: float) -> NDArray:
    if scale == "linear":
        return np.linspace(low, high, BARS + 1)
    if scale == "log":
        return np.geomspace(low, high, BARS + 1)
    inner = np.linspace(np.log(low) - np.log1p(-low), np.log(high) - np.log1p(-high), BARS + 1)
    return 1.0 / (1.0 + np.exp(-inner))
