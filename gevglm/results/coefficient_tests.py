"""CoefficientTests: tests that each coefficient is zero, by Wald's method or by the profile of the likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


class CoefficientTests:
    """Tests of coefficients; a part of results of every kind, which say by ``inference`` what they go by."""

    params: Any
    bse: Any

    @property
    def tvalues(self) -> NDArray:
        """Statistics of the tests that each coefficient is zero: z (or t) of Wald, or the signed root of the likelihood ratio, by ``inference``."""
        return self.tests()[0]

    @property
    def pvalues(self) -> NDArray:
        """Two-sided p-values of the tests that each coefficient is zero, by ``inference``."""
        return self.tests()[1]

    def tests(self, method: str | None = None) -> tuple[NDArray, NDArray]:
        """Tests that each coefficient is zero.

        Parameters
        ----------
        method : {"wald", "profile", "posterior"}, optional
            That of ``inference`` by default; "posterior" after ``xi="map"`` only.

        Returns
        -------
        statistic, pvalue : ndarray of shape (k,)
            z (or t, with ``use_t``) and its p-value; by profile likelihood the signed root of the likelihood ratio.
        """
        params = np.asarray(self.params)
        if self._method(method) != "profile":
            with np.errstate(divide="ignore", invalid="ignore"):  # coefficients that are held have no error
                z = params / np.asarray(self.bse)
            return z, 2.0 * self._reference().sf(np.abs(z))
        tests = self.lr_tests()
        return np.sign(params) * np.sqrt(tests["statistic"].to_numpy()), tests["pvalue"].to_numpy()

    def lr_tests(self) -> pd.DataFrame:
        """Likelihood-ratio tests that each coefficient is zero."""
        raise NotImplementedError

    def _method(self, method: str | None) -> str:
        """Return the method, that of ``inference`` where none is given, or refuse it."""
        raise NotImplementedError

    def _reference(self) -> Any:
        """Return the distribution that Wald's tests of the coefficients go by: normal, or t."""
        raise NotImplementedError
