"""Tables in notebooks: names of columns and levels of factors come from the data, and are never markup."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import gevglm

IMAGE, BELOW = "<img src=x onerror=alert(1)>", "<5 & more"
TAGS = {"table", "caption", "tr", "th", "td", "br"}


class Reader(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"group": rng.choice(["!", IMAGE, BELOW], 300), "<b>x</b>": rng.normal(size=300)})
    table["<i>y</i>"] = np.where(rng.random(300) < 0.3, "<u>yes</u>", "no")
    return gevglm.fit("Q('<i>y</i>') ~ group + Q('<b>x</b>')", table, link="logit", event="<u>yes</u>")


def test_a_summary_shows_levels_as_they_are(results):
    summary = results.summary(title="a <script> & more")
    found = Reader(summary._repr_html_())
    assert found.tags <= TAGS
    for name in (IMAGE, BELOW, "<b>x</b>", "<i>y</i>", "<u>yes</u>", "a <script> & more"):
        assert name in found.text
    assert IMAGE in str(summary) and "&lt;" not in str(summary) and "&lt;" not in summary.as_latex()


def test_so_do_its_tables_and_those_of_margins(results):
    for table in (*results.summary().tables, *results.get_margeff().summary().tables):
        assert Reader(table._repr_html_()).tags <= TAGS
    assert IMAGE in Reader(results.get_margeff().summary().as_html()).text


def test_html_leaves_the_summary_as_it_was(results):
    summary = results.summary()
    before = str(summary), summary.as_latex(), summary.as_csv()
    assert summary.as_html() == summary.as_html()
    assert (str(summary), summary.as_latex(), summary.as_csv()) == before


def test_notes_are_text_too(results):
    clustered = results.summary()
    clustered.extra_txt = f"Notes:\n[1] {IMAGE}"
    assert Reader(clustered.as_html()).tags <= TAGS and clustered.as_html().count("<br/>") == 3


def test_other_summaries_are_as_statsmodels_shows_them(results):
    assessed = results.calibration(belt=False, resamples=20).summary()
    assert Reader(assessed.as_html()).tags <= TAGS and "AUC" in assessed.as_html()
