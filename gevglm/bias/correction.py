"""Corrections of the uncorrected estimate, made once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.bias.adjusted import MeanReduction
from gevglm.bias.base import BiasReduction, at_params, need_positive
from gevglm.covariance import Covariance, Fitted
from gevglm.engine.base import ArraySum, Block, MappedEngine
from gevglm.engine.linalg import quadratic_forms
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.exceptions import IncompatibleOptionsError

if TYPE_CHECKING:
    from gevglm.sampling.schemes import Sampling

LARGEST_CORRECTION = 1.0  # in standard errors


@dataclass(frozen=True)
class Correction(BiasReduction):
    """The uncorrected estimate minus its estimated bias, once (Cordeiro and McCullagh 1991).

    Notes
    -----
    The bias is that of equation :eq:`weighted-bias` of the theory pages, for the canonical loss :eq:`canonical-bias`.
    """

    word = "correction"
    rests_on_plain_fit = True
    title = "one-step bias correction"

    def estimate(self, problem: Problem) -> Estimate:
        plain = problem.estimate()
        if not plain.converged:
            return plain
        engine, loss, params = problem.engine, problem.loss, plain.params
        _, inverse, _ = problem.information_at(params)
        method = MeanReduction()
        matrix = method.matrix(engine, loss, params, inverse)

        def shift(block: Block) -> NDArray:
            return method.shift(loss, block, loss.link.at(block.linear_predictor(params)), matrix)

        corrected = at_params(problem, plain, params + inverse @ engine.reduce(ArraySum(shift)))
        variances = matrix.diagonal()
        steps = np.abs(corrected.params - params) / np.sqrt(np.where(variances == 0.0, 1.0, variances))
        if steps.max() > LARGEST_CORRECTION or not corrected.positive_definite:
            reason = f"the estimated bias is {steps.max():.2g} standard errors, more than a one-step correction can fix; use bias='mean'"
            return replace(corrected, converged=False, reason=reason)
        return corrected


@dataclass(frozen=True)
class Corrected(Estimate):
    """An estimate after a correction."""

    uncorrected: NDArray  # what it was before; the information is the one there; of shape (k,)


@dataclass(frozen=True)
class KingZeng(BiasReduction):
    r"""King and Zeng's (2001) correction of logit coefficients in rare-events data.

    Parameters
    ----------
    event_weight, other_weight : float
        Weights :math:`w_1 = \tau/\bar y` and :math:`w_0 = (1-\tau)/(1-\bar y)` that bring a sample drawn by the outcome to the
        population; :func:`gevglm.fit` fills them in from ``prevalence``.

    Notes
    -----
    The estimated bias :math:`(X'WX)^{-1} X'W\xi`, equation :eq:`king-zeng` of the theory pages, is subtracted from the maximum-likelihood (or weighted) estimate, with

    .. math:: W = \mathrm{diag}(\pi_i (1 - \pi_i) w_i), \qquad \xi_i = \tfrac12 Q_{ii} [(1 + w_1) \pi_i - w_1], \qquad
        Q = X (X'WX)^{-1} X',

    and :math:`\pi` the fitted probabilities in the sample (those of the population with ``sampling="weight"``). The covariance is that of
    the uncorrected estimate times :math:`(n/(n+k))^2`.

    Without weights this is ``bias="correction"`` (Cordeiro and McCullagh 1991) for the logit, whose covariance is evaluated at the
    corrected estimate instead. The coefficients are those of Zelig's ``relogit`` in every case. Zelig departs from the paper in two
    places: with ``sampling="prior"`` the fit is unweighted, but the weights enter the correction all the same (followed here, because users
    compare); and its standard errors are not multiplied by :math:`n/(n+k)` (not followed here).

    With 40 events and 120 others out of a population with 2.2 % of events, the average errors of (constant, x1, x2), whose Monte Carlo
    error is (.005, .004, .008), were

    ====================================  =====================
    prior, no correction                  (-.037, .040, .003)
    prior, ``bias="king-zeng"``           (-.037, .019, -.014)
    prior, ``bias="correction"``          (.015, .001, -.009)
    weight, no correction                 (-.064, .072, .013)
    weight, ``bias="king-zeng"``          (-.007, .028, -.004)
    ====================================  =====================

    so that with ``sampling="prior"`` the plain ``bias="correction"`` or ``"mean"`` are the better choice.

    References
    ----------
    King and Zeng (2001), Logistic regression in rare events data, Political Analysis 9, 137-163.
    """

    event_weight: float = 1.0
    other_weight: float = 1.0
    word = "king-zeng"
    rests_on_plain_fit = True
    title = "King-Zeng bias correction"
    needs_logit = True
    instead = "bias='correction' is its generalisation to every link"

    def __post_init__(self) -> None:
        need_positive("event_weight", self.event_weight)
        need_positive("other_weight", self.other_weight)

    def adapted_to(self, sampling: Sampling, weighted: bool) -> KingZeng:
        if sampling.outcome_weights is not None:
            event_weight, other_weight = sampling.outcome_weights
            return replace(self, event_weight=event_weight, other_weight=other_weight)
        if weighted:
            raise IncompatibleOptionsError(
                "bias='king-zeng' is defined for weights that come from a prevalence; give prevalence= with sampling='weight' instead of "
                "var_weights or class_weight, or use bias='correction'."
            )
        return self

    def estimate(self, problem: Problem) -> Estimate:
        plain = problem.estimate()
        if not plain.converged:
            return plain
        loss, params = problem.loss, plain.params
        engine = MappedEngine(problem.engine, self._weighted_block, problem.engine.n_cols)
        _, inverse, _ = replace(problem, engine=engine).information_at(params)

        def sums(block: Block) -> NDArray:
            point = loss.link.at(block.linear_predictor(params))
            skewness = (1.0 + self.event_weight) * point.cdf - self.event_weight
            excess = 0.5 * quadratic_forms(block.X, inverse) * skewness
            return block.weighted(loss.expected_curvature_at(point) * excess) @ block.X

        corrected = params - inverse @ engine.reduce(ArraySum(sums))
        return Corrected(**{**vars(plain), "params": corrected}, uncorrected=params)

    def covariance(self, covariance: Covariance, rows: Fitted, fitted: Estimate) -> NDArray:
        before = getattr(fitted, "uncorrected", fitted.params)
        shrunk = rows.nobs / (rows.nobs + rows.rank)
        return shrunk**2 * covariance.matrix(replace(rows, params=before))

    def _weighted_block(self, block: Block) -> Block:
        """Give rows the weights of the paper, which those of a weighted fit have already."""
        if block.var is not None:
            return block
        return replace(block, var=np.where(block.y > 0, self.event_weight, self.other_weight))
