"""Tables over models, for print."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import gevglm
from gevglm.datasets import simulate_study


@pytest.fixture(scope="module")
def comparison():
    data = simulate_study(rng=1).iloc[:2000].rename(columns={"smoker": "smo_ker<1>"})
    data["a & b"] = data["smo_ker<1>"]
    arrays = [np.ones(len(data)), data["age"], data["a & b"]]
    y = data["event"].to_numpy(float)
    X = pd.DataFrame(dict(zip(["const", "age", "a & b <1>"], arrays, strict=True)))
    return gevglm.compare(
        {
            "logit": gevglm.fit(y, X, link="logit"),
            "Firth": gevglm.fit(y, X[["const", "age"]], link="logit", bias="firth"),
            "canonical": gevglm.fit(y, X, xi=0.5, cov_type="HC0"),
        }
    )


def test_numbers_of_the_table_are_those_of_the_fits(comparison):
    frame = comparison.summary(decimals=4).frame
    for name, res in comparison.results.items():
        assert frame[name].iloc[0] == f"{np.asarray(res.params)[0]:.4f}"
        assert frame[name].iloc[1] == f"({np.asarray(res.bse)[0]:.4f})"
        assert frame.loc["Brier score", name] == f"{res.brier:.4g}"
    assert frame.loc["a & b <1>", "Firth"] == ""
    assert frame.loc["xi", "canonical"] == "0.5" and frame.loc["Bias reduction", "Firth"] == "mean"
    assert "Penalty" not in frame.index


def test_stars_follow_p_values(comparison):
    frame = comparison.summary(stars=True).frame
    for name, res in comparison.results.items():
        p = np.asarray(res.pvalues)[1]
        assert frame[name].iloc[2].count("*") == sum(p < level for level in (0.05, 0.01, 0.001))
    assert "***" in comparison.summary(stars=True).note and "*" not in comparison.summary().note


def test_limits_instead_of_errors(comparison):
    lower, upper = np.asarray(comparison.results["logit"].conf_int())[0]
    assert comparison.summary(interval=True).frame["logit"].iloc[1] == f"({lower:.3f}, {upper:.3f})"


def test_every_format_escapes_names(comparison):
    table = comparison.summary(stars=True)
    assert r"a \& b <1>" in table.to_latex() and table.to_latex().count(r"\\") == len(table.frame) + 2
    assert "a &amp; b &lt;1&gt;" in table.to_html()
    assert r"\*\*\*" in table.to_markdown()
    parser = HTMLParser()
    parser.feed(table._repr_html_())
    rows = [line for line in table.to_markdown().splitlines() if line.startswith("|")]
    assert {line.count("|") - line.count(r"\|") for line in rows} == {5}
    assert re.search(r"^a & b <1> +\S+", str(table), re.MULTILINE)


def test_what_cannot_be_compared_is_named(comparison, tmp_path):
    data = simulate_study(rng=1).iloc[:2000]
    one = gevglm.fit("event ~ age", data, link="logit")
    gevglm.fit("event ~ age", data, link="logit").save(tmp_path / "m.pkl")
    for other, message in (
        (gevglm.fit("smoker ~ age", data, link="logit"), r"'b' is fitted to other data \('smoker', 2000 rows\)"),
        (gevglm.fit("event ~ age", data.iloc[:1900], link="logit"), r"\('event', 1900 rows\).*\('event', 2000 rows\)"),
        (gevglm.load(tmp_path / "m.pkl"), "rows of 'b' are not in memory"),
        (3, "'b' is a int"),
    ):
        with pytest.raises(gevglm.exceptions.GevglmError, match=message):
            gevglm.compare({"a": one, "b": other})
    with pytest.raises(gevglm.exceptions.InvalidOptionError, match="nothing to compare"):
        gevglm.compare({})
