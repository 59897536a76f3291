"""Undoing what reweighting did to probabilities: every correction multiplies the odds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.links.odds import checked_probabilities, numbers, shift_odds

ClassWeight = float | Mapping[int, float]
APART = (
    1e-9  # distance of the two largest eigenvalues, as a share of the largest, below which the posterior is not unique
)
ROWS = 1 << 16


def loss_corrected(p: ArrayLike, weight: ClassWeight) -> NDArray | float:
    r"""Turn scores of a learner with class weights into probabilities.

    A learner that minimises :math:`\beta_1 y L(a, 1) + (1 - \beta_1)(1 - y) L(a, 0)`, with a proper loss L, reports
    :math:`c(\gamma)` of :func:`optimal_score` where the probability is :math:`\gamma`. Inverting it multiplies the odds by
    :math:`(1 - \beta_1)/\beta_1`:

    .. math:: \gamma = \frac{(1 - \beta_1) a}{\beta_1 + (1 - 2 \beta_1) a}

    Parameters
    ----------
    p : array_like
        Scores in [0, 1].
    weight : float or dict
        :math:`\beta_1`, the weight of events among both (the weights add up to 1), or class weights ``{0: w0, 1: w1}``.

    References
    ----------
    Caplin, Martin and Marx (2022), Calibrating for class weights by modeling machine learning, equations (3) and (12).

    Examples
    --------
    >>> round(loss_corrected(0.5, {0: 1, 1: 99}), 6)
    0.01
    """
    return shift_odds(p, 1.0 / weight_odds(weight))


def optimal_score(p: ArrayLike, weight: ClassWeight) -> NDArray | float:
    r"""Score that minimises the class-weighted loss where the probability is p: the inverse of :func:`~gevglm.calibration.loss_corrected`.

    .. math:: c(\gamma) = \frac{\beta_1 \gamma}{1 - \beta_1 - \gamma + 2 \beta_1 \gamma}

    Parameters
    ----------
    p : array_like
        Probabilities :math:`\gamma`.
    weight : float or dict
        See :func:`loss_corrected`.
    """
    return shift_odds(p, weight_odds(weight))


def undersampling_corrected(p: ArrayLike, kept: float) -> NDArray | float:
    r"""Correct probabilities of a model fitted to all events and a random part of the non-events.

    .. math:: \frac{\delta p}{1 + (\delta - 1) p}

    Parameters
    ----------
    p : array_like
    kept : float
        The share :math:`\delta` of non-events that was kept.

    References
    ----------
    Dal Pozzolo, Caelen, Johnson and Bontempi (2015), IEEE SSCI, 159-166.
    """
    if not (isinstance(kept, Real) and 0.0 < kept <= 1.0):
        raise InvalidOptionError(f"kept={kept!r} is no share of non-events; give a number in (0, 1].")
    return shift_odds(p, kept)


def prior_corrected(p: ArrayLike, *, sample: float, population: float) -> NDArray | float:
    r"""Correct probabilities for a share of events that differs between the sample and the population.

    .. math:: \text{odds} \cdot \frac{\tau}{1 - \tau} \Big/ \frac{\bar y}{1 - \bar y}

    Parameters
    ----------
    p : array_like
    sample, population : float
        Shares of events :math:`\bar y` and :math:`\tau`.

    References
    ----------
    King and Zeng (2001), Political Analysis 9, 137-163.
    """
    for name, share in (("sample", sample), ("population", population)):
        if not (isinstance(share, Real) and 0.0 < share < 1.0):
            raise InvalidOptionError(f"{name}={share!r} is no share of events; give a number between 0 and 1.")
    return shift_odds(p, population / (1.0 - population) / (sample / (1.0 - sample)))


def weight_odds(weight: ClassWeight) -> float:
    r"""Return :math:`\beta_1/(1 - \beta_1)`, the weight of events in units of that of the others."""
    if isinstance(weight, Mapping):
        if set(weight) != {0, 1} or not all(isinstance(w, Real) and 0.0 < w < np.inf for w in weight.values()):
            raise InvalidOptionError(
                f"weight={dict(weight)!r} must have a positive weight for each of the classes 0 and 1."
            )
        return float(weight[1]) / float(weight[0])
    if isinstance(weight, bool) or not isinstance(weight, Real) or not 0.0 < weight < 1.0:
        raise InvalidOptionError(
            f"weight={weight!r} is not beta1, the weight of events among both, which lies between 0 and 1; "
            "for other class weights give {0: w0, 1: w1}."
        )
    return float(weight) / (1.0 - float(weight))


# -- more than two classes ---------------------------------------------------------------------


def loss_corrected_multiclass(scores: ArrayLike, weights: ArrayLike | Mapping[int, float] | Sequence[float]) -> NDArray:
    r"""Turn scores of a learner with a matrix of class weights into probabilities.

    The loss :math:`\sum_{y'} B_{y,y'} L(a_{y'}, 1(y = y'))` of a case of class y, with a proper binary loss L, has the optimal scores

    .. math:: a_y = \frac{\gamma_y B_{yy}}{\sum_{y'} \gamma_{y'} B_{y'y}},

    so that :math:`\gamma` spans the null space of :math:`\mathrm{diag}(a) B' - \mathrm{diag}(B_{yy})`.

    Parameters
    ----------
    scores : array_like of shape (n, k) or (k,)
        Scores in [0, 1], one column a class.
    weights : array_like of shape (k, k) or (k,), or dict
        The matrix B; or one weight a class, which stands for rows of B that are constant.

    Returns
    -------
    ndarray of the shape of `scores`
        Probabilities that add up to 1.

    Notes
    -----
    Scores that are optimal for no probabilities leave no null vector. They get the leading eigenvector of
    :math:`\mathrm{diag}(a_y / B_{yy}) B'`, which is positive and is the null vector if there is one: it solves the equation for scores
    that are scaled by a common factor, as scores that should add up to 1 are scaled to do so.

    References
    ----------
    Caplin, Martin and Marx (2022), Calibrating for class weights by modeling machine learning, Propositions 3 and 4.
    """
    a = checked_probabilities(scores)
    if a.ndim not in (1, 2) or a.shape[-1] < 2:
        raise InvalidDataError(f"scores must have one column for each of two or more classes, got shape {a.shape}.")
    rows = np.atleast_2d(a)
    empty = ~(rows > 0.0).any(axis=1)
    if empty.any():
        raise InvalidDataError(f"{int(empty.sum())} of {len(rows)} rows have the score 0 for every class.")
    if isinstance(weights, Mapping):
        weights = _in_order(weights, a.shape[-1])
    b = numbers(weights, "weights of classes")
    if b.shape == (a.shape[-1],):
        if not ((b > 0.0) & np.isfinite(b)).all():
            raise InvalidDataError(f"class weights must be positive, got {b.tolist()}.")
        raw = rows / b
        return (raw / raw.sum(axis=1, keepdims=True)).reshape(a.shape)
    _check_matrix(b, a.shape[-1])
    parts = [_leading_vectors(rows[i : i + ROWS], b) for i in range(0, len(rows), ROWS)]
    return np.concatenate(parts).reshape(a.shape)


def _in_order(weights: Mapping[int, float], classes: int) -> list[float]:
    if set(weights) != set(range(classes)):
        raise InvalidDataError(
            f"weights has the classes {sorted(weights)}, but scores have the classes 0 to {classes - 1}."
        )
    return [weights[j] for j in range(classes)]


def _check_matrix(b: NDArray, classes: int) -> None:
    if b.shape != (classes, classes):
        raise InvalidDataError(f"a weight matrix for {classes} classes has shape {(classes, classes)}, got {b.shape}.")
    if not (np.isfinite(b) & (b >= 0.0)).all():
        raise InvalidDataError(f"{int((~(b >= 0.0)).sum())} entries of the weight matrix are negative or missing.")
    if (np.diagonal(b) <= 0.0).any():
        without = np.flatnonzero(np.diagonal(b) <= 0.0).tolist()
        raise InvalidDataError(
            f"the weight matrix cannot be inverted: classes {without} have the weight 0 on the diagonal, so that their scores are always 0."
        )
    parts, labels = connected_components(csr_array(b), directed=False)
    if parts > 1:
        groups = [np.flatnonzero(labels == part).tolist() for part in range(parts)]
        raise InvalidDataError(
            f"the weight matrix cannot be inverted: no weights connect the classes {groups}, so that scores do not tell how "
            "probable they are relative to each other."
        )


def _leading_vectors(a: NDArray, b: NDArray) -> NDArray:
    matrices = (a / np.diagonal(b))[:, :, None] * b.T
    values, vectors = np.linalg.eig(matrices)
    order = np.argsort(values.real, axis=1)
    each = np.arange(len(a))
    first, second = (values.real[each, order[:, -j]] for j in (1, 2))
    unclear = first - second <= APART * first
    if unclear.any():
        raise InvalidDataError(
            f"the weight matrix cannot be inverted at {int(unclear.sum())} of {len(a)} rows of scores (the first is "
            f"{a[unclear][0].tolist()}): several probabilities have these scores."
        )
    leading = np.abs(vectors[each, :, order[:, -1]].real)
    return leading / leading.sum(axis=1, keepdims=True)
