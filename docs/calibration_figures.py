"""Pictures of the page on calibration, from simulated predictions; run by ``python -m docs.calibration_figures``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gevglm.calibration import (
    AsymmetricLaplace,
    Beta,
    Isotonic,
    PiecewiseLogistic,
    Platt,
    assess,
    empirical_log_odds,
    plot_belt,
    plot_calibrators,
    plot_reliability,
)
from replications.common.figures import save


def predicted(
    center: float, *, n: int = 20_000, shift: float = 0.0, stretch: float = 1.0, seed: int = 1
) -> tuple[NDArray, NDArray]:
    """Return outcomes and predictions whose log-odds are moved and stretched."""
    rng = np.random.default_rng(seed)
    eta = rng.normal(center, 1.3, n)
    return (rng.random(n) < expit(shift + stretch * eta)).astype(float), expit(eta)


def reliability_scales() -> None:
    """The same rare predictions, too extreme, on the three kinds of axes."""
    import matplotlib.pyplot as plt

    rare = assess(*predicted(-4.0, shift=-0.6, stretch=0.75), belt=False, rng=0)
    figure, axes = plt.subplots(1, 3, figsize=(12.0, 4.2), layout="constrained")
    for ax, scale in zip(axes, ("linear", "log", "logit"), strict=True):
        rare.plot(ax=ax, scale=scale)
        ax.set_title(f'scale="{scale}"', fontsize="medium")
    save(figure, "reliability_scales")


def several_models_and_belt() -> None:
    """Three models in one picture; the belt of one of them."""
    import matplotlib.pyplot as plt

    models = {
        "well calibrated": {},
        "too extreme": {"shift": -1.0, "stretch": 0.6},
        "too low": {"shift": 0.9},
    }
    assessed = {name: assess(*predicted(-3.5, n=8000, **how), rng=0) for name, how in models.items()}
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.4), layout="constrained")
    plot_reliability(assessed, ax=axes[0], smooth=False)
    axes[0].set_title("plot_reliability of three models", fontsize="medium")
    plot_belt(assessed["too extreme"].belt, ax=axes[1], scale="log")
    axes[1].set_title('plot_belt of "too extreme"', fontsize="medium")
    save(figure, "reliability_models_belt")


def calibrators() -> None:
    """Fits to scores whose log-odds have three slopes."""
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(3)
    scores = rng.normal(0.0, 1.5, 30_000)
    log_odds = -3.0 + 0.4 * scores + 2.2 * (np.clip(scores, 0.0, 1.5))
    y = (rng.random(30_000) < expit(log_odds)).astype(float)
    fitted = {
        "Platt": Platt(),
        "asymmetric Laplace": AsymmetricLaplace(),
        "piecewise logistic": PiecewiseLogistic(),
        "isotonic": Isotonic(),
    }
    figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    fitted = {name: calibrator.fit(scores, y) for name, calibrator in fitted.items()}
    fitted["beta"] = _OfProbability(Beta().fit(expit(scores), y))
    plot_calibrators(fitted, empirical_log_odds(scores, y, bins=30), ax=ax)
    save(figure, "calibrators")


class _OfProbability:
    """A calibrator of probabilities, as one of log-odds."""

    def __init__(self, calibrator: Beta):
        self.calibrator = calibrator

    def log_odds(self, scores: NDArray) -> NDArray:
        return self.calibrator.log_odds(expit(scores))


if __name__ == "__main__":
    reliability_scales()
    several_models_and_belt()
    calibrators()
