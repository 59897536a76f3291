"""Tests and intervals of calibration: how often they reject, how often they cover, with Monte Carlo errors."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

from benchmarks.report import table
from gevglm import calibration
from gevglm.calibration import assess
from gevglm.calibration.bins import weighted_quantile

DESIGNS = ((1000, -2.4), (10_000, -4.6))  # observations, mean of the predicted log-odds
SPREAD, DISTINCT = 1.2, 200
LEVEL = 0.05
TESTED, COVERED, RESAMPLES = 400, 200, 200
Truth = Callable[[NDArray], NDArray]  # from standardised predicted log-odds to what is added to them
TRUTHS: dict[str, Truth] = {
    "calibrated": lambda z: 0.0 * z,
    "odds of an event 1.2 times those predicted": lambda z: np.log(1.2) + 0.0 * z,
    "too extreme, slope 0.8": lambda z: -0.2 * SPREAD * z,
    "bent, plus 0.17 (z^2 - 1)": lambda z: 0.17 * (z**2 - 1.0),
}
TESTS: dict[str, Callable[[NDArray, NDArray, NDArray], float]] = {
    "joint (Cox)": lambda y, p, w: calibration.cox_calibration(y, p, w).test.pvalue,
    "belt": lambda y, p, w: calibration.calibration_belt(y, p, w, points=2).test.pvalue,
    "CORP": lambda y, p, w: calibration.reliability(y, p, w, band="consistency", resamples=99, rng=0).test.pvalue,
    "Hosmer-Lemeshow": lambda y, p, w: calibration.hosmer_lemeshow(y, p, w).pvalue,
    "Spiegelhalter": lambda y, p, w: calibration.spiegelhalter(y, p, w).pvalue,
    "Stukel": lambda y, p, w: calibration.stukel(y, p, w).pvalue,
    "Pregibon": lambda y, p, w: calibration.pregibon(y, p, w).pvalue,
}
TEXT = """# Tests and intervals of calibration

Predicted log-odds are 200 quantiles of a normal distribution with standard deviation 1.2; z is standardised. The first design has 1,000 observations and
about 13 % events, the second 10,000 and about 2 %.

## Level and power

Share of {tested} samples in which each test rejects at the 5 % level; the Monte Carlo standard error is {error:.3f} at 5 % and at most {most:.3f}. The
test of CORP has 99 resamples. Stukel's and Pregibon's tests look for a wrong shape only and should not see a shift or a slope.

{rejected}

## Coverage of 95 % intervals

Share of {covered} samples in which the interval of `assess` ({resamples} resamples) holds the index of the population; the Monte Carlo standard error is
{coverage_error:.3f} at 95 %.

{coverage}"""


def run() -> str:
    """Return shares of rejections, and coverage."""
    return TEXT.format(
        tested=TESTED,
        covered=COVERED,
        resamples=RESAMPLES,
        error=np.sqrt(LEVEL * (1.0 - LEVEL) / TESTED),
        most=0.5 / np.sqrt(TESTED),
        coverage_error=np.sqrt(LEVEL * (1.0 - LEVEL) / COVERED),
        rejected=_rejected(),
        coverage=_coverage(),
    )


class Population:
    """Predictions and their true probabilities; samples of them are counts of events and others."""

    def __init__(self, n: int, center: float, truth: Truth):
        z = norm.ppf((np.arange(DISTINCT) + 0.5) / DISTINCT)
        self.prediction = expit(center + SPREAD * z)
        self.risk = expit(center + SPREAD * z + truth(z))
        self.size = n // DISTINCT
        self.y, self.p = np.repeat([1.0, 0.0], DISTINCT), np.tile(self.prediction, 2)

    def samples(self, number: int, seed: int) -> NDArray:
        """Return weights of the rows, one row a sample."""
        events = np.random.default_rng(seed).binomial(self.size, self.risk, size=(number, DISTINCT))
        return np.hstack([events, self.size - events])

    def indices(self) -> dict[str, float]:
        """Return the indices of infinitely many observations."""
        expected = 1e6 * np.concatenate([self.risk, 1.0 - self.risk])
        everyone = assess(self.y, self.p, expected, band=None, belt=False, resamples=2).indices
        distance, ones = np.abs(self.prediction - self.risk), np.ones(DISTINCT)
        e50, e90 = weighted_quantile(distance, ones, np.array([0.5, 0.9]))
        smooth = {"ICI": distance.mean(), "E50": e50, "E90": e90, "Emax": distance.max()}
        return {name: round(float(value), 12) for name, value in (everyone | smooth).items()}  # what is 0 is 0


def _rejected() -> str:
    rows = []
    for n, center in DESIGNS:
        for name, truth in TRUTHS.items():
            print(f"tests: n = {n:,}, {name}", file=sys.stderr, flush=True)
            population = Population(n, center, truth)
            rejected = [
                [test(population.y, population.p, weights) < LEVEL for test in TESTS.values()]
                for weights in population.samples(TESTED, n)
            ]
            rows.append((f"{n:,}", name, *(f"{share:.3f}" for share in np.mean(rejected, axis=0))))
    return table(("observations", "truth", *TESTS), rows)


def _coverage() -> str:
    columns = {}
    for n, center in DESIGNS:
        for name in ("calibrated", "too extreme, slope 0.8"):
            print(f"intervals: n = {n:,}, {name}", file=sys.stderr, flush=True)
            columns[f"{n:,}, {name.split(',')[0]}"] = _covered(Population(n, center, TRUTHS[name]), n + 1)
    frame = pd.DataFrame(columns)
    return table(("index", *frame.columns), [(name, *(f"{v:.3f}" for v in row)) for name, row in frame.iterrows()])


def _covered(population: Population, seed: int) -> pd.Series:
    truth, inside = population.indices(), []
    for weights in population.samples(COVERED, seed):
        found = assess(population.y, population.p, weights, band=None, belt=False, resamples=RESAMPLES, rng=0).indices
        inside.append({name: found[name].lower <= value <= found[name].upper for name, value in truth.items()})
    return pd.DataFrame(inside).mean()
