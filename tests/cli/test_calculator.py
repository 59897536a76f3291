"""``gevglm calculator``: the page of a saved model, in the words of its users."""

import pytest

import gevglm

FORMULA = "event ~ age + smoker"


@pytest.fixture(scope="module")
def saved(study, folder):
    gevglm.fit(FORMULA, study, link="logit").save(folder / "model.pkl")


def test_a_page_is_written(call, folder, saved, study):
    words = ["--label", "age=Age", "event=an event", "--unit", "age=years", "--value", "smoker:0=no", "smoker:1=yes",
             "--reference", "age=5", "--note", "For adults.", "--level", "0.9"]  # fmt: skip
    code, out, err = call("calculator", "model.pkl", "risk.html", *words)
    assert (code, out, err) == (0, "", "calculator: risk.html\n")
    same = gevglm.load(folder / "model.pkl").calculator(
        folder / "same.html",
        labels={"age": "Age", "event": "an event"},
        units={"age": "years"},
        levels={"smoker": {0: "no", 1: "yes"}},
        reference={"age": 5},
        note="For adults.",
        alpha=0.1,
    )
    assert (folder / "risk.html").read_bytes() == same.read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nothing.pkl", "r.html"], 1, "there is no file 'nothing.pkl'"),
        (["model.pkl", "model.pkl"], 2, "model.pkl"),
        (["model.pkl", "away/r.html"], 2, "no folder 'away'"),
        (["model.pkl", "r.html", "--label", "age"], 2, "not of the form NAME=TEXT"),
        (["model.pkl", "r.html", "--value", "smoker=no"], 2, "not of the form COLUMN:VALUE=TEXT"),
        (["model.pkl", "r.html", "--unit", "aga=years"], 2, "'aga'"),
        (["model.pkl", "r.html", "--level", "2"], 2, "between 0 and 1"),
    ],
)
def test_bad_words(call, folder, saved, words, code, message):
    found, out, err = call("calculator", *words)
    assert (found, out) == (code, "") and message in err
    assert not (folder / "r.html").exists()
