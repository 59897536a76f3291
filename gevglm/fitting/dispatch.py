"""From a model and options to results: which of the ways to fit is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gevglm.engine.monitor import NULL_MONITOR, Monitor
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError
from gevglm.fitting.chosen import cross_validated, maximum_likelihood, posterior_mode
from gevglm.fitting.estimated import estimated
from gevglm.fitting.full_rank import of_full_rank, without_one_outcome
from gevglm.options import SATTERTHWAITE, FitOptions
from gevglm.results import BinaryGLMResultsWrapper

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM


def fit(model: BinaryGLM, options: FitOptions, monitor: Monitor = NULL_MONITOR) -> BinaryGLMResultsWrapper:
    """Fit a model; the options are described in :meth:`gevglm.BinaryGLM.fit`."""
    options.check(len(model.design.names))
    if options.use_t == SATTERTHWAITE and model.shape_choice in ("ml", "map"):
        raise IncompatibleOptionsError(
            f"use_t={SATTERTHWAITE!r} is not defined when {model.link.shape_name} is estimated; give it as a number, or leave use_t out."
        )
    left_out = ""
    if options.separation == "drop":
        model, left_out = without_one_outcome(model)
    if model.shape_choice == "cv" or options.alpha == "cv":
        results = cross_validated(model, options, monitor)
    elif model.shape_choice == "ml":
        results = of_full_rank(maximum_likelihood, model, options, monitor)
    elif model.shape_choice == "map":
        results = of_full_rank(posterior_mode, model, options, monitor)
    elif options.search_kwds is not None:
        raise InvalidOptionError("search_kwds goes with xi='ml', xi='map', xi='cv' or alpha='cv'.")
    else:
        results = of_full_rank(estimated, model, options, monitor)
    results.options, results.left_out = options, left_out
    return BinaryGLMResultsWrapper(results)
