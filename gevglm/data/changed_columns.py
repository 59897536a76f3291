"""The columns of a design that some variables are in, built anew for other values of them; all other columns stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.design import Design
from gevglm.data.formula import Recipe
from gevglm.engine.linalg import dense


@dataclass(frozen=True)
class ChangedColumns:
    """What changes in a design when variables of its formula, or columns of a design without one, are given other values."""

    variables: tuple[str, ...]
    places: NDArray  # of the columns that change
    recipe: Recipe | None  # of these columns
    # whether no other variable is in them: values that are the same in all rows make all rows of these columns the same
    alone: bool
    in_pieces: bool  # whether they can be built a few rows at a time

    @classmethod
    def of(cls, design: Design, variables: Sequence[str]) -> ChangedColumns:
        """Find the columns of a design that variables are in."""
        names = tuple(variables)
        if design.recipe is None:
            return cls(names, np.array([design.names.index(name) for name in names], dtype=np.intp), None, True, True)
        recipe, places = design.recipe, np.arange(len(design.names))  # patsy builds all columns or none
        if recipe.engine != "patsy":
            recipe, places = recipe.part(names)
        in_pieces = recipe.without_rows(design.n_given) is recipe
        return cls(names, places, recipe, in_pieces and set(recipe.dtypes) <= set(names), in_pieces)

    def build(self, frame: pd.DataFrame, values: Mapping[str, Any]) -> NDArray:
        """Return the columns, of shape (rows, columns), in rows whose variables have other values."""
        if self.recipe is None:
            return np.column_stack([np.asarray(values.get(name, frame[name]), dtype=float) for name in self.variables])
        given = frame[[name for name in self.recipe.dtypes if name in frame]]
        return dense(self.recipe.matrix(given.assign(**values)))
