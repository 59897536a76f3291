"""Pictures of a search for weights: the history in, Axes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from gevglm.plots.axes import COLORS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINES = {
    "training_error_rare": ("training error, rare class", COLORS[1], "-"),
    "training_error_main": ("training error, main class", COLORS[0], "-"),
    "bound": ("bound of the {whose}", COLORS[1], "--"),
}


def plot_history(history: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw training errors and their bound over the rounds, and the ratio of the class weights on an axis of its own.

    Parameters
    ----------
    history : DataFrame
        ``history_`` of an estimator of :mod:`gevglm.weighting`.
    ax : Axes, optional
    """
    ax = ax or new_axes()
    from matplotlib.ticker import MaxNLocator

    marker = "o" if len(history) < 3 else ""
    whose = "rare class" if "z_rare" in history else "error of both classes"
    for name, (label, color, style) in LINES.items():
        if name in history:
            ax.plot(history.index, history[name], style, color=color, label=label.format(whose=whose), marker=marker)
    ax.set(xlabel="round", ylabel="error", ylim=(0.0, None))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ratio = ax.twinx()
    values = history["weight_rare"] / history["weight_main"]
    ratio.plot(history.index, values, ":", color="0.35", label="weight ratio (right)", marker=marker)
    ratio.set_ylabel("weight of the rare over the main class")
    ratio.spines["top"].set_visible(False)
    ax.spines["top"].set_visible(False)
    handles = [*ax.get_lines(), *ratio.get_lines()]
    labels = [str(line.get_label()) for line in handles]
    ax.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return ax
