"""Few rows at once: what is found is what the general way finds, and what is unusual is left to it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.engine import MemoryEngine
from gevglm.estimation import estimate
from gevglm.estimation.at_once import FEW_COLUMNS, estimate_at_once
from gevglm.estimation.estimate import Problem
from gevglm.estimation.pairs import ColumnPairs
from gevglm.exceptions import CollinearityError, SeparationWarning
from gevglm.links import CLogLog, Logit
from gevglm.losses import Log

MODELS = {
    "logit": {"link": "logit"},
    "GEV": {"xi": 0.3},
    "probit, canonical": {"link": "probit", "loss": "canonical"},
    "Firth": {"link": "logit", "bias": "firth"},
    "Jeffreys": {"link": "logit", "bias": gevglm.bias.Jeffreys(power=0.3)},
    "canonical, by mean": {"xi": 0.3, "bias": "mean"},
}


def simulated(n=300, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, k - 1))])
    y = (rng.random(n) < 1 / (1 + np.exp(1.0 - X[:, 1:] @ np.full(k - 1, 0.3)))).astype(float)
    return X, y


def in_both_ways(monkeypatch, fit):
    """Return what a function returns, which of its estimates were found at once, and what it returns without that."""
    used = []

    def watched(*arguments):
        found = estimate_at_once(*arguments)
        used.append(found is not None)
        return found

    monkeypatch.setattr(estimate, "estimate_at_once", watched)
    at_once = fit()
    monkeypatch.setattr(estimate, "estimate_at_once", lambda *arguments: None)
    return at_once, used, fit()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [3, FEW_COLUMNS + 1])
@pytest.mark.parametrize("name", MODELS)
def test_the_estimate_is_that_of_the_general_way(monkeypatch, name, k, weighted):
    X, y = simulated(n=600, k=k)
    rng = np.random.default_rng(1)
    rows = {"freq_weights": rng.integers(1, 4, len(y)), "offset": 0.3 * rng.standard_normal(len(y))} if weighted else {}
    adjusted = "bias" in MODELS[name]  # whose last steps are others, so that only what they lead to is the same
    words = MODELS[name] | rows | ({"tol": 1e-10} if adjusted else {})
    found, used, expected = in_both_ways(monkeypatch, lambda: gevglm.fit(y, X, **words))
    at_once = "bias" not in MODELS[name] or (MODELS[name].get("link") == "logit" and k <= FEW_COLUMNS)
    assert used == [at_once]
    assert_allclose(found.params, expected.params, rtol=1e-10 if adjusted else 1e-12, atol=1e-14)
    assert_allclose(found.cov_params(), expected.cov_params(), rtol=1e-11, atol=1e-13 if adjusted else 1e-15)
    assert found.n_iter <= expected.n_iter if adjusted else found.n_iter == expected.n_iter
    assert found.n_passes <= expected.n_passes and found.reason == expected.reason
    assert found.converged and found.positive_definite


@pytest.mark.parametrize("name", ["logit", "Firth"])
def test_starting_values_are_those_given(monkeypatch, name):
    X, y = simulated()
    first = gevglm.fit(y, X, **MODELS[name])
    start = first.params + 1e-4
    found, used, expected = in_both_ways(monkeypatch, lambda: gevglm.fit(y, X, **MODELS[name], start_params=start))
    assert used == [True] and found.n_iter <= expected.n_iter <= first.n_iter + 2
    assert_allclose(found.params, expected.params, rtol=1e-10)


def problem_of(X, y, **options):
    problem = Problem(MemoryEngine(X, y), Log(Logit()), constant=0, **options)
    problem.weight, problem.events = float(len(y)), float(y.sum())
    return problem


@pytest.mark.parametrize(
    "change", ["separated", "collinear", "infinite", "far start", "few steps", "rough", "other link"]
)
def test_what_is_unusual_is_left_to_the_general_way(change):
    X, y = simulated()
    problem, start = problem_of(X, y), None
    if change == "separated":
        problem = problem_of(X, (X[:, 1] > 0.5).astype(float))
    elif change == "collinear":
        problem = problem_of(np.column_stack([X, X[:, 1] + X[:, 2]]), y)
    elif change == "infinite":
        problem = problem_of(np.where(X == X[5, 2], np.inf, X), y)
    elif change == "far start":
        start = np.array([0.0, 900.0, 0.0, 0.0])
    elif change == "few steps":
        problem.maxiter = 1
    elif change == "rough":
        problem.tol = 1e-3
    else:
        problem.loss = Log(CLogLog())
    with np.errstate(all="ignore"):
        assert estimate_at_once(problem, start) is None


def test_few_events_are_left_to_the_general_way(monkeypatch):
    X, y = simulated(n=200, k=4)
    y[np.flatnonzero(y)[12:]] = 0.0
    found, used, expected = in_both_ways(monkeypatch, lambda: gevglm.fit(y, X, link="logit", bias="firth"))
    assert used == [False]
    assert_array_equal(found.params, expected.params)


def test_messages_are_those_of_the_general_way():
    X, y = simulated()
    with pytest.warns(SeparationWarning, match="completely separated"):
        gevglm.fit((X[:, 1] > 0.5).astype(float), X, link="logit")
    with pytest.raises(CollinearityError, match="x4"):
        gevglm.fit(y, np.column_stack([X, X[:, 1] + X[:, 2]]), link="logit", collinear="raise")


def test_products_of_columns_of_one_weighting():
    X, _ = simulated()
    rng = np.random.default_rng(2)
    weights, A = rng.random(len(X)), rng.standard_normal((4, 4))
    A = A + A.T
    pairs = ColumnPairs(X)
    assert_allclose(pairs.gram(weights), X.T @ (weights[:, None] * X), rtol=1e-12)
    assert_allclose(pairs.quadratic_form(A), ((X @ A) * X).sum(axis=1), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("order", ["C", "F"])
def test_third_moments(k, order):
    rng = np.random.default_rng(k)
    X, weights = np.array(rng.standard_normal((40, k)), order=order), rng.standard_normal(40)
    expected = np.einsum("i,ia,ib,ic->abc", weights, X, X, X)
    assert_allclose(ColumnPairs(X).third_moments(X, weights), expected, rtol=1e-11, atol=1e-12)
