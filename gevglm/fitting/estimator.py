"""How coefficients and their covariance are found: the penalty, the bias reduction and the covariance that the options ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from gevglm.bias import BiasReduction
from gevglm.covariance import Covariance, Degrees, Fitted
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.objective import Ridge
from gevglm.options import SATTERTHWAITE, FitOptions

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM


@dataclass(frozen=True)
class Estimator:
    """How coefficients and their covariance are found.

    Attributes
    ----------
    penalty : Ridge or None
    bias : BiasReduction or None
    covariance : Covariance
    """

    penalty: Ridge | None
    bias: BiasReduction | None
    covariance: Covariance

    @classmethod
    def of(cls, model: BinaryGLM, options: FitOptions) -> Estimator:
        """Return the estimator that the options ask for."""
        penalty = model.penalty(options.alpha, options.penalize_intercept, options.standardized)
        bias = options.bias_reduction(model.loss, model.data.const_idx, penalty)
        return cls(penalty, bias, covariance_for(model, options)).adapted_to(model)

    @property
    def plain(self) -> bool:
        """Whether the loss is minimised as it is."""
        return self.bias is None and self.penalty is None

    @property
    def rests_on_plain_fit(self) -> bool:
        """Whether there is no estimate where the uncorrected one is infinite."""
        return self.plain or (self.bias is not None and self.bias.rests_on_plain_fit)

    def adapted_to(self, model: BinaryGLM) -> Estimator:
        """Return the estimator for the rows of a model, which may have been sampled by their outcome."""
        if self.bias is None:
            return self
        return replace(self, bias=self.bias.adapted_to(model.sampling, model._has_var_weights))

    def estimate(self, problem: Problem) -> Estimate:
        """Return the coefficients."""
        return problem.estimate() if self.bias is None else self.bias.estimate(problem)

    def covariance_of(self, rows: Fitted, fitted: Estimate) -> NDArray:
        """Return the covariance of the coefficients."""
        if self.bias is None:
            return self.covariance.matrix(rows)
        return self.bias.covariance(self.covariance, rows, fitted)

    def degrees_of(self, rows: Fitted, use_t: Any) -> Degrees | None:
        """Return the degrees of freedom of tests, where they are not those of the residuals."""
        if use_t == SATTERTHWAITE:
            return self.covariance.satterthwaite(rows)
        if use_t is None:
            return self.covariance.design_degrees(rows)
        return self.covariance.degrees(rows) if use_t else None

    def rows(self, model: BinaryGLM, problem: Problem, fitted: Estimate) -> Fitted:
        """Return the fit as covariances see it."""
        penalised = self.penalty is not None
        return Fitted(problem.engine, model.loss, fitted.params, fitted.inverse_information, model.wnobs, penalised)


def covariance_for(model: BinaryGLM, options: FitOptions) -> Covariance:
    """Return the covariance that the options ask for, or the default of the model."""
    covariance = options.covariance(model.default_covariance, model.design.grouping, model.design.sample)
    model.sampling.refuse_covariance(covariance.assumes_model)
    return covariance
