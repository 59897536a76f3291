"""Fits that end on the boundary, against scipy's optimisers and the conditions of a minimum."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint, minimize, nnls

from gevglm.bias import Jeffreys
from gevglm.engine import MemoryEngine
from gevglm.estimation.boundary import box_multipliers, free_directions
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import SupportError
from gevglm.inference.boundary_profile import BoundaryLikelihood
from gevglm.inference.separation import find_directions
from gevglm.links import GEV, GEVc, Identity, Log, LogC, Sampled
from gevglm.losses import Log as LogLoss

CHUNKS, PROBLEMS_OF_A_CHUNK = 10, 20


def random_problem(rng):
    """Log risks that are linear and reach 0, of a constant and columns that are uniform or of zeros and ones."""
    while True:
        n, k = int(rng.integers(50, 301)), int(rng.integers(2, 6))
        columns = [(rng.random(n) < 0.5).astype(float) if rng.random() < 0.4 else rng.random(n) for _ in range(k - 1)]
        X = np.column_stack([np.ones(n), *columns])
        v = X @ rng.normal(0.0, 1.0, k)
        y = (rng.random(n) < np.exp(v - v.max() - rng.choice([0.0, 0.02, 0.05]))).astype(float)
        if 0 < y.sum() < n and not find_directions(X, y, link=Log()).separated:
            return X, y


def estimate(X, y, link, **options):
    return Problem(MemoryEngine(X, y, **options), LogLoss(link), constant=0).estimate()


def log_binomial(X, y):
    """The negative log-likelihood and its gradient."""
    events, others = X[y == 1], X[y == 0]

    def value(b):
        with np.errstate(invalid="ignore", divide="ignore"):
            return -(events @ b).sum() - np.log(np.maximum(-np.expm1(others @ b), 1e-300)).sum()

    def gradient(b):
        v = np.minimum(others @ b, -1e-12)
        return -events.sum(axis=0) + (np.exp(v) / -np.expm1(v)) @ others

    return value, gradient


def reference(X, y, method):
    """The minimum by an optimiser of scipy, with its constant lowered until every risk is at most 1."""
    value, gradient = log_binomial(X, y)
    events = X[y == 1]
    start = np.r_[np.log(y.mean()), np.zeros(X.shape[1] - 1)]
    options = {"SLSQP": {"ftol": 1e-14, "maxiter": 500}, "trust-constr": {"gtol": 1e-9, "xtol": 1e-10, "maxiter": 500}}
    bound = LinearConstraint(events, -np.inf, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on its way, not where it ends
        b = minimize(value, start, jac=gradient, method=method, constraints=[bound], options=options[method]).x
    b[0] -= max((events @ b).max(), 0.0)
    return value(b)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_optimum_is_that_of_scipy_and_certified(chunk):
    rng = np.random.default_rng([23, chunk])
    on_the_boundary = 0
    for _ in range(PROBLEMS_OF_A_CHUNK):
        X, y = random_problem(rng)
        found = estimate(X, y, Log())
        assert found.converged
        value, gradient = log_binomial(X, y)
        other = reference(X, y, "SLSQP")
        assert value(found.params) <= other + 1e-8 * max(1.0, abs(other))
        assert (X @ found.params).max() <= 1e-12
        # the conditions of Karush, Kuhn and Tucker, by another solver: they make a point of a convex problem its minimum
        at_the_end = X[(y == 1) & (X @ found.params > -1e-9)]
        left = (
            nnls(at_the_end.T, -gradient(found.params))[1] if len(at_the_end) else np.abs(gradient(found.params)).max()
        )
        assert left <= 1e-6 * np.abs(X.T @ y).max()
        if found.boundary is not None:
            on_the_boundary += 1
            assert (found.boundary.multipliers > 0.0).all()
            assert found.boundary.residual < 1e-8
            assert set(found.boundary.active) <= set(found.boundary.rows)
            assert (y[found.boundary.rows] == 1.0).all()
    assert on_the_boundary >= 5


@pytest.mark.study
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_interior_point_method_does_better(chunk):
    rng = np.random.default_rng([23, chunk])
    for _ in range(PROBLEMS_OF_A_CHUNK):
        X, y = random_problem(rng)
        (value, _), other = log_binomial(X, y), reference(X, y, "trust-constr")
        assert value(estimate(X, y, Log()).params) <= other + 1e-8 * max(1.0, abs(other))


def test_the_optimum_is_that_of_an_interior_point_method():
    x = np.arange(40) % 5 / 4.0
    X, y = np.column_stack([np.ones(40), x]), ((np.arange(40) * 7 % 10) / 10 < np.exp(1.2 * x - 1.2)).astype(float)
    found, (value, _) = estimate(X, y, Log()), log_binomial(X, y)
    other = reference(X, y, "trust-constr")
    assert found.boundary is not None
    assert other - 1e-4 <= value(found.params) <= other + 1e-8


def test_mirrored_outcomes_have_mirrored_estimates():
    rng = np.random.default_rng(1)
    for _ in range(10):
        X, y = random_problem(rng)
        found, mirrored = estimate(X, y, Log()), estimate(X, 1.0 - y, LogC())
        assert_allclose(mirrored.params, -found.params, rtol=1e-9, atol=1e-12)
        assert_allclose(mirrored.inverse_information, found.inverse_information, rtol=1e-7, atol=1e-14)


@pytest.mark.parametrize("link", [GEV(-1.0), GEVc(-1.0), GEV(-0.99), GEV(-0.9), GEV(-0.7)], ids=repr)
def test_capped_links_end_at_their_kink(link):
    rng = np.random.default_rng(2)
    held, loss = 0, LogLoss(link)
    for _ in range(15):
        X, y = random_problem(rng)
        y = 1.0 - y if isinstance(link, GEVc) else y
        if find_directions(X, y).separated:
            continue
        found = estimate(X, y, link)
        assert found.converged
        value = loss.value(y, X @ found.params).sum()
        for _ in range(20):  # no way down, in any direction
            moved = found.params + 1e-3 * rng.normal(size=X.shape[1])
            assert loss.value(y, X @ moved).sum() >= value - 1e-9
        held += found.boundary is not None
    assert held or link.xi > -0.8


def test_the_capped_and_the_walled_problem_agree_where_the_multipliers_are_small():
    rng = np.random.default_rng(3)
    agreed = 0
    for _ in range(60):
        X, y = random_problem(rng)
        walled = estimate(X, y, Log())
        if walled.boundary is None or (walled.boundary.multipliers > 1.0).any():
            continue
        capped = estimate(X, y, GEV(-1.0))
        assert capped.boundary is not None
        assert_allclose(capped.params - np.eye(X.shape[1])[0], walled.params, rtol=1e-6, atol=1e-8)
        agreed += 1
    assert agreed


def grouped(rng, n=240):
    """Three groups, the second of which has events only."""
    group = rng.integers(0, 3, n)
    X = np.column_stack([np.ones(n), group == 1, group == 2, rng.random(n)]).astype(float)
    y = (rng.random(n) < 0.35).astype(float)
    y[group == 1] = 1.0
    return X, y


def test_a_group_with_events_only_has_a_risk_of_one():
    X, y = grouped(np.random.default_rng(4))
    found = estimate(X, y, Log())
    assert found.converged
    assert_allclose(np.exp(X[X[:, 1] == 1] @ found.params), 1.0, rtol=1e-12)
    assert len(found.boundary.rows) == (X[:, 1] == 1).sum()
    assert len(found.boundary.active) <= X.shape[1]
    assert np.linalg.matrix_rank(found.inverse_information, tol=1e-10) == X.shape[1] - 2


def test_linear_risks_stop_at_both_ends():
    rng = np.random.default_rng(5)
    x = rng.random(300)
    X, y = np.column_stack([np.ones(300), x]), (rng.random(300) < np.clip(1.4 * x - 0.2, 0.0, 1.0)).astype(float)
    found = estimate(X, y, Identity())
    assert found.converged
    risk = X @ found.params
    assert risk.min() >= -1e-12
    assert risk.max() <= 1.0 + 1e-12
    at_the_end = np.abs(risk * (1.0 - risk)) < 1e-12
    assert set(found.boundary.rows) == set(np.flatnonzero(at_the_end))
    assert (np.round(risk[at_the_end]) == y[at_the_end]).all()


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(6)
    for _ in range(5):
        X, y = random_problem(rng)
        counts = rng.integers(0, 4, len(y))
        repeated = np.repeat(np.arange(len(y)), counts)
        once, often = estimate(X, y, Log(), freq=counts.astype(float)), estimate(X[repeated], y[repeated], Log())
        assert_allclose(once.params, often.params, rtol=1e-7, atol=1e-9)
        assert (once.boundary is None) == (often.boundary is None)


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(7)
    X, y = grouped(rng)
    order = rng.permutation(len(y))
    one, other = estimate(X, y, Log()), estimate(X[order], y[order], Log())
    assert_allclose(other.params, one.params, rtol=1e-8, atol=1e-10)
    assert_allclose(np.sort(order[other.boundary.rows]), one.boundary.rows)


def test_blocks_of_rows_end_where_all_rows_at_once_do():
    rng = np.random.default_rng(11)
    for _ in range(10):
        X, y = random_problem(rng)
        whole, parts = estimate(X, y, Log()), estimate(X, y, Log(), block_rows=16)
        assert_allclose(parts.params, whole.params, rtol=1e-8, atol=1e-10)
        assert_allclose(parts.inverse_information, whole.inverse_information, rtol=1e-6, atol=1e-12)
        assert (parts.boundary is None) == (whole.boundary is None)
        if whole.boundary is not None:
            assert set(parts.boundary.rows) == set(whole.boundary.rows)


def test_jeffreys_prior_rewards_the_wall_without_bound():
    """Towards r independent rows at the wall the penalised loss falls by r ln(10)/2 with each tenth of the distance."""
    X, y = grouped(np.random.default_rng(4))
    found = estimate(X, y, Log())
    penalised = Problem(MemoryEngine(X, y), LogLoss(Log()), constant=0, adjustment=Jeffreys()).objective()
    values = [float(penalised(found.params - 10.0**-j * np.eye(4)[0]).value) for j in (6, 7, 8)]
    rank = np.linalg.matrix_rank(X[found.boundary.rows])
    assert_allclose(np.diff(values), -0.5 * rank * np.log(10.0), rtol=1e-4)


def test_a_sampled_log_link_ends_on_the_boundary_as_well():
    rng = np.random.default_rng(8)
    ended = 0
    for _ in range(10):
        X, y = random_problem(rng)
        found = estimate(X, y, Sampled(Log(), prevalence=0.2, sample_mean=y.mean()))
        assert found.converged
        ended += found.boundary is not None
    assert ended


def test_profiles_keep_the_bounds():
    X, y = grouped(np.random.default_rng(4))
    problem = Problem(MemoryEngine(X, y), LogLoss(Log()), constant=0)
    found = problem.estimate()
    likelihood = BoundaryLikelihood.on(problem, found.params, found.inverse_information)
    value, gradient = log_binomial(X, y)
    events = X[y == 1]
    for column, at in ((2, -0.3), (3, 0.02), (1, 1.2)):
        free = np.delete(np.arange(4), column)

        def full(b, column=column, at=at):
            return np.insert(b, column, at)

        bound = {"type": "ineq", "fun": lambda b: -events @ full(b), "jac": lambda b: -events[:, free]}  # noqa: B023
        start = np.delete(found.params, column)
        start[0] -= 2.0
        held = minimize(
            lambda b: value(full(b)),
            start,
            jac=lambda b: gradient(full(b))[free],  # noqa: B023
            method="SLSQP",
            constraints=[bound],
            options={"ftol": 1e-13, "maxiter": 500},
        )
        ratio = likelihood.curve([column]).ratio(np.array([at]))
        assert_allclose(ratio, 2.0 * (held.fun - value(found.params)), rtol=1e-5, atol=1e-5)
    (lower, upper), *_ = likelihood.intervals([2], 0.05)
    for limit in (lower, upper):
        assert_allclose(likelihood.curve([2]).ratio(np.array([limit])), 3.841458820694124, rtol=1e-6)


def test_where_no_coefficients_keep_the_bounds_rows_are_counted():
    X, y = np.column_stack([[0.0, 0.0, 1.0, 1.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    with pytest.raises(SupportError, match="2 rows are zero in every column"):
        Problem(MemoryEngine(X, y), LogLoss(Log())).estimate()


def test_without_a_constant_a_start_is_found_by_linear_programming():
    rng = np.random.default_rng(9)
    X = np.column_stack([rng.random(200) + 0.2, rng.random(200)])
    y = (rng.random(200) < np.exp(-X @ [1.0, 0.5])).astype(float)
    found = Problem(MemoryEngine(X, y), LogLoss(Log())).estimate()
    assert found.converged
    assert_allclose(found.params, [-1.0, -0.5], atol=0.5)


def test_the_small_dual_problem_is_solved_with_bounds_on_both_sides():
    rng = np.random.default_rng(10)
    for _ in range(50):
        m, k = int(rng.integers(1, 12)), int(rng.integers(1, 6))
        N, c = rng.normal(size=(m, k)), rng.normal(size=m)
        size = np.where(rng.random(m) < 0.5, rng.random(m), 2.0)
        Q = N @ N.T
        u = box_multipliers(Q, c, size)
        left = c - Q @ u
        assert ((u >= 0.0) & (u <= size)).all()
        assert (left[u <= 0.0] <= 1e-9).all()
        assert (left[u >= size] >= -1e-9).all()
        assert_allclose(left[(u > 0.0) & (u < size)], 0.0, atol=1e-9)


def test_free_directions_are_at_right_angles():
    normals = np.array([[1.0, 1e6, 2.0], [1.0, 2e6, 3.0]])
    free = free_directions(normals)
    assert free.shape == (3, 1)
    assert np.abs(normals @ free).max() < 1e-8
    assert_allclose(free.T @ free, np.eye(1), atol=1e-12)
