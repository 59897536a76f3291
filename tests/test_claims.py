"""What README and documentation say about speed comes from the record, ``benchmarks/results/speed.json``, and from nowhere else."""

import re

import pytest

from benchmarks.claims import CLAIMS, PLACE, QUIET, ROOT, update
from benchmarks.speed import record

SPEED = re.compile(
    r"\btimes\s+(?:as\s+fast|faster|slower|quicker)\b|\bfew\s+seconds\b"
    r"|[0-9]\s?(?:ms|milliseconds|microseconds|seconds|minutes)\b|[0-9] s (?:in|for|of)\b"
)
TEXTS = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
TEXTS = [path for path in TEXTS if not {"_build", "generated"} & set(path.parts)]


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_what_the_record_supports(name):
    places = PLACE.finditer((ROOT / CLAIMS[name].file).read_text())
    assert [place["text"] for place in places if place["name"] == name] == [CLAIMS[name].text(record.read())]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_there_is_no_other_figure_of_speed(path):
    elsewhere = PLACE.sub("", path.read_text())
    assert [match.group() for match in SPEED.finditer(elsewhere)] == [], "see benchmarks/claims.py"


def test_places_are_filled_from_a_quiet_record_and_emptied_without_one(tmp_path):
    tasks, marked = {}, {}
    for name, claim in CLAIMS.items():
        marked.setdefault(claim.file, []).append(f"Before.<!-- speed: {name} --> old<!-- end --> After.")
        for task, peer in claim.figures:
            facts = tasks.setdefault(task, {"others": QUIET, "took": {record.OURS: 2.0}})
            facts["took"] |= {} if peer is None else {peer: 25.9 if "sm." in peer else 6.59}
    for file, places in marked.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("\n".join(places))
    update({"tasks": tasks}, tmp_path)
    readme = (tmp_path / "README.md").read_text()
    assert "| fit with standard errors, 1,000 x 5 | 2e+03 ms | 12 x | 12 x | 3.2 x | 3.2 x |" in readme
    assert readme.startswith("Before.<!-- speed: table -->\n\n|") and readme.endswith("|\n\n<!-- end --> After.")
    assert "12 times as fast as a loop over `sm.Logit`, and 3.2 times" in (tmp_path / "docs/many_fits.md").read_text()
    assert "take 2.0 seconds" in (tmp_path / "docs/scan.md").read_text()
    for facts in tasks.values():
        facts["others"] = 2 * QUIET
    update({"tasks": tasks}, tmp_path)
    for file, places in marked.items():
        assert (tmp_path / file).read_text() == "\n".join(place.replace(" old", "") for place in places)
