"""Products of columns, made in the way that is quickest for their number."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gevglm.engine.linalg import THIN, symmetric_products


@settings(max_examples=30, deadline=None)
@given(k=st.integers(1, THIN + 3), rows=st.integers(1, 300), seed=st.integers(0, 1000))
def test_products_of_weighted_columns(k, rows, seed):
    rng = np.random.default_rng(seed)
    columns, weights = rng.normal(size=(k, rows + 5))[:, 3:-2], rng.normal(size=rows)
    products = symmetric_products(weights * columns, columns)
    assert_allclose(products, np.einsum("ir,r,jr->ij", columns, weights, columns), atol=1e-12 * rows)
    if k <= THIN:
        assert_array_equal(products, products.T)
