"""One way to refit: the whole procedure behind results, run again on other rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from gevglm.data.observations import Part
from gevglm.exceptions import InvalidOptionError, silenced
from gevglm.inference.folds import Folds, are_given_by_row, make_folds
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
        raise InvalidOptionError("a fit under constraints cannot be refitted to other rows; fit without constraints.")
    model = results.model
    options, choice = replace(results.options.for_other_rows(), bias=results.bias), model.options.shape_choice
    if not choose_shape:
        options, choice = replace(options, alpha=results.alpha, search_kwds=None), None
    elif choice == "cv" or options.alpha == "cv":
        clusters = kept_together(results, (results.options.search_kwds or {}).get("groups"))
        of_rows = None if clusters is None else clusters[rows.rows if isinstance(rows, Part) else rows]
        options = replace(options, search_kwds=(options.search_kwds or {}) | {"groups": of_rows})
    with silenced():
        return model.on_rows(rows, choice).fit_by(options)


def folds_of(results: ResultsCore, folds: Any, rng: Any, groups: Any = None, each_outcome: bool = True) -> Folds:
    """Return folds of the observations of a fit, its clusters (or those given) kept together unless folds are given row by row."""
    clusters = None if groups is None and are_given_by_row(folds) else kept_together(results, groups)
    design = results.model.design
    return make_folds(design.y, folds, rng, counts=design.counts, groups=clusters, each_outcome=each_outcome)
