"""What the rows of a fit say of the columns that a prediction needs: ranges, levels, typical values, and how far combinations reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.calibration.bins import weighted_quantile
from gevglm.effects.king_zeng import shape_column
from gevglm.effects.rows import Rows, shifts, variables
from gevglm.engine.linalg import hstack_columns, quadratic_forms

if TYPE_CHECKING:
    from gevglm.results.core import ResultsCore

MOST_COLUMNS = 200  # of a design whose rows are looked at
FEW = 2  # values of a number that are kept one by one
MOST_VALUES = 100  # of other columns
REACHES = np.array([0.99, 1.0])


@dataclass(frozen=True)
class SeenColumn:
    """What is known of a column: the median and the range of numbers, the most frequent of other values."""

    typical: Any
    low: float | None = None
    high: float | None = None
    values: tuple[Any, ...] = ()  # all of them, where they are few
    whole: bool = False


@dataclass(frozen=True)
class Seen:
    """What is known of the rows behind a fit, without any of them.

    `reach` has the standard error of the linear predictor that 99 % of the rows, and that all of them, stay within: a row beyond is an unlikely
    combination of values, as one of a large leverage is.
    """

    columns: Mapping[str, SeenColumn]
    reach: tuple[float, ...]

    @classmethod
    def of(cls, results: ResultsCore, data: Any = None) -> Seen:
        """Return what the rows of the fit, or those given, say; they have to be in memory."""
        rows = Rows.of(results, data)
        names = dict.fromkeys([*variables(rows.design), *shifts(rows.design)])
        columns = {name: _seen(rows.frame[name], rows.weights) for name in names if name in rows.frame.columns}
        X = rows.X
        if len(results.joint_covariance) > results.k_params:
            X = hstack_columns(X, shape_column(results.link, X @ results._params + rows.offset))
        errors = np.sqrt(np.maximum(quadratic_forms(X, results.joint_covariance), 0.0))
        return cls(columns, tuple(np.quantile(errors, REACHES).tolist()))


def _seen(column: pd.Series, weights: NDArray) -> SeenColumn:
    numeric = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
    if not numeric:
        share = pd.Series(weights, index=column.to_numpy()).groupby(level=0, observed=True).sum()
        shown = tuple(map(_plain, share.index)) if len(share) <= MOST_VALUES else ()
        return SeenColumn(_plain(share.idxmax()), values=shown)
    numbers = column.to_numpy(float)
    low, high, whole = float(numbers.min()), float(numbers.max()), bool((numbers == np.rint(numbers)).all())
    values = np.unique(numbers)
    if len(values) <= FEW:
        counts = [weights[numbers == value].sum() for value in values]
        shown = tuple(int(value) if whole else float(value) for value in values)
        return SeenColumn(shown[int(np.argmax(counts))], low, high, shown, whole)
    step = 1.0 if whole else 10.0 ** (np.floor(np.log10(high - low)) - 2.0)
    median = float(weighted_quantile(numbers, weights, np.array([0.5]))[0])
    return SeenColumn(
        _rounded(median, step, np.rint), _outward(low, step, np.floor), _outward(high, step, np.ceil), whole=whole
    )


def _outward(end: float, step: float, direction: Any) -> float:
    """Return an end of a range, rounded away from it unless it would lose its sign, as logarithms need it."""
    rounded = _rounded(end, step, direction)
    return rounded if rounded * end > 0.0 or end == 0.0 else end


def _rounded(value: float, step: float, direction: Any) -> float:
    decimals = max(0, -int(np.floor(np.log10(step))))
    return round(float(direction(round(value / step, 9)) * step), decimals)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
