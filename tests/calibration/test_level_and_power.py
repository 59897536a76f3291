"""Tests of calibration reject as often as theory says: level under calibration, power by the noncentral chi-squared distribution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, rel_entr
from scipy.stats import chi2, ncx2

from gevglm import calibration

SAMPLES = 400
ETA = np.linspace(-6.0, 0.0, 60)  # predicted log-odds, 100 observations each
SIZE = 100
INFORMATION = np.sqrt(expit(ETA) * expit(-ETA))
LINE = np.vander(ETA, 2) * INFORMATION[:, None]
BEND = (
    ETA**2 - np.vander(ETA, 2) @ np.linalg.lstsq(LINE, INFORMATION * ETA**2)[0]
)  # what intercept and slope do not see
TRUTHS = {
    "calibrated": ETA,
    "shifted": ETA + 0.14,
    "stretched": -2.0 + 0.88 * (ETA + 2.0),
    "bent": ETA + 0.14 * BEND,
}
CLAIMS = {
    "joint (Cox)": (expit(ETA), lambda y, p, w: calibration.cox_calibration(y, p, w).test),
    "loss calibration": (
        calibration.optimal_score(expit(ETA), 0.97),
        lambda y, p, w: calibration.loss_calibration_test(y, p, 0.97, weights=w),
    ),
    "belt": (expit(ETA), lambda y, p, w: calibration.calibration_belt(y, p, w, points=2).test),
}


def rejections(claim, truth, samples=SAMPLES):
    """Share of samples in which a test rejects at the 5 % level."""
    scores, test = CLAIMS[claim]
    rng = np.random.default_rng(7)
    y, p = np.repeat([1.0, 0.0], len(ETA)), np.tile(scores, 2)
    events = rng.binomial(SIZE, expit(TRUTHS[truth]), size=(samples, len(ETA)))
    return np.mean([test(y, p, np.concatenate([own, SIZE - own])).pvalue < 0.05 for own in events])


def error(share):
    return 3.5 * np.sqrt(share * (1 - share) / SAMPLES)


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_level_is_held(claim):
    assert_allclose(rejections(claim, "calibrated"), 0.05, atol=error(0.05))


@pytest.mark.parametrize("claim", ["joint (Cox)", "loss calibration"])
@pytest.mark.parametrize("truth", ["shifted", "stretched"])
def test_the_power_of_the_joint_test_is_that_of_the_noncentral_chi_squared_distribution(claim, truth):
    risk, p = expit(TRUTHS[truth]), expit(ETA)
    information = SIZE * (rel_entr(risk, p) + rel_entr(1 - risk, 1 - p)).sum()
    power = ncx2.sf(chi2.isf(0.05, 2), 2, 2 * information)
    assert 0.4 < power < 0.9
    assert_allclose(rejections(claim, truth), power, atol=error(power) + 0.02)  # the distribution is a large-sample one


def test_the_belt_sees_what_intercept_and_slope_cannot():
    assert rejections("belt", "bent", 60) > rejections("joint (Cox)", "bent", 60) + 0.3
