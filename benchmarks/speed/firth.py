"""Speed of Firth's logistic regression and its profile inference, against firthmodels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from firthmodels import FirthLogisticRegression

import gevglm
from benchmarks.report import table
from benchmarks.speed.simulate import rare_events
from benchmarks.speed.timing import OthersLoad, compare

SIZES = ((20_000, 20), (100_000, 20))
GOALS = {"fit": 5, "fit and all likelihood-ratio tests": None, "all profile intervals": 10}
TIGHT = {"gtol": 1e-8, "xtol": 1e-8, "max_iter": 100}

TEXT = """# Speed of Firth's logistic regression

Medians of 5 rounds (of 2, for inference at 100,000 rows) in one process on the same data, 3 % events, against
firthmodels with its own tolerance (1e-4) and with one near ours (1e-8). 'Difference' is the largest between ours and
firthmodels' tight results.

{rows}"""


def run() -> str:
    """Return a row for each size and task."""
    rows = []
    for n, k in SIZES:
        X, y = rare_events(n, k)
        for task, calls in _tasks(X, y).items():
            others = OthersLoad()
            heavy = n > 50_000 and task != "fit"
            times = compare(calls, 2 if heavy else 5)
            ours = times["gevglm"].seconds
            difference = np.abs(times["gevglm"].result - times["tight"].result).max()
            ratios = [f"{times[name].seconds / ours:.1f}" for name in ("default", "tight")]
            goal = f">= {GOALS[task]}" if GOALS[task] else ""
            rows.append(
                (
                    f"{n:,} x {k}",
                    task,
                    f"{ours * 1e3:,.1f}",
                    *ratios,
                    goal,
                    f"{difference:.0e}",
                    f"{others.cores():.2f}",
                )
            )
    header = (
        "rows x columns",
        "task",
        "gevglm, ms",
        "firthmodels / ours",
        "firthmodels tight / ours",
        "goal",
        "difference",
        "cores other processes used",
    )
    return TEXT.format(rows=table(header, rows))


def _tasks(X: np.ndarray, y: np.ndarray) -> dict[str, dict[str, Callable[[], Any]]]:
    without = np.ascontiguousarray(X[:, 1:])

    def ours(then: Callable[[Any], Any]) -> Callable[[], Any]:
        return lambda: then(gevglm.fit(y, X, link="logit", bias="firth"))

    def theirs(then: Callable[[Any], Any], **options: Any) -> Callable[[], Any]:
        return lambda: then(FirthLogisticRegression(**options).fit(without, y))

    def tests(fit: FirthLogisticRegression) -> np.ndarray:
        fit.lrt()
        return fit.lrt_pvalues_

    pairs = {
        "fit": (lambda fit: fit.params[1:], lambda fit: fit.coef_),
        "fit and all likelihood-ratio tests": (
            lambda fit: np.roll(fit.lr_tests()["pvalue"].to_numpy(), -1),
            tests,
        ),
        "all profile intervals": (
            lambda fit: np.roll(fit.conf_int(method="profile"), -1, axis=0),
            lambda fit: fit.conf_int(method="pl"),
        ),
    }
    return {
        task: {"gevglm": ours(mine), "default": theirs(other), "tight": theirs(other, **TIGHT)}
        for task, (mine, other) in pairs.items()
    }
