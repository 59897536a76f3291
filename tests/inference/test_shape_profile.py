"""Profile likelihood with an estimated shape: limits, tests and curves against brute force over coefficients and shape."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import gevglm
from gevglm.data.sources.frames import FramesSource
from gevglm.exceptions import InvalidOptionError, WeakShapeWarning
from gevglm.links import GEV, GEVc
from tests.support.brute_force import largest

QUICK = {2: "weak", 4: "at the lower end of the grid", 9: "regular", 14: "irregular"}
STUDY = [pytest.param(seed, marks=pytest.mark.study) for seed in range(20) if seed not in QUICK]


def drawn(seed):
    """A data set of 200 to 1,000 rows from a link of any shape, and whether that is GEVc."""
    rng = np.random.default_rng([19, seed])
    n, mirrored = int(rng.integers(200, 1001)), bool(seed % 2)
    X = np.column_stack([np.ones(n), rng.normal(size=n), rng.random(n) < 0.5])
    link = (GEVc if mirrored else GEV)(rng.uniform(-0.6, 0.6))
    slopes = rng.uniform(0.2, 0.8), rng.uniform(-0.6, 0.6)
    y = (rng.random(n) < link.inverse(X @ [link(rng.uniform(0.1, 0.5)), *slopes])).astype(float)
    return X, y, mirrored


def fitted(seed, **words):
    X, y, mirrored = drawn(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gevglm.fit(y, X, **({"link": "gevc" if mirrored else "gev", "loss": "log", "xi": "ml"} | words))


@pytest.fixture(scope="module")
def study():
    return gevglm.datasets.simulate_study(n=6000, rng=4)


@pytest.fixture(scope="module")
def estimated(study):
    return gevglm.fit("event ~ age + smoker", study, link="gev", loss="log", xi="ml")


@pytest.mark.parametrize("seed", [*QUICK, *STUDY])
def test_limits_and_tests_equal_brute_force(seed):
    X, y, mirrored = drawn(seed)
    words = {"mirrored": mirrored} | ({"starts": (-0.9, -0.2, 0.6)} if seed in QUICK else {})
    res = fitted(seed)
    top = largest(X, y, **words)
    assert_allclose(res.llf, top, atol=1e-7)
    limits, tests = res.conf_int(method="profile"), res.lr_tests()
    for j in range(X.shape[1]):
        for limit in limits[j]:
            ratio = 2 * (top - largest(X, y, [j], [limit], **words))
            assert_allclose(ratio, chi2.ppf(0.95, 1), atol=1e-6)
        ratio = 2 * (top - largest(X, y, [j], [0.0], **words))
        assert_allclose(tests["statistic"].iloc[j], ratio, rtol=1e-6, atol=1e-6)


def test_the_limits_of_the_review_of_a_shape_held_fixed(estimated):
    """They were 0.242 to 0.354, and the statistic 119.06."""
    assert_allclose(estimated.conf_int(method="profile").loc["smoker"], [0.125, 0.662], atol=5e-4)
    assert_allclose(estimated.lr_tests().loc["smoker", "statistic"], 116.30, atol=5e-3)


def test_a_profile_curve_is_that_of_brute_force(estimated, study):
    curve = estimated.profile("smoker", points=5)
    X = np.column_stack([np.ones(len(study)), study["age"], study["smoker"]])
    y = study["event"].to_numpy(float)
    for row in (1, 4):
        value = curve.frame["value"].iloc[row]
        ratio = 2 * (estimated.llf - largest(X, y, [2], [value], starts=(estimated.xi,)))
        assert_allclose(curve.frame["ratio"].iloc[row], ratio, atol=1e-6)
    assert_allclose(curve.interval, estimated.conf_int(method="profile").loc["smoker"], rtol=1e-7)


def test_rows_in_pieces_give_the_same(estimated, study):
    pieces = FramesSource(lambda: [study.iloc[:3000], study.iloc[3000:]])
    streamed = gevglm.fit("event ~ age + smoker", pieces, link="gev", loss="log", xi="ml")
    assert_allclose(
        streamed.conf_int(cols=[2], method="profile"), estimated.conf_int(cols=[2], method="profile"), rtol=1e-8
    )
    new = {"age": [0.0, 9.0], "smoker": [0, 1]}
    assert_allclose(streamed.corrected_risk(new), estimated.corrected_risk(new), rtol=1e-6)


@pytest.mark.parametrize("bias", ["jeffreys", "logf"])
def test_penalised_coefficients_with_a_shape_have_wald_intervals_and_say_so(study, bias):
    res = gevglm.fit("event ~ age + smoker", study, link="gev", loss="log", xi="ml", bias=bias)
    assert not res.has_likelihood
    with pytest.raises(InvalidOptionError, match="the shape maximises the likelihood"):
        res.conf_int(method="profile")
    lines = str(res.summary())
    lower, upper = res.conf_int().loc["Intercept"]
    assert f"{lower:.3f}" in lines and f"{upper:.3f}" in lines
    assert "Tests and intervals are Wald's" in lines


# -- comparisons -------------------------------------------------------------------------------


def test_nested_fits_with_estimated_shapes_are_compared(estimated, study):
    smaller = gevglm.fit("event ~ age", study, link="gev", loss="log", xi="ml")
    statistic, pvalue, df = estimated.compare_lr_test(smaller)
    assert_allclose(statistic, estimated.lr_tests().loc["smoker", "statistic"], rtol=1e-8)
    assert_allclose(pvalue, chi2.sf(statistic, 1))
    assert df == 1


def test_a_given_shape_is_one_degree_of_freedom(estimated, study):
    words = {"link": "gev", "loss": "log"}
    at_zero = gevglm.fit("event ~ age + smoker", study, **words, xi=0.0)
    assert_allclose(estimated.compare_lr_test(at_zero), (*estimated.xi_lr_test(0.0), 1), rtol=1e-8)
    loglog = gevglm.fit("event ~ age", study, link="loglog")
    statistic, _, df = estimated.compare_lr_test(loglog)
    assert_allclose(statistic, 2 * (estimated.llf - loglog.llf))
    assert df == 2
    with pytest.raises(InvalidOptionError, match="differ in link"):
        at_zero.compare_lr_test(gevglm.fit("event ~ age", study, **words, xi="ml"))
    with pytest.raises(InvalidOptionError, match="differ in link"):
        estimated.compare_lr_test(gevglm.fit("event ~ age", study, link="gevc", loss="log", xi="ml"))


def test_comparisons_at_an_end_of_the_grid_are_cautioned():
    res = fitted(4)
    smaller = gevglm.fit(drawn(4)[1], drawn(4)[0][:, :2], link="gev", loss="log", xi=-0.2)
    with pytest.warns(WeakShapeWarning, match="an end of the grid of shapes"):
        assert res.compare_lr_test(smaller)[2] == 2


# -- score tests -------------------------------------------------------------------------------


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
def test_the_score_test_is_that_of_the_efficient_score(estimated, study, cov_type):
    X = np.column_stack([np.ones(len(study)), study["age"], study["smoker"], study["age"] ** 2])
    theta = np.append(estimated.params, [0.0, estimated.xi])

    def risk(theta):
        return GEV(theta[-1]).inverse(X @ theta[:-1])

    steps = np.diag(1e-6 * np.maximum(np.abs(theta), 1e-3))
    D = np.column_stack([(risk(theta + step) - risk(theta - step)) / (2 * step.max()) for step in steps])
    mu, y = risk(theta), study["event"].to_numpy(float)
    V = mu * (1 - mu)
    scores = D * ((y - mu) / V)[:, None]
    A = D.T @ (D / V[:, None])
    inverse = np.linalg.inv(A)
    meat = A if cov_type == "nonrobust" else scores.T @ scores
    variance = (inverse @ meat @ inverse)[3, 3]
    expected = (inverse @ scores.sum(axis=0))[3] ** 2 / variance
    test = estimated.score_test(study["age"] ** 2, cov_type=cov_type)
    assert_allclose(test.statistic, expected, rtol=1e-4)
    assert test.df == 1
    if cov_type == "nonrobust":
        assert_allclose(test.statistic, 1.765, atol=1e-3)  # 1.378 with the shape held fixed


def test_score_tests_of_the_canonical_loss_agree_with_wald_tests_of_columns_without_effect(study):
    words = {"link": "gev", "loss": "canonical", "xi": "ml"}
    data = study.assign(noise=np.random.default_rng(3).normal(size=len(study)))
    res, full = (gevglm.fit(f"event ~ age + smoker{more}", data, **words) for more in ("", " + noise"))
    assert_allclose(res.score_test(data["noise"]).statistic, full.tvalues["noise"] ** 2, rtol=0.1)


def test_score_tests_by_leverages_are_refused(estimated, study):
    with pytest.raises(InvalidOptionError, match="HC0, HC1, or cluster"):
        estimated.score_test(study["age"] ** 2, cov_type="HC3")
