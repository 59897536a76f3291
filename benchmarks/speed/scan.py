"""Speed of scans, one test per column, against loops over single fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from numpy.typing import NDArray

import gevglm
from benchmarks.report import table
from benchmarks.speed.record import OURS, Task
from benchmarks.speed.simulate import rare_events
from benchmarks.speed.timing import OthersLoad, compare

ROWS, COVARIATES, COLUMNS = 20_000, 5, 10_000
SINGLE = 8  # columns that the loops are timed on
GOAL = 20  # seconds for all columns, with Firth's test below 0.05

TEXT = """# Speed of scans

{rows:,} rows, 3 % events, {covariates} covariates with the constant, {columns:,} columns of 0, 1 and 2: medians of 3 rounds in one process through
`gevglm.scan`. The loops, over sm.Logit and firthmodels with and without a column, and over `gevglm.fit` with its likelihood-ratio tests, are timed on
{single} columns and say how much longer they take per fitted column: a scan fits those whose score test is below the threshold. 'Difference' is the largest
between likelihood ratios of the scan and of the loop over `gevglm.fit`.

{table}"""


def tasks(tiny: bool = False) -> list[Task]:
    """Return the scan with Firth's test below the threshold, which is to take no longer than the goal."""
    shape = (500, 20) if tiny else (ROWS, COLUMNS)
    size = f"{COLUMNS:,} columns of {ROWS:,}"
    return [Task("scan, Firth below 0.05", size, partial(_scan, *shape), limit=float(GOAL))]


def _scan(n: int, m: int) -> Mapping[str, Callable[[], Any]]:
    X, y = rare_events(n, COVARIATES, rate=0.03 if n == ROWS else 0.2)
    columns, (formula, data) = _genotypes(n, m), _null_model(X, y)
    return {OURS: lambda: gevglm.scan(formula, data, columns=columns, test="firth")}


def _null_model(X: NDArray, y: NDArray) -> tuple[str, pd.DataFrame]:
    data = pd.DataFrame(X[:, 1:], columns=[f"z{j}" for j in range(1, X.shape[1])]).assign(case=y)
    return "case ~ " + " + ".join(data.columns[:-1]), data


def run() -> str:
    """Return a row for each test."""
    X, y = rare_events(ROWS, COVARIATES)
    columns, (formula, data) = _genotypes(ROWS, COLUMNS), _null_model(X, y)
    rows = []
    for test in ("score", "lr", "firth", "spa"):
        others = OthersLoad()
        times = compare({"scan": lambda test=test: gevglm.scan(formula, data, columns=columns, test=test)}, 3)
        found, seconds = times["scan"].result.table, times["scan"].seconds
        fitted = int((found["test"] == test).sum())
        cells = [test, f"{seconds:.1f}", f"{seconds / COLUMNS * 1e3:.2f}", f"{fitted:,}"]
        rows.append(
            (
                *cells,
                *_against_loops(test, X, y, columns),
                f"< {GOAL} s" if test == "firth" else "",
                f"{others.cores():.2f}",
            )
        )
    header = (
        "test",
        "all columns, s",
        "a column, ms",
        "fitted",
        "a fitted column, ms",
        "sm.Logit / ours",
        "firthmodels / ours",
        "gevglm.fit / ours",
        "difference",
        "goal",
        "cores other processes used",
    )
    facts = {"rows": ROWS, "covariates": COVARIATES, "columns": COLUMNS, "single": SINGLE}
    return TEXT.format(table=table(header, rows), **facts)


def _genotypes(n: int, m: int) -> NDArray:
    """Return counts of alleles with frequencies from 0.005 to 0.4, a byte each."""
    rng = np.random.default_rng(1)
    frequencies = rng.uniform(0.005, 0.4, m)
    columns = np.empty((n, m), dtype=np.int8)
    for first in range(0, m, 100):
        part = slice(first, first + 100)
        columns[:, part] = rng.binomial(2, frequencies[part], columns[:, part].shape)
    return columns


def _against_loops(test: str, X: NDArray, y: NDArray, columns: NDArray) -> tuple[str, ...]:
    """Return the time of a fitted column, how much longer loops take, and the difference from that over our own fits."""
    if test not in ("lr", "firth"):
        return ("",) * 5
    some = columns[:, :SINGLE].astype(float)
    designs = [np.column_stack([X, column]) for column in some.T]

    def scanned() -> Any:
        return gevglm.scan(y, X, columns=some, test=test, threshold=1.0).table["statistic"].to_numpy()

    def singly() -> Any:
        bias = "firth" if test == "firth" else None
        fits = (gevglm.fit(y, design, link="logit", bias=bias) for design in designs)
        return np.array([fit.lr_tests()["statistic"].iloc[-1] for fit in fits])

    def by_statsmodels() -> Any:
        return [2.0 * (sm.Logit(y, design).fit(disp=0).llf - sm.Logit(y, X).fit(disp=0).llf) for design in designs]

    def by_firthmodels() -> Any:
        from firthmodels import FirthLogisticRegression  # benchmarks alone need it

        return [FirthLogisticRegression().fit(design[:, 1:], y).lrt() for design in designs]

    peer = {"lr": by_statsmodels, "firth": by_firthmodels}[test]
    times = compare({"ours": scanned, "peer": peer, "single": singly}, 3)
    ours = times["ours"].seconds
    ratio = f"{times['peer'].seconds / ours:.1f}"
    difference = np.abs(times["ours"].result - times["single"].result).max()
    peers = (ratio, "") if test == "lr" else ("", ratio)
    return (f"{ours / SINGLE * 1e3:.2f}", *peers, f"{times['single'].seconds / ours:.1f}", f"{difference:.0e}")
