"""A typical row of the data, and what it is before and after a change of variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.design import Design
from gevglm.data.tables import suggestion
from gevglm.exceptions import InvalidDataError, InvalidOptionError


def changed_rows(
    design: Design, change: Any, at: Any, offset: Any, weights: NDArray | None = None
) -> tuple[pd.DataFrame | NDArray, NDArray | None, dict[str, Any]]:
    """Return a row before and after a change, its offset, and the values at which the other variables are held.

    Parameters
    ----------
    design : Design
    change : dict
        Variable (of the formula, or column of the design) to its value before and after.
    at : dict or None
        Values of other variables.
    offset : float or None
        For designs whose offset was given as an array.
    weights : ndarray of shape (n,) or None
        Weights of the rows in means and frequencies, besides their frequency weights.

    Returns
    -------
    rows : DataFrame or ndarray of two rows
    offset : ndarray of shape (2,) or None
    held : dict
    """
    names = variables(design)
    at = {} if at is None else at
    for role, given in (("change", change), ("at", at)):
        if not isinstance(given, Mapping) or (role == "change" and not given):
            raise InvalidOptionError(f"{role}={given!r} must be a dict, such as {{'age': (40, 50)}}.")
        for name in given:
            if name not in names:
                raise InvalidOptionError(
                    f"{role} has {name!r}, which is no variable of the model.{suggestion(str(name), names)}"
                )
    for name, pair in change.items():
        if isinstance(pair, str) or np.shape(pair) != (2,):
            raise InvalidOptionError(f"change[{name!r}]={pair!r} must be two values, before and after.")
    twice = [name for name in change if name in at]
    if twice:
        raise InvalidOptionError(f"{twice[0]!r} is both in change and in at; leave it out of one of them.")
    held = {name: at[name] if name in at else _typical(design, name, weights) for name in names if name not in change}
    shift = None if offset is None else np.full(2, float(offset))
    if design.recipe is None:
        row = {name: [value, value] for name, value in held.items()} | {name: list(v) for name, v in change.items()}
        return np.column_stack([row[name] for name in design.names]).astype(float), shift, held
    return pd.DataFrame({name: change.get(name, (held.get(name),) * 2) for name in names}), shift, held


def variables(design: Design) -> list[str]:
    """Return the names of what can be changed: variables of the formula, or columns of the design."""
    if design.recipe is None:
        return list(design.names)
    others = [name for name in (design.offset_name, design.exposure_name) if name is not None]
    return list(dict.fromkeys([*design.recipe.dtypes, *others]))


def _typical(design: Design, name: str, weights: NDArray | None) -> Any:
    """Return the mean of a variable, or its most frequent level."""
    if not design.has_rows:
        raise InvalidDataError(
            f"the data are gone, or read in pieces, so that there is no mean of {name!r}; give its value in at=."
        )
    size = np.ones(len(design.y)) if design.freq is None else design.freq
    size = size if weights is None else size * weights
    if design.recipe is None:
        return float(size @ design.X[:, design.names.index(name)] / size.sum())
    column = design.frame[name]
    factor = re.search(rf"\bC\(\s*`?{re.escape(name)}\b", design.recipe.formula)
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype) and not factor:
        return float(size @ column.to_numpy(float) / size.sum())
    return pd.Series(size, index=column.to_numpy()).groupby(level=0, observed=True).sum().idxmax()
