"""Cluster-robust inference beside a fit: CR2 and CR3 of a thousand clusters of a thousand rows, and the wild bootstrap of ten coefficients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import gevglm
from benchmarks.speed.record import OURS, Task

CLUSTERS, ROWS, COLUMNS = 1_000, 1_000, 20
ONE_FIT = "one fit without clusters"
DRAWS = 9_999


def tasks(tiny: bool = False) -> list[Task]:
    """Return fits with CR1, CR2 and CR3, each against the same fit without clusters, and the wild bootstrap."""
    clusters, rows = (40, 500) if tiny else (CLUSTERS, ROWS)
    size = f"{CLUSTERS:,} clusters of {ROWS:,} x {COLUMNS}"
    found = [
        Task(f"fit with {kind}", size, partial(_fits, kind, clusters, rows), {ONE_FIT: 1 / 3})
        for kind in ("CR1", "CR2", "CR3")
    ]
    wild = partial(_wild, *((40, 500) if tiny else (CLUSTERS, 100)))
    return [*found, Task(f"wild_test, {DRAWS:,} draws", "100,000 x 10, 1,000 clusters", wild, limit=5.0)]


def simulated(clusters: int, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return outcomes of which 2 % are events, a design with its constant, and clusters."""
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(clusters), rows)
    X = np.column_stack([np.ones(len(code)), rng.standard_normal((len(code), columns - 1))])
    linear = -4.2 + X[:, 1:4].sum(axis=1) * 0.3 + 0.3 * rng.standard_normal(clusters)[code]
    return (rng.random(len(code)) < 1.0 / (1.0 + np.exp(-linear))).astype(float), X, code


def _fits(kind: str, clusters: int, rows: int) -> Mapping[str, Callable[[], Any]]:
    y, X, code = simulated(clusters, rows, COLUMNS)
    words = {"cov_type": "cluster", "cov_kwds": {"groups": code, "kind": kind}}
    return {
        OURS: lambda: gevglm.fit(y, X, link="logit", **words).bse,
        ONE_FIT: lambda: gevglm.fit(y, X, link="logit").bse,
    }


def _wild(clusters: int, rows: int) -> Mapping[str, Callable[[], Any]]:
    y, X, code = simulated(clusters, rows, 11)
    results = gevglm.fit(y, X, link="logit", cov_type="cluster", cov_kwds={"groups": code})
    return {OURS: lambda: results.wild_test(draws=DRAWS, weights="rademacher", rng=1).table}
