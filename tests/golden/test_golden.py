"""The folder itself: every number has a source, and the rows are those the numbers were made from."""

import re

import pytest
from numpy.testing import assert_allclose

from tests.support.golden import FOLDER, golden_set, named, numbers

TOPICS = sorted(path.stem for path in FOLDER.glob("*.json"))
CASES = [
    (topic, name)
    for topic in TOPICS
    for name in numbers(topic).get("cases", ())
    if "provenance" in numbers(topic)["cases"][name]
]


@pytest.mark.parametrize("topic", TOPICS)
def test_every_file_says_where_it_comes_from(topic):
    golden = numbers(topic)
    assert golden["about"]
    assert golden["versions"].get("R", "").startswith("R version") or "stored" in golden
    made_here = (FOLDER / f"make_{topic}.R").exists()
    assert made_here != ("stored" in golden), "either a script beside it, or a note why there is none"
    assert "call" in golden or "stored" in golden


def test_every_script_writes_its_file():
    for script in FOLDER.glob("make_*.R"):
        topic = script.stem.removeprefix("make_")
        if topic != "inputs":
            assert re.search(rf'write_golden\("{topic}"', script.read_text())
            assert topic in TOPICS


def test_the_readme_names_every_file():
    text = (FOLDER / "README.md").read_text()
    for path in FOLDER.iterdir():
        if path.suffix in (".json", ".csv"):
            assert f"`{path.name}`" in text


@pytest.mark.parametrize(("topic", "name"), CASES)
def test_the_rows_are_those_of_the_numbers(topic, name):
    expected, data = numbers(topic)["cases"][name]["provenance"], golden_set(name)
    position = range(1, len(data.X) + 1)
    assert list(data.X) == expected["columns"]
    assert len(data.X) == expected["rows"]
    assert data.successes.sum() == expected["successes"]
    assert data.trials.sum() == expected["trials"]
    assert data.successes @ position == expected["outcome_moment"]
    assert_allclose(data.X.T @ position, named(expected["moments"]), rtol=1e-12)
