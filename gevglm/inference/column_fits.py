r"""Fits of one model with many columns, of which each is in one fit: in lockstep, by matrix products.

A fit has the columns of a :class:`~gevglm.inference.score_scan.NullModel`, as its orthonormal basis, and one column g of its own. It
takes Fisher's scoring steps on the log-likelihood, or with Firth's penalty on :math:`\ell(b) + \frac12 \ln|H(b)|`, whose score has the leverages of
the rows in it; with g held at zero, the penalty is still that of the whole model, so that twice the difference of the two is the
likelihood ratio of :meth:`gevglm.BinaryGLMResults.lr_tests`. Rows in which a column is missing have no weight in its fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gevglm.estimation.pairs import ColumnPairs, symmetric
from gevglm.inference.score_scan import NullModel

BLOCK_NUMBERS = 1 << 15  # of the columns in a block of rows, so that the arrays made of them stay in the cache
STEPS = 30
FARTHEST = 25.0  # decrement of a step, for each coefficient, beyond which it is shortened
TOLERANCE = {False: 1e-20, True: 1e-18}  # decrement at the end, of scoring steps and of those with Firth's penalty


class ColumnFits(NamedTuple):
    """Fits of each column: what its coefficient is, and what the likelihood was."""

    coefficient: NDArray
    variance: NDArray  # the inverse of the information on it, given the others
    score: NDArray  # of the coefficient, given the others
    value: NDArray  # the (penalised) log-likelihood
    params: NDArray  # coefficients of the basis and of the column; of shape (m, k + 1)
    converged: NDArray


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that are fitted in lockstep."""

    null: NullModel
    columns: NDArray  # zeros where they are missing; of shape (m, n)
    present: NDArray | None = None  # where they are not missing; None for everywhere
    firth: bool = False

    def __getitem__(self, chosen: NDArray) -> ColumnGroup:
        if chosen.all():
            return self
        present = None if self.present is None else self.present[chosen]
        return ColumnGroup(self.null, self.columns[chosen], present, self.firth)

    def fit(self, start: NDArray, held: bool = False) -> ColumnFits:
        """Fit from starting values of shape (m, k + 1), with the coefficients of the columns held at theirs if that is asked for."""
        m, k = start.shape
        coefficient, variance, score, value = (np.full(m, np.nan) for _ in range(4))
        found = ColumnFits(coefficient, variance, score, value, start.copy(), np.zeros(m, dtype=bool))
        active, group, params = np.arange(m), self, start
        for _ in range(STEPS):
            with np.errstate(all="ignore"):
                looks = group.look(params)
                steps = looks.steps(held)
                decrement = np.einsum("ij,ij->i", steps, looks.score)
                steps *= np.minimum(1.0, np.sqrt(FARTHEST * k / np.maximum(decrement, 1e-300)))[:, None]
            ended = decrement <= TOLERANCE[self.firth]
            at, done = active[ended], group[ended] if ended.any() else None
            if done is not None:
                found.converged[at] = True
                found.variance[at], found.score[at] = looks.column_variance[ended], looks.column_score[ended]
                found.value[at] = done.log_likelihood(params[ended]) + 0.5 * self.firth * looks.log_determinant[ended]
            params = params + steps
            found.params[active] = params
            going = ~ended & np.isfinite(decrement)
            if not going.any():
                break
            active, group, params = active[going], group[going], params[going]
        found.coefficient[:] = np.where(found.converged, found.params[:, -1], np.nan)
        return found

    @cached_property
    def blocks(self) -> list[slice]:
        """Rows that are looked at together."""
        rows = max(256, BLOCK_NUMBERS // max(len(self.columns), 1))
        return [slice(first, first + rows) for first in range(0, len(self.null.y), rows)]

    def look(self, params: NDArray) -> Looks:
        """Return score and information at coefficients of shape (m, k + 1), with the penalty in the score."""
        m, k = len(params), params.shape[1] - 1
        products = np.zeros((k * (k + 1) // 2, m))
        score, information = np.zeros((m, k + 1)), np.zeros((m, k + 1, k + 1))
        bends = np.empty(self.columns.shape) if self.firth else None
        loss = self.null.loss
        for rows in self.blocks:
            basis, columns = self.null.basis[:, rows], self.columns[:, rows]
            point = loss.link.at(self._linear(params, rows))
            self._add_score(score, self._weighted(-loss.slope_at(self.null.y[rows], point), rows), rows)
            weights = self._weighted(loss.expected_curvature_at(point), rows)
            products += ColumnPairs(basis.T).weighted_sums(weights.T)
            weights = weights * columns
            information[:, k, :k] += weights @ basis.T
            information[:, k, k] += np.einsum("ij,ij->i", weights, columns)
            if bends is not None:
                bends[:, rows] = self._weighted(loss.mean_adjustment_at(point, np.ones(())), rows)
        information[:, :k, :k] = symmetric(products, k)
        information[:, :k, k] = information[:, k, :k]
        looks = Looks.of(score, information)
        if bends is not None:
            self._add_penalty(score, looks.inverse, bends)
        return looks

    def _add_penalty(self, score: NDArray, inverse: NDArray, bends: NDArray) -> None:
        """Add what Firth's penalty adds to the score: for each row its quadratic form, times half the slope of its weight."""
        k = inverse.shape[1] - 1
        for rows in self.blocks:
            basis, columns = self.null.basis[:, rows], self.columns[:, rows]
            quadratic = 2.0 * inverse[:, k, :k] @ basis
            quadratic += inverse[:, k, k, None] * columns
            quadratic *= columns
            quadratic += ColumnPairs(basis.T).quadratic_forms(inverse[:, :k, :k]).T
            quadratic *= bends[:, rows]
            self._add_score(score, quadratic, rows)

    def _add_score(self, score: NDArray, factors: NDArray, rows: slice) -> None:
        score[:, :-1] += factors @ self.null.basis[:, rows].T
        score[:, -1] += np.einsum("ij,ij->i", factors, self.columns[:, rows])

    def log_likelihood(self, params: NDArray) -> NDArray:
        """Return the log-likelihood at coefficients of shape (m, k + 1)."""
        loss, total = self.null.loss, np.zeros(len(params))
        with np.errstate(all="ignore"):
            for rows in self.blocks:
                point = loss.link.at(self._linear(params, rows))
                total -= self._weighted(loss.value_at(self.null.y[rows], point), rows).sum(axis=1)
        return total

    def _linear(self, params: NDArray, rows: slice) -> NDArray:
        linear = params[:, :-1] @ self.null.basis[:, rows]
        linear += params[:, -1:] * self.columns[:, rows]
        linear += self.null.linear[rows]
        return linear

    def _weighted(self, values: NDArray, rows: slice) -> NDArray:
        if self.null.counts is not None:
            values *= self.null.counts[rows]
        if self.present is not None:
            values *= self.present[:, rows]
        return values


class Looks(NamedTuple):
    """Score and information of each fit, and the inverse of the latter; not numbers where it has none."""

    score: NDArray
    information: NDArray
    inverse: NDArray
    log_determinant: NDArray

    @classmethod
    def of(cls, score: NDArray, information: NDArray) -> Looks:
        """Invert the informations, whichever of them can be."""
        return cls(score, information, *_inverses(information))

    @property
    def column_variance(self) -> NDArray:
        return self.inverse[:, -1, -1]

    @property
    def column_score(self) -> NDArray:
        """The score of the column, at the coefficients of the others that are best for its own."""
        return np.einsum("ij,ij->i", self.inverse[:, -1], self.score) / self.column_variance

    def steps(self, held: bool) -> NDArray:
        """Return scoring steps; with the coefficients of the columns held, those of the others."""
        if not held:
            return np.einsum("ijk,ik->ij", self.inverse, self.score)
        steps = np.zeros_like(self.score)
        inverse, _ = _inverses(self.information[:, :-1, :-1])
        steps[:, :-1] = np.einsum("ijk,ik->ij", inverse, self.score[:, :-1])
        return steps


def _inverses(matrices: NDArray) -> tuple[NDArray, NDArray]:
    """Return inverses of symmetric matrices, not numbers for those that are not positive, and logarithms of their determinants."""
    sign, log_determinant = np.linalg.slogdet(matrices)
    positive = (sign > 0.0) & np.isfinite(log_determinant)
    inverse = np.full_like(matrices, np.nan)
    inverse[positive] = np.linalg.inv(matrices[positive])
    return inverse, log_determinant
