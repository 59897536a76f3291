"""Folds: which observations a model is fitted to, and which are held out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.observations import Part, numbered, whole_counts
from gevglm.exceptions import InvalidDataError, InvalidOptionError

Masks = tuple[NDArray, NDArray]


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

    def refuse_repeats(self, counts: NDArray | None = None) -> Folds:
        """Return the folds if they hold out every observation once at the most; `counts` are those behind each row."""
        held = [part.rows.astype(float) if part.counts is None else part.counts for _, part in self.parts]
        whole = [part.counts is None for _, part in self.parts]
        limit = 1.0 if counts is None or all(whole) else counts
        repeated = int((np.sum(held, axis=0) > limit).sum())
        if repeated:
            raise InvalidOptionError(
                f"the folds hold out {repeated} rows more than once, so that they have more than one prediction; give folds that hold out each once."
            )
        return self

    def passes(self, counts: NDArray | None = None) -> float:
        """Return how often an observation is held out, on average; `counts` are those behind each row."""
        parts = [part for _, part in self.parts]
        if counts is None or all(part.counts is None for part in parts):
            held, all_rows = sum(part.rows.sum() for part in parts), len(parts[0].rows)
            return float(held / (all_rows if counts is None else (counts > 0).sum()))
        return float(sum((part.rows if part.counts is None else part.counts).sum() for part in parts) / counts.sum())

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
        A number of folds, stratified by outcome; an object with scikit-learn's ``split(X, y, groups)``; the rows to hold out, as booleans;
        or pairs of row numbers or booleans.
    rng : int or Generator
        For a number of folds.
    counts : ndarray of shape (n,), optional
        Observations behind each row. A number of folds and a splitter then divide observations, those of one row as well; rows of no
        observation are on no side.
    groups : ndarray of shape (n,), optional
        Cluster of each row. A number of folds then keeps clusters together, and their events balanced; a splitter is given them; folds of any kind
        that split a cluster are refused.
    each_outcome : bool
        Refuse more folds than there are events, or others, so that every fold holds out both. Otherwise the others are numbered on from
        where the events ended: no fold is empty, and all are of the same size.

    Returns
    -------
    Folds
        A sequence of pairs of boolean masks, of the training and of the held-out rows.
    """
    n, used = len(endog), np.full(len(endog), True) if counts is None else np.asarray(counts) > 0
    # numbers of observations that are divided; None where rows are on one side as they are
    divided = None if counts is None or groups is not None else whole_counts(np.asarray(counts, dtype=float))
    if divided is not None and (divided <= 1).all():
        divided = None
    pairs: list[Any]
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        rng = np.random.default_rng(rng)
        if folds < 2:
            raise InvalidOptionError(f"folds={folds} leaves nothing to hold out; give at least 2.")
        if divided is not None:
            return _divided(endog, divided, int(folds), rng, each_outcome)
        fold = np.full(n, -1)
        if groups is None:
            fold[used] = _stratified(endog[used] > 0.5, int(folds), rng, each_outcome)
        else:
            size = np.ones(n) if counts is None else np.asarray(counts)
            fold[used] = _by_cluster(endog[used], size[used], groups[used], int(folds), rng)
        pairs = [(fold != k, fold == k) for k in range(folds)]
    elif hasattr(folds, "split") and not isinstance(folds, str):
        if divided is not None:
            return _split_observations(endog, divided, folds)
        rows, clusters = np.flatnonzero(used), None if groups is None else groups[used]
        pairs = [
            (rows[train], rows[test])
            for train, test in folds.split(np.zeros((len(rows), 1)), (endog[used] > 0.5).astype(int), clusters)
        ]
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
    return Folds(tuple(_sides(pair, endog, used, groups, k) for k, pair in enumerate(pairs)))


def are_given_by_row(folds: Any) -> bool:
    """Whether folds say row by row what is held out, in place of a rule that may look at clusters."""
    return not (isinstance(folds, (int, np.integer)) or hasattr(folds, "split"))


# -- folds by chance ---------------------------------------------------------------------------


def _stratified(events: NDArray, folds: int, rng: np.random.Generator, each_outcome: bool) -> NDArray:
    """Return the fold of each observation, by chance and with its share of the events."""
    fold, start = np.empty(len(events), dtype=int), 0
    _check_number(int(events.sum()), len(events), folds, each_outcome)
    for level in (events, ~events):
        rows = np.flatnonzero(level)
        fold[rng.permutation(rows)] = (start + np.arange(len(rows))) % folds
        start = 0 if each_outcome else len(rows)
    return fold


def _divided(endog: NDArray, counts: NDArray, folds: int, rng: np.random.Generator, each_outcome: bool) -> Folds:
    """Return folds of the observations behind the rows: as many of each outcome as :func:`_stratified` has, drawn without replacement."""
    events = np.rint(counts * endog).astype(np.int64)
    _check_number(int(events.sum()), int(counts.sum()), folds, each_outcome)
    held, start = np.zeros((folds, 2, len(endog)), dtype=np.int64), 0
    for outcome, left in enumerate((events.copy(), counts - events)):
        total = int(left.sum())
        for k in range(folds):
            size = len(range((k - start) % folds, total, folds))
            held[k, outcome] = rng.multivariate_hypergeometric(left, size, method="marginals")
            left -= held[k, outcome]
        start = 0 if each_outcome else total
    kept = np.stack([events, counts - events]) - held
    return Folds(tuple(_fold(Part.of(*kept[k]), Part.of(*held[k]), endog, k) for k in range(folds)))


def _by_cluster(endog: NDArray, counts: NDArray, groups: NDArray, folds: int, rng: np.random.Generator) -> NDArray:
    """Return the fold of each row: clusters with many events first, each to the fold with the fewest events, then the fewest rows."""
    codes, labels = numbered(groups)
    if len(labels) < folds:
        if len(labels) < 2:
            raise InvalidDataError("there is 1 cluster; folds that keep clusters together need at least 2.")
        raise InvalidDataError(
            f"there are {len(labels)} clusters, too few for {folds} folds; give folds={len(labels)}{' or fewer' * (len(labels) > 2)}."
        )
    events, size = (np.bincount(codes, weights=values) for values in (counts * endog, counts))
    shuffled = rng.permutation(len(labels))
    fold = np.empty(len(labels), dtype=int)
    total = np.zeros((folds, 2))
    for cluster in shuffled[np.lexsort((-size[shuffled], -events[shuffled]))]:
        own = events[cluster], size[cluster]
        fold[cluster] = min(range(folds), key=lambda k: tuple(total[k] if own[0] else total[k, ::-1]))
        total[fold[cluster]] += own
    return fold[codes]


def _check_number(events: int, total: int, folds: int, each_outcome: bool) -> None:
    """Refuse more folds than observations; of the rarer outcome, if every fold is to hold out both."""
    rarer, name = min((events, "events"), (total - events, "observations without the event"))
    if each_outcome and rarer < folds:
        advice = f"give folds={rarer} or fewer" if rarer > 1 else "cross-validation needs at least 2"
        raise InvalidDataError(f"there are {rarer} {name}, too few for {folds} folds; {advice}.")
    if total < folds:
        raise InvalidOptionError(f"folds={folds} is not possible for {total} observations; give {total} or fewer.")


# -- folds that are given ----------------------------------------------------------------------


def _split_observations(endog: NDArray, counts: NDArray, splitter: Any) -> Folds:
    """Return the folds of a splitter that sees one row per observation, in the order of the rows, events first."""
    events, n = np.rint(counts * endog).astype(np.int64), len(endog)
    row = np.repeat(np.arange(n), counts)
    event = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts) < events[row]
    parts = []
    for number, pair in enumerate(splitter.split(np.zeros((len(row), 1)), event.astype(int))):
        counted = [
            [np.bincount(row[side][event[side] == outcome], minlength=n) for outcome in (True, False)] for side in pair
        ]
        parts.append(_fold(Part.of(*counted[0]), Part.of(*counted[1]), endog, number))
    return Folds(tuple(parts))


def _sides(
    pair: tuple[Any, Any], endog: NDArray, used: NDArray, groups: NDArray | None, number: int
) -> tuple[Part, Part]:
    """Return the sides of a fold, for row numbers or masks."""
    try:
        train_rows, test_rows = pair
        masks = [np.zeros(len(endog), dtype=bool) for _ in range(2)]
        for mask, rows in zip(masks, (train_rows, test_rows), strict=True):
            mask[np.asarray(rows)] = True
    except (TypeError, ValueError, IndexError) as error:
        raise InvalidOptionError(
            f"fold {number} of folds= is not a pair (train, test) of numbers or booleans of the {len(endog)} rows: {error}."
        ) from None
    train, test = (Part(mask & used) for mask in masks)
    if groups is not None:
        split = np.intersect1d(groups[train.rows], groups[test.rows])
        if len(split):
            raise InvalidDataError(
                f"fold {number} splits {len(split)} of {len(np.unique(groups))} clusters into training and held-out rows; keep them together, by a number of folds or a "
                "splitter such as scikit-learn's GroupKFold."
            )
    return _fold(train, test, endog, number)


def _fold(train: Part, test: Part, endog: NDArray, number: int) -> tuple[Part, Part]:
    """Return both sides, or refuse a fold that holds out nothing, or whose training side has one outcome only."""
    y = train.outcomes(endog)[0]
    if not (len(y) and y.min() < 1 and y.max() > 0):
        raise InvalidDataError(f"the training rows of fold {number} do not hold both outcomes; use stratified folds.")
    if not test.rows.any():
        raise InvalidDataError(f"fold {number} holds out no observation.")
    return train, test
