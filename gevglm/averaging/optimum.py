r"""The weights of candidates whose average predicts held-out outcomes best: a convex problem on the simplex, with its certificate.

Let :math:`q_{ij}` be the probability that candidate j gave outcome i, and :math:`c_i` the share of outcome i in the weight of all. The two criteria,

.. math:: -\sum_i c_i \ln \sum_j q_{ij} w_j \qquad\text{and}\qquad \sum_i c_i \Bigl(1 - \sum_j q_{ij} w_j\Bigr)^2,

are convex in w. The sum of the weights need not be a constraint. For the log loss, adding :math:`\sum_j w_j` to the criterion and asking for
:math:`w \ge 0` alone gives weights that add up to one, because the criterion is a logarithm (Kim et al. 2020). For the Brier score,
:math:`1 - \sum_j q_{ij} w_j = \sum_j (1 - q_{ij}) w_j` on the simplex, so that the criterion is :math:`w^\top G w`, and its least value is at the
multiple of the minimiser of :math:`\tfrac12 x^\top G x - \sum_j x_j` over :math:`x \ge 0` that adds up to one.

Both are solved by Newton steps whose quadratic problems with :math:`w \ge 0` are non-negative least squares (Lawson and Hanson), an active-set method.
Where a step does not descend, one of EM follows, which always does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

STEPS, HALVINGS = 200, 30
ENOUGH = 1e-11  # of the certificate
RIDGE = 1e-11  # share of the largest curvature that is added to all, for candidates that are nearly the same


class Criterion(NamedTuple):
    """A convex criterion of the weights, with its gradient and Hessian."""

    value: float
    gradient: NDArray
    hessian: NDArray


@dataclass(frozen=True)
class Optimum:
    r"""Weights and their certificate.

    Attributes
    ----------
    weights : ndarray of shape (m,)
        Not negative, with a sum of one.
    certificate : float
        The Karush-Kuhn-Tucker residual :math:`\max_j (g^\top w - g_j)`, g the gradient of the criterion per observation. By convexity no weights have
        a criterion that is smaller by more than this.
    steps : int
    """

    weights: NDArray
    certificate: float
    steps: int


def best_weights(given: NDArray, counts: NDArray, criterion: str = "log_loss") -> Optimum:
    """Return the weights with the least criterion.

    Parameters
    ----------
    given : ndarray of shape (n, m)
        For "log_loss" the probability that each candidate gave each outcome; for "brier" one minus it.
    counts : ndarray of shape (n,)
        How much each outcome counts.
    criterion : {"log_loss", "brier"}

    Notes
    -----
    An outcome that all candidates rule out has an infinite log loss whatever the weights, and no part in them.
    """
    m = given.shape[1]
    if criterion == "log_loss":
        possible = given.max(axis=1) > 0.0
        given, counts = given[possible], counts[possible]
    if m == 1 or not counts.sum() > 0.0:
        return Optimum(np.full(m, 1.0 / m), 0.0, 0)
    shares = counts / counts.sum()
    if criterion == "brier":
        return _least_brier(given, shares)
    return _least_log_loss(given, shares)


def floored(weights: NDArray, observations: float) -> NDArray:
    r"""Move weights towards equal ones by one part in n + 1, so that no candidate is ruled out: :math:`\frac{n w_j + 1/m}{n + 1}`."""
    return (observations * weights + 1.0 / len(weights)) / (observations + 1.0)


def _least_brier(errors: NDArray, shares: NDArray) -> Optimum:
    G = (errors * shares[:, None]).T @ errors
    G = G / max(G.diagonal().min(), np.finfo(float).tiny) if G.diagonal().min() > 0.0 else G + np.eye(len(G)) * 1e-300
    x, steps = np.full(len(G), 1.0 / len(G)), 0
    for steps in range(1, STEPS + 1):  # noqa: B007 - proximal steps: the ridge that steadies them pulls towards the last point only
        x = _nonnegative(G, G @ x - 1.0, x)
        w = x / x.sum()
        slope = G @ w
        if w @ slope - slope.min() <= ENOUGH * (w @ slope):
            break
    exact = (errors.T @ (shares * (errors @ w))) * 2.0
    return Optimum(w, max(0.0, float(w @ exact - exact.min())), steps)


def _least_log_loss(given: NDArray, shares: NDArray) -> Optimum:
    w, steps = np.full(given.shape[1], 1.0 / given.shape[1]), 0
    here = _log_loss(given, shares, w)
    for steps in range(1, STEPS + 1):  # noqa: B007
        if _residual(here, w) <= ENOUGH:
            break
        w, here = _step(given, shares, w, here)
    return Optimum(w, max(0.0, _residual(here, w)), steps)


def _step(given: NDArray, shares: NDArray, w: NDArray, here: Criterion) -> tuple[NDArray, Criterion]:
    """Take a Newton step with a line search, or an EM step where it does not descend."""
    towards = _nonnegative(here.hessian, here.gradient + 1.0, w) - w
    slope, length = float((here.gradient + 1.0) @ towards), 1.0
    for _ in range(HALVINGS):
        trial = w + length * towards
        trial = trial / trial.sum()
        there = _log_loss(given, shares, trial)
        gained = there.value <= here.value + 1e-4 * length * min(slope, 0.0) + 4e-16 * abs(here.value)
        if gained and _residual(there, trial) <= max(1.0, _residual(here, w)):
            if there.value < here.value or _residual(there, trial) < _residual(here, w):
                return trial, there
        length *= 0.5
    trial = w * -here.gradient
    trial = trial / trial.sum()
    return trial, _log_loss(given, shares, trial)


def _log_loss(given: NDArray, shares: NDArray, w: NDArray) -> Criterion:
    mixed = given @ w
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = given / mixed[:, None]
        value = -float(shares @ np.log(mixed))
    if not np.isfinite(ratio).all():
        m = len(w)
        return Criterion(np.inf, np.zeros(m), np.eye(m))
    weighted = ratio * shares[:, None]
    return Criterion(value, -weighted.sum(axis=0), weighted.T @ ratio)


def _residual(point: Criterion, w: NDArray) -> float:
    return float(point.gradient @ w - point.gradient.min()) if np.isfinite(point.value) else np.inf


def _nonnegative(hessian: NDArray, gradient: NDArray, at: NDArray) -> NDArray:
    r"""Return the x >= 0 with the least :math:`g^\top (x - a) + \tfrac12 (x - a)^\top (H + \epsilon I) (x - a)`, by least squares."""
    steady = hessian + RIDGE * hessian.diagonal().max() * np.eye(len(at))
    root = np.linalg.cholesky(steady).T
    target = np.linalg.solve(root.T, steady @ at - gradient)
    return nnls(root, target, maxiter=50 * len(at))[0]
