"""Speed of calibration: the whole assessment, and the calibrators, by number of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from benchmarks.report import table
from benchmarks.speed.timing import OthersLoad, compare
from gevglm import calibration

SIZES = (10_000, 100_000, 1_000_000)
REPEATS = 3

TEXT = """# Speed of calibration

Medians of {repeats} rounds in seconds; simulated predictions, all distinct, 2 % events. `assess` has everything: consistency band and
intervals by 500 resamples each, smooth curve, belt, tests. 'Growth' is the time at 1,000,000 rows over that at 100,000: about 10
for O(n) and 12 for O(n log n).

{rows}

Cores that other processes used meanwhile: {others:.2f}."""


def run() -> str:
    """Return a row for each task."""
    others = OthersLoad()
    seconds: dict[str, list[float]] = {}
    for n in SIZES:
        for task, timing in compare(_tasks(*_predicted(n)), REPEATS).items():
            seconds.setdefault(task, []).append(timing.seconds)
    rows = [
        (task, *(f"{time:.3f}" for time in times), f"{times[-1] / times[-2]:.1f}") for task, times in seconds.items()
    ]
    header = ("task", *(f"{n:,} rows" for n in SIZES), "growth")
    return TEXT.format(repeats=REPEATS, rows=table(header, rows), others=others.cores())


def _predicted(n: int) -> tuple[NDArray, NDArray]:
    rng = np.random.default_rng(n)
    p = expit(rng.normal(-4.6, 1.2, n))
    return (rng.random(n) < p).astype(float), p


def _tasks(y: NDArray, p: NDArray) -> dict[str, Callable[[], Any]]:
    score = logit(p)
    return {
        "assess": lambda: calibration.assess(y, p, rng=0),
        "assess, without band and belt": lambda: calibration.assess(y, p, band=None, belt=False, rng=0),
        "reliability with band": lambda: calibration.reliability(y, p, band="consistency", rng=0),
        "belt": lambda: calibration.calibration_belt(y, p),
        "Platt": lambda: calibration.Platt().fit(score, y),
        "asymmetric Laplace": lambda: calibration.AsymmetricLaplace().fit(score, y),
        "piecewise logistic, penalty given": lambda: calibration.PiecewiseLogistic(penalty=1.0).fit(score, y),
        "piecewise logistic, penalty by CV": lambda: calibration.PiecewiseLogistic().fit(score, y),
        "isotonic": lambda: calibration.Isotonic().fit(score, y),
        "beta": lambda: calibration.Beta().fit(p, y),
    }
