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

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

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
    """What the statistics of one hypothesis are made of: with L and R, a'H_g d of cluster g is row g of L R'w, for weights w."""

    effective: NDArray  # scores u, of shape (G,)
    left: NDArray  # of shape (G, r)
    right: NDArray  # of shape (G, r)

    def statistics(self, weights: NDArray, kind: str) -> NDArray:
        """Return the statistics with scores multiplied by weights, of shape (draws, G)."""
        u = self.effective
        numerator = (weights @ u) ** 2
        spread = weights**2 @ u**2
        if kind == "WL":
            d = weights @ self.right
            crossed = weights @ (u[:, None] * self.left)
            spread = spread - 2.0 * np.einsum("ij,ij->i", d, crossed)
            spread += np.einsum("ij,ij->i", d @ (self.left.T @ self.left), d)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(numerator > 0.0, numerator / np.maximum(spread, 0.0), 0.0)

    def pvalue(self, draws: Draws, vectors: Sequence[NDArray], kind: str) -> tuple[float, float]:
        """Return the statistic and its p-value."""
        statistic = float(self.statistics(np.ones((1, len(self.effective))), kind)[0])
        at_least = sum(int((self.statistics(part, kind) >= statistic * (1.0 - TIES)).sum()) for part in vectors)
        if draws.enumerated:
            return statistic, 2 * at_least / draws.used
        return statistic, (1 + at_least) / (1 + draws.used)


class Curved(Protocol):
    """A second derivative, or one that stands for it."""

    def solve(self, rhs: NDArray) -> NDArray:
        """Return the solution x of H x = rhs."""


Derivatives = tuple[NDArray, Curved]  # gradient and second derivative


class WildBootstrap(ABC):
    """Tests of hypotheses about coefficients of a fit, by cluster."""

    params: NDArray
    covariance: NDArray  # the inverse of the second derivative at the estimates
    n_clusters: int

    @abstractmethod
    def at_hypotheses(self, contrasts: NDArray, values: NDArray) -> list[OfHypothesis | None]:
        """Return what tests of hypotheses are made of, at the estimates under each; None where there are none."""

    @abstractmethod
    def information(self) -> tuple[NDArray, Iterable[NDArray]]:
        """Return the information about the coefficients, and that which is lost without each cluster."""

    def tests(self, contrasts: NDArray, values: NDArray, draws: Draws, kind: str) -> NDArray:
        """Return statistic and p-value of each hypothesis, one row each; NaN where there are no estimates under it."""
        vectors, found = draws.in_parts(), np.full((len(contrasts), 2), np.nan)
        for i, sums in enumerate(self.at_hypotheses(contrasts, values)):
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
            sums = self.at_hypotheses(rows[which], values)
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
        total, lost = self.information()
        values, vectors = np.linalg.eigh(total)
        there = values > 1e-14 * values[-1]
        root = vectors[:, there] / np.sqrt(values[there])
        errors = np.sqrt(np.einsum("ij,jk,ik->i", contrasts, self.covariance, contrasts))
        found: dict[int, int] = {}
        for g, of_cluster in enumerate(lost):
            shares, directions = np.linalg.eigh(root.T @ of_cluster @ root)
            alone = root @ directions[:, shares > 1.0 - UNIDENTIFIED]
            for i in np.flatnonzero(np.linalg.norm(contrasts @ alone, axis=1) > 1e-6 * errors):
                found.setdefault(int(i), g)
        return found


def restricted(
    evaluate: Callable[[list[NDArray]], Iterable[Derivatives | None]], starts: list[NDArray], contrasts: NDArray
) -> tuple[list[NDArray], NDArray]:
    """Return the estimates under each hypothesis, and whether they were found: Newton's steps that do not change a contrast, in lockstep.

    `evaluate` returns gradients and second derivatives at points, None where there are none.
    """
    points, steps = list(starts), [np.zeros_like(start) for start in starts]
    last, active = np.full(len(points), np.inf), list(range(len(points)))
    halved = np.zeros(len(points), dtype=int)
    for _ in range(ROUNDS):
        if not active:
            break
        for i, found in zip(active, evaluate([points[i] for i in active]), strict=True):
            step = np.zeros_like(points[i]) if found is None else _step(*found, contrasts[i])
            decrement = np.inf if found is None else float(-step @ found[0])
            if not decrement <= 4.0 * last[i] and halved[i] < HALVINGS:
                halved[i] += 1
                points[i], steps[i] = points[i] - steps[i] / 2.0, steps[i] / 2.0
                continue
            points[i], steps[i], last[i], halved[i] = points[i] + step, step, decrement, 0
        active = [i for i in active if last[i] > SETTLED and halved[i] < HALVINGS]
    return points, last < CLOSE


def _step(gradient: NDArray, curved: Curved, contrast: NDArray) -> NDArray:
    free, held = curved.solve(gradient), curved.solve(contrast)
    return -(free - held * ((contrast @ free) / (contrast @ held)))
