"""One way to refit: the whole procedure behind results, run again on other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gevglm.data.row_weights import RowWeights
from gevglm.exceptions import InvalidOptionError, silenced

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM
    from gevglm.results.core import ResultsCore
    from gevglm.results.statsmodels_wrapper import BinaryGLMResultsWrapper


@dataclass(frozen=True)
class Procedure:
    """What a fit was told, so that it can be told again.

    Attributes
    ----------
    shape : str or None
        "ml" or "cv" if xi was to be found.
    options : dict
        Penalty and limits of the iteration, as given to :meth:`gevglm.BinaryGLM.fit`.
    search : dict or None
        Its ``search_kwds``; folds that were given row by row are left out, since they hold for these rows only.
    """

    shape: str | None
    options: dict[str, Any]
    search: dict[str, Any] | None = None

    @classmethod
    def of(cls, shape: str | None, options: dict[str, Any], search: dict[str, Any] | None) -> Procedure:
        """Return the procedure without what belongs to single rows."""
        if search is not None and not np.isscalar(search.get("folds", 0)):
            search = {word: value for word, value in search.items() if word != "folds"}
        return cls(shape, options, search or None)


def refit(
    results: ResultsCore, rows: NDArray, *, choose_shape: bool = True, model: BinaryGLM | None = None
) -> BinaryGLMResultsWrapper:
    """Run the procedure behind results again on some rows; bootstrap, cross-validation and comparison all refit through here.

    Parameters
    ----------
    results : BinaryGLMResults
    rows : ndarray of int
        Positions of the rows, which may repeat.
    choose_shape : bool
        Choose xi and alpha anew, where the fit chose them; otherwise they stay those of the results. Bias reduction, sampling and the limits of
        the iteration are those of the fit in any case.
    model : BinaryGLM, optional
        Whose rows to take instead of those of the results' model, see :func:`of_single_observations`.

    Returns
    -------
    BinaryGLMResultsWrapper
        Warnings of the refit are not issued.
    """
    procedure, model = results.procedure, results.model if model is None else model
    if procedure is None or hasattr(results, "constraints"):
        raise InvalidOptionError("a fit under constraints cannot be refitted to other rows; fit without constraints.")
    options = procedure.options | {"bias": results.bias, "search_kwds": procedure.search}
    if not choose_shape:
        options |= {"alpha": results.alpha, "search_kwds": None}
    with silenced():
        return model.on_rows(rows, procedure.shape if choose_shape else None).fit(**options)


def of_single_observations(model: BinaryGLM) -> BinaryGLM:
    """Return the model with one row per observation: rows repeated by their frequency weights, trials as events and others."""
    weights = RowWeights.of(model.design)
    if weights.counts is None:
        return model
    rows, y = weights.single_observations(model.design.y)
    single = model.on_rows(rows)
    single._set_up(replace(single.design, y=y, freq=None, trials=None), model.loss, None, model.sampling)
    return single
