"""Rows as they are and as they would be with a variable changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.design import Design
from gevglm.data.new_rows import read_matrix, read_table
from gevglm.data.tables import as_frame, suggestion
from gevglm.effects.contrasts import Arm, arms
from gevglm.exceptions import InvalidDataError, InvalidOptionError

if TYPE_CHECKING:
    from gevglm.results.core import ResultsCore


@dataclass(frozen=True)
class Rows:
    """Rows to average over.

    Attributes
    ----------
    design : Design
    frame : DataFrame
        Variables of the formula, or columns of the design.
    X : ndarray of shape (n, k)
    offset : ndarray of shape (n,) or float
    weights : ndarray of shape (n,)
    """

    design: Design
    frame: pd.DataFrame
    X: NDArray
    offset: NDArray | float
    weights: NDArray

    @classmethod
    def of(cls, results: ResultsCore, data: Any = None) -> Rows:
        """Return the rows of the fit, weighted to the population, or rows given as data, each counted once."""
        design = results.model.design
        if data is not None:
            return cls._given(design, data)
        if not results.has_data:
            raise InvalidDataError("the rows of the fit are not in memory; give data= to average over.")
        frame = design.frame if design.recipe is not None else pd.DataFrame(design.X, columns=design.names)
        offset = 0.0 if design.offset is None else design.offset
        return cls(design, frame, design.X, offset, results.row_weights.in_population)

    @classmethod
    def _given(cls, design: Design, data: Any) -> Rows:
        if design.recipe is not None:
            frame = as_frame(data)
            read = read_table(design, frame)
        else:
            read = read_matrix(design, data)
            frame = pd.DataFrame(read.X, columns=design.names)
        incomplete = ~np.isfinite(read.X).all(axis=1)
        if incomplete.any():
            raise InvalidDataError(
                f"{int(incomplete.sum())} of {len(frame)} rows of data are incomplete; drop or fill them."
            )
        return cls(design, frame, read.X, 0.0 if read.offset is None else read.offset, np.ones(len(frame)))

    def column(self, name: str, role: str) -> pd.Series:
        """Return a variable by its name."""
        names = list(self.frame.columns) if role == "by" else self.variables
        if name not in names:
            inside = [term for term in self.design.names if isinstance(name, str) and name == term]
            hint = (
                f" {name!r} is a term of the formula; name the variable in it."
                if inside
                else suggestion(str(name), names)
            )
            raise InvalidOptionError(f"{role}={name!r} is no variable of the model.{hint}")
        return self.frame[name]

    @property
    def variables(self) -> list[str]:
        """What can be changed: variables of the formula, or columns of the design."""
        return list(self.design.names if self.design.recipe is None else self.design.recipe.dtypes)

    def arms(self, variable: str, at: Any) -> list[Arm]:
        """Return the arms of a comparison; see :func:`gevglm.effects.contrasts.arms`."""
        column = self.column(variable, "variable")
        recipe = self.design.recipe
        factor = recipe is not None and re.search(rf"\bC\(\s*`?{re.escape(variable)}\b", recipe.formula) is not None
        return arms(column, at, self.weights, factor=factor)

    def designs(self, variable: str, chosen: Sequence[Arm]) -> list[NDArray]:
        """Return the design matrix in each arm."""
        return [self._changed(variable, arm) for arm in chosen]

    def _changed(self, variable: str, arm: Arm) -> NDArray:
        column = arm.change(self.frame[variable])
        if self.design.recipe is None:
            X = self.X.copy()
            X[:, self.design.names.index(variable)] = column
            return X
        X = self.design.recipe.matrix(self.frame.assign(**{variable: column}))
        broken = int((~np.isfinite(X)).any(axis=1).sum())
        if broken:
            raise InvalidOptionError(
                f"with {variable} = {arm.label}, {broken} of {len(X)} rows of the design are not finite; "
                "the formula is not defined there. Give other values as at=."
            )
        return X

    def groups(self, by: Any) -> tuple[pd.Index | None, NDArray]:
        """Return the labels of groups of rows, and the weights of the rows in each."""
        if by is None:
            return None, self.weights[None, :]
        values = self.column(by, "by") if isinstance(by, str) else pd.Series(np.asarray(by))
        if len(values) != len(self.weights):
            raise InvalidOptionError(f"by has {len(values)} values, but {len(self.weights)} rows are averaged.")
        codes, labels = pd.factorize(values, sort=True)
        if (codes < 0).any():
            raise InvalidDataError(f"by is missing in {int((codes < 0).sum())} rows.")
        name = by if isinstance(by, str) else "by"
        return pd.Index(labels, name=name), self.weights * (codes == np.arange(len(labels))[:, None])
