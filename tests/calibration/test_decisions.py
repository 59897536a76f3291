"""Decisions of least expected cost, thresholds from weights and costs, and what wholesale switching would save."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

from gevglm.calibration import (
    decide,
    decision_threshold,
    loss_calibration_curve,
    loss_calibration_curve_multiclass,
    loss_calibration_test,
    loss_calibration_test_multiclass,
    optimal_score,
    reliability,
    switching_gain,
)

cost = st.floats(0.1, 50)


@settings(max_examples=50)
@given(cost, cost, cost, st.floats(0.001, 0.999))
def test_a_threshold_is_where_both_calls_cost_the_same(missed, alarm, weight, probability):
    costs = {"false_negative": missed, "false_positive": alarm}
    threshold = decision_threshold(costs)
    assert threshold * missed == pytest.approx((1 - threshold) * alarm)
    weights = {0: 1.0, 1: weight}
    score = optimal_score(probability, weights)
    called = decide([score], costs, weights)[0]
    assert called == (probability * missed > (1 - probability) * alarm) or probability == pytest.approx(threshold)
    assert (score > decision_threshold(costs, weights)) == called or score == pytest.approx(
        decision_threshold(costs, weights)
    )
    assert decision_threshold(costs, {0: alarm, 1: missed}) == pytest.approx(0.5)


def test_several_classes_by_brute_force():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 200)
    costs = rng.uniform(0.1, 5, (4, 4)) * (1 - np.eye(4))
    weights = np.array([1.0, 5.0, 2.0, 9.0])
    scores = p * weights / (p * weights).sum(axis=1, keepdims=True)
    expected = [min(range(4), key=lambda j, row=row: sum(row[y] * costs[y, j] for y in range(4))) for row in p]
    assert_array_equal(decide(scores, costs, weights), expected)
    assert_array_equal(decide(p), p.argmax(axis=1))


def test_the_best_score_of_a_group_minimises_the_weighted_loss():
    rng = np.random.default_rng(1)
    p = rng.choice([0.1, 0.3, 0.7], 900)
    y = (rng.random(900) < 0.5 * p).astype(int)
    found = switching_gain(y, p, 0.8, bins=None)
    for loss, name in (
        (lambda y, a: -np.where(y == 1, np.log(a), np.log1p(-a)), "log"),
        (lambda y, a: (y - a) ** 2, "squared"),
    ):
        table = switching_gain(y, p, 0.8, bins=None, loss=name)
        for _, row in table.iterrows():
            own = y[np.isclose(p, row["score"])]

            def total(a, own=own, loss=loss):
                return (np.where(own == 1, 0.8, 0.2) * loss(own, a)).sum()

            best = minimize_scalar(total, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-10})
            assert row["best"] == pytest.approx(best.x, abs=1e-5)
            assert row["gain"] == pytest.approx((total(row["score"]) - best.fun) / 900, abs=1e-10)
    assert (found["gain"] >= 0).all()
    assert found["n"].sum() == 900


def test_scores_that_are_loss_calibrated_gain_nothing_but_by_chance():
    rng = np.random.default_rng(2)
    gamma = rng.beta(1, 9, 200_000)
    y = (rng.random(len(gamma)) < gamma).astype(int)
    weights = {0: 1, 1: 20}
    right = switching_gain(y, optimal_score(gamma, weights), weights, bins=20)["gain"].sum()
    ignored = switching_gain(y, gamma, weights, bins=20)["gain"].sum()
    assert abs(right) < 1e-3 < 0.05 < ignored


def test_the_curve_without_bins_is_the_reliability_of_corrected_scores():
    rng = np.random.default_rng(3)
    gamma = rng.beta(1, 9, 2_000)
    y = (rng.random(2_000) < gamma).astype(int)
    curve = loss_calibration_curve(y, optimal_score(gamma, 0.9), 0.9, band=True, resamples=100, rng=0)
    plain = reliability(y, gamma, band="consistency", resamples=100, rng=0)
    assert_allclose(curve.corp["score"], optimal_score(plain.band.x, 0.9), atol=1e-12)
    assert_allclose(curve.corp[["lower", "upper"]], np.column_stack([plain.band.lower, plain.band.upper]), atol=1e-9)
    inside = (curve.corp["rate"] >= curve.corp["lower"]) & (curve.corp["rate"] <= curve.corp["upper"])
    assert inside.mean() > 0.85
    assert loss_calibration_curve(y, gamma, 0.9).corp is None


def sample_of_classes(rng, n, k=3):
    z = rng.normal(size=(n, k)) + np.array([1.5, *[0.0] * (k - 1)])
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return p, (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1)


def weighted(p, weights):
    return p * weights / (p * weights).sum(axis=1, keepdims=True)


def test_the_level_and_the_power_of_the_test_of_several_classes():
    rng, weights = np.random.default_rng(4), np.array([1.0, 8.0, 20.0])
    level = power = 0
    for _ in range(1000):
        p, y = sample_of_classes(rng, 400)
        level += loss_calibration_test_multiclass(y, weighted(p, weights), weights).pvalue < 0.05
    for _ in range(50):
        p, y = sample_of_classes(rng, 400)
        power += loss_calibration_test_multiclass(y, weighted(p, weights), [1.0, 8.0, 8.0]).pvalue < 0.05
    assert abs(level / 1000 - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 1000)
    assert power >= 45


def test_the_order_of_classes_does_not_matter_and_two_are_the_binary_test():
    rng, weights = np.random.default_rng(5), np.array([1.0, 8.0, 20.0])
    p, y = sample_of_classes(rng, 500)
    scores = weighted(p, np.array([1.0, 6.0, 30.0]))
    one = loss_calibration_test_multiclass(y, scores, weights)
    order = np.array([2, 0, 1])
    other = loss_calibration_test_multiclass(np.argsort(order)[y], scores[:, order], weights[order])
    assert (one.statistic, one.df) == (pytest.approx(other.statistic, rel=1e-8), 6)
    gamma = rng.beta(2, 8, 20_000)
    event = (rng.random(20_000) < gamma).astype(int)
    score = np.asarray(optimal_score(gamma, 0.9))
    two = loss_calibration_test_multiclass(event, np.column_stack([1 - score, score]), [0.1, 0.9])
    assert two.statistic == pytest.approx(
        loss_calibration_test(event, score, 0.9).statistic, rel=0.05
    )  # score and LR test
    curve = loss_calibration_curve_multiclass(event, np.column_stack([1 - score, score]), [0.1, 0.9])
    binary = loss_calibration_curve(event, score, 0.9).bins
    assert_allclose(
        curve.loc[curve["class"] == 1, ["score", "rate", "corrected"]], binary[["score", "rate", "corrected"]]
    )


def test_weights_are_repeated_rows():
    rng, weights = np.random.default_rng(6), np.array([1.0, 8.0, 20.0])
    p, y = sample_of_classes(rng, 300)
    w = rng.integers(0, 3, 300)
    one = loss_calibration_test_multiclass(y, p, weights, weights=w)
    other = loss_calibration_test_multiclass(np.repeat(y, w), np.repeat(p, w, axis=0), weights)
    assert one.statistic == pytest.approx(other.statistic)
    curves = (
        loss_calibration_curve_multiclass(y, p, weights, weights=w),
        loss_calibration_curve_multiclass(np.repeat(y, w), np.repeat(p, w, axis=0), weights),
    )
    assert_allclose(*curves)
    binary = (y == 1).astype(int)
    first, second = (
        switching_gain(binary, p[:, 1], 0.9, weights=w, bins=None),
        switching_gain(np.repeat(binary, w), np.repeat(p[:, 1], w), 0.9, bins=None),
    )
    assert_allclose(first, second)


def test_bad_input():
    with pytest.raises(ValueError, match=r"costs has \['fp'\]; give 'false_negative' and 'false_positive'"):
        decision_threshold({"fp": 1})
    with pytest.raises(ValueError, match=r"false_negative=-1 is not a positive number"):
        decision_threshold(-1)
    with pytest.raises(ValueError, match=r"are those of two classes, but there are 3; give a matrix"):
        decide([[0.2, 0.3, 0.5]], costs=3.0)
    with pytest.raises(ValueError, match=r"0 on the diagonal"):
        decide([[0.2, 0.3, 0.5]], costs=np.ones((3, 3)))
    with pytest.raises(ValueError, match=r"costs of 3 classes have shape \(3, 3\), got \(2, 2\)"):
        decide([[0.2, 0.3, 0.5]], costs=np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"loss='hinge' is not known"):
        switching_gain([0, 1], [0.2, 0.3], 0.5, loss="hinge")
    with pytest.raises(ValueError, match=r"1 of 2 outcomes are not among the classes 0 to 2 \(the first is 3\)"):
        loss_calibration_test_multiclass([0, 3], [[0.2, 0.3, 0.5]] * 2, np.ones(3))
    with pytest.raises(ValueError, match=r"no case is of class \[2\]"):
        loss_calibration_test_multiclass([0, 1], [[0.2, 0.3, 0.5]] * 2, np.ones(3))
    with pytest.raises(ValueError, match=r"2 of 2 rows have a score of exactly 0"):
        loss_calibration_test_multiclass([0, 1], [[0.5, 0.5, 0.0]] * 2, np.ones(3))
    with pytest.raises(ValueError, match=r"scores have shape \(2, 2\), but y has 3 rows"):
        loss_calibration_test_multiclass([0, 1, 0], [[0.5, 0.5]] * 2, np.ones(2))
