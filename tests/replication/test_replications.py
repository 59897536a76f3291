"""The command that runs all replications, and the parts of them that other tests do not reach."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is an extra")
from gevglm.exceptions import MissingDatasetError
from replications import __main__ as command
from replications.class_weighting import streams
from replications.class_weights.ensemble import NetworkEnsemble


@pytest.fixture
def papers(monkeypatch, tmp_path):
    """Two papers, of which the first has no data; what was run is returned."""
    ran = []

    def module(name):
        def main(words):
            ran.append(name)
            if ".first." in name:
                raise MissingDatasetError("letters are not at hand")

        return SimpleNamespace(main=main)

    monkeypatch.setattr(command, "PAPERS", ("first", "second"))
    monkeypatch.setattr(command, "import_module", module)
    monkeypatch.setattr(command, "__file__", str(tmp_path / "__main__.py"))
    for paper in ("first", "second"):
        (tmp_path / paper / "results").mkdir(parents=True)
        (tmp_path / paper / "results" / "draws.csv.gz").touch()
        (tmp_path / paper / "results" / "tables.md").touch()
    return ran


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["replications", *words])
    command.main()


def test_what_cannot_be_had_is_named_and_the_rest_is_run(papers, monkeypatch, capsys, tmp_path):
    run(monkeypatch)
    assert papers == ["replications.first.__main__", "replications.second.__main__"]
    said = capsys.readouterr().err
    assert "first skipped: letters are not at hand" in said and "second: 0.0 processor minutes" in said
    assert (tmp_path / "second" / "results" / "draws.csv.gz").exists()


def test_fresh_runs_delete_the_records_of_the_papers_asked_for(papers, monkeypatch, tmp_path):
    run(monkeypatch, "second", "--fresh")
    assert papers == ["replications.second.__main__"]
    assert (tmp_path / "first" / "results" / "draws.csv.gz").exists()
    assert [file.name for file in (tmp_path / "second" / "results").iterdir()] == ["tables.md"]


def test_a_paper_that_is_not_there(papers, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, "third")
    assert "no replication is called third; there are first, second" in capsys.readouterr().err


def test_an_ensemble_learns_and_is_the_same_again():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = (rng.random(1500) < 1.0 / (1.0 + np.exp(2.0 - 2.0 * X[:, 0]))).astype(float)
    weight = np.where(y == 1.0, 2.0, 1.0)
    one, again = (NetworkEnsemble(2, 4, seed=3).fit(X, y, weight).predict_proba(X) for _ in range(2))
    assert np.array_equal(one, again)
    assert np.allclose(one.sum(axis=1), 1.0)
    assert np.corrcoef(one[:, 1], X[:, 0])[0, 1] > 0.8
    assert one[:, 1].mean() > y.mean()  # the weights


def test_the_share_of_faults_of_the_stream_rises_and_falls():
    X = np.zeros((1, 3))
    assert streams.risk(X, 0.25) > streams.risk(X, 0.0) > streams.risk(X, 0.75)
