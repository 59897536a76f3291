"""Intervals of standardised risks: how often they cover the truth, and whether bootstrap and delta method agree."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from benchmarks.report import table
from gevglm import fit
from gevglm.exceptions import GevglmWarning
from gevglm.links import GEV

TRUTH = np.array([-1.2, 0.3, 0.4])  # constant, age, smoker
DESIGNS = ((0.5, 1000), (0.5, 4000), (-0.3, 1000), (-0.3, 4000))  # xi, rows
SAMPLES = 2000
BOOTSTRAPPED, DRAWS = 40, 200
CONTRASTS = ("difference", "ratio", "odds")

TEXT = """# Intervals of standardised risks

Samples with a GEV link of known shape: age standard normal, smoker 30 %, linear predictor -1.2 + 0.3 age + 0.4 smoker. The fit is
GEV-canonical with `cov_type="HC0"`; `risk("smoker", covariates="sampled")`. The truth is the average over 4,000,000 persons.
{samples:,} samples a row; the Monte Carlo error of a coverage of 95 % is {error:.2f} points.

{coverage}

Bootstrap of the whole procedure beside the delta method: means over {boots} samples of {draws} resamples each; 'error' is the Monte Carlo standard
error of the mean ratio.

{bootstrap}"""


def run() -> str:
    """Return coverage by design, and bootstrap over delta method."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)  # rows outside the support, which these links have
        coverage = [_coverage(xi, n) for xi, n in DESIGNS]
        bootstrap = [_bootstrap(xi, 1000) for xi in (0.5, -0.3)]
    header = ("xi", "rows", "events", *(f"{contrast}, %" for contrast in CONTRASTS), "mean se / spread of estimates")
    return TEXT.format(
        samples=SAMPLES,
        error=100 * np.sqrt(0.95 * 0.05 / SAMPLES),
        coverage=table(header, coverage),
        boots=BOOTSTRAPPED,
        draws=DRAWS,
        bootstrap=table(("xi", "se / se", "error", "width / width", "error"), bootstrap),
    )


def _sample(xi: float, n: int, rng: np.random.Generator) -> pd.DataFrame:
    age, smoker = rng.standard_normal(n), (rng.random(n) < 0.3).astype(int)
    risk = GEV(xi).inverse(TRUTH[0] + TRUTH[1] * age + TRUTH[2] * smoker)
    return pd.DataFrame({"event": (rng.random(n) < risk).astype(int), "age": age, "smoker": smoker})


def _true_risks(xi: float) -> np.ndarray:
    age = np.random.default_rng(1).standard_normal(4_000_000)
    return np.array([GEV(xi).inverse(TRUTH[0] + TRUTH[1] * age + TRUTH[2] * smoker).mean() for smoker in (0, 1)])


def _coverage(xi: float, n: int) -> tuple[str, ...]:
    off, on = _true_risks(xi)
    true = {"difference": on - off, "ratio": on / off, "odds": on / (1 - on) * (1 - off) / off}
    rng = np.random.default_rng([n, int(100 * abs(xi))])
    covered = {contrast: 0 for contrast in CONTRASTS}
    estimates, errors, events = [], [], 0
    for _ in range(SAMPLES):
        data = _sample(xi, n, rng)
        events += data["event"].sum()
        res = fit("event ~ age + smoker", data, xi=xi, cov_type="HC0")
        for contrast in CONTRASTS:
            row = res.risk("smoker", contrast=contrast, covariates="sampled").table.iloc[0]
            covered[contrast] += row["ci_lower"] <= true[contrast] <= row["ci_upper"]
            if contrast == "difference":
                estimates.append(row["estimate"])
                errors.append(row["se"])
    shares = [f"{100 * covered[contrast] / SAMPLES:.1f}" for contrast in CONTRASTS]
    return (f"{xi:g}", f"{n:,}", f"{events / SAMPLES:.0f}", *shares, f"{np.mean(errors) / np.std(estimates):.3f}")


def _bootstrap(xi: float, n: int) -> tuple[str, ...]:
    rng = np.random.default_rng([n, int(100 * abs(xi)), 7])
    errors, widths = [], []
    for _ in range(BOOTSTRAPPED):
        res = fit("event ~ age + smoker", _sample(xi, n, rng), xi=xi, cov_type="HC0")
        delta = res.risk("smoker", covariates="sampled").table.iloc[0]
        drawn = res.risk("smoker", method="bootstrap", draws=DRAWS, rng=rng).table.iloc[0]
        errors.append(drawn["se"] / delta["se"])
        widths.append((drawn["ci_upper"] - drawn["ci_lower"]) / (delta["ci_upper"] - delta["ci_lower"]))
    return (f"{xi:g}", *(text for ratios in (errors, widths) for text in _mean(ratios)))


def _mean(ratios: list[float]) -> tuple[str, str]:
    return f"{np.mean(ratios):.3f}", f"{np.std(ratios, ddof=1) / np.sqrt(len(ratios)):.3f}"
