"""Our families in plain statsmodels: everything of sm.GLM works with them."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from numpy.testing import assert_allclose

from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import InvalidOptionError
from gevglm.families import Canonical, GEVBinomial, GEVCanonical, saturated_loss
from gevglm.links import GEV, Cauchit, CLogLog, GEVc, Logit, LogLog, Probit
from gevglm.losses import Canonical as CanonicalLoss
from gevglm.losses import Log

CANONICAL_LINKS = [GEV(0.5), GEV(-0.3), GEVc(0.2), Probit(), CLogLog(), LogLog(), Logit(), Cauchit(), GEV(1.1)]
FAMILIES = {
    "GEVBinomial(0.2)": lambda: GEVBinomial(0.2),
    "GEVBinomial(-0.3)": lambda: GEVBinomial(-0.3),
    "GEVCanonical(0.5)": lambda: GEVCanonical(0.5),
    **{f"Canonical({link!r})": lambda link=link: Canonical(link) for link in CANONICAL_LINKS},
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.standard_normal(400), "z": rng.standard_normal(400), "g": np.arange(400) // 8})
    frame["y"] = (rng.random(400) < GEV(0.4).inverse(-0.7 + 0.3 * frame.x)).astype(float)
    return frame


@pytest.fixture(scope="module", params=FAMILIES)
def results(request, data):
    return smf.glm("y ~ x + z", data, family=FAMILIES[request.param]()).fit(cov_type="HC0", tol=1e-12)


def loss_of(family):
    return family.loss if isinstance(family, Canonical) else Log(family.link)


def has_saturated_loss(family):
    """Whether the deviance is above that of the saturated model, not relative to the loss at v = 0."""
    return not (isinstance(family, Canonical) and any(family.link.relative_integrals))


def test_it_converges_and_summarises(results):
    assert results.converged
    text = results.summary().as_text()
    assert type(results.family).__name__ in text
    assert "HC0" in text


def test_the_coefficients_are_those_of_our_solver(results):
    engine = MemoryEngine(results.model.exog, results.model.endog)
    ours = Problem(engine, loss_of(results.family), constant=0).estimate()
    assert_allclose(ours.params, results.params, atol=1e-8)


def test_the_likelihood_is_minus_the_loss(results):
    v = results.model.exog @ results.params.to_numpy()
    assert results.llf == pytest.approx(-loss_of(results.family).value(results.model.endog, v).sum(), rel=1e-9)


def test_the_score_is_the_gradient_of_the_likelihood(results):
    moved = results.params.to_numpy() + np.array([0.02, -0.01, 0.03])
    h = 1e-6
    numeric = [
        (results.model.loglike(moved + h * unit, scale=1.0) - results.model.loglike(moved - h * unit, scale=1.0))
        / (2 * h)
        for unit in np.eye(3)
    ]
    assert_allclose(results.model.score(moved, scale=1.0), numeric, rtol=1e-5, atol=1e-5)


def test_predictions_have_limits_inside_the_unit_interval(results, data):
    frame = results.get_prediction(data.head(10)).summary_frame()
    assert ((frame >= 0) & (frame <= 1)).all(axis=None)
    assert (frame["mean_ci_lower"] <= frame["mean"]).all()
    assert (frame["mean"] <= frame["mean_ci_upper"]).all()
    assert_allclose(results.predict(data), results.fittedvalues)


def test_marginal_effects_equal_finite_differences(results, data):
    h = 1e-5
    up, down = (results.predict(data.assign(x=data.x + s * h)).mean() for s in (1, -1))
    effects = results.get_margeff()
    assert effects.margeff[0] == pytest.approx((up - down) / (2 * h), rel=1e-6)
    assert np.isfinite(effects.margeff_se).all()


def test_influence_is_finite_and_leverage_adds_up(results):
    influence = results.get_influence(observed=False)
    assert np.isfinite(influence.cooks_distance[0]).all()
    assert influence.hat_matrix_diag.sum() == pytest.approx(3.0, rel=1e-8)
    with np.errstate(invalid="ignore"):  # rows outside the support have no standard error to divide by
        assert len(influence.summary_frame()) == 400


@pytest.mark.parametrize("kind", ["response", "pearson", "deviance", "working", "anscombe"])
def test_residuals_have_the_sign_of_y_minus_mu(results, kind):
    residuals = getattr(results, f"resid_{kind}")
    assert np.isfinite(residuals).all()
    if kind in ("deviance", "anscombe") and not has_saturated_loss(results.family):
        return
    assert (np.sign(residuals) == np.sign(results.resid_response)).all()


def test_the_null_model_fits_worse(results):
    assert_allclose(results.null, results.model.endog.mean(), rtol=1e-7)
    assert results.null_deviance > results.deviance
    assert results.llf > results.llnull


def test_deviance_residuals_add_up_to_the_deviance(results):
    if has_saturated_loss(results.family):
        assert (results.resid_deviance**2).sum() == pytest.approx(results.deviance, rel=1e-9)


def test_cluster_covariance(results, data):
    clustered = results.model.fit(cov_type="cluster", cov_kwds={"groups": data.g})
    assert np.isfinite(clustered.bse).all()
    assert not np.allclose(clustered.bse, results.bse, rtol=1e-3)


def test_gradient_methods_agree_with_irls(results):
    assert_allclose(results.model.fit(method="newton", disp=0).params, results.params, atol=1e-8)


@pytest.mark.parametrize("link", CANONICAL_LINKS, ids=repr)
def test_canonical_residuals_are_orthogonal_to_the_design(data, link):
    fitted = smf.glm("y ~ x + z", data, family=Canonical(link)).fit(tol=1e-12)
    assert_allclose(fitted.model.exog.T @ (fitted.model.endog - fitted.fittedvalues), 0, atol=1e-8)


@pytest.mark.parametrize("link", CANONICAL_LINKS, ids=repr)
def test_robust_covariance_is_the_sandwich(data, link):
    fitted = smf.glm("y ~ x + z", data, family=Canonical(link)).fit(cov_type="HC0", tol=1e-12)
    X, y, b = fitted.model.exog, fitted.model.endog, fitted.params.to_numpy()
    bread = np.linalg.inv((X.T * link.inverse_deriv(X @ b)) @ X)
    sandwich = bread @ ((X.T * (y - link.inverse(X @ b)) ** 2) @ X) @ bread
    assert_allclose(fitted.cov_params(), sandwich, rtol=1e-6, atol=1e-9)


def test_logit_canonical_is_the_binomial_family(data):
    X = sm.add_constant(data[["x", "z"]])
    ours = sm.GLM(data.y, X, family=Canonical(Logit())).fit(tol=1e-12)
    plain = sm.GLM(data.y, X, family=sm.families.Binomial()).fit(tol=1e-12)
    assert_allclose(ours.params, plain.params, rtol=1e-9)
    assert_allclose(ours.bse, plain.bse, rtol=1e-8)
    assert ours.deviance == pytest.approx(plain.deviance, rel=1e-10)
    assert ours.llf == pytest.approx(plain.llf, rel=1e-10)


@pytest.mark.parametrize(
    "ours, theirs", [(CLogLog, "CLogLog"), (LogLog, "LogLog"), (Probit, "Probit"), (Cauchit, "Cauchy")]
)
def test_our_links_fit_as_those_of_statsmodels(data, ours, theirs):
    fits = [
        smf.glm("y ~ x + z", data, family=sm.families.Binomial(link=link)).fit(tol=1e-13)
        for link in (ours(), getattr(sm.families.links, theirs)())
    ]
    assert_allclose(fits[0].params, fits[1].params, atol=1e-8)
    assert_allclose(fits[0].bse, fits[1].bse, rtol=1e-6)


@pytest.mark.parametrize("make", [lambda: GEVCanonical(0.5), lambda: GEVBinomial(0.2), lambda: Canonical(Probit())])
def test_counts_are_grouped_rows(data, make):
    data = data.assign(b=np.round(data.x.clip(-2, 2)))
    counts = data.groupby("b").y.agg(["sum", "size"])
    endog = np.column_stack([counts["sum"], counts["size"] - counts["sum"]])
    grouped = sm.GLM(endog, sm.add_constant(counts.index.to_numpy(float)), family=make()).fit(tol=1e-12)
    single = smf.glm("y ~ b", data, family=make()).fit(tol=1e-12)
    assert_allclose(grouped.params, single.params, rtol=1e-8)
    assert_allclose(grouped.bse, single.bse, rtol=1e-6)


def test_frequency_weights_are_repeated_rows(data):
    times = np.arange(400) % 3 + 1
    weighted = smf.glm("y ~ x + z", data, family=GEVCanonical(0.5), freq_weights=times).fit(tol=1e-12)
    repeated = smf.glm("y ~ x + z", data.loc[np.repeat(data.index, times)], family=GEVCanonical(0.5)).fit(tol=1e-12)
    assert_allclose(weighted.params, repeated.params, rtol=1e-9)
    assert weighted.deviance == pytest.approx(repeated.deviance, rel=1e-10)


def test_any_link_of_ours_enters_statsmodels_own_family(data):
    plain = smf.glm("y ~ x + z", data, family=sm.families.Binomial(link=GEV(0.2))).fit(tol=1e-12)
    assert_allclose(plain.params, smf.glm("y ~ x + z", data, family=GEVBinomial(0.2)).fit(tol=1e-12).params)


@pytest.mark.parametrize("xi", [-1.0, -0.2567, 0.0, 0.5, 1.5])
def test_the_variance_function_has_its_closed_form(xi):
    variance, mu = GEVCanonical(xi).variance, np.array([0.01, 0.2, 0.6, 0.95])
    assert_allclose(variance(mu), mu * (-np.log(mu)) ** (1 + xi), rtol=1e-12)
    assert_allclose(variance.deriv(mu), (-np.log(mu)) ** xi * (-np.log(mu) - 1 - xi), rtol=1e-11)


def test_the_saturated_loss_is_the_least_loss_of_each_outcome():
    loss, y = CanonicalLoss(GEV(0.5)), np.array([0.0, 0.2, 0.7, 1.0])
    least = saturated_loss(loss, y)
    assert least[0] == least[3] == 0.0
    v = np.linspace(-1.9, 30, 20_000)
    for share, value in zip(y[1:3], least[1:3], strict=True):
        assert value == pytest.approx(loss.value(share, v).min(), abs=1e-6)


@pytest.mark.parametrize("xi", [np.nan, 8.0])
def test_families_refuse_absurd_shapes(xi):
    for family in (GEVBinomial, GEVCanonical):
        with pytest.raises(InvalidOptionError, match="is not usable"):
            family(xi)


def test_the_canonical_family_wants_an_instance():
    with pytest.raises(InvalidOptionError, match="given as the class GEV; give an instance"):
        Canonical(GEV)
