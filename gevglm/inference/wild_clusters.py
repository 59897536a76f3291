r"""Wild bootstrap of the scores of clusters, with the hypothesis imposed: tests that hold with few clusters.

At the estimates :math:`\tilde b` under :math:`c'b = c_0`, with :math:`s_g` the score of cluster g, :math:`H_g` its expected second derivative,
:math:`H = \sum H_g` and :math:`a = H^{-1}c`, the effective scores are :math:`u_g = a's_g`, and with :math:`d = H^{-1} \sum_g s_g`

.. math:: T_{KS} = \frac{(\sum u_g)^2}{\sum u_g^2}, \qquad T_{WL} = \frac{(\sum u_g)^2}{\sum_g (u_g - a'H_g d)^2}.

The first is that of Kline and Santos (2012); the second divides by a cluster-robust variance at the refitted estimates, linearised (the restricted
bootstrap of MacKinnon, Nielsen and Webb). The distribution is that of the same statistics with every score multiplied by an independent weight of
mean 0 and variance 1: Rademacher's, :math:`\pm 1`, or Webb's, :math:`\pm\sqrt{1/2}, \pm 1, \pm\sqrt{3/2}`. Where they are few, all
vectors of weights are used, and nothing is random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gevglm.bias.adjusted import MeanReduction
from gevglm.engine.base import Block, Engine, Reducer, times
from gevglm.engine.linalg import dense, group_sums, quadratic_forms, weighted_gram
from gevglm.estimation.estimate import Problem

_SIDE = np.sqrt([0.5, 1.0, 1.5])
WEIGHTS = {"rademacher": np.array([-1.0, 1.0]), "webb": np.concatenate([-_SIDE[::-1], _SIDE])}
STATISTICS = ("WL", "KS")
TIES = 1e-10  # share by which statistics that are equal may differ
UNIDENTIFIED = 1e-9  # share of its information below which a coefficient has none
SETTLED = 1e-20  # squared distance to a solution, in standard errors
CLOSE = 1e-10  # what is good enough after all rounds
ROUNDS = 60
HALVINGS = 12
AT_ONCE = 1 << 22  # numbers of draws times clusters
FAR = 64  # standard errors, beyond which an interval has no end
PRECISION = 1e-4  # of limits, in standard errors


@dataclass(frozen=True)
class Draws:
    """Vectors of weights of clusters: all there are, or some of them drawn."""

    n_clusters: int
    word: str
    number: int  # of vectors that are drawn, where not all are used
    seed: int

    @property
    def enumerated(self) -> bool:
        """Whether all vectors are used."""
        return len(WEIGHTS[self.word]) ** self.n_clusters <= self.number

    @property
    def used(self) -> int:
        """The vectors that are used, out of all or drawn; opposite ones give the same statistic."""
        return len(WEIGHTS[self.word]) ** self.n_clusters if self.enumerated else self.number

    def in_parts(self) -> list[NDArray]:
        """Return the vectors, of shape (draws, clusters), in parts; the same ones each time."""
        values, G = WEIGHTS[self.word], self.n_clusters
        size = max(1, AT_ONCE // G)
        if not self.enumerated:
            generator = np.random.default_rng(self.seed)
            sizes = [min(size, self.number - start) for start in range(0, self.number, size)]
            return [values[generator.integers(len(values), size=(n, G))] for n in sizes]
        half = np.arange(self.used // 2)  # those with a first weight below zero; the others are their opposites
        digits = half[:, None] // len(values) ** np.arange(G) % len(values)
        return [values[digits]]


@dataclass(frozen=True)
class OfHypothesis:
    """What the statistics of one hypothesis are made of."""

    scores: NDArray  # of shape (G, k)
    through: NDArray  # H_g a, of shape (G, k)
    inverse: NDArray  # of H, of shape (k, k)
    contrast: NDArray

    def statistics(self, weights: NDArray, kind: str) -> NDArray:
        """Return the statistics with scores multiplied by weights, of shape (draws, G)."""
        u = self.scores @ (self.inverse @ self.contrast)
        numerator = (weights @ u) ** 2
        spread = weights**2 @ u**2
        if kind == "WL":
            d = weights @ (self.scores @ self.inverse)
            crossed = weights @ (u[:, None] * self.through)
            spread = spread - 2.0 * np.einsum("ij,ij->i", d, crossed)
            spread += np.einsum("ij,ij->i", d @ (self.through.T @ self.through), d)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(numerator > 0.0, numerator / np.maximum(spread, 0.0), 0.0)

    def pvalue(self, draws: Draws, vectors: Sequence[NDArray], kind: str) -> tuple[float, float]:
        """Return the statistic and its p-value."""
        statistic = float(self.statistics(np.ones((1, len(self.scores))), kind)[0])
        at_least = sum(int((self.statistics(part, kind) >= statistic * (1.0 - TIES)).sum()) for part in vectors)
        if draws.enumerated:
            return statistic, 2 * at_least / draws.used
        return statistic, (1 + at_least) / (1 + draws.used)


@dataclass(frozen=True)
class WildScores:
    """A fit whose hypotheses are tested: what is summed over its rows, by cluster."""

    problem: Problem
    params: NDArray
    covariance: NDArray  # the inverse of the second derivative at the estimates
    codes: Callable[[Block], NDArray]
    n_clusters: int
    bias: MeanReduction | None = None
    engine: Engine = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "engine", self.problem.engine)

    def tests(self, contrasts: NDArray, values: NDArray, draws: Draws, kind: str) -> NDArray:
        """Return statistic and p-value of each hypothesis, one row each; NaN where there are no estimates under it."""
        vectors, found = draws.in_parts(), np.full((len(contrasts), 2), np.nan)
        for i, sums in enumerate(self._at_hypotheses(contrasts, values)):
            if sums is not None:
                found[i] = sums.pvalue(draws, vectors, kind)
        return found

    def intervals(self, contrasts: NDArray, draws: Draws, kind: str, alpha: float) -> NDArray:
        """Return the limits beyond which hypotheses about contrasts are rejected: the hull of what is not."""
        error = np.sqrt(np.einsum("ij,jk,ik->i", contrasts, self.covariance, contrasts))
        vectors = draws.in_parts()
        sides = np.tile([-1.0, 1.0], len(contrasts))
        rows, scale = np.repeat(contrasts, 2, axis=0), np.repeat(error, 2)
        center = rows @ self.params

        def kept(distance: NDArray, which: NDArray) -> NDArray:
            values = (center + sides * distance * scale)[which]
            sums = self._at_hypotheses(rows[which], values)
            return np.array([one is not None and one.pvalue(draws, vectors, kind)[1] > alpha for one in sums])

        inside, outside = np.zeros(len(rows)), np.full(len(rows), 1.0)
        growing = np.arange(len(rows))
        while len(growing) and outside[growing[0]] < FAR:
            still = growing[kept(outside, growing)]
            inside[still], outside[still] = outside[still], 2.0 * outside[still]
            growing = still
        outside[growing] = inside[growing] = np.inf
        while True:
            open_ = np.flatnonzero(np.isfinite(inside) & (outside > inside + PRECISION))
            if not len(open_):
                break
            middle = (inside + outside) / 2.0
            stays = kept(middle, open_)
            inside[open_[stays]], outside[open_[~stays]] = middle[open_[stays]], middle[open_[~stays]]
        return (center + sides * scale * (inside + outside) / 2.0).reshape(-1, 2)

    def undetermined(self, contrasts: NDArray) -> dict[int, int]:
        """Return the contrasts that cannot be estimated without some cluster, each with the code of such a cluster."""
        information = self.engine.reduce(_ClusterInformation(self.problem, self.params, self.codes, self.n_clusters))
        total = information.sum(axis=0)
        values, vectors = np.linalg.eigh(total)
        there = values > 1e-14 * values[-1]
        root = vectors[:, there] / np.sqrt(values[there])
        shares, directions = np.linalg.eigh(root.T @ information @ root)
        found: dict[int, int] = {}
        for g in np.flatnonzero(shares[:, -1] > 1.0 - UNIDENTIFIED):
            alone = root @ directions[g][:, shares[g] > 1.0 - UNIDENTIFIED]
            lengths = np.linalg.norm(contrasts @ alone, axis=1)
            errors = np.sqrt(np.einsum("ij,jk,ik->i", contrasts, self.covariance, contrasts))
            for i in np.flatnonzero(lengths > 1e-6 * errors):
                found.setdefault(int(i), int(g))
        return found

    def _at_hypotheses(self, contrasts: NDArray, values: NDArray) -> list[OfHypothesis | None]:
        """Return what tests of hypotheses are made of, at the estimates under each; None where there are none."""
        with np.errstate(all="ignore"):  # far from the estimates, where there may be no others
            points, inverses, settled = self._restricted(contrasts, values)
        through = [inverse @ contrast for inverse, contrast in zip(inverses, contrasts, strict=True)]
        reducer = _ClusterScores(self, points, inverses, through)
        scores, products = self.engine.reduce(reducer)
        return [
            OfHypothesis(*parts) if there else None
            for there, *parts in zip(settled, scores, products, inverses, contrasts, strict=True)
        ]

    def _restricted(self, contrasts: NDArray, values: NDArray) -> tuple[list[NDArray], list[NDArray], NDArray]:
        """Return the estimates under each hypothesis, the inverse of their second derivatives, and whether they were found; in lockstep."""
        evaluate = (self.problem if self.bias is None else self.bias.as_problem(self.problem)).objective().at_all
        lead = contrasts @ self.covariance
        size = np.einsum("ij,ij->i", lead, contrasts)
        points = list(self.params + lead * ((values - contrasts @ self.params) / size)[:, None])
        steps = [np.zeros_like(self.params)] * len(points)
        last, active = np.full(len(points), np.inf), list(range(len(points)))
        halved = np.zeros(len(points), dtype=int)
        for _ in range(ROUNDS):
            if not active:
                break
            for i, sums in zip(active, evaluate([points[i] for i in active]), strict=True):
                good = bool(sums.feasible) and sums.factor.positive and np.isfinite(sums.gradient).all()
                step = _step(sums.factor.inverse(), sums.gradient, contrasts[i]) if good else np.zeros_like(self.params)
                decrement = float(-step @ sums.gradient) if good else np.inf
                if not decrement <= 4.0 * last[i] and halved[i] < HALVINGS:
                    halved[i] += 1
                    points[i], steps[i] = points[i] - steps[i] / 2.0, steps[i] / 2.0
                    continue
                points[i], steps[i], last[i], halved[i] = points[i] + step, step, decrement, 0
            active = [i for i in active if last[i] > SETTLED and halved[i] < HALVINGS]
        settled = last < CLOSE
        inverses = [self.problem.information_at(point)[1] for point in points]
        return points, inverses, settled


def _step(inverse: NDArray, gradient: NDArray, contrast: NDArray) -> NDArray:
    """Return Newton's step that does not change a contrast."""
    free, held = inverse @ gradient, inverse @ contrast
    return -(free - held * ((contrast @ free) / (contrast @ held)))


class _ClusterScores(Reducer):
    """The scores of clusters and their second derivatives times a vector, at several points."""

    def __init__(self, fit: WildScores, points: list[NDArray], inverses: list[NDArray], vectors: list[NDArray]):
        self.loss, self.codes, self.bias = fit.problem.loss, fit.codes, fit.bias
        self.engine = fit.engine
        self.points, self.vectors = points, vectors
        matrices = zip(points, inverses, strict=True)
        self.matrices = [None if fit.bias is None else fit.bias.matrix(fit.engine, self.loss, *at) for at in matrices]
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
    order = np.argsort(codes, kind="stable")
    groups, starts = np.unique(codes[order], return_index=True)
    if len(groups) * 8 > len(codes):
        return groups, np.stack([group_sums(X, factor, codes)[1] for factor in factors])
    ends = [*starts[1:], len(codes)]
    sums = [factors[:, rows] @ X[rows] for rows in (order[a:b] for a, b in zip(starts, ends, strict=True))]
    return groups, np.stack(sums, axis=1)


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
        X, codes = dense(block.X), self.codes(block)
        groups = np.unique(codes)
        return groups, np.stack([weighted_gram(X[codes == g], weight[codes == g]) for g in groups])

    def combine(self, total: NDArray, part: tuple[NDArray, NDArray]) -> NDArray:
        groups, grams = part
        total[groups] += grams
        return total
