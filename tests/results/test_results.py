"""What GLMResults offers, for both losses, from formulas and arrays, with and without offset and weights."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from scipy.stats import chi2, norm, t

import gevglm
from gevglm.calibration.bins import weighted_quantile
from gevglm.exceptions import (
    FewEventsWarning,
    InvalidDataError,
    InvalidOptionError,
    NotDefinedForLoss,
    SupportWarning,
)
from tests.support.study import (
    FORMULA,
    LOSSES,
    ROWS,
    design,
    fitted,
    numeric_jacobian,
    reachable_arrays,
    reads_formulaic,
    study,
)

WHICH = (None, "mean", "linear", "var_unscaled")
each_loss = pytest.mark.parametrize("loss", LOSSES)
likelihoods = pytest.mark.parametrize("loss", ["logit", "gev-log"])
each_source = pytest.mark.parametrize("source", ["formula", "arrays"])
with_and_without = pytest.mark.parametrize("extras", [False, True], ids=["plain", "weighted"])


def linear_predictor(res, extras):
    return design(study()) @ np.asarray(res.params) + (study()["shift"].to_numpy() if extras else 0.0)


def family_of(loss):
    """A family for sm.GLM; a fresh one each time, for families remember their data."""
    gev = gevglm.families.GEVCanonical if loss == "gev-canonical" else gevglm.families.GEVBinomial
    return sm.families.Binomial() if loss == "logit" else gev(0.3)


def row_weights(extras):
    return study()["copies"].to_numpy(float) if extras else np.ones(ROWS)


def in_averages(extras):
    return row_weights(extras) * (study()["precision"].to_numpy() if extras else 1.0)


# -- prediction ----------------------------------------------------------------------------------------------------


@each_loss
@each_source
@with_and_without
def test_predict(loss, source, extras):
    res = fitted(loss, source, extras=extras)
    linear = linear_predictor(res, extras)
    mean = res.link.inverse(linear)
    for which, expected in {"mean": mean, "linear": linear, "var_unscaled": mean * (1 - mean)}.items():
        assert_allclose(res.predict(which=which), expected, rtol=1e-12)
    assert_allclose(res.fittedvalues, mean, rtol=1e-12)
    new = study().iloc[5:9] if source == "formula" else design(study())[5:9]
    offset = study()["shift"].iloc[5:9].to_numpy() if extras and source == "arrays" else None
    assert_allclose(res.predict(new, offset=offset), mean[5:9], rtol=1e-12)
    with pytest.raises(InvalidOptionError, match=r"which='men' is not known.*'mean'"):
        res.predict(which="men")


@each_loss
def test_predictions_of_formulas_have_the_labels_of_the_data(loss):
    new = study().iloc[5:9]
    res = fitted(loss, extras=True)
    assert list(res.predict(new).index) == list(new.index)
    assert list(res.get_prediction(new).summary_frame().index) == list(new.index)
    assert list(res.fittedvalues.index) == list(study().index)


@each_loss
@each_source
@with_and_without
@pytest.mark.parametrize("which", WHICH)
def test_prediction_intervals(loss, source, extras, which):
    res = fitted(loss, source, extras=extras)
    X, linear = design(study()), linear_predictor(res, extras)
    se = np.sqrt(np.einsum("ij,jk,ik->i", X, res.cov_params(), X))
    slope = {"linear": 1.0, "var_unscaled": 1 - 2 * res.link.inverse(linear)}.get(which, 1.0)
    slope = slope * (1.0 if which == "linear" else res.link.inverse_deriv(linear))
    new = study() if source == "formula" else X
    offset = study()["shift"] if extras and source == "arrays" else None
    for prediction in (res.get_prediction(which=which), res.get_prediction(new, offset=offset, which=which)):
        frame = prediction.summary_frame()
        assert_allclose(frame.iloc[:, 0], res.predict(which=which or "mean"), rtol=1e-12)
        assert_allclose(frame.iloc[:, 1], np.abs(slope) * se, rtol=1e-6)
        low, high = frame.iloc[:, 2], frame.iloc[:, 3]
        assert (low < frame.iloc[:, 0]).all() and (frame.iloc[:, 0] < high).all()
        if which in (None, "mean"):
            assert (low > 0).all() and (high < 1).all()
            assert_allclose(low, res.link.inverse(linear - 1.959963984540054 * se), rtol=1e-9)


@each_loss
def test_average_prediction(loss):
    res = fitted(loss)
    average = res.get_prediction(which="mean", average=True)
    gradient = numeric_jacobian(lambda b: res.model.predict(b).mean(keepdims=True), np.asarray(res.params))
    assert_allclose(average.predicted, res.fittedvalues.mean(), rtol=1e-12)
    new = res.get_prediction(study(), which="mean", average=True)
    assert_allclose([new.predicted, new.se], [average.predicted, average.se], rtol=1e-9)
    assert_allclose(average.se, np.sqrt(gradient @ res.cov_params().to_numpy() @ gradient.T).ravel(), rtol=1e-5)


def symmetric_on_the_logit_scale(average, top=1.0, quantile=1.959963984540054):
    share, error = average.predicted / top, average.se / top
    return top * expit(logit(share) + np.array([-1, 1]) * quantile * error / (share * (1 - share)))


@each_loss
@each_source
@with_and_without
def test_limits_of_an_average_are_symmetric_on_the_logit_scale(loss, source, extras):
    res = fitted(loss, source, extras=extras)
    average = res.get_prediction(which="mean", average=True)
    assert_allclose(average.conf_int(), [symmetric_on_the_logit_scale(average)], rtol=1e-12)
    assert_allclose(average.conf_int(alpha=0.5), [symmetric_on_the_logit_scale(average, quantile=norm.ppf(0.75))])
    frame = average.summary_frame()
    assert list(frame.columns) == ["predicted", "se", "ci_lower", "ci_upper"]
    assert_allclose(frame.iloc[0], [average.predicted, average.se, *average.conf_int()[0]])


def test_limits_of_an_average_stay_inside_the_unit_interval():
    X = np.column_stack([np.ones(40), np.linspace(-1.0, 1.0, 40)])
    y = np.isin(np.arange(40), [11, 33])
    with pytest.warns(FewEventsWarning):
        rare, common = gevglm.fit(y, X), gevglm.fit(~y, X)
    for rows in (slice(None), slice(0, 1)):
        few = rare.get_prediction(X[rows], which="mean", average=True)
        most = common.get_prediction(X[rows], which="mean", average=True)
        (low, high), limits = few.conf_int()[0], most.conf_int()[0]
        assert few.predicted - 1.96 * few.se < 0 < low < few.predicted < high < 1
        assert_allclose(limits, [1 - high, 1 - low], rtol=1e-9)


def test_the_average_of_one_row_has_the_limits_of_the_row():
    """For the logit link both are symmetric on the logit scale."""
    res = fitted("logit")
    row = study().iloc[[7]]
    average, single = (res.get_prediction(row, which="mean", average=how) for how in (True, False))
    assert_allclose(average.summary_frame(), single.summary_frame(), rtol=1e-10)


@each_loss
def test_weighted_averages(loss):
    res, weights = fitted(loss), study()["copies"]
    smokers = study()["smoker"].to_numpy(float)
    average = res.get_prediction(which="mean", average=True, agg_weights=weights)
    assert_allclose(average.predicted, (weights * res.fittedvalues).mean(), rtol=1e-12)
    assert_allclose(average.conf_int(), [symmetric_on_the_logit_scale(average, weights.mean())], rtol=1e-12)
    among = res.get_prediction(which="mean", average=True, agg_weights=smokers / smokers.mean())
    only = res.get_prediction(study()[smokers == 1], which="mean", average=True)
    assert_allclose(among.summary_frame(), only.summary_frame(), rtol=1e-9)
    both = res.get_prediction(which="mean", average=True, agg_weights=np.column_stack([weights, smokers]))
    assert_allclose(both.summary_frame().iloc[0], average.summary_frame().iloc[0], rtol=1e-12)
    contrast = res.get_prediction(which="mean", average=True, agg_weights=1 - 2 * smokers)
    assert_allclose(contrast.conf_int()[0], contrast.predicted + np.array([-1, 1]) * 1.959963984540054 * contrast.se)
    with pytest.raises(InvalidDataError, match="agg_weights has 3 rows, but 600 rows"):
        res.get_prediction(which="mean", average=True, agg_weights=np.ones(3))


def test_averages_by_the_t_distribution():
    res = gevglm.BinaryGLM(study()["event"], design(study())).fit(use_t=True)
    average = res.get_prediction(which="mean", average=True)
    expected = symmetric_on_the_logit_scale(average, quantile=t.ppf(0.975, res.df_resid))
    assert_allclose(average.conf_int()[0], expected, rtol=1e-12)


def test_an_average_of_impossible_events_is_zero():
    res = gevglm.fit("event ~ x", study(), xi=0.3)
    with pytest.warns(SupportWarning):
        average = res.get_prediction({"x": [-1e4, -2e4]}, which="mean", average=True)
    assert_array_equal(average.summary_frame().to_numpy(), [[0.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize("options", [{"link": "cloglog"}, {"link": "gevc", "xi": 0.0}])
def test_offset_and_exposure(options):
    data = study()
    both = gevglm.fit("event ~ x + smoker", data, offset="shift", exposure="years", **options)
    X = np.column_stack([np.ones(ROWS), data["x"], data["smoker"]])
    offset = np.log(data["years"]) + data["shift"]
    arrays = gevglm.fit(data["event"], X, offset=offset, **options)
    assert_allclose(both.params, arrays.params, rtol=1e-9)
    assert_allclose(both.bse, arrays.bse, rtol=1e-7)
    for frame in (data.iloc[:3], data.iloc[:3].assign(years=2.0, shift=0.5)):
        v = X[:3] @ np.asarray(both.params) + np.log(frame["years"]) + frame["shift"]
        assert_allclose(both.predict(frame), both.link.inverse(v.to_numpy()), rtol=1e-12)
        assert_allclose(both.get_prediction(frame).predicted_mean, both.link.inverse(v.to_numpy()), rtol=1e-12)
    with pytest.raises(InvalidDataError, match="years"):
        both.predict(data[["x", "smoker", "shift"]])


def test_cloglog_with_exposure_is_glm_with_the_log_as_offset():
    data = study()
    res = gevglm.fit("event ~ x + smoker", data, link="cloglog", exposure="years")
    family = sm.families.Binomial(sm.families.links.CLogLog())
    glm = smf.glm("event ~ x + smoker", data, family=family, offset=np.log(data["years"])).fit(tol=1e-12)
    assert_allclose(res.params, glm.params, rtol=1e-8)
    assert_allclose(res.bse, glm.bse, rtol=1e-7)
    assert_allclose([res.llf, res.deviance], [glm.llf, glm.deviance], rtol=1e-10)


# -- marginal effects ----------------------------------------------------------------------------------------------


def effects_by_differences(res, params, at, method, extras, step=1e-6):
    """Weighted means of numerical derivatives of the probability, for all columns but the constant."""
    X, share = design(study()), in_averages(extras) / in_averages(extras).sum()
    offset = study()["shift"].to_numpy() if extras else np.zeros(ROWS)
    if at != "overall":
        median = [weighted_quantile(column, in_averages(extras), np.array([0.5]))[0] for column in X.T]
        rows = {"mean": share @ X, "median": np.array(median), "zero": np.eye(X.shape[1])[0]}
        X, offset, share = rows[at][None, :], np.atleast_1d(share @ offset), np.ones(1)
    effects = []
    for j in range(1, X.shape[1]):
        low, high = (res.link.inverse((X + d * np.eye(X.shape[1])[j]) @ params + offset) for d in (-step, step))
        effect = (high - low) / (2 * step)
        effect = effect * X[:, j] if method.endswith("ex") else effect
        effects.append(share @ (effect / (0.5 * (high + low)) if method.startswith("ey") else effect))
    return np.array(effects)


@each_loss
@with_and_without
@pytest.mark.parametrize("at", ["overall", "mean", "median", "zero"])
@pytest.mark.parametrize("method", ["dydx", "eyex", "dyex", "eydx"])
def test_marginal_effects_are_derivatives(loss, extras, at, method):
    res = fitted(loss, extras=extras)
    margins = res.get_margeff(at=at, method=method)
    params = np.asarray(res.params)
    assert_allclose(margins.margeff, effects_by_differences(res, params, at, method, extras), rtol=1e-7, atol=1e-9)
    jacobian = numeric_jacobian(lambda b: effects_by_differences(res, b, at, method, extras, 1e-4), params, 1e-4)
    expected = np.sqrt(np.diagonal(jacobian @ np.asarray(res.cov_params()) @ jacobian.T))
    assert_allclose(margins.margeff_se, expected, rtol=1e-5, atol=1e-9)


@each_source
@pytest.mark.parametrize("options", [{}, {"dummy": True}, {"count": True}, {"dummy": True, "count": True}], ids=str)
@pytest.mark.parametrize("at", ["overall", "mean"])
def test_marginal_effects_of_statsmodels(source, options, at):
    glm = sm.GLM(study()["event"], design(study()), family=sm.families.Binomial()).fit(tol=1e-12)
    ours, theirs = fitted("logit", source).get_margeff(at=at, **options), glm.get_margeff(at=at, **options)
    assert_allclose(ours.margeff, theirs.margeff, rtol=1e-8)
    assert_allclose(ours.margeff_se, theirs.margeff_se, rtol=1e-6)


@each_loss
@with_and_without
def test_discrete_changes(loss, extras):
    res = fitted(loss, extras=extras)
    smokers, others = (study().assign(smoker=value) for value in (1, 0))
    difference = (res.predict(smokers) - res.predict(others)).to_numpy()
    margins = res.get_margeff(dummy=True)
    position = [name for name in res.model.exog_names if name != "Intercept"].index("smoker")
    assert_allclose(margins.margeff[position], np.average(difference, weights=in_averages(extras)), rtol=1e-10)
    assert "smoker" in str(margins.summary()) and "smoker" in margins.summary_frame().index
    with pytest.raises(InvalidOptionError, match="at='means'"):
        res.get_margeff(at="means")


# -- tests ---------------------------------------------------------------------------------------------------------


@each_loss
@each_source
@with_and_without
def test_wald_tests(loss, source, extras):
    res = fitted(loss, source, extras=extras)
    b, V = np.asarray(res.params), np.asarray(res.cov_params())
    R = np.eye(len(b))[1:3]
    statistic = (R @ b) @ np.linalg.solve(R @ V @ R.T, R @ b)
    wald = res.wald_test(R, scalar=True)
    assert_allclose([wald.statistic, wald.pvalue], [statistic, chi2.sf(statistic, 2)], rtol=1e-9)
    assert_allclose(res.f_test(R).fvalue, statistic / 2, rtol=1e-9)
    name = res.model.exog_names[3]
    t_test = res.t_test(f"{name} = 0.1")
    assert_allclose(np.ravel(t_test.statistic), (b[3] - 0.1) / np.sqrt(V[3, 3]), rtol=1e-9)
    assert_allclose(t_test.conf_int()[0], b[3] + np.array([-1, 1]) * 1.959963984540054 * np.sqrt(V[3, 3]), rtol=1e-9)


@each_loss
@pytest.mark.parametrize("engine", [pytest.param("formulaic", marks=reads_formulaic), "patsy"])
def test_terms_of_formulas(loss, engine):
    res = gevglm.fit(FORMULA, study(), formula_engine=engine, **LOSSES[loss])
    b, V = np.asarray(res.params), np.asarray(res.cov_params())
    terms = res.wald_test_terms(scalar=True).table
    statistic = b[1:3] @ np.linalg.solve(V[1:3, 1:3], b[1:3])
    assert_allclose(terms.loc["C(group)", "statistic"], statistic, rtol=1e-9)
    assert_array_equal(terms["df_constraint"], [1, 2, 1, 1, 1])
    pairs = res.t_test_pairwise("C(group)").result_frame
    assert_allclose(pairs["coef"], [b[1], b[2], b[2] - b[1]], rtol=1e-9)
    assert_allclose(pairs.loc["c-b", "std err"], np.sqrt(V[1, 1] + V[2, 2] - 2 * V[1, 2]), rtol=1e-9)


@each_loss
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0", "cluster"])
def test_score_test(loss, cov_type):
    res, extra, data = fitted(loss), np.sin(np.arange(ROWS))[:, None], study()
    X, slope, mean = np.column_stack([design(data), extra]), res.model.score_factor(res.params), res.fittedvalues
    bread = np.linalg.inv((X.T * res.model.hessian_factor(res.params, observed=False)) @ X)[-1]
    scores = X * slope[:, None]
    weights = mean * (1 - mean) if loss == "gev-canonical" else res.model.hessian_factor(res.params, observed=False)
    by_clinic = np.array([scores[data["clinic"] == clinic].sum(axis=0) for clinic in data["clinic"].unique()])
    meats = {"nonrobust": (X.T * np.asarray(weights)) @ X, "HC0": scores.T @ scores, "cluster": by_clinic.T @ by_clinic}
    statistic = (bread @ scores.sum(axis=0)) ** 2 / (bread @ meats[cov_type] @ bread)
    groups = {"groups": "clinic", "use_correction": False} if cov_type == "cluster" else None
    test = res.score_test(exog_extra=extra, cov_type=cov_type, cov_kwds=groups)
    assert_allclose([test.statistic, test.pvalue], [statistic, chi2.sf(statistic, 1)], rtol=1e-6)
    default = gevglm.fit(FORMULA, data, **LOSSES[loss], cov_type=cov_type, cov_kwds=groups).score_test(extra)
    assert_allclose(default.statistic, statistic, rtol=1e-6)


def test_score_test_of_statsmodels():
    extra = np.column_stack([np.sin(np.arange(ROWS)), np.cos(np.arange(ROWS))])
    glm = sm.GLM(study()["event"], design(study()), family=sm.families.Binomial()).fit(tol=1e-12)
    ours, theirs = fitted("logit").score_test(exog_extra=extra), glm.model.score_test(glm.params, exog_extra=extra)
    assert_allclose([ours.statistic, ours.pvalue], np.ravel(theirs[:2]), rtol=1e-6)


def test_score_test_refuses_what_it_does_not_use():
    with pytest.raises((TypeError, InvalidOptionError), match="cov_tpye"):
        fitted("logit").score_test(exog_extra=np.ones((ROWS, 1)), cov_tpye="HC0")


@each_loss
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
def test_score_test_with_frequency_weights(loss, cov_type):
    data, extra = study(), np.sin(np.arange(ROWS))[:, None]
    repeated = data.loc[data.index.repeat(data["copies"])]
    weighted = gevglm.fit(FORMULA, data, freq_weights="copies", **LOSSES[loss])
    expected = gevglm.fit(FORMULA, repeated, **LOSSES[loss])
    actual = weighted.score_test(exog_extra=extra, cov_type=cov_type)
    expected = expected.score_test(exog_extra=extra.repeat(data["copies"], axis=0), cov_type=cov_type)
    assert_allclose(np.ravel(actual.statistic), np.ravel(expected.statistic), rtol=1e-7)


@likelihoods
def test_likelihood_ratio_test(loss):
    data = study()
    full, restricted = fitted(loss), gevglm.fit("event ~ x + smoker + visits", data, **LOSSES[loss])
    llf = [
        smf.glm(f, data, family=family_of(loss)).fit(tol=1e-12).llf for f in (FORMULA, "event ~ x + smoker + visits")
    ]
    statistic, pvalue, df = full.compare_lr_test(restricted)
    assert_allclose(statistic, 2 * (llf[0] - llf[1]), rtol=1e-7)
    assert_allclose([pvalue, df], [chi2.sf(statistic, 2), 2], rtol=1e-9)
    with pytest.raises(InvalidOptionError, match="no fewer coefficients"):
        restricted.compare_lr_test(full)
    with pytest.raises(InvalidDataError, match="different data"):
        full.compare_lr_test(gevglm.fit("event ~ x", data.iloc[:-1], **LOSSES[loss]))
    with pytest.raises(InvalidOptionError, match="penalised"):
        full.compare_lr_test(gevglm.fit("event ~ x", data, alpha=1.0, **LOSSES[loss]))


@each_loss
def test_constrained_fit(loss):
    constrained = fitted(loss).model.fit_constrained("smoker = 0, visits = 0")
    restricted = gevglm.fit("event ~ x + C(group)", study(), **LOSSES[loss])
    assert constrained.converged
    assert_allclose(constrained.params.iloc[:4], restricted.params, rtol=1e-7)
    assert_allclose(constrained.bse.iloc[:4], restricted.bse, rtol=1e-6)
    assert_allclose(constrained.params.iloc[4:], 0, atol=1e-12)
    assert_allclose(constrained.log_loss, restricted.log_loss, rtol=1e-9)
    assert fitted(loss).model.fit_constrained("smoker = 0", cov_type="HC0").cov_type == "HC0"
    with pytest.raises(InvalidOptionError, match="alpha"):
        fitted(loss).model.fit_regularized(alpha=0.1)


@each_loss
def test_score_test_of_a_constrained_fit_with_frequency_weights(loss):
    data = study()
    weighted = gevglm.BinaryGLM.from_formula(FORMULA, data, freq_weights="copies", **LOSSES[loss])
    repeated = gevglm.BinaryGLM.from_formula(FORMULA, data.loc[data.index.repeat(data["copies"])], **LOSSES[loss])
    tests = [model.fit_constrained("smoker = 0, visits = 0").score_test() for model in (weighted, repeated)]
    assert_allclose(np.ravel(tests[0].statistic), np.ravel(tests[1].statistic), rtol=1e-7)


@each_loss
@with_and_without
def test_derivatives_of_the_model(loss, extras):
    model, b = fitted(loss, "arrays", extras=extras).model, 0.97 * fitted(loss, "arrays", extras=extras).params
    gradient = numeric_jacobian(lambda params: np.atleast_1d(model.loglike(params)), b)[0]
    assert_allclose(model.score(b), gradient, rtol=1e-5, atol=1e-6)
    assert_allclose(model.score_obs(b).sum(axis=0), model.score(b), rtol=1e-9, atol=1e-12)
    assert_allclose(model.hessian(b), numeric_jacobian(model.score, b), rtol=1e-6, atol=1e-6)
    expected = (model.exog.T * model.hessian_factor(b, observed=False)) @ model.exog
    assert_allclose(-model.hessian(b, observed=False), expected, rtol=1e-10, atol=1e-10)


# -- influence and residuals ---------------------------------------------------------------------------------------


@each_loss
@with_and_without
def test_influence_is_close_to_leaving_a_row_out(loss, extras):
    res = fitted(loss, extras=extras)
    influence, data = res.get_influence(), study()
    names = {"offset": "shift", "freq_weights": "copies", "var_weights": "precision"} if extras else {}
    for row in (np.flatnonzero(data["event"])[0], 1, 2):
        without = gevglm.fit(FORMULA, data.drop(data.index[row]), **LOSSES[loss], **names)
        change = np.asarray(res.params - without.params)
        scale = np.abs(change).max()
        assert_allclose(np.asarray(influence.d_params)[row], change, rtol=0.1, atol=0.1 * scale)
        cook = change @ np.linalg.solve(res.cov_params(), change) / len(change)
        assert_allclose(influence.cooks_distance[0][row], cook, rtol=0.2)
    assert_allclose(influence.hat_matrix_diag.sum(), len(res.params), rtol=1e-6)


@each_loss
@with_and_without
def test_residuals(loss, extras):
    res = fitted(loss, extras=extras)
    y, linear, data = study()["event"].to_numpy(), linear_predictor(res, extras), study()
    mean, precision = res.link.inverse(linear), data["precision"].to_numpy() if extras else 1.0
    assert_allclose(res.resid_response, y - mean, rtol=1e-10)
    assert_allclose(res.resid_working, (y - mean) / res.link.inverse_deriv(linear), rtol=1e-10)
    assert_allclose(res.resid_pearson, (y - mean) * np.sqrt(precision / (mean * (1 - mean))), rtol=1e-10)
    assert_array_equal(np.sign(res.resid_deviance), np.sign(y - mean))
    copies = row_weights(extras)
    assert_allclose(copies @ res.resid_deviance**2, res.deviance, rtol=1e-9)
    assert_allclose(copies @ res.resid_pearson**2, res.pearson_chi2, rtol=1e-9)
    assert np.isfinite(res.resid_anscombe).all()


# -- the model with a constant only, and what a loss does not define -----------------------------------------------


@each_loss
@with_and_without
def test_null_model(loss, extras):
    res = fitted(loss, extras=extras)
    names = {"offset": "shift", "freq_weights": "copies", "var_weights": "precision"} if extras else {}
    null = gevglm.fit("event ~ 1", study(), **LOSSES[loss], **names)
    assert_allclose(res.null, null.fittedvalues, rtol=1e-8)
    assert_allclose(res.null_deviance, null.deviance, rtol=1e-9)
    weights = in_averages(extras)
    y = study()["event"].to_numpy()
    llf, llnull = (weights @ np.log(np.where(y == 1, p, 1 - p)) for p in (res.fittedvalues, res.null))
    assert_allclose(res.pseudo_rsquared("mcf"), 1 - llf / llnull, rtol=1e-8)
    assert_allclose(res.pseudo_rsquared("cs"), 1 - np.exp(2 * (llnull - llf) / row_weights(extras).sum()), rtol=1e-8)
    if res.loss.is_likelihood:
        assert_allclose([res.llf, res.llnull], [llf, llnull], rtol=1e-9)


@pytest.mark.parametrize("name", ["llf", "aic", "bic", "bic_llf", "bic_deviance", "llnull"])
def test_statistics_of_a_likelihood_are_refused_for_the_canonical_loss(name):
    res = fitted("gev-canonical")
    with pytest.raises(NotDefinedForLoss, match=r"not defined for the canonical loss.*;"):
        getattr(res, name)
    assert not hasattr(res, name)


def test_methods_of_a_likelihood_are_refused_for_the_canonical_loss():
    res = fitted("gev-canonical")
    with pytest.raises(NotDefinedForLoss, match="wald_test or score_test"):
        res.compare_lr_test(res)
    with pytest.raises(NotDefinedForLoss, match="method='wald'"):
        res.conf_int(method="profile")
    with pytest.raises(NotDefinedForLoss, match="log_loss"):
        res.info_criteria("aic")
    with pytest.raises(NotDefinedForLoss, match="restricted"):
        fitted("gev-log").compare_lr_test(res)
    with pytest.raises(InvalidOptionError, match="'profile'"):
        res.conf_int(method="profil")


@likelihoods
def test_profile_interval_is_where_the_likelihood_ratio_reaches_its_quantile(loss):
    res, X = fitted(loss, "arrays"), design(study())
    y, column = study()["event"].to_numpy(), 3
    lower, upper = res.conf_int(method="profile", cols=[column], alpha=0.1)[0]
    assert lower < res.params[column] < upper
    for limit in (lower, upper):
        rest = gevglm.fit(y, np.delete(X, column, axis=1), offset=limit * X[:, column], **LOSSES[loss])
        assert_allclose(2 * (res.llf - rest.llf), chi2.ppf(0.9, 1), rtol=1e-6)


@each_source
def test_intervals_of_some_coefficients(source):
    res = fitted("logit", source)
    for method in ("wald", "profile"):
        some = res.conf_int(method=method, cols=[3, 1])
        assert_allclose(some, np.asarray(res.conf_int(method=method))[[3, 1]], rtol=1e-6)
    if source == "formula":
        assert list(some.index) == ["x", "C(group)[T.b]"]


@each_loss
def test_tests_with_the_t_distribution(loss):
    res, normal = fitted(loss).model.fit(use_t=True), fitted(loss)
    half = t.ppf(0.975, ROWS - 6) * normal.bse
    assert_allclose(res.pvalues, 2 * t.sf(np.abs(normal.tvalues), ROWS - 6), rtol=1e-9)
    assert_allclose(res.conf_int()[1] - res.params, half, rtol=1e-9)
    assert "P>|t|" in res.summary().as_text()


# -- weights -------------------------------------------------------------------------------------------------------


@each_loss
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"])
def test_frequency_weights_are_repeated_rows(loss, cov_type):
    data = study()
    repeated = data.loc[data.index.repeat(data["copies"])]
    options = LOSSES[loss] | {"offset": "shift", "var_weights": "precision", "cov_type": cov_type}
    if cov_type == "cluster":
        options["cov_kwds"] = {"groups": "clinic"}
    weighted = gevglm.fit(FORMULA, data, freq_weights="copies", **options)
    expected = gevglm.fit(FORMULA, repeated, **options)
    assert_allclose(weighted.params, expected.params, rtol=1e-8)
    assert_allclose(weighted.bse, expected.bse, rtol=1e-7)
    names = ["deviance", "null_deviance", "pearson_chi2", "log_loss", "brier", "auc", "n_events", "df_resid"]
    names += ["llf", "llnull", "aic", "bic"] if weighted.loss.is_likelihood else []
    for name in names:
        assert_allclose(getattr(weighted, name), getattr(expected, name), rtol=1e-9, err_msg=name)
    assert_allclose(weighted.pseudo_rsquared(), expected.pseudo_rsquared(), rtol=1e-9)
    assert f"{data['copies'].sum()}" in weighted.summary().as_text()


@pytest.mark.parametrize(
    ("loss", "cov_type"),
    [("logit", "nonrobust"), ("logit", "HC0"), ("gev-log", "nonrobust"), ("gev-canonical", "HC0")],
)
def test_variance_weights_of_statsmodels(loss, cov_type):
    data = study()
    options = {"offset": data["shift"], "var_weights": data["precision"]}
    glm = smf.glm(FORMULA, data, family=family_of(loss), **options).fit(tol=1e-13, cov_type=cov_type)
    res = gevglm.fit(FORMULA, data, **LOSSES[loss], **options, cov_type=cov_type)
    assert_allclose(res.params, glm.params, rtol=1e-6)
    assert_allclose(res.bse, glm.bse, rtol=1e-6)
    assert_allclose(res.deviance, glm.deviance, rtol=1e-9)
    assert_allclose(res.resid_deviance, glm.resid_deviance, rtol=1e-6)
    assert res.n_events == data["event"].sum() and res.n_trials_total == ROWS
    if res.loss.is_likelihood:
        assert_allclose(res.llf, glm.llf, rtol=1e-9)
        assert_allclose(res.resid_pearson, glm.resid_pearson, rtol=1e-6)


@each_loss
def test_grouped_rows_are_their_trials(loss):
    data = study().assign(one=1)
    grouped = data.groupby(["group", "smoker"], as_index=False).agg(successes=("event", "sum"), n=("one", "sum"))
    grouped["failures"] = grouped["n"] - grouped["successes"]
    grouped["share"] = grouped["successes"] / grouped["n"]
    formula = "~ C(group) + smoker"
    single = gevglm.fit("event" + formula, data, **LOSSES[loss])
    counts = gevglm.fit("successes + failures" + formula, grouped, **LOSSES[loss])
    shares = gevglm.fit("share" + formula, grouped, freq_weights="n", **LOSSES[loss])
    clustered = gevglm.fit(
        "event" + formula,
        data,
        **LOSSES[loss],
        cov_type="cluster",
        cov_kwds={"groups": data.groupby(["group", "smoker"]).ngroup(), "use_correction": False},
    )
    robust = gevglm.fit("successes + failures" + formula, grouped, **LOSSES[loss], cov_type="HC0")
    assert_allclose(robust.bse, clustered.bse, rtol=1e-6)
    for res in (counts, shares):
        assert_allclose(res.params, single.params, rtol=1e-8)
        assert_allclose(res.bse, single.bse, rtol=1e-7)
        names = ("log_loss", "brier", "auc", "n_events", "n_trials_total")
        assert_allclose([getattr(res, n) for n in names], [getattr(single, n) for n in names], rtol=1e-9)
    if single.loss.is_likelihood:
        pair = grouped[["successes", "failures"]].to_numpy()
        glm = sm.GLM(pair, counts.model.exog, family=family_of(loss)).fit(tol=1e-12)
        assert_allclose([counts.llf, counts.deviance], [glm.llf, glm.deviance], rtol=1e-9)
        assert_allclose(counts.llf - counts.llnull, single.llf - single.llnull, rtol=1e-7)


# -- covariances of statsmodels ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["logit", "gev-canonical"])
@pytest.mark.parametrize(
    ("cov_type", "cov_kwds"),
    [
        ("HC0", {}),
        ("cluster", {"groups": ["clinic"]}),
        ("cluster", {"groups": ["clinic"], "use_correction": False}),
        ("cluster", {"groups": ["clinic", "year"]}),
        ("cluster", {"groups": ["clinic", "year"], "use_correction": False}),
        ("HAC", {"maxlags": 5}),
        ("HAC", {"maxlags": 5, "use_correction": True}),
        ("HAC", {"maxlags": 3, "kernel": "uniform"}),
    ],
    ids=str,
)
def test_covariances_of_statsmodels(loss, cov_type, cov_kwds):
    data, X = study(), design(study())
    theirs = dict(cov_kwds)
    if "groups" in cov_kwds:
        theirs["groups"] = data[cov_kwds["groups"]].to_numpy().squeeze()
    glm = sm.GLM(data["event"].to_numpy(), X, family=family_of(loss)).fit(tol=1e-13, cov_type=cov_type, cov_kwds=theirs)
    by_name = gevglm.fit(FORMULA, data, **LOSSES[loss], cov_type=cov_type, cov_kwds=cov_kwds)
    by_array = gevglm.fit(data["event"].to_numpy(), X, **LOSSES[loss], cov_type=cov_type, cov_kwds=theirs)
    for res in (by_name, by_array):
        assert_allclose(res.cov_params(), glm.cov_params(), rtol=1e-5, atol=1e-9)
        assert_allclose(res.bse, glm.bse, rtol=1e-6)


# -- fitting leaves the model alone, results are light, files small ------------------------------------------------


@each_loss
@each_source
@with_and_without
def test_fit_does_not_change_the_model(loss, source, extras):
    model = fitted(loss, source, extras=extras).model
    before = {name: copy.deepcopy(value) for name, value in vars(model).items() if name not in ("data", "model_spec")}
    first = model.fit(cov_type="HC1")
    first.summary()
    second = model.fit(alpha=1.0)
    third = model.fit()
    assert set(vars(model)) - {"data", "model_spec"} == set(before)
    for name, value in before.items():
        if isinstance(value, np.ndarray):
            assert_array_equal(getattr(model, name), value)
        elif isinstance(value, (int, float, str, list, type(None))):
            assert getattr(model, name) == value, name
    assert_array_equal(first.params, third.params)
    assert not np.allclose(first.params, second.params)
    assert first.cov_type == "HC1" and third.cov_type == "nonrobust"
    assert_array_equal(third.bse, model.fit().bse)


@each_loss
@with_and_without
def test_results_hold_no_copies_of_rows(loss, extras):
    names = {"offset": "shift", "freq_weights": "copies", "var_weights": "precision"} if extras else {}
    res = gevglm.BinaryGLM.from_formula(FORMULA, study(), **LOSSES[loss], **names).fit(cov_type="HC1")
    res.summary()
    kept = [a for a in reachable_arrays(res) if ROWS in a.shape]
    rows = [a for a in reachable_arrays(res.model) if ROWS in a.shape]
    assert {id(a) for a in kept} == {id(a) for a in rows}


def saved(loss, source, path, rows):
    data = study().iloc[:rows]
    if source == "formula":
        res = gevglm.fit(
            FORMULA, data, offset="shift", freq_weights="copies", formula_engine="formulaic", **LOSSES[loss]
        )
    else:
        res = gevglm.fit(
            data["event"].to_numpy(),
            design(data),
            offset=data["shift"].to_numpy(),
            freq_weights=data["copies"].to_numpy(),
            **LOSSES[loss],
        )
    text = res.summary().as_text()
    new = data.iloc[:4] if source == "formula" else design(data)[:4]
    offset = None if source == "formula" else data["shift"].to_numpy()[:4]
    predicted = np.asarray(res.predict(new, offset=offset))
    res.save(path)
    return res, text, lambda other: np.asarray(other.predict(new, offset=offset)), predicted


@each_loss
@each_source
def test_saved_results_hold_no_data(loss, source, tmp_path):
    res, text, predict, predicted = saved(loss, source, tmp_path / "res.pkl", ROWS)
    for loaded in (gevglm.load(tmp_path / "res.pkl"), type(res).load(tmp_path / "res.pkl")):
        assert [a.shape for a in reachable_arrays(loaded) if ROWS in a.shape] == []
        assert loaded.summary().as_text() == text
        assert_array_equal(predict(loaded), predicted)
        if source == "formula":
            incomplete = study().iloc[:4].assign(x=[0.5, np.nan, 0.5, 0.5])
            assert np.isnan(loaded.predict(incomplete)).tolist() == [False, True, False, False]
        assert_allclose(loaded.conf_int(), res.conf_int())
        tests = [results.wald_test(np.eye(6)[1:3], scalar=True).pvalue for results in (loaded, res)]
        assert_allclose(*tests)
        assert loaded.auc == res.auc and loaded.xi == res.xi
        if loaded.loss.is_likelihood:
            assert loaded.llf == res.llf
    saved(loss, source, tmp_path / "half.pkl", ROWS // 2)
    sizes = [(tmp_path / name).stat().st_size for name in ("res.pkl", "half.pkl")]
    assert max(sizes) < 40_000 and abs(sizes[0] - sizes[1]) < 500


@each_loss
@each_source
def test_remove_data(loss, source):
    res = copy.deepcopy(fitted(loss, source))
    text, frame = res.summary().as_text(), design(study())[:3]
    expected = res.get_prediction(frame, transform=False).summary_frame()
    res.remove_data()
    assert [a.shape for a in reachable_arrays(res) if ROWS in a.shape] == []
    assert res.summary().as_text() == text
    pd.testing.assert_frame_equal(res.get_prediction(frame, transform=False).summary_frame(), expected)


@each_loss
@each_source
@with_and_without
def test_copies_and_pickles(loss, source, extras):
    res = fitted(loss, source, extras=extras)
    for other in (copy.copy(res), copy.deepcopy(res), pickle.loads(pickle.dumps(res))):
        assert type(other) is type(res)
        assert_array_equal(other.params, res.params)
        assert_array_equal(other.bse, res.bse)
        assert_array_equal(other.predict(), res.predict())
        assert other.summary().as_text() == res.summary().as_text()
        assert_allclose(other.model.fit().params, res.params, rtol=1e-10)


def test_copies_of_patsy_formulas():
    res, new = gevglm.fit(FORMULA, study(), formula_engine="patsy"), study().iloc[:3]
    assert_array_equal(copy.deepcopy(res).predict(new), res.predict(new))
    loaded = pickle.loads(pickle.dumps(res))
    assert_array_equal(loaded.predict(design(new), transform=False), res.predict(new))
    for use in (lambda: loaded.predict(new), loaded.wald_test_terms, lambda: loaded.t_test_pairwise("C(group)")):
        with pytest.raises(InvalidDataError, match="formula_engine='formulaic'"):
            use()


# -- reports -------------------------------------------------------------------------------------------------------


@each_loss
@each_source
@with_and_without
def test_summary_says_what_was_fitted(loss, source, extras):
    res = fitted(loss, source, extras=extras)
    events = f"{row_weights(extras) @ study()['event'].to_numpy():g}"
    link = "Logit" if loss == "logit" else "GEV(xi=0.3)"
    summary = res.summary()
    for text in (summary.as_text(), summary.as_html(), summary.as_latex()):
        for word in (link, res.loss.name, events, f"{res.auc:.4f}", "Event", "AUC", "Brier", "nonrobust", "Converged"):
            assert word in text
        assert ("Log-Likelihood" in text) == res.loss.is_likelihood
    names = res.model.exog_names
    assert all(name in summary.as_text() for name in names)
    assert "renamed" in res.summary(yname="renamed", title="A title").as_text()
    assert "A title" in res.summary(title="A title").as_text()
    assert str(res.summary2())


@each_loss
def test_distribution_of_the_outcome(loss):
    res = fitted(loss)
    mean, variance = res.get_distribution().stats()
    assert_allclose(mean, res.fittedvalues, rtol=1e-12)
    assert_allclose(variance, res.predict(which="var_unscaled"), rtol=1e-12)
    mean = res.get_distribution(study().iloc[:3]).mean()
    assert_allclose(mean, res.fittedvalues.iloc[:3], rtol=1e-12)


def test_events_and_levels():
    res = gevglm.fit("ill ~ x", study().assign(ill=np.where(study()["event"] == 1, "yes", "no")), event="yes")
    assert res.event == "yes" and res.n_events == study()["event"].sum()
    assert "yes" in res.summary().as_text()
    assert_allclose(res.params, gevglm.fit("event ~ x", study()).params)
