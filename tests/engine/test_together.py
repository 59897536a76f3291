"""Computations that share their passes over the rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gevglm
from gevglm.engine.streamed import StreamedEngine
from gevglm.engine.together import together
from gevglm.estimation import estimate
from gevglm.links import GEV
from gevglm.losses import Canonical, Log
from gevglm.reducers import ArraySum


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


def test_shapes_on_a_grid_share_passes(table, passes):
    parts = [table.iloc[start : start + 400] for start in range(0, 8_000, 400)]
    options = {"xi": "ml", "loss": "log", "search_kwds": {"grid": np.linspace(-1.0, 0.2, 9)}}
    found = gevglm.fit("y ~ x0 + x1", parts, **options)
    in_pieces = sum(passes) / found.nobs
    expected = gevglm.fit("y ~ x0 + x1", table.head(8_000), **options)
    assert found.xi == pytest.approx(expected.xi, abs=1e-7)
    assert found.xi_bse == pytest.approx(expected.xi_bse, rel=1e-4)
    assert in_pieces < 0.7 * expected.n_passes
