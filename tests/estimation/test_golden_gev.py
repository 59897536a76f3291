"""GEV fits against independent R programs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.estimation.sums import LossSums
from gevglm.links import GEV, GEVc
from gevglm.losses import Canonical, Log
from tests.support.golden import golden_set, named, numbers, same_matrix

FORMS = {"gev": GEV, "cgev": GEVc}


def engine_of(name):
    data = golden_set(name)
    return MemoryEngine(data.X.to_numpy(), data.outcome)


def fit(name, loss):
    found = Problem(engine_of(name), loss, constant=0).estimate()
    assert found.converged
    assert found.positive_definite
    return found


def reference_value(name, loss, params):
    """The log-likelihood, or the sum of the integral of F from 0 to v minus y v, as the reference defines its loss."""
    data = golden_set(name)
    X, y = data.X.to_numpy(), data.outcome
    total = loss.value(y, X @ params).sum()
    return -total if loss.is_likelihood else total - loss.value(y, 0.0).sum()


each_set = pytest.mark.parametrize("name", ["birthwt", "rare"])
each_form = pytest.mark.parametrize("form", FORMS)
each_shape = pytest.mark.parametrize("xi", numbers("gev")["cases"]["rare"]["log"]["gev"])


@each_set
@each_form
@each_shape
def test_likelihood_fits_equal_the_reference(name, form, xi):
    golden = numbers("gev")["cases"][name]["log"][form][xi]
    loss = Log(FORMS[form](golden["xi"]))
    found = fit(name, loss)
    assert_allclose(found.params, named(golden["coef"]), rtol=1e-8, atol=1e-11)
    assert_allclose(np.sqrt(np.diagonal(found.inverse_information)), named(golden["se_expected"]), rtol=1e-8)
    same_matrix(found.inverse_information, golden["vcov_expected"], 1e-7)
    observed = engine_of(name).reduce(LossSums(loss, found.params)).hessian
    same_matrix(np.linalg.inv(observed), golden["vcov_observed"], 1e-7)
    assert reference_value(name, loss, found.params) == pytest.approx(golden["loglik"], rel=1e-12)


@each_set
@each_form
@each_shape
def test_canonical_fits_equal_the_reference(name, form, xi):
    golden = numbers("gev")["cases"][name]["canonical"][form][xi]
    loss = Canonical(FORMS[form](golden["xi"]))
    found = fit(name, loss)
    assert_allclose(found.params, named(golden["coef"]), rtol=1e-8, atol=1e-11)
    same_matrix(found.inverse_information, golden["vcov_naive"], 1e-7)
    assert reference_value(name, loss, found.params) == pytest.approx(golden["loss"], rel=1e-9)
