r"""Products of two columns of a design, of which designs of few columns have few.

With the products :math:`x_a x_b` as the rows of a matrix, the cross-products :math:`\sum_i w_i x_i x_i'` under many weightings w are one matrix
product, and so are the quadratic forms :math:`x_i' A x_i` of many matrices A: faster than one after the other, and for several looks at the same rows faster
than without them.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import Block

MOST_PRODUCTS = 1 << 20  # that are remembered from one look at a likelihood to the next


class ColumnPairs:
    """The products of two columns of some rows, for every pair of columns."""

    def __init__(self, X: NDArray):
        rows, k = X.shape
        self.k = k
        columns = np.ascontiguousarray(X.T)
        self._products = np.empty((k * (k + 1) // 2, rows))
        last = 0
        for a in range(k):
            first, last = last, last + k - a
            np.multiply(columns[a:], columns[a], out=self._products[first:last])

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self._products.size

    def gram(self, weights: NDArray) -> NDArray:
        """Return X' diag(weights) X for one vector of weights."""
        return self._products.dot(weights)[_places(self.k)]

    def quadratic_form(self, matrix: NDArray) -> NDArray:
        """Return x'Ax for every row x and one symmetric matrix A."""
        a, b = _pairs(self.k)
        return (matrix[a, b] * _times(self.k)).dot(self._products)

    def third_moments(self, X: NDArray, weights: NDArray) -> NDArray:
        """Return the sum of w x_j x x' over the rows X that the products are of, for each column j; of shape (k, k, k)."""
        firsts, places = _triples(self.k)
        sums = [self._products[first:].dot(weights * X[:, j]) for j, first in enumerate(firsts)]
        return np.concatenate(sums)[places]

    def weighted_sums(self, weights: NDArray) -> NDArray:
        """Return the sum of every product over the rows, for each column of weights."""
        return np.dot(self._products, weights)

    def quadratic_forms(self, matrices: NDArray) -> NDArray:
        """Return x'Ax for every row x and each of the symmetric matrices A, of shape (rows, number of matrices)."""
        a, b = _pairs(self.k)
        return np.dot(matrices[:, a, b] * _times(self.k), self._products).T


class PairsOfBlocks:
    """The products of columns of the parts of a design, remembered where the design has at most so many of them."""

    def __init__(self, most: int):
        self.most = most
        self._known: dict[int, ColumnPairs] = {}
        self._kept = 0

    def of(self, part: Block) -> ColumnPairs:
        """Return the products of a part; it is told from others by its first row."""
        known = self._known.get(part.start)
        if known is None:
            known = ColumnPairs(part.X)
            if self._kept < self.most:
                self._known[part.start] = known
                self._kept += known.size
        return known


def symmetric(products: NDArray, k: int) -> NDArray:
    """Return symmetric matrices, of shape (points, k, k), from the columns of their upper triangles."""
    a, b = _pairs(k)
    matrices = np.empty((products.shape[1], k, k))
    matrices[:, a, b] = matrices[:, b, a] = products.T
    return matrices


@cache
def _pairs(k: int) -> tuple[NDArray, NDArray]:
    return np.triu_indices(k)


@cache
def _times(k: int) -> NDArray:
    """How often a symmetric matrix has each element of its upper triangle."""
    a, b = _pairs(k)
    return np.where(a == b, 1.0, 2.0)


@cache
def _places(k: int) -> NDArray:
    """Where each element of a symmetric matrix is in its upper triangle."""
    a, b = _pairs(k)
    places = np.empty((k, k), dtype=np.intp)
    places[a, b] = places[b, a] = np.arange(len(a))
    return places


@cache
def _triples(k: int) -> tuple[list[int], NDArray]:
    """The first pair without the columns before each column, and where each element of a symmetric tensor is among the sums over the pairs from there on."""
    firsts = [int(_places(k)[j, j]) for j in range(k)]
    starts = np.cumsum([0, *(k * (k + 1) // 2 - first for first in firsts)])
    a, b, c = np.sort(np.indices((k, k, k)), axis=0)
    return firsts, starts[a] + _places(k)[b, c] - np.array(firsts)[a]
