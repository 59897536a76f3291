"""Fits with a factor of many levels: every link, loss, bias reduction and covariance by the arrow, equal to those of dense rows, and no matrix of all levels."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import issparse

import gevglm
from gevglm.engine import arrow_cholesky, arrow_matrix, sparse
from gevglm.engine.factored_matrix import FactoredMatrix

MODELS = {
    "logit": {"link": "logit"},
    "probit": {"link": "probit"},
    "cloglog, canonical": {"link": "cloglog", "loss": "canonical"},
    "GEV": {"xi": -0.2, "loss": "log"},
    "GEV, canonical": {"xi": 0.2, "loss": "canonical"},
}
BIAS = [None, "firth", "median", "jeffreys", "correction", "flic", "flac", "logf"]
COVARIANCES = {
    "nonrobust": {"cov_type": "nonrobust"},
    "HC0": {"cov_type": "HC0"},
    "HC1": {"cov_type": "HC1"},
    "HC2": {"cov_type": "HC2"},
    "HC3": {"cov_type": "HC3"},
    "units": {"cov_type": "cluster", "cov_kwds": {"groups": "unit"}},
    "regions": {"cov_type": "cluster", "cov_kwds": {"groups": "region", "kind": "CR1"}},
    "years": {"cov_type": "cluster", "cov_kwds": {"groups": "year", "kind": "CR0"}},
}
UNITS, YEARS = 24, 8


def panel(rng, units=UNITS, years=YEARS):
    """A panel in which every unit has both outcomes."""
    data = pd.DataFrame({"unit": np.repeat(np.arange(units), years), "year": np.tile(np.arange(years), units)})
    data["x"], data["z"] = rng.standard_normal((2, len(data)))
    data["region"] = data["unit"] // 3
    data["count"] = rng.integers(1, 3, len(data))
    data["y"] = (rng.random(len(data)) < 1.0 / (1.0 + np.exp(0.5 - 0.5 * data["x"]))).astype(int)
    data.loc[data["year"] == 0, "y"] = 1
    data.loc[data["year"] == 1, "y"] = 0
    return data


@pytest.fixture(scope="module")
def data():
    return panel(np.random.default_rng(11))


class Small:
    """The sizes from which rows are sparse and matrices arrows, small enough for these data; and whether matrices may be formed."""

    def __init__(self, monkeypatch):
        monkeypatch.setattr(sparse, "FEWEST_COLUMNS", 8)
        monkeypatch.setattr(sparse, "SPARSE", 2)
        monkeypatch.setattr(arrow_matrix, "LARGE_MATRIX", 8)
        monkeypatch.setattr(arrow_cholesky, "LOW", 1)
        self.patch = monkeypatch

    def refuse_dense(self):
        def refuse(self, *args, **kwargs):
            raise AssertionError("a matrix of all levels was formed")

        self.patch.setattr(FactoredMatrix, "toarray", refuse)


@pytest.fixture
def small(monkeypatch):
    return Small(monkeypatch)


def fitted(data, formula="y ~ x + z + C(unit)", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gevglm.exceptions.GevglmWarning)
        return gevglm.fit(formula, data, tol=1e-11, **options)


def assert_same(found, dense, data):
    assert issparse(found.model.design._X_of_passes)
    assert isinstance(found.cov_params_default, FactoredMatrix)
    assert isinstance(dense.cov_params_default, np.ndarray)
    assert_allclose(found.params, dense.params, rtol=1e-9, atol=1e-9)
    assert_allclose(found.bse, dense.bse, rtol=1e-9)


def both(data, small, monkeypatch, **options):
    """Return a fit by the arrow, in which no matrix of all levels is formed, and the one with dense rows."""
    with monkeypatch.context() as patched:
        patched.setattr(sparse, "FEWEST_COLUMNS", 10**6)
        dense = fitted(data, **options)
    small.refuse_dense()
    return fitted(data, **options), dense


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("bias", BIAS)
def test_every_bias_reduction(model, bias, data, small, monkeypatch):
    options = MODELS[model] | ({} if bias is None else {"bias": bias})
    if (bias in ("median", "jeffreys", "logf") and "canonical" in model) or (
        bias in ("flic", "flac") and model != "logit"
    ):
        pytest.skip("not defined")
    assert_same(*both(data, small, monkeypatch, **options), data)


@pytest.mark.parametrize("model", ["logit", "cloglog, canonical", "GEV"])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_every_covariance(model, covariance, data, small, monkeypatch):
    assert_same(*both(data, small, monkeypatch, **MODELS[model], **COVARIANCES[covariance]), data)
