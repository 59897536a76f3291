r"""Cholesky factors of second derivatives: those of designs with a factor of many levels are arrows, whose diagonal is eliminated first.

With the block D of :math:`A = \begin{pmatrix} D & B' \\ B & C \end{pmatrix}` diagonal,

.. math:: S = C - B D^{-1} B', \qquad A^{-1} = \begin{pmatrix} D^{-1} + U S^{-1} U' & -U S^{-1} \\ -S^{-1} U' & S^{-1} \end{pmatrix}, \quad U = D^{-1} B',

in time proportional to the number of columns, not to its cube; the inverse is a diagonal and a term of low rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.arrow_matrix import ArrowMatrix, Symmetric
from gevglm.engine.cholesky import LARGE_MATRIX, Cholesky, blocks
from gevglm.engine.factored_matrix import FactoredMatrix

LOW = 8  # columns for every one beside the diagonal, from which an inverse is kept as a term of low rank


class ArrowCholesky:
    """What :class:`~gevglm.engine.cholesky.Cholesky` is, of an arrow."""

    def __init__(self, matrix: ArrowMatrix, damping: float = 0.0):
        self._shaft, self._rest = matrix.shaft, matrix.rest
        self._diagonal = _damped(matrix.along, damping)
        beside, lengths = matrix.beside.copy(), matrix.beside.diagonal()
        beside[np.diag_indices_from(beside)] = _damped(lengths, damping)
        with np.errstate(all="ignore"):
            self._means = matrix.crossed / self._diagonal  # U', of shape (p, G)
            explained = self._means @ matrix.crossed.T
            left = np.diagonal(beside) - np.diagonal(explained)
            self._factor = Cholesky(beside - explained)
            self.positive = bool(self._factor.positive and (left > 0.0).all() and (self._diagonal > 0.0).all())
            shares = self._factor.pivots * left / beside.diagonal() if self.positive else np.zeros(1)
        self.smallest_pivot = float(shares.min())

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant."""
        return self._factor.log_determinant + float(np.log(self._diagonal).sum())

    def solve(self, rhs: NDArray) -> NDArray:
        """Return the solution of A x = rhs (of the damped A, if damped)."""
        shaft, rest = self._shaft, self._rest
        diagonal = self._diagonal if rhs.ndim == 1 else self._diagonal[:, None]
        found = np.empty(rhs.shape)
        found[rest] = self._factor.solve(rhs[rest] - self._means @ rhs[shaft])
        found[shaft] = rhs[shaft] / diagonal - self._means.T @ found[rest]
        return found

    def inverse(self) -> Any:
        """Return the symmetric inverse: factored, unless many columns are beside the diagonal."""
        k, p = len(self._shaft) + len(self._rest), len(self._rest)
        spread, tall = np.zeros(k), np.zeros((k, p))
        spread[self._shaft] = 1.0 / self._diagonal
        tall[self._shaft], tall[self._rest] = -self._means.T, np.eye(p)
        found = FactoredMatrix(spread, tall, self._factor.inverse())
        return found if p * LOW <= k else found.toarray()


def _damped(diagonal: NDArray, damping: float) -> NDArray:
    """Return a diagonal with what is added to it, relative to its elements where they are not zero."""
    return np.where(diagonal > 0.0, diagonal * (1.0 + damping), damping) if damping else diagonal


def factor_of(matrix: Symmetric, damping: float = 0.0, *, in_place: bool = False) -> Cholesky | ArrowCholesky:
    """Return the Cholesky factor of a symmetric matrix; `in_place`, that of a dense one takes the place of its upper triangle."""
    if isinstance(matrix, ArrowMatrix):
        return ArrowCholesky(matrix, damping)
    return Cholesky(matrix, damping, in_place=in_place)


@contextmanager
def factored(matrix: Symmetric, damping: float = 0.0) -> Iterator[Cholesky | ArrowCholesky]:
    """Provide the Cholesky factor of a matrix for some time; that of a large dense one without a copy: the matrix is itself again at the end."""
    if isinstance(matrix, ArrowMatrix) or len(matrix) < LARGE_MATRIX or not matrix.flags.c_contiguous:
        yield factor_of(matrix, damping)
        return
    diagonal = [matrix[rows, rows].copy() for rows in blocks(len(matrix))]
    factor = factor_of(matrix, damping, in_place=True)
    try:
        yield factor
    finally:
        for rows, block in zip(blocks(len(matrix)), diagonal, strict=True):
            matrix[rows, rows] = block
            matrix[rows, rows.stop :] = matrix[rows.stop :, rows].T


def inverted(matrix: Symmetric) -> Any:
    """Return the inverse of a positive definite matrix, which is gone if it is dense: the inverse may take its place."""
    if isinstance(matrix, ArrowMatrix):
        return ArrowCholesky(matrix).inverse()
    in_place = len(matrix) >= LARGE_MATRIX and matrix.flags.c_contiguous
    return Cholesky(matrix, in_place=in_place).inverse(in_place=in_place)
