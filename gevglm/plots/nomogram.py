"""Nomograms: an axis of points for each variable, their total, and the risk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gevglm.plots.axes import new_axes, plain_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.effects.nomogram import Nomogram

ROW = 0.52  # inches
TICK = 0.12  # of the height of a row
LETTER = 0.011  # of the width, about


def plot_nomogram(nomogram: Nomogram, *, ax: Axes | None = None) -> Axes:
    """Draw a nomogram: points of each value above, totals and their risks below.

    Parameters
    ----------
    nomogram : Nomogram
        From :meth:`gevglm.BinaryGLMResults.nomogram`.
    ax : Axes, optional
    """
    axes = nomogram.axes()
    ax = ax or new_axes(9.0, 0.4 + ROW * (len(axes) + 4))
    marks = np.arange(0.0, 101.0, 10.0)
    names = ["points", *(label for label, _ in axes), "total points", "linear predictor", "risk"]
    _scale(ax, 0, marks / 100.0, [f"{mark:g}" for mark in marks])
    for i, (_, rows) in enumerate(axes, start=1):
        _scale(ax, i, rows["points"].to_numpy(float) / 100.0, [_text(value) for value in rows["value"]])
    widest = float(nomogram.totals["points"].max())
    below = (
        (nomogram.totals, [f"{total:g}" for total in nomogram.totals["points"]]),
        (nomogram.linear, [f"{value:.6g}" for value in nomogram.linear["linear"]]),
        (nomogram.risks, [plain_number(round(risk, 9)) for risk in nomogram.risks["risk"]]),
    )
    for i, (table, labels) in enumerate(below, start=len(axes) + 1):
        places = table["points"].to_numpy(float) / widest
        inside = (places >= -1e-9) & (places <= 1.0 + 1e-9)
        _scale(ax, i, places[inside], [label for label, drawn in zip(labels, inside, strict=True) if drawn])
    ax.axhline(len(axes) + 0.62, color="0.8", linewidth=0.8)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(len(names) - 0.35, -0.5)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0, labelbottom=False)
    ax.spines[:].set_visible(False)
    return ax


def _scale(ax: Axes, row: int, places: ArrayLike, labels: list[str]) -> None:
    """Draw one axis; labels that would touch one on the same side go above the line, and are left out where that is taken too."""
    x = np.asarray(places, dtype=float)
    if len(x) == 0:
        return
    ax.plot([x.min(), x.max()], [row, row], color="black", linewidth=1)
    ends = {1: -np.inf, -1: -np.inf}
    for j in np.argsort(x, kind="stable"):
        half = LETTER * (len(labels[j]) + 0.6) / 2.0
        side = next((side for side in (1, -1) if x[j] - half >= ends[side]), 0)
        ax.plot([x[j], x[j]], [row, row + (side or 1) * TICK], color="black", linewidth=1)
        if side:
            ends[side] = x[j] + half
            align = "top" if side == 1 else "bottom"
            ax.text(x[j], row + side * 1.4 * TICK, labels[j], ha="center", va=align, fontsize="small")


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
