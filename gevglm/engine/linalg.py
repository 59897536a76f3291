"""Small dense linear algebra: weighted cross-products of blocks, and Cholesky factors that know their rank."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import issparse
from threadpoolctl import ThreadpoolController

from gevglm.engine import sparse

COLLINEAR = 1e-13  # share of a column's length, squared, that its predecessors leave unexplained (R's qr uses 1e-14)

_scratch = threading.local()


class _OneBlasThread:
    """Limits BLAS from the first that enters to the last that leaves, in whatever thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: AbstractContextManager = nullcontext()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _blas().limit(limits=1)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.__exit__(None, None, None)


_one_blas_thread = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager:
    """Keep BLAS to one thread a call: our own threads work on different blocks, and k x k algebra is too small to share."""
    return _one_blas_thread


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


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
    buffer = getattr(_scratch, "buffer", None)
    if buffer is None or buffer.size < X.size:
        buffer = _scratch.buffer = np.empty(X.size)
    return buffer[: X.size].reshape(X.shape, order="C" if X.flags.c_contiguous else "F")


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
        diagonal = np.diagonal(matrix)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = 1.0 / np.sqrt(diagonal)
            scale[~np.isfinite(scale)] = 1.0
            scaled = matrix * scale[:, None] * scale
        if damping:
            scaled[np.diag_indices_from(scaled)] += damping
        self._scale = scale
        self._factor, info = lapack.dpotrf(scaled, lower=1)
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

    def inverse(self) -> NDArray:
        """Return the symmetric inverse of A."""
        inverse, _ = lapack.dpotri(self._factor, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        with np.errstate(over="ignore", invalid="ignore"):
            return inverse * self._scale[:, None] * self._scale


def dependent_columns(gram: NDArray) -> list[int]:
    """Return the columns that are linear combinations of earlier ones, from the matrix of their cross-products."""
    diagonal = np.diagonal(gram)
    scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 1.0)
    residual = gram * scale[:, None] * scale
    dependent = []
    for j in range(len(residual)):
        pivot = residual[j, j]
        if pivot <= COLLINEAR:
            dependent.append(j)
            continue
        column = residual[j + 1 :, j] / pivot
        residual[j + 1 :, j + 1 :] -= column[:, None] * residual[j, j + 1 :]
    return dependent
