"""Predictions over time: observed and expected events by period, and cumulative sums whose limits have a known chance of a false alarm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from gevglm.calibration._summary_table import summary_table
from gevglm.calibration.by_group import of_group
from gevglm.calibration.estimates import checked_level, poisson_limits
from gevglm.calibration.event_counts import EventCount
from gevglm.calibration.sample import predictions
from gevglm.data.tables import as_frame, column
from gevglm.display.brief import Summarised
from gevglm.exceptions import InvalidDataError, InvalidOptionError, listed, whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

CHARTS = {"sum": "observed less expected events", "more": "more events", "fewer": "fewer events"}
MOST_PERIODS = 36  # in a summary


@dataclass(frozen=True, repr=False)
class Monitor(Summarised):
    """Predictions over time.

    Attributes
    ----------
    periods : DataFrame
        A row for each period: ``n``, ``events``, ``expected``; ``O/E`` with Poisson limits ``lower`` and ``upper``; the calibration ``slope`` with
        ``slope lower`` and ``slope upper``, missing where a period does not determine it; and the charts after it: ``sum``, observed less expected
        events so far, ``more`` and ``fewer``, the cumulative sums of log-likelihood ratios.
    limits : dict
        Of the charts ``"sum"`` (on both sides), ``"more"`` and ``"fewer"``.
    signals : DataFrame
        The charts that passed their limit: ``chart``, ``period`` when, and ``after``, the last period before the change (missing for the start).
    odds_ratio : float
        The change that the charts look for, and its inverse.
    false_alarm : float
        Chance that any chart passes a limit within the horizon while predictions are right.
    horizon : int
        Number of periods.
    level : float
        Coverage of the limits of O/E and slope.
    draws : int
        Simulations behind the limits of the charts.
    """

    periods: pd.DataFrame
    limits: dict[str, float]
    signals: pd.DataFrame
    odds_ratio: float
    false_alarm: float
    horizon: int
    level: float
    draws: int

    def summary_frame(self) -> pd.DataFrame:
        """Return the periods."""
        return self.periods

    def summary(self) -> Summary:
        """Summarise."""
        total = self.periods[["n", "events", "expected"]].sum()
        facts = {
            "Periods": str(len(self.periods)),
            "Observations": f"{total['n']:,.10g}",
            "Events": f"{total['events']:,.10g}",
            "Expected": f"{total['expected']:.5g}",
            "False alarm": f"{self.false_alarm:g} in {self.horizon} periods",
            "Change looked for": f"odds x {self.odds_ratio:g}, / {self.odds_ratio:g}",
        }
        shown = self.periods.tail(MOST_PERIODS).drop(columns=["slope lower", "slope upper"])
        formats = {"expected": ".1f", "sum": ".1f"} | dict.fromkeys(
            ("O/E", "lower", "upper", "slope", "more", "fewer"), ".2f"
        )
        return summary_table("Predictions over time", facts, shown, self.sentences(), formats)

    def sentences(self) -> list[str]:
        """Return in words what the charts say."""
        found = [self._signal(row) for _, row in self.signals.iterrows()] or ["No chart has passed its limit."]
        shown = [] if len(self.periods) <= MOST_PERIODS else [f"The last {MOST_PERIODS} periods are shown."]
        limits = ", ".join(f"{CHARTS[name]} ({name}) {value:.3g}" for name, value in self.limits.items())
        silent = [str(label) for label in self.periods.index[self.periods["slope"].isna()]]
        no_slope = (
            [f"No calibration slope, for lack of events or of finite estimates: {listed(silent)}."] if silent else []
        )
        return [
            *found,
            f"Limits of the charts: {limits}. If predictions are right, any chart passes its own within {self.horizon} periods with probability "
            f"{self.false_alarm:g} ({self.draws:,} simulations).",
            *no_slope,
            *shown,
        ]

    def _signal(self, row: pd.Series) -> str:
        if row["chart"] == "sum":
            value = self.periods.loc[row["period"], "sum"]
            return f"SIGNAL in {row['period']}: observed less expected events, {value:+.1f} so far, passed the limit of {self.limits['sum']:.1f}."
        ratio = f"{self.odds_ratio:g}" if row["chart"] == "more" else f"1/{self.odds_ratio:g}"
        zero = "never at zero since the start" if pd.isna(row["after"]) else f"last at zero after {row['after']}"
        return (
            f"SIGNAL in {row['period']}: {CHARTS[row['chart']]} than predicted. The chart (odds {ratio} times those predicted) was {zero}, "
            "from where the change is dated."
        )

    def plot(self, kind: str = "cusum", ax: Axes | None = None) -> Axes:
        """Draw a chart; see :func:`gevglm.plots.plot_monitor`.

        Parameters
        ----------
        kind : {"cusum", "sum", "O/E", "slope"}
        ax : Axes, optional
        """
        from gevglm.plots.monitor import plot_monitor

        return plot_monitor(self.periods, self.limits, kind, ax=ax)

    def __str__(self) -> str:
        return str(self.summary())

    def _in_a_line(self) -> str:
        found = "; ".join(
            f"{CHARTS[chart]}, {period}"
            for chart, period in zip(self.signals["chart"], self.signals["period"], strict=True)
        )
        return f"{len(self.periods)} periods, {self.periods['events'].sum():,.10g} events; {f'signals: {found}' if found else 'no signal'}"


def monitor(
    batches: Any,
    *,
    time: str = "period",
    outcome: str = "y",
    risk: str = "risk",
    weights: str | None = None,
    every: str | None = None,
    **options: Any,
) -> Monitor:
    r"""Watch predictions over time, by period: O/E, calibration slope, and cumulative sums with limits.

    With :math:`O_t` events observed in period t, and predicted risks :math:`p_i`, the charts are

    .. math::
        S_t = \sum_{s \le t} \Big(O_s - \sum_{i \in s} p_i\Big), \qquad
        C_t = \max\Big(0,\; C_{t-1} + O_t \ln R - \sum_{i \in t} \ln(1 - p_i + R\,p_i)\Big)

    with the odds ratio R for more events than predicted, and its inverse for fewer. The limits are those that any of the charts passes with the
    probability `false_alarm` within the horizon if the predictions are right; they are found by simulating events of each period from the exact
    distribution of their number.

    Parameters
    ----------
    batches : table, mapping or iterable of tables
        A table with a column of periods; or a table for each period, by its name or in their order.
    time, outcome, risk, weights : str
        Columns of periods, of outcomes (0 or 1), of predicted probabilities, and of numbers of observations, if rows are more than one.
    every : str, optional
        Length of the periods that dates are put into, as pandas calls it: ``"M"``, ``"Q"``, ``"W"``.
    **options
        Of :func:`gevglm.calibration.monitoring.monitor_predictions`: ``odds_ratio`` (1.25), ``false_alarm`` (0.05), ``horizon`` (the number of periods at
        hand), ``level`` (0.95), ``draws`` (50,000), ``rng`` (0).

    Returns
    -------
    Monitor
        With ``summary()``, ``periods``, ``signals`` and ``plot(kind)``.

    References
    ----------
    Steiner, Cook, Farewell and Treasure (2000), Biostatistics 1, 441-452.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from gevglm.calibration import monitor
    >>> rng = np.random.default_rng(1)
    >>> table = pd.DataFrame({"month": np.repeat(np.arange(1, 13), 400), "risk": rng.uniform(0.01, 0.2, 4800)})
    >>> odds = table["risk"] / (1 - table["risk"]) * np.where(table["month"] > 6, 1.8, 1.0)
    >>> table["died"] = (rng.random(4800) < odds / (1 + odds)).astype(int)
    >>> monitor(table, time="month", outcome="died")
    <Monitor: 12 periods, 642 events; signals: more events, 8; observed less expected events, 9>
    """
    table = _one_table(batches, time)
    columns = [column(table, name, role) for name, role in ((outcome, "outcome"), (risk, "risk"), (time, "time"))]
    y, p, when = columns
    counts = None if weights is None else column(table, weights, "weights").to_numpy()
    return monitor_predictions(y.to_numpy(), p.to_numpy(), when, counts, every=every, **options)


def monitor_predictions(
    y: ArrayLike,
    p: ArrayLike,
    time: Any,
    weights: ArrayLike | None = None,
    *,
    every: str | None = None,
    odds_ratio: float = 1.25,
    false_alarm: float = 0.05,
    horizon: int | None = None,
    level: float = 0.95,
    draws: int = 50_000,
    rng: Any = 0,
) -> Monitor:
    """Watch predictions over time; see :func:`gevglm.calibration.monitor`.

    Parameters
    ----------
    y, p, weights : array_like
        Outcomes, predicted probabilities, and numbers of observations.
    time : Series or array_like
        Period, or date, of each row.
    every : str, optional
        Length of the periods that dates are put into.
    odds_ratio : float
        The change to look for: odds of events this many times those predicted, or a part of them.
    false_alarm : float
        Chance that any chart passes its limit within the horizon if predictions are right.
    horizon : int, optional
        Number of periods that limits are for; the periods at hand are repeated as often as need be. Give it where more periods are to come, so that limits stay.
    level : float
        Coverage of the limits of O/E and slope.
    draws : int
        Simulations.
    rng : int or Generator
    """
    if not odds_ratio > 1.0 or not np.isfinite(odds_ratio):
        raise InvalidOptionError(f"odds_ratio={odds_ratio!r} must be above 1; its inverse is looked for too.")
    if not 0.0 < false_alarm < 1.0:
        raise InvalidOptionError(f"false_alarm={false_alarm!r} is not a probability; give a number such as 0.05.")
    level, draws = checked_level(level), whole_number("draws", draws, 1000)
    sample = predictions(y, p, weights)
    labels = _labels(time, every, weights, len(np.asarray(y)))
    if (sample.weight % 1.0 != 0.0).any():
        raise InvalidDataError("weights must be whole numbers of observations here, since events are counted.")
    order = [label for label in _sorted(labels) if (labels == label).any()]
    rows, counts, logs = [], [], []
    for label in order:
        own = labels == label
        rows.append(_of_period(sample.y[own], sample.p[own], sample.weight[own], level))
        counts.append(EventCount(sample.p[own], sample.weight[own]))
        logs.append(
            [_expected_log(sample.p[own], sample.weight[own], ratio) for ratio in (odds_ratio, 1.0 / odds_ratio)]
        )
    columns = ["n", "events", "expected", "O/E", "lower", "upper", "slope", "slope lower", "slope upper"]
    frame = pd.DataFrame(rows, index=pd.Index([str(label) for label in order], name="period"), columns=columns)
    step, shift = float(np.log(odds_ratio)), np.array(logs)
    charts = _Charts(np.array([count.mean for count in counts]), step, shift)
    followed = [charts.after(t, np.array([events])) for t, events in enumerate(frame["events"])]
    frame[["sum", "more", "fewer"]] = np.array(followed)[:, :, 0]
    horizon = len(order) if horizon is None else whole_number("horizon", horizon, len(order))
    again = _Charts(charts.expected, step, shift)
    limits = _limits(again, counts, horizon, false_alarm, draws, np.random.default_rng(rng))
    return Monitor(frame, limits, _signals(frame, limits), float(odds_ratio), float(false_alarm), horizon, level, draws)


# -- tables and periods ------------------------------------------------------------------------


def _one_table(batches: Any, time: str) -> pd.DataFrame:
    """Return batches as one table with a column of periods."""
    if isinstance(batches, Mapping) and batches and all(hasattr(batch, "columns") for batch in batches.values()):
        named = {str(name): as_frame(batch) for name, batch in batches.items()}
    elif isinstance(batches, Iterable) and not hasattr(batches, "columns") and not isinstance(batches, (Mapping, str)):
        named = {str(number): as_frame(batch) for number, batch in enumerate(batches, 1)}
    else:
        return as_frame(batches)
    if not named:
        raise InvalidDataError("there are no batches.")
    parts = [batch.assign(**{time: name}) for name, batch in named.items()]
    table = pd.concat(parts, ignore_index=True)
    return table.assign(**{time: pd.Categorical(table[time], list(named))})


def _labels(time: Any, every: str | None, weights: ArrayLike | None, n: int) -> pd.Series:
    """Return the period of each row that has weight."""
    labels = pd.Series(time).reset_index(drop=True)
    if len(labels) != n:
        raise InvalidDataError(f"time has {len(labels)} rows, but there are {n} outcomes.")
    missing = int(labels.isna().sum())
    if missing:
        raise InvalidDataError(f"time is missing in {missing} of {n} rows; leave them out, or give their period.")
    if every is not None:
        number = pd.api.types.is_numeric_dtype(labels.dtype)
        dates = pd.Series(pd.NaT, index=labels.index) if number else pd.to_datetime(labels, errors="coerce")
        if dates.isna().any():
            raise InvalidDataError(
                f"every={every!r} needs dates, but time has values such as {labels[dates.isna()].tolist()[0]!r}."
            )
        try:
            labels = dates.dt.to_period(every)
        except ValueError:
            raise InvalidOptionError(
                f"every={every!r} is not a length of periods; give 'M', 'Q', 'Y' or 'W'."
            ) from None
    return labels if weights is None else labels[np.asarray(weights, dtype=float) > 0.0].reset_index(drop=True)


def _sorted(labels: pd.Series) -> list[Any]:
    """Return the periods in their order."""
    if isinstance(labels.dtype, pd.CategoricalDtype):
        return list(labels.cat.categories)
    try:
        return sorted(labels.unique())
    except TypeError:
        raise InvalidDataError(
            "time has values of several kinds, which have no order; make them numbers, dates or texts."
        ) from None


def _of_period(y: NDArray, p: NDArray, weight: NDArray, level: float) -> tuple[float, ...]:
    """Return the numbers of a period."""
    (n, events, expected), found = of_group(y, p, weight)
    lower, upper = (float(limit) for limit in poisson_limits(np.array(events), level))
    slope, variance = found.get("slope", (np.nan, np.nan))
    reach = norm.isf((1.0 - level) / 2.0) * np.sqrt(variance)
    ratios = (events / expected, lower / expected, upper / expected) if expected > 0.0 else (np.nan,) * 3
    return (n, events, expected, *ratios, slope, slope - reach, slope + reach)


# -- charts ------------------------------------------------------------------------------------


def _expected_log(p: NDArray, weight: NDArray, ratio: float) -> float:
    r"""Return :math:`\sum \ln(1 - p + R p)`."""
    return float(weight @ np.log1p((ratio - 1.0) * p))


class _Charts:
    """The charts of one course of events, or of many at once."""

    def __init__(self, expected: NDArray, step: float, shift: NDArray):
        self.expected, self.step, self.shift = expected, step, shift
        self.sum = self.more = self.fewer = np.zeros(1)

    def after(self, t: int, events: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return the charts after so many events in the next period, which is like period t."""
        t = t % len(self.expected)
        self.sum = self.sum + events - self.expected[t]
        self.more = np.maximum(self.more + self.step * events - self.shift[t, 0], 0.0)
        self.fewer = np.maximum(self.fewer - self.step * events - self.shift[t, 1], 0.0)
        return self.sum, self.more, self.fewer


def _limits(
    charts: _Charts, counts: list[EventCount], horizon: int, false_alarm: float, draws: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the limits that any chart passes with the given probability while predictions are right: the same quantile of each chart's largest value."""
    largest = np.zeros((3, draws))
    for t in range(horizon):
        total, more, fewer = charts.after(t, counts[t % len(counts)].draw(rng, draws))
        np.maximum(largest, [np.abs(total), more, fewer], out=largest)
    ordered = np.sort(largest, axis=1)
    ranks = np.stack([np.searchsorted(values, own) for values, own in zip(ordered, largest, strict=True)])
    place = np.sort(ranks.max(axis=0))[int(np.ceil((1.0 - false_alarm) * draws)) - 1]
    return {name: float(values[place]) for name, values in zip(("sum", "more", "fewer"), ordered, strict=True)}


def _signals(frame: pd.DataFrame, limits: dict[str, float]) -> pd.DataFrame:
    """Return when charts passed their limits, and the last period before the change."""
    found = []
    for chart in ("more", "fewer", "sum"):
        values = np.abs(frame[chart].to_numpy())
        passed = np.flatnonzero(values > limits[chart])
        if not len(passed):
            continue
        first = int(passed[0])
        before = np.flatnonzero(values[:first] == 0.0) if chart != "sum" else np.array([], dtype=int)
        found.append((chart, frame.index[first], frame.index[before[-1]] if len(before) else None))
    return pd.DataFrame(found, columns=["chart", "period", "after"])
