"""Coefficients with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gevglm.plots.axes import color, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FINE = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)  # ratios of a short axis
SPREAD = 0.6  # of the distance between two coefficients that models take


def plot_coefficients(
    models: Mapping[str, pd.DataFrame],
    *,
    xlabel: str = "coefficient",
    exponentiated: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw coefficients with their intervals, those of several models side by side.

    Parameters
    ----------
    models : mapping of str to DataFrame
        One row per coefficient, in the order from top to bottom; columns ``estimate``, ``ci_lower`` and ``ci_upper``. Coefficients that a model
        does not have are left out for it; infinite limits and estimates are arrows at the edge.
    xlabel : str
    exponentiated : bool
        Label the axis by the exponentials of the coefficients, odds ratios for instance.
    ax : Axes, optional
    """
    names = list(dict.fromkeys(name for table in models.values() for name in table.index))
    ax = ax or new_axes(6.0, max(1.6, 0.9 + (0.22 + 0.13 * len(models)) * len(names)))
    place = {name: -i for i, name in enumerate(names)}
    low, high = _range(list(models.values()))
    ax.axvline(0.0, color="0.5", linewidth=0.8, zorder=1)
    for i, (label, table) in enumerate(models.items()):
        shift = SPREAD * (0.5 - (i + 0.5) / len(models)) if len(models) > 1 else 0.0
        y = np.array([place[name] for name in table.index]) + shift
        limits = [table[limit].clip(low, high) for limit in ("ci_lower", "ci_upper")]
        ax.hlines(y, *limits, color=color(i), linewidth=1.8)
        for limit, edge, marker, side in (("ci_lower", low, "<", -np.inf), ("ci_upper", high, ">", np.inf)):
            beyond = (table[["estimate", limit]] == side).any(axis=1).to_numpy()
            ax.plot(np.full(beyond.sum(), edge), y[beyond], marker, color=color(i), markersize=5)
        ax.plot(
            table["estimate"].where(np.isfinite(table["estimate"])), y, "o", color=color(i), markersize=5, label=label
        )
    ax.set_yticks(list(place.values()), [str(name) for name in place])
    ax.set_ylim(-len(names) + 0.4, 0.6)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    if exponentiated:
        ax.set_xlim(low, high)
        ticks = _ratio_ticks(low, high)
        ax.set_xticks(np.log(ticks), [f"{tick:g}" for tick in ticks])
    return finish(ax, xlabel, "", "best" if len(models) > 1 else None)


def _ratio_ticks(low: float, high: float) -> list[float]:
    """Return round ratios between two logarithms of ratios, few enough to be read."""
    for steps in (FINE, (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        powers = range(int(np.floor(low / np.log(10.0))), int(np.ceil(high / np.log(10.0))) + 1)
        ticks = [step * 10.0**power for power in powers for step in steps]
        ticks = [tick for tick in ticks if low <= np.log(tick) <= high]
        if len(ticks) <= 8:
            return ticks
    return ticks[:: len(ticks) // 8 + 1]


def _range(tables: list[pd.DataFrame]) -> tuple[float, float]:
    """Return the ends of the axis: the finite limits, and 0."""
    numbers = np.concatenate([table[["estimate", "ci_lower", "ci_upper"]].to_numpy(float).ravel() for table in tables])
    numbers = np.append(numbers[np.isfinite(numbers)], 0.0)
    margin = 0.04 * (numbers.max() - numbers.min())
    return float(numbers.min() - margin), float(numbers.max() + margin)
