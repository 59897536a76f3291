"""GEV links: the canonical estimator and maximum likelihood at fixed shapes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.support.golden import arrays, named, numbers, quiet_fit, same_head, same_matrix

RTOL = 1e-8
WORDS = {"gev": "gev", "cgev": "gevc"}
SHAPES = ("-0.5", "-0.2567", "-0.1", "0", "0.1", "0.25", "0.5")
CASES = [(name, form, xi) for name in ("birthwt", "rare") for form in WORDS for xi in SHAPES]


class Canonical:
    def __init__(self, name, form, xi):
        self.r = numbers("gev")["cases"][name]["canonical"][form][xi]
        self.y, self.X = arrays(name)
        self.options = {"link": WORDS[form], "xi": float(xi)}
        self.res = self.fit()

    def fit(self, **options):
        return quiet_fit(self.y, self.X, **self.options, **options)


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def canonical(request):
    return Canonical(*request.param)


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def likelihood(request):
    name, form, xi = request.param
    r = numbers("gev")["cases"][name]["log"][form][xi]
    return r, quiet_fit(*arrays(name), link=WORDS[form], xi=float(xi), loss="log")


def test_canonical_coefficients(canonical):
    res, r = canonical.res, canonical.r
    assert res.loss.name == "canonical" and res.converged
    assert_allclose(res.params, named(r["coef"]), rtol=RTOL)
    same_head(res.fittedvalues, r["fitted"], RTOL)
    assert res.n_outside_support == r["n_outside"]


def test_canonical_score_equation(canonical):
    y, X = canonical.y, canonical.X
    assert_allclose(X.T @ (y - canonical.res.fittedvalues) / np.abs(X).sum(axis=0), 0, atol=1e-9)


def test_canonical_loss(canonical):
    loss = canonical.res.loss.value(canonical.y, canonical.res.predict(which="linear"))
    at_zero = canonical.res.loss.value(canonical.y, np.zeros(len(canonical.y)))
    assert_allclose(np.sum(loss - at_zero), canonical.r["loss"], rtol=RTOL)


@pytest.mark.parametrize(("tol", "rtol"), [(1e-8, 1e-7), (1e-11, 1e-8)], ids=["default", "tight"])
def test_canonical_covariances(canonical, tol, rtol):
    # the information is that of the point before the last Newton step, hence the two tolerances
    res = canonical.fit(tol=tol)
    same_matrix(res.cov_params(), canonical.r["vcov_model"], rtol)
    assert_allclose(res.bse, named(canonical.r["se_model"]), rtol=rtol)
    same_matrix(canonical.fit(tol=tol, cov_type="HC0").cov_params(), canonical.r["vcov_robust"], rtol)
    same_matrix(res.normalized_cov_params, canonical.r["vcov_naive"], rtol)


def test_likelihood_of_gev_links(likelihood):
    r, res = likelihood
    assert res.converged and res.loss.name == "log"
    assert_allclose(res.params, named(r["coef"]), rtol=1e-7)
    assert_allclose(res.llf, r["loglik"], rtol=1e-10)
    assert_allclose(res.deviance, r["deviance"], rtol=1e-10)
    same_head(res.fittedvalues, r["fitted"], 1e-7)
    assert res.n_outside_support == r["n_outside"]


def test_information_of_gev_links(likelihood):
    r, res = likelihood
    same_matrix(res.cov_params(), r["vcov_expected"], RTOL)
    assert_allclose(res.bse, named(r["se_expected"]), rtol=RTOL)
    observed = np.linalg.inv(-res.model.hessian(res.params))
    same_matrix(observed, r["vcov_observed"], RTOL)
