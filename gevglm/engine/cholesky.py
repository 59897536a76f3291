"""Symmetric matrices: Cholesky factors that know their rank, of one or of many, and inverses; of large ones without copies."""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

COLLINEAR = 1e-13  # share of a column's length, squared, that its predecessors leave unexplained (R's qr uses 1e-14)
LARGE_MATRIX = 512  # rows of a symmetric matrix from which copies of it are avoided
BLOCK = 128  # of its rows that are worked on at a time


class Cholesky:
    r"""Cholesky factor of a symmetric matrix scaled to unit diagonal, :math:`D A D + \delta I = L L'`.

    Parameters
    ----------
    matrix : ndarray of shape (k, k)
    damping : float, optional
        The Levenberg term :math:`\delta`, relative to the unit diagonal.
    in_place : bool
        Whether the factor takes the place of the upper triangle of the matrix, which is in C order; see :func:`~gevglm.engine.arrow_cholesky.factored`.

    Attributes
    ----------
    positive : bool
        Whether the factor exists.
    smallest_pivot : float
        The smallest :math:`L_{jj}^2`: the share of a column that its predecessors leave unexplained.
    """

    def __init__(self, matrix: NDArray, damping: float = 0.0, *, in_place: bool = False):
        diagonal = matrix.diagonal()
        usual = diagonal.tolist()
        if isfinite(sum(usual)) and min(usual) > 0.0:
            scale = 1.0 / np.sqrt(diagonal)
            scaled = _scaled(matrix, scale, in_place)
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                scale = 1.0 / np.sqrt(diagonal)
                scale[~np.isfinite(scale)] = 1.0
                scaled = _scaled(matrix, scale, in_place)
        if damping:
            scaled[np.diag_indices_from(scaled)] += damping
        self._scale, self._clean = scale, len(matrix) < LARGE_MATRIX
        # the upper triangle in C order is the lower one in Fortran's; the other one of a large matrix is left as it is
        self._factor, info = lapack.dpotrf(scaled.T, lower=1, clean=self._clean, overwrite_a=1)
        self.positive = info == 0 and isfinite(self._factor[-1, -1])
        self.smallest_pivot = min(self._factor.diagonal().tolist()) ** 2 if self.positive else 0.0

    @property
    def pivots(self) -> NDArray:
        """The :math:`L_{jj}^2`; of shape (k,)."""
        return self._factor.diagonal() ** 2

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
        lower, _ = lapack.dpotri(self._factor, lower=1, overwrite_c=in_place)
        if self._clean:  # above the diagonal it is zero, as the factor is
            inverse = lower + lower.T
            inverse.flat[:: len(inverse) + 1] *= 0.5
        else:
            inverse = _mirrored(lower.T)
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
                for matrix in scaled:
                    if not _is_positive(matrix):
                        matrix[:] = np.nan
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


def _is_positive(matrix: NDArray) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


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


def sandwich(bread: NDArray, meat: NDArray) -> NDArray:
    """Return bread times meat times bread, also of stacks of them; a large meat is gone: the product takes its place."""
    if meat.shape[-1] < LARGE_MATRIX:
        return bread @ meat @ bread
    for columns in blocks(len(meat)):
        meat[:, columns] = bread @ meat[:, columns]
    for rows in blocks(len(meat)):
        meat[rows] = meat[rows] @ bread
    return meat


def symmetrised(matrix: NDArray) -> NDArray:
    """Return the mean of a matrix and its transpose, also of a stack of them; a large one is changed."""
    if matrix.shape[-1] < LARGE_MATRIX:
        return 0.5 * (matrix + np.swapaxes(matrix, -1, -2))
    for rows in blocks(len(matrix)):
        part = matrix[rows, rows.start :] + matrix[rows.start :, rows].T
        matrix[rows, rows.start :] = 0.5 * part
    return _mirrored(matrix)


def _mirrored(matrix: NDArray) -> NDArray:
    """Copy the upper triangle of a matrix to the lower one, and return it."""
    for rows in blocks(len(matrix)):
        block = np.triu(matrix[rows, rows])
        matrix[rows, rows] = block + np.triu(block, 1).T
        matrix[rows.stop :, rows] = matrix[rows, rows.stop :].T
    return matrix


def _scaled(matrix: NDArray, scale: NDArray, in_place: bool) -> NDArray:
    """Return a symmetric matrix with its rows and columns multiplied; of a large one the upper triangle only."""
    if len(matrix) < LARGE_MATRIX:
        scaled = matrix * scale[:, None]
        scaled *= scale
        return scaled
    scaled = matrix if in_place else np.empty(matrix.shape)
    for rows in blocks(len(matrix)):  # and what else is in the blocks on the diagonal
        np.multiply(matrix[rows, rows.start :], scale[rows.start :], out=scaled[rows, rows.start :])
        scaled[rows, rows.start :] *= scale[rows, None]
    return scaled


def blocks(size: int) -> list[slice]:
    """Return slices of rows that are worked on at a time."""
    return [slice(start, min(start + BLOCK, size)) for start in range(0, size, BLOCK)]
