"""The summary of an average over links: its weights, its held-out scores, and what is to be known of them."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable

from gevglm.calibration._summary_table import EscapedSummary

if TYPE_CHECKING:
    from gevglm.averaging.averaged import AveragedLinks

LEAST_SHOWN = 0.5e-4  # of the weights, with four digits
HEADERS = ("loss", "alpha", "weight", "held-out log loss", "held-out Brier")


def summary_of(average: AveragedLinks) -> Summary:
    """Return the summary; candidates are in the order of their weights."""
    summary = Summary()
    summary.tables.append(SimpleTable(_facts(average), title="Average over links"))
    rows = weight_rows(average)
    summary.tables.append(SimpleTable([row[1:] for row in rows], headers=HEADERS, stubs=[row[0] for row in rows]))
    summary.add_extra_txt(["Notes:", *(f"[{i}] {note}" for i, note in enumerate(notes_on(average), 1))])
    return EscapedSummary.of(summary)


def _facts(average: AveragedLinks) -> list[list[str]]:
    """Return what stands above the weights: data to the left, the procedure and its scores to the right."""
    results, scores = average.results, average.scores
    by_clusters = "" if average.n_clusters is None else f", by {average.n_clusters:,} clusters"
    often = "" if abs(average.passes - 1.0) < 1e-9 else f", each row held out {average.passes:.3g} times"
    data = [
        ("Dep. Variable:", str(results.model.design.outcome)),
        ("Event:", str(results.event)),
        ("Observations:", f"{average.nobs:,.0f}"),
        ("Events:", f"{average.n_events:,.0f} ({100.0 * average.n_events / average.nobs:.3g} %)"),
        *((name, ", ".join(words)) for name, words in results.model.sampling.facts()),
    ]
    found = [
        ("Criterion:", average.criterion.replace("_", " ")),
        ("Folds:", f"{average.n_folds}{by_clusters}{often}"),
        ("Held-out log loss:", f"{scores['log_loss']:.5f}"),
        ("Held-out Brier score:", f"{scores['brier']:.5f}"),
        ("Certificate:", f"{average.certificate:.1e}" if average.certificate > 1e-12 else "below 1e-12"),
    ]
    return [[*left, *right] for left, right in zip_longest(data, found, fillvalue=("", ""))]


def are_light(average: AveragedLinks) -> pd.Series:
    """Return which candidates have next to nothing, or little more than what no weight is below; see equation :eq:`weight-floor`."""
    weight = average.weights["weight"]
    return weight < max(LEAST_SHOWN, 1.5 / len(weight) / (average.nobs + 1.0))


def weight_rows(average: AveragedLinks) -> list[list[str]]:
    """Return a row of text per candidate: its name, and the columns of ``HEADERS``; the heaviest first, then those without a weight by their score."""
    table = average.weights.assign(shown=average.weights["weight"].mask(are_light(average), 0.0))
    table = table.sort_values(["shown", average.criterion], ascending=[False, True], kind="stable")
    return [
        [
            name,
            row.loss,
            f"{row.alpha:g}",
            f"{row.weight:.4f}" if row.weight >= LEAST_SHOWN else "< 0.0001",
            f"{row.log_loss:.5f}",
            f"{row.brier:.5f}",
        ]
        for name, row in zip(table.index, table.itertuples(), strict=True)
    ]


def notes_on(average: AveragedLinks) -> list[str]:
    """Return what is to be known of the weights."""
    notes = [
        "Weights are not probabilities that a link is true: they are those with which the average predicts held-out outcomes best. Candidates whose "
        "risks are nearly the same can share their weight in any way; the average hardly depends on it."
    ]
    weight = average.weights["weight"]
    if (average.weights["alpha"] > 0.0).any():
        columns = "standardised columns" if average.options.standardized else "the columns as they are"
        how = "the best of a few for that candidate by the same folds" if average.options.alpha == "cv" else "as given"
        notes.append(f"alpha is the ridge penalty on coefficients of {columns}, {how}.")
    light = int(are_light(average).sum())
    if light:
        notes.append(
            f"No weight is zero: {light} of {len(weight)} candidates have hardly any, but at least {weight.min():.1e}, so that an outcome that the "
            "others rule out keeps a probability."
        )
    impossible = int((average.weights["log_loss"] == float("inf")).sum())
    if impossible and average.scores["log_loss"] < float("inf"):
        which = "1 candidate" if impossible == 1 else f"{impossible} candidates"
        notes.append(
            f"inf: {which} gave the probability 0 to a held-out outcome; the average did not, because others allow it."
        )
    shared = [group for group in average.alike if weight[list(group)].sum() > 1.0 / len(weight)]
    notes += [
        f"Nearly the same here (risks differ by less than 1 % of their mean): {', '.join(group)}; together they have {weight[list(group)].sum():.3f}."
        for group in shared
    ]
    notes += [f"Left out: {name}: {why}" for name, why in average.left_out.items()]
    if average.ruled_out:
        notes.append(
            f"{average.ruled_out} held-out outcomes were ruled out by every candidate; they have no part in the weights."
        )
    return notes
