"""The benchmarks: every task runs at a tiny size, and the table that is kept is that of the record."""

import subprocess
from functools import partial
from importlib import import_module
from shutil import which

import pytest

from benchmarks.__main__ import with_function
from benchmarks.speed import record

IN_PROCESSES = ("memory", "start", "import")  # whose processes take seconds


@pytest.mark.parametrize("module", with_function("tasks"))
def test_every_task_runs_and_its_record_is_well_formed(module):
    tasks = import_module(f"benchmarks.{module}").tasks(tiny=True)
    assert len({task.key for task in tasks}) == len(tasks)
    for task in tasks:
        if any(word in task.name for word in IN_PROCESSES):
            continue
        calls = task.make()
        assert record.OURS in calls and set(task.goals) <= set(calls) - {record.OURS}
        assert task.limit is not None or len(calls) > 1  # or it has no row
        assert all(goal > 0 for goal in task.goals.values()) and task.unit in record.UNITS
        calls[record.OURS]()


def test_what_takes_long_sits_out_later_rounds(monkeypatch):
    monkeypatch.setattr(record, "PATIENCE", 0.0)
    task = record.Task("count", "small", lambda: {record.OURS: lambda: next(numbers)}, limit=3.0, measured=True)
    numbers = iter(range(1, 100))
    assert task.run(7)["took"] == {record.OURS: 2.0}  # the median of 1, 2 and 3


def test_the_table_is_made_from_the_record(tmp_path, monkeypatch):
    assert record.TABLE.read_text() == record.markdown(record.read())
    monkeypatch.setattr(record, "RECORD", tmp_path / "speed.json")
    monkeypatch.setattr(record, "TABLE", tmp_path / "speed.md")
    numbers = iter([2.0, 6.0, 1.0, 6.0])
    task = record.Task(
        "count",
        "small",
        lambda: {record.OURS: lambda: next(numbers), "peer": lambda: next(numbers)},
        {"peer": 4.0},
        measured=True,
    )
    before = record.measure([task], 1)
    assert "| 3.00 | >= 4 | behind |" in record.keep(before, record.read())
    assert "| 6.00 | >= 4 | met | 3.00 |" in record.keep(record.measure([task], 1), record.read())
    assert list(record.read()["tasks"]) == ["count, small"]


@pytest.mark.skipif(which("git") is None, reason="git is not installed")
def test_what_changed_is_told_from_the_last_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "RECORD", tmp_path / "speed.json")
    monkeypatch.setattr(record, "TABLE", tmp_path / "speed.md")
    took = {record.OURS: 2.0, "peer": 5.0}
    calls = {name: partial(took.get, name) for name in took}
    task = record.Task("count", "small", lambda: calls, limit=3.0, measured=True)
    first = record.measure([task], 1)
    assert record.keep(first, record.committed()).count("| met |  |") == 1  # there is no commit, and no record before
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "speed.json"], ["commit", "-qm", "speed"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    took |= {record.OURS: 1.0, "peer": 7.0}
    for _ in range(2):  # also after a run that was not committed
        shown = record.keep(record.measure([task], 1), record.committed())
        assert "| met | 2,000 ms |" in shown and "| 7.00 |  |  | 2.50 |" in shown
