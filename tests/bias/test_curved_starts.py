"""Where roots of adjusted scores are looked for from: a step of third order leads to the same roots, and says how near it ends."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gevglm.bias import MeanReduction
from gevglm.engine import MemoryEngine
from gevglm.engine.base import make_pass, run
from gevglm.estimation.adjusted_roots import curve_left, curved_start
from gevglm.estimation.estimate import Problem
from gevglm.links import Logit
from gevglm.losses import Log

N = 400


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 6),
    strength=st.sampled_from([0.1, 0.5, 2.0]),
    weighted=st.booleans(),
    shifted=st.booleans(),
)
def test_the_roots_are_those_that_other_starts_lead_to(seed, k, strength, weighted, shifted):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(N), rng.standard_normal((N, k))])
    y = (rng.random(N) < Logit().inverse(-1.0 + X[:, 1:] @ np.full(k, strength))).astype(float)
    assume(5 * (k + 1) < min(y.sum(), N - y.sum()))
    rows = {"freq": rng.integers(1, 4, N).astype(float)} if weighted else {}
    rows |= {"offset": rng.standard_normal(N)} if shifted else {}
    found = []
    for block_rows in (N, 150):  # at once, and in passes over blocks
        engine = MemoryEngine(X, y, **rows, block_rows=block_rows)
        problem = Problem(engine, Log(Logit()), constant=0, adjustment=MeanReduction(), tol=1e-10)
        found.append(problem.estimate())
        other = replace(problem, start=np.zeros(k + 1)).estimate()
        assert found[-1].converged and other.converged
        assert_allclose(found[-1].params, other.params, rtol=1e-8, atol=1e-9)
        assert_allclose(found[-1].inverse_information, other.inverse_information, rtol=1e-7, atol=1e-12)
    assert_allclose(found[0].params, found[1].params, rtol=1e-8, atol=1e-9)


def test_a_curved_start_is_nearer_and_says_how_near():
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(5000), rng.standard_normal((5000, 4))])
    y = (rng.random(5000) < Logit().inverse(-2.5 + X[:, 1:] @ np.full(4, 0.3))).astype(float)
    problem = Problem(MemoryEngine(X, y, block_rows=2000), Log(Logit()), constant=0)
    problem.weight, problem.events = 5000.0, float(y.sum())
    straight, _ = run(curved_start(problem, problem.null_start, np.inf), make_pass)
    curved, left = run(curved_start(problem, problem.null_start, 0.0), make_pass)

    def decrement(params):
        return run(problem.sums_at(params), make_pass).step()[1]

    assert decrement(curved) < 0.1 * decrement(straight)
    assert decrement(curved) < left < decrement(straight)
    assert curve_left(1.0, 3.9) == np.inf and curve_left(1.0, 10.0) == 0.1


def test_standard_errors_of_many_rows_are_those_at_the_estimates():
    rng = np.random.default_rng(0)
    n = 20_000
    X = np.column_stack([np.ones(n), rng.random(n) < 0.003, rng.standard_normal(n)])
    y = (rng.random(n) < Logit().inverse(-3.5 + X[:, 1] + 0.3 * X[:, 2])).astype(float)
    problem = Problem(MemoryEngine(X, y), Log(Logit()), constant=0, adjustment=MeanReduction())
    found, exact = problem.estimate(), replace(problem, tol=1e-13).estimate()
    at_estimates = problem.information_at(found.params)[1]
    assert_allclose(found.inverse_information, at_estimates, rtol=1e-12)
    assert_allclose(found.inverse_information, exact.inverse_information, rtol=1e-6)
