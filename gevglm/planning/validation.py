"""The size of a study that validates a prediction model: intervals of O/E, slope, AUC and net benefit that are narrow enough."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import norm

from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.planning.sizes import StudySize, Z, share, study_size

POINTS = 40_001  # of a distribution of linear predictors


def validation_size(
    *,
    prevalence: float,
    auc: float,
    linear: Any = None,
    oe: float = 1.0,
    oe_width: float = 0.2,
    slope_width: float = 0.2,
    auc_width: float = 0.1,
    threshold: float | None = None,
    sensitivity: float | None = None,
    specificity: float | None = None,
    net_benefit_width: float = 0.2,
    n: int | None = None,
) -> StudySize:
    r"""Observations needed to validate a prediction model of a binary outcome: the widths of 95 % intervals that they give.

    .. math::
        \mathrm{SE}(\ln \mathrm{O/E})^2 = \frac{1 - \phi}{n \phi}, \qquad \mathrm{SE}(b)^2 = \frac{I_{00}}{n (I_{00} I_{11} - I_{01}^2)},

    where :math:`I_{jk}` is the mean of :math:`v^{j+k} p (1 - p)` over the linear predictors v of a calibrated model; for the AUC, A,

    .. math:: \mathrm{SE}(A)^2 = \frac{A (1 - A) (1 + (n/2 - 1) (\frac{1 - A}{2 - A} + \frac{A}{1 + A}))}{n^2 \phi (1 - \phi)};

    for the standardised net benefit at a threshold t, with :math:`w = \frac{1 - \phi}{\phi} \frac{t}{1 - t}`,

    .. math:: n\, \mathrm{SE}^2 = \frac{\mathrm{se} (1 - \mathrm{se})}{\phi} + \frac{w^2 \mathrm{sp} (1 - \mathrm{sp})}{1 - \phi} + \frac{w^2 (1 - \mathrm{sp})^2}{\phi (1 - \phi)}.

    Parameters
    ----------
    prevalence, auc : float
        Share of events and area under the ROC curve to be expected.
    linear : pair or array_like, optional
        The linear predictors (log-odds) to be expected: mean and standard deviation of a normal distribution, or an array of at least 3 values. By default
        they are normal in events and others, with the same variance, which `auc` and `prevalence` determine.
    oe : float
        O/E to be expected.
    oe_width, slope_width, auc_width, net_benefit_width : float
        Widths of intervals.
    threshold : float, optional
        Risk at which decisions change; net benefit is left out without it.
    sensitivity, specificity : float, optional
        At the threshold; by default those of the linear predictors.
    n : int, optional
        A size that is given: the table then says what widths are to be expected of it.

    Returns
    -------
    StudySize

    References
    ----------
    Riley et al. (2021), Statistics in Medicine 40, 4230-4251; Riley et al. (2024), BMJ 384, e074821.

    Examples
    --------
    >>> from gevglm.planning import validation_size
    >>> validation_size(prevalence=0.1, auc=0.8)
    <StudySize: 4,196 observations with 420 events>
    """
    phi, area = share("prevalence", prevalence), share("auc", auc, 0.5)
    widths = {"oe_width": oe_width, "slope_width": slope_width, "auc_width": auc_width}
    for name, width in (widths | {"net_benefit_width": net_benefit_width, "oe": oe}).items():
        share(name, width, 0.0, np.inf)
    values, weights = _distribution(linear, area, phi)
    spread, of_slope = (1.0 - phi) / phi, _slope_variance(values, weights)
    criteria: dict[str, tuple[float, float, Any]] = {
        "O/E": (
            oe_width,
            spread / (np.arcsinh(oe_width / (2.0 * oe)) / Z) ** 2,
            lambda size: 2.0 * oe * np.sinh(Z * np.sqrt(spread / size)),
        ),
        "calibration slope": _two_sided(of_slope, slope_width),
        "AUC": _of_auc(area, phi, auc_width),
    }
    facts = {"Prevalence": f"{phi:.4g}", "AUC": f"{area:.4g}"}
    if threshold is None and (sensitivity is not None or specificity is not None):
        raise InvalidOptionError("sensitivity and specificity go with threshold=, the risk at which decisions change.")
    if threshold is not None:
        t = share("threshold", threshold)
        se, sp = _at_threshold(values, weights, t)
        se = se if sensitivity is None else share("sensitivity", sensitivity, -1e-12, 1.0 + 1e-12)
        sp = sp if specificity is None else share("specificity", specificity, -1e-12, 1.0 + 1e-12)
        w = spread * t / (1.0 - t)
        variance = se * (1.0 - se) / phi + w**2 * (1.0 - sp) * (sp / (1.0 - phi) + (1.0 - sp) / (phi * (1.0 - phi)))
        criteria["net benefit"] = _two_sided(variance, net_benefit_width)
        facts |= {"Threshold": f"{t:g}", "Sensitivity": f"{se:.3f}", "Specificity": f"{sp:.3f}"}
        facts["Standardised net benefit"] = f"{se - w * (1.0 - sp):.3f}"
    return study_size("Size of a study to validate a model", criteria, phi, n, facts)


def _two_sided(variance: float, width: float) -> tuple[float, float, Any]:
    """Return the criterion of an estimate with this variance, times the size: width, size, and the width at a size."""
    return width, variance * (2.0 * Z / width) ** 2, lambda size: 2.0 * Z * np.sqrt(variance / size)


def _of_auc(area: float, phi: float, width: float) -> tuple[float, float, Any]:
    """Return the criterion of the area under the ROC curve."""

    def at(size: float) -> float:
        inner = 1.0 + (size / 2.0 - 1.0) * ((1.0 - area) / (2.0 - area) + area / (1.0 + area))
        return 2.0 * Z * np.sqrt(area * (1.0 - area) * inner / (size**2 * phi * (1.0 - phi)))

    return width, brentq(lambda size: at(size) - width, 2.0, 1e12, xtol=1e-6), at


def _distribution(linear: Any, auc: float, prevalence: float) -> tuple[NDArray, NDArray]:
    """Return linear predictors and their shares."""
    steps = np.linspace(-8.0, 8.0, POINTS)
    if linear is None:
        variance = 2.0 * norm.ppf(auc) ** 2
        sd, middle = np.sqrt(variance), logit(prevalence)
        low, high = middle - variance / 2.0, middle + variance / 2.0
        values = np.linspace(low - 8.0 * sd, high + 8.0 * sd, POINTS)
        density = (1.0 - prevalence) * norm.pdf(values, low, sd) + prevalence * norm.pdf(values, high, sd)
        return values, density / density.sum()
    given = np.asarray(linear, dtype=float)
    if given.ndim != 1 or len(given) < 2 or not np.isfinite(given).all():
        raise InvalidDataError(
            f"linear has shape {given.shape} and {int((~np.isfinite(given)).sum())} values that are not finite; give a mean and a standard "
            "deviation, or the linear predictors of a sample."
        )
    if len(given) > 2:
        if np.ptp(given) == 0.0:
            raise InvalidDataError(
                f"all {len(given)} values of linear are {given[0]:g}; a slope needs values that differ."
            )
        return given, np.full(len(given), 1.0 / len(given))
    mean, sd = given
    share("the standard deviation in linear", float(sd), 0.0, np.inf)
    density = norm.pdf(steps)
    return mean + sd * steps, density / density.sum()


def _slope_variance(values: NDArray, weights: NDArray) -> float:
    """Return the variance of the calibration slope, times the number of observations."""
    information = weights * expit(values) * expit(-values)
    zero, one, two = information.sum(), information @ values, information @ values**2
    return float(zero / (zero * two - one**2))


def _at_threshold(values: NDArray, weights: NDArray, threshold: float) -> tuple[float, float]:
    """Return sensitivity and specificity of a calibrated model."""
    p = expit(values)
    high = p > threshold
    return float(weights[high] @ p[high] / (weights @ p)), float(
        weights[~high] @ (1.0 - p[~high]) / (weights @ (1.0 - p))
    )
