"""Models known by their coefficients: a fit typed in again, risks by hand, factors, splines, odds ratios, prevalence, and what is not known."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import norm

import gevglm
from gevglm.exceptions import GevglmError, InvalidDataError
from tests.support.links_under_test import CASES
from tests.support.study import study

OLD, NEW = (gevglm.datasets.simulate_study(rng=rng) for rng in (1, 2))
FORMULA = "event ~ age + smoker"
PLAIN = {"Intercept": -3.7, "age": 0.055, "smoker": 1.2}


def test_a_fit_typed_in_again_predicts_and_is_assessed_as_the_fit():
    res = gevglm.fit(FORMULA, OLD)
    typed = gevglm.from_coefficients(res.params, FORMULA, cov=res.cov_params(), n=5000, n_events=res.n_events)
    assert_allclose(typed.predict(NEW), res.predict(NEW), rtol=1e-14)
    ours, theirs = (each.get_prediction(NEW.head(50)).summary_frame() for each in (typed, res))
    assert_allclose(ours, theirs, rtol=1e-12)
    assert_allclose(typed.bse, res.bse)
    assert_allclose(typed.conf_int(), res.conf_int())
    few = NEW.head(400)
    assert str(typed.calibration(few)) == str(res.calibration(few))
    assert repr(typed.update(NEW, "slope").updated.slope) == repr(res.update(NEW, "slope").updated.slope)
    assert_allclose(typed.update(NEW, "constant").bse, res.update(NEW, "constant").bse, rtol=1e-10)
    assert typed.to_sql("t") == res.to_sql("t")
    assert typed.to_javascript() == res.to_javascript()
    assert "5,000" in str(typed.summary())
    assert "No covariance" not in str(typed.summary())
    array = gevglm.from_coefficients(dict(res.params), FORMULA, cov=np.asarray(res.cov_params()))
    assert_allclose(array.bse, res.bse)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.link.population is case.link], ids=lambda case: repr(case.link)
)
def test_every_link(case):
    p = np.array([0.05, 0.3, 0.6])
    model = gevglm.from_coefficients({"Intercept": 1.0, "x": 2.0}, link=case.link)
    assert_allclose(model.predict(pd.DataFrame({"x": (case.link(p) - 1.0) / 2.0})), p, rtol=1e-12)


def test_without_a_formula_the_names_are_the_columns():
    model = gevglm.from_coefficients({"(Intercept)": -2.0, "systolic pressure": 0.01, "age": 0.02})
    rows = pd.DataFrame({"age": [50, 60], "systolic pressure": [120, 140]})
    assert_allclose(model.predict(rows), expit([-2 + 1.0 + 1.2, -2 + 1.2 + 1.4]))


def test_factors_interactions_and_names_as_r_has_them():
    levels = {"stage": ["I", "II", "III"], "sex": ["f", "m"]}
    given = {
        "Intercept": -2,
        "stageII": 0.5,
        "stage[T.III]": 1,
        "sexm": 0.2,
        "stageII:sexm": 0.3,
        "stageIII:sexm": -0.4,
    }
    model = gevglm.from_coefficients(given, "died ~ stage * sex", levels=levels)
    rows = pd.DataFrame({"stage": ["I", "III", "II"], "sex": ["m", "m", "f"]})
    assert_allclose(model.predict(rows), expit([-1.8, -2 + 1 + 0.2 - 0.4, -1.5]))
    with pytest.raises(InvalidDataError, match="'stage' has levels in the new data that the model has not seen: 'IV'"):
        model.predict(rows.assign(stage="IV"))
    as_list = gevglm.from_coefficients(
        {"Intercept": -2, "stage": [0.5, 1.0]}, "died ~ stage", levels={"stage": levels["stage"]}
    )
    assert_allclose(as_list.params, [-2, 0.5, 1.0])
    many = [f"r{j}" for j in range(40)]
    regions = gevglm.from_coefficients(
        {"Intercept": -2, "region": list(range(1, 40))}, "~ region", levels={"region": many}
    )
    assert regions.params.iloc[-1] == 39
    numbered = gevglm.from_coefficients({"Intercept": -2, "C(k)[T.2]": 1.0}, "~ C(k)", levels={"k": [3, 2]})
    assert_allclose(numbered.predict(pd.DataFrame({"k": [2, 3]})), expit([-1, -2]))


SPLINE = "bs(age, knots=(40, 60), lower_bound=18, upper_bound=90)"


@pytest.mark.parametrize(
    "term",
    [
        SPLINE,
        "ns(age, knots=(40, 60), Boundary.knots=(20, 80))",
        "rcs(age, (30, 45, 60, 75))",
        "np.log(age)",
        "I(age - 50) + I((age - 50)**2)",
        "cut(age, (0, 45, 60, 100))",
    ],
)
def test_terms_that_learn_nothing_from_data(term):
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"age": rng.uniform(20, 88, 900)})
    data["y"] = (rng.random(900) < expit(-3 + 0.04 * data["age"])).astype(int)
    res = gevglm.fit(f"y ~ {term}", data)
    typed = gevglm.from_coefficients(res.params, f"y ~ {term}")
    assert_allclose(typed.predict(data), res.predict(data), rtol=1e-12)
    if term == SPLINE:
        listed = gevglm.from_coefficients(
            {"Intercept": res.params.iloc[0], term: res.params.iloc[1:].tolist()}, f"y ~ {term}"
        )
        assert_allclose(listed.predict(data), res.predict(data), rtol=1e-12)


@pytest.mark.parametrize("term", ["scale(age)", "ns(age, df=3)", "poly(age, 2)", "bs(age, df=5)"])
def test_terms_that_learn_from_data_want_them(term):
    with pytest.raises(GevglmError, match="takes means, knots or bounds of these columns from data"):
        gevglm.from_coefficients(PLAIN, f"event ~ {term}")
    res = gevglm.fit(f"event ~ {term}", OLD)
    typed = gevglm.from_coefficients(res.params, f"event ~ {term}", data=OLD)
    assert_allclose(typed.predict(NEW), res.predict(NEW), rtol=1e-9)


def test_odds_ratios_standard_errors_and_prevalence():
    model = gevglm.from_coefficients(
        {"Intercept": -3.7}, FORMULA, odds_ratios={"age": np.exp(0.055), "smoker": 3.6}, bse={"smoker": 0.3}
    )
    assert_allclose(model.params, [-3.7, 0.055, np.log(3.6)])
    assert_allclose(model.conf_int().loc["smoker"], np.log(3.6) + norm.ppf([0.025, 0.975]) * 0.3)
    assert np.isnan(model.bse["age"])
    assert "odds ratio" in str(model.summary(exponentiate=True))
    placed = gevglm.from_coefficients({"age": 0.055, "smoker": 1.2}, FORMULA, data=NEW, prevalence=0.02)
    assert placed.predict(NEW).mean() == pytest.approx(0.02, rel=1e-9)
    assert "prevalence=0.02" in str(placed.summary())
    moved = gevglm.from_coefficients(PLAIN, FORMULA, data=NEW, prevalence=0.02)
    assert_allclose(moved.params, placed.params, rtol=1e-9)
    assert "instead of -3.7" in str(moved.summary())


def test_offset_exposure_event_and_engine():
    model = gevglm.from_coefficients({"Intercept": -3, "x": 0.5}, link="cloglog", exposure="years", event="yes")
    rows = pd.DataFrame({"x": [0.0, 1.0], "years": [2.0, 3.0], "y": ["yes", "no"]})
    assert_allclose(model.predict(rows), -np.expm1(-np.exp([-3 + np.log(2), -2.5 + np.log(3)])))
    patsy = gevglm.from_coefficients(PLAIN, FORMULA, formula_engine="patsy")
    assert_allclose(patsy.predict(NEW), gevglm.from_coefficients(PLAIN, FORMULA).predict(NEW))
    shifted = gevglm.from_coefficients({"Intercept": -3, "x": 0.5}, "y ~ x + offset(0.1 * z)")
    assert_allclose(shifted.predict(rows.assign(z=2.0)), expit([-2.8, -2.3]))


def test_columns_hide_objects_of_the_caller_and_knots_may_be_named():
    age, knots = 50.0, (40, 60)
    model = gevglm.from_coefficients({"Intercept": -2, "age": 0.02}, "y ~ age")
    assert_allclose(model.predict(pd.DataFrame({"age": [age, 60.0]})), expit([-1.0, -0.8]))
    text = "bs(age, knots=knots, degree=1, lower_bound=18, upper_bound=90)"
    assert (
        len(gevglm.from_coefficients({"Intercept": -2, text: [0.1, 0.2, 0.3]}, f"y ~ {text}").params)
        == 1 + len(knots) + 1
    )


def test_what_it_can_do_on_new_data(tmp_path):
    model, new = gevglm.from_coefficients(PLAIN, FORMULA), NEW.assign(place=np.arange(len(NEW)) % 3)
    assert len(model.calibration(new, by="place").groups) == 3
    assert model.classification(0.1, new) is not None
    assert model.recalibrate(new).predict(new).shape == (len(new),)
    assert model.monitor(new, time="place").periods.shape[0] == 3
    assert model.worst_segment(new, draws=9).searched > 0
    assert model.update(new).updated.how in ("none", "constant", "slope", "refit")
    constant = model.update(new, "constant")
    assert "There are no standard errors" in str(constant.summary())
    assert np.isfinite(model.update(new, "refit").bse).all()
    model.save(tmp_path / "model.pkl")
    again = gevglm.load(tmp_path / "model.pkl")
    assert_allclose(again.predict(new), model.predict(new))
    assert str(again.summary()) == str(model.summary())
    assert repr(model) == "<PublishedResults: event ~ age + smoker; Logit; 3 coefficients as published>"
    assert "Published model" in model._repr_html_()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda model: model.get_prediction(NEW), "covariance of the published coefficients is not known"),
        (lambda model: model.t_test("age = 0"), "covariance of the published coefficients is not known"),
        (lambda model: model.cov_params(), "covariance of the published coefficients is not known"),
        (lambda model: model.llf, "no rows of its own"),
        (lambda model: model.aic, "no rows of its own"),
        (lambda model: model.auc, "no rows of its own"),
        (lambda model: model.calibration(), "needs the rows"),
        (lambda model: model.stability(2), "needs the rows"),
        (lambda model: model.risk("smoker"), "needs the rows"),
        (lambda model: model.nomogram(), "needs the rows"),
        (lambda model: model.fittedvalues, "needs the rows"),
        (lambda model: model.resid_pearson, "needs the rows"),
    ],
)
def test_what_is_not_known_is_said(ask, message):
    with pytest.raises(GevglmError, match=message):
        ask(gevglm.from_coefficients(PLAIN, FORMULA))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"params": [1, 2]}, "must be a mapping"),
        ({"params": {}}, "no coefficients"),
        ({"params": {"Intercept": "x"}}, "is not a number"),
        ({"params": {"Intercept": np.inf}}, "is not a number"),
        ({"params": {"Intercept": -3, "age": 1}, "formula": FORMULA}, "params lacks smoker"),
        ({"params": PLAIN | {"agee": 1}, "formula": FORMULA}, "params has agee, which is none of them"),
        ({"params": {"age": 1, "smoker": 1}, "formula": FORMULA}, "Without a constant give prevalence= and data="),
        ({"params": PLAIN | {"sexm": 1}, "formula": FORMULA + " + sex"}, "Factors need their levels="),
        ({"params": {"Intercept": 1, "a:b": 1}}, "give formula="),
        ({"params": {"Intercept": 1, "C(k)[T.2]": 1}, "formula": "~ C(k)"}, "levels of k are not known"),
        ({"params": PLAIN, "formula": FORMULA, "levels": {"sex": ["f", "m"]}}, "levels has sex"),
        ({"params": PLAIN, "formula": "log(y) ~ age + smoker"}, "name of a column on the left"),
        ({"params": PLAIN, "odds_ratios": {"age": 2}}, "two numbers for 'age'"),
        ({"params": {"Intercept": 1}, "odds_ratios": {"age": -2}}, "must be above 0"),
        ({"params": {"Intercept": 1}, "odds_ratios": {"age": 2}, "link": "probit"}, "goes with the logit"),
        ({"params": PLAIN, "cov": np.eye(2)}, "cov has shape"),
        ({"params": PLAIN, "cov": np.diag([1, 1, -1.0])}, "not a covariance"),
        ({"params": PLAIN, "cov": pd.DataFrame(np.eye(3))}, "cov has 0, 1, 2"),
        ({"params": PLAIN, "cov": np.eye(3), "bse": {"age": 1}}, "leave bse out"),
        ({"params": PLAIN, "bse": {"ages": 1}}, "bse has ages"),
        ({"params": PLAIN, "bse": {"age": 0}}, "bse of age must be above 0"),
        ({"params": PLAIN, "prevalence": 0.1}, "give the covariates of the population as data="),
        ({"params": PLAIN, "prevalence": 2, "data": OLD}, "prevalence"),
        ({"params": PLAIN, "data": OLD[["age"]]}, "smoker"),
        ({"params": PLAIN, "data": OLD.iloc[:0]}, "no rows"),
        ({"params": PLAIN, "link": "gev"}, "has a shape"),
        ({"params": PLAIN, "formula": "y ~ age +"}, "formula"),
    ],
)
def test_bad_input(words, message):
    with pytest.raises(GevglmError, match=message):
        gevglm.from_coefficients(**words)


def test_a_study_of_everything():
    data = study()
    res = gevglm.fit("event ~ x + C(group) * smoker", data, bias="firth")
    levels = {"group": sorted(data["group"].unique())}
    names = {"smoker": sorted(data["smoker"].unique())} if not pd.api.types.is_numeric_dtype(data["smoker"]) else {}
    typed = gevglm.from_coefficients(res.params, "event ~ x + C(group) * smoker", levels=levels | names)
    assert_allclose(typed.predict(data), res.predict(data), rtol=1e-12)
