"""sampling="weight" and class_weight: rows weighted by their outcome."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit

import gevglm
from gevglm import BinaryGLM
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError, WeakShapeWarning
from gevglm.links import GEV, Weighted
from tests.support.populations import drawn, population, refused

FORMULA = "y ~ x + smoker"
LINKS = {
    "logit": {"link": "logit"},
    "probit": {"link": "probit"},
    "gev-log": {"link": "gev", "xi": 0.2, "loss": "log"},
    "gev-canonical": {"link": "gev", "xi": 0.2},
}
each_link = pytest.mark.parametrize("words", LINKS.values(), ids=LINKS)
NEW = {"x": [0.0, 1.0, -1.0], "smoker": [0, 1, 0]}


def population_weights():
    sample = drawn()
    tau, mean = sample.prevalence, sample.sample_mean
    return np.where(sample.data["y"] == 1, tau / mean, (1 - tau) / (1 - mean))


# -- weighting back to the population --------------------------------------------------------


@each_link
def test_weights_enter_like_variance_weights_with_robust_errors(words):
    sample = drawn()
    res = gevglm.fit(FORMULA, sample.data, prevalence=sample.prevalence, sampling="weight", **words)
    same = gevglm.fit(FORMULA, sample.data, var_weights=population_weights(), cov_type="HC0", **words)
    assert_allclose(res.params, same.params, rtol=1e-10)
    assert_allclose(res.bse, same.bse, rtol=1e-10)
    assert res.cov_type == "HC0"
    assert_array_equal(res.predict(NEW), same.predict(NEW))
    assert_array_equal(res.predict(NEW), res.predict(NEW, which="fitted"))


@each_link
def test_the_weighted_fit_is_about_the_population(words):
    sample = drawn()
    whole = gevglm.fit(FORMULA, population(), **words)
    res = gevglm.fit(FORMULA, sample.data, prevalence=sample.prevalence, sampling="weight", **words)
    assert (np.abs(res.params - whole.params) < 4 * res.bse).all()
    assert res.log_loss == pytest.approx(whole.log_loss, rel=0.02)
    assert res.brier == pytest.approx(whole.brier, rel=0.02)


def test_another_covariance_can_be_asked_for():
    sample = drawn()
    model = BinaryGLM.from_formula(FORMULA, sample.data, prevalence=sample.prevalence, sampling="weight")
    types = [model.fit(cov_type=word).cov_type for word in (None, "nonrobust", "HC1")]
    assert types == ["HC0", "nonrobust", "HC1"]
    assert model.fit_constrained("smoker = 0").cov_type == "HC0"
    assert "HC0" in str(model.fit().summary())


def test_the_shape_is_chosen_for_the_weighted_rows():
    sample = drawn()
    words = {"prevalence": sample.prevalence, "sampling": "weight", "search_kwds": {"grid": np.linspace(-0.6, 0.4, 6)}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakShapeWarning)
        res = gevglm.fit(FORMULA, sample.data, xi="ml", loss="log", **words)
    fixed = gevglm.fit(FORMULA, sample.data, xi=res.xi, loss="log", prevalence=sample.prevalence, sampling="weight")
    assert_allclose(res.params, fixed.params, rtol=1e-5)
    assert res.cov_type == "HC0"
    assert "weighting" in str(res.summary())
    assert res.xi_conf_int() == res.xi_conf_int(method="wald")
    with refused(InvalidOptionError, "xi_lr_test", "weighted by their outcome"):
        res.xi_lr_test(0.0)


# -- class weights ---------------------------------------------------------------------------


W0, W1 = 0.5, 4.0


@each_link
def test_class_weights_minimise_the_weighted_loss_of_the_weighted_odds(words):
    """Estimates and covariance by hand, from the link F of the population: odds of the weighted rows are W1 / W0 times its odds."""
    res = gevglm.fit(FORMULA, population(), class_weight={0: W0, 1: W1}, **words)
    X, y, linear = res.model.exog, res.model.endog, res.model.exog @ np.asarray(res.params)
    F, f = res.link.population.inverse(linear), res.link.population.inverse_deriv(linear)
    mean, weight = W0 * (1 - F) + W1 * F, np.where(y == 1, W1, W0)
    G, g = W1 * F / mean, W0 * W1 * f / mean**2
    slope = 1.0 if res.loss.name == "canonical" else g / (G * (1 - G))
    scores = (weight * slope * (G - y))[:, None] * X
    bread = np.linalg.inv(X.T @ ((weight * slope * g)[:, None] * X))
    assert np.abs(bread @ scores.sum(axis=0)).max() < 1e-6 * res.bse.min()
    assert_allclose(res.cov_params(), bread @ scores.T @ scores @ bread, rtol=1e-8)


def test_class_weights_shift_the_constant_of_a_logit_and_leave_its_predictions():
    data = population()
    res = gevglm.fit(FORMULA, data, link="logit", class_weight={0: W0, 1: W1})
    same = gevglm.fit(FORMULA, data, link="logit", var_weights=np.where(data["y"] == 1, W1, W0), cov_type="HC0")
    assert_allclose(res.params, same.params - [np.log(W1 / W0), 0, 0], rtol=1e-9)
    assert_allclose(res.cov_params(), same.cov_params(), rtol=1e-9)
    assert_allclose(res.predict(NEW, which="fitted"), same.predict(NEW), rtol=1e-9)
    assert_allclose(res.predict(NEW), expit(logit(same.predict(NEW)) - np.log(W1 / W0)), rtol=1e-9)
    assert_allclose(res.odds_ratios(), same.odds_ratios(), rtol=1e-8)


@each_link
def test_coefficients_and_predictions_are_those_of_the_population(words):
    plain = gevglm.fit(FORMULA, population(), **words)
    res = gevglm.fit(FORMULA, population(), class_weight={0: W0, 1: W1}, **words)
    assert (np.abs(res.params - plain.params) < 2.5 * res.bse).all()
    assert res.model.population_link == plain.link
    assert_allclose(res.predict(NEW), plain.link.inverse(res.predict(NEW, which="linear")), rtol=1e-12)
    fitted = res.predict(NEW, which="fitted")
    assert_allclose(fitted, expit(logit(res.predict(NEW)) + np.log(W1 / W0)), rtol=1e-10)
    frame = res.get_prediction(NEW).summary_frame()
    assert_allclose(frame["mean"], res.predict(NEW), rtol=1e-14)
    raw = res.get_prediction(NEW, which="fitted").summary_frame()
    for name in ("mean", "mean_ci_lower", "mean_ci_upper"):
        assert_allclose(raw[name], expit(logit(frame[name]) + np.log(W1 / W0)), rtol=1e-10)


def test_constrained_fits_of_weighted_classes_keep_the_weighted_link():
    model = BinaryGLM.from_formula(FORMULA, population(), xi=0.2, class_weight={0: W0, 1: W1})
    constrained, without = (
        model.fit_constrained("smoker = 0"),
        gevglm.fit("y ~ x", population(), xi=0.2, class_weight={0: W0, 1: W1}),
    )
    assert_allclose(constrained.params.iloc[:2], without.params, rtol=1e-6)
    assert_allclose(constrained.predict(NEW), without.predict(NEW), rtol=1e-6)


def test_the_shape_of_weighted_classes_is_that_of_the_population():
    grid = {"search_kwds": {"grid": np.linspace(-0.6, 0.4, 6)}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakShapeWarning)
        res = gevglm.fit(FORMULA, population(), xi="ml", loss="log", class_weight={0: W0, 1: W1}, **grid)
    fixed = gevglm.fit(FORMULA, population(), xi=res.xi, loss="log", class_weight={0: W0, 1: W1})
    assert res.link == fixed.link == Weighted(GEV(res.xi), W1, W0)
    assert_allclose(res.params, fixed.params, rtol=1e-5)


def test_balanced_weights_give_both_classes_half_of_the_weight():
    data = population()
    n, events = len(data), data["y"].sum()
    scheme = gevglm.fit(FORMULA, data, class_weight="balanced").model.sampling
    assert scheme.event_weight == pytest.approx(n / (2 * events))
    assert scheme.other_weight == pytest.approx(n / (2 * (n - events)))
    given = gevglm.fit(FORMULA, data, class_weight={0: scheme.other_weight, 1: scheme.event_weight})
    assert_allclose(gevglm.fit(FORMULA, data, class_weight="balanced").params, given.params, rtol=1e-12)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1, 1: 30}])
def test_predictions_of_weighted_logits_are_calibrated(class_weight):
    data = population()
    plain, res = gevglm.fit(FORMULA, data), gevglm.fit(FORMULA, data, class_weight=class_weight)
    calibration = gevglm.fit("y ~ score", data.assign(score=logit(res.predict())), link="logit")
    assert abs(calibration.params["score"] - 1) < 3 * calibration.bse["score"]
    in_the_large = gevglm.fit("y ~ 1", data.assign(score=logit(res.predict())), link="logit", offset="score")
    assert abs(in_the_large.params["Intercept"]) < 3 * in_the_large.bse["Intercept"]
    assert res.log_loss == pytest.approx(plain.log_loss, rel=1e-3)
    assert res.brier == pytest.approx(plain.brier, rel=1e-3)
    raw = res.predict(which="fitted")
    assert raw.mean() > 5 * data["y"].mean()


@each_link
def test_marginal_effects_of_weighted_fits_are_those_of_the_population(words):
    plain = gevglm.fit(FORMULA, population(), **words).get_margeff()
    weighted = gevglm.fit(FORMULA, population(), class_weight="balanced", **words).get_margeff()
    assert_allclose(weighted.margeff, plain.margeff, rtol=0.25)


def test_the_summary_names_weights_and_correction():
    res = gevglm.fit(FORMULA, population(), class_weight={0: 1, 1: 8})
    text = str(res.summary())
    for part in (
        "Class weights",
        "1, 8",
        "8 times",
        "Coefficients and predictions are those of the population",
        "HC0",
        "Pseudo-Log-Lik.",
    ):
        assert part in text
    assert max(len(line) for line in text.splitlines()[:14]) == 78


def test_class_weights_survive_saving(tmp_path):
    res = gevglm.fit(FORMULA, population(), class_weight="balanced")
    before = res.predict(NEW)
    res.save(tmp_path / "fit.pkl")
    assert_array_equal(gevglm.load(tmp_path / "fit.pkl").predict(NEW), before)


def test_class_weights_multiply_variance_weights():
    data = population().assign(precision=np.linspace(0.5, 2.0, len(population())))
    res = gevglm.fit(FORMULA, data, class_weight={0: 1, 1: 3}, var_weights="precision")
    same = gevglm.fit(FORMULA, data, var_weights=data["precision"] * np.where(data["y"] == 1, 3, 1))
    assert_allclose(res.params, same.params - [np.log(3), 0, 0], rtol=1e-9)


# -- what a weighted likelihood is not -------------------------------------------------------


@pytest.mark.parametrize("words", [{"class_weight": "balanced"}, {"prevalence": 0.02, "sampling": "weight"}])
def test_a_weighted_likelihood_has_no_ratio_tests_and_no_aic(words):
    res = gevglm.fit(FORMULA, drawn().data, link="logit", **words)
    assert not res.has_likelihood
    for use in (
        lambda: res.aic,
        lambda: res.info_criteria("bic"),
        lambda: res.conf_int(method="profile"),
        lambda: res.lr_tests(),
        lambda: res.compare_lr_test(res),
    ):
        with refused(InvalidOptionError, "weighted by their outcome", "Wald"):
            use()
    assert res.conf_int().shape == (3, 2)
    assert np.isfinite(res.llf)


@pytest.mark.parametrize("bias", ["mean", "median", "jeffreys", "correction", "flic", "flac"])
def test_bias_reduction_by_leverages_is_refused_for_weighted_rows(bias):
    with refused(IncompatibleOptionsError, f"bias='{bias}'", "sampling='prior'", "king-zeng"):
        gevglm.fit(FORMULA, drawn().data, link="logit", bias=bias, prevalence=0.02, sampling="weight")


def test_a_prior_for_the_coefficients_goes_with_weights():
    res = gevglm.fit(FORMULA, drawn().data, link="logit", bias="logf", prevalence=0.05, sampling="weight")
    plain = gevglm.fit(FORMULA, drawn().data, link="logit", prevalence=0.05, sampling="weight")
    assert np.abs(res.params.iloc[1:]).sum() < np.abs(plain.params.iloc[1:]).sum()
