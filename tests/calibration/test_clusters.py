"""Intervals and tests of calibration where the rows of a cluster are not independent."""

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.special import expit, logit

from gevglm.calibration import (
    assess,
    auc,
    auc_interval,
    cox_calibration,
    integrated_calibration,
    pregibon,
    spiegelhalter,
    stukel,
)
from gevglm.calibration._cluster_cells import intraclass_correlation
from gevglm.calibration.sample import predictions
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError


def drawn(rng, n_clusters=60, size=8, spread=1.0):
    """Return outcomes, predictions and clusters: each cluster has a risk of its own, of which the predictions know half."""
    group = np.repeat(np.arange(n_clusters), size)
    known, hidden = rng.normal(size=n_clusters)[group], spread * rng.normal(size=n_clusters)[group]
    x = 0.7 * rng.normal(size=len(group))
    y = (rng.random(len(group)) < expit(-0.8 + known + hidden + x)).astype(float)
    return y, expit(-0.8 + known + x), group


@pytest.fixture(scope="module")
def data():
    return drawn(np.random.default_rng(0))


def test_auc_has_obuchowskis_variance(data):
    y, p, group = data
    events, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    wins = (p[events][:, None] > p[others]) + 0.5 * (p[events][:, None] == p[others])
    area, m, n = wins.mean(), len(events), len(others)
    labels = np.unique(group)
    d = np.array([(wins.mean(axis=1)[group[events] == c] - area).sum() for c in labels])
    e = np.array([(wins.mean(axis=0)[group[others] == c] - area).sum() for c in labels])
    with_events, with_others = len(set(group[events])), len(set(group[others]))
    variance = with_events / (with_events - 1) * (d @ d) / m**2 + with_others / (with_others - 1) * (e @ e) / n**2
    variance += 2 * len(labels) / (len(labels) - 1) * (d @ e) / (m * n)
    found = auc_interval(y, p, groups=group)
    assert_allclose([float(found), found.se], [area, np.sqrt(variance)], rtol=1e-12)
    alone = auc_interval(y, p, groups=np.arange(len(y)))
    assert_allclose(alone.se, auc_interval(y, p).se, rtol=1e-12)  # clusters of one are DeLong's


def test_auc_errors_are_those_of_new_clusters():
    rng = np.random.default_rng(1)
    samples = [drawn(rng) for _ in range(300)]
    areas = np.array([auc(y, p) for y, p, _ in samples])
    errors = np.array([auc_interval(y, p, groups=group).se for y, p, group in samples])
    independent = np.array([auc_interval(y, p).se for y, p, _ in samples])
    assert_allclose(np.sqrt((errors**2).mean()), areas.std(), rtol=3 / np.sqrt(600))
    assert np.sqrt((independent**2).mean()) < 0.85 * areas.std()


def test_auc_errors_agree_with_a_bootstrap_of_clusters(data):
    y, p, group = data
    rng, rows = np.random.default_rng(2), np.arange(len(y)).reshape(60, 8)
    areas = []
    for _ in range(600):
        chosen = rows[rng.integers(60, size=60)].ravel()
        areas.append(auc(y[chosen], p[chosen]))
    assert_allclose(auc_interval(y, p, groups=group).se, np.std(areas), rtol=0.12)


def test_recalibration_has_the_sandwich_of_statsmodels(data):
    y, p, group = data
    eta = logit(p)
    columns, factor = sm.add_constant(eta), 60 / 59
    options = {"cov_type": "cluster", "cov_kwds": {"groups": group, "use_correction": False}}
    peer = sm.GLM(y, columns, family=sm.families.Binomial()).fit(**options)
    found = cox_calibration(y, p, groups=group)
    assert_allclose(found.cov, factor * peer.cov_params(), rtol=1e-6)
    assert_allclose(found.slope.se, np.sqrt(factor) * peer.bse[1], rtol=1e-6)
    wald = peer.wald_test((np.eye(2), [0.0, 1.0]), scalar=True, use_f=False)
    assert_allclose([found.test.statistic, found.test.df], [wald.statistic / factor, 2], rtol=1e-6)
    large = sm.GLM(y, np.ones(len(y)), offset=eta, family=sm.families.Binomial()).fit(**options)
    assert_allclose(found.in_the_large.se, np.sqrt(factor) * large.bse[0], rtol=1e-6)
    assert_allclose(found.test_in_the_large.statistic, large.tvalues[0] ** 2 / factor, rtol=1e-6)
    assert_allclose(found.unreliability, cox_calibration(y, p).unreliability, rtol=1e-12)


def test_score_tests_are_those_of_statsmodels(data):
    y, p, group = data
    eta = logit(p)
    base = sm.GLM(y, sm.add_constant(eta), family=sm.families.Binomial())
    null = base.fit()
    residual, weight, X, Z = y - null.mu, null.mu * (1 - null.mu), base.exog, eta[:, None] ** 2
    left = Z - X @ np.linalg.solve((weight[:, None] * X).T @ X, (weight[:, None] * X).T @ Z)
    sums = np.array([residual[group == c] @ left[group == c] for c in range(60)])
    by_hand = (residual @ Z)[0] ** 2 / (sums**2).sum()
    assert_allclose(pregibon(y, p, groups=group).statistic, by_hand, rtol=1e-6)
    assert stukel(y, p, groups=group).df == 2
    with pytest.raises(IncompatibleOptionsError, match="likelihood ratio takes observations as independent"):
        stukel(y, p, groups=group, method="lr")


def test_tests_keep_their_level_with_clusters():
    rng = np.random.default_rng(3)
    rejected = {"clusters": np.zeros(4), "rows": np.zeros(4)}
    for _ in range(200):
        group = np.repeat(np.arange(80), 5)
        base, common = expit(rng.normal(-1, 1, 400)), rng.random(80)[group]
        y = np.where(rng.random(400) < 0.7, common, rng.random(400)) < base  # calibrated, correlated in clusters
        for name, groups in (("clusters", group), ("rows", None)):
            cox = cox_calibration(y, base, groups=groups)
            tests = (
                cox.test_in_the_large,
                cox.test,
                spiegelhalter(y, base, groups=groups),
                stukel(y, base, groups=groups),
            )
            rejected[name] += [test.pvalue < 0.05 for test in tests]
    shares = {name: counts / 200 for name, counts in rejected.items()}
    assert (shares["clusters"] < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)).all(), shares
    assert (shares["rows"][:2] > 0.12).all(), shares


def test_all_intervals_of_an_assessment_know_clusters(data):
    y, p, group = data
    independent = assess(y, p, rng=0, belt=False)
    found = assess(y, p, groups=group, rng=0)
    frame, plain = found.summary_frame(), independent.summary_frame()
    assert_allclose(frame.loc[list(found.indices), "estimate"], plain.loc[list(found.indices), "estimate"])
    for name in (
        "Brier score",
        "AUC",
        "observed / expected",
        "calibration in the large",
        "calibration intercept",
        "average precision",
    ):
        assert frame.loc[name, "se"] > 1.2 * plain.loc[name, "se"], name
    assert "Hosmer-Lemeshow" not in found.tests and found.belt is None and found.reliability.test is None
    assert "60 clusters as independent" in found.notes[0]
    mean = (y - p) ** 2 - ((y - p) ** 2).mean()
    sums = np.bincount(group, mean)
    assert_allclose(frame.loc["Brier score", "se"], np.sqrt(60 / 59 * (sums @ sums)) / len(y), rtol=1e-12)
    wider, narrower = (integrated_calibration(y, p, groups=groups).curve for groups in (group, None))
    assert (wider.upper - wider.lower).mean() > (narrower.upper - narrower.lower).mean()


def test_weights_are_repeated_rows(data):
    y, p, group = data
    counts = np.random.default_rng(4).integers(0, 3, len(y))
    repeated = np.repeat(np.arange(len(y)), counts)
    one = assess(y, p, counts, groups=group, rng=0)
    other = assess(y[repeated], p[repeated], groups=group[repeated], rng=0)
    exact = [name for name in one.indices if one.summary_frame().loc[name, "se"] >= 0]
    delta = [
        "Brier score",
        "scaled Brier score",
        "log loss",
        "AUC",
        "observed / expected",
        "calibration slope",
        "uncertainty (log)",
    ]
    assert set(delta) <= set(exact)
    assert_allclose(one.summary_frame().loc[delta], other.summary_frame().loc[delta], rtol=1e-8)
    drawn_names = ["ICI", "average precision", "ECE, equal width"]  # by the same clusters drawn
    assert_allclose(one.summary_frame().loc[drawn_names, "se"], other.summary_frame().loc[drawn_names, "se"], rtol=1e-6)


def test_correlation_in_clusters_is_found():
    rng = np.random.default_rng(5)
    group, p = np.repeat(np.arange(3000), 5), np.full(15000, 0.3)
    y = np.where(rng.random(15000) < 0.6, rng.random(3000)[group], rng.random(15000)) < p
    assert_allclose(intraclass_correlation(predictions(y, p, groups=group)), 0.36, atol=0.03)
    assert abs(intraclass_correlation(predictions(rng.random(15000) < p, p, groups=group))) < 0.02


def test_limits_of_a_distance_are_zero_for_calibrated_predictions():
    rng, covered = np.random.default_rng(6), {"clusters": 0, "rows": 0}
    for _ in range(15):
        group, p = np.repeat(np.arange(30), 20), rng.uniform(0.1, 0.6, 600)
        y = np.where(rng.random(600) < 0.9, rng.random(30)[group], rng.random(600)) < p
        for name, groups in (("clusters", group), ("rows", None)):
            found = assess(y, p, groups=groups, band=None, belt=False, resamples=60, rng=0)
            covered[name] += found.indices["ICI"].lower == 0.0
    assert covered["clusters"] >= 13 and covered["rows"] <= 9, covered


def test_two_clusters_are_too_few_for_a_slope(data):
    y, p, group = data
    found = assess(y, p, groups=group % 2, rng=0, resamples=20)
    assert found.cox is None and "needs at least 3 clusters, but there are 2" in " ".join(found.notes)
    assert found.indices["Brier score"].se > 0


def test_wrong_clusters_are_refused(data):
    y, p, group = data
    with pytest.raises(InvalidDataError, match=r"groups has shape \(10,\), but there are 480 rows"):
        assess(y, p, groups=group[:10])
    with pytest.raises(InvalidDataError, match="all rows are in one cluster"):
        assess(y, p, groups=np.zeros(480))
    with pytest.raises(InvalidDataError, match="groups are missing in 1 of 480 rows"):
        assess(y, p, groups=np.where(np.arange(480) == 7, np.nan, group))
