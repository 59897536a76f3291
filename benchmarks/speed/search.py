"""Speed of the paper's search over 27 shapes and 7 penalties, against independent fits by statsmodels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import statsmodels.api as sm
from numpy.typing import NDArray

import gevglm
from benchmarks.report import table
from benchmarks.speed.record import OURS, Task
from benchmarks.speed.timing import compare
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.estimation.objective import Ridge
from gevglm.families import GEVCanonical
from gevglm.inference.cross_validation import make_folds, search
from gevglm.inference.shape_path import ROUGH, ShapePath
from gevglm.links import GEV
from gevglm.links.gev import PAPER_GRID
from gevglm.losses import Canonical, Log

ALPHAS = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)

TEXT = """# Speed of the search over shapes

Data: {data}. The search fits 27 shapes x 7 penalties to 70 % of the rows and scores them on the rest. statsmodels fits the 27 shapes without a
penalty, each from its own start, to the same rows; its time is multiplied by 7. Passes count walks over the rows, on all of
them, of the 27 fits to the accuracy of the search, and of a single fit at xi = 0.3.

{rows}"""


SHAPES = {"xi='ml' with its interval": ("ml", "log", 5), "xi='cv'": ("cv", "canonical", 30)}  # call, fit, the most fits
ONE_FIT = "one fit at that shape"


def tasks(tiny: bool = False) -> list[Task]:
    """Return an estimated shape with its interval, and one by cross-validation, in fits with a given shape and the same loss."""
    n, size = 2_000 if tiny else 1_000_000, "1,000,000 x 3"
    return [
        Task(name, size, partial(_in_fits, n, call, fit), {ONE_FIT: 1 / most})
        for name, (call, fit, most) in SHAPES.items()
    ]


def _in_fits(n: int, call: str, fit: str) -> Mapping[str, Callable[[], Any]]:
    calls = _shape_calls(n, 3)
    return {OURS: calls[call], ONE_FIT: calls[fit]}


def run() -> str:
    """Return a row for each quantity."""
    X, y, data = letters("letter-vowel", "AEIOU")
    held = np.random.default_rng(0).random(len(y)) < 0.3
    slopes = np.append(0.0, np.ones(X.shape[1] - 1))
    problem = Problem(MemoryEngine(X, y), Canonical(GEV(0.0)), constant=0)
    start = time.perf_counter()
    found = search(
        problem,
        lambda xi: Canonical(GEV(xi)),
        make_folds(y, held),
        grid=GEV.default_grid,
        alphas=ALPHAS,
        penalty_of=lambda alpha: Ridge(alpha, slopes) if alpha else None,
        criterion="brier",
        refine=False,
    )
    ours = time.perf_counter() - start
    theirs = len(ALPHAS) * _statsmodels_seconds(X[~held], y[~held])
    rows = [
        ("our search, seconds", f"{ours:.2f}"),
        ("sm.GLM, seconds", f"{theirs:.1f}"),
        ("sm.GLM / ours (goal >= 10)", f"{theirs / ours:.1f}"),
        ("best", f"xi = {found.best['xi']:g}, alpha = {found.best['alpha']:g}, Brier {found.best['score']:.4f}"),
    ]
    for name, loss in (("canonical", Canonical), ("log", Log)):
        path = ShapePath(problem, lambda xi, loss=loss: loss(GEV(xi)))
        for xi in sorted(PAPER_GRID, key=abs):
            path.fit(xi, ROUGH)
        single = Problem(problem.engine, loss(GEV(0.3)), constant=0).estimate().n_passes
        rows.append(
            (
                f"passes of 27 {name} fits / of one (goal <= 12)",
                f"{path.passes} / {single} = {path.passes / single:.1f}",
            )
        )
    rows += [row for size in ((1_000_000, 3), (100_000, 10), (2_000, 5)) for row in _chosen_shape(*size)]
    return TEXT.format(data=data, rows=table(("", ""), rows))


def _chosen_shape(n: int, k: int) -> list[tuple[str, str]]:
    """Return an estimated shape with its interval, and one by cross-validation, in fits at that shape."""
    seconds = {name: timing.seconds for name, timing in compare(_shape_calls(n, k), repeats=3).items()}
    return [
        (f"{name}, {n:,} x {k}, in {fit} fits (goal <= {most} at 1e6)", f"{seconds[call] / seconds[fit]:.1f}")
        for name, (call, fit, most) in SHAPES.items()
    ]


def _shape_calls(n: int, k: int) -> dict[str, Callable[[], Any]]:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, k - 1))])
    y = (rng.random(n) < GEV(-0.2).inverse(X @ [-1.4, *[0.9 / k] * (k - 1)])).astype(float)

    def quietly(asked: Callable[[Any], Any], **words: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return asked(gevglm.fit(y, X, link="gev", **words))

    return {
        "log": lambda: quietly(lambda fit: fit.bse, loss="log", xi=-0.2),
        "canonical": lambda: quietly(lambda fit: fit.bse, xi=-0.2),
        "ml": lambda: quietly(lambda fit: fit.xi_conf_int(), loss="log", xi="ml"),
        "cv": lambda: quietly(lambda fit: fit.xi, xi="cv"),
    }


def letters(task: str, positive: str) -> tuple[NDArray, NDArray, str]:
    """Return design and outcome of some letters against the others, or a simulated stand-in of their size where the data are not at hand."""
    if gevglm.datasets.available().loc["letter", "where"] not in ("", "download"):
        images = gevglm.datasets.load("letter")
        y, name = images.pop("letter").isin(list(positive)).to_numpy(float), task
        Z = images.to_numpy(float)
    else:
        rng = np.random.default_rng(1)
        Z = rng.standard_normal((20_000, 16))
        y, name = (rng.random(20_000) < GEV(0.2).inverse(-0.4 + 0.2 * Z[:, :4].sum(axis=1))).astype(float), "simulated"
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    return np.column_stack([np.ones(len(y)), Z]), y, f"{name}, {len(y):,} x {Z.shape[1]}"


def _statsmodels_seconds(X: NDArray, y: NDArray) -> float:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for xi in PAPER_GRID:
            try:
                sm.GLM(y, X, family=GEVCanonical(xi)).fit()
            except (ValueError, np.linalg.LinAlgError):  # plain IRLS fails at some shapes; its time counts all the same
                continue
    return time.perf_counter() - start
