"""Speed of many small fits at once: bootstraps and simulated outcomes, against loops over single fits."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import gevglm
from benchmarks.report import table
from benchmarks.speed.record import OURS, Task
from benchmarks.speed.simulate import rare_events
from benchmarks.speed.timing import compare

FITS = 2_000
LOOP = 50  # fits of a loop that are timed
LOGIT, SINGLY = "a loop over sm.Logit", "a loop over gevglm.fit"
GOALS = {LOGIT: 10.0, SINGLY: 4.0}

TEXT = """# Speed of many fits at once

Microseconds per fit with standard errors, medians of 5 rounds in one process on the same data, BLAS at one thread for all. `fit_many` makes {fits:,}
fits (200 of 20,000 rows), the loops {loop}. Bootstraps have one outcome and weights by resample, simulations one design and many outcomes; sm.Logit is
given repeated rows. 'Difference' is the largest between coefficients of `fit_many` and of the loop over `fit`, in standard errors.

{rows}

Seconds of methods of results that refit: 1,000 x 5, 400 resamples for the risk, 50 for the optimism.

{methods}"""


def tasks(tiny: bool = False) -> list[Task]:
    """Return the task: all fits at once, against loops that are timed on a few of them."""
    n, fits, loop = (200, 6, 3) if tiny else (1_000, FITS, LOOP)
    return [Task("bootstrap fits", f"{FITS:,} of 1,000 x 5", partial(_measured, n, fits, loop), GOALS, measured=True)]


def _measured(n: int, fits: int, loop: int) -> Mapping[str, Callable[[], float]]:
    """Return calls that take the time, in seconds, of so many fits, BLAS at one thread for all."""
    X, y = rare_events(n, 5, rate=0.1)
    made = {OURS: fits, LOGIT: loop, SINGLY: loop}

    def seconds(call: Callable[[], Any], count: int) -> float:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            call()
            return (time.perf_counter() - start) * fits / count

    calls = _calls(X, y, fits, loop, True, link="logit")
    return {name: partial(seconds, call, made[name]) for name, call in calls.items()}


def run() -> str:
    """Return the tables."""
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, k, fits in ((1_000, 5, FITS), (1_000, 20, FITS), (5_000, 10, FITS), (20_000, 20, 200)):
            X, y = rare_events(n, k, rate=0.1)
            rows.append(_row("bootstrap", X, y, fits, True, link="logit"))
        X, y = rare_events(1_000, 5, rate=0.1)
        rows.append(_row("simulation", X, y, FITS, False, link="logit"))
        for task, words in (("Firth", {"link": "logit", "bias": "firth"}), ("GEV canonical", {"xi": 0.3})):
            rows.append(_row(f"bootstrap, {task}", X, y, FITS, True, **words))
        rows.append(_row("bootstrap, GEV log", X, y, FITS, True, xi=0.3, loss="log"))
        rows.append(_row("bootstrap, probit", X, y, FITS, True, link="probit"))
        methods = _methods(X, y)
    header = ("task", "rows x columns", "fit_many, us", "sm.Logit / ours", "goal", "fit / ours", "goal", "difference")
    shown = table(header, rows)
    return TEXT.format(fits=FITS, loop=LOOP, rows=shown, methods=table(("method", "seconds"), methods))


def _row(task: str, X: NDArray, y: NDArray, fits: int, by_weights: bool, **words: Any) -> tuple[str, ...]:
    n, k = X.shape
    times = compare(_calls(X, y, fits, LOOP, by_weights, **words))
    ours, found = times[OURS].seconds / fits, times[OURS].result
    single = np.array([params for params, _ in times[SINGLY].result])
    difference = np.nanmax(np.abs(found.params.to_numpy()[:LOOP] - single) / found.bse.to_numpy()[:LOOP])
    told = (task, n, k) == ("bootstrap", 1_000, 5)
    ratios = [
        (f"{times[name].seconds / LOOP / ours:.1f}", f">= {goal:g}" if told else "") if name in times else ("", "")
        for name, goal in GOALS.items()
    ]
    return (task, f"{n:,} x {k}", f"{ours * 1e6:,.0f}", *ratios[0], *ratios[1], f"{difference:.0e}")


def _calls(
    X: NDArray, y: NDArray, fits: int, loop: int, by_weights: bool, **words: Any
) -> dict[str, Callable[[], Any]]:
    """Return all fits at once, and loops over the first of them; sm.Logit has no words for other links."""
    n = len(y)
    rng = np.random.default_rng(1)
    if by_weights:
        W = rng.multinomial(n, np.full(n, 1.0 / n), size=fits).T.astype(float)
        many = partial(gevglm.fit_many, y, X, weights=W, **words)
        ones = [(y, X, {"freq_weights": W[:, j]}) for j in range(loop)]
        again = [np.repeat(np.arange(n), W[:, j].astype(int)) for j in range(loop)]
        rows = [(y[drawn], X[drawn]) for drawn in again]
    else:
        p = np.asarray(gevglm.fit(y, X, link="logit").predict())
        Y = (rng.random((n, fits)) < p[:, None]).astype(float)
        many = partial(gevglm.fit_many, X, outcomes=Y, **words)
        ones = [(Y[:, j], X, {}) for j in range(loop)]
        rows = [(Y[:, j], X) for j in range(loop)]
    calls: dict[str, Callable[[], Any]] = {
        OURS: many,
        SINGLY: lambda: [_with_errors(gevglm.fit(a, b, **weights, **words)) for a, b, weights in ones],
    }
    if words == {"link": "logit"}:
        calls[LOGIT] = lambda: [_with_errors(sm.Logit(a, b).fit(disp=0)) for a, b in rows]
    return calls


def _with_errors(fitted: Any) -> tuple[NDArray, NDArray]:
    return np.asarray(fitted.params), np.asarray(fitted.bse)


def _methods(X: NDArray, y: NDArray) -> list[tuple[str, str]]:
    data = pd.DataFrame(X[:, 1:], columns=[f"x{j}" for j in range(1, X.shape[1])]).assign(y=y)
    results = gevglm.fit("y ~ x1 + x2 + x3 + x4", data, link="logit")
    calls = {
        'risk(method="bootstrap")': lambda: results.risk("x1", method="bootstrap", draws=400, rng=1),
        'calibration(resampling="bootstrap")': lambda: results.calibration(resampling="bootstrap", resamples=50, rng=1),
        'calibration(resampling="cv")': lambda: results.calibration(resampling="cv", rng=1),
    }
    return [(name, f"{timing.seconds:.3f}") for name, timing in compare(calls, 3).items()]
