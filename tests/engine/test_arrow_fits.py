"""Fits with a factor of many levels: every link, loss, bias reduction and covariance by the arrow, equal to those of dense rows, and no matrix of all levels."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import issparse

import gevglm
from gevglm.data import model_matrix
from gevglm.engine import arrow_cholesky, arrow_rows, sparse
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
        monkeypatch.setattr(model_matrix, "SPARSE", 2)
        monkeypatch.setattr(arrow_rows, "LARGE_MATRIX", 8)
        monkeypatch.setattr(arrow_cholesky, "LOW", 1)
        self.patch = monkeypatch

    def refuse_dense(self):
        form = FactoredMatrix.toarray

        def refuse(self):
            assert len(self) < UNITS, "a matrix of all levels was formed"
            return form(self)

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


def is_defined(model, bias):
    if bias in ("flic", "flac"):
        return model == "logit"
    return "canonical" not in model or bias not in ("median", "jeffreys", "logf")


@pytest.mark.parametrize(("model", "bias"), [pair for pair in product(MODELS, BIAS) if is_defined(*pair)])
def test_every_bias_reduction(model, bias, data, small, monkeypatch):
    options = MODELS[model] | ({} if bias is None else {"bias": bias})
    assert_same(*both(data, small, monkeypatch, **options), data)


@pytest.mark.parametrize("model", ["logit", "cloglog, canonical", "GEV"])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_every_covariance(model, covariance, data, small, monkeypatch):
    assert_same(*both(data, small, monkeypatch, **MODELS[model], **COVARIANCES[covariance]), data)


def test_what_results_offer_without_a_matrix_of_all_levels(data, small, monkeypatch):
    found, dense = both(data, small, monkeypatch, link="logit", cov_type="HC1")
    new = data.iloc[::17]

    def same(ask, rtol=1e-8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gevglm.exceptions.GevglmWarning)
            assert_allclose(np.asarray(ask(found), float), np.asarray(ask(dense), float), rtol=rtol, atol=1e-10)

    same(lambda res: res.conf_int())
    same(lambda res: res.pvalues)
    assert found.summary().as_text() == dense.summary().as_text()
    same(lambda res: res.t_test("x = z").sd)
    same(lambda res: res.wald_test("x = 0, z = 0", scalar=True).statistic)
    same(lambda res: res.get_prediction(new).summary_frame())
    same(lambda res: res.get_prediction(new, average=True).summary_frame())
    same(lambda res: res.get_margeff().summary_frame())
    same(lambda res: res.risk("x", at=[0.0, 1.0]).table)
    same(lambda res: res.get_hat_matrix_diag())
    same(lambda res: res.margins("x").table if hasattr(res.margins("x"), "table") else 0.0)
    same(lambda res: res._results.cov_params(r_matrix=np.eye(2, len(res.params))))
    same(lambda res: res._results.cov_params(column=np.array([1, 2])))


def test_infinite_constants_have_no_errors(data, small, monkeypatch):
    """A unit without events has no finite constant: it has no error, and neither have predictions for it."""
    without = data.copy()
    without.loc[without["unit"] == 5, "y"] = 0
    found, dense = both(without, small, monkeypatch, link="logit", cov_type="HC0")
    assert found.infinite_names == dense.infinite_names == ["C(unit)[T.5]"]
    assert_allclose(found.params[["x", "z"]], dense.params[["x", "z"]], rtol=1e-8)
    assert_allclose(found.bse, dense.bse, rtol=1e-6)
    with pytest.warns(gevglm.exceptions.SeparationWarning):
        errors = found.get_prediction(without.iloc[::10]).summary_frame()["mean_se"]
    with pytest.warns(gevglm.exceptions.SeparationWarning):
        expected = dense.get_prediction(without.iloc[::10]).summary_frame()["mean_se"]
    assert np.isnan(errors).any()
    assert_allclose(errors, expected, rtol=1e-6)


def test_profile_intervals_are_by_the_arrow(data, small, monkeypatch):
    found, dense = both(data, small, monkeypatch, link="logit", bias="firth")
    for name in ("x", "z"):
        assert_allclose(found.profile(name).interval, dense.profile(name).interval, rtol=1e-6)


@pytest.mark.parametrize("source", ["pieces", "dask"])
def test_data_in_pieces(source, data, small):
    options = {"link": "logit", "bias": "firth", "cov_type": "cluster", "cov_kwds": {"groups": "unit"}}
    table = [data.iloc[:70], data.iloc[70:75], data.iloc[75:]]
    if source == "dask":
        table = pytest.importorskip("dask.dataframe").from_pandas(data, npartitions=3)
    small.refuse_dense()
    whole, found = fitted(data, **options), fitted(table, **options)
    assert isinstance(found.cov_params_default, FactoredMatrix)
    assert_allclose(found.params, whole.params, rtol=1e-11, atol=1e-11)
    assert_allclose(found.bse, whole.bse, rtol=1e-11)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32 - 1),
    units=st.integers(9, 14),
    years=st.integers(3, 6),
    model=st.sampled_from(sorted(MODELS)),
    bias=st.sampled_from([None, "firth"]),
    covariance=st.sampled_from(sorted(COVARIANCES)),
    weighted=st.booleans(),
    period=st.booleans(),
)
def test_any_small_panel(seed, units, years, model, bias, covariance, weighted, period, small, monkeypatch):
    """Weights, periods, shuffled rows, and options in any combination give the numbers of dense rows."""
    rng = np.random.default_rng(seed)
    data = panel(rng, units, years).sample(frac=1.0, random_state=seed % 1000)
    options = MODELS[model] | COVARIANCES[covariance] | {"maxiter": 300}
    options |= {"bias": "firth"} if bias else {"separation": "ignore"}
    options |= {"freq_weights": "count"} if weighted else {}
    formula = "y ~ x + C(unit)" + (" + year" if period else "")
    with monkeypatch.context() as patched:
        patched.setattr(sparse, "FEWEST_COLUMNS", 10**6)
        dense = fitted(data, formula, **options)
    found = fitted(data, formula, **options)
    assert isinstance(found.cov_params_default, FactoredMatrix)
    if dense.converged and np.abs(dense.params).max() < 20.0:
        assert_allclose(found.params, dense.params, rtol=1e-8, atol=1e-8)
        assert_allclose(found.bse, dense.bse, rtol=1e-7)


def test_the_matrix_is_there_when_it_is_asked_for(data, small, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sparse, "FEWEST_COLUMNS", 10**6)
        dense = fitted(data, link="logit", cov_type="cluster", cov_kwds={"groups": "year"})
    found = fitted(data, link="logit", cov_type="cluster", cov_kwds={"groups": "year"})
    assert_allclose(found.cov_params(), dense.cov_params(), rtol=1e-8, atol=1e-12)
    assert list(found.cov_params().columns) == list(dense.cov_params().columns)


def test_many_levels_of_one_factor_need_little_memory(monkeypatch):
    """Of 600 levels the matrices would take 18 MB: they are refused where they are formed only."""
    data = pd.DataFrame({"unit": np.repeat(np.arange(600), 4), "y": np.tile([0, 1, 0, 1], 600), "half": 0})
    data["x"] = np.random.default_rng(3).standard_normal(len(data))
    data["half"] = np.tile(np.arange(200), 12)
    monkeypatch.setattr("gevglm.data.streamed_design.physical_memory", lambda: 1e6)
    with pytest.raises(gevglm.exceptions.InvalidDataError, match="k x k matrices need about"):
        fitted([data], "y ~ x + C(unit) + C(half)")
    assert isinstance(fitted([data], link="logit", formula="y ~ x + C(unit)").cov_params_default, FactoredMatrix)
