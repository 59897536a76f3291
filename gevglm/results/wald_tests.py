"""Tests of linear combinations of coefficients that have degrees of freedom of their own: Satterthwaite's, or those of a survey's design."""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from patsy import DesignInfo
from statsmodels.tools.sm_exceptions import ValueWarning

from gevglm.covariance.degrees import Degrees


class WaldTests:
    """statsmodels' tests of restrictions, with the degrees of freedom that the covariance brings along; comes before statsmodels' results."""

    model: Any
    omitted: Any
    cov_params_default: NDArray
    _degrees: Degrees | None

    def t_test(self, r_matrix, cov_p=None, use_t=None):
        """Tests of linear combinations of the coefficients, one by one; see statsmodels. Each has its degrees of freedom."""
        results: Any = self if self._degrees is None else copy(self)
        if self._degrees is not None:
            results.df_resid_inference = self._degrees.of_contrasts(self._restriction(r_matrix)[0])
        return super(WaldTests, results).t_test(r_matrix, cov_p=cov_p, use_t=use_t)

    def wald_test(self, r_matrix, **kwargs):
        """Wald test of linear restrictions; see statsmodels. Restrictions of coefficients that were left out do not count.

        With ``use_t="satterthwaite"`` it is the F test "HTZ" of R's clubSandwich, with a survey design that of the design.
        """
        kwargs = {name: value for name, value in kwargs.items() if value is not None}
        given = {"cov_p", "invcov", "df_constraints"} & set(kwargs)
        if self._degrees is None or kwargs.get("use_f") is False or given:
            with warnings.catch_warnings():
                if self.omitted:
                    warnings.filterwarnings("ignore", "covariance of constraints does not have full rank", ValueWarning)
                return super().wald_test(r_matrix, **kwargs)  # type: ignore[misc]
        results: Any = copy(self)
        results._degrees, (df, factor) = None, self._degrees.of_joint_test(self._restriction(r_matrix)[0])
        results.df_resid_inference = df
        return results.wald_test(r_matrix, cov_p=np.asarray(self.cov_params_default) / factor, **kwargs)

    def _restriction(self, r_matrix: Any) -> tuple[NDArray, NDArray]:
        """Return the matrix and the values of linear restrictions, from the words of statsmodels: a text, a matrix, or a matrix and values."""
        found = DesignInfo(list(self.model.exog_names)).linear_constraint(r_matrix)
        return found.coefs, found.constants.ravel()
