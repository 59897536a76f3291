r"""The conditional likelihood as something to minimise: plain, or with Firth's penalty on the conditional information.

Given the number of cases of each set, the outcomes are an exponential family, so that Firth's adjusted score is that of Jeffreys' penalty,
:math:`\ell(b) + \frac12 \ln |I(b)|` with I the conditional information; the derivative of the penalty is half the contraction of the third cumulants with
:math:`I^{-1}`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gevglm.conditional.sets import MatchedSets
from gevglm.engine.base import run
from gevglm.engine.cholesky import Cholesky
from gevglm.estimation.newton import SolverResult, newton, value_search
from gevglm.estimation.objective import Objective
from gevglm.estimation.sums import NewtonSums


@dataclass(frozen=True)
class ConditionalLikelihood:
    """The negative conditional log-likelihood of matched sets."""

    sets: MatchedSets
    penalised: bool = False  # by Firth's penalty

    @property
    def objective(self) -> Objective:
        """What is minimised, with the information for second derivative."""
        return Objective(lambda points: [self._at(params) for params in points])

    def _at(self, params: NDArray) -> NewtonSums:
        weight = self.sets.weight
        with np.errstate(all="ignore"):
            found = self.sets.sums(params)
            sums = NewtonSums(-(weight @ found.score), found.information, -float(weight @ found.value))
            if not self.penalised:
                return sums
            factor = Cholesky(found.information)
            if not factor.positive:
                return NewtonSums(sums.gradient, sums.hessian, np.inf, False)
            third = self.sets.sums(params, factor.inverse()).third
            assert third is not None
            value = sums.value - 0.5 * factor.log_determinant
            return NewtonSums(sums.gradient - 0.5 * third, sums.hessian, value, bool(np.isfinite(value)))

    def minimise(self, start: NDArray, tol: float, maxiter: int) -> SolverResult:
        """Return the estimates, by Newton steps."""
        null = self.sets.weight @ self.sets.sums(np.zeros_like(start)).value
        steps = newton(
            start,
            search=value_search,
            tol=tol,
            scale=max(-float(null), 1.0),
            maxiter=maxiter,
            extrapolate=self.penalised,
        )
        return run(steps, self.objective)

    def set_scores(self, params: NDArray) -> NDArray:
        """Return the score of each set without its weight; of shape (s, k)."""
        return self.sets.sums(params).score
