"""Asymmetric Laplace calibration: a two-sided exponential distribution of the scores for each class, and Bayes' rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gevglm.calibration.calibrators.base import Calibrator
from gevglm.calibration.sample import Sample
from gevglm.exceptions import GevglmWarning, InvalidDataError, warn


@dataclass(frozen=True)
class LaplaceFit:
    r"""An asymmetric Laplace distribution.

    .. math:: f(s) = \frac{\beta \gamma}{\beta + \gamma} \begin{cases} e^{-\beta (\theta - s)} & s \le \theta \\ e^{-\gamma (s - \theta)} & s > \theta \end{cases}
    """

    mode: float  # theta
    left: float  # the rate beta; infinite if no scores lie on that side
    right: float  # the rate gamma
    llf: float  # log-likelihood

    def log_density(self, s: NDArray) -> NDArray:
        """Return the log-density; minus infinity on a side with an infinite rate."""
        distance = s - self.mode
        log_height = -np.log(1.0 / self.left + 1.0 / self.right)
        rate = np.where(distance < 0.0, self.left, self.right)
        fall = np.zeros_like(distance)
        np.multiply(np.abs(distance), rate, out=fall, where=distance != 0.0)
        return log_height - fall


def fit_laplace(s: NDArray, weight: NDArray) -> LaplaceFit:
    r"""Fit an asymmetric Laplace distribution by maximum likelihood.

    For a mode :math:`\theta`, N observations and the sums :math:`D_l`, :math:`D_r` of the distances to those on either side,

    .. math:: \beta = \frac{N}{D_l + \sqrt{D_l D_r}}, \quad \gamma = \frac{N}{D_r + \sqrt{D_l D_r}}

    and the log-likelihood is :math:`N \ln N - N - 2 N \ln(\sqrt{D_l} + \sqrt{D_r})`. Between observations
    :math:`\sqrt{D_l} + \sqrt{D_r}` is concave in :math:`\theta`, so that the best mode is one of them; cumulative sums give all of them
    at once.
    """
    order = np.argsort(s, kind="stable")
    s, weight = s[order], weight[order]
    center = s[len(s) // 2]
    distance = s - center  # sums of distances, not of scores: a large common part would drown them
    total, moment = weight.sum(), weight @ distance
    below, moment_below = np.cumsum(weight), np.cumsum(weight * distance)
    left = np.maximum(distance * below - moment_below, 0.0)
    right = np.maximum((moment - moment_below) - distance * (total - below), 0.0)
    left[distance == distance[0]] = 0.0
    right[distance == distance[-1]] = 0.0
    best = int(np.argmin(np.sqrt(left) + np.sqrt(right)))
    d_left, d_right = left[best], right[best]
    between = np.sqrt(d_left * d_right)
    with np.errstate(divide="ignore"):
        rates = total / np.array([d_left + between, d_right + between])
    llf = total * (np.log(total) - 1.0 - 2.0 * np.log(np.sqrt(d_left) + np.sqrt(d_right)))
    return LaplaceFit(float(s[best]), float(rates[0]), float(rates[1]), float(llf))


class AsymmetricLaplace(Calibrator):
    r"""Calibration by an asymmetric Laplace distribution of the scores of each class and Bayes' rule.

    .. math:: \mathrm{logit}\,P(y = 1 \mid s) = \ln \frac{N_1 + 1}{N_0 + 1} + \ln f_1(s) - \ln f_0(s)

    which is linear in three pieces, with knots at the two modes.

    Attributes
    ----------
    events, others : LaplaceFit
        The distributions of the scores of events and of non-events.
    prior : float
        Smoothed share of events, :math:`(N_1 + 1)/(N + 2)`.

    Notes
    -----
    The best mode of a class may be its smallest or largest score. Scores beyond it then have density 0 in this class, and
    probability exactly 0 or 1: a warning says so. Log-odds of probabilities as scores, instead of the probabilities, usually
    avoid it. Scores that neither class allows get the prior.

    The likelihood is not smooth in the modes, so that there are no standard errors.

    References
    ----------
    Bennett (2003), SIGIR, 111-118; Zhang and Yang (2004), Probabilistic score estimation with piecewise logistic regression, ICML.

    Examples
    --------
    >>> scores = [-4, -3, -2, -2, -2, -1, 0, 1, -2, 0, 1, 2, 2, 2, 3, 4]
    >>> AsymmetricLaplace().fit(scores, [0] * 8 + [1] * 8).predict([-2, 0, 2]).round(3)
    array([0.054, 0.522, 0.954])
    """

    word = "asymmetric_laplace"
    events: LaplaceFit
    others: LaplaceFit
    prior: float

    def _fit(self, sample: Sample) -> None:
        fits = []
        for label, name in ((1.0, "events"), (0.0, "non-events")):
            rows = sample.y == label
            s = sample.p[rows]
            if (s == s[0]).all():
                raise InvalidDataError(
                    f"the {len(s)} {name} all have the score {s[0]:g}: no Laplace distribution fits a single point; use Platt or Isotonic."
                )
            fit = fit_laplace(s, sample.weight[rows])
            fits.append(fit)
            if np.isinf(fit.left) or np.isinf(fit.right):
                side = "smallest" if np.isinf(fit.left) else "largest"
                warn(
                    f"the best mode of the {name} is their {side} score, {fit.mode:g}: scores beyond it have density 0 among them "
                    "and get the probability 0 or 1. If the scores are probabilities, calibrate their log-odds.",
                    GevglmWarning,
                )
        self.events, self.others = fits
        self.prior = (sample.events + 1.0) / (sample.total + 2.0)

    def _log_odds(self, scores: NDArray) -> NDArray:
        prior = np.log(self.prior) - np.log1p(-self.prior)
        events, others = self.events.log_density(scores), self.others.log_density(scores)
        neither = np.isneginf(events) & np.isneginf(others)
        ratio = np.zeros_like(events)
        np.subtract(events, others, out=ratio, where=~neither)
        return prior + ratio

    @property
    def llf(self) -> float:
        """Log-likelihood of the scores, given the classes."""
        return self.events.llf + self.others.llf

    @property
    def params(self) -> pd.Series:
        """Modes and rates of both classes, and the prior."""
        names = ("mode", "left", "right")
        values = {f"{name}, events": getattr(self.events, name) for name in names}
        values |= {f"{name}, others": getattr(self.others, name) for name in names}
        return pd.Series(values | {"prior": self.prior})

    def _facts(self) -> dict[str, str]:
        return {"Log-likelihood": f"{self.llf:.6g}"}

    def _notes(self) -> list[str]:
        return ["Left and right are the rates at which the density falls off; they have no standard errors."]
