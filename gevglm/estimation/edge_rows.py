"""Rows near the end of the support: those whose outcome is certain there, and how far all others can go."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import Block, Reducer
from gevglm.engine.linalg import dense
from gevglm.links.base import AT_THE_END
from gevglm.losses import Loss

MOST = 64  # rows that a pass brings back
CLEARLY = 1e-12  # of a linear predictor: less is rounding


@dataclass(frozen=True)
class EdgeRows:
    """Some rows, each with the end of the support in question."""

    X: NDArray  # of shape (m, k)
    offset: NDArray  # added to the linear predictor; of shape (m,)
    side: NDArray  # 1 for the upper end of the support, -1 for the lower one
    size: NDArray  # by how much the slope of the loss changes at the end; infinite at a wall
    position: NDArray  # in the whole data
    rank: NDArray  # the larger, the more they matter to who asked for them

    @classmethod
    def none(cls, n_cols: int) -> EdgeRows:
        """Return no rows."""
        empty = np.zeros(0)
        return cls(np.zeros((0, n_cols)), empty, empty, empty, np.zeros(0, dtype=np.int64), empty)

    def __len__(self) -> int:
        return len(self.side)

    def take(self, rows: Any) -> EdgeRows:
        """Return some of them."""
        return EdgeRows(*(getattr(self, field.name)[rows] for field in fields(self)))

    def joined(self, other: EdgeRows) -> EdgeRows:
        """Return both, each row once."""
        if not len(self) or not len(other):
            return self if len(self) else other
        both = self.beside(other)
        return both.take(np.unique(both.position, return_index=True)[1])

    def beside(self, other: EdgeRows) -> EdgeRows:
        """Return both, one after the other."""
        values = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return EdgeRows(*(np.concatenate(pair) for pair in values))

    def first(self, most: int) -> EdgeRows:
        """Return those that matter most."""
        return self if len(self) <= most else self.take(np.sort(np.argsort(-self.rank, kind="stable")[:most]))

    def room(self, params: NDArray, support: tuple[float, float]) -> NDArray:
        """Return how far each row is from its end, negative beyond it."""
        end = np.where(self.side > 0, support[1], support[0])
        return self.side * (end - self.X @ params - self.offset)

    def distinct(self) -> EdgeRows:
        """Return rows that differ, those that are alike as one whose size is the sum of theirs."""
        if len(self) < 2:
            return self
        _, first, which = np.unique(
            np.column_stack([self.side, self.offset, self.X]), axis=0, return_index=True, return_inverse=True
        )
        rows = self.take(first)
        return replace(rows, size=np.bincount(np.ravel(which), self.size))


class _OfBlock:
    """The rows of a block at both ends of the support: which outcomes are certain there, and which are impossible."""

    def __init__(self, loss: Loss, block: Block):
        self.loss, self.block = loss, block
        weight = block.weight
        self.weight = np.ones(len(block.y)) if weight is None else weight
        used = self.weight > 0
        self.ends = [
            (side, end, used & (block.y == certain), used & (block.y != certain))
            for side, end, certain in zip((-1.0, 1.0), loss.link.support, (0.0, 1.0), strict=True)
            if np.isfinite(end)
        ]

    def rows(self, which: NDArray, side: float, end: float, rank: NDArray, most: int | None = None) -> EdgeRows:
        """Return some of its rows: all of which that is asked, or those that matter most."""
        positions = np.flatnonzero(which)
        if most is not None and len(positions) > most:
            positions = np.sort(positions[np.argpartition(-rank[positions], most)[:most]])
        block, count = self.block, len(positions)
        offset = np.zeros(count) if block.offset is None else block.offset[positions]
        return EdgeRows(
            np.asarray(dense(block.X[positions]), dtype=float),
            offset,
            np.full(count, side),
            kink_size(self.loss, side, end) * self.weight[positions],
            block.start + positions,
            rank[positions],
        )


def kink_size(loss: Loss, side: float, end: float) -> float:
    """Return by how much the slope of the loss changes at the end of the support, where the outcome is certain; infinite at a wall."""
    if loss.link.edge == "wall":
        return np.inf
    y = np.array([1.0 if side > 0 else 0.0])
    return float(np.abs(loss.slope(y, np.array([end])))[0])


class Reach(Reducer):
    """What is in the way of a step: rows that would cross the end of the support, and the share of the step at which an impossible outcome would be.

    Rows that lie beyond a kink count as crossing when they come back.
    """

    def __init__(self, loss: Loss, params: NDArray, step: NDArray):
        self.loss, self.params, self.step = loss, params, step

    def zero(self) -> tuple[EdgeRows, float]:
        return EdgeRows.none(len(self.params)), np.inf

    def map(self, block: Block) -> tuple[EdgeRows, float]:
        found, share = self.zero()
        with np.errstate(all="ignore"):
            v, moved = block.linear_predictor(self.params), block.X @ self.step
            of_block = _OfBlock(self.loss, block)
            for side, end, certain, impossible in of_block.ends:
                room, towards = side * (end - v), side * moved
                approaching = impossible & (towards > 0.0)
                share = min(share, (room[approaching] / towards[approaching]).min(initial=np.inf))
                way = np.where(room < -AT_THE_END, -1.0, 1.0)
                beyond = way * (towards - room)
                crossing = certain & (beyond > CLEARLY)
                if crossing.any():
                    found = found.joined(of_block.rows(crossing, side, end, beyond, MOST))
        return found, share

    def combine(self, total: tuple[EdgeRows, float], part: tuple[EdgeRows, float]) -> tuple[EdgeRows, float]:
        return total[0].joined(part[0]).first(MOST), min(total[1], part[1])


class AtTheEnd(Reducer):
    """The rows whose outcome is certain because they are at the end of the support."""

    def __init__(self, loss: Loss, params: NDArray):
        self.loss, self.params = loss, params

    def zero(self) -> EdgeRows:
        return EdgeRows.none(len(self.params))

    def map(self, block: Block) -> EdgeRows:
        found, v, of_block = self.zero(), block.linear_predictor(self.params), _OfBlock(self.loss, block)
        for side, end, certain, _ in of_block.ends:
            there = certain & (np.abs(end - v) <= AT_THE_END)
            if there.any():
                found = found.joined(of_block.rows(there, side, end, np.zeros(len(v))))
        return found

    def combine(self, total: EdgeRows, part: EdgeRows) -> EdgeRows:
        return total.joined(part)


class Outermost(Reducer):
    """The rows that lie furthest outside the support, whatever their outcome; of each end, with how far."""

    def __init__(self, loss: Loss, params: NDArray):
        self.loss, self.params = loss, params

    def zero(self) -> EdgeRows:
        return EdgeRows.none(len(self.params))

    def map(self, block: Block) -> EdgeRows:
        found, v, of_block = self.zero(), block.linear_predictor(self.params), _OfBlock(self.loss, block)
        for side, end, certain, impossible in of_block.ends:
            beyond = side * (v - end)
            rows = of_block.rows(certain | impossible, side, end, beyond, MOST)
            found = found.beside(rows)
        return found

    def combine(self, total: EdgeRows, part: EdgeRows) -> EdgeRows:
        return total.beside(part).first(2 * MOST)
