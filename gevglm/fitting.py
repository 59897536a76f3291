"""From a model to its results: the estimate, what is looked at after it, the covariance; also with a shape or penalty to be chosen."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from statsmodels.genmod.generalized_linear_model import GLM

from gevglm.bias import BiasReduction
from gevglm.covariance import Covariance, Fitted
from gevglm.data.observations import one_way
from gevglm.effects.king_zeng import RiskModel
from gevglm.engine.monitor import NULL_MONITOR, Monitor
from gevglm.estimation.checks import check_support, suspected_separation, warn_of_problems, warn_of_support
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.objective import Ridge
from gevglm.estimation.refusals import collinear_text
from gevglm.exceptions import (
    CollinearityError,
    CollinearityWarning,
    ConvergenceWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    SeparationWarning,
    SupportWarning,
    silenced,
    warn,
)
from gevglm.inference import one_outcome
from gevglm.inference.cross_validation import search
from gevglm.inference.folds import Folds, are_given_by_row, make_folds
from gevglm.inference.posterior import ShapePrior
from gevglm.inference.shape import estimate_shape, warn_of_irregularity
from gevglm.inference.shape_equations import joint_covariance
from gevglm.inference.shape_posterior import posterior_of
from gevglm.options import FitOptions
from gevglm.results import BinaryGLMResults, BinaryGLMResultsWrapper
from gevglm.sampling.schemes import OutcomeSampling

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM

ALPHAS = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
SEARCH_WORDS = {
    "ml": ("grid",),
    "map": ("grid", "xi_mean", "xi_scale", "coef_scale", "draws", "rng"),
    "cv": ("grid", "alphas", "folds", "groups", "criterion", "rng", "refine", "rule"),
}


def fit(model: BinaryGLM, options: FitOptions, monitor: Monitor = NULL_MONITOR) -> BinaryGLMResultsWrapper:
    """Fit a model; the options are described in :meth:`gevglm.BinaryGLM.fit`."""
    options.check(len(model.design.names))
    left_out = ""
    if options.separation == "drop":
        model, left_out = _without_one_outcome(model)
    if model.shape_choice == "cv" or options.alpha == "cv":
        results = _cross_validated(model, options, monitor)
    elif model.shape_choice == "ml":
        results = _of_full_rank(_maximum_likelihood, model, options, monitor)
    elif model.shape_choice == "map":
        results = _of_full_rank(_posterior_mode, model, options, monitor)
    elif options.search_kwds is not None:
        raise InvalidOptionError("search_kwds goes with xi='ml', xi='map', xi='cv' or alpha='cv'.")
    else:
        results = _of_full_rank(_estimated, model, options, monitor)
    results.options, results.left_out = options, left_out
    return BinaryGLMResultsWrapper(results)


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

    def covariance_of(self, model: BinaryGLM, problem: Problem, fitted: Estimate) -> NDArray:
        """Return the covariance of the coefficients."""
        penalised = self.penalty is not None
        rows = Fitted(problem.engine, model.loss, fitted.params, fitted.inverse_information, model.wnobs, penalised)
        if self.bias is None:
            return self.covariance.matrix(rows)
        return self.bias.covariance(self.covariance, rows, fitted)


def covariance_for(model: BinaryGLM, options: FitOptions) -> Covariance:
    """Return the covariance that the options ask for, or the default for how the rows were sampled."""
    covariance = options.covariance(model.sampling.default_covariance, model.design.grouping)
    model.sampling.refuse_covariance(covariance.assumes_model)
    return covariance


def _without_one_outcome(model: BinaryGLM) -> tuple[BinaryGLM, str]:
    """Return a model without the levels that have one outcome only, and which these are, in words."""
    model.design.need_rows("separation='drop'", "leave the rows of such levels out by subset=")
    found = one_outcome.find(model.exog, model.endog, levels_only=True)
    if not found.rows.any():
        return model, ""
    text = f"{one_outcome.describe(found, model.exog_names)} have one outcome only"
    y = model.endog[~found.rows]
    if not (len(y) and y.max() > 0.0 and y.min() < 1.0):
        raise InvalidDataError(f"{text}: without them nothing is left to fit. Use bias='firth', or join levels.")
    warn(f"{text}, and were left out, with coefficients of 0; their estimates are infinite.", SeparationWarning)
    empty: dict[int, tuple[int, ...]] = {int(j): () for j in np.flatnonzero(found.columns)}
    return model.omitting(empty, np.flatnonzero(~found.rows)), text


def _of_full_rank(
    fit_model: Callable[[BinaryGLM, FitOptions, Monitor], BinaryGLMResults],
    model: BinaryGLM,
    options: FitOptions,
    monitor: Monitor,
) -> BinaryGLMResults:
    """Fit a model, and again without the columns that turn out to be combinations of others, if that is asked for."""
    columns: dict[int, tuple[int, ...]] = {}
    while True:
        try:
            results = fit_model(model.omitting(columns) if columns else model, options, monitor)
            break
        except CollinearityError as error:
            if options.collinear == "raise" or not error.columns:
                raise
            columns |= error.columns
    if not columns:
        return results
    warn(
        f"left out, with a coefficient of 0: {collinear_text(columns, model.exog_names)}. The other coefficients are those of a fit without it; "
        "collinear='raise' refuses such columns.",
        CollinearityWarning,
    )
    return results


def _estimated(model: BinaryGLM, options: FitOptions, monitor: Monitor, *, at_bounds: bool = True) -> BinaryGLMResults:
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
    fitted = estimator.estimate(problem)
    looked_for = estimator.rests_on_plain_fit and options.separation != "ignore"
    separation = suspected_separation(model, engine, fitted) if looked_for else None
    support = check_support(engine, model.link, fitted.params)
    warn_of_problems(model, fitted, support, separation, options, estimator.plain)
    if options.disp:
        verdict = "Converged" if fitted.converged else "Not converged"
        print(f"{verdict} after {fitted.n_iter} steps: {fitted.reason}.")
    bounds = model.sampling.at_bounds if at_bounds else ()
    return BinaryGLMResults(
        model,
        fitted,
        estimator.covariance_of(model, problem, fitted),
        range_fits=[_at_bound(model, bound, problem, fitted, estimator) for bound in bounds],
        covariance=estimator.covariance,
        cov_words=(options.cov_type or model.sampling.default_covariance, options.cov_kwds),
        alpha=options.alpha,
        penalty=estimator.penalty,
        bias=estimator.bias,
        separation=separation,
        n_outside_support=support.outside,
        n_contradicted=support.contradicted,
        use_t=options.use_t,
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
    _warn_of_bound(sampling, middle, fitted)
    matrix = estimator.covariance_of(model, problem, fitted)
    return RiskModel(fitted.params, matrix, model.population_link, sampling.prevalence)


def _warn_of_bound(sampling: OutcomeSampling, middle: Any, fitted: Any) -> None:
    if middle.converged and not fitted.converged:
        warn(
            f"the fit at prevalence={sampling.prevalence:g} has not converged: {fitted.reason}. Do not use risk_bounds().",
            ConvergenceWarning,
        )


def fit_constrained(model: BinaryGLM, constraints: Any, start_params: Any, fit_kwds: dict[str, Any]) -> Any:
    """Fit a model under linear constraints, as statsmodels does it."""
    if model.shape_choice is not None:
        raise InvalidOptionError("a constrained fit needs a fixed shape: give xi as a number.")
    if issparse(model.exog):
        raise InvalidOptionError(
            "fit_constrained does not take a sparse design; give it as X.toarray(), or test the constraints by wald_test of the fit."
        )
    with warnings.catch_warnings():  # statsmodels fits a model of its own, with row numbers of its own
        warnings.simplefilter("ignore", SupportWarning)
        fit_kwds = {"cov_type": model.sampling.default_covariance} | fit_kwds
        shifted: Any = copy(model)
        shifted.offset = model._offset_exposure  # a number if there is none: statsmodels 0.14 adds it in any case
        results = GLM.fit_constrained(shifted, constraints, start_params=start_params, **fit_kwds)
        shifted.offset = model.offset
    warn_of_support(model, check_support(model.engine(), model.link, np.asarray(results.params)))
    inner, constrained = results._results, results._results.results_constrained
    for name in ("converged", "n_iter", "reason", "cov_type", "cov_kwds", "_cov_words"):
        setattr(inner, name, getattr(constrained, name))
    return results


# -- a shape or a penalty to be chosen -------------------------------------------------------


def _maximum_likelihood(model: BinaryGLM, options: FitOptions, monitor: Monitor) -> BinaryGLMResults:
    """Maximise the likelihood over the shape, then fit."""
    if options.alpha:
        raise IncompatibleOptionsError("xi='ml' and alpha cannot be combined; use xi='cv'.")
    problem = model.problem(tol=options.tol, maxiter=options.maxiter, monitor=monitor)
    found = estimate_shape(problem, model.loss.with_shape, **_search_words(model, options, "ml"))
    start = found.params if options.bias is None else None
    results = _estimated(model.at_shape(found.xi), replace(options, start_params=start), monitor, at_bounds=False)
    covariance = covariance_for(model, options)
    information = None if found.sums is None else found.sums.hessian
    by_curvature = joint_covariance(
        problem.engine,
        found.loss,
        results._params,
        covariance,
        model.wnobs,
        within=found.range,
        information=information,
    )
    joint = found.covariance(by_curvature, results.cov_params_default, weighted=model.sampling.reweights)
    joint = results.without_infinite(joint)
    if results.converged:
        warn_of_irregularity(found, results.n_outside_support)
    results._shape, results._joint = found, joint
    if found.path is not None:
        results.n_iter, results.n_passes = found.path.steps + results.n_iter, found.path.passes + results.n_passes
    results.cov_params_default = joint[:-1, :-1]
    results.range_fits = tuple(_shape_at_bound(model, bound, options, results) for bound in model.sampling.at_bounds)
    return results


def _shape_at_bound(
    model: BinaryGLM, sampling: OutcomeSampling, options: FitOptions, middle: BinaryGLMResults
) -> RiskModel:
    """Fit coefficients and shape at one end of the range of the prevalence."""
    with silenced():
        fitted = _maximum_likelihood(model.at_sampling(sampling), options, NULL_MONITOR)
    _warn_of_bound(sampling, middle, fitted)
    return fitted.risk_model


def _posterior_mode(model: BinaryGLM, options: FitOptions, monitor: Monitor) -> BinaryGLMResults:
    """Find the mode of the posterior of coefficients and shape, and draw from it."""
    words = _search_words(model, options, "map")
    _refuse_posterior(model)
    prior = ShapePrior.of(words, model.loss.link.default_grid)
    options = options.under_prior(prior.coef_scale)
    penalty = model.penalty(options.alpha, False, True)
    problem = model.problem(tol=options.tol, maxiter=options.maxiter, monitor=monitor, penalty=penalty)
    found = posterior_of(problem, model.loss.with_shape, prior, words.get("draws"), words.get("rng", 0))
    results = _estimated(
        model.at_shape(found.xi), replace(options, start_params=found.params), monitor, at_bounds=False
    )
    results.posterior, joint = found.posterior, found.posterior.covariance
    results._joint, results.cov_params_default = joint, joint[:-1, :-1]
    results.cov_kwds = {"description": f"Standard errors are posterior standard deviations; prior: {prior}."}
    results.n_iter, results.n_passes = found.path.steps + results.n_iter, found.path.passes + results.n_passes
    return results


def _refuse_posterior(model: BinaryGLM) -> None:
    """Refuse losses and weights that are not those of a likelihood, and ranges of the prevalence."""
    if not model.loss.is_likelihood or model.sampling.reweights or model.sampling.at_bounds:
        raise IncompatibleOptionsError(
            "xi='map' needs a likelihood: loss='log', one prevalence, and no rows that are weighted by their outcome or to a population."
        )


def _cross_validated(model: BinaryGLM, options: FitOptions, monitor: Monitor) -> BinaryGLMResults:
    """Choose the shape, the penalty or both on held-out rows, then fit."""
    words = _search_words(model, options, "cv")
    alpha, choose_shape = options.alpha, model.shape_choice == "cv"
    if options.bias is not None and (alpha == "cv" or alpha):
        raise IncompatibleOptionsError("bias and alpha cannot be combined; leave one of them out.")
    if not model.design.has_rows:
        raise InvalidOptionError(
            "cross-validation needs the rows in memory, but the data are read in pieces; use xi='ml', or choose by predictions of other data."
        )
    rule = words.pop("rule", "best")
    if rule not in ("best", "one_se"):
        raise InvalidOptionError(f"rule={rule!r} is not known; use 'best' or 'one_se'.")
    link = model.loss.link
    grid = words.pop("grid", link.default_grid) if choose_shape else (link.shape or 0.0,)
    alphas = words.pop("alphas", ALPHAS) if alpha == "cv" else (float(alpha),)
    found = search(
        model.problem(tol=options.tol, maxiter=options.maxiter, monitor=monitor),
        model.loss.with_shape if choose_shape else lambda shape: model.loss,
        _folds(model, options, words),
        grid=grid,
        alphas=alphas,
        penalty_of=lambda value: model.penalty(value, options.penalize_intercept, options.standardized),
        raise_collinear=options.collinear == "raise",
        progress=options.disp,
        **words,
    )
    chosen = found.best if rule == "best" else found.one_standard_error
    fitted_model = model.at_shape(float(chosen["xi"])) if choose_shape else model
    chosen_alpha = replace(options, start_params=None, alpha=float(chosen["alpha"]), standardize=options.standardized)
    results = _of_full_rank(_estimated, fitted_model, chosen_alpha, monitor)
    results.search = found
    return results


def _folds(model: BinaryGLM, options: FitOptions, words: dict[str, Any]) -> Folds:
    """Take folds, seed and clusters out of the words of a search; return the folds, of observations or of the clusters of the fit."""
    folds, groups = words.pop("folds", 5), words.pop("groups", None)
    clusters = None
    if groups is not None:
        clusters = model.design.grouping(groups)
    elif not are_given_by_row(folds):
        clusters = getattr(covariance_for(model, options), "grouping", None)
    codes = None if clusters is None else one_way(clusters)
    return make_folds(model.endog, folds, words.pop("rng", 0), counts=model.design.counts, groups=codes)


def _search_words(model: BinaryGLM, options: FitOptions, how: str) -> dict[str, Any]:
    """Return the words of the search, checked."""
    words = dict(options.search_kwds or {})
    unknown = [word for word in words if word not in SEARCH_WORDS[how]]
    if unknown:
        raise InvalidOptionError(
            f"search_kwds has {unknown}, which xi={how!r} does not take; it takes {list(SEARCH_WORDS[how])}."
        )
    if "grid" in words:
        words["grid"] = [model.link.with_shape(shape).shape for shape in np.ravel(words["grid"]).tolist()]
        if not words["grid"]:
            raise InvalidOptionError("the grid of shapes is empty.")
    for alpha in np.ravel(words.get("alphas", ())):
        if not (np.isfinite(alpha) and alpha >= 0):
            raise InvalidOptionError(f"alphas has {alpha!r}; penalties must be finite and not negative.")
    return words
