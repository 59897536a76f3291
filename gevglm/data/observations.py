"""Observations behind rows: those that were drawn, or that one side of a fold has; what a refit is made to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.grouping import Grouping
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError


@dataclass(frozen=True)
class Part:
    """Some of the observations behind rows."""

    rows: NDArray  # whether a row has an observation here; of shape (n,)
    # each row's observations here, and events among them, of shape (n,); None where rows are here as they are
    counts: NDArray | None = None
    events: NDArray | None = None

    @classmethod
    def of(cls, events: NDArray, others: NDArray) -> Part:
        """Return the part that has so many events and others of each row."""
        counts = events + others
        return cls(counts > 0, counts, events)

    def outcomes(self, y: NDArray, start: int = 0) -> tuple[NDArray, NDArray | None]:
        """Return the shares of events of the rows here, and their observations here, None where rows are here as they are.

        `y` are the outcomes of consecutive rows, from `start` on.
        """
        here = slice(start, start + len(y))
        rows = self.rows[here]
        if self.counts is None or self.events is None:
            return y[rows], None
        counts = self.counts[here][rows].astype(float)
        return self.events[here][rows] / counts, counts

    def need_both_outcomes(self) -> Part:
        """Return the part if it has events and others, as every part of a fold and every resample must."""
        assert self.counts is not None and self.events is not None
        events, total = float(self.events.sum()), float(self.counts.sum())
        if not 0.0 < events < total:
            raise InvalidDataError(
                f"resampling needs both outcomes, but all {total:g} observations are {'events' if events else 'non-events'}."
            )
        return self


def drawn(
    events: NDArray,
    others: NDArray,
    clusters: NDArray | None,
    generator: np.random.Generator,
    strata: NDArray | None = None,
) -> Part:
    """Draw as many observations as there are, with replacement, from rows that have so many events and others.

    Where rows are in clusters, whole clusters are drawn, as many as there are; by :func:`times_within`, where rows are in strata of a survey.
    """
    counts = events + others
    if clusters is None and strata is None and (whole_counts(counts) > 1).any():
        cells = np.concatenate([events, others])
        return Part.of(*np.split(generator.multinomial(int(cells.sum()), cells / cells.sum()), 2))
    used, times, position = counts > 0, np.zeros(len(counts)), None
    n, first = int(used.sum()), np.arange(int(used.sum()))
    if clusters is not None:
        present, first, position = np.unique(clusters[used], return_index=True, return_inverse=True)
        n = len(present)
    if strata is None:
        drawn_times = np.bincount(generator.integers(n, size=n), minlength=n)
    else:
        drawn_times = times_within(strata[used][first], generator)
    times[used] = drawn_times if position is None else drawn_times[position]
    return Part.of(times * events, times * others)


def times_within(strata: NDArray, generator: np.random.Generator) -> NDArray:
    """Return how often each unit counts in a bootstrap sample of units in strata (Rao and Wu 1988).

    Of the n units of a stratum, n - 1 are drawn with replacement, and count n/(n - 1) times for each draw: the variance of a total over
    resamples is then n/(n - 1) times the squared deviations from the mean of the stratum. The unit of a stratum of one counts once.
    """
    order = np.argsort(strata, kind="stable")
    _, starts, sizes = np.unique(strata[order], return_index=True, return_counts=True)
    of_draw = np.repeat(np.arange(len(sizes)), sizes - 1)
    places = starts[of_draw] + (generator.random(len(of_draw)) * sizes[of_draw]).astype(np.intp)
    times = np.bincount(places, minlength=len(strata)) * np.repeat(sizes / np.maximum(sizes - 1, 1), sizes)
    times[starts[sizes == 1]] = 1.0
    found = np.empty(len(strata))
    found[order] = times
    return found


def whole_counts(counts: NDArray) -> NDArray:
    """Return numbers of observations as integers, or refuse those that are not whole."""
    wrong = counts[counts != np.rint(counts)]
    if len(wrong):
        raise InvalidDataError(
            f"observations cannot be drawn or held out by frequency weights that are not whole numbers; {len(wrong)} of {len(counts)} are not "
            f"(the first is {wrong[0]:g}). Weights that do not count observations are var_weights."
        )
    return counts.astype(np.int64)


def one_way(clusters: Grouping) -> NDArray:
    """Return the cluster of each row, for rows that are in clusters of one kind; what resamples keeps them together."""
    if len(clusters.ways) > 1:
        raise IncompatibleOptionsError(
            "resampling keeps clusters of one kind together, but there are two; say which by groups=, the name of its column."
        )
    assert clusters.codes is not None, "the rows are in memory"
    return numbered(clusters.keys.iloc[:, 0])[0][clusters.codes]


def numbered(labels: Any) -> tuple[NDArray, Any]:
    """Return the number of each label and the distinct ones, in their order: a seed then draws the same ones whatever the order of the rows."""
    try:
        return pd.factorize(labels, sort=True)
    except TypeError:  # labels without an order
        return pd.factorize(labels)
