"""Sums over row blocks: same bits whatever the threads, same numbers whatever the layout."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gevglm.engine import MemoryEngine, Reducer
from gevglm.estimation import estimate
from gevglm.links import GEV, Logit
from gevglm.losses import Canonical, Log
from gevglm.reducers import LossSums

PARAMS = np.array([-1.0, 0.3, -0.2, 0.1])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(20_000), rng.standard_normal((20_000, 3))])
    y = (rng.random(20_000) < Logit().inverse(X @ PARAMS)).astype(float)
    return X, y


def sums(X, y, **options):
    return MemoryEngine(X, y, **options).reduce(LossSums(Canonical(GEV(0.3)), PARAMS, value=True))


def test_threads_do_not_change_a_bit(rows):
    one, two, many = (sums(*rows, block_rows=700, threads=threads) for threads in (1, 2, 5))
    for other in (two, many):
        assert_array_equal(one.gradient, other.gradient)
        assert_array_equal(one.hessian, other.hessian)
        assert one.value == other.value


@pytest.mark.parametrize("block_rows", [1, 17, 5_000, 20_000, 50_000])
def test_block_boundaries_change_rounding_only(rows, block_rows):
    X, y = rows[0][:5_000], rows[1][:5_000]
    whole, cut = sums(X, y), sums(X, y, block_rows=block_rows)
    assert_allclose(cut.gradient, whole.gradient, rtol=1e-10, atol=1e-10)
    assert_allclose(cut.hessian, whole.hessian, rtol=1e-10)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layout_and_precision_of_the_input_do_not_matter(rows, order, dtype):
    X = np.array(rows[0].astype(np.float32), dtype=dtype, order=order)
    found = estimate(MemoryEngine(X, rows[1]), Log(Logit()), constant=0)
    expected = estimate(MemoryEngine(X.astype(float).copy("C"), rows[1]), Log(Logit()), constant=0)
    assert_allclose(found.params, expected.params, rtol=1e-11)


def test_parts_are_combined_in_the_order_of_the_blocks(rows):
    class Order(Reducer):
        def zero(self):
            return []

        def map(self, block):
            return block.start

        def combine(self, total, part):
            return [*total, part]

    assert MemoryEngine(*rows, block_rows=300, threads=4).reduce(Order()) == list(range(0, 20_000, 300))


def test_a_thinned_engine_has_every_other_block(rows):
    thin = MemoryEngine(*rows, block_rows=3_000).thin(2)
    assert thin.n_rows == 3_000 * 3 + 2_000


def test_no_copy_of_the_design_is_made():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400_000, 10))
    X[:, 0] = 1
    y = (rng.random(400_000) < 0.05).astype(float)
    engine = MemoryEngine(X, y)
    estimate(engine.thin(16), Log(Logit()), constant=0)
    tracemalloc.start()
    estimate(engine, Log(Logit()), constant=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * X.nbytes
