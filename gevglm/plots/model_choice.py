"""What a choice was made by: scores of shapes and penalties, paths of coefficients, probabilities by other links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.plots.axes import COLORS, color, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.inference.cross_validation import Search


def plot_search(search: Search, *, ax: Axes | None = None) -> Axes:
    """Draw the scores of a search against the shape, a curve for each penalty."""
    ax = ax or new_axes()
    table = search.table[np.isfinite(search.table["score"])]
    by_penalty = table["xi"].nunique() == 1
    groups = [("", table)] if by_penalty else [(f"alpha = {alpha:g}", rows) for alpha, rows in table.groupby("alpha")]
    for i, (label, rows) in enumerate(groups):
        x, score, se = rows["alpha"] if by_penalty else rows["xi"], rows["score"], rows["se"]
        ax.plot(x, score, color=color(i), marker=".", markersize=4, label=label)
        if se.notna().all():
            ax.fill_between(x, score - se, score + se, color=color(i), alpha=0.12, linewidth=0)
    best = search.best
    ax.plot(best["alpha"] if by_penalty else best["xi"], best["score"], "o", color="black", label="best")
    spread = 10.0 * best["se"] if np.isfinite(best["se"]) else 0.2 * best["score"]
    ax.set_ylim(top=min(ax.get_ylim()[1], best["score"] + spread))
    if by_penalty:
        ax.set_xscale("symlog", linthresh=1e-2)
    ylabel = {"log_loss": "held-out log loss", "brier": "held-out Brier score"}[search.criterion]
    return finish(ax, "alpha" if by_penalty else "xi", ylabel, "best")


def plot_path(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw coefficients against a penalty.

    Parameters
    ----------
    frame : DataFrame
        One row per penalty, one column per coefficient.
    ax : Axes, optional
    """
    ax = ax or new_axes()
    for i, name in enumerate(frame.columns):
        ax.plot(frame.index, frame[name], color=color(i), linestyle=("-", "--", ":")[i // len(COLORS) % 3], label=name)
    ax.axhline(0.0, color="0.5", linewidth=0.8)
    if 0.0 in frame.index:
        ax.set_xscale("symlog", linthresh=float(min(frame.index[frame.index > 0], default=1.0)))
    else:
        ax.set_xscale("log")
    return finish(ax, "alpha", "coefficient", "best")


def plot_links(reference: NDArray, name: str, others: dict[str, NDArray], *, ax: Axes | None = None) -> Axes:
    """Draw the fitted probabilities of models against those of a reference model, on logit axes.

    Parameters
    ----------
    reference : ndarray
        Probabilities by the reference model.
    name : str
        What it is called.
    others : dict of str to ndarray
    ax : Axes, optional
    """
    ax = ax or new_axes()
    order = np.argsort(reference)
    drawn = order[np.linspace(0, len(order) - 1, min(len(order), 400)).astype(int)]
    for i, (label, p) in enumerate(others.items()):
        inside = drawn[(p[drawn] > 0) & (p[drawn] < 1)]
        marker = ".x+"[i // len(COLORS) % 3]
        ax.plot(reference[inside], p[inside], marker, label=label, color=color(i), markersize=3)
    ends = [reference.min(), reference.max()]
    ax.plot(ends, ends, color="0.5", linewidth=0.8)
    ax.set_xscale("logit")
    ax.set_yscale("logit")
    return finish(ax, f"probability by {name}", "probability by the others", "best")


def plot_weights(weights: pd.Series, *, ax: Axes | None = None) -> Axes:
    """Draw the weights of the candidates of an average over links, as bars.

    Parameters
    ----------
    weights : Series
        With the names of the candidates as index.
    ax : Axes, optional
    """
    ax = ax or new_axes(height=0.9 + 0.22 * len(weights))
    places = np.arange(len(weights))[::-1]
    ax.barh(places, weights.to_numpy(), color=color(0))
    ax.set_yticks(places, list(weights.index))
    return finish(ax, "weight", "")
