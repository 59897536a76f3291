"""The average over links as a whole."""

import numpy as np
import pandas as pd
import pytest

import gevglm
from gevglm.averaging.candidates import default_candidates
from gevglm.exceptions import GevglmError, GevglmWarning, IncompatibleOptionsError, InvalidDataError, InvalidOptionError

FEW = ["logit", "probit", gevglm.links.GEV(0.3)]
FORMULA = "event ~ age + smoker"


@pytest.fixture(scope="module")
def study():
    return gevglm.datasets.simulate_study(rng=1).iloc[:1200].reset_index(drop=True)


@pytest.fixture(scope="module")
def average(study):
    return gevglm.average_links(FORMULA, study, FEW)


def test_the_default_candidates_are_few_and_fixed(study):
    found = gevglm.average_links(FORMULA, study)
    assert list(found.weights.index) == list(default_candidates()) and len(found.weights) == 24
    assert found.weights["weight"].min() >= 1.0 / (24 * 1201) - 1e-15 and found.certificate < 1e-8
    assert found.scores["log_loss"] <= found.weights["log_loss"].min() + 1e-4


def test_predictions_are_the_weighted_risks_of_the_fits(study, average):
    by_hand = sum(
        w * fit.predict(study) for w, fit in zip(average.weights["weight"], average.fits.values(), strict=True)
    )
    np.testing.assert_allclose(average.predict(study), by_hand, rtol=1e-12)
    np.testing.assert_allclose(average.predict(), by_hand, rtol=1e-12)
    missing = study.assign(age=np.where(study.index == 0, np.nan, study["age"]))
    assert np.isnan(average.predict(missing)[0]) and average.predict(missing).notna().sum() == len(study) - 1


def test_one_candidate_is_its_own_fit(study):
    alone = gevglm.average_links(FORMULA, study, ["logit"], alpha=0)
    np.testing.assert_allclose(alone.predict(study), gevglm.fit(FORMULA, study, link="logit").predict(study), rtol=1e-7)
    assert alone.weights["weight"].tolist() == [1.0]


def test_weights_minimise_the_held_out_loss_of_refits_from_outside(study):
    folds = np.arange(len(study)) % 4
    pairs = [(folds != k, folds == k) for k in range(4)]
    found = gevglm.average_links(FORMULA, study, ["logit", "cloglog"], alpha=0, folds=pairs, tol=1e-10)
    p = np.empty((len(study), 2))
    for train, test in pairs:
        for j, link in enumerate(["logit", "cloglog"]):
            p[test, j] = gevglm.fit(FORMULA, study[train], link=link).predict(study[test])
    y = study["event"].to_numpy()
    losses = [-np.mean(np.log(np.where(y == 1, q, 1 - q))) for q in p.T]
    np.testing.assert_allclose(found.weights["log_loss"], losses, rtol=1e-6)
    grid = np.linspace(0, 1, 2001)
    mixed = [-np.mean(np.log(np.where(y == 1, q, 1 - q))) for q in (w * p[:, 0] + (1 - w) * p[:, 1] for w in grid)]
    assert abs(found.weights["weight"].iloc[0] - grid[np.argmin(mixed)]) < 5e-3


def test_frequency_weights_are_repeated_rows(study):
    half = study.iloc[:400]
    folds = np.arange(400) % 3
    counted = half.assign(n=2)
    pairs = [(folds != k, folds == k) for k in range(3)]
    twice = [(np.repeat(a, 2), np.repeat(b, 2)) for a, b in pairs]
    repeated = half.loc[half.index.repeat(2)].reset_index(drop=True)
    one = gevglm.average_links(FORMULA, counted, FEW, freq_weights="n", folds=pairs)
    two = gevglm.average_links(FORMULA, repeated, FEW, folds=twice)
    np.testing.assert_allclose(one.weights["weight"], two.weights["weight"], atol=1e-6)
    np.testing.assert_allclose(one.predict(half), two.predict(half), rtol=1e-6)


def test_intervals_effects_calibration_and_clusters(study):
    towns = study.assign(town=np.arange(len(study)) // 10)
    found = gevglm.average_links(FORMULA, towns, ["logit", "probit"], groups="town", folds=3)
    frame = found.get_prediction(towns.head(), resamples=4).summary_frame()
    assert (frame["mean_ci_lower"] < frame["mean"]).all() and (frame["mean"] < frame["mean_ci_upper"]).all()
    at = [towns.assign(smoker=value) for value in (0, 1)]
    difference = found.predict(at[1]).mean() - found.predict(at[0]).mean()
    contrast = found.risk("smoker", resamples=4)
    np.testing.assert_allclose(contrast.table["estimate"], difference, rtol=1e-8)
    curve = found.effect_curve("age", [-10.0, 0.0, 10.0], resamples=4).frame
    np.testing.assert_allclose(curve["risk"].iloc[1], found.predict(towns.assign(age=0.0)).mean(), rtol=1e-8)
    assert found.calibration().n == len(towns) and found.calibration(towns).n == len(towns)
    assert "not probabilities" in str(found.summary())
    found.plot_weights(), found.plot_effect("age", resamples=4)


def test_saved_and_loaded_without_rows(study, average, tmp_path):
    average.save(tmp_path / "average.pkl")
    again = gevglm.load(tmp_path / "average.pkl")
    np.testing.assert_allclose(again.predict(study), average.predict(study))
    with pytest.raises(InvalidDataError, match="need the rows"):
        again.get_prediction(study)


def test_a_sample_drawn_by_the_outcome(study):
    events = study[study["event"] == 1]
    sample = pd.concat([events, study[study["event"] == 0].iloc[: 2 * len(events)]])
    found = gevglm.average_links(FORMULA, sample, FEW, prevalence=0.04)
    assert found.predict(study).mean() < 0.1


def test_bias_reduction_in_every_fold(study):
    found = gevglm.average_links(FORMULA, study, ["logit", "cloglog"], alpha=0, bias="firth", folds=3)
    own = gevglm.fit(FORMULA, study, link="logit", bias="firth")
    np.testing.assert_allclose(found.fits["logit"].params, own.params, rtol=1e-6)


def test_bad_input(study):
    with pytest.raises(InvalidOptionError, match="criterion"):
        gevglm.average_links(FORMULA, study, criterion="auc")
    with pytest.raises(InvalidOptionError, match="links"):
        gevglm.average_links(FORMULA, study, "logit")
    with pytest.raises(InvalidOptionError, match="number for xi"):
        gevglm.average_links(FORMULA, study, {"a": {"link": "gev", "xi": "cv"}})
    with pytest.raises(IncompatibleOptionsError, match="alpha=0"):
        gevglm.average_links(FORMULA, study, bias="firth")
    three = pd.concat([study[study["event"] == 1].head(3), study[study["event"] == 0].head(100)])
    with pytest.warns(GevglmWarning, match="3 folds are made in place of 5"):
        gevglm.average_links("event ~ age", three, ["logit"])
    one = pd.concat([study[study["event"] == 1].head(1), study[study["event"] == 0].head(100)])
    with pytest.raises(InvalidDataError, match="there are 1 observations"):
        gevglm.average_links("event ~ age", one, ["logit"])


def test_separated_candidates_are_named():
    x = np.linspace(-1, 1, 60)
    data = pd.DataFrame({"x": x, "y": (x > 0.2).astype(int)})
    with pytest.raises(GevglmError, match="no candidate could be fitted"):
        gevglm.average_links("y ~ x", data, ["logit"], alpha=0)
    assert gevglm.average_links("y ~ x", data, ["logit", "probit"]).left_out == {}
