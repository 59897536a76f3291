"""Many fits at once: the same as one after the other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gevglm.bias import Jeffreys, LogF, MeanReduction, MedianReduction
from gevglm.engine.cholesky import Cholesky, CholeskyOfAll
from gevglm.engine.memory import MemoryEngine
from gevglm.estimation.batched import BLOCK_ROWS, MOST_FITS, BatchRows, batchable, estimate_all, fits_at_once
from gevglm.estimation.estimate import Problem
from gevglm.estimation.objective import Ridge
from gevglm.links import GEV, Cauchit, CLogLog, Logit, Probit
from gevglm.losses import Canonical, Log

LOSSES = [
    Log(Logit()),
    Log(Probit()),
    Log(CLogLog()),
    Log(Cauchit()),
    Log(GEV(0.3)),
    Canonical(GEV(0.3)),
    Canonical(Probit()),
]
WITH = {
    "nothing": {},
    "ridge": {"penalty": Ridge(2.0, np.array([0.0, 1.0, 0.5]))},
    "mean reduction": {"adjustment": MeanReduction()},
}


def rows(n=BLOCK_ROWS + 200, seed=1):
    """Return a design, an outcome, resamples, and an offset."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal(n), rng.random(n) < 0.4])
    y = (rng.random(n) < 0.2 + 0.1 * (X[:, 1] > 0)).astype(float)
    weight = rng.multinomial(n, np.full(n, 1 / n), size=9).T.astype(float)
    return X, y, weight, 0.1 * rng.standard_normal(n)


def single(problem, X, y, weight, offset):
    used = weight > 0
    engine = MemoryEngine(X[used], y[used], freq=weight[used], offset=offset[used])
    return Problem(engine, problem.loss, constant=0, penalty=problem.penalty, adjustment=problem.adjustment).estimate()


def check(found, j, alone, close=1e-9):
    errors = np.sqrt(np.diagonal(alone.inverse_information))
    assert found.converged[j] and alone.converged
    assert np.abs((found.params[j] - alone.params) / errors).max() < close
    assert_allclose(found.inverse_information[j], alone.inverse_information, rtol=1e-6, atol=1e-8 * errors.max() ** 2)


@pytest.mark.parametrize("added", WITH)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_fits_under_many_weights_are_single_fits(loss, added):
    X, y, weight, offset = rows()
    problem = Problem(MemoryEngine(X, y, offset=offset), loss, constant=0, **WITH[added])
    problem.start = problem.estimate().params
    found = estimate_all(problem, BatchRows(X, y[:, None], weight, offset=offset))
    for j in range(0, weight.shape[1], 3):
        check(found, j, single(problem, X, y, weight[:, j], offset))
    assert_allclose(found.weight, weight.sum(axis=0))
    assert_allclose(found.events, weight.T @ y)


@pytest.mark.parametrize("loss", [Log(Logit()), Log(Probit()), Canonical(GEV(0.3))], ids=repr)
def test_fits_of_many_outcomes_are_single_fits(loss):
    X, _, _, offset = rows(400)
    rng = np.random.default_rng(2)
    Y = (rng.random((400, 7)) < np.linspace(0.1, 0.6, 7)).astype(float)
    problem = Problem(MemoryEngine(X, Y.mean(axis=1), offset=offset), loss, constant=0)
    problem.start = problem.estimate().params
    found = estimate_all(problem, BatchRows(X, Y, None, offset=offset))
    for j in range(7):
        check(found, j, single(problem, X, Y[:, j], np.ones(400), offset))


@pytest.mark.parametrize("bias", [LogF(2.0), Jeffreys(0.3)])
def test_bias_reductions_that_are_one_problem(bias):
    X, y, weight, offset = rows(300)
    plain = Problem(MemoryEngine(X, y, offset=offset), Log(Logit()), constant=0)
    problem = bias.as_problem(plain)
    problem.start = problem.estimate().params
    found = estimate_all(problem, BatchRows(X, y[:, None], weight, offset=offset))
    check(found, 4, single(problem, X, y, weight[:, 4], offset))


def test_variance_weights_are_weights():
    X, y, weight, _ = rows(300)
    var = np.random.default_rng(3).uniform(0.5, 2.0, 300)
    problem = Problem(MemoryEngine(X, y), Log(Logit()), constant=0)
    problem.start = problem.estimate().params
    split = estimate_all(problem, BatchRows(X, y[:, None], weight, var=var))
    whole = estimate_all(problem, BatchRows(X, y[:, None], weight * var[:, None]))
    assert_allclose(split.params, whole.params, rtol=1e-12)


def test_fits_without_an_estimate_are_told_and_leave_the_others_alone():
    X, y, weight, _ = rows(300)
    weight[:, 0] = np.where(y == 1, weight[:, 0], 0.0)  # one class
    weight[:, 1] = 0.0
    weight[:, 2] = np.where(X[:, 2] == 1, weight[:, 2], 0.0)  # collinear
    weight[:, 3] = np.where((X[:, 2] == 1) & (y == 0), 0.0, weight[:, 3])  # separated
    problem = Problem(MemoryEngine(X, y), Log(Logit()), constant=0)
    problem.start = problem.estimate().params
    found = estimate_all(problem, BatchRows(X, y[:, None], weight))
    assert_array_equal(found.converged, [False] * 4 + [True] * 5)
    alone = estimate_all(problem, BatchRows(X, y[:, None], np.ascontiguousarray(weight[:, 4:])))
    assert_allclose(found.params[4:], alone.params, rtol=1e-12)


def test_a_far_start_is_reached_by_shorter_steps():
    X, y, weight, _ = rows(300)
    problem = Problem(MemoryEngine(X, y), Log(Logit()), constant=0)
    expected = estimate_all(Problem(problem.engine, problem.loss, start=np.zeros(3)), BatchRows(X, y[:, None], weight))
    problem.start = np.array([-2.0, 2.5, 2.0])
    found = estimate_all(problem, BatchRows(X, y[:, None], weight))
    assert found.converged.all() and expected.converged.all()
    assert found.n_iter.max() > expected.n_iter.max()
    assert_allclose(found.params, expected.params, rtol=1e-8, atol=1e-10)


def test_a_penalty_that_might_spare_another_column_is_left_to_single_fits():
    X, y, weight, _ = rows(300)
    X = X[:, 1:]  # without a constant
    weight[:, 0] = np.where(X[:, 1] == 1, weight[:, 0], 0.0)
    problem = Problem(MemoryEngine(X, y), Log(Logit()), penalty=Ridge(1.0, np.ones(2)), start=np.zeros(2))
    found = estimate_all(problem, BatchRows(X, y[:, None], weight))
    assert_array_equal(found.converged, [False] + [True] * 8)


def test_what_cannot_be_in_a_batch():
    X, y, _, _ = rows(300)
    problem = Problem(MemoryEngine(X, y), Log(Logit()), constant=0)
    assert batchable(problem) and batchable(MeanReduction().as_problem(problem))
    assert not batchable(MedianReduction().as_problem(problem))
    assert not batchable(Problem(MemoryEngine(np.ones((300, 40)), y), Log(Logit())))


def test_batches_shrink_as_rows_grow():
    assert fits_at_once(10) == MOST_FITS
    assert fits_at_once(1000) > fits_at_once(1_000_000) >= 1


def test_factors_of_a_stack_are_those_of_each():
    rng = np.random.default_rng(4)
    A = rng.standard_normal((5, 6, 6))
    A = A @ A.transpose(0, 2, 1) * 10.0 ** np.arange(-2, 4)[:, None] * 10.0 ** np.arange(-2, 4)
    A[2, 3, 3] = -1.0
    A[4] = np.nan
    stack, rhs = CholeskyOfAll(A.copy()), rng.standard_normal((5, 6))
    assert_array_equal(stack.positive, [True, True, False, True, False])
    for j in (0, 1, 3):
        alone = Cholesky(A[j])
        assert_allclose(stack.solve(rhs)[j], alone.solve(rhs[j]), rtol=1e-8)
        assert_allclose(stack.inverse()[j], alone.inverse(), rtol=1e-8)
        assert_allclose(stack.log_determinant[j], alone.log_determinant, rtol=1e-12)
        assert_allclose(stack.smallest_pivot[j], alone.smallest_pivot, rtol=1e-10)
