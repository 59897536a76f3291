"""Folds: which observations a model is fitted to, and which are held out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.row_weights import whole_counts
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError, InvalidOptionError

Masks = tuple[NDArray, NDArray]


@dataclass(frozen=True)
class Part:
    """One side of a fold."""

    rows: NDArray  # rows with an observation on this side; of shape (n,)
    # each row's observations on this side, and events among them, of shape (n,); None where rows are not divided
    counts: NDArray | None = None
    events: NDArray | None = None


@dataclass(frozen=True)
class Folds:
    """Training and held-out observations, fold by fold; as a sequence, pairs of masks of the rows."""

    parts: tuple[tuple[Part, Part], ...]  # training and held-out side of each fold

    def train(self, k: int) -> Part:
        """Return what the model of fold k is fitted to."""
        return self.parts[k][0]

    def test(self, k: int) -> Part:
        """Return what fold k holds out."""
        return self.parts[k][1]

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, k: int) -> Masks:
        train, test = self.parts[k]
        return train.rows, test.rows

    def __iter__(self) -> Iterator[Masks]:
        return (self[k] for k in range(len(self)))


def make_folds(
    endog: NDArray,
    folds: Any = 5,
    rng: Any = 0,
    *,
    counts: NDArray | None = None,
    groups: NDArray | None = None,
    each_outcome: bool = True,
) -> Folds:
    """Return training and held-out observations.

    Parameters
    ----------
    endog : ndarray of shape (n,)
        Outcomes, or shares of events.
    folds : int, splitter, boolean array or iterable of (train, test)
        A number of folds, stratified by outcome; an object with scikit-learn's ``split(X, y)``; the rows to hold out, as booleans; or pairs
        of row numbers.
    rng : int or Generator
        For a number of folds.
    counts : ndarray of shape (n,), optional
        Observations behind each row. A number of folds then divides observations, those of one row as well.
    groups : ndarray of shape (n,), optional
        Cluster of each row. A number of folds then keeps clusters together, and their events balanced.
    each_outcome : bool
        Refuse more folds than there are events, or others, so that every fold holds out both. Otherwise the others are numbered on from
        where the events ended: no fold is empty, and all are of the same size.

    Returns
    -------
    Folds
        A sequence of pairs of boolean masks, of the training and of the held-out rows.
    """
    n = len(endog)
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        rng = np.random.default_rng(rng)
        if folds < 2:
            raise InvalidOptionError(f"folds={folds} leaves nothing to hold out; give at least 2.")
        if counts is not None and groups is None:
            return _divided(endog, whole_counts(np.asarray(counts, dtype=float)), int(folds), rng, each_outcome)
        if groups is None:
            fold = _stratified(endog > 0.5, int(folds), rng, each_outcome)
        else:
            fold = _by_cluster(endog, np.ones(n) if counts is None else counts, groups, int(folds), rng)
        pairs: list[Any] = [(fold != k, fold == k) for k in range(folds)]
    elif groups is not None:
        raise IncompatibleOptionsError("clusters are kept together by a number of folds only; give folds as a number.")
    elif hasattr(folds, "split") and not isinstance(folds, str):
        pairs = list(folds.split(np.zeros((n, 1)), (endog > 0.5).astype(int)))
    elif isinstance(folds, (np.ndarray, pd.Series)) and folds.dtype == bool:
        held = np.asarray(folds)
        if held.shape != (n,):
            raise InvalidDataError(f"folds marks {held.size} rows to hold out, but the model has {n} rows.")
        pairs = [(~held, held)]
    elif isinstance(folds, Iterable) and not isinstance(folds, str):
        pairs = list(folds)
    else:
        raise InvalidOptionError(
            f"folds={folds!r} is neither a number of folds, a splitter, booleans for the rows to hold out, nor pairs of row numbers."
        )
    return Folds(tuple(_masks(pair, endog, k) for k, pair in enumerate(pairs)))


def _stratified(events: NDArray, folds: int, rng: np.random.Generator, each_outcome: bool) -> NDArray:
    """Return the fold of each observation, by chance and with its share of the events."""
    fold, start = np.empty(len(events), dtype=int), 0
    for level in (events, ~events):
        rows = np.flatnonzero(level)
        if each_outcome and len(rows) < folds:
            raise InvalidDataError(
                f"the rarer outcome has {len(rows)} rows, too few for {folds} folds; give fewer folds or xi='ml'."
            )
        fold[rng.permutation(rows)] = (start + np.arange(len(rows))) % folds
        start = 0 if each_outcome else len(rows)
    return fold


def _divided(endog: NDArray, counts: NDArray, folds: int, rng: np.random.Generator, each_outcome: bool) -> Folds:
    """Return folds of the observations behind the rows."""
    events = np.rint(counts * endog).astype(int)
    row = np.concatenate([np.repeat(np.arange(len(endog)), events), np.repeat(np.arange(len(endog)), counts - events)])
    event = np.arange(len(row)) < events.sum()
    fold = _stratified(event, folds, rng, each_outcome)
    parts = []
    for k in range(folds):
        held, hits = (np.bincount(row[chosen], minlength=len(endog)) for chosen in (fold == k, (fold == k) & event))
        kept, kept_hits = counts - held, events - hits
        if not 0 < kept_hits.sum() < kept.sum():
            raise _one_outcome("training", k)
        parts.append((Part(kept > 0, kept, kept_hits), Part(held > 0, held, hits)))
    return Folds(tuple(parts))


def _by_cluster(endog: NDArray, counts: NDArray, groups: NDArray, folds: int, rng: np.random.Generator) -> NDArray:
    """Return the fold of each row: clusters with many events first, each to the fold with the fewest events, then the fewest rows."""
    codes, labels = pd.factorize(np.asarray(groups))
    if len(labels) < folds:
        raise InvalidDataError(f"there are {len(labels)} clusters, too few for {folds} folds; give fewer folds.")
    events, size = (np.bincount(codes, weights=values) for values in (counts * endog, counts))
    shuffled = rng.permutation(len(labels))
    fold = np.empty(len(labels), dtype=int)
    total = np.zeros((folds, 2))
    for cluster in shuffled[np.lexsort((-size[shuffled], -events[shuffled]))]:
        own = events[cluster], size[cluster]
        fold[cluster] = min(range(folds), key=lambda k: tuple(total[k] if own[0] else total[k, ::-1]))
        total[fold[cluster]] += own
    return fold[codes]


def _masks(pair: tuple[Any, Any], endog: NDArray, number: int) -> tuple[Part, Part]:
    """Return the sides of a fold, for row numbers or masks."""
    masks = []
    for part, rows in zip(("training", "held-out"), pair, strict=True):
        mask = np.zeros(len(endog), dtype=bool)
        mask[np.asarray(rows)] = True
        if not mask.any() or (part == "training" and not (endog[mask].min() < 1 and endog[mask].max() > 0)):
            raise _one_outcome(part, number)
        masks.append(mask)
    return Part(masks[0]), Part(masks[1])


def _one_outcome(part: str, number: int) -> InvalidDataError:
    return InvalidDataError(f"the {part} rows of fold {number} do not hold both outcomes; use stratified folds.")
