"""The same block boundaries give the same bits, wherever the rows are."""

import os

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.engine.base import ReducerGroup
from gevglm.engine.streamed import StreamedEngine
from gevglm.estimation.sums import LossSums
from gevglm.links import GEV
from gevglm.losses import Canonical
from tests.support.rows_in_pieces import BLOCK, ROWS

# four wards are few: the two-way covariance is repaired, and says so
pytestmark = pytest.mark.filterwarnings("ignore:the two-way cluster-robust covariance")

FORMULA = "y ~ x0 + x1 + C(group) + x2"
FITS = {
    "canonical": {"xi": 0.5},
    "log": {"xi": 0.2, "loss": "log"},
    "logit": {"link": "logit"},
    "firth": {"link": "logit", "bias": "firth"},
    "HC3": {"xi": 0.5, "cov_type": "HC3"},
    "cluster": {"xi": 0.5, "cov_type": "cluster", "cov_kwds": {"groups": "clinic"}},
}
MORE_FITS = {
    "two-way": {"link": "logit", "cov_type": "cluster", "cov_kwds": {"groups": ["clinic", "group"]}},
    "HC1": {"link": "probit", "cov_type": "HC1"},
    "HC2": {"link": "cloglog", "cov_type": "HC2"},
    "canonical firth": {"xi": 0.3, "bias": "mean"},
    "median": {"link": "probit", "bias": "median"},
    "jeffreys": {"link": "logit", "bias": "jeffreys"},
    "correction": {"link": "logit", "bias": "correction"},
    "king-zeng": {"link": "logit", "bias": "king-zeng", "prevalence": 0.01},
    "flic": {"link": "logit", "bias": "flic"},
    "flac": {"link": "logit", "bias": "flac"},
    "logf": {"link": "logit", "bias": "logf"},
    "weights": {"xi": 0.3, "freq_weights": "copies", "var_weights": "importance", "offset": "shift"},
    "exposure": {"link": "cloglog", "exposure": "importance"},
    "class weights": {"link": "logit", "class_weight": "balanced"},
    "weighting": {"link": "logit", "prevalence": 0.01, "sampling": "weight"},
    "range": {"link": "logit", "prevalence": (0.01, 0.02)},
    "ridge": {"link": "logit", "alpha": 2.0},
}


def assert_same(found, expected):
    assert_array_equal(found.params, expected.params)
    assert_array_equal(found.cov_params(), expected.cov_params())
    assert found.n_passes == expected.n_passes
    assert list(found.params.index) == list(expected.params.index)


@pytest.fixture(scope="module")
def in_memory(table):
    return {name: gevglm.fit(FORMULA, table, **options) for name, options in (FITS | MORE_FITS).items()}


@pytest.fixture(scope="module")
def dask_table(table):
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(table, npartitions=1).repartition(divisions=[*range(0, ROWS, BLOCK), ROWS - 1])


@pytest.mark.parametrize("name", FITS | MORE_FITS)
def test_parquet(name, pattern, in_memory):
    assert_same(gevglm.fit(FORMULA, pattern, **(FITS | MORE_FITS)[name]), in_memory[name])


@pytest.mark.parametrize("name", FITS)
def test_tables_from_a_function(name, table, in_memory):
    parts = [table.iloc[start : start + BLOCK] for start in range(0, ROWS, BLOCK)]
    assert_same(gevglm.fit(FORMULA, lambda: iter(parts), **FITS[name]), in_memory[name])


@pytest.mark.parametrize("name", FITS)
def test_dask_threads(name, dask_table, in_memory):
    assert_same(gevglm.fit(FORMULA, dask_table, **FITS[name]), in_memory[name])


def test_dask_computes_few_partitions_at_a_time(dask_table, monkeypatch, in_memory):
    monkeypatch.setattr("gevglm.data.sources.dask.FIRST_WAVE", 1)
    monkeypatch.setattr("gevglm.data.sources.dask.WAVE_BYTES", 1)
    assert_same(gevglm.fit(FORMULA, dask_table, xi=0.5), in_memory["canonical"])


def test_the_design_is_kept_by_dask_where_there_is_room(dask_table, monkeypatch, in_memory):
    assert gevglm.fit(FORMULA, dask_table, xi=0.5).model.engine()._blocks is not None
    monkeypatch.setattr("gevglm.data.sources.dask.SHARE", 0.0)
    found = gevglm.fit(FORMULA, dask_table, xi=0.5)
    assert found.model.engine()._blocks is None
    assert_same(found, in_memory["canonical"])


@pytest.mark.parametrize("rows", [5_000, 100_000])
@pytest.mark.parametrize("name", FITS)
def test_other_boundaries_change_rounding_only(name, rows, table):
    parts = [table.iloc[start : start + rows] for start in range(0, ROWS, rows)]
    found, expected = (gevglm.fit(FORMULA, data, **FITS[name], tol=1e-11) for data in (parts, table))
    assert_allclose(found.params, expected.params, rtol=1e-10)
    assert_allclose(found.bse, expected.bse, rtol=1e-10)


def test_many_small_tables(table):
    parts = [table.iloc[start : start + 333] for start in range(0, 5_000, 333)]
    found, expected = (gevglm.fit(FORMULA, data, xi=0.5, tol=1e-11) for data in (parts, pd.concat(parts)))
    assert_allclose(found.params, expected.params, rtol=1e-10)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_do_not_matter(threads, pattern, in_memory, monkeypatch):
    monkeypatch.setattr("gevglm.data.sources.base.available_cores", lambda: threads)
    assert_same(gevglm.fit(FORMULA, pattern, xi=0.5), in_memory["canonical"])


def test_a_row_group_of_many_blocks_has_the_blocks_of_memory(table, write):
    numbers = table[["y", "x0", "x1"]]
    found = gevglm.fit("y ~ x0 + x1", write(numbers), xi=0.5).model.engine()
    known = gevglm.fit("y ~ x0 + x1", numbers, xi=0.5).model.engine()

    sums = LossSums(Canonical(GEV(0.5)), np.array([-1.0, 0.1, 0.2]), value=True)
    assert_array_equal(found.reduce(sums).hessian, known.reduce(sums).hessian)
    assert found.reduce(sums).value == known.reduce(sums).value
    several = ReducerGroup([sums, sums])
    assert_array_equal(found.reduce(several)[1].hessian, known.reduce(sums).hessian)


@pytest.fixture(scope="class")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore")
class TestDaskCluster:
    """Two processes; the second test loses one of them."""

    @pytest.mark.parametrize("name", ["log", "firth", "HC3", "cluster"])
    def test_same_bits(self, name, cluster, dask_table, in_memory):
        assert_same(gevglm.fit(FORMULA, dask_table, **FITS[name]), in_memory[name])

    def test_the_death_of_a_worker_changes_nothing(self, cluster, dask_table, in_memory, monkeypatch):
        reduce, passes = StreamedEngine.reduce, []

        def reduce_and_kill(engine, reducer):
            passes.append(reducer)
            if len(passes) == 3:
                os.kill(next(iter(cluster.run(os.getpid).values())), 9)
            return reduce(engine, reducer)

        monkeypatch.setattr(StreamedEngine, "reduce", reduce_and_kill)
        found = gevglm.fit(FORMULA, dask_table, **FITS["canonical"])
        assert len(passes) > 3
        assert_same(found, in_memory["canonical"])


def test_summaries_are_the_same(pattern, table):
    options = {"link": "logit", "cov_type": "cluster", "cov_kwds": {"groups": "clinic"}}
    assert str(gevglm.fit(FORMULA, pattern, **options).summary()) == str(
        gevglm.fit(FORMULA, table, **options).summary()
    )


def test_columns_of_tables_may_be_in_any_order(table, in_memory):
    parts = [table.iloc[:BLOCK], table.iloc[BLOCK:][table.columns[::-1]]]
    assert_allclose(gevglm.fit(FORMULA, parts, xi=0.5).params, in_memory["canonical"].params, rtol=1e-10)


def test_an_index_is_no_column(table, write, in_memory):
    indexed = table.set_index(pd.Index(np.arange(ROWS) * 3, name="patient"))
    found = gevglm.fit(FORMULA, write(indexed.iloc[:BLOCK], indexed.iloc[BLOCK:]), xi=0.5)
    assert_allclose(found.params, in_memory["canonical"].params, rtol=1e-10)
