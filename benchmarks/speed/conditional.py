"""Matched sets by their conditional likelihood, against the exact method of R's survival; and one set of 10,000 rows."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

import gevglm
from benchmarks.speed.record import OURS, Task

EXACT = """suppressMessages(library(survival)); d <- read.csv(file("stdin"))
fit <- function() sqrt(diag(vcov(clogit(y ~ x1 + x2 + strata(set), d, method = "exact"))))
invisible(fit()); cat(system.time(fit())[["elapsed"]])"""


def tasks(tiny: bool = False) -> list[Task]:
    """Return many small sets, beside R where there is one, and a large one."""
    found = []
    if shutil.which("Rscript"):
        sizes = {"20,000 sets of 5, 1 case": (20_000, 5, 1), "20,000 sets of 10, 2 cases": (20_000, 10, 2)}
        for name, (sets, rows, cases) in sizes.items():
            shape = (20 if tiny else sets, rows, cases)
            found.append(
                Task("matched sets", name, lambda shape=shape: _beside_r(*shape), {"survival": 2.0}, measured=True)
            )
    large = (1, 200, 40) if tiny else (1, 10_000, 50)
    return [*found, Task("matched sets, one large", "10,000 rows, 50 cases", lambda: _large(*large), limit=10.0)]


def simulated(sets: int, rows: int, cases: int, seed: int = 1) -> pd.DataFrame:
    """Return sets of equally many rows, whose cases are drawn with log odds 0.5 x1 - 0.3 x2."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sets, rows, 2))
    keys = X @ [0.5, -0.3] + rng.gumbel(size=(sets, rows))  # the largest are the cases
    y = (np.argsort(np.argsort(-keys, axis=1), axis=1) < cases).astype(int)
    table = pd.DataFrame(X.reshape(-1, 2), columns=["x1", "x2"])
    return table.assign(set=np.repeat(np.arange(sets), rows), y=y.ravel())


def _fit(data: pd.DataFrame) -> Any:
    return gevglm.fit("y ~ x1 + x2", data, strata="set").bse


def _large(*shape: int) -> Mapping[str, Callable[[], Any]]:
    data = simulated(*shape)
    return {OURS: lambda: _fit(data)}


def _beside_r(*shape: int) -> Mapping[str, Callable[[], float]]:
    data = simulated(*shape)
    text = data.to_csv(index=False)
    _fit(data)  # as R does before it looks at the clock

    def ours() -> float:
        start = time.perf_counter()
        _fit(data)
        return time.perf_counter() - start

    def survival() -> float:
        run = subprocess.run(["Rscript", "-e", EXACT], input=text, capture_output=True, text=True, check=True)
        return float(run.stdout)

    return {OURS: ours, "survival": survival}
