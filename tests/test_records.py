"""Numbers in the prose of the replication pages are those of their records, or of the paper.

Every number with a decimal point or a thousands separator in the prose is one test (``pytest -v`` lists them): it has to be a number of the tables
and csv files that the page's replication writes, rounded to the digits that the prose has, or be named below with what it is.
"""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = {
    "replication_gev.md": ["replications/gev_canonical/results"],
    "replication_piecewise.md": ["replications/piecewise_logistic/results"],
    "replication_class_weighting.md": ["replications/class_weighting/results"],
    "replication_class_weights.md": ["replications/class_weights/results"],
    "theory/posterior.md": ["benchmarks/results/simulation/posterior.md"],
}
# numbers that no record of ours has: the paper's, settings of a study, and numbers computed from records, with how
ELSEWHERE: dict[str, dict[str, str]] = {page: {} for page in PAGES}

NUMBER = re.compile(r"(?<![\w.,/])-?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.\d+)(?![\w]|[.,]\d)")
NOT_PROSE = re.compile(r"```.*?```|::::.*?\n|\$\$.*?\$\$|\$[^$]*\$|`[^`]*`|\]\([^)]*\)|^---.*?^---", flags=re.S | re.M)


def numbers(text: str) -> list[str]:
    return NUMBER.findall(text)


def prose(page: str) -> str:
    return NOT_PROSE.sub(" ", (ROOT / "docs" / page).read_text())


@cache
def recorded(page: str) -> tuple[float, ...]:
    """Every number of the records of a page."""
    places = [ROOT / place for place in PAGES[page]]
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.glob("*.[mc]*")))]
    text = " ".join(file.read_text() for file in files if file.suffix in (".md", ".csv"))
    every = re.findall(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?|(?<![\w\d])-?\.\d+", text)
    return tuple({float(number.replace(",", "").rstrip(".")) for number in every if number.strip(",-")})


def is_recorded(number: str, page: str) -> bool:
    """Whether a record has the number, to the digits it is given with; with either sign, for prose may say 'fewer'."""
    value, digits = float(number.replace(",", "")), len(number.partition(".")[2])
    half = 0.5 * 10.0**-digits + 1e-9
    return any(abs(abs(value) - abs(other)) <= half for other in recorded(page))


@pytest.mark.parametrize(
    ("page", "number"), [(page, number) for page in PAGES for number in dict.fromkeys(numbers(prose(page)))]
)
def test_a_number_of_the_prose_is_in_the_record(page, number):
    assert number in ELSEWHERE[page] or is_recorded(number, page), f"no record of {page} has {number}"


@pytest.mark.parametrize("page", PAGES)
def test_what_is_said_to_be_elsewhere_is_in_the_prose_and_in_no_record(page):
    assert set(ELSEWHERE[page]) <= set(numbers(prose(page)))
    assert [number for number in ELSEWHERE[page] if is_recorded(number, page)] == []
