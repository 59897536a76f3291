"""Boosting: DiffBoost, which raises class weights, and AdaBoost, which raises those of single rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gevglm.weighting.adaptive import Adaptive
from gevglm.weighting.base import Round, WeightedClassifier
from gevglm.weighting.classes import ClassSample

CHANCE = 1e-12  # edge up to which a learner is no better than chance, by rounding


def vote_of(edge: float, size: float, flawless: bool) -> float:
    r"""Return :math:`\alpha = \max(0, \tfrac12 \ln \frac{1 + r}{1 - r})` for the edge r, the correct less the wrong share of `size` observations.

    Without any error alpha may be infinite; it is then at most that of half a misclassified observation.
    """
    if edge <= 0.0:
        return 0.0
    if flawless:
        edge = min(edge, 1.0 - 1.0 / max(size, 2.0))
    return 0.5 * float(np.log1p(edge) - np.log1p(-edge))


class Voting(WeightedClassifier):
    """Base of the algorithms in which the learners of all rounds vote."""

    def decision_function(self, X: ArrayLike) -> NDArray:
        r"""Return the score :math:`\sum_t \alpha_t h_t(x)`, with :math:`h_t = \pm 1`: positive for ``classes_[1]``."""
        votes = self._votes(self._checked(X))
        return votes if self.rare_ == self.classes_[1] else -votes


class DiffBoost(Voting, Adaptive):
    r"""Boosting with class weights: as :class:`~gevglm.weighting.AdaClassWeight`, but the errors are weighted and the learners of all rounds vote.

    With a distribution D over the rows of each class, at first uniform, a round computes

    .. math::

        \epsilon_t^\pm = \sum_{i \in I^\pm} D_t(i)\,1(h_t(x_i) \ne y_i), \quad
        \alpha_t = \max\Big(0, \tfrac12 \ln \frac{1 - \epsilon_t^+}{\epsilon_t^+}\Big),

        w_{t+1}^+ = w_t^+ \exp(\epsilon_t^+), \quad w_{t+1}^- = w_t^- \exp(c\,\epsilon_t^-), \quad D_{t+1}(i) = D_t(i) \exp(-\alpha_t y_i h_t(x_i)) / Z_t^\pm,

    and the prediction is the sign of :math:`\sum_t \alpha_t h_t(x)`. The training error of the rare class is at most
    :math:`\prod_t Z_t^+`, the column ``bound`` of the history. A round without an error in the rare class, whose vote would be infinite,
    votes as if half a case had been misclassified.

    Parameters
    ----------
    estimator, rounds, tradeoff, threshold, early_stopping, rare, corrected
        See :class:`AdaClassWeight`; the rules that stop look at the weighted errors.

    References
    ----------
    He and Cheng (2021), Frontiers in Big Data 4, section 3.1, Theorem 1.
    """

    _bound: ClassVar[str | None] = "z_rare"

    def _boost(
        self, distribution: NDArray, sample: ClassSample, hit: NDArray, errors: NDArray
    ) -> tuple[float, NDArray, dict[str, float]]:
        vote = vote_of(1.0 - 2.0 * errors[1], sample.sizes[1], errors[1] == 0.0)
        tilted = distribution * np.exp(np.where(hit, -vote, vote))
        totals = sample.sums(tilted)
        return vote, tilted / sample.by_class(totals), {"vote": vote} | sample.named("z", totals)


class AdaBoost(Voting):
    r"""AdaBoost, which raises the weights of misclassified rows whatever their class; the base of the cost-sensitive variants.

    From uniform weights D, a round computes the edge and the vote of its learner, and new weights,

    .. math::

        D' = o D / \textstyle\sum o D, \quad r_t = \sum_i D'(i)\,b_i\,y_i h_t(x_i), \quad \alpha_t = \tfrac12 \ln \frac{1 + r_t}{1 - r_t}, \quad
        D_{t+1}(i) = D'(i) \exp(-\alpha_t b_i y_i h_t(x_i)) / Z_t,

    where here :math:`o = b = 1`; the variants put costs for o or b. This is every one of them in one formula: :math:`\alpha_t` minimises
    :math:`Z_t`, or a bound of it. It stops after T rounds, at a learner without errors, or before one that is no better than chance
    (:math:`r_t \le 0`).

    Parameters
    ----------
    estimator : estimator, optional
        Base learner: any classifier that takes ``sample_weight``; logistic regression without penalty by default.
    rounds : int
        T, the most rounds.
    rare, corrected
        See :class:`AdaClassWeight`.

    References
    ----------
    Freund and Schapire (1997), Journal of Computer and System Sciences 55, 119-139.
    """

    _bound: ClassVar[str | None] = "z"

    def __init__(self, estimator: Any = None, rounds: int = 50, rare: Any = None, corrected: bool = True):
        self.estimator, self.rounds, self.rare, self.corrected = estimator, rounds, rare, corrected

    def _outside(self, sample: ClassSample) -> NDArray | float:
        """The factors o of the weights."""
        return 1.0

    def _inside(self, sample: ClassSample, hit: NDArray) -> NDArray | float:
        """The factors b in the exponent."""
        return 1.0

    def _start(self, sample: ClassSample) -> NDArray:
        return sample.weight / sample.weight.sum()

    def _row_weights(self, state: NDArray, sample: ClassSample) -> NDArray:
        return state * sample.weight.sum()

    def _assess(self, state: NDArray, sample: ClassSample, hit: NDArray) -> Round:
        weighted = state * self._outside(sample)
        weighted = weighted / weighted.sum()
        margin = self._inside(sample, hit) * np.where(hit, 1.0, -1.0)
        return self._boosted(state, sample, hit, float(weighted @ margin), weighted, margin)

    def _boosted(
        self, state: NDArray, sample: ClassSample, hit: NDArray, edge: float, weighted: NDArray, margin: NDArray
    ) -> Round:
        """Return the round of a learner with this edge, whose rows have these weights and margins."""
        facts = sample.named("error", sample.rates(~hit)) | {"error_weighted": float(state @ ~hit)}
        if edge <= CHANCE:
            warning = self._first_round_warning(state, sample, edge)
            return Round(1.0, facts | {"vote": 0.0, "z": 1.0}, state, "no better than chance", warning, kept=False)
        flawless = not (sample.weight * ~hit).any()
        vote = vote_of(edge, sum(sample.sizes), flawless)
        tilted = weighted * np.exp(-self._step(vote) * margin)
        total = float(tilted.sum())
        return Round(vote, facts | {"vote": vote, "z": total}, tilted / total, "no errors" if flawless else None)

    def _step(self, vote: float) -> float:
        return vote

    def _first_round_warning(self, state: NDArray, sample: ClassSample, edge: float) -> str | None:
        if not np.array_equal(state, self._start(sample)):
            return None
        return (
            f"the base learner is no better than chance in the first round (edge {edge:.3g}), so that there is nothing to boost; "
            "its predictions are used unchanged."
        )
