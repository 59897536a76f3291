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
        assert frame.loc["Brier score", name] == f"{res.brier:#.4g}"
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
    assert r"a \& b $<$1$>$" in table.to_latex() and table.to_latex().count(r"\\") == len(table.frame) + 2
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


# -- what papers ask for ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nested():
    data = simulate_study(rng=1).query("clinic < 8")
    formulas = {"small": "event ~ age + smoker", "large": "event ~ age * smoker + C(clinic)"}
    return gevglm.compare(
        {name: gevglm.fit(formula, data, link="logit", bias="firth") for name, formula in formulas.items()}
    )


def test_odds_ratios_with_p_values(nested):
    res = nested.results["small"]
    table = nested.summary(exp=True, pvalues=True, interval=True)
    ratios = res.odds_ratios()
    assert "Intercept" not in table.frame.index and table.n_coefficients % 3 == 0
    above, below, p = table.frame["small"].iloc[:3]
    lower, upper = ratios.loc["age", ["ci_lower", "ci_upper"]]
    assert above == f"{ratios.loc['age', 'odds_ratio']:.3f}" and below == f"({lower:.3f}, {upper:.3f})"
    assert p == "p < 0.001" and ratios.loc["age", "pvalue"] == res.pvalues["age"] < 0.001
    assert table.note == "Odds ratios; 95 % confidence limits in parentheses."
    error = np.exp(res.params["age"]) * res.bse["age"]
    assert nested.summary(exp=True).frame["small"].iloc[1] == f"({error:.3f})"


def test_rows_are_renamed_and_dropped(nested):
    frame = nested.summary(rename={"age": "Age, years", "AUC": "Area"}, drop=["C(clinic)", "age:*"]).frame
    assert not any("clinic" in name and "T." in name for name in frame.index)
    assert frame.loc["C(clinic)"].tolist() == ["no", "yes"] and frame.loc["age:*"].tolist() == ["no", "yes"]
    assert {"Age, years", "Area"} <= set(frame.index) and "AUC" not in frame.index
    one = nested.summary(drop="C(clinic)[T.3]").frame
    assert "C(clinic)[T.2]" in one.index and one.loc["C(clinic)[T.3]"].tolist() == ["no", "yes"]


def test_stats_that_are_asked_for(nested):
    frame = nested.summary(stats=["nobs", "llf", "lr", "aic"]).frame
    small = nested.results["small"]
    assert frame.index[-3:].tolist() == ["Observations", "Log-likelihood", "LR chi-squared"]  # no AIC of penalised fits
    assert frame.loc["Log-likelihood", "small"] == f"{small.llf:.2f}"
    assert frame.loc["LR chi-squared", "small"] == f"{small.llr:.2f}"


def test_captions_in_every_format(nested, tmp_path):
    table = nested.summary(caption="Risks & <ages>", label="tab:risks")
    assert r"\caption{Risks \& $<$ages$>$}" in table.to_latex() and r"\label{tab:risks}" in table.to_latex()
    assert "<caption>Risks &amp; &lt;ages&gt;</caption>" in table.to_html()
    assert table.to_markdown().startswith("**Risks & <ages>**") and str(table).startswith("Risks & <ages>")
    docx = pytest.importorskip("docx")
    document = docx.Document(table.to_docx(tmp_path / "table.docx"))
    assert document.paragraphs[0].text == "Risks & <ages>" and document.paragraphs[-1].text == table.note
    cells = [[cell.text for cell in row.cells] for row in document.tables[0].rows]
    assert cells[0] == ["", "small", "large"] and cells[1][1:] == table.frame.iloc[0].tolist()
    assert len(cells) == len(table.frame) + 1


def test_word_without_python_docx(nested, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "docx", None)
    with pytest.raises(gevglm.exceptions.GevglmError, match=r"pip install \"gevglm\[word\]\""):
        nested.summary().to_docx(tmp_path / "table.docx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rename": {"agee": "Age"}}, r"rename has 'agee'.*Did you mean 'age'"),
        ({"drop": "C(clinics)"}, r"drop has 'C\(clinics\)'.*Did you mean 'C\(clinic\)'"),
        ({"stats": ["aicc"]}, r"stats has 'aicc'.*Did you mean 'aic'"),
    ],
)
def test_names_of_no_row_are_refused(nested, options, message):
    with pytest.raises(gevglm.exceptions.InvalidOptionError, match=message):
        nested.summary(**options)


def test_exponentials_without_a_meaning_are_refused(comparison):
    with pytest.raises(gevglm.exceptions.InvalidOptionError, match="'canonical' has no meaning with GEV"):
        comparison.summary(exp=True)


def test_axis_of_odds_ratios(nested, comparison):
    pytest.importorskip("matplotlib")
    ax = nested.results["small"].plot_coefficients({"large": nested.results["large"]}, exp=True)
    labels = [float(text.get_text()) for text in ax.get_xticklabels()]
    assert 1.0 in labels and np.allclose(np.log(labels), ax.get_xticks()) and "odds ratio" in ax.get_xlabel()
    with pytest.raises(gevglm.exceptions.InvalidOptionError, match="'canonical' has none"):
        comparison.results["logit"].plot_coefficients({"canonical": comparison.results["canonical"]}, exp=True)
