"""Averages over links against the truth: errors of the risks beside those of the best single link, and coverage of the intervals.

``python -m benchmarks simulation.averaging`` draws the data sets that the records lack, and writes the tables.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logit
from scipy.stats import t as student

import gevglm
from benchmarks.report import RESULTS, table
from benchmarks.simulation.averaging_again import bootstrapped
from gevglm.averaging.prediction import CLOSEST
from gevglm.links import GEV, GEVc, Logit, Probit

RECORDS = RESULTS / "simulation" / "averaging.csv"
COVERAGE = RESULTS / "simulation" / "averaging_coverage.csv"
SHARE = 0.1  # of events
EVENTS = (100, 300, 1000)
FIRST, SETS = 100, 30  # seed of the first data set of a cell, and their number
WITH_INTERVALS = {100: 30, 300: 20, 1000: 10}  # data sets of each cell, for the coverage
RESAMPLES, NEW_ROWS, NEW_INTERVALS = 12, 2_000, 300
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
{NEW_ROWS:,} new rows, in multiples of that of the *best single link*: the candidate whose error is least on average over the data sets, which an oracle would
have to name beforehand. All candidates, the best one too, are as the procedure fits them, each with its own penalty by cross-validation. *Picked*: the single
candidate with the least held-out log loss, what one gets without an oracle and without averaging. *Best of each data set*: the candidate whose error is least
there, which nobody can know. Monte Carlo standard errors in brackets.

{{errors}}

Intervals of {NEW_INTERVALS} of the new rows by the bootstrap of the whole procedure ({RESAMPLES} resamples; `averaging_again.py`, which is `average_links` written
again): share of rows whose 95 % interval holds the true risk. *Symmetric*: symmetric for the log odds, what predictions have, for all rows and for those whose true
risk is at least 1 %. *Bias corrected*: of the same width, about the log odds less their bias by the bootstrap. The Monte Carlo standard error is that over data sets.

{{coverage}}
"""


def run() -> str:
    """Draw what the records lack, return the tables."""
    draw_missing(RECORDS, dict.fromkeys(EVENTS, SETS), errors)
    draw_missing(COVERAGE, WITH_INTERVALS, coverage)
    return tables(pd.read_csv(RECORDS), pd.read_csv(COVERAGE))


def tables(errors: pd.DataFrame, covered: pd.DataFrame) -> str:
    """Return the tables of the records."""
    return TEXT.format(errors=errors_table(errors), coverage=coverage_table(covered))


def draw_missing(path: Path, sets: Mapping[int, int], look: Callable[[str, int, int], dict[str, float]]) -> None:
    """Append the data sets that are not in the file, those of all cells in turn."""
    done = set()
    if path.exists():
        done = set(pd.read_csv(path)[["truth", "events", "seed"]].itertuples(index=False, name=None))
    seeds = range(FIRST, FIRST + max(sets.values()))
    cells = [
        (truth, events, seed) for seed in seeds for events in sets for truth in TRUTHS if seed < FIRST + sets[events]
    ]
    for truth, events, seed in cells:
        if (truth, events, seed) not in done:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = {"truth": truth, "events": events, "seed": seed} | look(truth, events, seed)
            pd.DataFrame([found]).to_csv(path, mode="a", header=not path.exists(), index=False, float_format="%.5g")


def errors(truth: str, events: int, seed: int) -> dict[str, float]:
    """Return the errors of the average, of the candidate with the least held-out log loss, and of all candidates in one data set."""
    y, X, new, p = sample(truth, events, seed)
    average = gevglm.average_links(y, X)
    single = {name: np.abs(fit.predict(new) - p).mean() for name, fit in average.fits.items()}
    own = np.abs(average.predict(new) - p).mean()
    return {"average": own, "picked": single[average.weights["log_loss"].idxmin()]} | single


def coverage(truth: str, events: int, seed: int) -> dict[str, float]:
    """Return the share of new rows whose true risk is in the interval, for each kind of interval."""
    y, X, new, p = sample(truth, events, seed)
    new, true = new[:NEW_INTERVALS], logit(np.clip(p[:NEW_INTERVALS], CLOSEST, 1.0 - CLOSEST))
    drawn = bootstrapped(X, y, new, RESAMPLES, np.random.default_rng(seed))
    middle, *draws = logit(np.clip(drawn, CLOSEST, 1.0 - CLOSEST))
    reach = student.isf(0.025, RESAMPLES - 1) * np.std(draws, axis=0, ddof=1)
    held = np.abs(middle - true) <= reach
    corrected = np.abs(2.0 * middle - np.mean(draws, axis=0) - true) <= reach
    return {
        "symmetric": held.mean(),
        "from 1 %": held[p[:NEW_INTERVALS] >= 0.01].mean(),
        "bias corrected": corrected.mean(),
    }


def sample(truth: str, events: int, seed: int) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return outcomes and rows of a data set, with new rows and their true risks."""
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
    return y, X[:n], X[n:], p[n:]


def predictors(rng: np.random.Generator, n: int) -> NDArray:
    """Return the columns without the constant."""
    normal = rng.standard_normal((n, 4))
    normal[:, 1] = 0.5 * normal[:, 0] + np.sqrt(0.75) * normal[:, 1]
    return np.hstack([normal, rng.random((n, 2)) < (0.5, 0.2)])


def errors_table(records: pd.DataFrame) -> str:
    """Return a row per truth and number of events, one of their means, and the means beside an oracle that knows less."""
    rows, means = [], []
    for (truth, events), part in records.groupby(["truth", "events"], sort=False):
        single = part.drop(columns=["truth", "events", "seed", "average", "picked"])
        best = single.mean().idxmin()
        elsewhere = (single.sum() - single).idxmin(axis=1)
        named = pd.Series([single.loc[i, name] for i, name in elsewhere.items()], index=part.index)
        beside = [("average", single[best]), ("picked", single[best]), ("average", single.min(axis=1))]
        beside += [("average", named), ("picked", named)]
        ratios = [_ratio(part[of], oracle) for of, oracle in beside]
        means.append(ratios)
        cells = [_with_error(*each) for each in ratios[:3]]
        rows.append((truth, f"{events:,}", f"{len(part)}", best, f"{single[best].mean():.5f}", *cells))
    total = np.array(means)
    last = [
        _with_error(r, e)
        for r, e in zip(total[..., 0].mean(0), np.linalg.norm(total[..., 1], axis=0) / len(total), strict=True)
    ]
    header = ("truth", "events", "data sets", "best single link", "its error", "average", "picked", "average, to the best of each data set")  # fmt: skip
    return (
        table(header, [*_sorted(rows), ("mean", "", f"{len(records)}", "", "", *last[:3])])
        + "\n\nThe best link of a cell is known from these data sets only, and is more than one could know beforehand. Beside the candidate that is best in the "
        f"*other* data sets of the cell, which is less than an oracle knows, the means are {last[3]} for the average and {last[4]} for the link that is picked."
    )


def _with_error(value: float, error: float) -> str:
    return f"{value:.3f} ({error:.3f})"


def coverage_table(records: pd.DataFrame) -> str:
    """Return the coverage by truth and number of events."""
    kinds, rows = ("symmetric", "from 1 %", "bias corrected"), []
    for (truth, events), part in records.groupby(["truth", "events"], sort=False):
        shares = 100 * part[list(kinds)]
        cells = [
            f"{shares[kind].mean():.1f} %" + (f" ({shares[kind].sem():.1f})" if len(part) > 1 else "") for kind in kinds
        ]
        rows.append((truth, f"{events:,}", f"{len(part)}", *cells))
    return table(
        ("truth", "events", "data sets", "symmetric", "symmetric, risks from 1 %", "bias corrected"), _sorted(rows)
    )


def _sorted(rows: list[tuple]) -> list[tuple]:
    return sorted(rows, key=lambda row: (list(TRUTHS).index(row[0]), int(row[1].replace(",", ""))))


def _ratio(one: pd.Series, other: pd.Series) -> tuple[float, float]:
    """Return the ratio of two means of the same data sets, and its standard error."""
    ratio = one.mean() / other.mean()
    return float(ratio), float((one - ratio * other).sem() / other.mean())
