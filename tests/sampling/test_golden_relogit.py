"""King and Zeng's estimators against Zelig's relogit, and against their formulas written out with dense matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gevglm
from tests.support.golden import arrays, named, numbers, same_head

ZELIG = 1e-6  # agreement asked for; reached are 2e-14 in coefficients, and 2e-8 in standard errors, where R's are of the last step but one
SETS = ("nwtco", "rare")
FITS = [f"{how}/bias_{bias}" for how in ("no_tau", "prior", "weighting") for bias in ("FALSE", "TRUE")]


@pytest.fixture(scope="module", params=SETS)
def case(request):
    return *arrays(request.param), numbers("relogit")["cases"][request.param]


def words(name, tau):
    how, bias = name.split("/")
    sampling = {"no_tau": {}, "prior": {"prevalence": tau}, "weighting": {"prevalence": tau, "sampling": "weight"}}[how]
    return sampling | ({"bias": "king-zeng"} if bias == "bias_TRUE" else {})


@pytest.mark.parametrize("name", FITS)
def test_coefficients_and_predictions_are_those_of_relogit(case, name):
    y, X, golden = case
    expected = golden["fits"][name]
    res = gevglm.fit(y, X, link="logit", **words(name, golden["tau"]))
    assert_allclose(res.params, named(expected["coef"]), rtol=0, atol=1e-10)
    assert_allclose(res.params, named(expected["coef"]), rtol=ZELIG)
    same_head(res.predict(), expected["predicted"], rtol=1e-9)


@pytest.mark.parametrize("name", FITS)
def test_standard_errors_are_those_of_relogit_times_the_factor_of_the_paper(case, name):
    y, X, golden = case
    expected, (n, k) = golden["fits"][name], X.shape
    factor = n / (n + k) if name.endswith("TRUE") else 1.0
    for cov_type, key in (("nonrobust", "se"), ("HC0", "HC0_se"), ("HC1", "HC1_se")):
        res = gevglm.fit(y, X, link="logit", cov_type=cov_type, **words(name, golden["tau"]))
        assert_allclose(res.bse, factor * named(expected[key]), rtol=1e-7)


def test_the_default_covariance_is_robust_only_with_weights(case):
    y, X, golden = case
    types = [gevglm.fit(y, X, link="logit", **words(name, golden["tau"])).cov_type for name in FITS]
    assert types == ["nonrobust"] * 4 + ["HC0"] * 2


def test_corrected_probabilities_are_those_computed_by_hand(case):
    y, X, golden = case
    expected = golden["probabilities"]
    res = gevglm.fit(y, X, link="logit", bias="king-zeng")
    risks = res.corrected_risk()
    shift = np.array(expected["correction"])
    same_head(risks["risk"], expected["p"], rtol=1e-9)
    same_head(risks["corrected"], np.array(expected["p"]) + shift, rtol=1e-8)
    same_head(res.corrected_risk(method="unbiased")["corrected"], np.array(expected["p"]) - shift, rtol=1e-8)


@pytest.mark.parametrize("name", [name for name in FITS if name.endswith("TRUE")])
def test_the_correction_is_the_formula_of_the_paper(case, name):
    y, X, golden = case
    tau, mean = golden["tau"], y.mean()
    plain = words(name, tau) | {"bias": None}
    before = gevglm.fit(y, X, link="logit", **plain)
    w1, w0 = (tau / mean, (1 - tau) / (1 - mean)) if plain.get("prevalence") else (1.0, 1.0)
    pi = before.predict(which="fitted")
    W = pi * (1 - pi) * np.where(y == 1, w1, w0)
    inverse = np.linalg.inv(X.T @ (W[:, None] * X))
    xi = 0.5 * np.einsum("ij,jk,ik->i", X, inverse, X) * ((1 + w1) * pi - w1)
    expected = before.params - inverse @ (X.T @ (W * xi))
    res = gevglm.fit(y, X, link="logit", **words(name, tau))
    assert_allclose(res.params, expected, rtol=1e-9, atol=1e-11)


def test_without_weights_it_is_the_one_step_correction_of_every_link(case):
    y, X, _ = case
    king_zeng = gevglm.fit(y, X, link="logit", bias="king-zeng")
    correction = gevglm.fit(y, X, link="logit", bias="correction")
    assert_allclose(king_zeng.params, correction.params, rtol=1e-10)
    firth = gevglm.fit(y, X, link="logit", bias="mean")
    plain = gevglm.fit(y, X, link="logit")
    assert_allclose(king_zeng.params - plain.params, firth.params - plain.params, rtol=0.25, atol=2e-4)
