"""Rows that move the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gevglm.plots.axes import COLORS, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = 5
STROKE = 0.26  # half the height of a mark, of the distance of two coefficients


def plot_cooks_distance(rows: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw Cook's distance of rows, the largest with their labels.

    Parameters
    ----------
    rows : DataFrame
        Indexed by the labels of the rows, with columns ``position``, ``event`` and ``cooks_distance``.
    ax : Axes, optional
    """
    ax = ax or new_axes(6.0, 3.6)
    for event, tone, label in ((False, "0.5", "non-events"), (True, COLORS[1], "events")):
        part = rows[rows["event"] == event]
        if len(part):
            ax.vlines(part["position"], 0.0, part["cooks_distance"], color=tone, linewidth=0.7, alpha=0.6)
            ax.plot(part["position"], part["cooks_distance"], "o", color=tone, markersize=3, label=label)
    for label, row in rows.nlargest(NAMED, "cooks_distance").iterrows():
        place = row["position"], row["cooks_distance"]
        ax.annotate(str(label), place, xytext=(0, 4), textcoords="offset points", ha="center", fontsize="small")
    ax.set_ylim(0.0, 1.15 * max(float(rows["cooks_distance"].max()), 1e-12))
    return finish(ax, "row", "Cook's distance", "above")


def plot_dfbetas(rows: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how much leaving a row out changes each coefficient, in standard errors.

    Parameters
    ----------
    rows : DataFrame
        Indexed by the labels of the rows, a column for each coefficient.
    ax : Axes, optional
    """
    names = list(rows.columns)
    ax = ax or new_axes(6.0, max(1.8, 0.8 + 0.38 * len(names)))
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    for i, name in enumerate(names):
        values = rows[name].to_numpy()
        y = np.tile([STROKE - i, -STROKE - i, np.nan], len(values))
        ax.plot(np.repeat(values, 3), y, color=COLORS[0], linewidth=0.8, alpha=0.7)  # one line, for a small file
        largest = int(np.argmax(np.abs(values)))
        shift, side = (6, "left") if values[largest] > 0 else (-6, "right")
        place: dict[str, Any] = {"xytext": (shift, 0), "textcoords": "offset points", "ha": side, "va": "center"}
        ax.annotate(str(rows.index[largest]), (values[largest], -i), fontsize="small", **place)
    ax.set_yticks([-i for i in range(len(names))], names)
    ax.set_ylim(-len(names) + 0.4, 0.6)
    ax.margins(x=0.12)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return finish(ax, "change without the row, in standard errors", "")
