"""Samples drawn as NHANES and the schools of R's survey were: fits, svypredmeans, and calibration and discrimination by the design."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.special import expit

import gevglm
from gevglm.covariance.survey import design_variance
from tests.sampling.test_survey_design import fitted, same
from tests.support.golden import FOLDER, numbers, same_matrix

PEOPLE = gevglm.survey("weight", strata="stratum", psu="psu")
SCHOOLS = gevglm.survey("pw", strata="type", fpc="fpc")
DISTRICTS = gevglm.survey("pw", psu="district", fpc="fpc")

pytestmark = [
    pytest.mark.filterwarnings("ignore::gevglm.exceptions.MissingRowsWarning"),
    pytest.mark.filterwarnings("ignore::gevglm.exceptions.FewEventsWarning"),
]


def table(name):
    return pd.read_csv(FOLDER / f"survey_{name}.csv", keep_default_na=False, na_values=["NA"])


def test_a_health_survey_and_a_domain_of_it():
    golden, people = numbers("survey_like")["people"], table("people")
    same(fitted(people, PEOPLE, "high ~ C(race) + age + C(sex)"), golden)
    same(fitted(people, PEOPLE, "high ~ C(race) + age", subset="sex == 2"), golden["women"])


@pytest.mark.parametrize(
    ("name", "formula", "design"),
    [("schools", "met ~ meals + ell", SCHOOLS), ("districts", "met ~ meals + mobility", DISTRICTS)],
)
def test_finite_populations_of_schools(name, formula, design):
    same(fitted(table(name), design, formula), numbers("survey_like")[name])


@pytest.mark.parametrize(
    ("name", "formula", "design"),
    [("people", "high ~ C(race) + age + group", PEOPLE), ("districts", "met ~ meals + group", DISTRICTS)],
)
def test_risks_have_the_joint_variance_of_which_svypredmeans_has_two_parts(name, formula, design):
    golden, data = numbers("survey_like")["means"][name], table(name)
    data["group"] = (data["sex"] == 2 if name == "people" else data["mobility"] > 17).astype(int)
    if name == "people":
        data = data[data["high"].notna()]
    res = fitted(data, design, formula)
    risk = res.risk("group", [0, 1])
    assert_allclose(risk.risks["estimate"], golden["means"], rtol=1e-10)
    same_matrix(risk.cov, golden["joint"]["cov"], 1e-8)
    # the covariates fixed, the coefficients fixed, and both parts as if they were independent
    of_coefficients = res.risk("group", [0, 1], covariates="fixed").cov
    same_matrix(of_coefficients, golden["of_coefficients"], 1e-8)
    weight, sample = data[design.weights].to_numpy(), res.model.design.sample
    own = np.column_stack([np.asarray(res.predict(data.assign(group=value))) for value in (0, 1)])
    own = weight[:, None] * (own - weight @ own / weight.sum()) / weight.sum()
    totals = np.transpose([np.bincount(sample.grouping.codes, column, minlength=sample.n_units) for column in own.T])
    same_matrix(design_variance(sample, totals), golden["of_covariates"], 1e-8)
    same_matrix(of_coefficients + design_variance(sample, totals), golden["cov"], 1e-8)
    assert np.abs(risk.cov / np.array(golden["cov"]) - 1).max() > 1e-3


def predictions_of(name):
    """Return the table, its design, outcome and predictions, and which rows are the domain."""
    data = table("people" if name == "women" else name)
    if name in ("people", "women"):
        return data, PEOPLE, "high", data["predicted"], (data["sex"] == 2 if name == "women" else data["sex"] > 0)
    design = SCHOOLS if name == "schools" else DISTRICTS
    return data, design, "met", expit(2 - 0.012 * data["meals"]), data["pw"] > 0


@pytest.mark.parametrize("name", ["people", "women", "schools", "districts"])
def test_calibration_and_discrimination_have_the_variance_of_the_design(name):
    data, design, outcome, p, domain = predictions_of(name)
    golden = numbers("survey_like")["calibration"][name]
    fit = fitted(data.assign(p=p), design, f"{outcome} ~ p", subset=domain)
    used = (domain & data[outcome].notna()).to_numpy()
    weights = data[design.weights].to_numpy()[used]
    assessed = gevglm.calibration.assess(
        data[outcome].to_numpy()[used], p.to_numpy()[used], weights, groups=fit.model.design.sample, rng=0, resamples=50
    )
    cox = assessed.cox
    assert_allclose([cox.intercept, cox.slope], golden["slope_model"]["params"], rtol=1e-7)
    same_matrix(cox.cov, golden["slope_model"]["cov"], 1e-7)
    pairs = {
        "in_the_large": "calibration in the large",
        "brier": "Brier score",
        "ratio": "observed / expected",
        "auc": "AUC",
    }
    for word, index in pairs.items():
        found = assessed.indices[index]
        assert_allclose([found, found.se], np.ravel([golden[word]["value"], golden[word]["se"]]), rtol=1e-8)
    assert "are those of the survey design" in assessed.notes[0]


@pytest.mark.parametrize(("name", "design"), [("people", PEOPLE), ("districts", DISTRICTS)])
def test_resamples_have_the_variance_of_the_design(name, design):
    data = table(name)
    sample = fitted(data, design, "high ~ 1" if name == "people" else "met ~ 1").model.design.sample
    totals, rng = np.random.default_rng(1).normal(size=(sample.n_units, 1)), np.random.default_rng(2)
    found = np.array([sample.resampled(rng) @ totals[:, 0] for _ in range(20_000)])
    assert_allclose(found.var(), design_variance(sample, totals)[0, 0], rtol=0.04)  # four Monte Carlo errors
    assert_allclose(found.mean(), totals.sum(), atol=4 * found.std() / np.sqrt(20_000))


def test_a_fit_assesses_itself_new_rows_and_held_out_rows_by_its_design():
    data = table("people")
    data = data[data["high"].notna()]
    res = fitted(data, PEOPLE, "high ~ C(race) + age")
    own = res.calibration(resamples=50)
    again = res.calibration(data)
    assert_allclose(again.indices["AUC"].se, own.indices["AUC"].se, rtol=1e-10)
    assert "survey design (15 strata, 32 units)" in own.notes[0]
    # without the columns of the design there is none
    bare = res.calibration(data.drop(columns=["stratum"]))
    assert not any("survey design" in note for note in bare.notes)
    held_out = res.calibration(resampling="cv", folds=5)
    assert "survey design (15 strata, 32 units)" in held_out.notes[0]
    test = res.compare_auc(fitted(data, PEOPLE, "high ~ age"))
    assert test.difference.se > 0


def test_resamples_of_risks_draw_units_in_their_strata():
    data = table("people")
    data = data[data["high"].notna()].assign(group=lambda d: (d["sex"] == 2).astype(int))
    res = fitted(data, PEOPLE, "high ~ age + group")
    boot = res.risk("group", [0, 1], method="bootstrap", draws=200, rng=1)
    assert_allclose(boot.risks["se"], res.risk("group", [0, 1]).risks["se"], rtol=0.25)


@pytest.mark.study
def test_a_national_survey():
    golden, data = numbers("national"), gevglm.datasets.load("nhanes2")
    design = gevglm.survey("finalwgt", strata="stratid", psu="psuid")
    cases = {
        "whole": fitted(data, design, "diabetes ~ C(race) + C(region) + highbp"),
        "domain": fitted(data, design, "diabetes ~ C(region) + highbp", subset="race == 2"),
    }
    units = data.groupby(["stratid", "psuid"]).ngroup().to_numpy()
    stratum = data["stratid"].to_numpy()
    factors = [np.where(units == g, 0.0, np.where(stratum == stratum[units == g][0], 2.0, 1.0)) for g in range(62)]
    replicates = np.transpose(factors) * data["finalwgt"].to_numpy()[:, None]
    jackknife = gevglm.survey("finalwgt", replicates=replicates, kind="JKn", rscales=0.5)
    cases["JKn"] = fitted(data, jackknife, "diabetes ~ C(race) + C(region) + highbp")
    for name, res in cases.items():
        assert_allclose(res.params, golden[name]["params"], rtol=1e-8)
        same_matrix(res.cov_params(), golden[name]["cov"], 1e-8)
        assert res.degrees.df == golden[name]["df"]


def jackknife_of(data, **options):
    """The design of people by JKn replicates of its weights."""
    units = data.groupby(["stratum", "psu"], sort=False).ngroup().to_numpy()
    stratum = data["stratum"].to_numpy()
    factors, shares = [], []
    for g in range(units.max() + 1):
        own = stratum == stratum[units == g][0]
        size = len(np.unique(units[own]))
        factors.append(np.where(units == g, 0.0, np.where(own, size / (size - 1), 1.0)))
        shares.append((size - 1) / size)
    weights = np.transpose(factors) * data["weight"].to_numpy()[:, None]
    columns = [f"repwt{g}" for g in range(len(factors))]
    data = data.join(pd.DataFrame(weights, columns=columns, index=data.index))
    return data, gevglm.survey("weight", replicates="repwt*", kind="JKn", rscales=shares, **options)


@pytest.mark.parametrize("name", ["JKn", "mse"])
def test_calibration_and_discrimination_are_computed_again_with_each_replicate_of_the_weights(name):
    golden, people = numbers("survey_like")["replicated"][name], table("people")
    data, design = jackknife_of(people[people["high"].notna()].reset_index(drop=True), mse=name == "mse")
    data["eta"] = np.log(data["predicted"] / (1 - data["predicted"]))
    fit = fitted(data, design, "high ~ eta")
    groups = fit.model.design.sample.relative_to(data["weight"].to_numpy())
    found = gevglm.calibration.assess(data["high"], data["predicted"], data["weight"], groups=groups)
    words = ["calibration intercept", "calibration slope", "calibration in the large", "Brier score"]
    words += ["scaled Brier score", "log loss", "observed / expected", "AUC"]
    indices = [found.indices[word] for word in words]
    assert_allclose(indices, golden["value"], rtol=1e-8)
    assert_allclose([each.se for each in indices], np.sqrt(np.diag(golden["cov"])), rtol=1e-7)
    same_matrix(found.cox.cov, np.array(golden["cov"])[:2, :2], 1e-7)
    area = found.indices["AUC"]
    assert (area.upper - area.lower) / 2 == pytest.approx(scipy.stats.t.isf(0.025, golden["df"]) * area.se)
    assert found.tests.keys() == {"calibration in the large", "calibration slope", "intercept 0 and slope 1"}
    assert "replicate weights (JKn)" in found.notes[0]
    # the slope of a fit assessed on its own predictions is 1; its error is that of the fit, whose coefficients are those of one column
    own = fit.calibration()
    assert_allclose(own.cox.slope.se * abs(fit.params["eta"]), fit.bse["eta"], rtol=1e-5)
    assert_allclose(fit.calibration(data).indices["AUC"].interval, own.indices["AUC"].interval, rtol=1e-10)
    test = fit.compare_auc(fitted(data, design, "high ~ age"))
    assert 0.0 < test.difference.se < 0.1 and 0.0 < test.pvalue < 1.0


def test_limits_are_those_of_the_t_distribution_of_the_design():
    golden, people = numbers("survey_like")["domain"], table("people")
    res = fitted(people, PEOPLE, "high ~ age", subset="sex == 2 and high == high")
    assert_allclose(res.conf_int(), golden["glm"], rtol=1e-7)
    used = ((people["sex"] == 2) & people["high"].notna()).to_numpy()
    y, p, weights = (people.loc[used, word].to_numpy(float) for word in ("high", "predicted", "weight"))
    found = gevglm.calibration.assess(y, p, weights, groups=res.model.design.sample, resamples=50, rng=0)
    assert found.cox.slope.interval == pytest.approx(
        found.cox.slope + np.array([-1, 1]) * scipy.stats.t.isf(0.025, golden["df"] - 1) * found.cox.slope.se
    )
    for word in ("Brier score", "AUC", "calibration in the large"):
        index = found.indices[word]
        assert (index.upper - index.lower) / 2 == pytest.approx(scipy.stats.t.isf(0.025, golden["df"]) * index.se)
    slope, error = found.cox.slope, found.cox.slope.se
    assert found.cox.test_slope.pvalue == pytest.approx(2 * scipy.stats.t.sf(abs(slope - 1) / error, golden["df"] - 1))


def test_the_share_of_a_domain_has_the_limits_of_svyciprop():
    golden, people = numbers("survey_like")["domain"], table("people")
    res = fitted(people, PEOPLE, "high ~ 1", subset="sex == 2 and high == high")
    share = res.get_prediction(average=True).summary_frame().iloc[0]
    assert_allclose([share["predicted"], share["se"]], [golden["share"], golden["se"]], rtol=1e-8)
    assert_allclose(share[["ci_lower", "ci_upper"]].astype(float), golden["logit"], rtol=1e-7)
    assert res.degrees.df == golden["df"]


def test_a_report_goes_by_the_design(tmp_path):
    people = table("people")
    res = fitted(people[people["high"].notna()], PEOPLE, "high ~ C(race) + age")
    text = re.sub(r"<[^>]+>", " ", res.report(tmp_path / "report.html").read_text()).replace("&nbsp;", " ")
    area = res.calibration().indices["AUC"]
    limits = rf"AUC {area:.3f} \({area.lower:.3f} to {area.upper:.3f}\)"
    assert re.search(limits, text), "the findings have the limits of the design"
    assert "Intervals and tests are those of the survey design (15 strata, 32 units)" in text
    assert "intervals and tests of calibration do not hold" not in text
    share = np.average(people["high"].dropna(), weights=people.loc[people["high"].notna(), "weight"])
    assert f"by weight, {100 * share:.1f} % had the event where the predicted risks average" in text


def test_cooks_distance_of_weighted_rows_is_in_standard_errors_of_the_design():
    people = table("people")
    res = fitted(people[people["high"].notna()], PEOPLE, "high ~ C(race) + age")
    influence = res.get_influence()
    V = np.linalg.inv(res.cov_params())
    expected = np.einsum("ij,jk,ik->i", influence.d_params, V, influence.d_params) / len(res.params)
    assert_allclose(influence.cooks_distance[0], expected, rtol=1e-6)
    again = people.assign(weight=people["weight"] * 1e-4)
    scaled = fitted(again[again["high"].notna()], PEOPLE, "high ~ C(race) + age")
    assert_allclose(scaled.get_influence().cooks_distance[0], expected, rtol=1e-6)  # whatever weights add up to


def test_terms_show_the_degrees_of_freedom_of_their_denominators():
    res = fitted(table("schools"), SCHOOLS, "met ~ meals + ell")
    golden = numbers("survey_like")["schools"]
    assert (res.anova().table["df_denom"] == golden["F_ddf"]).all()
