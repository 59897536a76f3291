"""Model and data: the facts of the fit, and the variables by outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from numpy.typing import NDArray

from gevglm.display.digits import iterations
from gevglm.effects.rows import frame_of, mean_and_deviation, shifts, variables
from gevglm.report.html import Html, table, tag
from gevglm.report.numbers import count, percent, plain
from gevglm.results.predicted_rows import assessed_rows
from gevglm.results.summary import events_per_parameter, method_of

if TYPE_CHECKING:
    from gevglm.results import BinaryGLMResults

MOST_LEVELS = 12
MOST_VARIABLES = 30


def facts(results: BinaryGLMResults) -> Html:
    """Return the facts of the fit, two columns of words."""
    design = results.model.design
    events, total = results.n_events, results.n_trials_total
    rarer, columns = plain(events_per_parameter(results)), f"{len(design.names)} columns of a design matrix"
    rows = [
        ("Outcome", f"{design.outcome} (the event: {results.event})" if design.trials is None else design.outcome),
        ("Observations", _observations(results)),
        ("Events", f"{count(events)} ({percent(events / total, 3)}), {rarer} of the rarer outcome per coefficient"),
        ("Model", results.model.formula if design.recipe is not None else columns),
        ("Link", results.link.population.label),
        ("Loss", results.loss.name),
        ("Estimation", estimation_of(results)),
        ("Standard errors", _errors(results)),
        *((name.rstrip(":"), words[0]) for name, words in results.model.sampling.facts()),
        ("Converged", f"{'yes' if results.converged else 'NO'}, after {iterations(results.n_iter)}"),
    ]
    rows += _shifts(results)
    return tag("div", table((), rows, words=2), class_="facts")


def _observations(results: BinaryGLMResults) -> str:
    design = results.model.design
    text = count(results.n_trials_total)
    if results.n_trials_total != results.nobs:
        text += f" in {count(results.nobs)} rows"
    return text + (f"; {count(design.n_missing)} incomplete rows were left out" if design.n_missing else "")


def estimation_of(results: BinaryGLMResults) -> str:
    """Say how the model was estimated."""
    text = method_of(results)
    if results.posterior is not None:
        return text
    if results._shape is not None:
        text += ", xi by maximum likelihood"
    if results.search is not None:
        text += ", xi and penalty on held-out rows"
    return text + (f", ridge penalty {results.alpha:g}" if results.alpha else "")


def _errors(results: BinaryGLMResults) -> str:
    groups = results.cluster_groups
    if results.cov_type != "cluster":
        return results.cov_type
    names = list(groups) if isinstance(groups, (list, tuple)) else [groups]
    columns = [name for name in names if isinstance(name, str)]
    return "robust to clusters" + (f", by {' and '.join(columns)}" if len(columns) == len(names) else "")


def _shifts(results: BinaryGLMResults) -> list[tuple[str, str]]:
    design, model = results.model.design, results.model
    rows = []
    offsets = [] if design.recipe is None else [each.text for each in design.recipe.offsets]
    if design.offset_name or design.array_offset:
        offsets.append(design.offset_name or "given as an array")
    if offsets:
        rows.append(("Offset", " + ".join(offsets)))
    if design.exposure_name or design.array_exposure:
        rows.append(("Exposure", design.exposure_name or "given as an array"))
    weights = [
        word for word, given in (("frequency", model._has_freq_weights), ("variance", _user_weights(results))) if given
    ]
    if weights:
        rows.append(("Weights", " and ".join(weights) + " weights"))
    return rows


def _user_weights(results: BinaryGLMResults) -> bool:
    return results.model._has_var_weights and not results.model.sampling.reweights


def characteristics(results: BinaryGLMResults) -> Html:
    """Return the variables by outcome: mean and standard deviation, or the share of each level."""
    design = results.model.design
    y, _, _ = assessed_rows(results)
    weights = results.row_weights
    of_events, of_others = weights.in_sample * y, weights.in_sample * (1.0 - y)
    events = float(weights.observations @ y)
    constant = results.model.data.const_idx
    frame = frame_of(design)
    names = [name for name in dict.fromkeys([*variables(design), *shifts(design)]) if name in frame.columns]
    if design.recipe is None and constant is not None:
        names.remove(design.names[constant])
    rows: list[tuple[str, ...]] = []
    for name in names[:MOST_VARIABLES]:
        rows += _described(name, frame[name], of_events, of_others)
    header = ("Variable", f"Events ({count(events)})", f"Others ({count(results.n_trials_total - events)})")
    caption = "The variables in the sample: mean (standard deviation), or share of each level."
    if design.represents is not None:
        caption += " Rows count by their weights; the numbers of events and others are those of observations."
    if len(names) > MOST_VARIABLES:
        caption += f" The first {MOST_VARIABLES} of {len(names)}."
    return table(header, rows, caption=caption)


def _described(name: str, column: pd.Series, of_events: NDArray, of_others: NDArray) -> list[tuple[str, ...]]:
    numeric = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
    if numeric and column.isin([0, 1]).all():
        return [(f"{name} = 1", *(_share(column == 1, weight) for weight in (of_events, of_others)))]
    if numeric:
        return [(name, *(_mean(column.to_numpy(float), weight) for weight in (of_events, of_others)))]
    levels = sorted(column.unique(), key=str)
    if len(levels) > MOST_LEVELS:
        return [(f"{name}: {len(levels)} levels", "", "")]
    return [
        (f"{name} = {level}", *(_share(column == level, weight) for weight in (of_events, of_others)))
        for level in levels
    ]


def _share(chosen: pd.Series, weight: NDArray) -> str:
    return percent(float(weight @ chosen.to_numpy(float) / weight.sum()), 3)


def _mean(values: NDArray, weight: NDArray) -> str:
    mean, deviation = mean_and_deviation(values, weight)
    return f"{plain(mean)} ({plain(deviation)})"
