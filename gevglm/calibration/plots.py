"""Pictures of calibration: ready-made numbers in, Axes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gevglm.calibration.belt import CalibrationBelt
from gevglm.calibration.bins import Groups, binned
from gevglm.calibration.calibrators import Calibrator
from gevglm.calibration.inputs import scores as checked_scores
from gevglm.calibration.losscurve import LossCalibrationCurve
from gevglm.calibration.quantities import wilson_limits
from gevglm.exceptions import unknown_option
from gevglm.plots.axes import COLORS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gevglm.calibration.validation import Assessment

SCALES = ("linear", "log", "logit")
RARE = 0.05  # median prediction below which small probabilities get a logarithmic axis
FOOT = 0.11  # share of the height that a histogram takes
BARS = 60
BAND = 0.2  # opacity of a band; several share it
HIGHEST = 1.0 - 1e-9  # probability that a logit axis still shows


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
    low, high = _limits([model.groups for model in models.values()], scale)
    ceiling = HIGHEST if scale == "logit" else 1.0
    _diagonal(ax, low, high)
    for (label, model), color in zip(models.items(), _colors(len(models)), strict=True):
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
    _finish(ax, scale, low, high, legend_top=1.0 - FOOT if spread else 1.0)
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("share of events")
    if spread:
        _spread(ax, next(iter(models.values())).groups, scale, low, high)
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
    _diagonal(ax, low, high)
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
    _finish(ax, scale, low, high, top=float(max([high, *(edge.max() for edge in edges)])))
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
    _diagonal(ax, low, high)
    for (label, curve), color in zip(curves.items(), _colors(len(curves)), strict=True):
        if points:
            _shares(ax, curve.bins, column, low, color, label)
        if theory and not corrected:
            seen = (curve.theory > low) & (curve.score > low)
            name = None if points else label
            ax.plot(curve.score[seen], curve.theory[seen], color=color, linewidth=1.2, label=name)
    _finish(ax, scale, low, high)
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
    for (label, calibrator), color in zip(calibrators.items(), _colors(len(calibrators)), strict=True):
        fitted = np.nan_to_num(calibrator.log_odds(s), posinf=high, neginf=low)
        ax.plot(s, fitted, color=color, linewidth=1.5, label=label)
    ax.set_ylim(low, high)
    ax.set_xlabel("score")
    ax.set_ylabel("log-odds of an event")
    ax.legend(frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


# -- axes --------------------------------------------------------------------------------------


def checked_scale(scale: str | None, groups: list[Groups]) -> str:
    """Return the scale of the axes, chosen by the predictions if it is not given."""
    if scale is None:
        return "log" if min(_middle(group) for group in groups) < RARE else "linear"
    if scale not in SCALES:
        raise unknown_option("scale", scale, SCALES)
    return scale


def _middle(groups: Groups) -> float:
    ends = np.cumsum(groups.weight)
    return float(groups.score[np.searchsorted(ends, 0.5 * ends[-1])])


def _limits(groups: list[Groups], scale: str) -> tuple[float, float]:
    """Range of the axes: where the predictions are."""
    low, high = min(group.score[0] for group in groups), max(group.score[-1] for group in groups)
    if scale == "linear":
        return 0.0, float(high)
    smallest = min(float(group.score[group.score > 0.0].min(initial=1.0)) for group in groups)
    low = max(float(low), smallest)
    return low, float(min(high, HIGHEST)) if scale == "logit" else float(high)


def _colors(number: int) -> list[str]:
    return list((COLORS * (1 + number // len(COLORS)))[:number])


def _diagonal(ax: Axes, low: float, high: float) -> None:
    line = np.linspace(low, high, 200) if low == 0.0 else np.geomspace(low, high, 200)
    ax.plot(line, line, color="0.55", linewidth=1, linestyle=":", zorder=1)


def _finish(
    ax: Axes, scale: str, low: float, high: float, *, top: float | None = None, legend_top: float = 1.0
) -> None:
    top = high if top is None else top
    ax.set_xscale(scale)
    ax.set_yscale(scale)
    if scale == "linear":
        ax.set_xlim(low, 1.02 * high)
        ax.set_ylim(low, 1.02 * top)
    else:
        ax.set_xlim(low, high)
        ax.set_ylim(low, min(top, 1.0 if scale == "log" else HIGHEST))
        _plain_ticks(ax, scale)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.0, legend_top), fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)


def _plain_ticks(ax: Axes, scale: str) -> None:
    """Label probabilities as people write them, 0.001 and not 10^-3."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        decades = 10.0 ** np.arange(np.floor(np.log10(low)), 1)
        places = np.concatenate([decades, 3.0 * decades]) if high / low < 300.0 else decades
        if scale == "logit":
            places = np.unique(np.concatenate([places[places < 0.5], [0.5], 1.0 - places[places < 0.5]]))
        places = np.unique(places[(places >= low * 0.999) & (places <= high * 1.001)])
        axis.set_major_locator(FixedLocator(places))
        axis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
        axis.set_minor_formatter(NullFormatter())


def _plain(value: float) -> str:
    return f"{value:.6f}".rstrip("0") if 1e-6 <= value < 1.0 else f"{value:g}"


def _spread(ax: Axes, groups: Groups, scale: str, low: float, high: float) -> None:
    """Histograms along the edges: non-events at the bottom, events at the top."""
    edges = _bar_edges(scale, low, high)
    for place, counts, color, label, upside in (
        (0.0, groups.weight - groups.events, "0.45", "non-events", False),
        (1.0, groups.events, COLORS[1], "events", True),
    ):
        height, _ = np.histogram(np.clip(groups.score, edges[0], edges[-1]), bins=edges, weights=counts)
        inset = ax.inset_axes([0.0, place - FOOT if upside else place, 1.0, FOOT], zorder=0)
        inset.stairs(height, edges, fill=True, color=color, alpha=0.45)
        inset.set_xscale(scale)
        inset.set_xlim(ax.get_xlim())
        top = max(float(height.max()), 1.0)
        inset.set_ylim(*((top, 0.0) if upside else (0.0, top)))
        inset.axis("off")
        inset.annotate(
            label,
            (1.01, 0.5),
            xycoords="axes fraction",
            va="center",
            fontsize="x-small",
            color=color,
            annotation_clip=False,
        )
    ax.patch.set_visible(False)


def _bar_edges(scale: str, low: float, high: float) -> NDArray:
    if scale == "linear":
        return np.linspace(low, high, BARS + 1)
    if scale == "log":
        return np.geomspace(low, high, BARS + 1)
    inner = np.linspace(*(np.log(np.array([low, high])) - np.log1p(-np.array([low, high]))), BARS + 1)
    return 1.0 / (1.0 + np.exp(-inner))
