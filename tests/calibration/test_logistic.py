"""Many logistic regressions at once against one at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from gevglm.calibration._logistic import LogisticBatch, Quadratic, fit_logistic


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(400, 2))
    y = (rng.random(400) < expit(x[:, 0] - 1.0)).astype(float)
    return np.column_stack([np.ones(400), x]), y, rng.integers(1, 5, size=(3, 400)).astype(float)


@pytest.mark.parametrize("penalty", [None, np.diag([0.0, 2.0, 1.0])])
@pytest.mark.parametrize("own", [False, True], ids=["shared columns", "columns of each"])
def test_a_batch_has_the_estimates_of_single_fits(rows, own, penalty):
    X, y, weights = rows
    columns = np.stack([X, X[:, [0, 2, 1]], X * [1.0, 2.0, 0.5]]) if own else X
    each = columns if own else [X] * 3
    moments = np.stack([(weight * y) @ design for weight, design in zip(weights, each, strict=True)])
    batch = LogisticBatch(columns, weights, moments, penalty)
    params, converged = batch.minimise(np.zeros((3, 3)), 1e-18)
    assert converged.all()
    gradient, hessian = batch.derivatives(params)
    assert_allclose(gradient, 0.0, atol=1e-5)
    for i, (weight, design) in enumerate(zip(weights, each, strict=True)):
        ridge = None if penalty is None else Quadratic(penalty)
        single = fit_logistic(design, y, weight, what="a fit", penalty=ridge)
        assert_allclose(params[i], single.params, rtol=1e-6, atol=1e-8)
        assert_allclose(batch.llf(params)[i], single.llf, rtol=1e-10)
        if penalty is None:
            assert_allclose(np.linalg.inv(hessian[i]), single.cov, rtol=1e-6, atol=1e-12)


def test_outcomes_that_are_separated_do_not_converge(rows):
    X, _, weights = rows
    y = (X[:, 1] > 0.0).astype(float)
    _, converged = LogisticBatch(X, weights, (weights * y) @ X).minimise(np.zeros((3, 3)), 1e-30)
    assert not converged.any()
