"""Decisions from scores: which class to call, given what errors cost and which class weights the learner had."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gevglm.calibration.correction import ClassWeight, loss_corrected, loss_corrected_multiclass, optimal_score
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.links.odds import checked_probabilities, numbers

COSTS = ("false_negative", "false_positive")


def decision_threshold(costs: Mapping[str, float] | float = 1.0, weight: ClassWeight | None = None) -> float:
    r"""Score above which calling an event costs less than not calling one.

    Calling an event costs :math:`(1 - \gamma) C_{FP}` where its probability is :math:`\gamma`, not calling one :math:`\gamma C_{FN}`. The
    threshold of the probability is therefore

    .. math:: \tau = \frac{C_{FP}}{C_{FP} + C_{FN}},

    and that of the score of a learner with class weights is :math:`c(\tau)` of :func:`optimal_score`. A class weight of
    :math:`w_1/w_0 = C_{FN}/C_{FP}` moves it to one half: weights and thresholds are two ways to say the same.

    Parameters
    ----------
    costs : dict or float
        ``{"false_negative": cost, "false_positive": cost}``, or the first in units of the second.
    weight : float or dict, optional
        Class weights of the learner, see :func:`loss_corrected`; none by default, for scores that are probabilities.

    Examples
    --------
    >>> round(decision_threshold({"false_negative": 9, "false_positive": 1}), 6)
    0.1
    >>> round(decision_threshold(9.0, weight={0: 1, 1: 9}), 6)
    0.5
    """
    missed, alarm = _two_costs(costs)
    threshold = alarm / (alarm + missed)
    return threshold if weight is None else float(optimal_score(threshold, weight))


def decide(
    scores: ArrayLike,
    costs: Mapping[str, float] | float | ArrayLike = 1.0,
    weight: ClassWeight | ArrayLike | None = None,
) -> NDArray:
    r"""Return the class to call for each row: the one with the least expected cost.

    .. math:: \operatorname{argmin}_j \sum_y \gamma_y C_{yj}

    with the probabilities :math:`\gamma` behind the scores of a learner with class weights. This is the loss-minimising choice among
    categorical predictions, as the score is among numbers.

    Parameters
    ----------
    scores : array_like of shape (n,), or (n, k)
        Scores of events, or one column per class.
    costs : dict, float or array_like of shape (k, k)
        For two classes see :func:`decision_threshold`; in general :math:`C_{yj}`, the cost of calling class j where y is true.
    weight : float, dict, or array_like of shape (k,) or (k, k), optional
        Class weights of the learner, see :func:`loss_corrected` and :func:`loss_corrected_multiclass`.

    Returns
    -------
    ndarray of int of shape (n,)
        Numbers of classes; ties go to the first.

    Examples
    --------
    >>> decide([0.05, 0.2, 0.6], costs=9.0).tolist()
    [0, 1, 1]
    """
    p = checked_probabilities(scores)
    if p.ndim == 1:
        corrected = p if weight is None else np.asarray(loss_corrected(p, weight))  # type: ignore[arg-type]
        p = np.column_stack([1.0 - corrected, corrected])
    elif weight is not None:
        p = loss_corrected_multiclass(p, weight)  # type: ignore[arg-type]
    return np.argmin(p @ _cost_matrix(costs, p.shape[1]), axis=1)


def _two_costs(costs: Mapping[str, float] | float) -> tuple[float, float]:
    """Return the costs of a missed event and of a false alarm."""
    given = costs if isinstance(costs, Mapping) else {"false_negative": costs, "false_positive": 1.0}
    if set(given) != set(COSTS):
        raise InvalidOptionError(f"costs has {sorted(given)}; give 'false_negative' and 'false_positive'.")
    for name, cost in given.items():
        if isinstance(cost, bool) or not isinstance(cost, Real) or not 0.0 < cost < np.inf:
            raise InvalidOptionError(f"the cost {name}={cost!r} is not a positive number.")
    return float(given["false_negative"]), float(given["false_positive"])


def _cost_matrix(costs: Mapping[str, float] | float | ArrayLike, classes: int) -> NDArray:
    if isinstance(costs, Mapping) or np.ndim(costs) == 0:
        if classes != 2:
            if not isinstance(costs, Mapping) and costs == 1.0:
                return 1.0 - np.eye(classes)
            raise InvalidOptionError(
                f"costs={costs!r} are those of two classes, but there are {classes}; give a matrix of {classes} rows and columns."
            )
        missed, alarm = _two_costs(costs)  # type: ignore[arg-type]
        return np.array([[0.0, alarm], [missed, 0.0]])
    matrix = numbers(costs, "costs")
    if matrix.shape != (classes, classes):
        raise InvalidDataError(f"costs of {classes} classes have shape {(classes, classes)}, got {matrix.shape}.")
    if not (np.isfinite(matrix) & (matrix >= 0.0)).all() or np.diagonal(matrix).any():
        raise InvalidDataError("costs must be finite and not negative, and 0 on the diagonal, where the call is right.")
    return matrix
