import numpy as np
import pandas as pd
import pytest

from gevglm import calibration
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError

GOOD = [0, 1, 0, 1, 0, 1], [0.1, 0.4, 0.3, 0.35, 0.6, 0.8]
OF_PROBABILITIES = {
    "brier_score": calibration.brier_score,
    "scaled_brier_score": calibration.scaled_brier_score,
    "log_loss": calibration.log_loss,
    "brier_decomposition": calibration.brier_decomposition,
    "calibration_loss": calibration.calibration_loss,
    "expected_calibration_error": calibration.expected_calibration_error,
    "hosmer_lemeshow": calibration.hosmer_lemeshow,
    "spiegelhalter": calibration.spiegelhalter,
    "stukel": calibration.stukel,
    "pregibon": calibration.pregibon,
    "cox_calibration": calibration.cox_calibration,
    "integrated_calibration": calibration.integrated_calibration,
    "reliability": calibration.reliability,
    "calibration_belt": calibration.calibration_belt,
    "assess": calibration.assess,
    "loss_calibration_curve": lambda y, p, w=None: calibration.loss_calibration_curve(y, p, 0.9, weights=w),
    "loss_calibration_test": lambda y, p, w=None: calibration.loss_calibration_test(y, p, 0.9, weights=w),
}
OF_SCORES = {
    "auc": calibration.auc,
    "auc_interval": calibration.auc_interval,
    "average_precision": calibration.average_precision,
    **{
        type(c).__name__: lambda y, s, w=None, c=c: c.fit(s, y, w)
        for c in (
            calibration.Logistic(),
            calibration.Platt(),
            calibration.AsymmetricLaplace(),
            calibration.PiecewiseLogistic(),
            calibration.Isotonic(),
            calibration.Beta(),
        )
    },
}
ALL = OF_PROBABILITIES | OF_SCORES
NEEDS_BOTH = set(ALL) - {
    "brier_score",
    "log_loss",
    "brier_decomposition",
    "calibration_loss",
    "expected_calibration_error",
    "spiegelhalter",
    "loss_calibration_curve",
}
NEEDS_LOG_ODDS = [
    "stukel",
    "pregibon",
    "cox_calibration",
    "integrated_calibration",
    "calibration_belt",
    "loss_calibration_test",
]
NEEDS_DISTINCT = [
    *NEEDS_LOG_ODDS,
    "assess",
    "Logistic",
    "Platt",
    "AsymmetricLaplace",
    "PiecewiseLogistic",
    "Isotonic",
    "Beta",
]
each_function = pytest.mark.parametrize("name", ALL)


@pytest.mark.parametrize("name", OF_PROBABILITIES)
def test_probabilities_outside_the_unit_interval_are_counted(name):
    with pytest.raises(InvalidDataError, match=r"2 of 6 probabilities are not in \[0, 1\] \(the first is 1.2\)"):
        ALL[name](GOOD[0], [0.1, 1.2, 0.3, 0.35, -0.6, 0.8])


@each_function
def test_missing_and_infinite_predictions_are_counted_and_located(name):
    with pytest.raises(InvalidDataError, match=r"2 missing and 1 infinite values among 6 \(the first in row 1\)"):
        ALL[name](GOOD[0], [0.1, np.nan, 0.3, np.inf, np.nan, 0.8])


@each_function
def test_missing_outcomes_are_counted(name):
    with pytest.raises(InvalidDataError, match="y has 1 missing"):
        ALL[name]([0, 1, np.nan, 1, 0, 1], GOOD[1])


@each_function
def test_outcomes_that_are_not_binary_are_counted(name):
    with pytest.raises(InvalidDataError, match=r"2 of 6 outcomes are not (0 or 1|in \[0, 1\]) \(the first is 2\)"):
        ALL[name]([0, 1, 2, 1, 0, -1], GOOD[1])


def test_swapped_arguments_are_guessed():
    with pytest.raises(InvalidDataError, match="swapped"):
        calibration.cox_calibration(GOOD[1], GOOD[0])


@each_function
def test_words_are_not_outcomes(name):
    with pytest.raises(InvalidDataError, match="y must be numbers, got values such as 'no'"):
        ALL[name](["no", "yes"] * 3, GOOD[1])


@each_function
def test_different_lengths_are_reported(name):
    with pytest.raises(InvalidDataError, match=r"y has 6 rows, but (p|scores) has 5"):
        ALL[name](GOOD[0], GOOD[1][:5])
    with pytest.raises(InvalidDataError, match="weights has 5 rows, but y has 6"):
        ALL[name](*GOOD, [1] * 5)


@each_function
def test_weights_must_be_positive_somewhere_and_negative_nowhere(name):
    with pytest.raises(InvalidDataError, match="all 6 weights are zero"):
        ALL[name](*GOOD, np.zeros(6))
    with pytest.raises(InvalidDataError, match=r"2 weights are negative \(the smallest is -3\)"):
        ALL[name](*GOOD, [1, -1, 1, -3, 1, 1])
    with pytest.raises(InvalidDataError, match="weights has 1 missing"):
        ALL[name](*GOOD, [1, np.nan, 1, 1, 1, 1])


@each_function
def test_series_with_different_indexes_are_refused(name):
    with pytest.raises(InvalidDataError, match="different indexes"):
        ALL[name](pd.Series(GOOD[0]), pd.Series(GOOD[1], index=range(1, 7)))


@each_function
def test_empty_and_two_dimensional_input_is_refused(name):
    with pytest.raises(InvalidDataError, match="no rows"):
        ALL[name]([], [])
    with pytest.raises(InvalidDataError, match=r"shape \(6, 1\)"):
        ALL[name](GOOD[0], np.array(GOOD[1])[:, None])


@pytest.mark.parametrize("name", sorted(NEEDS_BOTH))
def test_one_outcome_only_is_refused_where_two_are_needed(name):
    with pytest.raises(InvalidDataError, match="both outcomes, but all 6 observations are events"):
        ALL[name]([1] * 6, GOOD[1])
    with pytest.raises(InvalidDataError, match="all 4 observations are non-events"):
        ALL[name](GOOD[0], GOOD[1], [1, 0, 1, 0, 2, 0])


@pytest.mark.parametrize("name", sorted(set(ALL) - NEEDS_BOTH))
def test_one_outcome_only_is_fine_elsewhere(name):
    ALL[name]([0] * 6, GOOD[1])


@pytest.mark.parametrize("name", NEEDS_LOG_ODDS)
def test_exact_zeros_and_ones_are_counted_where_log_odds_are_needed(name):
    with pytest.raises(InvalidDataError, match="1 probabilities are exactly 0 and 2 exactly 1"):
        ALL[name](GOOD[0], [0.0, 1.0, 0.3, 0.5, 1.0, 0.4])


@pytest.mark.parametrize("name", NEEDS_DISTINCT)
def test_equal_predictions_are_refused_where_they_must_differ(name):
    with pytest.raises(InvalidDataError, match=r"distinct predictions, but the 6 rows have 1 \(the first is 0\.3\)"):
        ALL[name](GOOD[0], [0.3] * 6)


def test_equal_predictions_are_fine_elsewhere():
    assert calibration.auc(GOOD[0], [0.3] * 6) == 0.5
    assert calibration.average_precision(GOOD[0], [0.3] * 6) == 0.5
    assert calibration.auc_interval(GOOD[0], [0.3] * 6).se == 0.0
    assert calibration.reliability(GOOD[0], [0.3] * 6).dsc == pytest.approx(0.0)
    with pytest.raises(InvalidDataError, match="1 groups only"):
        calibration.hosmer_lemeshow(GOOD[0], [0.3] * 6, in_sample=True)


def test_probabilities_without_variance_have_no_z():
    with pytest.raises(InvalidDataError, match="all 3 probabilities are 0, 1/2 or 1"):
        calibration.spiegelhalter([0, 1, 1], [0.0, 0.5, 1.0])


def test_one_event_has_no_standard_error_of_the_auc():
    with pytest.raises(InvalidDataError, match="two observations of each outcome, got 1 and 3"):
        calibration.auc_interval([0, 0, 1, 0], [0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("level", [0, 1, 95, "high"])
def test_impossible_levels_are_refused(level):
    with pytest.raises(InvalidOptionError, match="level="):
        calibration.cox_calibration(*GOOD, level=level)


@pytest.mark.parametrize("bins", [0, -1, 2.5, True])
def test_impossible_numbers_of_bins_are_refused(bins):
    with pytest.raises(InvalidOptionError, match="bins="):
        calibration.calibration_loss(*GOOD, bins=bins)


def test_unknown_words_are_refused_with_the_known_ones():
    with pytest.raises(InvalidOptionError, match="'width', 'mass'"):
        calibration.expected_calibration_error(*GOOD, by="size")
    with pytest.raises(InvalidOptionError, match="1, 2, inf"):
        calibration.expected_calibration_error(*GOOD, norm=3)
    with pytest.raises(InvalidOptionError, match="'score', 'lr'"):
        calibration.stukel(*GOOD, method="wald")


def test_resampling_needs_rows_that_fit():
    with pytest.raises(InvalidDataError, match="data has 4 rows, but y has 6"):
        calibration.bootstrap_optimism(lambda d, y: None, np.zeros((4, 1)), GOOD[0])
    with pytest.raises(InvalidOptionError, match="folds=1"):
        calibration.cross_validated(lambda d, y: None, np.zeros((6, 1)), GOOD[0], folds=1)


def test_weights_of_a_bootstrap_must_be_whole_numbers():
    with pytest.raises(InvalidDataError, match=r"not whole numbers; 2 of 6 are not \(the first is 0.5\)"):
        calibration.bootstrap_optimism(lambda d, y: None, np.zeros((6, 1)), GOOD[0], weights=[1, 0.5, 1, -1, 1, 1])
    with pytest.raises(InvalidDataError, match="weights has 2 rows, but y has 6"):
        calibration.bootstrap_optimism(lambda d, y: None, np.zeros((6, 1)), GOOD[0], weights=[1, 2])


@pytest.mark.parametrize(
    "name",
    sorted(NEEDS_BOTH - {"scaled_brier_score", "auc", "average_precision", "reliability", "integrated_calibration"}),
)
def test_normalised_weights_are_refused_where_weights_are_numbers_of_observations(name):
    with pytest.raises(InvalidDataError, match=r"add up to 1; multiply normalised weights|two observations of each"):
        ALL[name](*GOOD, np.full(6, 1 / 6))


def test_weights_with_another_index_are_refused():
    y, p = (pd.Series(values) for values in GOOD)
    with pytest.raises(InvalidDataError, match="y and weights are Series with different indexes"):
        calibration.brier_score(y, p, pd.Series(np.ones(6), index=range(1, 7)))
    with pytest.raises(InvalidDataError, match="p and weights"):
        calibration.brier_score(y.to_numpy(), p, pd.Series(np.ones(6), index=range(1, 7)))


@pytest.mark.parametrize("resamples", [0, 1, 10.5, True])
def test_impossible_numbers_of_resamples_are_refused(resamples):
    with pytest.raises(InvalidOptionError, match="resamples="):
        calibration.assess(*GOOD, resamples=resamples)
    with pytest.raises(InvalidOptionError, match="resamples="):
        calibration.bootstrap_optimism(lambda d, y: None, np.zeros((6, 1)), GOOD[0], resamples=resamples)


def test_levels_and_threshold_of_the_belt_are_checked_by_name():
    with pytest.raises(InvalidOptionError, match="threshold=2"):
        calibration.calibration_belt(*GOOD, threshold=2)
    with pytest.raises(InvalidOptionError, match="levels="):
        calibration.calibration_belt(*GOOD, levels=(0.8, 95))
    assert list(calibration.calibration_belt(*GOOD, levels=0.9).bounds) == [0.9]


@pytest.mark.parametrize("calibrator", [calibration.Platt, calibration.AsymmetricLaplace, calibration.Isotonic])
def test_an_unfitted_calibrator_has_no_summary(calibrator):
    for ask in (calibrator().summary, calibrator().summary_frame):
        with pytest.raises(GevglmError, match="not fitted yet"):
            ask()


def test_ties_everywhere():
    rng = np.random.default_rng(0)
    p = rng.choice([0.1, 0.3], 400)
    y = (rng.random(400) < p).astype(int)
    assessed = calibration.assess(y, p, rng=0, resamples=20)
    assert [note.split(":")[0] for note in assessed.notes] == ["Without Stukel's test", "Without Pregibon's test"]
    assert np.isfinite(assessed.summary_frame()["estimate"].dropna()).all()
    for calibrator in (calibration.Logistic(), calibration.Isotonic(), calibration.Beta("am")):
        rates = [y[p == s].mean() for s in (0.1, 0.3)]
        np.testing.assert_allclose(calibrator.fit(p, y).predict([0.1, 0.3]), rates, rtol=1e-6)
    with pytest.raises(InvalidDataError, match="beta calibration with three parameters needs at least 3 distinct"):
        calibration.Beta().fit(p, y)
