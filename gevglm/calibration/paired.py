"""Which of two predictions of the same outcomes is better: paired tests of their scores and of their decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlog1py, xlogy
from scipy.stats import binom, t

from gevglm.calibration.discrimination import area_of, components_variance, roc_components
from gevglm.calibration.estimates import CalibrationTest, Measured, checked_level
from gevglm.calibration.sample import Clusters, Sample, predictions, scores
from gevglm.exceptions import InvalidDataError, unknown_option

SCORES = ("log_loss", "brier")


@dataclass(frozen=True, repr=False)
class PairedTest(CalibrationTest):
    """A test of whether two predictions of the same outcomes are equally good.

    Attributes
    ----------
    difference : Measured or float
        Mean score of the first less that of the second prediction (negative where the first is better), with its interval; for the sign
        test the share of wrong decisions of the first less that of the second.
    name, statistic, pvalue, df, null
        See :class:`~gevglm.calibration.estimates.CalibrationTest`.
    """

    difference: float = np.nan


def paired_t_test(
    y: ArrayLike,
    p: ArrayLike,
    q: ArrayLike,
    *,
    score: str = "log_loss",
    weights: ArrayLike | None = None,
    groups: Clusters | None = None,
    level: float = 0.95,
) -> PairedTest:
    r"""Test whether two predictions have the same mean score, by the differences of their scores row by row.

    .. math:: t = \bar d \Big/ \frac{s_d}{\sqrt n}, \quad d_i = S(p_i, y_i) - S(q_i, y_i)

    Parameters
    ----------
    y : array_like
        Outcomes 0 or 1.
    p, q : array_like
        Two predictions of them, that neither was fitted to.
    score : {"log_loss", "brier"}
    weights : array_like, optional
        How many observations each row stands for.
    groups : array_like, optional
        Clusters of the rows, such as the topics of a document: differences are then added up within clusters, and there are as many degrees of
        freedom as clusters less one.
    level : float
        Coverage of the interval of the difference.

    References
    ----------
    Zhang and Yang (2004), Probabilistic score estimation with piecewise logistic regression, ICML, section 5.3.

    Examples
    --------
    >>> y, p, q = [0, 0, 1, 1, 0], [0.1, 0.2, 0.7, 0.6, 0.3], [0.3, 0.4, 0.5, 0.4, 0.4]
    >>> test = paired_t_test(y, p, q, score="brier")
    >>> round(test.statistic, 4), round(test.pvalue, 4)
    (-5.1612, 0.0067)
    """
    if score not in SCORES:
        raise unknown_option("score", score, SCORES)
    first, second = _pair(y, p, q, weights, groups, "the paired t test")
    loss = _log_losses if score == "log_loss" else _squares
    with np.errstate(invalid="ignore"):
        d = loss(first) - loss(second)
    if not np.isfinite(d).all():
        raise InvalidDataError(
            f"{int((~np.isfinite(d)).sum())} of {len(d)} differences of the log loss are infinite, because an outcome had the predicted "
            "probability 0; compare score='brier', or predictions that rule nothing out."
        )
    mean = first.mean(d)
    n = first.total if first.groups is None else first.n_clusters
    beyond = n - 1.0 if first.df is None else float(first.df)
    se = first.standard_error(d - mean) * (1.0 if first.clusters is not None else np.sqrt(n / (n - 1.0)))
    if se == 0.0:
        raise InvalidDataError(
            "the scores of both predictions differ by the same number in every row; there is nothing to test."
        )
    reach = float(t.isf((1.0 - checked_level(level)) / 2.0, beyond)) * se
    statistic = float(mean / se)
    return PairedTest(
        f"paired t test, {score}",
        statistic,
        float(2.0 * t.sf(abs(statistic), beyond)),
        beyond,
        "both predictions have the same mean score",
        Measured(mean, se, mean - reach, mean + reach, level),
    )


def delong_test(
    y: ArrayLike,
    p: ArrayLike,
    q: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    groups: Clusters | None = None,
    level: float = 0.95,
) -> PairedTest:
    r"""Test whether two predictions of the same outcomes have the same area under the ROC curve, by DeLong's method.

    With :math:`V_i` and :math:`V_j` of both predictions as in :func:`auc_interval`, and :math:`d` their differences,

    .. math:: z = (A_p - A_q) \Big/ \sqrt{\frac{\sum_i (d_i - \bar d)^2}{m (m - 1)} + \frac{\sum_j (d_j - \bar d)^2}{n (n - 1)}} .

    Parameters
    ----------
    y : array_like
        Outcomes 0 or 1.
    p, q : array_like
        Two predictions of them, or any scores; that neither was fitted to, if the test is to have its level.
    weights : array_like, optional
        How many observations each row stands for.
    groups : array_like, optional
        Clusters of the rows, see :func:`auc_interval`.
    level : float
        Coverage of the interval of the difference.

    Returns
    -------
    PairedTest
        ``statistic`` is z, ``difference`` the first area less the second, with its interval.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44, 837-845; ``pROC::roc.test(paired = TRUE)``.

    Examples
    --------
    >>> y, p, q = [0, 0, 1, 1, 0, 1], [0.1, 0.2, 0.7, 0.6, 0.3, 0.2], [0.3, 0.5, 0.4, 0.4, 0.4, 0.6]
    >>> test = delong_test(y, p, q)
    >>> round(float(test.difference), 4), round(test.pvalue, 4)
    (0.1667, 0.6547)
    """
    samples = [scores(y, each, weights, groups=groups, infinite=True, name=name) for each, name in ((p, "p"), (q, "q"))]
    areas, parts = zip(*(roc_components(sample) for sample in samples), strict=True)
    if samples[0].replicates is None:
        variance = components_variance(samples[0], *(first - second for first, second in zip(*parts, strict=True)))
    else:
        other = samples[1].p
        variance = float(
            samples[0].variance_by_replicates(lambda one: area_of(one) - area_of(replace(one, p=other)))[0, 0]
        )
    if variance <= np.finfo(float).eps:
        raise InvalidDataError("both predictions order the rows in the same way; there is nothing to test.")
    difference = samples[0].measured(areas[0] - areas[1], np.sqrt(variance), level)
    z = float(difference) / difference.se
    pvalue = float(2.0 * samples[0].distribution().sf(abs(z)))
    null = f"both predictions have the same area under the ROC curve ({areas[0]:.4g} and {areas[1]:.4g})"
    return PairedTest("DeLong's test", z, pvalue, 1.0, null, difference)


def sign_test(
    y: ArrayLike, p: ArrayLike, q: ArrayLike, *, threshold: float = 0.5, weights: ArrayLike | None = None
) -> PairedTest:
    r"""Test whether two predictions decide equally well, by the cases that one of them gets right and the other wrong (micro sign test).

    Of m such cases the first prediction has k; under the hypothesis k is binomial with m trials and probability one half, and the
    p-value is exact and two-sided. This is McNemar's exact test.

    Parameters
    ----------
    y, p, q, weights
        See :func:`paired_t_test`; weights are whole numbers of observations.
    threshold : float
        Probability above which an event is predicted.

    References
    ----------
    Yang and Liu (1999), A re-examination of text categorization methods, SIGIR; Zhang and Yang (2004), section 5.3.

    Examples
    --------
    >>> y = [1, 1, 1, 1, 1, 1, 0, 0]
    >>> test = sign_test(y, [0.9] * 6 + [0.1] * 2, [0.4] * 6 + [0.1] * 2)
    >>> test.statistic, test.pvalue
    (6.0, 0.03125)
    """
    checked_level(threshold, "threshold")
    first, second = _pair(y, p, q, weights, None, "the sign test")
    if (first.weight != np.rint(first.weight)).any():
        raise InvalidDataError("the sign test counts cases, but the weights are not whole numbers; leave them out.")
    counts = first.weight
    right, also = ((sample.p > threshold) == (sample.y == 1.0) for sample in (first, second))
    won, lost = int(counts[right & ~also].sum()), int(counts[also & ~right].sum())
    trials = won + lost
    pvalue = 1.0 if trials == 0 else min(1.0, 2.0 * float(binom.cdf(min(won, lost), trials, 0.5)))
    return PairedTest(
        "sign test",
        float(won),
        pvalue,
        float(trials),
        f"of {trials} cases that one prediction gets right and the other wrong, each has half",
        (lost - won) / first.total,
    )


def _pair(
    y: ArrayLike, p: ArrayLike, q: ArrayLike, weights: ArrayLike | None, groups: Clusters | None, what: str
) -> tuple[Sample, Sample]:
    first, second = (predictions(y, each, weights, groups=groups) for each in (p, q))
    if first.total < 2.0:
        raise InvalidDataError(
            f"{what} takes weights as numbers of observations, at least two; they add up to {first.total:g}."
        )
    return first, second


def _log_losses(sample: Sample) -> NDArray:
    return -(xlogy(sample.y, sample.p) + xlog1py(1.0 - sample.y, -sample.p))


def _squares(sample: Sample) -> NDArray:
    return (sample.y - sample.p) ** 2
