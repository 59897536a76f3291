"""Linear algebra: what is done with the rows of a block, dense or sparse, and which columns are combinations of others."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse, vstack

from gevglm.engine import sparse
from gevglm.engine.blas import one_blas_thread as one_blas_thread
from gevglm.engine.cholesky import COLLINEAR
from gevglm.engine.factored_matrix import FactoredMatrix

PART = 1e-6  # share of its length below which a column has no part in a combination

MOST_SCRATCH = 1 << 22  # numbers of a scratch copy
THIN = 10  # columns up to which their products are made column by column
ROWS_OF_A_GROUP = 8  # in the mean, from which sums over groups are made group by group

Matrix: TypeAlias = NDArray | csr_array

_scratch = threading.local()


def linear_predictor(X: Matrix, params: NDArray) -> NDArray:
    """Return X params with the same bits for equal rows wherever they stand, so that ties between them stay ties.

    BLAS rounds the last rows of a matrix in another way than the rest. It is quicker, and good enough for sums over the rows.
    """
    return X @ params if issparse(X) else np.einsum("ij,j->i", X, params)


def weighted_gram(X: Matrix, weights: NDArray) -> Matrix:
    """Return X' diag(weights) X of one block, through a scratch copy of the block kept by each thread; sparse for sparse rows."""
    if not isinstance(X, np.ndarray):
        return sparse.weighted_gram(X, weights)
    scaled = _scratch_like(X)
    if np.minimum.reduce(weights, initial=0.0) >= 0.0:
        np.multiply(X, np.sqrt(weights)[:, None], out=scaled)
        return np.dot(scaled.T, scaled)  # dot sees one matrix twice, computes half of it, and frees the other threads
    np.multiply(X, weights[:, None], out=scaled)
    return X.T @ scaled  # dot would copy the block of a larger matrix


def symmetric_products(weighted: NDArray, columns: NDArray) -> NDArray:
    """Return the products of a few long columns with themselves times weights, which are symmetric; both of shape (k, rows).

    BLAS takes longer for the product of two such matrices than for those of a matrix and each of the columns.
    """
    if len(columns) > THIN:
        return weighted @ columns.T
    products = np.empty((len(columns), len(columns)))
    for j, column in enumerate(weighted):
        products[j, j:] = products[j:, j] = columns[j:] @ column
    return products


def quadratic_forms(X: Matrix, matrix: Any) -> NDArray:
    """Return x'Ax for every row x of a block and a symmetric matrix A, through the same scratch copy; of more rows in parts."""
    if isinstance(matrix, FactoredMatrix):
        return matrix.quadratic_forms(X)
    if issparse(X):
        return sparse.quadratic_forms(X, matrix)
    if X.size > MOST_SCRATCH and len(X) > 1:
        rows = max(MOST_SCRATCH // X.shape[1], 1)
        parts = [quadratic_forms(X[start : start + rows], matrix) for start in range(0, len(X), rows)]
        return np.concatenate(parts)
    scratch = _scratch_like(X)
    if scratch.flags.c_contiguous:
        np.matmul(X, matrix, out=scratch)
    else:
        np.matmul(matrix, X.T, out=scratch.T)
    np.multiply(scratch, X, out=scratch)
    return np.dot(scratch, np.ones(X.shape[1]))


def _scratch_like(X: NDArray) -> NDArray:
    order: Literal["C", "F"] = "C" if X.flags.c_contiguous else "F"
    last = getattr(_scratch, "last", None)
    if last is not None and last[0] == (X.shape, order):
        return last[1]
    buffer = getattr(_scratch, "buffer", None)
    if buffer is None or buffer.size < X.size:
        buffer = _scratch.buffer = np.empty(X.size)
    scratch = buffer[: X.size].reshape(X.shape, order=order)
    _scratch.last = (X.shape, order), scratch
    return scratch


def dense(X: Any) -> NDArray:
    """Return a matrix as an array, which has to fit in memory."""
    return X.toarray() if issparse(X) else np.asarray(X)


def rows_of(X: Any) -> Matrix:
    """Return a matrix as rows that blocks can be cut from: an array, or compressed rows of a sparse matrix."""
    return csr_array(X) if issparse(X) else np.asarray(X)


def with_column(X: Matrix, place: int, column: NDArray) -> Matrix:
    """Return a matrix with other numbers in one column."""
    if issparse(X):
        return sparse.with_column(X, place, column)
    changed = X.copy()
    changed[:, place] = column
    return changed


def add(total: Matrix, part: Matrix) -> Matrix:
    """Return total + part; `total` may be reused."""
    if issparse(part):
        return sparse.add(total, part)
    if total.shape != part.shape:
        return total + part
    total += part
    return total


def add_rows(total: Matrix, n_rows: int, places: NDArray, rows: Matrix) -> Matrix:
    """Return a matrix of some number of rows to which rows at given places, each once, were added; a total without shape is zero."""
    if issparse(rows):
        return sparse.add_rows(total, n_rows, places, rows)
    total = np.zeros((n_rows, rows.shape[1])) if total.ndim == 0 else total
    total[places] += rows
    return total


def scale_rows(X: Matrix, factor: NDArray) -> Matrix:
    """Return every row times its factor."""
    return sparse.scale_rows(X, factor) if issparse(X) else factor[:, None] * X


def scale_columns(X: Matrix, factor: NDArray) -> Matrix:
    """Return every column times its factor."""
    return sparse.scale_columns(X, factor) if issparse(X) else X * factor


def hstack_columns(X: Matrix, columns: Matrix) -> Matrix:
    """Return a matrix with one or more columns added: a vector, or a matrix of its kind or dense."""
    if not issparse(X):
        return np.column_stack([X, dense(columns)])
    return hstack([X, columns if issparse(columns) else csr_array(columns.reshape(X.shape[0], -1))], format="csr")


def vstack_rows(*parts: Matrix) -> Matrix:
    """Return matrices below each other; sparse for sparse rows."""
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def row_products(X: Matrix, other: NDArray) -> NDArray:
    """Return the products of the rows of two matrices, the second of them dense."""
    return sparse.row_products(X, other) if issparse(X) else np.einsum("ij,ij->i", other, X)


def column_squares(X: Matrix, weight: NDArray | None) -> NDArray:
    """Return the weighted sum of squares of each column."""
    if weight is None and isinstance(X, np.ndarray):
        return np.einsum("ij,ij->j", X, X)
    return (np.ones(X.shape[0]) if weight is None else weight) @ X**2


def squared_deviations(X: Matrix, mean: NDArray, weights: NDArray) -> NDArray:
    """Return the weighted sum of squared distances of each column from a number."""
    if issparse(X):
        return weights @ X**2 - 2.0 * mean * (weights @ X) + weights.sum() * mean**2
    return weights @ (X - mean) ** 2


def nonfinite_counts(X: Matrix) -> NDArray:
    """Return how many elements of each column are infinite or not numbers."""
    if issparse(X):
        return sparse.nonfinite_counts(X)
    return (~np.isfinite(X)).sum(axis=0)


def finite_rows(X: Matrix) -> NDArray:
    """Return which rows have finite numbers only."""
    if issparse(X):
        return ~sparse.rows_with(X, ~np.isfinite(X.data))
    return np.isfinite(X).all(axis=1)


def group_sums(X: Matrix, factor: NDArray, codes: NDArray) -> tuple[NDArray, Matrix]:
    """Return the groups of a block, and the sums of rows times their factors over each."""
    if issparse(X):
        return sparse.group_sums(X, factor, codes)
    order, groups, starts = runs(codes)
    if order is not None:
        X, factor = X[order], factor[order]
    if len(groups) * ROWS_OF_A_GROUP > len(codes):
        return groups, np.add.reduceat(factor[:, None] * X, starts, axis=0)
    return groups, np.array([factor[rows] @ X[rows] for rows in slices(starts, len(codes))])


def runs(codes: NDArray) -> tuple[NDArray | None, NDArray, NDArray]:
    """Return the order that puts rows of a group one after the other (None if they are), the groups, and where each starts."""
    order = None if (codes[1:] >= codes[:-1]).all() else np.argsort(codes, kind="stable")
    codes = codes if order is None else codes[order]
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[: len(codes)])
    return order, codes[starts], starts


def slices(starts: NDArray, n: int) -> list[slice]:
    """Return the rows of each group, of n rows one after the other."""
    return [slice(a, b) for a, b in zip(starts.tolist(), [*starts[1:].tolist(), n], strict=True)]


def with_missing_rows(X: Matrix, complete: NDArray) -> Matrix:
    """Return a matrix with rows that are not numbers where they are not complete; X has the others."""
    if issparse(X):
        return sparse.with_missing_rows(X, complete)
    rows = np.full((len(complete), X.shape[1]), np.nan)
    rows[complete] = X
    return rows


def dependent_columns(gram: NDArray) -> list[int]:
    """Return the columns that are linear combinations of earlier ones, from the matrix of their cross-products."""
    columns = root(gram)
    return np.setdiff1d(np.arange(len(gram)), independent_columns(columns)).tolist() if len(columns) else []


def root(gram: NDArray) -> NDArray:
    """Return a matrix with these cross-products, up to the units of its columns; none of its rows where they are not finite."""
    diagonal = np.diagonal(gram)
    scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    scaled = gram * scale[:, None] * scale
    if not np.isfinite(scaled).all():
        return scaled[:0]
    values, vectors = np.linalg.eigh(scaled)
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * (scale > 0)


def triangle(X: NDArray) -> NDArray:
    """Return the triangle of the QR decomposition, which has the cross-products of X, with no more rows than columns."""
    return np.asarray(np.linalg.qr(X, mode="r")) if len(X) else X


def combinations(columns: NDArray, dependent: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return the independent columns that each dependent one is a combination of."""
    length = np.linalg.norm(columns, axis=0)
    scaled = columns / np.where(length > 0, length, 1.0)
    free = np.delete(np.arange(columns.shape[1]), dependent)
    shares = np.linalg.lstsq(scaled[:, free], scaled[:, dependent], rcond=None)[0]
    return {j: tuple(free[np.abs(share) > PART].tolist()) for j, share in zip(dependent, shares.T, strict=True)}


def independent_columns(columns: NDArray) -> list[int]:
    """Return the columns that are not linear combinations of earlier ones, by Gram-Schmidt."""
    rows, k = columns.shape
    kept: list[int] = []
    spanned: NDArray = np.zeros((rows, min(rows, k)), order="F")
    for j, column in enumerate(columns.T):
        span = spanned[:, : len(kept)]
        rest = column - span @ (span.T @ column)
        rest -= span @ (span.T @ rest)  # once more, against rounding
        length = np.linalg.norm(rest)
        if length**2 > COLLINEAR * (column @ column) and len(kept) < rows:
            spanned[:, len(kept)] = rest / length
            kept.append(j)
    return kept
