import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info

from gevglm.engine import Block, MemoryEngine, Reducer
from gevglm.engine.base import ArraySum
from gevglm.engine.linalg import one_blas_thread
from gevglm.engine.memory import LARGEST_BLOCK, SMALLEST_BLOCK, WINDOW, default_block_rows
from gevglm.estimation.estimate import Problem
from gevglm.estimation.sums import LossSums, WeightedGram
from gevglm.links import GEV, Logit
from gevglm.losses import Canonical, Log

PARAMS = np.array([-1.0, 0.3, -0.2, 0.1])
ROWS = 20_000


class Starts(Reducer):
    """Collects where the blocks start, in the order they are combined."""

    def zero(self):
        return []

    def map(self, block):
        return [block.start]

    def combine(self, total, part):
        return total + part


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(ROWS), rng.standard_normal((ROWS, 3))])
    y = (rng.random(ROWS) < Logit().inverse(X @ PARAMS)).astype(float)
    return X, y


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(6)
    names = ("freq", "var", "trials", "offset")
    return dict(zip(names, rng.uniform(0.5, 2.0, (4, ROWS)), strict=True))


def sums(X, y, **options):
    return MemoryEngine(X, y, **options).reduce(LossSums(Canonical(GEV(0.3)), PARAMS, value=True))


def assert_same_sums(a, b, **tolerance):
    assert_allclose(a.gradient, b.gradient, **tolerance)
    assert_allclose(a.hessian, b.hessian, **tolerance)
    assert_allclose(a.value, b.value, **tolerance)


def test_sums_are_those_of_the_whole_data(rows, vectors):
    X, y = rows
    v, weight = X @ PARAMS + vectors["offset"], vectors["freq"] * vectors["var"] * vectors["trials"]
    loss = Canonical(GEV(0.3))
    found = sums(X, y, **vectors, block_rows=999)
    assert_allclose(found.gradient, X.T @ (weight * loss.slope(y, v)), rtol=1e-11)
    assert_allclose(found.hessian, (X.T * (weight * loss.curvature(y, v))) @ X, rtol=1e-11)
    assert found.value == pytest.approx(weight @ loss.value(y, v), rel=1e-12)
    assert found.feasible


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_threads_do_not_change_a_bit(rows, vectors, threads):
    one, many = (sums(*rows, **vectors, block_rows=300, threads=n) for n in (1, threads))
    assert_array_equal(one.gradient, many.gradient)
    assert_array_equal(one.hessian, many.hessian)
    assert one.value == many.value


def test_threads_do_not_change_a_bit_of_an_estimate(rows):
    one, many = (
        Problem(MemoryEngine(*rows, block_rows=512, threads=n), Log(GEV(0.2)), constant=0).estimate() for n in (1, 4)
    )
    assert_array_equal(one.params, many.params)
    assert_array_equal(one.inverse_information, many.inverse_information)


@pytest.mark.parametrize("block_rows", [3, 17, 1_024, 2_000, 50_000])
def test_block_boundaries_change_rounding_only(rows, vectors, block_rows):
    X, y, *columns = (column[:2_000] for column in (*rows, *vectors.values()))
    options = dict(zip(vectors, columns, strict=True))
    assert_same_sums(sums(X, y, **options, block_rows=block_rows), sums(X, y, **options), rtol=1e-10)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layout_and_precision_of_the_input_do_not_matter(rows, order, dtype):
    single = rows[0].astype(np.float32)
    found = Problem(
        MemoryEngine(np.array(single, dtype=dtype, order=order), rows[1]), Log(Logit()), constant=0
    ).estimate()
    expected = Problem(MemoryEngine(single.astype(float), rows[1]), Log(Logit()), constant=0).estimate()
    assert_allclose(found.params, expected.params, rtol=1e-11)


def test_strided_views_are_rows_too(rows):
    X, y = rows
    assert_same_sums(sums(X[::2], y[::2]), sums(X[::2].copy(), y[::2].copy()), rtol=1e-12)
    assert_same_sums(sums(X, y), sums(np.asfortranarray(X), y), rtol=1e-12)


def test_the_data_are_not_written_to(rows, vectors):
    frozen = [column.copy() for column in (*rows, *vectors.values())]
    for column in frozen:
        column.flags.writeable = False
    X, y, *columns = frozen
    Problem(MemoryEngine(X, y, **dict(zip(vectors, columns, strict=True))), Canonical(GEV(0.3)), constant=0).estimate()


@pytest.mark.parametrize("threads", [1, 4])
def test_parts_are_combined_in_the_order_of_the_blocks(rows, threads):
    starts = MemoryEngine(*rows, block_rows=30, threads=threads).reduce(Starts())
    assert len(starts) > 2 * WINDOW
    assert starts == list(range(0, ROWS, 30))


def test_blocks_are_double_precision_rows_with_their_vectors(rows, vectors):
    class First(Starts):
        def map(self, block):
            return [block]

    X, y = rows
    blocks = MemoryEngine(X.astype(np.float32), y, **vectors, block_rows=15_000).reduce(First())
    assert [len(block.y) for block in blocks] == [15_000, 5_000]
    assert {block.X.dtype for block in blocks} == {np.dtype(float)}
    assert_array_equal(blocks[1].offset, vectors["offset"][15_000:])
    assert_array_equal(blocks[1].weight, (vectors["freq"] * vectors["var"] * vectors["trials"])[15_000:])


def test_a_block_without_weights_has_none_and_one_factor_is_not_copied():
    X, y, w = np.ones((3, 1)), np.zeros(3), np.arange(3.0)
    assert Block(0, X, y).weight is None
    assert Block(0, X, y, var=w).weight is w
    assert_array_equal(Block(0, X, y, freq=w, trials=w).weight, w**2)
    assert_array_equal(Block(0, X, y, offset=w).linear_predictor(np.array([2.0])), 2 + w)


def test_a_thinned_engine_has_every_other_block(rows):
    thin = MemoryEngine(*rows, block_rows=3_000).subsample_blocks(2)
    assert thin.reduce(Starts()) == [0, 6_000, 12_000, 18_000]
    assert thin.n_rows == 3 * 3_000 + 2_000
    assert thin.n_cols == 4


def test_an_error_in_a_thread_reaches_the_caller(rows):
    def broken(block):
        raise ZeroDivisionError("row 7")

    with pytest.raises(ZeroDivisionError, match="row 7"):
        MemoryEngine(*rows, block_rows=100, threads=4).reduce(ArraySum(broken))


def test_no_rows_give_the_empty_sum():
    empty = sums(np.empty((0, 4)), np.empty(0))
    assert_array_equal(empty.hessian, np.zeros((4, 4)))
    assert empty.value == 0.0


def test_weighted_gram_sums_over_rows(rows):
    X, y = rows
    loss = Canonical(GEV(0.3))
    reducer = WeightedGram(loss, PARAMS, lambda block, point: (block.y - point.cdf) ** 2)
    squared = (y - loss.link.inverse(X @ PARAMS)) ** 2
    assert_allclose(MemoryEngine(X, y).reduce(reducer), (X.T * squared) @ X, rtol=1e-11)


@pytest.mark.parametrize("n_cols, rows_of_a_block", [(1, LARGEST_BLOCK), (64, 4096), (10_000, SMALLEST_BLOCK)])
def test_blocks_depend_on_the_number_of_columns_alone(n_cols, rows_of_a_block):
    assert default_block_rows(n_cols) == rows_of_a_block


@pytest.mark.parametrize("loss", [Log(Logit()), Canonical(GEV(0.3))], ids=repr)
@pytest.mark.parametrize("order, dtype", [("C", np.float64), ("F", np.float64), ("C", np.float32)])
def test_no_copy_of_the_design_is_made(loss, order, dtype):
    rng = np.random.default_rng(0)
    X = np.array(rng.standard_normal((200_000, 10)), dtype=dtype, order=order)
    X[:, 0] = 1
    y = (rng.random(200_000) < 0.05).astype(float)
    engine = MemoryEngine(X, y, threads=2)
    tracemalloc.start()
    Problem(engine, loss, constant=0).estimate()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    buffers = 2 * 2 * default_block_rows(10) * 10 * 8
    assert peak < 0.1 * X.nbytes + buffers


def test_blas_is_limited_from_the_first_to_the_last_that_asks():
    def threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    before = threads()
    first, second = one_blas_thread(), one_blas_thread()
    with first:
        second.__enter__()
        assert threads() == {1}
    assert threads() == {1}
    second.__exit__(None, None, None)
    assert threads() == before
