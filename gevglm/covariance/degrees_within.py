r"""Satterthwaite's degrees of freedom of slopes beside absorbed constants: :mod:`gevglm.covariance.degrees`, cluster by cluster.

With :math:`X_g` and K as there, of the constants and the slopes together, the products :math:`X_gKX_h'` of all pairs of clusters are all that is needed. K is
block-diagonal but for the constants' covariance with the slopes, so that they are sums over the units that two clusters share, and over the slopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gevglm.covariance.degrees import ROUNDING, Degrees
from gevglm.engine.linalg import dense


@dataclass(frozen=True)
class Products:
    """E'A'D or E'A'(Theta)E of all clusters, of the rows of the slopes: with the columns of units and of slopes."""

    units: Sequence[csr_array]  # for each slope; of shape (clusters, units)
    slopes: NDArray  # of shape (clusters, q, q)

    def of(self, half: NDArray) -> tuple[csr_array, NDArray]:
        """Return the products for a combination of the rows."""
        return sum(share * part for share, part in zip(half, self.units, strict=True)), half @ self.slopes  # type: ignore[return-value]


@dataclass(frozen=True)
class SatterthwaiteWithin(Degrees):
    """Satterthwaite's, for each contrast of the slopes its own."""

    own: NDArray  # S; of shape (clusters, q, q)
    T: Products
    R: Products
    of_units: NDArray  # M of the units, a diagonal; of shape (units,)
    M: NDArray  # of the slopes
    # N, where it is not M: of the units, of both, of shape (units, q), and of the slopes
    N: tuple[NDArray, NDArray, NDArray]

    def of_contrasts(self, contrasts: NDArray) -> NDArray:
        return np.array([self._of_one(row) for row in np.asarray(contrasts, dtype=float)])

    def of_joint_test(self, restriction: NDArray) -> tuple[float, float]:
        half = np.atleast_2d(np.asarray(restriction, dtype=float)) @ self.M
        Q, a = self._pairs(half), half @ self.own @ half.T
        values, vectors = np.linalg.eigh(a.sum(axis=0) + np.einsum("stgg->st", Q))
        kept = values > ROUNDING * values[-1]  # restrictions of coefficients that were left out do not count
        scale = vectors[:, kept] / np.sqrt(values[kept])
        a, Q = scale.T @ a @ scale, np.einsum("sa,tb,stgh->abgh", scale, scale, Q, optimize=True)
        number, p = int(kept.sum()), np.einsum("abgg->gab", Q)
        own_a, own_p = (np.einsum("gss->gs", one).sum(axis=1) for one in (a, p))
        variance = (own_a * (own_a + 2.0 * own_p)).sum()
        variance += np.einsum("gst,gts->", a, a) + 2.0 * np.einsum("gst,gts->", a, p)
        diagonal = np.einsum("ssgh->gh", Q)
        variance += (diagonal * diagonal.T).sum() + np.einsum("stgh,sthg->", Q, Q)
        eta = number * (number + 1) / variance
        return eta - number + 1.0, (eta - number + 1.0) / eta

    def _of_one(self, contrast: NDArray) -> float:
        half = contrast @ self.M
        a, Q = np.einsum("i,gij,j->g", half, self.own, half), self._pairs(half[None])[0, 0]
        q = np.diagonal(Q)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (a + q).sum() ** 2 / ((a**2).sum() + 2.0 * (a * q).sum() + (Q * Q.T).sum())

    def _pairs(self, half: NDArray) -> NDArray:
        """Return the products of all clusters for combinations of the slopes; of shape (s, s, clusters, clusters)."""
        T, R = [self.T.of(row) for row in half], [self.R.of(row) for row in half]
        found = [[self._between(T[s], R[s], T[t], R[t]) for t in range(len(half))] for s in range(len(half))]
        return np.array(found)

    def _between(self, T, R, other_T, other_R) -> NDArray:
        (t, ts), (r, rs), (u, us), (v, vs) = T, R, other_T, other_R
        of_units, crossed, of_slopes = self.N
        found = dense((t * of_units) @ u.T - (t * self.of_units) @ v.T - (r * self.of_units) @ u.T)
        found = found + ts @ of_slopes @ us.T - ts @ self.M @ vs.T - rs @ self.M @ us.T
        if crossed.any():
            found = found + (t @ crossed) @ us.T + ts @ (u @ crossed).T
        return found
