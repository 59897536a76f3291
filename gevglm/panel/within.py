"""What is known of slopes, constants and linear predictors after a fit with absorbed constants: covariances of every kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gevglm.covariance import Cluster, Covariance, Fitted
from gevglm.covariance.clusters import BY_LEVERAGE
from gevglm.covariance.rows import Nonrobust, RowCovariance
from gevglm.engine.base import Block, times
from gevglm.engine.memory import MemoryEngine
from gevglm.estimation.absorbed import AbsorbedEstimate, AbsorbedProblem
from gevglm.estimation.arrow import Arrow, BlockColumns
from gevglm.estimation.arrow_sums import ScoreVariance, linear_predictor
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
        block = self.panel.block
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

    @cached_property
    def beside_units(self) -> Fitted:
        """The fit of the levels of a second factor and of the slopes, free of the constants of units only, which covariances by leverages know of."""
        (_, rows), arrow, m = self._whole, self.estimate.information, self.panel.groups.n_levels
        assert isinstance(arrow, Arrow), "two large factors have no leverages"
        X = rows.centred(arrow.upper)
        if rows.levels is not None:
            X = np.hstack([np.eye(m + 1)[:, :m][rows.levels] - rows.at_rows(arrow.upper[:m]).T, X])
        design = self.panel.design
        engine = MemoryEngine(X, design.y, freq=design.freq, var=design.var, trials=design.trials, offset=self.linear)
        units = self.panel.groups.codes
        return Fitted(engine, self.problem.loss, np.zeros(X.shape[1]), arrow.inverse, self.nobs, units=units)

    def covariance(self, covariance: Covariance) -> NDArray:
        """Return the covariance of the slopes."""
        if isinstance(covariance, Cluster) and covariance.kind in BY_LEVERAGE:
            m = self.panel.groups.n_levels
            return covariance.matrix(self.beside_units)[m:, m:]
        if isinstance(covariance, Nonrobust) and self.problem.loss.is_likelihood:
            return self.bread
        return covariance.matrix(self.fitted)

    def variances_of_constants(self, covariance: Covariance) -> tuple[NDArray, NDArray]:
        r"""Return the variances of the constants of the units, and of the levels of a second factor; of shape (G,) and (m,).

        Notes
        -----
        With :math:`\bar x` the means of the other columns, m the meat of rows and V the covariance of all that is no constant of a unit,

        .. math:: \frac{\sum_g m}{D_g^2} - \frac{2}{D_g} \bar x_g' S^{-1} \sum_g m \tilde x + \bar x_g' V \bar x_g.
        """
        arrow, m = self.estimate.information, self.panel.groups.n_levels
        assert isinstance(arrow, Arrow), "of two large factors there are no variances of constants"
        means = arrow.upper.copy()
        means[m:] += self.panel.centres
        uncentred = replace(arrow, upper=means, lower=means)
        if isinstance(covariance, Nonrobust) and self.problem.loss.is_likelihood:
            return uncentred.variances_of_constants, np.diagonal(arrow.inverse)[:m]
        forms = self._meat(covariance, arrow.upper).forms(uncentred)
        return forms.constant, np.diagonal(forms.matrix)[:m]

    def _meat(self, covariance: Covariance, means: NDArray) -> ScoreVariance:
        """Return the variance of the summed scores of the constants of units, and of the other columns."""
        (block, rows), fit = self._whole, self.fitted
        point = self.problem.loss.link.at(self.linear)
        if isinstance(covariance, RowCovariance):
            free = Block(0, fit.engine.X, block.y, block.freq, block.var, block.trials)  # type: ignore[attr-defined]
            m = covariance.factor(fit) * covariance.row_variance(fit, free, point)
            return ScoreVariance.centred(rows.sums(m), *rows.moments(m), means)
        assert isinstance(covariance, Cluster)
        scores = times(self.problem.loss.slope_at(block.y, point), block.weight)
        ways = [(weight, self._of_clusters(codes, scores, means)) for weight, codes in covariance.weighted_ways(fit)]
        return ScoreVariance(*(np.sum([weight * part[j] for weight, part in ways], axis=0) for j in range(3)))

    def _of_clusters(self, codes: NDArray, scores: NDArray, means: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Return the sums over clusters of the products of their scores, by the constants of units and by the other columns minus their means."""
        block, rows = self._whole
        m, n = self.panel.groups.n_levels, int(codes.max()) + 1
        in_units = csr_array((scores, (codes, self.panel.groups.codes)), (n, len(self.panel.groups)))
        summed = [np.bincount(codes, scores * column, n) for column in block.X.T]
        if rows.levels is not None:
            summed = [*csr_array((scores, (codes, rows.levels)), (n, m + 1)).toarray().T[:m], *summed]
        of_columns = np.array(summed).T - in_units @ means.T
        return (in_units**2).sum(axis=0), (in_units.T @ of_columns).T, of_columns.T @ of_columns


def nested(codes: NDArray, clusters: NDArray) -> bool:
    """Whether all rows of each group are in one cluster."""
    first = np.zeros(int(codes.max()) + 1, dtype=clusters.dtype)
    first[codes] = clusters
    return bool((first[codes] == clusters).all())
