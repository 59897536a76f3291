"""Coverage of intervals for the shape and for coefficients, when the shape is estimated and when that is ignored."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

import gevglm
from benchmarks.report import table
from gevglm.links import GEV

TRUTHS = {-0.4: -1.389, 0.0: -1.21, 0.3: -1.105}  # shape, and the constant that makes about 8 % of the outcomes events
SLOPES = (0.4, 0.3)
ROWS, REPLICATIONS = 5_000, 500
NAMES = ("constant", "x1", "x2")

TEXT = f"""# Coverage when the shape is estimated

GEV link, log loss, {ROWS:,} rows, a standard normal and a binary predictor with coefficients {SLOPES[0]} and {SLOPES[1]}, {REPLICATIONS} replications
for each shape. Coverage of 95 % intervals in per cent; its Monte Carlo standard error is about 1. 'Ignoring xi' are Wald
intervals of the fit with xi fixed at its estimate, as if it had been known. 'Boundary' counts fits whose likelihood was largest at an end
of the grid; they count as covered if the interval holds the truth, which Wald's of xi, of which there is none there, does not.

{{rows}}"""


def run() -> str:
    """Return a row for each true shape."""
    rows = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for xi, constant in TRUTHS.items():
            found = np.array(list(pool.map(partial(replicate, xi, constant), range(REPLICATIONS), chunksize=10)))
            rate, boundary, *covered = found.mean(axis=0)
            rows.append(
                (f"{xi:g}", f"{100 * rate:.1f}", f"{boundary * REPLICATIONS:.0f}", *(f"{100 * c:.1f}" for c in covered))
            )
    header = (
        "xi",
        "events, %",
        "boundary",
        "xi, profile",
        "xi, Wald",
        *(f"{name}, ours" for name in NAMES),
        *(f"{name}, ignoring xi" for name in NAMES),
    )
    return TEXT.format(rows=table(header, rows))


def replicate(xi: float, constant: float, seed: int) -> NDArray:
    """Return event rate, boundary, and which intervals hold the truth, of one data set."""
    rng = np.random.default_rng([2014, seed])
    X = np.column_stack([np.ones(ROWS), rng.standard_normal(ROWS), rng.random(ROWS) < 0.5])
    truth = np.array([constant, *SLOPES])
    y = (rng.random(ROWS) < GEV(xi).inverse(X @ truth)).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = gevglm.fit(y, X, link="gev", loss="log", xi="ml")
        fixed = gevglm.fit(y, X, link="gev", loss="log", xi=res.xi)
        shape = [low <= xi <= high for low, high in (res.xi_conf_int(), res.xi_conf_int(method="wald"))]
    covered = [((fit.conf_int() - truth[:, None]) * [1, -1] <= 0).all(axis=1) for fit in (res, fixed)]
    return np.concatenate([[y.mean(), res._shape.boundary], shape, *covered]).astype(float)
