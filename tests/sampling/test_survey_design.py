"""Survey designs: the numbers of R's survey, domains, lonely units, replicate weights, data in pieces, and what is refused."""

import subprocess

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError, InvalidOptionError
from tests.support.golden import numbers, same_matrix, text_of

FORMULA = "y ~ C(region) + x + treat"
UNITS = (2, 3, 4, 5, 6, 2, 3, 4)
SIZES = np.array([20, 12, 9, 50, 30, 4, 8, 16])


def congruential(n, seed):
    found = np.empty(n)
    for i in range(n):
        seed = seed * 16807 % 2147483647
        found[i] = seed / 2147483647
    return found


def half_up(values, digits):
    return np.array([round(value, digits) for value in values.tolist()])


@pytest.fixture(scope="module")
def data():
    """The sample that golden/make_survey_design.R makes."""
    strata, psu = np.repeat(np.arange(1, 9), UNITS), np.concatenate([np.arange(1, n + 1) for n in UNITS])
    rows = (6 + np.floor(15 * congruential(len(psu), 11))).astype(int)
    table = pd.DataFrame({"stratum": np.repeat(strata, rows), "psu": np.repeat(psu, rows)})
    effect, n = np.repeat(congruential(len(psu), 17), rows), int(rows.sum())
    table["x"] = half_up(2 * congruential(n, 23) - 1, 3)
    table["treat"] = (congruential(n, 29) < 0.5).astype(int)
    table["region"] = np.array(["a", "b", "c"])[np.floor(3 * congruential(n, 31)).astype(int)]
    table["weight"] = half_up(10 + 90 * congruential(n, 37), 2)
    table["size"] = SIZES[table["stratum"] - 1]
    risk = 1 / (1 + np.exp(2.2 - 0.8 * table["x"] - 0.6 * table["treat"] - 1.5 * (effect - 0.5)))
    table["y"] = (congruential(n, 41) < risk).astype(int)
    table["lone"] = np.where((table["stratum"] == 1) & (table["psu"] == 2), 9, table["stratum"])
    table["lone_size"] = table["size"] + 10 * (table["lone"] == 9)
    golden = numbers("survey_design")["synthetic"]
    assert n == golden["rows"]
    assert_allclose(table[["x", "weight", "y"]].sum(), golden["sums"], rtol=1e-12)
    return table


WHOLE = gevglm.survey("weight", strata="stratum", psu="psu")
FINITE = gevglm.survey("weight", strata="stratum", psu="psu", fpc="size")


def fitted(data, design, formula=FORMULA, link="logit", **options):
    return gevglm.fit(formula, data, link=link, design=design, tol=1e-10, **options)


def same(res, golden, rtol=1e-8):
    assert_allclose(res.params, golden["params"], rtol=rtol, atol=1e-10)
    same_matrix(res.cov_params(), golden["cov"], rtol)
    assert_allclose(res.degrees.df, golden["df"])
    assert_allclose(res.pvalues, golden["p"], rtol=1e-7)
    test = res.wald_test(np.eye(len(res.params))[1:], scalar=True)
    assert_allclose(
        [test.statistic, test.df_num, test.df_denom], [golden["F"], golden["F_df"], golden["F_ddf"]], rtol=1e-7
    )
    assert_allclose(test.pvalue, golden["F_p"], rtol=1e-6)


@pytest.mark.parametrize(
    ("case", "design"),
    [
        ("whole", WHOLE),
        ("finite", FINITE),
        ("rows_only", gevglm.survey("weight", strata="stratum")),
    ],
)
def test_fits_are_those_of_svyglm(data, case, design):
    same(fitted(data, design), numbers("survey_design")["synthetic"][case])


@pytest.mark.parametrize("link", ["probit", "cloglog"])
def test_fits_with_other_links_are_those_of_svyglm(data, link):
    same(fitted(data, WHOLE, link=link), numbers("survey_design")["synthetic"][link])


def test_units_without_strata(data):
    unit = data["stratum"] * 10 + data["psu"]
    same(fitted(data, gevglm.survey("weight", psu=unit)), numbers("survey_design")["synthetic"]["unstratified"])
    clustered = gevglm.fit(
        FORMULA,
        data,
        link="logit",
        sampling_weights="weight",
        tol=1e-14,
        cov_type="cluster",
        cov_kwds={"groups": unit, "kind": "CR1"},
    )
    same_matrix(fitted(data, gevglm.survey("weight", psu=unit)).cov_params(), clustered.cov_params(), 1e-10)


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.FewEventsWarning")
def test_a_subset_is_a_domain_and_not_a_smaller_sample(data):
    golden = numbers("survey_design")["synthetic"]
    domain = fitted(data, WHOLE, "y ~ x + treat", subset="region == 'b'")
    same(domain, golden["domain"])
    same(fitted(data, FINITE, "y ~ x + treat", subset="region == 'b' and x > 0"), golden["domain_finite"])
    weighted = data.assign(weight=np.where(data["region"] == "b", data["weight"], 0.0))
    same(fitted(weighted, WHOLE, "y ~ x + treat"), golden["domain"])
    missing = data.assign(x=np.where(data["region"] == "b", data["x"], np.nan))
    with pytest.warns(gevglm.exceptions.MissingRowsWarning):
        same(fitted(missing, WHOLE, "y ~ x + treat"), golden["domain"])


@pytest.mark.parametrize("fpc", [False, True])
@pytest.mark.parametrize("rule", ["adjust", "average", "certainty", "remove", "centre"])
def test_lonely_units(data, rule, fpc):
    design = gevglm.survey("weight", strata="lone", psu="psu", fpc="lone_size" if fpc else None, lonely=rule)
    golden = numbers("survey_design")["synthetic"]["lonely"]["adjust" if rule == "centre" else rule]
    same(fitted(data, design), golden["finite" if fpc else "infinite"])


@pytest.mark.parametrize("case", ["JK1", "JKn", "JKn_mse", "BRR", "Fay", "bootstrap"])
def test_replicate_weights(data, case):
    golden = numbers("survey_design")["synthetic"][case]
    table = data[data["psu"] < 3] if case in ("BRR", "Fay") else data
    unit = table.groupby(["stratum", "psu"], sort=False).ngroup().to_numpy()
    weights = np.array(golden["ratios"])[unit] * table["weight"].to_numpy()[:, None]
    names = [f"rep{r}" for r in range(weights.shape[1])]
    table = table.join(pd.DataFrame(weights, index=table.index, columns=names))
    kind = case.partition("_")[0]
    options = {"rho": 0.3} if kind == "Fay" else {"rscales": golden["rscales"], "scale": golden["scale"]}
    design = gevglm.survey("weight", replicates="rep*", kind=kind, mse=case.endswith("mse"), **options)
    res = fitted(table, design, "y ~ x + treat")
    same(res, golden)
    assert f"{len(names)} fits with replicate weights ({kind})" in text_of(res)
    by_name = gevglm.survey("weight", replicates=names, kind=kind, mse=case.endswith("mse"), **options)
    assert_allclose(fitted(table, by_name, "y ~ x + treat").bse, res.bse, rtol=1e-12)


@pytest.mark.parametrize(("case", "design"), [("whole", WHOLE), ("finite", FINITE)])
def test_risks_use_the_design(data, case, design):
    golden = numbers("survey_design")["synthetic"][case]["risks"]
    res = fitted(data, design)
    risk = res.risk("treat", [0, 1])
    assert_allclose(risk.risks["estimate"], golden["risks"], rtol=1e-10)
    same_matrix(risk.cov, golden["cov"], 1e-8)
    V = np.array(golden["cov"])
    assert_allclose(risk.table["se"], np.sqrt(V[0, 0] + V[1, 1] - 2 * V[0, 1]), rtol=1e-8)


def test_risks_by_replicates_are_close_to_those_by_units(data):
    res = fitted(data, WHOLE)
    unit = data.groupby(["stratum", "psu"], sort=False).ngroup().to_numpy()
    of_unit = data.groupby("stratum")["psu"].nunique()
    first = data[~pd.Series(unit).duplicated().to_numpy()]
    weights, factors = [], []
    for g, (stratum, _) in enumerate(zip(first["stratum"], first["psu"], strict=True)):
        n = of_unit[stratum]
        ratio = np.where(data["stratum"] == stratum, n / (n - 1), 1.0) * (unit != g)
        weights.append(data["weight"] * ratio)
        factors.append((n - 1) / n)
    design = gevglm.survey("weight", replicates=np.column_stack(weights), kind="JKn", rscales=factors)
    again = fitted(data, design)
    assert_allclose(again.bse, res.bse, rtol=0.06)
    assert_allclose(again.risk("treat", [0, 1]).table["se"], res.risk("treat", [0, 1]).table["se"], rtol=1e-6)
    # jackknifed risks themselves
    risks = []
    for weight in weights:
        refit = gevglm.fit(FORMULA, data.assign(weight=weight), link="logit", sampling_weights="weight")
        risks.append(refit.risk("treat", [0, 1], covariates="fixed").risks["estimate"].to_numpy())
    risks = np.array(risks) - np.mean(risks, axis=0)
    errors = np.sqrt((np.array(factors)[:, None] * risks**2).sum(axis=0))
    assert_allclose(again.risk("treat", [0, 1]).risks["se"], errors, rtol=0.05)


def test_the_mean_of_a_domain(data):
    golden = numbers("survey_design")["synthetic"]["domain_mean"]
    res = fitted(data, WHOLE, "y ~ 1", subset="region == 'c'")
    found = res.get_prediction(average=True).summary_frame()
    assert_allclose(found["predicted"].iloc[0], golden["mean"], rtol=1e-10)
    assert_allclose(found["se"].iloc[0], golden["se"], rtol=1e-8)


def test_pieces_have_the_numbers_of_a_table(data, tmp_path):
    whole = fitted(data, FINITE, subset="x > -0.5")
    cut = [data.iloc[:100], data.iloc[100:210], data.iloc[210:]]
    pieces = gevglm.fit(FORMULA, lambda: iter(cut), link="logit", design=FINITE, tol=1e-10, subset="x > -0.5")
    assert_allclose(pieces.params, whole.params, rtol=1e-9)
    same_matrix(pieces.cov_params(), whole.cov_params(), 1e-9)
    assert pieces.degrees.df == whole.degrees.df
    with pytest.raises(InvalidOptionError, match="psu among them"):
        gevglm.fit(FORMULA, lambda: iter(cut), link="logit", design=gevglm.survey("weight", strata="stratum"))


def test_arrays_and_order_do_not_matter(data):
    res = fitted(data, FINITE)
    given = {name: data[name].to_numpy() for name in ("stratum", "psu", "size", "weight")}
    design = gevglm.survey(given["weight"], strata=given["stratum"], psu=given["psu"], fpc=given["size"])
    arrays = gevglm.fit(res.model.endog, res.model.exog, link="logit", design=design, tol=1e-14)
    same_matrix(arrays.cov_params(), res.cov_params(), 1e-10)
    model = gevglm.BinaryGLM.from_formula(FORMULA, data, link="logit", design=FINITE)
    same_matrix(model.fit(tol=1e-10).cov_params(), res.cov_params(), 1e-10)
    model = gevglm.BinaryGLM(res.model.endog, res.model.exog, link="logit", design=design)
    same_matrix(model.fit(tol=1e-10).cov_params(), res.cov_params(), 1e-10)
    shuffled = fitted(data.sample(frac=1.0, random_state=1), FINITE)
    same_matrix(shuffled.cov_params(), res.cov_params(), 1e-9)


def test_a_design_of_single_rows_is_what_sampling_weights_give(data):
    design = fitted(data, gevglm.survey("weight"))
    weighted = gevglm.fit(FORMULA, data, link="logit", sampling_weights="weight", tol=1e-14)
    same_matrix(design.cov_params(), weighted.cov_params(), 1e-10)
    assert_allclose(design.risk("treat", [0, 1]).risks["se"], weighted.risk("treat", [0, 1]).risks["se"], rtol=1e-9)


def test_shares_are_finite_populations(data):
    units = data.groupby("stratum")["psu"].nunique()
    shares = data.assign(size=data["stratum"].map(units) / data["size"])
    same_matrix(fitted(shares, FINITE).cov_params(), fitted(data, FINITE).cov_params(), 1e-10)


def test_summary_save_and_repr(data, tmp_path):
    res = fitted(data, FINITE)
    text = text_of(res)
    assert "survey design (8 strata, 29 units, finite populations)" in text
    assert "17 degrees of freedom: 21 of the design, plus 1, minus 5 coefficients" in text
    res.save(tmp_path / "fit.pickle")
    loaded = gevglm.load(tmp_path / "fit.pickle")
    assert_allclose(loaded.pvalues, res.pvalues)
    assert (
        "gevglm.survey(weights='weight', strata='stratum', psu='psu', fpc='size')" in res.model.options.code()["design"]
    )
    assert (fitted(data, FINITE, use_t=False).pvalues < res.pvalues).all()


def test_margins_averages_and_terms_use_the_design(data):
    res = fitted(data, WHOLE)
    assert res.anova().table["pvalue"].notna().all()
    effects = res.get_margeff().summary_frame()
    weighted = gevglm.fit(FORMULA, data, link="logit", sampling_weights="weight").get_margeff().summary_frame()
    assert_allclose(effects["dy/dx"], weighted["dy/dx"], rtol=1e-6)
    assert (np.abs(effects["Std. Err."] / weighted["Std. Err."] - 1) > 1e-3).all()


def refused(data, error, match, formula=FORMULA, **words):
    options = {"strata": "stratum", "psu": "psu"} | words
    with pytest.raises(error, match=match):
        fitted(data, gevglm.survey("weight", **options), formula)


def test_what_is_wrong_with_a_design_is_said(data):
    refused(data, InvalidDataError, r"unit 1 is in 8 strata \(1, 2, 3.*nest=True", nest=False)
    refused(data, InvalidDataError, r"2 strata have one unit only \(1, 9\).*lonely='adjust'", strata="lone")
    refused(
        data.assign(size=3),
        InvalidDataError,
        r"stratum 3 has 3 units in the population, but 4 are in the sample \(4 such",
        fpc="size",
    )
    refused(
        data.assign(size=data["x"] + 30), InvalidDataError, r"fpc differs between rows of the same stratum", fpc="size"
    )
    refused(data.assign(size=np.where(data["stratum"] == 1, 0.5, 90)), InvalidDataError, "shares in others", fpc="size")
    refused(data.assign(size=-1.0), InvalidDataError, "fpc must be positive", fpc="size")
    refused(
        data.assign(psu=data["psu"].where(data["x"] > 0)), InvalidDataError, r"unit of the survey is missing in \d+ of"
    )
    refused(
        data.assign(weight=data["weight"].where(data["x"] > 0)), InvalidDataError, "weights of the survey is missing"
    )
    refused(data, InvalidDataError, "all rows are in one unit", strata=None, psu=np.ones(len(data)))
    refused(data, InvalidDataError, "has 3 rows, but the data have", psu=np.arange(3))


def test_rows_of_weight_zero_are_outside_of_the_domain(data):
    inside = data["region"] != data["region"].iloc[0] if "region" in data else data["x"] > -1.5
    zero = fitted(data.assign(weight=data["weight"].where(inside, 0.0)), WHOLE)
    domain = fitted(data.assign(inside=inside), WHOLE, subset="inside")
    assert_allclose(zero.cov_params(), domain.cov_params(), rtol=1e-10)
    assert zero.degrees.df == domain.degrees.df
    with pytest.raises(InvalidDataError, match="zero in all"):
        fitted(data.assign(weight=0.0), WHOLE)


def test_what_is_wrong_with_replicate_weights_is_said(data):
    factors = {f"rep{r}": np.where(data["psu"] == r, 0.5, 1.25) for r in (1, 2, 3)}
    weights = {name: values * data["weight"] for name, values in factors.items()}

    def refused_replicates(columns, error, match, **words):
        with pytest.raises(error, match=match):
            fitted(data.assign(**columns), gevglm.survey("weight", replicates="rep*", **{"kind": "JK1"} | words))

    refused_replicates(factors, InvalidDataError, "add up to .* in the mean, but the sampling weights to .* multiplied")
    refused_replicates(weights | {"rep2": "a"}, InvalidDataError, "'rep2' of the survey are not numbers")
    missing = weights["rep2"].where(data["x"] > -0.9)
    refused_replicates(
        weights | {"rep2": missing}, InvalidDataError, r"\d+ are not \(the first is nan, in replicate 2\)"
    )
    refused_replicates(
        weights, InvalidOptionError, "rscales has 2 numbers for 3 replicates", kind="JKn", rscales=[1, 1]
    )
    refused_replicates(weights, InvalidOptionError, "their products are -1 to -1", scale=-1.0)
    refused_replicates(weights, InvalidOptionError, "their products are 0 to 0", scale=0.0)
    refused(data.assign(size=1.0), InvalidDataError, "all units of all strata were drawn", fpc="size")


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.WeakShapeWarning")
def test_words_that_do_not_fit_are_refused(data):
    with pytest.raises(InvalidOptionError, match="needs weights"):
        gevglm.survey(None)
    with pytest.raises(InvalidOptionError, match="'certainty'"):
        gevglm.survey("weight", lonely="ignore")
    with pytest.raises(InvalidOptionError, match=r"2 columns \(school, pupil\); give that of the first stage"):
        gevglm.survey("weight", psu=["school", "pupil"])
    with pytest.raises(IncompatibleOptionsError, match="goes with replicates="):
        gevglm.survey("weight", kind="BRR")
    with pytest.raises(IncompatibleOptionsError, match="leave strata out"):
        gevglm.survey("weight", strata="stratum", replicates="rep*", kind="BRR")
    with pytest.raises(InvalidOptionError, match="'JK1'"):
        gevglm.survey("weight", replicates="rep*", kind="jackknife")
    with pytest.raises(InvalidOptionError, match="needs rscales"):
        gevglm.survey("weight", replicates="rep*", kind="JKn")
    with pytest.raises(IncompatibleOptionsError, match="rho go together"):
        gevglm.survey("weight", replicates="rep*", kind="Fay")
    with pytest.raises(InvalidDataError, match=r"no column of the data matches replicates='rep\*'"):
        fitted(data, gevglm.survey("weight", replicates="rep*", kind="BRR"))
    with pytest.raises(InvalidOptionError, match=r"must come from gevglm\.survey"):
        fitted(data, "weight")
    with pytest.raises(IncompatibleOptionsError, match="leave cov_type out"):
        fitted(data, WHOLE, cov_type="HC0")
    with pytest.raises(IncompatibleOptionsError, match="design= and absorbed constants cannot be combined"):
        fitted(data, WHOLE, "y ~ x | region")
    with pytest.raises(IncompatibleOptionsError, match="leave sampling_weights out"):
        fitted(data, WHOLE, sampling_weights="weight")
    replicated = gevglm.survey("weight", replicates=np.outer(data["weight"], np.ones(4)), kind="BRR")
    with pytest.raises(InvalidOptionError, match="replicate weights are not defined when xi is estimated"):
        fitted(data, replicated, link=None, xi="ml", loss="log")
    with pytest.raises(IncompatibleOptionsError, match="satterthwaite"):
        fitted(data, WHOLE, use_t="satterthwaite")


# -- data of R's package survey, which no Python package carries; test_survey_like.py has samples drawn as they were ---


@pytest.fixture(scope="module")
def of_package(tmp_path_factory):
    """The data sets nhanes, apistrat and apiclus1, from an installed R."""
    folder = tmp_path_factory.mktemp("survey")
    names = ("nhanes", "apistrat", "apiclus1")
    code = "suppressPackageStartupMessages(library(survey)); data(nhanes); data(api); " + "; ".join(
        f"write.csv({name}, '{folder / name}.csv', row.names = FALSE)" for name in names
    )
    subprocess.run(["Rscript", "-e", code], capture_output=True, check=True)
    tables = {name: pd.read_csv(folder / f"{name}.csv") for name in names}
    for name in names[1:]:
        tables[name]["met"] = (tables[name]["sch.wide"] == "Yes").astype(int)
    return tables


@pytest.mark.study
@pytest.mark.filterwarnings("ignore::gevglm.exceptions.MissingRowsWarning")
def test_nhanes(of_package):
    golden, nhanes = numbers("survey_design")["nhanes"], of_package["nhanes"]
    design = gevglm.survey("WTMEC2YR", strata="SDMVSTRA", psu="SDMVPSU")
    same(fitted(nhanes, design, "HI_CHOL ~ C(race) + agecat + C(RIAGENDR)"), golden)
    same(fitted(nhanes, design, "HI_CHOL ~ C(race) + agecat", subset="RIAGENDR == 2"), golden["women"])


@pytest.mark.study
@pytest.mark.parametrize(
    ("name", "formula", "design"),
    [
        ("apistrat", "met ~ meals + ell", gevglm.survey("pw", strata="stype", fpc="fpc")),
        ("apiclus1", "met ~ meals + mobility", gevglm.survey("pw", psu="dnum", fpc="fpc")),
    ],
)
def test_schools(of_package, name, formula, design):
    same(fitted(of_package[name], design, formula), numbers("survey_design")[name])
