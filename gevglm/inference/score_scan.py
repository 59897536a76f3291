r"""Score tests of many columns, one by one, that a fitted model leaves out.

With the residual score factors r and the weights W of the model without them, a column g has the score and the variance

.. math:: U = g'r, \qquad V = g'Wg - \lVert Q'Wg \rVert^2, \qquad Q'WQ = I,

where the columns of Q span those of the model. U / V is the first Newton step from zero, and :math:`U^2 / V` is chi-squared with one degree of
freedom. Columns come in as rows of an array, so that all of it is matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from gevglm.engine.base import times
from gevglm.losses import Loss

CANCELLED = 1e-3  # share of a column that the others leave, below which the difference of squares loses digits


@dataclass(frozen=True)
class NullModel:
    """A model without the columns to be tested, at its estimates."""

    loss: Loss
    y: NDArray  # outcomes or shares of events; of shape (n,)
    counts: NDArray | None  # observations behind each row; None for ones
    linear: NDArray  # the linear predictor
    basis: NDArray  # Q': combinations of the columns of the model, orthonormal by the weights; of shape (k, n)
    factors: NDArray  # residual score factors, and the basis times the weights; of shape (n, 1 + k)
    curvature: NDArray  # the weights W of the rows

    @classmethod
    def of(cls, loss: Loss, X: NDArray, y: NDArray, counts: NDArray | None, linear: NDArray) -> NullModel:
        """Return the model with design X at a linear predictor, that of its estimates."""
        point = loss.link.at(linear)
        residual = times(-loss.slope_at(y, point), counts)
        curvature = times(loss.expected_curvature_at(point), counts)
        triangle = np.linalg.qr(np.sqrt(curvature)[:, None] * X, mode="r")
        basis = np.ascontiguousarray(solve_triangular(triangle, np.asarray(X, dtype=float).T, trans="T"))
        return cls(loss, y, counts, linear, basis, np.column_stack([residual, (curvature * basis).T]), curvature)

    def moved(self, params: NDArray, rows: NDArray) -> NullModel:
        """Return the model of some of the rows, at other estimates: coefficients of the basis that are added to those of the model."""
        counts, linear = None if self.counts is None else self.counts[rows], self.linear + params @ self.basis
        return NullModel.of(self.loss, self.basis[:, rows].T, self.y[rows], counts, linear[rows])

    def without_the_others(self, columns: NDArray) -> NDArray:
        """Return what the columns of the model leave of others: the same tests, and no digits lost."""
        rest = columns - (columns @ self.factors[:, 1:]) @ self.basis
        rest -= (rest @ self.factors[:, 1:]) @ self.basis  # once more, against rounding
        return rest


class Scores(NamedTuple):
    """Score and variance of each column, and the share of its length that the model leaves unexplained."""

    score: NDArray
    variance: NDArray
    unexplained: NDArray


class Counts(NamedTuple):
    """What stands in each column: observations, their mean, those that are not zero (carriers), and the events among these."""

    observations: NDArray
    mean: NDArray
    carriers: NDArray
    carrier_events: NDArray


def score_statistics(null: NullModel, columns: NDArray) -> Scores:
    """Return the scores of complete columns; of shape (m, n)."""
    products = columns @ null.factors
    length = (columns * columns) @ null.curvature
    score = products[:, 0]
    variance = length - np.einsum("ij,ij->i", products[:, 1:], products[:, 1:])
    lost = variance < CANCELLED * length
    if lost.any():
        rest = null.without_the_others(columns[lost])
        score = score.copy()
        score[lost], variance[lost] = rest @ null.factors[:, 0], (rest * rest) @ null.curvature
    with np.errstate(divide="ignore", invalid="ignore"):
        return Scores(score, variance, variance / length)


def column_counts(null: NullModel, columns: NDArray, present: NDArray | None = None) -> Counts:
    """Count what stands in columns, zeros where they are missing; `present` says where they are not."""
    n = len(null.y)
    counts = np.ones(n) if null.counts is None else null.counts
    total = np.full(len(columns), counts.sum()) if present is None else present @ counts
    carriers = (columns != 0.0) @ np.column_stack([counts, counts * null.y])
    with np.errstate(invalid="ignore"):
        return Counts(total, columns @ counts / total, carriers[:, 0], carriers[:, 1])
