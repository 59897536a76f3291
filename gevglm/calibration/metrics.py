"""Indices of accuracy and calibration, and all indices together: pure functions of outcomes, probabilities and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, logit, xlog1py, xlogy

from gevglm.calibration.bins import binned
from gevglm.calibration.discrimination import auc, auc_interval, average_precision
from gevglm.calibration.estimates import Measured
from gevglm.calibration.sample import Sample, predictions
from gevglm.display.brief import Brief
from gevglm.exceptions import GevglmWarning, InvalidDataError, InvalidOptionError, warn

if TYPE_CHECKING:
    from gevglm.calibration.corp import Reliability
    from gevglm.calibration.cox import CoxCalibration
    from gevglm.calibration.smooth import IntegratedCalibration


def brier_score(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> float:
    r"""Mean squared error of predicted probabilities, :math:`\overline{y (1-p)^2 + (1-y) p^2}`.

    Parameters
    ----------
    y : array_like
        Outcomes, 0 or 1; shares in between count as that share of events.
    p : array_like
        Predicted probabilities.
    weights : array_like, optional
        How many observations each row stands for.

    Examples
    --------
    >>> brier_score([0, 0, 1], [0.1, 0.2, 0.9])
    0.02
    """
    sample = predictions(y, p, weights, shares=True)
    return sample.mean(sample.y * (1.0 - sample.p) ** 2 + (1.0 - sample.y) * sample.p**2)


def scaled_brier_score(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> float:
    r"""Share of the Brier score of the constant prediction :math:`\bar y` that the predictions save.

    .. math:: 1 - \frac{\mathrm{BS}}{\bar y (1 - \bar y)}

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`brier_score`.

    Returns
    -------
    float
        1 for perfect predictions, 0 for :math:`\bar y`, below 0 for worse ones.
    """
    sample = predictions(y, p, weights, shares=True).need_both_outcomes("the scaled Brier score")
    return 1.0 - brier_score(sample.y, sample.p, sample.weight) / (sample.rate * (1.0 - sample.rate))


def log_loss(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None) -> float:
    r"""Mean negative Bernoulli log-likelihood, :math:`-\overline{y \ln p + (1-y) \ln(1-p)}`.

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`brier_score`.

    Returns
    -------
    float
        Infinite if an event has probability 0 or a non-event probability 1.

    Warns
    -----
    GevglmWarning
        If the loss is infinite, with the numbers of such rows.
    """
    sample = predictions(y, p, weights, shares=True)
    reason = infinite_log_loss(sample)
    if reason:
        warn(f"the log loss is infinite: {reason}.", GevglmWarning)
        return np.inf
    return sample.mean(-xlogy(sample.y, sample.p) - xlog1py(1.0 - sample.y, -sample.p))


def infinite_log_loss(sample: Sample) -> str:
    """Say which rows make the log loss infinite; an empty string if none do."""
    zero, one = int(((sample.p == 0.0) & (sample.y > 0.0)).sum()), int(((sample.p == 1.0) & (sample.y < 1.0)).sum())
    return f"{zero} events have probability 0 and {one} non-events have probability 1" if zero or one else ""


# -- bins --------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class BrierDecomposition(Brief):
    r"""Murphy's parts of the Brier score, over bins.

    ``brier = reliability - resolution + uncertainty + within_variance - within_covariance``

    Attributes
    ----------
    brier : float
    reliability : float
        Miscalibration: mean squared distance of mean prediction and share of events of a bin.
    resolution : float
        Mean squared distance of a bin's share of events from that of all.
    uncertainty : float
        :math:`\bar y (1 - \bar y)`.
    within_variance, within_covariance : float
        Variance of the predictions inside bins, and twice their covariance with the outcomes; 0 for one bin per distinct
        prediction.
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within_variance: float
    within_covariance: float


def brier_decomposition(
    y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None, *, bins: int | None = 10, by: str = "width"
) -> BrierDecomposition:
    r"""Take the Brier score apart into reliability, resolution and uncertainty.

    .. math::

       \mathrm{REL} = \sum_b \frac{n_b}{n} (\bar p_b - \bar y_b)^2, \quad
       \mathrm{RES} = \sum_b \frac{n_b}{n} (\bar y_b - \bar y)^2, \quad
       \mathrm{UNC} = \bar y (1 - \bar y)

    Murphy's identity BS = REL - RES + UNC is exact if the predictions in a bin are equal; otherwise the two parts
    within bins (Stephenson, Coelho and Jolliffe 2008) complete it.

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`brier_score`; outcomes must be 0 or 1.
    bins : int or None
        Number of bins; None for one bin per distinct prediction.
    by : {"width", "mass"}
        Bins of equal width, or of equal numbers of observations.
    """
    sample = predictions(y, p, weights)
    cells = binned(sample, bins, by)
    share, center, rate = cells.weight / sample.total, cells.score[cells.index], cells.rate[cells.index]
    deviation = sample.p - center
    return BrierDecomposition(
        brier=sample.mean((sample.p - sample.y) ** 2),
        reliability=float(share @ (cells.score - cells.rate) ** 2),
        resolution=float(share @ (cells.rate - sample.rate) ** 2),
        uncertainty=sample.rate * (1.0 - sample.rate),
        within_variance=sample.mean(deviation**2),
        within_covariance=2.0 * sample.mean(deviation * (sample.y - rate)),
    )


def calibration_loss(y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None, *, bins: int = 10) -> float:
    r"""Mean squared distance of each prediction from the share of events in its bin.

    .. math:: \mathrm{CL} = \frac 1n \sum_i (p_i - \bar y_{b(i)})^2

    with bins [0, 0.1], (0.1, 0.2], ..., (0.9, 1].

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`brier_score`; outcomes must be 0 or 1.
    bins : int
        Number of bins of equal width.

    References
    ----------
    Agarwal, Narasimhan, Kalyanakrishnan and Agarwal (2014), GEV-canonical regression for accurate binary class probability
    estimation when one class is rare, ICML; after Hernandez-Orallo, Flach and Ferri (2012).
    """
    sample = predictions(y, p, weights)
    cells = binned(sample, bins)
    return sample.mean((sample.p - cells.rate[cells.index]) ** 2)


def expected_calibration_error(
    y: ArrayLike, p: ArrayLike, weights: ArrayLike | None = None, *, bins: int = 10, by: str = "width", norm: float = 1
) -> float:
    r"""Distance of mean prediction and share of events, over bins.

    .. math:: \left( \sum_b \frac{n_b}{n} |\bar p_b - \bar y_b|^r \right)^{1/r}

    Parameters
    ----------
    y, p, weights : array_like
        See :func:`brier_score`; outcomes must be 0 or 1.
    bins : int
    by : {"width", "mass"}
        Bins of equal width, or of equal numbers of observations with equal predictions kept together.
    norm : {1, 2, inf}
        The power r: 1 is the expected calibration error (ECE), 2 its root mean square, infinity the largest distance of any bin
        (MCE).
    """
    if norm not in (1, 2, np.inf):
        raise InvalidOptionError(f"norm={norm!r} is not known; use one of 1, 2, inf.")
    sample = predictions(y, p, weights)
    cells = binned(sample, bins, by)
    distance = np.abs(cells.score - cells.rate)
    if norm == np.inf:
        return float(distance.max())
    return float((cells.weight @ distance**norm / sample.total) ** (1.0 / norm))


# -- all of them -------------------------------------------------------------------------------


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

    Without `cox` or `curve` their indices are left out; `bins` are those of the calibration loss and of the ECE.
    """
    data = sample.y, sample.p, sample.weight
    brier = (sample.y - sample.p) ** 2
    loss = -xlogy(sample.y, sample.p) - xlog1py(1.0 - sample.y, -sample.p)
    indices = {
        "Brier score": _mean_with_interval(sample, brier, level),
        "scaled Brier score": _scaled_brier(sample, brier, level),
        "log loss": _mean_with_interval(sample, loss, level) if np.isfinite(loss).all() else np.inf,
        "AUC": _auc_with_interval(sample, level),
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
        "uncertainty (Brier)": _of_rate(
            sample, corp.brier.unc, lambda r: r * (1.0 - r), 1.0 - 2.0 * sample.rate, level
        ),
        "miscalibration (log)": corp.log.mcb,
        "discrimination (log)": corp.log.dsc,
        "uncertainty (log)": _of_rate(
            sample, corp.log.unc, lambda r: entr(r) + entr(1.0 - r), logit(sample.rate), level
        ),
    }


def _of_rate(
    sample: Sample, value: float, function: Callable[[NDArray], NDArray], slope: float, level: float
) -> Measured:
    error = sample.standard_error(slope * (sample.y - sample.rate), [sample.y], function)
    return sample.measured(value, error, level)


def _mean_with_interval(sample: Sample, values: NDArray, level: float) -> Measured:
    mean = sample.mean(values)
    return sample.measured(mean, sample.standard_error(values - mean), level)


def _auc_with_interval(sample: Sample, level: float) -> float:
    """Area with its interval; alone, where too few clusters have events or others."""
    data = sample.y, sample.p, sample.weight
    try:
        return auc_interval(*data, groups=sample.clusters, level=level)
    except InvalidDataError:
        return auc(*data)


def _scaled_brier(sample: Sample, brier: NDArray, level: float) -> Measured:
    """Ratio of Brier score and uncertainty, both of which vary."""
    mean, uncertainty = sample.mean(brier), sample.rate * (1.0 - sample.rate)
    influence = (brier - mean - mean / uncertainty * (1.0 - 2.0 * sample.rate) * (sample.y - sample.rate)) / uncertainty
    error = sample.standard_error(influence, [brier, sample.y], lambda b, r: 1.0 - b / (r * (1.0 - r)))
    return sample.measured(1.0 - mean / uncertainty, error, level)


def _observed_to_expected(sample: Sample, level: float) -> Measured:
    """Ratio of events to expected events, with limits that are normal for its logarithm.

    The predictions are taken as given; with clusters, which are drawn with theirs, it is a ratio of two sums.
    """
    ratio = sample.events / float(sample.weight @ sample.p)
    expected = sample.rate if sample.groups is None else ratio * sample.p
    error = sample.standard_error(ratio * (sample.y - expected) / sample.rate, [sample.y, sample.p], np.divide)
    reach = sample.distribution().isf((1.0 - level) / 2.0) * error / ratio
    return Measured(ratio, error, ratio * np.exp(-reach), ratio * np.exp(reach), level)
