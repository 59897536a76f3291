"""Charts of predictions over time: O/E and slope by period, and cumulative sums with their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gevglm.exceptions import unknown_option
from gevglm.plots.axes import color, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("cusum", "sum", "O/E", "slope")
MOST_TICKS = 12


def plot_monitor(
    periods: pd.DataFrame, limits: dict[str, float], kind: str = "cusum", *, ax: Axes | None = None
) -> Axes:
    """Draw predictions over time.

    Parameters
    ----------
    periods : DataFrame
        Of :class:`gevglm.calibration.monitoring.Monitor`.
    limits : dict
        Of the charts.
    kind : {"cusum", "sum", "O/E", "slope"}
        Cumulative sums of log-likelihood ratios for more and (downwards) for fewer events; observed less expected events so far; O/E, or the
        calibration slope, of each period with its limits.
    ax : Axes, optional
    """
    if kind not in KINDS:
        raise unknown_option("kind", kind, KINDS)
    ax = ax or new_axes(6.5, 3.6)
    at = np.arange(len(periods))
    if kind == "cusum":
        for name, sign, label in (("more", 1.0, "more events"), ("fewer", -1.0, "fewer events")):
            number = 0 if name == "more" else 1
            ax.plot(at, sign * periods[name], "o-", color=color(number), markersize=3, linewidth=1, label=label)
            ax.axhline(sign * limits[name], color=color(number), linestyle="--", linewidth=0.8)
        ax.axhline(0.0, color="0.6", linewidth=0.8)
        label = "cumulative log-likelihood ratio"
    elif kind == "sum":
        ax.plot(at, periods["sum"], "o-", color=color(0), markersize=3, linewidth=1)
        for limit in (-limits["sum"], limits["sum"]):
            ax.axhline(limit, color=color(0), linestyle="--", linewidth=0.8)
        ax.axhline(0.0, color="0.6", linewidth=0.8)
        label = "observed less expected events"
    else:
        names = ("lower", "upper") if kind == "O/E" else ("slope lower", "slope upper")
        ax.vlines(at, periods[names[0]], periods[names[1]], color=color(0), linewidth=1)
        ax.plot(at, periods[kind], "s", color=color(0), markersize=4)
        ax.axhline(1.0, color="0.6", linestyle="--", linewidth=0.8)
        label = "observed / expected events" if kind == "O/E" else "calibration slope"
    step = -(-len(periods) // MOST_TICKS)
    ax.set_xticks(at[::step], [str(name) for name in periods.index[::step]])
    if max(len(str(name)) for name in periods.index) > 4:
        ax.tick_params(axis="x", labelrotation=45)
    return finish(ax, "", label, "above" if kind == "cusum" else None)
