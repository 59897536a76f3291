r"""Average effects of variables, wherever they enter the formula: slopes of numbers, differences of levels.

The slope of the risk by a variable x is averaged over the rows, all columns that x is in moving with it,

.. math:: S = \frac{\sum_i w_i\, \mathrm{d}F(v_i(x_i))/\mathrm{d}x}{\sum_i w_i} \approx \frac{R_{x + h} - R_{x - h}}{2 h},

with R as in :mod:`gevglm.effects.standardised` and h a small part of the standard deviation of x. Factors, and variables with two values, have
differences of risks instead. Gradients are combined before covariances are taken, so that nothing cancels in the latter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.display.tables import Part, Shown
from gevglm.effects.linear import Uncertainty, linear_tests, tested
from gevglm.effects.rows import RowGroups, Rows, Scenario, mean_and_deviation, shifts, variables
from gevglm.effects.sampled import average_uncertainty, influence_for
from gevglm.effects.standardised import averages, contrast_of
from gevglm.effects.worlds import World, Worlds
from gevglm.exceptions import InvalidOptionError

if TYPE_CHECKING:
    from gevglm.results.core import ResultsCore

STEP = 1e-5  # of a standard deviation, to either side
SLOPE = "dy/dx"


@dataclass(frozen=True)
class Nudged(Scenario):
    """The world in which a number is a little larger or smaller, but never beyond the data, where splines end."""

    low: float = -np.inf
    high: float = np.inf

    def column(self, column: pd.Series) -> pd.Series:
        """Return the column of the variable in this world, from that of the data."""
        assert self.shift is not None
        values, step = column.astype(float), abs(self.shift)
        inside = values.clip(self.low + step, self.high - step).where(values.between(self.low, self.high), values)
        return inside + self.shift


@dataclass(frozen=True, repr=False)
class VariableEffects(Shown):
    """Average effects of variables on the risk.

    Attributes
    ----------
    table : DataFrame
        One row per effect, by ``variable``, ``effect`` and the groups of rows: columns ``estimate``, ``se``, ``z`` (or ``t`` and its degrees of
        freedom ``df``, where the tests of the coefficients are t tests), ``pvalue``, ``ci_lower`` and ``ci_upper``.
    cov : ndarray
        Covariance of the effects.
    note : str
        Over whom they were averaged, and where the standard errors come from.
    alpha : float
        One minus the coverage of the limits.
    """

    table: pd.DataFrame
    uncertainty: Uncertainty = field(repr=False)
    note: str
    alpha: float = 0.05

    @property
    def cov(self) -> NDArray:
        """Covariance of the effects."""
        return self.uncertainty.cov

    def summary_frame(self) -> pd.DataFrame:
        """Return the effects as a table."""
        return self.table

    def t_test(self, r_matrix: Any) -> pd.DataFrame:
        """Return tests that linear combinations of the effects are zero.

        Parameters
        ----------
        r_matrix : array_like of shape (m, number of effects)
            Weights of the effects, in the order of ``table``; (1, -1) is the difference of two.
        """
        return linear_tests(self.table["estimate"], self.uncertainty, r_matrix, self.alpha)

    def _shown_parts(self) -> tuple[str, Sequence[Part], Sequence[str]]:
        return f"Average effects on the risk ({self.note})", [Part("", self.table)], []


def variable_effects(
    results: ResultsCore, names: Sequence[str] | None, by: Any, data: Any, covariates: str | None, alpha: float
) -> VariableEffects:
    """Return average effects of variables; see :meth:`gevglm.BinaryGLMResults.margins`."""
    influence = influence_for(results, covariates, data)
    rows = Rows.of(results, data)
    worlds, combine, labels = _compared(rows, names)
    in_worlds, within = Worlds.of(rows, worlds), rows.groups(by)
    found = averages(in_worlds, results.risk_at_estimates, within)
    spread = np.kron(np.eye(len(within)), combine)
    known = average_uncertainty(results, in_worlds, within, found, influence, "an average effect", spread)
    index = _index(labels, within)
    how = f"averaged over {rows.observations:,.0f} observations{'' if influence is None else ', a sample'}"
    note = "; ".join(
        filter(None, (how, f"delta method, {results.cov_type} covariance", results.model.sampling.remark()))
    )
    return VariableEffects(tested(spread @ found.risks, known, index, alpha), known, note, alpha)


def _compared(rows: Rows, names: Sequence[str] | None) -> tuple[list[World], NDArray, list[tuple[str, str]]]:
    """Return the worlds that tell all effects, the matrix from their risks to effects, and the names of the effects."""
    worlds: list[World] = []
    weights: list[dict[int, float]] = []
    labels: list[tuple[str, str]] = []
    difference = contrast_of("difference")
    for name in _chosen(rows, names):
        scenarios = rows.scenarios(name, None)
        first = len(worlds)
        if scenarios[0].shift is not None:
            step, low, high = _step(rows, name)
            worlds += [{name: Nudged("x", shift=shift, low=low, high=high)} for shift in (step, -step)]
            weights.append({first: 0.5 / step, first + 1: -0.5 / step})
            labels.append((name, SLOPE))
            continue
        worlds += [{name: scenario} for scenario in scenarios]
        for j, scenario in enumerate(scenarios[1:], 1):
            weights.append({first: -1.0, first + j: 1.0})
            labels.append((name, difference.label(scenario.label, scenarios[0].label)))
    combine = np.zeros((len(weights), len(worlds)))
    for i, row in enumerate(weights):
        for j, weight in row.items():
            combine[i, j] = weight
    return worlds, combine, labels


def _chosen(rows: Rows, names: Sequence[str] | None) -> list[str]:
    design = rows.design
    if names is None:
        constant = None if design.constant is None or design.recipe is not None else design.names[design.constant]
        chosen = [name for name in variables(design) if name not in shifts(design) and name != constant]
    else:
        chosen = [names] if isinstance(names, str) else list(names)
    if not chosen:
        raise InvalidOptionError("there is no variable to look at: the model has a constant only.")
    return chosen


def _step(rows: Rows, name: str) -> tuple[float, float, float]:
    """Return how far a variable is moved, and the ends of its data."""
    seen = rows.fitted or rows
    values = seen.column(name, "variables").to_numpy(float)
    deviation = mean_and_deviation(values, seen.weights)[1]
    return STEP * (deviation if deviation > 0.0 else 1.0), float(values.min()), float(values.max())


def _index(labels: list[tuple[str, str]], within: RowGroups) -> pd.MultiIndex:
    if within.labels is None:
        return pd.MultiIndex.from_tuples(labels, names=["variable", "effect"])
    groups = [group if isinstance(group, tuple) else (group,) for group in within.labels]
    names = [*within.labels.names, "variable", "effect"]
    return pd.MultiIndex.from_tuples([(*group, *label) for group in groups for label in labels], names=names)
