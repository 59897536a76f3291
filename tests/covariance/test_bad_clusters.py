"""What is wrong with clusters and designs, line by line: each is refused, or said in the summary."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import InvalidDataError
from tests.support.golden import text_of

pytestmark = pytest.mark.filterwarnings("ignore::gevglm.exceptions.FewEventsWarning")


@pytest.fixture(scope="module")
def data():
    rng, n = np.random.default_rng(0), 600
    hospital = np.arange(n) // 50
    columns = {"y": (rng.random(n) < 0.15).astype(int), "x": rng.standard_normal(n), "weight": rng.uniform(1, 9, n)}
    groups = {"hospital": hospital, "ward": np.arange(n) // 10, "row": np.arange(n), "region": hospital // 3}
    return pd.DataFrame(columns | groups | {"country": "here"})


def clustered(data, groups, kind="CR1", **words):
    covariance = {"cov_type": "cluster", "cov_kwds": {"groups": groups, "kind": kind}}
    return gevglm.fit("y ~ x", data, link="logit", **covariance, **words)


def drawn(data, **words):
    return gevglm.fit("y ~ x", data, link="logit", design=gevglm.survey("weight", **words))


@pytest.mark.parametrize("kind", ["CR1", "CR2", "CR3"])
def test_one_cluster(data, kind):
    with pytest.raises(
        InvalidDataError, match=r"all rows are in one cluster \('here'\).* Give the column that tells clusters apart"
    ):
        clustered(data, "country", kind)
    with pytest.raises(InvalidDataError, match=r"all rows are in one cluster \(3\)"):
        clustered(data, "hospital", kind, subset="hospital == 3")
    with pytest.raises(InvalidDataError, match=r"all rows are in one cluster \(3\)"):
        clustered(data.assign(n=(data["hospital"] == 3).astype(int)), "hospital", kind, freq_weights="n")
    with pytest.raises(InvalidDataError, match=r"all rows are in one cluster \('here'\)"):
        clustered(data, ["hospital", "country"])
    with pytest.raises(InvalidDataError, match="needs at least three clusters, but there is 1"):
        gevglm.fit("y ~ x", data, link="logit").wild_test(groups="country")
    with pytest.raises(InvalidDataError, match="all rows are in one unit of one stratum"):
        drawn(data, psu="country")


def test_clusters_within_clusters_change_nothing(data):
    within, outer = clustered(data, ["hospital", "ward"]), clustered(data, "hospital")
    assert_allclose(within.cov_params(), outer.cov_params(), rtol=1e-12)
    assert "(12 clusters and 60 clusters; CR1). Those of one kind lie within those of the other" in text_of(within)
    crossed = data.assign(month=data["row"] % 7)
    assert "lie within" not in text_of(clustered(crossed, ["hospital", "month"]))


def test_units_nested_in_nothing(data):
    """Without strata there is nothing that units could be nested in, and `nest` says nothing."""
    plain, not_nested = drawn(data, psu="hospital"), drawn(data, psu="hospital", nest=False)
    assert_allclose(plain.cov_params(), not_nested.cov_params(), rtol=1e-12)
    assert "(1 stratum, 12 units)" in text_of(plain)
    assert plain.degrees.df == 12 - 1 + 1 - 2


def test_a_unit_in_two_strata(data):
    halves = data.assign(half=data["row"] % 2)
    with pytest.raises(
        InvalidDataError, match=r"unit 0 is in 2 strata \(0, 1\); nest=True takes it as different units"
    ):
        drawn(halves, strata="half", psu="hospital", nest=False)
    assert "(2 strata, 24 units)" in text_of(drawn(halves, strata="half", psu="hospital"))


def test_weights_of_zero(data):
    with pytest.raises(InvalidDataError, match="sampling_weights are zero in all 600 rows"):
        drawn(data.assign(weight=0), psu="hospital")
    alone = data.assign(weight=data["weight"].where(data["hospital"] == 3, 0.0))
    with pytest.raises(InvalidDataError, match=r"all rows with weight are in one unit of the survey.* larger domain"):
        drawn(alone, psu="hospital", strata="region")
    some = data.assign(weight=data["weight"].where(data["x"] > 0, 0.0))
    domain = gevglm.fit(
        "y ~ x", data, link="logit", design=gevglm.survey("weight", psu="hospital", strata="region"), subset="x > 0"
    )
    assert_allclose(drawn(some, psu="hospital", strata="region").cov_params(), domain.cov_params(), rtol=1e-10)


def test_a_population_smaller_than_the_sample(data):
    with pytest.raises(
        InvalidDataError, match=r"stratum 0 has 2 units in the population, but 3 are in the sample \(4 such"
    ):
        drawn(data.assign(size=2), psu="hospital", strata="region", fpc="size")
    with pytest.raises(InvalidDataError, match="fpc must be positive"):
        drawn(data.assign(size=0), psu="hospital", strata="region", fpc="size")


def test_strata_of_one_unit(data):
    lone = data.assign(region=np.where(data["hospital"] == 0, 9, data["region"]))
    with pytest.raises(InvalidDataError, match=r"1 stratum has one unit only \(9\).*lonely='adjust'"):
        drawn(lone, psu="hospital", strata="region")
    with pytest.raises(InvalidDataError, match=r"600 strata have one unit only \(0, 1, 2.* and 592 more\)"):
        drawn(data, strata="row")
    errors = {
        rule: drawn(lone, psu="hospital", strata="region", lonely=rule).bse["x"] for rule in ("certainty", "adjust")
    }
    assert errors["certainty"] < errors["adjust"]


def test_groups_that_are_nearly_the_rows(data):
    text = text_of(clustered(data, "row"))
    assert "Nearly every observation is a cluster of its own (600 clusters, 600 observations)" in text
    nearly = data.assign(pair=np.where(data["row"] < 8, 0, data["row"]))
    assert "Nearly every observation is a cluster of its own (593 clusters" in text_of(clustered(nearly, "pair", "CR2"))


def test_more_coefficients_than_a_design_has_degrees_of_freedom(data):
    design = gevglm.survey("weight", psu="region")
    res = gevglm.fit("y ~ x + C(ward % 9)", data, link="logit", design=design)
    assert "The design has 3 degrees of freedom for 10 coefficients: there is no t test of them" in text_of(res)
    assert res.pvalues.isna().all()
    risk = res.risk("x")
    assert risk.pvalues.isna().all() and risk.table[["ci_lower", "ci_upper"]].isna().all(axis=None)
