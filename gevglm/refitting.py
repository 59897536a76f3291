"""The whole procedure behind results, run anew on other rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.exceptions import GevglmWarning, InvalidDataError

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM
    from gevglm.results import BinaryGLMResults


def procedure(results: BinaryGLMResults, model: BinaryGLM | None = None) -> Callable[[NDArray], BinaryGLMResults]:
    """Return the procedure as a function of row numbers, which may repeat: bias reduction and the choice of xi and alpha included.

    Parameters
    ----------
    results : BinaryGLMResults
    model : BinaryGLM, optional
        Whose rows to take instead of those of the results' model, see :func:`in_single_rows`.
    """
    model = results.model if model is None else model
    searched = results.search is not None and results.search.table["alpha"].nunique() > 1
    shape = "ml" if results._shape is not None else None
    if results.search is not None and results.search.table["xi"].nunique() > 1:
        shape = "cv"

    def fit(rows: NDArray) -> BinaryGLMResults:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GevglmWarning)
            return model.on_rows(rows, shape).fit(bias=results.bias, alpha="cv" if searched else results.alpha)

    return fit


def in_single_rows(model: BinaryGLM) -> BinaryGLM:
    """Return the model with one row an observation: rows repeated by their frequency weights, trials as events and others."""
    design, counts = model.design, model.design.counts
    if counts is None:
        return model
    if (counts != np.rint(counts)).any():
        broken = counts[counts != np.rint(counts)]
        raise InvalidDataError(
            f"rows cannot be drawn by frequency weights that are no whole numbers; {len(broken)} of {len(counts)} are not "
            f"(the first is {broken[0]:g})."
        )
    events = np.rint(counts * design.y).astype(int)
    repeats = np.concatenate([events, counts.astype(int) - events])
    single = model.on_rows(np.repeat(np.tile(np.arange(len(counts)), 2), repeats))
    y = np.repeat([1.0, 0.0], [events.sum(), repeats.sum() - events.sum()])
    single._set_up(replace(single.design, y=y, freq=None, trials=None), model.loss, None, model.sampling)
    return single
