"""PublishedResults: a model of which only the coefficients are known, and perhaps their standard errors or covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.calibration._summary_table import summary_table
from gevglm.covariance.rows import Nonrobust
from gevglm.estimation.found import Estimate
from gevglm.exceptions import InvalidDataError
from gevglm.results.binary_results import BinaryGLMResults
from gevglm.results.saving import refuse_rows, without_rows

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

    from gevglm.model import BinaryGLM

NO_ROWS = (
    "a published model has no rows of its own, by which it could be judged; give new data, as in calibration(new)."
)


class PublishedResults(BinaryGLMResults):
    """A model that is known by its coefficients, from :func:`gevglm.from_coefficients`.

    It has the methods of :class:`gevglm.BinaryGLMResults`; those that need what is not known, rows or a covariance, say so.

    Attributes
    ----------
    remarks : tuple of str
        Where the coefficients come from, as far as they were not given as such.
    """

    def __init__(
        self,
        model: BinaryGLM,
        params: NDArray,
        covariance: NDArray | None,
        errors: NDArray | None,
        n: float,
        n_events: float,
        remarks: tuple[str, ...],
    ):
        k, unknown = len(params), np.full((len(params), len(params)), np.nan)
        estimate = Estimate(params, np.full(k, np.nan), unknown, n, n_events, 0, 0, 0.0, True, True, "published")
        super().__init__(model, estimate, covariance, covariance=Nonrobust(), cov_words=("nonrobust", None))
        self.model = without_rows(model)
        refuse_rows(self.model)
        self.cov_kwds = {"description": "Standard errors are those published."}
        self._errors, self.remarks = errors, remarks
        self.n_events, self.nobs = n_events, n  # type: ignore[assignment]

    @property
    def bse(self) -> NDArray:
        """The standard errors of the coefficients, missing where they are not known."""
        if self._errors is not None and not self.covariance_is_known:
            return self._errors
        return super().bse

    @property
    def _scalars(self) -> dict[str, float]:  # type: ignore[override]
        raise InvalidDataError(NO_ROWS)

    def summary(self, yname=None, xname=None, title=None, alpha=0.05, method=None, exponentiate=False) -> Summary:
        """Return the coefficients, with what is known of their uncertainty; the words are those of :meth:`gevglm.BinaryGLMResults.summary`."""
        link = self.model.population_link
        facts = {"Outcome": str(yname or self.model.design.outcome), "Link": repr(link).replace("()", "")}
        for name, number in (("Observations", self.nobs), ("Events", self.n_events)):
            facts[name] = "not known" if np.isnan(number) else f"{number:,.10g}"
        table, formats = self._table(alpha, method, exponentiate), {"z": ".3f", "P>|z|": ".3f"}
        if xname is not None:
            table.index = list(xname)
        return summary_table(title or "Published model", facts, table, self._notes(), formats)

    def _table(self, alpha: float, method: str | None, exponentiate: bool) -> pd.DataFrame:
        names = self.model.exog_names
        table = pd.DataFrame({"coef": self._params}, index=names)
        known = bool(np.isfinite(self.bse).any())
        limits = np.asarray(self.conf_int(alpha=alpha, method=method)) if known else None
        if known:
            z, pvalues = self.tests(method)
            table = table.assign(**{"std err": self.bse, "z": z, "P>|z|": pvalues})
        ends = [f"[{alpha / 2:.3g}", f"{1 - alpha / 2:.3g}]"]
        if limits is not None:
            table[ends] = limits
        if exponentiate:
            ratio = str(self.model.population_link.exponentiated or "ratio").replace("_", " ")
            columns = self._params[:, None] if limits is None else np.column_stack([self._params, limits])
            found = self.model.population_link.ratios(columns)
            table = table.drop(columns=[name for name in ("std err", *ends) if name in table])
            table = table.rename(columns={"coef": ratio})
            table[[ratio, *(ends if limits is not None else [])]] = found
            table = table.drop(index=[names[j] for j in [self.model.design.constant] if j is not None])
        return table

    def _notes(self) -> list[str]:
        known = "Only the coefficients are known: assess them on new data by calibration(new), bring them up to date by update(new)."
        limits = () if self.covariance_is_known else ("No covariance is known, so that predictions have no limits.",)
        return [known, *limits, *self.remarks]

    def __repr__(self) -> str:
        what = getattr(self.model, "formula", self.model.design.outcome)
        link = repr(self.model.population_link).replace("()", "")
        return f"<PublishedResults: {what}; {link}; {len(self._params)} coefficients as published>"
