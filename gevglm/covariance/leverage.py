r"""Few clusters: residuals corrected for the leverage of their cluster (CR2 and CR3).

Every estimating equation here is :math:`D'Wr = 0` with :math:`D = \mathrm{diag}(F')X`, r the residuals and :math:`\Theta` their variance
under the model, :math:`\mu(1-\mu)`, whatever the loss; :math:`W\Theta = 1` for the log loss only. The score of cluster g is
:math:`s_g = E_g' A_g r_g` with E = WD. With the bread M and :math:`N = M E'\Theta E M`, residuals have the variance

.. math:: B_g = \Theta_g - \Theta_g E_g M D_g' - D_g M E_g'\Theta_g + D_g N D_g'

in cluster g, where :math:`\Theta_g` was meant, and the correction puts it right:

* CR2 (Bell and McCaffrey 2002): :math:`A_g = \Theta_g^{1/2} (\Theta_g^{1/2} B_g \Theta_g^{1/2})^{-1/2} \Theta_g^{1/2}`, so that
  :math:`A_g B_g A_g = \Theta_g` and the covariance is unbiased under the model (Pustejovsky and Tipton 2018).
* CR3: :math:`A_g = (I - D_g M E_g')^{-1}`; :math:`M s_g` is the Fisher-scoring step from the estimates to those without cluster g.

With other corrections :math:`A_g = I`. Degrees of freedom (:mod:`gevglm.covariance.degrees`) need of each cluster the k x k matrices
:math:`E'A'\Theta AE`, :math:`E'A'D` and :math:`E'A'\Theta E`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ellipj, ellipkm1

from gevglm.covariance.base import Fitted
from gevglm.covariance.rows import Nonrobust
from gevglm.engine.base import Block, Reducer, times
from gevglm.engine.linalg import Matrix, dense, runs, slices, vstack_rows, weighted_gram
from gevglm.engine.memory import each_by_threads
from gevglm.estimation.pairs import ColumnPairs, symmetric
from gevglm.losses import Loss

FEW_ROWS = 60  # of a cluster: up to here the eigenvalues of its matrix are cheaper than a quadrature
SPREAD = 1e8  # of eigenvalues, above which those of a matrix lose digits that a quadrature keeps
NO_VARIANCE = 1e-9  # share of its variance under the model below which a residual has none
LITTLE_VARIANCE = 1e-6  # share below which it is looked at more closely
MANY_CLUSTERS = 0.1  # share of the variance of residuals that the leverage of one takes, below which a series is short
ROWS_AT_ONCE = 2048  # of products of columns
ROWS_OF_THREAD = 50_000  # for each of which one more is worth its start
DIGITS = 30.0  # minus the logarithm of the error of a quadrature


class SingularCluster(Exception):
    """A cluster determines a coefficient alone."""


@dataclass(frozen=True)
class OfCluster:
    """The rows of a cluster, or of several."""

    code: int
    X: Matrix
    derivative: NDArray
    weight: NDArray
    variance: NDArray
    residual: NDArray

    @classmethod
    def joined(cls, parts: list[OfCluster]) -> OfCluster:
        """Return the rows of parts of a cluster, or of all clusters, as an array."""
        if len(parts) == 1:
            return replace(parts[0], X=dense(parts[0].X))
        columns = zip(*((p.derivative, p.weight, p.variance, p.residual) for p in parts), strict=True)
        X = vstack_rows(*(part.X for part in parts))
        return cls(parts[0].code, dense(X), *(np.concatenate(column) for column in columns))

    def taken(self, code: int, rows: NDArray, X: NDArray) -> OfCluster:
        """Return some of the rows, with other columns."""
        columns = (part[rows] for part in (self.derivative, self.weight, self.variance, self.residual))
        return OfCluster(code, X, *columns)

    @cached_property
    def D(self) -> NDArray:
        return self.derivative[:, None] * self.X

    @cached_property
    def E(self) -> NDArray:
        return self.weight[:, None] * self.X

    @cached_property
    def information(self) -> NDArray:
        """D'E."""
        return weighted_gram(self.X, self.derivative * self.weight)

    def score(self, residual: NDArray) -> NDArray:
        """Return E' times residuals."""
        return (self.weight * residual) @ self.X


class Clusters(Reducer):
    """The rows of clusters that have weight and can have either outcome, in parts that lie in one block.

    Repeated rows are one: each stands for m copies through factors of the root of m.
    """

    def __init__(self, loss: Loss, params: NDArray, codes: Callable[[Block], NDArray]):
        self.loss = loss
        self.params = params
        self.codes = codes

    def zero(self) -> dict[int, list[OfCluster]]:
        return {}

    def map(self, block: Block) -> list[OfCluster]:
        with np.errstate(all="ignore"):
            point = self.loss.link.at(block.linear_predictor(self.params))
            copies = times(np.ones_like(block.y), block.freq, block.trials)
            root, precision = np.sqrt(copies), 1.0 if block.var is None else block.var
            columns = np.array(
                [
                    root * point.pdf,
                    root * precision * self.loss.residual_factor_at(point),
                    point.cdf * point.sf / precision,
                    root * np.where(block.y > 0.5, point.sf - (1.0 - block.y), block.y - point.cdf),
                ]
            )
        codes, X, variance = self.codes(block), block.X, columns[2]
        used = (copies > 0) & (variance > 0) & np.isfinite(variance)
        if not used.all():
            codes, X, columns = codes[used], X[used], columns[:, used]
        order, groups, starts = runs(codes)
        if order is not None:
            X, columns = X[order], columns[:, order]
        of_groups = zip(groups.tolist(), slices(starts, len(codes)), strict=True)
        return [OfCluster(code, X[rows], *columns[:, rows]) for code, rows in of_groups]

    def combine(self, total: dict[int, list[OfCluster]], part: list[OfCluster]) -> dict[int, list[OfCluster]]:
        for cluster in part:
            total.setdefault(cluster.code, []).append(cluster)
        return total


@dataclass(frozen=True)
class Corrected:
    """Clusters with corrected residuals: one entry for each."""

    codes: NDArray
    scores: NDArray  # of shape (G, k)
    shares: NDArray  # the part of each cluster in the variances of the coefficients and, last, its leverage; of shape (G, k + 1)
    # E'A'(Theta)AE, E'A'D and E'A'(Theta)E, each of shape (G, k, k), where degrees of freedom were asked for
    products: tuple[NDArray, NDArray, NDArray] | None
    M: NDArray
    N: NDArray

    @property
    def has_products(self) -> bool:
        """Whether degrees of freedom follow."""
        return self.products is not None


def corrected(fit: Fitted, codes: Callable[[Block], NDArray], kind: str, with_products: bool = False) -> Corrected:
    """Return the clusters with residuals as CR2 and CR3 correct them, as they are for other kinds.

    Raises SingularCluster with the code of a cluster that has no correction.
    """
    M, clusters = fit.bread, fit.engine.reduce(Clusters(fit.loss, fit.params, codes))
    N = Nonrobust().matrix(fit)
    correction = correction_of(kind, M, N, fit.loss.is_likelihood)

    def one(code: int) -> tuple[NDArray, NDArray, tuple[NDArray, ...]]:
        """Return score, shares and products of a cluster."""
        cluster = OfCluster.joined(clusters[code])
        products: tuple[NDArray, ...] = ()
        try:
            if with_products:
                adjusted = correction.of_columns(cluster)
                spread = cluster.variance[:, None] * adjusted
                products = (adjusted.T @ spread, adjusted.T @ cluster.D, spread.T @ cluster.E)
                score = cluster.residual @ adjusted
            else:
                score = correction.score(cluster)
        except np.linalg.LinAlgError:
            raise SingularCluster(code) from None
        moved = M @ cluster.information
        return score, np.append((moved * M).sum(axis=1), np.trace(moved)), products

    codes_seen = sorted(clusters)
    workers = min(getattr(fit.engine, "threads", 1), fit.engine.n_rows // ROWS_OF_THREAD + 1)
    scores, shares, products = zip(*each_by_threads(one, codes_seen, workers), strict=True)
    stacked = tuple(np.array(part) for part in zip(*products, strict=True)) if with_products else None
    return Corrected(np.array(codes_seen), np.array(scores), np.array(shares), stacked, M, N)  # type: ignore[arg-type]


def correction_of(kind: str, M: NDArray, N: NDArray, likelihood: bool) -> _Correction:
    """Return the correction of a kind, given bread and variance of the columns."""
    kinds: dict[str, type[_Correction]] = {"CR2": _Unbiased, "CR3": _WithoutCluster}
    return kinds.get(kind, _Correction)(M, N, likelihood)


class _Correction:
    """No correction of residuals."""

    def __init__(self, M: NDArray, N: NDArray, likelihood: bool):
        self.M, self.N, self.likelihood = M, N, likelihood

    def of_columns(self, cluster: OfCluster) -> NDArray:
        """Return A'E."""
        return cluster.E

    def score(self, cluster: OfCluster) -> NDArray:
        """Return E'Ar, with the residuals r."""
        return cluster.score(cluster.residual)


class _WithoutCluster(_Correction):
    """CR3."""

    def of_columns(self, cluster: OfCluster) -> NDArray:
        return np.linalg.solve(self._kept(cluster), cluster.E.T).T

    def score(self, cluster: OfCluster) -> NDArray:
        return np.linalg.solve(self._kept(cluster), cluster.score(cluster.residual))

    def _kept(self, cluster: OfCluster) -> NDArray:
        kept = np.eye(len(self.M)) - cluster.information @ self.M
        if np.linalg.svd(kept, compute_uv=False)[-1] < NO_VARIANCE:
            raise np.linalg.LinAlgError("singular")
        return kept


class _Unbiased(_Correction):
    """CR2, whose A is symmetric."""

    def __init__(self, M: NDArray, N: NDArray, likelihood: bool):
        super().__init__(M, N, likelihood)
        values, vectors = np.linalg.eigh(2.0 * M - N)
        self.half = vectors * np.sqrt(np.maximum(values, 0.0)) if likelihood else None

    def of_columns(self, cluster: OfCluster) -> NDArray:
        return unbiased(cluster, cluster.E, self.M, self.N, self.half)

    def score(self, cluster: OfCluster) -> NDArray:
        return cluster.score(unbiased(cluster, cluster.residual[:, None], self.M, self.N, self.half)[:, 0])


def unbiased(cluster: OfCluster, right: NDArray, M: NDArray, N: NDArray, half: NDArray | None) -> NDArray:
    """Return the product of A of CR2 and a matrix; for a cluster in which some residuals have no variance, by the Moore-Penrose inverse.

    `half`, a root of 2M - N, is given for a likelihood: the variance times E is D there, and matrices have half the size.
    """
    variance, root = cluster.variance, np.sqrt(cluster.variance)[:, None]
    if half is not None:
        inside = half.T @ cluster.information @ half
        change = float(np.sqrt(np.linalg.norm(inside @ inside)))  # at least its largest eigenvalue
        if change > MANY_CLUSTERS:
            change = float(np.linalg.eigvalsh(inside)[-1])
        if 1.0 - change > LITTLE_VARIANCE:
            bounds = variance.min() ** 2 * (1.0 - change), variance.max() ** 2, change
            U = (root[:, 0] * cluster.derivative)[:, None] * cluster.X
            return root * _inverse_root(variance**2, U, N - 2.0 * M, root * right, *bounds)
    inner = np.block([[N, -M], [-M, np.zeros_like(M)]])
    outer = np.hstack([cluster.D, variance[:, None] * cluster.E])
    # the variance of residuals as a share of that under the model: one plus few eigenvalues
    basis, triangle = np.linalg.qr(outer / root)
    shares, vectors = np.linalg.eigh(np.eye(len(triangle)) + triangle @ inner @ triangle.T)
    free = shares < NO_VARIANCE
    null = np.linalg.qr(basis @ vectors[:, free] / variance[:, None])[0]
    shares = shares[~free]
    smallest = variance.min() ** 2 * min(1.0, shares.min(initial=1.0))
    largest = variance.max() ** 2 * max(1.0, shares.max(initial=1.0))
    U, Z = root * outer, root * right
    if not free.any():
        return root * _inverse_root(variance**2, U, inner, Z, smallest, largest, float(np.abs(shares - 1.0).max()))
    middle = float(np.median(variance**2))
    padded = np.block(
        [[inner, np.zeros((len(inner), free.sum()))], [np.zeros((free.sum(), len(inner))), middle * np.eye(free.sum())]]
    )
    smallest = min(smallest * (variance.min() / variance.max()) ** 2, middle)
    found = _inverse_root(variance**2, np.hstack([U, null]), padded, Z, smallest, max(largest, middle))
    return root * (found - null @ (null.T @ Z) / np.sqrt(middle))


def _inverse_root(
    diagonal: NDArray, U: NDArray, C: NDArray, Z: NDArray, smallest: float, largest: float, change: float = np.inf
) -> NDArray:
    """Return (diag + U C U')^(-1/2) Z, for eigenvalues between two bounds, which are changed by at most a share of the diagonal.

    By the quadrature of Hale, Higham and Trefethen (2008, method 3) for what U C U' changes, which needs solves of the size of C only.
    """
    if len(Z) <= FEW_ROWS and largest < SPREAD * smallest:
        values, vectors = np.linalg.eigh(np.diag(diagonal) + U @ C @ U.T)
        return (vectors / np.sqrt(values)) @ (vectors.T @ Z)
    ratio = smallest / largest
    period = float(ellipkm1(ratio))
    digits = DIGITS + np.log(min(change, 1.0))
    points = int(np.ceil((3.0 - np.log(ratio)) * digits / (2.0 * np.pi**2))) + 1
    sn, cn, dn, _ = ellipj((np.arange(points) + 0.5) * period / points, 1.0 - ratio)
    shifts = smallest * (sn / cn) ** 2
    weights = 2.0 * period * np.sqrt(smallest) * dn / (np.pi * points * cn**2)
    inverse = 1.0 / (diagonal + shifts[:, None])  # of shape (points, n)
    # after r rounds what is left out is at most change^(r + 2) of Z over the root of the diagonal
    rounds = max(int(np.ceil(DIGITS / -np.log(change))) - 2, 0) if change < MANY_CLUSTERS else len(C)
    if rounds * Z.shape[1] <= len(C) // 2:
        changes = [weights @ _iterated(U, C, inverse * column, inverse, rounds) for column in Z.T]
    else:
        changes = _solved(U, C, Z, inverse, weights)
    return Z / np.sqrt(diagonal)[:, None] - np.transpose(changes)


def _iterated(U: NDArray, C: NDArray, of_z: NDArray, inverse: NDArray, rounds: int) -> NDArray:
    """Return R U C (I + U'R U C)^-1 U'R z for each diagonal R, in one row, where U C U' changes little: by its series."""
    first = solution = of_z @ U
    for _ in range(rounds):
        found = (solution @ C) @ U.T
        found *= inverse
        solution = first - found @ U
    return (solution @ C) @ U.T * inverse


def _solved(U: NDArray, C: NDArray, Z: NDArray, inverse: NDArray, weights: NDArray) -> list[NDArray]:
    """Return the sum over the points of the same times weights, for each column of Z; the cross-products of all points are one matrix product."""
    parts = (slice(start, start + ROWS_AT_ONCE) for start in range(0, len(U), ROWS_AT_ONCE))
    products: Any = sum(ColumnPairs(U[rows]).weighted_sums(inverse[:, rows].T) for rows in parts)
    of_U = symmetric(products, len(C))
    of_Z = np.stack([(inverse * column) @ U for column in Z.T], axis=2)
    inside = weights[:, None, None] * (C @ np.linalg.solve(np.eye(len(C)) + of_U @ C, of_Z))
    return [np.einsum("nj,jn->n", U @ column, inverse) for column in inside.T]
