"""The wild bootstrap of the scores of clusters for a fit of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gevglm.bias.adjusted import MeanReduction
from gevglm.engine.base import Block, Reducer, times
from gevglm.engine.linalg import ROWS_OF_A_GROUP, dense, group_sums, quadratic_forms, runs, slices, weighted_gram
from gevglm.estimation.estimate import Problem
from gevglm.inference.wild_clusters import Derivatives, OfHypothesis, WildBootstrap, restricted


@dataclass(frozen=True)
class WildScores(WildBootstrap):
    """A fit whose hypotheses are tested: what is summed over its rows, by cluster."""

    problem: Problem
    params: NDArray
    covariance: NDArray
    codes: Callable[[Block], NDArray]
    n_clusters: int
    bias: MeanReduction | None = None

    def information(self) -> tuple[NDArray, NDArray]:
        reducer = _ClusterInformation(self.problem, self.params, self.codes, self.n_clusters)
        information = self.problem.engine.reduce(reducer)
        return information.sum(axis=0), information

    def at_hypotheses(self, contrasts: NDArray, values: NDArray) -> list[OfHypothesis | None]:
        with np.errstate(all="ignore"):  # far from the estimates, where there may be no others
            points, settled = restricted(self._evaluate, self._starts(contrasts, values), contrasts)
            inverses = [self.problem.information_at(point)[1] for point in points]
        through = [inverse @ contrast for inverse, contrast in zip(inverses, contrasts, strict=True)]
        scores, products = self.problem.engine.reduce(_ClusterScores(self, points, inverses, through))
        return [
            OfHypothesis(scores[i] @ through[i], products[i], scores[i] @ inverses[i]) if there else None
            for i, there in enumerate(settled)
        ]

    def _starts(self, contrasts: NDArray, values: NDArray) -> list[NDArray]:
        """Return where the search for the estimates under hypotheses begins: a step from those of the fit."""
        lead = contrasts @ self.covariance
        size = np.einsum("ij,ij->i", lead, contrasts)
        return list(self.params + lead * ((values - contrasts @ self.params) / size)[:, None])

    def _evaluate(self, points: list[NDArray]) -> Iterable[Derivatives | None]:
        problem = self.problem if self.bias is None else self.bias.as_problem(self.problem)
        for sums in problem.objective().at_all(points):
            good = bool(sums.feasible) and sums.factor.positive and np.isfinite(sums.gradient).all()
            yield (sums.gradient, sums.factor) if good else None


class _ClusterScores(Reducer):
    """The scores of clusters and their second derivatives times a vector, at several points."""

    def __init__(self, fit: WildScores, points: list[NDArray], inverses: list[NDArray], vectors: list[NDArray]):
        self.loss, self.codes, self.bias = fit.problem.loss, fit.codes, fit.bias
        self.points, self.vectors = points, vectors
        matrices, engine = zip(points, inverses, strict=True), fit.problem.engine
        self.matrices = [None if fit.bias is None else fit.bias.matrix(engine, self.loss, *at) for at in matrices]
        self.shape = (len(points), fit.n_clusters, len(fit.params))

    def zero(self) -> tuple[NDArray, NDArray]:
        return np.zeros(self.shape), np.zeros(self.shape)

    def map(self, block: Block) -> tuple[NDArray, NDArray, NDArray]:
        X, factors = dense(block.X), []
        with np.errstate(all="ignore"):
            for params, vector, matrix in zip(self.points, self.vectors, self.matrices, strict=True):
                point = self.loss.link.at(block.linear_predictor(params))
                slope = times(-self.loss.slope_at(block.y, point), block.weight)
                if matrix is not None and self.bias is not None:
                    slope = slope + self.bias.row_shift(self.loss, block, point, quadratic_forms(block.X, matrix))
                curvature = times(self.loss.expected_curvature_at(point), block.weight)
                factors += [slope, curvature * (X @ vector)]
        codes = self.codes(block)
        groups, sums = _sums_by_group(X, np.array(factors), codes)
        return groups, sums[0::2], sums[1::2]

    def combine(
        self, total: tuple[NDArray, NDArray], part: tuple[NDArray, NDArray, NDArray]
    ) -> tuple[NDArray, NDArray]:
        groups, scores, products = part
        total[0][:, groups] += scores
        total[1][:, groups] += products
        return total


def _sums_by_group(X: NDArray, factors: NDArray, codes: NDArray) -> tuple[NDArray, NDArray]:
    """Return the groups of a block, and for each of several factors the sums of rows times the factor, of shape (factors, groups, k)."""
    order, groups, starts = runs(codes)
    if len(groups) * ROWS_OF_A_GROUP > len(codes):
        return groups, np.stack([group_sums(X, factor, codes)[1] for factor in factors])
    if order is not None:
        X, factors = X[order], factors[:, order]
    return groups, np.stack([factors[:, rows] @ X[rows] for rows in slices(starts, len(codes))], axis=1)


class _ClusterInformation(Reducer):
    """The expected second derivative of each cluster."""

    def __init__(self, problem: Problem, params: NDArray, codes: Callable[[Block], NDArray], n_clusters: int):
        self.loss, self.params, self.codes = problem.loss, params, codes
        self.shape = (n_clusters, len(params), len(params))

    def zero(self) -> NDArray:
        return np.zeros(self.shape)

    def map(self, block: Block) -> tuple[NDArray, NDArray]:
        with np.errstate(all="ignore"):
            point = self.loss.link.at(block.linear_predictor(self.params))
            weight = times(self.loss.expected_curvature_at(point), block.weight)
        X = dense(block.X)
        order, groups, starts = runs(self.codes(block))
        if order is not None:
            X, weight = X[order], weight[order]
        return groups, np.stack([weighted_gram(X[rows], weight[rows]) for rows in slices(starts, len(weight))])

    def combine(self, total: NDArray, part: tuple[NDArray, NDArray]) -> NDArray:
        groups, grams = part
        total[groups] += grams
        return total
