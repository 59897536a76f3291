"""What the command line writes: never over what it reads, never one file over another."""

import pytest

from gevglm.cli import main

FIT = ("fit", "event ~ age + smoker", "study.csv", "--link", "logit", "--quiet")


@pytest.fixture(scope="module")
def model(folder):
    name = str(folder / "model.pkl")
    assert (
        main(["fit", "event ~ age + smoker", str(folder / "study.csv"), "--link", "logit", "--save", name, "--quiet"])
        == 0
    )
    return name


@pytest.mark.parametrize(
    "words, message",
    [
        ((*FIT, "--save", "study.csv"), "--save 'study.csv' is a file that is read"),
        ((*FIT, "--html", "./study.csv"), "--html 'study.csv' is a file that is read"),
        ((*FIT, "--save", "x", "--json", "x"), "--save and --json are the same file, 'x'"),
        ((*FIT, "--html", "x", "--save", "../data0/x"), "--html and --save are the same file"),
        (("predict", "model.pkl", "study.csv", "-o", "study.csv"), "-o 'study.csv' is a file that is read"),
        (("compare", "event ~ age", "study.txt", "--links", "logit", "-o", "study.txt"), "-o 'study.txt' is a file"),
        (("calibrate", "study.csv", "--outcome", "event", "--plot", "study.csv"), "--plot 'study.csv' is a file"),
        (
            ("calibrate", "study.csv", "--method", "platt", "--apply", "study.txt", "-o", "study.txt"),
            "-o 'study.txt' is a file",
        ),
        (("fit", "event ~ age", "parts", "--save", "parts/a.csv", "--link", "logit"), "--save 'parts/a.csv' is a file"),
        (("fit", "event ~ age", "parts/*.csv", "--json", "parts/b.csv"), "--json 'parts/b.csv' is a file"),
    ],
)  # fmt: skip
def test_nothing_is_written_over_what_is_read(call, folder, study, model, words, message):
    (folder / "parts").mkdir(exist_ok=True)
    for name in ("study.txt", "parts/a.csv", "parts/b.csv"):
        study.to_csv(folder / name, index=False)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    words = [word.replace("data0", folder.name) for word in words]
    code, _, said = call(*words)
    assert (code, said.count("\n")) == (2, 1)
    assert message in said
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("error", ["RuntimeError", "MemoryError", "RecursionError"])
def test_a_broken_model_is_one_sentence(call, folder, error):
    (folder / "broken.pkl").write_bytes(f"cbuiltins\nexec\n(S'raise {error}(1)'\ntR.".encode())
    code, out, said = call("predict", "broken.pkl", "study.csv")
    assert (code, out, said.count("\n")) == (1, "", 1)
    assert f"'broken.pkl' could not be loaded ({error}: 1)" in said


def test_recalibrated_models_predict_too(call, folder, study, model):
    import gevglm

    again = gevglm.load(model).recalibrate(study)
    again.save(folder / "again.pkl")
    assert call("predict", "again.pkl", "study.csv", "-o", "scored.parquet", "--quiet")[0] == 0
    code, _, said = call("predict", "again.pkl", "study.csv", "--interval")
    assert code == 2 and "recalibrated model have no confidence limits" in said
