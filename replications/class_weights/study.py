"""Class weights spoil calibration in a known way, and the loss correction repairs it: all tables and figures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit
from threadpoolctl import threadpool_limits

from benchmarks.report import table
from gevglm.calibration import (
    auc,
    cox_calibration,
    expected_calibration_error,
    integrated_calibration,
    loss_calibration_curve,
    loss_calibration_test,
    loss_corrected,
    optimal_score,
    plot_loss_calibration,
)
from replications.class_weights.ensemble import MEMBERS
from replications.class_weights.learners import (
    CROSS_VALIDATED,
    FOLDS,
    LEARNERS,
    held_out,
    learned,
    right_model,
    simulated,
)
from replications.common.figures import save
from replications.common.rare_events import Events, at_hand, bank, crashes, mammography

RESULTS = Path(__file__).parent / "results"
BETAS = (0.5, 0.9, 0.99)
TRAINED, TESTED = 50_000, 100_000
SIZES, REPLICATIONS, REFITS = (2_000, 20_000), 1000, 500
PICTURED = {
    "gradient boosting": "",
    "ensemble of networks": "_ensemble",
}  # and what the names of their figures end with
REAL = {"mammography": mammography, "nasscds": crashes, "bank": bank}

TEXT = """# Class weights and the loss correction

Calibration error of scores by learners fitted with weight beta1 on events and 1 - beta1 on others, before and after the loss
correction; none of the scored rows was seen by its learner. 'ECE' has ten bins of equal mass, 'ICI' is the mean distance from
a smooth calibration curve, 'from truth' the mean distance from the true probability. Slope and intercept (given slope 1) of the
corrected scores are 1 and 0 under loss calibration, which 'p' tests.

{errors}

Simulated: 50,000 training and 100,000 test rows, six covariates, 3 % events. Real data by five-fold cross-validation: {real}. The ensemble is
as in the paper: scores averaged over {members} networks (on real data {by_fold} for each fold) with other starts and other validation rows, each stopped
when its weighted validation loss rises.

# The test of loss calibration

Share of {replications:,} simulated samples ({refits:,} for the refitted learner) in which the test rejects at the 5 % level, with its
Monte Carlo standard error. Scores come from true probabilities (3 % events) and beta1 = 0.99, as the rows say.

{tests}"""


def run() -> str:
    """Return the tables; write them as csv too, and the pictures. What the csv files have is not run again."""
    with threadpool_limits(1):  # learners of this size lose more by threads than they gain
        errors = _errors(RESULTS / "errors.csv")
    tests = _tests(RESULTS / "tests.csv")
    return TEXT.format(
        errors=_error_table(errors),
        tests=_test_table(tests),
        replications=REPLICATIONS,
        refits=REFITS,
        members=MEMBERS,
        by_fold=MEMBERS // FOLDS,
        real=_sizes(set(errors["data"])) or "none at hand",
    )


def _sizes(names: set[str]) -> str:
    data = {name: load() for name, load in REAL.items() if name in names and at_hand(name)}
    return "; ".join(f"{name}, {len(own.y):,} rows, {own.y.sum():,.0f} events" for name, own in data.items())


# -- calibration errors ------------------------------------------------------------------------


def _problems() -> Iterator[tuple[str, str, Events, Callable[[float], NDArray]]]:
    """Name of the data and of the learner, what is scored, and its scores by the weight of events."""
    rng = np.random.default_rng(0)
    train, test = simulated(TRAINED, rng), simulated(TESTED, rng)
    for learner, make in {**LEARNERS, "logistic, right model": right_model}.items():
        yield "simulated", learner, test, lambda beta1, make=make: learned(make, train, beta1)(test.x)
    for name, load in REAL.items():
        if at_hand(name):
            data = load()
            for learner, make in CROSS_VALIDATED.items():
                yield name, learner, data, lambda beta1, make=make, data=data: held_out(make, data, beta1)


def _errors(kept: Path) -> pd.DataFrame:
    found = pd.read_csv(kept) if kept.exists() else pd.DataFrame({"data": [], "learner": []})
    for name, learner, data, score in _problems():
        if ((found["data"] == name) & (found["learner"] == learner)).any():
            continue
        print(f"{name}, {learner}", file=sys.stderr, flush=True)
        scores = {beta1: score(beta1) for beta1 in BETAS}
        rows = [{"data": name, "learner": learner} | _row(data, beta1, own) for beta1, own in scores.items()]
        found = pd.concat([found, pd.DataFrame(rows)], ignore_index=True)
        found.to_csv(kept, index=False, float_format="%.6g")
        if learner in PICTURED:
            curves = {
                f"$\\beta_1$ = {beta1}": loss_calibration_curve(data.y, own, beta1) for beta1, own in scores.items()
            }
            _picture(curves, f"class_weights_{name}{PICTURED[learner]}")
    return found.sort_values(["data", "learner"], key=_in_order, kind="stable")


def _in_order(column: pd.Series) -> pd.Series:
    names = ["simulated", *REAL, *LEARNERS]
    return column.map(lambda name: names.index(name) if name in names else len(names))


def _row(data: Events, beta1: float, score: NDArray) -> dict[str, float]:
    corrected = loss_corrected(score, beta1)
    cox = cox_calibration(data.y, corrected)
    row = {"beta1": beta1, "auc": auc(data.y, score)}
    for kind, p in (("raw", score), ("corrected", corrected)):
        row[f"ece_{kind}"] = expected_calibration_error(data.y, p, by="mass")
        row[f"ici_{kind}"] = integrated_calibration(data.y, p).ici
        row[f"truth_{kind}"] = np.nan if data.truth is None else np.abs(p - data.truth).mean()
    row |= {"slope": float(cox.slope), "slope_se": cox.slope.se}
    row |= {"intercept": float(cox.in_the_large), "intercept_se": cox.in_the_large.se}
    return row | {"pvalue": loss_calibration_test(data.y, score, beta1).pvalue}


def _error_table(errors: pd.DataFrame) -> str:
    header = ("data", "learner", "beta1", "AUC", "ECE raw", "corrected", "ICI raw", "corrected", "from truth raw")
    header += ("corrected", "slope (se)", "intercept (se)", "p")
    rows = []
    for row in errors.itertuples(index=False):
        pairs = [
            f"{value:.4f}" if np.isfinite(value) else ""
            for kind in ("ece", "ici", "truth")
            for value in (getattr(row, f"{kind}_raw"), getattr(row, f"{kind}_corrected"))
        ]
        terms = [f"{row.slope:.3f} ({row.slope_se:.3f})", f"{row.intercept:.3f} ({row.intercept_se:.3f})"]
        rows.append((row.data, row.learner, f"{row.beta1:g}", f"{row.auc:.3f}", *pairs, *terms, f"{row.pvalue:.2g}"))
    return table(header, rows)


# -- level and power of the test ---------------------------------------------------------------


SCORES = {  # from the true log-odds to the score of a learner that claims beta1 = 0.99
    "loss-calibrated": lambda eta: optimal_score(expit(eta), 0.99),
    "weights ignored": lambda eta: expit(eta),
    "weight 0.987 instead": lambda eta: optimal_score(expit(eta), 0.987),
    "weight 0.98 instead": lambda eta: optimal_score(expit(eta), 0.98),
    "too sure, log-odds times 1.25": lambda eta: optimal_score(expit(logit(0.03) + 1.25 * (eta - logit(0.03))), 0.99),
    "too timid, log-odds times 0.8": lambda eta: optimal_score(expit(logit(0.03) + 0.8 * (eta - logit(0.03))), 0.99),
}


def _tests(kept: Path) -> pd.DataFrame:
    if kept.exists():
        return pd.read_csv(kept)
    rows = []
    for n in SIZES:
        print(f"test of loss calibration, n = {n:,}", file=sys.stderr, flush=True)
        rng, rejected = np.random.default_rng(n), dict.fromkeys(SCORES, 0)
        for _ in range(REPLICATIONS):
            data = simulated(n, rng)
            eta = logit(data.truth)
            for name, score in SCORES.items():
                rejected[name] += loss_calibration_test(data.y, score(eta), 0.99).pvalue < 0.05
        rows += [(name, n, count / REPLICATIONS, REPLICATIONS) for name, count in rejected.items()]
    rows += [_refitted(n) for n in SIZES]
    frame = pd.DataFrame(rows, columns=["scores", "n", "rejected", "replications"])
    frame["mc_se"] = np.sqrt(frame["rejected"] * (1.0 - frame["rejected"]) / frame["replications"])
    frame.to_csv(kept, index=False, float_format="%.6g")
    return frame


def _refitted(n: int) -> tuple[str, int, float, int]:
    """A learner with the right model, fitted once to many more rows than it is tested on."""
    rng, rejected, rows = np.random.default_rng(n + 1), 0, 500_000
    scores = learned(right_model, simulated(rows, rng), 0.99)
    for _ in range(REFITS):
        data = simulated(n, rng)
        rejected += loss_calibration_test(data.y, scores(data.x), 0.99).pvalue < 0.05
    return f"logistic, right model, fitted to {rows:,} rows", n, rejected / REFITS, REFITS


def _test_table(tests: pd.DataFrame) -> str:
    rows = []
    for name, own in tests.groupby("scores", sort=False):
        by_size = own.set_index("n")
        cells = [f"{by_size.loc[n, 'rejected']:.3f} ({by_size.loc[n, 'mc_se']:.3f})" for n in SIZES]
        rows.append((str(name), *cells))
    return table(("scores", *(f"n = {n:,}" for n in SIZES)), rows)


# -- pictures ----------------------------------------------------------------------------------


def _picture(curves: dict, name: str) -> None:
    """Figures 1 to 4 of the paper."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9.0, 7.6), layout="constrained")
    kinds = (
        ("calibration curves", {"theory": False}),
        ("theoretical curves", {"points": False}),
        ("both", {}),
        ("loss-corrected scores", {"corrected": True}),
    )
    for number, (ax, (title, options)) in enumerate(zip(axes.flat, kinds, strict=True), 1):
        plot_loss_calibration(curves, ax=ax, **options)
        ax.set_title(f"Figure {number}: {title}", fontsize="medium")
        if number % 2 == 0:
            ax.set_ylabel("")
    save(figure, name)
