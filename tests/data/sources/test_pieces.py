"""Tables in pieces: what formulas and options mean on them."""

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.data.sources import as_source
from gevglm.exceptions import MissingRowsWarning


@pytest.fixture(scope="module")
def small(table):
    return table.head(3_000).assign(day=np.arange(3_000) % 25)


def in_pieces(data, rows=700):
    return [data.iloc[start : start + rows] for start in range(0, len(data), rows)]


def assert_same_fit(found, expected):
    assert list(found.params.index) == list(expected.params.index)
    assert_allclose(found.params, expected.params, rtol=1e-8)
    assert_allclose(found.bse, expected.bse, rtol=1e-7)
    assert (found.nobs, found.n_events) == (expected.nobs, expected.n_events)
    assert found.log_loss == pytest.approx(expected.log_loss, rel=1e-10)


@pytest.mark.parametrize(
    "right",
    [
        "x0 + C(group)",
        "group + x0",
        "0 + group + x0",
        "x0*group",
        "C(clinic % 3) + x0",
        "C(group, Treatment('c')) + x0",
        "C(group, Sum)",
        "C(group, levels=['d', 'c', 'b', 'a'])",
        "(x0 > 0) + x1",
        "np.exp(x0 / 5) + I(x1**2)",
        "center(x0) + scale(x1) + standardize(x2)",
        "center(x0):group",
        "standardize(center(x0) ** 2) + x1",
        "bs(x0, knots=[-1, 0, 1], extrapolation='clip')",
        "bs(x0, df=3)",
        "cr(x0, knots=[-1, 0, 1]) - 1",
        "cc(x1, knots=[0], lower_bound=-3, upper_bound=3) - 1",
        "poly(x0, 2, raw=True)",
        "x0 + flag",
        "x0 + level",
        "Q('x0') + `x1`",
        "x0 + I(x1 > cut)",
        "1",
    ],
)
def test_formulas(right, small):
    cut = 0.5  # noqa: F841
    data = small.assign(
        flag=small["x2"] > 0, level=pd.Categorical(small["group"], categories=["d", "b", "a", "c", "none"])
    )
    data["x1"] = data["x1"].clip(-3, 3)
    found = gevglm.fit(f"y ~ {right}", in_pieces(data), link="logit")
    expected = gevglm.fit(f"y ~ {right}", data, link="logit")
    assert_same_fit(found, expected)
    new = data.tail(50)
    assert_allclose(found.predict(new), expected.predict(new), rtol=1e-7)


def test_levels_that_the_first_pieces_do_not_have(small):
    data = small.sort_values("group", kind="stable")
    assert_same_fit(gevglm.fit("y ~ group", in_pieces(data), link="logit"), gevglm.fit("y ~ group", data, link="logit"))


def test_a_category_in_one_file_only(small, write):
    files = write(small[small["group"] != "d"], small[small["group"] == "d"])
    found = gevglm.fit("y ~ group", files, link="logit")
    assert_same_fit(found, gevglm.fit("y ~ group", small, link="logit"))
    found.predict(small[small["group"] == "d"])


def test_categories_of_files_may_differ(small, write):
    parts = [
        small.iloc[:1000].astype({"group": "category"}),
        small[small["group"] != "a"].astype({"group": "category"}),
    ]
    plain = pd.concat(parts).astype({"group": str})
    assert_same_fit(gevglm.fit("y ~ group", write(*parts), link="logit"), gevglm.fit("y ~ group", plain, link="logit"))


def test_whole_numbers_and_others_are_numbers(small, write):
    data = small.assign(clinic=small["clinic"] % 3)
    files = write(data.iloc[:1500], data.iloc[1500:].astype({"clinic": float}))
    found = gevglm.fit("y ~ x0 + C(clinic)", files, link="logit")
    assert_same_fit(found, gevglm.fit("y ~ x0 + C(clinic)", data.astype({"clinic": float}), link="logit"))


def test_missing_rows_are_dropped_and_counted(small, write):
    data = small.copy()
    data.loc[data.index[::50], "x0"] = np.nan
    data.loc[data.index[1::60], "group"] = None
    data.loc[data.index[2::70], "y"] = np.nan
    data.loc[data.index[3::80], "importance"] = np.nan
    options = {"link": "logit", "var_weights": "importance"}
    with pytest.warns(MissingRowsWarning) as expected_warning:
        expected = gevglm.fit("y ~ x0 + group", data, **options)
    with pytest.warns(MissingRowsWarning, match=str(expected_warning[0].message)):
        found = gevglm.fit("y ~ x0 + group", write(*in_pieces(data)), **options)
    assert_same_fit(found, expected)
    assert found.model.design.n_missing == expected.model.design.n_missing
    assert str(found.summary()).splitlines()[-1] == str(expected.summary()).splitlines()[-1]


def test_a_piece_without_complete_rows(small):
    data = small.copy()
    data.loc[data.index[:700], "x0"] = np.nan
    with pytest.warns(MissingRowsWarning, match="700 of 3000"):
        found = gevglm.fit("y ~ x0", in_pieces(data), link="logit")
    assert_same_fit(found, gevglm.fit("y ~ x0", data.iloc[700:], link="logit"))


@pytest.mark.parametrize(
    "options",
    [
        {"subset": "clinic > 10 and x0 < 1"},
        {"freq_weights": "copies", "cov_type": "HC1"},
        {"var_weights": "importance", "cov_type": "HC3"},
        {"sampling_weights": "importance"},
        {"offset": "shift", "exposure": "importance", "link": "gevc", "xi": 0.0},
        {"cov_type": "cluster", "cov_kwds": {"groups": "clinic", "use_correction": False}},
        {"cov_type": "cluster", "cov_kwds": {"groups": ["clinic", "day"]}, "freq_weights": "copies"},
        {"alpha": 1.0, "standardize": True},
    ],
)
def test_options_name_columns(options, small):
    found, expected = (
        gevglm.fit("y ~ x0 + group", rows, **{"xi": 0.3, **options}) for rows in (in_pieces(small), small)
    )
    assert_same_fit(found, expected)


@pytest.mark.parametrize(
    "values, event", [(["no", "yes"], "yes"), ([False, True], None), ([2, 1], 1), ([0.0, 1.0], None)]
)
def test_the_event_is_found_in_all_pieces(values, event, small):
    data = small.assign(y=np.array(values)[small["y"]]).sort_values("y", kind="stable")
    found, expected = (gevglm.fit("y ~ x0", rows, link="logit", event=event) for rows in (in_pieces(data), data))
    assert_same_fit(found, expected)
    assert found.event == expected.event


def test_counts_and_shares(small):
    rng = np.random.default_rng(0)
    data = small.assign(trials=rng.integers(1, 9, len(small)))
    data["successes"] = rng.binomial(data["trials"], 0.2)
    data["failures"], data["share"] = data["trials"] - data["successes"], data["successes"] / data["trials"]
    expected = gevglm.fit("successes + failures ~ x0", data, link="logit")
    found = gevglm.fit("successes + failures ~ x0", in_pieces(data), link="logit")
    assert_same_fit(found, expected)
    assert found.llf == pytest.approx(expected.llf, rel=1e-12)
    assert found.auc == pytest.approx(expected.auc, rel=1e-12)
    assert_same_fit(gevglm.fit("share ~ x0", in_pieces(data), link="logit", freq_weights="trials"), expected)


def test_only_the_columns_needed_are_read(small, write, monkeypatch):
    from pyarrow import parquet

    asked = []
    read = parquet.ParquetFile.iter_batches

    def watched(file, *args, columns=None, **options):
        asked.append(set(columns))
        return read(file, *args, columns=columns, **options)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", watched)
    gevglm.fit("y ~ x0", write(small), link="logit", freq_weights="copies", subset="x1 > 0")
    assert set().union(*asked) == {"y", "x0", "copies", "x1"}


class TestCsv:
    def test_files(self, small, write):
        found = gevglm.fit("y ~ x0 + group", write(*in_pieces(small), suffix="csv"), link="logit")
        assert_same_fit(found, gevglm.fit("y ~ x0 + group", small, link="logit"))

    def test_types_are_those_of_all_rows(self, small, write, monkeypatch):
        monkeypatch.setattr("gevglm.data.sources.csv.BLOCK_BYTES", 1 << 15)
        data = small.assign(a=np.arange(len(small)) % 7, b=np.arange(len(small)) % 3)
        data["a"] = data["a"].astype(object)
        data.loc[data.index[2500:], "a"] = 1.5
        data["b"] = data["b"].astype(str).where(np.arange(len(small)) < 2800, "other")
        found = gevglm.fit("y ~ a + b", write(data, suffix="csv"), link="logit")
        assert list(found.params.index) == ["Intercept", "b[T.1]", "b[T.2]", "b[T.other]", "a"]
        assert_same_fit(found, gevglm.fit("y ~ a + b", data.astype({"a": float}), link="logit"))

    def test_compressed(self, small, tmp_path):
        for i, part in enumerate(in_pieces(small)):
            with gzip.open(tmp_path / f"{i}.csv.gz", "wt") as file:
                part.to_csv(file, index=False)
        assert_same_fit(gevglm.fit("y ~ x0", tmp_path, link="logit"), gevglm.fit("y ~ x0", small, link="logit"))

    def test_missing_values(self, small, write):
        data = small.copy()
        data.loc[data.index[:100], ["x0", "group"]] = None
        with pytest.warns(MissingRowsWarning, match="100 of 3000"):
            found = gevglm.fit("y ~ x0 + group", write(data, suffix="csv"), link="logit")
        assert found.nobs == 2900


class TestWhereDataComeFrom:
    def test_a_list_of_files_a_folder_and_a_pattern(self, folder, pattern):
        files = sorted(folder.glob("*.parquet"))
        fits = [gevglm.fit("y ~ x0", data, link="logit") for data in (files, folder, str(folder), pattern)]
        for fit in fits[1:]:
            assert_array_equal(fit.params, fits[0].params)

    def test_a_small_file_is_held_in_memory_and_a_large_one_is_not(self, folder, monkeypatch):
        path = folder / "part-0.parquet"
        assert as_source(path) is None
        monkeypatch.setattr("gevglm.data.sources.find.LARGE_FILE", 1000)
        assert as_source(path) is not None

    def test_readers_of_pandas(self, small, tmp_path):
        path = tmp_path / "rows.csv"
        small.to_csv(path, index=False)
        found = gevglm.fit("y ~ x0", lambda: pd.read_csv(path, chunksize=500), link="logit")
        assert_same_fit(found, gevglm.fit("y ~ x0", small, link="logit"))

    def test_polars_tables(self, small):
        polars = pytest.importorskip("polars")
        tables = [polars.from_pandas(part) for part in in_pieces(small)]
        found = gevglm.fit("y ~ x0 + group", lambda: tables, link="logit")
        assert_same_fit(found, gevglm.fit("y ~ x0 + group", small, link="logit"))
