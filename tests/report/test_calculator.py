"""The calculator: what the page holds and says, how a browser shows it, and how people type."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import gevglm
from gevglm.datasets import simulate_study
from gevglm.effects.seen import Seen
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError
from gevglm.report.calculator import asset
from gevglm.report.calculator_text import TEXT
from tests.support.browser import Browser, find_browser
from tests.support.javascript import run
from tools.check_in_browser import SCRIPT

HOSTILE = '</script><b title="x">&east'
FORMULA = "event ~ rcs(age, 3)*smoker + region + bmi + working"
WORDS = {
    "labels": {"age": "Age", "smoker": "Smoker", "bmi": "<b>BMI</b>", "event": "an event"},
    "units": {"age": "years"},
    "levels": {"smoker": {0: "no", 1: "yes"}},
    "reference": {"age": 50},
}
GERMAN = {
    "Risk": "Risiko",
    "Risk of {outcome}": "Risiko: {outcome}",
    "Fill in {names}.": "Bitte angeben: {names}.",
    "yes": "ja",
    "no": "nein",
}


@pytest.fixture(scope="module")
def study():
    data, rng = simulate_study(rng=1), np.random.default_rng(0)
    region = rng.choice(["north", "south", "west", "centre", HOSTILE], len(data))
    bmi = np.round(rng.normal(27.0, 4.0, len(data)), 1)
    return data.assign(age=data["age"] + 58.0, region=region, bmi=bmi, working=rng.random(len(data)) < 0.5)


@pytest.fixture(scope="module")
def fitted(study):
    return gevglm.fit(FORMULA, study, bias="firth", link="logit")


@pytest.fixture(scope="module")
def page(fitted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("calculator")
    return fitted.calculator(folder / "risk.html", note="For <adults>.", **WORDS)


@pytest.fixture(scope="module")
def browser():
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium on this machine, in which calculators are looked at")
    opened = Browser(path)
    yield opened
    opened.close()


# -- the file --------------------------------------------------------------------------------


def test_the_page_is_small_and_needs_nothing_else(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) < 60_000
    assert set(re.findall(r"https?://[^\"'\s]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(src|href|action)=|@import|url\(|fetch\(|XMLHttp|WebSocket|localStorage|cookie", text)
    assert "default-src &#x27;none&#x27;" in text and '<html lang="en">' in text


def test_names_are_text(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("<script") == text.count("</script>") == 1
    assert "&lt;b&gt;BMI&lt;/b&gt;" in text and "For &lt;adults&gt;." in text and "<b title" not in text


def test_it_holds_no_rows(page, study):
    """The numbers in it do not grow with the rows, and no value of a column beyond its range and median is there."""
    script = page.read_text(encoding="utf-8")
    unseen = study["bmi"][(study["bmi"] > study["bmi"].quantile(0.6)) & (study["bmi"] < study["bmi"].quantile(0.9))]
    assert not [value for value in unseen.unique() if re.search(rf"(?<![\d.]){value}(?!\d)", script)]


def test_saved_models_know_their_ranges(fitted, page, study, tmp_path):
    fitted.save(tmp_path / "model.pkl")
    loaded = gevglm.load(tmp_path / "model.pkl")
    again = loaded.calculator(tmp_path / "again.html", note="For <adults>.", **WORDS)
    assert again.read_bytes() == page.read_bytes()
    loaded._results._seen = None
    with pytest.raises(InvalidDataError, match="give data="):
        loaded.calculator(tmp_path / "none.html")
    assert loaded.calculator(tmp_path / "given.html", data=study).exists()


def test_a_design_matrix_and_a_population_have_calculators(study, tmp_path):
    X = study[["age", "bmi"]].assign(const=1.0)
    text = gevglm.BinaryGLM(study["event"], X).fit().calculator(tmp_path / "r.html").read_text()
    assert "event ~ age + bmi + const" in text and text.count('data-input="') == 3
    res = gevglm.fit("event ~ age", study.assign(years=2.0), link="cloglog", prevalence=0.01, exposure="years")
    text = res.calculator(tmp_path / "p.html").read_text()
    assert "a population in which 1.00 % have the outcome" in text.replace("\xa0", " ").replace("&nbsp;", " ")
    assert text.count('data-input="') == 3


def test_numbers_outside_the_data_are_known_by_range_and_by_leverage(fitted, study):
    seen = Seen.of(fitted)
    assert seen.columns["age"].low <= study["age"].min() and seen.columns["age"].high >= study["age"].max()
    assert seen.columns["region"].typical == study["region"].mode()[0]
    errors = np.sqrt(np.einsum("ij,jk,ik->i", *[fitted.model.exog, fitted.cov_params_matrix, fitted.model.exog]))
    assert seen.reach == pytest.approx([np.quantile(errors, 0.99), errors.max()], rel=1e-12)


# -- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"labels": {"agge": "Age"}}, r"labels has 'agge'.* Did you mean 'age'"),
        ({"units": {"event": "x"}}, "units has 'event'"),
        ({"levels": {"smoker": {2: "often"}}}, r"levels has 2 for 'smoker', whose values are 0, 1"),
        ({"levels": {"age": {50: "fifty"}}}, "a number with many values"),
        ({"reference": {"region": "east"}}, "reference has 'east' for 'region'"),
        ({"reference": {"age": "old"}}, "'age', which is a number"),
        ({"text": {"Risks": "Risiko"}}, "not among the phrases .* Did you mean 'Risk'"),
        ({"text": {"Risk of {outcome}": "Risiko"}}, "the same words in braces"),
        ({"alpha": 2.0}, "between 0 and 1"),
    ],
)
def test_words_that_do_not_fit_are_named(fitted, tmp_path, words, message):
    with pytest.raises(InvalidOptionError, match=message):
        fitted.calculator(tmp_path / "r.html", **words)


def test_fits_without_limits_are_refused_in_a_sentence(study, tmp_path):
    apart = pd.DataFrame({"x": np.arange(40.0), "y": (np.arange(40) > 30).astype(int)})
    with pytest.warns(gevglm.exceptions.GevglmWarning):
        res = gevglm.fit("y ~ x", apart, link="logit")
    with pytest.raises(InvalidDataError, match=r"bias='firth'|not converged"):
        res.calculator(tmp_path / "r.html")
    res = gevglm.fit("event ~ np.clip(age, 40, 60).round()", study)
    with pytest.raises(InvalidDataError, match="compute a column of the table"):
        res.calculator(tmp_path / "r.html")
    with pytest.raises(InvalidOptionError, match="has no variables"):
        gevglm.fit("event ~ 1", study, link="logit").calculator(tmp_path / "r.html")
    names = study.assign(name=[f"person {i}" for i in range(len(study))])
    res = gevglm.fit("event ~ I(name == 'person 3') + age", names, link="logit", alpha=1.0)
    with pytest.raises(InvalidDataError, match="'name' is a text with many values"):
        res.calculator(tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_fits_within_units_and_averages_have_no_calculator(study, tmp_path):
    sets = study.assign(set=np.arange(len(study)) // 40)
    fits = {
        "is no risk": gevglm.fit("event ~ age", sets, link="logit", strata="set"),
        "as many as there are units": gevglm.fit("event ~ age | clinic", sets, link="logit"),
        "by resamples": gevglm.average_links("event ~ age", study, links=("logit", "cloglog")),
    }
    for said, res in fits.items():
        with pytest.raises(GevglmError, match=said):
            res.calculator(tmp_path / "r.html")


# -- what people type ------------------------------------------------------------------------


def test_numbers_as_people_type_them():
    typed = {
        "en": {
            "54": 54, "54.5": 54.5, "54,5": 54.5, " 54 ": 54, "-3": -3, "\N{MINUS SIGN}3": -3, "1,234.5": 1234.5, "1.234,5": 1234.5, "1 234": 1234,
            "1e3": 1000, ".5": 0.5, "0,125": 0.125, "1.234": 1.234, "1,234,567": 1234567, "1,234": "wrong", "old": "wrong", "5O": "wrong", "1,2,3": "wrong",
            "1e999": "wrong", "0x10": "wrong", "--1": "wrong", "NaN": "wrong", "": "empty", "  ": "empty",
        },
        "de": {"1,234": 1.234, "12,5": 12.5, "12.5": 12.5, "1.234.567": 1234567, "1.234": "wrong"},
    }  # fmt: skip
    source = asset("calculator.js")
    source = source[source.index("const say") : source.index("function chosen")]
    for language, texts in typed.items():
        known = f"const model = {json.dumps({'text': TEXT, 'language': language})};\n"
        found = run(known + source, f"{json.dumps(list(texts))}.map(typed)")
        assert [each.get("value", next(iter(each))) for each in found] == list(texts.values())


# -- in a browser ----------------------------------------------------------------------------


def shown(browser, part):
    return browser.evaluate(f"document.querySelector('[data-part={part}]').textContent").replace("\xa0", " ")


def test_typing_gives_the_risk_of_get_prediction(page, browser, fitted):
    browser.open(page, 1280)
    assert shown(browser, "risk").startswith("Fill in Age, Smoker, region, <b>BMI</b>, working.")
    for keys in ("71,5", ["Space", "ArrowDown"], ["w"], "31", ["Space", "ArrowDown", "ArrowDown"]):
        browser.press("Tab")
        if isinstance(keys, str):
            browser.type(keys)
        else:
            for key in keys:
                browser.press(key)
    row = {"age": 71.5, "smoker": 1, "region": "west", "bmi": 31.0, "working": False}
    frame = fitted.get_prediction(pd.DataFrame([row])).summary_frame().iloc[0]
    half = 50 * (frame["mean_ci_upper"] - frame["mean_ci_lower"])
    digits = int(np.clip(1 - np.floor(np.log10(half)), 0, 7))
    risk, lower, upper = (f"{100 * frame[name]:.{digits}f} %" for name in ("mean", "mean_ci_lower", "mean_ci_upper"))
    assert shown(browser, "risk") == risk
    assert shown(browser, "interval") == f"95 % interval: {lower} to {upper}"
    assert "Age 71.5 years instead of 50 years raises the risk from" in shown(browser, "moves")
    assert "Smoker yes instead of no raises" in shown(browser, "moves")
    assert browser.complaints() == []
    wait = "new Promise(done => setTimeout(() => done(document.querySelector('[data-part=said]').textContent), 700))"
    said = browser.ask("Runtime.evaluate", expression=wait, awaitPromise=True, returnByValue=True)["result"]["value"]
    assert said.replace("\xa0", " ").startswith(f"Risk. {risk}. 95 % interval")


def test_keyboard_alone_is_enough(page, browser):
    """Tab reaches every field and button in their order, and the focus is seen."""
    browser.open(page, 1280)
    seen = []
    for _ in range(8):
        browser.press("Tab")
        outline = "(e => getComputedStyle(e.closest('.choices label') ?? e).outlineStyle)(document.activeElement)"
        assert browser.evaluate(outline) == "solid"
        seen.append(browser.evaluate("document.activeElement.dataset.part ?? document.activeElement.localName"))
    assert seen == ["input", "input", "select", "input", "input", "typical", "clear", "print"]
    browser.evaluate("document.querySelector('[data-part=typical]').focus()")
    browser.press("Enter")
    assert re.fullmatch(r"[\d.]+ %", shown(browser, "risk"))
    assert "For the reference (Age 50 years, Smoker no" in shown(browser, "reference")


def test_values_outside_the_data_and_mistakes_are_said(page, browser):
    browser.open(page, 1280)
    browser.evaluate("document.querySelector('[data-part=typical]').click()")
    assert browser.evaluate("document.querySelector('[data-part=outside]').hidden")
    enter = "(text => { const e = document.querySelector('#value-0'); e.value = text; e.dispatchEvent(new Event('input', {bubbles: true})); })"
    browser.evaluate(f"{enter}('120')")
    assert "Age 120 years is above all values of the data, which end at" in shown(browser, "warnings")
    browser.evaluate(f"{enter}('old')")
    assert shown(browser, "risk") == "Correct Age." and shown(browser, "interval") == ""
    assert browser.evaluate("document.querySelector('#value-0').getAttribute('aria-invalid')") == "true"
    for text in ("", "1e308", "-1e308", "1e999", "Infinity", "0"):
        browser.evaluate(f"{enter}('{text}')")
        text = browser.evaluate("document.body.innerText")
        assert not re.search(r"NaN|undefined|null|Infinity|∞", text.replace("innerText", ""))
    assert browser.complaints() == []


def test_an_unlikely_combination_is_said(browser, tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(50.0, 10.0, 2000).clip(25, 75)
    frame = pd.DataFrame({"x": x, "z": x + rng.normal(0.0, 1.0, 2000), "y": rng.random(2000) < 0.1})
    res = gevglm.fit("y ~ x + z", frame, link="logit")
    browser.open(res.calculator(tmp_path / "r.html"), 1280)
    enter = """((i, text) => { const e = document.querySelector(`#value-${i}`); e.value = text; e.dispatchEvent(new Event('input', {bubbles: true})); })"""
    away = np.linspace(0.0, 8.0, 801)
    errors = np.sqrt(
        np.einsum("ij,jk,ik->i", *[X := np.column_stack([away**0, 50 * away**0, 50 + away]), res.cov_params_matrix, X])
    )
    rare, every = Seen.of(res).reach
    one_in_100, none = away[errors > 0.5 * (rare + every)][0], away[errors > 1.01 * every][0]
    for z, said in (
        (50, ""),
        (50 + one_in_100, "fewer than 1 in 100"),
        (50 + none, "no combination there is as unusual"),
    ):
        browser.evaluate(f"{enter}(0, '50'); {enter}(1, '{z}')")
        assert said in shown(browser, "warnings") and bool(said) == bool(shown(browser, "warnings"))


def test_every_label_belongs_to_its_input(page, browser):
    browser.open(page, 390)
    unnamed = """[...document.querySelectorAll('.calculator input, .calculator select')].filter(e => !e.labels.length).length"""
    assert browser.evaluate(unnamed) == 0
    small = "[...document.querySelectorAll('.calculator input:not([type=radio]), .calculator select, .calculator button, .choices label')]"
    assert browser.evaluate(f"Math.min(...{small}.map(e => e.getBoundingClientRect().height))") >= 40


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen_and_can_be_read(page, browser, width, scheme):
    browser.open(page, width, scheme=scheme)
    for values in ("typical", "clear"):
        browser.evaluate(f"document.querySelector('[data-part={values}]').click()")
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.evaluate(f"(() => {{ {SCRIPT.partition('const wait')[0]} return pale(window); }})()") == []
    ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    assert browser.complaints() == []
    assert browser.pdf().startswith(b"%PDF")


def test_other_languages(fitted, browser, tmp_path):
    path = fitted.calculator(tmp_path / "r.html", text=GERMAN, language="de", **WORDS)
    browser.open(path, 390)
    assert shown(browser, "risk").startswith("Bitte angeben: Age")
    browser.evaluate("document.querySelector('[data-part=typical]').click()")
    assert re.fullmatch(r"\d+,\d+ %", shown(browser, "risk"))
    assert browser.evaluate("document.title") == "Risiko: an event"
    assert browser.evaluate("document.querySelector('#value-3').value") == "27"
