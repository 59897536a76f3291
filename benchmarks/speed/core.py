"""Fits with standard errors, from arrays and from formulas, against the peers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

import gevglm
from benchmarks.speed.peers import peers
from benchmarks.speed.record import OURS, Task
from benchmarks.speed.simulate import rare_events

SMALL = ((200, 4, 0.2), (1_000, 5, 0.1), (5_000, 10, 0.03))  # rows, columns, share of events
LARGE = ((100_000, 20, 0.03), (1_000_000, 20, 0.03), (100_000, 100, 0.03))


def tasks(tiny: bool = False) -> list[Task]:
    """Return a task for each size."""
    sizes = [(*size, {"sm.GLM": 4.0}, 1.5) for size in SMALL] + [(*size, {"sm.GLM": 20.0}, 3.0) for size in LARGE]
    found = []
    for n, k, rate, goals, least in sizes:
        others = dict.fromkeys(("sm.Logit", "scikit-learn newton-cholesky", "glum"), least)
        shape = (200, 4, 0.2) if tiny else (n, k, rate)
        found.append(Task("fit with standard errors", f"{n:,} x {k}", lambda s=shape: _fits(*s), goals | others))
    for n, goal in ((200, 3.0), (1_000_000, 10.0)):
        rows = 200 if tiny else n
        size = f"{n:,} x 3 and a factor"
        found.append(Task("formula", size, lambda n=rows: _formulas(n), {"smf.glm": goal}))
    return found


def _fits(n: int, k: int, rate: float) -> Mapping[str, Callable[[], Any]]:
    X, y = rare_events(n, k, rate=rate)
    return {OURS: lambda: gevglm.fit(y, X, link="logit").bse} | peers(X, y)


def _formulas(n: int) -> Mapping[str, Callable[[], Any]]:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({f"x{j}": rng.standard_normal(n) for j in range(3)}).assign(g=rng.choice(["a", "b", "c"], n))
    data["y"] = (rng.random(n) < 1 / (1 + np.exp(1.0 - 0.3 * data.x0))).astype(int)
    formula = "y ~ x0 + x1 + x2 + g"

    def theirs() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return smf.glm(formula, data, family=sm.families.Binomial()).fit().bse

    return {OURS: lambda: gevglm.fit(formula, data, link="logit").bse, "smf.glm": theirs}
