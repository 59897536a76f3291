"""The report of a fit: what it says, that it needs nothing else, and how a browser shows it."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import gevglm
from gevglm.datasets import simulate_study
from gevglm.exceptions import GevglmError, InvalidOptionError
from tests.support.browser import Browser, find_browser

ALONE = {"meta", "br", "hr", "input"}
FITS = {
    "canonical, clustered": (
        "event ~ age * smoker + C(region)",
        {"xi": 0.5, "cov_type": "cluster", "cov_kwds": {"groups": "town"}},
    ),
    "Firth": ("event ~ bs(age, df=4) + smoker", {"link": "logit", "bias": "firth"}),
    "shape by likelihood": ("event ~ age + smoker", {"link": "gev", "loss": "log", "xi": "ml"}),
    "prevalence": ("event ~ age + smoker", {"link": "cloglog", "prevalence": 0.01}),
}


@pytest.fixture(scope="module")
def study():
    data = simulate_study(rng=2014)
    number = np.arange(len(data))
    return data.assign(region=np.array(["<north>", "south & east", "west"])[number % 3], town=number // 10)


@pytest.fixture(scope="module")
def reports(study, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return {
        name: gevglm.fit(formula, _rows(study, options), **options).report(folder / f"{i}.html", title=f"{name} <1>")
        for i, (name, (formula, options)) in enumerate(FITS.items())
    }


def _rows(study, options):
    """Return the rows of a fit; a shape needs many."""
    return study if options.get("xi") == "ml" else study.iloc[:1500]


@pytest.fixture(scope="module")
def browser():
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium on this machine, in which reports are looked at")
    opened = Browser(path)
    yield opened
    opened.close()


class Parsed(HTMLParser):
    """Elements that are closed in order, identifiers and links."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag not in ALONE:
            self.open.append(tag)
        for key, value in attrs:
            self.ids += [value] if key == "id" else []
            self.links += [value] if key in ("href", "xlink:href", "src") else []

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in ALONE:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", FITS)
def test_report_is_one_well_formed_page(reports, name):
    text = reports[name].read_text(encoding="utf-8")
    page = Parsed(text)
    assert not page.open and len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert text.count("<script") == 1 and "@import" not in text  # that of the calculator
    assert set(re.findall(r'https?://[^"\s]+', text)) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert f"{name} &lt;1&gt;" in text and "nan" not in re.sub(r"<(svg|script).*?</\1>", "", text, flags=re.S).lower()


@pytest.mark.parametrize("name", FITS)
def test_browser_shows_everything(reports, browser, name):
    for width in (1100, 390):
        browser.open(reports[name], width)
        assert browser.complaints() == []
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        drawn = """[...document.querySelectorAll('svg.picture')].map(svg => {
            const box = svg.getBoundingClientRect(), inside = svg.getBBox();
            return Math.min(box.width, box.height, inside.width, inside.height)})"""
        sizes = browser.evaluate(drawn)
        assert len(sizes) >= 10 and min(sizes) > 80
        assert (
            min(
                browser.evaluate(
                    "[...document.querySelectorAll('svg text')].map(t => t.getBoundingClientRect().height)"
                )
            )
            > 5
        )
    assert browser.pdf().startswith(b"%PDF")
    browser.open(reports[name], 700, media="print")
    assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"


def test_findings_are_the_numbers_of_the_fit(study, reports):
    formula, options = FITS["shape by likelihood"]
    res = gevglm.fit(formula, study, **options)
    text = plain(reports["shape by likelihood"])
    risks = 100 * res.risk("smoker").risks["estimate"]
    difference = 100 * res.risk("smoker").table.iloc[0]
    assert f"with smoker = 1, {risks.iloc[1]:.2g}" in text and f"with smoker = 0, {risks.iloc[0]:.2g}" in text
    assert f"{difference['ci_lower']:.1f} to {difference['ci_upper']:.1f}" in text
    assert f"{int(res.n_events)} of {len(study):,} observations" in text
    assert "xi by maximum likelihood" in text


def test_report_says_how_it_was_made(reports, study):
    clustered = plain(reports["canonical, clustered"])
    assert "robust to clusters, by town" in clustered and "150 clusters" in clustered
    assert "cov_kwds={'groups': 'town'}" in clustered and "<north>" in clustered
    assert "a population in which 1.0 %" in plain(reports["prevalence"])
    assert "profile penalised likelihood" in plain(reports["Firth"])
    code = re.search(r"<pre><code>(.*?)</code>", reports["Firth"].read_text(), re.S).group(1)
    code = code.replace("&#x27;", "'").replace("results.report('report.html')", "").replace("print(", "str(")
    space = {"data": study.iloc[:1500]}
    exec(code, space)
    again = gevglm.fit(FITS["Firth"][0], study.iloc[:1500], **FITS["Firth"][1])
    assert np.array_equal(space["results"].params, again.params)


def test_variables_without_direction_are_told_together(study, tmp_path):
    rng = np.random.default_rng(0)
    noise = study.iloc[:1000].assign(a=rng.standard_normal(1000), b=rng.standard_normal(1000))
    text = plain(gevglm.fit("event ~ age + a + b", noise, link="logit").report(tmp_path / "r.html"))
    assert re.search(r"No clear direction: [ab], .* points .*; [ab], ", text)


def test_separated_fits_state_no_findings(tmp_path):
    data = pd.DataFrame({"x": np.arange(40.0), "y": (np.arange(40) > 30).astype(int)})
    with pytest.warns(gevglm.exceptions.GevglmWarning):
        res = gevglm.fit("y ~ x", data, link="logit")
    text = plain(res.report(tmp_path / "r.html"))
    assert "No findings are stated" in text and "bias='firth'" in text


def test_saved_models_and_arrays_have_reports(study, tmp_path):
    res = gevglm.fit("event ~ age + smoker", study, link="logit")
    res.save(tmp_path / "model.pkl")
    text = plain(gevglm.load(tmp_path / "model.pkl").report(tmp_path / "r.html"))
    assert "rows of the fit are not in memory" in text and "odds ratio" in text
    X = np.column_stack([np.ones(len(study)), study["age"]])
    text = plain(gevglm.fit(study["event"].to_numpy(float), X, link="logit").report(tmp_path / "r.html"))
    assert "2 columns of a design matrix" in text and "x1" in text


class TestCalculator:
    def test_a_report_ends_with_it(self, reports, browser):
        browser.open(reports["prevalence"], 1100)
        browser.evaluate("document.querySelector('[data-part=typical]').click()")
        assert re.fullmatch(r"[\d.]+\s%", browser.evaluate("document.querySelector('[data-part=risk]').textContent"))
        assert browser.evaluate("document.querySelector('main').lastElementChild.id") == "calculator-section"
        assert browser.complaints() == []

    def test_where_there_is_none_the_report_says_why(self, study, tmp_path):
        twice = study.iloc[:1500].assign(older=lambda d: d["age"].clip(0, 30))
        text = plain(gevglm.fit("event ~ age.clip(0, 30)", twice, link="logit").report(tmp_path / "r.html"))
        assert "Not shown: the term 'age.clip(0, 30)' of the formula cannot be exported" in text


@pytest.fixture(scope="module")
def answered(study, tmp_path_factory):
    holes = study.iloc[:1500].assign(age=study["age"].where(study.index > 20))
    words = {"cov_type": "cluster", "cov_kwds": {"groups": "town"}, "prevalence": 0.01, "link": "logit"}
    with pytest.warns(gevglm.exceptions.MissingRowsWarning):
        res = gevglm.fit("event ~ age + smoker", holes, **words)
    return res.report(tmp_path_factory.mktemp("checklist") / "r.html", checklist="TRIPOD+AI")


class TestChecklist:
    NUMBERS = (
        "1 2 3a 3b 3c 4 5a 5b 6a 6b 6c 7 8a 8b 8c 9a 9b 9c 10 11 12a 12b 12c 12d 12e 12f 12g 13 14 15 16 17 18a 18b 18c 18d 18e 18f 19 "
        "20a 20b 20c 21 22 23a 23b 24 25 26 27a 27b 27c"
    ).split()

    def test_every_item_is_answered_once_and_links_lead_somewhere(self, answered):
        text = answered.read_text()
        found = Parsed(text)
        assert not found.open and all(link[1:] in found.ids for link in found.links)
        assert re.findall(r"<tr><th>(\w+)<br>", text) == self.NUMBERS
        total, *counts = map(
            int,
            re.search(
                r"Of (\d+) items, (\d+) are .*? and (\d+) in part; (\d+) .*? and (\d+) concern", plain(answered)
            ).groups(),
        )
        assert total == sum(counts) == 52

    def test_what_the_fit_knows_is_there_and_the_rest_is_said_to_be_unknown(self, answered):
        text = plain(answered)
        for said in ("21 of 1,500 rows were incomplete and left out; nothing was imputed", "allow for 148 clusters",
                     "the event is 1", "Those used: age, smoker", "By the formula event ~ age + smoker", "Prevalence: 0.01. Risks are those in the population"):  # fmt: skip
            assert said in text
        assert text.count("to be written by the authors") >= 20 and "TRIPOD+AI 8a" in text

    def test_without_rows_and_other_words(self, study, tmp_path):
        res = gevglm.fit("event ~ age", study, link="logit")
        res.save(tmp_path / "m.pkl")
        text = plain(gevglm.load(tmp_path / "m.pkl").report(tmp_path / "r.html", checklist="tripod+ai"))
        assert "20b Characteristics" not in text and "Of 52 items" in text
        with pytest.raises(InvalidOptionError, match=r"checklist='strobe' is not known"):
            res.report(tmp_path / "s.html", checklist="strobe")


def test_paths_that_cannot_be_written_are_named(study, tmp_path):
    res = gevglm.fit("event ~ age", study, link="logit")
    with pytest.raises(InvalidOptionError, match="is a folder"):
        res.report(tmp_path)
    with pytest.raises(InvalidOptionError, match=r"no folder .*missing"):
        res.report(tmp_path / "missing" / "r.html")
    with pytest.raises(GevglmError, match=r"could not be written: .*long"):
        res.report(tmp_path / ("x" * 300 + ".html"))
    with pytest.raises(InvalidOptionError, match="between 0 and 1"):
        res.report(tmp_path / "r.html", alpha=5)


def plain(path):
    """Return the text of a page, without pictures and tags."""
    import html

    text = re.sub(r"<(svg|style|script).*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.S)
    return html.unescape(re.sub(r"<[^>]+>", "", text)).replace("\xa0", " ")


class TestProgress:
    def test_a_bar_follows_the_sections_and_changes_nothing(self, study, tmp_path, capsys):
        res = gevglm.fit("event ~ age", study, link="logit")
        without = res.report(tmp_path / "without.html", progress=False).read_bytes()
        assert capsys.readouterr().err == ""
        assert res.report(tmp_path / "with.html", progress=True).read_bytes() == without
        assert "8/8" in capsys.readouterr().err

    def test_it_appears_by_itself_only_where_somebody_looks(self, study, tmp_path, capsys):
        gevglm.fit("event ~ age", study, link="logit").report(tmp_path / "r.html")
        assert capsys.readouterr().err == ""

    def test_other_words_are_refused(self, study, tmp_path):
        with pytest.raises(InvalidOptionError, match="progress='yes'"):
            gevglm.fit("event ~ age", study, link="logit").report(tmp_path / "r.html", progress="yes")
