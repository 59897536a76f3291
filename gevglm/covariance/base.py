"""What a covariance needs to know of a fit, and what all of them are: a bread and a meat."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import Block, Engine, Reducer, times
from gevglm.engine.factored_matrix import sandwich, symmetrised
from gevglm.engine.linalg import Matrix, add_rows, group_sums, one_blas_thread, quadratic_forms
from gevglm.exceptions import IncompatibleOptionsError
from gevglm.losses import Loss

if TYPE_CHECKING:
    from gevglm.covariance.cluster_facts import ClusterFacts
    from gevglm.covariance.degrees import Degrees


@dataclass(frozen=True)
class Fitted:
    """What a covariance needs to know of a fit; or of b fits at once, with coefficients of shape (k, b) and breads of shape (b, k, k)."""

    engine: Engine
    loss: Loss
    params: NDArray  # of shape (k,)
    bread: NDArray  # inverse expected second derivative of loss plus penalty; of shape (k, k)
    nobs: float  # number of observations, repeated rows counted as often as they are repeated
    penalised: bool = False
    # constants of groups that columns were freed of: how many count as coefficients, and their part of the quadratic form of each row
    absorbed: int = 0
    absorbed_forms: NDArray | None = None
    units: NDArray | None = None  # whose constants these are: of each row, numbered from 0

    @property
    def rank(self) -> int:
        """The number of coefficients, without those of columns that are left out."""
        return int(np.count_nonzero(self.bread.diagonal())) + self.absorbed

    def quadratic_forms(self, block: Block) -> NDArray:
        """Return the quadratic form of each row in the bread: its leverage over its curvature."""
        forms = quadratic_forms(block.X, self.bread)
        return forms if self.absorbed_forms is None else forms + self.absorbed_forms[block.rows]


class Covariance(ABC):
    """A covariance of the coefficients."""

    name: str
    description: str
    assumes_model: bool = False  # whether it is the inverse of the information where the loss is a likelihood
    defined_for_shape: bool = True  # whether it is defined for coefficients that are estimated together with a shape

    def matrix(self, fit: Fitted) -> NDArray:
        """Return the covariance matrix of a fit."""
        with one_blas_thread():
            return self.finished(sandwich(fit.bread, self.meat(fit)))

    def finished(self, covariance: NDArray) -> NDArray:
        """Return a product of bread and meat as the covariance it stands for: symmetric."""
        return symmetrised(covariance)

    def satterthwaite(self, fit: Fitted) -> Degrees:
        """Return Satterthwaite's degrees of freedom of a fit."""
        raise IncompatibleOptionsError(
            f"use_t='satterthwaite' is defined for clusters, with cov_type='cluster', but the covariance is {self.name!r}; use_t=True has n - k "
            "degrees of freedom."
        )

    def design_degrees(self, fit: Fitted) -> Degrees | None:
        """Return the degrees of freedom of the design of a survey; None for other fits."""
        return None

    def degrees(self, fit: Fitted) -> Degrees | None:
        """Return the degrees of freedom of tests with ``use_t=True``; None for those of the residuals."""
        return self.design_degrees(fit)

    def clusters(self, fit: Fitted) -> ClusterFacts | None:
        """Return what a reader has to know of the clusters of a fit; None where rows are independent."""
        return None

    @abstractmethod
    def meat(self, fit: Fitted) -> NDArray:
        """Return the variance of the summed scores."""


class GroupScores(Reducer):
    """The scores, summed by group: a matrix of one row per group."""

    def __init__(self, loss: Loss, params: NDArray, codes: Callable[[Block], NDArray], n_groups: int):
        self.loss = loss
        self.params = params
        self.codes = codes
        self.n_groups = n_groups

    def zero(self) -> Matrix:
        return np.zeros(())

    def map(self, block: Block) -> tuple[NDArray, Matrix]:
        codes = self.codes(block)
        with np.errstate(all="ignore"):
            point = self.loss.link.at(block.linear_predictor(self.params))
            slope = times(self.loss.slope_at(block.y, point), block.weight)
        return group_sums(block.X, slope, codes)

    def combine(self, total: Matrix, part: tuple[NDArray, Matrix]) -> Matrix:
        return add_rows(total, self.n_groups, *part)


class GroupsSeen(Reducer):
    """Which groups have a row with weight."""

    def __init__(self, codes: Callable[[Block], NDArray], n_groups: int):
        self.codes = codes
        self.n_groups = n_groups

    def zero(self) -> NDArray:
        return np.zeros(self.n_groups, dtype=bool)

    def map(self, block: Block) -> NDArray:
        codes = self.codes(block)
        return np.unique(codes if block.weight is None else codes[block.weight > 0])

    def combine(self, total: NDArray, part: NDArray) -> NDArray:
        total[part] = True
        return total
