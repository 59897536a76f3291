"""What is done with the rows of a block, be they dense or sparse; products are in :mod:`gevglm.engine.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse, vstack

from gevglm.engine import sparse

Matrix = NDArray | csr_array


def dense(X: Any) -> NDArray:
    """Return a matrix as an array, which has to fit in memory."""
    return X.toarray() if issparse(X) else np.asarray(X)


def added(total: Matrix, part: Matrix) -> Matrix:
    """Return total + part; `total` may be reused."""
    if issparse(part):
        return sparse.added(total, part)
    if total.shape != part.shape:
        return total + part
    total += part
    return total


def scaled(X: Matrix, factor: NDArray) -> Matrix:
    """Return every row times its factor."""
    return sparse.scaled(X, factor) if issparse(X) else factor[:, None] * X


def beside(X: Matrix, column: NDArray) -> Matrix:
    """Return a matrix with a column more."""
    return hstack([X, csr_array(column[:, None])], format="csr") if issparse(X) else np.column_stack([X, column])


def below(X: Matrix, rows: Matrix) -> Matrix:
    """Return a matrix with more rows."""
    return vstack([X, rows], format="csr") if issparse(X) else np.concatenate([X, rows])


def row_products(X: Matrix, other: NDArray) -> NDArray:
    """Return the products of the rows of two matrices, the second of them dense."""
    return X.multiply(other).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", other, X)


def column_squares(X: Matrix, weight: NDArray | None) -> NDArray:
    """Return the weighted sum of squares of each column."""
    if weight is None and not issparse(X):
        return np.einsum("ij,ij->j", X, X)
    return (np.ones(X.shape[0]) if weight is None else weight) @ X**2


def squared_deviations(X: Matrix, mean: NDArray) -> NDArray:
    """Return the sum of squared distances of each column from a number."""
    if issparse(X):
        return (X**2).sum(axis=0) - 2.0 * mean * X.sum(axis=0) + X.shape[0] * mean**2
    return ((X - mean) ** 2).sum(axis=0)


def nonfinite_counts(X: Matrix) -> NDArray:
    """Return how many elements of each column are infinite or not numbers."""
    if issparse(X):
        return np.bincount(X.indices, weights=~np.isfinite(X.data), minlength=X.shape[1])
    return (~np.isfinite(X)).sum(axis=0)


def group_sums(X: Matrix, factor: NDArray, codes: NDArray) -> tuple[NDArray, Matrix]:
    """Return the groups of a block, and the sums of rows times their factors over each."""
    if issparse(X):
        return sparse.group_sums(X, factor, codes)
    order = np.argsort(codes, kind="stable")
    groups, starts = np.unique(codes[order], return_index=True)
    return groups, np.add.reduceat(factor[order, None] * X[order], starts, axis=0)


def with_missing_rows(X: Matrix, complete: NDArray) -> Matrix:
    """Return a matrix with rows that are not numbers where they are not complete; X has the others."""
    if issparse(X):
        return sparse.with_missing_rows(X, complete)
    rows = np.full((len(complete), X.shape[1]), np.nan)
    rows[complete] = X
    return rows
