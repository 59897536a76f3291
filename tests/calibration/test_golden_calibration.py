"""Against rms, CalibrationCurves, ResourceSelection, givitiR, reliabilitydiag and pROC."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from gevglm import calibration

TIGHT = {"rtol": 1e-10, "atol": 1e-13}  # closed forms and converged fits on both sides


def test_scores_equal_those_of_rms(judged):
    y, p, r = judged.y, judged.p, judged.r
    assert_allclose(calibration.brier_score(y, p), r["brier"], **TIGHT)
    assert_allclose(calibration.log_loss(y, p), r["log_loss"], **TIGHT)
    assert_allclose(
        calibration.scaled_brier_score(y, p), r["packages"]["val_prob_ci_2"]["stats"]["Brier scaled"], **TIGHT
    )


def test_the_auc_and_its_interval_equal_those_of_proc(judged):
    area = calibration.auc_interval(judged.y, judged.p)
    assert_allclose(calibration.auc(judged.y, judged.p), judged.r["auc"], **TIGHT)
    assert_allclose(area.se**2, judged.r["auc_delong_var"], **TIGHT)
    assert_allclose([area.lower, area, area.upper], judged.r["auc_delong_ci95"], **TIGHT)


@pytest.mark.parametrize("bins", [5, 8, 10])
def test_hosmer_and_lemeshow_equal_resource_selection(judged, bins):
    test, expected = (
        calibration.hosmer_lemeshow(judged.y, judged.p, bins=bins, in_sample=True),
        judged.r["packages"]["hosmer_lemeshow"][f"g{bins}"],
    )
    for known in (expected, judged.r["hosmer_lemeshow"][f"g{bins}"]):
        assert_allclose([test.statistic, test.pvalue], [known["statistic"], known["p_value"]], **TIGHT)
        assert test.df == known["df"]


def test_hosmer_and_lemeshow_out_of_sample_has_as_many_degrees_of_freedom_as_groups(judged):
    test, expected = (
        calibration.hosmer_lemeshow(judged.y, judged.p),
        judged.r["hosmer_lemeshow_external"],
    )
    assert test.df == 10
    assert_allclose([test.statistic, test.pvalue], [expected["statistic"], expected["p_value"]], **TIGHT)


@pytest.mark.parametrize(("by", "name"), [("width", "errors_equal_width"), ("mass", "errors_equal_mass")])
@pytest.mark.parametrize(("norm", "key"), [(1, "ece"), (2, "rms"), (np.inf, "mce")])
def test_calibration_errors_over_bins(judged, by, name, norm, key):
    error = calibration.expected_calibration_error(judged.y, judged.p, by=by, norm=norm)
    assert_allclose(error, judged.r[name][key], **TIGHT)


def test_spiegelhalters_z_equals_that_of_rms(judged):
    test, expected = calibration.spiegelhalter(judged.y, judged.p), judged.r["val_prob"]
    assert_allclose([test.statistic, test.pvalue], [expected["S:z"], expected["S:p"]], **TIGHT)


def test_recalibration_equals_glm(judged):
    cox, expected = calibration.cox_calibration(judged.y, judged.p), judged.r["recalibration"]
    assert_allclose([cox.intercept, cox.slope], expected["slope_model"]["coef"], rtol=2e-9)
    assert_allclose(cox.cov, expected["slope_model"]["vcov"], rtol=1e-7)
    assert_allclose(cox.llf, expected["slope_model"]["loglik"], **TIGHT)
    assert_allclose(cox.in_the_large, expected["in_the_large"]["coef"], rtol=1e-10)
    assert_allclose(cox.in_the_large.se, expected["in_the_large"]["se"], rtol=1e-7)
    assert_allclose(cox.llf_predicted, expected["loglik_predicted"], **TIGHT)


def test_recalibration_equals_val_prob_and_val_prob_ci_2(judged):
    cox = calibration.cox_calibration(judged.y, judged.p)
    rms, curves = judged.r["val_prob"], judged.r["packages"]["val_prob_ci_2"]
    assert_allclose([cox.intercept, cox.slope], [rms["Intercept"], rms["Slope"]], rtol=1e-8)
    assert_allclose([cox.test.statistic, cox.test.pvalue], [rms["U:Chi-sq"], rms["U:p"]], rtol=1e-10)
    assert_allclose(cox.unreliability, rms["U"], rtol=1e-10)
    for name, measured in (("Intercept", cox.in_the_large), ("Slope", cox.slope)):
        assert_allclose(
            [measured, *measured.interval], list(curves["Calibration"][name].values()), rtol=1e-6, atol=1e-9
        )
    assert_allclose(
        [cox.discrimination, cox.quality, cox.r_squared], [curves["stats"][key] for key in ("D", "Q", "R2")], rtol=1e-10
    )


def test_discrimination_of_rms_takes_the_predictions_as_they_are(judged):
    cox, rms = calibration.cox_calibration(judged.y, judged.p), judged.r["val_prob"]
    gain = 2 * (cox.llf_predicted - cox.llf_null)
    assert_allclose([gain, (gain - 1) / cox.n], [rms["D:Chi-sq"], rms["D"]], rtol=1e-10)
    assert_allclose((gain - 1) / cox.n - cox.unreliability, rms["Q"], rtol=1e-10)
    assert_allclose(np.expm1(-gain / cox.n) / np.expm1(2 * cox.llf_null / cox.n), rms["R2"], rtol=1e-10)


def test_emax_of_val_prob_ci_2_is_that_of_the_logistic_recalibration(judged):
    grid = np.arange(0.0005, 1.0, 0.0005)
    distance = np.abs(calibration.cox_calibration(judged.y, judged.p).calibrated(grid) - grid)
    assert_allclose(distance.max(), judged.r["packages"]["val_prob_ci_2"]["stats"]["Emax"], atol=1e-8)


def test_lowess_distances_equal_those_of_rms(judged):
    smooth, expected = (
        calibration.integrated_calibration(judged.y, judged.p, method="lowess"),
        judged.r["val_prob"],
    )
    assert_allclose(
        [smooth.ici, smooth.e90, smooth.emax], [expected[key] for key in ("Eavg", "E90", "Emax")], rtol=1e-8
    )


def test_loess_distances_equal_those_of_calibration_curves(judged):
    smooth, expected = (
        calibration.integrated_calibration(judged.y, judged.p, method="loess"),
        judged.r["packages"]["val_prob_ci_2"]["stats"],
    )
    assert_allclose([smooth.ici, smooth.eci], [expected["Eavg"], expected["ECI"]], rtol=1e-8)


def test_the_parts_of_the_brier_score_equal_reliabilitydiag(judged):
    corp, expected = calibration.reliability(judged.y, judged.p), judged.r["packages"]["reliabilitydiag"]
    names = ("mean_score", "miscalibration", "discrimination", "uncertainty")
    assert_allclose([corp.score, corp.mcb, corp.dsc, corp.unc], [expected["summary"][name] for name in names], **TIGHT)


def test_the_isotonic_curve_equals_reliabilitydiag(judged):
    corp, expected = calibration.reliability(judged.y, judged.p), judged.r["packages"]["reliabilitydiag"]
    assert_allclose(corp.calibrated(judged.p), judged.r["corp"]["isotonic"], **TIGHT)
    for ours, theirs in (("x_min", "x_min"), ("x_max", "x_max"), ("rate", "CEP_pav"), ("n", "n")):
        assert_allclose(corp.blocks[ours], expected["bins"][theirs], **TIGHT)


@pytest.mark.parametrize(("in_sample", "name"), [(False, "external"), (True, "internal")])
def test_the_belts_test_equals_giviti(judged, in_sample, name):
    belt, expected = (
        calibration.calibration_belt(judged.y, judged.p, in_sample=in_sample),
        judged.r["packages"]["giviti"][name],
    )
    assert_allclose(belt.test.statistic, expected["statistic"], rtol=1e-9)
    assert_allclose(belt.test.pvalue, expected["p_value"], rtol=1e-7)
    assert belt.degree == len(expected["null.value"]) - 1


def test_wald_limits_are_normal(judged):
    slope = calibration.cox_calibration(judged.y, judged.p, level=0.9).slope
    assert_allclose((slope.upper - slope.lower) / (2 * slope.se), norm.isf(0.05), rtol=1e-12)
