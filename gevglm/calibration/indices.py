"""All indices of calibration and discrimination under one roof, with the intervals that have a formula."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, xlog1py, xlogy
from scipy.stats import norm

from gevglm.calibration.corp import Reliability
from gevglm.calibration.cox import CoxCalibration
from gevglm.calibration.estimates import Measured
from gevglm.calibration.metrics import (
    auc,
    auc_interval,
    average_precision,
    calibration_loss,
    expected_calibration_error,
)
from gevglm.calibration.sample import Sample
from gevglm.calibration.smooth import IntegratedCalibration


def all_indices(
    sample: Sample,
    cox: CoxCalibration | None,
    curve: IntegratedCalibration | None,
    corp: Reliability,
    *,
    bins: int = 10,
    level: float = 0.95,
) -> dict[str, float]:
    """Return every index, from its name to its number; :class:`Measured` where a standard error is at hand.

    Parameters
    ----------
    sample : Sample
    cox, curve : CoxCalibration, IntegratedCalibration or None
        None to leave their indices out.
    corp : Reliability
    bins : int
        Bins of the calibration loss and of the ECE.
    level : float
        Coverage of the intervals.
    """
    data = sample.y, sample.p, sample.weight
    brier = (sample.y - sample.p) ** 2
    spread = np.sqrt(sample.rate * (1.0 - sample.rate) / sample.total)
    loss = -xlogy(sample.y, sample.p) - xlog1py(1.0 - sample.y, -sample.p)
    indices = {
        "Brier score": _mean_with_interval(sample, brier, level),
        "scaled Brier score": _scaled_brier(sample, brier, level),
        "log loss": _mean_with_interval(sample, loss, level) if np.isfinite(loss).all() else np.inf,
        "AUC": auc(*data)
        if min(sample.events, sample.total - sample.events) <= 1
        else auc_interval(*data, level=level),
        "average precision": average_precision(*data),
        "observed / expected": _observed_to_expected(sample, level),
    }
    if cox is not None:
        indices |= {
            "calibration in the large": cox.in_the_large,
            "calibration slope": cox.slope,
            "calibration intercept": cox.intercept,
        }
    if curve is not None:
        indices |= {"ICI": curve.ici, "E50": curve.e50, "E90": curve.e90, "Emax": curve.emax}
    return indices | {
        f"calibration loss, {bins} bins": calibration_loss(*data, bins=bins),
        "ECE, equal width": expected_calibration_error(*data, bins=bins),
        "ECE, equal mass": expected_calibration_error(*data, bins=bins, by="mass"),
        "miscalibration (Brier)": corp.brier.mcb,
        "discrimination (Brier)": corp.brier.dsc,
        "uncertainty (Brier)": Measured.normal(corp.brier.unc, abs(1.0 - 2.0 * sample.rate) * spread, level),
        "miscalibration (log)": corp.log.mcb,
        "discrimination (log)": corp.log.dsc,
        "uncertainty (log)": Measured.normal(corp.log.unc, abs(logit(sample.rate)) * spread, level),
    }


def _mean_with_interval(sample: Sample, values: NDArray, level: float) -> Measured:
    mean = sample.mean(values)
    return Measured.normal(mean, np.sqrt(sample.mean((values - mean) ** 2) / sample.total), level)


def _scaled_brier(sample: Sample, brier: NDArray, level: float) -> Measured:
    """Ratio of Brier score and uncertainty, both of which vary."""
    mean, uncertainty = sample.mean(brier), sample.rate * (1.0 - sample.rate)
    influence = (brier - mean - mean / uncertainty * (1.0 - 2.0 * sample.rate) * (sample.y - sample.rate)) / uncertainty
    return Measured.normal(1.0 - mean / uncertainty, np.sqrt(sample.mean(influence**2) / sample.total), level)


def _observed_to_expected(sample: Sample, level: float) -> Measured:
    """Ratio of events to expected events, with limits that are normal for its logarithm."""
    ratio = sample.events / float(sample.weight @ sample.p)
    spread = np.sqrt((1.0 - sample.rate) / sample.events)
    reach = norm.isf((1.0 - level) / 2.0) * spread
    return Measured(ratio, ratio * spread, ratio * np.exp(-reach), ratio * np.exp(reach), level)
