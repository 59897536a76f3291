"""The log-F prior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gevglm.bias.base import BiasReduction, need_positive
from gevglm.engine.arrow_matrix import add_to_diagonal
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.objective import Objective
from gevglm.estimation.sums import NewtonSums
from gevglm.losses import Loss

if TYPE_CHECKING:
    from gevglm.sampling.schemes import Sampling


@dataclass(frozen=True)
class LogF(BiasReduction):
    r"""Log-F(m, m) prior for every coefficient but the constant (Greenland and Mansournia 2015).

    Parameters
    ----------
    m : float
        Degrees of freedom: the prior is worth m observations, half of them events, at one unit of each column alone.

    Notes
    -----
    The penalty is :math:`\sum_j [m \ln(1 + e^{b_j}) - m b_j / 2]`. It depends on the units of the columns: give them so that a
    coefficient of 1 or 2 is a large effect.
    """

    m: float = 1.0
    word = "logf"
    title = "log-F prior"

    def __post_init__(self) -> None:
        need_positive("m", self.m)

    def adapted_to(self, sampling: Sampling, weighted: bool) -> BiasReduction:
        return self  # a prior, not a correction

    def estimate(self, problem: Problem) -> Estimate:
        return self.as_problem(problem).estimate()

    def maximises_likelihood(self, loss: Loss) -> bool:
        return loss.is_likelihood

    def penalised_likelihood(self, problem: Problem, params: NDArray) -> tuple[Objective, NDArray]:
        return self.as_problem(problem).objective(), params

    def as_problem(self, problem: Problem) -> Problem:
        columns = np.ones(problem.engine.n_cols)
        if problem.constant is not None:
            columns[problem.constant] = 0.0
        return replace(problem, penalty=LogFPenalty(self.m * columns))


@dataclass(frozen=True)
class LogFPenalty:
    """The log-F prior as a penalty, with its degrees of freedom for each column."""

    m: NDArray

    @property
    def curvature(self) -> NDArray:
        return 0.25 * self.m

    def added_to(self, sums: NewtonSums, params: NDArray) -> NewtonSums:
        probability = expit(params)
        sums.gradient += self.m * (probability - 0.5)
        add_to_diagonal(sums.hessian, self.m * probability * expit(-params))
        sums.value += (np.logaddexp(0.0, params) - 0.5 * params) @ self.m
        return sums
