"""Axes of pictures of calibration: their scale, range and ticks, the diagonal, and the spread of the predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.calibration.bins import Groups
from gevglm.exceptions import unknown_option
from gevglm.plots.axes import COLORS, plain_log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCALES = ("linear", "log", "logit")
RARE = 0.05  # median prediction below which small probabilities get a logarithmic axis
TAIL = 0.005  # share of the predictions that may lie below a logarithmic axis
FAR_BELOW = 1e-3  # of the mean prediction, where a logarithmic axis begins at the latest
FOOT = 0.11  # share of the height that a histogram takes
BARS = 60
HIGHEST = 1.0 - 1e-9  # probability that a logit axis still shows


def checked_scale(scale: str | None, groups: list[Groups]) -> str:
    """Return the scale of the axes, chosen by the predictions if it is not given."""
    if scale is None:
        return "log" if min(_middle(group) for group in groups) < RARE else "linear"
    if scale not in SCALES:
        raise unknown_option("scale", scale, SCALES)
    return scale


def _middle(groups: Groups) -> float:
    ends = np.cumsum(groups.weight)
    return float(groups.score[np.searchsorted(ends, 0.5 * ends[-1])])


def limits(groups: list[Groups], scale: str) -> tuple[float, float]:
    """Range of the axes: where the predictions are."""
    high = max(group.score[-1] for group in groups)
    if scale == "linear":
        return 0.0, float(high)
    low = min(_low(group) for group in groups)
    return low, float(min(high, HIGHEST)) if scale == "logit" else float(high)


def _low(groups: Groups) -> float:
    """Return where a logarithmic axis begins: at the lowest prediction, but not far below the others or their mean."""
    ends = np.cumsum(groups.weight)
    usual = groups.score[np.searchsorted(ends, TAIL * ends[-1], side="right")]
    mean = float(groups.weight @ groups.score / ends[-1])
    return float(max(usual, FAR_BELOW * mean, groups.score[groups.score > 0.0].min(initial=1.0)))


def colors(number: int) -> list[str]:
    """Return so many colours; after the last the first follows."""
    return list((COLORS * (1 + number // len(COLORS)))[:number])


def diagonal(ax: Axes, low: float, high: float) -> None:
    """Draw where predictions and shares of events are equal."""
    line = np.linspace(low, high, 200) if low == 0.0 else np.geomspace(low, high, 200)
    ax.plot(line, line, color="0.55", linewidth=1, linestyle=":", zorder=1)


def finished(
    ax: Axes, scale: str, low: float, high: float, *, top: float | None = None, legend_top: float = 1.0
) -> None:
    """Set scales, ranges and ticks, and draw the legend."""
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
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.0, legend_top), fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)


def spread_of(ax: Axes, groups: Groups, scale: str, low: float, high: float) -> None:
    """Histograms along the edges: non-events at the bottom, events at the top."""
    edges = _bar_edges(scale, low, high)
    for place, counts, color, label, upside in (
        (0.0, groups.weight - groups.events, "0.45", "non-events", False),
        (1.0, groups.events, COLORS[1], "events", True),
    ):
        height, _ = np.histogram(np.clip(groups.score, edges[0], edges[-1]), bins=edges, weights=counts)
        inset = ax.inset_axes([0.0, place - FOOT if upside else place, 1.0, FOOT], zorder=0)
        inset.stairs(height, edges, fill=True, color=color, alpha=0.45)
        inset.set_xscale(scale)
        inset.set_xlim(ax.get_xlim())
        top = max(float(height.max()), 1.0)
        inset.set_ylim(*((top, 0.0) if upside else (0.0, top)))
        inset.axis("off")
        inset.annotate(
            label,
            (1.01, 0.5),
            xycoords="axes fraction",
            va="center",
            fontsize="x-small",
            color=color,
            annotation_clip=False,
        )
    ax.patch.set_visible(False)


def _bar_edges(scale: str, low: float, high: float) -> NDArray:
    if scale == "linear":
        return np.linspace(low, high, BARS + 1)
    if scale == "log":
        return np.geomspace(low, high, BARS + 1)
    inner = np.linspace(*(np.log(np.array([low, high])) - np.log1p(-np.array([low, high]))), BARS + 1)
    return 1.0 / (1.0 + np.exp(-inner))
