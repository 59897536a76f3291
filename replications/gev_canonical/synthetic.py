r"""The three synthetic distributions of Figure 2, in 100 dimensions.

The paper's appendix, which defines them, is not at hand. These have its names, its parameters and its shares of events p. Rows are standard
normal, w is a fixed direction of length 1, and z = w'x is standard normal:

* sine with r: :math:`\eta(x) = (1 + \sin(z + \varphi))/r`. Its mean is :math:`p = (1 + e^{-1/2} \sin\varphi)/r`, and the phase :math:`\varphi` makes that
  the paper's .0158 for r = 64 and .0312 for r = 32; it is small (.019 and -.003), since p is nearly 1/r;
* step: :math:`\eta(x) = 0.05`, and 0.5 where z is in its upper tenth, so that p = .9 x .05 + .1 x .5 = .095 exactly.

As in the paper the shape is chosen by the RMSE on 500 further rows whose :math:`\eta` is known, and the result is the RMSE on 5,000 test
rows. The paper mentions no penalty here; we use the smallest of its penalties, without which separated samples have no estimate.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.estimation.objective import Ridge
from gevglm.inference.shape_path import ROUGH, ShapePath
from gevglm.links import GEV, BinaryLink, CLogLog, Logit, Probit
from gevglm.links.gev import PAPER_GRID
from gevglm.losses import Canonical, Log, Loss
from replications.gev_canonical.methods import (
    LAMBDAS,
    STEPS,
    Arrange,
    as_they_are,
    corrected,
    ridge_fit,
    undersampled,
    weighted,
)

DIMENSIONS = 100
VALIDATION, TEST = 500, 5_000
SIZES = (500, 1_000, 3_000, 10_000, 30_000, 100_000)
REPETITIONS = 10
KEYS = ("distribution", "rows", "repetition", "method")
COLUMNS = (*KEYS, "rmse", "xi", "cpu")

Probability = Callable[[NDArray], NDArray]


def sine(r: float, p: float) -> Probability:
    """Probabilities between 0 and 2/r with mean p."""
    phase = np.arcsin(np.exp(0.5) * (r * p - 1.0))
    return lambda z: (1.0 + np.sin(z + phase)) / r


def step(z: NDArray) -> NDArray:
    """Probabilities .05 and, for a tenth of the rows, .5."""
    return np.where(z > norm.ppf(0.9), 0.5, 0.05)


DISTRIBUTIONS: dict[str, Probability] = {
    "sine, r = 64": sine(64, 0.0158),
    "sine, r = 32": sine(32, 0.0312),
    "step": step,
}
SHARES = {"sine, r = 64": 0.0158, "sine, r = 32": 0.0312, "step": 0.095}  # of events, as in the paper


@dataclass(frozen=True)
class Sample:
    """Rows with a constant, outcomes, and the true probabilities."""

    X: NDArray
    y: NDArray
    eta: NDArray

    def rmse(self, link: BinaryLink, params: NDArray) -> float:
        """Root mean squared error of the predicted probabilities."""
        return float(np.sqrt(np.mean((link.inverse(self.X @ params) - self.eta) ** 2)))


@dataclass(frozen=True)
class Draw:
    """What one repetition learns from, chooses the shape by, and is judged on."""

    train: Sample
    validation: Sample
    test: Sample
    rng: np.random.Generator


def drawn(distribution: str, rows: int, repetition: int) -> Draw:
    """Return one random generation of the three samples."""
    rng = np.random.default_rng([2014, list(DISTRIBUTIONS).index(distribution), rows, repetition])
    direction = np.random.default_rng(2014).normal(size=DIMENSIONS)
    direction /= np.linalg.norm(direction)

    def sample(n: int) -> Sample:
        x = rng.normal(size=(n, DIMENSIONS))
        eta = DISTRIBUTIONS[distribution](x @ direction)
        return Sample(np.column_stack([np.ones(n), x]), (rng.random(n) < eta).astype(float), eta)

    return Draw(sample(rows), sample(VALIDATION), sample(TEST), rng)


def _fixed(link: BinaryLink, arrange: Arrange = as_they_are):
    def rmse(draw: Draw) -> tuple[float, float]:
        rows = arrange(draw.train.X, draw.train.y, draw.rng)
        params = ridge_fit(rows, Log(link), LAMBDAS[0]).params
        return draw.test.rmse(link, corrected(params, rows.shift)), np.nan

    return rmse


def _shaped(kind: type[Loss]):
    def rmse(draw: Draw) -> tuple[float, float]:
        engine = MemoryEngine(draw.train.X, draw.train.y, threads=1)
        penalty = Ridge(LAMBDAS[0], np.ones(engine.n_cols))
        problem = Problem(engine, kind(GEV(0.0)), constant=0, maxiter=STEPS, penalty=penalty)
        path = ShapePath(problem, lambda xi: kind(GEV(xi)))
        scores = {xi: draw.validation.rmse(GEV(xi), path.fit(xi, ROUGH).params) for xi in sorted(PAPER_GRID, key=abs)}
        best = min(scores, key=scores.get)
        return draw.test.rmse(GEV(best), path.fit(best).params), best

    return rmse


METHODS = {
    "logistic": _fixed(Logit()),
    "probit": _fixed(Probit()),
    "cloglog": _fixed(CLogLog()),
    "under-sampling": _fixed(Logit(), undersampled),
    "weighted": _fixed(Logit(), weighted),
    "GEV-log": _shaped(Log),
    "GEV-canonical": _shaped(Canonical),
}


def run_draw(distribution: str, rows: int, repetition: int) -> list[dict]:
    """Return one record a method."""
    records = []
    for name, method in METHODS.items():
        start = time.process_time()
        rmse, xi = method(drawn(distribution, rows, repetition))
        seconds = time.process_time() - start
        records.append(dict(zip(COLUMNS, (distribution, rows, repetition, name, rmse, xi, seconds), strict=True)))
    return records
