"""A prevalence that is known as a range."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit

import gevglm
from gevglm.exceptions import InvalidOptionError
from tests.support.populations import drawn, refused

FORMULA = "y ~ x + smoker"
NEW = {"x": [0.0, 1.0, -1.0], "smoker": [0, 1, 0]}
LOW, HIGH = 0.03, 0.09
LINKS = {
    "logit": {"link": "logit"},
    "probit": {"link": "probit"},
    "gev-canonical": {"link": "gev", "xi": 0.2},
    "weighted logit": {"link": "logit", "sampling": "weight"},
    "king-zeng": {"link": "logit", "bias": "king-zeng"},
    "ridge": {"link": "logit", "alpha": 2.0},
}
each_link = pytest.mark.parametrize("words", LINKS.values(), ids=LINKS)


@each_link
def test_bounds_are_the_fits_at_both_ends(words):
    res = gevglm.fit(FORMULA, drawn().data, prevalence=(LOW, HIGH), **words)
    low, high = (gevglm.fit(FORMULA, drawn().data, prevalence=tau, **words) for tau in (LOW, HIGH))
    bounds = res.risk_bounds(NEW)
    assert_allclose(bounds["lower"], low.predict(NEW), rtol=1e-6)
    assert_allclose(bounds["upper"], high.predict(NEW), rtol=1e-6)
    assert_allclose(bounds["ci_lower"], low.get_prediction(NEW).summary_frame()["mean_ci_lower"], rtol=1e-5)
    assert_allclose(bounds["ci_upper"], high.get_prediction(NEW).summary_frame()["mean_ci_upper"], rtol=1e-5)


@each_link
def test_the_coefficients_are_those_in_the_middle(words):
    middle = expit((logit(LOW) + logit(HIGH)) / 2)
    res = gevglm.fit(FORMULA, drawn().data, prevalence=(LOW, HIGH), **words)
    assert res.prevalence == pytest.approx(middle)
    assert_allclose(res.params, gevglm.fit(FORMULA, drawn().data, prevalence=middle, **words).params, rtol=1e-10)
    bounds, risk = res.risk_bounds(NEW), res.predict(NEW)
    assert (bounds["lower"] < risk).all()
    assert (risk < bounds["upper"]).all()


def test_bounds_of_the_logit_multiply_the_odds():
    bounds = gevglm.fit(FORMULA, drawn().data, prevalence=(LOW, HIGH)).risk_bounds()
    ratio = logit(bounds["upper"]) - logit(bounds["lower"])
    assert_allclose(ratio, logit(HIGH) - logit(LOW), rtol=1e-7)
    assert bounds.index.equals(drawn().data.index)


def test_changes_of_risk_have_the_widest_limits():
    res = gevglm.fit(FORMULA, drawn().data, prevalence=(LOW, HIGH))
    table = res.risk_change({"smoker": (0, 1)}, at={"x": 0}, rng=1).summary_frame()
    for tau, name in ((LOW, "lowest"), (HIGH, "highest")):
        end = gevglm.fit(FORMULA, drawn().data, prevalence=tau).risk_change({"smoker": (0, 1)}, at={"x": 0}, rng=1)
        assert_allclose(table.loc["difference", name], end.difference, rtol=1e-5)
        limit = "ci_lower" if tau == LOW else "ci_upper"
        assert_allclose(table.loc["before", limit], end.table.loc["before", limit], rtol=1e-5)


def test_bounds_survive_saving(tmp_path):
    res = gevglm.fit(FORMULA, drawn().data, prevalence=(LOW, HIGH))
    before = res.risk_bounds(NEW)
    res.save(tmp_path / "fit.pkl")
    loaded = gevglm.load(tmp_path / "fit.pkl")
    assert_allclose(loaded.risk_bounds(NEW), before)
    with refused(gevglm.exceptions.InvalidDataError, "needs the rows of the fit, which are not in memory"):
        loaded.risk_bounds()


def test_the_summary_tells_the_range():
    text = str(gevglm.fit(FORMULA, drawn().data, prevalence=(LOW, HIGH)).summary())
    assert "between 0.03 and 0.09" in text
    assert "risk_bounds()" in text


def test_standardised_risks_say_that_they_are_at_the_middle_of_the_range():
    res = gevglm.fit(FORMULA, drawn().data, prevalence=(LOW, HIGH))
    found = res.risk("smoker")
    assert f"at a prevalence of {res.prevalence:.4g}, the middle (in log odds) of 0.03 to 0.09" in found.note
    assert "the middle" in str(found)
    for words in ({"prevalence": 0.05}, {}):
        assert "prevalence" not in gevglm.fit(FORMULA, drawn().data, **words).risk("smoker").note


def test_a_range_of_no_width_is_a_number():
    res = gevglm.fit(FORMULA, drawn().data, prevalence=[0.05, 0.05])
    assert res.prevalence == 0.05
    assert res.range_fits == ()


def test_bounds_need_a_range():
    for words in ({}, {"prevalence": 0.05}, {"class_weight": "balanced"}):
        with refused(InvalidOptionError, "risk_bounds", r"prevalence=\(0.01, 0.03\)"):
            gevglm.fit(FORMULA, drawn().data, **words).risk_bounds(NEW)


def test_one_row_has_bounds_too():
    X = np.column_stack([np.ones(len(drawn().data)), drawn().data["x"]])
    res = gevglm.fit(drawn().data["y"].to_numpy(), X, link="probit", prevalence=(LOW, HIGH))
    assert res.risk_bounds(X[0]).shape == (1, 4)
