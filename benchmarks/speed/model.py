"""Speed of the model: fits with standard errors, from arrays and from formulas, and of the import."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

import gevglm
from benchmarks.report import table
from benchmarks.speed.simulate import rare_events
from benchmarks.speed.timing import compare

IMPORT = (
    "import time; t = time.perf_counter(); {first}; s = time.perf_counter(); {second}; print(time.perf_counter() - s)"
)


def run() -> str:
    """Return the tables."""
    rows = []
    for n, k, repeats in ((100_000, 20, 5), (1_000_000, 20, 3)):
        X, y = rare_events(n, k)
        rows.append(
            _row(
                f"arrays, {n:,} x {k}",
                lambda X=X, y=y: gevglm.fit(y, X, link="logit").bse,
                lambda X=X, y=y: sm.GLM(y, X, family=sm.families.Binomial()).fit().bse,
                "20",
                repeats,
            )
        )
    for n, n_numeric, goal, repeats in ((200, 3, "1", 5), (1_000_000, 18, "10", 3)):
        data, formula = _table(n, n_numeric)
        rows.append(
            _row(
                f"formula, {n:,} x {n_numeric} and a factor",
                lambda d=data, f=formula: gevglm.fit(f, d, link="logit").bse,
                lambda d=data, f=formula: smf.glm(f, d, family=sm.families.Binomial()).fit().bse,
                goal,
                repeats,
            )
        )
    head = ["fit with standard errors", "gevglm, ms", "sm.GLM, ms", "sm.GLM / gevglm", "goal"]
    return f"# Speed of the model\n\n{table(head, rows)}\n\n`import gevglm` adds {_import_seconds():.2f} s to importing statsmodels' GLM (goal < 0.15)."


def _row(name: str, ours, theirs, goal: str, repeats: int) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = compare({"ours": ours, "theirs": theirs}, repeats, {"theirs": 1 if repeats == 3 else repeats})
    mine, other = times["ours"].seconds, times["theirs"].seconds
    return [name, f"{1e3 * mine:,.1f}", f"{1e3 * other:,.1f}", f"{other / mine:.1f}", f">= {goal}"]


def _table(n: int, n_numeric: int) -> tuple[pd.DataFrame, str]:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({f"x{j}": rng.standard_normal(n) for j in range(n_numeric)})
    data["g"] = rng.choice(["a", "b", "c"], n)
    rate = 0.03 if n > 10_000 else 0.3
    data["y"] = (rng.random(n) < 1 / (1 + np.exp(-(np.log(rate / (1 - rate)) + 0.3 * data.x0)))).astype(int)
    return data, "y ~ " + " + ".join(f"x{j}" for j in range(n_numeric)) + " + g"


def _import_seconds() -> float:
    code = IMPORT.format(first="from statsmodels.genmod.generalized_linear_model import GLM", second="import gevglm")
    installed = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def seconds() -> float:
        return float(
            subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=installed).stdout
        )

    seconds()  # compiles, as installing does
    return sorted(seconds() for _ in range(5))[2]
