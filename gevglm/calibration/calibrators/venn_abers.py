"""Venn-Abers calibration: isotonic regression with the new case in it, once as an event and once as none."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

from gevglm.calibration.bins import grouped
from gevglm.calibration.calibrators.base import Calibrator
from gevglm.calibration.sample import Sample

STEPS = 200  # of the search for a tangent, which takes about ten
SMALLEST = 4.0 * np.finfo(float).eps  # change of a slope in [0, 1] that is still one


class VennAbers(Calibrator):
    r"""Inductive Venn-Abers calibration: two isotonic regressions, in which the new case is an event and is none.

    With distinct calibration scores in order, :math:`W_k` observations and :math:`S_k` events among the lowest k of them, the isotonic
    regression with the new case of outcome y added has, at its score,

    .. math:: p_y = \max_{i \le l} \min_{j \ge r} \frac{S_j - S_i + y}{W_j - W_i + 1}, \qquad p = \frac{p_1}{1 - p_0 + p_1}

    where l scores are below the new one and r are below or equal to it. If calibration cases and the new one are exchangeable, one of
    :math:`p_0` and :math:`p_1` is calibrated, whatever the scores are (Vovk and Petej 2014); p is the probability whose log loss is
    at most so much above either.

    Attributes
    ----------
    levels : DataFrame
        One row per stretch of calibration scores with the same answer: ``score_min``, ``score_max``, ``p0``, ``p1``, ``probability``.

    Examples
    --------
    >>> fitted = VennAbers().fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    >>> lower, upper = fitted.interval([0.25])
    >>> float(lower[0]), float(upper[0])
    (0.3333333333333333, 0.6666666666666666)
    """

    word = "venn-abers"
    levels: pd.DataFrame
    _scores: NDArray
    _limits: NDArray  # of shape (2, 2 m + 1): p0 and p1 below, at and between the m scores

    def _fit(self, sample: Sample) -> None:
        groups = grouped(sample.p, sample.y, sample.weight, len(sample.p))
        sizes, events = (np.append(0.0, np.cumsum(part)) for part in (groups.weight, groups.events))
        scores = np.unique(sample.p)  # exactly: a new score may be equal to one of them
        self._scores, self._limits = scores, _limits(sizes, events)
        p0, p1 = self._limits[:, 1::2]
        starts = np.flatnonzero(np.append(True, (np.diff(p0) != 0.0) | (np.diff(p1) != 0.0)))
        ends = np.append(starts[1:], len(p0)) - 1
        self.levels = pd.DataFrame(
            {
                "score_min": scores[starts],
                "score_max": scores[ends],
                "p0": p0[starts],
                "p1": p1[starts],
                "probability": _merged(p0, p1)[starts],
            }
        )

    def interval(self, scores: ArrayLike) -> tuple[NDArray, NDArray]:
        """Return both probabilities of scores: with the new case as no event, and as an event."""
        scores = self._checked(scores)
        place = sum(np.searchsorted(self._scores, scores, side=side) for side in ("left", "right"))
        p0, p1 = self._limits[:, place]
        return p0, p1

    def predict(self, scores: ArrayLike) -> NDArray:
        """Return the probabilities of scores."""
        return _merged(*self.interval(scores))

    def _log_odds(self, scores: NDArray) -> NDArray:
        return logit(self.predict(scores))

    def summary_frame(self, level: float = 0.95) -> pd.DataFrame:
        self._need_fit()
        return self.levels

    def _facts(self) -> dict[str, str]:
        return {"Levels": str(len(self.levels))}


def _merged(p0: NDArray, p1: NDArray) -> NDArray:
    return p1 / (1.0 - p0 + p1)


def _limits(sizes: NDArray, events: NDArray) -> NDArray:
    """Return p0 and p1 of a new case below, at and between the scores, whose cumulative sums are given.

    Both are slopes of the line that touches, from below, the points left of the new case and those right of it, moved by the case. Its
    slope is where the two supporting lines of that slope are one, found by Newton's method within a shrinking bracket.
    """
    last = len(sizes) - 1
    place = np.arange(2 * last + 1)
    left, right = place // 2, (place + 1) // 2
    to_right = _Hull(sizes, events)
    to_left = _Hull(-sizes[::-1], events[::-1])
    limits = np.empty((2, len(place)))
    for y in (0.0, 1.0):
        low, high, slope = np.zeros(len(place)), np.ones(len(place)), np.full(len(place), events[-1] / sizes[-1])
        todo = place
        for _ in range(STEPS):
            s = slope[todo]
            j = to_right.touching(right[todo], s)
            i = last - to_left.touching(last - left[todo], -s)
            found = (events[j] - events[i] + y) / (sizes[j] - sizes[i] + 1.0)
            low[todo], high[todo] = np.where(found >= s, s, low[todo]), np.where(found <= s, s, high[todo])
            inside = (found >= low[todo]) & (found <= high[todo])
            slope[todo] = np.where(inside, found, (low[todo] + high[todo]) / 2.0)
            todo = todo[np.abs(slope[todo] - s) > SMALLEST]
            if not len(todo):
                break
        limits[int(y)] = slope
    return limits


class _Hull:
    """Lower convex hulls of the points from each one on, as a tree: the next corner, and those 2, 4, 8, ... corners on."""

    def __init__(self, x: NDArray, y: NDArray):
        following, slope = _corners(x.tolist(), y.tolist())
        self.ahead, self.slope = [np.array(following)], np.array(slope)
        while (self.ahead[-1] != len(x) - 1).any():
            self.ahead.append(self.ahead[-1][self.ahead[-1]])

    def touching(self, start: NDArray, slope: NDArray) -> NDArray:
        """Return the corner of the hull from `start` on that a line of the slope touches: the first with a steeper edge after it."""
        corner = start
        at_corner = self.slope[corner] >= slope
        for ahead in reversed(self.ahead):
            before = ahead[corner]
            corner = np.where(self.slope[before] < slope, before, corner)
        return np.where(at_corner, start, self.ahead[0][corner])


def _corners(x: list[float], y: list[float]) -> tuple[list[int], list[float]]:
    """Return the next corner of the lower hull of the points from each one on, and the slope to it (infinite at the end)."""
    last = len(x) - 1
    following, slope = [last] * len(x), [np.inf] * len(x)
    for k in range(last - 1, -1, -1):
        corner = k + 1
        steep = (y[corner] - y[k]) / (x[corner] - x[k])
        while steep >= slope[corner]:
            corner = following[corner]
            steep = (y[corner] - y[k]) / (x[corner] - x[k])
        following[k], slope[k] = corner, steep
    return following, slope
