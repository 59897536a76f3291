"""sampling="weight" and class_weight: rows weighted by their outcome."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit

import gevglm
from gevglm import BinaryGLM
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError, WeakShapeWarning
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


@each_link
def test_class_weights_enter_like_variance_weights(words):
    data = population()
    res = gevglm.fit(FORMULA, data, class_weight={0: 0.5, 1: 4}, **words)
    same = gevglm.fit(FORMULA, data, var_weights=np.where(data["y"] == 1, 4.0, 0.5), cov_type="HC0", **words)
    assert_allclose(res.params, same.params, rtol=1e-10)
    assert_allclose(res.bse, same.bse, rtol=1e-10)
    assert_allclose(res.predict(NEW, which="fitted"), same.predict(NEW), rtol=1e-12)


@each_link
def test_predictions_are_corrected_by_the_weights(words):
    res = gevglm.fit(FORMULA, population(), class_weight={0: 0.5, 1: 4}, **words)
    fitted = res.predict(NEW, which="fitted")
    assert_allclose(res.predict(NEW), expit(logit(fitted) + np.log(0.5 / 4)), rtol=1e-12)
    frame = res.get_prediction(NEW).summary_frame()
    assert_allclose(frame["mean"], res.predict(NEW), rtol=1e-14)
    raw = res.get_prediction(NEW, which="fitted").summary_frame()
    for name in ("mean", "mean_ci_lower", "mean_ci_upper"):
        assert_allclose(frame[name], expit(logit(raw[name]) + np.log(0.5 / 4)), rtol=1e-10)


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
    for part in ("Class weights", "1, 8", "0.125", "probabilities in the population", "HC0", "Pseudo-Log-Lik."):
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
    assert_allclose(res.params, same.params, rtol=1e-10)


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
