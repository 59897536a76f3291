r"""The equations that coefficients and an estimated shape solve together: scores, second derivatives, covariances.

With :math:`V = F(1-F)` the estimates solve the stacked equations

.. math::

    \sum_i w_i a_i (y_i - F_i)\, x_i = 0, \qquad \sum_i w_i e_i (y_i - F_i) = 0,

* log loss: :math:`a = F'/V` and :math:`e = F_\xi / V`, the scores of coefficients and shape;
* canonical loss: :math:`a = 1` and :math:`e = (F_\xi + F' x'c)/V`, the derivative of the log-likelihood along the path
  :math:`\hat b(\xi)` of canonical fits, whose direction is :math:`c = -(\sum w F' x x')^{-1} \sum w F_\xi x`.

The covariance of all of them is the sandwich of these equations (the inverse joint observed information for the log loss).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gevglm.covariance import Covariance, Fitted
from gevglm.engine.base import (
    ArraySum,
    Block,
    Engine,
    MappedEngine,
    Pass,
    Passes,
    Reducer,
    ReducerGroup,
    make_pass,
    run,
)
from gevglm.engine.cholesky import inverse
from gevglm.engine.linalg import dense, hstack_columns, one_blas_thread, scale_rows, weighted_gram
from gevglm.estimation.objective import Objective
from gevglm.estimation.sums import LossSums, NewtonSums
from gevglm.exceptions import InvalidOptionError
from gevglm.links.base import JointDerivatives, Point
from gevglm.losses import Canonical, Log, Loss

STEP = 1e-5  # of the differences of first derivatives

LossOf = Callable[[float], Loss]


def log_loss_sum(engine: Engine, log: Log, params: NDArray) -> Passes[float]:
    """Sum up the log loss; infinite where the fit rules out a row."""

    def total(block: Block) -> NDArray:
        value = log.value_at(block.y, log.link.at(block.linear_predictor(params)))
        return block.weighted(value).sum()

    value = float((yield Pass(engine, ArraySum(total))))
    return value if np.isfinite(value) else np.inf


def path_direction(engine: Engine, loss: Loss, params: NDArray) -> NDArray:
    """Return how the coefficients of the canonical fit move with the shape; zero for the log loss, NaN at a singular fit."""
    if loss.is_likelihood:  # at its maximum, moving the coefficients does not change it
        return np.zeros_like(params)

    def shift(block: Block) -> NDArray:
        point = loss.link.at(block.linear_predictor(params))
        return block.weighted(point.dcdf_dshape) @ block.X

    hessian = dense(engine.reduce(LossSums(loss, params, expected=True)).hessian)
    return -_inverse(hessian) @ engine.reduce(ArraySum(shift))


def shape_score(engine: Engine, loss: Loss, params: NDArray, direction: NDArray | None = None) -> float:
    """Return the derivative of the log-likelihood by the shape, along the path of fits."""
    direction = path_direction(engine, loss, params) if direction is None else direction

    def score(block: Block) -> NDArray:
        point = loss.link.at(block.linear_predictor(params))
        return block.weighted(_shape_factor(block, point, direction) * (block.y - point.cdf)).sum()

    return float(engine.reduce(ArraySum(score)))


# -- the likelihood as a function of coefficients and shape --------------------------------------


@dataclass(frozen=True)
class JointLikelihood:
    """The negative log-likelihood as a function of the coefficients and, last, the shape, which keeps to a range."""

    engine: Engine
    loss_of: LossOf
    lowest: float
    highest: float
    omitted: Sequence[int] = ()  # columns that are left out

    @property
    def objective(self) -> Objective:
        """Value, gradient and second derivative; infeasible where the shape leaves its range."""
        return Objective(lambda points: run(self.sums_at_all(points), make_pass))

    def sums_at_all(self, points: Sequence[NDArray]) -> Passes[list[NewtonSums]]:
        """Sum up at several points in one pass."""
        inside = [i for i, point in enumerate(points) if self.lowest <= point[-1] <= self.highest]
        asked: list[Reducer] = [JointSums(self.loss_of(float(points[i][-1])), points[i][:-1]) for i in inside]
        found = (yield Pass(self.engine, ReducerGroup(asked))) if asked else []
        sums = [NewtonSums(np.full(len(p), np.nan), np.full((len(p),) * 2, np.nan), np.inf, False) for p in points]
        for i, total in zip(inside, found, strict=True):
            if self.omitted:  # so that their coefficients stay where they are
                total.hessian[self.omitted, self.omitted] = 1.0
            sums[i] = total
        return sums


class JointSums(LossSums):
    """Value, gradient and Hessian of the log loss by the coefficients and, last, the shape of the link."""

    def __init__(self, loss: Loss, params: NDArray):
        super().__init__(loss, params, value=True)

    def zero(self) -> NewtonSums:
        size = len(self.params) + 1
        return NewtonSums(np.zeros(size), np.zeros((size, size)))

    def map(self, block: Block) -> NewtonSums:
        k, sums = len(self.params), self.zero()
        with np.errstate(all="ignore"):
            point = self.loss.link.at(block.linear_predictor(self.params))
            rows = derivatives_with_shape(self.loss, block.y, point)
            sums.value = float(block.weighted(rows.value).sum())
            sums.feasible = bool(np.isfinite(sums.value))
            sums.gradient[:k] = block.weighted(rows.slope) @ block.X
            sums.gradient[k] = block.weighted(rows.score).sum()
            sums.hessian[:k, :k] = dense(weighted_gram(block.X, block.weighted(rows.curvature)))
            sums.hessian[k, :k] = sums.hessian[:k, k] = block.weighted(rows.mixed) @ block.X
            sums.hessian[k, k] = block.weighted(rows.second).sum()
        return sums


def derivatives_with_shape(loss: Loss, y: NDArray, point: Point) -> JointDerivatives:
    """Return the log loss and its derivatives by v and shape, row by row."""
    return point.joint_derivatives(y) or _joint_derivatives(loss, y, point)


def _joint_derivatives(loss: Loss, y: NDArray, point: Point) -> JointDerivatives:
    r"""Return the log loss and its derivatives by v and shape, with differences for the second derivatives of F by the shape.

    With :math:`e = (1-y)/(1-F) - y/F` and :math:`q = (1-y)/(1-F)^2 + y/F^2`, these are :math:`\ell_\xi = e F_\xi`,
    :math:`\ell_{v\xi} = e F'_\xi + q F' F_\xi` and :math:`\ell_{\xi\xi} = e F_{\xi\xi} + q F_\xi^2`.
    """
    shape = float(loss.link.shape or 0.0)
    before, after = (loss.link.with_shape(shape + step).at(point.v) for step in (-STEP, STEP))
    first, second = point.dcdf_dshape, (after.dcdf_dshape - before.dcdf_dshape) / (2.0 * STEP)
    e = (1.0 - y) / point.sf - y / point.cdf
    bent = ((1.0 - y) / point.sf**2 + y / point.cdf**2) * first
    return JointDerivatives(
        value=loss.value_at(y, point),
        slope=loss.slope_at(y, point),
        curvature=loss.curvature_at(y, point),
        score=finite(e * first),
        mixed=finite(e * (after.pdf - before.pdf) / (2.0 * STEP) + bent * point.pdf),
        second=finite(e * second + bent * first),
    )


class _Scores(ArraySum):
    """The gradient of the log loss by coefficients and shape."""

    def __init__(self, loss: Loss, params: NDArray):
        def scores(block: Block) -> NDArray:
            point = loss.link.at(block.linear_predictor(params))
            change = finite(point.dcdf_dshape / (point.cdf * point.sf)) * (point.cdf - block.y)
            return np.append(block.weighted(loss.slope_at(block.y, point)) @ block.X, block.weighted(change).sum())

        super().__init__(scores)


def observed_information(
    engine: Engine, loss: Loss, params: NDArray, within: tuple[float, float] = (-np.inf, np.inf)
) -> NDArray:
    """Return the joint second derivative of the negative log-likelihood, from shapes within a range.

    Second derivatives in the shape are differences of analytic scores: where rows cross the end of the support next to a maximum, these are
    large, or not those of a maximum, and tell that it is irregular. The derivatives of :class:`JointSums` do not see such rows.
    """
    xi, k = float(loss.link.shape or 0.0), len(params)
    around = max(xi - STEP, within[0]), min(xi + STEP, within[1])
    scores = [_Scores(loss.with_shape(shape), params) for shape in around]
    sums, before, after = engine.reduce(ReducerGroup([LossSums(loss, params), *scores]))
    information = np.empty((k + 1, k + 1))
    information[:k, :k] = dense(sums.hessian)
    information[k] = information[:, k] = (after - before) / (around[1] - around[0])
    return information


# -- covariances ----------------------------------------------------------------------------------


def joint_covariance(
    engine: Engine,
    loss: Loss,
    params: NDArray,
    covariance: Covariance,
    nobs: float,
    within: tuple[float, float] = (-np.inf, np.inf),
    information: NDArray | None = None,
) -> NDArray:
    """Return the covariance of coefficients and shape, the shape last; `loss` is that at the estimated shape. NaN where there is none.

    `information` is the joint second derivative, if it is known.
    """
    refuse_leverages(covariance)
    with one_blas_thread():
        if loss.is_likelihood and covariance.assumes_model:
            return _inverse(observed_information(engine, loss, params, within) if information is None else information)
        equations = StackedEquations.at(engine, loss, params)
        return covariance.finished(equations.bread @ equations.meat(covariance, nobs) @ equations.bread.T)


def refuse_leverages(covariance: Covariance) -> None:
    """Refuse a covariance by leverages, which those of coefficients with an estimated shape are not."""
    if covariance.name == "survey" and not covariance.defined_for_shape:
        raise InvalidOptionError(
            "replicate weights are not defined when xi is estimated; give xi as a number, or a design with strata and units."
        )
    if not covariance.defined_for_shape:
        raise InvalidOptionError(
            "covariances by leverages (HC2, HC3, CR2, CR3) are not defined when xi is estimated; use HC0, HC1, or clusters with "
            "kind='CR1S', 'CR1' or 'CR0'."
        )


@dataclass(frozen=True)
class StackedEquations:
    """The equations of coefficients and shape at one point."""

    engine: Engine  # with a column for each equation: a x and, last, e
    loss: Loss  # whose score is (y - F) times these columns
    bread: NDArray  # the inverse of minus their expected derivative

    @classmethod
    def at(cls, engine: Engine, loss: Loss, params: NDArray) -> StackedEquations:
        """Look at the equations of a loss, that at the estimated shape."""
        direction = path_direction(engine, loss, params)

        def columns(block: Block, point: Point) -> NDArray:
            factor = finite(loss.residual_factor_at(point))
            return hstack_columns(scale_rows(block.X, factor), _shape_factor(block, point, direction))

        def stack(block: Block) -> Block:
            linear = block.linear_predictor(params)
            return replace(block, X=columns(block, loss.link.at(linear)), offset=linear)

        def derivative(block: Block) -> NDArray:
            point = loss.link.at(block.linear_predictor(params))
            right = hstack_columns(scale_rows(block.X, point.pdf), point.dcdf_dshape)
            return scale_rows(columns(block, point), block.weighted(np.ones_like(point.v))).T @ right

        stacked = MappedEngine(engine, stack, len(params) + 1)
        return cls(stacked, Canonical(loss.link), _inverse(engine.reduce(ArraySum(derivative))))

    @property
    def scores(self) -> NDArray:
        """The left-hand sides of the equations."""
        return -self.engine.reduce(LossSums(self.loss, np.zeros(self.engine.n_cols))).gradient

    def meat(self, covariance: Covariance, nobs: float) -> NDArray:
        """Return the variance of the scores."""
        fit = Fitted(self.engine, self.loss, np.zeros(self.engine.n_cols), self.bread, nobs)
        return covariance.meat(fit)


def _inverse(matrix: NDArray) -> NDArray:
    """Return the inverse of a matrix; NaN for a singular one."""
    try:
        return inverse(dense(matrix))
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.nan)


def _shape_factor(block: Block, point: Point, direction: NDArray) -> NDArray:
    change = point.dcdf_dshape + point.pdf * (block.X @ direction)
    return finite(change / (point.cdf * point.sf))


def finite(values: NDArray) -> NDArray:
    """Set the factors of rows outside the support, where nothing changes, to zero."""
    return values if np.isfinite(values.sum()) else np.where(np.isfinite(values), values, 0.0)
