"""GEV fits against independent R programs (R 4.2.2; reference files e and f, checked there with optim, glm and nleqslv)."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.links import GEV, GEVc
from gevglm.losses import Canonical, Log

FORMS = {"gev": GEV, "cgev": GEVc}
LOSSES = {"log": Log, "canonical": Canonical}


def design(table):
    return table.iloc[:, 1:].to_numpy(float), table.iloc[:, 0].to_numpy(float)


def fit(table, loss):
    X, y = design(table)
    found = Problem(MemoryEngine(X, y), loss, constant=0).estimate()
    assert found.converged
    assert found.positive_definite
    return found


def reference_value(table, loss, params):
    """The log-likelihood, or the sum of the integral of F from 0 to v minus y v, as the reference defines its loss."""
    X, y = design(table)
    total = loss.value(y, X @ params).sum()
    return -total if loss.is_likelihood else total - loss.value(y, 0.0).sum()


def assert_same_covariance(actual, expected):
    """Entries relative to the standard errors of their row and column."""
    se = np.sqrt(np.diagonal(expected))
    assert_allclose(actual / np.outer(se, se), expected / np.outer(se, se), rtol=0, atol=1e-7)


def values(named):
    return np.array(list(named.values()))


@pytest.mark.parametrize("position", range(28))
def test_the_set_that_travels_with_the_tests(data_path, position):
    golden = json.loads((data_path / "gev_rare.json").read_text())["fits"][position]
    table = pd.read_csv(data_path / "design_rare.csv")
    loss = LOSSES[golden["loss"]](FORMS[golden["form"]](golden["xi"]))
    found = fit(table, loss)
    assert_allclose(found.params, golden["coef"], rtol=1e-8)
    assert_allclose(np.sqrt(np.diagonal(found.inverse_information)), golden["se"], rtol=1e-8)
    assert reference_value(table, loss, found.params) == pytest.approx(golden["value"], rel=1e-9)


@pytest.mark.parametrize("name", ["birthwt", "rare"])
@pytest.mark.parametrize("form", FORMS)
def test_likelihood_fits_equal_the_reference(reference, name, form):
    table = reference(f"design_{name}.csv")
    for golden in reference("e_gev_link.json")["cases"][name]["forms"][form]["fixed_xi"].values():
        loss = Log(FORMS[form](golden["xi"]))
        found = fit(table, loss)
        assert_allclose(found.params, values(golden["coef"]), rtol=1e-8, atol=1e-11)
        assert_same_covariance(found.inverse_information, golden["vcov_expected"])
        assert_same_covariance(np.linalg.inv(found.observed), golden["vcov_observed"])
        assert reference_value(table, loss, found.params) == pytest.approx(golden["loglik"], rel=1e-12)


@pytest.mark.parametrize("name", ["birthwt", "rare"])
def test_canonical_fits_equal_the_reference(reference, name):
    table = reference(f"design_{name}.csv")
    for golden in reference("f_gev_canonical.json")["cases"][name]["fits"].values():
        loss = Canonical(FORMS[golden["form"]](golden["xi"]))
        found = fit(table, loss)
        assert_allclose(found.params, values(golden["coef"]), rtol=1e-8, atol=1e-11)
        assert_same_covariance(found.inverse_information, golden["vcov_naive"])
        assert reference_value(table, loss, found.params) == pytest.approx(golden["loss"], rel=1e-9)
