"""Rows whose predictions are assessed: those of a fit and of new data, in memory and in pieces, with what they stand for."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.calibration.bins import Collection, Predicted
from gevglm.data.design import Design, Layout
from gevglm.data.formula import count_columns
from gevglm.data.new_rows import is_read_by_formula, outcomes_in, read_weights, weights_in
from gevglm.data.outcome import Coding, resolve
from gevglm.data.row_weights import RowWeights
from gevglm.data.sources import Source
from gevglm.data.tables import as_frame
from gevglm.engine import Block, Reducer
from gevglm.engine.base import product
from gevglm.exceptions import (
    GevglmWarning,
    InvalidDataError,
    InvalidOptionError,
    warn,
)
from gevglm.links.base import BinaryLink
from gevglm.results.core import ResultsCore
from gevglm.results.prediction import Scorer, columns_to_predict

ROUNDING = 1e-12  # of a count that was a share of a number of observations


def assessed_rows(results: ResultsCore, data: Any = None, endog: Any = None) -> tuple[NDArray, NDArray, NDArray | None]:
    """Return outcomes, predicted risks and weights of the rows of a fit, weighted to the population, or of new data."""
    if data is not None:
        return complete_rows(results.model.design, data, endog, results.predict(data))
    results.model.design.need_rows("an assessment", "give data=")
    if endog is not None:
        raise InvalidOptionError("endog goes with new data; the rows of the fit have their own outcomes.")
    return results.model.endog, np.asarray(results.predict()), population_counts(results.row_weights)


def complete_rows(
    design: Design, data: Any, endog: Any, predicted: Any, *, both: bool = True
) -> tuple[NDArray, NDArray, NDArray | None]:
    """Return outcomes of 0 and 1, predictions and weights of the new rows that have both; with `both`, refuse rows of which none, or all, are events."""
    predicted = np.asarray(predicted)
    by_name = is_read_by_formula(design, data)
    weights = read_weights(design.layout, data) if by_name else RowWeights(len(predicted))
    if endog is None:
        if not by_name:
            raise InvalidDataError("give the outcomes of the new data as endog=.")
        endog = outcomes_in(design, as_frame(data))
    outcomes = np.asarray(endog)
    if not len(outcomes):
        raise InvalidDataError("the new data have no rows.")
    if len(outcomes) != len(predicted):
        raise InvalidDataError(f"endog has {len(outcomes)} rows, but the new data have {len(predicted)}.")
    used = ~(pd.isna(outcomes).reshape(len(outcomes), -1).any(axis=1) | np.isnan(predicted))
    if not used.all():
        warn(
            f"{int((~used).sum())} of {len(used)} new rows have no outcome, or no prediction because a covariate is missing, "
            "and are left out.",
            GevglmWarning,
        )
    if not used.any():
        raise InvalidDataError(f"none of the {len(used)} new rows has an outcome and a prediction.")
    counts = outcomes.ndim == 2 and outcomes.shape[1] == 2
    freq, represents = (None if given is None else given[used] for given in (weights.freq, weights.represents))
    if both:
        found = resolve(outcomes[used], None if counts else design.event, design.outcome, freq, None)
    else:
        coding = (
            Coding(design.event, counts=True) if counts else Coding.of_new(outcomes[used], design.event, design.outcome)
        )
        found = coding.apply(outcomes[used], freq, design.outcome)
    counted_rows = RowWeights(len(found.y), found.freq, trials=found.trials, represents=represents)
    return single_outcomes(found.y, predicted[used], counted_rows.effective_counts)


def predictions_in_pieces(results: ResultsCore, source: Source | None) -> Predicted:
    """Return outcomes and predictions of data in pieces; those of the fit without a source."""
    if source is None:
        predictions = _BlockPredictions(results.model.population_link, results._params)
        return results.model.engine().reduce(predictions).predicted()
    design, collection = results.model.design, Collection()
    weights = weights_in(design.layout, source.columns)
    outcome = count_columns(design.outcome) or [design.outcome]
    columns = list(dict.fromkeys([*columns_to_predict(results, source), *outcome, *weights.values()]))
    source.check(columns)
    layout = replace(design.layout, weight_names=weights)
    with closing(source.map(partial(_predictions_of_table, Scorer(results), layout), columns)) as answers:
        for _, part in answers:
            collection.add(*part)
    return collection.predicted()


class _BlockPredictions(Reducer[Any]):
    """The predictions of all rows, in pieces."""

    def __init__(self, link: BinaryLink, params: NDArray):
        self.link = link
        self.params = params

    def zero(self) -> Collection:
        return Collection()

    def map(self, block: Block) -> tuple[Predicted, float]:
        weights = RowWeights.of(block)
        p = self.link.inverse(block.linear_predictor(self.params))
        return Predicted(block.y, p, weights.in_sample), weights.sum_of_squares

    def combine(self, total: Collection, part: tuple[Predicted, float]) -> Collection:
        return total.add(*part)


def _predictions_of_table(scorer: Scorer, layout: Layout, table: pd.DataFrame, number: Any) -> tuple[Predicted, float]:
    values = outcomes_in(layout, table)
    p, _ = scorer(table, number)
    used = ~np.isnan(p) & ~pd.isna(np.asarray(values)).reshape(len(table), -1).any(axis=1)
    values, weights = values[used], read_weights(layout, table[used])
    counts = weights.trials is not None
    coding = Coding(layout.event, counts=True) if counts else Coding.of_new(values, layout.event, layout.outcome)
    y = coding.apply(values, None, layout.outcome).y
    return Predicted(y, p[used], weights.in_sample), weights.sum_of_squares


def single_outcomes(y: NDArray, p: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray, NDArray | None]:
    """Return outcomes of 0 and 1: shares of events become events and others, by weight."""
    if np.isin(y, (0.0, 1.0)).all():
        return y, p, weights
    size = np.ones_like(y) if weights is None else weights
    events = size * y
    counts = np.rint(events)
    events = np.where(np.abs(events - counts) <= ROUNDING * size, counts, events)  # 49 (1/49) is not 1
    return np.repeat([1.0, 0.0], len(y)), np.tile(p, 2), np.concatenate([events, size - events])


def population_counts(weights: RowWeights) -> NDArray | None:
    """Return how many observations each row counts for in the population."""
    return product(weights.effective_counts, weights.population)
