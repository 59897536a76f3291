"""Effects by variable: against marginaleffects, derivatives of predictions, epiR; how numbers needed are written."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import norm

import gevglm
from gevglm.datasets import simulate_study
from gevglm.exceptions import GevglmWarning, InvalidOptionError
from tests.support.golden import birthwt, numbers

# marginaleffects evaluates formulas anew, and looks for variables outside functions: the spline is written by its powers
FORMULAS = {
    "interaction": "event ~ age * smoker",
    "polynomial": "event ~ age + I(age**2) + smoker",
    "spline": "event ~ (age + I(age**2) + I(age**2 * (age > 0))) * smoker",
    "factor": "event ~ age * region + smoker",
}


@pytest.fixture(scope="module")
def study():
    data = simulate_study(rng=3).iloc[:1500].round().astype(int)
    return data.assign(
        region=pd.Categorical([f"r{i % 3}" for i in range(len(data))]), old=(data["age"] > 0).astype(int)
    )


@pytest.fixture(scope="module", params=FORMULAS)
def fitted(request, study):
    return gevglm.fit(FORMULAS[request.param], study, link="logit", tol=1e-12)


@pytest.fixture
def me():
    package = pytest.importorskip("marginaleffects")
    state = np.random.get_state()  # noqa: NPY002 -- its import and use set the global seed
    yield package
    np.random.set_state(state)  # noqa: NPY002


def test_slopes_are_those_of_marginaleffects(fitted, me):
    theirs = me.avg_slopes(fitted, variables="age", eps=1e-3)
    ours = fitted.margins("age").table.iloc[0]
    assert_allclose(ours["estimate"], theirs["estimate"][0], rtol=1e-6)
    assert_allclose(ours["se"], theirs["std_error"][0], rtol=1e-3)  # theirs are differences of differences


def test_comparisons_are_those_of_marginaleffects(fitted, me):
    theirs = me.avg_comparisons(fitted, variables={"smoker": [0, 1]})
    ours = fitted.margins("smoker").table.iloc[0]
    assert_allclose(ours["estimate"], theirs["estimate"][0], rtol=1e-6)
    assert_allclose(ours["se"], theirs["std_error"][0], rtol=1e-6)
    theirs = me.avg_comparisons(fitted, variables={"age": "sd"}, by="smoker")
    moved = fitted.risk("age", "sd", by="smoker").table
    assert_allclose(moved["estimate"], theirs["estimate"], rtol=1e-6)
    assert_allclose(moved["se"], theirs["std_error"], rtol=1e-6)


def test_hypotheses_are_those_of_marginaleffects(study, me):
    res = gevglm.fit("event ~ age * smoker + old", study, link="logit", tol=1e-12)
    theirs = me.hypotheses(res, "smoker = old")
    ours = res.t_test("smoker = old")
    assert_allclose(theirs["estimate"][0], np.ravel(ours.effect)[0], rtol=1e-6)
    assert_allclose(theirs["std_error"][0], np.ravel(ours.sd)[0], rtol=1e-6)
    grouped = me.avg_comparisons(res, variables={"smoker": [0, 1]}, by="old", hypothesis="b1 = b0")
    difference = res.margins("smoker", by="old").t_test([1, -1]).iloc[0]
    assert_allclose(abs(grouped["estimate"][0]), abs(difference["estimate"]), rtol=1e-6)
    assert_allclose(grouped["std_error"][0], difference["se"], rtol=1e-5)


@pytest.mark.parametrize("formula", FORMULAS.values())
@pytest.mark.parametrize(
    "options",
    [{"link": "logit"}, {"link": "probit"}, {"link": "cloglog", "bias": "firth"}],
    ids=["logit", "probit", "firth"],
)
def test_slopes_are_derivatives_of_average_predictions(study, formula, options):
    res = gevglm.fit(formula, study, **options)
    inside = study[study["age"].between(study["age"].min() + 1, study["age"].max() - 1)]
    h = 1e-3
    up, down = (res.predict(inside.assign(age=inside["age"] + sign * h)).mean() for sign in (1, -1))
    assert_allclose(res.margins("age", data=inside).table["estimate"].iloc[0], (up - down) / (2 * h), rtol=1e-5)


def test_polynomial_by_its_closed_form(study):
    res = gevglm.fit(FORMULAS["polynomial"], study, link="logit", tol=1e-12)
    X, b, V = np.asarray(res.model.exog), np.asarray(res.params), np.asarray(res.cov_params())
    D = np.zeros_like(X)
    D[:, 1], D[:, 2] = 1.0, 2.0 * study["age"]
    p = expit(X @ b)
    f, df = p * (1 - p), p * (1 - p) * (1 - 2 * p)
    gradient = ((df * (D @ b))[:, None] * X + f[:, None] * D).mean(axis=0)
    expected = [(f * (D @ b)).mean(), np.sqrt(gradient @ V @ gradient)]
    assert_allclose(res.margins("age").table.iloc[0, :2], expected, rtol=1e-6)


def test_standard_errors_are_those_of_columns_where_there_is_one(study):
    for options in ({"link": "logit"}, {"xi": 0.5, "cov_type": "HC1"}, {"link": "gev", "loss": "log", "xi": 0.3}):
        res = gevglm.fit("event ~ age + smoker", study, **options)
        column = res.get_margeff().summary_frame().loc["age"].to_numpy(float)
        assert_allclose(res.margins("age").table.iloc[0].to_numpy(), column, rtol=1e-5)


def test_a_sample_of_rows_adds_to_the_errors(study):
    data = study.assign(weight=1 + np.arange(len(study)) % 2)
    res = gevglm.fit("event ~ age + smoker", data, link="logit", sampling_weights="weight")
    column = res.get_margeff().summary_frame().loc["age"].to_numpy(float)
    assert_allclose(res.margins("age").table.iloc[0].to_numpy(), column, rtol=1e-5)
    assert "a sample" in res.margins().note


def test_all_variables_at_once_are_each_alone(fitted):
    every = fitted.margins(by=["smoker"]) if "smoker" in fitted.model.formula else fitted.margins()
    for name in every.table.index.get_level_values("variable").unique():
        alone = fitted.margins(name, by=["smoker"]).table
        assert_allclose(every.table.xs(name, level="variable").to_numpy(), alone.to_numpy(), rtol=1e-6)


def test_arrays(study):
    X = study[["age", "smoker"]].assign(const=1.0).astype(float)
    res = gevglm.fit(study["event"], X, link="logit")
    table = res.margins().table
    assert [name for name, _ in table.index] == ["age", "smoker"]
    named = gevglm.fit("event ~ age + smoker", study, link="logit").margins().table
    assert_allclose(table.to_numpy(), named.to_numpy(), rtol=1e-6)


def test_splines_that_end_with_the_data(study):
    res = gevglm.fit("event ~ bs(age, df=4)", study, link="logit")
    assert np.isfinite(res.margins("age").table.to_numpy()).all()
    with pytest.raises(InvalidOptionError, match="use at='iqr'"):
        res.risk("age")


# -- several variables, and groups by several ----------------------------------------------------


def test_joint_exposures_by_hand(study):
    res = gevglm.fit("event ~ smoker * old + age", study, link="logit")
    found = res.risk(["smoker", "old"])
    assert found.risks.index.tolist()[1] == "smoker = 0, old = 1"
    by_hand = [res.predict(study.assign(smoker=a, old=b)).mean() for a in (0, 1) for b in (0, 1)]
    assert_allclose(found.risks["estimate"], by_hand, rtol=1e-10)
    assert_allclose(found.table["estimate"], np.array(by_hand[1:]) - by_hand[0], rtol=1e-10)
    one = res.risk(["smoker", "old"], {"smoker": (1, 0), "old": (0, 1)})
    assert_allclose(one.risks["estimate"].iloc[0], by_hand[2])


def test_groups_by_several_variables(study):
    res = gevglm.fit("event ~ smoker * old + age", study, link="logit")
    found = res.risk("smoker", by=["old", "region"])
    assert found.table.index.names[:2] == ["old", "region"] and len(found.table) == 6
    part = study.query("old == 1 and region == 'r2'")
    alone = res.risk("smoker", data=part)
    assert_allclose(found.table.loc[(1, "r2")].to_numpy(), alone.table.to_numpy(), rtol=1e-9)


# -- interaction on the additive scale -----------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "adjusted"])
def test_interaction_is_that_of_epir(name):
    golden = numbers("effects")["interaction"][name]
    data = birthwt().assign(heavy=lambda d: (d["lwt"] < 110).astype(int))
    res = gevglm.fit(golden["formula"], data, link="logit")
    found = res.interaction("smoke", "heavy", contrast="coefficients").table
    for ours, theirs in (("RERI", "reri"), ("attributable proportion", "apab"), ("synergy index", "s")):
        assert_allclose(
            found.loc[ours, ["estimate", "ci_lower", "ci_upper"]],
            [golden[theirs][key] for key in ("est", "lower", "upper")],
            rtol=1e-6,
        )
    assert_allclose(found.loc["multiplicative", "estimate"], np.exp(res.params["smoke:heavy"]), rtol=1e-9)


def test_interaction_of_standardised_risks_by_hand(study):
    res = gevglm.fit("event ~ smoker * old + age", study, link="logit")
    none, second, first, both = (res.predict(study.assign(smoker=a, old=b)).mean() for a in (0, 1) for b in (0, 1))
    reri = both / none - first / none - second / none + 1
    assert_allclose(res.interaction("smoker", "old").table.loc["RERI", "estimate"], reri, rtol=1e-9)
    without_others = gevglm.fit("event ~ smoker * old", study, link="logit")
    odds, coefficients = (
        without_others.interaction("smoker", "old", contrast=c).table for c in ("odds", "coefficients")
    )
    assert_allclose(odds, coefficients, rtol=1e-6)


def test_interaction_of_levels_by_name(study):
    named = study.assign(smoker=np.where(study["smoker"] == 1, "yes", "no"))
    numbered, res = (gevglm.fit("event ~ smoker * old + age", data, link="logit") for data in (study, named))
    for contrast in ("ratio", "coefficients"):
        expected = numbered.interaction("smoker", "old", contrast=contrast).table
        assert_allclose(res.interaction("smoker", "old", contrast=contrast).table, expected, rtol=1e-6)


# -- moves, and how things are said ---------------------------------------------------------------


def test_the_default_move_is_a_standard_deviation_and_said(study):
    res = gevglm.fit("event ~ age + smoker", study, link="logit")
    found = res.risk("age")
    assert_allclose(found.table, res.risk("age", "sd").table)
    assert f"age moved by its standard deviation ({study['age'].std():.4g})" in str(found).replace("\n", " ")
    assert "of the rows beyond the data" in str(found).replace("\n", " ")


def test_moves_beyond_the_data_are_announced():
    rng = np.random.default_rng(1)
    x = rng.uniform(0.1, 0.5, 800)
    data = pd.DataFrame({"x": x, "y": (rng.random(800) < x).astype(int)})
    res = gevglm.fit("y ~ x", data, link="logit")
    with pytest.warns(GevglmWarning, match=r"moved by 1, which takes .* % of the rows beyond the data"):
        res.risk("x", "unit")


def test_tests_of_risks(study):
    res = gevglm.fit("event ~ smoker * old + age", study, link="logit")
    found = res.risk("smoker")
    test = found.t_test([-1, 1]).iloc[0]
    assert_allclose(test[["estimate", "se", "pvalue"]], [*found.table.iloc[0, :2], found.pvalues.iloc[0]])
    assert_allclose(found.zvalues.iloc[0], test["z"])
    ratio = res.risk("smoker", contrast="ratio")
    assert_allclose(2 * norm.sf(abs(ratio.zvalues)), ratio.pvalues)
    text = str(found)
    assert " z " in text and "pvalue" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda res: res.margins("ag"), "Did you mean 'age'"),
        (lambda res: res.margins([]), "no variable to look at"),
        (lambda res: res.margins("age").t_test([1, 2]), "2 weights in a row, but there are 1 estimates"),
        (lambda res: res.risk(["age", "smoker"], {"x": (0, 1)}), "'x', which is not among the variables"),
        (lambda res: res.interaction("smoker", "smoker"), "named twice"),
        (lambda res: res.interaction("age", "smoker"), "two values of 'age'"),
        (lambda res: res.interaction("old", "smoker", contrast="or"), "contrast='or'"),
        (lambda res: res.risk("smoker", by=["old", "reg"]), "by='reg'"),
    ],
)
def test_bad_input(study, call, message):
    res = gevglm.fit("event ~ age + smoker + old", study, link="logit")
    with pytest.raises(InvalidOptionError, match=message):
        call(res)


def test_coefficients_of_other_links_are_no_odds_ratios(study):
    res = gevglm.fit("event ~ old * smoker", study, link="probit")
    with pytest.raises(InvalidOptionError, match="not log odds ratios"):
        res.interaction("old", "smoker", contrast="coefficients")
