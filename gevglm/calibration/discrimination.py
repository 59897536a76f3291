"""Discrimination: areas under the ROC and the precision-recall curve, and the standard error of the first, also with clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gevglm.calibration.estimates import Measured
from gevglm.calibration.sample import Clusters, Sample, scores
from gevglm.exceptions import InvalidDataError


def auc(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Probability that an event has a higher prediction than a non-event, ties counting half.

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`brier_score`; `p` may be any score.
    """
    sample = scores(y, p, weights, shares=True, infinite=True, name="p").need_both_outcomes("discrimination")
    return share_of_higher(sample.y, sample.p, None if weights is None else sample.weight)


def share_of_higher(y: NDArray, score: NDArray, weight: NDArray | None) -> float:
    """Return the AUC of outcomes, or shares of events, and scores; None for weights of one."""
    if weight is None and not ((y > 0.0) & (y < 1.0)).any():
        events, others = (score[y == outcome] for outcome in (1.0, 0.0))
        events.sort()
        others.sort()
        places = np.searchsorted(others, events), np.searchsorted(others, events, side="right")
        return float((places[0].sum(dtype=float) + places[1].sum(dtype=float)) / (2.0 * len(events) * len(others)))
    return area_under_roc(*_weights_by_score(y, score, np.ones_like(score) if weight is None else weight)[1:])


def area_under_roc(events: NDArray, others: NDArray) -> float:
    """Return the AUC from the events and non-events at each distinct score, by increasing score."""
    below = np.cumsum(others) - 0.5 * others
    return float(events @ below / (events.sum() * others.sum()))


def auc_interval(
    y: ArrayLike,
    p: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    groups: Clusters | None = None,
    level: float = 0.95,
) -> Measured:
    r"""Area under the ROC curve with DeLong's standard error and normal limits.

    .. math:: \widehat{\mathrm{Var}}(A) = \frac{1}{m (m-1)} \sum_{i: y_i=1} (V_i - A)^2 + \frac{1}{n (n-1)} \sum_{j: y_j=0} (V_j - A)^2

    where :math:`V_i` is the share of the n non-events below event i, and :math:`V_j` the share of the m events above
    non-event j, ties counting half. Of observations in clusters, with :math:`D_c` the sum of :math:`V_i - A` over the events of a
    cluster and :math:`E_c` that of :math:`V_j - A` over its others, it is Obuchowski's

    .. math:: \frac{G_1}{G_1 - 1} \frac{\sum_c D_c^2}{m^2} + \frac{G_0}{G_0 - 1} \frac{\sum_c E_c^2}{n^2} + \frac{2 G}{G - 1} \frac{\sum_c D_c E_c}{m n}

    with G clusters, of which :math:`G_1` have events and :math:`G_0` others. By the design of a survey it is that of the sum of
    :math:`w_i (V_i - A) / m` over events and :math:`w_j (V_j - A) / n` over others, with the sums m and n of their weights, and limits are
    those of the t distribution.

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`auc`.
    groups : array_like, optional
        Cluster of each row.
    level : float
        Coverage of the interval.

    Returns
    -------
    Measured
        A float with attributes ``se``, ``lower`` and ``upper``.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44, 837-845; Obuchowski (1997), Biometrics 53, 567-578.
    """
    sample = scores(y, p, weights, groups=groups, shares=True, infinite=True, name="p")
    area, parts = roc_components(sample)
    if sample.replicates is None:
        variance = components_variance(sample, *parts)
    else:
        variance = float(sample.variance_by_replicates(area_of)[0, 0])
    found = sample.measured(area, np.sqrt(variance), level)
    return Measured(area, found.se, max(found.lower, 0.0), min(found.upper, 1.0), level)


def area_of(sample: Sample) -> float:
    """Return the AUC."""
    return roc_components(sample)[0]


def roc_components(sample: Sample) -> tuple[float, tuple[NDArray, NDArray]]:
    """Return the AUC, and what each row's score contributes to it as an event and as a non-event, less the AUC."""
    levels, events, others = counts_by_score(sample, "discrimination")
    m, n = events.sum(), others.sum()
    if m <= 1.0 or n <= 1.0:
        raise InvalidDataError(
            f"the standard error of the AUC needs two observations of each outcome, got {m:g} and {n:g}."
        )
    below = (np.cumsum(others) - 0.5 * others) / n
    above = 1.0 - (np.cumsum(events) - 0.5 * events) / m
    area = float(events @ below / m)
    at = np.searchsorted(levels, sample.p)
    return area, (below[at] - area, above[at] - area)


def components_variance(sample: Sample, of_events: NDArray, of_others: NDArray) -> float:
    """Return DeLong's variance of an AUC, or of a difference of two, from the components of the rows less their mean."""
    if sample.groups is not None:
        return _clustered_variance(sample, of_events, of_others)
    events, others = sample.weight * sample.y, sample.weight * (1.0 - sample.y)
    m, n = events.sum(), others.sum()
    return float(events @ of_events**2 / (m * (m - 1.0)) + others @ of_others**2 / (n * (n - 1.0)))


def _clustered_variance(sample: Sample, of_events: NDArray, of_others: NDArray) -> float:
    """Return Obuchowski's variance of the AUC, or that of a survey design, from the structural components less the AUC."""
    if sample.units is not None:
        influence = sample.y * of_events / sample.events + (1.0 - sample.y) * of_others / (sample.total - sample.events)
        return float(sample.variance_of_sum(influence[:, None])[0, 0])
    n_events, n_others = sample.cluster_sums(sample.y), sample.cluster_sums(1.0 - sample.y)
    parts = sample.cluster_sums(sample.y * of_events), sample.cluster_sums((1.0 - sample.y) * of_others)
    clusters = len(n_events), int((n_events > 0.0).sum()), int((n_others > 0.0).sum())
    if min(clusters) < 2:
        raise InvalidDataError(
            f"the standard error of the AUC needs two clusters with events and two with others, got {clusters[1]} and {clusters[2]}."
        )
    both, first, second = (number / (number - 1.0) for number in clusters)
    a, b = parts[0] / n_events.sum(), parts[1] / n_others.sum()
    return float(first * (a @ a) + second * (b @ b) + 2.0 * both * (a @ b))


def average_precision(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> float:
    r"""Area under the precision-recall curve as a sum of steps (AUPRC).

    .. math:: \sum_t (R_t - R_{t-1}) P_t

    over the distinct predictions t from the highest down, with recall :math:`R_t` and precision :math:`P_t` of the rule
    "prediction at least t". Random predictions have about the prevalence.

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`auc`.
    """
    return area_under_precision(*_counts_by_score(y, p, weights))


def area_under_precision(events: NDArray, others: NDArray) -> float:
    """Return the average precision from the events and non-events at each distinct score, by increasing score."""
    found = np.cumsum(events[::-1])
    precision = found / np.cumsum((events + others)[::-1])
    return float(events[::-1] @ precision / found[-1])


def _counts_by_score(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None) -> tuple[NDArray, NDArray]:
    return counts_by_score(scores(y, p, weights, shares=True, infinite=True, name="p"), "discrimination")[1:]


def counts_by_score(sample: Sample, what: str) -> tuple[NDArray, NDArray, NDArray]:
    """Return the distinct scores by increasing score, and the events and non-events at each; `what` needs both."""
    sample.need_both_outcomes(what)
    return _weights_by_score(sample.y, sample.p, sample.weight)


def _weights_by_score(y: NDArray, score: NDArray, weight: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    order = np.argsort(score, kind="stable")
    ordered = score[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    events = np.add.reduceat((weight * y)[order], starts)
    others = np.add.reduceat((weight * (1.0 - y))[order], starts)
    return ordered[starts], events, others
