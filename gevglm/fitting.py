"""The way from a model to its results: words to objects, the estimate, what is looked at after it, the covariance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, NDArray

from gevglm.bias import BiasReduction
from gevglm.covariance import Covariance, Fitted, covariance_of
from gevglm.effects.king_zeng import RiskModel
from gevglm.estimation.checks import check_support, suspected_separation, warn_of_problems
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.objective import Ridge
from gevglm.exceptions import ConvergenceWarning, InvalidDataError, InvalidOptionError, warn
from gevglm.options import check_iteration, resolve_bias
from gevglm.results.core import BinaryGLMResults
from gevglm.results.refit import Procedure
from gevglm.results.shape import fit_with_shape
from gevglm.results.statsmodels_wrapper import BinaryGLMResultsWrapper
from gevglm.sampling.schemes import OutcomeSampling

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
        return problem.estimate(penalty=self.penalty) if self.bias is None else self.bias.estimate(problem)

    def covariance_of(self, model: BinaryGLM, problem: Problem, fitted: Estimate) -> NDArray:
        """Return the covariance of the coefficients."""
        penalised = self.penalty is not None
        rows = Fitted(problem.engine, model.loss, fitted.params, fitted.inverse_information, model.wnobs, penalised)
        if self.bias is None:
            return self.covariance.matrix(rows)
        return self.bias.covariance(self.covariance, rows, fitted)


def fit(
    model: BinaryGLM,
    start_params: ArrayLike | None,
    *,
    bias: Any,
    alpha: float | str,
    penalize_intercept: bool,
    standardize: bool,
    search_kwds: dict[str, Any] | None,
    cov_type: str | None,
    cov_kwds: dict[str, Any] | None,
    use_t: bool | None,
    maxiter: int,
    tol: float,
    disp: bool,
) -> BinaryGLMResultsWrapper:
    """Fit a model; the words are those of :meth:`gevglm.BinaryGLM.fit`."""
    if cov_type is None:
        cov_type = model.sampling.default_covariance
    again = {"alpha": alpha, "penalize_intercept": penalize_intercept, "standardize": standardize}
    again |= {"maxiter": maxiter, "tol": tol}
    inference = {"cov_type": cov_type, "cov_kwds": cov_kwds, "use_t": use_t}
    if model.shape is not None or alpha == "cv":
        found = fit_with_shape(model, search_kwds=search_kwds, bias=bias, disp=disp, **inference, **again)
        found._results.procedure = Procedure.of(model.shape, again, search_kwds)
        return found
    if search_kwds is not None:
        raise InvalidOptionError("search_kwds goes with xi='ml', xi='cv' or alpha='cv'.")
    check_iteration(start_params, len(model.design.names), tol, maxiter)
    if not isinstance(cov_kwds, (dict, type(None))):
        raise InvalidOptionError(f"cov_kwds must be a dict, such as {{'groups': 'clinic'}}, got {cov_kwds!r}.")
    penalty = model.penalty(alpha, penalize_intercept, standardize)
    covariance = covariance_of(cov_type, cov_kwds, model.design.grouping)
    reduction = resolve_bias(bias, model.loss, model.data.const_idx, penalty)
    estimator = Estimator(penalty, reduction, covariance).adapted_to(model)
    problem = model.problem(start=start_params, tol=tol, maxiter=maxiter)
    results = _estimated(model, problem, estimator, alpha, inference, disp)
    results.procedure = Procedure(None, again)
    return BinaryGLMResultsWrapper(results)


def _estimated(
    model: BinaryGLM, problem: Problem, estimator: Estimator, alpha: float, inference: dict[str, Any], disp: bool
) -> BinaryGLMResults:
    """Estimate, look at what was found, warn, and hand over the results."""
    engine, k = problem.engine, problem.engine.n_cols
    if k > engine.n_rows and estimator.penalty is None:
        raise InvalidDataError(f"there are more columns ({k}) than rows ({engine.n_rows}); drop columns or give alpha.")
    fitted = estimator.estimate(problem)
    separation = suspected_separation(model, engine, fitted) if estimator.rests_on_plain_fit else None
    support = check_support(engine, model.link, fitted.params)
    warn_of_problems(model, fitted, support, problem.maxiter, separation, estimator.plain)
    if disp:
        verdict = "Converged" if fitted.converged else "Not converged"
        print(f"{verdict} after {fitted.n_iter} steps: {fitted.reason}.")
    return BinaryGLMResults(
        model,
        fitted,
        estimator.covariance_of(model, problem, fitted),
        ends=[_at_end(model, end, problem, fitted, estimator) for end in model.sampling.at_bounds],
        covariance=estimator.covariance,
        cov_words=(inference["cov_type"], inference["cov_kwds"]),
        alpha=alpha,
        penalty=estimator.penalty,
        bias=estimator.bias,
        separation=separation,
        n_outside_support=support.outside,
        n_contradicted=support.contradicted,
        use_t=inference["use_t"],
    )


def _at_end(
    model: BinaryGLM, sampling: OutcomeSampling, problem: Problem, middle: Estimate, estimator: Estimator
) -> RiskModel:
    """Fit at one end of the range of the prevalence, in the way of the fit in the middle."""
    model = model.at_sampling(sampling)
    estimator = estimator.adapted_to(model)
    problem = model.problem(start=middle.params, tol=problem.tol, maxiter=problem.maxiter)
    fitted = estimator.estimate(problem)
    if middle.converged and not fitted.converged:
        warn(
            f"the fit at prevalence={sampling.prevalence:g} has not converged: {fitted.reason}. Do not use risk_bounds().",
            ConvergenceWarning,
        )
    matrix = estimator.covariance_of(model, problem, fitted)
    return RiskModel(fitted.params, matrix, model.population_link, sampling.prevalence)
