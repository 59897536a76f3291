"""Rows that move the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gevglm.plots.axes import COLORS, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = 5
LABEL = (0.1, 0.055)  # width and height of a label, of the axes
POINTS = 200.0  # height of the axes
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
    top = 1.25 * max(float(rows["cooks_distance"].max()), 1e-12)
    named = rows.nlargest(NAMED, "cooks_distance").sort_values("cooks_distance")
    for (label, row), lift in zip(named.iterrows(), _lifts(named, float(np.ptp(rows["position"])), top), strict=True):
        place = row["position"], row["cooks_distance"]
        ax.annotate(str(label), place, xytext=(0, 4 + lift), textcoords="offset points", ha="center", fontsize="small")
    ax.set_ylim(0.0, top)
    return finish(ax, "row", "Cook's distance", "above")


def _lifts(named: pd.DataFrame, width: float, height: float) -> list[int]:
    """Return by how many points each label, from the lowest, is raised above its row so that it does not cover another."""
    placed: list[tuple[float, float]] = []
    lifts = []
    for position, distance in zip(named["position"], named["cooks_distance"], strict=True):
        lift = 0
        while any(
            abs(position - x) < LABEL[0] * width and abs(distance / height + lift / POINTS - y) < LABEL[1]
            for x, y in placed
        ):
            lift += 2
        placed.append((position, distance / height + lift / POINTS))
        lifts.append(lift)
    return lifts


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
