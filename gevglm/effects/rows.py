"""Rows unchanged, with a variable changed in all of them, and one reference row: what effects are computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from gevglm.calibration.bins import weighted_quantile
from gevglm.data.columns import as_numbers, with_columns
from gevglm.data.design import Design
from gevglm.data.formula import Variable
from gevglm.data.new_rows import read_matrix, read_table, read_weights
from gevglm.data.tables import aligned, as_frame, suggestion
from gevglm.engine.linalg import Matrix, finite_rows
from gevglm.exceptions import GevglmWarning, InvalidDataError, InvalidOptionError, warn

if TYPE_CHECKING:
    from gevglm.results.core import ResultsCore

MOVES = ("unit", "sd", "iqr", "range")
MOST_LEVELS = 20  # compared without being asked for one by one
SOME_ROWS = 1000  # that tell most numbers from factors
QUARTILES = np.array([0.25, 0.75])
MOSTLY = 0.5  # of the rows beyond the data, which is warned of


# -- variables -------------------------------------------------------------------------------


def variables(design: Design) -> dict[str, Variable]:
    """Return what can be changed: variables of the formula, or columns of the design."""
    return {name: Variable(name) for name in design.names} if design.recipe is None else design.recipe.variables


def shifts(design: Design) -> list[str]:
    """Return the columns of the offset, also in the formula, and of the exposure."""
    inside = [] if design.recipe is None else design.recipe.offset_columns
    return [name for name in (design.offset_name, design.exposure_name, *inside) if name is not None]


def levels_of(variable: Variable, column: pd.Series, few: int) -> list[Any] | None:
    """Return the levels of a factor, in their order, or the values of a number that has at most so many; None for other numbers."""
    if known := variable.levels or variable.values:  # in the data of the fit, which the rows may be a part of
        return list(known)
    if isinstance(column.dtype, pd.CategoricalDtype):
        present = set(column.unique())
        return [level for level in column.cat.categories if level in present]
    if not variable.is_factor and column.iloc[:SOME_ROWS].nunique() > few:
        return None
    values = sorted(column.dropna().unique().tolist())
    return values if variable.is_factor or len(values) <= few else None


def mean_and_deviation(values: NDArray, weights: NDArray, ddof: float = 0.0) -> tuple[float, float]:
    """Return the weighted mean and standard deviation."""
    total = weights.sum()
    mean = weights @ values / total
    squares = values - mean
    squares *= squares
    return float(mean), float(np.sqrt(weights @ squares / (total - ddof)))


def label_of(value: Any, digits: int = 6) -> str:
    """Return how a value is shown."""
    return f"{value:.{digits}g}" if isinstance(value, (float, np.floating)) else str(value)


# -- scenarios -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scenario:
    """One of the worlds that are compared: a variable set to a value, or moved, in all rows."""

    label: str  # the value, or how the variable is moved
    value: Any = None
    shift: float | None = None  # what is added to the variable, if it is moved
    remark: str = ""  # on the move, for those who read the numbers

    @classmethod
    def at(cls, value: Any) -> Scenario:
        """Return the world in which the variable has a value."""
        return cls(label_of(value), value)

    def column(self, column: pd.Series) -> Any:
        """Return the column of the variable in this world, from that of the data."""
        if self.shift is not None:
            return column + self.shift
        if isinstance(column.dtype, pd.CategoricalDtype):
            return pd.Categorical([self.value] * len(column), dtype=column.dtype)
        return pd.Series(np.repeat(self.value, len(column)), index=column.index, name=column.name)


def scenarios(variable: Variable, column: pd.Series, at: Any, weights: NDArray) -> list[Scenario]:
    """Return the scenarios to compare; the first is the reference, that of the formula where it names one.

    `column` and `weights` are those of the data of the fit, where they are in memory. `at` are values of the variable; "unit" or "sd" to move every row by one unit or one standard deviation, centred on where it is; "iqr" or
    "range" for the quartiles or the extremes. By default every level of a factor, a boolean or a variable with two values, and a standard deviation
    of others.
    """
    levels = levels_of(variable, column, few=2)
    if levels is not None and variable.reference in levels:
        levels = [variable.reference, *(level for level in levels if level != variable.reference)]
    if at is None:
        at = "sd" if levels is None or (len(levels) < 2 and not variable.is_factor) else levels
        if len(at) > MOST_LEVELS:
            raise InvalidOptionError(
                f"{variable.name!r} has {len(at)} levels; give those to compare as at=, the first being the reference."
            )
        if not isinstance(at, str):
            return [Scenario.at(value) for value in at]
    if isinstance(at, str):
        return _moved(variable, column, at, weights)
    if np.ndim(at) != 1 or len(at) < 2:
        raise InvalidOptionError(
            f"at={at!r} must be two values or more, the first being the reference, or one of {', '.join(MOVES)}."
        )
    if variable.is_factor:
        refuse_unknown_levels(variable, column, at, "at")
    else:
        _warn_of_extrapolation(column, at)
    return [Scenario.at(value) for value in at]


def refuse_unknown_levels(variable: Variable, column: pd.Series, values: Sequence[Any], role: str) -> None:
    """Refuse values of a factor that are not among its levels."""
    known = levels_of(variable, column, few=0) or []
    absent = [value for value in values if value not in known]
    if absent:
        raise InvalidOptionError(f"{role} has {absent[0]!r}, but the levels of {variable.name!r} are {known}.")


def _warn_of_extrapolation(column: pd.Series, at: Sequence[Any]) -> None:
    low, high = column.min(), column.max()
    beyond = [value for value in at if not low <= value <= high]
    if beyond:
        warn(
            f"at has {beyond[0]!r}, but {column.name!r} is between {low:g} and {high:g} in the data: the risk there is extrapolated.",
            GevglmWarning,
        )


def _moved(variable: Variable, column: pd.Series, how: str, weights: NDArray) -> list[Scenario]:
    if how not in MOVES:
        raise InvalidOptionError(
            f"at={how!r} is not known; give two values or more, the first being the reference, or one of {', '.join(MOVES)}."
        )
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        levels = levels_of(variable, column, few=2)
        raise InvalidOptionError(f"at={how!r} needs numbers, but {variable.name!r} has the levels {levels}; give two.")
    values = column.to_numpy(float)
    if how == "range":
        return [Scenario.at(value) for value in (values.min(), values.max())]
    if how == "iqr":
        return [Scenario.at(value) for value in weighted_quantile(values, weights, QUARTILES)]
    step = 1.0 if how == "unit" else mean_and_deviation(values, weights, ddof=1.0)[1]
    unit = "1/2" if how == "unit" else "sd/2"
    moved = f"{variable.name} moved by {'a unit' if how == 'unit' else f'its standard deviation ({label_of(step, 4)})'}"
    remark = ", ".join(filter(None, (moved, _beyond(variable.name, values, weights, 0.5 * step))))
    return [Scenario(f"x - {unit}", shift=-0.5 * step, remark=remark), Scenario(f"x + {unit}", shift=0.5 * step)]


def _beyond(name: str, values: NDArray, weights: NDArray, shift: float) -> str:
    """Return how many rows a move takes beyond the data, in words; a warning too, if it is most of them."""
    low, high = values.min(), values.max()
    below, above = (weights @ beyond / weights.sum() for beyond in (values - shift < low, values + shift > high))
    share = max(below, above)
    if share == 0.0:
        return ""
    text = f"which takes {100 * share:.2g} % of the rows beyond the data ({label_of(low, 4)} to {label_of(high, 4)})"
    if share > MOSTLY:
        warn(
            f"{name!r} is moved by {label_of(2.0 * shift, 4)}, {text}: the risk there is extrapolated. Use at='sd' or 'iqr', or give two values.",
            GevglmWarning,
        )
    return text


# -- rows to average over --------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Rows to average over."""

    design: Design
    frame: pd.DataFrame  # variables of the formula, or columns of the design
    X: Matrix  # of shape (n, k)
    offset: NDArray | float  # of shape (n,)
    weights: NDArray  # how much each counts in averages; of shape (n,)
    observations: float  # behind all of them
    index: pd.Index | None = None  # labels of the rows, if they have any
    fitted: Rows | None = None  # the rows of the fit, where others are averaged over and these are in memory

    @classmethod
    def of(cls, results: ResultsCore, data: Any = None) -> Rows:
        """Return the rows of the fit, or rows given as data, with what they stand for in the population."""
        design = results.model.design
        if data is not None:
            return cls._given(design, data, cls.of(results) if design.has_rows else None)
        design.need_rows("an average over rows", "give data= to average over")
        offset = 0.0 if design.offset is None else design.offset
        size = results.row_weights.in_population
        return cls(design, frame_of(design), design.X, offset, size, design.n_total, design.index)

    @classmethod
    def _given(cls, design: Design, data: Any, fitted: Rows | None) -> Rows:
        if design.recipe is not None:
            frame = with_columns(as_frame(data), design.recipe.used, as_numbers)
            weights = read_weights(design.layout, frame)
            used = weights.in_population > 0
            frame, size, observations = frame[used], weights.in_population[used], weights.observations[used].sum()
            read = read_table(design.layout, frame)
        else:
            read = read_matrix(design.layout, data)
            frame = columns_of(read.X, design.names)
            size, observations = np.ones(len(frame)), len(frame)
        X = read.X
        incomplete = ~finite_rows(X)
        if incomplete.any():
            raise InvalidDataError(
                f"{int(incomplete.sum())} of {len(frame)} rows of data are incomplete; drop or fill them."
            )
        index = frame.index if isinstance(data, pd.DataFrame) else None
        shift = 0.0 if read.offset is None else read.offset
        return cls(design, frame, X, shift, size, float(observations), index, fitted)

    def column(self, name: str, role: str) -> pd.Series:
        """Return a variable by its name."""
        names = list(self.frame.columns) if role == "by" else list(variables(self.design))
        if name not in names:
            inside = isinstance(name, str) and name in self.design.names
            hint = (
                f" {name!r} is a term of the formula; name the variable in it."
                if inside
                else suggestion(str(name), names)
            )
            raise InvalidOptionError(f"{role}={name!r} is not a variable of the model.{hint}")
        return self.frame[name]

    def scenarios(self, variable: str, at: Any) -> list[Scenario]:
        """Return the scenarios of a comparison; see :func:`scenarios`."""
        seen = self.fitted or self
        column = seen.column(variable, "variable")
        return scenarios(variables(self.design)[variable], column, at, seen.weights)

    def groups(self, by: Any) -> RowGroups:
        """Return the groups of rows that are averaged over: the values of a variable or of several, or those given for each row."""
        if by is None:
            return RowGroups()
        if isinstance(by, (list, tuple)) and by and all(isinstance(name, str) for name in by):
            each = [self.groups(name) for name in by]
            codes = np.column_stack([np.asarray(group.codes) for group in each])
            seen, of_rows = np.unique(codes, axis=0, return_inverse=True)
            levels = [group.labels.take(column) for group, column in zip(each, seen.T, strict=True)]  # type: ignore[union-attr]
            return RowGroups(pd.MultiIndex.from_arrays(levels, names=list(by)), of_rows.ravel())
        values = self.column(by, "by") if isinstance(by, str) else by
        if len(values) != len(self.weights):
            raise InvalidOptionError(f"by has {len(values)} values, but {len(self.weights)} rows are averaged.")
        values = values if self.index is None else aligned(values, self.index, "by")
        values = values if isinstance(values, pd.Series) else pd.Series(np.asarray(values))
        codes, labels = pd.factorize(values, sort=True)
        if (codes < 0).any():
            raise InvalidDataError(f"by is missing in {int((codes < 0).sum())} rows.")
        return RowGroups(pd.Index(labels, name=by if isinstance(by, str) else "by"), codes)

    def joint_scenarios(self, names: Sequence[str], at: Any) -> list[tuple[Scenario, Mapping[str, Scenario]]]:
        """Return what is compared: every combination of the scenarios of the variables, each as one scenario and by variable."""
        given = at if isinstance(at, Mapping) else dict.fromkeys(names, at)
        if absent := [name for name in given if name not in names]:
            raise InvalidOptionError(f"at has {absent[0]!r}, which is not among the variables {', '.join(names)}.")
        found: list[tuple[Scenario, Mapping[str, Scenario]]] = []
        for chosen in product(*(self.scenarios(name, given.get(name)) for name in names)):
            label = ", ".join(f"{name} = {each.label}" for name, each in zip(names, chosen, strict=True))
            remark = "; ".join(each.remark for each in chosen if each.remark)
            found.append(
                (
                    Scenario(label, tuple(each.value for each in chosen), remark=remark),
                    dict(zip(names, chosen, strict=True)),
                )
            )
        return found


@dataclass(frozen=True)
class RowGroups:
    """Groups of rows that are averaged over; a single one by default."""

    labels: pd.Index | None = None
    codes: NDArray | None = None  # the group of each row

    def __len__(self) -> int:
        return 1 if self.labels is None else len(self.labels)

    def totals(self, weights: NDArray) -> NDArray:
        """Return the sum of the weights in each group."""
        return np.array([weights.sum()]) if self.codes is None else np.bincount(self.codes, weights, len(self))

    def spread(self, values: NDArray, rows: slice) -> NDArray:
        """Return numbers of some rows, one row of the answer for each group, with zeros for rows of other groups."""
        if self.codes is None:
            return values[None, :]
        spread = np.zeros((len(self), len(values)))
        spread[self.codes[rows], np.arange(len(values))] = values
        return spread

    def sums_of(self, columns: NDArray, weights: NDArray, rows: slice) -> Callable[[NDArray], NDArray]:
        """Return what sums weights times columns times numbers of some rows, one row of the answer for each group."""
        if self.codes is not None:
            return lambda values: self.spread(weights * values, rows) @ columns
        weighted = np.multiply(columns, weights[:, None], order="F")  # the columns one after the other, for their sums
        return lambda values: (values @ weighted)[None, :]


def frame_of(design: Design) -> pd.DataFrame:
    """Return the rows of a design in memory as a table: that of the formula, or its columns."""
    return columns_of(design.X, design.names) if design.frame is None else design.frame


def columns_of(X: Matrix, names: list[str]) -> pd.DataFrame:
    """Return a design matrix as a table, of sparse columns if it is sparse."""
    return pd.DataFrame.sparse.from_spmatrix(X, columns=names) if issparse(X) else pd.DataFrame(X, columns=names)


# -- one reference row -----------------------------------------------------------------------


def changed_rows(
    design: Design, change: Any, at: Any, offset: Any, weights: NDArray | None = None
) -> tuple[pd.DataFrame | NDArray, NDArray | None, dict[str, Any]]:
    """Return a row before and after a change, its offset, and the values at which the other variables are held.

    `change` is from a variable (of the formula, or a column of the design) to its value before and after, `at` from other variables to
    their values. Means and frequencies of the rest are by `weights`, needed for rows in memory only.
    """
    names = list(dict.fromkeys([*variables(design), *shifts(design)]))
    at = {} if at is None else at
    for role, given in (("change", change), ("at", at)):
        if not isinstance(given, Mapping) or (role == "change" and not given):
            raise InvalidOptionError(f"{role}={given!r} must be a dict, such as {{'age': (40, 50)}}.")
        for name in given:
            if name not in names:
                raise InvalidOptionError(
                    f"{role} has {name!r}, which is not a variable of the model.{suggestion(str(name), names)}"
                )
    for name, pair in change.items():
        if isinstance(pair, str) or np.shape(pair) != (2,):
            raise InvalidOptionError(f"change[{name!r}]={pair!r} must be two values, before and after.")
    twice = [name for name in change if name in at]
    if twice:
        raise InvalidOptionError(f"{twice[0]!r} is both in change and in at; leave it out of one of them.")
    held = {
        name: at[name] if name in at else reference_value(design, name, weights) for name in names if name not in change
    }
    shift = None if offset is None else np.full(2, float(offset))
    table = pd.DataFrame({name: change.get(name, (held.get(name),) * 2) for name in names})
    return (table[design.names].to_numpy(float) if design.recipe is None else table), shift, held


def reference_row(design: Design, weights: NDArray | None, moved: set[str | None]) -> dict[str, Any]:
    """Return the mean, or the most frequent level, of every variable that is not moved."""
    names = dict.fromkeys([*variables(design), *shifts(design)])
    return {name: reference_value(design, name, weights) for name in names if name not in moved}


def reference_value(design: Design, name: str, weights: NDArray | None) -> Any:
    """Return the mean of a variable, or its most frequent level."""
    design.need_rows(f"the mean of {name!r}", "give its value in at=")
    assert weights is not None  # the rows are in memory
    column = frame_of(design)[name]
    if variables(design).get(name, Variable(name)).is_factor:
        return pd.Series(weights, index=column.to_numpy()).groupby(level=0, observed=True).sum().idxmax()
    return float(weights @ column.to_numpy(float) / weights.sum())
