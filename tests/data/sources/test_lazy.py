"""Lazy frames, datasets, relations and Arrow streams are the tables they stand for, with the same bits."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.data import lazy_tables
from gevglm.data.design import Design
from gevglm.data.streamed_design import StreamedDesign
from gevglm.exceptions import InvalidDataError, MissingRowsWarning

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
ds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")

ROWS, BATCH = 30_000, 8_192
FITS = {
    "logit": {"link": "logit"},
    "canonical": {"xi": 0.3, "cov_type": "HC1"},
    "firth": {"link": "logit", "bias": "firth"},
    "cluster": {"link": "logit", "cov_type": "cluster", "cov_kwds": {"groups": "clinic"}},
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=ROWS), "group": rng.choice(list("cab"), ROWS)})
    table["clinic"] = rng.integers(0, 30, ROWS)
    table["y"] = (rng.random(ROWS) < 1 / (1 + np.exp(2.0 - table["x"]))).astype(int)
    return table


@pytest.fixture(scope="module")
def lazy(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lazy")
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    pq.write_table(arrow, folder / "rows.parquet", row_group_size=7_000)
    connection = duckdb.connect()
    connection.register("rows", arrow)
    yield {  # the connection lives as long as they do
        "lazy frame": pl.scan_parquet(folder / "rows.parquet"),
        "categories": pl.from_arrow(arrow).lazy().with_columns(pl.col("group").cast(pl.Categorical)),
        "dataset": ds.dataset(folder),
        "relation": connection.sql('select *, 1 as "un""used" from rows'),
    }


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(lazy_tables, "LARGE", 1)
    monkeypatch.setattr(lazy_tables, "BATCH_ROWS", BATCH)


KINDS = ["lazy frame", "categories", "dataset", "relation"]


@pytest.mark.parametrize("kind", KINDS)
def test_small_ones_are_tables(kind, lazy, table):
    found, expected = (gevglm.fit("y ~ x + group", data, link="logit") for data in (lazy[kind], table))
    assert type(found.model.design) is Design
    assert_array_equal(found.params, expected.params)
    assert_array_equal(found.predict(lazy[kind]), expected.predict(table))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FITS)
def test_large_ones_have_the_same_bits(kind, name, lazy, table, large):
    found, expected = (gevglm.fit("y ~ x + group", data, **FITS[name]) for data in (lazy[kind], table))
    assert isinstance(found.model.design, StreamedDesign)
    assert list(found.params.index) == list(expected.params.index)
    assert_array_equal(found.params, expected.params)
    assert_array_equal(found.cov_params(), expected.cov_params())


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_of_large_ones(kind, lazy, table, large):
    res = gevglm.fit("y ~ x + group", table, link="logit")
    assert_allclose(res.predict(lazy[kind]), res.predict(table), rtol=1e-13)


def test_levels_with_an_order_keep_it(table, large):
    ordered = pl.from_pandas(table).with_columns(pl.col("group").cast(pl.Enum(["b", "c", "a"])))
    found, expected = (gevglm.fit("y ~ group", data, link="logit") for data in (ordered.lazy(), ordered))
    assert list(found.params.index) == list(expected.params.index) == ["Intercept", "group[T.c]", "group[T.a]"]


def test_dictionaries_of_datasets_are_sorted(table, large):
    coded = pa.table({"y": table["y"], "group": pa.array(table["group"]).dictionary_encode()})
    found, expected = (gevglm.fit("y ~ group", data, link="logit") for data in (ds.dataset(coded), coded))
    assert isinstance(found.model.design, StreamedDesign)
    assert_array_equal(found.params, expected.params)


def test_streams_are_read_once(table):
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    reader = arrow.to_reader(max_chunksize=700)
    found, expected = (gevglm.fit("y ~ x + group", data, link="logit") for data in (reader, table))
    assert_array_equal(found.params, expected.params)
    with pytest.raises(InvalidDataError, match="can be read once; open it again"):
        gevglm.fit("y ~ x", reader, link="logit")


def test_any_object_that_hands_out_a_stream(table):
    class Shop:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.Table.from_pandas(table, preserve_index=False).__arrow_c_stream__(requested_schema)

    found, expected = (gevglm.fit("y ~ x + group", data, link="logit") for data in (Shop(), table))
    assert_array_equal(found.params, expected.params)


def test_missing_values_and_columns(table, large):
    gaps = table.assign(x=table["x"].where(table.index % 1000 > 0))
    with pytest.warns(MissingRowsWarning, match="30 of 30000"):
        found = gevglm.fit("y ~ x", pl.from_pandas(gaps).lazy(), link="logit")
    assert_allclose(found.params, gevglm.fit("y ~ x", gaps.dropna(), link="logit").params, rtol=1e-9)
    with pytest.raises(InvalidDataError, match=r"'X' is not a column of the lazy frame. Did you mean 'x'"):
        gevglm.fit("y ~ x", pl.from_pandas(table).lazy(), link="logit", offset="X")


def test_a_query_that_fails_says_so(lazy, large):
    broken = pl.scan_parquet("nowhere/*.parquet")
    with pytest.raises(InvalidDataError, match="the LazyFrame could not be read"):
        gevglm.fit("y ~ x", broken, link="logit")
