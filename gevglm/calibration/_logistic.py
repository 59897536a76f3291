"""Logistic regressions of few columns: one by the package's solver, or many small ones at once."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gevglm.calibration.sample import Sample
from gevglm.engine.cholesky import CholeskyOfAll, diagonals
from gevglm.engine.memory import MemoryEngine
from gevglm.estimation.batched import newton_all
from gevglm.estimation.estimate import Problem
from gevglm.estimation.sums import NewtonSums
from gevglm.exceptions import InvalidDataError
from gevglm.links import Logit
from gevglm.losses import Log

IDENTITY = np.array([0.0, 1.0])  # intercept and slope of calibrated predictions


@dataclass(frozen=True)
class LogisticFit:
    """A logistic regression."""

    params: NDArray
    cov: NDArray  # inverse information; with a penalty, that of the information plus penalty, with the information in between
    llf: float  # log-likelihood, without penalty

    @property
    def bse(self) -> NDArray:
        return np.sqrt(np.diagonal(self.cov))

    def robust(self, columns: NDArray, sample: Sample, offset: NDArray | None = None) -> LogisticFit:
        r"""Return the fit with the covariance :math:`\frac{G}{G-1} A^{-1} \sum_c s_c s_c' A^{-1}`, :math:`s_c` the score of a cluster.

        Clusters of a survey design have its variance of the sum of scores instead, and with replicate weights the fit is made again with each.
        Without clusters it stays as it is.
        """
        if sample.replicates is not None:

            def again(one: Sample) -> NDArray:
                what = "a recalibration with replicate weights"
                return fit_logistic(columns, one.y, one.weight, what=what, offset=offset, start=self.params).params

            return replace(self, cov=sample.variance_by_replicates(again))
        if sample.groups is None:
            return self
        linear = columns @ self.params + (0.0 if offset is None else offset)
        return replace(self, cov=sample.variance_of_sum((sample.y - expit(linear))[:, None] * columns @ self.cov))

    def padded(self, used: list[int], size: int) -> LogisticFit:
        """Return the fit with `size` coefficients of which only those `used` are free; the others are 0 and have no covariance."""
        params, cov = np.zeros(size), np.full((size, size), np.nan)
        params[used], cov[np.ix_(used, used)] = self.params, self.cov
        return LogisticFit(params, cov, self.llf)


@dataclass(frozen=True)
class Quadratic:
    r"""Penalty :math:`b' P b` with a positive semi-definite matrix :math:`P`."""

    matrix: NDArray

    @property
    def curvature(self) -> NDArray:
        return 2.0 * np.diagonal(self.matrix)

    def added_to(self, sums: NewtonSums, params: NDArray) -> NewtonSums:
        sums.gradient += 2.0 * self.matrix @ params
        sums.hessian += 2.0 * self.matrix
        sums.value += float(params @ self.matrix @ params)
        return sums


def fit_logistic(
    columns: NDArray,
    y: NDArray,
    weight: NDArray,
    *,
    what: str,
    offset: NDArray | None = None,
    penalty: Quadratic | None = None,
    start: NDArray | None = None,
    advice: str = "",
) -> LogisticFit:
    """Fit a logistic regression whose first column is constant.

    Outcomes may be shares of events. Without a finite solution the error says so of `what` is fitted, with `advice`.
    """
    ones = None if (weight == 1.0).all() else weight
    engine = MemoryEngine(columns, y, freq=ones, offset=offset)
    found = Problem(engine, Log(Logit()), constant=0, penalty=penalty, start=start).estimate()
    if not found.converged:
        raise InvalidDataError(f"{what} has no finite estimate: {found.reason}.{' ' + advice if advice else ''}")
    linear = columns @ found.params + (0.0 if offset is None else offset)
    cov = found.inverse_information
    if penalty is not None:
        cov = cov - 2.0 * cov @ penalty.matrix @ cov
    return LogisticFit(found.params, cov, bernoulli_llf(y, linear, weight))


def bernoulli_llf(y: NDArray, linear: NDArray, weight: NDArray) -> float:
    r"""Return :math:`\sum_i w_i (y_i v_i - \ln(1 + e^{v_i}))`."""
    return float(weight @ (y * linear - softplus(linear)))


def softplus(v: NDArray) -> NDArray:
    r"""Return :math:`\ln(1 + e^v)`, in a fifth of the time of ``np.logaddexp(0, v)``."""
    return np.maximum(v, 0.0) + np.log1p(np.exp(-np.abs(v)))


class LogisticBatch:
    r"""Many logistic regressions at once.

    Each minimises :math:`\sum_i w_i \ln(1 + e^{x_i'b}) - m'b + b'Pb`, where :math:`m = \sum_i w_i y_i x_i`.

    Parameters
    ----------
    columns : ndarray of shape (n, k) or (b, n, k)
        The rows :math:`x_i`, the same for all regressions or those of each.
    weight : ndarray of shape (n,) or (b, n)
        Observations of the rows.
    moments : ndarray of shape (k,) or (b, k)
        Sum of the columns over events, m.
    penalty : ndarray of shape (k, k), optional
        The matrix P.
    """

    def __init__(self, columns: NDArray, weight: NDArray, moments: NDArray, penalty: NDArray | None = None):
        self.columns, self.weight, self.moments, self.penalty = columns, weight, moments, penalty
        shared = columns.ndim == 2
        self._products = (columns[:, :, None] * columns[:, None, :]).reshape(len(columns), -1) if shared else None

    def llf(self, params: NDArray) -> NDArray:
        """Return the log-likelihood of each row of coefficients, of shape (b,)."""
        lost = softplus(self._linear(params))
        lost = lost @ self.weight if self.weight.ndim == 1 else np.einsum("bi,bi->b", lost, self.weight)
        return (params * self.moments).sum(axis=1) - lost

    def loss(self, params: NDArray) -> NDArray:
        """Return what is minimised."""
        if self.penalty is None:
            return -self.llf(params)
        return np.einsum("bi,ij,bj->b", params, self.penalty, params) - self.llf(params)

    def derivatives(self, params: NDArray) -> tuple[NDArray, NDArray]:
        """Return the gradients of the loss and its Hessians, of shapes (b, k) and (b, k, k)."""
        mu = expit(self._linear(params))
        fitted, information = mu * self.weight, mu * (1.0 - mu) * self.weight
        if self._products is not None:
            gradient = fitted @ self.columns
            hessian = (information @ self._products).reshape(len(params), params.shape[1], -1)
        else:
            gradient = (fitted[:, None, :] @ self.columns)[:, 0, :]
            hessian = self.columns.transpose(0, 2, 1) @ (self.columns * information[:, :, None])
        if self.penalty is not None:
            return gradient - self.moments + 2.0 * params @ self.penalty, hessian + 2.0 * self.penalty
        return gradient - self.moments, hessian

    def minimise(self, start: NDArray, tolerance: float | NDArray) -> tuple[NDArray, NDArray]:
        """Minimise by damped Newton steps, see :func:`gevglm.estimation.batched.newton_all`; return the coefficients and which converged.

        A regression counts as converged at a Newton decrement of `tolerance`, which may differ between them.
        """
        found = newton_all(self._look, start, tolerance)
        return found.params, found.converged

    def _look(self, params: NDArray, fits: NDArray) -> tuple[NewtonSums, CholeskyOfAll]:
        gradient, hessian = self._some(fits).derivatives(params)
        diagonal = diagonals(hessian)
        diagonal += 1e-10 * diagonal + 1e-12
        sums = NewtonSums(gradient, hessian, np.zeros(len(params)), np.ones(len(params), dtype=bool))
        return sums, CholeskyOfAll(hessian)

    def _some(self, fits: NDArray) -> LogisticBatch:
        some = copy(self)
        some.columns = self.columns if self.columns.ndim == 2 else self.columns[fits]
        some.weight = self.weight if self.weight.ndim == 1 else self.weight[fits]
        some.moments = self.moments if self.moments.ndim == 1 else self.moments[fits]
        return some

    def _linear(self, params: NDArray) -> NDArray:
        if self._products is not None:
            return params @ self.columns.T
        return (self.columns @ params[:, :, None])[:, :, 0]
