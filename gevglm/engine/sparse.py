"""Rows of which few columns are not zero: designs of factors with many levels, as SciPy's compressed rows.

What :mod:`gevglm.engine.linalg` does with blocks of dense rows is done here with blocks of sparse ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

SPARSE = 20  # columns for every one that is not zero in a row, from which a design is kept sparse

FEWEST_COLUMNS = 100  # of a dense design that passes over the rows may be faster over as a sparse one

MOST_PADDED = 1 << 20  # elements of rows that are filled up to the length of the longest


class SparseColumn:
    """A column of a design by its rows that are not zero, which are sorted.

    `share` is that of such rows if all levels of a factor were as frequent: the same for every piece of the data.
    """

    __array_ufunc__ = None

    def __init__(self, rows: NDArray, values: NDArray, share: float):
        self.rows = rows
        self.values = values
        self.share = share

    def __mul__(self, other: SparseColumn | NDArray) -> SparseColumn:
        if not isinstance(other, SparseColumn):
            return SparseColumn(self.rows, self.values * other[self.rows], self.share)
        few, many = sorted((self, other), key=lambda column: len(column.rows))
        if not len(many.rows):
            return few
        places = np.minimum(np.searchsorted(many.rows, few.rows), len(many.rows) - 1)
        both = many.rows[places] == few.rows
        values = few.values[both] * many.values[places[both]]
        return SparseColumn(few.rows[both], values, self.share * other.share)

    __rmul__ = __mul__

    def toarray(self, n_rows: int) -> NDArray:
        """Return the column of all rows."""
        column = np.zeros(n_rows)
        column[self.rows] = self.values
        return column


class IndicatorColumn(SparseColumn):
    """The column of a level: 1 in the rows that have it, which are found when they are asked for."""

    def __init__(self, order: NDArray, ends: NDArray, place: int):
        self.order, self.ends, self.place = (
            order,
            ends,
            place,
        )  # the rows sorted by level, where each level ends, and which one it is
        self.share = 1.0 / len(ends)

    @property
    def rows(self) -> NDArray:  # type: ignore[override]
        """The rows that are not zero."""
        return self.order[self.ends[self.place - 1] if self.place else 0 : self.ends[self.place]]

    @property
    def values(self) -> NDArray:  # type: ignore[override]
        """Their values."""
        return np.ones(len(self.rows))


def indicators(codes: NDArray, n_levels: int, places: Sequence[int]) -> Iterator[SparseColumn]:
    """Yield a column for each of the levels at some places: 1 in the rows whose code it is."""
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=n_levels))
    for place in places:
        yield IndicatorColumn(order, ends, place)


def row_numbers(columns: Sequence[SparseColumn | NDArray]) -> float:
    """Return how many columns of a row are expected not to be zero."""
    return sum(getattr(column, "share", 1.0) for column in columns)


def matrix_of(columns: Sequence[SparseColumn | NDArray], n_rows: int) -> csr_array:
    """Return the matrix with these columns."""
    every = np.arange(n_rows)
    lengths, rows, values = [], [], []
    for factor, stretch in groupby(enumerate(columns), _stretch_of):
        members = [column for _, column in stretch]
        first, last = members[0], members[-1]
        if factor is not None and isinstance(first, IndicatorColumn) and isinstance(last, IndicatorColumn):
            ends = np.concatenate([[0], first.ends])[first.place : last.place + 2]
            lengths.append(np.diff(ends))
            rows.append(first.order[ends[0] : ends[-1]])
            values.append(np.ones(ends[-1] - ends[0]))
            continue
        for c in members:
            column = c if isinstance(c, SparseColumn) else SparseColumn(every, np.asarray(c, float), 1.0)
            lengths.append(np.array([len(column.rows)]))
            rows.append(column.rows)
            values.append(column.values)
    starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return csc_array((np.concatenate(values), np.concatenate(rows), starts), shape=(n_rows, len(columns))).tocsr()


def _stretch_of(numbered: tuple[int, SparseColumn | NDArray]) -> tuple[int, int] | None:
    """Return what neighbouring columns of one factor have in common, whose rows are neighbours in the order of its levels."""
    j, column = numbered
    return (id(column.order), column.place - j) if isinstance(column, IndicatorColumn) else None


def sparse_if_mostly_zero(X: NDArray | csr_array) -> NDArray | csr_array:
    """Return a dense matrix as a sparse one, if it has many columns and few of a row are not zero, as those of a factor with many levels are."""
    if not isinstance(X, np.ndarray) or X.shape[1] < FEWEST_COLUMNS:
        return X
    some = X[:: max(len(X) // FEWEST_COLUMNS, 1)]
    if SPARSE * np.count_nonzero(some) > some.size or SPARSE * np.count_nonzero(X) > X.size:
        return X
    columns = [np.flatnonzero(column) for column in X.T]
    return matrix_of([SparseColumn(rows, X[rows, j], 0.0) for j, rows in enumerate(columns)], len(X))


def scale_rows(X: csr_array, factor: NDArray) -> csr_array:
    """Return every row times its factor."""
    return csr_array((X.data * np.repeat(factor, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)


def scale_columns(X: csr_array, factor: NDArray) -> csr_array:
    """Return every column times its factor."""
    return csr_array((X.data * factor[X.indices], X.indices, X.indptr), shape=X.shape)


def weighted_gram(X: csr_array, weights: NDArray) -> csr_array:
    """Return X' diag(weights) X, itself sparse; it is symmetric, so that its compressed columns are its compressed rows."""
    if weights.min(initial=0.0) >= 0.0:
        half = scale_rows(X, np.sqrt(weights))
        return (half.T @ half).T
    return (X.T @ scale_rows(X, weights)).T


def quadratic_forms(X: csr_array, matrix: NDArray) -> NDArray:
    """Return x'Ax for every row x, from the elements of A that it meets."""
    rows = max(MOST_PADDED // max(int(np.diff(X.indptr).max(initial=1)), 1), 1)
    if X.shape[0] > rows:
        parts = [quadratic_forms(X[start : start + rows], matrix) for start in range(0, X.shape[0], rows)]
        return np.concatenate(parts)
    columns, values = _padded(X)
    total = np.zeros(X.shape[0])
    for column, value in zip(columns.T, values.T, strict=True):
        total += value * np.einsum("ij,ij->i", matrix[column[:, None], columns], values)
    return total


def _padded(X: csr_array) -> tuple[NDArray, NDArray]:
    """Return columns and values of the elements of each row, filled up with zeros to the length of the longest."""
    lengths = np.diff(X.indptr)
    width = int(lengths.max(initial=0))
    columns, values = np.zeros((len(lengths), width), dtype=np.intp), np.zeros((len(lengths), width))
    there = np.arange(width) < lengths[:, None]
    columns[there], values[there] = X.indices, X.data
    return columns, values


def add(total: NDArray | csr_array, part: csr_array) -> NDArray | csr_array:
    """Return total + part; a dense total is reused."""
    if isinstance(total, csr_array):
        return total + part
    if total.ndim == 0:
        return part.toarray() if total == 0.0 else total + part.toarray()
    rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
    total[rows, part.indices] += part.data
    return total


def columns_of_ones(X: csr_array) -> NDArray:
    """Return which columns are 1 in every row."""
    return np.bincount(X.indices[X.data == 1.0], minlength=X.shape[1]) == X.shape[0]


def with_column(X: csr_array, place: int, column: NDArray) -> csr_array:
    """Return a matrix with other numbers in one column."""
    others = csr_array((np.where(X.indices == place, 0.0, X.data), X.indices, X.indptr), shape=X.shape)
    rows = np.flatnonzero(column)
    here = csr_array((column[rows], (rows, np.full(len(rows), place))), shape=X.shape)
    changed = others + here
    changed.eliminate_zeros()
    return changed


def add_rows(total: NDArray | csr_array, n_rows: int, places: NDArray, rows: csr_array) -> csr_array:
    """Return a matrix of some number of rows to which rows at given places, in their order, were added; a total without shape is zero."""
    lengths = np.zeros(n_rows, dtype=rows.indptr.dtype)
    lengths[places] = np.diff(rows.indptr)
    placed = csr_array(
        (rows.data, rows.indices, np.concatenate([[0], np.cumsum(lengths)])), shape=(n_rows, rows.shape[1])
    )
    return placed if total.ndim == 0 else total + placed


def row_products(X: csr_array, other: NDArray) -> NDArray:
    """Return the products of the rows of two matrices, the second of them dense."""
    return X.multiply(other).sum(axis=1)


def nonfinite_counts(X: csr_array) -> NDArray:
    """Return how many elements of each column are infinite or not numbers."""
    return np.bincount(X.indices, weights=~np.isfinite(X.data), minlength=X.shape[1])


def rows_with(X: csr_array, marked: NDArray) -> NDArray:
    """Return which rows have a marked element; `marked` goes with the elements."""
    rows = np.zeros(X.shape[0], dtype=bool)
    rows[np.searchsorted(X.indptr, np.flatnonzero(marked), side="right") - 1] = True
    return rows


def group_sums(X: csr_array, factor: NDArray, codes: NDArray) -> tuple[NDArray, csr_array]:
    """Return the groups, and the sums of rows times their factors over each."""
    groups, places = np.unique(codes, return_inverse=True)
    members = csr_array((factor, (places, np.arange(len(codes)))), shape=(len(groups), len(codes)))
    return groups, members @ X


def with_missing_rows(X: csr_array, complete: NDArray) -> csr_array:
    """Return a matrix with rows that are not numbers where they are not complete; X has the others."""
    lengths = np.ones(len(complete), dtype=X.indptr.dtype)
    lengths[complete] = np.diff(X.indptr)
    known = np.repeat(complete, lengths)
    columns, values = np.zeros(len(known), dtype=X.indices.dtype), np.full(len(known), np.nan)
    columns[known], values[known] = X.indices, X.data
    return csr_array((values, columns, np.concatenate([[0], np.cumsum(lengths)])), shape=(len(complete), X.shape[1]))
