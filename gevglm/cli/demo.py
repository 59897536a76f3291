"""``gevglm demo``: a simulated rare-event study, fitted, summarised, drawn and reported."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gevglm.api import fit
from gevglm.cli.options import add_command
from gevglm.cli.pictures import save_picture
from gevglm.datasets.simulated import STUDY_TRUTH, STUDY_XI, simulate_study
from gevglm.links import GEV
from gevglm.plots import RiskCurve, plot_risk_curves
from gevglm.results import BinaryGLMResults

EXAMPLES = """examples:
  gevglm demo --folder pictures
      the summary on stdout, pictures and the report in a folder
"""
CALIBRATION = ["Brier score", "AUC", "observed / expected", "calibration in the large", "calibration slope", "ICI"]


def add_to(commands: Any, title: str) -> None:
    """Add the command, with its title among all commands, to the parser."""
    text = "Simulate a rare-event study, fit it, print the summary, save pictures and a report."
    parser = add_command(commands, "demo", run, EXAMPLES, title, text)
    parser.add_argument("--folder", default="demo-output", help="where pictures and report go (default: demo-output)")


def run(options: argparse.Namespace) -> None:
    """Run the demo."""
    demonstrate(options.folder)


def demonstrate(folder: str | Path = "demo-output") -> Path:
    """Run the demo and return the path of its report."""
    data = simulate_study(rng=2014)
    print("A cohort of 5,000 persons, simulated with a GEV link (xi = 0.5): age above 50, smoking, and a rare event.\n")
    results = fit("event ~ age + smoker", data, xi=STUDY_XI)
    print(results.summary())
    truth = pd.Series(STUDY_TRUTH, name="truth")
    print("\nEstimates beside the truth:")
    print(pd.concat([results.params.rename("estimate"), results.bse.rename("std err"), truth], axis=1).round(4))
    print("\nAverage effect on the risk (smoker: yes against no):")
    print(results.get_margeff(dummy=True).summary_frame().iloc[:, :2].round(5))
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    path = path / "risk.png"
    axes = plot_risk_curves(risk_curves(results), xlabel="age, years above 50", ylabel="risk of the event")
    save_picture(axes, path)
    print(f"\nThe fitted risk by age and smoking, with 95 % bands: {path}")
    print("\nThe shape, had it not been known:")
    shape = fit("event ~ age + smoker", data, link="gev", loss="log", xi="ml")
    lower, upper = shape.xi_conf_int()
    print(
        f"xi = {shape.xi:.2f} by maximum likelihood, 95 % interval {lower:.2f} to {upper:.2f}; the truth is {STUDY_XI:g}."
    )
    new = simulate_study(rng=2015)
    found = results.calibration(new)
    print("\nCalibration in a second cohort of 5,000:")
    print(found.summary_frame().loc[CALIBRATION, ["estimate", "ci_lower", "ci_upper"]].round(4))
    picture = path.with_name("calibration.png")
    save_picture(found.plot(), picture)
    print(f"\nPredicted against observed risk there: {picture}")
    report = results.report(path.with_name("report.html"), title="A simulated cohort: smoking, age and a rare event")
    print(f"\nThe report, to read or print in a browser: {report.resolve()}")
    return report


def risk_curves(results: BinaryGLMResults) -> list[RiskCurve]:
    """Return fitted and true risk by age, for smokers and others."""
    age = np.linspace(-25.0, 25.0, 101)
    curves = []
    for smoker, label in ((1, "smoker"), (0, "non-smoker")):
        frame = results.get_prediction({"age": age, "smoker": np.full(len(age), smoker)}).summary_frame()
        v = STUDY_TRUTH["Intercept"] + STUDY_TRUTH["age"] * age + STUDY_TRUTH["smoker"] * smoker
        limits = frame["mean_ci_lower"].to_numpy(), frame["mean_ci_upper"].to_numpy()
        curves.append(RiskCurve(label, age, frame["mean"].to_numpy(), *limits, truth=GEV(STUDY_XI).inverse(v)))
    return curves
