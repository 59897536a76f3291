r"""Profile likelihood of fits on the boundary: with a coefficient held, the others are estimated anew, with all bounds kept.

The score does not vanish at an estimate on the boundary, so that steps from it by its second derivative lead nowhere. The likelihood ratio

.. math:: 2\,[\min_{b:\, b_j = \beta} \ell(b) - \ell(\hat b)]

over coefficients that keep every row inside the support is still close to chi-squared, and its intervals keep their coverage where Wald's do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from gevglm.engine.base import ArraySum
from gevglm.engine.linalg import column_squares, one_blas_thread
from gevglm.estimation.estimate import Problem
from gevglm.estimation.sums import totals
from gevglm.inference.profile import PenalisedLikelihood, ProfileCurve, crossing


@dataclass(frozen=True)
class BoundaryLikelihood(PenalisedLikelihood):
    """A likelihood at its maximum on the boundary.

    Its covariance is the one along the boundary, with the variances of the null model where nothing is left.
    """

    @classmethod
    def on(cls, problem: Problem, params: NDArray, covariance: NDArray) -> BoundaryLikelihood:
        """Look at the loss of a problem at its minimum on the boundary."""
        held = np.diagonal(covariance) <= 1e-20 * np.maximum(params**2, 1.0)
        if held.any():  # without an error along the boundary: that of the null model is a unit to begin with
            covariance = covariance.copy()
            squares = problem.engine.reduce(ArraySum(lambda block: column_squares(block.X, block.weight)))[held]
            weight, events = totals(problem.engine)
            null = problem.loss.expected_curvature_at(problem.loss.link.at_probability(np.array([events / weight])))
            covariance[held, held] = 1.0 / (null * squares)
        evaluate = problem.objective()
        return cls(evaluate, params, evaluate(params), covariance, problem.engine.n_rows, problem)

    def intervals(self, columns: Sequence[int], alpha: float) -> list[tuple[float, float]]:
        """Return the profile intervals of coefficients."""
        quantile = float(norm.ppf(1.0 - alpha / 2.0))
        with one_blas_thread():
            return [(crossing(self.curve([j]), -quantile), crossing(self.curve([j]), quantile)) for j in columns]

    def ratios(self, hypotheses: Sequence[list[int]]) -> list[float]:
        """Return the likelihood-ratio statistics of hypotheses that coefficients are zero."""
        with one_blas_thread():
            return [curve.ratio(curve.null) for curve in map(self.curve, hypotheses)]

    def curve(self, columns: list[int]) -> BoundaryCurve:
        """Return the likelihood ratio as a function of some coefficients."""
        return BoundaryCurve(self, columns)


class BoundaryCurve(ProfileCurve):
    """The minimum over the other coefficients, as a function of some of them, by fits that keep all bounds."""

    def restart(self) -> None:
        """Return to the estimates, before turning to another side."""
        super().restart()
        self._start = self.likelihood.params[self.free]

    def ratio(self, values: NDArray) -> float:
        """Return the likelihood-ratio statistic at given values; infinite where no coefficients keep all bounds."""
        if not len(self.free):
            return super().ratio(values)
        ratio, params = self.from_scratch(values, self._start)
        self._start = self._start if params is None else params
        return ratio
