"""Cox's logistic recalibration: whether the log-odds of an event are the predicted ones, shifted, or stretched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from scipy.stats import chi2, f

from gevglm.calibration._logistic import IDENTITY, LogisticFit, bernoulli_llf, fit_logistic
from gevglm.calibration.estimates import CalibrationTest, Measured
from gevglm.calibration.sample import Clusters, Sample, predictions
from gevglm.display.brief import Brief
from gevglm.exceptions import InvalidDataError


@dataclass(frozen=True, repr=False)
class CoxCalibration(Brief):
    """Intercept and slope of the logistic recalibration, and calibration in the large.

    Attributes
    ----------
    intercept, slope : Measured
        Of the model with both; 0 and 1 for calibrated predictions. Floats with ``se``, ``lower`` and ``upper``.
    in_the_large : Measured
        Intercept of the model whose slope is 1: positive if events are more than predicted.
    cov : ndarray of shape (2, 2)
        Covariance of intercept and slope.
    test : CalibrationTest
        Likelihood-ratio test of intercept 0 and slope 1 together (the U of rms::val.prob); with clusters, all tests are Wald's.
    test_in_the_large : CalibrationTest
        Intercept 0, given slope 1.
    test_slope : CalibrationTest
        Slope 1, given any intercept. The two statistics add up to that of the joint test.
    llf, llf_predicted, llf_null : float
        Log-likelihood of the recalibrated predictions, of the predictions, of the constant prediction.
    n : float
        Number of observations.
    """

    intercept: Measured
    slope: Measured
    in_the_large: Measured
    cov: NDArray
    test: CalibrationTest
    test_in_the_large: CalibrationTest
    test_slope: CalibrationTest
    llf: float
    llf_predicted: float
    llf_null: float
    n: float

    def calibrated(self, p: ArrayLike) -> NDArray:
        r"""Return the recalibrated probabilities, :math:`\mathrm{logit}^{-1}(a + b\,\mathrm{logit}\,p)`."""
        return expit(float(self.intercept) + float(self.slope) * logit(np.asarray(p, dtype=float)))

    @property
    def unreliability(self) -> float:
        """U of rms::val.prob: the likelihood-ratio statistic of intercept 0 and slope 1, less 2, per observation."""
        return (2.0 * (self.llf - self.llf_predicted) - 2.0) / self.n

    @property
    def discrimination(self) -> float:
        """D of CalibrationCurves: likelihood-ratio statistic of the slope against the constant, less 1, per observation."""
        return (2.0 * (self.llf - self.llf_null) - 1.0) / self.n

    @property
    def quality(self) -> float:
        """Q of CalibrationCurves: discrimination less unreliability."""
        return self.discrimination - self.unreliability

    @property
    def r_squared(self) -> float:
        """Nagelkerke's R-squared of the recalibrated predictions."""
        gain = -np.expm1(2.0 * (self.llf_null - self.llf) / self.n)
        return float(gain / -np.expm1(2.0 * self.llf_null / self.n))


def cox_calibration(
    y: ArrayLike,
    p: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    groups: Clusters | None = None,
    level: float = 0.95,
) -> CoxCalibration:
    r"""Calibration intercept, slope and calibration in the large, with intervals and tests.

    .. math:: \mathrm{logit}\,P(y = 1) = a + b\,\mathrm{logit}\,p

    Parameters
    ----------
    y : array_like
        Outcomes, 0 or 1.
    p : array_like
        Predicted probabilities, strictly between 0 and 1.
    weights : array_like, optional
        How many observations each row stands for.
    groups : array_like, optional
        Cluster of each row. Covariances are then the sandwich of cluster sums, times G/(G - 1) for G clusters, and the tests Wald's with it in
        place of likelihood ratios.
    level : float
        Coverage of the (Wald) intervals.

    Notes
    -----
    The intercept here belongs to the model with a slope, as in rms::val.prob. What CalibrationCurves::val.prob.ci.2 calls
    intercept has the slope fixed at 1; here it is ``in_the_large``. Predictions fitted by logistic regression to the same data have
    intercept 0 and slope 1 by construction.

    References
    ----------
    Cox (1958), Biometrika 45, 562-565; Miller, Hui and Tierney (1991), Statistics in Medicine 10, 1213-1226.

    Examples
    --------
    >>> cox = cox_calibration([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7])
    >>> round(cox.slope, 3), round(cox.test.statistic, 3)
    (2.346, 1.291)
    """
    sample = predictions(y, p, weights, groups=groups)
    eta = sample.log_odds
    sample.need_counts("the calibration slope").need_distinct("the calibration slope")
    if sample.groups is not None and sample.groups.max() < 2:
        raise InvalidDataError("the covariance of intercept and slope needs at least 3 clusters, but there are 2.")
    y, weight, ones = sample.y, sample.weight, np.ones((len(eta), 1))
    columns, advice = np.column_stack([ones, eta]), "The predictions separate the outcomes perfectly."
    both = fit_logistic(columns, y, weight, what="the calibration slope", start=IDENTITY, advice=advice)
    large = fit_logistic(ones, y, weight, what="calibration in the large", offset=eta, start=np.zeros(1))
    both, large = both.robust(columns, sample), large.robust(ones, sample, eta)
    return _assembled(sample, both, large, bernoulli_llf(y, eta, weight), level)


def _assembled(
    sample: Sample, both: LogisticFit, large: LogisticFit, llf_predicted: float, level: float
) -> CoxCalibration:
    intercept, slope = (sample.measured(*pair, level, more=1) for pair in zip(both.params, both.bse, strict=True))
    rate = sample.rate
    return CoxCalibration(
        intercept=intercept,
        slope=slope,
        in_the_large=sample.measured(large.params[0], large.bse[0], level),
        cov=both.cov,
        **_tests(both, large, llf_predicted, sample),
        llf=both.llf,
        llf_predicted=llf_predicted,
        llf_null=float(sample.events * np.log(rate) + (sample.total - sample.events) * np.log1p(-rate)),
        n=sample.total,
    )


def _tests(both: LogisticFit, large: LogisticFit, llf_predicted: float, sample: Sample) -> dict[str, CalibrationTest]:
    """Return likelihood-ratio tests; Wald's, where the covariance is robust to clusters, as F tests where it is that of a survey design."""
    if sample.clusters is not None:
        away = both.params - IDENTITY
        joint, in_the_large = away @ np.linalg.solve(both.cov, away), large.params[0] ** 2 / large.cov[0, 0]
        slope = away[1] ** 2 / both.cov[1, 1]
    else:
        joint, in_the_large = 2.0 * (both.llf - llf_predicted), 2.0 * (large.llf - llf_predicted)
        slope = 2.0 * (both.llf - large.llf)
    fewer = None if sample.df is None else sample.df - 1
    return {
        "test": _test("calibration, jointly", joint, 2, "intercept 0 and slope 1", fewer),
        "test_in_the_large": _test(
            "calibration in the large", in_the_large, 1, "intercept 0, given slope 1", sample.df
        ),
        "test_slope": _test("calibration slope", slope, 1, "slope 1, given any intercept", fewer),
    }


def _test(name: str, value: float, df: int, null: str, beyond: int | None) -> CalibrationTest:
    """Return a test by the chi-squared distribution, or by F with degrees of freedom `beyond` in the denominator."""
    statistic = max(float(value), 0.0)
    pvalue = chi2.sf(statistic, df) if beyond is None else f.sf(statistic / df, df, beyond)
    return CalibrationTest(name, statistic, float(pvalue), df, null)
