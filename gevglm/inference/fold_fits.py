r"""Fits without each fold, and their scores on it, in passes over the rows that all folds share.

Sums over the training rows of a fold are those over all rows less those over the rows it holds out. At coefficients b that all folds share, one pass therefore gives the
Newton step of every fold; near the fit to all rows one step may be enough. With
:math:`d` the Newton decrement of a fold at b and :math:`c` the largest :math:`d_{j+1} / d_j^2` seen on the way to b, the step leaves a decrement of about
:math:`c d^2`, and the log-likelihood of the held-out rows changes by about :math:`\sqrt{c d^2 \cdot d}`.

Where that is too much, steps with the second derivatives at b follow, of every fold from its own coefficients (chords), which need gradients only. If a
step took the decrement from :math:`d_j` to :math:`d_{j+1}`, the next leaves no more than about :math:`4 d_{j+1}^2 / d_j`: four, since a Newton step has half the
remainder of a chord.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from gevglm.engine.base import ArraySum, Block, Engine
from gevglm.engine.cholesky import COLLINEAR, Cholesky
from gevglm.engine.linalg import dense, row_products, weighted_gram
from gevglm.estimation.checks import THINNEST
from gevglm.estimation.estimate import Problem, null_loss
from gevglm.estimation.objective import Penalty
from gevglm.estimation.sums import NewtonSums, totals
from gevglm.exceptions import GevglmError
from gevglm.inference.folds import Folds
from gevglm.inference.shape_equations import LossOf
from gevglm.inference.shape_path import REACH, ROUGH
from gevglm.links.base import BinaryLink, Point
from gevglm.losses import Loss

MOST_COLUMNS = 256  # of which the sums of every fold are kept
ACCURACY = 1e-8  # of the log loss of held-out rows, as a share of the null model's
STEPS = 8  # on all rows, towards a candidate's fit
CHORDS = 4  # of all folds, from one step
SLOW = 0.25  # of a decrement, left by a chord after which fits of their own are better

Score = Callable[[NDArray, Point, BinaryLink], NDArray]


def held_out_by(folds: Folds, engine: Engine) -> NDArray | None:
    """Return which fold holds out each row, -1 for none; None where folds share rows, or train on less than all others."""
    codes = np.full(engine.n_rows, -1, dtype=np.int16)
    for f, (train, test) in enumerate(folds.parts):
        whole = train.counts is None and test.counts is None
        if not whole or (train.rows == test.rows).any() or (codes[test.rows] >= 0).any():
            return None
        codes[test.rows] = f
    return codes if engine.n_cols <= MOST_COLUMNS else None


@dataclass
class Looks:
    """What the fits of all penalties have seen of the rows: sums do not depend on the penalty."""

    # by shape: the last point that was looked at, and the sums there of the rows that each fold holds out
    sums: dict[float, tuple[NDArray, NDArray]] = field(default_factory=dict)
    rate: float = 0.0  # the c above


class FoldFits:
    """The fits of one penalty without each fold, along the shape."""

    def __init__(
        self,
        problem: Problem,
        loss_of: LossOf,
        codes: NDArray,
        n_folds: int,
        penalty: Penalty | None,
        looks: Looks | None = None,
    ):
        self.problem = replace(problem, start=None, penalty=penalty, tol=ROUGH)
        self.loss_of = loss_of
        self.codes = codes
        self.n_folds = n_folds
        self.scale = max(1.0, null_loss(*totals(problem.engine)))
        self.points: dict[float, NDArray] = {}  # coefficients of all rows
        self.looks = Looks() if looks is None else looks

    def steps(self, xi: float) -> tuple[list[NDArray], bool] | None:
        """Return the coefficients without each fold one step from those of all rows, and whether that is near enough.

        None where the rows of a fold do not determine them, steps do not converge, or risks stop at a wall.
        """
        loss = self.loss_of(xi)
        if loss.is_likelihood and loss.link.edge == "wall":
            return None
        tried = (self._steps_from(start, loss, xi) for start in self._starts(xi, loss))
        return next((found for found in tried if found is not None), None)

    def _steps_from(self, point: NDArray, loss: Loss, xi: float) -> tuple[list[NDArray], bool] | None:
        """Do what :meth:`steps` does from a point; None where the steps do not converge from there."""
        last = np.inf
        for _ in range(STEPS):
            found = [each for each in map(_step, self._sums(loss, xi, point)) if each is not None]
            if len(found) <= self.n_folds or found[0][1] > last:
                return None
            (step, decrement, _), *of_folds = found
            if np.isfinite(last):
                self.looks.rate = max(self.looks.rate, decrement / last**2)
            near = all(self._is_near(left) for _, left, _ in of_folds)
            if near or decrement <= ROUGH**2 * self.scale:
                self.points[xi] = point + step
                params = [point + each for each, _, _ in of_folds]
                factors = [factor for _, _, factor in of_folds]
                return (params, True) if near else self._by_chords(loss, params, [d for _, d, _ in of_folds], factors)
            point, last = point + step, decrement
        return None

    def _by_chords(
        self, loss: Loss, params: list[NDArray], first: list[float], factors: list[Cholesky]
    ) -> tuple[list[NDArray], bool]:
        """Take chords after the steps of all folds, which had the decrements `first`, until they are near enough or slow."""
        last = np.array(first)
        for _ in range(CHORDS):
            gradients = self.problem.engine.reduce(_slopes_by_fold(loss, params, self.codes))
            if self.problem.penalty is not None:
                nothing = np.zeros((gradients.shape[1],) * 2)
                pairs = zip(gradients, params, strict=True)
                gradients = np.array(
                    [self.problem.penalty.added_to(NewtonSums(g, nothing.copy()), at).gradient for g, at in pairs]
                )
            if not np.isfinite(gradients).all():
                break
            steps = [-factor.solve(gradient) for factor, gradient in zip(factors, gradients, strict=True)]
            decrements = -np.einsum("fk,fk->f", gradients, np.array(steps))
            if not (decrements <= SLOW * last).all():
                break
            params = [at + step for at, step in zip(params, steps, strict=True)]
            if (4.0 * decrements**2 * first <= (ACCURACY * self.scale) ** 2 * last).all():
                return params, True
            last = decrements
        return params, False

    def _starts(self, xi: float, loss: Loss) -> Iterator[NDArray]:
        """Yield where steps may begin, one after the other until they converge.

        Where the rows were looked at under another penalty, which takes no pass; what near shapes say; the fit of a part of the rows (the way from it
        shows the c above); that of all rows. Where the loss is not convex, the first and the last.
        """
        seen, predicted = self.looks.sums.get(xi), self._predicted(xi)
        if seen is not None:
            yield seen[0]
        if loss.convex and predicted is not None:
            yield predicted
        whole = self.problem.engine
        part = whole.subsample_blocks(THINNEST)
        engines = (part, whole) if loss.convex and part.n_rows <= whole.n_rows // 2 else (whole,)
        start = None if loss.convex else predicted
        for engine in engines:
            try:  # a part of sorted rows may hold one outcome; what is wrong with all rows is said by the fits without the folds
                yield replace(self.problem, engine=engine, loss=loss, start=start).estimate().params
            except GevglmError:
                continue

    def _is_near(self, decrement: float) -> bool:
        """Whether the fit of a fold is known well enough after a step of this decrement."""
        known = self.looks.rate > 0.0 and self.looks.rate * decrement**3 <= (ACCURACY * self.scale) ** 2
        return known or decrement <= 0.5 * ROUGH**2 * self.scale

    def _sums(self, loss: Loss, xi: float, point: NDArray) -> list[NewtonSums]:
        """Return the sums of all rows, and of the training rows of every fold."""
        seen = self.looks.sums.get(xi)
        if seen is None or seen[0] is not point:
            seen = point, self.problem.engine.reduce(_sums_by_fold(loss, point, self.codes, self.n_folds))
            self.looks.sums[xi] = seen
        parts = seen[1]
        total, penalty = parts.sum(axis=0), self.problem.penalty
        sums = [NewtonSums(part[0].copy(), part[1:].copy()) for part in (total, *(total - parts[:-1]))]
        return sums if penalty is None else [penalty.added_to(each, point) for each in sums]

    def _predicted(self, xi: float) -> NDArray | None:
        """Extrapolate the coefficients of all rows from those at up to three near shapes."""
        near = sorted((x for x in self.points if abs(x - xi) <= REACH), key=lambda x: abs(x - xi))[:3]
        if not near:
            return None
        shares = [np.prod([(xi - other) / (x - other) for other in near if other != x]) for x in near]
        return np.sum([share * self.points[x] for share, x in zip(shares, near, strict=True)], axis=0)


def weights_by_fold(engine: Engine, codes: NDArray, n_folds: int) -> list[float]:
    """Return the weight of the rows that each fold holds out."""

    def total(block: Block) -> NDArray:
        fold = codes[block.start : block.start + len(block.y)]
        return np.bincount(fold + 1, block.weighted(np.ones_like(block.y)), minlength=n_folds + 1)[1:]

    return engine.reduce(ArraySum(total)).tolist()


def scores_by_fold(
    engine: Engine, codes: NDArray, params: list[NDArray], link: BinaryLink, score: Score, weights: list[float]
) -> list[float]:
    """Return the mean score of the rows that each fold holds out, by its own coefficients and of the given weight; infinite where that is."""
    never = np.zeros_like(params[0])  # the last, for rows that are never held out
    stacked = np.vstack([*params, never])

    def total(block: Block) -> NDArray:
        fold = codes[block.start : block.start + len(block.y)]
        linear = row_products(block.X, stacked.take(fold, axis=0))
        if block.offset is not None:
            linear += block.offset
        value = block.weighted(score(block.y, link.at(linear), link))
        return np.bincount(fold + 1, value, minlength=len(params) + 1)[1:]

    means = engine.reduce(ArraySum(total)) / weights
    known = np.isfinite(stacked[:-1]).all(axis=1) & np.isfinite(means)
    return np.where(known, means, np.inf).tolist()


def _sums_by_fold(loss: Loss, params: NDArray, codes: NDArray, n_folds: int) -> ArraySum:
    """Sum gradient (first) and Hessian over the rows that each fold holds out, and (last) over those that none does."""
    k = len(params)

    def sums(block: Block) -> NDArray:
        fold = codes[block.start : block.start + len(block.y)]
        order = np.argsort(fold, kind="stable")
        ends = np.searchsorted(fold.take(order), np.arange(-1, n_folds + 1))
        point = loss.link.at(block.linear_predictor(params))
        slope = block.weighted(loss.slope_at(block.y, point)).take(order)
        curvature = block.weighted(loss.curvature_at(block.y, point)).take(order)
        X = block.X[order] if issparse(block.X) else block.X.take(order, axis=0)
        found = np.zeros((n_folds + 1, k + 1, k))
        for f in range(-1, n_folds):
            rows = slice(ends[f + 1], ends[f + 2])
            if rows.stop > rows.start:
                found[f, 0] = slope[rows] @ X[rows]
                found[f, 1:] = dense(weighted_gram(X[rows], curvature[rows]))
        return found

    return ArraySum(sums)


def _slopes_by_fold(loss: Loss, params: list[NDArray], codes: NDArray) -> ArraySum:
    """Sum the gradient of each fold at its own coefficients over the rows that it does not hold out."""

    def sums(block: Block) -> NDArray:
        fold, found = codes[block.start : block.start + len(block.y)], np.empty((len(params), len(params[0])))
        for f, at in enumerate(params):
            slope = block.weighted(loss.slope_at(block.y, loss.link.at(block.linear_predictor(at))))
            found[f] = np.where(fold == f, 0.0, slope) @ block.X
        return found

    return ArraySum(sums)


def _step(sums: NewtonSums) -> tuple[NDArray, float, Cholesky] | None:
    """Return the Newton step, its decrement and what it was solved with; None where the Hessian does not determine it."""
    if not (np.isfinite(sums.gradient).all() and np.isfinite(sums.hessian).all()):
        return None
    factor = Cholesky(sums.hessian)
    if not factor.positive or factor.smallest_pivot < COLLINEAR:
        return None
    step = -factor.solve(sums.gradient)
    return step, float(-(sums.gradient @ step)), factor
