"""Reliability by isotonic regression (CORP): curve, bands, and the parts of a score that calibration and discrimination make up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression
from scipy.special import xlog1py, xlogy

from gevglm.calibration.bins import Groups, grouped
from gevglm.calibration.estimates import CalibrationTest, checked_level
from gevglm.calibration.sample import predictions
from gevglm.display.brief import Brief
from gevglm.exceptions import unknown_option, whole_number

BANDS = ("consistency", "confidence")
RESAMPLED_GROUPS = 5000  # groups of neighbouring predictions that a resample has at most
POINTS = 400  # places at which a band is kept


@dataclass(frozen=True, repr=False)
class ScoreDecomposition(Brief):
    """A mean score as miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    score : float
        Mean score of the predictions.
    mcb : float
        Miscalibration: what isotonic recalibration would gain; infinite where the log score is.
    dsc : float
        Discrimination: what the recalibrated predictions gain over the constant one.
    unc : float
        Uncertainty: score of the constant prediction.
    """

    score: float
    mcb: float
    dsc: float
    unc: float


@dataclass(frozen=True, repr=False)
class Band(Brief):
    """A band of a reliability curve.

    Attributes
    ----------
    kind : {"consistency", "confidence"}
        Where the curve of calibrated predictions would lie, or where the true curve may lie.
    x, lower, upper : ndarray
    level : float
        Pointwise coverage.
    resamples : int
    """

    kind: str
    x: NDArray
    lower: NDArray
    upper: NDArray
    level: float
    resamples: int


@dataclass(frozen=True, repr=False)
class Reliability(Brief):
    """A CORP reliability curve: the isotonic regression of outcomes on predictions.

    Attributes
    ----------
    blocks : DataFrame
        One row per level of the curve: ``x_min``, ``x_max``, ``rate`` (the share of events, which is the level), ``n``, ``events``.
    brier, log : ScoreDecomposition
        Parts of the Brier score and of the log loss.
    band : Band or None
    test : CalibrationTest or None
        Of calibration, by the share of resamples under calibration that have a larger miscalibration; with a consistency band only.
    """

    blocks: pd.DataFrame
    brier: ScoreDecomposition
    log: ScoreDecomposition
    band: Band | None
    test: CalibrationTest | None

    @property
    def mcb(self) -> float:
        """Miscalibration part of the Brier score."""
        return self.brier.mcb

    @property
    def dsc(self) -> float:
        """Discrimination part of the Brier score."""
        return self.brier.dsc

    @property
    def unc(self) -> float:
        """Uncertainty part of the Brier score."""
        return self.brier.unc

    @property
    def score(self) -> float:
        """Mean Brier score, ``mcb - dsc + unc``."""
        return self.brier.score

    @property
    def curve(self) -> tuple[NDArray, NDArray]:
        """Corners of the curve: predictions, and the share of events there."""
        x = self.blocks[["x_min", "x_max"]].to_numpy().ravel()
        return x, np.repeat(self.blocks["rate"].to_numpy(), 2)

    def calibrated(self, p: ArrayLike) -> NDArray:
        """Return the share of events at any predictions: levels, joined linearly."""
        return np.interp(np.asarray(p, dtype=float), *self.curve)


def reliability(
    y: ArrayLike,
    p: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    band: str | None = None,
    level: float = 0.95,
    resamples: int = 500,
    rng: int | np.random.Generator | None = None,
) -> Reliability:
    r"""Reliability curve by isotonic regression, with the parts of the Brier score and of the log loss.

    With :math:`\hat p` the isotonic regression of y on p (pool adjacent violators), :math:`\bar y` the share of events and S the
    mean score,

    .. math:: S(p) = \underbrace{S(p) - S(\hat p)}_{\mathrm{MCB}} - \underbrace{(S(\bar y) - S(\hat p))}_{\mathrm{DSC}} + \underbrace{S(\bar y)}_{\mathrm{UNC}}

    There are no bins to choose, and no part is negative.

    Parameters
    ----------
    y, p, weights : array_like
        Outcomes 0 or 1, predicted probabilities, and how many observations each row stands for.
    band : {None, "consistency", "confidence"}
        None; the band in which the curve would lie if the predictions were calibrated (around the diagonal); or the
        band of the curve itself.
    level : float
        Pointwise coverage of the band.
    resamples : int
        Number of resamples behind the band.
    rng : int or Generator, optional
        Seed of the resamples.

    Notes
    -----
    A resample keeps the predictions and draws outcomes: from the predictions for a consistency band, from the curve for a
    confidence band (weights rounded to whole numbers). With more than 5,000 distinct predictions the resamples draw from 5,000 groups of neighbouring ones; the
    curve and all other numbers use every row.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), PNAS 118, e2016191118.

    Examples
    --------
    >>> parts = reliability([0, 1, 0, 1], [0.1, 0.2, 0.4, 0.8])
    >>> round(parts.mcb, 6), parts.dsc, parts.unc
    (0.0875, 0.125, 0.25)
    """
    if band is not None and band not in BANDS:
        raise unknown_option("band", band, BANDS)
    resamples = whole_number("resamples", resamples, 2)
    sample = predictions(y, p, weights).need_both_outcomes("a reliability curve")
    groups = grouped(sample.p, sample.y, sample.weight, len(sample.p))
    isotonic = isotonic_regression(groups.rate, weights=groups.weight)
    brier, log = decompositions(groups, isotonic.x)
    drawn, test = None, None
    if band is not None:
        coarse = groups
        if len(groups.score) > RESAMPLED_GROUPS:
            coarse = grouped(sample.p, sample.y, sample.weight, RESAMPLED_GROUPS)
        drawn, test = _band(coarse, band, checked_level(level), resamples, np.random.default_rng(rng))
    return Reliability(_blocks(groups, isotonic), brier, log, drawn, test)


def _blocks(groups: Groups, isotonic) -> pd.DataFrame:
    starts, ends = isotonic.blocks[:-1], isotonic.blocks[1:] - 1
    new = np.append(True, np.diff(isotonic.x[starts]) > 0.0)  # neighbouring blocks of equal level are one
    starts, ends = starts[new], ends[np.append(new[1:], True)]
    weight, events = (np.add.reduceat(values, starts) for values in (groups.weight, groups.events))
    levels = {"x_min": groups.score[starts], "x_max": groups.score[ends], "rate": isotonic.x[starts]}
    return pd.DataFrame(levels | {"n": weight, "events": events})


def decompositions(groups: Groups, recalibrated: NDArray | None = None) -> list[ScoreDecomposition]:
    """Return the parts of the Brier score and of the log loss of scores that differ, given or not the isotonic curve."""
    if recalibrated is None:
        recalibrated = isotonic_regression(groups.rate, weights=groups.weight).x
    constant = np.full_like(recalibrated, groups.events.sum() / groups.weight.sum())
    parts = []
    for mean in (_mean_brier, _mean_log):
        raw, best, unc = (mean(p, groups.events, groups.weight) for p in (groups.score, recalibrated, constant))
        parts.append(ScoreDecomposition(raw, raw - best, unc - best, unc))
    return parts


def _mean_brier(p: NDArray, events: NDArray, weight: NDArray) -> float:
    return float((events @ (1.0 - p) ** 2 + (weight - events) @ p**2) / weight.sum())


def _mean_log(p: NDArray, events: NDArray, weight: NDArray) -> float:
    return float(-(xlogy(events, p) + xlog1py(weight - events, -p)).sum() / weight.sum())


def _band(
    groups: Groups, kind: str, level: float, resamples: int, rng: np.random.Generator
) -> tuple[Band, CalibrationTest | None]:
    isotonic = isotonic_regression(groups.rate, weights=groups.weight).x
    truth = groups.score if kind == "consistency" else isotonic
    places = np.unique(np.linspace(0, len(truth) - 1, POINTS).round().astype(int))
    curves, losses = np.empty((resamples, len(places))), np.empty(resamples)
    for i, (curve, losses[i]) in enumerate(_resampled(groups, truth, resamples, rng)):
        curves[i] = curve[places]
    lower, upper = np.quantile(curves, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    band = Band(kind, groups.score[places], lower, upper, level, resamples)
    if kind == "confidence":
        return band, None
    observed = _miscalibration(groups.score, groups.rate, isotonic, groups.weight)
    pvalue, null = (1.0 + float((losses >= observed).sum())) / (resamples + 1.0), f"calibrated, {resamples} resamples"
    return band, CalibrationTest("miscalibration (CORP)", observed, pvalue, np.nan, null)


def _resampled(
    groups: Groups, truth: NDArray, resamples: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray, float]]:
    """Draw outcomes from true probabilities; give each time the isotonic curve and its miscalibration."""
    size = np.maximum(np.rint(groups.weight), 1.0)
    trials = size.astype(np.int64)
    for _ in range(resamples):
        rate = rng.binomial(trials, truth) / size
        curve = isotonic_regression(rate, weights=size).x
        yield curve, _miscalibration(groups.score, rate, curve, size)


def _miscalibration(p: NDArray, rate: NDArray, curve: NDArray, weight: NDArray) -> float:
    """MCB of the Brier score, from rates: the squares of the outcomes cancel."""
    return float(weight @ ((p - rate) ** 2 - (curve - rate) ** 2) / weight.sum())
