"""A shape estimated beside absorbed constants: that of a fit with dummies, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError, NotDefinedWithinGroups, WeakShapeWarning
from tests.panel.test_against_others import DATA, quietly

ML = {"link": "gev", "loss": "log", "xi": "ml"}


def simulated():
    rng = np.random.default_rng(5)
    unit, constant = np.repeat(np.arange(12), 80), rng.normal(-0.3, 0.5, 12)
    data = pd.DataFrame({"unit": unit, "x": rng.normal(size=960), "z": rng.normal(size=960)})
    data["year"] = np.tile(np.arange(8), 120)
    risk = gevglm.links.GEV(-0.3).at(constant[unit] + 0.7 * data["x"].to_numpy() - 0.4 * data["z"].to_numpy()).cdf
    return data.assign(y=(rng.random(960) < risk).astype(int))


MANY = simulated()


@pytest.mark.parametrize("second", ["", "year"])
def test_dummies(second):
    ours = quietly("y ~ x + z | unit" + (" + year" if second else ""), MANY, **ML)
    dense = quietly("y ~ 0 + x + z + C(unit)" + (" + C(year)" if second else ""), MANY, **ML)
    assert_allclose(ours.xi, dense.xi, atol=1e-8)
    assert_allclose(ours.params, dense.params[["x", "z"]], atol=1e-8)
    assert_allclose(ours.bse, dense.bse[["x", "z"]], rtol=1e-6)  # differences of scores there, second derivatives here
    assert_allclose(ours.xi_bse, dense.xi_bse, rtol=1e-6)
    assert_allclose(ours.xi_conf_int(), dense.xi_conf_int(), atol=1e-7)
    assert_allclose([ours.llf, ours.aic, ours.bic], [dense.llf, dense.aic, dense.bic_llf], rtol=1e-10)
    assert "xi = -0.4" in str(ours.summary())


def test_a_given_shape_is_no_better():
    free = quietly("y ~ x + z | unit", MANY, **ML)
    for xi in (free.xi - 0.05, free.xi + 0.05):
        assert quietly("y ~ x + z | unit", MANY, link="gev", loss="log", xi=xi).llf < free.llf
    fixed = quietly("y ~ x + z | unit", MANY, link="gev", loss="log", xi=free.xi)
    assert_allclose(fixed.params, free.params, atol=1e-7)
    assert fixed.xi_bse is None
    with pytest.raises(NotDefinedWithinGroups, match="not estimated"):
        fixed.xi_conf_int()


def test_few_rows_do_not_determine_a_shape():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gevglm.fit("y ~ x | unit", DATA, **ML)
    assert any(issubclass(one.category, WeakShapeWarning) for one in caught)


@pytest.mark.parametrize(
    "options", [{"bias": "firth"}, {"loss": "canonical"}, {"cov_type": "HC0"}, {"xi": "cv"}, {"xi": "map"}]
)
def test_what_is_refused(options):
    with pytest.raises(IncompatibleOptionsError, match="xi="):
        quietly("y ~ x + z | unit", MANY, **(ML | options))


def test_there_is_no_profile_of_slopes():
    res = quietly("y ~ x + z | unit", MANY, **ML)
    with pytest.raises(InvalidOptionError, match="Wald's intervals"):
        res.conf_int(method="profile")
    assert_allclose(res.anova().table["statistic"], np.asarray(res.tvalues) ** 2, rtol=1e-9)
