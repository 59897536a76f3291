"""Calibration of fits: apparent, on new data, cross-validated, corrected for optimism; recalibration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.calibration import Platt, assess
from gevglm.exceptions import InvalidDataError, InvalidOptionError

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
    assert_allclose(found["optimism"], found["training"] - found["test"])
    assert_allclose(found["corrected"], found["apparent"] - found["optimism"])


def test_cross_validation_assesses_rows_that_were_not_seen(res):
    found = res.calibration(resampling="cv", folds=5, belt=False)
    assert found.indices["log loss"] > res.log_loss
    assert "fitted to these data" not in str(found.summary())


@pytest.mark.parametrize("method", ["platt", "asymmetric_laplace", "piecewise", "isotonic", "beta", Platt()])
def test_recalibration_mends_a_shift(method):
    shifted = gevglm.fit(FORMULA, DATA.assign(event=np.where(np.arange(1500) % 3 == 0, 0, DATA["event"])), link="logit")
    mended = shifted.recalibrate(NEW, method)
    p = mended.predict(NEW)
    assert p.mean() == pytest.approx(NEW["event"].mean(), rel=0.1)
    assert abs(shifted.predict(NEW).mean() - NEW["event"].mean()) > abs(p.mean() - NEW["event"].mean())
    assert len(mended.predict()) == 1500


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


def test_weighted_rows_are_not_resampled():
    weighted = gevglm.fit(FORMULA, DATA, freq_weights=np.ones(1500), xi=0.5)
    with pytest.raises(InvalidDataError, match="single rows"):
        weighted.calibration(resampling="cv")
