"""Other packages' logistic regression, each with the layout of the design that suits it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import statsmodels.api as sm
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression


def peers(X: NDArray, y: NDArray) -> dict[str, Callable[[], NDArray]]:
    """Return calls that fit and return the coefficients, the constant first.

    The statsmodels fits compute a covariance matrix as ours does; scikit-learn and glum do not. These two get the
    design without its constant; glum, in Fortran order, in which it is faster.
    """
    without = np.ascontiguousarray(X[:, 1:])
    in_columns = np.asfortranarray(without)

    def sklearn() -> NDArray:
        fit = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8).fit(without, y)
        return np.append(fit.intercept_, fit.coef_)

    def glum() -> NDArray:
        from glum import GeneralizedLinearRegressor  # benchmarks alone need it

        fit = GeneralizedLinearRegressor(family="binomial", alpha=0, gradient_tol=1e-8).fit(in_columns, y)
        return np.append(fit.intercept_, fit.coef_)

    return {
        "sm.GLM": lambda: sm.GLM(y, X, family=sm.families.Binomial()).fit().params,
        "sm.Logit": lambda: sm.Logit(y, X).fit(disp=0).params,
        "scikit-learn newton-cholesky": sklearn,
        "glum": glum,
    }
