"""Simulated rare events: a constant and standard normal columns, and a logit truth."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import DTypeLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit

CHUNK = 10_000


def rare_events(
    n: int, k: int, *, rate: float = 0.03, order: str = "C", dtype: DTypeLike = float, seed: int = 0
) -> tuple[NDArray, NDArray]:
    """Return a design and outcomes, filled a few rows at a time so that memory never exceeded what they need.

    Parameters
    ----------
    n, k : int
        Rows, and columns with the constant, which comes first.
    rate : float
        Expected share of events.
    order : {"C", "F"}
    dtype : dtype of the design
    seed : int

    Returns
    -------
    X : ndarray of shape (n, k)
    y : ndarray of shape (n,)
        With effects of ``0.5 / sqrt(k)``.
    """
    rng = np.random.default_rng(seed)
    effect = 0.5 / np.sqrt(k)
    constant = _constant(rate, effect * np.sqrt(k - 1))
    X = np.empty((n, k), dtype=dtype, order=order)
    y = np.empty(n)
    X[:, 0] = 1.0
    for start in range(0, n, CHUNK):
        rows = slice(start, start + CHUNK)
        normal = rng.standard_normal((len(y[rows]), k - 1))
        X[rows, 1:] = normal
        y[rows] = rng.random(len(normal)) < expit(constant + effect * normal.sum(axis=1))
    return X, y


def _constant(rate: float, sd: float) -> float:
    """Return the constant at which the mean probability is `rate`, the rest of the predictor being normal."""
    nodes, weights = hermegauss(40)
    weights /= weights.sum()
    return brentq(lambda constant: weights @ expit(constant + sd * nodes) - rate, -30.0, 30.0)
