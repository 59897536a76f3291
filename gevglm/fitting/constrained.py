"""Fits under linear constraints, as statsmodels makes them."""

from __future__ import annotations

import warnings
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from statsmodels.genmod.generalized_linear_model import GLM

from gevglm.estimation.checks import check_support, warn_of_support
from gevglm.exceptions import InvalidOptionError, SupportWarning

if TYPE_CHECKING:
    from gevglm.model import BinaryGLM


def fit_constrained(model: BinaryGLM, constraints: Any, start_params: Any, fit_kwds: dict[str, Any]) -> Any:
    """Fit a model under linear constraints, as statsmodels does it."""
    if model.shape_choice is not None:
        raise InvalidOptionError("a constrained fit needs a fixed shape: give xi as a number.")
    if issparse(model.exog):
        raise InvalidOptionError(
            "fit_constrained does not take a sparse design; give it as X.toarray(), or test the constraints by wald_test of the fit."
        )
    with warnings.catch_warnings():  # statsmodels fits a model of its own, with row numbers of its own
        warnings.simplefilter("ignore", SupportWarning)
        fit_kwds = {"cov_type": model.default_covariance} | fit_kwds
        shifted: Any = copy(model)
        shifted.offset = model._offset_exposure  # a number if there is none: statsmodels 0.14 adds it in any case
        results = GLM.fit_constrained(shifted, constraints, start_params=start_params, **fit_kwds)
        shifted.offset = model.offset
    warn_of_support(model, check_support(model.engine(), model.link, np.asarray(results.params)))
    inner, constrained = results._results, results._results.results_constrained
    for name in ("converged", "n_iter", "reason", "cov_type", "cov_kwds", "_cov_words"):
        setattr(inner, name, getattr(constrained, name))
    return results
