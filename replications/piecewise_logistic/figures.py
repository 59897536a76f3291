"""Figures 1 and 2 of the paper: asymmetric Laplace densities, and fitted log-odds beside observed ones."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gevglm.calibration import Calibrator, empirical_log_odds, plot_calibrators
from gevglm.calibration.calibrators.laplace import LaplaceFit
from replications.common.figures import save

Fits = dict[tuple[str, str, str], tuple[Calibrator, NDArray, NDArray]]  # calibrators, with training and test scores
RIGHT_RATES = (0.5, 1.0, 2.0, 5.0)
LABELS = {"Platt": "Platt", "AL": "asymmetric Laplace", "PLR": "piecewise logistic"}
TITLES = {"SVM": "linear SVM", "NB": "naive Bayes", "LR, log-odds": "logistic regression"}


def laplace_densities() -> None:
    """Figure 1: densities with mode 0, left rate 1 and the right rates of the paper."""
    figure = Figure(figsize=(5.4, 3.4), layout="constrained")
    ax = figure.subplots()
    s = np.linspace(-5.0, 5.0, 1001)
    for right in RIGHT_RATES:
        ax.plot(s, np.exp(LaplaceFit(0.0, 1.0, right, np.nan).log_density(s)), label=rf"$\gamma$ = {right:g}")
    ax.set(title=r"asymmetric Laplace densities, $\beta$ = 1", xlabel="score", ylabel="density")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    save(figure, "piecewise_logistic_densities")


def fitted_log_odds(name: str, topic: str, y: NDArray, fits: Fits) -> None:
    """Figure 2: fitted log-odds beside those of the test documents, for one topic."""
    figure = Figure(figsize=(10.5, 3.6), layout="constrained")
    axes = figure.subplots(1, 3)
    for ax, (classifier, title) in zip(axes, TITLES.items(), strict=True):
        fitted = {label: fits[classifier, method, topic][0] for method, label in LABELS.items()}
        plot_calibrators(fitted, empirical_log_odds(fits[classifier, "PLR", topic][2], y, bins=25), ax=ax)
        ax.set_title(f"{title}, {topic}", fontsize="medium")
        if ax is not axes[0]:
            ax.set_ylabel("")
            ax.get_legend().remove()
    save(figure, name)
