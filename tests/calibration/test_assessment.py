from dataclasses import asdict

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal
from scipy.special import expit
from threadpoolctl import threadpool_limits

from gevglm import calibration
from gevglm.calibration import assess
from gevglm.exceptions import GevglmWarning, InvalidDataError, InvalidOptionError


def test_every_number_is_that_of_its_own_function(judged):
    y, p = judged.y, judged.p
    frame = assess(y, p, rng=0).summary_frame()
    cox, smooth, corp = (
        calibration.cox_calibration(y, p),
        calibration.integrated_calibration(y, p),
        calibration.reliability(y, p),
    )
    for name, expected in {
        "Brier score": calibration.brier_score(y, p),
        "scaled Brier score": calibration.scaled_brier_score(y, p),
        "log loss": calibration.log_loss(y, p),
        "AUC": calibration.auc(y, p),
        "average precision": calibration.average_precision(y, p),
        "observed / expected": y.sum() / p.sum(),
        "calibration in the large": cox.in_the_large,
        "calibration slope": cox.slope,
        "calibration intercept": cox.intercept,
        "ICI": smooth.ici,
        "Emax": smooth.emax,
        "calibration loss, 10 bins": calibration.calibration_loss(y, p),
        "ECE, equal mass": calibration.expected_calibration_error(y, p, by="mass"),
        "miscalibration (Brier)": corp.mcb,
        "discrimination (log)": corp.log.dsc,
    }.items():
        assert_allclose(frame.loc[name, "estimate"], expected, rtol=1e-8, err_msg=name)
    for name, test in {
        "intercept 0 and slope 1": cox.test,
        "calibration slope": cox.test_slope,
        "Spiegelhalter z": calibration.spiegelhalter(y, p),
        "Hosmer-Lemeshow": calibration.hosmer_lemeshow(y, p),
        "calibration belt": calibration.calibration_belt(y, p).test,
        "Stukel": calibration.stukel(y, p),
        "Pregibon link test": calibration.pregibon(y, p),
    }.items():
        found = frame.loc[name, ["statistic", "df", "pvalue"]].astype(float)
        assert_allclose(found, [test.statistic, test.df, test.pvalue], rtol=1e-6, err_msg=name)


def test_the_summary_is_text_html_and_latex(judged):
    assessed = assess(judged.y, judged.p, rng=0)
    text = str(assessed.summary())
    assert "153 (15.3 %)" in text and "calibration slope" in text and "not fitted to these data" in text
    assert str(assessed) == text
    assert "<table" in assessed.summary().as_html() and "tabular" in assessed.summary().as_latex()


def test_in_sample_changes_the_degrees_of_freedom(judged):
    inside = assess(judged.y, judged.p, in_sample=True, rng=0)
    assert inside.tests["Hosmer-Lemeshow"].df == 8 and inside.belt.in_sample
    assert "fitted to these data" in str(inside)


def test_a_seed_gives_the_same_answer_and_parts_can_be_left_out(judged):
    first, second = (assess(judged.y, judged.p, rng=3, resamples=20) for _ in range(2))
    assert_equal(*(asdict(found.tests["CORP, resampling"]) for found in (first, second)))  # also where both are NaN
    bare = assess(judged.y, judged.p, band=None, belt=False)
    assert bare.belt is None and bare.reliability.band is None
    assert "CORP, resampling" not in bare.tests and "calibration belt" not in bare.tests


def test_the_number_of_cores_does_not_matter():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.01, 0.4, 60_000)
    y, groups = rng.random(60_000) < p, rng.integers(0, 50, 60_000)
    found = []
    for cores in (1, 2):
        with threadpool_limits(cores, "blas"):
            found.append([assess(y, p, rng=0), assess(y, p, rng=0, groups=groups)])
    for one, two in zip(*found, strict=True):
        assert_equal(one.summary_frame().to_numpy(), two.summary_frame().to_numpy())


def test_limits_cover_the_true_score(simulated):
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    risk = expit(-1.0 + 1.2 * nodes)
    truth = weights @ (risk * (1 - risk)) / weights.sum()
    covered = []
    for seed in range(100):
        brier = assess(*simulated(500, center=-1.0, seed=seed), band=None, belt=False, level=0.9, resamples=2).indices[
            "Brier score"
        ]
        covered.append(brier.lower < truth < brier.upper)
    assert 0.9 - 3.5 * 0.03 < np.mean(covered) < 0.99


def test_exact_zeros_and_ones_are_counted_and_the_rest_is_assessed(simulated):
    y, p = simulated(500)
    p[:5], p[5:7], y[0] = 0.0, 1.0, 1.0
    assessed = assess(y, p, rng=0)
    assert assessed.cox is None and assessed.belt is None and assessed.smooth.method == "loess"
    assert assessed.indices["log loss"] == np.inf
    notes = " ".join(assessed.notes)
    assert "5 probabilities are exactly 0 and 2 exactly 1" in notes
    assert "log loss is infinite: 1 events have probability 0" in notes
    assert "inf" in str(assessed)


def test_separated_outcomes_are_noted():
    y, p = np.repeat([0, 1], 20), np.linspace(0.05, 0.95, 40)
    assessed = assess(y, p, rng=0)
    assert assessed.cox is None
    assert any("separate the outcomes" in note for note in assessed.notes)


def test_bins_without_events_are_no_obstacle():
    rng = np.random.default_rng(0)
    p = np.concatenate([np.full(900, 0.001), rng.uniform(0.1, 0.9, 100)])
    y = np.concatenate([np.zeros(900), rng.random(100) < p[900:]])
    assessed = assess(y, p, rng=0)
    assert np.isfinite(assessed.summary_frame()["estimate"].dropna()).all()


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([0, 0, 0], [0.1, 0.2, 0.3], "all 3 observations are non-events"),
        ([0, 1, 0], [0.2, 0.2, 0.2], "at least 2 distinct predictions, but the 3 rows have 1"),
    ],
)
def test_what_cannot_be_assessed_is_refused(y, p, message):
    with pytest.raises(InvalidDataError, match=message):
        assess(y, p)


# -- honest numbers in-sample ------------------------------------------------------------------


def overfitting(rows, y):
    """A logistic regression on noise columns."""
    from gevglm.calibration._logistic import fit_logistic

    design = np.column_stack([np.ones(len(rows)), rows])
    params = fit_logistic(design, y, np.ones(len(y)), what="the model").params
    return lambda new: expit(np.column_stack([np.ones(len(new)), new]) @ params)


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(250, 12))
    return rows, (rng.random(250) < expit(-1 + rows[:, 0])).astype(float), rng


def test_the_bootstrap_finds_the_optimism_of_a_model_with_noise_columns(noisy):
    rows, y, rng = noisy
    found = calibration.bootstrap_optimism(overfitting, rows, y, resamples=60, rng=0).frame
    assert_allclose(found.loc["calibration slope", "apparent"], 1.0, atol=1e-6)
    means = found.drop(index="Emax")
    assert_allclose(means["corrected"], means["apparent"] - (means["training"] - means["test"]))
    new = rng.normal(size=(50_000, 12))
    truth = (rng.random(50_000) < expit(-1 + new[:, 0])).astype(float)
    model = overfitting(rows, y)
    for name, index in (("AUC", calibration.auc), ("Brier score", calibration.brier_score)):
        actual = index(truth, model(new))
        apparent, corrected = found.loc[name, ["apparent", "corrected"]]
        assert abs(corrected - actual) < abs(apparent - actual)
    assert found.loc["calibration slope", "corrected"] < 0.9
    assert list(found.index) == list(calibration.assess(y, model(rows), resamples=2, belt=False).indices)


def test_the_number_of_workers_does_not_matter(noisy):
    rows, y, _ = noisy
    one, two = (
        calibration.bootstrap_optimism(overfitting, rows, y, resamples=8, rng=4, workers=workers).frame
        for workers in (1, 2)
    )
    assert one.equals(two)


def test_refits_that_fail_are_counted(noisy):
    rows, y, _ = noisy
    calls = []

    def sometimes(part, outcomes):
        calls.append(1)
        if len(calls) == 3:
            raise InvalidDataError("no luck")
        return overfitting(part, outcomes)

    with pytest.warns(GevglmWarning, match="1 of 6 refits failed and are left out; the first because no luck"):
        found = calibration.bootstrap_optimism(sometimes, rows, y, resamples=6, rng=0)
    assert (found.resamples, found.failed) == (5, 1)
    assert "Failed" in str(found.summary())


def test_resamples_with_one_outcome_are_counted_as_failed():
    sklearn = pytest.importorskip("sklearn.linear_model")
    rows, y = np.random.default_rng(0).normal(size=(60, 1)), np.isin(np.arange(60), [3, 9]).astype(int)
    with pytest.warns(GevglmWarning, match="refits failed and are left out; the first because resampling needs both"):
        found = calibration.bootstrap_optimism(
            lambda rows, y: sklearn.LogisticRegression().fit(rows, y),
            rows,
            y,
            indices=lambda y, p: {"Brier score": calibration.brier_score(y, p)},
            resamples=20,
            rng=0,
        )
    assert found.failed >= 1 and 0 < found.frame.loc["Brier score", "corrected"] < 0.1


def test_probabilities_of_classifiers_are_used_and_not_their_classes(noisy):
    sklearn = pytest.importorskip("sklearn.linear_model")
    rows, y, _ = noisy
    by_object = calibration.cross_validated(lambda x, y: sklearn.LogisticRegression(C=np.inf).fit(x, y), rows, y, rng=0)
    by_hand = calibration.cross_validated(overfitting, rows, y, rng=0)
    assert_allclose(by_object, by_hand, atol=1e-3)


def test_the_calibration_curve_is_corrected_for_optimism(noisy):
    rows, y, _ = noisy
    found = calibration.bootstrap_optimism(overfitting, rows, y, resamples=40, rng=0)
    curve = found.curve.dropna()
    assert ((curve > 0) & (curve < 1)).all(axis=None)
    p = overfitting(rows, y)(rows)
    smooth = calibration.integrated_calibration(y, p).curve
    assert_allclose(curve["apparent"], np.interp(curve.index, smooth.x, smooth.fitted), atol=1e-3)
    low, high = curve.loc[: np.quantile(p, 0.1)], curve.loc[np.quantile(p, 0.9) :]
    assert (low["corrected"] > low["apparent"]).all() and (high["corrected"] < high["apparent"]).all()


@pytest.mark.parametrize("workers", [0, -1, "two", 1.5, True])
def test_impossible_numbers_of_workers_are_refused(noisy, workers):
    rows, y, _ = noisy
    for resample in (calibration.bootstrap_optimism, calibration.cross_validated):
        with pytest.raises(InvalidOptionError, match="workers="):
            resample(overfitting, rows, y, workers=workers)


def test_a_procedure_that_returns_nothing_is_refused(noisy):
    rows, y, _ = noisy
    with pytest.raises(InvalidOptionError, match="fit returned None, which cannot predict"):
        calibration.bootstrap_optimism(lambda rows, y: None, rows, y)


def test_cross_validated_predictions_come_from_the_other_folds(noisy):
    rows, y, _ = noisy
    seen = []

    def remembering(part, outcomes):
        seen.append((len(part), outcomes.sum()))
        return overfitting(part, outcomes)

    predicted = calibration.cross_validated(remembering, rows, y, folds=5, rng=0)
    assert [n for n, _ in seen] == [200] * 5
    assert np.ptp([events for _, events in seen]) <= 1
    apparent = overfitting(rows, y)(rows)
    assert calibration.auc(y, predicted) < calibration.auc(y, apparent)
    assert calibration.cox_calibration(y, predicted).slope < 1.0


def test_the_optimism_of_a_maximum_is_not_subtracted(noisy):
    """The difference is noise: subtracted, it would leave less than the mean distance, and sometimes less than nothing."""
    rows, y, _ = noisy
    found = calibration.bootstrap_optimism(overfitting, rows, y, resamples=20, rng=0)
    largest, others = found.frame.loc["Emax"], found.frame.drop(index="Emax")
    assert np.isnan(largest[["optimism", "corrected"]]).all() and (largest[["apparent", "training", "test"]] > 0).all()
    assert others.notna().all(axis=None)
    assert "Emax, a maximum, is not corrected" in str(found)
    without = calibration.bootstrap_optimism(
        overfitting, rows, y, indices=lambda y, p: {"Brier": float(np.mean((y - p) ** 2))}, resamples=5, rng=0
    )
    assert "Emax" not in str(without)
