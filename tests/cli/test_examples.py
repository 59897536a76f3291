"""Every example in the help of a command runs, on data that have the columns it names."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gevglm.cli import COMMANDS, main

EXAMPLES = {
    name: re.findall(r"^  (gevglm .*)$", import_module(f"gevglm.cli.{name}").EXAMPLES, re.M) for name in COMMANDS
}


@pytest.fixture
def data(tmp_path_factory):
    """Files with the names and columns of the examples, anew for every command: what one writes another reads."""
    folder, rng, n = tmp_path_factory.mktemp("examples"), np.random.default_rng(4), 600
    frame = pd.DataFrame(
        {
            "income": rng.normal(30, 8, n),
            "age": rng.normal(45, 12, n),
            "region": rng.choice(["north", "south", "west"], n),
            "smoker": rng.integers(0, 2, n),
            "town": rng.choice(["a", "b"], n),
            "gdp": rng.normal(0, 1, n),
            "country": rng.integers(0, 40, n),
        }
    )
    linear = (
        -1.2 - 0.05 * (frame["income"] - 30) + 0.03 * (frame["age"] - 45) + 0.5 * frame["smoker"] - 0.3 * frame["gdp"]
    )
    event = (rng.random(n) < 1 / (1 + np.exp(-linear))).astype(int)
    frame = frame.assign(default=event, case=event, onset=event, y=event)
    frame.to_csv(folder / "loans.csv", index=False)
    frame.drop(columns=["default", "case"]).to_stata(folder / "war.dta", write_index=False)
    frame.to_parquet(folder / "study.parquet")
    frame.drop(columns="default").to_csv(folder / "new.csv", index=False)
    frame.to_parquet(folder / "new.parquet")
    risk = 1 / (1 + np.exp(-linear))
    frame.assign(risk=risk).to_csv(folder / "scored.csv", index=False)
    frame.assign(s=linear).to_csv(folder / "scores.csv", index=False)
    return folder


def run(line: str, folder: Path, capsys) -> tuple[int, str]:
    """Run a line of the help without a shell; what follows a pipe is left out, what goes to a file is returned."""
    words = shlex.split(line)[1:]
    place = next((i for i, word in enumerate(words) if word in (">", ">>", "|")), len(words))
    code = main(words[:place])
    return code, capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.GevglmWarning")
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "demo"])
def test_examples_run(command, data, monkeypatch, capsys):
    monkeypatch.chdir(data)
    assert EXAMPLES[command]
    if command in ("predict", "update"):
        main(shlex.split('fit "onset ~ gdp + C(region)" war.dta --link logit --save war.pkl --quiet'))
    if command == "calculator":
        main(shlex.split('fit "case ~ smoker + age" loans.csv --link logit --save stroke.pkl --quiet'))
    if command == "calibrate":
        pd.read_csv("loans.csv").assign(risk=lambda d: d["age"].rank() / (2.0 * len(d))).to_csv(
            "scored.csv", index=False
        )
        pd.read_csv("loans.csv").assign(s=0.1).to_csv("new.csv", index=False)
    for line in EXAMPLES[command]:
        code, out = run(line, data, capsys)
        assert code == 0, line
        written = re.search(r"(?:-o|--html|--json|--save|--plot|calculator stroke.pkl) (\S+)", line)
        assert out or written, line
        assert written is None or Path(written[1]).exists(), line


def test_every_command_has_an_example():
    assert all(EXAMPLES.values())


# -- effects ---------------------------------------------------------------------------------------


def test_effects_are_those_of_python(data, monkeypatch, capsys):
    import gevglm

    monkeypatch.chdir(data)
    res = gevglm.fit("case ~ smoker + age", pd.read_csv("loans.csv"), link="logit")
    assert main(["effects", "case ~ smoker + age", "loans.csv", "--of", "smoker", "--nnt", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert str(res.risk("smoker")) in out and res.risk("smoker").number_needed["text"].iloc[0] in out
    assert main(["effects", "case ~ smoker + age", "loans.csv", "--by", "smoker", "-o", "e.csv", "--quiet"]) == 0
    assert str(res.margins(by=["smoker"])) in capsys.readouterr().out
    written = pd.read_csv("e.csv")
    assert list(written.columns[:3]) == ["smoker", "variable", "effect"] and len(written) == 4
    assert main(["effects", "case ~ smoker + age", "loans.csv", "--of", "age", "--at", "30,50", "--quiet"]) == 0
    assert "age = 50" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--contrast", "ratio"], "need --of"),
        (["--of", "region", "--at", "north,east"], "'east' is neither a value of 'region' nor a number"),
        (["--of", "smokers"], "Did you mean 'smoker'"),
        (["--of", "smoker", "--by", "towns"], "towns"),
        (["--of", "smoker", "--level", "95"], "not a coverage"),
    ],
)
def test_effects_bad_input(data, monkeypatch, capsys, words, message):
    monkeypatch.chdir(data)
    assert main(["effects", "case ~ smoker + age + region", "loans.csv", *words]) in (1, 2)
    assert message in capsys.readouterr().err


# -- ratios, terms, decimal commas, Excel, completion ---------------------------------------------


def test_ratios_and_terms(data, monkeypatch, capsys):
    monkeypatch.chdir(data)
    assert main(["fit", "case ~ smoker + C(region)", "loans.csv", "--odds-ratios", "--anova", "III", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "odds ratio" in out and "tests of terms (type III)" in out and re.search(r"^C\(region\) +2 ", out, re.M)
    assert main(["fit", "case ~ smoker", "loans.csv", "--link", "probit", "--odds-ratios", "--quiet"]) == 2
    assert "has no meaning with Probit" in capsys.readouterr().err


def test_decimal_commas(data, monkeypatch, capsys):
    monkeypatch.chdir(data)
    frame = pd.read_csv("loans.csv")
    frame.to_csv("commas.csv", index=False, sep=";", decimal=",")
    frame.to_excel("loans.xlsx", index=False)
    texts = []
    for words in (["loans.csv"], ["commas.csv", "--sep", ";", "--decimal", ","], ["loans.xlsx"], ["war.dta"]):
        assert main(["fit", "onset ~ income + age", *words, "--quiet"]) == 0
        texts.append(capsys.readouterr().out)
    assert len(set(texts)) == 1
    assert main(["fit", "case ~ income", "commas.csv", "--decimal", ","]) == 2
    assert "--decimal , needs another separator" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_option(shell, capsys):
    assert main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in COMMANDS)
    for option in ("odds-ratios", "anova", "decimal", "prevalence", "contrast"):
        assert option in out


def test_completion_in_bash(capsys, tmp_path):
    import shutil
    import subprocess

    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    main(["completion", "bash"])
    script = tmp_path / "gevglm.sh"
    script.write_text(capsys.readouterr().out)

    def completed(*words: str) -> set[str]:
        given = " ".join(f"'{word}'" for word in ("gevglm", *words))
        code = f'. "{script}"; COMP_WORDS=({given}); COMP_CWORD={len(words)}; _gevglm; echo "${{COMPREPLY[@]}}"'
        return set(subprocess.run([bash, "-c", code], capture_output=True, text=True, check=True).stdout.split())

    assert completed("c") == {"calculator", "compare", "calibrate", "completion"}
    assert {"--link", "--loss"} <= completed("fit", "--l")
    assert completed("fit", "--loss", "") == {"log", "canonical"}
