import inspect

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.special import logit

from gevglm import calibration
from gevglm.exceptions import InvalidDataError


def binomial(y, *columns, offset=None):
    design = np.column_stack([np.ones(len(y)), *columns])
    return sm.GLM(y, design, family=sm.families.Binomial(), offset=offset).fit(tol=1e-12, tol_criterion="params")


def test_hosmer_and_lemeshow_over_ties_and_bins_without_events():
    y = np.array([0] * 40 + [0] * 15 + [1] * 5 + [0] * 10 + [1] * 10)
    p = np.repeat([0.01, 0.2, 0.6], [40, 20, 20])
    test = calibration.hosmer_lemeshow(y, p, in_sample=True)
    expected = (0 - 0.4) ** 2 / (0.4 * 0.99) + (5 - 4) ** 2 / (4 * 0.8) + (10 - 12) ** 2 / (12 * 0.4)
    assert test.df == 1
    assert_allclose(test.statistic, expected, rtol=1e-12)


def test_hosmer_and_lemeshow_accept_certain_groups_that_come_true():
    y, p = [0, 0, 1, 0, 1, 1], [0.0, 0.0, 0.4, 0.4, 0.8, 0.8]
    assert np.isfinite(calibration.hosmer_lemeshow(y, p).statistic)
    with pytest.raises(InvalidDataError, match="2 groups only"):
        calibration.hosmer_lemeshow([0, 1, 1, 0], [0.2, 0.2, 0.8, 0.8], in_sample=True)


def test_certain_groups_that_fail_have_an_infinite_statistic():
    test = calibration.hosmer_lemeshow([0, 1, 1, 0, 1, 1], [0.0, 0.0, 0.4, 0.4, 0.8, 0.8])
    assert test.statistic == np.inf and test.pvalue == 0.0


def test_spiegelhalters_z_by_hand():
    y, p = np.array([0, 1, 1]), np.array([0.2, 0.4, 0.9])
    lean = 1 - 2 * p
    z = ((y - p) * lean).sum() / np.sqrt((lean**2 * p * (1 - p)).sum())
    assert_allclose(calibration.spiegelhalter(y, p).statistic, z, rtol=1e-14)


@pytest.mark.parametrize("name", ["stukel", "pregibon"])
def test_link_tests_equal_the_tests_of_statsmodels(simulated, name):
    y, p = simulated(center=0.0, stretch=0.8)
    eta = logit(p)
    added = [0.5 * eta**2 * (eta >= 0), -0.5 * eta**2 * (eta < 0)] if name == "stukel" else [eta**2]
    null, full = binomial(y, eta), binomial(y, eta, *added)
    likelihood = getattr(calibration, name)(y, p, method="lr")
    assert_allclose(likelihood.statistic, 2 * (full.llf - null.llf), rtol=1e-8)
    score = getattr(calibration, name)(y, p)
    expected = null.score_test(exog_extra=np.column_stack(added))
    assert_allclose([score.statistic, score.pvalue], [np.squeeze(value) for value in expected[:2]], rtol=1e-7)
    assert score.df == len(added)


def test_stukels_test_has_one_degree_of_freedom_if_all_predictions_are_below_one_half(simulated):
    y, p = simulated(center=-4.0, spread=0.5)
    assert p.max() < 0.5
    assert calibration.stukel(y, p).df == 1


def test_link_tests_find_a_wrong_link_and_leave_a_right_one(simulated):
    rng = np.random.default_rng(3)
    eta = rng.normal(0, 2, 5000)
    y = rng.random(5000) < 1 - np.exp(-np.exp(eta))
    fitted = binomial(y.astype(float), eta).fittedvalues
    assert calibration.pregibon(y, fitted).pvalue < 1e-6
    assert calibration.stukel(y, fitted).pvalue < 1e-6
    y, p = simulated(5000, center=0.0)
    assert calibration.pregibon(y, p).pvalue > 0.01
    assert calibration.stukel(y, p).pvalue > 0.01


def test_tests_hold_their_level_on_calibrated_predictions(simulated):
    rejected = np.zeros(5)
    for seed in range(200):
        y, p = simulated(400, center=-1.0, seed=seed)
        pvalues = [
            calibration.spiegelhalter(y, p).pvalue,
            calibration.hosmer_lemeshow(y, p).pvalue,
            calibration.cox_calibration(y, p).test.pvalue,
            calibration.stukel(y, p).pvalue,
            calibration.pregibon(y, p).pvalue,
        ]
        rejected += np.array(pvalues) < 0.05
    assert (rejected / 200 < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 200)).all()


def test_hosmer_and_lemeshow_hold_their_level_on_new_data_by_default(simulated):
    """Taking them for fitted, as the default once did, rejects twice as often as it should."""
    pvalues = {False: [], True: []}
    for seed in range(400):
        y, p = simulated(1_000, center=-1.0, seed=seed)
        pvalues[False].append(calibration.hosmer_lemeshow(y, p).pvalue)
        pvalues[True].append(calibration.hosmer_lemeshow(y, p, in_sample=True).pvalue)
    level = {key: np.mean(np.array(values) < 0.05) for key, values in pvalues.items()}
    assert abs(level[False] - 0.05) < 3.0 * np.sqrt(0.05 * 0.95 / 400)
    assert level[True] > 0.08


def test_in_sample_means_the_same_everywhere(judged):
    functions = (calibration.hosmer_lemeshow, calibration.calibration_belt, calibration.assess)
    assert {inspect.signature(function).parameters["in_sample"].default for function in functions} == {False}
    for inside, words in ((False, "not fitted to these data"), (True, "predictions fitted to these data")):
        for function in functions[:2]:
            found = function(judged.y, judged.p, in_sample=inside)
            test = getattr(found, "test", found)
            assert words in test.null and words in repr(test)


# -- recalibration -----------------------------------------------------------------------------


def test_recalibration_equals_statsmodels(simulated):
    y, p = simulated(shift=0.4, stretch=0.7)
    cox, both, large = (
        calibration.cox_calibration(y, p),
        binomial(y, logit(p)),
        binomial(y, offset=logit(p)),
    )
    assert_allclose([cox.intercept, cox.slope], both.params, rtol=1e-9)
    assert_allclose([cox.intercept.se, cox.slope.se], both.bse, rtol=1e-7)
    assert_allclose([cox.in_the_large, cox.in_the_large.se], [large.params[0], large.bse[0]], rtol=1e-7)


def test_the_two_tests_add_up_to_the_joint_one(simulated):
    cox = calibration.cox_calibration(*simulated(shift=0.3, stretch=0.8))
    assert_allclose(cox.test_in_the_large.statistic + cox.test_slope.statistic, cox.test.statistic, rtol=1e-9)
    assert (cox.test.df, cox.test_in_the_large.df, cox.test_slope.df) == (2, 1, 1)


def test_recalibrated_predictions_have_intercept_zero_and_slope_one(simulated):
    y, p = simulated(shift=0.5, stretch=0.6)
    again = calibration.cox_calibration(y, calibration.cox_calibration(y, p).calibrated(p))
    assert_allclose([again.intercept, again.slope, again.in_the_large], [0.0, 1.0, 0.0], atol=1e-9)


def test_predictions_that_separate_the_outcomes_have_no_slope():
    with pytest.raises(InvalidDataError, match="separate the outcomes perfectly"):
        calibration.cox_calibration([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
