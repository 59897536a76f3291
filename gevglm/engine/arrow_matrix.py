r"""Sums of products of sparse rows: an arrow, if the columns of a factor with many levels are among them.

The indicators of the levels of a factor are never 1 in the same row, so that their block D of :math:`\begin{pmatrix} D & B' \\ B & C \end{pmatrix}` is
diagonal. Which columns these are, the zeros of the matrix tell, whatever the terms they come from; a dense matrix of k x k is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from gevglm.engine.cholesky import diagonals

WIDEST = 0.5  # share of the columns that may stand beside the diagonal
USUAL = 2.0  # times the usual number of elements in a row, up to which it may be one of the diagonal


@dataclass(slots=True)
class ArrowMatrix:
    """A symmetric matrix of which some rows and columns, the `shaft`, are diagonal among themselves."""

    shaft: NDArray  # places of the diagonal rows, and of those beside them
    rest: NDArray
    along: NDArray  # D, of shape (G,)
    crossed: NDArray  # B, of shape (p, G)
    beside: NDArray  # C, of shape (p, p)
    __array_ufunc__ = None
    ndim = 2
    roots: tuple = ()  # an arrow has no squares beside its diagonal; see FactoredMatrix

    def __len__(self) -> int:
        return len(self.shaft) + len(self.rest)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return len(self), len(self)

    @property
    def size(self) -> int:
        """Numbers that are kept."""
        return self.crossed.size

    @property
    def finite(self) -> bool:
        """Whether all elements are numbers."""
        return all(bool(np.isfinite(part).all()) for part in (self.along, self.crossed, self.beside))

    @property
    def spread(self) -> NDArray:
        """The diagonal of the shaft, and zeros for what is beside it; of shape (k,)."""
        found = np.zeros(len(self))
        found[self.shaft] = self.along
        return found

    def diagonal(self) -> NDArray:
        """Return the diagonal."""
        found = np.empty(len(self))
        found[self.shaft], found[self.rest] = self.along, self.beside.diagonal()
        return found

    def add_to_diagonal(self, values: NDArray) -> None:
        """Add numbers, one or as many as there are rows, to the diagonal."""
        values = np.broadcast_to(values, len(self))
        self.along = self.along + values[self.shaft]
        diagonals(self.beside)[...] += values[self.rest]

    def __matmul__(self, other: NDArray) -> NDArray:
        shaft, rest = self.shaft, self.rest
        along = self.along if other.ndim == 1 else self.along[:, None]
        found = np.empty(other.shape)
        found[shaft] = along * other[shaft] + self.crossed.T @ other[rest]
        found[rest] = self.crossed @ other[shaft] + self.beside @ other[rest]
        return found

    def __rmatmul__(self, other: NDArray) -> NDArray:
        return (self @ other.T).T

    def __getitem__(self, key: Any) -> Any:
        """Return elements; the rows and columns of ``np.ix_(kept, kept)`` as a matrix of this kind, if some of its diagonal are among them."""
        rows, columns = key
        if (
            np.ndim(rows) == 2
            and np.shape(columns) == np.shape(rows)[::-1]
            and np.array_equal(np.ravel(rows), np.ravel(columns))
        ):
            return self._restricted(np.ravel(columns))
        rows, columns = np.broadcast_arrays(rows, columns)
        if len(np.unique(columns)) < len(np.unique(rows)):
            rows, columns = columns, rows
        unit = np.zeros((len(self), 1))
        found = np.empty(rows.shape)
        for row in np.unique(rows):  # few: those of the coefficients that are looked at
            unit[row] = 1.0
            found[rows == row] = (self @ unit)[columns[rows == row], 0]
            unit[row] = 0.0
        return found if found.ndim else float(found)

    def _restricted(self, kept: NDArray) -> ArrowMatrix:
        places = np.full(len(self), -1)
        places[kept] = np.arange(len(kept))
        shaft, rest = np.flatnonzero(places[self.shaft] >= 0), np.flatnonzero(places[self.rest] >= 0)
        of_both = places[self.shaft[shaft]], places[self.rest[rest]]
        return ArrowMatrix(
            *of_both, self.along[shaft], self.crossed[np.ix_(rest, shaft)], self.beside[np.ix_(rest, rest)]
        )

    def __neg__(self) -> NDArray:
        return -self.toarray()

    def __mul__(self, factor: float) -> ArrowMatrix:
        return ArrowMatrix(self.shaft, self.rest, factor * self.along, factor * self.crossed, factor * self.beside)

    def toarray(self) -> NDArray:
        """Return all elements."""
        found = np.zeros(self.shape)
        found[self.shaft, self.shaft] = self.along
        found[np.ix_(self.rest, self.shaft)] = self.crossed
        found[np.ix_(self.shaft, self.rest)] = self.crossed.T
        found[np.ix_(self.rest, self.rest)] = self.beside
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        return self.toarray()


Symmetric: TypeAlias = NDArray | ArrowMatrix


def symmetric(matrix: Any) -> Any:
    """Return summed products as an arrow, if they are a sparse matrix and one; else as a dense matrix."""
    if not issparse(matrix):
        return matrix
    found = arrow_of(matrix)
    return matrix.toarray() if found is None else found


def arrow_of(matrix: csr_array) -> ArrowMatrix | None:
    """Return a sparse symmetric matrix as an arrow; None, if few rows and columns have no other elements among themselves than their diagonal."""
    k, elements = matrix.shape[0], np.diff(matrix.indptr)
    is_rest = elements > USUAL * np.median(elements)
    rest = np.flatnonzero(is_rest)
    if not len(rest) or len(rest) > WIDEST * k:
        return None
    rows, columns = np.repeat(np.arange(k), elements), matrix.indices
    inside = ~(is_rest[rows] | is_rest[columns])
    if (rows[inside] != columns[inside]).any():
        return None
    shaft = np.flatnonzero(~is_rest)
    beside = matrix[rest].toarray()
    return ArrowMatrix(shaft, rest, matrix.diagonal()[shaft], beside[:, shaft], beside[:, rest])


def add_to_diagonal(matrix: Symmetric, values: NDArray) -> None:
    """Add numbers to the diagonal of a matrix, or of each of a stack of them."""
    if isinstance(matrix, ArrowMatrix):
        matrix.add_to_diagonal(values)
    else:
        diagonals(matrix)[...] += values
