"""Matched sets: their rows side by side with those of sets of the same number of cases and about the same size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gevglm.conditional.recursion import inclusion, moments

GROWTH = 1.3  # largest ratio of the sizes of sets that are worked on side by side
AT_ONCE = 1 << 15  # numbers in the covariances that are worked on side by side


@dataclass(frozen=True)
class Shelf:
    r"""Sets of the same number of drawn rows; where most rows are cases, the controls are drawn, with the signs of all columns turned.

    The likelihood is the same: :math:`e_m(t) = e_{n-m}(1/t) \prod t`.
    """

    sets: NDArray  # positions of the sets; of shape (s,)
    rows: NDArray  # positions of their rows, -1 where there is none; of shape (n, s)
    sign: NDArray  # -1 for sets whose controls are drawn; of shape (s,)
    x: NDArray  # of shape (n, s, k)
    offset: NDArray  # -inf where there is no row; of shape (n, s)
    total: NDArray  # the sum of the columns over the rows that were drawn, of shape (s, k),
    offset_total: NDArray  # and of the offset
    drawn: int

    def linear(self, params: NDArray) -> NDArray:
        """Return the linear predictors, -inf where there is no row."""
        return self.x @ params + self.offset


@dataclass(frozen=True)
class SetSums:
    """The likelihood at some coefficients, set by set."""

    value: NDArray  # log-likelihoods; of shape (s,)
    score: NDArray  # of shape (s, k)
    information: NDArray  # summed over the sets, with their weights; of shape (k, k)
    third: NDArray | None  # the contraction of third cumulants, summed likewise; of shape (k,)


@dataclass(frozen=True)
class MatchedSets:
    """The rows of a design in their sets."""

    codes: NDArray  # set of each row; of shape (n,)
    cases: NDArray  # cases of each set; of shape (s,)
    sizes: NDArray  # rows of each set
    weight: NDArray  # how many sets each set stands for
    shelves: list[Shelf]  # the sets with both outcomes

    @classmethod
    def of(cls, X: NDArray, y: NDArray, codes: NDArray, offset: NDArray | None, weight: NDArray) -> MatchedSets:
        """Return the sets of rows with outcomes of 0 and 1; `codes` number the sets from 0, without gaps."""
        sizes = np.bincount(codes)
        cases = np.bincount(codes, y).astype(np.intp)
        shift = np.zeros(len(y)) if offset is None else offset
        shelves = _shelves(X, y, codes, shift, cases, sizes)
        return cls(codes, cases, sizes, weight, shelves)

    @property
    def informative(self) -> NDArray:
        """Which sets have both outcomes."""
        return (self.cases > 0) & (self.cases < self.sizes)

    def sums(self, params: NDArray, contract: NDArray | None = None) -> SetSums:
        """Return the likelihood of each set and its derivatives; see :func:`gevglm.conditional.recursion.moments`."""
        k = len(params)
        value, score = np.zeros(len(self.sizes)), np.zeros((len(self.sizes), k))
        information, third = np.zeros((k, k)), None if contract is None else np.zeros(k)
        for shelf in self.shelves:
            weight = self.weight[shelf.sets]
            found = moments(shelf.x, shelf.linear(params), shelf.drawn, contract)
            value[shelf.sets] = shelf.total @ params + shelf.offset_total - found.log
            score[shelf.sets] = shelf.total - found.mean
            information += np.tensordot(weight, found.covariance, 1)
            if third is not None and found.third is not None:
                third += weight @ found.third
        return SetSums(value, score, information, third)

    def risks(self, params: NDArray) -> NDArray:
        """Return the probability of each row to be a case, given the number of cases in its set."""
        found = (self.cases == self.sizes).astype(float)[self.codes]
        for shelf in self.shelves:
            drawn = inclusion(shelf.linear(params), shelf.drawn)
            there = shelf.rows >= 0
            found[shelf.rows[there]] = np.where(shelf.sign < 0, 1.0 - drawn, drawn)[there]
        return found

    def pairs(self, X: NDArray, y: NDArray) -> NDArray:
        """Return the differences of each case and each control of the same set."""
        order = np.lexsort((y, self.codes))
        ends = np.cumsum(self.sizes)
        parts = []
        for end, size, cases in zip(
            ends[self.informative], self.sizes[self.informative], self.cases[self.informative], strict=True
        ):
            controls, events = X[order[end - size : end - cases]], X[order[end - cases : end]]
            parts.append((events[:, None] - controls).reshape(-1, X.shape[1]))
        return np.concatenate(parts)


def _shelves(X: NDArray, y: NDArray, codes: NDArray, offset: NDArray, cases: NDArray, sizes: NDArray) -> list[Shelf]:
    order = np.argsort(codes, kind="stable")
    starts = np.cumsum(sizes) - sizes
    drawn = np.minimum(cases, sizes - cases)
    sets = np.flatnonzero(drawn > 0)
    sets = sets[np.lexsort((sizes[sets], drawn[sets]))]
    found, first = [], 0
    while first < len(sets):
        m, most = drawn[sets[first]], GROWTH * sizes[sets[first]]
        last = min(len(sets), first + max(1, AT_ONCE // ((m + 1) * X.shape[1] ** 2)))
        alike = (drawn[sets[first:last]] == m) & (sizes[sets[first:last]] <= most)
        last = first + int(np.argmin(alike)) if not alike.all() else last
        found.append(_shelf(X, y, offset, sets[first:last], order, starts, sizes, cases, int(m)))
        first = last
    return found


def _shelf(
    X: NDArray,
    y: NDArray,
    offset: NDArray,
    sets: NDArray,
    order: NDArray,
    starts: NDArray,
    sizes: NDArray,
    cases: NDArray,
    drawn: int,
) -> Shelf:
    most = sizes[sets].max()
    places = np.arange(most)[:, None] - (most - sizes[sets])  # empty places come first
    there = places >= 0
    rows = np.where(there, order[starts[sets] + np.maximum(places, 0)], -1)
    sign = np.where(cases[sets] > drawn, -1.0, 1.0)
    x = np.where(there[..., None], X[rows] * sign[:, None], 0.0)
    shift = np.where(there, offset[rows] * sign, -np.inf)
    chosen = there & (y[rows] == np.where(sign < 0, 0.0, 1.0))
    total = (x * chosen[..., None]).sum(axis=0)
    return Shelf(sets, rows, sign, x, shift, total, np.where(chosen, shift, 0.0).sum(axis=0), drawn)
