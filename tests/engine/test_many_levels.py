"""Factors with many levels: sparse designs give the answers of dense ones."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse

import gevglm
from gevglm.covariance import HC, Nonrobust
from gevglm.data.sources import find
from gevglm.data.streamed_design import StreamedDesign
from gevglm.engine import linalg
from gevglm.exceptions import CollinearityError, InvalidDataError, InvalidOptionError, MissingRowsWarning
from gevglm.inference.shape_equations import joint_covariance
from gevglm.links import GEV
from gevglm.losses import Canonical, Log

pytestmark = pytest.mark.filterwarnings("ignore:'t.*' is text:gevglm.exceptions.SuspectDataWarning")

LEVELS, ROWS = 120, 9_000
FITS = {
    "logit": {"link": "logit"},
    "canonical": {"xi": 0.3},
    "log": {"xi": -0.2, "loss": "log"},
    "HC3": {"link": "logit", "cov_type": "HC3"},
    "cluster": {"xi": 0.3, "cov_type": "cluster", "cov_kwds": {"groups": "clinic"}},
    "firth": {"link": "logit", "bias": "firth"},
    "canonical firth": {"xi": 0.3, "bias": "mean"},
    "median": {"link": "logit", "bias": "median"},
    "jeffreys": {"link": "logit", "bias": "jeffreys"},
    "correction": {"link": "logit", "bias": "correction"},
    "flic": {"link": "logit", "bias": "flic"},
    "flac": {"link": "logit", "bias": "flac"},
    "ridge": {"link": "logit", "alpha": 1.0, "standardize": True, "var_weights": "importance"},
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.standard_normal(ROWS), "clinic": rng.integers(0, 30, ROWS)})
    place = rng.integers(0, LEVELS, ROWS)
    data["town"] = np.array([f"t{i:03d}" for i in range(LEVELS)])[place]
    data["sex"] = rng.choice(["f", "m"], ROWS)
    data["importance"] = rng.uniform(0.5, 2.0, ROWS)
    effect = rng.normal(0.0, 0.3, LEVELS)[place]
    data["y"] = (rng.random(ROWS) < 1 / (1 + np.exp(0.5 - 0.4 * data["x"] - effect))).astype(int)
    return data


def in_pieces(data):
    return [data.iloc[:4_000], data.iloc[4_000:]]


@pytest.mark.parametrize("name", FITS)
def test_same_answer_as_dense(name, data):
    found = gevglm.fit("y ~ x + town", in_pieces(data), tol=1e-11, **FITS[name])
    dense = gevglm.fit("y ~ x + town", data, tol=1e-11, **FITS[name])
    assert found.model.design.recipe.sparse
    assert list(found.params.index) == list(dense.params.index)
    assert_allclose(found.params, dense.params, rtol=1e-10, atol=1e-10)
    assert_allclose(found.bse, dense.bse, rtol=1e-10)


@pytest.mark.parametrize(
    "right",
    [
        "town*x",
        "0 + C(town, Treatment('t007')) + x",
        "C(town, Treatment):sex + C(clinic)",
        "C(town, Sum) + x",
        "sex:town",
        "town + C(clinic):sex + center(x)",
    ],
)
def test_designs(right, data):
    found = gevglm.BinaryGLM.from_formula(f"y ~ {right}", in_pieces(data), link="logit")
    dense = gevglm.BinaryGLM.from_formula(f"y ~ {right}", data, link="logit")
    assert found.exog_names == dense.exog_names
    rows = [linalg.dense(found.design.recipe.matrix(part)) for part in in_pieces(data)]
    assert_allclose(np.concatenate(rows), dense.exog, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("loss", [Log(GEV(-0.2)), Canonical(GEV(-0.2))], ids=["log", "canonical"])
@pytest.mark.parametrize("covariance", [Nonrobust(), HC(0)], ids=["nonrobust", "HC0"])
def test_covariances_with_an_estimated_shape(loss, covariance, data):
    models = [gevglm.BinaryGLM.from_formula("y ~ x + town", rows, link="logit") for rows in (in_pieces(data), data)]
    params = np.random.default_rng(0).normal(0.0, 0.1, len(models[0].exog_names))
    found, dense = (joint_covariance(model.engine(), loss, params, covariance, ROWS) for model in models)
    assert models[0].design.recipe.sparse
    assert_allclose(found, dense, rtol=1e-8, atol=1e-9)  # differences in the shape


def test_predictions(data, tmp_path):
    found, dense = (gevglm.fit("y ~ x + town", rows, link="logit") for rows in (in_pieces(data), data))
    new = data.head(200).set_index(np.arange(200) * 2)
    new.iloc[3, new.columns.get_loc("x")] = np.nan
    pd.testing.assert_series_equal(found.predict(new), dense.predict(new), rtol=1e-10)
    assert_allclose(found.get_prediction(new.tail(9)).se, dense.get_prediction(new.tail(9)).se, rtol=1e-8)
    found.predict(new, to=tmp_path / "scored.parquet")
    assert_allclose(pd.read_parquet(tmp_path / "scored.parquet")["prediction"], dense.predict(new), rtol=1e-10)
    with pytest.raises(InvalidDataError, match="levels in the new data"):
        found.predict(new.assign(town="elsewhere"))


def test_a_level_without_rows_and_missing_levels(data):
    data = data.assign(town=data["town"].where(data.index % 100 > 0))
    with pytest.warns(MissingRowsWarning):
        found = gevglm.fit("y ~ town", in_pieces(data), link="logit")
    assert_allclose(found.params, gevglm.fit("y ~ town", data.dropna(), link="logit").params, rtol=1e-7)


def test_collinear_and_nonfinite_columns_are_named(data):
    twin = data.assign(twin="b" + data["town"].str[1:])
    with pytest.raises(CollinearityError, match=r"twin\[T.b001\]"):
        gevglm.fit("y ~ town + twin", in_pieces(twin), link="logit", collinear="raise")
    with pytest.raises(InvalidDataError, match=r"x \(1 rows\)"):
        gevglm.fit("y ~ x + town", in_pieces(data.assign(x=data["x"].where(data.index != 5, np.inf))), link="logit")


def test_too_many_columns_are_refused(data, monkeypatch):
    monkeypatch.setattr("gevglm.data.streamed_design.physical_memory", lambda: 1e5)
    with pytest.raises(InvalidDataError, match="121 columns, whose k x k matrices need about"):
        gevglm.fit("y ~ x + town", in_pieces(data), link="logit")


class TestWideTables:
    """Tables in memory, whose dense design would not fit."""

    @pytest.fixture
    def small_memory(self, monkeypatch):
        monkeypatch.setattr(find, "WIDE_BYTES", 4 << 20)

    def test_same_answer(self, data, small_memory):
        found = gevglm.fit("y ~ x + town", data, link="logit", cov_type="HC1", tol=1e-11)
        assert isinstance(found.model.design, StreamedDesign)
        assert issparse(next(iter(found.model.engine()._blocks._answers))[1][0].X)
        dense = gevglm.fit("y ~ x + town", in_pieces(data), link="logit", cov_type="HC1", tol=1e-11)
        assert_allclose(found.params, dense.params, rtol=1e-10)
        assert found.auc == pytest.approx(dense.auc, rel=1e-12)
        pd.testing.assert_series_equal(found.predict(data), pd.Series(dense.predict(data)))

    @pytest.mark.parametrize("formula, pieces", [("y ~ x + sex", False), ("y ~ C(clinic):sex", True), ("y ~ x", False)])
    def test_only_where_there_are_many_columns(self, formula, pieces, data, small_memory):
        design = gevglm.BinaryGLM.from_formula(formula, data, link="logit").design
        assert isinstance(design, StreamedDesign) == pieces

    def test_arrays_are_refused_with_what_to_do(self, data, small_memory):
        with pytest.raises(InvalidOptionError, match="offset as the name of a column"):
            gevglm.fit("y ~ x + town", data, link="logit", offset=np.zeros(ROWS))

    def test_not_for_patsy(self, data, small_memory):
        assert find.wide_source("y ~ x + town", data, "patsy") is None


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 12))
def test_algebra_of_sparse_rows(seed, n, k):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, k)) < 0.4, rng.standard_normal((n, k)), 0.0)
    sparse, w, b = csr_array(X), rng.standard_normal(n), rng.standard_normal(k)
    codes, A = rng.integers(0, 4, n), rng.standard_normal((k, k))
    A = A + A.T
    dense = linalg.dense
    for weights in (w, w**2):
        assert_allclose(dense(linalg.weighted_gram(sparse, weights)), X.T @ (weights[:, None] * X), atol=1e-12)
    assert_allclose(linalg.quadratic_forms(sparse, A), np.einsum("ij,jk,ik->i", X, A, X), atol=1e-11)
    assert_allclose(dense(linalg.scale_rows(sparse, w)), w[:, None] * X)
    assert_array_equal(dense(linalg.hstack_columns(sparse, w)), linalg.hstack_columns(X, w))
    assert_array_equal(dense(linalg.vstack_rows(sparse, sparse)), linalg.vstack_rows(X, X))
    assert_allclose(linalg.row_products(sparse, X + 1), linalg.row_products(X, X + 1), atol=1e-12)
    for weight in (None, w):
        assert_allclose(linalg.column_squares(sparse, weight), linalg.column_squares(X, weight), atol=1e-12)
    assert_allclose(linalg.squared_deviations(sparse, b, w), linalg.squared_deviations(X, b, w), atol=1e-11)
    assert_array_equal(linalg.nonfinite_counts(sparse), np.zeros(k))
    for (groups, sums), (known, expected) in [(linalg.group_sums(sparse, w, codes), linalg.group_sums(X, w, codes))]:
        assert_array_equal(groups, known)
        assert_allclose(dense(sums), expected, atol=1e-12)
    total = np.ones((n, k))
    assert_allclose(linalg.add(linalg.add(total, sparse), X), 1.0 + 2.0 * X)
    assert_allclose(dense(linalg.add(sparse, sparse)), 2.0 * X)
    assert_allclose(linalg.add(np.zeros(()), sparse), X)
    complete = rng.random(n + 3) < 2.0
    complete[rng.permutation(n + 3)[:3]] = False
    assert_array_equal(dense(linalg.with_missing_rows(sparse, complete))[complete], X)
    assert np.isnan(linalg.with_missing_rows(sparse, complete) @ b)[~complete].all()
