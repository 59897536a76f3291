"""Logistic calibration: Cox's recalibration, and Platt's by smoothed outcomes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gevglm.calibration._logistic import LogisticFit, Quadratic, bernoulli_llf, fit_logistic
from gevglm.calibration.calibrators.base import LogisticCalibrator, checked_penalty
from gevglm.calibration.sample import Sample


class Logistic(LogisticCalibrator):
    r"""Logistic regression on the score: Cox's recalibration, if the score is the log-odds of a prediction.

    .. math:: \mathrm{logit}\,P(y = 1 \mid s) = a s + b

    Parameters
    ----------
    penalty : float
        The :math:`\lambda` of the ridge penalty :math:`\lambda (a^2 + b^2)`, added to the sum of the log losses.

    References
    ----------
    Cox (1958), Biometrika 45, 562-565.

    Examples
    --------
    >>> logistic = Logistic().fit([-2, -1, 0, 0.5, 1, 2], [0, 0, 1, 0, 1, 1])
    >>> logistic.predict([0]).round(3)
    array([0.42])
    """

    word = "logistic"
    _options: tuple[str, ...] = ("penalty",)

    def __init__(self, *, penalty: float = 0.0):
        self.penalty = checked_penalty(penalty)

    def _targets(self, sample: Sample) -> NDArray:
        return sample.y

    def _fit(self, sample: Sample) -> None:
        # a large common part of the scores would drown the rest
        center = 0.0 if self.penalty else sample.mean(sample.p)
        fit = fit_logistic(
            np.column_stack([np.ones_like(sample.p), sample.p - center]),
            self._targets(sample),
            sample.weight,
            what=f"{type(self).__name__} calibration",
            penalty=Quadratic(self.penalty * np.eye(2)) if self.penalty else None,
            advice="The scores separate the outcomes; use Platt(smoothed=True) or a penalty.",
        )
        llf = bernoulli_llf(sample.y, fit.params[0] + fit.params[1] * (sample.p - center), sample.weight)
        uncentred = np.array([[1.0, -center], [0.0, 1.0]])
        fit = LogisticFit(uncentred @ fit.params, uncentred @ fit.cov @ uncentred.T, llf)
        self._keep(["intercept", "slope"], fit)

    def _log_odds(self, scores: NDArray) -> NDArray:
        return self.params["intercept"] + self.params["slope"] * scores

    def _notes(self) -> list[str]:
        return ["Penalised: the intervals are approximate."] if self.penalty else []


class Platt(Logistic):
    r"""Logistic regression on the score by smoothed outcomes, which keep the estimates finite.

    Events count as :math:`(N_+ + 1)/(N_+ + 2)` and the others as :math:`1/(N_- + 2)`.

    Parameters
    ----------
    smoothed : bool
        Whether the outcomes are smoothed; :class:`~gevglm.calibration.Logistic` if not.
    penalty : float
        See :class:`~gevglm.calibration.Logistic`.

    References
    ----------
    Platt (1999), Advances in Large Margin Classifiers, 61-74.

    Examples
    --------
    >>> platt = Platt().fit([1, 2, 3, 4], [0, 0, 1, 1])
    >>> platt.predict([1, 4]).round(3)
    array([0.204, 0.796])
    """

    word = "platt"
    _options = ("smoothed", "penalty")

    def __init__(self, *, smoothed: bool = True, penalty: float = 0.0):
        super().__init__(penalty=penalty)
        self.smoothed = bool(smoothed)

    def _targets(self, sample: Sample) -> NDArray:
        if not self.smoothed:
            return sample.y
        others = sample.total - sample.events
        return np.where(sample.y == 1.0, (sample.events + 1.0) / (sample.events + 2.0), 1.0 / (others + 2.0))
