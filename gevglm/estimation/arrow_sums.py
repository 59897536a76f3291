r"""Sums over rows in groups that have constants of their own: of a loss, and of what bias reduction adds to its score.

Newton's iteration for an adjusted score needs a derivative of the adjustment: by Fisher scoring it is slow, or does not end. What a row adds is
its rate t(v) times its quadratic form, and of that form the part that is large, :math:`q_g = M_g / D_g^2` (M_g the summed variance of scores, which is D_g
for a likelihood), depends on the rows of its own group only. The derivative of :math:`t(v) q_g` is therefore an arrow too:

.. math:: -\frac{\partial}{\partial v_j} \sum_{i \in g} t_i q_g z_i = - q_g t_j' z_j + \lambda_j \sum_{i \in g} t_i z_i, \qquad
    \lambda_j = \frac{2 M_g W_j' / D_g - m_j'}{D_g^2}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import Block, Reducer
from gevglm.engine.grouped import Groups
from gevglm.estimation.arrow import Arrow, BlockColumns, RowForms
from gevglm.links.base import Point
from gevglm.losses import Loss

if TYPE_CHECKING:
    from gevglm.estimation.paired_arrow import PairedArrow

LONGEST = 2.0  # change of a constant in one step for an adjusted score
LONGER = 3.0  # times a scoring step, in the metric of the information: longer steps by the derivative are not believed
LEAST_CURVATURE = (
    0.2  # share of the information on a constant below which the derivative of its equation is not believed
)


class RowAdjustment(Protocol):
    """What bias reduction adds to the score, as far as groups with constants need it; see :mod:`gevglm.bias`."""

    def has_objective(self, loss: Loss) -> bool:
        """Whether the adjusted score is a gradient."""

    def rates(self, loss: Loss, point: Point) -> list[NDArray]:
        """Return what a row adds per unit of its quadratic form: for the constants, and (if another) for the other coefficients."""

    def rate_slopes(self, loss: Loss, point: Point) -> list[NDArray]:
        """Return the derivatives of :meth:`rates` by the linear predictor."""


@dataclass(slots=True)
class ArrowSums:
    """Sums of a loss, or of an adjusted one, at one set of coefficients: the constants of the groups first."""

    gradient: NDArray  # of shape (G + p,)
    information: Arrow | PairedArrow
    value: float = 0.0
    feasible: bool = True
    jacobian: Arrow | None = None  # derivative of an adjusted gradient, where it is not the information

    @property
    def finite(self) -> bool:
        """Whether value and gradient are numbers, and the information is positive definite."""
        numbers = np.isfinite(self.value) and np.isfinite(self.gradient).all()
        return bool(self.feasible and numbers and self.information.positive)

    def step(self) -> tuple[NDArray, float, bool]:
        """Return the Newton step, no constant moved far if the gradient is an adjusted one, and the decrement."""
        inside = self.information.solve(self.gradient)
        decrement = float(self.gradient @ inside)
        if self.jacobian is None:
            return -inside, decrement, False
        step, n = -self._by_jacobian(inside, decrement), len(self.information.diagonal)
        np.clip(step[:n], -LONGEST, LONGEST, out=step[:n])
        return step, decrement, False

    def _by_jacobian(self, inside: NDArray, decrement: float) -> NDArray:
        """Return the step by the derivative of the adjusted gradient, or `inside` where that is not believed: singular, or a step many times as long."""
        assert self.jacobian is not None
        try:
            step = self.jacobian.solve(self.gradient)
        except np.linalg.LinAlgError:
            return inside
        length = float(step @ self.information.times(step))  # type: ignore[union-attr]
        return step if length <= LONGER**2 * decrement else inside

    def of_constants(self, k: int) -> ArrowSums:
        """Return the sums as a function of the constants, for given slopes: the last k coefficients."""
        jacobian = None if self.jacobian is None else self.jacobian.of_constants(k)
        information = self.information.of_constants(k)
        return ArrowSums(self.gradient[:-k], information, self.value, self.feasible, jacobian)

    def release(self) -> None:
        """Keep everything, which is small."""


class BlockPoint(NamedTuple):
    """What is known of a block at some coefficients."""

    rows: BlockColumns
    point: Point
    curvature: NDArray  # expected, with the weights of the rows


class Part(NamedTuple):
    """Sums over a block: those of its groups, and those over all rows."""

    groups: slice
    of_groups: tuple[NDArray, ...]  # along the last axis
    of_rows: tuple[NDArray | float, ...]
    feasible: bool


@dataclass(slots=True)
class Totals:
    """Sums over all blocks."""

    of_groups: list[NDArray]
    of_rows: list[NDArray | float]
    feasible: bool = True


class ByGroup(Reducer):
    """Sums of groups, which no two blocks share, and sums over rows."""

    def __init__(self, groups: Groups):
        self.groups = groups

    def zero(self) -> Totals:
        return Totals([], [])

    def combine(self, total: Totals, part: Part) -> Totals:
        if not total.of_groups:
            total.of_groups = [np.zeros((*one.shape[:-1], len(self.groups))) for one in part.of_groups]
            total.of_rows = [0.0] * len(part.of_rows)
        for whole, some in zip(total.of_groups, part.of_groups, strict=True):
            whole[..., part.groups] = some
        total.of_rows = [whole + some for whole, some in zip(total.of_rows, part.of_rows, strict=True)]
        total.feasible &= part.feasible
        return total


class ArrowLossSums(ByGroup):
    """Gradient, second derivative and (with `value`) value of a loss; with `variance`, also the sums of the variances of scores.

    `known`, if given, takes what is known of each block, by its first row.
    """

    def __init__(
        self,
        loss: Loss,
        groups: Groups,
        params: NDArray,
        *,
        expected: bool = False,
        value: bool = False,
        variance: bool = False,
        known: dict[int, BlockPoint] | None = None,
    ):
        super().__init__(groups)
        self.loss, self.params = loss, params
        self.expected, self.value, self.variance = expected or loss.curvature_is_expected, value, variance
        self.known = known

    def map(self, block: Block) -> Part:
        loss, y, weight = self.loss, block.y, block.weight
        with np.errstate(all="ignore"):
            rows = BlockColumns(self.groups, block)
            v = linear_predictor(rows, block, self.params)
            point = loss.link.at(v)
            slope = block.weighted(loss.slope_at(y, point))
            curvature = block.weighted(
                loss.expected_curvature_at(point) if self.expected else loss.curvature_at(y, point)
            )
            if self.known is not None:
                self.known[block.start] = BlockPoint(rows, point, curvature)
            D, (B, gram) = rows.sums(curvature), rows.moments(curvature)
            means = B / D
            of_groups = [rows.sums(slope), D, means]
            value = float(block.weighted(loss.value_at(y, point)).sum()) if self.value else 0.0
            of_rows = [rows.totals(slope), gram - means @ B.T, value]
            if self.variance:
                m = block.weighted(loss.score_variance_at(point))
                variance = ScoreVariance.centred(rows.sums(m), *rows.moments(m), means)
                of_groups += [variance.of_groups, variance.crossed]
                of_rows.append(variance.spread)
            feasible = loss.feasible(y, v) if weight is None else loss.feasible(y[weight > 0], v[weight > 0])
            return Part(rows.groups, tuple(of_groups), tuple(of_rows), feasible)


def sums_of(total: Totals) -> ArrowSums:
    """Return what :class:`ArrowLossSums` summed up."""
    (scores, D, means), (gradient, schur, value) = total.of_groups[:3], total.of_rows[:3]
    arrow = Arrow(D, means, means, np.asarray(schur))
    return ArrowSums(np.concatenate([scores, gradient]), arrow, float(value), total.feasible)


@dataclass(frozen=True)
class ScoreVariance:
    """The variance of the scores if the model is right, where it is not the information: with the canonical loss."""

    of_groups: NDArray  # M, of shape (G,)
    crossed: NDArray  # with columns minus their means; of shape (p, G)
    spread: NDArray  # of shape (p, p)

    @classmethod
    def centred(cls, M: NDArray, B: NDArray, gram: NDArray, means: NDArray) -> ScoreVariance:
        """Return it from sums of weights over groups, of weights times columns, and of weights times their products, by the means of the columns."""
        crossed = means @ B.T
        return cls(M, B - means * M, gram - crossed - crossed.T + (means * M) @ means.T)

    @classmethod
    def of(cls, total: Totals) -> ScoreVariance:
        """Return it from what :class:`ArrowLossSums` summed up."""
        return cls(total.of_groups[3], total.of_groups[4], np.asarray(total.of_rows[3]))

    def forms(self, arrow: Arrow) -> RowForms:
        """Return the quadratic form of rows in the covariance that follows."""
        M, crossed, spread = self.of_groups, self.crossed, self.spread
        inverse, D, means = arrow.inverse, arrow.diagonal, arrow.upper
        V, pulled = inverse @ spread @ inverse, inverse @ crossed / D
        constant = M / D**2 + (means * (V @ means - 2.0 * pulled)).sum(axis=0)
        return RowForms(constant, 2.0 * (pulled - V @ means), V)


def linear_predictor(rows: BlockColumns, block: Block, params: NDArray) -> NDArray:
    """Return the linear predictors of a block."""
    v = rows.linear(params[len(params) - rows.n_columns :]) + rows.at_rows(params[rows.groups])
    if block.offset is not None:
        v += block.offset
    return v


class AdjustmentSums(ByGroup):
    """What bias reduction by the quadratic forms of rows adds to the score, and (with `derivative`) the derivative of the adjusted score."""

    def __init__(
        self,
        adjustment: RowAdjustment,
        loss: Loss,
        groups: Groups,
        params: NDArray,
        forms: RowForms,
        arrow: Arrow,
        variance: NDArray,
        known: dict[int, BlockPoint],
        derivative: bool = True,
    ):
        super().__init__(groups)
        self.derivative = derivative
        self.adjustment, self.loss, self.params = adjustment, loss, params
        self.forms, self.arrow, self.known = forms, arrow, known
        self.variance = variance  # M

    def map(self, block: Block) -> Part:
        with np.errstate(all="ignore"):
            rows, point, W = self.known.get(block.start) or self._block_point(block)
            rates = self.adjustment.rates(self.loss, point)
            shift = block.weighted(rates[-1]) * self.forms.of(rows)
            if not self.derivative:
                return Part(rows.groups, (rows.sums(shift),), (rows.totals(shift),), True)
            jacobian = self._jacobian(rows, block, point, W, rates)
            return Part(rows.groups, (rows.sums(shift), *jacobian[:3]), (rows.totals(shift), jacobian[3]), True)

    def _block_point(self, block: Block) -> BlockPoint:
        rows = BlockColumns(self.groups, block)
        point = self.loss.link.at(linear_predictor(rows, block, self.params))
        return BlockPoint(rows, point, block.weighted(self.loss.expected_curvature_at(point)))

    def _jacobian(
        self, rows: BlockColumns, block: Block, point: Point, W: NDArray, rates: list[NDArray]
    ) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Return the diagonal, the rows and columns of the constants over it, and the Schur complement of the block."""
        loss, means = self.loss, self.arrow.upper[:, rows.groups]
        D, M = self.arrow.diagonal[rows.groups], self.variance[rows.groups]
        observed = W if loss.curvature_is_expected else block.weighted(loss.curvature_at(block.y, point))
        q = M / D**2
        steeper = block.weighted(loss.expected_curvature_slope_at(point))
        spread = steeper if loss.is_likelihood else block.weighted(loss.score_variance_slope_at(point))
        pull = rows.at_rows(2.0 * M / D**3) * steeper - rows.at_rows(1.0 / D**2) * spread  # lambda
        pulled, pulled_columns = rows.sums(pull), rows.column_sums(pull)
        pulled_columns -= means * pulled
        slopes = self.adjustment.rate_slopes(loss, point)
        t, t_rest, slope, slope_rest = rates[0], rates[-1], slopes[0], slopes[-1]
        at_q = rows.at_rows(q)
        kappa = observed - at_q * block.weighted(slope)
        added = rows.sums(block.weighted(t))
        diagonal = rows.sums(kappa) + added * pulled
        doubtful = ~(diagonal > LEAST_CURVATURE * D)
        kappa_rest = kappa if len(rates) == 1 else observed - at_q * block.weighted(slope_rest)
        if doubtful.any():  # there a derivative that is too large is safe
            there, safe = rows.at_rows(doubtful), W + np.maximum(-at_q * block.weighted(slope), 0.0)
            kappa, kappa_rest = np.where(there, safe, kappa), np.where(there, safe, kappa_rest)
            added, pulled = np.where(doubtful, 0.0, added), np.where(doubtful, 0.0, pulled)
            pulled_columns = np.where(doubtful, 0.0, pulled_columns)
            diagonal = rows.sums(kappa) + added * pulled
        t_rest = block.weighted(t_rest)
        added_columns = rows.column_sums(t_rest) - means * rows.sums(t_rest)
        total = rows.sums(kappa)
        total_rest = total if kappa_rest is kappa else rows.sums(kappa_rest)
        sums_rest, gram = rows.moments(kappa_rest)
        sums_of_kappa = sums_rest if kappa_rest is kappa else rows.column_sums(kappa)
        upper = sums_of_kappa - means * total + added * pulled_columns
        lower = sums_rest - means * total_rest + pulled * added_columns
        crossed = means @ sums_rest.T
        inner = gram - crossed - crossed.T + (means * total_rest) @ means.T
        schur = inner + added_columns @ pulled_columns.T - (lower / diagonal) @ upper.T
        return diagonal, means + upper / diagonal, means + lower / diagonal, schur

    def apply(self, sums: ArrowSums, total: Totals) -> None:
        """Change gradient and derivative of a loss in place."""
        sums.gradient -= np.concatenate([total.of_groups[0], np.asarray(total.of_rows[0])])
        if self.derivative:
            diagonal, upper, lower = total.of_groups[1:]
            sums.jacobian = Arrow(diagonal, upper, lower, np.asarray(total.of_rows[1]))
