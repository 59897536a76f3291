r"""Quantities derived from estimates: standard errors, tests and limits, by the degrees of freedom of the fit.

A quantity q(b) with the gradient g has the variance :math:`g'Vg`. To first order it is the linear combination g'b of the coefficients, and its test goes by the
distribution of the test of that combination: normal; t with the degrees of freedom of the design of a survey, or of clusters; or t with those that
Satterthwaite's formula (:mod:`gevglm.covariance.degrees`) gives for :math:`c = g`. A ratio of odds, a risk and a coefficient
that say the same therefore have the same p-value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2, f

from gevglm.covariance.degrees import Degrees, reference
from gevglm.exceptions import InvalidOptionError


@dataclass(frozen=True)
class Uncertainty:
    """What tests and limits of quantities derived from estimates need.

    Attributes
    ----------
    cov : ndarray of shape (m, m)
    gradient : ndarray of shape (m, k), optional
        By the coefficients (and the shape); without it, distributions are normal.
    degrees : Degrees, optional
        Of the fit; None where tests go by the normal distribution.
    """

    cov: NDArray
    gradient: NDArray | None = None
    degrees: Degrees | None = None

    @cached_property
    def errors(self) -> NDArray:
        """Standard errors."""
        return np.sqrt(np.diagonal(self.cov))

    @cached_property
    def df(self) -> NDArray:
        """Degrees of freedom of the test of each; infinite for the normal distribution."""
        if self.degrees is None or self.gradient is None:
            return np.full(len(self.cov), np.inf)
        return self.degrees.of_contrasts(self.gradient)

    @cached_property
    def distribution(self) -> Any:
        """The distributions that tests go by."""
        return reference(None if self.gradient is None else self.degrees, self.gradient)

    @property
    def by_t(self) -> bool:
        """Whether these are t distributions."""
        return self.degrees is not None and self.gradient is not None

    def combined(self, matrix: NDArray) -> Uncertainty:
        """Return that of linear combinations, one for each row of a matrix; missing for those of quantities without a variance."""
        unknown = np.isnan(np.diagonal(self.cov))
        along = matrix[:, ~unknown]
        cov = along @ self.cov[np.ix_(~unknown, ~unknown)] @ along.T
        leaning = (matrix[:, unknown] != 0.0).any(axis=1)
        cov[leaning] = cov[:, leaning] = np.nan
        return Uncertainty(cov, None if self.gradient is None else matrix @ self.gradient, self.degrees)

    def reach(self, alpha: float) -> NDArray:
        """Return how far limits are from the estimates."""
        with np.errstate(invalid="ignore"):
            return np.where(self.errors == 0.0, 0.0, self.distribution.isf(alpha / 2.0) * self.errors)

    def tests(self, estimate: NDArray) -> dict[str, NDArray]:
        """Return the statistics of tests that quantities are zero, z or t with its degrees of freedom, and their p-values."""
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = estimate / self.errors
        found = {"t": statistic, "df": self.df} if self.by_t else {"z": statistic}
        return found | {"pvalue": 2.0 * self.distribution.sf(np.abs(statistic))}

    def joint_pvalue(self, estimate: NDArray) -> float:
        """Return the p-value of Wald's test that all are zero; missing where a variance is."""
        if not (np.isfinite(self.cov).all() and np.isfinite(estimate).all()):
            return np.nan
        statistic = float(estimate @ np.linalg.pinv(self.cov, hermitian=True) @ estimate)
        number = np.linalg.matrix_rank(self.cov, hermitian=True)
        if self.degrees is None or self.gradient is None:
            return float(chi2.sf(statistic, number))
        df, factor = self.degrees.of_joint_test(self.gradient)
        return float(f.sf(factor * statistic / number, number, df))


def tested(estimate: NDArray, known: Uncertainty, index: pd.Index, alpha: float) -> pd.DataFrame:
    """Return estimates with standard errors, tests that they are zero, and limits."""
    reach = known.reach(alpha)
    columns = {"estimate": estimate, "se": known.errors} | known.tests(estimate)
    return pd.DataFrame(columns | {"ci_lower": estimate - reach, "ci_upper": estimate + reach}, index=index)


def linear_tests(estimate: pd.Series, known: Uncertainty, r_matrix: Any, alpha: float) -> pd.DataFrame:
    """Return tests of linear combinations of estimates, each a row of weights, as :func:`tested` has them."""
    matrix = np.atleast_2d(np.asarray(r_matrix, dtype=float))
    if matrix.ndim != 2 or matrix.shape[1] != len(estimate):
        raise InvalidOptionError(
            f"r_matrix has {matrix.shape[-1]} weights in a row, but there are {len(estimate)} estimates: "
            f"{', '.join(map(str, estimate.index))}."
        )
    index = pd.Index([f"combination {i}" for i in range(1, len(matrix) + 1)])
    return tested(matrix @ estimate.to_numpy(), known.combined(matrix), index, alpha)
