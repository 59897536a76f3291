"""Firth's logistic regression and its profile intervals, against firthmodels with its own tolerance and with one near ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import gevglm
from benchmarks.speed.record import OURS, Task
from benchmarks.speed.simulate import rare_events

SIZES = ((2_000, 5), (20_000, 20), (100_000, 20))
TIGHT = {"gtol": 1e-8, "xtol": 1e-8, "max_iter": 100}
THEIRS: dict[str, dict[str, Any]] = {"firthmodels": {}, "firthmodels, tight": TIGHT}
PROFILED = 20_000  # rows up to which profile intervals are timed: firthmodels takes minutes beyond


def tasks(tiny: bool = False) -> list[Task]:
    """Return a task for each size: the fit, and all profile intervals."""
    found = []
    for n, k in SIZES:
        shape = (300, 3) if tiny else (n, k)
        size = f"{n:,} x {k}"
        found.append(Task("Firth, fit", size, lambda s=shape: _fits(*s), {"firthmodels": 5.0}))
        if n <= PROFILED:
            found.append(Task("Firth, profile", size, lambda s=shape: _profiles(*s), {"firthmodels": 15.0}))
    return found


def _fits(n: int, k: int) -> Mapping[str, Callable[[], Any]]:
    return _calls(n, k, lambda fit: fit.bse, lambda fit: fit.coef_)


def _profiles(n: int, k: int) -> Mapping[str, Callable[[], Any]]:
    return _calls(n, k, lambda fit: fit.conf_int(method="profile"), lambda fit: fit.conf_int(method="pl"))


def _calls(
    n: int, k: int, of_ours: Callable[[Any], Any], of_theirs: Callable[[Any], Any]
) -> Mapping[str, Callable[[], Any]]:
    X, y = rare_events(n, k, rate=0.03 if n > 1000 else 0.2)
    without = np.ascontiguousarray(X[:, 1:])

    def theirs(options: dict[str, Any]) -> Any:
        from firthmodels import FirthLogisticRegression  # benchmarks alone need it

        return of_theirs(FirthLogisticRegression(**options).fit(without, y))

    ours = {OURS: lambda: of_ours(gevglm.fit(y, X, link="logit", bias="firth"))}
    return ours | {name: partial(theirs, options) for name, options in THEIRS.items()}
