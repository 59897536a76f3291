r"""Symmetric matrices of many rows that are never formed: a diagonal, squares of sparse rows, and a term of low rank.

The inverse of an arrow is :math:`\mathrm{diag}(D^{-1}, 0) + N S^{-1} N'` with :math:`N = \begin{pmatrix} -D^{-1} B' \\ I \end{pmatrix}`, and so is, with squares,
every sandwich of it: with the bread :math:`F + N Z N'`, F diagonal, and a meat M of which :math:`F M F = \mathrm{diag}(t) + \sum_w w R_w' R_w` is known,

.. math:: F M F + P Z N' + N Z P' + N Z N' M N Z N', \qquad P = F M N .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from gevglm.engine import cholesky

ROWS = 4096  # whose products are looked at together


@dataclass(frozen=True)
class FactoredMatrix:
    r"""The symmetric matrix :math:`\mathrm{diag}(t) + \sum_w w R_w' R_w + Y Z Y'`.

    It has the shape, the diagonal, the products and the quadratic forms of a matrix; ``np.asarray`` forms it.
    """

    spread: NDArray  # t, of shape (k,)
    tall: NDArray  # Y, of shape (k, q)
    inner: NDArray  # Z, of shape (q, q)
    roots: tuple[tuple[float, csr_array], ...] = ()  # w and R, of shape (m, k)
    __array_ufunc__ = None

    def __len__(self) -> int:
        return len(self.spread)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return len(self), len(self)

    @property
    def T(self) -> FactoredMatrix:
        """The matrix itself."""
        return self

    def diagonal(self) -> NDArray:
        """Return the diagonal."""
        found = self.spread + ((self.tall @ self.inner) * self.tall).sum(axis=1)
        for weight, root in self.roots:
            found += weight * root.power(2).sum(axis=0)
        return found

    def __matmul__(self, other: NDArray) -> NDArray:
        spread = self.spread if other.ndim == 1 else self.spread[:, None]
        found = spread * other + self.tall @ (self.inner @ (self.tall.T @ other))
        for weight, root in self.roots:
            found += weight * (root.T @ (root @ other))
        return found

    def __rmatmul__(self, other: NDArray) -> NDArray:
        return (self @ other.T).T

    def __mul__(self, factor: float) -> FactoredMatrix:
        roots = tuple((factor * weight, root) for weight, root in self.roots)
        return FactoredMatrix(factor * self.spread, self.tall, factor * self.inner, roots)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> FactoredMatrix:
        return self * (1.0 / divisor)

    def quadratic_forms(self, X: Any) -> NDArray:
        """Return x'Ax for every row x of a dense or sparse matrix."""
        if X.shape[0] > ROWS:
            parts = [self.quadratic_forms(X[start : start + ROWS]) for start in range(0, X.shape[0], ROWS)]
            return np.concatenate(parts)
        found = X**2 @ self.spread + ((X @ self._pulled) * (X @ self.tall)).sum(axis=1)
        for weight, root in self.roots:
            image = X @ root.T
            found += weight * (image.power(2) if issparse(image) else image**2).sum(axis=1)
        return found

    @property
    def _pulled(self) -> NDArray:
        return self.tall @ self.inner

    def product(self, X: Any) -> NDArray:
        """Return X A for rows that may be sparse."""
        return (self @ X.T.toarray()).T if issparse(X) else X @ self

    def restricted(self, kept: NDArray) -> FactoredMatrix:
        """Return some rows and the same columns, by their places or as a mask."""
        roots = tuple((weight, root[:, kept]) for weight, root in self.roots)
        return FactoredMatrix(self.spread[kept], self.tall[kept], self.inner, roots)

    def with_value(self, columns: Sequence[int] | NDArray, value: float) -> FactoredMatrix:
        """Return the matrix with zeros, or with NaN, in some rows and columns."""
        kept = np.ones(len(self))
        kept[np.asarray(columns)] = 0.0
        tall = self.tall.copy()
        tall[kept == 0.0] = value
        roots = tuple((weight, scaled(root, kept)) for weight, root in self.roots)
        return FactoredMatrix(kept * self.spread, tall, self.inner, roots)

    def sandwich(self, meat: Any) -> FactoredMatrix:
        """Return this matrix, which has no squares, times an arrow or products of scores times this matrix."""
        F, N, Z = self.spread, self.tall, self.inner
        moved = meat @ N
        tall = np.hstack([F[:, None] * moved, N])
        inner = np.block([[np.zeros_like(Z), Z], [Z, Z @ (N.T @ moved) @ Z]])
        roots = tuple((weight, scaled(root, F)) for weight, root in meat.roots)
        return FactoredMatrix(F**2 * meat.spread, tall, 0.5 * (inner + inner.T), roots)

    def __getitem__(self, key: Any) -> Any:
        """Return elements by the places of their rows and columns, or of all rows and one column."""
        if isinstance(key[0], slice):
            return (self @ (np.arange(len(self)) == key[1]).astype(float))[key[0]]
        rows, columns = (np.asarray(one) for one in key)
        if rows.dtype == bool or columns.dtype == bool:
            raise TypeError("elements are asked for by their places")
        places = np.unique(np.concatenate([rows.ravel(), columns.ravel()]))
        return self.restricted(places).toarray()[np.searchsorted(places, rows), np.searchsorted(places, columns)]

    def toarray(self) -> NDArray:
        """Return all elements."""
        found = self._pulled @ self.tall.T
        found[np.diag_indices_from(found)] += self.spread
        for weight, root in self.roots:
            found += weight * (root.T @ root).toarray()
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        return self.toarray()

    def distance(self, vector: NDArray) -> float | None:
        r"""Return x'A^{-1}x, or None if the rank of the matrix is too low for it.

        The solution w of A w = x has :math:`u = Z Y' w`, and :math:`w_1 = t^{-1} (x_1 - Y_1 u)` where t is not zero; with :math:`w_2`, where it is, u solves

        .. math:: \begin{pmatrix} Z^{-1} + Y_1' t^{-1} Y_1 & -Y_2' \\ Y_2 & 0 \end{pmatrix} \begin{pmatrix} u \\ w_2 \end{pmatrix} =
            \begin{pmatrix} Y_1' t^{-1} x_1 \\ x_2 \end{pmatrix} .
        """
        there, q = self.spread > 0.0, len(self.inner)
        rank = int(there.sum()) + q + sum(root.shape[0] for _, root in self.roots)
        if rank < len(self):
            return None
        if self.roots:
            return distance(self.toarray(), vector)
        pulled, beside = self.tall[there] / self.spread[there, None], self.tall[~there]
        if np.linalg.matrix_rank(self.inner, hermitian=True) < q or np.linalg.matrix_rank(beside) < len(beside):
            return distance(self.toarray(), vector)
        inner = np.linalg.inv(self.inner) + self.tall[there].T @ pulled
        system = np.block([[inner, -beside.T], [beside, np.zeros((len(beside), len(beside)))]])
        found = np.linalg.solve(system, np.concatenate([pulled.T @ vector[there], vector[~there]]))
        own = vector[there] / self.spread[there] - pulled @ found[:q]
        return float(vector[there] @ own + vector[~there] @ found[q:])


def distance(matrix: Any, vector: NDArray) -> float | None:
    """Return :math:`x' A^{-1} x`, or None if the rank of a symmetric matrix is too low for it."""
    if isinstance(matrix, FactoredMatrix):
        return matrix.distance(vector)
    if np.linalg.matrix_rank(matrix, hermitian=True) < len(vector):
        return None
    return float(vector @ np.linalg.solve(matrix, vector))


def scaled(root: csr_array, factor: NDArray) -> csr_array:
    """Return every column times its factor, without those whose factor is zero."""
    found = csr_array((root.data * factor[root.indices], root.indices, root.indptr), shape=root.shape)
    found.eliminate_zeros()
    return found


def products_of_scores(parts: Sequence[tuple[float, Any]], bread: Any) -> Any:
    """Return the weighted sum of the products of scores, which have a row for each cluster; factored as the bread is."""
    k = len(bread)
    if isinstance(bread, FactoredMatrix) and all(issparse(scores) for _, scores in parts):
        return FactoredMatrix(np.zeros(k), np.zeros((k, 0)), np.zeros((0, 0)), tuple(parts))
    total = np.zeros((k, k))
    for weight, scores in parts:
        product = scores.T @ scores
        total += weight * (product.toarray() if issparse(product) else product)
    return total


def sandwich(bread: Any, meat: Any) -> Any:
    """Return bread times meat times bread, without forming what is factored; a large dense meat is gone."""
    if isinstance(bread, FactoredMatrix) and not isinstance(meat, np.ndarray):
        return bread.sandwich(meat)
    return cholesky.sandwich(np.asarray(bread), np.asarray(meat))


def symmetrised(matrix: Any) -> Any:
    """Return the mean of a matrix and its transpose; one that is factored is symmetric."""
    return matrix if isinstance(matrix, FactoredMatrix) else cholesky.symmetrised(matrix)


def restricted(matrix: Any, kept: NDArray) -> Any:
    """Return some rows and the same columns of a matrix."""
    return matrix.restricted(kept) if isinstance(matrix, FactoredMatrix) else matrix[np.ix_(kept, kept)]


def with_value(matrix: Any, columns: Sequence[int] | NDArray, value: float) -> Any:
    """Return a matrix with a value, zero or NaN, in some rows and the same columns."""
    if isinstance(matrix, FactoredMatrix):
        return matrix.with_value(columns, value)
    matrix = np.array(matrix)
    matrix[np.asarray(columns)] = matrix[:, np.asarray(columns)] = value
    return matrix


def products(X: Any, matrix: Any) -> NDArray:
    """Return X A, dense, for dense or sparse rows and any matrix."""
    return matrix.product(X) if isinstance(matrix, FactoredMatrix) else X @ matrix
