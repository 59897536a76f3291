"""The whole procedure behind results, run anew on other rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from numpy.typing import NDArray

from gevglm.exceptions import GevglmWarning

if TYPE_CHECKING:
    from gevglm.results import BinaryGLMResults


def procedure(results: BinaryGLMResults) -> Callable[[NDArray], BinaryGLMResults]:
    """Return the procedure as a function of row numbers, which may repeat: bias reduction and the choice of xi and alpha included.

    Parameters
    ----------
    results : BinaryGLMResults
    """
    model = results.model
    searched = results.search is not None and results.search.table["alpha"].nunique() > 1
    shape = "ml" if results._shape is not None else None
    if results.search is not None and results.search.table["xi"].nunique() > 1:
        shape = "cv"

    def fit(rows: NDArray) -> BinaryGLMResults:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GevglmWarning)
            return model.on_rows(rows, shape).fit(bias=results.bias, alpha="cv" if searched else results.alpha)

    return fit
