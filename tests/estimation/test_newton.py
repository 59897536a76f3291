"""The Newton loop, its line searches and its Cholesky factors on functions of one or two variables."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gevglm.engine.base import run
from gevglm.engine.cholesky import Cholesky
from gevglm.engine.linalg import dependent_columns, weighted_gram
from gevglm.estimation.newton import newton, slope_search, value_search
from gevglm.estimation.sums import NewtonSums

both_searches = pytest.mark.parametrize("search", [slope_search, value_search])


def minimise(evaluate, start, **options):
    return run(newton(start, **options), evaluate)


def quadratic(matrix, centre):
    def evaluate(b):
        return NewtonSums(matrix @ (b - centre), matrix.copy(), 0.5 * (b - centre) @ matrix @ (b - centre))

    return evaluate


def log_cosh(b):
    """Convex, with unit Newton steps that diverge from |b| > 1.09."""
    return NewtonSums(np.tanh(b), np.diag(1 - np.tanh(b) ** 2), float(np.logaddexp(b, -b).sum()))


def double_well(b):
    return NewtonSums(4 * b**3 - 4 * b, np.diag(12 * b**2 - 4), float(((b**2 - 1) ** 2).sum()))


def barrier(b):
    """-log(1 - b) - 3 log(b), infeasible outside (0, 1), with its minimum at 3/4."""
    if not 0 < b[0] < 1:
        return NewtonSums(np.full(1, np.nan), np.full((1, 1), np.nan), np.inf, feasible=False)
    return NewtonSums(1 / (1 - b) - 3 / b, np.diag(1 / (1 - b) ** 2 + 3 / b**2), -np.log(1 - b[0]) - 3 * np.log(b[0]))


@both_searches
def test_a_quadratic_takes_one_step(search):
    matrix, centre = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([3.0, -1.0])
    found = minimise(quadratic(matrix, centre), np.zeros(2), search=search)
    assert found.converged
    assert found.n_iter == 1
    assert_allclose(found.params, centre, rtol=1e-12)
    assert found.decrement == pytest.approx(0.0, abs=1e-20)


@both_searches
@pytest.mark.parametrize("start", [-5.0, 1.2, 4.0])
def test_steps_that_would_overshoot_are_shortened(search, start):
    found = minimise(log_cosh, np.array([start, 0.5]), search=search)
    assert found.converged
    assert_allclose(found.params, 0.0, atol=1e-12)


@pytest.mark.parametrize("start, end", [(0.1, 1.0), (-0.3, -1.0), (3.0, 1.0)])
def test_negative_curvature_is_damped_and_left(start, end):
    found = minimise(double_well, np.array([start]), search=value_search)
    assert found.converged
    assert_allclose(found.params, end, rtol=1e-10)


@both_searches
@pytest.mark.parametrize("start", [1e-6, 0.5, 1 - 1e-6])
def test_the_feasible_set_is_never_left(search, start):
    found = minimise(barrier, np.array([start]), search=search)
    assert found.converged
    assert found.sums.feasible
    assert_allclose(found.params, 0.75, rtol=1e-10)


def test_the_value_falls_with_every_accepted_step():
    values = []

    def search(params, sums, step):
        found = yield from value_search(params, sums, step)
        values.append((sums.value, found[1].value))
        return found

    minimise(double_well, np.array([0.1]), search=search)
    assert all(after < before for before, after in values)


def test_the_slope_search_asks_for_no_value():
    def evaluate(b):
        sums = log_cosh(b)
        sums.value = 0.0
        return sums

    assert minimise(evaluate, np.array([5.0]), search=slope_search).converged


@both_searches
def test_too_few_iterations_are_reported(search):
    found = minimise(log_cosh, np.array([1.0]), search=search, maxiter=2)
    assert not found.converged
    assert found.n_iter == 2
    assert found.reason == "2 iterations were not enough"


@both_searches
def test_a_start_that_is_not_feasible_is_reported(search):
    found = minimise(barrier, np.array([2.0]), search=search)
    assert not found.converged
    assert found.n_iter == 0
    assert "not finite at the starting values" in found.reason
    assert_allclose(found.params, 2.0)


def test_a_direction_that_does_not_improve_is_reported():
    def uphill(b):
        return NewtonSums(-np.ones(1), np.ones((1, 1)), float(b[0]))

    found = minimise(uphill, np.zeros(1), search=value_search)
    assert not found.converged
    assert found.reason == "no step along the Newton direction improves the fit"


@both_searches
def test_a_flat_direction_is_never_called_converged(search):
    ridge = quadratic(np.ones((2, 2)), np.array([1.0, 0.0]))
    assert not minimise(ridge, np.zeros(2), search=search, maxiter=20).converged


def test_tolerance_scales_with_the_objective():
    loose = minimise(log_cosh, np.array([1.0]), search=slope_search, tol=1e-1, scale=1.0)
    tight = minimise(log_cosh, np.array([1.0]), search=slope_search, tol=1e-1, scale=1e-10)
    assert loose.n_iter < tight.n_iter
    assert tight.decrement <= 1e-12


# -- linear algebra --------------------------------------------------------------------------


@pytest.fixture
def positive():
    A = np.random.default_rng(0).standard_normal((6, 4))
    return A.T @ A * np.outer([1, 1e6, 1e-6, 1], [1, 1e6, 1e-6, 1])


def test_cholesky_solves_and_inverts_badly_scaled_matrices(positive):
    factor, x = Cholesky(positive), np.array([1.0, 2e-6, -3e6, 4.0])
    assert factor.positive
    assert_allclose(factor.solve(positive @ x), x, rtol=1e-9)
    assert_allclose(factor.solve(positive @ np.column_stack([x, x])), np.column_stack([x, x]), rtol=1e-9)
    assert_allclose(factor.inverse() @ (positive @ x), x, rtol=1e-9)
    assert_allclose(factor.inverse(), factor.inverse().T)


def test_the_smallest_pivot_does_not_depend_on_scale(positive):
    scale = np.array([1.0, 1e3, 1e-3, 7.0])
    rescaled = Cholesky(positive * np.outer(scale, scale))
    assert rescaled.smallest_pivot == pytest.approx(Cholesky(positive).smallest_pivot, rel=1e-9)


@pytest.mark.parametrize("matrix", [-np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]]), np.full((2, 2), np.nan)])
def test_matrices_that_are_not_positive_have_no_factor(matrix):
    factor = Cholesky(matrix)
    assert not factor.positive
    assert factor.smallest_pivot == 0.0


def test_damping_makes_a_singular_matrix_positive():
    assert Cholesky(np.ones((3, 3))).smallest_pivot < 1e-13
    assert Cholesky(np.ones((3, 3)), damping=1e-3).smallest_pivot > 1e-4


def test_dependent_columns_are_those_explained_by_earlier_ones():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 50))
    X = np.column_stack(
        [np.ones(50), a, 1e8 * (a - 3), b, np.zeros(50), a + b, 1e-8 * b + 1e-12 * rng.standard_normal(50)]
    )
    assert dependent_columns(X.T @ X) == [2, 4, 5]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("sign", [1, -1])
def test_weighted_gram_takes_weights_of_any_sign(order, sign):
    rng = np.random.default_rng(2)
    X, weights = np.asarray(rng.standard_normal((30, 3)), order=order), rng.uniform(0, 1, 30)
    weights[::3] *= sign
    assert_allclose(weighted_gram(X, weights), (X.T * weights) @ X, rtol=1e-12, atol=1e-14)
