"""Predictions for new rows whose outcomes are known: assessed together, by group, over time, and by segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm import calibration
from gevglm.calibration.monitoring import monitor_predictions
from gevglm.data.design import Design
from gevglm.data.sources import as_source
from gevglm.data.survey import SampleReplicates, SampleUnits
from gevglm.data.tables import as_frame, column
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.results.clusters import of_new_rows, repeated
from gevglm.results.core import ResultsCore
from gevglm.results.predicted_rows import complete_rows

if TYPE_CHECKING:
    from gevglm.calibration.assessment import Assessment
    from gevglm.calibration.by_group import GroupCalibration
    from gevglm.calibration.monitoring import Monitor
    from gevglm.calibration.segments import WorstSegment


class Validation(ResultsCore):
    """What new data say of a fit; a part of :class:`gevglm.BinaryGLMResults`. :meth:`calibration` is another."""

    def monitor(self, data: Any, time: Any, *, endog: Any = None, every: str | None = None, **options: Any) -> Monitor:
        """Watch the predictions over time: O/E and calibration slope by period, and cumulative sums with limits.

        Parameters
        ----------
        data : table or array_like
            New rows with outcomes.
        time : str or array_like
            Period or date of each row: a column, or an array.
        endog : array_like, optional
            The outcomes of `data`; see :meth:`calibration`.
        every : str, optional
            Length of the periods that dates are put into: ``"M"``, ``"Q"``, ``"W"``.
        **options
            Of :func:`gevglm.calibration.monitor`: ``odds_ratio``, ``false_alarm``, ``horizon``, ``level``, ``draws``, ``rng``.

        Returns
        -------
        Monitor
        """
        new = new_outcomes(self, data, endog, "monitor()", both=False)
        return monitor_predictions(new.y, new.p, new.of(data, time, "time"), new.weights, every=every, **options)

    def worst_segment(
        self, data: Any, columns: Sequence[str] | None = None, *, endog: Any = None, **options: Any
    ) -> WorstSegment:
        """Search new rows for the segment whose events deviate most from those predicted; see :func:`gevglm.calibration.worst_segment`.

        Parameters
        ----------
        data : table
            New rows with outcomes.
        columns : sequence of str, optional
            Columns that segments are made of, also such as the model does not use; by default those of its formula.
        endog : array_like, optional
            The outcomes of `data`; see :meth:`calibration`.
        **options
            Of :func:`gevglm.calibration.worst_segment`: ``min_size``, ``draws``, ``level``, ``rng``.

        Returns
        -------
        WorstSegment
        """
        recipe = self.model.design.recipe
        if columns is None and recipe is None:
            raise InvalidOptionError("the model was built from arrays; name the columns= that segments are made of.")
        new, table = new_outcomes(self, data, endog, "worst_segment()", both=False), as_frame(data)
        names = [columns] if isinstance(columns, str) else columns
        if names is None:
            names = [name for name in recipe.variables if name in table.columns]  # type: ignore[union-attr]
        chosen = pd.concat([column(table, name, "columns") for name in names], axis=1) if len(names) else table[[]]
        return calibration.worst_segment(new.y, new.p, chosen.iloc[new.rows], weights=new.weights, **options)


class NewOutcomes(NamedTuple):
    """Outcomes of new rows beside their predicted risks."""

    y: NDArray
    p: NDArray
    weights: NDArray | None
    rows: NDArray  # positions in the new data
    n: int  # of which there are so many

    def of(self, data: Any, values: Any, role: str) -> pd.Series:
        """Return what is known of the rows, a column of the new data or an array as long as they are."""
        if isinstance(values, str):
            return column(as_frame(data), values, role).iloc[self.rows].reset_index(drop=True)
        if len(values) != self.n:
            raise InvalidDataError(f"{role} has {len(values)} rows, but the new data have {self.n}.")
        return pd.Series(values).iloc[self.rows].reset_index(drop=True)


def new_outcomes(
    results: ResultsCore, data: Any, endog: Any, what: str, p: NDArray | None = None, *, both: bool = True
) -> NewOutcomes:
    """Return outcomes of new rows in memory beside their predictions, or others that are given, with the weights that the model names.

    With `both`, refuse rows of which none, or all, are events.
    """
    if data is None or as_source(data) is not None:
        raise InvalidOptionError(f"{what} goes with new data that are held in memory.")
    p = np.asarray(results.predict(data)) if p is None else p
    numbered = np.where(np.isnan(p), np.nan, np.arange(len(p)))
    y, numbers, weights = complete_rows(results.model.design, data, endog, numbered, both=both)
    rows = numbers.astype(np.intp)
    return NewOutcomes(y, p[rows], weights, rows, len(p))


def assess_new_rows(results: ResultsCore, data: Any, endog: Any, p: NDArray, groups: Any, **options: Any) -> Assessment:
    """Assess probabilities of new rows in memory that have outcomes, with the weights and clusters that the model of results names."""
    new = new_outcomes(results, data, endog, "calibration()", p)
    clusters = of_new_rows(results, data, groups, new.n)
    options["groups"] = repeated(clusters, len(new.rows), new.rows)
    assessed = calibration.assess(new.y, new.p, new.weights, **options)
    by_design = isinstance(clusters, (SampleUnits, SampleReplicates))
    return assessed if by_design else with_size(results.model.design, assessed)


def assess_by_group(results: ResultsCore, data: Any, endog: Any, by: Any, **options: Any) -> GroupCalibration:
    """Assess new rows by group."""
    new = new_outcomes(results, data, endog, "by=")
    return calibration.calibration_by_group(new.y, new.p, new.of(data, by, "by").to_numpy(), new.weights, **options)


def with_size(design: Design, assessment: Assessment) -> Assessment:
    """Return the assessment with a note if rows were weighted by what is not a number of observations."""
    if design.represents is None:
        return assessment
    note = (
        "Rows count by variance or sampling weights, which are not numbers of observations: intervals and tests are as if there were "
        f"{assessment.n:.5g} (Kish's effective size)."
    )
    return replace(assessment, notes=(*assessment.notes, note))
