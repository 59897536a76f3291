"""Scoring outside Python: the formula of a fit as SQL, as a spreadsheet's formula, as JavaScript and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from gevglm.exceptions import InvalidDataError, listed
from gevglm.export import ScoringFormula, scoring_formula
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

    def to_javascript(self) -> str:
        """Return the source of a JavaScript function ``risk(row)`` of an object with the columns; NaN where it has no risk."""
        from gevglm.export.javascript import to_javascript

        return to_javascript(self.scoring_formula)

    def to_json(self) -> str:
        """Return the scoring formula as JSON: columns, levels, terms with their coefficients, and steps from columns to the risk.

        A number stands for itself; a list begins with what it is: ``["column", name]``, ``["step", name]``, ``["text", text]``,
        ``["lookup", of, [[level, number], ...]]`` (0 for other levels), ``["piecewise", x, breaks, [[origin, c0, c1, ...], ...]]`` (a polynomial in x less its origin
        between breaks, none where it is null), and operations, such as ``["add", a, b]``; conditions are 0 or 1.
        """
        return json.dumps(self.scoring_formula.as_data(), indent=1)
