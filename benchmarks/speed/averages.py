"""What an average over links costs: beside one link whose shape and penalty are chosen by cross-validation, and for many rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gevglm
from benchmarks.speed.record import OURS, Task
from benchmarks.speed.search import letters

MOST = 1.5  # searches that the average may take
ROWS, COLUMNS = 1_000_000, 20
SEARCH = "xi='cv', alpha='cv'"


def tasks(tiny: bool = False) -> list[Task]:
    """Return the average on letter-A, in searches over shapes and penalties, and that of many rows."""
    X, y, data = letters("letter-A", "A")
    few = slice(None, None, 40 if tiny else None)
    return [
        Task("average_links", data, partial(_beside_search, X[few], y[few]), {SEARCH: 1 / MOST}),
        Task("average_links", f"{ROWS:,} x {COLUMNS}", partial(_of_many, 500 if tiny else ROWS), limit=60.0),
    ]


def _beside_search(X: NDArray, y: NDArray) -> Mapping[str, Callable[[], Any]]:
    return {
        OURS: lambda: _quietly(gevglm.average_links, y, X),
        SEARCH: lambda: _quietly(gevglm.fit, y, X, link="gev", xi="cv", alpha="cv"),
    }


def _of_many(n: int) -> Mapping[str, Callable[[], Any]]:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, COLUMNS - 1))])
    linear = -3.2 + 0.8 / np.sqrt(COLUMNS - 1) * X[:, 1:].sum(axis=1)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-linear))).astype(float)
    return {OURS: lambda: _quietly(gevglm.average_links, y, X)}


def _quietly(call: Callable[..., Any], *given: Any, **words: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*given, **words)
