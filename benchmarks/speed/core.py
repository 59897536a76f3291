"""Speed of the solver with its inverse Hessian, against the peers and against its own lower bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import table
from benchmarks.speed.peers import peers
from benchmarks.speed.simulate import rare_events
from benchmarks.speed.timing import OthersLoad, Timing, compare
from gevglm.engine import MemoryEngine
from gevglm.engine.base import ArraySum, Block
from gevglm.engine.linalg import one_blas_thread, weighted_gram
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.links import GEV, Logit
from gevglm.losses import Canonical, Log, Loss

SIZES = ((1_000, 5), (100_000, 20), (1_000_000, 20), (100_000, 100))
BASE = "sm.GLM"
OURS, OURS_GEV, PASS = "gevglm logit", "gevglm GEV(0.3) canonical", "one X'WX pass"

TEXT = """# Speed of the core

Medians of 5 runs that take turns in one process on the same data (3 % events; sm.GLM at 1,000,000 rows: 3 runs).
Ours and statsmodels' times include the inverse Hessian; scikit-learn and glum compute none. 'Difference' is the
largest absolute difference of a coefficient from sm.GLM's. A pass is X'WX over the same blocks with the same
threads; the solver's passes exclude those over a part of the rows for starting values, its time includes them.
Ratios hold on a quiet machine only: while other processes work, sm.GLM loses far more time than ours does.

## Against the goals

{goals}

## Times

{times}"""


def run() -> str:
    """Return both tables."""
    goals, times = [], []
    for n, k in SIZES:
        others = OthersLoad()
        timings = _measure(n, k)
        goals.append((*_goals(n, k, timings), f"{others.cores():.2f}"))
        times += _times(n, k, timings)
    header = (
        "rows x columns",
        "sm.GLM / ours (goal >= 20)",
        "fastest other peer / ours (goal >= 2; 1,000 x 5: > 1)",
        "ours / (passes x pass) (goal <= 2)",
        "GEV-canonical / logit (goal <= 1.5)",
        "cores other processes used",
    )
    return TEXT.format(
        goals=table(header, goals),
        times=table(
            ("rows x columns", "fit", "milliseconds", "slowest / fastest", "times ours", "passes", "difference"), times
        ),
    )


def _measure(n: int, k: int) -> dict[str, Timing]:
    X, y = rare_events(n, k)
    weights = np.full(n, 0.03)

    def fit(loss: Loss) -> Estimate:
        return Problem(MemoryEngine(X, y), loss, constant=0).estimate()

    def gram(block: Block) -> NDArray:
        return weighted_gram(block.X, weights[block.start : block.start + len(block.y)])

    def one_pass() -> NDArray:
        with one_blas_thread():
            return MemoryEngine(X, y).reduce(ArraySum(gram))

    ours = {OURS: lambda: fit(Log(Logit())), OURS_GEV: lambda: fit(Canonical(GEV(0.3))), PASS: one_pass}
    return compare(ours | peers(X, y), fewer={BASE: 3} if n >= 1_000_000 else None)


def _goals(n: int, k: int, timings: dict[str, Timing]) -> tuple[str, ...]:
    ours = timings[OURS].seconds
    others = {name: t.seconds / ours for name, t in timings.items() if name not in (BASE, OURS, OURS_GEV, PASS)}
    fastest = min(others, key=others.__getitem__)
    passes = timings[OURS].result.n_passes
    return (
        f"{n:,} x {k}",
        f"{timings[BASE].seconds / ours:.1f}",
        f"{others[fastest]:.2f} ({fastest})",
        f"{ours / (passes * timings[PASS].seconds):.2f}",
        f"{timings[OURS_GEV].seconds / ours:.2f}",
    )


def _times(n: int, k: int, timings: dict[str, Timing]) -> list[tuple[str, ...]]:
    ours, base = timings[OURS].seconds, timings[BASE].result
    rows = []
    for name, timing in timings.items():
        result = timing.result
        passes = str(result.n_passes) if isinstance(result, Estimate) else ""
        params = result.params if name == OURS else result
        difference = "" if name in (BASE, OURS_GEV, PASS) else f"{np.abs(params - base).max():.0e}"
        milliseconds = f"{timing.seconds * 1e3:,.2f}"
        ratios = f"{timing.spread:.1f}", f"{timing.seconds / ours:.2f}"
        rows.append((f"{n:,} x {k}", name, milliseconds, *ratios, passes, difference))
    return rows
