"""Checking predicted probabilities, from any model."""

from gevglm.calibration.metrics import auc, brier_score, log_loss

__all__ = ["auc", "brier_score", "log_loss"]
