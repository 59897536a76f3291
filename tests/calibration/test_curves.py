"""Curves behind the pictures: against scikit-learn, against definitions, and that pictures show them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import gevglm
from gevglm.calibration.bins import is_rare, log_axis_start
from gevglm.calibration.curves import decision_curve, link_curve, precision_recall_curve, risk_spread, roc_curve
from gevglm.datasets import simulate_study
from gevglm.effects.curves import effect_curve
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.links import Logit
from gevglm.plots import plot_coefficients, plot_effect, plot_roc


@pytest.fixture(scope="module")
def predicted():
    rng = np.random.default_rng(8)
    p = expit(rng.normal(-3.0, 1.2, 800)).round(3)  # with ties
    return (rng.random(800) < p).astype(float), p, rng.integers(1, 4, 800).astype(float)


@pytest.fixture(scope="module")
def study():
    data = simulate_study(rng=4).iloc[:1200]
    return data.assign(region=np.array(["north", "south", "west"])[np.arange(len(data)) % 3])


@pytest.fixture(scope="module")
def fitted(study):
    return gevglm.fit("event ~ bs(age, df=3) * smoker + C(region)", study, link="cloglog")


def test_roc_and_precision_recall_equal_scikit_learn(predicted):
    metrics = pytest.importorskip("sklearn.metrics")
    y, p, weights = predicted
    ours, theirs = roc_curve(y, p, weights), metrics.roc_curve(y, p, sample_weight=weights, drop_intermediate=False)
    assert_allclose(np.vstack([ours.false_positive_rate, ours.true_positive_rate]), theirs[:2], atol=1e-14)
    assert_allclose(ours.auc, metrics.roc_auc_score(y, p, sample_weight=weights), rtol=1e-13)
    ours = precision_recall_curve(y, p, weights)
    precision, recall, _ = metrics.precision_recall_curve(y, p, sample_weight=weights)
    n = len(ours.recall)
    assert_allclose(ours.precision, precision[::-1][1 : n + 1], rtol=1e-12)
    assert_allclose(ours.recall, recall[::-1][1 : n + 1], rtol=1e-12)
    assert_allclose(ours.prevalence, np.average(y, weights=weights))


def test_net_benefit_by_its_definition(predicted):
    y, p, weights = predicted
    curve = decision_curve(y, p, weights, thresholds=[0.0, 0.02, 0.05, 0.2])
    for t, benefit, everybody in zip(curve.threshold, curve.net_benefit, curve.act_on_all, strict=True):
        acted, odds = weights * (p >= t), t / (1 - t)
        assert_allclose(benefit, (acted @ y - odds * acted @ (1 - y)) / weights.sum())
        assert_allclose(everybody, (weights @ y - odds * weights @ (1 - y)) / weights.sum())
    with pytest.raises(InvalidOptionError, match="below 1, got 1"):
        decision_curve(y, p, thresholds=[1.0])


def test_spread_counts_every_observation(predicted):
    y, p, weights = predicted
    spread = risk_spread(y, p, weights)
    assert_allclose([spread.events.sum(), spread.others.sum()], 1.0)
    assert spread.logarithmic and spread.median_events > spread.median_others
    with pytest.raises(InvalidDataError):
        risk_spread(np.zeros(800), p)


def test_nearest_logit_of_a_logit_is_itself(study):
    res = gevglm.fit("event ~ age + smoker", study, link="logit")
    curve = link_curve(Logit(), res.model.endog, res.predict(which="linear"))
    assert_allclose(curve.logit, curve.risk, rtol=1e-6)


def test_effect_curve_is_the_standardised_risk(fitted):
    curve = effect_curve(fitted, "age", values=[-10.0, 12.0], by="smoker")
    risks = fitted.risk("age", (-10.0, 12.0), data=fitted.model.design.frame.assign(smoker=1)).risks
    found = curve.frame[curve.frame["group"] == 1]
    assert_allclose(found["risk"], risks["estimate"], rtol=1e-12)
    assert_allclose(found[["ci_lower", "ci_upper"]], risks[["ci_lower", "ci_upper"]], rtol=1e-9)
    held = effect_curve(fitted, "region", at="typical")
    assert list(held.frame["value"]) == ["north", "south", "west"] and set(held.held) == {"age", "smoker"}


def test_pictures_show_the_numbers(fitted, study, predicted):
    ax = plot_effect(effect_curve(fitted, "region"))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["north", "south", "west"]
    logit = gevglm.fit("event ~ age + smoker", study, link="logit")
    ax = logit.plot_coefficients({"Firth": gevglm.fit("event ~ age", study, link="logit", bias="firth")}, name="ML")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ML", "Firth"]
    assert_allclose(ax.lines[3].get_xdata(), logit.params[["age", "smoker"]])
    assert "AUC" in plot_roc(roc_curve(*predicted)).texts[0].get_text()
    frame = gevglm.results.plotting.coefficient_table(logit).assign(ci_upper=np.inf)
    assert any(line.get_marker() == ">" and len(line.get_xdata()) for line in plot_coefficients({"": frame}).lines)
    for draw in (logit.plot_risks, logit.plot_precision_recall, logit.plot_decision, logit.plot_link):
        assert draw().get_legend() is not None
    assert logit.plot_roc(study.iloc[:600]).get_xlabel()
    for kind in ("cooks", "dfbetas"):
        assert logit.plot_influence(kind).get_xlabel()


def test_bad_words_are_named(fitted):
    for call, message in (
        (lambda: effect_curve(fitted, "agee"), "Did you mean 'age'"),
        (lambda: effect_curve(fitted, "age", by="age"), "give another"),
        (lambda: effect_curve(fitted, "age", at="mean"), "'average', 'typical'"),
        (lambda: effect_curve(fitted, "age", values=[]), "at least one"),
        (lambda: fitted.plot_influence("leverage"), "'cooks', 'dfbetas'"),
        (lambda: fitted.plot_coefficients(per="iqr"), "'unit', 'sd'"),
        (lambda: fitted.plot_roc(endog=[1]), "goes with new data"),
    ):
        with pytest.raises((InvalidOptionError, InvalidDataError), match=message):
            call()


def test_medians_of_a_spread_are_those_of_repeated_rows(predicted):
    y, p, weights = predicted
    spread = risk_spread(y, p, weights)
    repeated, outcome = np.repeat(p, weights.astype(int)), np.repeat(y, weights.astype(int))
    assert_allclose(spread.median_events, np.median(repeated[outcome == 1.0]))
    assert_allclose(spread.median_others, np.median(repeated[outcome == 0.0]))


def test_a_logarithmic_axis_begins_where_the_predictions_do():
    p = np.append(np.full(10, 1e-12), np.linspace(0.001, 0.2, 20_000))
    start = log_axis_start(p, np.ones_like(p))
    assert 0.001 < start < 0.003 and not is_rare(p, np.ones_like(p)) and is_rare(p / 4, np.ones_like(p))
    assert log_axis_start(np.array([0.0, 0.01, 0.02]), np.ones(3)) >= 0.01


def test_what_was_compared_is_data(fitted):
    smoker, age = fitted.risk("smoker"), gevglm.fit("event ~ age", fitted.model.data.frame, xi=0.5).risk("age", at="sd")
    assert [scenario.value for scenario in smoker.scenarios] == [0, 1]
    assert age.scenarios[0].shift == -age.scenarios[1].shift < 0 and age.scenarios[0].label == "x - sd/2"
    assert pickle.loads(pickle.dumps(smoker)).scenarios == smoker.scenarios
