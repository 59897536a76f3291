"""Predictions and outcomes of more rows than memory holds: neighbouring predictions put together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

EXACT_ROWS = 5_000_000  # up to which rows are kept as they are
BINS = 1 << 20
WIDEST = 40.0  # log odds beyond which predictions are put together


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

    def add(self, part: Predicted) -> Collection:
        """Add the predictions of some rows."""
        self.n_rows += len(part.y)
        self.parts.append(part)
        if self.n_rows > EXACT_ROWS:
            added = sum(binned(*kept) for kept in self.parts)
            self.sums = added if self.sums is None else self.sums + added
            self.parts = []
        return self

    def predicted(self) -> Predicted:
        """Return all of them."""
        if self.sums is None:
            return Predicted(*(np.concatenate(vectors) for vectors in zip(*self.parts, strict=True)))
        return unbinned(self.sums)


def binned(y: NDArray, p: NDArray, weights: NDArray) -> NDArray:
    """Return sums for every bin of log odds: the weight of the others, of the events, and of both times the prediction.

    Returns
    -------
    ndarray of shape (3, BINS + 2)
        The first and last bins are those of predictions of exactly 0 and 1.
    """
    with np.errstate(divide="ignore"):
        odds = np.log(p) - np.log1p(-p)
    place = ((np.clip(odds, -WIDEST, WIDEST) + WIDEST) * ((BINS - 1) / (2.0 * WIDEST))).astype(np.intp) + 1
    place[p == 0.0], place[p == 1.0] = 0, BINS + 1
    parts = (weights * (1.0 - y), weights * y, weights * p)
    return np.array([np.bincount(place, weights=part, minlength=BINS + 2) for part in parts])


def unbinned(sums: NDArray) -> Predicted:
    """Return one row for each bin and outcome, with the mean prediction of the bin."""
    others, events, total = sums[:, sums[0] + sums[1] > 0]
    p = np.clip(total / (others + events), 0.0, 1.0)
    weights = np.concatenate([others, events])
    used = weights > 0
    return Predicted(np.repeat([0.0, 1.0], len(p))[used], np.tile(p, 2)[used], weights[used])
