"""Curves of predicted risks: ROC, precision-recall, decision curve, spread by outcome, and the fitted link beside the logit.

Pure functions of outcomes, predictions and weights; :mod:`gevglm.plots` draws what they return.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from gevglm.calibration.bins import TAIL, binned, is_rare, log_axis_start, weighted_quantile
from gevglm.calibration.discrimination import area_under_precision, area_under_roc, counts_by_score
from gevglm.calibration.estimates import checked_level
from gevglm.calibration.sample import predictions, scores, vector
from gevglm.display.brief import Brief
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import InvalidOptionError
from gevglm.links import Logit
from gevglm.links.base import BinaryLink
from gevglm.losses import Log

THRESHOLDS = 201
BARS = 40
BINS = 10


@dataclass(frozen=True, repr=False)
class RocCurve(Brief):
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


@dataclass(frozen=True, repr=False)
class PrecisionRecallCurve(Brief):
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


@dataclass(frozen=True, repr=False)
class DecisionCurve(Brief):
    """Net benefit of acting on predicted risks.

    Attributes
    ----------
    threshold : ndarray
        Risk from which one acts.
    net_benefit : ndarray
        True positives per observation, less false positives weighted by the odds of the threshold.
    act_on_all : ndarray
        Net benefit of acting on all; that of acting on none is 0.
    se : ndarray
        Standard errors of the net benefit.
    lower, upper : ndarray
        Its confidence limits, threshold by threshold.
    level : float
        Their coverage.
    """

    threshold: NDArray
    net_benefit: NDArray
    act_on_all: NDArray
    se: NDArray
    lower: NDArray
    upper: NDArray
    level: float


@dataclass(frozen=True, repr=False)
class RiskSpread(Brief):
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


@dataclass(frozen=True, repr=False)
class LinkCurve(Brief):
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

    @property
    def logarithmic(self) -> bool:
        """Whether risks are shown on a logarithmic axis."""
        rate = self.bins["rate"].to_numpy()
        return bool((rate > 0.0).any()) and is_rare(rate, np.ones_like(rate))


def roc_curve(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> RocCurve:
    r"""Return the ROC curve, one point for each distinct prediction.

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
    sample = scores(y, p, weights, shares=True, infinite=True, name="p")
    levels, events, others = counts_by_score(sample, "an ROC curve")
    found, alarms = _from_above(events), _from_above(others)
    return RocCurve(
        np.append(np.inf, levels[::-1]), alarms / alarms[-1], found / found[-1], area_under_roc(events, others)
    )


def precision_recall_curve(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> PrecisionRecallCurve:
    r"""Return the precision-recall curve, one point for each distinct prediction.

    .. math:: P(t) = \frac{\sum w_i y_i 1(p_i \ge t)}{\sum w_i 1(p_i \ge t)}, \qquad
       R(t) = \frac{\sum w_i y_i 1(p_i \ge t)}{\sum w_i y_i}

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`roc_curve`.
    """
    sample = scores(y, p, weights, shares=True, infinite=True, name="p")
    levels, events, others = counts_by_score(sample, "a precision-recall curve")
    found, alarms = _from_above(events)[1:], _from_above(others)[1:]
    return PrecisionRecallCurve(
        levels[::-1], found / found[-1], found / (found + alarms), area_under_precision(events, others), sample.rate
    )


def decision_curve(
    y: ArrayLike,
    p: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    thresholds: ArrayLike | None = None,
    level: float = 0.95,
) -> DecisionCurve:
    r"""Return the net benefit of acting where the predicted risk is at least a threshold (Vickers and Elkin 2006).

    .. math:: \mathrm{NB}(t) = \frac{\mathrm{TP}(t)}{n} - \frac{\mathrm{FP}(t)}{n} \frac{t}{1 - t}

    It is a mean of independent observations, whose variance, with :math:`o = t / (1 - t)`, is
    :math:`\mathrm{TP}/n + o^2 \, \mathrm{FP}/n - \mathrm{NB}^2`; the predictions are taken as given.

    Parameters
    ----------
    y, p, weights : array_like
        Outcomes, probabilities, and how many observations each row stands for.
    thresholds : array_like, optional
        In [0, 1); by default 201 from 0 to the larger of the highest prediction but one in a hundred and twice the share of events.
    level : float
        Coverage of the limits.

    Examples
    --------
    >>> decision_curve([0, 0, 0, 1], [0.1, 0.2, 0.4, 0.6], thresholds=[0.3]).net_benefit.round(4)
    array([0.1429])
    """
    sample = predictions(y, p, weights, shares=True)
    if thresholds is None:
        high = float(np.quantile(sample.p, 0.99))
        thresholds = np.linspace(0.0, min(max(high, 2.0 * sample.rate), 0.99), THRESHOLDS)
    t = checked_thresholds(thresholds)
    levels, events, others = counts_by_score(sample, "a decision curve")
    at_least = len(levels) - np.searchsorted(levels, t, side="left")  # distinct predictions that are at least t
    found, alarms = (_from_above(counts)[at_least] / sample.total for counts in (events, others))
    odds = t / (1.0 - t)
    benefit = found - odds * alarms
    se = np.sqrt(np.maximum(found + odds**2 * alarms - benefit**2, 0.0) / sample.total)
    reach = norm.isf((1.0 - checked_level(level)) / 2.0) * se
    everybody = sample.rate - odds * (1.0 - sample.rate)
    return DecisionCurve(t, benefit, everybody, se, benefit - reach, benefit + reach, level)


def checked_thresholds(thresholds: ArrayLike) -> NDArray:
    """Return risks from which one acts, if they are in [0, 1)."""
    t = vector(np.ravel(np.asarray(thresholds)), "thresholds")
    wrong = ~((t >= 0.0) & (t < 1.0))
    if wrong.any():
        raise InvalidOptionError(f"thresholds must be at least 0 and below 1, got {t[wrong][0]:g}.")
    return t


def risk_spread(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> RiskSpread:
    """Return how risks are spread among events and others; in logarithmic cells if the median risk is below 0.05.

    Parameters
    ----------
    y, p, weights : array_like
        Outcomes, probabilities, and how many observations each row stands for.
    """
    sample = predictions(y, p, weights, shares=True).need_both_outcomes("the spread of risks by outcome")
    counts = sample.weight * sample.y, sample.weight * (1.0 - sample.y)
    logarithmic = is_rare(sample.p, sample.weight)
    high = float(sample.p.max())
    if logarithmic:
        edges = np.geomspace(0.999 * log_axis_start(sample.p, sample.weight), 1.001 * high, BARS + 1)
    else:
        edges = np.linspace(0.0, high, BARS + 1)
    inside = np.clip(sample.p, edges[0], edges[-1])
    shares = [np.histogram(inside, edges, weights=count)[0] / count.sum() for count in counts]
    medians = [weighted_quantile(sample.p[n > 0.0], n[n > 0.0], np.array([0.5]))[0] for n in counts]
    return RiskSpread(edges, shares[0], shares[1], float(medians[0]), float(medians[1]), logarithmic)


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
    low, high = weighted_quantile(sample.p, sample.weight, np.array([TAIL, 1.0 - TAIL]))
    v = np.linspace(low, high, points)
    bins = binned(sample, BINS, "mass").table().rename(columns={"score": "linear"}).drop(columns=["n", "events"])
    logit = Logit().inverse(logistic[0] + logistic[1] * (v - middle) / scale)
    return LinkCurve(link.label, v, link.inverse(v), logit, bins)


def _from_above(counts: NDArray) -> NDArray:
    """Return cumulative counts from the highest prediction down, the first being 0."""
    return np.append(0.0, np.cumsum(counts[::-1]))
