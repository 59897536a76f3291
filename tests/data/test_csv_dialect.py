"""A csv file is the same table whether pandas reads it whole or pyarrow in pieces, as one file or as a folder."""

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm import fit
from gevglm.data.csv_dialect import MISSING_WORDS, read_csv
from gevglm.data.sources import csv as csv_source
from gevglm.data.sources import find
from gevglm.exceptions import InvalidDataError, MissingRowsWarning

pa = pytest.importorskip("pyarrow")

COLUMNS = {
    "whole": ["1", "007", " 5", "6 ", "-0"],
    "numbers": ["1.5", "1e5", ".5", "5.", "-3"],
    "infinite": ["inf", "-inf", "Infinity", "1"],
    "long digits": ["0.1", "0.30000000000000004", "1.7976931348623157e308", "5e-324", "123456789.123456789"],
    "truth": ["True", "False", "TRUE", "false", "true"],
    "truth and numbers": ["True", "1", "0", "False", "1"],
    "hexadecimal": ["0x1f", "1", "2", "0X2A", "3"],
    "hexadecimal at the end": ["1", "2", "3", "4", "0x1f"],
    "binary": ["0b11", "1", "2", "3", "4"],
    "dates": ["2020-01-01", "2020-01-02", "2021-12-31", "2020-01-01", "1999-05-05"],
    "times": ["12:30", "10:00", "23:59", "00:00", "12:30"],
    "moments": ["2020-01-01 10:00", "2020-01-02 11:30", "2020-01-01T10:00:00", "2020-01-01", "x"],
    "text": ["a", " b", "c ", "d", "a"],
    "underscores": ["1_000", "2_000", "3", "4", "5"],
    "int64": ["9223372036854775807", "9007199254740993", "9007199254740992", "1", "-9223372036854775808"],
    "int64 missing": ["9007199254740993", "9007199254740992", "NA", "1", "9007199254740994"],
    "uint64": ["18446744073709551615", "18446744073709551614", "9223372036854775808", "1", "2"],
    "uint64 missing": ["18446744073709551615", "18446744073709551614", "", "1", "2"],
    "uint64 negative": ["18446744073709551615", "-1", "18446744073709551614", "1", "2"],
    "beyond 64 bits": ["18446744073709551617", "18446744073709551616", "1", "2", "3"],
    "beyond 64 bits missing": ["99999999999999999999999", "99999999999999999999998", "NA", "2", "3"],
    "large numbers": ["99999999999999999999999", "1.5", "NA", "2", "3"],
    "missing": ["1", "NA", "", "4", "5"],
    "missing text": ["a", "NA", "", "None", "<NA>"],
    "missing truth": ["True", "NA", "False", "", "True"],
    "all missing": ["NA", "", "NaN", "null", "None"],
    "one bad cell": ["1", "2", "?", "4", "5"],
    "decimal commas": ['"1,5"', '"2,5"', '"3"', '"4,25"', '"5"'],
    "quoted": ['"1"', '"2"', '"3"', '"NA"', '"5"'],
}  # fmt: skip


def tables(folder, values):
    """The table of one file, of the same file in pieces, and of a folder of two files."""
    rows = [f"{value},{i}" for i, value in enumerate(values)]
    (folder / "parts").mkdir()
    for name, part in (("all.csv", rows), ("parts/0.csv", rows[:2]), ("parts/1.csv", rows[2:])):
        (folder / name).write_text("\n".join(["x,i", *part, ""]))
    yield read_csv(folder / "all.csv")
    for paths in ([folder / "all.csv"], sorted((folder / "parts").iterdir())):
        source = csv_source.CsvSource(paths, "files")
        source.check(["x", "i"])
        yield pd.concat([load() for _, load in source.batches(["x", "i"])], ignore_index=True)


def kind(column):
    inferred = pd.api.types.infer_dtype(column, skipna=True)
    return "number" if inferred in ("integer", "floating", "mixed-integer-float") else inferred


@pytest.mark.parametrize("name", COLUMNS)
def test_every_reader_gives_the_same_values(name, tmp_path):
    whole, *others = tables(tmp_path, COLUMNS[name])
    for other in others:
        assert other["x"].isna().tolist() == whole["x"].isna().tolist()
        assert other["x"].dropna().tolist() == whole["x"].dropna().tolist()
        assert kind(other["x"].dropna()) == kind(whole["x"].dropna()) or name == "all missing"


def test_what_is_a_number(tmp_path):
    numbers = {"all missing", "whole", "numbers", "infinite", "long digits", "missing", "quoted", "large numbers"}
    numbers |= {name for name in COLUMNS if name.startswith(("int64", "uint64")) and "negative" not in name}
    for i, (name, values) in enumerate(COLUMNS.items()):
        (tmp_path / f"{i}.csv").write_text("\n".join(["x,i", *(f"{value},0" for value in values), ""]))
        column = read_csv(tmp_path / f"{i}.csv")["x"]
        assert (kind(column) == "number") == (name in numbers), name


@pytest.mark.parametrize(
    "name", ["int64", "int64 missing", "uint64", "uint64 missing", "beyond 64 bits", "beyond 64 bits missing"]
)
def test_whole_numbers_keep_their_digits(name, tmp_path):
    expected = [value for value in COLUMNS[name] if value not in ("", "NA")]
    for table in tables(tmp_path, COLUMNS[name]):
        assert [str(value) for value in table["x"].dropna()] == expected


@pytest.mark.parametrize("word", MISSING_WORDS)
def test_words_for_missing_values(word, tmp_path):
    for table in tables(tmp_path, ["a", word, "b", "c", word]):
        assert table["x"].isna().tolist() == [False, True, False, False, True]


# -- fits --------------------------------------------------------------------------------------


@pytest.fixture
def study():
    data = gevglm.datasets.simulate_study(n=900, rng=4)
    data["event"] = (data["age"] + 10.0 * np.sin(np.arange(900)) > 3.0).astype(int)
    rng = np.random.default_rng(0)
    data["arm"] = rng.choice(["None", "low", "high"], 900)
    data["code"] = rng.choice(["0x1f", "10", "11"], 900)
    data["id"] = 2**63 + 11 * rng.integers(0, 3, 900).astype("uint64")
    data["day"] = rng.choice(["2020-01-01", "2020-01-02"], 900)
    return data


def as_file_folder_and_pieces(study, folder, monkeypatch):
    study.to_csv(folder / "all.csv", index=False)
    (folder / "parts").mkdir()
    for i in range(3):
        study.iloc[300 * i : 300 * (i + 1)].to_csv(folder / "parts" / f"{i}.csv", index=False)
    yield folder / "all.csv"
    yield folder / "parts"
    monkeypatch.setattr(find, "LARGE_FILE", 1)
    yield folder / "all.csv"


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.MissingRowsWarning")
def test_files_folders_and_large_files_give_the_same_fit(study, tmp_path, monkeypatch):
    formula = "event ~ age + arm + code + C(id) + day"
    one, *others = (
        fit(formula, data, link="logit") for data in as_file_folder_and_pieces(study, tmp_path, monkeypatch)
    )
    assert one.nobs == (study["arm"] != "None").sum()
    assert list(one.params.index)[1:7] == [
        "arm[T.low]",
        "code[T.10]",
        "code[T.11]",
        *(f"C(id)[T.{2**63 + 11 * i}]" for i in (1, 2)),
        "day[T.2020-01-02]",
    ]
    for other in others:
        assert list(other.params.index) == list(one.params.index)
        assert_allclose(other.params, one.params, rtol=1e-7)


def test_clusters_of_long_numbers_stay_apart(study, tmp_path, monkeypatch):
    data = study.assign(id=np.uint64(2**63) + np.arange(900, dtype="uint64") // 3)
    words = {"link": "logit", "cov_type": "cluster", "cov_kwds": {"groups": "id"}}
    files = as_file_folder_and_pieces(data, tmp_path, monkeypatch)
    expected = fit("event ~ age", data, **words | {"cov_kwds": {"groups": np.arange(900) // 3}})
    for file in files:
        assert_allclose(fit("event ~ age", file, **words).bse, expected.bse, rtol=1e-7)


def test_a_folder_takes_files_that_are_data_by_their_last_ending(study, tmp_path):
    study.to_csv(tmp_path / "a.csv", index=False)
    study.to_csv(tmp_path / "b.csv.gz", index=False)
    for ending in ("bak", "old", "tmp", "part", "md5", "csv~", "gz.old"):
        (tmp_path / f"a.csv.{ending}").write_bytes((tmp_path / "a.csv").read_bytes())
    assert fit("event ~ age", tmp_path, link="logit").nobs == 1800
    with pytest.raises(InvalidDataError, match="not a table by its name"):
        fit("event ~ age", tmp_path / "a.csv.bak", link="logit")


def test_compressed_files_are_read_alone_and_in_folders(study, tmp_path):
    text = study.to_csv(index=False).encode()
    for ending, opened in (("gz", gzip.open), ("bz2", bz2.open), ("xz", lzma.open)):
        with opened(tmp_path / f"{ending}.csv.{ending}", "wb") as file:
            file.write(text)
    with zipfile.ZipFile(tmp_path / "zip.csv.zip", "w") as archive:
        archive.writestr("zip.csv", text)
    with pa.CompressedOutputStream(str(tmp_path / "zst.csv.zst"), "zstd") as file:
        file.write(text)
    assert fit("event ~ age", tmp_path, link="logit").nobs == 5 * 900
    expected = fit("event ~ age", study, link="logit").params
    for path in tmp_path.iterdir():
        assert_allclose(fit("event ~ age", path, link="logit").params, expected, rtol=1e-9)


def test_a_column_is_of_one_type_in_all_its_rows(tmp_path):
    """pandas would guess by chunks, and have both 1 and "1" in a column with a word in its last row."""
    n = 300_000
    text = "y,x\n" + "".join(f"{i % 2},{i % 3}\n" for i in range(n)) + "1,x\n"
    (tmp_path / "a.csv").write_text(text)
    assert sorted(read_csv(tmp_path / "a.csv")["x"].unique()) == ["0", "1", "2", "x"]


def test_missing_rows_are_said_of_words_that_mean_missing(study, tmp_path, monkeypatch):
    for file in as_file_folder_and_pieces(study, tmp_path, monkeypatch):
        with pytest.warns(MissingRowsWarning, match=f"{(study['arm'] == 'None').sum()} of 900"):
            fit("event ~ arm", file, link="logit")
