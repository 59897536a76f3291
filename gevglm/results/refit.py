"""The whole procedure behind results, run anew on other rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.exceptions import GevglmWarning, InvalidDataError

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM
    from gevglm.results.core import BinaryGLMResults


def procedure(results: BinaryGLMResults, model: BinaryGLM | None = None) -> Callable[[NDArray], BinaryGLMResults]:
    """Return the procedure as a function of row numbers, which may repeat: bias reduction and the choice of xi and alpha included.

    Parameters
    ----------
    results : BinaryGLMResults
    model : BinaryGLM, optional
        Whose rows to take instead of those of the results' model, see :func:`in_single_rows`.
    """
    model = results.model if model is None else model
    options = replace(results.options.for_other_rows(), bias=results.bias)

    def fit(rows: NDArray) -> BinaryGLMResults:
        with _quiet():
            return model.on_rows(rows, model.options.shape_choice).fit_by(options)

    return fit


_lock = Lock()
_inside: list[
    warnings.catch_warnings
] = []  # one entry a thread; the filters of before the first are put back by the last


@contextmanager
def _quiet() -> Iterator[None]:
    """Ignore the package's own warnings, in several threads at once: they share their filters."""
    with _lock:
        if not _inside:
            _inside.append(warnings.catch_warnings())
            _inside[0].__enter__()
            warnings.simplefilter("ignore", GevglmWarning)
        else:
            _inside.append(_inside[0])
    try:
        yield
    finally:
        with _lock:
            last = _inside.pop()
            if not _inside:
                last.__exit__(None, None, None)


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
    single._set_up(replace(single.design, y=y, freq=None, trials=None), model.loss, None, model.sampling, model.options)
    return single
