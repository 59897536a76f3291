r"""The wild bootstrap of the scores of clusters for a fit with absorbed constants.

By the second derivative at the restricted estimates, columns z minus their means in a unit are free of the constants of units:
:math:`\tilde z = z - \bar z`. With S the second derivative by the other coefficients and :math:`a = S^{-1}c`, effective scores are
:math:`u_g = a'\sum_g \tilde z l`, and what refitting changes is, with the summed scores :math:`s_{ug}` of cluster g in unit u and D the curvature of units,

.. math:: a'H_g d = \sum_g W (a'\tilde z)\,\tilde z' S^{-1}\tilde s + \sum_u \Bigl(\sum_{ug} W\,a'\tilde z\Bigr) D_u^{-1} \sum_h s_{uh},

whose second part is zero where every unit lies in one cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from gevglm.bias.adjusted import MeanReduction
from gevglm.engine.base import Block
from gevglm.engine.linalg import group_sums
from gevglm.estimation.absorbed import AbsorbedProblem
from gevglm.estimation.arrow import Arrow, BlockColumns, RowForms
from gevglm.estimation.arrow_sums import linear_predictor
from gevglm.inference.wild_clusters import Derivatives, OfHypothesis, WildBootstrap, restricted


@dataclass(frozen=True)
class WildAbsorbed(WildBootstrap):
    """A fit with absorbed constants whose hypotheses about slopes are tested."""

    problem: AbsorbedProblem
    block: Block  # all rows
    at: NDArray  # estimates of constants, levels of a second factor, and slopes
    params: NDArray  # the slopes
    covariance: NDArray
    codes: NDArray  # cluster of each row
    n_clusters: int
    bias: MeanReduction | None = None

    @cached_property
    def _rows(self) -> BlockColumns:
        return BlockColumns(self.problem.groups, self.block)

    @cached_property
    def _arrow(self) -> Arrow:
        arrow = self.problem.sums_at(self.at).information
        assert isinstance(arrow, Arrow), "two large factors have no matrix of their levels"
        return arrow

    @cached_property
    def _nested(self) -> bool:
        """Whether every unit lies in one cluster."""
        return bool((self.codes[self._rows.starts][self._rows.codes] == self.codes).all())

    def information(self) -> tuple[NDArray, Iterator[NDArray]]:
        """Return the information about the slopes, and that which is lost without each cluster."""
        (weight, _), k = self._factors(self.at, None), len(self.params)
        total = self._beside_constants(weight)
        lost = (total - self._beside_constants(np.where(self.codes == g, 0.0, weight)) for g in range(self.n_clusters))
        return total[-k:, -k:], (one[-k:, -k:] for one in lost)

    def at_hypotheses(self, contrasts: NDArray, values: NDArray) -> list[OfHypothesis | None]:
        """Return what tests of hypotheses are made of, at the estimates under each; None where there are none."""
        of_all = np.hstack([np.zeros((len(contrasts), len(self.at) - len(self.params))), contrasts])
        with np.errstate(all="ignore"):  # far from the estimates, where there may be no others
            leads = np.array([self._arrow.solve(contrast) for contrast in of_all])
            distance = (values - contrasts @ self.params) / np.einsum("ij,ij->i", leads, of_all)
            points, settled = restricted(self._evaluate, list(self.at + leads * distance[:, None]), of_all)
            found = zip(points, contrasts, settled, strict=True)
            return [self._of(point, contrast) if there else None for point, contrast, there in found]

    def _evaluate(self, points: list[NDArray]) -> Iterator[Derivatives | None]:
        for point in points:
            sums = self.problem.sums_at(point) if self.bias is None else self.problem.adjusted_sums(self.bias, point)
            yield (sums.gradient, sums.information) if sums.finite else None

    def _of(self, point: NDArray, contrast: NDArray) -> OfHypothesis:
        """Return what the test of a contrast is made of, at the estimates under the hypothesis."""
        sums, forms = self.problem.leverages_at(point)
        arrow, rows = sums.information, self._rows
        assert isinstance(arrow, Arrow)
        curvature, score = self._factors(point, forms)
        Z = rows.free_of_groups(arrow.upper)
        a = arrow.inverse[:, len(arrow.inverse) - len(contrast) :] @ contrast
        along = curvature * (Z @ a)
        scores, through = (self._by_cluster(factor, Z) for factor in (score, along))
        if self._nested:
            return OfHypothesis(scores @ a, through, scores @ arrow.inverse)
        shape = self.n_clusters, len(arrow.diagonal)
        moved, given = (coo_array((value, (self.codes, rows.codes)), shape).tocsr() for value in (along, score))
        by_units = (moved @ (given / arrow.diagonal).T).toarray()
        right = np.hstack([scores @ arrow.inverse, np.eye(self.n_clusters)])
        return OfHypothesis(scores @ a, np.hstack([through, by_units]), right)

    def _factors(self, point: NDArray, forms: RowForms | None) -> tuple[NDArray, NDArray]:
        """Return the expected curvature of each row, and what its columns are multiplied with in the score."""
        loss, block = self.problem.loss, self.block
        with np.errstate(all="ignore"):
            at = loss.link.at(linear_predictor(self._rows, block, point))
            score = block.weighted(-loss.slope_at(block.y, at))
            if self.bias is not None and forms is not None:
                score = score + self.bias.row_shift(loss, block, at, forms.of(self._rows))
            return block.weighted(loss.expected_curvature_at(at)), score

    def _by_cluster(self, factor: NDArray, Z: NDArray) -> NDArray:
        sums = np.zeros((self.n_clusters, Z.shape[1]))
        groups, found = group_sums(Z, factor, self.codes)
        sums[groups] = found
        return sums

    def _beside_constants(self, weight: NDArray) -> NDArray:
        """Return the information of weighted rows about what the constants of units leave of the other columns; without levels, of slopes."""
        D, rows = self._rows.sums(weight), self._rows
        B, gram = rows.moments(weight)
        left = gram - np.divide(B, D, out=np.zeros_like(B), where=D > 0.0) @ B.T
        m = rows.n_levels
        return left[m:, m:] - left[m:, :m] @ np.linalg.lstsq(left[:m, :m], left[:m, m:], rcond=1e-12)[0] if m else left
