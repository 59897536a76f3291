r"""Degrees of freedom of t and F tests: given, or Satterthwaite's by what the model says of the variance of a cluster-robust variance.

The variance of :math:`c'b` that CR2, or another kind, estimates is a quadratic form in outcomes that the model takes as independent.
With u = Mc and, for cluster g, the products :math:`S_g = E'A'\Theta AE`, :math:`T_g = E'A'D`, :math:`R_g = E'A'\Theta E` of
:mod:`gevglm.covariance.leverage`, put :math:`a_g = u'S_gu`, :math:`X_g = [u'T_g, u'R_g]`, :math:`K = [[N, -M], [-M, 0]]`,
:math:`q_g = X_gKX_g'` and :math:`Y = \sum_g X_g'X_g`. Then

.. math:: \mathrm{df} = \frac{\bigl(\sum_g (a_g + q_g)\bigr)^2}{\sum_g a_g^2 + 2\sum_g a_gq_g + \mathrm{tr}(KYKY)}

(Bell and McCaffrey 2002). Joint tests of q restrictions compare Wald's statistic W as Hotelling's, the "approximate Hotelling's T-squared,
Zhang" of Tipton and Pustejovsky (2015): :math:`\frac{\eta-q+1}{\eta q}W` is F with q and :math:`\eta-q+1` degrees of freedom. Both are those of R's
clubSandwich (``coef_test(test = "Satterthwaite")``, ``Wald_test(test = "HTZ")``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from gevglm.covariance.leverage import Corrected
from gevglm.engine.linalg import Matrix, dense

AT_ONCE = 1 << 22  # numbers of an intermediate array
ROUNDING = 1e-12  # of eigenvalues, as a share of the largest


class Degrees(ABC):
    """Degrees of freedom of tests of linear combinations of the coefficients."""

    note: str = ""  # for the summary

    @abstractmethod
    def of_contrasts(self, contrasts: NDArray) -> NDArray:
        """Return those of the t tests of contrasts, one row each."""

    @abstractmethod
    def of_joint_test(self, restriction: NDArray) -> tuple[float, float]:
        """Return those of the denominator of an F test of restrictions, one row each, and what Wald's statistic over their number is multiplied by."""

    def distribution(self, contrasts: Matrix) -> Any:
        """Return the t distribution that tests of contrasts go by, one for each row."""
        return t(self.of_contrasts(dense(contrasts)))


def reference(degrees: Degrees | None, contrasts: Matrix) -> Any:
    """Return the distribution that tests of linear combinations of the coefficients go by: normal without degrees of freedom, else t, one for each."""
    return norm() if degrees is None else degrees.distribution(contrasts)


@dataclass(frozen=True)
class Given(Degrees):
    """The same for all tests."""

    df: float
    note: str = ""

    def of_contrasts(self, contrasts: NDArray) -> NDArray:
        return np.full(len(contrasts), self.df)

    def distribution(self, contrasts: Matrix) -> Any:
        return t(self.df)

    def of_joint_test(self, restriction: NDArray) -> tuple[float, float]:
        return self.df, 1.0


@dataclass(frozen=True)
class OfColumns(Degrees):
    """Those of contrasts of some of the coefficients that others are known of; coefficients that these do not have do not count."""

    known: Degrees
    places: NDArray  # of each coefficient among those that are known; -1 for none
    size: int  # how many are known

    def of_contrasts(self, contrasts: NDArray) -> NDArray:
        return self.known.of_contrasts(self._placed(contrasts))

    def of_joint_test(self, restriction: NDArray) -> tuple[float, float]:
        return self.known.of_joint_test(self._placed(restriction))

    def _placed(self, contrasts: NDArray) -> NDArray:
        contrasts, there = np.atleast_2d(np.asarray(contrasts, dtype=float)), self.places >= 0
        placed = np.zeros((len(contrasts), self.size))
        placed[:, self.places[there]] = contrasts[:, there]
        return placed


@dataclass(frozen=True)
class Satterthwaite(Degrees):
    """Satterthwaite's, for each contrast its own."""

    products: tuple[NDArray, NDArray, NDArray]  # S, T and R, each of shape (G, k, k)
    M: NDArray
    N: NDArray

    @classmethod
    def of(cls, found: Corrected) -> Satterthwaite:
        """Return those of clusters with corrected residuals."""
        assert found.products is not None
        return cls(found.products, found.M, found.N)

    @property
    def _inner(self) -> NDArray:
        return np.block([[self.N, -self.M], [-self.M, np.zeros_like(self.M)]])

    def _sides(self, half: NDArray) -> tuple[NDArray, NDArray]:
        """Return a of shape (G, q, q) and X of shape (G, q, 2k), for the rows of C M."""
        S, T, R = self.products
        return half @ S @ half.T, np.concatenate([half @ T, half @ R], axis=2)

    def of_contrasts(self, contrasts: NDArray) -> NDArray:
        contrasts = np.asarray(contrasts, dtype=float)
        size = max(1, AT_ONCE // (self.products[0].shape[0] * 2 * len(self.M)))
        parts = [self._of_few(contrasts[start : start + size]) for start in range(0, len(contrasts), size)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _of_few(self, contrasts: NDArray) -> NDArray:
        S, T, R = self.products
        half, K = contrasts @ self.M, self._inner
        a = np.einsum("ci,gij,cj->cg", half, S, half, optimize=True)
        X = np.concatenate(
            [np.einsum("ci,gij->cgj", half, T, optimize=True), np.einsum("ci,gij->cgj", half, R, optimize=True)], axis=2
        )
        q = np.einsum("cgi,ij,cgj->cg", X, K, X, optimize=True)
        KY = K @ (X.swapaxes(1, 2) @ X)
        spread = (a**2).sum(axis=1) + 2.0 * (a * q).sum(axis=1) + np.einsum("cij,cji->c", KY, KY)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (a + q).sum(axis=1) ** 2 / spread

    def of_joint_test(self, restriction: NDArray) -> tuple[float, float]:
        C = np.atleast_2d(np.asarray(restriction, dtype=float))
        K = self._inner
        a, X = self._sides(C @ self.M)
        values, vectors = np.linalg.eigh((a + X @ K @ X.swapaxes(1, 2)).sum(axis=0))
        kept = values > ROUNDING * values[-1]  # restrictions of coefficients that were left out do not count
        number, scale = int(kept.sum()), vectors[:, kept] / np.sqrt(values[kept])
        a, X = scale.T @ a @ scale, scale.T @ X
        p = X @ K @ X.swapaxes(1, 2)
        Y = np.einsum("gsi,gtj->stij", X, X, optimize=True)
        KY = K @ Y
        own_a, own_p = np.einsum("gss->gs", a).sum(axis=1), np.einsum("gss->gs", p).sum(axis=1)
        variance = (own_a * (own_a + 2.0 * own_p)).sum()
        variance += np.einsum("gst,gts->", a, a) + 2.0 * np.einsum("gst,gts->", a, p)
        variance += np.einsum("stij,tsji->", KY, KY) + np.einsum("tsij,tsji->", KY, KY)
        eta = number * (number + 1) / variance
        return eta - number + 1.0, (eta - number + 1.0) / eta
