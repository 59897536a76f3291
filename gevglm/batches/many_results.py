"""ManyFits: the coefficients of many fits of one model, and why some have none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from gevglm.calibration._summary_table import summary_table
from gevglm.data.new_rows import read_matrix, read_table
from gevglm.engine.cholesky import diagonals
from gevglm.exceptions import InvalidOptionError

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from gevglm.model import BinaryGLM

REASONS = 3  # that a summary names


class Failure(NamedTuple):
    """A fit without estimates."""

    fit: Any
    reason: str


class ManyFits:
    """Fits of one model to many outcomes, or under many weightings of its rows.

    Attributes
    ----------
    params, bse : DataFrame
        Coefficients and their standard errors: a row for each fit, a column for each coefficient.
    converged, reason : Series
        Whether a fit has estimates, and why not; the reason is empty where it has.
    nobs, n_events, n_iter : Series
        Observations and events (sums of weights), and Newton steps of each fit.
    failures : list of (fit, reason)
        Fits without estimates.
    cov_type : str
    """

    def __init__(
        self,
        model: BinaryGLM,
        names: pd.Index,
        params: NDArray,
        covariance: NDArray,
        n_iter: NDArray,
        nobs: NDArray,
        events: NDArray,
        failures: Sequence[Failure],
        cov_type: str,
    ):
        self._model, self._covariance = model, covariance
        self.params = pd.DataFrame(params, index=names, columns=model.design.names)
        self.bse = self._table(np.sqrt(diagonals(covariance)))
        self.failures, self.cov_type = list(failures), cov_type
        self.converged = pd.Series(np.isfinite(params).all(axis=1), index=names, name="converged")
        self.reason = pd.Series("", index=names, name="reason", dtype=object)
        self.reason[~self.converged] = [failure.reason for failure in self.failures]
        columns = {"nobs": nobs, "n_events": events, "n_iter": n_iter}
        self.nobs, self.n_events, self.n_iter = (pd.Series(v, index=names, name=name) for name, v in columns.items())

    def _table(self, values: NDArray) -> pd.DataFrame:
        return pd.DataFrame(values, index=self.params.index, columns=self.params.columns)

    def __len__(self) -> int:
        return len(self.params)

    def _position(self, fit: Any) -> int:
        if fit not in self.params.index:
            raise InvalidOptionError(
                f"there is no fit {fit!r}; the fits are the index of params, of length {len(self)}."
            )
        return self.params.index.get_loc(fit)

    @property
    def tvalues(self) -> pd.DataFrame:
        """Coefficients over their standard errors."""
        return self.params / self.bse

    @property
    def pvalues(self) -> pd.DataFrame:
        """Two-sided p-values of Wald tests."""
        return self._table(2.0 * norm.sf(np.abs(self.tvalues.to_numpy())))

    def cov_params(self, fit: Any) -> pd.DataFrame:
        """Return the covariance of the coefficients of a fit."""
        names = self.params.columns
        return pd.DataFrame(self._covariance[self._position(fit)], index=names, columns=names)

    def predict(self, exog: Any = None, fit: Any = None) -> pd.DataFrame | pd.Series:
        """Return probabilities for the rows of the model or for new data: a column for each fit, or those of one.

        Parameters
        ----------
        exog : table or array_like, optional
            New data; see :meth:`gevglm.BinaryGLMResults.predict`.
        fit : object, optional
            A label of the index of ``params``.
        """
        design = self._model.design
        if exog is None:
            X, offset, index = design.X, design.offset, design.index
        else:
            by_formula = design.recipe is not None and not isinstance(exog, np.ndarray)
            rows = (read_table if by_formula else read_matrix)(design.layout, exog)
            X, offset, index = rows.X, rows.offset, rows.index
        params = self.params if fit is None else self.params.iloc[[self._position(fit)]]
        linear = X @ params.to_numpy().T + (0.0 if offset is None else offset[:, None])
        found = pd.DataFrame(self._model.population_link.inverse(linear), index=index, columns=params.index)
        return found if fit is None else found.iloc[:, 0]

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return a row for each fit and coefficient: ``estimate``, ``se``, ``z``, ``pvalue``, ``ci_lower`` and ``ci_upper`` (Wald)."""
        reach = norm.isf(alpha / 2.0) * self.bse
        tables = {
            "estimate": self.params,
            "se": self.bse,
            "z": self.tvalues,
            "pvalue": self.pvalues,
            "ci_lower": self.params - reach,
            "ci_upper": self.params + reach,
        }
        index = pd.MultiIndex.from_product([self.params.index, self.params.columns], names=["fit", "coefficient"])
        return pd.DataFrame({name: table.to_numpy().ravel() for name, table in tables.items()}, index=index)

    def summary(self) -> Summary:
        """Summarise: for each coefficient the mean, standard deviation and range over the fits, and the mean standard error."""
        model, found = self._model, self.params[self.converged]
        frame = pd.DataFrame(
            {
                "mean": found.mean(),
                "sd": found.std(),
                "mean se": self.bse[self.converged].mean(),
                "min": found.min(),
                "median": found.median(),
                "max": found.max(),
            }
        )
        facts = {
            "Fits": f"{len(self):,}",
            "With estimates": f"{int(self.converged.sum()):,}",
            "Rows": f"{model.design.n_rows:,}",
            "Link": repr(model.link),
            "Loss": model.loss.name,
            "Covariance": self.cov_type,
        }
        return summary_table("Many fits of one design", facts, frame, self.notes)

    @property
    def notes(self) -> list[str]:
        """What is to be said of fits without estimates."""
        if not self.failures:
            return []
        reasons = Counter(failure.reason.rstrip(".") for failure in self.failures).most_common()
        words = "; ".join(f"{reason} ({count:,})" for reason, count in reasons[:REASONS])
        more = f"; and {len(reasons) - REASONS} other reasons" if len(reasons) > REASONS else ""
        return [f"{len(self.failures):,} of {len(self):,} fits have no estimates: {words}{more}."]

    def __repr__(self) -> str:
        n, k = self._model.design.n_rows, self.params.shape[1]
        lacking = f"; {len(self.failures):,} without estimates" if self.failures else ""
        return f"<ManyFits: {len(self):,} fits of {n:,} rows, {k} coefficients, {self._model.loss!r}{lacking}>"

    def _repr_html_(self) -> str:
        return self.summary().as_html()
