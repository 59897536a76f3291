"""Shape and penalty on held-out rows, and links side by side."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.data.observations import Part
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import (
    CollinearityError,
    GevglmError,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
)
from gevglm.inference.cross_validation import make_folds, rows_of, search
from gevglm.links import GEV
from gevglm.losses import Canonical


def study(n=2500, seed=3):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"x": rng.uniform(-2, 2, n), "z": rng.normal(size=n)})
    data["y"] = (rng.random(n) < GEV(-0.3).inverse(-0.8 + 0.7 * data["x"])).astype(int)
    return data


def test_folds_are_stratified_and_cover_every_row_once():
    y = np.repeat([0.0, 1.0], [95, 12])
    folds = make_folds(y, 5, rng=1)
    held = np.sum([test for _, test in folds], axis=0)
    assert (held == 1).all()
    for train, test in folds:
        assert (train ^ test).all()
        assert y[test].sum() in (2, 3)


def test_folds_come_in_many_forms():
    y = np.tile([0.0, 1.0], 20)
    mask = np.arange(40) < 10
    (pair,) = make_folds(y, mask)
    assert_allclose(pair[1], mask)
    pairs = make_folds(y, [(np.arange(10, 40), np.arange(10))])
    assert_allclose(pairs[0][1], mask)
    model_selection = pytest.importorskip("sklearn.model_selection")
    assert len(make_folds(y, model_selection.StratifiedKFold(4))) == 4


@pytest.mark.parametrize(
    ("folds", "message"),
    [(1, "at least 2"), ("five", "neither a number of folds"), (True, "neither"), (2.5, "neither")],
)
def test_other_folds_are_refused(folds, message):
    with pytest.raises(InvalidOptionError, match=message):
        make_folds(np.tile([0.0, 1.0], 20), folds)


def test_folds_without_events_are_refused():
    y = np.repeat([0.0, 1.0], [50, 3])
    with pytest.raises(InvalidDataError, match="there are 3 events, too few for 5 folds; give folds=3 or fewer"):
        make_folds(y, 5)
    with pytest.raises(InvalidDataError, match="training rows of fold 0 do not hold both outcomes"):
        make_folds(y, [(np.arange(40), np.arange(40, 53))])
    with pytest.raises(InvalidDataError, match="marks 4 rows"):
        make_folds(y, np.ones(4, dtype=bool))


def test_parts_select_rows_of_every_block():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(1000, 3)), rng.integers(0, 2, 1000).astype(float), rng.random(1000)
    mask = rng.random(1000) < 0.4
    whole = MemoryEngine(X, y, freq=w, block_rows=64)
    one = Problem(rows_of(whole, Part(mask)), Canonical(GEV(0.1))).estimate().params
    other = Problem(MemoryEngine(X[mask], y[mask], freq=w[mask]), Canonical(GEV(0.1))).estimate().params
    assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("criterion", ["log_loss", "brier"])
def test_scores_are_those_of_fits_made_by_hand(criterion):
    data = study()
    X, y = np.column_stack([np.ones(len(data)), data[["x", "z"]]]), data["y"].to_numpy(float)
    folds = make_folds(y, 3)
    grid = [-0.3, 0.0, 0.2]
    found = search(
        Problem(MemoryEngine(X, y), Canonical(GEV(0.0)), constant=0),
        lambda xi: Canonical(GEV(xi)),
        folds,
        grid=grid,
        criterion=criterion,
        refine=False,
    )
    for xi, _, score, error in found.table.to_numpy():
        by_hand, sizes = [], []
        for train, test in folds:
            p = gevglm.fit(y[train], X[train], xi=xi).predict(X[test])
            metric = {"log_loss": gevglm.calibration.log_loss, "brier": gevglm.calibration.brier_score}[criterion]
            by_hand.append(metric(y[test], p))
            sizes.append(test.sum())
        assert_allclose(score, np.average(by_hand, weights=sizes), rtol=1e-5)
        assert_allclose(error, np.std(by_hand, ddof=1) / np.sqrt(3), rtol=1e-3)


def test_cross_validation_through_the_door():
    res = gevglm.fit("y ~ x + z", study(), xi="cv", search_kwds={"grid": [-0.5, 0.0, 0.2, 0.4], "folds": 3})
    assert res.xi == res.search.best["xi"]
    assert len(res.search.table) > 4  # refined
    text = str(res.summary())
    assert "chosen by log_loss on held-out rows (3 folds)" in text
    assert "conditional" in text
    with pytest.raises(InvalidOptionError, match="chosen by cross-validation"):
        _ = res.xi_bse


def test_the_same_seed_gives_the_same_search():
    one, other = (gevglm.fit("y ~ x", study(), xi="cv", search_kwds={"rng": 7}).search.table for _ in range(2))
    pd.testing.assert_frame_equal(one, other)


def test_shape_and_penalty_together():
    words = {"grid": [-0.2, 0.2], "alphas": [0.0, 1.0, 100.0], "folds": 3, "refine": False, "criterion": "brier"}
    res = gevglm.fit("y ~ x + z", study(), xi="cv", alpha="cv", search_kwds=words)
    assert len(res.search.table) == 6
    assert (res.xi, res.alpha) == (res.search.best["xi"], res.search.best["alpha"])
    simple = gevglm.fit("y ~ x + z", study(), xi="cv", alpha="cv", search_kwds=words | {"rule": "one_se"})
    assert simple.alpha >= res.alpha


def test_a_penalty_alone_for_any_link():
    res = gevglm.fit("y ~ x + z", study(), link="probit", alpha="cv", search_kwds={"folds": 3})
    assert res.alpha in res.search.table["alpha"].to_numpy()
    assert res.xi is None


def test_a_penalty_is_chosen_on_standardised_columns_and_given_on_plain_ones():
    data, words = study(), {"alphas": [0.0, 30.0, 300.0], "folds": 3}
    by_default = gevglm.fit("y ~ x + z", data, link="logit", alpha="cv", search_kwds=words)
    other = gevglm.fit("y ~ x + z", data.assign(x=1000 * data["x"]), link="logit", alpha="cv", search_kwds=words)
    assert_allclose(other.params["x"] * 1000, by_default.params["x"], rtol=1e-5)
    assert_allclose(other.search.table["score"], by_default.search.table["score"], rtol=1e-5)
    plain = gevglm.fit("y ~ x + z", data, link="logit", alpha="cv", standardize=False, search_kwds=words)
    number = gevglm.fit("y ~ x + z", data, link="logit", alpha=30.0)
    assert_allclose(number.params, gevglm.fit("y ~ x + z", data, link="logit", alpha=30.0, standardize=False).params)
    assert not np.allclose(plain.search.table["score"], by_default.search.table["score"], rtol=1e-9)
    strong = gevglm.fit("y ~ x + z", data, link="logit", alpha="cv", search_kwds={"alphas": [30.0]})
    same = gevglm.fit("y ~ x + z", data, link="logit", alpha=30.0, standardize=True)
    assert_allclose(strong.params, same.params, rtol=1e-6)
    assert "standardised columns" in str(strong.summary()) and "standardised columns" not in str(number.summary())


def test_standardised_penalties_do_not_depend_on_units():
    data = study()
    one = gevglm.fit("y ~ x + z", data, alpha=20.0, standardize=True)
    other = gevglm.fit("y ~ x + z", data.assign(x=1000 * data["x"]), alpha=20.0, standardize=True)
    assert_allclose(other.params["x"] * 1000, one.params["x"], rtol=1e-7)
    assert_allclose(other.params["z"], one.params["z"], rtol=1e-7)
    raw = gevglm.fit("y ~ x + z", data.assign(x=1000 * data["x"]), alpha=20.0)
    assert abs(raw.params["x"] * 1000 - one.params["x"]) > 1e-3


def test_candidates_that_rule_out_every_held_out_event_are_refused():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=300)})
    data["y"] = (rng.random(300) < 1 / (1 + np.exp(2 - 3 * data["x"]))).astype(int)
    with pytest.raises(GevglmError, match="criterion='brier'"):
        gevglm.fit("y ~ x", data, xi="cv", search_kwds={"grid": [1.5], "folds": 3})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"criterion": "auc"}, "'log_loss', 'brier'"),
        ({"alphas": [-1.0]}, "not negative"),
        ({"rule": "two_se"}, "'best' or 'one_se'"),
        ({"grid": []}, "empty"),
        ({"grid": [0, 9]}, "between -5 and 5"),
        ({"fold": 3}, "does not take"),
    ],
)
def test_bad_searches_are_refused(words, message):
    with pytest.raises(InvalidOptionError, match=message):
        gevglm.fit("y ~ x", study(), xi="cv", alpha="cv", search_kwds=words)


def test_a_searched_penalty_and_a_bias_reduction_are_not_combined():
    with pytest.raises(IncompatibleOptionsError, match="leave one of them out"):
        gevglm.fit("y ~ x", study(), xi="cv", alpha="cv", bias="firth")


def test_bias_reduction_at_a_searched_shape():
    res = gevglm.fit("y ~ x", study(), xi="cv", bias="firth", search_kwds={"grid": [0.0, 0.2], "folds": 3})
    assert res.bias.word == "mean"


# -- links side by side ----------------------------------------------------------------------


def test_a_comparison_holds_what_the_single_fits_say():
    data = study()
    table = gevglm.fit_links("y ~ x + z", data, links=["logit", "probit", "GEV log"], folds=3)
    probit = gevglm.fit("y ~ x + z", data, link="probit")
    assert list(table.table.index) == ["logit", "probit", "GEV log"]
    assert_allclose(
        table.table.loc["probit", ["llf", "aic", "bic"]].astype(float), [probit.llf, probit.aic, probit.bic]
    )
    assert table.table.loc["GEV log", "k"] == 4
    assert np.isnan(table.table.loc["logit", "vuong"])
    assert "against logit" in " ".join(str(table).split())
    assert_allclose(table.table["cv_slope"].astype(float), 1.0, atol=0.3)


def test_vuong_is_the_studentised_mean_gain():
    data = study()
    table = gevglm.fit_links("y ~ x + z", data, links=["logit", "cauchit"], folds=3)
    y = data["y"].to_numpy()
    p = {name: np.asarray(res.predict()) for name, res in table.results.items()}
    gain = np.where(y == 1, np.log(p["cauchit"] / p["logit"]), np.log((1 - p["cauchit"]) / (1 - p["logit"])))
    assert_allclose(table.table.loc["cauchit", "vuong"], np.sqrt(len(y)) * gain.mean() / gain.std(), rtol=1e-8)


def test_comparisons_of_different_data_are_refused():
    data = study()
    with pytest.raises(InvalidDataError, match="'less' is fitted to other data \\('y', 2490 rows\\)"):
        gevglm.compare({"all": gevglm.fit("y ~ x", data), "less": gevglm.fit("y ~ x", data.iloc[10:])})
    with pytest.raises(InvalidOptionError, match="nothing to compare"):
        gevglm.compare({})
    with pytest.raises(InvalidOptionError, match="logti"):
        gevglm.fit_links("y ~ x", data, links=["logti"])


def test_pictures_are_drawn():
    pytest.importorskip("matplotlib")
    data = study()
    res = gevglm.fit("y ~ x", data, xi="cv", search_kwds={"folds": 3})
    assert res.plot_shape().get_xlabel() == "xi"
    assert gevglm.fit("y ~ x", data, link="gev", loss="log", xi="ml").plot_shape().get_xlabel() == "xi"
    axes = gevglm.fit_links("y ~ x", data, links=["logit", "probit"], folds=2).plot()
    assert axes.get_xlabel() == "probability by logit"


def test_penalties_are_searched_though_a_column_is_constant_in_a_fold():
    data = study(600)
    data["rare"] = (np.arange(600) == 17).astype(float)
    options = {"link": "logit", "alpha": "cv", "search_kwds": {"alphas": [0.0, 1.0, 10.0]}}
    assert np.isfinite(gevglm.fit("y ~ x + rare", data, separation="ignore", **options).search.table["score"]).all()
    with pytest.raises(CollinearityError, match="rare"):
        gevglm.fit("y ~ x + rare", data, collinear="raise", **options)
