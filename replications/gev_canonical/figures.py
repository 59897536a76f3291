"""The pictures: loss shapes (Figure 1), synthetic distributions (Figure 2), our numbers beside the paper's, ranks."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from gevglm.links import GEV, CLogLog, Logit, Probit
from gevglm.losses import Canonical, Log, Loss
from replications.common.figures import save
from replications.gev_canonical.comparison import OURS, against_paper, ranks
from replications.gev_canonical.synthetic import DISTRIBUTIONS, SHARES

SHAPES = (-0.9, -0.2567, 0.0, 0.5)  # of Figure 1
COLORS = {
    "logistic": "0.45",
    "probit": "#56b4e9",
    "cloglog": "#009e73",
    "under-sampling": "#e69f00",
    "weighted": "#cc79a7",
    "GEV-log": "#d55e00",
    "GEV-canonical": "#0072b2",
    OURS: "black",
}
EVENT, OTHER = "#d55e00", "#0072b2"


def loss_shapes(name: str = "gev_canonical_losses") -> None:
    """Figure 1: the loss of an event and of a non-event, against the linear predictor."""
    figure = Figure(figsize=(10.0, 7.0), layout="constrained")
    axes = figure.subplots(3, 4, sharex=True, sharey=True)
    for ax, (title, link) in zip(
        axes[0], {"logistic": Logit(), "probit": Probit(), "cloglog": CLogLog()}.items(), strict=False
    ):
        _partial_losses(ax, title, Log(link))
    for row, kind, word in ((axes[1], Log, "GEV-log"), (axes[2], Canonical, "GEV-canonical")):
        for ax, xi in zip(row, SHAPES, strict=True):
            _partial_losses(ax, rf"{word}, $\xi$ = {xi:g}", kind(GEV(xi)))
    legend = axes[0, 3]
    legend.axis("off")
    legend.legend(*axes[2, 3].get_legend_handles_labels(), loc="center", frameon=False, fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("linear predictor v")
    for ax in axes[:, 0]:
        ax.set_ylabel("loss")
    _bare(axes.ravel())
    save(figure, name)


def _partial_losses(ax: Axes, title: str, loss: Loss) -> None:
    v = np.linspace(-10.0, 10.0, 801)
    low, high = loss.link.support
    inside = (v >= low) & (v <= high)
    for y, color, label in ((1.0, EVENT, "event"), (0.0, OTHER, "non-event")):
        value = loss.value(np.full_like(v, y), v)
        value = np.where(np.isfinite(value), value, np.nan)
        ax.plot(v, np.where(inside, value, np.nan), color=color, label=label)
        ax.plot(v, value, ":", color=color, label=f"{label}, beyond the support")
    ax.set(title=title, ylim=(0.0, 4.0))
    ax.title.set_fontsize(10)


def synthetic_errors(draws: pd.DataFrame, name: str = "gev_canonical_synthetic") -> None:
    """Figure 2: the error of the predicted probabilities against the number of training rows."""
    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    axes = figure.subplots(1, len(DISTRIBUTIONS), sharex=True, sharey=True)
    for ax, distribution in zip(axes, DISTRIBUTIONS, strict=True):
        part = draws[draws["distribution"] == distribution]
        for method, color in COLORS.items():
            groups = part[part["method"] == method].groupby("rows")["rmse"]
            if method == OURS or not len(groups):
                continue
            ours = method == "GEV-canonical"
            ax.errorbar(
                groups.mean().index,
                groups.mean(),
                2 * groups.sem(),
                color=color,
                marker="o",
                markersize=3.5,
                linewidth=2.2 if ours else 1.3,
                zorder=3 if ours else 2,
                label=method,
            )
        truth = np.random.default_rng(0).normal(size=200_000)
        spread = DISTRIBUTIONS[distribution](truth).std()
        ax.axhline(spread, color="0.7", linestyle="--", linewidth=1, label="the constant p")
        ax.set(
            title=f"{distribution} (p = {SHARES[distribution]:g})", xlabel="training rows", xscale="log", yscale="log"
        )
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_formatter(NullFormatter())
    axes[0].set(ylabel="RMSE of the probability", ylim=(2e-3, 1.0))
    _bare(axes)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    save(figure, name)


def beside_the_paper(records: pd.DataFrame, name: str = "gev_canonical_tables") -> None:
    """Our Brier scores relative to the paper's, and the mean ranks."""
    figure = Figure(figsize=(11.0, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    for shift, method in ((-0.16, "GEV-canonical"), (0.16, "GEV-log")):
        table = against_paper(records, "brier", method)
        left.errorbar(
            table["ours"] / table["paper"],
            np.arange(len(table)) + shift,
            xerr=2 * table["se"] / table["paper"],
            fmt="o",
            color=COLORS[method],
            markersize=4,
            label=method,
        )
    left.axvline(1.0, color="0.7", linewidth=1)
    left.set(
        yticks=range(len(table)),
        yticklabels=table.index,
        xlabel="our Brier score / the paper's (bars: 2 standard errors)",
    )
    left.invert_yaxis()
    _legend_above(left)
    table = ranks(records).sort_values("brier", ascending=False)
    for marker, (measure, word) in zip(
        "osD", {"brier": "Brier score", "calibration": "calibration loss", "log_loss": "log loss"}.items(), strict=True
    ):
        right.plot(table[measure], range(len(table)), marker, label=word, markersize=6, fillstyle="none")
    right.set(yticks=range(len(table)), yticklabels=table.index, xlabel="mean rank over the tasks (1 is best)")
    right.grid(axis="y", color="0.9")
    _legend_above(right)
    _bare((left, right))
    save(figure, name)


def _legend_above(ax: Axes) -> None:
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)


def _bare(axes) -> None:
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
