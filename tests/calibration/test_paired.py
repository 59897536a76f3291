"""Paired tests of two predictions: SciPy's tests on the same differences, weights as repeated rows, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binomtest, ttest_1samp, ttest_rel
from sklearn.metrics import log_loss as sklearn_log_loss

from gevglm.calibration import log_loss, paired_t_test, sign_test

RNG = np.random.default_rng(0)
P = RNG.beta(1, 6, 400)
Y = (RNG.random(400) < P).astype(int)
Q = np.clip(P + RNG.normal(0, 0.08, 400), 0.01, 0.99)


def test_as_scipy_has_it():
    losses = {"log_loss": lambda p: -np.log(np.where(Y == 1, p, 1 - p)), "brier": lambda p: (Y - p) ** 2}
    for score, loss in losses.items():
        test, expected = paired_t_test(Y, P, Q, score=score), ttest_rel(loss(P), loss(Q))
        assert_allclose([test.statistic, test.pvalue, test.df], [expected.statistic, expected.pvalue, 399], rtol=1e-10)
        interval = expected.confidence_interval(0.95)
        assert_allclose([test.difference.lower, test.difference.upper], [interval.low, interval.high], rtol=1e-10)
    assert float(paired_t_test(Y, P, Q).difference) == pytest.approx(log_loss(Y, P) - log_loss(Y, Q))
    assert log_loss(Y, P) == pytest.approx(sklearn_log_loss(Y, P))


def test_clusters_are_added_up():
    groups = np.repeat(np.arange(40), 10)
    d = ((Y - P) ** 2 - (Y - Q) ** 2).reshape(40, 10).sum(axis=1)
    test, expected = paired_t_test(Y, P, Q, score="brier", groups=groups), ttest_1samp(d, 0.0)
    assert_allclose([test.statistic, test.pvalue, test.df], [expected.statistic, expected.pvalue, 39], rtol=1e-10)


def test_signs_as_scipy_has_them():
    for threshold in (0.1, 0.2, 0.5):
        right, also = ((each > threshold) == (Y == 1) for each in (P, Q))
        won, lost = (right & ~also).sum(), (also & ~right).sum()
        test = sign_test(Y, P, Q, threshold=threshold)
        assert (test.statistic, test.df) == (won, won + lost)
        expected = binomtest(int(won), int(won + lost)).pvalue if won + lost else 1.0
        assert test.pvalue == pytest.approx(expected, rel=1e-10)
        assert test.difference == pytest.approx((lost - won) / 400)


def test_weights_are_repeated_rows():
    w = RNG.integers(0, 4, 400)
    rows = [np.repeat(values, w) for values in (Y, P, Q)]
    for method in (paired_t_test, sign_test):
        one, other = method(Y, P, Q, weights=w), method(*rows)
        assert_allclose([one.statistic, one.pvalue, one.difference], [other.statistic, other.pvalue, other.difference])


def test_the_level_of_the_t_test():
    # two predictions that are equally far from the truth: 5 % of 2,000 tests reject, within 3 Monte Carlo errors
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(2000):
        truth = rng.beta(2, 10, 200)
        noise = rng.choice([-0.3, 0.3], 200)
        p, q = (1 / (1 + (1 - truth) / truth * np.exp(-shift)) for shift in (noise, -noise))
        rejected += paired_t_test((rng.random(200) < truth).astype(int), p, q, score="brier").pvalue < 0.05
    assert abs(rejected / 2000 - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 2000)


def test_bad_input():
    with pytest.raises(ValueError, match=r"score='auc' is not known"):
        paired_t_test(Y, P, Q, score="auc")
    with pytest.raises(ValueError, match=r"1 of 400 differences of the log loss are infinite.*score='brier'"):
        paired_t_test(Y, P, np.where(np.arange(400) == np.argmax(Y), 0.0, Q))
    with pytest.raises(ValueError, match="nothing to test"):
        paired_t_test(Y, P, P)
    with pytest.raises(ValueError, match=r"threshold=2 is not"):
        sign_test(Y, P, Q, threshold=2)
    with pytest.raises(ValueError, match="weights are not whole numbers"):
        sign_test(Y, P, Q, weights=np.full(400, 0.5))
    with pytest.raises(ValueError, match="y has 400 rows, but p has 3"):
        paired_t_test(Y, P, Q[:3])
    assert sign_test(Y, P, P).pvalue == 1.0
