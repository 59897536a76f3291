"""Pictures of calibration: ready-made numbers in, Axes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from gevglm.calibration.belt import CalibrationBelt
from gevglm.calibration.bins import binned
from gevglm.calibration.calibrators.base import Calibrator
from gevglm.calibration.estimates import wilson_limits
from gevglm.calibration.loss_calibration import LossCalibrationCurve
from gevglm.calibration.sample import scores as checked_scores
from gevglm.exceptions import InvalidDataError
from gevglm.plots._calibration_axes import FOOT, HIGHEST, checked_scale, colors, diagonal, finished, limits, spread_of
from gevglm.plots.axes import COLORS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.calibration.assessment import Assessment
    from gevglm.calibration.optimism import Optimism

BAND = 0.2  # opacity of a band; several share it


def plot_reliability(
    assessments: Assessment | Mapping[str, Assessment],
    *,
    ax: Axes | None = None,
    scale: str | None = None,
    smooth: bool = True,
    histogram: bool = True,
) -> Axes:
    """Draw reliability diagrams: the isotonic curve, its band, the smooth curve and the spread of the predictions.

    Parameters
    ----------
    assessments : Assessment, or mapping from labels to Assessment
        One model, or several.
    ax : Axes, optional
    scale : {"linear", "log", "logit"}, optional
        Of both axes; by default logarithmic if the median prediction is below 0.05, as it is with rare events.
    smooth : bool
        Draw the smooth curve too.
    histogram : bool
        Draw how the predictions are spread, non-events at the bottom and events at the top; of a single model only.

    Returns
    -------
    Axes
    """
    several = isinstance(assessments, Mapping)
    models = dict(assessments) if several else {"": assessments}
    scale = checked_scale(scale, [model.groups for model in models.values()])
    ax = ax or new_axes(5.4, 5.0)
    low, high = limits([model.groups for model in models.values()], scale)
    ceiling = HIGHEST if scale == "logit" else 1.0
    diagonal(ax, low, high)
    for (label, model), color in zip(models.items(), colors(len(models)), strict=True):
        curve, band = model.reliability, model.reliability.band
        if band is not None:
            bottom, top = (np.clip(edge, low, ceiling) for edge in (band.lower, band.upper))
            ax.fill_between(band.x, bottom, top, color=color, alpha=BAND / len(models), linewidth=0)
        x, rate = curve.curve
        ax.plot(x, np.clip(rate, low, ceiling), color=color, linewidth=1.6, label=label or "isotonic (CORP)")
        if smooth and model.smooth is not None:
            line = model.smooth.curve
            name = None if several else f"smooth ({model.smooth.method})"
            ax.plot(
                line.x,
                np.clip(line.fitted, low, ceiling),
                color=color,
                linewidth=1.2,
                linestyle=(0, (5, 2)),
                label=name,
            )
    bands = [model.reliability.band for model in models.values() if model.reliability.band is not None]
    if bands:
        name = f"{100 * bands[0].level:g} % {bands[0].kind} band{'s' if several else ''}"
        ax.fill_between([], [], color="0.5" if several else COLORS[0], alpha=BAND, linewidth=0, label=name)
    spread = histogram and not several
    finished(ax, scale, low, high, legend_top=1.0 - FOOT if spread else 1.0)
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("share of events")
    if spread:
        spread_of(ax, next(iter(models.values())).groups, scale, low, high)
    return ax


def plot_optimism(optimism: Optimism, *, ax: Axes | None = None, scale: str | None = None) -> Axes:
    """Draw the smooth calibration curve of a fit on its own data, and corrected for optimism.

    Parameters
    ----------
    optimism : Optimism
        From :func:`gevglm.calibration.bootstrap_optimism`.
    ax : Axes, optional
    scale : {"linear", "log", "logit"}, optional
        Of both axes; by default logarithmic if the median prediction is below 0.05.
    """
    curve = optimism.curve.dropna()
    if curve.empty:
        raise InvalidDataError("there is no smooth calibration curve to draw: see integrated_calibration.")
    scale = checked_scale(scale, [optimism.groups])
    ax = ax or new_axes(5.0, 4.8)
    low, high = limits([optimism.groups], scale)
    diagonal(ax, low, high)
    for column, color, style in (("apparent", "0.45", (0, (5, 2))), ("corrected", COLORS[0], "-")):
        label = column if column == "apparent" else f"corrected for optimism ({optimism.resamples} refits)"
        ax.plot(curve.index, curve[column], color=color, linestyle=style, linewidth=1.6, label=label)
    finished(ax, scale, low, high)
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("share of events")
    return ax


def plot_belt(belt: CalibrationBelt, *, ax: Axes | None = None, scale: str = "linear") -> Axes:
    """Draw a calibration belt.

    Parameters
    ----------
    belt : CalibrationBelt
    ax : Axes, optional
    scale : {"linear", "log", "logit"}
        Of both axes.
    """
    scale = checked_scale(scale, [])
    ax = ax or new_axes(5.0, 4.8)
    low, high = float(belt.x[0]), float(belt.x[-1])
    if scale == "linear":
        low = 0.0
    diagonal(ax, low, high)
    for i, (level, (lower, upper)) in enumerate(sorted(belt.bounds.items(), reverse=True)):
        ax.fill_between(
            belt.x,
            np.maximum(lower, low),
            upper,
            color=COLORS[0],
            alpha=0.2 + 0.2 * i,
            linewidth=0,
            label=f"{100 * level:g} % belt",
        )
    edges = [bound for pair in belt.bounds.values() for bound in pair]
    finished(ax, scale, low, high, top=float(max([high, *(edge.max() for edge in edges)])))
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("share of events")
    ax.annotate(
        f"degree {belt.degree}, p = {belt.test.pvalue:.2g}",
        (0.97, 0.04),
        xycoords="axes fraction",
        ha="right",
        fontsize="small",
    )
    return ax


def plot_loss_calibration(
    curves: LossCalibrationCurve | Mapping[str, LossCalibrationCurve],
    *,
    ax: Axes | None = None,
    scale: str = "log",
    corrected: bool = False,
    points: bool = True,
    theory: bool = True,
) -> Axes:
    """Draw loss calibration curves: shares of events by score, and the curves of loss-calibrated learners.

    Parameters
    ----------
    curves : LossCalibrationCurve, or mapping from labels to them
    ax : Axes, optional
    scale : {"log", "linear", "logit"}
        Of both axes.
    corrected : bool
        Put the loss-corrected scores on the horizontal axis instead, so that all belong on the diagonal.
    points, theory : bool
        Draw the shares of events, draw the theoretical curves.
    """
    curves = dict(curves) if isinstance(curves, Mapping) else {f"$\\beta_1$ = {curves.beta1:.3g}": curves}
    scale = checked_scale(scale, [])
    ax = ax or new_axes(5.4, 4.6)
    frames = [curve.bins for curve in curves.values()]
    column = "corrected" if corrected else "score"
    places = np.concatenate([frame[name] for frame in frames for name in (column, "rate", "upper")])
    low = 0.0 if scale == "linear" else 0.7 * float(places[places > 0.0].min())
    high = min(1.0 if scale == "linear" else 1.0 - 1e-6, 1.15 * float(places.max()))
    diagonal(ax, low, high)
    for (label, curve), color in zip(curves.items(), colors(len(curves)), strict=True):
        if points:
            _shares(ax, curve.bins, column, low, color, label)
        if theory and not corrected:
            seen = (curve.theory > low) & (curve.score > low)
            name = None if points else label
            ax.plot(curve.score[seen], curve.theory[seen], color=color, linewidth=1.2, label=name)
    if theory and points and not corrected:
        ax.plot([], [], color="0.4", linewidth=1.2, label="if loss-calibrated")
    finished(ax, scale, low, high)
    ax.set_xlabel("loss-corrected score" if corrected else "score")
    ax.set_ylabel("share of events")
    return ax


def _shares(ax: Axes, frame: pd.DataFrame, column: str, low: float, color: str, label: str) -> None:
    """Shares of events with their limits; bins without events as arrows at the bottom."""
    shown = frame["rate"] > low
    rate, x = frame["rate"][shown], frame[column][shown]
    errors = np.abs(np.stack([rate - frame["lower"][shown].clip(lower=low), frame["upper"][shown] - rate]))
    ax.errorbar(x, rate, yerr=errors, fmt="o", color=color, markersize=4, elinewidth=1, label=label, zorder=3)
    hidden = frame[column][~shown]
    if len(hidden):
        ax.plot(hidden, np.full(len(hidden), low), "v", color=color, markersize=5, clip_on=False)


def empirical_log_odds(
    scores: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None, *, bins: int = 20, level: float = 0.95
) -> pd.DataFrame:
    r"""Log-odds of an event in bins of equal numbers of observations.

    .. math:: \ln \frac{O + 1/2}{n - O + 1/2}

    which is finite in bins without events.

    Parameters
    ----------
    scores, y, weights : array_like
    bins : int
    level : float
        Coverage of the limits (Wilson's, as log-odds; infinite where a bin has no events, or only events).

    Returns
    -------
    DataFrame
        ``score`` (mean), ``log_odds``, ``lower``, ``upper``, ``n``, ``events``.
    """
    cells = binned(checked_scores(y, scores, weights), bins, "mass")
    others = cells.weight - cells.events
    with np.errstate(divide="ignore"):
        lower, upper = (np.log(limit) - np.log1p(-limit) for limit in wilson_limits(cells.events, cells.weight, level))
    return pd.DataFrame(
        {
            "score": cells.score,
            "log_odds": np.log(cells.events + 0.5) - np.log(others + 0.5),
            "lower": np.where(cells.events > 0.0, lower, -np.inf),
            "upper": np.where(others > 0.0, upper, np.inf),
            "n": cells.weight,
            "events": cells.events,
        }
    )


def plot_calibrators(calibrators: Mapping[str, Calibrator], empirical: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the log-odds of fitted calibrators beside the empirical ones.

    Parameters
    ----------
    calibrators : mapping from labels to Calibrator
    empirical : DataFrame
        From :func:`empirical_log_odds`.
    ax : Axes, optional
    """
    ax = ax or new_axes(6.0, 4.2)
    seen = np.concatenate([empirical["log_odds"], *(empirical[limit] for limit in ("lower", "upper"))])
    low, high = seen[np.isfinite(seen)].min() - 0.7, seen[np.isfinite(seen)].max() + 0.7
    s = np.linspace(empirical["score"].min(), empirical["score"].max(), 400)
    limits = [empirical[limit].clip(low, high) for limit in ("lower", "upper")]
    ax.vlines(empirical["score"], *limits, color="0.6", linewidth=1)
    inside = np.isfinite(empirical[["lower", "upper"]]).all(axis=1)
    for rows, face, label in ((inside, "0.35", "empirical"), (~inside, "white", "empirical, no or only events")):
        if rows.any():
            place = empirical["score"][rows], empirical["log_odds"][rows]
            ax.plot(*place, "o", color="0.35", markerfacecolor=face, markersize=4, label=label, zorder=3)
    for (label, calibrator), color in zip(calibrators.items(), colors(len(calibrators)), strict=True):
        fitted = np.nan_to_num(calibrator.log_odds(s), posinf=high, neginf=low)
        ax.plot(s, fitted, color=color, linewidth=1.5, label=label)
    ax.set_ylim(low, high)
    ax.set_xlabel("score")
    ax.set_ylabel("log-odds of an event")
    ax.legend(frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
