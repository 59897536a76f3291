"""Logistic regressions of few columns, for calibration: one door to the package's solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.memory import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.estimation.sums import NewtonSums
from gevglm.exceptions import InvalidDataError
from gevglm.links import Logit
from gevglm.losses import Log


@dataclass(frozen=True)
class LogisticFit:
    """A logistic regression.

    Attributes
    ----------
    params : ndarray of shape (k,)
    cov : ndarray of shape (k, k)
        Inverse information; with a penalty, that of the information plus penalty, with the information in between.
    llf : float
        Log-likelihood, without penalty.
    """

    params: NDArray
    cov: NDArray
    llf: float

    @property
    def bse(self) -> NDArray:
        return np.sqrt(np.diagonal(self.cov))


@dataclass(frozen=True)
class Quadratic:
    r"""Penalty :math:`b' P b` with a positive semi-definite matrix :math:`P`.

    Attributes
    ----------
    matrix : ndarray of shape (k, k)
    """

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

    Parameters
    ----------
    columns : ndarray of shape (n, k)
    y, weight : ndarray of shape (n,)
        Outcomes (or shares of events) and the observations of each row.
    what, advice : str
        For messages: what is fitted, and what to do if it has no finite solution.
    offset : ndarray of shape (n,), optional
    penalty : Quadratic, optional
    start : ndarray of shape (k,), optional

    Raises
    ------
    InvalidDataError
        If there is no finite solution.
    """
    ones = None if (weight == 1.0).all() else weight
    engine = MemoryEngine(columns, y, freq=ones, offset=offset)
    found = Problem(engine, Log(Logit()), constant=0, penalty=penalty, start=start).estimate()
    if not found.converged:
        raise InvalidDataError(f"{what} has no finite estimate: {found.reason}.{' ' + advice if advice else ''}")
    linear = columns @ found.params + (0.0 if offset is None else offset)
    cov = found.inverse_information
    if penalty is not None:
        cov = cov @ (found.information - 2.0 * penalty.matrix) @ cov
    return LogisticFit(found.params, cov, bernoulli_llf(y, linear, weight))


def bernoulli_llf(y: NDArray, linear: NDArray, weight: NDArray) -> float:
    r"""Return :math:`\sum_i w_i (y_i v_i - \ln(1 + e^{v_i}))`."""
    return float(weight @ (y * linear - softplus(linear)))


def softplus(v: NDArray) -> NDArray:
    r"""Return :math:`\ln(1 + e^v)`, in a fifth of the time of ``np.logaddexp(0, v)``."""
    return np.maximum(v, 0.0) + np.log1p(np.exp(-np.abs(v)))
