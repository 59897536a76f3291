"""sampling="prior": the likelihood of the sample, coefficients and predictions of the population."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm import BinaryGLM
from gevglm.links import GEV, Logit, Probit, Sampled
from tests.support.populations import arrays, drawn, population

LINKS = {
    "logit": {"link": "logit"},
    "probit": {"link": "probit"},
    "cloglog": {"link": "cloglog"},
    "gev-log": {"link": "gev", "xi": 0.2, "loss": "log"},
    "gev-canonical": {"link": "gev", "xi": 0.2},
}
each_link = pytest.mark.parametrize("words", LINKS.values(), ids=LINKS)
FORMULA = "y ~ x + smoker + C(group)"


@pytest.fixture(scope="module")
def sample():
    return drawn()


@pytest.fixture(scope="module")
def shift(sample):
    tau, mean = sample.prevalence, sample.sample_mean
    return np.log((1 - tau) / tau * mean / (1 - mean))


def fitted(words, **options):
    sample = drawn()
    return gevglm.fit(FORMULA, sample.data, prevalence=sample.prevalence, **words, **options)


# -- the logit: a shift of the intercept -----------------------------------------------------


@pytest.mark.parametrize("bias", [None, "mean", "median", "jeffreys", "correction", "flic", "flac"])
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC3"])
def test_with_the_logit_only_the_intercept_moves(sample, shift, bias, cov_type):
    options = {"bias": bias, "cov_type": cov_type, "tol": 1e-10}
    res = gevglm.fit(FORMULA, sample.data, link="logit", prevalence=sample.prevalence, **options)
    plain = gevglm.fit(FORMULA, sample.data, link="logit", **options)
    assert_allclose(res.params[1:], plain.params[1:], rtol=1e-9)
    assert res.params.iloc[0] == pytest.approx(plain.params.iloc[0] - shift, rel=1e-11)
    assert_allclose(res.cov_params(), plain.cov_params(), rtol=1e-8)
    assert res.llf == pytest.approx(plain.llf, rel=1e-12)
    assert_allclose(res.predict(which="fitted"), plain.predict(), rtol=1e-9)
    assert_allclose(res.fittedvalues, plain.fittedvalues, rtol=1e-9)
    assert_allclose(res.resid_pearson, plain.resid_pearson, rtol=1e-8)


def test_profile_intervals_of_the_logit_move_with_the_intercept(sample, shift):
    res = gevglm.fit(FORMULA, sample.data, link="logit", prevalence=sample.prevalence)
    limits = gevglm.fit(FORMULA, sample.data, link="logit").conf_int(method="profile")
    limits.iloc[0] -= shift
    assert_allclose(res.conf_int(method="profile"), limits, rtol=1e-6)


def test_the_losses_of_the_sampled_logit_coincide(sample):
    log = gevglm.fit(FORMULA, sample.data, link="logit", prevalence=sample.prevalence)
    canonical = gevglm.fit(FORMULA, sample.data, link="logit", loss="canonical", prevalence=sample.prevalence)
    assert_allclose(log.params, canonical.params, rtol=1e-9)
    assert canonical.deviance == pytest.approx(log.deviance, rel=1e-9)


# -- every link ------------------------------------------------------------------------------


@each_link
def test_words_and_a_wrapped_link_are_the_same_fit(sample, words):
    res = fitted(words)
    inner = {"logit": Logit(), "probit": Probit(), "gev": GEV(0.2)}.get(words["link"])
    if inner is None:
        return
    link = Sampled(inner, sample.prevalence, sample.sample_mean)
    loss = words.get("loss", "canonical" if words["link"] == "gev" else "log")
    wrapped = gevglm.fit(FORMULA, sample.data, link=link, loss=loss)
    assert_array_equal(res.params, wrapped.params)
    assert_array_equal(res.predict(), wrapped.predict())
    assert str(wrapped.summary()) == str(res.summary())


def test_a_wrapped_link_has_the_default_loss_of_its_population(sample):
    y, X = arrays(sample.data)
    kinds = {link: BinaryGLM(y, X, link=Sampled(link, 0.05, 0.4)).loss.name for link in (Logit(), GEV(0.2))}
    assert kinds == {Logit(): "log", GEV(0.2): "canonical"}


@each_link
def test_a_prevalence_equal_to_the_sample_mean_corrects_nothing(sample, words):
    plain = gevglm.fit(FORMULA, sample.data, **words)
    same = gevglm.fit(FORMULA, sample.data, prevalence=sample.sample_mean, **words)
    assert_allclose(same.params, plain.params, rtol=1e-7)
    assert_allclose(same.bse, plain.bse, rtol=1e-7)
    assert same.log_loss == pytest.approx(plain.log_loss, rel=1e-9)


@each_link
def test_frequency_weights_are_repeated_rows(words):
    data = drawn().data.iloc[:700].assign(copies=np.arange(700) % 3 + 1)
    options = {"prevalence": 0.05, "link": words["link"], **{k: v for k, v in words.items() if k != "link"}}
    weighted = gevglm.fit("y ~ x + smoker", data, freq_weights="copies", **options)
    repeated = gevglm.fit("y ~ x + smoker", data.loc[data.index.repeat(data["copies"])], **options)
    assert_allclose(weighted.params, repeated.params, rtol=1e-7)
    assert_allclose(weighted.bse, repeated.bse, rtol=1e-7)
    assert weighted.log_loss == pytest.approx(repeated.log_loss, rel=1e-9)
    assert weighted.model.sampling.sample_mean == pytest.approx(repeated.model.sampling.sample_mean)


@each_link
def test_predictions_are_those_of_the_whole_population(words):
    whole, res = gevglm.fit(FORMULA, population(), **words), fitted(words)
    new = {"x": [0.0, 1.0, -1.0], "smoker": [0, 1, 0], "group": ["a", "b", "c"]}
    frame = res.get_prediction(new).summary_frame()
    assert_array_equal(frame["mean"], res.predict(new))
    assert_allclose(frame["mean"], whole.predict(new), atol=4 * frame["mean_se"].max())
    assert (frame["mean_ci_lower"] < frame["mean"]).all()
    assert (frame["mean"] < frame["mean_ci_upper"]).all()


@each_link
def test_fitted_probabilities_are_those_in_the_sample(sample, words):
    res = fitted(words)
    assert res.predict(which="fitted").mean() == pytest.approx(sample.sample_mean, abs=0.01)
    assert_array_equal(res.fittedvalues, res.predict(which="fitted"))
    assert_allclose(res.get_prediction(which="fitted").summary_frame()["mean"], res.fittedvalues, rtol=1e-14)
    odds, population_odds = (p / (1 - p) for p in (res.predict(which="fitted"), res.predict()))
    assert_allclose(odds / population_odds, res.link.factor, rtol=1e-9)


@each_link
def test_averages_are_over_the_population(words):
    whole, res = gevglm.fit(FORMULA, population(), **words), fitted(words)
    average = res.get_prediction(which="mean", average=True).summary_frame()
    assert float(average["predicted"].iloc[0]) == pytest.approx(population()["y"].mean(), abs=0.002)
    ours, theirs = res.get_margeff(), whole.get_margeff()
    assert_allclose(ours.margeff, theirs.margeff, atol=3 * ours.margeff_se.max())
    assert (np.abs(ours.margeff - theirs.margeff) < 3 * ours.margeff_se).all()


@each_link
def test_scores_are_those_in_the_population(words):
    whole, res = gevglm.fit(FORMULA, population(), **words), fitted(words)
    assert res.log_loss == pytest.approx(whole.log_loss, rel=0.02)
    assert res.brier == pytest.approx(whole.brier, rel=0.02)
    assert res.auc == pytest.approx(whole.auc, abs=0.01)


@each_link
def test_the_offset_is_that_of_the_population(sample, words):
    options = {"offset": "shift", **words}
    whole = gevglm.fit("y ~ x", population(), **options)
    res = gevglm.fit("y ~ x", sample.data, prevalence=sample.prevalence, **options)
    assert_allclose(res.params, whole.params, atol=5 * res.bse.max())


@each_link
def test_the_summary_says_what_the_predictions_are(words):
    text = str(fitted(words).summary())
    for part in ("prior correction", "Prevalence", "Predictions are probabilities in the population", "sample: 4"):
        assert part in text
    assert "Sampled(" not in text


@each_link
def test_results_are_saved_without_the_data(words, tmp_path):
    sample = drawn()
    res = gevglm.fit(FORMULA, sample.data, prevalence=sample.prevalence, **words)
    new = {"x": [0.0], "smoker": [1], "group": ["b"]}
    before, text = res.predict(new), str(res.summary(method="wald"))
    res.save(tmp_path / "fit.pkl")
    loaded = gevglm.load(tmp_path / "fit.pkl")
    assert_array_equal(loaded.predict(new), before)
    assert str(loaded.summary(method="wald")) == text
    assert (tmp_path / "fit.pkl").stat().st_size < 40_000


def test_constraints_hold_in_the_population(sample):
    model = BinaryGLM.from_formula(FORMULA, sample.data, link="probit", prevalence=sample.prevalence)
    free, held = model.fit(), model.fit_constrained("smoker = 0")
    without = gevglm.fit("y ~ x + C(group)", sample.data, link="probit", prevalence=sample.prevalence)
    assert_allclose(held.params.drop("smoker"), without.params, rtol=1e-6)
    assert held.params["smoker"] == 0
    assert_allclose(held.predict(), without.predict(), rtol=1e-6)
    statistic, pvalue, df = free.compare_lr_test(without)
    assert statistic == pytest.approx(2 * (free.llf - without.llf))
    assert df == 1
    assert pvalue < 0.01


def test_the_fit_does_not_change_the_model(sample):
    model = BinaryGLM.from_formula(FORMULA, sample.data, xi=0.2, prevalence=(0.03, 0.08))
    first = model.fit(cov_type="HC1")
    assert_array_equal(first.params, model.fit().params)
    assert model.fit().cov_type == "nonrobust"


def test_a_string_outcome_is_sampled_by_its_event(sample):
    data = sample.data.assign(answer=np.where(sample.data["y"] == 1, "yes", "no"))
    words = {"prevalence": sample.prevalence, "link": "logit"}
    res = gevglm.fit("answer ~ x", data, event="yes", **words)
    assert_allclose(res.params, gevglm.fit("y ~ x", data, **words).params, rtol=1e-12)


def test_incomplete_rows_do_not_count_in_the_sample_mean(sample):
    data = sample.data.copy()
    data.loc[data.index[data["y"].to_numpy() == 1][:50], "x"] = np.nan
    with pytest.warns(gevglm.exceptions.MissingRowsWarning):
        res = gevglm.fit("y ~ x", data, link="probit", prevalence=sample.prevalence)
    assert res.model.sampling.sample_mean == pytest.approx(data.dropna()["y"].mean())
    assert isinstance(res.predict(data.head()), pd.Series)


def test_the_shape_is_estimated_through_the_sampling():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.uniform(-2, 2, 60_000)})
    data["y"] = (rng.random(60_000) < GEV(-0.3).inverse(-1.3 + 0.6 * data["x"])).astype(int)
    drawn = gevglm.sampling.case_control(data, "y", controls=8_000, rng=1)
    res = gevglm.fit("y ~ x", drawn.data, link="gev", loss="log", xi="ml", prevalence=drawn.prevalence)
    assert abs(res.xi + 0.3) < 3 * res.xi_bse
    assert (np.abs(res.params - [-1.3, 0.6]) < 3 * res.bse).all()
    assert_allclose(res.predict(data).mean(), data["y"].mean(), rtol=0.02)
    chosen = gevglm.fit(
        "y ~ x",
        drawn.data,
        link="gev",
        loss="log",
        xi="cv",
        prevalence=drawn.prevalence,
        search_kwds={"grid": [-0.3, 1.0], "folds": 3},
    )
    assert abs(chosen.xi + 0.3) < 0.5
