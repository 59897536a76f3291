"""Linear algebra: what is done with the rows of a block, dense or sparse, and Cholesky factors that know their rank."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import csr_array, hstack, issparse, vstack

from gevglm.engine import sparse
from gevglm.engine.blas import one_blas_thread as one_blas_thread

COLLINEAR = 1e-13  # share of a column's length, squared, that its predecessors leave unexplained (R's qr uses 1e-14)

LARGE_MATRIX = 512  # rows of a symmetric matrix from which copies of it are avoided
BLOCK = 128  # of its rows that are worked on at a time
MOST_SCRATCH = 1 << 22  # numbers of a scratch copy

Matrix: TypeAlias = NDArray | csr_array

_scratch = threading.local()


def linear_predictor(X: Matrix, params: NDArray) -> NDArray:
    """Return X params with the same bits for equal rows wherever they stand, so that ties between them stay ties.

    BLAS rounds the last rows of a matrix in another way than the rest. It is quicker, and good enough for sums over the rows.
    """
    return X @ params if issparse(X) else np.einsum("ij,j->i", X, params)


def weighted_gram(X: Matrix, weights: NDArray) -> Matrix:
    """Return X' diag(weights) X of one block, through a scratch copy of the block kept by each thread; sparse for sparse rows."""
    if issparse(X):
        return sparse.weighted_gram(X, weights)
    scaled = _scratch_like(X)
    if weights.min(initial=0.0) >= 0.0:
        np.multiply(X, np.sqrt(weights)[:, None], out=scaled)
        return np.dot(scaled.T, scaled)  # dot sees one matrix twice, computes half of it, and frees the other threads
    np.multiply(X, weights[:, None], out=scaled)
    return X.T @ scaled  # dot would copy the block of a larger matrix


def quadratic_forms(X: Matrix, matrix: NDArray) -> NDArray:
    """Return x'Ax for every row x of a block and a symmetric matrix A, through the same scratch copy; of more rows in parts."""
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
    buffer = getattr(_scratch, "buffer", None)
    if buffer is None or buffer.size < X.size:
        buffer = _scratch.buffer = np.empty(X.size)
    return buffer[: X.size].reshape(X.shape, order="C" if X.flags.c_contiguous else "F")


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


def vstack_rows(X: Matrix, rows: Matrix) -> Matrix:
    """Return a matrix with more rows."""
    return vstack([X, rows], format="csr") if issparse(X) else np.concatenate([X, rows])


def row_products(X: Matrix, other: NDArray) -> NDArray:
    """Return the products of the rows of two matrices, the second of them dense."""
    return sparse.row_products(X, other) if issparse(X) else np.einsum("ij,ij->i", other, X)


def column_squares(X: Matrix, weight: NDArray | None) -> NDArray:
    """Return the weighted sum of squares of each column."""
    if weight is None and not issparse(X):
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


class Cholesky:
    r"""Cholesky factor of a symmetric matrix scaled to unit diagonal, :math:`D A D + \delta I = L L'`.

    Parameters
    ----------
    matrix : ndarray of shape (k, k)
    damping : float, optional
        The Levenberg term :math:`\delta`, relative to the unit diagonal.
    in_place : bool
        Whether the factor takes the place of the upper triangle of the matrix, which is in C order; see :func:`factored`.

    Attributes
    ----------
    positive : bool
        Whether the factor exists.
    smallest_pivot : float
        The smallest :math:`L_{jj}^2`: the share of a column that its predecessors leave unexplained.
    """

    def __init__(self, matrix: NDArray, damping: float = 0.0, *, in_place: bool = False):
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = 1.0 / np.sqrt(np.diagonal(matrix))
            scale[~np.isfinite(scale)] = 1.0
            scaled = matrix if in_place else np.empty(matrix.shape)
            for rows in _blocks(len(matrix)):  # the upper triangle, and what else is in the blocks on the diagonal
                np.multiply(matrix[rows, rows.start :], scale[rows.start :], out=scaled[rows, rows.start :])
                scaled[rows, rows.start :] *= scale[rows, None]
        if damping:
            scaled[np.diag_indices_from(scaled)] += damping
        self._scale = scale
        # the upper triangle in C order is the lower one in Fortran's; the other one is left as it is
        self._factor, info = lapack.dpotrf(scaled.T, lower=1, clean=0, overwrite_a=1)
        self.positive = info == 0 and bool(np.isfinite(self._factor[-1, -1]))
        pivots = np.diagonal(self._factor)
        self.smallest_pivot = float(pivots.min() ** 2) if self.positive else 0.0

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of A."""
        return float(2.0 * (np.log(np.diagonal(self._factor)).sum() - np.log(self._scale).sum()))

    def solve(self, rhs: NDArray) -> NDArray:
        """Return the solution of A x = rhs (of the damped A, if damped)."""
        scale = self._scale if rhs.ndim == 1 else self._scale[:, None]
        solution, _ = lapack.dpotrs(self._factor, scale * rhs, lower=1)
        return scale * solution

    def inverse(self, *, in_place: bool = False) -> NDArray:
        """Return the symmetric inverse of A; `in_place`, in the memory of the factor, which is then gone."""
        inverse, _ = lapack.dpotri(self._factor, lower=1, overwrite_c=in_place)
        inverse = _mirrored(inverse.T)
        with np.errstate(over="ignore", invalid="ignore"):
            inverse *= self._scale[:, None]
            inverse *= self._scale
        return inverse


@contextmanager
def factored(matrix: NDArray, damping: float = 0.0) -> Iterator[Cholesky]:
    """Provide the Cholesky factor of a matrix for some time; that of a large one without a copy: the matrix is itself again at the end."""
    if len(matrix) < LARGE_MATRIX or not matrix.flags.c_contiguous:
        yield Cholesky(matrix, damping)
        return
    diagonal = [matrix[rows, rows].copy() for rows in _blocks(len(matrix))]
    try:
        yield Cholesky(matrix, damping, in_place=True)
    finally:
        for rows, block in zip(_blocks(len(matrix)), diagonal, strict=True):
            matrix[rows, rows] = block
            matrix[rows, rows.stop :] = matrix[rows.stop :, rows].T


def inverted(matrix: NDArray) -> NDArray:
    """Return the inverse of a positive definite matrix, which is gone: the inverse may take its place."""
    in_place = len(matrix) >= LARGE_MATRIX and matrix.flags.c_contiguous
    return Cholesky(matrix, in_place=in_place).inverse(in_place=True)


def sandwich(bread: NDArray, meat: NDArray) -> NDArray:
    """Return bread times meat times bread; a large meat is gone: the product takes its place."""
    if len(meat) < LARGE_MATRIX:
        return bread @ meat @ bread
    for columns in _blocks(len(meat)):
        meat[:, columns] = bread @ meat[:, columns]
    for rows in _blocks(len(meat)):
        meat[rows] = meat[rows] @ bread
    return meat


def symmetrised(matrix: NDArray) -> NDArray:
    """Return the mean of a matrix and its transpose; a large one is changed."""
    if len(matrix) < LARGE_MATRIX:
        return 0.5 * (matrix + matrix.T)
    for rows in _blocks(len(matrix)):
        part = matrix[rows, rows.start :] + matrix[rows.start :, rows].T
        matrix[rows, rows.start :] = 0.5 * part
    return _mirrored(matrix)


def _mirrored(matrix: NDArray) -> NDArray:
    """Copy the upper triangle of a matrix to the lower one, and return it."""
    for rows in _blocks(len(matrix)):
        block = np.triu(matrix[rows, rows])
        matrix[rows, rows] = block + np.triu(block, 1).T
        matrix[rows.stop :, rows] = matrix[rows, rows.stop :].T
    return matrix


def _blocks(size: int) -> list[slice]:
    return [slice(start, min(start + BLOCK, size)) for start in range(0, size, BLOCK)]


def dependent_columns(gram: NDArray) -> list[int]:
    """Return the columns that are linear combinations of earlier ones, from the matrix of their cross-products."""
    diagonal = np.diagonal(gram)
    scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    scaled = gram * scale[:, None] * scale
    if not np.isfinite(scaled).all():
        return []
    values, vectors = np.linalg.eigh(scaled)
    columns = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    independent = independent_columns(columns * (scale > 0))
    return np.setdiff1d(np.arange(len(gram)), independent).tolist()


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
