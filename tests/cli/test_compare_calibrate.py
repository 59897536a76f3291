"""``gevglm compare`` and ``gevglm calibrate``."""

import io

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm import calibration

FORMULA = "event ~ age + smoker"


def test_links_side_by_side(call, study, folder):
    code, out, err = call(
        "compare", FORMULA, "study.csv", "--links", "logit", "cloglog", "--coefficients", "--folds", "3"
    )
    assert code == 0 and "cv_log_loss" in out and "3-fold" in out
    assert f"{gevglm.fit(FORMULA, study, link='cloglog').params['smoker']:.3f}" in out
    assert err == "study.csv: 1,500 rows, 7 columns\n"


def test_formulas_side_by_side_and_tables_for_papers(call, folder):
    words = ("compare", "event ~ age", "study.csv", "--also", FORMULA, "--links", "logit", "--quiet")
    for name, mark in (
        ("t.tex", r"\begin{tabular}"),
        ("t.html", "<table>"),
        ("t.md", "|---|"),
        ("t.txt", "Brier score"),
    ):
        code, out, err = call(*words, "-o", name)
        assert (code, err) == (0, "") and "(2) logit" in out
        assert mark in (folder / name).read_text(encoding="utf-8")
    assert "$-$" in (folder / "t.tex").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--links", "logitt"], 2, "logitt"),
        (["--loss", "log"], 2, "part of the names of --links"),
        (["-o", "t.pdf"], 2, ".tex, .html, .md, .txt"),
        (["-o", "away/t.tex"], 2, "no folder 'away'"),
        (["--links", "logit", "--also", "event ~ town2"], 1, "Did you mean 'town'"),
        (["--links", "logit", "--folds", "1"], 2, "folds"),
    ],
)
def test_comparisons_that_cannot_be_made(call, words, code, message):
    found, out, err = call("compare", FORMULA, "study.csv", *words)
    assert (found, out) == (code, "") and message in err and "Traceback" not in err


def test_models_on_different_rows_are_not_compared(call, study, folder):
    study.assign(age=study["age"].where(study.index > 9)).to_csv(folder / "holes.csv", index=False)
    code, out, err = call("compare", "event ~ smoker", "holes.csv", "--also", FORMULA, "--links", "logit")
    assert (code, out) == (1, "")
    assert "'event', 1490 rows" in err and "'event', 1500 rows" in err and "same complete rows" in err


@pytest.fixture(scope="module")
def scored(study, folder):
    risk = gevglm.fit(FORMULA, study, link="logit").predict(study)
    frame = study.assign(risk=risk, score=np.log(risk))
    frame.to_csv(folder / "scored.csv", index=False)
    return frame


def test_predictions_of_any_model_are_assessed(call, folder, scored):
    code, out, err = call("calibrate", "scored.csv", "--outcome", "answer", "--event", "yes", "--plot", "c.png")
    known = calibration.assess(scored["event"], scored["risk"], rng=0)
    assert code == 0 and out.rstrip() == str(known).rstrip() and err == "picture: c.png\n"
    assert (folder / "c.png").read_bytes().startswith(b"\x89PNG")


def test_probabilities_are_assessed_by_cluster(call, scored):
    words = ("calibrate", "scored.csv", "--outcome", "event", "--cluster", "town")
    known = calibration.assess(scored["event"], scored["risk"], groups=scored["town"], rng=0)
    assert call(*words)[:2] == (0, f"{known}\n")
    assert call(*words, "--method", "platt")[0] == 2


def test_scores_become_probabilities(call, folder, scored):
    words = ("calibrate", "scored.csv", "--outcome", "event", "--score", "score", "--method")
    code, out, err = call(*words, "platt", "--apply", "scored.csv")
    known = calibration.Platt().fit(scored["score"], scored["event"]).predict(scored["score"])
    assert code == 0 and err == "" and len(out.splitlines()) == 1501
    assert_allclose(pd.read_csv(io.StringIO(out))["calibrated"], known, rtol=1e-9)
    code, out, err = call(*words, "isotonic", "-o", "calibrated.csv")
    assert (code, out) == (0, "") and "better than it is" in err
    assert "there is a column 'calibrated'" in call(*words, "platt", "--apply", "calibrated.csv")[2]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--outcome", "event", "--score", "riks"], 1, "Did you mean 'risk'"),
        (["--outcome", "Event"], 1, "Did you mean 'event'"),
        (["--outcome", "event", "--score", "score"], 1, "1500 of 1500 probabilities are not in [0, 1]"),
        (["--outcome", "event", "--apply", "scored.csv"], 2, "go with --method"),
        (["--outcome", "event", "--plot", "away/c.png"], 2, "no folder 'away'"),
        (["--outcome", "event", "--plot", "c.xyz"], 1, "could not be written"),
        (["--outcome", "event", "--method", "magic"], 2, "invalid choice"),
    ],
)
def test_calibrations_that_cannot_be_made(call, scored, words, code, message):
    found, _, err = call("calibrate", "scored.csv", *words)
    assert found == code and message in err and "Traceback" not in err


def test_links_may_be_joined_by_commas(call):
    by_blanks = call(
        "compare", "event ~ age", "study.csv", "--links", "logit", "GEV canonical", "--folds", "2", "--quiet"
    )
    by_commas = call("compare", "event ~ age", "study.csv", "--links", "logit,GEV canonical", "--folds", "2", "--quiet")
    assert by_commas == by_blanks and by_commas[0] == 0
