"""The wild bootstrap beside absorbed constants: that of the fit whose constants are columns, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import GevglmWarning, InvalidDataError, InvalidOptionError

KINDS = {
    "logit": {"link": "logit"},
    "firth": {"link": "logit", "bias": "firth"},
    "cloglog": {"link": "cloglog"},
    "canonical": {"xi": 0.3, "bias": "firth"},
}
CONSTANTS = {"unit": "C(unit)", "year": "C(year)", "unit + year": "C(unit) + C(year)"}
pytestmark = pytest.mark.filterwarnings("ignore::gevglm.exceptions.FewEventsWarning")


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(3)
    n = 500
    unit = rng.integers(0, 30, n)
    table = pd.DataFrame({"unit": unit, "clinic": unit % 7, "year": rng.integers(0, 4, n)})
    table["nurse"] = rng.integers(0, 8, n)
    table["x"], table["z"] = rng.standard_normal(n), rng.standard_normal(n) + 0.05 * table["clinic"]
    linear = -1.2 + 0.4 * table["x"] + 0.4 * rng.standard_normal(30)[unit]
    table["y"] = (rng.random(n) < 1.0 / (1.0 + np.exp(-linear))).astype(float)
    return table[table.groupby("unit")["y"].transform("nunique") > 1]


def fitted(formula, table, groups, **options):
    return gevglm.fit(formula, table, cov_type="cluster", cov_kwds={"groups": groups}, tol=1e-10, **options)


@pytest.mark.parametrize("groups", ["clinic", "nurse"], ids=["units in clusters", "units across clusters"])
@pytest.mark.parametrize("absorbed", CONSTANTS)
@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_tests_are_those_of_columns_of_constants(visits, options, absorbed, groups):
    within = fitted(f"y ~ x + z | {absorbed}", visits, groups, **options)
    columns = fitted(f"y ~ x + z + {CONSTANTS[absorbed]}", visits, groups, **options)
    for statistic in ("WL", "KS"):
        words = {"hypotheses": "x = 0, z = 0.1, x - z = 0", "draws": 99, "statistic": statistic, "rng": 1}
        found, expected = within.wild_test(**words), columns.wild_test(**words)
        assert_allclose(found.table, expected.table, rtol=1e-9)
    assert list(within.wild_test(draws=19).table.index) == ["x", "z"]


def test_intervals_are_those_of_columns_of_constants(visits):
    found = fitted("y ~ x + z | unit", visits, "nurse", link="logit").wild_test("x = 0", weights="rademacher")
    columns = fitted("y ~ x + z + C(unit)", visits, "nurse", link="logit").wild_test("x = 0", weights="rademacher")
    assert found.enumerated
    assert_allclose(found.conf_int(), columns.conf_int(), rtol=1e-8)


@pytest.mark.parametrize("absorbed", ["unit", "unit + year"])
@pytest.mark.parametrize("groups", ["clinic", "nurse"])
def test_what_one_cluster_knows_alone_is_refused(visits, absorbed, groups):
    table = visits.assign(treated=visits["x"].where(visits[groups] == 3, 0.0))
    res = fitted(f"y ~ z + treated | {absorbed}", table, groups, link="logit")
    with pytest.raises(InvalidDataError, match=r"no estimate of treated \(cluster 3\)"):
        res.wild_test("treated = 0")
    with pytest.warns(GevglmWarning, match="no estimate of treated"):
        found = res.wild_test(draws=99, rng=1)
    assert np.isnan(found.pvalues["treated"]) and found.pvalues["z"] > 0.0


def test_what_there_is_no_test_of_is_refused(visits):
    res = gevglm.fit("y ~ x | unit", visits, link="logit")
    with pytest.raises(InvalidOptionError, match="wild_test needs clusters"):
        res.wild_test()
    assert res.wild_test(groups="clinic", draws=19).n_clusters == 7
    with pytest.raises(InvalidDataError, match="at least three clusters, but there are 2"):
        res.wild_test(groups=visits["clinic"] % 2)
    with pytest.raises(InvalidOptionError, match="not for bias='median'"):
        gevglm.fit("y ~ x | unit", visits, link="logit", bias="median").wild_test(groups="clinic")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)  # the shape is hardly known
        shaped = gevglm.fit("y ~ x | unit", visits, xi="ml", loss="log")
    with pytest.raises(InvalidOptionError, match="not defined when xi is estimated"):
        shaped.wild_test(groups="clinic")
    with pytest.warns(gevglm.exceptions.CollinearityWarning):
        res = gevglm.fit("y ~ x + clinic | unit", visits, link="logit")
    with pytest.raises(InvalidOptionError, match="about no coefficient that was estimated"):
        res.wild_test("clinic = 0", groups="clinic")
