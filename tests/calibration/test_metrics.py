import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gevglm import calibration
from gevglm.calibration.estimates import Measured, wilson_limits
from gevglm.calibration.metrics import brier_decomposition, calibration_loss
from gevglm.exceptions import GevglmWarning

cases = st.lists(st.tuples(st.sampled_from([0, 1]), st.integers(0, 20)), min_size=2, max_size=60).filter(
    lambda rows: len({y for y, _ in rows}) == 2
)


def split(rows):
    y, p = np.array(rows, dtype=float).T
    return y, p / 20.0


@given(cases)
def test_murphys_parts_add_up_to_the_brier_score(rows):
    y, p = split(rows)
    for bins, by in ((10, "width"), (4, "mass"), (None, "width")):
        parts = brier_decomposition(y, p, bins=bins, by=by)
        whole = parts.reliability - parts.resolution + parts.uncertainty
        assert_allclose(whole + parts.within_variance - parts.within_covariance, parts.brier, atol=1e-14)
        assert_allclose(parts.brier, calibration.brier_score(y, p), atol=1e-15)
        if bins is None:
            assert_allclose(whole, parts.brier, atol=1e-14)


@given(cases)
def test_the_auc_counts_pairs(rows):
    y, p = split(rows)
    difference = p[y == 1][:, None] - p[y == 0]
    assert_allclose(calibration.auc(y, p), (0.5 + 0.5 * np.sign(difference)).mean(), atol=1e-14)


@given(cases)
def test_delongs_variance_is_that_of_the_placements(rows):
    y, p = split(rows)
    m, n = int(y.sum()), int((1 - y).sum())
    if min(m, n) < 2:
        return
    wins = 0.5 + 0.5 * np.sign(p[y == 1][:, None] - p[y == 0])
    variance = wins.mean(axis=1).var(ddof=1) / m + wins.mean(axis=0).var(ddof=1) / n
    assert_allclose(calibration.auc_interval(y, p).se ** 2, variance, atol=1e-14)


@given(cases)
def test_scores_equal_scikit_learn(rows):
    metrics = pytest.importorskip("sklearn.metrics")
    y, p = split(rows)
    inside = np.clip(p, 0.01, 0.99)
    assert_allclose(calibration.average_precision(y, p), metrics.average_precision_score(y, p), atol=1e-12)
    assert_allclose(calibration.auc(y, p), metrics.roc_auc_score(y, p), atol=1e-12)
    assert_allclose(calibration.brier_score(y, p), metrics.brier_score_loss(y, p), atol=1e-12)
    assert_allclose(calibration.log_loss(y, inside), metrics.log_loss(y, inside), atol=1e-12)


def test_infinite_scores_are_ranked_like_others():
    assert calibration.auc([0, 1, 1], [-np.inf, 0.0, np.inf]) == 1.0
    assert calibration.auc([0, 1, 0, 1], [-np.inf, -np.inf, np.inf, np.inf]) == 0.5


def test_the_calibration_loss_of_two_bins_by_hand():
    y, p = [0, 1, 1, 1], [0.05, 0.1, 0.85, 0.9]
    expected = (0.45**2 + 0.4**2 + 0.15**2 + 0.1**2) / 4
    assert_allclose(calibration_loss(y, p), expected, rtol=1e-14)


@pytest.mark.parametrize("k", range(1, 10))
def test_bins_are_closed_on_the_right(k):
    edge = k / 10
    same_bin = calibration_loss([0, 1], [edge - 0.05, edge])
    assert_allclose(same_bin, ((edge - 0.55) ** 2 + (edge - 0.5) ** 2) / 2, rtol=1e-12)


def test_perfect_and_constant_predictions_have_scaled_brier_scores_one_and_zero():
    y = np.array([0, 0, 0, 1])
    assert calibration.scaled_brier_score(y, y) == 1.0
    assert_allclose(calibration.scaled_brier_score(y, np.full(4, 0.25)), 0.0, atol=1e-15)


def test_an_infinite_log_loss_is_said_and_counted():
    with pytest.warns(GevglmWarning, match="2 events have probability 0 and 1 non-events have probability 1"):
        assert calibration.log_loss([1, 1, 0, 0], [0.0, 0.0, 1.0, 0.0]) == np.inf


def test_certain_predictions_that_come_true_have_no_loss():
    assert calibration.log_loss([1, 0], [1.0, 0.0]) == 0.0


def test_shares_of_events_count_as_such():
    assert_allclose(calibration.brier_score([0.25], [0.5]), 0.25)
    assert_allclose(calibration.log_loss([0.25], [0.5]), np.log(2))


def test_equal_mass_bins_do_not_split_ties():
    y, p = np.array([0, 1] * 50), np.repeat([0.1, 0.2], 50)
    assert_allclose(calibration.expected_calibration_error(y, p, by="mass"), 0.35)
    shuffled = np.random.default_rng(0).permutation(100)
    assert_allclose(calibration.expected_calibration_error(y[shuffled], p[shuffled], by="mass"), 0.35)


def test_a_measured_number_is_a_number_and_survives_pickling():
    measured = Measured.normal(2.0, 0.5, 0.9)
    assert measured + 1 == 3.0
    assert "90 % interval" in repr(measured)
    again = pickle.loads(pickle.dumps(measured))
    assert again == measured and again.interval == measured.interval and again.level == 0.9


def test_wilsons_limits_solve_their_quadratic():
    lower, upper = wilson_limits(np.array([0.0, 3.0, 10.0]), np.array([10.0, 10.0, 10.0]))
    z = 1.959963984540054
    for limit in (lower, upper):
        inside = (limit > 0) & (limit < 1)
        gap = np.array([0.0, 0.3, 1.0]) - limit
        assert_allclose(gap[inside] ** 2, (z**2 * limit * (1 - limit) / 10)[inside], rtol=1e-10)
    assert lower[0] == 0.0 and upper[2] == 1.0
