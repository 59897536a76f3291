"""Values of a row that depend on other rows: found by evaluating an expression on a few rows alone, and refused.

The value of ``x - x.mean()`` in a row is another one among other rows: in new data, in a piece of the data, or after a variable was changed to
see its effect. Rows that tell are those at the ends of variables and values, alone and together in another order: a mean, a smallest value, a rank
or a lag of few rows is not that of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.expressions import Call, expression, function_named
from gevglm.data.model_matrix import ModelMatrix, TransformState, called_functions
from gevglm.data.transforms import WORDS, is_stateful
from gevglm.engine.linalg import dense
from gevglm.exceptions import InvalidDataError

AMONG = 1000  # rows, besides those at the ends of variables, among which a row is looked at
ALONE = 16  # rows that are looked at alone
CLOSE = 1e-8  # a difference that rounding explains, relative to the largest value of a column
WAYS = "center(), standardize() and scale(), bs(), cr() and poly() remember the data of the fit; or make it a column of the data before the fit"

Values = Callable[[NDArray], Any]  # from positions of rows to their values, of shape (n,) or (n, m)


def refuse_factors(
    factors: Iterable[str], frame: pd.DataFrame, scope: Mapping[str, Any], state: TransformState
) -> None:
    """Refuse factors whose value in a row of a table depends on other rows.

    Parameters
    ----------
    factors : iterable of str
        Those that may; see :func:`may_mix_rows`.
    frame : DataFrame
        Complete rows.
    scope : mapping
        Objects of the user's scope that the formula names.
    state : TransformState
        What the formula remembers; what is not in it is learned from `frame`.
    """
    for text in factors:
        matrix = ModelMatrix([(text,)], deepcopy(state))
        refuse(text, partial(_factor, matrix, frame, scope), frame, expression(text).names)


def may_mix_rows(text: str, scope: Mapping[str, Any]) -> bool:
    """Whether a factor does more than what is known to go row by row: arithmetic, and functions of single values or with a memory."""
    factor = expression(text)
    if factor.is_arithmetic and not factor.calls:
        return False
    functions = called_functions([factor], WORDS, scope)
    return not factor.is_arithmetic or any(not _goes_row_by_row(call, functions) for call in factor.calls)


def refuse(text: str, values: Values, frame: pd.DataFrame, names: Iterable[str]) -> None:
    """Refuse an expression whose value in a row of a table depends on other rows; `names` are the columns that it may use."""
    ends = ends_of(frame[name] for name in names if name in frame.columns)
    rows = np.unique([*ends, *np.linspace(0, len(frame) - 1, AMONG, dtype=int)])
    try:
        same = _same_alone(values, rows, np.searchsorted(rows, ends))
    except Exception:  # levels or numbers that are there among all rows, and not among fewer
        same = False
    if not same:
        raise InvalidDataError(
            f"{text!r} depends on other rows than its own (a mean, a rank, a lag, or chance?), so that it would be another variable in new data; "
            f"{WAYS}."
        )


def _same_alone(values: Values, rows: NDArray, ends: NDArray) -> bool:
    """Whether the values of rows are the same among each other, alone, and among few in another order."""
    among = _columns(values(rows))
    chosen = np.unique([0, len(rows) // 2, len(rows) - 1, *ends, *ends_of(among.T)])
    chosen = chosen[np.unique(np.linspace(0, len(chosen) - 1, ALONE, dtype=int))]
    return all(_close(among[few], _columns(values(rows[few]))) for few in (chosen[::-1], *chosen[:, None]))


def _goes_row_by_row(call: Call, context: Mapping[str, Any]) -> bool:
    function = function_named(call.name, context)
    if isinstance(function, np.ufunc):
        return function.signature is None
    return call.name == "Q" or function is WORDS.get(call.name) or is_stateful(function)


def _factor(matrix: ModelMatrix, frame: pd.DataFrame, scope: Mapping[str, Any], rows: NDArray) -> NDArray:
    # an array of the caller's that is as long as the data has a value for each of their rows
    cut = {
        name: np.asarray(value)[rows]
        for name, value in scope.items()
        if isinstance(value, (np.ndarray, pd.Series, list)) and len(value) == len(frame)
    }
    return dense(matrix.build(frame.iloc[rows], {**scope, **cut}))


def ends_of(columns: Iterable[pd.Series | NDArray]) -> list[int]:
    """Return the positions where columns of numbers are smallest and largest."""
    numbers = [np.asarray(column, dtype=float) for column in columns if pd.api.types.is_numeric_dtype(column.dtype)]
    return list(dict.fromkeys(int(find(column)) for column in numbers for find in (np.argmin, np.argmax)))


def _columns(values: Any) -> NDArray:
    array = np.asarray(values, dtype=float)
    return array[:, None] if array.ndim == 1 else array


def _close(whole: NDArray, found: NDArray) -> bool:
    size = np.abs(np.nan_to_num(whole, posinf=0.0, neginf=0.0)).max(axis=0, initial=0.0)
    with np.errstate(invalid="ignore"):
        same = (whole == found) | (np.isnan(whole) & np.isnan(found)) | (np.abs(whole - found) <= CLOSE * size)
    return bool(same.all())
