"""Pictures: numbers come in ready-made, Axes go out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2

from gevglm.exceptions import GevglmError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.profile import Profile
    from gevglm.search import Search

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


def plot_shape(profile: pd.DataFrame, xi: float, interval: tuple[float, float], *, ax: Axes | None = None) -> Axes:
    """Draw the profile log-likelihood of the shape, its maximum and its interval.

    Parameters
    ----------
    profile : DataFrame
        Columns ``xi`` and ``llf``.
    xi : float
        The estimate.
    interval : tuple of float
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    ax = ax or new_axes()
    known = profile[np.isfinite(profile["llf"])]
    top = known["llf"].max()
    ax.plot(known["xi"], known["llf"] - top, color=COLORS[0], marker=".", markersize=4)
    ax.axhline(-0.5 * chi2.ppf(0.95, 1), color="0.5", linewidth=0.8)
    ax.axvspan(*interval, color=COLORS[0], alpha=0.12, linewidth=0)
    ax.axvline(xi, color=COLORS[1], linewidth=1)
    ax.set_xlabel("xi")
    ax.set_ylabel("log-likelihood below its maximum")
    ax.set_ylim(max(-8.0, 1.1 * float((known["llf"] - top).min()) - 0.1), 0.4)
    ax.set_title(f"xi = {xi:.3g}, 95 % interval {interval[0]:.3g} to {interval[1]:.3g}", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_search(search: Search, *, ax: Axes | None = None) -> Axes:
    """Draw the scores of a search against the shape, a curve for each penalty.

    Parameters
    ----------
    search : Search
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    ax = ax or new_axes()
    table = search.table[np.isfinite(search.table["score"])]
    by_penalty = table["xi"].nunique() == 1
    groups = [("", table)] if by_penalty else [(f"alpha = {alpha:g}", rows) for alpha, rows in table.groupby("alpha")]
    for (label, rows), color in zip(groups, COLORS * (1 + len(groups) // len(COLORS)), strict=False):
        x = rows["alpha"] if by_penalty else rows["xi"]
        ax.plot(x, rows["score"], color=color, marker=".", markersize=4, label=label)
        if rows["se"].notna().all():
            ax.fill_between(
                x, rows["score"] - rows["se"], rows["score"] + rows["se"], color=color, alpha=0.12, linewidth=0
            )
    best = search.best
    ax.plot(best["alpha"] if by_penalty else best["xi"], best["score"], "o", color="black", label="best")
    spread = 10.0 * best["se"] if np.isfinite(best["se"]) else 0.2 * best["score"]
    ax.set_ylim(top=min(ax.get_ylim()[1], best["score"] + spread))
    if by_penalty:
        ax.set_xscale("symlog", linthresh=1e-2)
    ax.set_xlabel("alpha" if by_penalty else "xi")
    ax.set_ylabel({"log_loss": "held-out log loss", "brier": "held-out Brier score"}[search.criterion])
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_path(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw coefficients against a penalty.

    Parameters
    ----------
    frame : DataFrame
        One row a penalty, one column a coefficient.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    ax = ax or new_axes()
    for i, name in enumerate(frame.columns):
        ax.plot(
            frame.index,
            frame[name],
            color=COLORS[i % len(COLORS)],
            linestyle=("-", "--", ":")[i // len(COLORS) % 3],
            label=name,
        )
    ax.axhline(0.0, color="0.5", linewidth=0.8)
    if 0.0 in frame.index:
        ax.set_xscale("symlog", linthresh=float(min(frame.index[frame.index > 0], default=1.0)))
    else:
        ax.set_xscale("log")
    ax.set_xlabel("alpha")
    ax.set_ylabel("coefficient")
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


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

    Returns
    -------
    Axes
    """
    ax = ax or new_axes()
    order = np.argsort(reference)
    shown = order[np.linspace(0, len(order) - 1, min(len(order), 400)).astype(int)]
    for i, (label, p) in enumerate(others.items()):
        inside = (p[shown] > 0) & (p[shown] < 1)
        style = {"color": COLORS[i % len(COLORS)], "marker": ".x+"[i // len(COLORS) % 3], "markersize": 3}
        ax.plot(reference[shown][inside], p[shown][inside], linestyle="none", label=label, **style)
    ends = [reference.min(), reference.max()]
    ax.plot(ends, ends, color="0.5", linewidth=0.8)
    ax.set_xscale("logit")
    ax.set_yscale("logit")
    ax.set_xlabel(f"probability by {name}")
    ax.set_ylabel("probability by the others")
    ax.legend(frameon=False, fontsize=8)
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
