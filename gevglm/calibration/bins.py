"""Rows in bins of their predictions, neighbouring predictions in groups, and quantiles of weighted predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from gevglm.calibration.estimates import wilson_limits
from gevglm.calibration.sample import Sample
from gevglm.calibration.sample import scores as checked_scores
from gevglm.exceptions import unknown_option, whole_number

RULES = ("width", "mass")
PICTURE_GROUPS = 2000  # groups of neighbouring predictions that a picture needs
RARE = 0.05  # median prediction below which risks are shown on a logarithmic axis
TAIL = 0.005  # share of the predictions that may lie below a logarithmic axis
FAR_BELOW = 1e-3  # of the mean prediction, where a logarithmic axis begins at the latest
EXACT_ROWS = 5_000_000  # up to which collected predictions are kept one by one
ODDS_BINS = 1 << 20
WIDEST = 40.0  # log odds beyond which collected predictions are put together


@dataclass(frozen=True)
class Bins:
    """Bins that hold at least one row, in increasing order of the prediction."""

    index: NDArray  # the bin of each row
    weight: NDArray  # observations of each bin
    events: NDArray
    expected: NDArray  # sum of the predictions

    @property
    def rate(self) -> NDArray:
        """Share of events of each bin."""
        return self.events / self.weight

    @property
    def score(self) -> NDArray:
        """Mean prediction of each bin."""
        return self.expected / self.weight

    def table(self, level: float = 0.95) -> pd.DataFrame:
        """Return ``score``, ``rate`` with Wilson's limits ``lower`` and ``upper``, ``n`` and ``events`` of each bin."""
        lower, upper = wilson_limits(self.events, self.weight, level)
        columns = {"score": self.score, "rate": self.rate, "lower": lower, "upper": upper, "n": self.weight}
        return pd.DataFrame(columns | {"events": self.events})

    def __len__(self) -> int:
        return len(self.weight)


def binned(sample: Sample, bins: int | None, by: str = "width") -> Bins:
    """Sort rows into bins.

    Bins are of equal width, [0, 1/k], (1/k, 2/k], ..., (1-1/k, 1], or by "mass": cut at the quantiles of the predictions (R's type 7, bins
    closed on the right, equal predictions always together). Without a number there is one bin per distinct prediction.
    """
    if bins is None:
        index = np.unique(sample.p, return_inverse=True)[1]
    else:
        index = np.searchsorted(bin_edges(sample, bins, by), sample.p, side="left")
    weight = np.bincount(index, sample.weight)
    used = weight > 0.0
    renumbered = np.cumsum(used) - 1
    events, expected = (np.bincount(index, sample.weight * values) for values in (sample.y, sample.p))
    return Bins(renumbered[index], weight[used], events[used], expected[used])


def bin_edges(sample: Sample, bins: int, by: str) -> NDArray:
    """Return the inner edges of bins, see :func:`binned`."""
    bins = whole_number("bins", bins, 1)
    shares = np.arange(1, bins) / bins
    if by == "width":
        return shares
    if by == "mass":
        return np.unique(weighted_quantile(sample.p, sample.weight, shares))
    raise unknown_option("by", by, RULES)


def empirical_log_odds(
    scores: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None, *, bins: int = 20, level: float = 0.95
) -> pd.DataFrame:
    r"""Log-odds of an event in bins of equal numbers of observations.

    .. math:: \ln \frac{O + 1/2}{n - O + 1/2}

    which is finite in bins without events.

    Parameters
    ----------
    scores, y, weights : array_like
    bins : int
    level : float
        Coverage of the limits (Wilson's, as log-odds; infinite where a bin has no events, or only events).

    Returns
    -------
    DataFrame
        ``score`` (mean), ``log_odds``, ``lower``, ``upper``, ``n``, ``events``.
    """
    frame = binned(checked_scores(y, scores, weights), bins, "mass").table(level).drop(columns="rate")
    with np.errstate(divide="ignore"):
        for limit in ("lower", "upper"):
            frame[limit] = np.log(frame[limit]) - np.log1p(-frame[limit])
    frame.insert(1, "log_odds", np.log(frame["events"] + 0.5) - np.log(frame["n"] - frame["events"] + 0.5))
    return frame


# -- quantiles ---------------------------------------------------------------------------------


def weighted_quantile(values: NDArray, weight: NDArray, shares: NDArray) -> NDArray:
    r"""Return quantiles at positions :math:`(n-1) q` of the sorted values (R's type 7).

    Whole weights repeat the values; other weights are first scaled to a mean of one.
    """
    shares, last = np.asarray(shares), len(values) - 1
    if weight.min() == weight.max() == 1.0:  # sorting numbers is many times quicker than finding their order
        values, position = np.sort(values), last * shares
        below = np.floor(position)
        low, high = (values[np.minimum(at, last).astype(np.intp)] for at in (below, below + 1.0))
        return low + (position - below) * (high - low)
    order = np.argsort(values, kind="stable")
    values, weight = values[order], weight[order]
    if (weight != np.rint(weight)).any():
        weight = weight / weight.mean()
    ends = np.cumsum(weight)
    position = (ends[-1] - 1.0) * shares
    below = np.floor(position)
    low, high = (values[np.minimum(np.searchsorted(ends, at, side="right"), last)] for at in (below, below + 1.0))
    return low + (position - below) * (high - low)


def is_rare(p: NDArray, weight: NDArray) -> bool:
    """Tell whether probabilities are shown on a logarithmic axis: if their median is below 0.05."""
    return bool(weighted_quantile(p, weight, np.array([0.5]))[0] < RARE)


def log_axis_start(p: NDArray, weight: NDArray) -> float:
    """Return where a logarithmic axis begins: at the lowest probability above 0, but not far below the others or their mean."""
    positive = p > 0.0
    usual = weighted_quantile(p[positive], weight[positive], np.array([TAIL]))[0]
    return float(max(usual, FAR_BELOW * (weight @ p) / weight.sum()))


# -- groups of neighbouring scores -------------------------------------------------------------


@dataclass(frozen=True)
class Groups:
    """Neighbouring scores put together, by increasing score."""

    score: NDArray  # mean of each group
    weight: NDArray  # observations
    events: NDArray
    starts: NDArray | None = None  # lowest score of each group

    def places(self, score: NDArray) -> NDArray:
        """Return the group of each of the scores that were put together."""
        assert self.starts is not None
        return np.searchsorted(self.starts, score, side="right") - 1

    @property
    def rate(self) -> NDArray:
        return self.events / self.weight

    @property
    def expected(self) -> NDArray:
        """Events that scores which are probabilities expect."""
        return self.weight * self.score

    @property
    def is_rare(self) -> bool:
        """Whether scores that are probabilities are shown on a logarithmic axis."""
        return is_rare(self.score, self.weight)

    @property
    def log_axis_start(self) -> float:
        """Where a logarithmic axis of scores that are probabilities begins."""
        return log_axis_start(self.score, self.weight)


def grouped(score: NDArray, y: NDArray, weight: NDArray, most: int) -> Groups:
    """Group equal scores, and neighbouring ones where there are more than `most` distinct ones.

    Half of the cuts are at equal numbers of observations, half at equal distances of the score, so that sparse ends are not
    put together.
    """
    order = np.argsort(score, kind="stable")
    score, weight, events = score[order], weight[order], (weight * y)[order]
    starts = np.flatnonzero(np.append(True, np.diff(score) > 0.0))
    if len(starts) > most:
        ends = np.cumsum(weight)
        rank, place = (ends - weight) / ends[-1], (score - score[0]) / (score[-1] - score[0])
        half = most // 2
        cell = np.floor(half * rank[starts]) + np.minimum(np.floor(half * place[starts]), half - 1)
        starts = starts[np.append(True, np.diff(cell) > 0)]
    total = np.add.reduceat(weight, starts)
    center = np.add.reduceat(weight * score, starts) / total
    exact = np.diff(np.append(starts, len(score))) == 1
    center[exact] = score[starts[exact]]
    return Groups(center, total, np.add.reduceat(events, starts), score[starts])


# -- predictions of more rows than memory holds ------------------------------------------------


class Predicted(NamedTuple):
    """Outcomes in [0, 1], predictions, and the observations behind them."""

    y: NDArray
    p: NDArray
    weights: NDArray


class Collection:
    """Predictions of one part of the rows after the other; of many rows, those in the same bin of log odds are put together."""

    def __init__(self) -> None:
        self.parts: list[Predicted] = []
        self.n_rows = 0
        self.sums: NDArray | None = None
        self.squares = 0.0

    def add(self, part: Predicted, squares: float = 0.0) -> Collection:
        """Add the predictions of some rows, and the sum of the squares of their weights if these are not numbers of observations."""
        self.squares += squares
        self.n_rows += len(part.y)
        self.parts.append(part)
        if self.n_rows > EXACT_ROWS:
            for kept in self.parts:
                added = _sums_by_odds(*kept)
                self.sums = added if self.sums is None else self.sums + added
            self.parts = []
        return self

    def predicted(self) -> Predicted:
        """Return all of them; weights that are not numbers of observations add up to Kish's effective size."""
        if self.sums is None:
            found = Predicted(*(np.concatenate(vectors) for vectors in zip(*self.parts, strict=True)))
        else:
            found = _mean_of_bins(self.sums)
        return found._replace(weights=found.weights * (found.weights.sum() / self.squares)) if self.squares else found


def _sums_by_odds(y: NDArray, p: NDArray, weights: NDArray) -> NDArray:
    """Return sums for every bin of log odds: the weight of the others, of the events, and of both times the prediction.

    The first and last bins are those of predictions of exactly 0 and 1.
    """
    with np.errstate(divide="ignore"):
        odds = np.log(p) - np.log1p(-p)
    place = ((np.clip(odds, -WIDEST, WIDEST) + WIDEST) * ((ODDS_BINS - 1) / (2.0 * WIDEST))).astype(np.intp) + 1
    place[p == 0.0], place[p == 1.0] = 0, ODDS_BINS + 1
    parts = (weights * (1.0 - y), weights * y, weights * p)
    return np.array([np.bincount(place, weights=part, minlength=ODDS_BINS + 2) for part in parts])


def _mean_of_bins(sums: NDArray) -> Predicted:
    """Return one row for each bin and outcome, with the mean prediction of the bin."""
    others, events, total = sums[:, sums[0] + sums[1] > 0]
    p = np.clip(total / (others + events), 0.0, 1.0)
    weights = np.concatenate([others, events])
    used = weights > 0
    return Predicted(np.repeat([0.0, 1.0], len(p))[used], np.tile(p, 2)[used], weights[used])
