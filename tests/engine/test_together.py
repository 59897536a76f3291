"""Computations that share their passes over the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.engine.base import ArraySum
from gevglm.engine.shared import together
from gevglm.engine.streamed import StreamedEngine
from gevglm.estimation.estimate import Problem, estimate
from gevglm.estimation.sums import LossSums
from gevglm.inference.shape import ShapePath
from gevglm.links import GEV, Logit
from gevglm.losses import Canonical, Log


@pytest.fixture(scope="module")
def engine(table):
    parts = [table.iloc[start : start + 400] for start in range(0, 8_000, 400)]
    return gevglm.BinaryGLM.from_formula("y ~ x0 + x1", parts, link="logit").engine()


@pytest.fixture
def passes(monkeypatch):
    made, reduce = [], StreamedEngine.reduce
    monkeypatch.setattr(
        StreamedEngine, "reduce", lambda engine, reducer: (made.append(engine.n_rows), reduce(engine, reducer))[1]
    )
    return made


@pytest.mark.parametrize("kind", [Canonical, Log])
def test_fits_have_the_bits_they_have_alone(kind, engine, passes):
    losses = [kind(GEV(xi)) for xi in (-0.5, -0.2, 0.0, 0.2)]
    shared = together(engine, [lambda rows, loss=loss: estimate(rows, loss, constant=0) for loss in losses])
    n_shared = sum(passes)
    alone = [estimate(engine, loss, constant=0) for loss in losses]
    for found, expected in zip(shared, alone, strict=True):
        assert_array_equal(found.params, expected.params)
        assert_array_equal(found.inverse_information, expected.inverse_information)
        assert found.n_passes == expected.n_passes
    assert n_shared < (sum(passes) - n_shared) / 2


def test_jobs_may_ask_differently_often(engine):
    def ask(times):
        return lambda rows: [float(rows.reduce(ArraySum(lambda block: block.y.sum()))) for _ in range(times)]

    answers = together(engine, [ask(times) for times in (0, 3, 1)])
    assert [len(answer) for answer in answers] == [0, 3, 1]
    assert len({value for answer in answers for value in answer}) == 1
    assert together(engine, []) == []


def test_large_and_small_sums_in_one_pass(table):
    data = table.head(6_000).assign(place=np.arange(6_000) % 90)
    engine = gevglm.BinaryGLM.from_formula("y ~ C(place)", [data], link="logit").engine()
    jobs = [
        lambda rows: rows.reduce(LossSums(Log(Logit()), np.zeros(90))).hessian,
        lambda rows: rows.reduce(ArraySum(lambda block: block.y.sum())),
    ]
    hessian, events = together(engine, jobs)
    assert_array_equal(hessian, jobs[0](engine))
    assert events == data["y"].sum()


def test_the_error_of_a_job_is_raised_after_the_others_have_ended(engine):
    def fails(rows):
        raise ZeroDivisionError

    ended = []
    with pytest.raises(ZeroDivisionError):
        together(engine, [fails, lambda rows: ended.append(rows.reduce(ArraySum(lambda block: block.y.sum())))])
    assert len(ended) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_pass_ends_all_jobs(error, engine, monkeypatch):
    def broken(engine, reducer):
        raise error

    monkeypatch.setattr(StreamedEngine, "reduce", broken)
    with pytest.raises(error):
        together(engine, [lambda rows, xi=xi: estimate(rows, Canonical(GEV(xi))) for xi in (0.1, 0.2)])


def test_shapes_on_a_grid_share_passes(table, engine, passes):
    grid = np.linspace(-1.0, 0.2, 9)
    memory = gevglm.BinaryGLM.from_formula("y ~ x0 + x1", table.head(8_000), link="logit").engine()
    alone, shared = (ShapePath(Problem(rows, Log(GEV(0.0)), 0), lambda xi: Log(GEV(xi))) for rows in (memory, engine))
    assert_allclose(shared.log_likelihoods(grid, 1e-3), alone.log_likelihoods(grid, 1e-3), atol=1e-4)
    assert sum(passes) < 0.5 * alone.passes * engine.n_rows
