"""Speed of the paper's search over 27 shapes and 7 penalties, against independent fits by statsmodels."""

from __future__ import annotations

import time
import warnings

import numpy as np
import statsmodels.api as sm
from numpy.typing import NDArray

import gevglm
from benchmarks.report import table
from benchmarks.speed.timing import compare
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.estimation.objective import Ridge
from gevglm.exceptions import MissingDatasetError
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


def run() -> str:
    """Return a row for each quantity."""
    X, y, data = letter_vowel()
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
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, k - 1))])
    y = (rng.random(n) < GEV(-0.2).inverse(X @ [-1.4, *[0.9 / k] * (k - 1)])).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = compare(
            {
                "log": lambda: gevglm.fit(y, X, link="gev", loss="log", xi=-0.2).bse,
                "canonical": lambda: gevglm.fit(y, X, link="gev", xi=-0.2).bse,
                "ml": lambda: gevglm.fit(y, X, link="gev", loss="log", xi="ml").xi_conf_int(),
                "cv": lambda: gevglm.fit(y, X, link="gev", xi="cv").xi,
            },
            repeats=3,
        )
    seconds = {name: timing.seconds for name, timing in times.items()}
    return [
        (
            f"xi='ml' with its interval, {n:,} x {k}, in log-loss fits (goal <= 5 at 1e6)",
            f"{seconds['ml'] / seconds['log']:.1f}",
        ),
        (f"xi='cv', {n:,} x {k}, in canonical fits (goal <= 30 at 1e6)", f"{seconds['cv'] / seconds['canonical']:.1f}"),
    ]


def letter_vowel() -> tuple[NDArray, NDArray, str]:
    """Return design and outcome of letter-vowel, or a simulated stand-in of its size where the data are absent."""
    try:
        letters = gevglm.datasets.load("letter")
        y, name = letters.pop("letter").isin(list("AEIOU")).to_numpy(float), "letter-vowel"
        Z = letters.to_numpy(float)
    except MissingDatasetError:
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
