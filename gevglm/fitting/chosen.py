"""Fits with a shape or a penalty that the data choose: by likelihood, by its posterior, by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gevglm.data.observations import one_way
from gevglm.effects.king_zeng import RiskModel
from gevglm.engine.monitor import NULL_MONITOR, Monitor
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError, silenced
from gevglm.fitting.estimated import estimated, warn_of_bound
from gevglm.fitting.estimator import covariance_for
from gevglm.fitting.full_rank import of_full_rank
from gevglm.inference.cross_validation import search
from gevglm.inference.folds import Folds, are_given_by_row, make_folds
from gevglm.inference.posterior import ShapePrior
from gevglm.inference.shape import estimate_shape, warn_of_irregularity
from gevglm.inference.shape_equations import joint_covariance
from gevglm.inference.shape_posterior import posterior_of
from gevglm.options import FitOptions
from gevglm.results import BinaryGLMResults
from gevglm.sampling.schemes import OutcomeSampling

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM

ALPHAS = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
SEARCH_WORDS = {
    "ml": ("grid",),
    "map": ("grid", "xi_mean", "xi_scale", "coef_scale", "draws", "rng"),
    "cv": ("grid", "alphas", "folds", "groups", "criterion", "rng", "refine", "rule"),
}


def maximum_likelihood(model: BinaryGLM, options: FitOptions, monitor: Monitor) -> BinaryGLMResults:
    """Maximise the likelihood over the shape, then fit."""
    if options.alpha:
        raise IncompatibleOptionsError("xi='ml' and alpha cannot be combined; use xi='cv'.")
    problem = model.problem(tol=options.tol, maxiter=options.maxiter, monitor=monitor)
    found = estimate_shape(problem, model.loss.with_shape, **_search_words(model, options, "ml"))
    start = found.params if options.bias is None else None
    results = estimated(model.at_shape(found.xi), replace(options, start_params=start), monitor, at_bounds=False)
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
        fitted = maximum_likelihood(model.at_sampling(sampling), options, NULL_MONITOR)
    warn_of_bound(sampling, middle, fitted)
    return fitted.risk_model


def posterior_mode(model: BinaryGLM, options: FitOptions, monitor: Monitor) -> BinaryGLMResults:
    """Find the mode of the posterior of coefficients and shape, and draw from it."""
    words = _search_words(model, options, "map")
    _refuse_posterior(model)
    prior = ShapePrior.of(words, model.loss.link.default_grid)
    penalty = model.penalty(options.under_prior(prior.coef_scale).alpha, False, True)
    problem = model.problem(tol=options.tol, maxiter=options.maxiter, monitor=monitor, penalty=penalty)
    found = posterior_of(problem, model.loss.with_shape, prior, words.get("draws"), words.get("rng", 0))
    options = replace(options.under_prior(prior.coef_scale * found.scale), start_params=found.params)
    results = estimated(model.at_shape(found.xi), options, monitor, at_bounds=False)
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


def cross_validated(model: BinaryGLM, options: FitOptions, monitor: Monitor) -> BinaryGLMResults:
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
    results = of_full_rank(estimated, fitted_model, chosen_alpha, monitor)
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
