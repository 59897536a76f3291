"""Linear algebra: what is done with the rows of a block, dense or sparse, and Cholesky factors that know their rank."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import isfinite
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import csr_array, hstack, issparse, vstack

from gevglm.engine import sparse
from gevglm.engine.blas import one_blas_thread as one_blas_thread

PART = 1e-6  # share of its length below which a column has no part in a combination
COLLINEAR = 1e-13  # share of a column's length, squared, that its predecessors leave unexplained (R's qr uses 1e-14)

Matrix: TypeAlias = NDArray | csr_array

_scratch = threading.local()


def linear_predictor(X: Matrix, params: NDArray) -> NDArray:
    """Return X params with the same bits for equal rows wherever they stand, so that ties between them stay ties.

    BLAS rounds the last rows of a matrix in another way than the rest. It is quicker, and good enough for sums over the rows.
    """
    return X @ params if issparse(X) else np.einsum("ij,j->i", X, params)


def weighted_gram(X: NDArray, weights: NDArray) -> NDArray:
    """Return X' diag(weights) X of one block, through a scratch copy of the block kept by each thread; sparse for sparse rows."""
    if issparse(X):
        return sparse.weighted_gram(X, weights)
    scaled = _scratch_like(X)
    if weights.min(initial=0.0) >= 0.0:
        np.multiply(X, np.sqrt(weights)[:, None], out=scaled)
        return np.dot(scaled.T, scaled)  # dot sees one matrix twice, computes half of it, and frees the other threads
    np.multiply(X, weights[:, None], out=scaled)
    return X.T @ scaled  # dot would copy the block of a larger matrix


def quadratic_forms(X: NDArray, matrix: NDArray) -> NDArray:
    """Return x'Ax for every row x of a block and a symmetric matrix A, through the same scratch copy."""
    if issparse(X):
        return sparse.quadratic_forms(X, matrix)
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


def add(total: Matrix, part: Matrix) -> Matrix:
    """Return total + part; `total` may be reused."""
    if issparse(part):
        return sparse.add(total, part)
    if total.shape != part.shape:
        return total + part
    total += part
    return total


def scale_rows(X: Matrix, factor: NDArray) -> Matrix:
    """Return every row times its factor."""
    return sparse.scale_rows(X, factor) if issparse(X) else factor[:, None] * X


def scale_columns(X: Matrix, factor: NDArray) -> Matrix:
    """Return every column times its factor."""
    return sparse.scale_columns(X, factor) if issparse(X) else X * factor


def hstack_column(X: Matrix, column: NDArray) -> Matrix:
    """Return a matrix with a column more."""
    return hstack([X, csr_array(column[:, None])], format="csr") if issparse(X) else np.column_stack([X, column])


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

    Attributes
    ----------
    positive : bool
        Whether the factor exists.
    smallest_pivot : float
        The smallest :math:`L_{jj}^2`: the share of a column that its predecessors leave unexplained.
    """

    def __init__(self, matrix: NDArray, damping: float = 0.0):
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = 1.0 / np.sqrt(matrix.diagonal())
            if not isfinite(scale.dot(scale)):
                scale[~np.isfinite(scale)] = 1.0
            scaled = matrix * scale[:, None]
            scaled *= scale
        if damping:
            scaled[np.diag_indices_from(scaled)] += damping
        self._scale = scale
        self._factor, info = lapack.dpotrf(scaled, lower=1)
        self.positive = info == 0 and isfinite(self._factor[-1, -1])
        self.smallest_pivot = min(self._factor.diagonal().tolist()) ** 2 if self.positive else 0.0

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of A."""
        return float(2.0 * (np.log(np.diagonal(self._factor)).sum() - np.log(self._scale).sum()))

    def solve(self, rhs: NDArray) -> NDArray:
        """Return the solution of A x = rhs (of the damped A, if damped)."""
        scale = self._scale if rhs.ndim == 1 else self._scale[:, None]
        solution, _ = lapack.dpotrs(self._factor, scale * rhs, lower=1)
        return scale * solution

    def inverse(self) -> NDArray:
        """Return the symmetric inverse of A."""
        lower, _ = lapack.dpotri(self._factor, lower=1)  # above the diagonal it is zero, as the factor is
        inverse = lower + lower.T
        inverse.flat[:: len(inverse) + 1] *= 0.5
        with np.errstate(over="ignore", invalid="ignore"):
            inverse *= self._scale[:, None]
            inverse *= self._scale
        return inverse


class CholeskyOfAll:
    """What :class:`Cholesky` is of one matrix, of each of a stack of them, of shape (b, k, k)."""

    def __init__(self, matrices: NDArray):
        with np.errstate(all="ignore"):
            scale = 1.0 / np.sqrt(diagonals(matrices))
            scale[~np.isfinite(scale)] = 1.0
            scaled = matrices * scale[:, :, None] * scale[:, None, :]
            try:
                factor = np.linalg.cholesky(scaled)
            except np.linalg.LinAlgError:  # of one is of all
                scaled[[not Cholesky(matrix).positive for matrix in scaled]] = np.nan
                factor = np.linalg.cholesky(np.where(np.isnan(scaled), np.eye(matrices.shape[1]), scaled))
        self.positive = np.isfinite(scaled).all(axis=(1, 2))
        self._scale = scale
        self._scaled = np.where(self.positive[:, None, None], scaled, np.eye(matrices.shape[1]))
        self._factor, self._pivots = factor, diagonals(factor)
        self.smallest_pivot = np.where(self.positive, self._pivots.min(axis=1) ** 2, 0.0)

    @property
    def log_determinant(self) -> NDArray:
        """The logarithms of the determinants, of shape (b,)."""
        return 2.0 * (np.log(self._pivots).sum(axis=1) - np.log(self._scale).sum(axis=1))

    def solve(self, rhs: NDArray) -> NDArray:
        """Return the solutions of A x = rhs, of shape (b, k), by substitution forwards and backwards in all at once."""
        L, x = self._factor, self._scale * rhs
        for j in range(x.shape[1]):
            x[:, j] = (x[:, j] - np.einsum("bi,bi->b", L[:, j, :j], x[:, :j])) / L[:, j, j]
        for j in reversed(range(x.shape[1])):
            x[:, j] = (x[:, j] - np.einsum("bi,bi->b", L[:, j + 1 :, j], x[:, j + 1 :])) / L[:, j, j]
        return self._scale * x

    def inverse(self) -> NDArray:
        """Return the symmetric inverses."""
        inverse = np.linalg.inv(self._scaled)
        return 0.5 * (inverse + inverse.transpose(0, 2, 1)) * self._scale[:, :, None] * self._scale[:, None, :]


def diagonals(matrices: NDArray) -> NDArray:
    """Return the diagonal of a matrix, or of each of a stack of them, as a view."""
    return np.einsum("...ii->...i", matrices)


def inverse(matrix: NDArray) -> NDArray:
    """Return the inverse of a square matrix; rows and columns that are zero, as those of columns left out are, stay zero."""
    kept = np.flatnonzero(matrix.any(axis=0) | matrix.any(axis=1))
    if len(kept) == len(matrix):
        return np.linalg.inv(matrix)
    found = np.zeros_like(matrix)
    found[np.ix_(kept, kept)] = np.linalg.inv(matrix[np.ix_(kept, kept)])
    return found


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
