"""Venn-Abers calibration: against isotonic regression with the new case in it, and against the package of that name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import isotonic_regression
from scipy.special import expit

from gevglm.calibration import VennAbers
from gevglm.exceptions import GevglmError, InvalidDataError
from tests.support.golden import numbers, synthetic


def with_the_case(scores, y, weights, new, outcome):
    _, place = np.unique(np.append(scores, new), return_inverse=True)
    size = np.bincount(place, np.append(weights, 1.0))
    rate = np.bincount(place, np.append(weights * y, outcome)) / size
    return isotonic_regression(rate, weights=size).x[place[-1]]


@pytest.mark.parametrize("digits", [1, 8])
@pytest.mark.parametrize("kind", ["one", "whole", "any"])
def test_it_is_isotonic_regression_with_the_case(digits, kind):
    rng = np.random.default_rng(digits)
    for n in (6, 30, 120):
        scores = rng.normal(size=n).round(digits)
        y = np.append([0.0, 1.0], rng.random(n - 2) < expit(2.0 * scores[2:]))
        weights = {"one": np.ones(n), "whole": rng.integers(1, 4, n).astype(float), "any": rng.gamma(2.0, size=n) + 0.1}
        fitted = VennAbers().fit(scores, y, weights[kind])
        new = np.concatenate([scores[:15], 1.5 * rng.normal(size=10), [-9.0, 9.0]])
        for outcome, found in enumerate(fitted.interval(new)):
            expected = [with_the_case(scores, y, weights[kind], s, outcome) for s in new]
            assert_allclose(found, expected, atol=1e-12)


def test_the_package_says_the_same():
    data, expected = synthetic("calibration"), numbers("prediction_packages")["venn_abers"]
    p, y = data["p"].to_numpy(), data["y"].to_numpy()
    new = np.concatenate([p[:60].round(2), p[60:120], [0.0, 1.0]])
    fitted = VennAbers().fit(p.round(2), y)
    assert_allclose(fitted.interval(new), [expected["p0"], expected["p1"]], atol=1e-12)
    assert_allclose(fitted.predict(new), expected["probability"], atol=1e-12)
    assert (fitted.levels["p0"] <= fitted.levels["p1"]).all()
    assert np.isfinite(fitted.log_odds(new)).all()


def test_bad_input():
    with pytest.raises(GevglmError, match="not fitted yet"):
        VennAbers().interval([0.2])
    with pytest.raises(InvalidDataError, match="both outcomes"):
        VennAbers().fit([0.1, 0.2, 0.3], [0, 0, 0])
    with pytest.raises(InvalidDataError, match="1 missing"):
        VennAbers().fit([0.1, 0.2, 0.3], [0, 1, 0]).predict([np.nan])
