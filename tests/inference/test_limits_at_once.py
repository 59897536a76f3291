"""Profile limits of few rows at once: looks at many points are looks at one after the other, and limits are those of the searches one by one."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import gevglm
from gevglm.bias import Jeffreys, MeanReduction
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.estimation.looks_at_once import LooksAtOnce
from gevglm.estimation.objective import Objective
from gevglm.exceptions import GevglmWarning
from gevglm.links import Logit, Probit
from gevglm.losses import Log

KINDS = {"plain": None, "Firth": MeanReduction(), "Jeffreys": Jeffreys(0.8)}


def simulated(seed, n=250, k=3, strength=0.5):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, k - 1))])
    y = (rng.random(n) < Logit().inverse(-1.5 + X[:, 1:] @ np.full(k - 1, strength))).astype(float)
    rows = {"freq": rng.integers(1, 4, n).astype(float), "offset": 0.5 * rng.standard_normal(n)}
    return X, y, rows


def limits(monkeypatch, y, X, *, at_once, alpha=0.05, **words):
    with monkeypatch.context() as patch:
        if not at_once:
            patch.setattr(Objective, "together", None)
        return gevglm.fit(y, X, link="logit", **words).conf_int(alpha, method="profile")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_looks_are_those_of_the_objective(kind, weighted, monkeypatch):
    monkeypatch.setattr("gevglm.estimation.looks_at_once.NUMBERS", 1000)  # a few points at a time
    X, y, rows = simulated(1)
    problem = Problem(MemoryEngine(X, y, **(rows if weighted else {})), Log(Logit()), constant=0)
    problem.adjustment = KINDS[kind]
    look, objective = LooksAtOnce.of(problem), problem.objective()
    points = np.array([-1.5, 0.5, 0.5]) + np.random.default_rng(2).standard_normal((9, 3))
    found = look(points)
    for i, one in enumerate(objective(point) for point in points):
        assert_allclose(found.value[i], one.value, rtol=1e-12)
        assert_allclose(found.gradient[i], one.gradient, rtol=1e-9, atol=1e-9)
        assert_allclose(found.inverse[i], one.factor.inverse(), rtol=1e-9, atol=1e-12)


def test_third_derivatives_are_those_of_the_gradient():
    X, y, rows = simulated(3)
    problem = Problem(MemoryEngine(X, y, **rows), Log(Logit()), constant=0)
    look, params, step = LooksAtOnce.of(problem), np.array([-1.2, 0.4, 0.1]), 1e-3
    directions = np.array([[1.0, 0.0, 0.0], [0.3, 1.0, -0.2]])
    for direction, third in zip(directions, look.third_derivatives(params, directions), strict=True):
        moved = look(params + np.outer([-step, 0.0, step], direction))
        numeric = (moved.gradient[0] - 2.0 * moved.gradient[1] + moved.gradient[2]) / step**2
        assert_allclose(third, numeric, rtol=1e-4, atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 5),
    strength=st.sampled_from([0.0, 0.5, 1.5]),
    bias=st.sampled_from([None, "firth", "jeffreys"]),
    alpha=st.sampled_from([0.01, 0.05, 0.3]),
)
def test_limits_are_those_of_the_searches_one_by_one(seed, k, strength, bias, alpha):
    X, y, _ = simulated(seed, k=k, strength=strength)
    assume(5 * k < min(y.sum(), len(y) - y.sum()))
    with pytest.MonkeyPatch.context() as monkeypatch:
        found, expected = (
            limits(monkeypatch, y, X, at_once=at_once, alpha=alpha, bias=bias) for at_once in (True, False)
        )
    error = gevglm.fit(y, X, link="logit", bias=bias).bse[:, None]
    assert_allclose(found / error, expected / error, atol=1e-6)


def test_few_events_and_rows_of_weights(monkeypatch):
    X, y, rows = simulated(5)
    y[np.flatnonzero(y)[4:]] = 0.0
    words = {"freq_weights": rows["freq"], "offset": rows["offset"], "bias": "firth"}
    found, expected = (limits(monkeypatch, y, X, at_once=at_once, **words) for at_once in (True, False))
    assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_what_is_not_found_at_once_is_looked_for_one_by_one(monkeypatch):
    X, y, _ = simulated(7)
    expected = limits(monkeypatch, y, X, at_once=False)
    monkeypatch.setattr("gevglm.inference.limits_at_once.STEPS", 1)
    assert_allclose(limits(monkeypatch, y, X, at_once=True), expected, rtol=1e-9)


def test_limits_of_separated_rows(monkeypatch):
    X, y, _ = simulated(8)
    X[:, 2] = y * (np.arange(len(y)) % 3 == 0)  # has events only where it is not zero
    with pytest.warns(GevglmWarning):
        found = limits(monkeypatch, y, X, at_once=True)
    with pytest.warns(GevglmWarning):
        expected = limits(monkeypatch, y, X, at_once=False)
    assert np.isinf(found[2, 1])
    assert_allclose(found, expected, rtol=1e-6)


def test_other_problems_are_looked_at_in_the_general_way():
    X, y, _ = simulated(9)
    assert LooksAtOnce.of(Problem(MemoryEngine(X, y), Log(Probit()), constant=0)) is None
    assert LooksAtOnce.of(Problem(MemoryEngine(X, y, block_rows=100), Log(Logit()), constant=0)) is None
    assert LooksAtOnce.of(Problem(MemoryEngine(X, y), Log(Logit()), constant=0, omitted=[2])) is None
