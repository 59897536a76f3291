"""Risks along a variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numpy.typing import NDArray

from gevglm.plots.axes import COLORS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    """Draw predicted risks with their bands.

    Parameters
    ----------
    curves : list of RiskCurve
    xlabel, ylabel : str
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    ax = ax or new_axes()
    for curve, color in zip(curves, COLORS * (1 + len(curves) // len(COLORS)), strict=False):
        ax.fill_between(curve.x, curve.lower, curve.upper, color=color, alpha=0.18, linewidth=0)
        ax.plot(curve.x, curve.risk, color=color, label=curve.label)
        if curve.truth is not None:
            ax.plot(curve.x, curve.truth, color=color, linestyle="--", linewidth=1, label=f"{curve.label}, truth")
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
