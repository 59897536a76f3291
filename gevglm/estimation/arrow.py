r"""Second derivatives of a fit with a constant for each group: an arrow, of which the diagonal is eliminated exactly.

With z the columns of a row beside the constant of its group, and W its curvature, the second derivative is

.. math:: H = \begin{pmatrix} D & B' \\ B & A \end{pmatrix}, \qquad D_g = \sum_g W, \quad B_g = \sum_g W z, \quad A = \sum W z z',

D diagonal. With the means :math:`\bar z_g = B_g / D_g` and the Schur complement :math:`S = A - B D^{-1} B'`, everything follows from

.. math:: H^{-1} \begin{pmatrix} e_{g} \\ z_i \end{pmatrix} = \begin{pmatrix} e_g / D_g - \bar z' S^{-1} (z_i - \bar z_g) \\ S^{-1} (z_i - \bar z_g) \end{pmatrix}.

Columns are numbers, and indicators of the levels of a second factor, which are never written out: their sums are counts of cells.
Columns of numbers have a mean of zero in every group, so that S is no difference of large numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import Block
from gevglm.engine.cholesky import COLLINEAR, Cholesky
from gevglm.engine.grouped import Groups
from gevglm.engine.linalg import quadratic_forms, symmetric_products


class BlockColumns:
    """The rows of a block of whole groups: their groups, and their columns beside the constants."""

    def __init__(self, groups: Groups, block: Block):
        codes, self.X = groups.codes[block.rows], block.X
        first = int(codes[0])
        self.codes = codes - first  # group of each row, among those of the block
        self.groups = slice(first, int(codes[-1]) + 1)
        self.starts = groups.starts[self.groups] - block.start
        self.n_levels = groups.n_levels
        self.levels = None if groups.levels is None else groups.levels[block.rows]

    @property
    def n_columns(self) -> int:
        """The number p of columns beside the constants."""
        return self.n_levels + self.X.shape[1]

    def sums(self, values: NDArray) -> NDArray:
        """Return the sum of values over the rows of each group."""
        return np.add.reduceat(values, self.starts, axis=-1)

    def at_rows(self, values: NDArray) -> NDArray:
        """Return values of groups for each of their rows."""
        return values.take(self.codes, axis=-1)

    def column_sums(self, values: NDArray) -> NDArray:
        """Return the sum of values times columns over the rows of each group; of shape (p, groups)."""
        return self._beside_cells(values, values * self.X.T)

    def moments(self, values: NDArray) -> tuple[NDArray, NDArray]:
        """Return :meth:`column_sums`, and the sum of values times products of columns over all rows; of shape (p, groups) and (p, p)."""
        weighted = values * self.X.T
        return self._beside_cells(values, weighted), self._gram(values, weighted)

    def _beside_cells(self, values: NDArray, weighted: NDArray) -> NDArray:
        if self.levels is None:
            return self.sums(weighted)
        width = self.n_levels + 1
        cells = np.bincount(self.codes * width + self.levels, values, len(self.starts) * width)
        return np.concatenate([cells.reshape(-1, width)[:, :-1].T, self.sums(weighted)])

    def totals(self, values: NDArray) -> NDArray:
        """Return the sum of values times columns over all rows; of shape (p,)."""
        return values @ self.X if self.levels is None else np.concatenate([self._by_level(values), values @ self.X])

    def _gram(self, values: NDArray, weighted: NDArray) -> NDArray:
        numbers = symmetric_products(weighted, self.X.T)
        if self.levels is None:
            return numbers
        m, found = self.n_levels, np.zeros((self.n_columns, self.n_columns))
        found[m:, m:] = numbers
        found[range(m), range(m)] = self._by_level(values)
        for j, column in enumerate(weighted, m):
            found[j, :m] = found[:m, j] = self._by_level(column)
        return found

    def linear(self, coefficients: NDArray) -> NDArray:
        """Return the columns times coefficients."""
        m = self.n_levels
        numbers = self.X @ coefficients[m:]
        return numbers if self.levels is None else numbers + np.append(coefficients[:m], 0.0)[self.levels]

    def forms(self, constant: NDArray, linear: NDArray, matrix: NDArray) -> NDArray:
        """Return :math:`c_g + l_g' z + z' A z` of each row z of group g; for all groups, l of shape (p, G)."""
        m, linear = self.n_levels, linear[:, self.groups]
        found = self.at_rows(constant[self.groups]) + quadratic_forms(self.X, matrix[m:, m:])
        for column, slope in zip(self.X.T, linear[m:], strict=True):
            found += column * self.at_rows(slope)
        if self.levels is None:
            return found
        padded = np.vstack([linear[:m], np.zeros(linear.shape[1])])
        found += padded[self.levels, self.codes] + np.append(np.diagonal(matrix)[:m], 0.0)[self.levels]
        for column, crossed in zip(self.X.T, matrix[m:, :m], strict=True):
            found += 2.0 * column * np.append(crossed, 0.0)[self.levels]
        return found

    def centred(self, means: NDArray) -> NDArray:
        """Return the columns of numbers minus means of their groups, of shape (k, groups)."""
        return self.X - self.at_rows(means[self.n_levels :, self.groups]).T

    def free_of_groups(self, means: NDArray) -> NDArray:
        """Return all columns minus means of their groups, of shape (p, groups), those of levels written out."""
        if self.levels is None:
            return self.centred(means)
        m = self.n_levels
        of_levels = np.eye(m + 1)[:, :m][self.levels] - self.at_rows(means[:m, self.groups]).T
        return np.hstack([of_levels, self.centred(means)])

    def _by_level(self, values: NDArray) -> NDArray:
        return np.bincount(self.levels, values, self.n_levels + 1)[:-1]  # type: ignore[arg-type]


@dataclass(frozen=True)
class RowForms:
    """A quadratic form of rows in a covariance of constants and other coefficients: the variance of a linear predictor."""

    constant: NDArray  # of shape (G,)
    linear: NDArray  # of shape (p, G)
    matrix: NDArray  # of shape (p, p)

    def of(self, rows: BlockColumns) -> NDArray:
        """Return the form of each row."""
        return rows.forms(self.constant, self.linear, self.matrix)


@dataclass(frozen=True)
class Arrow:
    """A matrix whose first block, of the constants of groups, is diagonal; symmetric where `lower` is `upper`."""

    diagonal: NDArray  # D, of shape (G,)
    upper: NDArray  # the rows of the constants over D; of shape (p, G)
    lower: NDArray  # the columns of the constants over D; of shape (p, G)
    schur: NDArray  # of shape (p, p)

    @cached_property
    def factor(self) -> Cholesky:
        """The Cholesky factor of the Schur complement of a symmetric arrow."""
        return Cholesky(self.schur)

    @cached_property
    def inverse(self) -> NDArray:
        """The inverse of the Schur complement of a symmetric arrow: the last block of the whole inverse."""
        return self.factor.inverse() if len(self.schur) else self.schur

    @cached_property
    def positive(self) -> bool:
        """Whether a symmetric arrow is positive definite."""
        if not (self.diagonal > 0.0).all():
            return False
        return not len(self.schur) or (self.factor.positive and self.factor.smallest_pivot >= COLLINEAR)

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of a symmetric arrow."""
        return float(np.log(self.diagonal).sum()) + (self.factor.log_determinant if len(self.schur) else 0.0)

    def solve(self, rhs: NDArray) -> NDArray:
        """Return the solution x of H x = rhs."""
        n = len(self.diagonal)
        of_groups, rest = rhs[:n], rhs[n:] - self.lower @ rhs[:n]
        if len(rest):
            rest = self.factor.solve(rest) if self.lower is self.upper else np.linalg.solve(self.schur, rest)
        return np.concatenate([of_groups / self.diagonal - rest @ self.upper, rest])

    def of_constants(self, k: int) -> Arrow:
        """Return the block without the last k coefficients."""
        m = len(self.schur) - k
        upper = self.upper[:m]
        return Arrow(self.diagonal, upper, upper if self.lower is self.upper else self.lower[:m], self.schur[:m, :m])

    def times(self, vector: NDArray) -> NDArray:
        """Return H times a vector, of a symmetric arrow."""
        n = len(self.diagonal)
        of_groups = self.diagonal * (vector[:n] + vector[n:] @ self.upper)
        return np.concatenate([of_groups, self.upper @ of_groups + self.schur @ vector[n:]])

    @cached_property
    def variances_of_constants(self) -> NDArray:
        """The diagonal of the inverse that belongs to the constants; of shape (G,)."""
        return 1.0 / self.diagonal + ((self.inverse @ self.upper) * self.upper).sum(axis=0)

    @cached_property
    def forms(self) -> RowForms:
        """The quadratic form of rows in the inverse."""
        return RowForms(self.variances_of_constants, -2.0 * (self.inverse @ self.upper), self.inverse)
