"""Sentences of reports about calibration: they follow every test that the table shows."""

import numpy as np
import pytest
from scipy.special import expit

from gevglm.calibration import assess
from gevglm.calibration.estimates import CalibrationTest
from gevglm.report.assessment import TESTS, Assessed
from gevglm.report.findings import about_predictions


@pytest.fixture(scope="module")
def assessment():
    rng = np.random.default_rng(3)
    eta = rng.normal(-2.0, 1.0, 1_500)
    return assess(rng.random(1_500) < expit(eta), expit(eta), belt=False, resamples=20, rng=0)


def sentence(assessment, pvalues):
    tests = {name: CalibrationTest(name, 1.0, p, 1) for name, p in pvalues.items()}
    return str(about_predictions(assessment, "on new rows", tests)[-1])


@pytest.mark.parametrize(
    "pvalues, expected",
    [
        ((0.5, 0.12, 0.009), "more than chance explains (Stukel: p = 0.009, the smallest of 3, and 0.027 after Holm"),
        (
            (0.04, 0.12, 0.3),
            "which may be chance (intercept 0 and slope 1: p = 0.040, the smallest of 3, and 0.12 after",
        ),
        ((0.9, 0.8, 0.7), "which may be chance (Stukel: p = 0.70, the smallest of 3, and 1.00 after Holm"),
        ((1e-9, 0.8, 0.7), "more than chance explains (intercept 0 and slope 1: p &lt; 0.001"),
    ],
)
def test_whether_it_is_chance_is_said_by_all_tests(assessment, pvalues, expected):
    found = sentence(assessment, dict(zip(TESTS, pvalues, strict=True)))
    assert expected in found


def test_one_test_needs_no_correction_and_none_says_nothing(assessment):
    assert sentence(assessment, {"Stukel": 0.04}).endswith("more than chance explains (Stukel: p = 0.040).")
    assert sentence(assessment, {}).endswith("away from them on average.")


def test_tests_that_do_not_hold_are_neither_shown_nor_spoken_of(assessment):
    assert list(Assessed(assessment, "", weighted=False).tests) == list(TESTS)
    assert Assessed(assessment, "", weighted=True).tests == {}
