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
from gevglm.display.brief import Brief
from gevglm.effects.linear import Uncertainty
from gevglm.effects.rows import (
    RowGroups,
    Rows,
    Scenario,
    label_of,
    levels_of,
    reference_row,
    refuse_unknown_levels,
    variables,
)
from gevglm.effects.sampled import RowInfluence, average_uncertainty, influence_for
from gevglm.effects.standardised import averages, risk_table
from gevglm.effects.worlds import World, Worlds
from gevglm.engine.linalg import dense
from gevglm.exceptions import InvalidOptionError, unknown_option

if TYPE_CHECKING:
    from gevglm.results.core import ResultsCore

AT = ("average", "typical")
FEW = 5  # distinct numbers that are shown one by one
PERCENTILES = np.linspace(0.01, 0.99, 99)  # of the observations, from the first to the last of which a curve is drawn
GROUPS = (0.1, 0.5, 0.9)  # quantiles of a continuous variable by which curves are drawn


@dataclass(frozen=True, repr=False)
class EffectCurve(Brief):
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
    seen, grid = _values(all_rows, variable, points)
    if values is not None:
        grid = list(np.atleast_1d(values))
    if len(grid) == 0:
        raise InvalidOptionError("values is empty; give at least one value.")
    if variables(design)[variable].is_factor:
        refuse_unknown_levels(variables(design)[variable], all_rows.frame[variable], grid, "values")
    levels = [None] if by is None else _groups(all_rows, by)
    held: dict[str, Any] = {}
    if at == "typical":
        held = reference_row(design, all_rows.weights, {variable, by})
    chosen = _typical_row(all_rows, held) if at == "typical" else _subsampled(all_rows, rows)
    influence = influence_for(results, None) if chosen is all_rows else None
    worlds: list[World] = [
        {variable: Scenario.at(value)} | ({} if by is None else {by: Scenario.at(level)})
        for level in levels
        for value in grid
    ]
    frame = _risks(results, Worlds.of(chosen, worlds), alpha, influence, f"the risk along {variable}")
    frame = frame.assign(value=grid * len(levels), group=[level for level in levels for _ in grid])
    averaged = 0.0 if at == "typical" else chosen.observations
    columns = ["value", "group", "risk", "ci_lower", "ci_upper"]
    return EffectCurve(
        variable, by, frame[columns], seen is not None, np.array([]) if seen is None else seen, averaged, held
    )


def _risks(
    results: ResultsCore, worlds: Worlds, alpha: float, influence: RowInfluence | None, what: str
) -> pd.DataFrame:
    """Return the average risk in each world with its limits; `influence` if the rows are a sample."""
    found, everybody = averages(worlds, results.risk_at_estimates, RowGroups()), RowGroups()
    if influence is None or influence.weights.clusters is None:
        known = average_uncertainty(results, worlds, everybody, found, influence, what)
    else:  # one sum for each cluster and point would be as large as the data
        points = zip(worlds.one_by_one(), found.one_by_one(), strict=True)
        covs = [average_uncertainty(results, world, everybody, each, influence, what).cov for world, each in points]
        known = Uncertainty(np.diag(np.ravel(covs)), found.gradient, results.degrees)
    table = risk_table(found.risks, known, pd.RangeIndex(len(found.risks)), alpha)
    return table.rename(columns={"estimate": "risk"})


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
    X = frame.to_numpy(float) if rows.design.recipe is None else dense(rows.design.recipe.matrix(frame))
    offset = np.atleast_1d(np.average(np.broadcast_to(rows.offset, rows.weights.shape), weights=rows.weights))
    return replace(rows, frame=frame, X=X, offset=offset, weights=np.ones(1))


def _values(rows: Rows, name: str, points: int) -> tuple[NDArray | None, list]:
    """Return the percentiles of a continuous variable, None for others, and the values to look at."""
    levels = levels_of(variables(rows.design)[name], rows.frame[name], FEW)
    if levels is not None:
        return None, levels
    seen = weighted_quantile(rows.frame[name].to_numpy(float), rows.weights, PERCENTILES)
    return seen, list(np.linspace(seen[0], seen[-1], points))


def _groups(rows: Rows, name: str) -> list:
    seen, levels = _values(rows, name, 2)
    if seen is None:
        return levels
    return list(np.unique(weighted_quantile(rows.frame[name].to_numpy(float), rows.weights, np.array(GROUPS))))
