"""Two thousand random problems, each fitted with both losses and judged by the gradient, not by a flag."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.links import GEV, GEVc
from gevglm.losses import Canonical, Log

CHUNKS, PROBLEMS_OF_A_CHUNK = 40, 50


def separated(X, y):
    """Whether a plane separates the outcomes, wholly or but for ties."""
    signed = np.where(y > 0, 1.0, -1.0)[:, None] * X
    plane = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(y)), bounds=(-1, 1), method="highs")
    return plane.status != 0 or -plane.fun > 1e-7


def random_problem(rng):
    """50 to 2,000 rows, 1 to 15 predictors of sd 0.3 to 3, 1 to 50 % events, weak to strong effects, not separated."""
    while True:
        n, k = int(np.exp(rng.uniform(np.log(50), np.log(2000)))), int(rng.integers(1, 16))
        X = np.column_stack([np.ones(n), rng.uniform(0.3, 3, k) * rng.standard_normal((n, k))])
        v = X[:, 1:] @ rng.standard_normal(k)
        v *= rng.uniform(0.2, 2.0) / v.std()
        rate = np.exp(rng.uniform(np.log(0.01), np.log(0.5)))
        y = (rng.random(n) < 1 / (1 + np.exp(-v) * (1 - rate) / rate)).astype(float)
        if 2 <= y.sum() <= n / 2 and not separated(X, y):
            return X, y


def random_link(rng):
    xi = rng.choice([-1.0, 1.5, rng.uniform(-1, 1.5), rng.uniform(-1, 1.5)])
    return rng.choice([GEV, GEVc])(xi)


def solved(X, y, link, params):
    """Whether the gradient of the canonical loss vanishes, relative to the sum of its absolute terms' bound."""
    if not np.isfinite(params).all():
        return False
    return bool((np.abs(X.T @ (link.inverse(X @ params) - y)) <= 1e-9 * np.abs(X).sum(axis=0)).all())


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_canonical_fits_are_always_found_and_log_fits_are_honest(chunk):
    rng = np.random.default_rng([2014, chunk])
    for _ in range(PROBLEMS_OF_A_CHUNK):
        (X, y), link = random_problem(rng), random_link(rng)
        engine = MemoryEngine(X, y)
        canonical = Problem(engine, Canonical(link), constant=0).estimate()
        assert canonical.converged
        assert canonical.positive_definite
        assert solved(X, y, link, canonical.params)

        likelihood = Problem(engine, Log(link), constant=0, maxiter=30).estimate()
        if likelihood.boundary is not None:  # held there by multipliers
            assert not likelihood.converged or likelihood.boundary.residual < 1e-6
            assert (likelihood.boundary.multipliers > 0).all()
        elif likelihood.converged and likelihood.positive_definite:
            assert_is_a_minimum(X, y, Log(link), likelihood.params)
        assert likelihood.reason


def assert_is_a_minimum(X, y, loss, params):
    """Positive curvature, and a Newton step that is negligible in units of standard errors."""
    slope, curvature = loss.slope(y, X @ params), loss.curvature(y, X @ params)
    hessian = (X.T * curvature) @ X
    scale = 1 / np.sqrt(np.diagonal(hessian))
    assert np.linalg.eigvalsh(hessian * np.outer(scale, scale)).min() > 0
    gradient = X.T @ slope
    assert gradient @ np.linalg.solve(hessian, gradient) < 1e-10


def test_log_fits_of_ordinary_shapes_are_found():
    rng = np.random.default_rng(7)
    for _ in range(60):
        X, y = random_problem(rng)
        loss = Log(rng.choice([GEV, GEVc])(rng.uniform(-0.5, 0.3)))
        found = Problem(MemoryEngine(X, y), loss, constant=0).estimate()
        assert found.converged
        assert found.positive_definite


def algorithm_1(X, y, link, steps=100, clip=1e-6):
    """Agarwal et al. (2014), Algorithm 1: reweighted least squares with unit steps and clipped probabilities."""
    mean = 0.25 + 0.5 * y
    v, params = link(mean), np.full(X.shape[1], np.nan)
    for _ in range(steps):
        weight = 1 / link.deriv(mean)
        before = params
        params = np.linalg.lstsq((X.T * weight) @ X, X.T @ (weight * v + y - mean), rcond=None)[0]
        if np.abs(params - before).max() <= 1e-12 * np.abs(params).max():
            break
        v = X @ params
        mean = np.clip(link.inverse(v), clip, 1 - clip)
    return params


def test_unit_steps_fail_on_most_problems_at_shape_minus_one_where_ours_do_not():
    rng = np.random.default_rng(1)
    ours, theirs = [], []
    for _ in range(60):
        X, y = random_problem(rng)
        link = rng.choice([GEV, GEVc])(-1.0)
        ours.append(solved(X, y, link, Problem(MemoryEngine(X, y), Canonical(link), constant=0).estimate().params))
        theirs.append(solved(X, y, link, algorithm_1(X, y, link)))
    assert all(ours)
    assert np.mean(theirs) < 0.5


def test_unit_steps_fail_without_clipping_too_where_the_tail_is_heavy():
    rng = np.random.default_rng(1)
    link = GEVc(1.5)
    ours, theirs = [], []
    for _ in range(40):
        X, y = random_problem(rng)
        ours.append(solved(X, y, link, Problem(MemoryEngine(X, y), Canonical(link), constant=0).estimate().params))
        theirs.append(solved(X, y, link, algorithm_1(X, y, link, clip=1e-12)))
    assert all(ours)
    assert np.mean(theirs) < 0.8


@pytest.mark.parametrize("xi", [-1.0, -0.2567, 0.0, 0.5, 1.5])
def test_the_canonical_fit_does_not_depend_on_the_start(xi):
    rng = np.random.default_rng(3)
    X, y = random_problem(rng)
    loss = Canonical(GEV(xi))
    expected = Problem(MemoryEngine(X, y), loss, constant=0).estimate().params
    for _ in range(5):
        start = rng.standard_normal(X.shape[1]) / np.sqrt(X.shape[1])
        found = Problem(MemoryEngine(X, y), loss, constant=0, start=start).estimate()
        assert_allclose(found.params, expected, rtol=1e-6, atol=1e-8)
