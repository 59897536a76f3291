"""Calibration of fits: apparent, on new data, cross-validated, corrected for optimism; recalibration."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.calibration import Platt, assess, log_loss
from gevglm.calibration.calibrators import CALIBRATORS
from gevglm.exceptions import GevglmWarning, InvalidDataError, InvalidOptionError
from gevglm.options import FitOptions

DATA, NEW = (gevglm.datasets.simulate_study(n=1500, rng=seed) for seed in (1, 2))
FORMULA = "event ~ age + smoker"


@pytest.fixture(scope="module")
def res():
    return gevglm.fit(FORMULA, DATA, xi=0.5)


def test_the_apparent_calibration_is_that_of_the_fitted_probabilities(res):
    found, expected = (
        res.calibration(belt=False),
        assess(DATA["event"], res.predict(), in_sample=True, belt=False, rng=0),
    )
    assert_allclose(found.indices["Brier score"], res.brier)
    assert_allclose(found.indices["calibration slope"], expected.indices["calibration slope"])
    assert "fitted to these data" in str(found.summary())


def test_new_data_bring_their_own_outcomes(res):
    by_name = res.calibration(NEW, belt=False).indices["Brier score"]
    p = res.predict(NEW)
    assert_allclose(by_name, np.mean((NEW["event"] - p) ** 2))
    given = res.calibration(NEW.drop(columns="event"), endog=NEW["event"], belt=False).indices["Brier score"]
    assert_allclose(given, by_name)


def test_levels_of_new_outcomes_are_those_of_the_fit():
    words = DATA.assign(event=np.where(DATA["event"] == 1, "ill", "well"))
    res = gevglm.fit(FORMULA, words, event="ill", xi=0.5)
    new = NEW.assign(event=np.where(NEW["event"] == 1, "ill", "well"))
    expected = gevglm.fit(FORMULA, DATA, xi=0.5).calibration(NEW, belt=False).indices["AUC"]
    assert_allclose(res.calibration(new, belt=False).indices["AUC"], expected)


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.WeakShapeWarning", "ignore::gevglm.exceptions.SupportWarning")
@pytest.mark.parametrize(
    "options", [{"xi": 0.5}, {"link": "gev", "loss": "log", "xi": "ml"}, {"bias": "firth"}, {"alpha": 1.0}]
)
def test_optimism_is_the_same_whatever_the_number_of_workers(options):
    res = gevglm.fit(FORMULA, DATA, **options)
    one, two = (res.calibration(resampling="bootstrap", resamples=4, workers=w, rng=3).summary_frame() for w in (1, 2))
    assert_allclose(one, two)
    assert one.loc["Brier score", "corrected"] == pytest.approx(res.brier, rel=0.1)


def test_optimism_is_corrected_by_refitting_by_hand(res):
    found = res.calibration(resampling="bootstrap", resamples=3, rng=5).summary_frame()
    assert found.loc["Emax", ["optimism", "corrected"]].isna().all()
    found = found.drop(index="Emax")
    assert_allclose(found["optimism"], found["training"] - found["test"])
    assert_allclose(found["corrected"], found["apparent"] - found["optimism"])


def test_cross_validation_assesses_rows_that_were_not_seen(res):
    found = res.calibration(resampling="cv", folds=5, belt=False)
    assert found.indices["log loss"] > res.log_loss
    assert "not fitted to these data" in str(found.summary())


@pytest.mark.parametrize("method", [*CALIBRATORS, Platt(smoothed=False)])
def test_recalibration_corrects_a_shift(method):
    shifted = gevglm.fit(FORMULA, DATA.assign(event=np.where(np.arange(1500) % 3 == 0, 0, DATA["event"])), link="logit")
    corrected = shifted.recalibrate(NEW, method)
    p = corrected.predict(NEW)
    near = 0.2 if method == "venn-abers" else 0.1  # which counts the case itself, once as an event
    assert p.mean() == pytest.approx(NEW["event"].mean(), rel=near)
    assert abs(shifted.predict(NEW).mean() - NEW["event"].mean()) > abs(p.mean() - NEW["event"].mean())
    assert len(corrected.predict()) == 1500


def test_a_given_calibrator_is_copied(res):
    platt = Platt(penalty=0.1)
    first, second = res.recalibrate(NEW, platt), res.recalibrate(DATA, platt)
    assert not hasattr(platt, "n") and first.calibrator.params["slope"] != second.calibrator.params["slope"]
    assert "Platt(penalty=0.1)" in str(first.summary())


def test_new_rows_with_something_missing_are_left_out(res):
    holes = NEW.astype({"event": float})
    holes.loc[3, "age"], holes.loc[5, "event"] = np.nan, np.nan
    rest = NEW.drop(index=[3, 5])
    with pytest.warns(GevglmWarning, match="2 of 1500 new rows have no outcome, or no prediction"):
        found = res.calibration(holes, belt=False)
    assert_allclose(found.summary_frame(), res.calibration(rest, belt=False).summary_frame())
    with pytest.warns(GevglmWarning, match="2 of 1500"):
        assert_allclose(res.recalibrate(holes).calibrator.params, res.recalibrate(rest).calibrator.params)
    with pytest.raises(InvalidDataError, match="endog has 3 rows, but the new data have 1500"):
        res.recalibrate(NEW, endog=[0, 1, 0])
    with pytest.raises(InvalidDataError, match="the new data have no rows"):
        res.calibration(NEW.iloc[:0])


def test_new_data_may_count_events():
    x = np.column_stack([np.ones(4), np.arange(4.0)])
    counts = np.array([[1, 9], [2, 8], [3, 7], [6, 4]])
    res = gevglm.fit(counts, x, link="logit")
    single = np.repeat(np.tile([1, 0], 4), counts.ravel()), np.repeat(res.predict(x), 10)
    assert_allclose(res.calibration(x, endog=counts).indices["log loss"], log_loss(*single))


def test_pictures_are_drawn(res):
    pytest.importorskip("matplotlib")
    assert res.plot_calibration(NEW, scale="logit").get_xlabel()


def test_bad_words_are_refused(res):
    with pytest.raises(InvalidOptionError, match="'bootstrap', 'cv'"):
        res.calibration(resampling="jackknife")
    with pytest.raises(InvalidOptionError, match="new data need none"):
        res.calibration(NEW, resampling="cv")
    with pytest.raises(InvalidOptionError, match="'isotonic'"):
        res.recalibrate(NEW, "isotone")
    with pytest.raises(InvalidDataError, match="endog="):
        gevglm.fit(DATA["event"].to_numpy(), np.ones((1500, 1)), link="logit").calibration(np.ones((10, 1)))


def test_trials_count_as_events_and_others():
    table = DATA.groupby("smoker")["event"].agg(["sum", "size"]).reset_index()
    y = np.column_stack([table["sum"], table["size"] - table["sum"]])
    X = np.column_stack([np.ones(len(table)), table["smoker"] == table["smoker"].iloc[0]]).astype(float)
    grouped = gevglm.fit(y, X, link="logit")
    single = gevglm.fit("event ~ smoker", DATA, link="logit")
    for name in ("Brier score", "log loss", "AUC"):
        assert_allclose(grouped.calibration().indices[name], single.calibration().indices[name], rtol=1e-6)
    assert grouped.calibration(resampling="bootstrap", resamples=2).resamples == 2
    assert_allclose(grouped.recalibrate().calibrator.params["slope"], 1.0, rtol=1e-5)


def test_weights_whose_meaning_is_not_known_are_not_resampled():
    weighted = gevglm.fit(FORMULA, DATA, var_weights=np.linspace(0.5, 1.5, 1500), xi=0.5)
    with pytest.raises(InvalidDataError, match="var_weights cannot be resampled"):
        weighted.calibration(resampling="cv")
    broken = gevglm.fit(FORMULA, DATA, freq_weights=np.full(1500, 1.5), xi=0.5)
    with pytest.raises(InvalidDataError, match=r"not whole numbers; 1500 of 1500 are not \(the first is 1.5\)"):
        broken.calibration(resampling="bootstrap")


@pytest.fixture(scope="module")
def case_control():
    """All events and as many others, of a population with few events."""
    population = gevglm.datasets.simulate_study(n=40_000, rng=5)
    events = population[population["event"] == 1]
    others = population[population["event"] == 0].sample(len(events), random_state=0)
    return population, pd.concat([events, others], ignore_index=True)


@pytest.mark.parametrize("sampling", ["prior", "weight"])
@pytest.mark.parametrize("resampling", [{}, {"resampling": "cv", "folds": 5}])
def test_rows_sampled_by_their_outcome_are_judged_as_sampled(case_control, sampling, resampling):
    population, sample = case_control
    res = gevglm.fit(FORMULA, sample, link="logit", prevalence=population["event"].mean(), sampling=sampling)
    found = res.calibration(belt=False, **resampling)
    assert abs(found.indices["calibration in the large"]) < 3 * found.indices["calibration in the large"].se
    assert found.indices["calibration slope"] == pytest.approx(1.0, abs=0.15)  # the truth is no logit
    assert found.mean_prediction == pytest.approx(0.5, abs=0.02)
    assert "sampled by their outcome" in str(found.summary())
    assert res.calibration(population, belt=False).indices["calibration slope"] == pytest.approx(
        1.0, abs=0.15
    )  # the truth is no logit


@pytest.mark.parametrize("sampling", ["prior", "weight"])
def test_optimism_of_rows_sampled_by_their_outcome(case_control, sampling):
    population, sample = case_control
    res = gevglm.fit(FORMULA, sample, link="logit", prevalence=population["event"].mean(), sampling=sampling)
    found = res.calibration(resampling="bootstrap", resamples=3).summary_frame()["corrected"]
    assert found["calibration slope"] == pytest.approx(1.0, abs=0.15)
    assert found["calibration in the large"] == pytest.approx(0.0, abs=0.15)


def test_recalibration_by_rows_sampled_by_their_outcome_is_for_the_population(case_control):
    population, sample = case_control
    res = gevglm.fit(FORMULA, sample, link="logit", prevalence=population["event"].mean())
    params = res.recalibrate().calibrator.params
    assert params["slope"] == pytest.approx(1.0, abs=0.1)
    assert res.recalibrate().predict(population).mean() == pytest.approx(population["event"].mean(), rel=0.1)


def test_class_weights_are_corrected_for_in_refits():
    res = gevglm.fit(FORMULA, DATA, link="logit", class_weight={0: 1.0, 1: 9.0})
    found = res.calibration(resampling="cv", folds=5, belt=False)
    assert found.mean_prediction == pytest.approx(DATA["event"].mean(), rel=0.1)


# -- refits ------------------------------------------------------------------------------------

PROCEDURES = [
    {"xi": "cv", "search_kwds": {"grid": [0.0, 0.3, 0.5], "criterion": "brier", "folds": 3, "refine": False}},
    {"xi": "cv", "bias": "firth", "search_kwds": {"grid": [0.0, 0.5], "folds": 3}},
    {"link": "gev", "loss": "log", "xi": "ml", "search_kwds": {"grid": [-0.5, 0.0, 0.5]}},
    {"xi": 0.5, "alpha": "cv", "search_kwds": {"alphas": [0.0, 3.0]}},
    {"link": "logit", "alpha": 2.0, "penalize_intercept": True, "standardize": True},
    {"link": "probit", "bias": "firth"},
]


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.GevglmWarning")
@pytest.mark.parametrize("told", PROCEDURES, ids=str)
def test_a_refit_is_told_what_the_fit_was_told(told):
    small = DATA.iloc[:700]
    res = gevglm.fit(FORMULA, small, **told)
    again = res.refit(np.arange(700))
    assert_allclose(again.params, res.params, rtol=1e-9)
    assert (again.xi, again.alpha) == pytest.approx((res.xi, res.alpha))
    rows = np.random.default_rng(0).integers(700, size=700)
    by_hand = gevglm.fit(FORMULA, small.iloc[rows], **told)
    assert_allclose(res.refit(rows).params, by_hand.params, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.GevglmWarning")
def test_optimism_of_a_search_with_bias_reduction_is_the_same_whatever_the_number_of_workers():
    res = gevglm.fit(FORMULA, DATA.iloc[:700], **PROCEDURES[1])
    one, three = (
        res.calibration(resampling="bootstrap", resamples=4, workers=w, rng=3).summary_frame() for w in (1, 3)
    )
    assert_allclose(one, three)


def test_folds_given_row_by_row_are_not_kept():
    options = FitOptions(search_kwds={"grid": [0.0], "folds": [(np.arange(5), np.arange(5, 9))]})
    assert options.for_other_rows().search_kwds == {"grid": [0.0]}


def test_refits_in_threads_leave_the_filters_of_warnings_alone(res):
    before = list(warnings.filters)
    res.calibration(resampling="bootstrap", resamples=12, workers=4)
    assert warnings.filters == before
