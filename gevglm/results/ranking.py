"""The area under the ROC curve of rows that are read in pieces, exactly: the scores of the rarer outcome fit in memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import Block, Engine, Reducer

Scores = Callable[[Block], tuple[NDArray, NDArray, NDArray]]  # score, and the weight of events and of others


class _Collect(Reducer):
    """The distinct scores of one outcome, and their weights."""

    def __init__(self, scores: Scores, events: bool):
        self.scores = scores
        self.events = events

    def zero(self) -> list[tuple[NDArray, NDArray]]:
        return []

    def map(self, block: Block) -> tuple[NDArray, NDArray]:
        score, events, others = self.scores(block)
        weight = events if self.events else others
        return score[weight > 0], weight[weight > 0]

    def combine(self, total: list, part: tuple[NDArray, NDArray]) -> list:
        total.append(part)
        return total


class _Ranked(Reducer):
    """The weight of the other outcome below each score, with half of that at the same score."""

    def __init__(self, scores: Scores, events: bool, collected: NDArray):
        self.scores = scores
        self.events = events
        self.collected = collected

    def zero(self) -> NDArray:
        return np.zeros(2 * len(self.collected) + 1)

    def map(self, block: Block) -> tuple[NDArray, NDArray]:
        score, events, others = self.scores(block)
        weight = others if self.events else events
        score, weight = score[weight > 0], weight[weight > 0]
        left = np.searchsorted(self.collected, score, side="left")
        right = np.searchsorted(self.collected, score, side="right")
        places, inverse = np.unique(left + right, return_inverse=True)  # even between scores, odd at one
        return places, np.bincount(inverse, weights=weight, minlength=len(places))

    def combine(self, total: NDArray, part: tuple[NDArray, NDArray]) -> NDArray:
        places, weights = part
        total[places] += weights
        return total


def streamed_auc(engine: Engine, scores: Scores, events_are_rarer: bool) -> float:
    """Return the probability that an event has a higher score than another row, ties counting half, by two passes.

    Parameters
    ----------
    engine : Engine
    scores : callable
        From a block to scores, and the weights of events and of others.
    events_are_rarer : bool
        Whose scores are collected, 16 bytes each.
    """
    parts = engine.reduce(_Collect(scores, events_are_rarer))
    score = np.concatenate([part[0] for part in parts])
    weight = np.concatenate([part[1] for part in parts])
    collected, inverse = np.unique(score, return_inverse=True)
    weight = np.bincount(inverse, weights=weight)
    ranked = engine.reduce(_Ranked(scores, events_are_rarer, collected))
    total = ranked.sum()
    at = ranked[1::2]
    below = np.cumsum(ranked)[1::2] - at + 0.5 * at
    share = float(weight @ below / (weight.sum() * total))
    return share if events_are_rarer else 1.0 - share
