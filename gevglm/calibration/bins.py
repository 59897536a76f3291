"""Rows sorted into bins of their predictions, and neighbouring predictions into groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gevglm.calibration.sample import Sample
from gevglm.exceptions import InvalidOptionError, unknown_option

RULES = ("width", "mass")
PICTURED = 2000  # groups of neighbouring predictions that a picture needs


@dataclass(frozen=True)
class Bins:
    """Bins that hold at least one row, in increasing order of the prediction.

    Attributes
    ----------
    index : ndarray of int, shape (n,)
        The bin of each row.
    weight, events : ndarray
        Observations and events of each bin.
    expected : ndarray
        Sum of the predictions of each bin.
    """

    index: NDArray
    weight: NDArray
    events: NDArray
    expected: NDArray

    @property
    def rate(self) -> NDArray:
        """Share of events of each bin."""
        return self.events / self.weight

    @property
    def score(self) -> NDArray:
        """Mean prediction of each bin."""
        return self.expected / self.weight

    def __len__(self) -> int:
        return len(self.weight)


def binned(sample: Sample, bins: int | None, by: str = "width") -> Bins:
    """Sort rows into bins.

    Parameters
    ----------
    sample : Sample
    bins : int or None
        Number of bins; None for one bin a distinct prediction.
    by : {"width", "mass"}
        Bins of equal width, [0, 1/k], (1/k, 2/k], ..., (1-1/k, 1], or cut at the quantiles of the predictions (R's type 7, bins
        closed on the right, equal predictions always together).
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


def checked_count(bins: int) -> int:
    """Return the number of bins if it is one."""
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise InvalidOptionError(f"bins={bins!r} is no number of bins; give a whole number from 1.")
    return int(bins)


def bin_edges(sample: Sample, bins: int, by: str) -> NDArray:
    """Return the inner edges of bins, see :func:`binned`."""
    bins = checked_count(bins)
    shares = np.arange(1, bins) / bins
    if by == "width":
        return shares
    if by == "mass":
        return np.unique(weighted_quantile(sample.p, sample.weight, shares))
    raise unknown_option("by", by, RULES)


def weighted_quantile(values: NDArray, weight: NDArray, shares: NDArray) -> NDArray:
    r"""Return quantiles at positions :math:`(n-1) q` of the sorted values (R's type 7).

    Whole weights repeat the values; other weights are first scaled to a mean of one.
    """
    order = np.argsort(values, kind="stable")
    values, weight = values[order], weight[order]
    if (weight != np.rint(weight)).any():
        weight = weight / weight.mean()
    ends = np.cumsum(weight)
    position = (ends[-1] - 1.0) * np.asarray(shares)
    below = np.floor(position)
    last = len(values) - 1
    low, high = (values[np.minimum(np.searchsorted(ends, at, side="right"), last)] for at in (below, below + 1.0))
    return low + (position - below) * (high - low)


@dataclass(frozen=True)
class Groups:
    """Neighbouring scores put together.

    Attributes
    ----------
    score, weight, events : ndarray
        Mean score, observations and events of each group, by increasing score.
    """

    score: NDArray
    weight: NDArray
    events: NDArray

    @property
    def rate(self) -> NDArray:
        return self.events / self.weight

    @property
    def expected(self) -> NDArray:
        """Events that scores which are probabilities expect."""
        return self.weight * self.score


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
    return Groups(center, total, np.add.reduceat(events, starts))
