"""One way to refit: the whole procedure behind results, run again on other rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gevglm.calibration.optimism import mapped
from gevglm.data.observations import Part
from gevglm.engine.base import times
from gevglm.estimation.batched import BatchRows, Estimates, batchable, estimate_all, fits_at_once
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import GevglmError, InvalidOptionError, silenced
from gevglm.inference.folds import Folds, are_given_by_row, make_folds
from gevglm.links.base import BinaryLink
from gevglm.results.clusters import kept_together

if TYPE_CHECKING:
    from gevglm.results.core import ResultsCore
    from gevglm.results.statsmodels_wrapper import BinaryGLMResultsWrapper


def refit(results: ResultsCore, rows: NDArray | Part, *, choose_shape: bool = True) -> BinaryGLMResultsWrapper:
    """Run the procedure behind results again on some rows; bootstrap, cross-validation and comparison all refit through here.

    `rows` are positions, which may repeat, or a part of the observations. With `choose_shape`, xi and alpha are chosen anew where the fit
    chose them, with the same clusters kept together; bias reduction, sampling and the limits of the iteration are those of the fit in any
    case. Warnings of the refit are not issued.
    """
    if hasattr(results, "constraints"):
        raise InvalidOptionError(
            "a fit under constraints, or with a new constant or slope, cannot be refitted to other rows; fit without constraints."
        )
    model = results.model
    options, choice = replace(results.options.for_other_rows(), bias=results.bias), model.options.shape_choice
    if not choose_shape:
        standardize = results.options.standardize if results.posterior is None else True
        options = replace(options, alpha=results.alpha, standardize=standardize, search_kwds=None)
        choice = None
    elif choice == "cv" or options.alpha == "cv":
        clusters = kept_together(results, (results.options.search_kwds or {}).get("groups"))
        of_rows = None if clusters is None else clusters[rows.rows if isinstance(rows, Part) else rows]
        options = replace(options, search_kwds=(options.search_kwds or {}) | {"groups": of_rows})
    with silenced():
        return model.on_rows(rows, choice).fit_by(options)


class Refit(NamedTuple):
    """What a refit found."""

    params: NDArray
    # of the fit, and from linear predictors to probabilities in the population
    link: BinaryLink
    population_link: BinaryLink


def refit_many(
    results: ResultsCore, parts: Iterable[Part], workers: int = 1
) -> Iterator[tuple[Part, Refit | GevglmError]]:
    """Yield parts of the observations with what :func:`refit` finds on each, or why it fails, in their order.

    Where the procedure is a fit with its shape and penalty given, many are fitted at once; those that do not converge there, and all of other
    procedures, go through :func:`refit`, by so many threads.
    """

    def alone(part: Part) -> tuple[Part, Refit | GevglmError]:
        try:
            again = refit(results, part if part.counts is None else part.need_both_outcomes())
            return part, Refit(np.asarray(again.params), again.model.link, again.model.population_link)
        except GevglmError as error:
            return part, error

    problem = plain_problem(results)
    if problem is None:
        yield from mapped(alone, parts, workers)
        return
    links, parts = (results.model.link, results.model.population_link), iter(parts)
    while chunk := list(islice(parts, fits_at_once(problem.engine.n_rows))):
        found = _estimates(results, problem, chunk)
        for part, params, converged in zip(chunk, found.params, found.converged, strict=True):
            yield (part, Refit(params, *links)) if converged else alone(part)


def plain_problem(results: ResultsCore) -> Problem | None:
    """Return what is estimated, from the estimates on, where fits to other weights can be made in batches; None elsewhere."""
    model, options = results.model, results.options
    chosen = model.options.shape_choice is not None or options.alpha == "cv"
    if chosen or hasattr(results, "constraints") or (options.standardize and results.alpha):
        return None
    limits: dict[str, Any] = {"tol": options.tol, "maxiter": options.maxiter}
    problem: Problem | None = model.problem(start=results._params, penalty=results.penalty, **limits)
    if results.bias is not None and problem is not None:
        problem = results.bias.as_problem(problem)
    return problem if problem is not None and batchable(problem) else None


def _estimates(results: ResultsCore, problem: Problem, parts: list[Part]) -> Estimates:
    """Fit a model to parts of its observations."""
    design = results.model.design
    given = times(np.ones(design.n_rows), design.freq, design.trials)
    counts = [given * part.rows if part.counts is None else part.counts for part in parts]
    weight, y = np.stack(counts, axis=1, dtype=float), design.y[:, None]
    if design.counts is not None:  # the observations of a row may differ in their outcomes
        events = [y[:, 0] * n if part.events is None else part.events for part, n in zip(parts, counts, strict=True)]
        y = np.divide(np.stack(events, axis=1), weight, out=np.zeros_like(weight), where=weight > 0)
    return estimate_all(problem, BatchRows(design.X, y, weight, var=design.var, offset=design.offset))


def folds_of(results: ResultsCore, folds: Any, rng: Any, groups: Any = None, each_outcome: bool = True) -> Folds:
    """Return folds of the observations of a fit, its clusters (or those given) kept together unless folds are given row by row."""
    clusters = None if groups is None and are_given_by_row(folds) else kept_together(results, groups)
    design = results.model.design
    return make_folds(design.y, folds, rng, counts=design.counts, groups=clusters, each_outcome=each_outcome)
