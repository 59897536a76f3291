r"""Points of a nomogram: a risk read from a sheet of paper, as by ``nomogram`` of R's rms.

Variables that share columns of the design form a part of the linear predictor, which is a constant and the sum of its parts
:math:`f_j`. With the smallest and the largest value of each along its axis, the points of a value and the scale are

.. math:: 100\,\frac{f_j(x) - \min f_j}{\max_k (\max f_k - \min f_k)}, \qquad s = \frac{100}{\max_k (\max f_k - \min f_k)},

so that the part of the largest range goes from 0 to 100. A total of t points is the linear predictor :math:`v_0 + t / s`, with :math:`v_0` where
all parts are smallest, and the risk :math:`F(v_0 + t / s)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.data.changed_columns import ChangedColumns
from gevglm.data.design import Design
from gevglm.display.brief import Brief
from gevglm.effects.rows import Rows, label_of, levels_of, shifts, variables
from gevglm.engine.linalg import dense
from gevglm.exceptions import InvalidDataError, InvalidOptionError

if TYPE_CHECKING:
    from gevglm.results.core import ResultsCore

LARGEST = 100.0  # points
INTERVALS = 10  # of an axis, about
FEW = 10  # distinct numbers that are shown one by one
MOST_AXES = 20  # of one variable, for the levels of those it interacts with
LOW = np.outer([1e-6, 1e-5, 1e-4, 1e-3, 1e-2], [1.0, 2.0, 5.0]).ravel()
RISKS = np.concatenate([LOW, np.arange(1, 10) / 10.0, 1.0 - LOW[::-1]])  # that have a mark, where they are reached


@dataclass(frozen=True, repr=False)
class Nomogram(Brief):
    """Points of the values of variables, and the risks of their totals.

    Attributes
    ----------
    points : DataFrame
        Columns ``variable``, ``given`` (the levels of variables that it interacts with, else empty), ``value`` and ``points``.
    totals : DataFrame
        Columns ``points``, ``linear`` (the linear predictor) and ``risk``, at round totals.
    linear, risks : DataFrame
        The same columns, at round linear predictors and at round risks, over the range of the data.
    at_zero : float
        The linear predictor of zero points.
    scale : float
        Points per unit of the linear predictor.
    """

    points: pd.DataFrame
    totals: pd.DataFrame
    linear: pd.DataFrame
    risks: pd.DataFrame
    at_zero: float
    scale: float

    def axes(self) -> list[tuple[str, pd.DataFrame]]:
        """Return the rows of each axis of a variable, with its label."""
        groups = self.points.groupby(["variable", "given"], sort=False)
        return [(f"{name} ({given})" if given else str(name), rows) for (name, given), rows in groups]


def nomogram_of(results: ResultsCore) -> Nomogram:
    """Return the nomogram of a fit.

    Numbers have round values over their range in the data, or all of their values if these are at most ten; factors have their levels. A variable
    that interacts with factors, or with numbers of few values, has one axis for each combination of their levels.
    """
    design = results.model.design
    design.need_rows("a nomogram", "fit again")
    _refuse(results)
    rows = Rows.of(results)
    values = {name: _axis_values(rows, name) for name in _moved(design)}
    parts = [_part(rows, names, values, results) for names in _together(design, list(values))]
    if not parts or max(np.ptp(part["effect"]) for part in parts) == 0.0:
        raise InvalidOptionError("a nomogram needs a variable with an effect; this model has none.")
    low = [part["effect"].min() for part in parts]
    scale = LARGEST / max(np.ptp(part["effect"]) for part in parts)
    at_zero = float(_linear(rows, rows.frame.iloc[[0]], results)[0] + sum(low))
    tables = [part.assign(points=(part["effect"] - least) * scale) for part, least in zip(parts, low, strict=True)]
    points = pd.concat(tables, ignore_index=True)[["variable", "given", "value", "points"]]

    linear = pretty(*_range(np.asarray(rows.X @ np.asarray(results.params))))
    link = results.model.population_link
    largest = LARGEST if len(parts) == 1 else max(LARGEST, scale * (linear[-1] - at_zero))
    of_risks = np.asarray(link(RISKS), dtype=float)
    reached = (of_risks >= max(linear[0], at_zero)) & (of_risks <= linear[-1])

    def table(v: NDArray) -> pd.DataFrame:
        return pd.DataFrame({"points": (v - at_zero) * scale, "linear": v, "risk": link.inverse(v)})

    totals = pretty(0.0, largest)
    return Nomogram(
        points,
        table(at_zero + totals / scale).assign(points=totals),
        table(linear),
        table(of_risks[reached]).assign(risk=RISKS[reached]),
        at_zero,
        float(scale),
    )


def pretty(low: float, high: float, intervals: int = INTERVALS) -> NDArray:
    """Return round numbers that cover a range with about so many intervals, as R's ``pretty`` does."""
    cell = (high - low) / intervals
    base = 10.0 ** np.floor(np.log10(cell))
    unit = base
    for step, bias in ((2.0, 1.5), (5.0, 2.75), (10.0, 1.5)):
        if step * base - cell >= bias * (cell - unit):
            break
        unit = step * base
    first, last = np.floor(low / unit + 1e-7), np.ceil(high / unit - 1e-7)
    marks = np.arange(first, last + 1.0)
    return marks * unit if unit >= 1.0 else marks / np.round(1.0 / unit, 9)


def _refuse(results: ResultsCore) -> None:
    """Refuse models whose risk is not that of a sum of finite points."""
    design = results.model.design
    if design.recipe is not None and design.recipe.engine == "patsy":
        raise InvalidOptionError(
            "a nomogram needs to know the columns of each variable, which patsy does not tell; fit with formulaic."
        )
    if design.offset is not None or shifts(design):
        named = ", ".join(shifts(design)) or "given as an array"
        raise InvalidOptionError(
            f"a nomogram has no axis for an offset or an exposure ({named}); fit without it, or use get_prediction."
        )
    if names := results.infinite_names:
        raise InvalidDataError(
            f"the estimate of {names[0]!r} is infinite, so that it has no points; fit with bias reduction, such as bias='firth'."
        )


def _moved(design: Design) -> list[str]:
    """Return the variables that get points: all but the constant of a design without a formula."""
    constant = None if design.recipe is not None or design.constant is None else design.names[design.constant]
    return [name for name in variables(design) if name != constant]


def _range(values: NDArray) -> tuple[float, float]:
    low, high = float(np.min(values)), float(np.max(values))
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _axis_values(rows: Rows, name: str) -> tuple[list[Any], bool]:
    """Return the values of an axis, and whether they are all that the variable has."""
    levels = levels_of(variables(rows.design)[name], rows.frame[name], FEW)
    if levels is not None:
        return levels, True
    low, high = _range(rows.frame[name].to_numpy(float))
    marks = pretty(low, high)
    if not _defined(rows, name, marks):  # such as the logarithm of zero, the round number below the data
        marks = np.concatenate([[low], marks[(marks > low) & (marks < high)], [high]])
    return marks.tolist(), False


def _defined(rows: Rows, name: str, marks: NDArray) -> bool:
    if rows.design.recipe is None:
        return True
    frame = rows.frame.iloc[[0] * len(marks)].reset_index(drop=True).assign(**{name: marks})
    try:
        with np.errstate(all="ignore"):
            return bool(np.isfinite(dense(rows.design.recipe.matrix(frame))).all())
    except (InvalidDataError, RuntimeWarning):
        return False


def _together(design: Design, names: Sequence[str]) -> list[list[str]]:
    """Return the variables in groups whose columns have nothing in common, in the order of the formula."""
    groups: list[tuple[list[str], set[int]]] = []
    for name in names:
        changed = ChangedColumns.of(design, [name])
        if not changed.in_pieces:
            raise InvalidOptionError(
                f"the columns of {name!r} depend on other rows, so that its values have no points."
            )
        columns = set(changed.places.tolist())
        shared = [group for group in groups if group[1] & columns]
        groups = [group for group in groups if not group[1] & columns]
        groups.append(([*(one for group in shared for one in group[0]), name], columns.union(*(g[1] for g in shared))))
    order = {name: i for i, name in enumerate(names)}
    return sorted((sorted(group, key=order.__getitem__) for group, _ in groups), key=lambda group: order[group[0]])


def _part(
    rows: Rows, names: list[str], values: dict[str, tuple[list[Any], bool]], results: ResultsCore
) -> pd.DataFrame:
    """Return what variables that belong together add to the linear predictor of the first row: ``variable``, ``given``, ``value``, ``effect``."""
    wide = [name for name in names if not values[name][1]]
    if len(wide) > 1:
        raise InvalidOptionError(
            f"{' and '.join(map(repr, wide))} interact, and neither has at most {FEW} values: a nomogram has an axis for each level of one of "
            f"them. Put one into cut(), or use plot_effect({wide[0]!r}, by={wide[1]!r})."
        )
    main = (wide or names)[0]
    others = [name for name in names if name != main]
    variants = [combination[::-1] for combination in product(*(values[name][0] for name in others[::-1]))]
    if len(variants) > MOST_AXES:
        raise InvalidOptionError(
            f"{main!r} interacts with {', '.join(map(repr, others))}, whose levels have {len(variants)} combinations, each with an axis; a "
            f"nomogram has at most {MOST_AXES} for a variable."
        )
    worlds = [(value, variant) for variant in variants for value in values[main][0]]
    columns = {main: [value for value, _ in worlds]}
    columns |= {name: [variant[i] for _, variant in worlds] for i, name in enumerate(others)}
    first = rows.frame.iloc[[0]]
    frame = first.iloc[[0] * len(worlds)].reset_index(drop=True)
    frame = frame.assign(**{name: _typed(first[name], given) for name, given in columns.items()})
    given = [
        ", ".join(f"{name} = {label_of(level)}" for name, level in zip(others, variant, strict=True))
        for _, variant in worlds
    ]
    effect = _linear(rows, frame, results) - _linear(rows, first, results)
    value = pd.Series(columns[main], dtype=object)
    if not np.isfinite(effect).all():
        bad = value[~np.isfinite(effect)].iloc[0]
        raise InvalidDataError(f"the effect of {main} = {label_of(bad)} is not finite, so that it has no points.")
    return pd.DataFrame({"variable": main, "given": given, "value": value, "effect": effect})


def _typed(column: pd.Series, values: list[Any]) -> Any:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Categorical(values, dtype=column.dtype)
    return pd.Series(values, name=column.name)


def _linear(rows: Rows, frame: pd.DataFrame, results: ResultsCore) -> NDArray:
    recipe = rows.design.recipe
    X = frame.to_numpy(float) if recipe is None else dense(recipe.matrix(frame))
    return np.asarray(X @ np.asarray(results.params), dtype=float)
