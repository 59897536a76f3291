"""Predictions over time: exact distributions, a Markov chain, a closed form, the chance of false alarms by simulation, input and bad input."""

from math import comb

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import gevglm
from gevglm.calibration import cox_calibration, monitor
from gevglm.calibration.event_counts import EventCount
from gevglm.calibration.monitoring import monitor_predictions
from gevglm.exceptions import GevglmError


def rows(periods=12, size=200, change=1.0, since=99, rng=0, low=0.01, high=0.2):
    rng = np.random.default_rng(rng)
    time = np.repeat(np.arange(1, periods + 1), size)
    p = rng.uniform(low, high, len(time))
    odds = p / (1 - p) * np.where(time >= since, change, 1.0)
    return pd.DataFrame({"period": time, "y": (rng.random(len(time)) < odds / (1 + odds)).astype(int), "risk": p})


@pytest.mark.parametrize("size", [1, 7, 150])
def test_the_number_of_events_has_the_distribution_of_a_convolution(size):
    p = np.random.default_rng(size).uniform(0.0, 0.6, size)
    pmf = np.ones(1)
    for each in p:
        pmf = np.convolve(pmf, [1 - each, each])
    found = EventCount(p, np.ones(size))
    assert_allclose(found.pmf, pmf[found.support], atol=1e-6)
    assert found.pmf.sum() == pytest.approx(1.0)
    assert found.mean == pytest.approx(p.sum())
    draws = found.draw(np.random.default_rng(1), 20_000)
    assert draws.mean() == pytest.approx(p.sum(), abs=5 * np.sqrt((p * (1 - p)).sum() / 20_000) + 1e-9)


def test_equal_risks_are_binomial_and_certain_ones_count():
    found = EventCount(np.array([0.3, 1.0, 0.0]), np.array([10.0, 2.0, 5.0]))
    expected = [comb(10, k) * 0.3**k * 0.7 ** (10 - k) for k in range(11)]
    assert_allclose(found.pmf[(found.support >= 2) & (found.support <= 12)], expected, atol=1e-14)


def chance_of_passing(counts, step, shift, limit, cells=4000):
    """Whether the chart passes its limit, by a Markov chain over a fine grid of its values, the mass between two of them divided by distance."""
    grid = np.linspace(0.0, limit, cells)
    mass, width = np.zeros(cells), grid[1]
    mass[0] = 1.0
    for count, down in zip(counts, shift, strict=True):
        new = np.zeros(cells)
        for events, probability in zip(count.support, count.pmf, strict=True):
            if probability < 1e-15:
                continue
            value = np.maximum(grid + step * events - down, 0.0)
            inside = value <= limit
            place = np.minimum((value[inside] / width).astype(int), cells - 2)
            share = value[inside] / width - place
            np.add.at(new, place, mass[inside] * (1 - share) * probability)
            np.add.at(new, place + 1, mass[inside] * share * probability)
        mass = new
    return 1.0 - mass.sum()


def test_limits_by_a_markov_chain():
    """Each chart passes its own limit with a probability below that of any; their sum is above it."""
    table, ratio = rows(periods=10, size=60), 2.0
    found = monitor(table, odds_ratio=ratio, draws=100_000)
    parts = [part["risk"].to_numpy() for _, part in table.groupby("period")]
    counts = [EventCount(p, np.ones(len(p))) for p in parts]
    chances = []
    for name, way in (("more", ratio), ("fewer", 1 / ratio)):
        shift = [np.log(1 - p + way * p).sum() for p in parts]
        chances.append(chance_of_passing(counts, np.log(way), shift, found.limits[name]))
    drawn = np.random.default_rng(5)
    total = np.cumsum([count.draw(drawn, 50_000) - count.mean for count in counts], axis=0)
    chances.append((np.abs(total).max(axis=0) > found.limits["sum"]).mean())
    assert max(chances) < 0.05 < sum(chances)
    # the same quantile of each: events come in ones, so that none of them is far from the others
    assert max(chances) < 2.5 * min(chances)


def test_the_chance_of_a_false_alarm_person_by_person():
    """Outcomes drawn from the predictions, one person at a time."""
    table, draws, alarms = rows(periods=8, size=80), 600, 0
    rng = np.random.default_rng(3)
    limits = monitor(table, false_alarm=0.1, odds_ratio=2.0).limits
    time, p = table["period"].to_numpy() - 1, table["risk"].to_numpy()
    expected = np.bincount(time, p)
    downs = [np.bincount(time, np.log(1 - p + way * p)) for way in (2.0, 0.5)]
    for _ in range(draws):
        events = np.bincount(time, rng.random(len(p)) < p)
        more = fewer = 0.0
        passed = (np.abs(np.cumsum(events - expected)) > limits["sum"]).any()
        for t, number in enumerate(events):
            more = max(0.0, more + number * np.log(2.0) - downs[0][t])
            fewer = max(0.0, fewer - number * np.log(2.0) - downs[1][t])
            passed |= more > limits["more"] or fewer > limits["fewer"]
        alarms += passed
    assert alarms / draws == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / draws))


def test_the_sum_has_the_limits_of_a_brownian_motion():
    """Many small periods: P(max |B| > 2.241) is 5 % on the unit interval; here the sum alone is nearly all that can alarm."""
    p = np.full(40_000, 0.2)
    time = np.repeat(np.arange(400), 100)
    found = monitor_predictions(np.zeros(len(p)), p, time, odds_ratio=1e6, draws=20_000)
    sd = np.sqrt((p * (1 - p)).sum())
    assert found.limits["sum"] / sd == pytest.approx(2.241, rel=0.04)


def test_periods_by_hand():
    table = rows(periods=4)
    table.loc[table["period"] == 2, "y"] = 0
    found = monitor(table)
    own = table[table["period"] == 3]
    row = found.periods.loc["3"]
    assert (row["n"], row["events"]) == (200, own["y"].sum())
    assert row["O/E"] == pytest.approx(own["y"].sum() / own["risk"].sum())
    assert row["upper"] == pytest.approx(chi2.isf(0.025, 2 * own["y"].sum() + 2) / 2 / own["risk"].sum())
    assert row["slope"] == pytest.approx(float(cox_calibration(own["y"], own["risk"]).slope))
    none = found.periods.loc["2"]
    assert none["O/E"] == none["lower"] == 0.0
    assert none["upper"] == pytest.approx(-np.log(0.025) / none["expected"])
    assert np.isnan(none["slope"])
    assert "No calibration slope" in str(found)
    assert_allclose(found.periods["sum"], (found.periods["events"] - found.periods["expected"]).cumsum())


@pytest.mark.parametrize(("change", "chart"), [(2.0, "more"), (0.4, "fewer")])
def test_a_change_is_found_and_dated(change, chart):
    found = monitor(rows(periods=12, size=400, change=change, since=7), odds_ratio=1.5)
    first = found.signals.set_index("chart").loc[chart]
    assert int(first["period"]) in (7, 8)
    assert int(first["after"]) in (5, 6)
    text = " ".join(str(found.summary()).split())
    assert f"SIGNAL in {first['period']}: {chart} events than predicted" in text
    calm = monitor(rows(periods=12, size=400))
    assert not len(calm.signals)
    assert "No chart has passed its limit." in str(calm)


def test_weights_are_repeated_rows():
    table = rows(periods=3, size=50)
    table["w"] = np.random.default_rng(1).integers(0, 4, len(table))
    one, other = monitor(table, weights="w"), monitor(table.loc[table.index.repeat(table["w"])])
    assert_allclose(one.periods, other.periods, rtol=1e-7)
    assert one.limits == pytest.approx(other.limits)


def test_tables_by_period_and_dates():
    table = rows(periods=3, size=60)
    one = monitor(table)
    parts = [part.drop(columns="period") for _, part in table.groupby("period")]
    for given in (parts, {"1": parts[0], "2": parts[1], "3": parts[2]}, (part for part in parts)):
        pd.testing.assert_frame_equal(monitor(given).periods, one.periods)
    named = monitor({"b": parts[0], "a": parts[1]})
    assert list(named.periods.index) == ["b", "a"]
    dated = table.assign(day=pd.to_datetime("2024-01-15") + pd.to_timedelta(31 * (table["period"] - 1), "D"))
    found = monitor(dated, time="day", every="M")
    assert list(found.periods.index) == ["2024-01", "2024-02", "2024-03"]
    assert_allclose(found.periods, one.periods)
    shuffled = monitor(table.sample(frac=1, random_state=1))
    assert_allclose(shuffled.periods, one.periods)
    longer = monitor(table, horizon=30)
    assert longer.limits["sum"] > one.limits["sum"]
    assert "within 30 periods" in str(longer)


def test_results_monitor_new_data_and_find_their_worst_segment():
    data, new = (gevglm.datasets.simulate_study(rng=rng) for rng in (1, 2))
    new["month"] = np.arange(len(new)) % 6
    res = gevglm.fit("event ~ age + smoker", data)
    found = res.monitor(new, time="month")
    direct = monitor_predictions(new["event"], res.predict(new), new["month"])
    assert_allclose(found.periods, direct.periods)
    assert_allclose(res.monitor(new, time=new["month"].to_numpy()).periods, direct.periods)
    worst = res.worst_segment(new, draws=19)
    same = gevglm.calibration.worst_segment(new["event"], res.predict(new), new[["age", "smoker"]], draws=19)
    assert worst.segment == same.segment
    assert worst.pvalue == same.pvalue
    assert res.worst_segment(new, ["month"], draws=19).searched > 0
    calm = res.monitor(new.assign(event=0), time="month")
    assert (calm.periods["O/E"] == 0).all()
    assert "fewer" in list(calm.signals["chart"])
    assert "never at zero since the start" in " ".join(str(calm).split())
    with pytest.raises(GevglmError, match="month2"):
        res.worst_segment(new, ["month2"])
    with pytest.raises(GevglmError, match="time has 3 rows"):
        res.monitor(new, time=[1, 2, 3])
    with pytest.raises(GevglmError, match="held in memory"):
        res.monitor(None, time="month")


@pytest.mark.parametrize("kind", ["cusum", "sum", "O/E", "slope"])
def test_pictures(kind):
    plt = pytest.importorskip("matplotlib.pyplot")
    found = monitor(rows(periods=15, size=60), draws=1000)
    ax = found.plot(kind)
    assert len(ax.lines) >= 2
    with pytest.raises(GevglmError, match="kind='funnel'"):
        found.plot("funnel")
    plt.close("all")


TABLE = rows(periods=3, size=30)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: monitor(TABLE, time="month"), "month"),
        (lambda: monitor(TABLE, outcome="died"), "died"),
        (lambda: monitor(TABLE, odds_ratio=0.5), "odds_ratio=0.5"),
        (lambda: monitor(TABLE, false_alarm=1.0), "false_alarm=1"),
        (lambda: monitor(TABLE, horizon=2), "horizon=2"),
        (lambda: monitor(TABLE, level=95), "level=95"),
        (lambda: monitor(TABLE, draws=10), "draws=10"),
        (lambda: monitor(TABLE.assign(period=np.nan)), "time is missing in 90 of 90"),
        (lambda: monitor(TABLE.assign(period=["a"] * 89 + [1])), "several kinds"),
        (lambda: monitor(TABLE.assign(y=2)), "not 0 or 1"),
        (lambda: monitor(TABLE.assign(risk=2.0)), r"not in \[0, 1\]"),
        (lambda: monitor(TABLE.assign(w=0.5), weights="w"), "whole numbers"),
        (
            lambda: monitor(TABLE.assign(period="winter"), every="M"),
            "needs dates, but time has values such as 'winter'",
        ),
        (lambda: monitor(TABLE, every="M"), "needs dates, but time has values such as 1"),
        (lambda: monitor(TABLE.assign(period="2024-01-01"), every="fortnight"), "every='fortnight'"),
        (lambda: monitor([]), "no batches"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(GevglmError, match=message):
        call()
