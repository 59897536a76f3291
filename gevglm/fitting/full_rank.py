"""Fits without what has no estimate: columns that are combinations of others, and levels with one outcome only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gevglm.engine.monitor import Monitor
from gevglm.estimation.refusals import collinear_text
from gevglm.exceptions import CollinearityError, CollinearityWarning, InvalidDataError, SeparationWarning, warn
from gevglm.inference import one_outcome
from gevglm.options import FitOptions
from gevglm.results import BinaryGLMResults

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM


def without_one_outcome(model: BinaryGLM) -> tuple[BinaryGLM, str]:
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


def of_full_rank(
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
