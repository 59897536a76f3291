"""Paired tests of two predictions: SciPy's tests on the same differences, weights as repeated rows, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binomtest, ttest_1samp, ttest_rel
from sklearn.metrics import log_loss as sklearn_log_loss

import gevglm
from gevglm.calibration import delong_test, log_loss, paired_t_test, sign_test
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from tests.support.golden import birthwt, numbers

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


# -- areas under the ROC curve, and decisions -----------------------------------------------------


def _birthwt_fits():
    data = birthwt()
    return data, [
        gevglm.fit(f"low ~ {right}", data, link="logit", tol=1e-12) for right in ("age + lwt + smoke", "ht + ui")
    ]


def test_delong_is_that_of_proc():
    data, (first, second) = _birthwt_fits()
    golden = numbers("effects")["delong"]
    found = {
        "models": first.compare_auc(second),
        "columns": delong_test(data["low"], -data["lwt"], data["ptl"]),
    }
    for name, test in found.items():
        expected = golden[name]
        assert_allclose([test.statistic, test.pvalue], [expected["z"], expected["pvalue"]], rtol=1e-8)
        assert_allclose([test.difference.lower, test.difference.upper], expected["limits"], rtol=1e-7)
        assert_allclose(float(test.difference), expected["auc"][0] - expected["auc"][1], rtol=1e-10)


def test_delong_of_weights_is_that_of_repeated_rows():
    rng = np.random.default_rng(3)
    y, p, q, n = rng.integers(0, 2, 60), rng.random(60), rng.random(60), rng.integers(1, 4, 60)
    weighted, repeated = delong_test(y, p, q, weights=n), delong_test(*(np.repeat(x, n) for x in (y, p, q)))
    assert_allclose([weighted.statistic, weighted.difference.se], [repeated.statistic, repeated.difference.se])
    alone = delong_test(y, p, q, groups=np.arange(60))
    assert_allclose(alone.statistic, delong_test(y, p, q).statistic, rtol=0.02)  # clusters of one, other factors


def test_delong_bad_input():
    data, (first, _) = _birthwt_fits()
    with pytest.raises(InvalidDataError, match="same way"):
        delong_test([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.4, 0.5])
    with pytest.raises(InvalidDataError, match="other outcomes"):
        first.compare_auc(gevglm.fit("low ~ age", data.tail(150), link="logit"))


def test_classification_table_by_hand():
    from sklearn.metrics import confusion_matrix

    data, (first, _) = _birthwt_fits()
    found = first.classification(0.3)
    (tn, fp), (fn, tp) = confusion_matrix(data["low"], first.predict() >= 0.3)
    assert found.counts.to_numpy().tolist() == [[tp, fn], [fp, tn]]
    expected = [tp / (tp + fn), tn / (tn + fp), tp / (tp + fp), tn / (tn + fn), (tp + tn) / 189, (tp + fp) / 189]
    assert_allclose(found.table["estimate"], expected)
    assert (found.table["ci_lower"] < found.table["estimate"]).all()
    assert "sensitivity" in str(found) and "np.float64" not in repr(found)
    none = first.classification(1.0).table
    assert none.loc["sensitivity", "estimate"] == 0.0 and np.isnan(none.loc["positive predictive value", "estimate"])
    with pytest.raises(InvalidOptionError, match="threshold=30"):
        first.classification(30)
