r"""Uncertainty of averages over rows that are themselves a sample: what single observations do to them.

With :math:`\psi_i` the score of an observation (its weight included), :math:`A^{-1}` the bread of the covariance of the coefficients, and R,
G as in :mod:`gevglm.effects.standardised`, the influence of an observation on a risk that is averaged with the weights w is

.. math:: \frac{w_i\,(F(x_i(a)'b) - R_a)}{\sum_j w_j} + G_a A^{-1} \psi_i .

The covariance of several averages is the sum over observations, or clusters, of the products of their influences; for rows with
sampling weights times :math:`n/(n-1)`, with n observations or clusters, as surveys have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gevglm.covariance.survey import design_variance, influence_variance
from gevglm.data.grouping import Grouping
from gevglm.data.row_weights import RowWeights
from gevglm.effects.linear import Uncertainty
from gevglm.effects.rows import RowGroups
from gevglm.effects.standardised import Averages
from gevglm.effects.worlds import Worlds
from gevglm.engine import Block, Reducer
from gevglm.engine.base import ArraySum, times
from gevglm.engine.linalg import dense, group_sums
from gevglm.exceptions import IncompatibleOptionsError, unknown_option

if TYPE_CHECKING:
    from gevglm.results.core import ResultsCore

TINY = np.finfo(float).tiny
COVARIATES = ("fixed", "sampled")


@dataclass(frozen=True)
class RowInfluence:
    """The influence of single observations on averages over the rows of a fit."""

    results: ResultsCore
    weights: RowWeights

    @classmethod
    def of(cls, results: ResultsCore) -> RowInfluence:
        """Return the influences of the observations of a fit; rows of several trials are so many observations."""
        return cls(results, results.row_weights)

    def covariance(self, gradient: NDArray, own: Callable[[Block], NDArray]) -> NDArray:
        r"""Return the covariance of averages over the rows, from one pass over them.

        `gradient`, of shape (m, k), is theirs by the coefficients; `own` returns, for the rows of a block, what each contributes by its own
        value, :math:`w_i (F_i - R) / \sum_j w_j`, of shape (rows, m).
        """
        by_score = self.results.normalized_cov_params @ gradient.T
        sample = self.results.model.design.sample
        if sample is not None:
            return self._by_design(sample, by_score, own)
        clusters = self.weights.clusters
        if clusters is None:
            total = self.results.model.engine().reduce(ArraySum(lambda block: self._products(block, by_score, own)))
            return total * self._factor(self.weights.observations.sum())
        sums = _ClusterSums(clusters, len(gradient), lambda block: self._influence(block, by_score, own))
        ways = zip(clusters.ways, self.results.model.engine().reduce(sums), strict=True)
        return sum(
            sign * self._factor(len(of_clusters)) * of_clusters.T @ of_clusters for (sign, _), of_clusters in ways
        )

    def _by_design(self, sample: Any, by_score: NDArray, own: Callable[[Block], NDArray]) -> NDArray:
        """Return the covariance by the design of a survey, from totals over units or by replicate weights."""
        engine, m = self.results.model.engine(), by_score.shape[1]
        if hasattr(sample, "factors"):
            weights: Any = self.results.model.design.represents

            def changes(block: Block) -> NDArray:
                ratios = sample.weights[block.rows] / weights[block.rows, None]
                return ratios.T @ sum(part * size[:, None] for part, size in self._influence(block, by_score, own))

            return influence_variance(sample, engine.reduce(ArraySum(changes)))
        sums = _ClusterSums(sample.grouping, m, lambda block: self._influence(block, by_score, own))
        (totals,) = engine.with_groups(sample.grouping).reduce(sums)
        return design_variance(sample, totals)

    def _products(self, block: Block, by_score: NDArray, own: Callable[[Block], NDArray]) -> NDArray:
        return sum((part * size[:, None]).T @ part for part, size in self._influence(block, by_score, own))

    def _influence(
        self, block: Block, by_score: NDArray, own: Callable[[Block], NDArray]
    ) -> Iterator[tuple[NDArray, NDArray]]:
        """Yield the influence of an observation of each row, and how many there are; of grouped rows, first of events, then of the others."""
        loss, linear = self.results.loss, block.linear_predictor(self.results._params)
        observations = RowWeights.of(block).observations
        through, alone = dense(block.X @ by_score), own(block) / np.maximum(observations, TINY)[:, None]
        outcomes = [(block.y, observations)]
        if block.trials is not None:
            outcomes = [
                (np.full_like(block.y, y), observations * share) for y, share in ((1.0, block.y), (0.0, 1.0 - block.y))
            ]
        for y, size in outcomes:
            factor = times(-loss.slope(y, linear), block.var)
            yield factor[:, None] * through + alone, size

    def _factor(self, n: float) -> float:
        return n / (n - 1.0) if self.results.model.sampling.covariates_sampled else 1.0


class _ClusterSums(Reducer):
    """The influence of whole clusters, for each way of clustering."""

    def __init__(self, clusters: Grouping, m: int, influence: Callable[[Block], Iterator[tuple[NDArray, NDArray]]]):
        self.clusters = clusters
        self.m = m
        self.influence = influence

    def zero(self) -> list[NDArray]:
        return [np.zeros((cluster_of.max() + 1, self.m)) for _, cluster_of in self.clusters.ways]

    def map(self, block: Block) -> list[tuple[NDArray, NDArray]]:
        codes = self.clusters.of_block(block)
        with np.errstate(all="ignore"):
            of_rows = sum(part * size[:, None] for part, size in self.influence(block))
        ones = np.ones(len(codes))
        return [group_sums(of_rows, ones, cluster_of[codes]) for _, cluster_of in self.clusters.ways]

    def combine(self, total: list[NDArray], part: list[tuple[NDArray, NDArray]]) -> list[NDArray]:
        for sums, (groups, added) in zip(total, part, strict=True):
            sums[groups] += added
        return total


def average_uncertainty(
    results: ResultsCore,
    worlds: Worlds,
    groups: RowGroups,
    found: Averages,
    influence: RowInfluence | None,
    what: str,
    combine: NDArray | None = None,
) -> Uncertainty:
    """Return that of average risks, or of their combinations by a matrix; `influence` if the rows they are averaged over are a sample."""
    gradient = found.gradient if combine is None else combine @ found.gradient
    if influence is None:
        return Uncertainty(results.delta_covariance(gradient, what), gradient, results.degrees)
    risk = results.risk_at_estimates
    totals = np.repeat(groups.totals(worlds.rows.weights), len(worlds.worlds))

    def own(block: Block) -> NDArray:
        risks = [risk.link.at(linear).cdf for linear, _ in worlds.in_block(block, risk.params)]
        weight = groups.spread(worlds.rows.weights[block.rows], block.rows)
        weights = np.repeat(weight, len(risks), axis=0).T
        own = weights / totals * (np.tile(np.column_stack(risks), len(groups)) - found.risks)
        return own if combine is None else own @ combine.T

    cov = influence.covariance(gradient, own)
    leaning = results.leaning(gradient, what)
    cov[leaning] = cov[:, leaning] = np.nan
    return Uncertainty(cov, gradient, results.degrees)


def influence_for(results: ResultsCore, covariates: Any, data: Any = None) -> RowInfluence | None:
    """Return the influences of observations if the rows that are averaged over are a sample; None if they are the population of interest.

    `covariates` is the word of the user, None for the default: rows with sampling weights are a sample.
    """
    possible = data is None and results._joint is None
    if covariates is None:
        covariates = "sampled" if results.model.sampling.covariates_sampled and possible else "fixed"
    if covariates not in COVARIATES:
        raise unknown_option("covariates", covariates, COVARIATES)
    if covariates == "fixed":
        return None
    if not possible:
        raise IncompatibleOptionsError(
            "covariates='sampled' needs the rows of the fit, and a given xi; use method='bootstrap'."
        )
    return RowInfluence.of(results)
