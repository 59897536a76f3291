"""``gevglm predict``: saved models, whose they are, and what comes out."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm

FORMULA = "event ~ age + smoker"


@pytest.fixture(scope="module")
def fitted(study, folder):
    res = gevglm.fit(FORMULA, study, xi=0.5)
    gevglm.fit(FORMULA, study, xi=0.5).save(folder / "model.pkl")
    return res


def test_risks_are_added_to_the_columns(call, study, folder, fitted):
    code, out, err = call("predict", "model.pkl", "study.csv")
    scored = pd.read_csv(io.StringIO(out))
    assert code == 0 and err == "1,500 rows predicted\n"
    assert list(scored.columns) == [*study.columns, "risk"]
    assert_allclose(scored["risk"], fitted.predict(), rtol=1e-12)
    for name, read in (("s.parquet", pd.read_parquet), ("s.feather", pd.read_feather), ("s.dta", pd.read_stata)):
        code, out, _ = call(
            "predict", "model.pkl", "study.csv", "--interval", "--level", "0.8", "--name", "p", "-o", name
        )
        assert (code, out) == (0, "")
        limits = fitted.get_prediction(study).summary_frame(alpha=0.2)
        found = read(folder / name)[["p", "p_lower", "p_upper"]]
        assert_allclose(found, limits[["mean", "mean_ci_lower", "mean_ci_upper"]], rtol=1e-12)


def test_incomplete_rows_have_no_risk(call, study, folder, fitted):
    study.assign(age=study["age"].where(study.index != 3)).to_csv(folder / "holes.csv", index=False)
    code, out, err = call("predict", "model.pkl", "holes.csv")
    assert code == 0 and "1,499 rows predicted; 1 incomplete ones have none" in err
    assert np.flatnonzero(pd.read_csv(io.StringIO(out))["risk"].isna()).tolist() == [3]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nothing.pkl", "study.csv"], 1, "there is no file 'nothing.pkl'"),
        (["study.csv", "study.csv"], 1, "does not hold results of gevglm"),
        (["model.pkl", "study.csv", "--name", "age"], 2, "has a column 'age' already; choose another --name"),
        (["model.pkl", "study.csv", "-o", "s.xls"], 2, "ending that cannot be written; use one of .parquet"),
        (["model.pkl", "study.csv", "-o", "away/s.csv"], 2, "no folder 'away'"),
        (["model.pkl", "study.csv", "--interval", "--level", "2"], 2, "between 0 and 1"),
        (["model.pkl", "renamed.csv"], 1, "age"),
    ],
)
def test_bad_words(call, study, folder, fitted, words, code, message):
    study.rename(columns={"age": "Age"}).to_csv(folder / "renamed.csv", index=False)
    found, out, err = call("predict", *words)
    assert (found, out) == (code, "") and message in err and "Traceback" not in err


def test_models_of_newer_versions_are_announced(call, study, folder, fitted):
    loaded = gevglm.load(folder / "model.pkl")
    loaded._results.saved_by = "99.1.0"
    with open(folder / "newer.pkl", "wb") as file:
        pickle.dump(loaded, file)
    code, _, err = call("predict", "newer.pkl", "study.csv")
    assert code == 0 and "was saved by gevglm 99.1.0, which is newer than this one" in err
    with pytest.warns(gevglm.exceptions.GevglmWarning, match=r"99\.1\.0.*update gevglm"):
        gevglm.load(folder / "newer.pkl")


def test_pickles_that_are_no_results_are_refused(call, folder):
    with open(folder / "list.pkl", "wb") as file:
        pickle.dump([1, 2], file)
    code, _, err = call("predict", "list.pkl", "study.csv")
    assert code == 1 and "does not hold results of gevglm but a list" in err
    (folder / "future.pkl").write_bytes(b"cgevglm.results\nSomethingNew\n.")
    code, _, err = call("predict", "future.pkl", "study.csv")
    assert code == 1 and "SomethingNew" in err and "another version" in err
    assert "only what you, or someone you trust" in " ".join(gevglm.load.__doc__.split())
    assert "runs code" in call("predict", "--help")[1]
