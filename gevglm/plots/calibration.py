"""Pictures of calibration: ready-made numbers in, Axes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gevglm.exceptions import InvalidDataError
from gevglm.plots._calibration_axes import FOOT, HIGHEST, checked_scale, diagonal, finish_scaled, limits, spread_of
from gevglm.plots.axes import COLORS, color, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.calibration.assessment import Assessment
    from gevglm.calibration.belt import CalibrationBelt
    from gevglm.calibration.calibrators import Calibrator
    from gevglm.calibration.loss_calibration import LossCalibrationCurve
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
    """
    models = dict(assessments) if isinstance(assessments, Mapping) else {"": assessments}
    several = isinstance(assessments, Mapping)
    scale = checked_scale(scale, [model.groups for model in models.values()])
    ax = ax or new_axes(5.4, 5.0)
    low, high = limits([model.groups for model in models.values()], scale)
    ceiling = HIGHEST if scale == "logit" else 1.0
    diagonal(ax, low, high)
    for i, (label, model) in enumerate(models.items()):
        band = model.reliability.band
        if band is not None:
            bottom, top = (np.clip(edge, low, ceiling) for edge in (band.lower, band.upper))
            ax.fill_between(band.x, bottom, top, color=color(i), alpha=BAND / len(models), linewidth=0)
        x, rate = model.reliability.curve
        ax.plot(x, np.clip(rate, low, ceiling), color=color(i), linewidth=1.6, label=label or "isotonic (CORP)")
        if smooth and model.smooth is not None:
            line = model.smooth.curve
            name = None if several else f"smooth ({model.smooth.method})"
            fitted = np.clip(line.fitted, low, ceiling)
            ax.plot(line.x, fitted, color=color(i), linewidth=1.2, linestyle=(0, (5, 2)), label=name)
    bands = [model.reliability.band for model in models.values() if model.reliability.band is not None]
    if bands:
        name = f"{100 * bands[0].level:g} % {bands[0].kind} band{'s' if several else ''}"
        ax.fill_between([], [], color="0.5" if several else COLORS[0], alpha=BAND, linewidth=0, label=name)
    spread = histogram and not several
    finish_scaled(ax, scale, low, high, legend_top=1.0 - FOOT if spread else 1.0)
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
    ax.plot(curve.index, curve["apparent"], color="0.45", linestyle=(0, (5, 2)), linewidth=1.6, label="apparent")
    label = f"corrected for optimism ({optimism.resamples} refits)"
    ax.plot(curve.index, curve["corrected"], color=COLORS[0], linewidth=1.6, label=label)
    return finish_scaled(ax, scale, low, high)


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
        label = f"{100 * level:g} % belt"
        bottom = np.maximum(lower, low)
        ax.fill_between(belt.x, bottom, upper, color=COLORS[0], alpha=0.2 + 0.2 * i, linewidth=0, label=label)
    label = f"degree {belt.degree}, p = {belt.test.pvalue:.2g}"
    ax.annotate(label, (0.97, 0.04), xycoords="axes fraction", ha="right", fontsize="small")
    top = max(high, *(float(edge.max()) for pair in belt.bounds.values() for edge in pair))
    return finish_scaled(ax, scale, low, high, top=top)


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
        Draw the shares of events, draw the theoretical curves. A curve without bins and its band are drawn where there are
        (``loss_calibration_curve(..., band=True)``).
    """
    curves = curves if isinstance(curves, Mapping) else {f"$\\beta_1$ = {curves.beta1:.3g}": curves}
    scale = checked_scale(scale, [])
    ax = ax or new_axes(5.4, 4.6)
    frames = [curve.bins for curve in curves.values()]
    column = "corrected" if corrected else "score"
    places = np.concatenate([frame[name] for frame in frames for name in (column, "rate", "upper")])
    low = 0.0 if scale == "linear" else 0.7 * float(places[places > 0.0].min())
    high = min(1.0 if scale == "linear" else 1.0 - 1e-6, 1.15 * float(places.max()))
    diagonal(ax, low, high)
    for i, (label, curve) in enumerate(curves.items()):
        if points:
            _shares(ax, curve.bins, column, low, color(i), label)
        if curve.corp is not None and not corrected:
            shown = curve.corp[curve.corp["score"] > low]
            ax.fill_between(
                shown["score"], shown["lower"].clip(lower=low), shown["upper"], color=color(i), alpha=0.15, linewidth=0
            )
            ax.step(
                shown["score"],
                shown["rate"].clip(lower=low),
                color=color(i),
                linewidth=0.9,
                where="mid",
                linestyle="--",
            )
        if theory and not corrected:
            seen = (curve.theory > low) & (curve.score > low)
            name = None if points else label
            ax.plot(curve.score[seen], curve.theory[seen], color=color(i), linewidth=1.2, label=name)
    if theory and points and not corrected:
        ax.plot([], [], color="0.4", linewidth=1.2, label="if loss-calibrated")
    return finish_scaled(ax, scale, low, high, xlabel="loss-corrected score" if corrected else "score")


def _shares(ax: Axes, frame: pd.DataFrame, column: str, low: float, tone: str, label: str) -> None:
    """Shares of events with their limits; bins without events as arrows at the bottom."""
    shown = frame["rate"] > low
    rate, x = frame["rate"][shown], frame[column][shown]
    errors = np.abs(np.stack([rate - frame["lower"][shown].clip(lower=low), frame["upper"][shown] - rate]))
    ax.errorbar(x, rate, yerr=errors, fmt="o", color=tone, markersize=4, elinewidth=1, label=label, zorder=3)
    hidden = frame[column][~shown]
    if len(hidden):
        ax.plot(hidden, np.full(len(hidden), low), "v", color=tone, markersize=5, clip_on=False)


def plot_calibrators(calibrators: Mapping[str, Calibrator], empirical: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the log-odds of fitted calibrators beside the empirical ones.

    Parameters
    ----------
    calibrators : mapping from labels to Calibrator
    empirical : DataFrame
        From :func:`gevglm.calibration.empirical_log_odds`.
    ax : Axes, optional
    """
    ax = ax or new_axes(6.0, 4.2)
    seen = np.concatenate([empirical["log_odds"], *(empirical[limit] for limit in ("lower", "upper"))])
    low, high = seen[np.isfinite(seen)].min() - 0.7, seen[np.isfinite(seen)].max() + 0.7
    s = np.linspace(empirical["score"].min(), empirical["score"].max(), 400)
    ends = [empirical[limit].clip(low, high) for limit in ("lower", "upper")]
    ax.vlines(empirical["score"], *ends, color="0.6", linewidth=1)
    inside = np.isfinite(empirical[["lower", "upper"]]).all(axis=1)
    for rows, face, label in ((inside, "0.35", "empirical"), (~inside, "white", "empirical, no or only events")):
        if rows.any():
            place = empirical["score"][rows], empirical["log_odds"][rows]
            ax.plot(*place, "o", color="0.35", markerfacecolor=face, markersize=4, label=label, zorder=3)
    for i, (label, calibrator) in enumerate(calibrators.items()):
        fitted = np.nan_to_num(calibrator.log_odds(s), posinf=high, neginf=low)
        ax.plot(s, fitted, color=color(i), linewidth=1.5, label=label)
    ax.set_ylim(low, high)
    return finish(ax, "score", "log-odds of an event", "best")
