"""What is known of slopes, constants and linear predictors after a fit with absorbed constants: covariances of every kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gevglm.covariance import Cluster, Covariance, Fitted
from gevglm.covariance.rows import Nonrobust, RowCovariance
from gevglm.engine.base import Block, times
from gevglm.engine.memory import MemoryEngine
from gevglm.estimation.absorbed import AbsorbedEstimate, AbsorbedProblem
from gevglm.estimation.arrow import Arrow, BlockColumns
from gevglm.estimation.arrow_sums import linear_predictor
from gevglm.estimation.paired_arrow import PairedArrow
from gevglm.panel.units import Panel


@dataclass(frozen=True)
class Within:
    r"""A fit with absorbed constants as a fit of columns that are free of them.

    With the columns minus what the constants explain of them (by the curvature at the estimates), slopes have the covariance of an ordinary
    fit: bread :math:`S^{-1}`, and every meat that is known. The quadratic form of a row has a part of the constants as well.
    """

    panel: Panel
    problem: AbsorbedProblem
    estimate: AbsorbedEstimate
    nobs: float
    counted: int  # constants that count as coefficients

    @cached_property
    def _whole(self) -> tuple[Block, BlockColumns]:
        design = self.panel.design
        block = Block(0, self.panel.X, design.y, design.freq, design.var, design.trials, design.offset)
        return block, BlockColumns(self.panel.groups, block)

    @cached_property
    def linear(self) -> NDArray:
        """The linear predictors of the rows, sorted by unit."""
        block, rows = self._whole
        return linear_predictor(rows, block, self.estimate.params)

    @cached_property
    def bread(self) -> NDArray:
        """The inverse information on the slopes."""
        k, inverse = self.problem.engine.n_cols, self.estimate.information.inverse
        return inverse[len(inverse) - k :, len(inverse) - k :]

    @cached_property
    def fitted(self) -> Fitted:
        """The fit of the columns that are free of constants, at the linear predictors as offset."""
        (_, rows), arrow, m = self._whole, self.estimate.information, self.panel.groups.n_levels
        if isinstance(arrow, PairedArrow):
            return self._fitted(self._free_of_large_factors(rows, arrow), None)
        X = rows.centred(arrow.upper)
        if rows.levels is not None:
            explained = np.linalg.solve(arrow.schur[:m, :m], arrow.schur[:m, m:])
            X -= np.vstack([explained, np.zeros(X.shape[1])])[rows.levels]
            X += rows.at_rows(explained.T @ arrow.upper[:m]).T
        X = np.asfortranarray(X)
        return self._fitted(X, arrow.forms.of(rows) - np.einsum("ij,jk,ik->i", X, self.bread, X))

    def _free_of_large_factors(self, rows: BlockColumns, arrow: PairedArrow) -> NDArray:
        n, columns = len(arrow.diagonal), []
        for column, constants in zip(rows.X.T, arrow.explained, strict=True):
            columns.append(column - rows.at_rows(constants[:n]) - np.append(constants[n:], 0.0)[rows.levels])
        return np.asfortranarray(np.array(columns).T)

    def _fitted(self, X: NDArray, constants: NDArray | None) -> Fitted:
        design, k = self.panel.design, X.shape[1]
        engine = MemoryEngine(X, design.y, freq=design.freq, var=design.var, trials=design.trials, offset=self.linear)
        return Fitted(engine, self.problem.loss, np.zeros(k), self.bread, self.nobs, False, self.counted, constants)

    def covariance(self, covariance: Covariance) -> NDArray:
        """Return the covariance of the slopes."""
        if isinstance(covariance, Nonrobust) and self.problem.loss.is_likelihood:
            return self.bread
        return covariance.matrix(self.fitted)

    def variances_of_constants(self, covariance: Covariance, slopes: NDArray) -> NDArray:
        r"""Return the variances of the constants of the units, given the covariance V of the slopes; of shape (G,).

        Notes
        -----
        With :math:`\bar x` the means of the columns and m the meat of rows, or :math:`u_{cg}` the summed scores of cluster c in unit g and
        :math:`U_c` those of its columns,

        .. math:: \frac{\sum_g m}{D_g^2} - \frac{2}{D_g} \bar x_g' S^{-1} \sum_g m \tilde x + \bar x_g' V \bar x_g, \qquad
            \frac{\sum_c u_{cg}^2}{D_g^2} - \frac{2}{D_g} \bar x_g' S^{-1} \sum_c u_{cg} U_c + \bar x_g' V \bar x_g.
        """
        arrow, m = self.estimate.information, self.panel.groups.n_levels
        assert isinstance(arrow, Arrow), "of two large factors there are no variances of constants"
        means = arrow.upper.copy()
        means[m:] += self.panel.centres
        if isinstance(covariance, Nonrobust) and self.problem.loss.is_likelihood:
            inverse = arrow.inverse
            return 1.0 / arrow.diagonal + ((inverse @ means) * means).sum(axis=0)
        assert m == 0, "robust variances of constants are those of one factor"
        squares, crossed = self._meat_of_constants(covariance)
        D = arrow.diagonal
        return (
            squares / D**2
            - 2.0 / D * (means * (self.bread @ crossed)).sum(axis=0)
            + ((slopes @ means) * means).sum(axis=0)
        )

    def _meat_of_constants(self, covariance: Covariance) -> tuple[NDArray, NDArray]:
        """Return the sums of the meat over each unit, and those times the columns; of shape (G,) and (k, G)."""
        fit, groups, design = self.fitted, self.panel.groups, self.panel.design
        block = Block(0, fit.engine.X, design.y, design.freq, design.var, design.trials)  # type: ignore[attr-defined]
        point = self.problem.loss.link.at(self.linear)
        if isinstance(covariance, RowCovariance):
            m = covariance.factor(fit) * covariance.row_variance(fit, block, point)
            return groups.sums(m), groups.sums(m * block.X.T)
        assert isinstance(covariance, Cluster)
        scores = times(self.problem.loss.slope_at(block.y, point), block.weight)
        squares, crossed = np.zeros(len(groups)), np.zeros((block.X.shape[1], len(groups)))
        for weight, codes in covariance.weighted_ways(fit):
            n = int(codes.max()) + 1
            cells, place = np.unique(codes * np.int64(len(groups)) + groups.codes, return_inverse=True)
            in_cell = np.bincount(place, scores)
            cluster, unit = np.divmod(cells, len(groups))
            squares += weight * np.bincount(unit, in_cell**2, len(groups))
            for j, column in enumerate(block.X.T):
                summed = np.bincount(codes, scores * column, n)
                crossed[j] += weight * np.bincount(unit, in_cell * summed[cluster], len(groups))
        return squares, crossed


def nested(codes: NDArray, clusters: NDArray) -> bool:
    """Whether all rows of each group are in one cluster."""
    first = np.zeros(int(codes.max()) + 1, dtype=clusters.dtype)
    first[codes] = clusters
    return bool((first[codes] == clusters).all())
