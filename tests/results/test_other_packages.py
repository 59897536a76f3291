"""Packages that know statsmodels work on our results unchanged."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from statsmodels.iolib.summary2 import summary_col

import gevglm
from gevglm.datasets import simulate_study

FITS = {
    "canonical": {"xi": 0.5, "cov_type": "HC0"},
    "firth": {"link": "logit", "bias": "firth"},
    "cloglog": {"link": "cloglog"},
}


@pytest.fixture(scope="module")
def study():
    # integers: marginaleffects 0.6 compares floats with integers in a way that polars 2 refuses
    return simulate_study(rng=3).iloc[:1500].round().astype(int)


@pytest.fixture(scope="module", params=FITS)
def fitted(request, study):
    return gevglm.fit("event ~ age + smoker + age:smoker", study, **FITS[request.param])


@pytest.fixture
def me():
    package = pytest.importorskip("marginaleffects")
    state = np.random.get_state()  # noqa: NPY002 -- its import and use set the global seed
    yield package
    np.random.set_state(state)  # noqa: NPY002


def test_marginaleffects(fitted, study, me):
    slopes = me.avg_slopes(fitted, variables="age")
    compared = me.avg_comparisons(fitted, variables={"smoker": [0, 1]})
    ours = fitted.risk("smoker").table.iloc[0]
    assert_allclose([compared["estimate"][0], compared["std_error"][0]], ours[["estimate", "se"]], rtol=1e-4)
    moved = me.avg_comparisons(fitted, variables={"age": 1})
    ours = fitted.risk("age", "unit").table.iloc[0]
    assert_allclose([moved["estimate"][0], moved["std_error"][0]], ours[["estimate", "se"]], rtol=1e-4)
    predicted = me.predictions(fitted, newdata=study.iloc[:20])
    assert_allclose(predicted["estimate"], fitted.predict(study.iloc[:20]), rtol=1e-10)
    assert_allclose(predicted["std_error"], fitted.get_prediction(study.iloc[:20]).se, rtol=1e-4)
    small = 1e-6
    up, down = (fitted.predict(study.assign(age=study["age"] + sign * small)).mean() for sign in (1, -1))
    assert_allclose(slopes["estimate"][0], (up - down) / (2 * small), rtol=1e-4)


def test_average_slopes_without_interactions(study, me):
    for options in FITS.values():
        res = gevglm.fit("event ~ age + smoker", study, **options)
        theirs = me.avg_slopes(res, variables="age")
        ours = res.get_margeff().summary_frame().loc["age"]
        assert_allclose(theirs["estimate"][0], ours.iloc[0], rtol=1e-5)
        assert_allclose(theirs["std_error"][0], ours.iloc[1], rtol=2e-3)  # theirs are by differences of differences


def test_summary_col(fitted):
    text = str(summary_col([fitted, fitted], stars=True, model_names=["one", "two"]))
    assert f"{fitted.params['age']:.4f}" in text and "smoker" in text


def test_stargazer(fitted):
    stargazer = pytest.importorskip("stargazer.stargazer")
    html = stargazer.Stargazer([fitted, fitted]).render_html()
    assert "smoker" in html


def test_maketables(fitted):
    maketables = pytest.importorskip("maketables")
    html = maketables.ETable([fitted, fitted], coef_fmt="b (se)").make(type="gt").as_raw_html()
    assert f"{fitted.params['smoker']:.3f}" in html and "smoker" in html
    plugin = maketables.extractors.PluginExtractor()
    assert plugin.can_handle(fitted)
    table = plugin.coef_table(fitted)
    assert_allclose(table["b"], fitted.params)
    assert_allclose(table[["ci95l", "ci95u"]], fitted.conf_int())
    assert plugin.stat(fitted, "N") == 1500 and plugin.stat(fitted, "auc") == fitted.auc
    assert plugin.stat(fitted, "unknown") is None and plugin.depvar(fitted) == "event"
    assert set(plugin.default_stat_keys(fitted)) <= {"N", "n_events", "ll", "log_loss"}


def test_great_tables(fitted):
    great_tables = pytest.importorskip("great_tables")
    html = great_tables.GT(fitted.margins().summary_frame().reset_index()).as_raw_html()
    assert "smoker" in html and "dy/dx" in html
    html = great_tables.GT(gevglm.compare({"model": fitted}).summary().frame.reset_index()).as_raw_html()
    assert f"{fitted.params['smoker']:.3f}" in html
