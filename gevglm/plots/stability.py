"""Instability of a fit: risks, their errors, decisions and calibration by models developed on resamples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gevglm.exceptions import InvalidOptionError, unknown_option
from gevglm.plots.axes import color, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("prediction", "mape", "classification", "calibration")
RISK = "risk by the fit"
MOST_POINTS = 100_000


def plot_instability(stability: Any, kind: str = "prediction", *, ax: Axes | None = None) -> Axes:
    """Draw how much a fit depends on its data.

    Parameters
    ----------
    stability : Stability
        Of :meth:`gevglm.BinaryGLMResults.stability`.
    kind : {"prediction", "mape", "classification", "calibration"}
        Risks by the refits against those of the fit; mean absolute error of each risk; share of refits that decide otherwise; calibration curves.
    ax : Axes, optional
    """
    if kind not in KINDS:
        raise unknown_option("kind", kind, KINDS)
    if kind == "classification" and stability.threshold is None:
        raise InvalidOptionError("the instability of decisions needs stability(threshold=...).")
    ax = ax or new_axes(4.8, 4.5)
    rows = stability.rows.sort_values("risk")
    if kind in ("mape", "classification"):
        column = "mape" if kind == "mape" else "reclassified"
        ax.plot(rows["risk"], rows[column], ".", color=color(0), markersize=3)
        return finish(
            ax, RISK, "mean absolute error of the risk" if kind == "mape" else "share of refits that decide otherwise"
        )
    if kind == "calibration":
        curves = stability.curves
        ax.plot(curves.index, curves.to_numpy(), color=color(0), linewidth=0.4, alpha=0.3)
        high = float(np.nanmax([curves.index.max(), np.nanmax(curves.to_numpy())]))
        ax.plot([0.0, high], [0.0, high], color="0.4", linewidth=0.8)
        return finish(ax, "risk by a refit", "share of events")
    step = max(1, stability.risks.size // MOST_POINTS)
    x = np.repeat(stability.rows["risk"].to_numpy(), stability.risks.shape[1])
    ax.plot(x[::step], stability.risks.ravel()[::step], ".", color="0.7", markersize=1, rasterized=True)
    for name, label in (("lower", "95 % of the refits"), ("upper", None)):
        ax.plot(rows["risk"], rows[name], ".", color=color(1), markersize=2, label=label)
    ax.plot(rows["risk"], rows["risk"], color="0.2", linewidth=0.8)
    return finish(ax, RISK, "risk by a refit", "upper left")
