"""The average over links as a whole."""

import html

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy import stats

import gevglm
from benchmarks.simulation import averaging_again
from gevglm.averaging.candidates import ALPHAS, default_candidates
from gevglm.averaging.procedure import Procedure, descended
from gevglm.exceptions import (
    GevglmError,
    GevglmWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    SupportError,
)

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


def test_weights_that_are_hardly_any_are_said_to_be_so_and_drawn_together(study):
    found = gevglm.average_links(FORMULA, study)
    light = found.weights["weight"] < 0.5e-4
    starts = tuple(f"{name} " for name in found.weights.index)
    lines = [line for line in str(found.summary()).splitlines() if line.startswith(starts)]
    assert 0 < light.sum() == sum("< 0.0001" in line for line in lines) and len(lines) == 24
    heavy = found.weights["weight"][~light].sort_values(ascending=False)
    assert [line.split("  ")[0].strip() for line in lines[: len(heavy)]] == list(heavy.index)
    assert f"No weight is zero: {light.sum()} of 24 candidates" in " ".join(str(found.summary()).split())
    bars = found.plot_weights().patches
    np.testing.assert_allclose([bar.get_width() for bar in bars[:-1]], heavy)
    np.testing.assert_allclose(sum(bar.get_width() for bar in bars), 1.0)
    assert f"{heavy.index[0]} with a weight of {heavy.iloc[0]:.3f}" in repr(found)


def test_weights_of_few_rows_that_are_the_floor_are_drawn_together(study):
    found = gevglm.average_links("event ~ age", study.iloc[:300])
    at_floor = found.weights["weight"] < 1.01 / 24 / 301
    assert 0.5e-4 < found.weights["weight"].min() and 2 < at_floor.sum() < 24
    assert f"No weight is zero: {at_floor.sum()} of 24 candidates have hardly any" in " ".join(
        str(found.summary()).split()
    )
    assert len(found.plot_weights().patches) == 24 - at_floor.sum() + 1
    two = gevglm.average_links("event ~ age", study.iloc[:300], ["logit", "cloglog"])
    assert len(two.plot_weights().patches) == 2  # one alone keeps its name


def test_penalties_are_those_of_the_grid_search_where_the_score_has_one_minimum(study):
    found = gevglm.average_links(FORMULA, study, FEW, rng=3)
    for name, words in (("logit", {"link": "logit"}), ("probit", {"link": "probit"}), ("GEV(xi=0.3)", {"xi": 0.3})):
        whole = {"alphas": (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0), "rng": 3}
        own = gevglm.fit(FORMULA, study, alpha="cv", search_kwds=whole, **words)
        assert found.weights.loc[name, "alpha"] == own.alpha
        np.testing.assert_allclose(found.weights.loc[name, "log_loss"], own.search.best["score"], rtol=1e-6)
        np.testing.assert_allclose(found.fits[name].params, own.params, rtol=1e-6)
    assert descended(lambda x: (np.inf, x), (1.0, 2.0, 3.0), 3.0) == 1.0


def test_predictions_are_the_weighted_risks_of_the_fits(study, average):
    by_hand = sum(
        w * fit.predict(study) for w, fit in zip(average.weights["weight"], average.fits.values(), strict=True)
    )
    np.testing.assert_allclose(average.predict(study), by_hand, rtol=1e-12)
    np.testing.assert_allclose(average.predict(), by_hand, rtol=1e-12)
    missing = study.assign(age=np.where(study.index == 0, np.nan, study["age"]))
    assert np.isnan(average.predict(missing)[0]) and average.predict(missing).notna().sum() == len(study) - 1


def test_the_procedure_written_again_in_lockstep_gives_the_same_risks(study):
    y, X = study["event"].to_numpy(float), np.column_stack([np.ones(len(study)), study[["age", "smoker"]]])
    again = averaging_again.averaged(X, y, np.ones(len(y)), averaging_again.fold_of(y, 0), X)
    found = gevglm.average_links(y, X)
    assert len(again.whole) == len(found.weights)
    np.testing.assert_allclose(again.risks, found.predict(), rtol=0.02)
    assert np.abs(again.risks - found.predict()).mean() < 0.003 * y.mean()  # penalties with the same score may differ


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


def test_weights_of_a_sample_drawn_by_the_outcome_minimise_the_loss_in_the_population(study):
    events, others = study[study["event"] == 1].iloc[:48], study[study["event"] == 0].iloc[:400]
    sample = pd.concat([events, others]).assign(shift=np.resize([0.0, 0.5], 448)).reset_index(drop=True)
    pairs = [(np.arange(448) % 4 != k, np.arange(448) % 4 == k) for k in range(4)]  # 12 events in each
    words = {"offset": "shift", "prevalence": 0.02, "tol": 1e-10}
    found = gevglm.average_links(FORMULA, sample, ["logit", "cloglog"], alpha=0, folds=pairs, **words)
    q, y = np.empty((448, 2)), sample["event"].to_numpy()
    for train, test in pairs:
        for j, link in enumerate(["logit", "cloglog"]):
            p = gevglm.fit(FORMULA, sample[train], link=link, **words).predict(sample[test])
            q[test, j] = np.where(y[test] == 1, p, 1.0 - p)
    shares = np.where(y == 1, 0.02 / 48, 0.98 / 400)
    np.testing.assert_allclose(found.weights["log_loss"], -shares @ np.log(q), rtol=1e-6)
    np.testing.assert_allclose(found.weights["brier"], shares @ (1.0 - q) ** 2, rtol=1e-6)
    mixed = [-shares @ np.log(q @ [w, 1.0 - w]) for w in np.linspace(0, 1, 2001)]
    assert abs(found.weights["weight"].iloc[0] - np.argmin(mixed) / 2000) < 5e-3


def test_the_order_of_rows_and_of_candidates_does_not_matter(study):
    folds, order = np.arange(len(study)) % 3, np.random.default_rng(0).permutation(len(study))
    pairs = [(folds != k, folds == k) for k in range(3)]
    turned = [(a[order], b[order]) for a, b in pairs]
    one = gevglm.average_links(FORMULA, study, FEW, folds=pairs, tol=1e-10)
    two = gevglm.average_links(FORMULA, study.iloc[order], FEW[::-1], folds=turned, tol=1e-10)
    np.testing.assert_array_equal(one.weights["alpha"], two.weights["alpha"].loc[one.weights.index])
    np.testing.assert_allclose(one.weights["weight"], two.weights["weight"].loc[one.weights.index], atol=1e-6)
    np.testing.assert_allclose(one.predict(study), two.predict(study), rtol=1e-6)


def test_clusters_are_in_one_fold_and_drawn_as_a_whole(study, monkeypatch):
    towns, seen, real = study.assign(town=np.arange(len(study)) // 10), [], Procedure.run

    def run(procedure, model, folds):
        held = np.concatenate([np.flatnonzero(test) for _, test in folds])
        fold = np.repeat(np.arange(len(folds)), [test.sum() for _, test in folds])
        counts = model.design.counts
        seen.append((model.design.X[held], fold, np.ones(len(held)) if counts is None else counts[held]))
        return real(procedure, model, folds)

    monkeypatch.setattr(Procedure, "run", run)
    gevglm.average_links("event ~ age + town", towns, ["logit"], groups="town").bootstrap(3)
    assert len(seen) == 4
    for X, fold, counts in seen:
        rows = pd.DataFrame({"town": X[:, -1], "fold": fold, "counts": counts})
        assert (rows.groupby("town")["fold"].nunique() == 1).all()  # copies of a town, too
        assert (rows.groupby("town")["counts"].sum() % 10 == 0).all()  # a town of ten persons, once or more often
        assert (rows.groupby(["fold", "town"])["counts"].nunique() == 1).all()


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


def test_rows_that_are_held_out_more_than_once_count_once(study):
    once = [(fold != k, fold == k) for fold in [np.arange(1200) % 3, np.arange(1200) // 10 % 3] for k in range(3)]
    twice = gevglm.average_links(FORMULA, study, FEW, folds=once)
    assert (twice.n_folds, twice.passes) == (6, 2.0) and "6, each row held out 2 times" in str(twice.summary())
    halves = [gevglm.average_links(FORMULA, study, FEW, folds=part) for part in (once[:3], once[3:])]
    np.testing.assert_allclose(  # where they have the same penalty, scores are the mean
        twice.weights["log_loss"], sum(half.weights["log_loss"] for half in halves) / 2, rtol=1e-3
    )
    assessed, single = twice.calibration(), halves[0].calibration()
    assert assessed.n == single.n == 1200
    se = [each.summary_frame().loc["Brier score", "se"] for each in (assessed, single)]
    assert abs(np.log(se[0] / se[1])) < 0.1  # not by the root of a half
    counted = study.assign(n=1 + (np.arange(1200) % 2))
    assert gevglm.average_links(FORMULA, counted, ["logit"], freq_weights="n", folds=once).calibration().n == 1800
    assert [len(each) for each in (twice.bootstrap(2),)] == [2]
    third = gevglm.average_links(FORMULA, study, ["logit"], folds=np.arange(1200) % 3 == 0)
    assert third.calibration().n == 400 and "1, each row held out 0.333 times" in str(third.summary())


def test_saved_and_loaded_without_rows(study, average, tmp_path):
    drawn = average.get_prediction(study.head(), resamples=3)
    average.save(tmp_path / "average.pkl")
    again = gevglm.load(tmp_path / "average.pkl")
    np.testing.assert_allclose(again.predict(study), average.predict(study))
    assert str(again.summary()) == str(average.summary())
    np.testing.assert_allclose(again.get_prediction(study.head()).draws, drawn.draws)  # resamples are saved
    for ask in (
        again.predict,
        again.calibration,
        lambda: again.bootstrap(7),
        lambda: again.report(tmp_path / "a.html"),
    ):
        with pytest.raises(InvalidDataError, match="need the rows"):
            ask()
    average.save(tmp_path / "whole.pkl", remove_data=False)
    np.testing.assert_allclose(gevglm.load(tmp_path / "whole.pkl").predict(), average.predict())


def test_the_summary_says_what_was_averaged_and_predictions_what_their_limits_show(study):
    towns = study.assign(town=np.arange(len(study)) // 10, event=np.where(study["event"] == 1, "ill", "<well>"))
    found = gevglm.average_links(FORMULA, towns, FEW, groups="town", event="ill", prevalence=0.01)
    lines = str(found.summary()).splitlines()
    events = (towns["event"] == "ill").sum()
    data = {"Dep. Variable:": "event", "Event:": "ill", "Observations:": "1,200", "Prevalence:": "0.01"}
    data["Events:"] = f"{events} ({100 * events / 1200:.3g} %)"
    for name, value in data.items():
        assert any(line.split(name)[-1].strip().startswith(value) for line in lines if name in line), name
    assert any(line.endswith("5, by 120 clusters") for line in lines) and "log loss" in lines[2]
    assert "penalty on coefficients of standardised columns, the best of a few" in " ".join(
        str(found.summary()).split()
    )
    given = " ".join(str(gevglm.average_links(FORMULA, study, ["logit"], alpha=2.0).summary()).split())
    assert "penalty on coefficients of the columns as they are, as given" in given
    shown = found.get_prediction(resamples=3)
    assert "95 % limits by the bootstrap of the whole procedure (3 resamples)" in " ".join(str(shown).split())
    assert "the first 12 of 1,200 rows" in " ".join(str(shown).split()) and len(str(shown).splitlines()) == 17
    assert "not how far the average of the links is from the truth" in " ".join(str(shown).split())
    assert "<table" in shown._repr_html_() and "first" not in str(found.get_prediction(towns.head(3)))


def test_limits_are_symmetric_for_log_odds_of_the_draws(study, average):
    found = average.get_prediction(study.head(3), resamples=3)
    frame, wider = found.summary_frame(), found.summary_frame(alpha=0.01)
    odds = np.log(frame / (1.0 - frame))
    np.testing.assert_allclose(odds["mean"] * 2, odds["mean_ci_lower"] + odds["mean_ci_upper"])
    s = np.log(found.draws / (1.0 - found.draws)).std(axis=0, ddof=1)
    np.testing.assert_allclose(odds["mean_ci_upper"] - odds["mean"], stats.t.isf(0.025, 2) * s)
    assert (wider["mean_ci_lower"] < frame["mean_ci_lower"]).all()
    assert len(average.bootstrap()) == 3  # those drawn before
    with pytest.raises(InvalidOptionError, match="resamples=1"):
        average.bootstrap(1)


def test_the_bootstrap_is_the_procedure_on_drawn_rows(study):
    found = gevglm.average_links(FORMULA, study, ["logit"], alpha=0, folds=2)
    drawn = found.get_prediction(study.head(), resamples=60).draws
    own = gevglm.fit(FORMULA, study, link="logit").get_prediction(study.head()).linpred.se
    spread = np.log(drawn / (1.0 - drawn)).std(axis=0, ddof=1)
    assert (np.abs(np.log(spread / own)) < 0.45).all()  # Monte Carlo error 0.09, and few events


def test_the_report_is_one_page_that_can_be_run_again(study, average, tmp_path):
    average.report(tmp_path / "a.html", title="Risks < 1", resamples=3)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    for part in (
        "Risks &lt; 1",
        "not probabilities",
        "Weights of the links",
        "Risk by smoker",
        "calibration slope",
        "held-out rows",
    ):
        assert part in page
    code = html.unescape(page[page.index("<code>") + 6 : page.index("</code>")])
    assert "average = gevglm.average_links" in code and "links=['logit', 'probit', gevglm.links.GEV(xi=0.3)]" in code
    scope = {"data": study}
    exec(code.partition("print(")[0], scope)
    np.testing.assert_allclose(scope["average"].predict(study), average.predict(study))


def test_tables_of_other_packages_and_names_of_the_caller(study, average):
    import pyarrow

    scale = 1.0  # noqa: F841 (the formula names it)
    found = gevglm.average_links("event ~ age + I(smoker * scale)", pyarrow.Table.from_pandas(study), FEW)
    np.testing.assert_allclose(np.asarray(found.predict(study)), average.predict(study), rtol=1e-6)


def test_new_rows_in_pieces_and_data_in_pieces(study, average, tmp_path):
    for i in range(2):
        study.iloc[600 * i : 600 * (i + 1)].to_csv(tmp_path / f"{i}.csv", index=False)
    pattern = str(tmp_path / "*.csv")
    np.testing.assert_allclose(np.asarray(average.predict(pattern)), np.asarray(average.predict(study)), rtol=1e-10)
    with pytest.raises(InvalidOptionError, match="read in pieces; give a table"):
        gevglm.average_links(FORMULA, pattern, FEW)


def test_arrays_offsets_and_sparse_columns(study):
    y, X = study["event"].to_numpy(), np.column_stack([np.ones(len(study)), study[["age", "smoker"]]])
    offset = 0.3 * study["smoker"].to_numpy()
    by_arrays = gevglm.average_links(y, X, FEW, offset=offset)
    by_formula = gevglm.average_links(FORMULA, study.assign(off=offset), FEW, offset="off")
    np.testing.assert_allclose(by_arrays.weights["weight"], by_formula.weights["weight"], atol=1e-6)
    np.testing.assert_allclose(by_arrays.predict(), by_formula.predict(study.assign(off=offset)), rtol=1e-6)
    sparse = gevglm.average_links(y, scipy.sparse.csr_matrix(X), FEW, offset=offset)
    np.testing.assert_allclose(sparse.predict(), by_arrays.predict(), rtol=1e-5)


def test_subset_event_and_weights(study):
    words = study.assign(answer=np.where(study["event"] == 1, "yes", "no"), w=1.0 + study["smoker"])
    by_word = gevglm.average_links("answer ~ age", words, FEW, event="yes", subset="smoker == 0")
    by_rows = gevglm.average_links("event ~ age", study[study["smoker"] == 0], FEW)
    np.testing.assert_allclose(by_word.predict(study), by_rows.predict(study), rtol=1e-10)
    weighted = gevglm.average_links("event ~ age", words, FEW, sampling_weights="w")
    assert weighted.calibration().n < len(words)  # Kish's effective size
    with pytest.raises(InvalidDataError, match="var_weights"):
        gevglm.average_links("event ~ age", words, ["logit"], var_weights="w").bootstrap(2)


def test_a_sample_drawn_by_the_outcome(study):
    events = study[study["event"] == 1]
    sample = pd.concat([events, study[study["event"] == 0].iloc[: 2 * len(events)]])
    found = gevglm.average_links(FORMULA, sample, FEW, prevalence=0.04)
    assert found.predict(study).mean() < 0.1
    assessed = found.calibration()
    assert any("sampled by their outcome" in note for note in assessed.notes)
    np.testing.assert_allclose(assessed.summary_frame().loc["observed / expected", "estimate"], 1.0, atol=0.05)


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
    with pytest.raises(InvalidOptionError, match="'b' has"):
        gevglm.average_links(FORMULA, study, {"b": {"link": "logit", "alpha": 1.0}})
    with pytest.raises(InvalidOptionError, match="twice"):
        gevglm.average_links(FORMULA, study, ["logit", "logit"])
    with pytest.raises(IncompatibleOptionsError, match="alpha=0"):
        gevglm.average_links(FORMULA, study, bias="firth")
    with pytest.raises(InvalidOptionError, match="neither a number nor 'cv'"):
        gevglm.average_links(FORMULA, study, alpha="ml")
    with pytest.raises(InvalidOptionError, match=r"^alpha=-1"):
        gevglm.average_links(FORMULA, study, alpha=-1)
    with pytest.raises(IncompatibleOptionsError, match="exposure"):
        gevglm.average_links(FORMULA, study, exposure="age")
    with pytest.raises(InvalidOptionError, match="give data"):
        gevglm.average_links(FORMULA)
    with pytest.raises(TypeError, match=r"groups=.id."):
        gevglm.average_links(FORMULA, study, clusters="clinic")
    with pytest.raises(
        InvalidDataError, match=r"there is 1 cluster; folds that keep clusters together need at least 2"
    ):
        gevglm.average_links(FORMULA, study.assign(one=1), groups="one")
    with pytest.raises(InvalidDataError, match=r"there are 2 clusters, too few for 5 folds; give folds=2\."):
        gevglm.average_links(FORMULA, study.assign(two=np.arange(len(study)) % 2), groups="two")
    with pytest.raises(TypeError, match="cov_type"):
        gevglm.average_links(FORMULA, study, cov_type="HC1")


def test_few_events_make_fewer_folds_or_none(study):
    events, others = study[study["event"] == 1], study[study["event"] == 0].head(100)
    with pytest.warns(
        GevglmWarning, match="3 observations of the rarer outcome, so that 3 folds are made in place of 5"
    ):
        gevglm.average_links("event ~ age", pd.concat([events.head(3), others]), ["logit"])
    with pytest.raises(InvalidDataError, match="there is 1 observation of the rarer outcome"):
        gevglm.average_links("event ~ age", pd.concat([events.head(1), others]), ["logit"])


def test_candidates_that_cannot_be_fitted_are_named():
    x = np.linspace(-1, 1, 60)
    data = pd.DataFrame({"x": x, "y": (x > 0.2).astype(int)})
    with pytest.raises(GevglmError, match="no candidate could be fitted; logit: the outcomes are separated"):
        gevglm.average_links("y ~ x", data, ["logit"], alpha=0)
    assert gevglm.average_links("y ~ x", data, ["logit", "probit"]).left_out == {}


def test_a_candidate_that_cannot_be_fitted_is_left_out_and_named(study, average, monkeypatch):
    real = Procedure._candidate

    def refuses_probit(self, model, *rest):
        if isinstance(model.link, gevglm.links.Probit):
            raise SupportError("no starting point keeps every row inside the support.")
        return real(self, model, *rest)

    monkeypatch.setattr(Procedure, "_candidate", refuses_probit)
    found = gevglm.average_links(FORMULA, study, FEW)
    assert list(found.weights.index) == ["logit", "GEV(xi=0.3)"]
    assert found.left_out == {"probit": "no starting point keeps every row inside the support."}
    assert "Left out: probit: no starting point" in str(found.summary())


def test_outcomes_that_all_candidates_rule_out_leave_the_weights_defined():
    rng = np.random.default_rng(0)
    x = np.append(rng.uniform(-1, 1, 400), -30.0)  # far below the support of the others, and an event
    data = pd.DataFrame({"x": x, "y": np.append(rng.random(400) < 0.3 + 0.25 * x[:400], 1).astype(int)})
    found = gevglm.average_links("y ~ x", data, [gevglm.links.GEV(0.6), gevglm.links.GEV(1.0)], alpha=0.01)
    assert found.ruled_out == 1 and np.isfinite(found.weights["weight"]).all() and found.certificate < 1e-8
    assert f"{found.ruled_out} held-out outcomes were ruled out" in str(found.summary())
    assert np.isfinite(found.scores["brier"]) and found.scores["log_loss"] == np.inf
    assert "because others allow it" not in str(found.summary())
    with_logit = gevglm.average_links("y ~ x", data, ["logit", gevglm.links.GEV(0.6)], alpha=0.01)
    assert np.isfinite(with_logit.scores["log_loss"]) and with_logit.weights["log_loss"].iloc[1] == np.inf
    assert "inf: 1 candidate gave the probability 0" in " ".join(str(with_logit.summary()).split())


def test_near_duplicates_are_explained(study):
    pair = {
        "one": {"link": "cloglog"},
        "two": {"link": gevglm.links.GEVc(0.001), "loss": "log"},
        "other": {"link": "cauchit"},
    }
    found = gevglm.average_links(FORMULA, study, pair)
    assert found.alike == [("one", "two")]
    text = " ".join(str(found.summary()).split())
    assert "Nearly the same here (risks differ by less than 1 % of their mean): one, two" in text
    assert "Weights are not probabilities that a link is true" in str(found.summary())


def test_penalties_are_chosen_on_a_part_of_many_rows_and_the_rest_on_all(monkeypatch):
    table = gevglm.datasets.simulate_study(4_000, rng=5)
    whole = gevglm.average_links("event ~ age + smoker", table, rng=1)
    monkeypatch.setattr("gevglm.averaging.procedure.ENOUGH", 80)
    part = gevglm.average_links("event ~ age + smoker", table, rng=1)
    assert table["event"].sum() >= 160
    p, q = (np.asarray(average.predict(table)) for average in (part, whole))
    assert np.abs(p - q).mean() < 0.1 * q.mean()
    assert np.isin(part.weights["alpha"], ALPHAS).all()
