"""Columns that cannot be tested are rows with a reason; words that cannot be meant are errors."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import gevglm
from gevglm.exceptions import InvalidDataError, InvalidOptionError, UnknownArgumentError

N = 300


def simulate():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"age": rng.normal(size=N), "sex": rng.integers(0, 2, N)})
    data["case"] = (rng.random(N) < expit(data["age"] - 1.5)).astype(int)
    return data, rng.normal(size=N)


DATA, FINE = simulate()
EVENTS = DATA["case"].to_numpy() == 1


def columns():
    """Columns with something the matter, by what is said of them."""
    half = np.where(np.arange(N) % 2 == 0, FINE, np.nan)
    return {
        "": FINE,
        "is constant": np.full(N, 3.0),
        "is constant#2": np.where(np.isnan(half), np.nan, 1.0),
        "is a linear combination of the columns of the model": 2.0 * DATA["age"] - 1.0,
        "is a linear combination of the columns of the model#2": np.where(np.isnan(half), np.nan, DATA["age"] + 3.0),
        "known: separated": np.where(EVENTS == (DATA["age"] > 0.0), FINE, np.nan),  # rows where age tells all outcomes
        "is missing in all rows": np.full(N, np.nan),
        "has infinite values": np.where(np.arange(N) == 5, np.inf, FINE),
        "has 299 rows, but the data have 300": FINE[1:],
        "is not numbers but (object|str)": np.where(FINE > 0, "high", "low"),
        "is not numbers but complex128": FINE + 1j,
        "is not numbers but datetime64": pd.Series(pd.date_range("2020-01-01", periods=N)),
        "in the rows where it is known: .*outcome": np.where(EVENTS, np.nan, FINE),  # no events where it has values
        "sex: zero in every row": np.where(DATA["sex"] == 0, half, np.nan),  # of one sex only
    }


@pytest.mark.parametrize("test", ["score", "lr", "firth", "spa"])
def test_columns_with_something_the_matter_have_a_reason(test):
    res = gevglm.scan("case ~ age + sex", DATA, columns=columns(), test=test, threshold=1.0)
    for expected, reason, pvalue in zip(columns(), res.table["reason"], res.table["pvalue"], strict=True):
        assert re.search(expected.partition("#")[0], reason), (expected, reason)
        assert np.isnan(pvalue) == bool(expected)
    assert "2 of 14: the column is constant" in res.notes
    assert "13 with a reason" in repr(res)
    assert "is missing in all rows" in str(res.summary())


def test_a_column_that_separates_has_an_infinite_estimate_or_firth():
    carriers = np.zeros(N)
    carriers[np.flatnonzero(EVENTS)[:6]] = 1.0
    row = gevglm.scan("case ~ age + sex", DATA, columns=carriers, test="lr").table.iloc[0]
    assert row["coef"] == np.inf and np.isnan(row["se"]) and 0.0 < row["pvalue"] < 0.01
    assert "separates" in row["reason"] and "firth" in row["reason"]
    mirrored = gevglm.scan("case ~ age + sex", DATA, columns=-carriers, test="lr").table.iloc[0]
    assert mirrored["coef"] == -np.inf
    assert mirrored["statistic"] == pytest.approx(row["statistic"], rel=1e-6)
    row = gevglm.scan("case ~ age + sex", DATA, columns=carriers, test="firth").table.iloc[0]
    assert row["reason"] == "" and np.isfinite(row[["coef", "se", "statistic"]].astype(float)).all()


def test_no_column_can_be_tested():
    res = gevglm.scan("case ~ age", DATA, columns=np.ones((N, 3)))
    assert res.top().empty and "3 with a reason" in repr(res)
    str(res.summary())
    with pytest.raises(InvalidOptionError, match="no column has a test"):
        res.plot()


def call(*args, **options):
    return lambda: gevglm.scan(*args, **({"columns": FINE} | options))


SOURCE = {
    "test": (call("case ~ age", DATA, test="wald"), "'wald'.*'score', 'lr', 'firth', 'spa'"),
    "threshold": (call("case ~ age", DATA, threshold=5), "threshold=5 must be"),
    "threshold, a word": (call("case ~ age", DATA, threshold="all"), "threshold='all' must be"),
    "shape": (call("case ~ age", DATA, xi="ml"), "xi='ml' would be estimated"),
    "link of firth": (call("case ~ age", DATA, link="probit", test="firth"), "for the logit only.*use 'lr' or 'spa'"),
    "rows": (call("case ~ age", DATA, columns=np.ones((7, 2))), "columns has 7 rows, but the data have 300"),
    "rows of a table": (call("case ~ age", DATA, columns=pd.DataFrame(np.ones((7, 2)))), "columns has 7 rows"),
    "labels": (call("case ~ age", DATA, columns=pd.DataFrame({"g": FINE}, index=range(1, N + 1))), "index of columns"),
    "shape of columns": (call("case ~ age", DATA, columns=np.ones((N, 2, 2))), r"shape \(300, 2, 2\)"),
    "ragged": (call("case ~ age", DATA, columns=[[1.0], [1.0, 2.0]]), "a dict"),
    "no columns": (call("case ~ age", DATA, columns=np.ones((N, 0))), "no columns to test"),
    "name": (call("case ~ age", DATA, columns=["sex", "ag"]), "'ag', not in the data. Did you mean 'age'"),
    "pattern": (call("case ~ age", DATA, columns="snp*"), r"'snp\*', not in the data"),
    "names without a table": (call(DATA["case"], DATA[["age"]], columns="sex"), "the data are arrays"),
    "file": (call("case ~ age", DATA, columns="nowhere.parquet"), "no file 'nowhere.parquet'"),
    "outcome": (call("~ age", DATA, outcomes="dead"), "outcomes names 'dead', not in the data"),
    "left-hand side": (call("case ~ age", DATA, outcomes="case"), "no left-hand side"),
    "no data": (call("case ~ age"), "a scan needs data"),
    "data in pieces": (call("case ~ age", lambda: iter([DATA])), "in memory"),
    "separated": (call("case ~ age", DATA.assign(age=DATA["case"] - 0.5)), "without the columns is separated"),
}


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.SeparationWarning")
@pytest.mark.parametrize(("asked", "words"), SOURCE.values(), ids=SOURCE)
def test_what_cannot_be_meant_is_refused(asked, words):
    with pytest.raises((InvalidDataError, InvalidOptionError), match=words):
        asked()


def test_a_file_that_is_no_parquet_file(tmp_path):
    file = tmp_path / "x.parquet"
    file.write_text("case,age")
    with pytest.raises(InvalidDataError, match=r"x\.parquet' could not be read"):
        gevglm.scan("case ~ age", DATA, columns=file)


def test_words_of_other_packages():
    with pytest.raises(UnknownArgumentError, match="freq_weights= says how many"):
        gevglm.scan("case ~ age", DATA, columns=FINE, weights="w")
