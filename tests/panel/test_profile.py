"""Profile likelihood beside absorbed constants: that of a fit with dummies, and one more way to see that it is a maximum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import gevglm
from gevglm.exceptions import InvalidOptionError, NotDefinedForLoss
from tests.panel.test_against_others import BOTH, DATA, made, quietly

FORMULAS = {
    "y ~ x + z | unit": "y ~ 0 + x + z + C(unit)",
    "y ~ x + z | unit + year": "y ~ 0 + x + z + C(unit) + C(year)",
}


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize(
    ("link", "bias"), [("logit", None), ("logit", "mean"), ("probit", None), ("cloglog", "jeffreys")]
)
def test_profiles_are_those_of_dummies(formula, link, bias):
    ours = quietly(formula, DATA, link=link, bias=bias)
    dense = quietly(FORMULAS[formula], DATA.loc[ours.fittedvalues.index], link=link, bias=bias)
    columns = [list(dense.params.index).index(name) for name in ("x", "z")]
    assert_allclose(ours.conf_int(method="profile"), dense.conf_int(method="profile", cols=columns), atol=1e-8)
    assert_allclose(ours.lr_tests(), dense.lr_tests().loc[["x", "z"]], atol=1e-6)
    z, pvalues = ours.tests("profile")
    assert_allclose(z**2, ours.lr_tests()["statistic"])
    assert_allclose(pvalues, ours.lr_tests()["pvalue"])


def test_a_profile_is_largest_over_the_constants():
    res, at = quietly("y ~ x | unit", DATA), 0.3
    codes = BOTH["unit"].rank(method="dense").astype(int).to_numpy() - 1
    y, x = BOTH["y"].to_numpy(), BOTH["x"].to_numpy()

    def loss(constants):
        v = constants[codes] + at * x
        return (np.logaddexp(0.0, v) - y * v).sum()

    best = minimize(loss, np.zeros(codes.max() + 1), method="BFGS", options={"gtol": 1e-8})
    curve = res._profile_likelihood("").curve([0])
    assert_allclose(curve.ratio(np.array([at])), 2 * (res.llf + best.fun), atol=1e-7)


def test_the_test_of_all_slopes_after_bias_reduction():
    res = quietly("y ~ x + z | unit", DATA, bias="firth")
    statistic, pvalue, k = res.lr_test()
    dense = quietly("y ~ 0 + x + z + C(unit)", BOTH, bias="firth")
    columns = [list(dense.params.index).index(name) for name in ("x", "z")]
    assert_allclose(statistic, dense._results._likelihood("").ratio(columns), atol=1e-7)
    assert (0 < pvalue < 1) and k == 2


def test_two_large_factors(monkeypatch):
    formula = "y ~ x + z | unit + year"
    dense = quietly(formula, DATA).conf_int(method="profile")
    monkeypatch.setattr("gevglm.panel.units.MOST_LEVELS", 2)
    assert_allclose(quietly(formula, DATA).conf_int(method="profile"), dense, atol=1e-8)


def test_pictures_and_summaries():
    res = quietly("y ~ x + z | unit", DATA, bias="firth")
    curve = res.profile("x", points=11)
    assert_allclose(curve.interval, res.conf_int(method="profile").loc["x"], atol=1e-9)
    assert_allclose(curve.frame["ratio"].max(), 6.0, atol=2.0)
    assert "profile penalised likelihood" in " ".join(str(res.summary(method="profile")).split())
    ratios = res.odds_ratios(method="profile")
    assert_allclose(np.log(ratios[["ci_lower", "ci_upper"]]), res.conf_int(method="profile"), atol=1e-12)
    res.plot_coefficients(method="profile").figure.clear()


def test_a_separated_slope_has_one_finite_limit():
    data = DATA.assign(late=((DATA["y"] == 1) & (DATA["year"] > 3)).astype(float))
    res = quietly("y ~ x + late | unit", data)
    lower, upper = res.conf_int(method="profile").loc["late"]
    assert np.isfinite(lower) and upper == np.inf
    assert np.isfinite(quietly("y ~ x + late | unit", data, bias="firth").conf_int(method="profile")).all().all()


def test_columns_that_were_left_out_have_no_profile():
    res = quietly("y ~ x + size | unit", DATA.assign(size=DATA["unit"] ** 2 / 7))
    assert res.conf_int(method="profile").loc["size"].isna().all()
    assert res.lr_tests().loc["size"].isna().all()
    with pytest.raises(InvalidOptionError, match="'size' was left out"):
        res.profile("size")


def test_what_has_no_likelihood():
    with pytest.raises(InvalidOptionError, match="bias='median' does not have"):
        quietly("y ~ x + z | unit", DATA, bias="median").conf_int(method="profile")
    with pytest.raises(InvalidOptionError, match="bias='mean' does not have"):
        quietly("y ~ x + z | unit", DATA, link="probit", bias="mean").profile("x")
    with pytest.raises(NotDefinedForLoss):
        quietly("y ~ x + z | unit", DATA, link="probit", loss="canonical").lr_tests()
    with pytest.raises(InvalidOptionError, match="method="):
        quietly("y ~ x + z | unit", DATA).conf_int(method="posterior")


@pytest.mark.study
def test_coverage_of_profile_intervals():
    inside = []
    for seed in range(200):
        res = gevglm.fit("y ~ x + z | unit", made(60, 8, 1000 + seed), bias="firth")
        lower, upper = res.conf_int(method="profile").loc["x"]
        inside.append(lower < 0.7 < upper)
    assert 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200) < np.mean(inside)
