"""Calibrators: maps from scores to probabilities, fitted to outcomes, and the words for them."""

from __future__ import annotations

from copy import deepcopy

from gevglm.calibration.calibrators.base import Calibrator
from gevglm.calibration.calibrators.beta import Beta
from gevglm.calibration.calibrators.isotonic import Isotonic
from gevglm.calibration.calibrators.laplace import AsymmetricLaplace
from gevglm.calibration.calibrators.logistic import Logistic, Platt
from gevglm.calibration.calibrators.piecewise import PiecewiseLogistic
from gevglm.calibration.calibrators.venn_abers import VennAbers
from gevglm.exceptions import InvalidOptionError, unknown_option

__all__ = [
    "CALIBRATORS",
    "AsymmetricLaplace",
    "Beta",
    "Calibrator",
    "Isotonic",
    "Logistic",
    "PiecewiseLogistic",
    "Platt",
    "VennAbers",
]
CALIBRATORS = Calibrator.words


def calibrator_of(method: str | Calibrator) -> Calibrator:
    """Return a new calibrator with the default options of a word, or a copy of the one given."""
    if isinstance(method, Calibrator):
        return deepcopy(method)
    if not isinstance(method, str):
        raise InvalidOptionError(
            f"method={method!r} is not a calibrator; give one of gevglm.calibration, or one of the words {', '.join(CALIBRATORS)}."
        )
    if method not in CALIBRATORS:
        raise unknown_option("method", method, CALIBRATORS)
    return CALIBRATORS[method]()
