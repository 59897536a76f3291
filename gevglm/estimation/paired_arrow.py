r"""Second derivatives with the constants of two large factors: their block is never formed, and solved by conjugate gradients.

With D and :math:`D_2` the summed curvatures of the levels of both factors, C those of their cells, and B those of columns,

.. math:: H = \begin{pmatrix} K & B \\ B' & A \end{pmatrix}, \qquad K = \begin{pmatrix} D & C \\ C' & D_2 \end{pmatrix},

K is solved through :math:`D_2 - C' D^{-1} C` with the preconditioner :math:`D_2`, for one right-hand side and k columns; the slopes have the information
:math:`A - B' K^{-1} B`. There are no leverages.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gevglm.engine.base import Block
from gevglm.engine.cholesky import COLLINEAR, Cholesky
from gevglm.engine.grouped import Groups
from gevglm.engine.linalg import symmetric_products
from gevglm.estimation.arrow import BlockColumns
from gevglm.estimation.arrow_sums import ArrowSums, ByGroup, Part, Totals, linear_predictor
from gevglm.losses import Loss

TOLERANCE = 1e-13  # of a residual, relative to the right-hand side
STEPS = 2000


@dataclass(frozen=True)
class PairedArrow:
    """The second derivative, in the places of :class:`~gevglm.estimation.arrow.Arrow`: constants of groups, of levels, then slopes."""

    diagonal: NDArray  # D, of shape (G,)
    levels: NDArray  # D2, of shape (m,)
    cells: csr_array  # C, of shape (G, m)
    columns: NDArray  # B', of shape (k, G + m)
    gram: NDArray  # A, of shape (k, k)

    @cached_property
    def explained(self) -> NDArray:
        """The constants that explain each column best; of shape (k, G + m)."""
        return np.array([self._solve_constants(column) for column in self.columns]).reshape(self.columns.shape)

    @cached_property
    def factor(self) -> Cholesky:
        """The Cholesky factor of the information on the slopes."""
        return Cholesky(self.schur)

    @cached_property
    def schur(self) -> NDArray:
        """The information on the slopes; of shape (k, k)."""
        found = self.gram - self.columns @ self.explained.T
        return 0.5 * (found + found.T)

    @cached_property
    def inverse(self) -> NDArray:
        """The inverse information on the slopes."""
        return self.factor.inverse() if len(self.gram) else self.gram

    @cached_property
    def positive(self) -> bool:
        """Whether it is positive definite."""
        if not ((self.diagonal > 0.0).all() and (self.levels > 0.0).all()):
            return False
        return not len(self.gram) or (self.factor.positive and self.factor.smallest_pivot >= COLLINEAR)

    def of_constants(self, k: int) -> PairedArrow:
        """Return the block without the last k coefficients, which are all slopes."""
        empty = np.empty((0, 0))
        return PairedArrow(self.diagonal, self.levels, self.cells, empty, empty)

    def solve(self, rhs: NDArray) -> NDArray:
        """Return the solution x of H x = rhs."""
        n = len(self.diagonal) + len(self.levels)
        constants, rest = self._solve_constants(rhs[:n]), rhs[n:]
        if len(rest):
            rest = self.factor.solve(rest - self.explained @ rhs[:n])
            constants = constants - rest @ self.explained
        return np.concatenate([constants, rest])

    def _solve_constants(self, rhs: NDArray) -> NDArray:
        """Return the solution x of K x = rhs."""
        n = len(self.diagonal)
        of_groups = rhs[:n] / self.diagonal
        target = rhs[n:] - self.cells.T @ of_groups
        x, residual = np.zeros_like(target), target.copy()
        pulled = residual / self.levels
        direction, size = pulled.copy(), float(residual @ pulled)
        enough = TOLERANCE**2 * max(float(rhs[n:] @ (rhs[n:] / self.levels)), size)
        for _ in range(STEPS):
            if size <= enough:
                break
            image = self.levels * direction - self.cells.T @ ((self.cells @ direction) / self.diagonal)
            length = size / float(direction @ image)
            x += length * direction
            residual -= length * image
            pulled = residual / self.levels
            last, size = size, float(residual @ pulled)
            direction = pulled + size / last * direction
        return np.concatenate([of_groups - (self.cells @ x) / self.diagonal, x])


@dataclass(frozen=True)
class Cells:
    """The cells of two factors, sorted by group and level."""

    of_rows: NDArray  # cell of each row
    indices: NDArray  # level of each cell
    pointers: NDArray  # first cell of each group, and the number of cells

    @classmethod
    def of(cls, groups: Groups) -> Cells:
        """Return the cells of groups with levels."""
        assert groups.levels is not None, "cells are those of two factors"
        width = groups.n_levels + 1
        keys, of_rows = np.unique(groups.codes * np.int64(width) + groups.levels, return_inverse=True)
        unit, level = np.divmod(keys, width)
        return cls(of_rows, level, np.searchsorted(unit, np.arange(len(groups) + 1)))

    def matrix(self, values: NDArray, n_levels: int) -> csr_array:
        """Return values of cells as a matrix, without the levels of reference."""
        n = len(self.pointers) - 1
        return csr_array((values, self.indices, self.pointers), (n, n_levels + 1))[:, :n_levels]


class PairedLossSums(ByGroup):
    """Gradient, second derivative and value of a loss with the constants of two large factors."""

    def __init__(
        self, loss: Loss, groups: Groups, cells: Cells, params: NDArray, *, expected: bool = False, value: bool = False
    ):
        super().__init__(groups)
        self.loss, self.params, self.cells = loss, params, cells
        self.expected, self.value = expected or loss.curvature_is_expected, value
        self.in_cells = np.zeros(len(cells.indices))

    def map(self, block: Block) -> Part:
        loss, y, weight, m = self.loss, block.y, block.weight, self.groups.n_levels
        with np.errstate(all="ignore"):
            rows = BlockColumns(self.groups, block)
            v = linear_predictor(rows, block, self.params)
            point = loss.link.at(v)
            slope = block.weighted(loss.slope_at(y, point))
            W = block.weighted(loss.expected_curvature_at(point) if self.expected else loss.curvature_at(y, point))
            cell = self.cells.of_rows[block.rows]
            first, last = self.cells.pointers[[rows.groups.start, rows.groups.stop]]
            self.in_cells[first:last] = np.bincount(cell - first, W, last - first)  # no two blocks share a cell
            value = float(block.weighted(loss.value_at(y, point)).sum()) if self.value else 0.0
            weighted = W * block.X.T
            by_level = [np.bincount(rows.levels, one, m + 1)[:m] for one in (slope, W, *weighted)]  # type: ignore[arg-type]
            of_rows = (np.array(by_level), slope @ block.X, symmetric_products(weighted, block.X.T), value)
            feasible = loss.feasible(y, v) if weight is None else loss.feasible(y[weight > 0], v[weight > 0])
            return Part(rows.groups, (rows.sums(slope), rows.sums(W), rows.sums(weighted)), of_rows, feasible)

    def sums(self, total: Totals) -> ArrowSums:
        """Return the total as sums."""
        scores, D, of_groups = total.of_groups
        by_level, gradient, gram, value = (np.asarray(one) for one in total.of_rows)
        cells = self.cells.matrix(self.in_cells, self.groups.n_levels)
        arrow = PairedArrow(D, by_level[1], cells, np.hstack([of_groups, by_level[2:]]), gram)
        return ArrowSums(np.concatenate([scores, by_level[0], gradient]), arrow, float(value), total.feasible)
