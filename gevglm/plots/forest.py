"""Forest plots: estimates of groups with their intervals, and the mean of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gevglm.exceptions import unknown_option
from gevglm.plots.axes import color, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PERFECT = {"O/E": 1.0, "constant": 0.0, "slope": 1.0}


def plot_forest(groups: pd.DataFrame, summary: pd.DataFrame, measure: str = "O/E", *, ax: Axes | None = None) -> Axes:
    """Draw a measure of each group, partly pooled too, and the mean of all with the interval for a new group.

    Parameters
    ----------
    groups, summary : DataFrame
        Of :class:`gevglm.calibration.by_group.GroupCalibration`.
    measure : {"O/E", "constant", "slope", "AUC"}
    ax : Axes, optional
    """
    if measure not in summary.index:
        raise unknown_option("measure", measure, list(summary.index))
    ax = ax or new_axes(5.5, 1.5 + 0.25 * len(groups))
    at = np.arange(len(groups), 0, -1)
    ax.hlines(at, groups[f"{measure} lower"], groups[f"{measure} upper"], color=color(0), linewidth=1)
    ax.plot(groups[measure], at, "s", color=color(0), markersize=4, label="group")
    ax.plot(groups[f"{measure} pooled"], at, "o", color=color(1), markersize=3, label="partly pooled")
    row = summary.loc[measure]
    ax.hlines(0, row["new_lower"], row["new_upper"], color="0.5", linewidth=1, label="new group")
    ax.hlines(0, row["ci_lower"], row["ci_upper"], color="0.1", linewidth=4, label="mean")
    if measure in PERFECT:
        ax.axvline(PERFECT[measure], color="0.6", linestyle="--", linewidth=0.8)
    if measure == "O/E":
        ax.set_xscale("log")
    ax.set_yticks([*at, 0], [*map(str, groups.index), "all"])
    return finish(ax, measure, "", "above")
