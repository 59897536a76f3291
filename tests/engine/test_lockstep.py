"""Computations that share their passes over the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.engine.base import ArraySum, Pass, make_pass, make_passes, relay, run, run_in_lockstep
from gevglm.engine.streamed import StreamedEngine
from gevglm.estimation.estimate import Problem
from gevglm.estimation.sums import LossSums
from gevglm.inference.shape_path import ShapePath
from gevglm.links import GEV, Logit
from gevglm.losses import Canonical, Log

EVENTS = ArraySum(lambda block: block.y.sum())


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
    problems = [Problem(engine, kind(GEV(xi)), constant=0) for xi in (-0.5, -0.2, 0.0, 0.2)]
    shared = run_in_lockstep((problem.estimation() for problem in problems), make_passes)
    n_shared = sum(passes)
    for found, expected in zip(shared, (problem.estimate() for problem in problems), strict=True):
        assert_array_equal(found.params, expected.params)
        assert_array_equal(found.inverse_information, expected.inverse_information)
        assert found.n_passes == expected.n_passes
    assert n_shared < (sum(passes) - n_shared) / 2


def test_parts_of_the_rows_are_shared_too(engine, passes):
    part = engine.subsample_blocks(4)
    assert part is engine.subsample_blocks(4)
    assert part.n_rows < engine.n_rows // 3

    def look(rows):
        return (yield Pass(rows, EVENTS))

    found = run_in_lockstep([look(rows) for rows in (engine, engine.subsample_blocks(4), part)], make_passes)
    assert found[1] == found[2] < found[0]
    assert passes == [engine.n_rows, part.n_rows]


def test_computations_may_ask_differently_often(engine):
    def ask(times):
        answers = []
        for _ in range(times):
            answers.append(float((yield Pass(engine, EVENTS))))
        return answers

    answers = run_in_lockstep([ask(times) for times in (0, 3, 1)], make_passes)
    assert [len(answer) for answer in answers] == [0, 3, 1]
    assert len({value for answer in answers for value in answer}) == 1
    assert run_in_lockstep([], make_passes) == []
    assert run(ask(1), make_pass) == answers[2]


def test_large_and_small_sums_in_one_pass(table):
    data = table.head(6_000).assign(place=np.arange(6_000) % 90)
    engine = gevglm.BinaryGLM.from_formula("y ~ C(place)", [data], link="logit").engine()
    sums = LossSums(Log(Logit()), np.zeros(90))
    whole, events = make_passes([Pass(engine, sums), Pass(engine, EVENTS)])
    assert_array_equal(whole.hessian, engine.reduce(sums).hessian)
    assert events == data["y"].sum()


def test_questions_are_relayed():
    def doubled(number):
        return 2 * (yield str(number))

    def search():
        return (yield 3) + (yield 4)

    asked = []
    assert run(relay(search(), doubled), lambda text: asked.append(text) or int(text)) == 14
    assert asked == ["3", "4"]


def test_overflows_on_the_way_are_silent():
    def search():
        return (yield 1e300) * 1e300

    assert run(search(), lambda number: np.float64(number)) == np.inf
    assert run_in_lockstep([search()], np.array) == [np.inf]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_pass_ends_all_computations(error, engine, monkeypatch):
    ended = []

    def look():
        try:
            yield Pass(engine, EVENTS)
        finally:
            ended.append(True)

    def broken(engine, reducer):
        raise error

    monkeypatch.setattr(StreamedEngine, "reduce", broken)
    with pytest.raises(error):
        run_in_lockstep([look(), look()], make_passes)
    assert len(ended) == 2


def test_shapes_on_a_grid_share_passes(table, engine, passes):
    grid = np.linspace(-1.0, 0.2, 9)
    memory = gevglm.BinaryGLM.from_formula("y ~ x0 + x1", table.head(8_000), link="logit").engine()
    alone, shared = (ShapePath(Problem(rows, Log(GEV(0.0)), 0), lambda xi: Log(GEV(xi))) for rows in (memory, engine))
    assert_allclose(shared.log_likelihoods(grid, 1e-3), alone.log_likelihoods(grid, 1e-3), atol=1e-4)
    assert sum(passes) < 0.5 * alone.passes * engine.n_rows
