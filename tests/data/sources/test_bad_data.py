"""What is wrong with data in pieces: which file, which row group, which column, and what to do."""

import builtins
import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import gevglm
from gevglm.data.sources import dask as dask_source
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError


@pytest.fixture(scope="module")
def small(table):
    return table.head(3_000)


def fit(data, formula="y ~ x0 + group", **options):
    return gevglm.fit(formula, data, link="logit", **options)


def refused(data, *words, formula="y ~ x0 + group", error=InvalidDataError, **options):
    """Check that data are refused with a message that has all the words."""
    with pytest.raises(error) as info:
        fit(data, formula, **options)
    for word in words:
        assert word in str(info.value)


class TestFiles:
    def test_a_file_that_is_not_there(self, tmp_path):
        refused(tmp_path / "none.parquet", "there is no file", "none.parquet")
        refused([tmp_path / "none.parquet"], "there is no file", "none.parquet")

    def test_a_pattern_that_matches_nothing(self, tmp_path):
        refused(str(tmp_path / "*.parquet"), "no file matches", "*.parquet")

    def test_a_folder_without_data(self, tmp_path):
        (tmp_path / "notes.txt").write_text("")
        refused(tmp_path, "there is no csv or parquet file in")

    def test_other_kinds_of_files(self, small, tmp_path):
        small.to_parquet(tmp_path / "a.parquet")
        small.to_csv(tmp_path / "b.csv")
        refused(tmp_path, "both csv and parquet")
        refused([tmp_path / "a.parquet", tmp_path / "notes.txt"], "there is no file", "notes.txt")
        (tmp_path / "notes.txt").write_text("")
        refused([tmp_path / "notes.txt"], "neither a csv nor a parquet file")

    def test_a_file_that_vanishes_during_the_fit(self, small, write, tmp_path):
        model = gevglm.BinaryGLM.from_formula("y ~ x0", write(small.head(1_500), small.tail(1_500)), link="logit")
        (tmp_path / "part-1.parquet").unlink()
        with pytest.raises(InvalidDataError, match=r"there is no file .*part-1.parquet"):
            model.fit()

    def test_a_file_that_is_no_parquet_file(self, small, write, tmp_path):
        pattern = write(small)
        (tmp_path / "part-9.parquet").write_text("not at all")
        refused(pattern, "part-9.parquet", "not a parquet file that can be read")

    @pytest.mark.parametrize("group", [0, 2])
    def test_a_corrupt_row_group(self, group, small, write, tmp_path):
        from pyarrow import parquet

        pattern = write(small, row_group_size=1_000)
        path = tmp_path / "part-0.parquet"
        column = parquet.ParquetFile(path).metadata.row_group(group).column(0)
        content = bytearray(path.read_bytes())
        start = column.dictionary_page_offset or column.data_page_offset
        content[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
        path.write_bytes(bytes(content))
        refused(pattern, f"row group {group} of", "part-0.parquet", "could not be read", formula="y ~ x0")

    def test_a_torn_csv_file(self, small, write, tmp_path):
        pattern = write(small.head(50), small.tail(50), suffix="csv")
        path = tmp_path / "part-1.csv"
        path.write_text(path.read_text() + "1,2\n")
        refused(pattern, "part-1.csv", "could not be read")

    def test_files_without_rows(self, small, write):
        refused(write(small.head(0)), "the data have no rows")

    def test_one_file_without_rows(self, small, write):
        assert fit(write(small, small.head(0))).nobs == 3_000


class TestColumns:
    def test_a_column_that_one_file_lacks(self, small, write):
        refused(
            write(small, small.drop(columns="x0")),
            "'x0' is not in",
            "part-1.parquet",
            "though it is in",
            "part-0.parquet",
        )

    def test_a_column_that_one_csv_file_lacks(self, small, write):
        refused(write(small, small.drop(columns="x0"), suffix="csv"), "'x0' is not in", "part-1.csv")

    def test_a_column_that_one_table_lacks(self, small):
        refused([small, small.drop(columns="x0")], "table 1 of", "no column 'x0'")

    def test_a_column_that_no_file_has(self, small, write):
        refused(write(small), "group", "not", formula="y ~ x0 + grupo")
        refused(write(small), "'copy' is not a column", "Did you mean 'copies'?", freq_weights="copy")
        refused(write(small), "'klinik'", cov_type="cluster", cov_kwds={"groups": "klinik"})

    def test_columns_that_are_not_needed_may_be_absent(self, small, write):
        assert fit(write(small, small.drop(columns=["x2", "clinic"]))).nobs == 6_000

    def test_types_that_differ_between_files(self, small, write):
        refused(
            write(small, small.astype({"x0": str})),
            "'x0' holds numbers in",
            "part-0.parquet",
            "but text in",
            "part-1.parquet",
        )

    def test_types_that_differ_between_tables(self, small):
        refused([small, small.assign(x0="text")], "'x0' is a number in some rows and a factor in others")

    def test_whole_numbers_that_are_missing_in_some_files(self, small, write):
        later = small.assign(clinic=small["clinic"].astype("Int64").where(small.index % 2 == 0))
        with pytest.warns(gevglm.exceptions.MissingRowsWarning, match="1500 of 6000"):
            assert fit(write(small, later), "y ~ clinic").nobs == 4_500


class TestRows:
    def test_nothing_left_after_filtering(self, small, write):
        refused(write(small, small), "subset selects none of the 6000 rows", subset="x0 > 100")

    def test_every_row_has_a_missing_value(self, small, write):
        refused(write(small.assign(x0=np.nan)), "every one of the 3000 rows has a missing value")

    def test_one_outcome_only(self, small, write):
        refused(write(small.assign(y=0), small.assign(y=0)), "0 in all 6000 rows")

    def test_more_than_two_outcomes(self, small, write):
        refused(write(small, small.assign(y=2)), "3 levels")

    def test_missing_rows_may_be_refused(self, small, write):
        data = small.assign(x0=small["x0"].where(small.index > 9))
        refused(write(data), "10 of 3000 rows have missing values", missing="raise")

    def test_weights_and_exposure_out_of_range(self, small):
        parts = [small, small.assign(importance=-1.0)]
        refused(parts, "var_weights must be finite and not negative", "3000 rows", var_weights="importance")
        refused(parts, "exposure must be positive", "3000 rows", exposure="importance")

    def test_infinite_values(self, small):
        refused([small, small.assign(x0=np.inf)], "infinite or not numbers: x0 (3000 rows)")

    def test_arrays_beside_data_in_pieces(self, small):
        refused([small], "give offset as the name of a column", error=InvalidOptionError, offset=np.zeros(3_000))
        refused([small], "give subset as a condition", error=InvalidOptionError, subset=np.ones(3_000, dtype=bool))


class TestFormulas:
    def test_functions_that_need_all_rows_are_named(self, small):
        right = "te(bs(x0, df=4), bs(x1, df=4), constraints='center')"
        refused([small.head(1_000), small.tail(2_000)], "te(", "pieces", formula=f"y ~ {right}")

    @pytest.mark.parametrize("right", ["I(x0 - x0.mean())", "I(x0.shift(1).fillna(0))", "I(x0.rank())"])
    def test_values_that_depend_on_other_rows(self, right, small):
        refused([small], "depends on other rows", formula=f"y ~ {right}")

    def test_patsy_cannot(self, small):
        refused([small], "formula_engine='formulaic'", error=InvalidOptionError, formula_engine="patsy")


class TestIterables:
    def test_an_iterator_is_read_once_only(self, small):
        refused(iter([small]), "can be read once", "lambda")

    @pytest.mark.parametrize("endless", [itertools.repeat, lambda part: itertools.cycle([part])])
    def test_tables_without_end(self, endless, small):
        refused(lambda: endless(small), "without end")

    def test_a_generator_without_end(self, small, monkeypatch):
        def forever():
            while True:
                yield small

        monkeypatch.setattr("gevglm.data.sources.frames.MOST_TABLES", 50)
        refused(forever, "forever() has returned 50 tables", "without end")

    def test_a_function_that_returns_no_tables(self, small):
        refused(lambda: [], "returns no tables")
        refused(lambda: small, "must return an iterable of DataFrames")
        refused(lambda: None, "must return an iterable of DataFrames")
        refused(lambda: [1, 2], "not a table")

    def test_a_function_that_returns_other_tables_each_time(self, small):
        calls = itertools.count(1_000)
        refused(lambda: [small.head(next(calls))], "the data have changed during the fit")


class TestWithoutPackages:
    def hide(self, monkeypatch, package):
        load = builtins.__import__

        def hidden(name, *args, **options):
            if name == package or name.startswith(f"{package}."):
                raise ImportError(f"no module named {name!r}")
            return load(name, *args, **options)

        monkeypatch.setattr(builtins, "__import__", hidden)

    def test_pyarrow(self, pattern, monkeypatch):
        self.hide(monkeypatch, "pyarrow")
        refused(pattern, "pip install 'gevglm[parquet]'")

    def test_dask_is_not_needed_for_the_rest(self, pattern):
        code = f"import sys; sys.modules['dask'] = None; import gevglm; gevglm.fit('y ~ x0', {pattern!r}, xi=0.5)"
        subprocess.run([sys.executable, "-c", code], check=True)


class TestDask:
    @pytest.fixture
    def frame(self, small):
        return pytest.importorskip("dask.dataframe").from_pandas(small, npartitions=2)

    @pytest.fixture
    def failing(self, monkeypatch):
        """Let the scheduler fail with an error of distributed."""

        def arrange(kind, message):
            error = type(kind, (Exception,), {"__module__": "distributed.core"})(message)

            def fail(*args, **options):
                raise error

            monkeypatch.setattr("dask.compute", fail)

        return arrange

    def test_a_worker_that_runs_out_of_memory(self, frame, failing):
        failing("KilledWorker", "task died 4 times")
        refused(frame, "ran out of memory", "smaller partitions", error=GevglmError)

    @pytest.mark.parametrize(
        "kind, message",
        [("FutureCancelledError", "lost"), ("CommClosedError", "closed"), ("ClientError", "Client is closed")],
    )
    def test_a_client_that_goes_away(self, kind, message, frame, failing):
        failing(kind, message)
        refused(frame, "has gone away", "resume=", error=GevglmError)

    def test_errors_of_the_data_are_those_of_other_data(self, frame):
        refused(frame, "'x9'", formula="y ~ x9")
        refused(frame, "subset selects none", subset="x0 > 100")

    def test_room_for_the_design_is_asked_of_the_machine(self, frame, monkeypatch):
        monkeypatch.setattr(dask_source, "_memory", lambda: 0.0)
        assert fit(frame).model.engine()._blocks is None

    def test_a_column_that_one_partition_lacks(self, small):
        dd = pytest.importorskip("dask.dataframe")
        parts = pytest.importorskip("dask").delayed
        frame = dd.from_delayed([parts(small), parts(small.drop(columns="x0"))], meta=small, verify_meta=False)
        refused(frame, "x0", error=Exception)


def test_saved_results_know_what_is_gone(small, tmp_path):
    results = fit([small])
    results.save(tmp_path / "fit.pickle")
    assert (tmp_path / "fit.pickle").stat().st_size < 50_000
    with pytest.raises(InvalidDataError, match="needs the rows of the fit, which are not in memory"):
        gevglm.load(tmp_path / "fit.pickle").lr_tests()
    assert isinstance(gevglm.load(tmp_path / "fit.pickle").predict(small), pd.Series)
