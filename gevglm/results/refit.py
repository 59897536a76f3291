"""One way to refit: the whole procedure behind results, run again on other rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from numpy.typing import NDArray

from gevglm.data.row_weights import RowWeights
from gevglm.exceptions import InvalidOptionError, silenced

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM
    from gevglm.results.core import ResultsCore
    from gevglm.results.statsmodels_wrapper import BinaryGLMResultsWrapper


def refit(
    results: ResultsCore, rows: NDArray, *, choose_shape: bool = True, model: BinaryGLM | None = None
) -> BinaryGLMResultsWrapper:
    """Run the procedure behind results again on some rows; bootstrap, cross-validation and comparison all refit through here.

    The positions in `rows` may repeat. With `choose_shape`, xi and alpha are chosen anew where the fit chose them; bias reduction, sampling and
    the limits of the iteration are those of the fit in any case. `model` may have other rows than that of the results, see
    :func:`of_single_observations`. Warnings of the refit are not issued.
    """
    if hasattr(results, "constraints"):
        raise InvalidOptionError("a fit under constraints cannot be refitted to other rows; fit without constraints.")
    model = results.model if model is None else model
    options, choice = replace(results.options.for_other_rows(), bias=results.bias), model.options.shape_choice
    if not choose_shape:
        options, choice = replace(options, alpha=results.alpha, search_kwds=None), None
    with silenced():
        return model.on_rows(rows, choice).fit_by(options)


def of_single_observations(model: BinaryGLM) -> BinaryGLM:
    """Return the model with one row per observation: rows repeated by their frequency weights, trials as events and others."""
    weights = RowWeights.of(model.design)
    if weights.counts is None:
        return model
    rows, y = weights.single_observations(model.design.y)
    single = model.on_rows(rows)
    single._set_up(single.design.of_single_observations(y), model.loss, None, model.sampling, model.options)
    return single
