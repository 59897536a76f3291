r"""Predicted risk along one variable, the others averaged over the sample or held at typical values.

The averaged curve is the standardised risk

.. math:: m(x) = \frac{\sum_i w_i F(v_i(x))}{\sum_i w_i},

with the variable set to x in every row and all else unchanged, as in :mod:`gevglm.effects.standardised`; its limits are symmetric for the log
odds. Transformations and interactions in the formula follow the variable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.calibration.bins import weighted_quantile
from gevglm.data.tables import suggestion
from gevglm.effects.rows import Rows, Scenario, label_of, levels_of, reference_row, variables
from gevglm.effects.sampled import RowInfluence, influence_for
from gevglm.effects.standardised import averages, risk_table
from gevglm.exceptions import InvalidOptionError, unknown_option

if TYPE_CHECKING:
    from gevglm.results.core import ResultsCore

AT = ("average", "typical")
FEW = 5  # distinct numbers that are shown one by one
CENTRE = (0.01, 0.99)  # of the observations, along which a curve is drawn
GROUPS = (0.1, 0.5, 0.9)  # quantiles of a continuous variable by which curves are drawn


@dataclass(frozen=True)
class EffectCurve:
    """Predicted risks along a variable.

    Attributes
    ----------
    variable : str
    by : str or None
        Variable with a curve for each of its levels.
    frame : DataFrame
        Columns ``value``, ``group`` (missing without `by`), ``risk``, ``ci_lower``, ``ci_upper``.
    continuous : bool
        Whether the values are points of a range, or the levels of the variable.
    seen : ndarray
        Percentiles of a continuous variable in the data: where the curve rests on data.
    n_averaged : float
        Observations that are averaged over; 0 at typical values.
    held : dict
        Typical values of the other variables, if the curve is at those.
    """

    variable: str
    by: str | None
    frame: pd.DataFrame
    continuous: bool
    seen: NDArray
    n_averaged: float
    held: dict[str, Any]

    def groups(self) -> list[tuple[str, pd.DataFrame]]:
        """Return the curves, each with its label."""
        if self.by is None:
            return [("", self.frame)]
        return [(f"{self.by} = {label_of(level, 4)}", rows) for level, rows in self.frame.groupby("group", sort=False)]


def effect_curve(
    results: ResultsCore,
    variable: str,
    *,
    by: str | None = None,
    at: str = "average",
    values: Any = None,
    points: int = 41,
    rows: int | None = None,
    alpha: float = 0.05,
) -> EffectCurve:
    """Return the predicted risk along a variable.

    Parameters
    ----------
    results : BinaryGLMResults
    variable : str
        Of the formula, or column of the design.
    by : str, optional
        Another variable; a curve for each of its levels, or for the 10, 50 and 90 % quantiles of a continuous one.
    at : {"average", "typical"}
        Average the risk over the rows, or hold the other variables at their mean or most frequent level.
    values : array_like, optional
        Of `variable`; by default its levels, or points between its 1 and 99 % quantiles.
    points : int
        How many of the latter.
    rows : int, optional
        Average over at most so many rows, evenly spaced in the data.
    alpha : float
        One minus the coverage of the limits.
    """
    design = results.model.design
    design.need_rows("an effect curve", "predict rows of your own with get_prediction")
    if at not in AT:
        raise unknown_option("at", at, AT)
    names = list(variables(design))
    for role, name in (("variable", variable), ("by", by)):
        if name is not None and name not in names:
            raise InvalidOptionError(f"{role}={name!r} is not a variable of the model.{suggestion(str(name), names)}")
    if by == variable:
        raise InvalidOptionError(f"by={by!r} is the variable itself; give another one.")
    all_rows = Rows.of(results)
    continuous, grid = _values(all_rows, variable, points)
    if values is not None:
        grid = list(np.atleast_1d(values))
    if len(grid) == 0:
        raise InvalidOptionError("values is empty; give at least one value.")
    levels = [None] if by is None else _groups(all_rows, by)
    held: dict[str, Any] = {}
    if at == "typical":
        held = reference_row(design, all_rows.weights, {variable, by})
    chosen = _typical_row(all_rows, held) if at == "typical" else _subsampled(all_rows, rows)
    curves = []
    for level in levels:
        group = chosen if by is None else _set(chosen, by, level)
        influence = influence_for(results, None) if chosen is all_rows else None
        curves.append(_risks(results, group, variable, grid, alpha, influence).assign(value=grid, group=level))
    frame = pd.concat(curves, ignore_index=True)[["value", "group", "risk", "ci_lower", "ci_upper"]]
    seen = np.array([])
    if continuous:
        column = all_rows.frame[variable].to_numpy(float)
        seen = weighted_quantile(column, all_rows.weights, np.linspace(0.01, 0.99, 99))
    return EffectCurve(variable, by, frame, continuous, seen, 0.0 if at == "typical" else chosen.observations, held)


def _risks(
    results: ResultsCore, rows: Rows, variable: str, grid: list, alpha: float, influence: RowInfluence | None
) -> pd.DataFrame:
    """Return the average risk over rows with the variable set to each value, with its limits; `influence` if the rows are a sample."""
    evaluate = results.risk_and_slope()
    risks, gradients, variances = [], [], []
    for value in grid:
        X = _set(rows, variable, value).X
        found = averages([X], rows.offset, rows.weights[None, :], evaluate)
        risks.append(found.risks[0])
        gradients.append(found.gradient[0])
        if influence is not None:
            p = results.model.population_link.inverse(X @ results._params + rows.offset)
            cov = influence.covariance(found.risks, found.gradient, p[:, None], rows.weights[:, None])
            variances.append(cov[0, 0])
    if influence is None:
        cov = results.delta_covariance(np.array(gradients), f"the risk along {variable}")
    else:
        cov = np.diag(variances)
    table = risk_table(np.array(risks), cov, pd.RangeIndex(len(grid)), alpha)
    return table.rename(columns={"estimate": "risk"})


def _set(rows: Rows, name: str, value: Any) -> Rows:
    """Return rows with a variable set to a value in all of them."""
    scenario = Scenario.at(value)
    return replace(rows, frame=rows.frame.assign(**{name: value}), X=rows.designs(name, [scenario])[0])


def _subsampled(rows: Rows, most: int | None) -> Rows:
    """Return at most so many rows, evenly spaced."""
    n = rows.X.shape[0]
    if most is None or n <= most:
        return rows
    used = np.linspace(0, n - 1, most).astype(int)
    offset = np.broadcast_to(rows.offset, (n,))[used]
    chosen = replace(rows, frame=rows.frame.iloc[used], X=rows.X[used], offset=offset, weights=rows.weights[used])
    return replace(chosen, observations=float(most))


def _typical_row(rows: Rows, held: dict[str, Any]) -> Rows:
    """Return one row with typical values, at the average offset; of the moved variables those of the first row."""
    first = rows.frame.iloc[[0]]
    frame = first.assign(**{name: value for name, value in held.items() if name in first})
    X = frame.to_numpy(float) if rows.design.recipe is None else rows.X[:1]
    offset = np.atleast_1d(np.average(np.broadcast_to(rows.offset, rows.weights.shape), weights=rows.weights))
    return replace(rows, frame=frame, X=X, offset=offset, weights=np.ones(1))


def _values(rows: Rows, name: str, points: int) -> tuple[bool, list]:
    """Return whether a variable is continuous, and the values to look at."""
    levels = levels_of(variables(rows.design)[name], rows.frame[name], FEW)
    if levels is not None:
        return False, levels
    low, high = weighted_quantile(rows.frame[name].to_numpy(float), rows.weights, np.array(CENTRE))
    return True, list(np.linspace(low, high, points))


def _groups(rows: Rows, name: str) -> list:
    continuous, levels = _values(rows, name, 2)
    if not continuous:
        return levels
    return list(np.unique(weighted_quantile(rows.frame[name].to_numpy(float), rows.weights, np.array(GROUPS))))
