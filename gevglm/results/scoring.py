"""Scoring outside Python: the formula of a fit as SQL, as a spreadsheet's formula, as JavaScript and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from gevglm.covariance import Given
from gevglm.exceptions import InvalidDataError, InvalidOptionError, listed
from gevglm.export import ScoringFormula, scoring_formula
from gevglm.export.scoring import Limits
from gevglm.results.core import ResultsCore


class Scoring(ResultsCore):
    """The scoring formula of a fit in other languages; a part of :class:`gevglm.BinaryGLMResults`.

    All have the risk of ``predict(which="mean")``, that in the population.
    """

    @property
    def scoring_formula(self) -> ScoringFormula:
        """The formula from the columns of a row to its risk, which belongs to no language."""
        if self.separated:
            raise InvalidDataError(
                f"the estimates of {listed(self.infinite_names)} are infinite because the outcomes are separated, and cannot be exported; use bias='firth'."
            )
        return scoring_formula(self.model.design.layout, self._params, self.model.population_link)

    def to_sql(self, table: str, *, dialect: str = "duckdb", name: str = "risk") -> str:
        """Return a query that adds a column with the risk to the rows of a table.

        Parameters
        ----------
        table : str
            Name of a table with the columns of the formula.
        dialect : {"duckdb", "sqlite"}
            SQLite needs the mathematical functions that it is compiled with by default since 3.35. Its rows also have the steps on the way, which begin with an underscore.
        name : str
            Of the column added, which the table must not have.

        Returns
        -------
        str
            A ``SELECT``. The risk is NULL where a value is missing or a level is one that the model has not seen.
        """
        from gevglm.export.sql import to_sql

        return to_sql(self.scoring_formula, table, dialect, name)

    def to_excel_formula(self, cells: Mapping[str, str] | None = None) -> str:
        """Return the formula of a cell of a spreadsheet that has the risk.

        Parameters
        ----------
        cells : mapping of str to str, optional
            The cell of each column, as in ``{"age": "B2"}``; by default they are A2, B2, ... in the order of the formula.

        Returns
        -------
        str
            For Excel and LibreOffice, with English names and commas; ``#N/A`` where a cell is empty or has a level that the model has not seen. Excel reads 15 digits of a number.
        """
        from gevglm.export.spreadsheet import to_cell

        return to_cell(self.scoring_formula, cells)

    def to_javascript(self, *, alpha: float | None = None) -> str:
        """Return the source of a JavaScript function of an object with the columns, ``risk(row)``; NaN where it has no risk.

        Parameters
        ----------
        alpha : float, optional
            One minus the coverage of limits: with it the function is ``prediction(row)``, which returns an object with ``risk``, ``lower``, ``upper``, those of
            :meth:`get_prediction`, and ``se``, the standard error of the linear predictor.
        """
        from gevglm.export.javascript import to_javascript, to_prediction

        if alpha is None:
            return to_javascript(self.scoring_formula)
        return to_prediction(self.scoring_formula, self._limits(alpha))

    def _limits(self, alpha: float) -> Limits:
        """Return what limits need besides the formula, or refuse those that a formula does not have."""
        if self.posterior is not None:
            raise InvalidOptionError(
                "limits after xi='map' are those of the draws of a posterior, which a formula does not have; fit with xi='ml', or with a given xi."
            )
        if not isinstance(self.degrees, (Given, NoneType)):
            raise InvalidOptionError(
                "the t distribution of limits differs from row to row (Satterthwaite's degrees of freedom), which a formula does not have; fit with "
                "use_t=True, whose degrees of freedom are the clusters minus one."
            )
        covariance = np.asarray(self.joint_covariance)
        if not np.isfinite(covariance).all():
            raise InvalidDataError(
                "the covariance of the estimates is not known everywhere, so that risks have no limits; see summary()."
            )
        quantile = float(np.max(self._quantile(alpha)))
        return Limits(covariance, quantile, len(covariance) > self.k_params)

    def calculator(
        self,
        path: Any,
        *,
        title: str | None = None,
        labels: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
        levels: Mapping[str, Mapping[Any, str]] | None = None,
        reference: Mapping[str, Any] | None = None,
        note: str = "",
        alpha: float = 0.05,
        data: Any = None,
        text: Mapping[str, str] | None = None,
        language: str = "en",
    ) -> Path:
        """Write a page on which the risk is computed: one HTML file that needs no network and holds no rows of the data.

        It asks for the columns of the formula, and has the risk in the population with its interval (that of :meth:`get_prediction`), what moved the risk away
        from that of a reference, and warnings of values and combinations that are outside the data.

        Parameters
        ----------
        path : path
            Where to write it.
        title : str, optional
            By default "Risk of" the outcome.
        labels : mapping of str to str, optional
            What columns, and the outcome, are called on the page.
        units : mapping of str to str, optional
            Of columns, as in ``{"age": "years"}``.
        levels : mapping of str to mapping, optional
            What values are called, as in ``{"smoker": {0: "no", 1: "yes"}}``.
        reference : mapping, optional
            Values that those typed are compared with; by default medians and the most frequent levels.
        note : str
            What users should know: whom the model is for, who made it, when it was validated.
        alpha : float
            One minus the coverage of the interval.
        data : table, optional
            Rows that ranges and typical values are taken from, where those of the fit are not known.
        text : mapping of str to str, optional
            The page in another language: from the English phrases of ``gevglm.report.calculator_text.TEXT`` to those of the language.
        language : str
            Its code, such as "de", by which numbers are written too.

        Returns
        -------
        Path
            Of the file written.
        """
        from gevglm.report.calculator import Wording, write_calculator

        wording = Wording(title, labels or {}, units or {}, levels or {}, reference or {}, note, text or {}, language)
        return write_calculator(self, path, wording, alpha, data)

    def to_json(self) -> str:
        """Return the scoring formula as JSON: columns, levels, terms with their coefficients, and steps from columns to the risk.

        A number stands for itself; a list begins with what it is: ``["column", name]``, ``["step", name]``, ``["text", text]``,
        ``["lookup", of, [[level, number], ...]]`` (0 for other levels), ``["piecewise", x, breaks, [[origin, c0, c1, ...], ...]]`` (a polynomial in x less its origin
        between breaks, none where it is null), and operations, such as ``["add", a, b]``; conditions are 0 or 1.
        """
        return json.dumps(self.scoring_formula.as_data(), indent=1)
