"""Numbers in the prose of the replication pages are those of their records, or of the paper.

Every number with a decimal point or a thousands separator in the prose is one test (``pytest -v`` lists them): it has to be a number of the tables
and csv files that the page's replication writes, rounded to the digits that the prose has, or be named below with what it is.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import studentized_range

from gevglm.averaging.prediction import AveragedPrediction
from gevglm.links import GEV as GEVLink
from replications.averaging_links import report as averages
from replications.gev_canonical import paper
from replications.gev_canonical.comparison import signed_rank
from replications.gev_canonical.methods import PAPER_METHODS

ROOT = Path(__file__).parents[1]
GEV = ROOT / "replications/gev_canonical/results"
PAGES = {
    "replication_gev.md": ["replications/gev_canonical/results"],
    "replication_piecewise.md": ["replications/piecewise_logistic/results"],
    "replication_class_weighting.md": ["replications/class_weighting/results"],
    "replication_class_weights.md": ["replications/class_weights/results"],
    "theory/posterior.md": ["benchmarks/results/simulation/posterior.md"],
    "averaging.md": ["replications/averaging_links/results", "benchmarks/results/simulation/averaging.md"],
}
# numbers that no record of ours has: the paper's, settings of a study, and numbers computed from records, with how
ELSEWHERE: dict[str, dict[str, str]] = {page: {} for page in PAGES} | {
    "replication_gev.md": {
        ".0158": "the paper's share of events",
        ".0312": "the paper's share of events",
        "2.4": "computed from the record, see below",
    },
    "replication_class_weighting.md": {
        "0.394": "a single draw, see below",
        "0.914": "a single draw, see below",
        "0.421": "a single draw, see below",
    },
    "replication_class_weights.md": {
        "112,120": "X-rays of the paper",
        "11.7": "events in a hundred rows of the data set",
        "2.3": "events in a hundred rows of the data set",
    },
    "averaging.md": {"20,000": "from which penalties are chosen on a part", "10,000": "what that part has"},
    "theory/posterior.md": {"0.95": "computed from the link, see below", "0.11": "computed from the link, see below"},
}

NUMBER = re.compile(r"(?<![\w.,/])-?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.\d+)(?![\w]|[.,]\d)")
NOT_PROSE = re.compile(r"```.*?```|::::.*?\n|\$\$.*?\$\$|\$[^$]*\$|`[^`]*`|\]\([^)]*\)|^---.*?^---", flags=re.S | re.M)


def numbers(text: str) -> list[str]:
    return NUMBER.findall(text)


def one_line(page: str) -> str:
    return " ".join((ROOT / "docs" / page).read_text().split())


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


# -- numbers that the prose computes from records or links ----------------------------------------------


def test_standard_errors_by_which_methods_are_better_than_the_paper_on_vehicle():
    theirs = paper.numbers(paper.BRIER).loc["vehicle"]
    ours = pd.read_csv(GEV / "brier.csv", header=[0, 1], index_col=0).loc["vehicle"]
    methods = ["logistic", "probit", "cloglog", "weighted"]
    distance = [(theirs[name] - ours["mean", name]) / ours["se", name] for name in methods]
    assert f"by {min(distance):.1f} to {max(distance):.1f} standard errors" in one_line("replication_gev.md")


def test_all_fits_of_the_gev_study_converge():
    fits = pd.read_csv(GEV / "splits.csv.gz").drop_duplicates(["task", "split", "method"], keep="last")
    assert fits["converged"].astype(bool).all()
    assert "all of them converge, also the GEV-log fits" in one_line("replication_gev.md")


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        ("columns as they are, stopped after 50 iterations", "0.931 / 0.394"),
        ("columns as they are, C = 0.01", "0.914 / 0.421"),
    ],
)
def test_single_draws_of_mails(learner, words):
    found = pd.read_csv(ROOT / "replications/class_weighting/results/table_4_learners.csv.gz")
    found = found[(found["method"] == "AdaClassWeight") & (found["learner"] == learner)]
    pairs = [
        f"{recall:.3f} / {precision:.3f}" for recall, precision in found[["test_recall", "test_precision"]].to_numpy()
    ]
    assert words in pairs and words in one_line("replication_class_weighting.md")


def test_scales_of_coefficients_by_shape():
    scales = [0.05 * 0.95 / GEVLink(xi).at_probability(np.array([0.05])).pdf[0] for xi in (-1.0, 1.0)]
    words = "changes by {:.2f} per unit of the log odds where $\\xi = -1$ and by {:.2f} where $\\xi = 1$".format(
        *scales
    )
    assert words in one_line("theory/posterior.md")


def test_the_averages_are_first_by_all_three_scores_on_the_twelve_tasks_and_rule_nothing_out():
    ours = pd.read_csv(ROOT / "replications/averaging_links/results/twelve.csv.gz")
    paper_records = pd.read_csv(GEV / "splits.csv.gz").drop_duplicates(["task", "split", "method"], keep="last")
    paper_records = paper_records[paper_records["method"].isin(PAPER_METHODS)]
    words, said = "none one two three four five six seven".split(), {}
    for name, own in ours.groupby("method"):
        assert own.groupby("task").size().tolist() == [10] * 12
        assert (own["ruled_out"] == 0).all() and np.isfinite(own["log_loss"]).all()
        records = pd.concat([paper_records, own])
        ranks = [averages.means(records, measure).rank(axis=1).mean() for measure in averages.MEASURES]
        assert [rank.idxmin() for rank in ranks] == [name] * 3
        critical = studentized_range.isf(0.05, 8, np.inf) / np.sqrt(2.0) * np.sqrt(8 * 9 / (6.0 * 12))
        said[name] = [words[int((rank - rank[name] > critical).sum())] for rank in ranks]
    brier, calibration, log_loss = said["average, Brier"]
    page = one_line("averaging.md")
    assert (
        f"from {brier} of the seven methods by Brier score, from {calibration} by calibration loss and from {log_loss} by log loss"
        in page
    )
    brier, calibration, log_loss = said["average, log loss"]
    assert f"those by log loss from {brier}, {calibration} and {log_loss}." in page
    further = pd.read_csv(ROOT / "replications/averaging_links/results/further.csv.gz")
    assert np.isfinite(further.loc[further["method"].isin(said), "log_loss"]).all()


def test_what_is_said_of_the_error_of_the_average_beside_that_of_the_best_link():
    record = pd.read_csv(ROOT / "benchmarks/results/simulation/averaging.csv")
    cells = record.groupby(["truth", "events"]).mean().drop(columns="seed")
    assert (record.groupby(["truth", "events"]).size() == 30).all() and len(cells) == 15
    over = cells[["average", "picked"]].div(cells.drop(columns=["average", "picked"]).min(axis=1), axis=0)
    mean, most, few = over.mean(), over.max(), over.xs(100, level="events").max()
    page = one_line("averaging.md")
    assert (
        f"the error of the average is {mean['average']:.3f} times" in page
        and f"{most['average']:.3f} times at the most" in page
    )
    assert f"comes to {mean['picked']:.3f}, and where there are 100 events to {few['picked']:.3f} at the most" in page
    assert (over.loc["step", "average"] < 1.01).all()


def test_what_is_said_of_the_intervals_of_the_average():
    record = pd.read_csv(ROOT / "benchmarks/results/simulation/averaging_coverage.csv")
    held = 100.0 * record.groupby(["events", "truth"])[["symmetric", "from 1 %"]].mean().round(3)
    followed = held["symmetric"].drop("step", level="truth").groupby("events")
    ranges = [f"{low:.0f} to {high:.0f} %" for low, high in zip(followed.min(), followed.max(), strict=True)]

    def by_events(truth, which="symmetric"):
        few, some, many = (f"{share:.0f}" for share in held.xs(truth, level="truth")[which])
        return f"{few}, {some} and {many} %"

    page, notes = one_line("averaging.md"), " ".join(AveragedPrediction.__doc__.split())
    few, some, many = ranges
    assert f"in {few} of the rows at 100 events, in {some} at 300 and in {many} at 1,000" in page
    assert f"it is {by_events('GEV(0.5)')}, and {by_events('GEV(0.5)', 'from 1 %')} of the rows" in page
    assert f"**For the step they held it in {by_events('step')}**" in page
    assert f"held the true risk in {few}, {some} and {many} of the rows" in notes
    assert f"and in {by_events('step')} where risks were a step" in notes


def test_what_is_said_of_the_further_tasks_of_the_average():
    records = averages.complete(pd.read_csv(ROOT / "replications/averaging_links/results/further.csv.gz"))
    scores = {measure: averages.means(records, measure) for measure in averages.MEASURES}
    words = "none one two three four five six seven eight".split()
    boosting = [words[int((scores[m].idxmin(axis=1) == "calibrated boosting").sum())] for m in ("brier", "log_loss")]
    page = one_line("averaging.md")
    assert f"best Brier score on {boosting[0]} of the eight tasks and the best log loss on {boosting[1]}," in page
    log_loss, own = scores["log_loss"], "average, log loss"
    assert (log_loss[list(PAPER_METHODS)].gt(log_loss[own], axis=0)).to_numpy().all()
    assert log_loss.rank(axis=1).mean().drop("calibrated boosting").idxmin() == own
    for name in ("LogisticRegressionCV", "GEV-canonical"):
        for measure in ("brier", "calibration"):
            assert signed_rank(scores[measure][name] - scores[measure][own]) > 0.05
