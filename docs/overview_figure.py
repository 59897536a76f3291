"""The picture of the README and of the first page: ``python docs/overview_figure.py`` draws docs/figures/overview.svg."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import gevglm
from gevglm.links import GEV, Logit
from gevglm.plots import COLORS

HERE = Path(__file__).parent
TICKS = ([0.001, 0.01, 0.1, 1.0], ["0.1 %", "1 %", "10 %", "100 %"])


def draw_links(ax: Axes) -> None:
    """Draw links that agree at a risk of 5 %, in location and slope."""
    grid = np.linspace(-3.0, 4.0, 500)
    links = {"logit": Logit(), "GEV, xi = 0.5": GEV(0.5), "xi = 0 (log-log)": GEV(0.0), "xi = -0.26": GEV(-0.2567)}
    for (name, link), color in zip(links.items(), COLORS, strict=False):
        start = float(link(0.05))
        slope = float(link.inverse_deriv(start)) / 0.05
        ax.plot(grid, link.inverse(start + grid / slope), color=color, label=name)
    ax.set(yscale="log", ylim=(8e-4, 1.2), xlabel="linear predictor, in units of the relative risk", ylabel="risk")
    ax.set_yticks(*TICKS)
    ax.set_title("links that agree at 5 %")
    ax.legend(frameon=False, fontsize="small")


def draw_study(ax: Axes, results: gevglm.BinaryGLMResults) -> None:
    """Draw the fitted risks of a simulated study beside the truth."""
    age = np.linspace(-25.0, 25.0, 101)
    for smoker, name, color in ((1, "smokers", COLORS[1]), (0, "non-smokers", COLORS[0])):
        fitted = results.get_prediction({"age": age, "smoker": np.full(101, smoker)}).summary_frame()
        truth = gevglm.datasets.STUDY_TRUTH
        v = truth["Intercept"] + truth["age"] * age + truth["smoker"] * smoker
        ax.fill_between(50 + age, fitted["mean_ci_lower"], fitted["mean_ci_upper"], color=color, alpha=0.2, linewidth=0)
        ax.plot(50 + age, fitted["mean"], color=color, label=name)
        ax.plot(50 + age, GEV(gevglm.datasets.STUDY_XI).inverse(v), color="0.2", linestyle=":", linewidth=1)
    ax.plot([], [], color="0.2", linestyle=":", linewidth=1, label="truth")
    ax.set(xlabel="age", ylabel="risk", ylim=(0, None))
    ax.set_title("risks with 95 % bands")
    ax.legend(frameon=False, fontsize="small")


def draw_calibration(ax: Axes, results: gevglm.BinaryGLMResults) -> None:
    """Draw predicted against observed risks of new persons."""
    results.calibration(gevglm.datasets.simulate_study(rng=2)).plot(ax=ax)
    ax.set_title("calibration on new data")


def main() -> None:
    matplotlib.rcParams.update({"svg.hashsalt": "gevglm", "svg.fonttype": "path", "font.size": 9})
    results = gevglm.fit("event ~ age + smoker", gevglm.datasets.simulate_study(rng=1), xi=0.5)
    figure = Figure(figsize=(11.0, 3.5), layout="constrained")
    axes = figure.subplots(1, 3)
    draw_links(axes[0])
    draw_study(axes[1], results)
    draw_calibration(axes[2], results)
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "figures" / "overview.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
