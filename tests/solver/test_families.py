"""Our families in plain statsmodels: everything of sm.GLM works with them."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from numpy.testing import assert_allclose

from gevglm.families import Canonical, GEVBinomial, GEVCanonical
from gevglm.links import GEV, Cauchit, CLogLog, GEVc, Logit, Probit

FAMILIES = {
    "gev-log": lambda: GEVBinomial(0.2),
    "gev-canonical": lambda: GEVCanonical(0.5),
    "gev-canonical, negative": lambda: GEVCanonical(-0.3),
    "gevc-canonical": lambda: Canonical(GEVc(0.2)),
    "probit-canonical": lambda: Canonical(Probit()),
    "cloglog-canonical": lambda: Canonical(CLogLog()),
    "cauchit-canonical": lambda: Canonical(Cauchit()),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.standard_normal(400), "z": rng.standard_normal(400), "g": np.arange(400) // 8})
    frame["y"] = (rng.random(400) < GEV(0.4).inverse(-0.7 + 0.3 * frame.x)).astype(float)
    return frame


@pytest.fixture(scope="module", params=list(FAMILIES))
def results(request, data):
    return smf.glm("y ~ x + z", data, family=FAMILIES[request.param]()).fit(cov_type="HC0", tol=1e-12)


def test_it_converges_and_summarises(results):
    assert results.converged
    assert "coef" in results.summary().as_text()


def test_predictions_have_limits_inside_the_unit_interval(results, data):
    frame = results.get_prediction(data.head(10)).summary_frame()
    assert ((frame >= 0) & (frame <= 1)).all(axis=None)
    assert_allclose(results.predict(data), results.fittedvalues)


def test_marginal_effects_equal_finite_differences(results, data):
    h = 1e-5
    up, down = (results.predict(data.assign(x=data.x + s * h)).mean() for s in (1, -1))
    assert results.get_margeff().margeff[0] == pytest.approx((up - down) / (2 * h), rel=1e-6)
    assert np.isfinite(results.get_margeff().margeff_se).all()


def test_influence_residuals_and_null_model(results):
    influence = results.get_influence(observed=False)
    assert np.isfinite(influence.cooks_distance[0]).all()
    for kind in ("response", "pearson", "deviance", "working", "anscombe"):
        assert np.isfinite(getattr(results, f"resid_{kind}")).all()
    assert results.null_deviance > results.deviance
    assert results.llf > results.llnull


def test_cluster_covariance(results, data):
    clustered = results.model.fit(cov_type="cluster", cov_kwds={"groups": data.g})
    assert np.isfinite(clustered.bse).all() and not np.allclose(clustered.bse, results.bse, rtol=1e-3)


def test_gradient_methods_agree_with_irls(results):
    assert_allclose(results.model.fit(method="newton", disp=0).params, results.params, atol=1e-8)


def test_canonical_residuals_are_orthogonal_to_the_design(results):
    if isinstance(results.family, Canonical):
        assert_allclose(results.model.exog.T @ (results.model.endog - results.fittedvalues), 0, atol=1e-8)


def test_logit_canonical_is_the_binomial_family(data):
    X = sm.add_constant(data[["x", "z"]])
    ours = sm.GLM(data.y, X, family=Canonical(Logit())).fit()
    plain = sm.GLM(data.y, X, family=sm.families.Binomial()).fit()
    assert_allclose(ours.params, plain.params, rtol=1e-9)
    assert_allclose(ours.bse, plain.bse, rtol=1e-8)
    assert ours.deviance == pytest.approx(plain.deviance, rel=1e-10)
    assert ours.llf == pytest.approx(plain.llf, rel=1e-10)


def test_counts_are_grouped_rows(data):
    data = data.assign(b=np.round(data.x.clip(-2, 2)))
    counts = data.groupby("b").y.agg(["sum", "size"])
    endog = np.column_stack([counts["sum"], counts["size"] - counts["sum"]])
    grouped = sm.GLM(endog, sm.add_constant(counts.index.to_numpy(float)), family=GEVCanonical(0.5)).fit(tol=1e-12)
    single = smf.glm("y ~ b", data, family=GEVCanonical(0.5)).fit(tol=1e-12)
    assert_allclose(grouped.params, single.params, rtol=1e-8)


def test_any_link_of_ours_enters_statsmodels_own_family(data):
    family = sm.families.Binomial(link=GEV(0.2))
    plain = smf.glm("y ~ x + z", data, family=family).fit(tol=1e-12)
    assert_allclose(plain.params, smf.glm("y ~ x + z", data, family=GEVBinomial(0.2)).fit(tol=1e-12).params)


def test_variance_function_and_its_derivative():
    variance, mu = GEVCanonical(0.5).variance, np.array([0.01, 0.2, 0.6, 0.95])
    assert_allclose(variance(mu), mu * (-np.log(mu)) ** 1.5, rtol=1e-13)
    h = 1e-6
    assert_allclose(variance.deriv(mu), (variance(mu + h) - variance(mu - h)) / (2 * h), rtol=1e-7)
