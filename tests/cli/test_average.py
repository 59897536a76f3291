"""``gevglm average``."""

import json

import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm

FORMULA = "event ~ age + smoker"
FEW = ("--links", "logit,cloglog", "--folds", "3")


def test_the_summary_the_numbers_and_predictions_of_the_saved_average(call, study, folder):
    code, out, err = call(
        "average", FORMULA, "study.csv", *FEW, "--save", "a.pkl", "--json", "a.json", "--resamples", "3"
    )
    assert code == 0 and "not probabilities that a link is true" in out
    assert err.splitlines() == [
        "study.csv: 1,500 rows, 7 columns",
        "3 resamples of the whole procedure",
        "numbers: a.json",
        "model: a.pkl",
    ]
    own = gevglm.average_links(FORMULA, study, ["logit", "cloglog"], folds=3)
    numbers = json.loads((folder / "a.json").read_text(encoding="utf-8"))
    assert_allclose([each["weight"] for each in numbers["candidates"]], own.weights["weight"])
    assert numbers["certificate"] < 1e-8 and numbers["observations"] == 1500
    assert call("predict", "a.pkl", "study.csv", "--interval", "-o", "scored.csv", "--quiet")[0] == 0
    scored = pd.read_csv(folder / "scored.csv")
    assert_allclose(scored["risk"], own.predict(study))
    assert ((scored["risk_lower"] < scored["risk"]) & (scored["risk"] < scored["risk_upper"])).all()


def test_clusters_events_and_a_report(call, study, folder):
    words = ("answer ~ age", "study.csv", *FEW, "--cluster", "town", "--event", "yes", "--criterion", "brier")
    code, out, _ = call("average", *words, "--html", "a.html", "--resamples", "2", "--json", "-", "--quiet")
    own = gevglm.average_links(
        "answer ~ age", study, ["logit", "cloglog"], folds=3, groups="town", event="yes", criterion="brier"
    )
    assert code == 0 and "average over links" in (folder / "a.html").read_text(encoding="utf-8")
    assert_allclose(json.loads(out[: out.rindex("}") + 1])["brier"], own.scores["brier"])


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--links", "logitt"], 2, "logitt"),
        (["--html", "a.html"], 2, "--resamples"),
        (["--bias", "firth"], 2, "alpha"),
        (["--save", "study.csv"], 2, "study.csv"),
        (["--level", "95"], 2, "not a coverage"),
        (["--cluster", "village"], 1, "village"),
    ],
)
def test_averages_that_cannot_be_made(call, words, code, message):
    found, out, err = call("average", FORMULA, "study.csv", *words)
    assert (found, out) == (code, "") and message in err and "Traceback" not in err
