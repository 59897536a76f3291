"""Cost-sensitive boosting: AdaBoost with costs outside or inside the exponent."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gevglm.weighting.base import Round, check_number
from gevglm.weighting.boosting import AdaBoost
from gevglm.weighting.classes import ClassSample


class CostSensitive(AdaBoost):
    """Base of the variants with a cost for each class."""

    _bound: ClassVar[str | None] = None

    def __init__(
        self, estimator: Any = None, rounds: int = 50, cost_ratio: float = 2.0, rare: Any = None, corrected: bool = True
    ):
        super().__init__(estimator=estimator, rounds=rounds, rare=rare, corrected=corrected)
        self.cost_ratio = cost_ratio

    def _check_options(self) -> None:
        super()._check_options()
        check_number("cost_ratio", self.cost_ratio, 0.0, open_low=True)

    def _costs(self, sample: ClassSample) -> NDArray:
        """Return the cost of each row."""
        return sample.by_class(self._cost_pair())

    def _cost_pair(self) -> tuple[float, float]:
        """Return the costs of the main and of the rare class; the larger one is 1, as the edge must stay below 1."""
        largest = max(1.0, self.cost_ratio)
        return 1.0 / largest, self.cost_ratio / largest


class AdaC1(CostSensitive):
    r"""AdaBoost with costs inside the exponent: :math:`o = 1, b_i = C_i`.

    .. math:: D_{t+1}(i) \propto D_t(i) \exp(-\alpha_t C_i y_i h_t(x_i))

    Parameters
    ----------
    estimator, rounds, rare, corrected
        See :class:`AdaBoost`.
    cost_ratio : float
        :math:`C^+/C^-`; the larger cost is 1.

    References
    ----------
    Sun, Kamel, Wong and Wang (2007), Pattern Recognition 40, 3358-3378.
    """

    def _inside(self, sample: ClassSample, hit: NDArray) -> NDArray:
        return self._costs(sample)


class AdaC2(CostSensitive):
    r"""AdaBoost with costs outside the exponent: :math:`o_i = C_i, b = 1`.

    .. math:: D_{t+1}(i) \propto C_i D_t(i) \exp(-\alpha_t y_i h_t(x_i))

    Parameters
    ----------
    estimator, rounds, cost_ratio, rare, corrected
        See :class:`AdaC1`. The costs multiply the weights anew in every round, so that many rounds give all weight to the rare class.

    References
    ----------
    Sun, Kamel, Wong and Wang (2007), Pattern Recognition 40, 3358-3378.
    """

    def _outside(self, sample: ClassSample) -> NDArray:
        return self._costs(sample)


class AdaC3(CostSensitive):
    r"""AdaBoost with costs inside and outside the exponent: :math:`o_i = b_i = C_i`.

    .. math:: D_{t+1}(i) \propto C_i D_t(i) \exp(-\alpha_t C_i y_i h_t(x_i))

    Parameters
    ----------
    estimator, rounds, cost_ratio, rare, corrected
        See :class:`AdaC2`.

    References
    ----------
    Sun, Kamel, Wong and Wang (2007), Pattern Recognition 40, 3358-3378.
    """

    def _outside(self, sample: ClassSample) -> NDArray:
        return self._costs(sample)

    def _inside(self, sample: ClassSample, hit: NDArray) -> NDArray:
        return self._costs(sample)


class AdaCost(CostSensitive):
    r"""AdaBoost with a cost adjustment inside the exponent.

    .. math:: o = 1, \quad b_i = \tfrac12 - \tfrac12 C_i \text{ if classified correctly}, \quad \tfrac12 + \tfrac12 C_i \text{ if not.}

    Parameters
    ----------
    estimator, rounds, cost_ratio, rare, corrected
        See :class:`AdaC1`.

    References
    ----------
    Fan, Stolfo, Zhang and Chan (1999), AdaCost: misclassification cost-sensitive boosting, ICML, 97-105.
    """

    def _inside(self, sample: ClassSample, hit: NDArray) -> NDArray:
        return 0.5 + 0.5 * np.where(hit, -1.0, 1.0) * self._costs(sample)


class CSB2(CostSensitive):
    r"""AdaBoost that multiplies the weights of misclassified rows by their cost.

    .. math:: D_{t+1}(i) \propto C_\delta(i) D_t(i) \exp(-\alpha_t y_i h_t(x_i))

    with :math:`C_\delta = C_i` if misclassified and 1 if not, AdaBoost's :math:`\alpha_t`, and votes for a class that count
    times its cost, which minimises the expected cost.

    Parameters
    ----------
    estimator, rounds, rare, corrected
        See :class:`AdaBoost`.
    cost_ratio : float
        :math:`C^+/C^-`; the smaller cost is 1.

    References
    ----------
    Ting (2000), A comparative study of cost-sensitive boosting algorithms, ICML, 983-990.
    """

    def _cost_pair(self) -> tuple[float, float]:
        smallest = min(1.0, self.cost_ratio)
        return 1.0 / smallest, self.cost_ratio / smallest

    def _assess(self, state: NDArray, sample: ClassSample, hit: NDArray) -> Round:
        margin = np.where(hit, 1.0, -1.0)
        weighted = state * np.where(hit, 1.0, self._costs(sample))
        return self._boosted(state, sample, hit, float(state @ margin), weighted, margin)

    def _ballot(self, vote: float, says_rare: NDArray) -> NDArray:
        main, rare = self._cost_pair()
        return np.where(says_rare, rare * vote, -main * vote)


class CSB1(CSB2):
    r"""As :class:`~gevglm.weighting.CSB2`, but the weights do not depend on the vote.

    .. math:: D_{t+1}(i) \propto C_\delta(i) D_t(i) \exp(-y_i h_t(x_i))

    Parameters
    ----------
    estimator, rounds, cost_ratio, rare, corrected
        See :class:`CSB2`.

    References
    ----------
    Ting (2000), A comparative study of cost-sensitive boosting algorithms, ICML, 983-990.
    """

    def _step(self, vote: float) -> float:
        return 1.0
