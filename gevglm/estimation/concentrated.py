r"""The likelihood of slopes alone: at each of their values as large as the constants of groups can make it.

The constants that maximise a (penalised) likelihood :math:`\ell(a, b)` for given slopes make it a function of the slopes, of which
:math:`\partial \ell / \partial b` is the gradient, and the Schur complement of the constants the information. A profile of this function is one of the
whole likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.estimation.absorbed import AbsorbedProblem
from gevglm.estimation.arrow import Arrow
from gevglm.estimation.objective import Objective
from gevglm.estimation.paired_arrow import PairedArrow
from gevglm.estimation.sums import NewtonSums


@dataclass(frozen=True)
class ConcentratedLikelihood:
    """The negative (penalised) log-likelihood as a function of the slopes."""

    problem: AbsorbedProblem
    params: NDArray  # the estimates, constants first
    information: Arrow | PairedArrow  # there

    @property
    def slopes(self) -> NDArray:
        """The estimates of the slopes."""
        return self.params[len(self.params) - self.problem.engine.n_cols :]

    @property
    def objective(self) -> Objective:
        """What is minimised, with the information for second derivative."""
        return Objective(lambda points: [self._at(slopes) for slopes in points])

    @cached_property
    def _along(self) -> NDArray:
        """How the constants move with each slope; of shape (k, G + m)."""
        k, n = len(self.slopes), len(self.params) - len(self.slopes)
        inverse = np.array([self.information.solve(row) for row in np.eye(k, n + k, n)])
        return np.linalg.solve(inverse[:, n:], inverse[:, :n])

    def _at(self, slopes: NDArray) -> NewtonSums:
        k, problem = len(slopes), self.problem
        if not np.isfinite(slopes).all():
            return _none(k)
        constants = self.params[: len(self.params) - k] + (slopes - self.slopes) @ self._along
        found = problem.constants_given(slopes, constants)
        if not found.converged:
            return _none(k)
        params = np.concatenate([found.params, slopes])
        sums = problem.sums_at(params)
        gradient, value, adjustment = sums.gradient, sums.value, problem.adjustment
        if not sums.finite:
            return _none(k)
        if adjustment is not None:
            assert isinstance(sums.information, Arrow), "two large factors have no leverages"
            penalising: Any = adjustment
            value += penalising.penalty(problem.loss, sums.information.log_determinant)
            gradient = problem.adjusted_sums(adjustment, params).gradient
        information = np.linalg.inv(sums.information.inverse[-k:, -k:])
        return NewtonSums(gradient[-k:], 0.5 * (information + information.T), float(value), bool(np.isfinite(value)))


def _none(k: int) -> NewtonSums:
    return NewtonSums(np.full(k, np.nan), np.full((k, k), np.nan), np.inf, False)
