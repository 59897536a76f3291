"""Loss calibration of more than two classes: curves class by class, and a test of all of them together."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

from gevglm.calibration.bins import binned
from gevglm.calibration.correction import loss_corrected_multiclass
from gevglm.calibration.estimates import CalibrationTest
from gevglm.calibration.sample import Sample, predictions, vector
from gevglm.engine.linalg import dependent_columns
from gevglm.exceptions import InvalidDataError


def loss_calibration_curve_multiclass(
    y: ArrayLike,
    scores: ArrayLike,
    class_weights: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    bins: int = 10,
    by: str = "mass",
    level: float = 0.95,
) -> pd.DataFrame:
    """Calibration curves of a class-weighted learner of several classes, one class against the rest.

    Parameters
    ----------
    y : array_like of int of shape (n,)
        Classes 0 to k - 1.
    scores : array_like of shape (n, k)
    class_weights : array_like of shape (k,) or (k, k)
        See :func:`loss_corrected_multiclass`.
    weights, bins, by, level
        See :func:`loss_calibration_curve`.

    Returns
    -------
    DataFrame
        For every ``class`` and bin of its scores: ``score`` (mean), ``rate`` (share of the class) with limits ``lower`` and
        ``upper``, ``n``, ``events``, and ``corrected``, the mean loss-corrected score: the rate under loss calibration.
    """
    labels, a, weight = _checked(y, scores, weights)
    corrected = loss_corrected_multiclass(a, class_weights)
    parts = []
    for k in range(a.shape[1]):
        sample: Sample = predictions((labels == k).astype(float), a[:, k], weight)
        cells = binned(sample, bins, by)
        mean = np.bincount(cells.index, sample.weight * corrected[weight > 0.0, k]) / cells.weight
        parts.append(cells.table(level).assign(corrected=mean).rename_axis("bin").reset_index())
    return pd.concat(parts, keys=range(a.shape[1]), names=["class"]).reset_index(level="class").reset_index(drop=True)


def loss_calibration_test_multiclass(
    y: ArrayLike, scores: ArrayLike, class_weights: ArrayLike, *, weights: ArrayLike | None = None
) -> CalibrationTest:
    r"""Test of loss calibration of several classes: the score test of recalibrating the loss-corrected scores.

    With :math:`z_k = \log(\gamma_k/\gamma_0)` of the loss-corrected scores :math:`\gamma`, the recalibration

    .. math:: \log \frac{P(y = k)}{P(y = 0)} = a_k + \sum_j B_{kj} z_j

    has a = 0 and B = I under loss calibration. The statistic :math:`U' I^{-1} U`, from the score and the information there, needs no
    fit and does not depend on which class is the first; it has a chi-squared distribution with :math:`k (k - 1)` degrees of freedom. For
    two classes it is the score test of intercept 0 and slope 1.

    Parameters
    ----------
    y, scores, class_weights, weights
        See :func:`loss_calibration_curve_multiclass`; scores above 0, of cases that the learner has not seen.

    References
    ----------
    Caplin, Martin and Marx (2022), Propositions 4 and 5; Van Hoorde, Vergouwe, Timmerman, Van Huffel, Steyerberg and Van Calster
    (2014), Statistics in Medicine 33, 2585-2596.
    """
    labels, a, weight = _checked(y, scores, weights)
    if (a <= 0.0).any():
        raise InvalidDataError(
            f"{int((a <= 0.0).any(axis=1).sum())} of {len(a)} rows have a score of exactly 0, whose logarithm is infinite; move them inside, "
            "for example by np.clip(scores, 1e-9, 1)."
        )
    p = loss_corrected_multiclass(a, class_weights)
    K = p.shape[1]
    absent = np.setdiff1d(np.arange(K), labels[weight > 0.0])
    if len(absent):
        raise InvalidDataError(f"no case is of class {absent.tolist()}; the test needs cases of every class.")
    design = np.column_stack([np.ones(len(p)), np.log(p[:, 1:] / p[:, :1])])
    residual = (labels[:, None] == np.arange(1, K)) - p[:, 1:]
    score = (design.T @ (weight[:, None] * residual)).T.ravel()
    information = np.block(
        [[(design.T * (weight * p[:, i] * ((i == j) - p[:, j]))) @ design for j in range(1, K)] for i in range(1, K)]
    )
    kept = np.setdiff1d(np.arange(len(score)), dependent_columns(information))
    statistic = float(score[kept] @ np.linalg.solve(information[np.ix_(kept, kept)], score[kept]))
    null = "loss-corrected scores need no recalibration"
    return CalibrationTest("loss calibration", statistic, float(chi2.sf(statistic, len(kept))), float(len(kept)), null)


def _checked(y: ArrayLike, scores: ArrayLike, weights: ArrayLike | None) -> tuple[NDArray, NDArray, NDArray]:
    labels, a = vector(y, "y"), np.asarray(scores, dtype=float)
    if a.ndim != 2 or len(a) != len(labels):
        raise InvalidDataError(f"scores have shape {a.shape}, but y has {len(labels)} rows; give one column per class.")
    wrong = ~np.isin(labels, np.arange(a.shape[1]))
    if wrong.any():
        raise InvalidDataError(
            f"{int(wrong.sum())} of {len(labels)} outcomes are not among the classes 0 to {a.shape[1] - 1} (the first is {labels[wrong][0]:g})."
        )
    weight = np.ones(len(labels)) if weights is None else vector(weights, "weights")
    if len(weight) != len(labels) or (weight < 0.0).any() or not weight.any():
        raise InvalidDataError(f"weights must be {len(labels)} numbers that are not negative, and not all zero.")
    return labels, a, weight
