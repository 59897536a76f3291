"""Second derivatives of designs with a factor of many levels: arrows, factored by their zeros, with the answers of dense matrices."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse

import gevglm
from gevglm.engine import arrow_matrix, sparse
from gevglm.engine.arrow_cholesky import ArrowCholesky, factor_of, factored, inverted
from gevglm.engine.arrow_matrix import ArrowMatrix, add_to_diagonal, arrow_of, symmetric
from gevglm.engine.arrow_rows import ArrowPart, Levels, add_products
from gevglm.engine.base import Block
from gevglm.engine.cholesky import Cholesky

pytestmark = pytest.mark.filterwarnings("ignore::gevglm.exceptions.FewEventsWarning")

LEVELS = 530


def dense_arrow(n_levels=LEVELS, beside=(0, 7, 530, 532)):
    """A positive definite matrix of which all rows and columns but those `beside` are diagonal."""
    rng = np.random.default_rng(2)
    n = n_levels + len(beside)
    rest, shaft = np.array(beside), np.delete(np.arange(n), beside)
    X = np.zeros((4 * n, n))
    X[np.arange(4 * n), shaft[rng.permutation(4 * n) % n_levels]] = 1.0
    X[:, rest] = rng.standard_normal((4 * n, len(rest))) + 1.0
    return X.T @ X, shaft


def arrow(**options):
    matrix, _ = dense_arrow(**options)
    return symmetric(csr_array(matrix)), matrix


def test_the_diagonal_is_found_wherever_it_is():
    matrix, shaft = dense_arrow()
    found = symmetric(csr_array(matrix))
    assert isinstance(found, ArrowMatrix)
    assert_array_equal(found.shaft, shaft)
    assert_array_equal(found.toarray(), matrix)
    assert_array_equal(found.diagonal(), np.diagonal(matrix))
    assert isinstance(factor_of(found), ArrowCholesky)


def test_products_and_elements_are_those_of_the_dense_matrix():
    found, matrix = arrow()
    rhs = np.random.default_rng(0).standard_normal((len(matrix), 3))
    assert_allclose(found @ rhs, matrix @ rhs, rtol=1e-12, atol=1e-10)
    assert_allclose(rhs[:, 0] @ found, rhs[:, 0] @ matrix, rtol=1e-12, atol=1e-10)
    assert found[7, 9] == matrix[7, 9]
    free, held = np.delete(np.arange(len(matrix)), [3, 7]), [3, 7]
    assert_array_equal(found[7, free], matrix[7, free])
    assert_array_equal(found[free[:, None], held], matrix[free[:, None], held])
    assert_array_equal(found[np.ix_(free, free)].toarray(), matrix[np.ix_(free, free)])
    assert_array_equal((2.0 * matrix), (found * 2.0).toarray())
    values = rhs[:, 0] ** 2
    add_to_diagonal(found, values)
    add_to_diagonal(matrix, values)
    assert_array_equal(found.toarray(), matrix)
    assert found.finite
    add_to_diagonal(found, np.nan)
    assert not found.finite


def test_sums_of_sparse_products_stay_sparse():
    matrix, _ = dense_arrow()
    part = csr_array(matrix)
    total = add_products(add_products(np.zeros(()), part), part)
    assert issparse(total)
    assert_array_equal(total.toarray(), 2.0 * matrix)
    few = csr_array(np.eye(3))
    assert_array_equal(add_products(add_products(np.zeros(()), few), few), 2.0 * np.eye(3))


def test_sums_by_level_are_sparse_products():
    rng = np.random.default_rng(4)
    X = np.zeros((50, 12))
    X[np.arange(40), rng.integers(2, 10, 40)] = rng.standard_normal(40)
    X[:, [0, 1, 10, 11]] = rng.standard_normal((50, 4))
    levels, weights = Levels(np.arange(2, 10), np.array([0, 1, 10, 11])), rng.uniform(-1.0, 2.0, 50)
    first, second = (
        levels.weighted_gram(Block(rows.start, csr_array(X[rows]), weights[rows]), weights[rows])
        for rows in (slice(0, 30), slice(30, 50))
    )
    assert isinstance(first, ArrowPart)
    expected = X.T @ (weights[:, None] * X)
    assert_allclose(add_products(first, second).toarray(), expected, rtol=1e-12, atol=1e-13)
    total = add_products(add_products(np.zeros(()), first), second)
    assert_allclose(total.toarray(), expected, rtol=1e-12, atol=1e-13)
    X[3, 2:4] = 1.0  # a row with two levels: there are no levels
    found = levels.weighted_gram(Block(60, csr_array(X), weights), weights)
    assert issparse(found)
    assert_allclose(add_products(total, found).toarray(), expected + X.T @ (weights[:, None] * X), atol=1e-12)
    assert_allclose(add_products(found, first).toarray(), (found + first.whole().toarray()), atol=1e-12)


@pytest.mark.parametrize("damping", [0.0, 1e-3])
def test_equal_to_the_dense_factor(damping):
    sparse_matrix, matrix = arrow()
    found, dense = factor_of(sparse_matrix, damping), Cholesky(matrix, damping)
    rhs = np.random.default_rng(0).standard_normal((len(matrix), 2))
    assert_allclose(found.solve(rhs), dense.solve(rhs), rtol=1e-9, atol=1e-12)
    assert_allclose(found.solve(rhs[:, 0]), dense.solve(rhs[:, 0]), rtol=1e-9, atol=1e-12)
    assert_allclose(np.asarray(found.inverse()), dense.inverse(), rtol=1e-9, atol=1e-12)
    if not damping:  # which is relative to the diagonal, so that determinants are those of different matrices
        assert_allclose(found.log_determinant, np.linalg.slogdet(matrix)[1], rtol=1e-12)
    assert found.positive


def test_a_level_without_information_is_damped():
    matrix, shaft = dense_arrow()
    matrix[shaft[0]] = matrix[:, shaft[0]] = 0.0
    found = factor_of(symmetric(csr_array(matrix)))
    assert isinstance(found, ArrowCholesky)
    assert not found.positive
    rhs = np.random.default_rng(0).standard_normal(len(matrix))
    damped = factor_of(symmetric(csr_array(matrix)), 1e-3)
    assert damped.positive
    assert_allclose(damped.solve(rhs), Cholesky(matrix, 1e-3).solve(rhs), rtol=1e-9, atol=1e-12)


def test_the_inverse_is_the_same_for_a_time_and_for_good():
    sparse_matrix, matrix = arrow()
    with factored(sparse_matrix) as factor:
        assert factor.positive
    assert_allclose(np.asarray(inverted(sparse_matrix)), np.linalg.inv(matrix), rtol=1e-8, atol=1e-12)


def test_columns_that_the_diagonal_explains_have_no_pivot():
    matrix, shaft = dense_arrow()
    matrix[:, 0] = matrix[:, shaft].sum(axis=1)  # the sum of all indicators
    matrix[0] = matrix[:, 0]
    matrix[0, 0] = matrix[0, shaft].sum()
    factor = factor_of(symmetric(csr_array(matrix)))
    assert isinstance(factor, ArrowCholesky)
    assert not (factor.positive and factor.smallest_pivot > 1e-13)


@pytest.mark.parametrize("spoil", ["dense", "pair"])
def test_other_matrices_are_dense(spoil):
    matrix, shaft = dense_arrow()
    i, j = shaft[:2]
    if spoil == "dense":
        matrix += 1e-9
    else:
        matrix[i, j] = matrix[j, i] = 1e-6
    assert arrow_of(csr_array(matrix)) is None
    assert_array_equal(symmetric(csr_array(matrix)), matrix)


# -- fits ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    n = 6_000
    data = pd.DataFrame({"unit": np.repeat(np.arange(600), 10), "year": np.tile(np.arange(10), 600)})
    data["x"] = rng.standard_normal(n)
    data["centre"] = data["unit"] // 15
    effect = rng.normal(0.0, 0.5, 600)[data["unit"]]
    data["y"] = (rng.random(n) < 1.0 / (1.0 + np.exp(0.3 - 0.5 * data["x"] - effect))).astype(int)
    events = data.groupby("unit")["y"].transform("mean")
    return data[events.between(0.01, 0.99)].reset_index(drop=True)


FITS = {
    "logit": {"link": "logit"},
    "GEV": {"xi": -0.2},
    "log": {"xi": 0.1, "loss": "log"},
    "firth": {"link": "logit", "bias": "firth"},
    "cluster": {"link": "logit", "cov_type": "cluster", "cov_kwds": {"groups": "centre"}},
    "HC3": {"link": "cloglog", "cov_type": "HC3"},
}


@pytest.mark.parametrize("name", FITS)
def test_fits_are_those_with_dense_factors_and_rows(name, data, monkeypatch):
    terms = "y ~ x + C(year) + C(unit)"
    found = gevglm.fit(terms, data, tol=1e-11, **FITS[name])
    monkeypatch.setattr(arrow_matrix, "arrow_of", lambda matrix: None)
    monkeypatch.setattr(sparse, "FEWEST_COLUMNS", 10**6)
    dense = gevglm.fit(terms, data, tol=1e-11, **FITS[name])
    assert not issparse(dense.model.design._X_of_passes)
    assert issparse(found.model.design._X_of_passes)
    assert_allclose(found.params, dense.params, rtol=1e-9, atol=1e-9)
    assert_allclose(found.bse, dense.bse, rtol=1e-9)
    new = data.iloc[:5]
    assert_allclose(found.get_prediction(new).summary_frame(), dense.get_prediction(new).summary_frame(), rtol=1e-8)


def test_slopes_are_those_with_absorbed_units(data):
    found = gevglm.fit("y ~ x + C(unit)", data, link="logit", tol=1e-11)
    absorbed = gevglm.fit("y ~ x | unit", data, link="logit", tol=1e-11)
    assert_allclose(found.params["x"], absorbed.params["x"], rtol=1e-9)
    assert_allclose(found.bse["x"], absorbed.bse["x"], rtol=1e-9)


def test_rows_that_are_not_mostly_zero_stay_dense():
    X = np.random.default_rng(0).standard_normal((50, 120))
    assert sparse.sparse_if_mostly_zero(X) is X
    X[:, 3:] = 0.0
    found = sparse.sparse_if_mostly_zero(X)
    assert isinstance(found, csr_array)
    assert_array_equal(found.toarray(), X)
    few = X[:, :80]
    assert sparse.sparse_if_mostly_zero(few) is few
