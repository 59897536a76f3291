r"""Profile likelihood of fits on the boundary: with a coefficient held, the others are estimated anew, with all bounds kept.

The score does not vanish at an estimate on the boundary, so that steps from it by its second derivative lead nowhere. The likelihood ratio

.. math:: 2\,[\min_{b:\, b_j = \beta} \ell(b) - \ell(\hat b)]

over coefficients that keep every row inside the support is still close to chi-squared, and its intervals keep their coverage where Wald's do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from gevglm.engine.base import ArraySum, make_pass, run
from gevglm.engine.linalg import column_squares, one_blas_thread
from gevglm.estimation.estimate import Problem
from gevglm.estimation.sums import totals
from gevglm.exceptions import GevglmError
from gevglm.inference.profile import crossing


@dataclass(frozen=True)
class BoundaryLikelihood:
    """A likelihood at its maximum on the boundary; see :class:`gevglm.inference.profile.Likelihood`."""

    problem: Problem
    params: NDArray  # of shape (k,)
    value: float  # the negative log-likelihood there
    covariance: (
        NDArray  # along the boundary, with the variances of the null model where nothing is left; of shape (k, k)
    )
    infinite: NDArray | None = None

    @classmethod
    def of(cls, problem: Problem, params: NDArray, covariance: NDArray) -> BoundaryLikelihood:
        """Look at the loss of a problem at its minimum on the boundary."""
        sums = run(problem.sums_at(params, expected=True, value=True), make_pass)
        held = np.diagonal(covariance) <= 1e-20 * np.maximum(params**2, 1.0)
        if held.any():  # without an error along the boundary: that of the null model is a unit to begin with
            covariance = covariance.copy()
            squares = problem.engine.reduce(ArraySum(lambda block: column_squares(block.X, block.weight)))[held]
            weight, events = totals(problem.engine)
            null = problem.loss.expected_curvature_at(problem.loss.link.at_probability(np.array([events / weight])))
            covariance[held, held] = 1.0 / (null * squares)
        return cls(problem, params, float(sums.value), covariance)

    def is_infinite(self, column: int) -> bool:
        """Whether a coefficient is infinite; none is."""
        return False

    def intervals(self, columns: Sequence[int], alpha: float) -> list[tuple[float, float]]:
        """Return the profile intervals of coefficients."""
        quantile = float(norm.ppf(1.0 - alpha / 2.0))
        with one_blas_thread():
            return [(crossing(self.curve([j]), -quantile), crossing(self.curve([j]), quantile)) for j in columns]

    def ratios(self, hypotheses: Sequence[list[int]]) -> list[float]:
        """Return the likelihood-ratio statistics of hypotheses that coefficients are zero."""
        with one_blas_thread():
            return [self.curve(columns).ratio(np.zeros(len(columns))) for columns in hypotheses]

    def curve(self, columns: list[int]) -> BoundaryCurve:
        """Return the likelihood ratio as a function of some coefficients."""
        return BoundaryCurve(self, columns)


class BoundaryCurve:
    """The minimum over the other coefficients, as a function of some of them, by fits that keep all bounds."""

    def __init__(self, likelihood: BoundaryLikelihood, columns: list[int]):
        self.likelihood = likelihood
        self.columns = list(columns)
        self.free = np.delete(np.arange(len(likelihood.params)), columns)
        self.restart()

    @property
    def center(self) -> NDArray:
        """The estimates of the coefficients in question."""
        return self.likelihood.params[self.columns]

    def restart(self) -> None:
        """Return to the estimates, before turning to another side."""
        self._last = self.likelihood.params[self.free]

    def ratio(self, values: NDArray) -> float:
        """Return the likelihood-ratio statistic at given values; infinite where no coefficients keep all bounds."""
        likelihood = self.likelihood
        if not len(self.free):
            sums = likelihood.problem.objective()(np.asarray(values, dtype=float))
            value = float(sums.value) if sums.feasible else np.inf
        else:
            problem = likelihood.problem.holding(self.columns, values)
            try:
                found = replace(problem, start=self._last).estimate()
            except GevglmError:  # no coefficients keep every row inside the support
                return np.inf
            value = float(problem.objective()(found.params).value)
            if np.isfinite(value):
                self._last = found.params
        return max(2.0 * (value - likelihood.value), 0.0) if np.isfinite(value) else np.inf

    def root(self, value: float) -> float:
        """Return the signed root at a value of a single coefficient."""
        return float(np.sign(value - self.center[0]) * np.sqrt(self.ratio(np.array([value]))))
