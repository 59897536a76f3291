"""The shape by a part of the rows and joint steps, against the search over the whole grid: the same maximum, the same limits."""

from __future__ import annotations

import itertools
import os
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import gevglm
from benchmarks.report import table
from gevglm.inference import shape
from gevglm.links import GEV

ROWS = 200_000
TRUTHS = (-0.7, -0.4, -0.2, 0.0, 0.3, 0.6, 1.0)
PREDICTORS = ("normal", "heavy tails", "binary")
ORDERS = ("random", "by the outcome", "by a predictor")
LOSSES = ("log", "canonical")

TEXT = f"""# Two searches for the shape

{ROWS:,} rows, two predictors, 4 to 12 % events, every combination of the true shape ({", ".join(f"{xi:g}" for xi in TRUTHS)}), the predictors
({", ".join(PREDICTORS)}), the order of the rows ({", ".join(ORDERS)}) and the loss. 'Nearby' counts the sets in which the maximum was found from a part of
the rows; elsewhere both are the same search. Differences are the largest over these sets: of the shape and of its 95 % profile limits, in standard errors
by the information; and of the log-likelihood, that of the grid minus ours.

{{rows}}"""


def run() -> str:
    """Return a row for each loss and order of the rows."""
    rows = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for loss, order in itertools.product(LOSSES, ORDERS):
            sets = list(itertools.product([loss], [order], TRUTHS, PREDICTORS))
            found = np.array(list(pool.map(differences, *zip(*sets, strict=True))))
            nearby = found[found[:, 0] > 0]
            worst = np.nanmax(nearby[:, 1:], axis=0) if len(nearby) else np.full(3, np.nan)
            rows.append((loss, order, f"{len(nearby)} of {len(sets)}", *(f"{number:.1g}" for number in worst)))
    header = ("loss", "rows sorted", "nearby", "shape", "limits", "log-likelihood")
    return TEXT.format(rows=table(header, rows))


def differences(loss: str, order: str, xi: float, predictors: str) -> tuple[float, float, float, float]:
    """Return whether the maximum was found nearby, and how far shape, limits and log-likelihood are from those of the grid."""
    rng = np.random.default_rng([18, TRUTHS.index(xi), PREDICTORS.index(predictors)])
    Z = rng.standard_normal((ROWS, 2)) if predictors != "heavy tails" else rng.standard_t(4, (ROWS, 2)).clip(-8.0, 8.0)
    if predictors == "binary":
        Z[:, 1] = Z[:, 1] > 0
    X = np.column_stack([np.ones(ROWS), Z])
    p = GEV(xi).inverse(X @ [-1.15, 0.45, 0.35])
    y = (rng.random(ROWS) < p).astype(float)
    keys = {"random": np.arange(ROWS), "by the outcome": y, "by a predictor": Z[:, 0]}
    rows = np.argsort(keys[order], kind="stable")
    X, y = X[rows], y[rows]

    ours = _fitted(y, X, loss)
    search = shape.maximum_nearby
    shape.maximum_nearby = lambda path, grid: None
    try:
        theirs = _fitted(y, X, loss)
    finally:
        shape.maximum_nearby = search
    (found, limits), (expected, bounds) = ours, theirs
    nearby = found._results._shape.found is not None
    error = expected.xi_bse if np.isfinite(expected.xi_bse) else 1.0
    gain = expected._results._shape.llf - found._results._shape.llf
    return nearby, abs(found.xi - expected.xi) / error, np.abs(limits - bounds).max() / error, gain


def _fitted(y, X, loss: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = gevglm.fit(y, X, link="gev", loss=loss, xi="ml")
        return fit, np.asarray(fit.xi_conf_int())
