"""Profiles of the likelihood: of a coefficient, of the shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import chi2

from gevglm.plots.axes import COLORS, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.inference.profile import Profile

DEEPEST = -8.0  # log-likelihoods below the maximum that are drawn


def plot_profile(profile: Profile, *, ax: Axes | None = None) -> Axes:
    """Draw the likelihood-ratio statistic of a coefficient, its Wald approximation, and the interval."""
    ax = ax or new_axes()
    frame, quantile = profile.frame, chi2.ppf(1.0 - profile.alpha, 1)
    ax.plot(frame["value"], frame["ratio"], color=COLORS[0], label="likelihood ratio")
    if frame["wald"].notna().any():
        ax.plot(frame["value"], frame["wald"], color=COLORS[1], linestyle="--", linewidth=1, label="Wald approximation")
    ax.axhline(quantile, color="0.5", linewidth=0.8)
    for limit in profile.interval:
        if np.isfinite(limit):
            ax.plot([limit, limit], [0.0, quantile], color=COLORS[0], linewidth=0.8, linestyle=":")
    if np.isfinite(profile.estimate):
        ax.plot(profile.estimate, 0.0, "o", color=COLORS[0])
    ax.set_ylim(0.0, 2.2 * quantile)
    ax.locator_params(axis="x", nbins=6)  # labels of small coefficients are long
    lower, upper = profile.interval
    ax.set_title(f"{100 * (1 - profile.alpha):g} % interval: {lower:.4g} to {upper:.4g}", fontsize=10)
    return finish(ax, profile.name, "likelihood-ratio statistic", "best")


def plot_shape(
    profile: pd.DataFrame,
    xi: float,
    interval: tuple[float, float],
    *,
    ax: Axes | None = None,
    label: str = "log-likelihood below its maximum",
) -> Axes:
    """Draw the profile log-likelihood of the shape, its maximum and its interval.

    Parameters
    ----------
    profile : DataFrame
        Columns ``xi`` and ``llf``.
    xi : float
        The estimate.
    interval : tuple of float
    ax : Axes, optional
    label : str
        What the curve is.
    """
    ax = ax or new_axes()
    known = profile[np.isfinite(profile["llf"])]
    top = known["llf"].max()
    ax.plot(known["xi"], known["llf"] - top, color=COLORS[0], marker=".", markersize=4)
    ax.axhline(-0.5 * chi2.ppf(0.95, 1), color="0.5", linewidth=0.8)
    ax.axvspan(*interval, color=COLORS[0], alpha=0.12, linewidth=0)
    ax.axvline(xi, color=COLORS[1], linewidth=1)
    lowest = max(DEEPEST, 1.1 * float((known["llf"] - top).min()) - 0.1)
    ax.set_ylim(lowest, 0.4)
    seen = np.flatnonzero(known["llf"] - top >= lowest)
    first, last = max(seen[0] - 1, 0), min(seen[-1] + 1, len(known) - 1)
    ax.set_xlim(min(known["xi"].iloc[first], interval[0]), max(known["xi"].iloc[last], interval[1]))
    ax.set_title(f"xi = {xi:.3g}, 95 % interval {interval[0]:.3g} to {interval[1]:.3g}", fontsize=10)
    return finish(ax, "xi", label)
