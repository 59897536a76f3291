"""What objects look like as the last expression of a notebook cell: a short text, and HTML in which names are never markup."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import gevglm
from gevglm import calibration

IMAGE = "<img src=x onerror=alert(1)>"
TAGS = {"table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "br", "p", "strong", "small", "pre"}
RAW = re.compile(r"np\.(float|int|str)|array\(|\d\.\d+e-1[4-9]|object at 0x")


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.found = set()
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.add(tag)


@pytest.fixture(scope="module")
def table():
    data = gevglm.datasets.simulate_study(rng=1).iloc[:1200]
    rng = np.random.default_rng(1)
    return data.assign(group=rng.choice(["a", IMAGE, "c"], len(data)), old=(data["age"] > 0).astype(int))


@pytest.fixture(scope="module")
def fits(table):
    return {
        IMAGE: gevglm.fit("event ~ age + smoker * old + group", table, link="logit"),
        "b": gevglm.fit("event ~ age", table, link="logit"),
    }


def _scores(fits):
    res = fits["b"]
    return np.asarray(res.model.endog), np.asarray(res.predict())


OBJECTS = {
    "results": lambda fits, data: fits[IMAGE],
    "unwrapped results": lambda fits, data: fits[IMAGE]._results,
    "model": lambda fits, data: fits[IMAGE].model,
    "risk": lambda fits, data: fits[IMAGE].risk("group", by="group"),
    "margins": lambda fits, data: fits[IMAGE].margins(),
    "get_margeff": lambda fits, data: fits[IMAGE].get_margeff(),
    "interaction": lambda fits, data: fits[IMAGE].interaction("smoker", "old"),
    "anova": lambda fits, data: fits[IMAGE].anova(test="Wald"),
    "risk change": lambda fits, data: fits[IMAGE].risk_change({"age": (0, 10)}),
    "comparison": lambda fits, data: gevglm.compare(fits, folds=2),
    "table for papers": lambda fits, data: gevglm.compare(fits, folds=2).summary(caption=IMAGE),
    "assessment": lambda fits, data: fits["b"].calibration(belt=False, resamples=20),
    "optimism": lambda fits, data: fits["b"].calibration(resampling="bootstrap", resamples=5),
    "sample": lambda fits, data: gevglm.sampling.case_control(data, "event", controls=100, rng=1),
    "average": lambda fits, data: gevglm.average_links("event ~ age", data),
    "recalibrated": lambda fits, data: fits["b"].recalibrate(data),
    "classification": lambda fits, data: fits["b"].classification(0.05),
    "DeLong": lambda fits, data: fits["b"].compare_auc(fits[IMAGE]),
    "Cox": lambda fits, data: calibration.cox_calibration(*_scores(fits)),
    "belt": lambda fits, data: calibration.calibration_belt(*_scores(fits)),
    "reliability": lambda fits, data: calibration.reliability(*_scores(fits)),
    "smooth": lambda fits, data: calibration.integrated_calibration(*_scores(fits)),
    "decomposition": lambda fits, data: calibration.brier_decomposition(*_scores(fits)),
    "profile": lambda fits, data: fits["b"].profile("age"),
    "search": lambda fits, data: gevglm.fit("event ~ age", data, link="logit", alpha="cv").search,
    "matched sets": lambda fits, data: gevglm.fit("event ~ age", data, strata="clinic"),
    **{
        f"calibrator {name}": lambda fits, data, name=name: getattr(calibration, name)().fit(*_scores(fits)[::-1])
        for name in ("Logistic", "Platt", "Beta", "Isotonic", "PiecewiseLogistic", "AsymmetricLaplace", "VennAbers")
    },
    "calibrator before it is fitted": lambda fits, data: calibration.Beta(),
}
WITHOUT_HTML = {"model", "DeLong"}


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.GevglmWarning")
@pytest.mark.parametrize("name", OBJECTS)
def test_forms(name, fits, table):
    shown = OBJECTS[name](fits, table)
    text = repr(shown)
    assert RAW.search(text) is None
    assert len(text) < 4000
    if name in WITHOUT_HTML:
        return
    html = shown._repr_html_()
    assert Tags(html).found <= TAGS
    assert RAW.search(html) is None


def test_short_texts_of_results(fits):
    assert repr(fits["b"]) == repr(fits["b"]._results)
    assert re.fullmatch(
        r"<BinaryGLMResults: event ~ age; Logit, log loss; \d+ events in 1,200 observations>", repr(fits["b"])
    )
    arrays = gevglm.fit(fits["b"].model.endog, fits["b"].model.exog, link="logit")
    assert "2 columns" in repr(arrays)


def test_digits_are_those_that_errors_support():
    from gevglm.display.tables import written

    frame = pd.DataFrame({"estimate": [0.0070394, 12.5], "se": [0.0039264, 1.2], "other": [4.9e-16, 3.25]})
    shown = written(frame)
    assert shown["estimate"].tolist() == ["0.00704", "12.50000"] and shown["se"].tolist() == ["0.00393", "1.20000"]
    assert shown["other"].tolist() == ["0.0000", "3.2500"]
    tiny = pd.DataFrame({"estimate": [1e-12, 2e-12], "se": [1e-13, 1e-13]})
    assert all("e-1" in text for text in written(tiny)["estimate"])
    assert written(pd.DataFrame({"n": [686.0, 12000.0], "x": [np.inf, np.nan]})).to_numpy().tolist() == [
        ["686", "inf"],
        ["12,000", ""],
    ]
