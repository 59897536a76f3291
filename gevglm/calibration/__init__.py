"""Checking and repairing predicted probabilities, from any model."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gevglm import modules_of

# loaded when first asked for: most fits need none of it
_MODULES = {
    "calibration.assessment": ("assess",),
    "calibration.belt": ("calibration_belt",),
    "calibration.bins": ("empirical_log_odds",),
    "calibration.by_group": ("calibration_by_group",),
    "calibration.calibrators": ("AsymmetricLaplace", "Beta", "Calibrator", "Isotonic", "Logistic", "PiecewiseLogistic", "Platt",
                                "VennAbers"),
    "calibration.classification": ("classification_table",),
    "calibration.corp": ("reliability",),
    "calibration.correction": ("loss_corrected", "loss_corrected_multiclass", "optimal_score", "prior_corrected", "shift_odds",
                               "undersampling_corrected"),
    "calibration.cox": ("cox_calibration",),
    "calibration.decisions": ("decide", "decision_threshold"),
    "calibration.discrimination": ("auc", "auc_interval", "average_precision"),
    "calibration.hypothesis_tests": ("hosmer_lemeshow", "pregibon", "spiegelhalter", "stukel"),
    "calibration.loss_calibration": ("loss_calibration_curve", "loss_calibration_test", "switching_gain"),
    "calibration.metrics": ("brier_decomposition", "brier_score", "calibration_loss", "expected_calibration_error", "log_loss", "scaled_brier_score"),
    "calibration.monitoring": ("monitor",),
    "calibration.multiclass": ("loss_calibration_curve_multiclass", "loss_calibration_test_multiclass"),
    "calibration.net_benefit": ("net_benefit_difference",),
    "calibration.optimism": ("bootstrap_optimism", "cross_validated"),
    "calibration.paired": ("delong_test", "paired_t_test", "sign_test"),
    "calibration.segments": ("worst_segment",),
    "calibration.smooth": ("integrated_calibration",),
    "plots.calibration": ("plot_belt", "plot_calibrators", "plot_loss_calibration", "plot_optimism", "plot_reliability"),
}  # fmt: skip
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        return modules_of(__name__)(name)
    return getattr(import_module(f"gevglm.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
