"""Sums at many points at once: the same as at one point after the other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.bias.adjusted import Jeffreys, MeanReduction
from gevglm.engine.base import Block
from gevglm.engine.memory import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.estimation.pairs import ColumnPairs
from gevglm.estimation.sums import ROWS, LossSums, LossSumsAtAll, ShiftsAtAll, worthwhile
from gevglm.links import GEV, CLogLog, Logit
from gevglm.losses import Canonical, Log

LOSSES = [Log(Logit()), Log(CLogLog()), Log(GEV(0.3)), Canonical(GEV(0.3))]


def rows(rng, n=ROWS + 300, k=4):
    X = np.column_stack([np.ones(n), rng.standard_normal((n, k - 1))])
    y = (rng.random(n) < 0.1).astype(float)
    weights = {"freq": rng.integers(0, 3, n).astype(float), "var": rng.uniform(0.5, 2.0, n)}
    return X, y, {**weights, "offset": 0.1 * rng.standard_normal(n)}


def points(rng, k=4, number=6):
    center = np.zeros(k)
    center[0] = -0.9
    return [center + 0.1 * rng.standard_normal(k) for _ in range(number)]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("expected", [False, True])
def test_sums_are_those_of_each_point(loss, weighted, expected):
    rng = np.random.default_rng(1)
    X, y, columns = rows(rng)
    engine = MemoryEngine(X, y, **(columns if weighted else {}))
    given = points(rng)
    found = engine.reduce(LossSumsAtAll(loss, given, expected=expected, value=True)).unstacked()
    for params, sums in zip(given, found, strict=True):
        alone = engine.reduce(LossSums(loss, params, expected=expected, value=True))
        assert_allclose(sums.gradient, alone.gradient, rtol=1e-11, atol=1e-11)
        assert_allclose(sums.hessian, alone.hessian, rtol=1e-11)
        assert_array_equal(sums.hessian, sums.hessian.T)
        assert_allclose(sums.value, alone.value, rtol=1e-12)
        assert sums.feasible == alone.feasible


def test_feasibility_is_that_of_each_point():
    X, y = np.ones((10, 1)), np.repeat([0.0, 1.0], 5)
    loss, given = Log(GEV(0.5)), [np.array([value]) for value in (-3.0, -1.0, -2.5, 0.0)]
    found = MemoryEngine(X, y).reduce(LossSumsAtAll(loss, given)).unstacked()
    assert [sums.feasible for sums in found] == [False, True, False, True]


def test_rows_of_weight_zero_may_be_infeasible():
    X, y = np.array([[1.0], [5.0]]), np.array([1.0, 1.0])
    engine = MemoryEngine(X, y, freq=np.array([1.0, 0.0]))
    [found] = engine.reduce(LossSumsAtAll(Log(GEV(0.5)), [np.array([-1.0])], value=True)).unstacked()
    assert found.feasible and np.isfinite(found.value)


@pytest.mark.parametrize("adjustment", [MeanReduction(), Jeffreys(0.3)], ids=repr)
@pytest.mark.parametrize("loss", LOSSES[:3], ids=repr)
def test_adjusted_sums_are_those_of_each_point(adjustment, loss):
    rng = np.random.default_rng(2)
    X, y, columns = rows(rng)
    problem = Problem(MemoryEngine(X, y, **columns), loss, adjustment=adjustment)
    evaluate, given = problem.objective(), points(rng)
    assert worthwhile(len(given), X.shape[1])
    for params, sums in zip(given, evaluate.at_all(given), strict=True):
        alone = evaluate(params)
        assert_allclose(sums.gradient, alone.gradient, rtol=1e-10, atol=1e-10)
        assert_allclose(sums.value, alone.value, rtol=1e-12)


def test_quadratic_forms_by_pairs_of_columns():
    rng = np.random.default_rng(3)
    X, matrices = rng.standard_normal((50, 5)), rng.standard_normal((3, 5, 5))
    matrices = matrices + matrices.transpose(0, 2, 1)
    expected = np.einsum("ia,pab,ib->ip", X, matrices, X)
    assert_allclose(ColumnPairs(X).quadratic_forms(matrices), expected, rtol=1e-12, atol=1e-12)


def test_shifts_do_not_depend_on_parts_of_a_block():
    rng = np.random.default_rng(4)
    X, y, _ = rows(rng, n=3 * ROWS)
    given, matrices = points(rng), [np.eye(4)] * 6
    shifts = ShiftsAtAll(MeanReduction(), Log(Logit()), given, matrices)
    halves = [Block(0, X[part], y[part]) for part in (slice(0, 2500), slice(2500, None))]
    assert_allclose(shifts.map(Block(0, X, y)), sum(shifts.map(half) for half in halves), rtol=1e-11)


@pytest.mark.parametrize("bias", [None, "firth", "jeffreys", "logf", "flac"])
def test_profile_limits_together_are_those_of_each_coefficient(bias):
    data = gevglm.datasets.simulate_study(800, rng=3)
    fit = gevglm.fit("event ~ age + smoker + C(clinic % 3)", data, link="logit", bias=bias)
    together = fit.conf_int(method="profile").to_numpy()
    alone = [fit._results.conf_int(method="profile", cols=[j])[0] for j in range(len(together))]
    assert_allclose(together, alone, rtol=1e-7)


def test_profile_limits_take_few_passes(monkeypatch):
    data = gevglm.datasets.simulate_study(3000, rng=3)
    fit = gevglm.fit("event ~ age + smoker + C(clinic % 4)", data, link="logit", bias="firth")
    reduce, passes = MemoryEngine.reduce, []
    monkeypatch.setattr(MemoryEngine, "reduce", lambda engine, sums: passes.append(1) or reduce(engine, sums))
    fit.conf_int(method="profile")
    assert len(passes) <= 2 * 10  # of 12 limits, which need three looks and more each
