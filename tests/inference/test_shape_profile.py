"""Profile likelihood with an estimated shape: limits, tests and curves against brute force over coefficients and shape."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import gevglm
from gevglm.links import GEV, GEVc
from tests.support.brute_force import largest

STUDY = [pytest.param(seed, marks=pytest.mark.study) for seed in range(4, 20)]


def drawn(seed):
    """A data set of 200 to 1,000 rows from a link of any shape, and which of the links is fitted."""
    rng = np.random.default_rng([19, seed])
    n, mirrored = int(rng.integers(200, 1001)), bool(seed % 2)
    X = np.column_stack([np.ones(n), rng.normal(size=n), rng.random(n) < 0.5])
    link = (GEVc if mirrored else GEV)(rng.uniform(-0.6, 0.6))
    slopes = rng.uniform(0.2, 0.8), rng.uniform(-0.6, 0.6)
    y = (rng.random(n) < link.inverse(X @ [link(rng.uniform(0.1, 0.5)), *slopes])).astype(float)
    return X, y, mirrored


def fitted(seed, **words):
    X, y, mirrored = drawn(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gevglm.fit(y, X, link="gevc" if mirrored else "gev", loss="log", xi="ml", **words)


@pytest.mark.parametrize("seed", [*range(4), *STUDY])
def test_limits_and_tests_equal_brute_force(seed):
    X, y, mirrored = drawn(seed)
    res = fitted(seed)
    top = largest(X, y, mirrored=mirrored)
    assert_allclose(res.llf, top, atol=1e-7)
    limits, tests = res.conf_int(method="profile"), res.lr_tests()
    for j in range(X.shape[1]):
        for limit in limits[j]:
            ratio = 2 * (top - largest(X, y, [j], [limit], mirrored))
            assert_allclose(ratio, chi2.ppf(0.95, 1), atol=1e-6)
        ratio = 2 * (top - largest(X, y, [j], [0.0], mirrored))
        assert_allclose(tests["statistic"].iloc[j], ratio, rtol=1e-6, atol=1e-6)
