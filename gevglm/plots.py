"""Pictures: numbers come in ready-made, Axes go out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from gevglm.exceptions import GevglmError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.profile import Profile

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


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


def plot_profile(profile: Profile, *, ax: Axes | None = None) -> Axes:
    """Draw the likelihood-ratio statistic of a coefficient, its Wald approximation, and the interval.

    Parameters
    ----------
    profile : Profile
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    ax = ax or new_axes()
    frame, quantile = profile.frame, chi2.ppf(1.0 - profile.alpha, 1)
    ax.plot(frame["value"], frame["ratio"], color=COLORS[0], label="likelihood ratio")
    ax.plot(frame["value"], frame["wald"], color=COLORS[1], linestyle="--", linewidth=1, label="Wald approximation")
    ax.axhline(quantile, color="0.5", linewidth=0.8)
    for limit in profile.interval:
        if np.isfinite(limit):
            ax.plot([limit, limit], [0.0, quantile], color=COLORS[0], linewidth=0.8, linestyle=":")
    ax.plot(profile.estimate, 0.0, "o", color=COLORS[0])
    ax.set_xlabel(profile.name)
    ax.set_ylabel("likelihood-ratio statistic")
    ax.set_ylim(0.0, 2.2 * quantile)
    ax.set_title(
        f"{100 * (1 - profile.alpha):g} % interval: {profile.interval[0]:.4g} to {profile.interval[1]:.4g}", fontsize=10
    )
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def new_axes(width: float = 6.0, height: float = 4.0) -> Axes:
    """Return the Axes of a new figure, or say how to get matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise GevglmError("pictures need matplotlib: pip install 'gevglm[plot]'.") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()
