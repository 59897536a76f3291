import numpy as np
import pytest

from gevglm.cli import main
from gevglm.datasets import simulate_study


@pytest.fixture(scope="module")
def study():
    data = simulate_study(rng=2014).iloc[:1500].reset_index(drop=True).drop(columns="risk")
    number = np.arange(len(data))
    return data.assign(town=number // 10, answer=np.where(data["event"] == 1, "yes", "no"), n=1 + number % 2)


@pytest.fixture(scope="module")
def folder(study, tmp_path_factory):
    path = tmp_path_factory.mktemp("data")
    study.to_csv(path / "study.csv", index=False)
    return path


@pytest.fixture
def call(folder, monkeypatch, capsys):
    """Run the command line in the folder of the data; return exit code, stdout and stderr."""
    monkeypatch.chdir(folder)

    def run(*words):
        try:
            code = main(words)
        except SystemExit as end:  # argparse
            code = end.code
        return code, *capsys.readouterr()

    return run
