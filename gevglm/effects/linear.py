"""Linear combinations of estimates with a covariance: their tests and limits, for everything that is a table of effects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from gevglm.exceptions import InvalidOptionError

COLUMNS = ["estimate", "se", "z", "pvalue", "ci_lower", "ci_upper"]


def tested(estimate: NDArray, cov: NDArray, index: pd.Index, alpha: float) -> pd.DataFrame:
    """Return estimates with standard errors, tests that they are zero, and normal limits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.diagonal(cov))
        z = estimate / error
    reach = norm.isf(alpha / 2.0) * error
    columns = (estimate, error, z, 2.0 * norm.sf(np.abs(z)), estimate - reach, estimate + reach)
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)), index=index)


def linear_tests(estimate: pd.Series, cov: NDArray, r_matrix: Any, alpha: float) -> pd.DataFrame:
    """Return tests of linear combinations of estimates, each a row of weights, as :func:`tested` has them."""
    matrix = np.atleast_2d(np.asarray(r_matrix, dtype=float))
    if matrix.ndim != 2 or matrix.shape[1] != len(estimate):
        raise InvalidOptionError(
            f"r_matrix has {matrix.shape[-1]} weights in a row, but there are {len(estimate)} estimates: "
            f"{', '.join(map(str, estimate.index))}."
        )
    index = pd.Index([f"combination {i}" for i in range(1, len(matrix) + 1)])
    return tested(matrix @ estimate.to_numpy(), matrix @ cov @ matrix.T, index, alpha)
