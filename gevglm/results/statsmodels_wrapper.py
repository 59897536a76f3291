"""Results with the labels of the data attached: the object that statsmodels, and packages that know statsmodels, work with.

Packages such as marginaleffects recognise results of statsmodels by the word in the name of the module that defines their class.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import statsmodels.base.wrapper as wrap
from statsmodels.genmod.generalized_linear_model import GLMResultsWrapper

from gevglm.results.binary_results import BinaryGLMResults
from gevglm.results.saving import save


class BinaryGLMResultsWrapper(GLMResultsWrapper):
    """Results with the labels of the data attached."""

    _wrap_methods = {name: how for name, how in GLMResultsWrapper._wrap_methods.items() if name != "conf_int"}

    def __repr__(self) -> str:
        return repr(self._results)

    def conf_int(self, alpha: float = 0.05, cols: Any = None, method: str | None = None):
        """Confidence intervals of the coefficients; see :meth:`BinaryGLMResults.conf_int`."""
        limits = self._results.conf_int(alpha=alpha, cols=cols, method=method)
        if not isinstance(self.params, pd.Series):
            return limits
        return pd.DataFrame(limits, index=self.params.index if cols is None else self.params.index[list(cols)])

    def save(self, fname: str | Path, remove_data: bool = True) -> None:
        """Save the results, by default without the data; see :meth:`BinaryGLMResults.save`."""
        save(self, fname, remove_data)


wrap.populate_wrapper(BinaryGLMResultsWrapper, BinaryGLMResults)
