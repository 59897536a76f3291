"""The fitted link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gevglm.plots.axes import COLORS, finish, new_axes, plain_log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.calibration.curves import LinkCurve


def plot_link(curve: LinkCurve, *, ax: Axes | None = None) -> Axes:
    """Draw the fitted link, the logit nearest to it in these data, and shares of events in tenths of the data."""
    ax = ax or new_axes(6.0, 4.0)
    bins = curve.bins
    rate = bins["rate"].to_numpy()
    low = 0.5 * float(rate[rate > 0.0].min()) if curve.logarithmic else 0.0
    inside = bins["rate"] > low
    errors = np.abs(np.vstack([rate - bins["lower"].clip(lower=low), bins["upper"] - rate]))
    points: dict[str, Any] = {"fmt": "o", "color": "0.45", "markersize": 4, "elinewidth": 1}
    ax.errorbar(bins["linear"][inside], rate[inside], yerr=errors[:, inside], label="share of events", **points)
    empty = bins["linear"][~inside]
    if len(empty):
        ax.vlines(empty, low, bins["upper"][~inside], color="0.45", linewidth=1)
        ax.plot(empty, np.full(len(empty), low), "v", color="0.45", markersize=5, clip_on=False)
    for risk, tone, style, label in (
        (curve.logit, COLORS[1], "--", "nearest logit"),
        (curve.risk, COLORS[0], "-", curve.name),
    ):
        seen = risk >= low
        ax.plot(curve.linear[seen], risk[seen], color=tone, linestyle=style, linewidth=1.8, label=label)
    top = max(float(bins["upper"].max()), float(curve.risk.max()))
    if curve.logarithmic:
        ax.set_yscale("log")
        ax.set_ylim(low, min(1.0, 1.3 * top))
        plain_log_ticks(ax.yaxis, *ax.get_ylim())
    else:
        ax.set_ylim(0.0, min(1.02, 1.08 * top))
    return finish(ax, "linear predictor", "risk", "above")
