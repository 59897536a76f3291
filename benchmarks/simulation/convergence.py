"""How often the canonical fit is found: our solver against unit steps, judged by the gradient where they end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.special import expit, logit

from benchmarks.report import table
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.links import GEV, BinaryLink, GEVc
from gevglm.losses import Canonical

PROBLEMS = 2_000
SHAPES = (-1.0, -0.5, 0.0, 0.5, 1.0, 1.5)
STEPS = 100
SMALL = 1e-8  # largest gradient component, as a share of the sum of its column's absolute values

TEXT = f"""# Convergence of the canonical fit

How many of {PROBLEMS:,} random problems were not solved, each tried with every link: 50 to 2,000 rows, 1 to 15
predictors with standard deviations from 0.3 to 3, 1 to 50 % events, not separated. A problem counts as solved when
every component of X'(F(Xb) - y) is at most {SMALL:g} times the sum of its column's absolute values, whatever the
solver said. IRLS is Algorithm 1 of Agarwal et al. (2014) with unit steps, at most {STEPS}, from its own starting
values (0.75 for events, 0.25 for the others) and from ours (the model with the constant only).

{{rows}}"""


def run() -> str:
    """Return a row for each link."""
    links = [kind(xi) for kind in (GEV, GEVc) for xi in SHAPES]
    unsolved = np.zeros((len(links), 3), dtype=int)
    passes: list[list[int]] = [[] for _ in links]
    for X, y in islice(problems(), PROBLEMS):
        engine = MemoryEngine(X, y)
        for i, link in enumerate(links):
            fit = Problem(engine, Canonical(link), constant=0).estimate()
            passes[i].append(fit.n_passes)
            ends = (fit.params, unit_step_irls(link, X, y, 0.25 + 0.5 * y), unit_step_irls(link, X, y, y.mean()))
            unsolved[i] += [not is_solution(link, X, y, params) for params in ends]
    rows = [
        (f"{link!r}", *map(str, unsolved[i]), f"{np.mean(passes[i]):.1f}", str(max(passes[i])))
        for i, link in enumerate(links)
    ]
    header = ("link", "gevglm (goal 0)", "IRLS, its start", "IRLS, our start", "our passes, mean", "most")
    return TEXT.format(rows=table(header, rows))


def problems(seed: int = 0) -> Iterator[tuple[NDArray, NDArray]]:
    """Yield designs and outcomes that overlap."""
    rng = np.random.default_rng(seed)
    while True:
        n = int(np.exp(rng.uniform(np.log(50), np.log(2_000))))
        k = int(rng.integers(1, 16))
        rate = np.exp(rng.uniform(np.log(0.01), np.log(0.5)))
        sd = rng.uniform(0.3, 3.0)
        X = np.column_stack([np.ones(n), sd * rng.standard_normal((n, k))])
        v = X[:, 1:] @ rng.standard_normal(k) * 0.5 / (np.sqrt(k) * sd)
        y = (rng.random(n) < expit(logit(rate) + v)).astype(float)
        if 2 <= y.sum() <= n - 2 and not separated(X, y):
            yield X, y


def separated(X: NDArray, y: NDArray) -> bool:
    """Return whether a plane separates the outcomes, wholly or but for ties (a linear programme decides)."""
    signed = np.where(y > 0, 1.0, -1.0)[:, None] * X
    plane = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(y)), bounds=(-1, 1), method="highs")
    return plane.status != 0 or -plane.fun > 1e-7


def unit_step_irls(link: BinaryLink, X: NDArray, y: NDArray, mean: NDArray | float) -> NDArray:
    """Return where iteratively reweighted least squares with unit steps ends, from starting means.

    The weights are F', the working response is v + (y - F) / F'. Their product is formed directly, so that
    rows with a weight of zero do no harm of their own.
    """
    v = link(np.broadcast_to(mean, y.shape))
    params = np.full(X.shape[1], np.nan)
    for _ in range(STEPS):
        with np.errstate(all="ignore"):
            point = link.at(v)
            weights, residual = point.pdf, y - point.cdf
            try:
                after = np.linalg.solve(X.T @ (weights[:, None] * X), X.T @ (weights * v + residual))
            except np.linalg.LinAlgError:
                return params
        if not np.isfinite(after).all() or np.abs(after - params).max() <= 1e-12 * np.abs(after).max():
            return after
        params = after
        with np.errstate(all="ignore"):
            v = X @ params
    return params


def is_solution(link: BinaryLink, X: NDArray, y: NDArray, params: NDArray) -> bool:
    """Return whether the gradient of the canonical loss vanishes."""
    if not np.isfinite(params).all():
        return False
    with np.errstate(all="ignore"):
        gradient = X.T @ (link.inverse(X @ params) - y)
    return bool((np.abs(gradient) <= SMALL * np.abs(X).sum(axis=0)).all())
