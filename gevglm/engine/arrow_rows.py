"""Products of sparse rows whose columns are known to make an arrow: summed level by level, without sparse products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from gevglm.engine import sparse
from gevglm.engine.arrow_matrix import ArrowMatrix
from gevglm.engine.cholesky import LARGE_MATRIX

if TYPE_CHECKING:
    from gevglm.engine.base import Block

MOST_KEPT = 1 << 25  # numbers of blocks that are kept from one pass to the next
MOST_BESIDE = (
    64  # columns beside the shaft, up to which the sums of each of them by level are quicker than sparse products
)


@dataclass(frozen=True)
class ByLevel:
    """The rows of a block, of which each has one level at most: its place and value there, and what is beside the levels."""

    first: int  # place of the first level that the block has
    codes: NDArray  # of rows that have a level, counted from it
    own: Any  # which rows these are
    values: NDArray
    beside: NDArray  # of shape (p, rows)

    def weighted_gram(self, levels: Levels, weights: NDArray) -> ArrowPart:
        """Return X' diag(weights) X."""
        size = int(self.codes.max()) + 1
        weighted = self.beside * weights
        per_row = weights[self.own] * self.values
        crossed = np.array([np.bincount(self.codes, per_row * column[self.own], size) for column in self.beside])
        along = np.bincount(self.codes, per_row * self.values, size)
        return ArrowPart(levels, self.first, along, crossed, weighted @ self.beside.T)


class Levels:
    """The columns of a sparse design that are levels of one factor, so that no row has two of them, and those beside them."""

    def __init__(self, shaft: NDArray, rest: NDArray):
        self.shaft, self.rest = shaft, rest
        self._places = np.empty(
            len(shaft) + len(rest), dtype=np.intp
        )  # in the shaft; counted backwards from -1, beside it
        self._places[shaft], self._places[rest] = np.arange(len(shaft)), ~np.arange(len(rest))
        self._known: dict[
            int, ByLevel | None
        ] = {}  # blocks by their first row: what they are does not change between passes
        self._room = MOST_KEPT

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_known": {}}

    def weighted_gram(self, block: Block, weights: NDArray) -> ArrowPart | csr_array:
        """Return X' diag(weights) X of one block; a sparse matrix where a row has two of the levels after all."""
        rows = self._known[block.start] if block.start in self._known else self._arranged(block)
        X: Any = block.X
        return sparse.weighted_gram(X, weights) if rows is None else rows.weighted_gram(self, weights)

    def _arranged(self, block: Block) -> ByLevel | None:
        X: Any = block.X
        places, rows = self._places[X.indices], np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        on_shaft = places >= 0
        own, codes = rows[on_shaft], places[on_shaft]
        if len(self.rest) > MOST_BESIDE or not len(codes) or (np.diff(own) == 0).any():
            self._known[block.start] = None
            return None
        beside = np.zeros((len(self.rest), X.shape[0]))
        beside[~places[~on_shaft], rows[~on_shaft]] = X.data[~on_shaft]
        first = int(codes.min())
        all_rows = len(own) == X.shape[0]
        found = ByLevel(first, codes - first, slice(None) if all_rows else own, X.data[on_shaft], beside)
        self._room -= beside.size
        if self._room > 0:
            self._known[block.start] = found
        return found


@dataclass(slots=True)
class ArrowPart:
    """An arrow of which a stretch of the shaft is not zero: the products of the rows of a block."""

    levels: Levels
    first: int
    along: NDArray
    crossed: NDArray
    beside: NDArray
    ndim = 2

    @property
    def size(self) -> int:
        """Numbers that are kept."""
        return self.crossed.size

    def added_to(self, total: ArrowMatrix) -> ArrowMatrix:
        """Add the part to a whole arrow, in place."""
        stretch = slice(self.first, self.first + len(self.along))
        total.along[stretch] += self.along
        total.crossed[:, stretch] += self.crossed
        total.beside += self.beside
        return total

    def whole(self) -> ArrowMatrix:
        """Return the whole arrow."""
        shaft, rest = self.levels.shaft, self.levels.rest
        G, p = len(shaft), len(rest)
        return self.added_to(ArrowMatrix(shaft, rest, np.zeros(G), np.zeros((p, G)), np.zeros((p, p))))


def add_products(total: Any, part: Any) -> Any:
    """Return the sum of products of rows, those of sparse rows with many columns as an arrow or a sparse matrix; a total without shape is zero."""
    if isinstance(total, ArrowPart):
        total = total.whole()
    if isinstance(part, ArrowPart):
        if isinstance(total, ArrowMatrix):
            return part.added_to(total)
        part = part.whole()
        return part if total.ndim == 0 else csr_array(part.toarray()) + total
    if isinstance(total, ArrowMatrix):
        return csr_array(total.toarray()) + part
    if not issparse(part):
        if total.ndim == 0:
            return part
        total += part
        return total
    if total.ndim == 0:
        return part if part.shape[0] >= LARGE_MATRIX else part.toarray()
    return total + part if issparse(total) else sparse.add(total, part)
