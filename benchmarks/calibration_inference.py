"""Tests and intervals of calibration: how often they reject, how often they cover, with Monte Carlo errors."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr, expit

from benchmarks.report import table
from gevglm import calibration
from gevglm.calibration import assess
from gevglm.calibration.quantities import Measured

DESIGNS = ((1000, -2.4), (10_000, -4.6))  # rows, mean of the predicted log-odds
SPREAD = 1.2
LEVEL = 0.05
TESTED, COVERED = 400, 200  # samples a design
TRUTHS: dict[str, Callable[[NDArray, float], NDArray]] = {  # from predicted log-odds and their mean to true ones
    "calibrated": lambda eta, center: eta,
    "events 20 % more likely (odds)": lambda eta, center: eta + np.log(1.2),
    "too extreme, slope 0.8": lambda eta, center: center + 0.8 * (eta - center),
    "bent, plus 0.12 (deviation)^2": lambda eta, center: eta + 0.12 * ((eta - center) ** 2 - SPREAD**2),
}
TESTS = {
    "joint (Cox)": "intercept 0 and slope 1",
    "belt": "calibration belt",
    "CORP": "CORP, resampling",
    "Hosmer-Lemeshow": "Hosmer-Lemeshow",
    "Spiegelhalter": "Spiegelhalter z",
    "Stukel": "Stukel",
    "Pregibon": "Pregibon link test",
}
TEXT = """# Tests and intervals of calibration

Predicted log-odds are normal with standard deviation 1.2; the first design has 1,000 rows and about 14 % events, the second 10,000 rows and about 2 %.

## Level and power

Share of {tested} samples in which each test rejects at the 5 % level; the Monte Carlo standard error is {error:.3f} at 5 % and at most 0.025. The
tests are those of `assess` for predictions from elsewhere; the test of CORP has 99 resamples. Stukel's and Pregibon's tests look for a wrong shape
only and should not see a shift or a slope.

{rejected}

## Coverage of 95 % intervals

Share of {covered} samples in which the interval of `assess` (200 resamples) holds the truth, which is that of 2,000,000 rows or in closed form; the
Monte Carlo standard error is {coverage_error:.3f} at 95 %.

{coverage}"""


def run() -> str:
    """Return shares of rejections, and coverage."""
    return TEXT.format(
        tested=TESTED,
        covered=COVERED,
        error=np.sqrt(LEVEL * (1.0 - LEVEL) / TESTED),
        coverage_error=np.sqrt(LEVEL * (1.0 - LEVEL) / COVERED),
        rejected=_rejected(),
        coverage=_coverage(),
    )


def _drawn(n: int, center: float, truth: Callable, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Predictions and true probabilities."""
    eta = rng.normal(center, SPREAD, n)
    return expit(eta), expit(truth(eta, center))


def _rejected() -> str:
    rows = []
    for n, center in DESIGNS:
        for name, truth in TRUTHS.items():
            print(f"tests: n = {n:,}, {name}", file=sys.stderr, flush=True)
            rng, rejected = np.random.default_rng(n), np.zeros(len(TESTS))
            for seed in range(TESTED):
                p, risk = _drawn(n, center, truth, rng)
                y = (rng.random(n) < risk).astype(float)
                rejected += [pvalue < LEVEL for pvalue in _pvalues(y, p, seed)]
            rows.append((f"{n:,}", name, *(f"{share:.3f}" for share in rejected / TESTED)))
    return table(("rows", "truth", *TESTS), rows)


def _pvalues(y: NDArray, p: NDArray, seed: int) -> list[float]:
    return [
        calibration.cox_calibration(y, p).test.pvalue,
        calibration.calibration_belt(y, p, points=2).test.pvalue,
        calibration.reliability(y, p, band="consistency", resamples=99, rng=seed).test.pvalue,
        calibration.hosmer_lemeshow(y, p, in_sample=False).pvalue,
        calibration.spiegelhalter(y, p).pvalue,
        calibration.stukel(y, p).pvalue,
        calibration.pregibon(y, p).pvalue,
    ]


# -- coverage ----------------------------------------------------------------------------------


def _coverage() -> str:
    columns = {}
    for n, center in DESIGNS:
        for name in ("calibrated", "too extreme, slope 0.8"):
            print(f"intervals: n = {n:,}, {name}", file=sys.stderr, flush=True)
            columns[f"{n:,}, {name.split(',')[0]}"] = _covered(n, center, TRUTHS[name])
    frame = pd.DataFrame(columns)
    return table(("index", *frame.columns), [(name, *(f"{v:.3f}" for v in row)) for name, row in frame.iterrows()])


def _covered(n: int, center: float, truth: Callable) -> pd.Series:
    rng = np.random.default_rng(n + 1)
    true = _true_indices(*_drawn(2_000_000, center, truth, rng), rng)
    inside = []
    for seed in range(COVERED):
        p, risk = _drawn(n, center, truth, rng)
        found = assess((rng.random(n) < risk).astype(float), p, band=None, belt=False, resamples=200, rng=seed).indices
        inside.append({name: _holds(found[name], value) for name, value in true.items()})
    return pd.DataFrame(inside).mean()


def _holds(found: Measured, truth: float) -> bool:
    return found.lower <= truth <= found.upper


def _true_indices(p: NDArray, risk: NDArray, rng: np.random.Generator) -> dict[str, float]:
    """Indices of the population, from true probabilities; outcomes are drawn for those that have no simple form."""
    y = (rng.random(len(p)) < risk).astype(float)
    rate, spread = risk.mean(), risk * (1.0 - risk)
    brier, base = float(((p - risk) ** 2 + spread).mean()), rate * (1.0 - rate)
    entropy, base_entropy = (entr(risk) + entr(1.0 - risk)).mean(), entr(rate) + entr(1.0 - rate)
    log_loss = -float((risk * np.log(p) + (1.0 - risk) * np.log1p(-p)).mean())
    distance = np.abs(p - risk)
    cox = calibration.cox_calibration(y, p)
    return {
        "Brier score": brier,
        "scaled Brier score": 1.0 - brier / base,
        "log loss": log_loss,
        "AUC": calibration.auc(y, p),
        "average precision": calibration.average_precision(y, p),
        "observed / expected": rate / p.mean(),
        "calibration in the large": float(cox.in_the_large),
        "calibration slope": float(cox.slope),
        "ICI": distance.mean(),
        "E50": np.quantile(distance, 0.5),
        "E90": np.quantile(distance, 0.9),
        "calibration loss, 10 bins": calibration.calibration_loss(y, p),
        "ECE, equal mass": _binned_error(p, risk),
        "miscalibration (Brier)": brier - float(spread.mean()),
        "discrimination (Brier)": base - float(spread.mean()),
        "uncertainty (Brier)": base,
        "miscalibration (log)": log_loss - entropy,
        "discrimination (log)": base_entropy - entropy,
        "uncertainty (log)": base_entropy,
    }


def _binned_error(p: NDArray, risk: NDArray, bins: int = 10) -> float:
    """Expected calibration error over bins of equal mass, from true probabilities."""
    order = np.argsort(p)
    return float(np.mean([abs((p[own] - risk[own]).mean()) for own in np.array_split(order, bins)]))
