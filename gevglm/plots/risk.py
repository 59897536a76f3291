"""Risks along a variable: of an effect curve, or of several models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gevglm.plots.axes import color, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.effects.curves import EffectCurve

SPREAD = 0.5  # of the distance between two levels that their groups take


@dataclass(frozen=True)
class RiskCurve:
    """Predicted risk along one variable.

    Attributes
    ----------
    label : str
    x : ndarray
        Values of the variable.
    risk, lower, upper : ndarray
        Predicted risk and its confidence limits.
    truth : ndarray or None
        The true risk, where it is known.
    """

    label: str
    x: NDArray
    risk: NDArray
    lower: NDArray
    upper: NDArray
    truth: NDArray | None = None


def plot_risk_curves(curves: list[RiskCurve], *, xlabel: str, ylabel: str = "risk", ax: Axes | None = None) -> Axes:
    """Draw predicted risks with their bands."""
    ax = ax or new_axes()
    for i, curve in enumerate(curves):
        _band(ax, curve.x, curve.lower, curve.upper, curve.risk, i, curve.label)
        if curve.truth is not None:
            ax.plot(curve.x, curve.truth, color=color(i), linestyle="--", linewidth=1, label=f"{curve.label}, truth")
    ax.set_ylim(bottom=0)
    return finish(ax, xlabel, ylabel, "best")


def plot_effect(effect: EffectCurve, *, ax: Axes | None = None) -> Axes:
    """Draw predicted risks along a variable: curves with bands, or points with bars for levels.

    Parameters
    ----------
    effect : EffectCurve
        From :func:`gevglm.effects.curves.effect_curve`.
    ax : Axes, optional
    """
    ax = ax or new_axes(6.0, 3.8)
    groups = effect.groups()
    for i, (label, rows) in enumerate(groups):
        if effect.continuous:
            _band(ax, rows["value"].to_numpy(float), rows["ci_lower"], rows["ci_upper"], rows["risk"], i, label)
        else:
            _points(ax, rows, i, len(groups), label)
    top = float(effect.frame["ci_upper"].replace(np.inf, np.nan).max())
    ax.set_ylim(0.0, min(1.0, 1.08 * top))
    if effect.continuous:
        ax.plot(effect.seen, np.zeros(len(effect.seen)), "|", color="0.35", markersize=7, clip_on=False, zorder=3)
    else:
        levels = list(dict.fromkeys(effect.frame["value"]))
        ax.set_xticks(range(len(levels)), [_short(level) for level in levels])
        ax.set_xlim(-0.6, len(levels) - 0.4)
        if sum(len(_short(level)) for level in levels) > 50:
            ax.tick_params(axis="x", labelrotation=35)
            for tick in ax.get_xticklabels():
                tick.set_horizontalalignment("right")
    return finish(ax, effect.variable, "predicted risk", "best" if effect.by is not None else None)


def _band(ax: Axes, x: NDArray, lower: ArrayLike, upper: ArrayLike, risk: ArrayLike, i: int, label: str) -> None:
    ax.fill_between(x, lower, upper, color=color(i), alpha=0.18, linewidth=0)
    ax.plot(x, risk, color=color(i), label=label, linewidth=1.8)


def _points(ax: Axes, rows: pd.DataFrame, i: int, n: int, label: str) -> None:
    x = np.arange(len(rows)) + (SPREAD * ((i + 0.5) / n - 0.5) if n > 1 else 0.0)
    risk = rows["risk"].to_numpy()
    errors = np.abs(np.vstack([risk - rows["ci_lower"], rows["ci_upper"] - risk]))
    ax.errorbar(x, risk, yerr=errors, fmt="o", color=color(i), markersize=5, elinewidth=1.6, label=label)


def _short(level: object) -> str:
    text = f"{level:.4g}" if isinstance(level, (float, np.floating)) else str(level)
    return text if len(text) <= 22 else text[:21] + "…"
