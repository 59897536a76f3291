"""What is summed over the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from gevglm.engine.base import Block, Reducer
from gevglm.engine.linalg import weighted_gram
from gevglm.engine.matrices import added
from gevglm.links.base import Point
from gevglm.losses import Loss

LARGE = 64**2  # numbers of a partial sum that are too many to be kept for every block


@dataclass(slots=True)
class NewtonSums:
    """Sums of a loss over the rows at one set of coefficients.

    Attributes
    ----------
    gradient : ndarray of shape (k,)
    hessian : ndarray of shape (k, k)
        Second derivative or its expectation.
    value : float
        The loss itself, if it was asked for, else 0.
    feasible : bool
        Whether the loss is finite at every row.
    """

    gradient: NDArray
    hessian: NDArray
    value: float = 0.0
    feasible: bool = True


class LossSums(Reducer[NewtonSums]):
    """Gradient, Hessian and (on request) value of a loss.

    Parameters
    ----------
    loss : Loss
    params : ndarray of shape (k,)
    expected : bool
        Sum the expected curvature (Fisher scoring) instead of the observed one.
    value : bool
        Sum the loss too.
    """

    def __init__(self, loss: Loss, params: NDArray, *, expected: bool = False, value: bool = False):
        self.loss = loss
        self.params = params
        self.expected = expected or loss.curvature_is_expected
        self.value = value

    def zero(self) -> NewtonSums:
        k = len(self.params)
        return NewtonSums(np.zeros(k), np.zeros((k, k)))

    def map(self, block: Block) -> NewtonSums:
        loss, y = self.loss, block.y
        with np.errstate(all="ignore"):
            v = block.linear_predictor(self.params)
            point = loss.link.at(v)
            slope = loss.slope_at(y, point)
            curvature = loss.expected_curvature_at(point) if self.expected else loss.curvature_at(y, point)
            value = loss.value_at(y, point) if self.value else None
            weight = block.weight
            if weight is None:
                feasible = loss.feasible(y, v)
            else:
                used = weight > 0
                feasible = loss.feasible(y[used], v[used])
                slope = np.where(used, slope * weight, 0.0)
                curvature = np.where(used, curvature * weight, 0.0)
                value = None if value is None else np.where(used, value * weight, 0.0)
            total = 0.0 if value is None else float(value.sum())
            return NewtonSums(slope @ block.X, weighted_gram(block.X, curvature), total, feasible)

    def combine(self, total: NewtonSums, part: NewtonSums) -> NewtonSums:
        total.gradient += part.gradient
        total.hessian = added(total.hessian, part.hessian)
        total.value += part.value
        total.feasible &= part.feasible
        return total

    def condensed(self, parts: list[NewtonSums]) -> list[NewtonSums]:
        return [reduce(self.combine, parts)] if parts and parts[0].hessian.size > LARGE else parts


class ArraySum(Reducer[NDArray]):
    """The sum of an array computed from each block.

    Parameters
    ----------
    function : callable
        From a :class:`~gevglm.engine.base.Block` to an array, of the same shape for every block.
    """

    def __init__(self, function: Callable[[Block], NDArray]):
        self.function = function

    def zero(self) -> NDArray:
        return np.zeros(())

    def map(self, block: Block) -> NDArray:
        with np.errstate(all="ignore"):
            value = self.function(block)
        return value.tocsr() if issparse(value) else np.asarray(value, dtype=float)

    def combine(self, total: NDArray, part: NDArray) -> NDArray:
        return added(total, part)

    def condensed(self, parts: list[NDArray]) -> list[NDArray]:
        return [reduce(self.combine, parts)] if parts and parts[0].size > LARGE else parts


class Several(Reducer[list]):
    """Several sums in one pass over the rows.

    Parameters
    ----------
    reducers : list of Reducer
    """

    def __init__(self, reducers: list[Reducer]):
        self.reducers = reducers

    def zero(self) -> list:
        return [reducer.zero() for reducer in self.reducers]

    def map(self, block: Block) -> list:
        return [reducer.map(block) for reducer in self.reducers]

    def combine(self, total: list, part: list) -> list:
        sums = zip(self.reducers, total, part, strict=True)
        return [whole if some is None else reducer.combine(whole, some) for reducer, whole, some in sums]

    def condensed(self, parts: list[list]) -> list[list]:
        """Condense each sum in its own way; None stands for what is in the parts before."""
        columns = zip(self.reducers, zip(*parts, strict=True), strict=True) if parts else ()
        return [list(part) for part in zip_longest(*(r.condensed(list(column)) for r, column in columns))]


class WeightedGram(ArraySum):
    r"""The k x k sum :math:`\sum_i q_i x_i x_i'` with q a function of the row at given coefficients.

    Parameters
    ----------
    loss : Loss
    params : ndarray of shape (k,)
    weigh : callable
        ``weigh(block, point) -> q``, of the length of the block.
    """

    def __init__(self, loss: Loss, params: NDArray, weigh: Callable[[Block, Point], NDArray]):
        def gram(block: Block) -> NDArray:
            point = loss.link.at(block.linear_predictor(params))
            return weighted_gram(block.X, weigh(block, point))

        super().__init__(gram)
