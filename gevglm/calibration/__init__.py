"""Checking and repairing predicted probabilities, from any model."""

from gevglm.calibration.belt import calibration_belt
from gevglm.calibration.calibrators import Beta, Calibrator, Isotonic, Platt
from gevglm.calibration.corp import reliability
from gevglm.calibration.correction import (
    loss_corrected,
    loss_corrected_multiclass,
    optimal_score,
    prior_corrected,
    shift_odds,
    undersampling_corrected,
)
from gevglm.calibration.cox import cox_calibration
from gevglm.calibration.laplace import AsymmetricLaplace
from gevglm.calibration.losscurve import loss_calibration_curve, loss_calibration_test
from gevglm.calibration.metrics import (
    auc,
    auc_interval,
    average_precision,
    brier_decomposition,
    brier_score,
    calibration_loss,
    expected_calibration_error,
    log_loss,
    scaled_brier_score,
)
from gevglm.calibration.piecewise import PiecewiseLogistic
from gevglm.calibration.plots import (
    empirical_log_odds,
    plot_belt,
    plot_calibrators,
    plot_loss_calibration,
    plot_reliability,
)
from gevglm.calibration.resampling import bootstrap_optimism, cross_validated
from gevglm.calibration.smooth import integrated_calibration
from gevglm.calibration.tests import hosmer_lemeshow, pregibon, spiegelhalter, stukel
from gevglm.calibration.validation import assess

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
