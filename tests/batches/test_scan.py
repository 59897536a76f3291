"""Scans: every row is the test that fits of its own would give, whatever the columns come in."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import expit
from scipy.stats import chi2, kstest

import gevglm
from gevglm.batches import columns as columns_module
from gevglm.batches.column_tests import SEPARATED
from gevglm.exceptions import MissingRowsWarning
from tests.support.golden import numbers, quiet_fit, synthetic

N, M = 600, 12
COVARIATES = ["age", "sex"]


def study(n=N, m=M, seed=3):
    """A table, and columns of which some are rare and some miss values."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"age": rng.normal(size=n), "sex": rng.integers(0, 2, n).astype(float)})
    G = rng.binomial(2, np.geomspace(0.02, 0.4, m), (n, m)).astype(float)
    data["case"] = (rng.random(n) < expit(-2 + 0.5 * data["age"] + 0.6 * G[:, -1] + 0.7 * G[:, 2])).astype(int)
    data["shift"], data["count"] = rng.normal(0, 0.3, n), rng.integers(1, 4, n)
    G[rng.random((n, m)) < np.linspace(-0.02, 0.04, m)] = np.nan
    return data, G


DATA, G = study()
COMPLETE = ~np.isnan(G).any(axis=0)


def by_hand(data, g, test, **options):
    """Statistic, coefficient and its error of one column, by fits of the rows where it has values."""
    rows = ~np.isnan(g)
    data = data[rows].assign(g=g[rows])
    if test == "score":
        return quiet_fit("case ~ age + sex", data, loss="log", **options).score_test(data["g"]).statistic, None, None
    bias = "firth" if test == "firth" else None
    res = quiet_fit("case ~ age + sex + g", data, loss="log", bias=bias, tol=1e-11, **options)
    return res.lr_tests().loc["g", "statistic"], res.params["g"], res.bse["g"]


CASES = [
    *(
        ("score", options)
        for options in ({}, {"offset": "shift", "freq_weights": "count"}, {"link": "cloglog"}, {"xi": -0.2})
    ),
    *(
        ("lr", options)
        for options in ({}, {"offset": "shift", "freq_weights": "count"}, {"link": "probit"}, {"xi": 0.2})
    ),
    *(("firth", options) for options in ({}, {"offset": "shift", "freq_weights": "count"})),
]


@pytest.mark.parametrize(("test", "options"), CASES)
def test_rows_are_the_tests_of_single_fits(test, options):
    table = gevglm.scan("case ~ age + sex", DATA, columns=G, test=test, threshold=1.0, **options).table
    assert (table["test"] == test).all() and (table["reason"] == "").all()
    for j in range(M):
        statistic, coef, se = by_hand(DATA, G[:, j], test, **options)
        row = table.iloc[j]
        assert_allclose(row["statistic"], statistic, rtol=1e-10 if test == "score" else 1e-8, atol=1e-10)
        assert_allclose(row["pvalue"], chi2.sf(statistic, 1), rtol=1e-7)
        if coef is not None:
            assert_allclose([row["coef"], row["se"]], [coef, se], rtol=0, atol=1e-8)


def test_every_flagged_column_of_many_is_a_fit_of_its_own():
    data, columns = study(n=900, m=200, seed=18)
    columns[:, ::5] = np.where(columns[:, ::5] > 1, 1.0, 0.0)  # carriers of two copies only: few, or none
    table = gevglm.scan("case ~ age + sex", data, columns=columns, test="firth", threshold=0.7).table
    flagged = np.flatnonzero(table["test"] == "firth")
    assert len(flagged) > 80 and (table["carrier_events"][flagged] == 0).any()  # some separate the outcomes
    expected = np.array([by_hand(data, columns[:, j], "firth") for j in flagged])
    assert_allclose(table.loc[flagged, ["statistic", "coef", "se"]], expected, rtol=0, atol=1e-8)


def test_counts_of_a_column():
    table = gevglm.scan("case ~ age + sex", DATA, columns=G, freq_weights="count").table
    counts = DATA["count"].to_numpy()
    for j, row in table.iterrows():
        known, carries = ~np.isnan(G[:, j]), G[:, j] > 0
        assert row["observations"] == counts[known].sum()
        assert_allclose(row["mean"], np.average(G[known, j], weights=counts[known]))
        assert row["carriers"] == counts[carries].sum()
        assert row["carrier_events"] == (counts * DATA["case"])[carries].sum()


@pytest.mark.parametrize("name", ["logistic", "firth", "fallback"])
def test_plink2(name):
    golden, data = numbers("scan"), synthetic("scan")
    lr, firth = (
        gevglm.scan("case ~ age + sex", data, columns="v*", test=test, threshold=1.0).table for test in ("lr", "firth")
    )
    by_firth = {"logistic": np.zeros(len(lr), bool), "firth": np.ones(len(lr), bool)}
    chosen = by_firth.get(name, np.array(golden[name].get("FIRTH?")) == "Y")
    ours = lr.where(~pd.Series(chosen), firth)
    assert list(ours["observations"]) == golden[name]["OBS_CT"]
    beta, se = (np.array(golden[name][key], dtype=float) for key in ("BETA", "SE"))
    separated = np.isnan(beta)
    assert list(ours["reason"] == SEPARATED) == list(separated)
    # six digits of maximum likelihood; plink2 ends Firth's iteration at a step of 1e-4
    assert_allclose(ours["coef"][~separated], beta[~separated], rtol=5e-6, atol=5e-5 * chosen[~separated].max())
    assert_allclose(ours["se"][~separated], se[~separated], rtol=1e-5)


def test_r():
    golden, data = numbers("scan"), synthetic("scan")
    expected = pd.DataFrame(golden["r"]).T
    for test, name, rtol in (
        ("score", "rao", 1e-8),
        ("lr", "lr", 1e-10),
    ):  # R's weights are those one iteration earlier
        table = gevglm.scan("case ~ age + sex", data, columns=golden["variants"], test=test, threshold=1.0).table
        assert_allclose(table["statistic"], expected[name], rtol=rtol)
    table = gevglm.scan("case ~ age + sex", data, columns=golden["variants"], test="firth", threshold=1.0).table
    assert_allclose(table["coef"], expected["firth"], rtol=0, atol=1e-9)
    assert_allclose(table["se"], expected["firth_se"], rtol=0, atol=1e-9)


def test_only_columns_below_the_threshold_are_fitted():
    score, firth = (
        gevglm.scan("case ~ age + sex", DATA, columns=G, test=test, threshold=0.2).table for test in ("score", "firth")
    )
    below = score["pvalue"] <= 0.2
    assert 0 < below.sum() < M
    assert list(firth["test"] == "firth") == list(below)
    pd.testing.assert_frame_equal(firth[~below], score[~below])


def kinds(folder):
    """The same columns in every kind of table."""
    frame = pd.DataFrame(G, columns=[f"g{j}" for j in range(M)])
    pa, pl, ds = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pyarrow.dataset"))
    file = folder / "columns.parquet"
    frame.set_index(pd.Index(range(N)).astype(str)).to_parquet(file)
    return {
        "array": G,
        "list": G.tolist(),
        "fortran, single precision": np.asfortranarray(G.astype(np.float32)),
        "sparse": csr_array(G),
        "frame": frame,
        "rows in another order": frame.sample(frac=1.0, random_state=0),
        "nullable": frame.astype("Int64"),
        "objects": frame.astype(object).where(frame.notna(), None),
        "dict": {name: frame[name] for name in frame},
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "dataset": ds.dataset(pa.table(frame)),
        "file": file,
        "name of a file": str(file),
        "folder": folder,
        "names": list(frame.columns),
        "pattern": "g*",
    }


def test_columns_of_every_kind(tmp_path, monkeypatch):
    expected = gevglm.scan("case ~ age + sex", DATA, columns=G, test="firth", threshold=0.5).table.drop(
        columns="column"
    )
    monkeypatch.setattr(columns_module, "CHUNK_NUMBERS", 1)  # eight columns at a time
    data = DATA.assign(**{f"g{j}": G[:, j] for j in range(M)})
    for kind, given_columns in kinds(tmp_path).items():
        table = gevglm.scan("case ~ age + sex", data, columns=given_columns, test="firth", threshold=0.5).table
        same = pd.testing.assert_frame_equal
        same(table.drop(columns="column"), expected, rtol=1e-9, atol=1e-11, obj=kind)
        first = "x1" if kind in ("array", "list", "fortran, single precision", "sparse") else "g0"
        assert table["column"].iloc[0] == first, kind


def test_rows_that_the_model_leaves_out_are_left_out_of_the_columns():
    data = DATA.copy()
    data.loc[::7, "age"] = np.nan
    used = data["age"].notna().to_numpy() & (data["sex"] == 1.0).to_numpy()
    expected = gevglm.scan("case ~ age", data[used], columns=G[used]).table
    for columns in (G, G[used]):  # of the rows of the data, and of those used
        with pytest.warns(MissingRowsWarning, match="rows were dropped"):
            table = gevglm.scan("case ~ age", data, columns=columns, subset="sex == 1").table
        pd.testing.assert_frame_equal(table, expected)


def test_arrays_in_place_of_a_formula():
    X = np.column_stack([np.ones(N), DATA[COVARIATES]])
    table = gevglm.scan(DATA["case"].to_numpy(), X, columns=G, test="lr").table
    pd.testing.assert_frame_equal(table, gevglm.scan("case ~ age + sex", DATA, columns=G, test="lr").table)


def test_large_means_lose_no_digits():
    rows = G[:, COMPLETE]
    plain, shifted = (
        gevglm.scan("case ~ age + sex", DATA, columns=c, test="lr", threshold=1.0).table for c in (rows, rows + 1e5)
    )
    assert_allclose(shifted["statistic"], plain["statistic"], rtol=1e-6)
    assert_allclose(shifted["coef"], plain["coef"], rtol=1e-6)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**16))
def test_invariances(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(N)

    def firth(data, columns, **options):
        options |= {"test": "firth", "threshold": 0.5}
        return gevglm.scan("case ~ age + sex", data, columns=columns, **options).table

    table = firth(DATA, G)
    moved = firth(DATA.iloc[order].reset_index(drop=True), G[order])
    mirrored = firth(DATA.assign(case=1 - DATA["case"]), G)
    repeated = firth(DATA.loc[DATA.index.repeat(DATA["count"])], np.repeat(G, DATA["count"], axis=0))
    weighted = firth(DATA, G, freq_weights="count")
    for other, same, sign in ((moved, table, 1), (mirrored, table, -1), (repeated, weighted, 1)):
        assert_allclose(other["statistic"], same["statistic"], rtol=1e-8, atol=1e-10)
        assert_allclose(other["coef"], sign * same["coef"], rtol=0, atol=1e-9)


def test_many_outcomes_of_one_column():
    rng = np.random.default_rng(5)
    data = DATA.assign(snp=G[:, 3], never=0)
    outcomes = [f"disease {j}" for j in range(4)]
    data[outcomes] = (rng.random((N, 4)) < expit(-1.5 + 0.5 * DATA[["age"]].to_numpy())).astype(float)
    data.loc[:40, "disease 2"] = np.nan
    res = gevglm.scan("~ age + sex", data, columns="snp", outcomes=["disease*", "never"], test="firth", threshold=1.0)
    assert list(res.table["outcome"]) == [*outcomes, "never"]
    assert "never" in res.table["reason"].iloc[-1] or "no event" in res.table["reason"].iloc[-1]
    for outcome, row in zip(outcomes, res.table.itertuples(), strict=False):
        rows = data[data[outcome].notna()].assign(case=data[outcome])
        alone = gevglm.scan("case ~ age + sex", rows, columns=["snp"], test="firth", threshold=1.0)
        assert row.statistic == alone.table["statistic"].iloc[0]
        assert row.observations == data[[outcome, "snp"]].notna().all(axis=1).sum()


def test_p_values_of_columns_without_effect_are_uniform():
    rng = np.random.default_rng(11)
    n, m = 1500, 3000
    data = pd.DataFrame({"x": rng.normal(size=n)})
    data["case"] = (rng.random(n) < expit(-2.2 + data["x"])).astype(int)
    columns = rng.binomial(2, 0.3, (n, m)) + 0.5 * data[["x"]].to_numpy()  # correlated with the covariate
    res = gevglm.scan("case ~ x", data, columns=columns)
    assert kstest(res.table["pvalue"], "uniform").pvalue > 0.01
    assert (
        abs(res.genomic_control - 1.0) < 4 * 0.043
    )  # standard error of a median of 3000 chi-squared, over that median
