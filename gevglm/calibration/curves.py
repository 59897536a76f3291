"""Curves that judge predicted risks by their use: finding events, and deciding; how risks are spread; the fitted link beside the logit.

Pure functions of outcomes, predictions and weights; :mod:`gevglm.plots` draws what they return.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gevglm.calibration.bins import binned, weighted_quantile
from gevglm.calibration.estimates import wilson_limits
from gevglm.calibration.metrics import auc, average_precision
from gevglm.calibration.sample import Sample, predictions, scores
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import InvalidOptionError
from gevglm.links import Logit
from gevglm.links.base import BinaryLink
from gevglm.losses import Log

THRESHOLDS = 201
BARS = 40
BINS = 10
RARE = 0.05  # median prediction below which risks are shown on a logarithmic axis
FAR_BELOW = 1e-3  # of the mean risk, where a logarithmic axis begins at the latest
TAIL = 0.005  # share of the observations that may have lower risks; they are counted in the first cell


@dataclass(frozen=True)
class RocCurve:
    """What the rule "prediction at least t" finds, and what it costs in false alarms.

    Attributes
    ----------
    threshold : ndarray
        From the highest prediction down; the first is infinite, where nothing is called an event.
    false_positive_rate, true_positive_rate : ndarray
        Shares of the non-events and of the events that are called events.
    auc : float
        Area under the curve.
    """

    threshold: NDArray
    false_positive_rate: NDArray
    true_positive_rate: NDArray
    auc: float


@dataclass(frozen=True)
class PrecisionRecallCurve:
    """What the rule "prediction at least t" finds, and how often it is right.

    Attributes
    ----------
    threshold : ndarray
        From the highest prediction down.
    recall : ndarray
        Share of the events that are called events.
    precision : ndarray
        Share of events among those called so.
    average_precision : float
    prevalence : float
        Share of events, which is the precision of a rule that knows nothing.
    """

    threshold: NDArray
    recall: NDArray
    precision: NDArray
    average_precision: float
    prevalence: float


@dataclass(frozen=True)
class DecisionCurve:
    """Net benefit of acting on predicted risks.

    Attributes
    ----------
    threshold : ndarray
        Risk from which one acts.
    net_benefit : ndarray
        True positives an observation, less false positives weighted by the odds of the threshold.
    act_on_all : ndarray
        Net benefit of acting on everybody; that of acting on nobody is 0.
    """

    threshold: NDArray
    net_benefit: NDArray
    act_on_all: NDArray


@dataclass(frozen=True)
class RiskSpread:
    """How predicted risks are spread among events and among the others.

    Attributes
    ----------
    edges : ndarray of shape (m + 1,)
    events, others : ndarray of shape (m,)
        Share of the events, of the others in each cell.
    median_events, median_others : float
    logarithmic : bool
        Whether the cells are equally wide on a logarithmic scale.
    """

    edges: NDArray
    events: NDArray
    others: NDArray
    median_events: float
    median_others: float
    logarithmic: bool


@dataclass(frozen=True)
class LinkCurve:
    """The fitted link along the linear predictor, beside the best logit.

    Attributes
    ----------
    name : str
    linear : ndarray
        Values of the linear predictor, from its 0.5 % to its 99.5 % quantile.
    risk, logit : ndarray
        By the fitted link, and by the logistic regression of the outcome on the linear predictor.
    bins : DataFrame
        Tenths of the observations: ``linear`` (mean), ``rate``, ``lower``, ``upper``.
    """

    name: str
    linear: NDArray
    risk: NDArray
    logit: NDArray
    bins: pd.DataFrame


def roc_curve(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> RocCurve:
    r"""Return the ROC curve, a point for each distinct prediction.

    .. math:: \mathrm{TPR}(t) = \frac{\sum w_i y_i 1(p_i \ge t)}{\sum w_i y_i}, \qquad
       \mathrm{FPR}(t) = \frac{\sum w_i (1 - y_i) 1(p_i \ge t)}{\sum w_i (1 - y_i)}

    Parameters
    ----------
    y : array_like
        Outcomes, 0 or 1; shares in between count as that share of events.
    p : array_like
        Predictions, or any score.
    weights : array_like, optional
        How many observations each row stands for.

    Examples
    --------
    >>> roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).true_positive_rate
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    threshold, found, alarms = _called(scores(y, p, weights, shares=True, infinite=True, name="p"), "an ROC curve")
    first = np.zeros(1)
    return RocCurve(
        np.append(np.inf, threshold),
        np.append(first, alarms / alarms[-1]),
        np.append(first, found / found[-1]),
        auc(y, p, weights),
    )


def precision_recall_curve(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> PrecisionRecallCurve:
    r"""Return the precision-recall curve, a point for each distinct prediction.

    .. math:: P(t) = \frac{\sum w_i y_i 1(p_i \ge t)}{\sum w_i 1(p_i \ge t)}, \qquad
       R(t) = \frac{\sum w_i y_i 1(p_i \ge t)}{\sum w_i y_i}

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`roc_curve`.
    """
    sample = scores(y, p, weights, shares=True, infinite=True, name="p")
    threshold, found, alarms = _called(sample, "a precision-recall curve")
    return PrecisionRecallCurve(
        threshold, found / found[-1], found / (found + alarms), average_precision(y, p, weights), sample.rate
    )


def decision_curve(
    y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None, *, thresholds: ArrayLike | None = None
) -> DecisionCurve:
    r"""Return the net benefit of acting where the predicted risk is at least a threshold (Vickers and Elkin 2006).

    .. math:: \mathrm{NB}(t) = \frac{\mathrm{TP}(t)}{n} - \frac{\mathrm{FP}(t)}{n} \frac{t}{1 - t}

    Parameters
    ----------
    y, p, weights : array_like
        Outcomes, probabilities, and how many observations each row stands for.
    thresholds : array_like, optional
        In [0, 1); by default 201 from 0 to the larger of the highest prediction but one in a hundred and twice the share of events.

    Examples
    --------
    >>> decision_curve([0, 0, 0, 1], [0.1, 0.2, 0.4, 0.6], thresholds=[0.3]).net_benefit.round(4)
    array([0.1429])
    """
    sample = predictions(y, p, weights, shares=True).need_both_outcomes("a decision curve")
    if thresholds is None:
        high = float(np.quantile(sample.p, 0.99))
        thresholds = np.linspace(0.0, min(max(high, 2.0 * sample.rate), 0.99), THRESHOLDS)
    t = np.atleast_1d(np.asarray(thresholds, dtype=float))
    wrong = ~((t >= 0.0) & (t < 1.0))
    if wrong.any():
        raise InvalidOptionError(f"thresholds must be at least 0 and below 1, got {t[wrong][0]:g}.")
    levels, found, alarms = _called(sample, "a decision curve")
    at_least = np.searchsorted(-levels, -t, side="right")  # distinct predictions that are at least t
    found, alarms = (np.append(0.0, counts)[at_least] / sample.total for counts in (found, alarms))
    odds = t / (1.0 - t)
    return DecisionCurve(t, found - odds * alarms, sample.rate - odds * (1.0 - sample.rate))


def risk_spread(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> RiskSpread:
    """Return how risks are spread among events and others; in logarithmic cells if the median risk is below 0.05.

    Parameters
    ----------
    y, p, weights : array_like
        Outcomes, probabilities, and how many observations each row stands for.
    """
    sample = predictions(y, p, weights, shares=True).need_both_outcomes("the spread of risks by outcome")
    counts = sample.weight * sample.y, sample.weight * (1.0 - sample.y)
    logarithmic = _median(sample.p, sample.weight) < RARE
    high = float(sample.p.max())
    if logarithmic:
        positive = sample.p > 0.0
        lowest = weighted_quantile(sample.p[positive], sample.weight[positive], np.array([TAIL]))[0]
        low = max(float(lowest), FAR_BELOW * sample.mean(sample.p))
        edges = np.geomspace(0.999 * low, 1.001 * high, BARS + 1)
    else:
        edges = np.linspace(0.0, high, BARS + 1)
    inside = np.clip(sample.p, edges[0], edges[-1])
    shares = [np.histogram(inside, edges, weights=count)[0] / count.sum() for count in counts]
    medians = [_median(sample.p, count) for count in counts]
    return RiskSpread(edges, *shares, *medians, logarithmic)


def link_curve(
    link: BinaryLink, y: ArrayLike, linear: ArrayLike, weights: ArrayLike | None = None, *, points: int = 201
) -> LinkCurve:
    """Return a link along the linear predictor, beside the logistic regression of the outcome on the same linear predictor.

    Parameters
    ----------
    link : BinaryLink
    y, linear, weights : array_like
        Outcomes, linear predictors, and how many observations each row stands for.
    points : int
    """
    sample = scores(y, linear, weights, shares=True, name="linear").need_both_outcomes("the fitted link")
    sample.need_distinct("the fitted link")
    middle, scale = sample.mean(sample.p), sample.p.std()
    standard = (sample.p - middle) / scale
    X = np.column_stack([np.ones_like(standard), standard])
    logistic = Problem(MemoryEngine(X, sample.y, freq=sample.weight), Log(Logit()), constant=0).estimate().params
    v = np.linspace(*weighted_quantile(sample.p, sample.weight, np.array([TAIL, 1.0 - TAIL])), points)
    cells = binned(sample, BINS, "mass")
    lower, upper = wilson_limits(cells.events, cells.weight)
    bins = pd.DataFrame({"linear": cells.score, "rate": cells.rate, "lower": lower, "upper": upper})
    logit = Logit().inverse(logistic[0] + logistic[1] * (v - middle) / scale)
    return LinkCurve(link_name(link), v, link.inverse(v), logit, bins)


def link_name(link: BinaryLink) -> str:
    """Return a link as people write it, its shape to three digits.

    Examples
    --------
    >>> from gevglm.links import GEV, Logit
    >>> link_name(GEV(-0.699692)), link_name(Logit())
    ('GEV(xi=-0.7)', 'Logit')
    """
    shape = getattr(link, "xi", None)
    return type(link).__name__ + ("" if shape is None else f"(xi={shape:.3g})")


def _called(sample: Sample, what: str) -> tuple[NDArray, NDArray, NDArray]:
    """Return the distinct predictions from the highest down, and the events and non-events that are at least as high."""
    sample.need_both_outcomes(what)
    order = np.argsort(-sample.p, kind="stable")
    ordered = sample.p[order]
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    found = np.cumsum((sample.weight * sample.y)[order])[last]
    alarms = np.cumsum((sample.weight * (1.0 - sample.y))[order])[last]
    return ordered[last], found, alarms


def _median(values: NDArray, weight: NDArray) -> float:
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(ends, 0.5 * ends[-1])])
