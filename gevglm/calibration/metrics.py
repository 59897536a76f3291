"""Numbers that judge predicted probabilities: pure functions of outcomes, probabilities and weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlog1py, xlogy

from gevglm.exceptions import InvalidDataError


def brier_score(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> float:
    r"""Mean squared error of predicted probabilities, :math:`\overline{y (1-p)^2 + (1-y) p^2}`.

    Parameters
    ----------
    y : array_like
        Outcomes, 0 or 1; shares in between count as that share of events.
    p : array_like
        Predicted probabilities.
    weights : array_like, optional
    """
    y, p, share = _checked(y, p, weights)
    return float(share @ (y * (1.0 - p) ** 2 + (1.0 - y) * p**2))


def log_loss(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> float:
    r"""Mean negative Bernoulli log-likelihood, :math:`-\overline{y \ln p + (1-y) \ln(1-p)}`.

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`brier_score`.

    Returns
    -------
    float
        Infinite if an event has probability 0 or a non-event probability 1.
    """
    y, p, share = _checked(y, p, weights)
    return float(-(share @ (xlogy(y, p) + xlog1py(1.0 - y, -p))))


def auc(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Probability that an event has a higher prediction than a non-event, ties counting half.

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`brier_score`; `p` may be any score.
    """
    y, p = np.asarray(y, dtype=float), np.asarray(p, dtype=float)
    weights = np.ones_like(y) if weights is None else np.asarray(weights, dtype=float)
    order = np.argsort(p, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(p[order]) != 0, True))
    events = np.diff(np.cumsum((weights * y)[order])[ends], prepend=0.0)
    others = np.diff(np.cumsum((weights * (1.0 - y))[order])[ends], prepend=0.0)
    if events.sum() <= 0 or others.sum() <= 0:
        raise InvalidDataError("the area under the ROC curve needs both outcomes.")
    below = np.cumsum(others) - 0.5 * others
    return float(events @ below / (events.sum() * others.sum()))


def _checked(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None) -> tuple[NDArray, NDArray, NDArray]:
    y, p = np.asarray(y, dtype=float), np.asarray(p, dtype=float)
    if y.shape != p.shape or y.ndim != 1:
        raise InvalidDataError(f"outcomes of shape {y.shape} and probabilities of shape {p.shape} do not match.")
    for name, values in (("outcomes", y), ("probabilities", p)):
        wrong = ~((values >= 0) & (values <= 1))
        if wrong.any():
            raise InvalidDataError(f"{int(wrong.sum())} {name} are not in [0, 1] (the first is {values[wrong][0]:g}).")
    weights = np.ones_like(y) if weights is None else np.asarray(weights, dtype=float)
    total = weights.sum()
    if weights.shape != y.shape or not (weights >= 0).all() or not total > 0:
        raise InvalidDataError("weights must be as many as outcomes, not negative, and not all zero.")
    return y, p, weights / total
