"""What is asked of a scan: order, genomic control, pictures, files, and going on after an interruption."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import chi2

import gevglm
from gevglm.batches import columns as columns_module
from gevglm.batches import scan as scan_module
from gevglm.batches.column_tests import ColumnTests
from gevglm.batches.scan_results import POINTS, ScanResults
from gevglm.exceptions import InvalidOptionError

N, M = 200, 40


def simulate():
    rng = np.random.default_rng(9)
    data = pd.DataFrame({"age": rng.normal(size=N)})
    columns = rng.binomial(1, 0.3, (N, M)).astype(float)
    columns[:, 5] = 1.0
    data["case"] = (rng.random(N) < expit(data["age"] + columns[:, 7] - 1.0)).astype(int)
    data["other"] = rng.permutation(data["case"])
    return data, columns


DATA, COLUMNS = simulate()


@pytest.fixture(scope="module")
def res():
    return gevglm.scan("case ~ age", DATA, columns=COLUMNS, test="firth", threshold=0.1)


def test_the_smallest_p_values_come_first(res):
    assert list(res.top(5)["pvalue"]) == sorted(res.table["pvalue"].dropna())[:5]
    assert len(res.top(1000)) == M - 1
    with pytest.raises(InvalidOptionError, match="n=0"):
        res.top(0)


def test_text(res):
    fitted = (res.table["test"] == "firth").sum()
    assert repr(res).startswith(
        f"<ScanResults: 40 tests by penalised likelihood ratio (Firth) below 0.1 ({fitted} of them), 1 with a reason"
    )
    text = str(res.summary(3))
    assert res.top(1)["column"].iloc[0] in text and f"{res.genomic_control:.4f}" in text and "[1] 1 of 40" in text


def test_genomic_control():
    pvalues = chi2.sf(1.3 * chi2.ppf((np.arange(1000) + 0.5) / 1000, 1), 1)
    table = pd.DataFrame({"column": "x", "pvalue": pvalues, "test": "score", "reason": ""})
    assert_allclose(ScanResults(table, "score", 0.05).genomic_control, 1.3, rtol=1e-3)


@pytest.mark.parametrize("m", [50, 3 * POINTS])
def test_quantiles_of_uniform_p_values_lie_on_the_diagonal(m):
    pvalues = (np.arange(m) + 0.5) / m
    table = pd.DataFrame({"column": "x", "pvalue": pvalues[::-1], "test": "score", "reason": ""})
    found = ScanResults(table, "score", 0.05).quantiles()
    assert len(found) <= max(m if m <= POINTS else POINTS, 1)
    assert_allclose(found["observed"], found["expected"])
    assert ((found["lower"] <= found["observed"]) & (found["observed"] <= found["upper"])).all()


def test_pictures(res):
    line = res.plot().lines[-1]
    assert_allclose(line.get_ydata(), res.quantiles()["observed"])
    line = res.plot("manhattan").lines[0]
    assert_allclose(line.get_ydata(), -np.log10(res.table["pvalue"].dropna()))
    both = gevglm.scan("~ age", DATA, columns=COLUMNS, outcomes=["case", "other"])
    assert len(both.plot("manhattan").lines) == 3
    with pytest.raises(InvalidOptionError, match="'qq', 'manhattan'"):
        res.plot("violin")


@pytest.mark.parametrize("name", ["scan.csv", "scan.csv.gz", "scan.parquet"])
def test_saved_tables_are_read_again(res, tmp_path, name):
    res.save(tmp_path / name)
    read = pd.read_parquet if name.endswith("parquet") else pd.read_csv
    found = read(tmp_path / name)
    pd.testing.assert_frame_equal(found.fillna({"test": "", "reason": ""}), res.table, check_dtype=False, rtol=1e-14)
    with pytest.raises(InvalidOptionError, match=r"neither a .csv nor a .parquet"):
        res.save(tmp_path / "scan.xlsx")


def interrupted_after(monkeypatch, chunks):
    """Let scans be interrupted after some chunks, and count those that are tested."""
    tested, of = [], ColumnTests.of

    def counted(self, part):
        if len(tested) == chunks:
            raise KeyboardInterrupt
        tested.append(part)
        return of(self, part)

    monkeypatch.setattr(ColumnTests, "of", counted)
    return tested


@pytest.mark.parametrize("outcomes", [None, ["case", "other"]])
def test_an_interrupted_scan_goes_on(tmp_path, monkeypatch, outcomes):
    monkeypatch.setattr(columns_module, "CHUNK_NUMBERS", 8 * N)
    file = tmp_path / "scan.npz"

    def asked(**options):
        formula = "case ~ age" if outcomes is None else "~ age"
        options = {
            "columns": COLUMNS,
            "test": "firth",
            "threshold": 0.2,
            "outcomes": outcomes,
            "resume": file,
        } | options
        return gevglm.scan(formula, DATA, **options).table

    whole = asked()
    assert not file.exists()
    n_chunks = len(whole) // 8
    with monkeypatch.context() as patched:
        interrupted_after(patched, 3)
        with pytest.raises(KeyboardInterrupt):
            asked()
    for other in (
        {"test": "lr"},
        {"columns": COLUMNS[:, ::-1]},
        {"columns": COLUMNS[:, :9]},
        {"freq_weights": np.full(N, 2.0)},
    ):
        with pytest.raises(InvalidOptionError, match="the file of another scan"):
            asked(**other)
    with monkeypatch.context() as patched:
        tested = interrupted_after(patched, n_chunks)
        pd.testing.assert_frame_equal(asked(), whole)
    assert len(tested) == n_chunks - 3
    assert not file.exists()


@pytest.mark.parametrize("content", [b"", b"something else", b"PK\x03\x04 damaged"])
def test_files_that_are_none_of_a_scan(tmp_path, content):
    file = tmp_path / "scan.npz"
    file.write_bytes(content)
    with pytest.raises(InvalidOptionError, match="not a file of a scan, or damaged"):
        gevglm.scan("case ~ age", DATA, columns=COLUMNS, resume=file)
    assert file.read_bytes() == content


def test_a_progress_bar(monkeypatch):
    seen = []

    def bar(items, total, progress):
        seen.append((total, progress))
        return items

    monkeypatch.setattr(scan_module, "progress_bar", bar)
    gevglm.scan("case ~ age", DATA, columns=COLUMNS, progress=True)
    assert seen == [(1, True)]
