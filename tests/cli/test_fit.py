"""``gevglm fit``: files of all kinds, what goes where, and what is said when something is wrong."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.cli import COMMANDS, fit, parser_for
from gevglm.cli.options import model_words

FORMULA = "event ~ age + smoker"


def test_summary_on_stdout_and_progress_on_stderr(call, study):
    code, out, err = call("fit", FORMULA, "study.csv", "--xi", "0.5")
    assert code == 0
    assert out.rstrip() == str(gevglm.fit(FORMULA, study, xi=0.5).summary()).rstrip()
    assert err == "study.csv: 1,500 rows, 7 columns\n"
    assert call("fit", FORMULA, "study.csv", "--xi", "0.5", "--quiet") == (0, out, "")


def test_constants_after_a_bar_are_absorbed(call, study):
    words = (
        "fit",
        f"{FORMULA} | town",
        "study.csv",
        "--link",
        "logit",
        "--bias",
        "firth",
        "--cluster",
        "town",
        "--quiet",
    )
    results = gevglm.fit(
        f"{FORMULA} | town", study, link="logit", bias="firth", cov_type="cluster", cov_kwds={"groups": "town"}
    )
    assert call(*words) == (0, f"{results.summary()}\n", "")
    code, out, err = call(*words, "--json", "-")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["absorbed"] == {"town": results.n_units}
    assert [one["name"] for one in found["coefficients"]] == ["age", "smoker"]
    assert_allclose([one["estimate"] for one in found["coefficients"]], results.params)
    assert_allclose([one["std_err"] for one in found["coefficients"]], results.bse)


def write_sav(data, path):
    pytest.importorskip("pyreadstat").write_sav(data, path)


def write_xpt(data, path):
    pytest.importorskip("pyreadstat").write_xport(data, path, file_format_version=5)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.csv.gz", lambda data, path: data.to_csv(path, index=False)),
        ("t.tsv", lambda data, path: data.to_csv(path, index=False, sep="\t")),
        ("t.parquet", lambda data, path: data.to_parquet(path)),
        ("t.feather", lambda data, path: data.to_feather(path)),
        ("t.dta", lambda data, path: data.to_stata(path, write_index=False)),
        ("t.sav", write_sav),
        ("t.xpt", write_xpt),
    ],
)
def test_every_kind_of_file_gives_the_same_fit(call, study, folder, name, write):
    write(study, folder / name)
    code, out, _ = call("fit", "answer ~ age + smoker", name, "--event", "yes", "--json", "-")
    assert code == 0
    found = json.loads(out)
    known = gevglm.fit("answer ~ age + smoker", study, event="yes", link="logit")
    assert_allclose([row["estimate"] for row in found["coefficients"]], known.params, rtol=1e-6)
    assert found["event"] == "yes" and found["events"] == study["event"].sum()


def test_code_of_the_report_makes_the_same_fit(folder, study, monkeypatch):
    monkeypatch.chdir(folder)
    study.to_csv("code.tsv", index=False, sep="\t")
    study.to_parquet("part-1.parquet")
    known = gevglm.fit(FORMULA, study, xi=0.5, cov_type="HC0")
    for name in ("study.csv", "code.tsv", "part-*.parquet"):
        words = ["fit", FORMULA, name, "--xi", "0.5", "--cov-type", "HC0", "--quiet"]
        options = parser_for(words).parse_args(words)
        code = fit._code(options, fit._data(options), {"xi": 0.5} | model_words(options))
        space = {}
        exec(code.rpartition("print(")[0], space)
        assert_allclose(space["results"].bse, known.bse, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--link", "cloglog", "--cov-type", "HC1"], {"link": "cloglog", "cov_type": "HC1"}),
        (["--link", "logit", "--bias", "firth"], {"link": "logit", "bias": "firth"}),
        (["--xi", "0.5", "--cluster", "town"], {"xi": 0.5, "cov_type": "cluster", "cov_kwds": {"groups": "town"}}),
        (["--xi", "-0.2", "--loss", "log", "--weights", "n"], {"xi": -0.2, "loss": "log", "freq_weights": "n"}),
        (["--prevalence", "0.01"], {"link": "logit", "prevalence": 0.01}),
        (["--prevalence", "0.01", "--sampling", "weight"], {"link": "logit", "prevalence": 0.01, "sampling": "weight"}),
        (["--alpha", "2", "--subset", "age > 0"], {"link": "logit", "alpha": 2.0, "subset": "age > 0"}),
        (["--class-weight", "balanced", "--offset", "town"], {"class_weight": "balanced", "offset": "town"}),
        (["--cov-type", "HAC", "--maxlags", "2"], {"cov_type": "HAC", "cov_kwds": {"maxlags": 2}}),
    ],
)
@pytest.mark.filterwarnings("ignore::gevglm.exceptions.GevglmWarning")
def test_options_are_those_of_fit(call, study, options, words):
    _, out, _ = call("fit", FORMULA, "study.csv", *options, "--json", "-")
    found, known = json.loads(out), gevglm.fit(FORMULA, study, **words)
    assert_allclose([row["estimate"] for row in found["coefficients"]], known.params, rtol=1e-9)
    assert_allclose([row["std_err"] for row in found["coefficients"]], known.bse, rtol=1e-9)
    assert_allclose([row["ci_lower"] for row in found["coefficients"]], np.asarray(known.conf_int())[:, 0], rtol=1e-9)
    assert found["brier"] == pytest.approx(known.brier) and found["notes"]


def test_report_numbers_and_model_are_written(call, study, folder):
    words = ("--xi", "0.5", "--cluster", "town", "--level", "0.9")
    files = ("--html", "r.html", "--title", "A & B", "--json", "r.json", "--save", "m.pkl")
    code, out, err = call("fit", FORMULA, "study.csv", *words, *files)
    assert code == 0 and "0.05 " in out and "[0.05" in out
    assert err.splitlines()[1:] == ["numbers: r.json", "writing the report", "report: r.html", "model: m.pkl"]
    text = (folder / "r.html").read_text(encoding="utf-8")
    assert "A &amp; B" in text and "pd.read_csv(&#x27;study.csv&#x27;)" in text and "90&nbsp;% interval" in text
    assert json.loads((folder / "r.json").read_text())["level"] == 0.9
    assert_allclose(gevglm.load(folder / "m.pkl").predict(study[:3]), gevglm.fit(FORMULA, study, xi=0.5).predict()[:3])


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["event ~ Age", "study.csv"], 1, "names 'Age', not in the data. Did you mean 'age'? Names are case-sensitive"),
        (["Event ~ age", "study.csv"], 1, "Did you mean 'event'? Names are case-sensitive"),
        (["event ~ agge", "study.csv"], 1, "Did you mean 'age'"),
        (["event age", "study.csv"], 1, "is not a formula"),
        (["event ~ age + (1|town)", "study.csv"], 1, "random effect"),
        (["event ~ age | town", "study.csv", "--save", "m.pkl"], 2, "--save does not go with constants after a |"),
        (["event ~ age | town", "study.csv", "--odds-ratios"], 2, "--odds-ratios does not go with constants after a |"),
        (["event ~ age | twon", "study.csv"], 1, "twon"),
        (["event ~ age + I(smoker^2)", "study.csv"], 1, "a power is x**2"),
        (["answer ~ age", "study.csv"], 1, "say which one is the event, as in --event yes"),
        (["answer ~ age", "study.csv", "--event", "ja"], 1, "--event ja is not a level of 'answer' ('no', 'yes')"),
        (
            [FORMULA, "study.csv", "--cluster", "twon"],
            1,
            "--cluster twon is not a column of the data. Did you mean 'town'",
        ),
        ([FORMULA, "stdy.csv"], 1, "there is no file 'stdy.csv'. Did you mean 'study.csv'"),
        ([FORMULA, "away/study.csv"], 1, "There is no folder 'away' either"),
        ([FORMULA, "study.xyz"], 1, "there is no file 'study.xyz'"),
        ([FORMULA, "study.csv", "--html", "away/r.html"], 2, "no folder 'away' to write 'r.html' to"),
        ([FORMULA, "study.csv", "--json", "."], 2, "'.' is a folder"),
        ([FORMULA, "study.csv", "--level", "95"], 2, "between 0 and 1, such as 0.95"),
        ([FORMULA, "study.csv", "--xi", "big"], 2, "'big' is neither a number nor one of ml, map, cv"),
        ([FORMULA, "study.csv", "--prevalence", "2%"], 2, "'2%' is not a share"),
        ([FORMULA, "study.csv", "--prevalence", "2"], 2, "between 0 and 1"),
        ([FORMULA, "study.csv", "--link", "probitt"], 2, "invalid choice: 'probitt'"),
        ([FORMULA, "study.csv", "--cov-type", "cluster"], 2, "needs --cluster COLUMN"),
        ([FORMULA, "study.csv", "--cluster", "town", "--cov-type", "HC0"], 2, "leave one out"),
        ([FORMULA, "study.csv", "--link", "logit", "--xi", "0.5"], 2, "xi"),
        ([FORMULA, "study.csv", "--encoding", "utf-9"], 2, "--encoding 'utf-9' is not known"),
    ],
)
def test_bad_words_end_with_one_line_and_a_code(call, words, code, message):
    found, out, err = call("fit", *words)
    assert (found, out) == (code, "")
    assert message in err and "Traceback" not in err
    assert err.splitlines()[-1].startswith("gevglm fit: error: ")


def test_wrong_separator_and_encoding_say_what_was_seen(call, study, folder):
    for sep, seen in ((";", "';'"), ("\t", "tabs"), (" ", "blanks")):
        study.to_csv(folder / "other.csv", index=False, sep=sep)
        code, _, err = call("fit", FORMULA, "other.csv")
        assert code == 1 and "one column, 'event" in err and f"it looks separated by {seen}" in err
        given = err.rsplit("--sep ", 1)[1].split("'")[1]
        assert call("fit", FORMULA, "other.csv", "--sep", given)[0] == 0
    study.assign(town="Orléans").to_csv(folder / "latin.csv", index=False, encoding="latin-1")
    code, _, err = call("fit", FORMULA, "latin.csv")
    assert code == 1 and "byte 0xe9" in err and "Orl" in err and "--encoding latin-1" in err
    assert call("fit", FORMULA, "latin.csv", "--encoding", "latin-1")[0] == 0
    (folder / "empty.csv").write_text("")
    assert "'empty.csv' is empty" in call("fit", FORMULA, "empty.csv")[2]
    (folder / "ragged.csv").write_text("event,age\n1,2\n1,2,3\n")
    code, _, err = call("fit", FORMULA, "ragged.csv")
    assert code == 1 and "Expected 2 fields in line 3, saw 3" in err
    (folder / "no.parquet").write_text("event,age")
    assert "could not be read" in call("fit", FORMULA, "no.parquet")[2]
    (folder / "table.doc").write_text("event")
    assert "is not a table by its name (.doc ending); known are .csv" in call("fit", FORMULA, "table.doc")[2]


def test_full_disk_is_named(call, folder):
    if not (full := folder.__class__("/dev/full")).exists():
        pytest.skip("this machine has no /dev/full")
    for option in ("--save", "--json"):
        code, _, err = call("fit", FORMULA, "study.csv", option, str(full))
        assert code == 1 and "'/dev/full' could not be written: No space left on device" in err


def test_warnings_are_sentences_on_stderr(call, folder):
    data = pd.DataFrame({"x": np.arange(40.0), "y": (np.arange(40) > 30).astype(int)})
    data.to_csv(folder / "separated.csv", index=False)
    code, out, err = call("fit", "y ~ x", "separated.csv")
    assert code == 0 and "SEPARATED" in out
    assert "\nwarning: " in err and "--bias firth" in err and "Warning:" not in err


def test_every_command_has_help_with_examples(call):
    for name in COMMANDS:
        code, out, _ = call(name, "--help")
        assert code == 0 and (name == "demo" or out.count(f"gevglm {name} ") >= 3)
    overview = call("--help")[1]
    assert all(name in overview and title in " ".join(overview.split()) for name, title in COMMANDS.items())
    assert call("--version")[1].split()[1] == gevglm.__version__
    assert call()[0] == 2 and call("fitt")[0] == 2


def test_pipe_that_closes_early_is_no_error(folder):
    command = f"{sys.executable} -m gevglm fit '{FORMULA}' study.csv --quiet | head -c 10"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=True)
    assert len(done.stdout) == 10 and done.stderr == ""
