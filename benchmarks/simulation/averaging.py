"""Averages over links against the truth: errors of the risks beside those of the best single link, and coverage of the intervals.

``python -m benchmarks simulation.averaging`` draws the data sets that the records lack, and writes the tables.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

import gevglm
from benchmarks.report import RESULTS, table
from gevglm.links import GEV, GEVc, Logit, Probit

RECORDS = RESULTS / "simulation" / "averaging.csv"
SHARE = 0.1  # of events
EVENTS = {100: (20, 8), 300: (12, 5), 1000: (8, 3)}  # data sets for the errors, and those among them for the coverage
RESAMPLES, NEW_ROWS, NEW_INTERVALS = 24, 2_000, 300
SLOPES = np.array([0.8, 0.5, -0.4, 0.3, -0.5, 0.0])


def stepped(linear: NDArray) -> NDArray:
    """Risks of three sizes: no link has them."""
    return np.where(linear < 0.5, 0.03, np.where(linear < 1.8, 0.15, 0.5))


TRUTHS: dict[
    str, tuple[Callable[[NDArray], NDArray], float]
] = {  # risk as a function of the linear predictor; factor of the slopes
    "logit": (Logit().inverse, 1.0),
    "probit": (Probit().inverse, 0.5),
    "GEV(0.5)": (GEV(0.5).inverse, 0.3),
    "GEVc(0.3)": (GEVc(0.3).inverse, 0.6),
    "step": (stepped, 1.0),
}

TEXT = f"""# Averages over links where the truth is known

Six predictors (four standard normal ones, two of which are correlated by a half, and two binary ones), {100 * SHARE:g} % events; "step" has risks of 3, 15 and
50 % below, between and above two values of the linear predictor. Errors are mean absolute differences between predicted and true risks of
{NEW_ROWS:,} new rows. *Best single link*: the candidate whose error is least on average over the data sets, which an oracle would choose
beforehand; *oracle per data set*: the candidate whose error is least in each data set, which nobody can choose. Monte Carlo standard errors in brackets.

{{errors}}

Intervals of {NEW_INTERVALS} of the new rows by the bootstrap of the whole procedure ({RESAMPLES} resamples): share of rows whose 95 % interval holds the true risk;
the Monte Carlo standard error is that over data sets.

{{coverage}}
"""


def run() -> str:
    """Draw what the records lack, return the tables."""
    draw_missing(RECORDS)
    return tables(pd.read_csv(RECORDS))


def tables(records: pd.DataFrame) -> str:
    """Return the tables of the records."""
    return TEXT.format(errors=errors_table(records), coverage=coverage_table(records))


def draw_missing(path: Path) -> None:
    """Append the data sets that are not in the file, those of all cells in turn."""
    done = set()
    if path.exists():
        done = set(pd.read_csv(path)[["truth", "events", "seed"]].itertuples(index=False, name=None))
    cells = [(seed, events, truth) for seed in range(max(EVENTS.values())[0]) for events in EVENTS for truth in TRUTHS]
    for seed, events, truth in cells:
        sets, with_intervals = EVENTS[events]
        if (truth, events, seed) not in done and seed < sets:
            row = pd.DataFrame([drawn(truth, events, seed, seed < with_intervals)])
            row.to_csv(path, mode="a", header=not path.exists(), index=False, float_format="%.6g")


def drawn(truth: str, events: int, seed: int, intervals: bool) -> dict[str, Any]:
    """Return the errors of the average and of its candidates in one data set, and how many intervals hold the true risk."""
    rng = np.random.default_rng([20, events, list(TRUTHS).index(truth), seed])
    risk, factor = TRUTHS[truth]
    n = round(events / SHARE)
    rows = np.vstack([predictors(rng, n), predictors(rng, NEW_ROWS)])
    linear = factor * rows @ SLOPES
    if truth != "step":
        many = factor * predictors(np.random.default_rng(0), 200_000) @ SLOPES
        linear = linear + brentq(lambda constant: risk(constant + many).mean() - SHARE, -10.0, 10.0)
    p = risk(linear)
    y = (rng.random(n) < p[:n]).astype(float)
    X = np.column_stack([np.ones(len(rows)), rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        average = gevglm.average_links(y, X[:n])
        new = X[n:]
        row: dict[str, Any] = {"truth": truth, "events": events, "seed": seed}
        row["average"] = np.abs(average.predict(new) - p[n:]).mean()
        row["covered"] = np.nan
        if intervals:
            few = average.get_prediction(new[:NEW_INTERVALS], resamples=RESAMPLES).summary_frame()
            true = p[n : n + NEW_INTERVALS]
            row["covered"] = ((few["mean_ci_lower"] <= true) & (true <= few["mean_ci_upper"])).mean()
        return row | {name: np.abs(fit.predict(new) - p[n:]).mean() for name, fit in average.fits.items()}


def predictors(rng: np.random.Generator, n: int) -> NDArray:
    """Return the columns without the constant."""
    normal = rng.standard_normal((n, 4))
    normal[:, 1] = 0.5 * normal[:, 0] + np.sqrt(0.75) * normal[:, 1]
    return np.hstack([normal, rng.random((n, 2)) < (0.5, 0.2)])


def errors_table(records: pd.DataFrame) -> str:
    """Return a row per truth and number of events."""
    rows = []
    for (truth, events), part in records.groupby(["truth", "events"], sort=False):
        single = part.drop(columns=["truth", "events", "seed", "average", "covered"])
        best = single.mean().idxmin()
        average = part["average"]
        ratio, error = _ratio(average, single[best])
        each, each_error = _ratio(average, single.min(axis=1))
        rows.append((truth, f"{events:,}", f"{len(part)}", f"{average.mean():.5f} ({average.sem():.5f})", best, f"{single[best].mean():.5f}",
                     f"{ratio:.3f} ({error:.3f})", f"{each:.3f} ({each_error:.3f})"))  # fmt: skip
    header = (
        "truth",
        "events",
        "data sets",
        "average",
        "best single link",
        "its error",
        "ratio",
        "ratio to the oracle per data set",
    )
    return table(header, _sorted(rows))


def coverage_table(records: pd.DataFrame) -> str:
    """Return the coverage by truth and number of events."""
    rows = []
    for (truth, events), part in records.dropna(subset="covered").groupby(["truth", "events"], sort=False):
        shares = 100 * part["covered"]
        error = f" ({shares.sem():.1f})" if len(part) > 1 else ""
        rows.append((truth, f"{events:,}", f"{len(part)}", f"{shares.mean():.1f} %{error}"))
    return table(("truth", "events", "data sets", "coverage"), _sorted(rows))


def _sorted(rows: list[tuple]) -> list[tuple]:
    return sorted(rows, key=lambda row: (list(TRUTHS).index(row[0]), int(row[1].replace(",", ""))))


def _ratio(one: pd.Series, other: pd.Series) -> tuple[float, float]:
    """Return the ratio of two means of the same data sets, and its standard error."""
    ratio = one.mean() / other.mean()
    return float(ratio), float((one - ratio * other).sem() / other.mean())
