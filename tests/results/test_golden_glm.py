"""R's glm, sandwich and exact profile limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.support.golden import arrays, golden_set, named, numbers, quiet_fit, same_head, same_matrix

RTOL = 1e-8
SETS = ("birthwt", "lizards", "nwtco", "rare")
LINKS = ("logit", "probit", "cloglog", "cauchit")


class Case:
    """One fit of the reference and ours of the same data."""

    def __init__(self, name, link):
        self.name, self.link = name, link
        self.r = numbers("glm")["cases"][name]["fits"][link]
        self.clusters = golden_set(name).clusters
        self.y, self.X = arrays(name)
        self.res = self.fit()

    def fit(self, **options):
        return quiet_fit(self.y, self.X, link=self.link, **options)


@pytest.fixture(scope="module", params=[(name, link) for name in SETS for link in LINKS], ids="-".join)
def case(request):
    return Case(*request.param)


def test_coefficients_and_their_covariance(case):
    assert_allclose(case.res.params, named(case.r["coef"]), rtol=RTOL)
    assert_allclose(case.res.bse, named(case.r["se"]), rtol=RTOL)
    assert_allclose(case.res.tvalues, named(case.r["z"]), rtol=RTOL)
    assert_allclose(case.res.pvalues, named(case.r["p_value"]), rtol=1e-6)
    same_matrix(case.res.cov_params(), case.r["vcov"], RTOL)


def test_observed_information(case):
    # the reference's is a numerical derivative: its own logit entries are off by 2e-8
    observed = np.linalg.inv(-case.res.model.hessian(case.res.params))
    same_matrix(observed, case.r["vcov_observed"], 1e-6)
    assert_allclose(np.sqrt(np.diagonal(observed)), named(case.r["se_observed"]), rtol=1e-6)


def test_likelihood_and_deviance(case):
    assert_allclose(case.res.llf, case.r["loglik"], rtol=1e-10)
    assert_allclose(case.res.deviance, case.r["deviance"], rtol=1e-10)
    assert_allclose(case.res.null_deviance, case.r["null_deviance"], rtol=1e-10)
    assert_allclose(case.res.aic, case.r["aic"], rtol=1e-10)
    assert_allclose(case.res.bic, case.r["bic"], rtol=1e-10)
    assert_allclose(case.res.pearson_chi2, case.r["pearson_chi2"], rtol=RTOL)


def test_fitted_values_and_residuals(case):
    res, r = case.res, case.r
    fitted = np.array(r["fitted"])
    outcome, trials = res.model.endog[: len(fitted)], res.model.n_trials[: len(fitted)]
    same_head(res.fittedvalues, fitted, RTOL)
    same_head(res.predict(which="linear"), r["linear_predictor"], RTOL)
    same_head(res.resid_pearson, r["resid_pearson"], RTOL)
    same_head(res.resid_deviance, r["resid_deviance"], 1e-7)
    same_head(res.resid_response, trials * (outcome - fitted), 1e-7)
    slope = res.link.inverse_deriv(np.array(r["linear_predictor"]))
    same_head(res.resid_working, (outcome - fitted) / slope, 1e-7)


def test_leverage_and_influence(case):
    influence = case.res.get_influence()
    same_head(case.res.get_hat_matrix_diag(), case.r["hat"], RTOL)
    same_head(influence.hat_matrix_diag, case.r["hat"], RTOL)
    same_head(influence.cooks_distance[0], case.r["cooks_distance"], 1e-7)
    standardised = case.res.resid_deviance / np.sqrt(1.0 - case.res.get_hat_matrix_diag())
    same_head(standardised, case.r["resid_deviance_standardised"], 1e-7)


@pytest.mark.parametrize("cov_type", ["HC0", "HC1", "HC2", "HC3"])
def test_robust_covariance(case, cov_type):
    same_matrix(case.fit(cov_type=cov_type).cov_params(), case.r["sandwich"][cov_type], RTOL)


def test_cluster_covariance(case):
    plain, corrected = (
        case.fit(cov_type="cluster", cov_kwds={"groups": case.clusters, "use_correction": factor}).cov_params()
        for factor in (False, True)
    )
    same_matrix(plain, case.r["cluster_robust"]["plain"], RTOL)
    same_matrix(corrected, case.r["cluster_robust"]["corrected"], RTOL)


def test_profile_intervals(case):
    exact = case.r["profile_limits"]
    expected = np.column_stack([named(exact["lower"]), named(exact["upper"])])
    assert_allclose(case.res.conf_int(method="profile"), expected, rtol=1e-7)


def test_predictions_and_their_errors(case):
    rows = case.X[np.array(case.r["predict_rows"]) - 1]
    linear = case.res.get_prediction(rows, which="linear")
    assert_allclose(linear.predicted, case.r["predict_link"], rtol=RTOL)
    assert_allclose(linear.se, case.r["predict_link_se"], rtol=RTOL)
    mean = case.res.get_prediction(rows)
    assert_allclose(mean.predicted_mean, case.r["predict_response"], rtol=RTOL)
    assert_allclose(mean.se_mean, case.r["predict_response_se"], rtol=RTOL)


@pytest.mark.parametrize("kind", ["freq_weights", "var_weights"])
def test_prior_weights(kind):
    r = numbers("glm")["weighted_logit_rare"]
    y, X = arrays("rare")
    weights = {kind: np.where(y == 1, 1.0, 2.5)}
    res = quiet_fit(y, X, **weights)
    assert_allclose(res.params, named(r["coef"]), rtol=RTOL)
    same_matrix(res.cov_params(), r["vcov"], RTOL)
    assert_allclose(res.deviance, r["deviance"], rtol=1e-10)


def test_robust_covariance_squares_prior_weights():
    r = numbers("glm")["weighted_logit_rare"]
    y, X = arrays("rare")
    res = quiet_fit(y, X, var_weights=np.where(y == 1, 1.0, 2.5), cov_type="HC0")
    same_matrix(res.cov_params(), r["HC0"], RTOL)
