"""Net benefit with intervals: point values of dcurves, standard errors by definition, coverage by simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from gevglm.calibration import net_benefit_difference
from gevglm.calibration.curves import decision_curve
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.plots import plot_decision
from tests.support.golden import numbers, synthetic

THRESHOLDS = [0.05, 0.1, 0.2]


def drawn(rng, n):
    """Outcomes, risks that are true, and risks by half of what is known."""
    a, b = rng.normal(size=(2, n))
    p = expit(-2.0 + a + b)
    return (rng.random(n) < p).astype(float), p, expit(-1.8 + a)


def coverage(samples, n):
    """Share of intervals that hold the truth, of net benefits and of differences, at each threshold."""
    rng = np.random.default_rng(25)
    population = drawn(rng, 2_000_000)
    curve = decision_curve(*population[:2], thresholds=THRESHOLDS).net_benefit
    difference = net_benefit_difference(*population, THRESHOLDS).table["estimate"]
    held = np.zeros((2, len(THRESHOLDS)))
    for _ in range(samples):
        y, p, q = drawn(rng, n)
        found, gain = decision_curve(y, p, thresholds=THRESHOLDS), net_benefit_difference(y, p, q, THRESHOLDS).table
        held[0] += (found.lower <= curve) & (curve <= found.upper)
        held[1] += (gain["ci_lower"] <= difference) & (difference <= gain["ci_upper"])
    return held / samples


@pytest.mark.study
def test_intervals_cover():
    share = coverage(4000, 1000)
    assert ((share > 0.93) & (share < 0.97)).all(), share


def test_intervals_cover_in_few_samples():
    rng = np.random.default_rng(1)
    truth = net_benefit_difference(*drawn(rng, 200_000), 0.1).table.loc[0.1, "estimate"]
    tables = [net_benefit_difference(*drawn(rng, 800), 0.1).table.loc[0.1] for _ in range(200)]
    assert sum(row["ci_lower"] <= truth <= row["ci_upper"] for row in tables) > 178  # of 190 expected: 4 errors
    assert_allclose(np.mean([row["se"] for row in tables]), np.std([row["estimate"] for row in tables]), rtol=0.2)


def test_dcurves_has_the_same_points():
    data, expected = synthetic("calibration"), numbers("prediction_packages")["dcurves"]
    y, p, t = data["y"], data["p"], expected["thresholds"]
    curve = decision_curve(y, p, thresholds=t)
    assert_allclose(curve.net_benefit, expected["net_benefit"], atol=1e-12)
    assert_allclose(curve.act_on_all, expected["act_on_all"], atol=1e-12)
    table = net_benefit_difference(y, p, np.ones(len(y)), t).table
    assert_allclose(table["first"], expected["net_benefit"], atol=1e-12)
    assert_allclose(table["second"], expected["act_on_all"], atol=1e-12)


def test_standard_errors_are_those_of_a_mean():
    y, p, q = drawn(np.random.default_rng(3), 500)
    t = np.array(THRESHOLDS)[:, None]
    gain = y - (1 - y) * t / (1 - t)
    curve = decision_curve(y, p, thresholds=THRESHOLDS, level=0.9)
    assert_allclose(curve.se, (gain * (p >= t)).std(axis=1) / np.sqrt(500), rtol=1e-10)
    assert_allclose(curve.upper - curve.net_benefit, 1.6448536 * curve.se, rtol=1e-6)
    found = net_benefit_difference(y, p, q, THRESHOLDS)
    d = gain * ((p >= t).astype(float) - (q >= t))
    assert_allclose(found.table[["estimate", "se"]].T, [d.mean(axis=1), d.std(axis=1) / np.sqrt(500)], rtol=1e-10)
    assert "first less second" in str(found)
    assert found.summary_frame() is found.table
    against_none = net_benefit_difference(y, p, np.zeros(500), THRESHOLDS).table
    assert_allclose(against_none["se"], curve.se, rtol=1e-10)


def test_weights_are_repeated_rows_and_clusters_of_one_are_rows():
    y, p, q = drawn(np.random.default_rng(4), 300)
    times = np.random.default_rng(5).integers(0, 4, 300)
    repeated = net_benefit_difference(*(np.repeat(v, times) for v in (y, p, q)), THRESHOLDS).table
    assert_allclose(net_benefit_difference(y, p, q, THRESHOLDS, times).table, repeated, rtol=1e-10)
    curves = (
        decision_curve(y, p, times, thresholds=0.1),
        decision_curve(*(np.repeat(v, times) for v in (y, p)), thresholds=0.1),
    )
    assert_allclose(curves[0].se, curves[1].se)
    alone = net_benefit_difference(y, p, q, THRESHOLDS, groups=np.arange(300)).table["se"]
    assert_allclose(alone, np.sqrt(300 / 299) * net_benefit_difference(y, p, q, THRESHOLDS).table["se"])
    pairs = [np.tile(v, 2) for v in (y, p, q)]
    together = net_benefit_difference(*pairs, THRESHOLDS, groups=np.tile(np.arange(300), 2)).table["se"]
    assert_allclose(together, alone)


def test_the_picture_has_the_band():
    y, p, _ = drawn(np.random.default_rng(6), 400)
    curve = decision_curve(y, p)
    band = plot_decision(curve).collections[0].get_datalim(plot_decision(curve).transData)
    assert_allclose(band.y1, curve.upper.max())


def test_bad_input():
    y, p, q = drawn(np.random.default_rng(6), 50)
    with pytest.raises(InvalidOptionError, match="below 1, got 1"):
        net_benefit_difference(y, p, q, [0.1, 1.0])
    with pytest.raises(InvalidDataError, match="50 rows, but p has 49"):
        net_benefit_difference(y, p, q[1:], 0.1)
    with pytest.raises(InvalidOptionError, match="not a coverage"):
        net_benefit_difference(y, p, q, 0.1, level=95)
    with pytest.raises(InvalidDataError, match="not in"):
        net_benefit_difference(y, p, 2.0 * p + 1.0, 0.1)
