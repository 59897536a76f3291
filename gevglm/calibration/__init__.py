"""Checking and repairing predicted probabilities, from any model."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# loaded when first asked for: most fits need none of it
_MODULES = {
    "belt": ("calibration_belt",),
    "calibrators.base": (
        "Beta",
        "Calibrator",
        "Isotonic",
        "Platt",
    ),
    "corp": ("reliability",),
    "correction": (
        "loss_corrected",
        "loss_corrected_multiclass",
        "optimal_score",
        "prior_corrected",
        "shift_odds",
        "undersampling_corrected",
    ),
    "cox": ("cox_calibration",),
    "calibrators.laplace": ("AsymmetricLaplace",),
    "loss_calibration": (
        "loss_calibration_curve",
        "loss_calibration_test",
    ),
    "metrics": (
        "auc",
        "auc_interval",
        "average_precision",
        "brier_decomposition",
        "brier_score",
        "calibration_loss",
        "expected_calibration_error",
        "log_loss",
        "scaled_brier_score",
    ),
    "calibrators.piecewise": ("PiecewiseLogistic",),
    "plots": (
        "empirical_log_odds",
        "plot_belt",
        "plot_calibrators",
        "plot_loss_calibration",
        "plot_optimism",
        "plot_reliability",
    ),
    "optimism": (
        "bootstrap_optimism",
        "cross_validated",
    ),
    "smooth": ("integrated_calibration",),
    "hypothesis_tests": (
        "hosmer_lemeshow",
        "pregibon",
        "spiegelhalter",
        "stukel",
    ),
    "assessment": ("assess",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "AsymmetricLaplace",
    "Beta",
    "Calibrator",
    "Isotonic",
    "PiecewiseLogistic",
    "Platt",
    "assess",
    "auc",
    "auc_interval",
    "average_precision",
    "bootstrap_optimism",
    "brier_decomposition",
    "brier_score",
    "calibration_belt",
    "calibration_loss",
    "cox_calibration",
    "cross_validated",
    "empirical_log_odds",
    "expected_calibration_error",
    "hosmer_lemeshow",
    "integrated_calibration",
    "log_loss",
    "loss_calibration_curve",
    "loss_calibration_test",
    "loss_corrected",
    "loss_corrected_multiclass",
    "optimal_score",
    "plot_belt",
    "plot_calibrators",
    "plot_loss_calibration",
    "plot_optimism",
    "plot_reliability",
    "pregibon",
    "prior_corrected",
    "reliability",
    "scaled_brier_score",
    "shift_odds",
    "spiegelhalter",
    "stukel",
    "undersampling_corrected",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "gevglm.plots.calibration" if _HOME[name] == "plots" else f"{__name__}.{_HOME[name]}"
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return __all__
