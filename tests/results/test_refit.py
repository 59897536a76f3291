"""One way to refit, and one meaning of 'cross-validated'."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.data.observations import Part
from gevglm.datasets import simulate_study
from gevglm.exceptions import GevglmError, GevglmWarning, InvalidOptionError, silenced, warn
from gevglm.inference.folds import make_folds
from gevglm.results.refit import refit_many

pytestmark = pytest.mark.filterwarnings("ignore::gevglm.exceptions.WeakShapeWarning")
FORMULA = "event ~ age + smoker"
DATA = simulate_study(rng=1).iloc[:1500]


def test_xi_and_alpha_are_chosen_anew_or_not():
    res = gevglm.fit(FORMULA, DATA, link="gev", loss="log", xi="ml")
    rows = np.arange(0, 1500, 2)
    chosen, kept = res.refit(rows), res.refit(rows, choose_shape=False)
    assert_allclose(chosen.params, gevglm.fit(FORMULA, DATA.iloc[rows], link="gev", loss="log", xi="ml").params)
    assert kept.xi == res.xi != chosen.xi
    assert_allclose(kept.params, gevglm.fit(FORMULA, DATA.iloc[rows], link="gev", loss="log", xi=res.xi).params)


def test_a_penalty_that_was_searched_for_is_kept_without_a_search():
    res = gevglm.fit(FORMULA, DATA, xi=0.5, alpha="cv", search_kwds={"alphas": [0.5, 5.0]})
    again = res.refit(np.arange(1000), choose_shape=False)
    assert again.alpha == res.alpha and again.search is None
    assert_allclose(again.params, gevglm.fit(FORMULA, DATA[:1000], xi=0.5, alpha=res.alpha).params)


@pytest.mark.parametrize("options", [{"link": "logit"}, {"link": "gev", "loss": "log", "xi": "ml"}], ids=str)
def test_comparison_and_calibration_mean_the_same_by_cross_validation(options):
    res = gevglm.fit(FORMULA, DATA, **options)
    y = DATA["event"].to_numpy(float)
    folds = make_folds(y, 4, 0, each_outcome=False)  # those of calibration
    table = gevglm.compare({"it": res}, folds=[(np.flatnonzero(a), np.flatnonzero(b)) for a, b in folds]).table
    found = res.calibration(resampling="cv", folds=4, rng=0, belt=False).summary_frame()["estimate"]
    assert_allclose(table.loc["it", "cv_brier"], found["Brier score"], rtol=1e-8)
    assert_allclose(table.loc["it", "cv_log_loss"], found["log loss"], rtol=1e-8)
    assert_allclose(table.loc["it", "cv_slope"], found["calibration slope"], rtol=1e-6)


def test_a_model_that_cannot_be_refitted_is_compared_without_cross_validation():
    data = DATA.assign(rare=(np.arange(1500) == int(np.flatnonzero(DATA["event"])[0])).astype(float))
    fits = {"plain": gevglm.fit(FORMULA, data, link="logit")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)
        fits["rare"] = gevglm.fit("event ~ age + rare", data, link="logit", bias="firth", collinear="raise")
    found = gevglm.compare(fits, folds=3)
    assert np.isfinite(found.table.loc["plain", "cv_brier"]) and np.isnan(found.table.loc["rare", "cv_brier"])
    assert "rare: not cross-validated: " in str(found) and found.remarks.keys() == {"rare"}


def test_constrained_fits_are_not_refitted():
    res = gevglm.BinaryGLM.from_formula(FORMULA, DATA, link="logit").fit_constrained("smoker = 0")
    with pytest.raises(InvalidOptionError, match="under constraints"):
        res.calibration(resampling="cv")


def test_warnings_are_silenced_in_one_thread_only():
    from concurrent.futures import ThreadPoolExecutor

    def told():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warn("something", GevglmWarning)
        return len(caught)

    with silenced():
        assert told() == 0
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(told).result() == 1
    assert told() == 1


@pytest.mark.parametrize(
    "options",
    [
        {"link": "logit"},
        {"link": "gev", "loss": "log", "xi": "ml"},
        {"xi": 0.3, "alpha": 2.0},
        {"link": "logit", "prevalence": 0.02},
        {"link": "logit", "class_weight": "balanced"},
        *(
            {"link": "logit", "bias": bias}
            for bias in ("mean", "median", "jeffreys", "correction", "king-zeng", "flic", "flac", "logf")
        ),
    ],
    ids=str,
)
def test_a_resample_by_numbers_is_one_by_repeated_rows(options):
    data = DATA.iloc[:600]
    res = gevglm.fit(FORMULA, data, **options)
    part = res.row_weights.draw(res.model.endog, np.random.default_rng(4))
    repeated = np.repeat(np.arange(600), part.counts.astype(int))
    one, other = res.refit(part), res.refit(repeated)
    assert_allclose(one.params, other.params, rtol=1e-6, atol=1e-8)
    assert one.xi == pytest.approx(other.xi, abs=1e-5) if one.xi is not None else other.xi is None


PROCEDURES = {
    "logit": {"link": "logit"},
    "firth": {"link": "logit", "bias": "firth"},
    "gev log": {"xi": 0.3, "loss": "log"},
    "ridge": {"xi": 0.3, "alpha": 2.0},
    "standardised ridge": {"link": "logit", "alpha": 2.0, "standardize": True},
    "prevalence": {"link": "logit", "prevalence": 0.02},
    "class weights": {"link": "probit", "class_weight": "balanced"},
    "frequencies": {"link": "cloglog", "freq_weights": "w"},
    "flic": {"link": "logit", "bias": "flic"},
    "shape": {"xi": "ml"},
}


@pytest.mark.parametrize("words", PROCEDURES.values(), ids=PROCEDURES)
def test_many_refits_are_refits(words):
    data = DATA.assign(w=np.arange(len(DATA)) % 3)
    res = gevglm.fit(FORMULA, data, **words)
    rng, weights = np.random.default_rng(6), res.row_weights
    parts = [weights.draw(res.model.design.y, rng) for _ in range(3 if words.get("xi") == "ml" else 5)]
    for part, found in zip(parts, refit_many(res, iter(parts)), strict=True):
        alone = res.refit(part)
        assert found[0] is part
        assert_allclose(found[1].params, alone.params, rtol=1e-8)
        assert found[1].link == alone.model.link and found[1].population_link == alone.model.population_link


def test_refits_that_fail_are_errors_in_their_place():
    res = gevglm.fit(FORMULA, DATA, link="logit")
    y = res.model.design.y
    one_class, whole = Part.of(y, 0 * y), Part.of(y, 1 - y)
    answers = [found for _, found in refit_many(res, [one_class, whole, one_class])]
    assert [isinstance(found, GevglmError) for found in answers] == [True, False, True]
    assert_allclose(answers[1].params, res.params, rtol=1e-9)


def test_separated_resamples_go_their_way_alone():
    rng = np.random.default_rng(7)
    data = DATA.iloc[:300].assign(event=(rng.random(300) < 0.05).astype(int), rare=(np.arange(300) < 8).astype(int))
    data.loc[data.index[:2], "event"] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)
        res = gevglm.fit("event ~ age + rare", data, link="logit")
    y = res.model.design.y
    times = np.where((np.arange(300) < 8) & (y == 0), 0.0, 1.0)
    part = Part.of(times * y, times * (1 - y))
    [(_, found)] = refit_many(res, [part])
    assert_allclose(found.params, res.refit(part).params)
