"""One fit with shape and penalty given: the estimate, what is looked at after it, and the fits at the ends of a range of prevalences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gevglm.effects.king_zeng import RiskModel
from gevglm.engine.monitor import Monitor
from gevglm.estimation.checks import check_support, known_support, suspected_separation, warn_of_problems
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.refusals import refuse_start
from gevglm.exceptions import ConvergenceWarning, InvalidDataError, warn
from gevglm.fitting.estimator import Estimator
from gevglm.options import FitOptions
from gevglm.results import BinaryGLMResults
from gevglm.sampling.schemes import OutcomeSampling

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM


def estimated(model: BinaryGLM, options: FitOptions, monitor: Monitor, *, at_bounds: bool = True) -> BinaryGLMResults:
    """Estimate, look at what was found, warn, and return the results; with `at_bounds`, with the fits at the ends of a range of prevalences."""
    estimator = Estimator.of(model, options)
    problem = model.problem(
        monitor=monitor,
        start=options.start_params,
        tol=options.tol,
        maxiter=options.maxiter,
        penalty=estimator.penalty,
    )
    engine, k = problem.engine, problem.engine.n_cols
    if k > engine.n_rows and estimator.penalty is None and options.collinear == "raise":
        raise InvalidDataError(f"there are more columns ({k}) than rows ({engine.n_rows}); drop columns or give alpha.")
    if problem.start is not None:
        refuse_start(problem, np.asarray(problem.start, dtype=float))
    fitted = estimator.estimate(problem)
    looked_for = estimator.rests_on_plain_fit and options.separation != "ignore"
    separation = suspected_separation(model, engine, fitted) if looked_for else None
    support = known_support(problem, fitted) or check_support(engine, model.link, fitted.params)
    warn_of_problems(model, fitted, support, separation, options, estimator.plain)
    if options.disp:
        verdict = "Converged" if fitted.converged else "Not converged"
        print(f"{verdict} after {fitted.n_iter} steps: {fitted.reason}.")
    bounds = model.sampling.at_bounds if at_bounds else ()
    rows = estimator.rows(model, problem, fitted)
    return BinaryGLMResults(
        model,
        fitted,
        estimator.covariance_of(rows, fitted),
        range_fits=[_at_bound(model, bound, problem, fitted, estimator) for bound in bounds],
        covariance=estimator.covariance,
        cov_words=(options.cov_type or model.default_covariance, options.cov_kwds),
        alpha=options.alpha,
        penalty=estimator.penalty,
        bias=estimator.bias,
        separation=separation,
        n_outside_support=support.outside,
        n_contradicted=support.contradicted,
        use_t=options.use_t,
        degrees=estimator.degrees_of(rows, options.use_t),
        clusters=estimator.covariance.clusters(rows),
    )


def _at_bound(
    model: BinaryGLM, sampling: OutcomeSampling, problem: Problem, middle: Estimate, estimator: Estimator
) -> RiskModel:
    """Fit at one end of the range of the prevalence, in the way of the fit in the middle."""
    model = model.at_sampling(sampling)
    estimator = estimator.adapted_to(model)
    problem = model.problem(
        start=middle.params,
        tol=problem.tol,
        maxiter=problem.maxiter,
        penalty=problem.penalty,
        monitor=problem.monitor,
    )
    fitted = estimator.estimate(problem)
    warn_of_bound(sampling, middle, fitted)
    matrix = estimator.covariance_of(estimator.rows(model, problem, fitted), fitted)
    return RiskModel(fitted.params, matrix, model.population_link, sampling.prevalence)


def warn_of_bound(sampling: OutcomeSampling, middle: Any, fitted: Any) -> None:
    """Warn of a fit at one end of the range of the prevalence that has not converged, where that in the middle has."""
    if middle.converged and not fitted.converged:
        warn(
            f"the fit at prevalence={sampling.prevalence:g} has not converged: {fitted.reason}. Do not use risk_bounds().",
            ConvergenceWarning,
        )
