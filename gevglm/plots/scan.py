"""Tests of many columns: against what chance would give, and along the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.plots.axes import color, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT = "$-\\log_{10}$ p"


def plot_quantiles(frame: pd.DataFrame, genomic_control: float, *, ax: Axes | None = None) -> Axes:
    """Draw p-values against those expected of columns without effect.

    Parameters
    ----------
    frame : DataFrame
        Columns ``expected``, ``observed``, ``lower`` and ``upper``, on the scale of minus decimal logarithms.
    genomic_control : float
        For the legend.
    ax : Axes, optional
    """
    ax = ax or new_axes(4.5, 4.5)
    x = frame["expected"]
    ax.fill_between(x, frame["lower"], frame["upper"], color="0.9", linewidth=0, label="95 % of independent tests")
    ax.plot(x, x, color="0.5", linewidth=0.8)
    ax.plot(x, frame["observed"], ".", color=color(0), markersize=4, label=f"genomic control {genomic_control:.3f}")
    return finish(ax, f"expected {HEIGHT}", f"observed {HEIGHT}", "upper left")


def plot_scan(
    positions: NDArray, heights: NDArray, level: float, groups: NDArray | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw tests along the columns, each group of them in a colour of its own.

    Parameters
    ----------
    positions, heights : ndarray
        Where a column stands, and minus the decimal logarithm of its p-value.
    level : float
        Height of a line, for tests that remain after a correction for their number.
    groups : ndarray, optional
        Outcomes, say.
    ax : Axes, optional
    """
    ax = ax or new_axes(8.0, 3.5)
    names = [None] if groups is None else list(dict.fromkeys(groups))
    for i, name in enumerate(names):
        own = np.ones(len(positions), dtype=bool) if groups is None else groups == name
        ax.plot(positions[own], heights[own], ".", color=color(i), markersize=3)
    ax.axhline(level, color="0.5", linestyle="--", linewidth=0.8)
    return finish(ax, "column", HEIGHT)
