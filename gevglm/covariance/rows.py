"""Covariances of rows that are independent: model-based, robust to heteroscedasticity, and as surveys have them."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gevglm.covariance.base import Covariance, Fitted
from gevglm.engine.arrow_matrix import symmetric
from gevglm.engine.base import ArraySum, Block, times
from gevglm.estimation.sums import WeightedGram
from gevglm.links.base import Point

NO_RESIDUAL = 1e-9  # share of a row that its own leverage leaves, below which it is none


class RowCovariance(Covariance):
    r"""A covariance whose meat is a sum over rows, :math:`\sum_i m_i x_i x_i'`, times a factor."""

    @abstractmethod
    def row_variance(self, fit: Fitted, block: Block, point: Point) -> NDArray:
        """Return the m of each row."""

    def factor(self, fit: Fitted) -> float:
        """Return the factor for small samples."""
        return 1.0

    def meat(self, fit: Fitted) -> NDArray:
        meat = symmetric(fit.engine.reduce(WeightedGram(fit.loss, fit.params, partial(self.row_variance, fit))))
        factor = self.factor(fit)
        return meat if factor == 1.0 else meat * factor


class Nonrobust(RowCovariance):
    """The covariance if the model is right: inverse expected information, or its sandwich for the canonical loss."""

    name = "nonrobust"
    assumes_model = True
    description = "Standard errors assume that the model is correctly specified."

    def matrix(self, fit: Fitted) -> NDArray:
        if fit.loss.is_likelihood and not fit.penalised:
            return fit.bread
        return super().matrix(fit)

    def row_variance(self, fit: Fitted, block: Block, point: Point) -> NDArray:
        return times(fit.loss.score_variance_at(point), block.weight)


class HC(RowCovariance):
    """Heteroscedasticity-robust sandwich: HC0, HC1, HC2 or HC3, as R's sandwich computes them."""

    def __init__(self, number: int):
        self.number = number
        self.name = f"HC{number}"
        self.defined_for_shape = number <= 1  # leverages are those of coefficients
        self.description = f"Standard errors are heteroscedasticity robust ({self.name})."

    def row_variance(self, fit: Fitted, block: Block, point: Point) -> NDArray:
        squared = times(fit.loss.slope_at(block.y, point) ** 2, block.weight, block.var, block.trials)
        power = (0, 0, 1, 2)[self.number]
        if not power:
            return squared
        left = 1.0 - _leverage(fit, block, point)
        if fit.absorbed_forms is None:
            return squared / left**power
        # the constant of a group of one row leaves it no residual
        return np.where(left > NO_RESIDUAL, squared / left**power, 0.0)

    def factor(self, fit: Fitted) -> float:
        return fit.nobs / (fit.nobs - fit.rank) if self.number == 1 else 1.0


class Linearized(HC):
    r"""What surveys report: HC0 times :math:`n/(n-1)`, with n the observations that have weight.

    It is the covariance of ``svyglm`` of R's survey and of Stata's ``vce(linearized)`` for a sample in one stratum, drawn row by row.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self.name = "linearized"
        self.description = "Standard errors are linearised (HC0 times n/(n - 1)), as those of surveys are."

    def factor(self, fit: Fitted) -> float:
        n = float(fit.engine.reduce(ArraySum(_with_weight)))
        return n / (n - 1.0)


def _with_weight(block: Block) -> NDArray:
    freq = np.ones_like(block.y) if block.freq is None else block.freq
    return (freq if block.weight is None else freq[block.weight > 0]).sum()


def _leverage(fit: Fitted, block: Block, point: Point) -> NDArray:
    """The leverage of one copy of each row."""
    return times(fit.quadratic_forms(block) * fit.loss.expected_curvature_at(point), block.var, block.trials)
