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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ellipj, ellipkm1

from gevglm.covariance.base import Fitted
from gevglm.engine.base import Block, Reducer, times
from gevglm.engine.linalg import Matrix, dense, vstack_rows, weighted_gram
from gevglm.losses import Loss

FEW_ROWS = 60  # of a cluster: up to here the eigenvalues of its matrix are cheaper than a quadrature
SPREAD = 1e8  # of eigenvalues, above which those of a matrix lose digits that a quadrature keeps
NO_VARIANCE = 1e-9  # share of its variance under the model below which a residual has none
LITTLE_VARIANCE = 1e-6  # share below which it is looked at more closely
DIGITS = 28.0  # minus the logarithm of the error of a quadrature


class SingularCluster(Exception):
    """A cluster determines a coefficient alone."""


@dataclass(frozen=True)
class OfCluster:
    """The rows of a cluster."""

    code: int
    X: NDArray
    derivative: NDArray
    weight: NDArray
    variance: NDArray
    residual: NDArray

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


@dataclass(frozen=True)
class Rows:
    """Rows of a fit, repeated rows as one: each stands for m copies through factors of the root of m."""

    codes: NDArray  # cluster
    X: Matrix
    derivative: NDArray  # of the mean, so that D = diag(derivative) X
    weight: NDArray  # so that E = diag(weight) X
    variance: NDArray  # of a residual
    residual: NDArray

    @classmethod
    def of(cls, fit: Fitted, codes: Callable[[Block], NDArray]) -> Rows:
        """Return the rows of a fit that have weight and can have either outcome."""
        parts = fit.engine.reduce(_RowsOf(fit.loss, fit.params, codes))
        columns = (np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True))
        found, *others = columns
        return cls(found, vstack_rows(*(part.X for part in parts)), *others)

    @property
    def columns(self) -> tuple[NDArray, ...]:
        """Everything but the design."""
        return self.codes, self.derivative, self.weight, self.variance, self.residual

    def by_cluster(self) -> Iterator[OfCluster]:
        """Yield each cluster."""
        in_order = bool((self.codes[1:] >= self.codes[:-1]).all())
        order = None if in_order else np.argsort(self.codes, kind="stable")
        codes = self.codes if order is None else self.codes[order]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(codes)], strict=True):
            rows = slice(start, end) if order is None else order[start:end]
            columns = (self.derivative[rows], self.weight[rows], self.variance[rows], self.residual[rows])
            yield OfCluster(int(codes[start]), dense(self.X[rows]), *columns)


class _RowsOf(Reducer):
    def __init__(self, loss: Loss, params: NDArray, codes: Callable[[Block], NDArray]):
        self.loss = loss
        self.params = params
        self.codes = codes

    def zero(self) -> list[Rows]:
        return []

    def map(self, block: Block) -> list[Rows]:
        with np.errstate(all="ignore"):
            point = self.loss.link.at(block.linear_predictor(self.params))
            copies = times(np.ones_like(block.y), block.freq, block.trials)
            root, precision = np.sqrt(copies), 1.0 if block.var is None else block.var
            columns = (
                self.codes(block),
                root * point.pdf,
                root * precision * self.loss.residual_factor_at(point),
                point.cdf * point.sf / precision,
                root * np.where(block.y > 0.5, point.sf - (1.0 - block.y), block.y - point.cdf),
            )
        used = (copies > 0) & (columns[3] > 0) & np.isfinite(columns[3])
        if used.all():
            return [Rows(columns[0], block.X, *columns[1:])]
        codes, *others = (column[used] for column in columns)
        return [Rows(codes, block.X[used], *others)]

    def combine(self, total: list[Rows], part: list[Rows]) -> list[Rows]:
        return total + part


@dataclass(frozen=True)
class Corrected:
    """Clusters with corrected residuals: one entry for each."""

    codes: NDArray
    scores: NDArray  # of shape (G, k)
    # E'A'(Theta)AE, E'A'D and E'A'(Theta)E, each of shape (G, k, k), where degrees of freedom were asked for
    products: tuple[NDArray, NDArray, NDArray] | None
    M: NDArray
    N: NDArray


def corrected(fit: Fitted, codes: Callable[[Block], NDArray], kind: str, with_products: bool = False) -> Corrected:
    """Return the clusters with residuals as CR2 and CR3 correct them, as they are for other kinds.

    Raises SingularCluster with the code of a cluster that has no correction.
    """
    rows, M = Rows.of(fit, codes), fit.bread
    N = M @ dense(weighted_gram(rows.X, rows.weight**2 * rows.variance)) @ M
    correction = correction_of(kind, M, N, fit.loss.is_likelihood)
    found, scores, products = [], [], []
    for cluster in rows.by_cluster():
        try:
            if with_products:
                adjusted = correction.of_columns(cluster)
                spread = cluster.variance[:, None] * adjusted
                products.append((adjusted.T @ spread, adjusted.T @ cluster.D, spread.T @ cluster.E))
                scores.append(cluster.residual @ adjusted)
            else:
                scores.append(correction.score(cluster))
        except np.linalg.LinAlgError:
            raise SingularCluster(cluster.code) from None
        found.append(cluster.code)
    stacked = tuple(np.array(part) for part in zip(*products, strict=True)) if with_products else None
    return Corrected(np.array(found), np.array(scores), stacked, M, N)  # type: ignore[arg-type]


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
        smallest_share = 1.0 - np.linalg.eigvalsh(half.T @ cluster.information @ half)[-1]
        if smallest_share > LITTLE_VARIANCE:
            bounds = variance.min() ** 2 * smallest_share, variance.max() ** 2
            return root * _inverse_root(variance**2, root * cluster.D, N - 2.0 * M, root * right, *bounds)
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
        return root * _inverse_root(variance**2, U, inner, Z, smallest, largest)
    middle = float(np.median(variance**2))
    padded = np.block(
        [[inner, np.zeros((len(inner), free.sum()))], [np.zeros((free.sum(), len(inner))), middle * np.eye(free.sum())]]
    )
    smallest = min(smallest * (variance.min() / variance.max()) ** 2, middle)
    found = _inverse_root(variance**2, np.hstack([U, null]), padded, Z, smallest, max(largest, middle))
    return root * (found - null @ (null.T @ Z) / np.sqrt(middle))


def _inverse_root(diagonal: NDArray, U: NDArray, C: NDArray, Z: NDArray, smallest: float, largest: float) -> NDArray:
    """Return (diag + U C U')^(-1/2) Z, for eigenvalues between two bounds.

    By the quadrature of Hale, Higham and Trefethen (2008, method 3), which needs solves of the size of C only; the products of all of its
    points are made at once.
    """
    if len(Z) <= FEW_ROWS and largest < SPREAD * smallest:
        values, vectors = np.linalg.eigh(np.diag(diagonal) + U @ C @ U.T)
        return (vectors / np.sqrt(values)) @ (vectors.T @ Z)
    ratio = smallest / largest
    period = float(ellipkm1(ratio))
    points = int(np.ceil((3.0 - np.log(ratio)) * DIGITS / (2.0 * np.pi**2))) + 1
    sn, cn, dn, _ = ellipj((np.arange(points) + 0.5) * period / points, 1.0 - ratio)
    shifts = smallest * (sn / cn) ** 2
    weights = 2.0 * period * np.sqrt(smallest) * dn / (np.pi * points * cn**2)
    n, c = U.shape
    inverse = 1.0 / (diagonal + shifts[:, None])  # of shape (points, n), so that loops go over the rows
    P = (inverse[:, None, :] * np.ascontiguousarray(U.T)).reshape(points * c, n)
    of_U, of_Z = (P @ U).reshape(points, c, c), (P @ Z).reshape(points, c, -1)
    inside = weights[:, None, None] * (C @ np.linalg.solve(np.eye(c) + of_U @ C, of_Z))
    return (weights @ inverse)[:, None] * Z - P.T @ inside.reshape(points * c, -1)
