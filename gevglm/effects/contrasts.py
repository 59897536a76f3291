"""What a variable is changed from and to: the arms of a comparison of risks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.calibration.bins import weighted_quantile
from gevglm.exceptions import GevglmWarning, InvalidOptionError, warn

MOVES = ("unit", "sd", "iqr", "range")
MOST_LEVELS = 20
QUARTILES = np.array([0.25, 0.75])


@dataclass(frozen=True)
class Arm:
    """One of the worlds that are compared.

    Attributes
    ----------
    label : str
        Value of the variable in it, or how it is moved.
    change : callable
        From the column of the variable as it is to the column in this world.
    """

    label: str
    change: Callable[[pd.Series], Any]


def arms(column: pd.Series, at: Any, weights: NDArray, *, factor: bool = False) -> list[Arm]:
    """Return the arms to compare; the first is the reference.

    Parameters
    ----------
    column : Series
        The variable, one value a row.
    at : str, sequence or None
        Values of the variable; "unit" or "sd" to move every row by one unit or one standard deviation, centred on where it is; "iqr" or
        "range" for the quartiles or the extremes. By default every level of a factor, a boolean or a variable with two values, and a unit of others.
    weights : ndarray
        Weights of the rows, for standard deviations and quartiles.
    factor : bool
        Whether the formula makes a factor of the variable whatever its type.
    """
    levels = _levels(column, factor)
    if at is None:
        at = "unit" if levels is None else levels
    if isinstance(at, str):
        return _moved(column, at, weights, levels)
    if np.ndim(at) != 1 or len(at) < 2:
        raise InvalidOptionError(
            f"at={at!r} must be two values or more, the first being the reference, or one of {', '.join(MOVES)}."
        )
    if levels is None or (pd.api.types.is_numeric_dtype(column.dtype) and not factor):
        _warn_of_extrapolation(column, at)
    else:
        known = list(column.cat.categories) if isinstance(column.dtype, pd.CategoricalDtype) else levels
        absent = [value for value in at if value not in known]
        if absent:
            raise InvalidOptionError(f"at has {absent[0]!r}, but the levels of {column.name!r} are {known}.")
    return [Arm(_shown(value), _constant(value)) for value in at]


def _warn_of_extrapolation(column: pd.Series, at: Sequence[Any]) -> None:
    low, high = column.min(), column.max()
    beyond = [value for value in at if not low <= value <= high]
    if beyond:
        warn(
            f"at has {beyond[0]!r}, but {column.name!r} is between {low:g} and {high:g} in the data: the risk there is extrapolated.",
            GevglmWarning,
        )


def _levels(column: pd.Series, factor: bool) -> list[Any] | None:
    """Return the levels of what has levels, in their order; None for numbers with more than two values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        present = set(column.unique())
        return [level for level in column.cat.categories if level in present]
    values = sorted(column.dropna().unique().tolist())
    numeric = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
    if numeric and not factor and len(values) != 2:
        return None
    if len(values) > MOST_LEVELS:
        raise InvalidOptionError(
            f"{column.name!r} has {len(values)} levels; give those to compare as at=, the first being the reference."
        )
    return values


def _moved(column: pd.Series, how: str, weights: NDArray, levels: Sequence[Any] | None) -> list[Arm]:
    if how not in MOVES:
        raise InvalidOptionError(
            f"at={how!r} is not known; give two values or more, the first being the reference, or one of {', '.join(MOVES)}."
        )
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        raise InvalidOptionError(f"at={how!r} needs numbers, but {column.name!r} has the levels {levels}; give two.")
    values = column.to_numpy(float)
    if how == "range":
        return [Arm(_shown(value), _constant(value)) for value in (values.min(), values.max())]
    if how == "iqr":
        return [Arm(_shown(value), _constant(value)) for value in weighted_quantile(values, weights, QUARTILES)]
    half = 0.5 if how == "unit" else 0.5 * _deviation(values, weights)
    unit = "1/2" if how == "unit" else "sd/2"
    return [Arm(f"x - {unit}", lambda x: x - half), Arm(f"x + {unit}", lambda x: x + half)]


def _constant(value: Any) -> Callable[[pd.Series], Any]:
    def change(column: pd.Series) -> Any:
        if isinstance(column.dtype, pd.CategoricalDtype):
            return pd.Categorical([value] * len(column), dtype=column.dtype)
        return pd.Series(np.repeat(value, len(column)), index=column.index, name=column.name)

    return change


def _deviation(values: NDArray, weights: NDArray) -> float:
    total = weights.sum()
    mean = weights @ values / total
    return float(np.sqrt(weights @ (values - mean) ** 2 / (total - 1.0)))


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
