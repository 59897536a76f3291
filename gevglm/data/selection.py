"""What a model takes from a table: the complete rows asked for, their outcome, weights and offsets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data import formula as formulas
from gevglm.data.row_masks import row_masks
from gevglm.data.tables import vector
from gevglm.exceptions import InvalidDataError

ROLES = ("offset", "exposure", "freq_weights", "var_weights")


class Selected(NamedTuple):
    """The rows of a table that a model uses.

    Attributes
    ----------
    frame : DataFrame
    values : Series or ndarray
        The outcome as it is.
    columns : dict of ndarray or None
        Offset, exposure and weights.
    rows : ndarray of int or None
        Positions in the table; None if all rows are used.
    n_selected, n_missing : int
        Rows asked for, and those among them that are incomplete.
    """

    frame: pd.DataFrame
    values: Any
    columns: dict[str, NDArray | None]
    rows: NDArray | None
    n_selected: int
    n_missing: int


@dataclass(frozen=True)
class Selection:
    """A formula and the options that name columns.

    Attributes
    ----------
    formula : str
    scope : dict
        Objects of the user's scope that the formula names.
    offset, exposure, freq_weights, var_weights : str, array_like or None
    subset : str, array_like or None
    missing : {"drop", "raise", "none"}
    """

    formula: str
    scope: dict[str, Any] = field(repr=False)
    offset: Any = None
    exposure: Any = None
    freq_weights: Any = None
    var_weights: Any = None
    subset: Any = None
    missing: str = "drop"

    @property
    def left(self) -> str:
        """The left-hand side of the formula."""
        return formulas.split(self.formula)[0]

    @property
    def right(self) -> str:
        """The right-hand side of the formula."""
        return formulas.split(self.formula)[1]

    def used(self, columns: Any) -> list[str]:
        """Return the names of the formula that are columns, or say what is wrong with them."""
        columns = pd.Index(columns)
        used = [name for name in formulas.names_in(self.formula) if name in columns]
        twice = [name for name in used if (columns == name).sum() > 1]
        if twice:
            raise InvalidDataError(f"the data have more than one column {twice[0]!r}.")
        predictors = set(formulas.names_in(self.right))
        repeated = [name for name in formulas.names_in(self.left) if name in columns and name in predictors]
        if repeated:
            raise InvalidDataError(f"the outcome {repeated[0]!r} also stands on the right-hand side of the formula.")
        return used

    def scope_beside(self, columns: Any) -> dict[str, Any]:
        """Return the scope without what columns hide."""
        return {name: value for name, value in self.scope.items() if name not in columns}

    def of(self, frame: pd.DataFrame) -> Selected:
        """Return what a table holds of it."""
        n = len(frame)
        columns = {role: vector(getattr(self, role), frame, role, n) for role in ROLES}
        values = formulas.evaluate_outcome(self.left, frame, self.scope_beside(frame.columns))
        used = self.used(frame.columns)
        selected, complete = row_masks(frame, self.subset, self.missing, [values, *columns.values()], used)
        keep = selected & complete
        rows = None if keep.all() else np.flatnonzero(keep)
        if rows is not None:
            frame = frame.iloc[rows]
            values = values.iloc[rows] if isinstance(values, pd.Series) else np.asarray(values)[rows]
            columns = {role: None if given is None else given[rows] for role, given in columns.items()}
        if self.missing == "none":
            refuse_missing_levels(frame, used)
        return Selected(frame, values, columns, rows, int(selected.sum()), int((selected & ~complete).sum()))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "scope": formulas.packed(self.scope)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "scope": formulas.unpacked(state["scope"])})


def refuse_missing_levels(frame: pd.DataFrame, used: list[str]) -> None:
    """Refuse missing values of factors, which no design has columns for."""
    for name in used:
        absent = 0 if pd.api.types.is_numeric_dtype(frame[name].dtype) else int(frame[name].isna().sum())
        if absent:
            raise InvalidDataError(f"{name!r} is missing in {absent} rows; missing='drop' drops them.")
