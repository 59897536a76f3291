"""Updates of a model: how often the closed test takes the step that is right, and what its choice costs in predictions."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from scipy.stats import chi2

from benchmarks.report import table
from gevglm import fit
from gevglm.exceptions import GevglmWarning

REPLICATIONS = 300
SIZES = (300, 1_000, 4_000)  # rows of the new data
STEPS = ("none", "constant", "slope", "refit")
TRUTHS = {  # constant, slope, and own effects of the new population
    "none": (0.0, 1.0, 0.0),
    "constant": (0.8, 1.0, 0.0),
    "slope": (-0.6, 0.45, 0.0),
    "refit": (0.0, 1.0, 0.8),
}
COEFFICIENTS = np.array([-2.6, 0.7, 0.5, -0.4, 0.3, 0.2])
OWN = np.array([0.0, -1.0, 1.0, 1.0, 0.0, 0.0])
JUDGED = 20_000  # rows that predictions are judged by

TEXT = """# Updates of a model by the closed test

Logit with five normal covariates; the model was developed on 200,000 rows with {events:.0f} % events. New data come from the same population ("none"), from one with
other constant (+0.8), other constant and slope (-0.6 and 0.45), or other effects of three covariates. Shares of {replications:,} replications in which `update(new)` did each step, at level
0.05; the last columns are the mean Kullback-Leibler distance of predicted from true risks in the new population, times 1,000, of the model before, after the closed test, after the step that is right, and after a refit. Monte Carlo
errors: of a share of 5 %, {error:.1f} points; of distances in brackets, for the closed test.

{rows_of_table}

Where nothing has changed, 5 % of the models should be changed; likelihood ratios in place of scores would change {ratios}.

With `bias="firth"` and {few} rows ({few_events:.0f} events in the mean) where nothing has changed, {firth:.1f} % are changed."""


def run(replications: int = REPLICATIONS) -> str:
    """Return the shares of steps and the distances by truth and size."""
    rng = np.random.default_rng(17)
    old = fit("y ~ x1 + x2 + x3 + x4 + x5", _sample(200_000, (0.0, 1.0, 0.0), rng))
    rows, ratios = [], []
    for truth, numbers in TRUTHS.items():
        judged = _columns(JUDGED, rng)
        risk = _risk(judged, numbers)
        for n in SIZES:
            steps, distances, by_ratio, events = _updates(old, truth, n, judged, risk, replications, rng)
            shares = [f"{100 * np.mean([step == done for done in steps]):.1f}" for step in STEPS]
            mean, error = 1e3 * distances.mean(axis=0), 1e3 * distances[:, 1].std(ddof=1) / np.sqrt(replications)
            cells = [f"{mean[0]:.2f}", f"{mean[1]:.2f} ({error:.2f})", f"{mean[2]:.2f}", f"{mean[3]:.2f}"]
            rows.append((truth, f"{n:,}", f"{events:.0f}", *shares, *cells))
            if truth == "none":
                ratios.append(f"{100 * by_ratio:.1f} % with {n:,} rows")
    header = (
        "right step",
        "rows",
        "events",
        *(f"{step}, %" for step in STEPS),
        "before",
        "closed test",
        "right",
        "refit",
    )
    firth = fit("y ~ x1 + x2 + x3 + x4 + x5", _sample(200_000, (0.0, 1.0, 0.0), rng), bias="firth")
    changed, events = _changed(firth, 150, replications, rng)
    return TEXT.format(
        events=100 * old.n_events / old.nobs,
        replications=replications,
        error=100 * np.sqrt(0.05 * 0.95 / replications),
        rows_of_table=table(header, rows),
        ratios=", ".join(ratios),
        few=150,
        few_events=events,
        firth=100 * changed,
    )


def _columns(n: int, rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(rng.standard_normal((n, 5)), columns=["x1", "x2", "x3", "x4", "x5"])


def _risk(columns: pd.DataFrame, truth: tuple[float, float, float]) -> np.ndarray:
    constant, slope, own = truth
    X = np.column_stack([np.ones(len(columns)), columns])
    return 1.0 / (1.0 + np.exp(-(constant + slope * (X @ COEFFICIENTS) + own * (X @ OWN) * 0.5)))


def _sample(n: int, truth: tuple[float, float, float], rng: np.random.Generator) -> pd.DataFrame:
    columns = _columns(n, rng)
    return columns.assign(y=(rng.random(n) < _risk(columns, truth)).astype(int))


def _distance(risk: np.ndarray, p: np.ndarray) -> float:
    return float(np.mean(risk * np.log(risk / p) + (1.0 - risk) * np.log((1.0 - risk) / (1.0 - p))))


def _updates(old, truth, n, judged, risk, replications, rng):
    steps, distances, rejected, events = [], [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)  # few events for the number of coefficients
        for _ in range(replications):
            new = _sample(n, TRUTHS[truth], rng)
            auto, refit = old.update(new), old.update(new, "refit")
            right = auto if auto.updated.how == truth else old.update(new, truth)
            steps.append(auto.updated.how)
            distances.append([_distance(risk, np.asarray(each.predict(judged))) for each in (old, auto, right, refit)])
            before = old.update(new, "none").llf if truth == "none" else refit.llf
            rejected.append(2.0 * (refit.llf - before) > chi2.isf(0.05, len(COEFFICIENTS)))
            events.append(new["y"].sum())
    return steps, np.array(distances), float(np.mean(rejected)), float(np.mean(events))


def _changed(old, n, replications, rng):
    changed, events = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)
        for _ in range(replications):
            new = _sample(n, TRUTHS["none"], rng)
            changed.append(old.update(new).updated.how != "none")
            events.append(new["y"].sum())
    return float(np.mean(changed)), float(np.mean(events))
