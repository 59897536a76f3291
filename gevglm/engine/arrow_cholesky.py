r"""Cholesky factors of second derivatives: those of designs with a factor of many levels are arrows, whose diagonal is eliminated first.

The indicators of the levels of a factor are never 1 in the same row, so that their block D of :math:`A = \begin{pmatrix} D & B \\ B' & C \end{pmatrix}` is diagonal:

.. math:: S = C - B' D^{-1} B, \qquad A^{-1} = \begin{pmatrix} D^{-1} + U S^{-1} U' & -U S^{-1} \\ -S^{-1} U' & S^{-1} \end{pmatrix}, \quad U = D^{-1} B,

in time proportional to the square of the number of columns, not to its cube. Where the diagonal is, the zeros of the matrix tell, whatever the terms it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.cholesky import LARGE_MATRIX, Cholesky, blocks

WIDEST = 0.5  # share of the columns that may stand beside the diagonal
USUAL = 2.0  # times the usual number of elements in a row, up to which it may be one of the diagonal


class ArrowCholesky:
    """What :class:`~gevglm.engine.cholesky.Cholesky` is, of a symmetric matrix of which some rows and columns, the `shaft`, are diagonal."""

    def __init__(self, matrix: NDArray, shaft: NDArray, rest: NDArray, damping: float = 0.0):
        self._shaft, self._rest, self._matrix = shaft, rest, matrix
        self._diagonal = matrix.diagonal()[shaft] * (1.0 + damping)
        beside = matrix[np.ix_(rest, rest)]
        lengths = beside.diagonal().copy()
        beside[np.diag_indices_from(beside)] *= 1.0 + damping
        crossed = matrix[rest][:, shaft]
        self._means = crossed / self._diagonal  # U', of shape (p, G)
        self._factor = Cholesky(beside - self._means @ crossed.T)
        left = np.diagonal(beside) - (self._means * crossed).sum(axis=1)
        self.positive = bool(self._factor.positive and (left > 0.0).all())
        self.smallest_pivot = float((self._factor.pivots * left / lengths).min()) if self.positive else 0.0

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

    def inverse(self, *, in_place: bool = False) -> NDArray:
        """Return the symmetric inverse; `in_place`, in the memory of the matrix, which is then gone."""
        shaft, rest = self._shaft, self._rest
        found = self._matrix if in_place else np.empty(self._matrix.shape)
        inner = self._factor.inverse()
        pulled = inner @ self._means
        for some in blocks(len(shaft)):
            found[np.ix_(shaft[some], shaft)] = self._means[:, some].T @ pulled
        found[shaft, shaft] = 1.0 / self._diagonal + (self._means * pulled).sum(axis=0)
        found[np.ix_(rest, shaft)] = -pulled
        found[np.ix_(shaft, rest)] = -pulled.T
        found[np.ix_(rest, rest)] = inner
        return found


def factor_of(matrix: NDArray, damping: float = 0.0, *, in_place: bool = False) -> Cholesky | ArrowCholesky:
    """Return the Cholesky factor of a symmetric matrix; `in_place`, that of a dense one takes the place of its upper triangle."""
    shaft = diagonal_part(matrix) if len(matrix) >= LARGE_MATRIX else None
    if shaft is None:
        return Cholesky(matrix, damping, in_place=in_place)
    return ArrowCholesky(matrix, np.flatnonzero(shaft), np.flatnonzero(~shaft), damping)


def diagonal_part(matrix: NDArray) -> NDArray | None:
    """Return which rows and columns of a symmetric matrix have no other elements among themselves than a positive diagonal; None, if few do."""
    elements = np.concatenate([np.count_nonzero(matrix[rows], axis=1) for rows in blocks(len(matrix))])
    shaft = elements <= USUAL * np.median(elements)
    rest = np.flatnonzero(~shaft)
    if len(rest) > WIDEST * len(matrix) or elements.sum() > WIDEST * matrix.size:
        return None
    inside = elements[shaft] - np.count_nonzero(matrix[rest], axis=0)[shaft]
    diagonal = matrix.diagonal()[shaft]
    plain = (inside == 1) & (diagonal > 0.0) & np.isfinite(diagonal)
    return shaft if len(rest) and plain.all() else None


@contextmanager
def factored(matrix: NDArray, damping: float = 0.0) -> Iterator[Cholesky | ArrowCholesky]:
    """Provide the Cholesky factor of a matrix for some time; that of a large one without a copy: the matrix is itself again at the end."""
    if len(matrix) < LARGE_MATRIX or not matrix.flags.c_contiguous:
        yield factor_of(matrix, damping)
        return
    diagonal = [matrix[rows, rows].copy() for rows in blocks(len(matrix))]
    factor = factor_of(matrix, damping, in_place=True)
    try:
        yield factor
    finally:
        if isinstance(factor, Cholesky):
            for rows, block in zip(blocks(len(matrix)), diagonal, strict=True):
                matrix[rows, rows] = block
                matrix[rows, rows.stop :] = matrix[rows.stop :, rows].T


def inverted(matrix: NDArray) -> NDArray:
    """Return the inverse of a positive definite matrix, which is gone: the inverse may take its place."""
    in_place = len(matrix) >= LARGE_MATRIX and matrix.flags.c_contiguous
    return factor_of(matrix, in_place=in_place).inverse(in_place=in_place)
