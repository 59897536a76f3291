"""Class weights: adapted until the rare class is served (AdaClassWeight), or the ratio of the class sizes (RatioWeight)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from gevglm.exceptions import InvalidOptionError
from gevglm.weighting.base import Round, WeightedClassifier, check_number, learner_has
from gevglm.weighting.classes import ClassSample
from gevglm.weighting.streams import Streaming

HOPELESS = 1e4  # times the weight of the main class, at which a learner that sees weights has given in to the rare one


@dataclass(frozen=True)
class ClassWeights:
    r"""Class weights, and a distribution over the rows of each class."""

    weights: NDArray  # of the classes, the main class first: w- and w+
    distribution: NDArray  # D, which adds up to one in each class


@dataclass(frozen=True)
class Rule:
    """How class weights follow the errors of the classes, and when they have come to rest."""

    tradeoff: float
    threshold: float
    early_stopping: bool = True

    def raised(self, weights: NDArray, errors: NDArray) -> NDArray:
        r"""Return :math:`w^+ \exp(\epsilon^+)` and :math:`w^- \exp(c\,\epsilon^-)`, the main class first."""
        pace = np.append(self.tradeoff, np.ones(len(errors) - 1))
        return weights * np.exp(pace * errors)

    def stopping(self, weights: NDArray, sample: ClassSample, errors: NDArray) -> tuple[str | None, str | None]:
        """Return the reason to stop, if any, and a warning, if one is due; of several rare classes the mean of the errors decides."""
        rare = errors[1:].mean()
        if self.early_stopping and rare < self.threshold:
            return "threshold", None
        if self.early_stopping and rare < self.tradeoff * errors[0]:
            return "tradeoff", None
        worst = int(np.argmax(errors[1:])) + 1
        times = weights[worst] * sample.sizes[worst] / (weights[0] * sample.sizes[0])
        if errors[worst] >= 1.0 - 1e-12 and times > HOPELESS:
            return "hopeless", (
                f"all cases of the rare class ({sample.labels[worst]}) are still misclassified, although they weigh {times:.3g} times as much as "
                "the main class; stopped. The base learner seems not to use its weights: choose another one."
            )
        return None, None


class ClassWeighted(WeightedClassifier):
    """Base of the algorithms whose weights depend on the class only."""

    _individual: ClassVar[bool] = False

    def _start(self, sample: ClassSample) -> ClassWeights:
        return ClassWeights(np.ones(len(sample.labels)), sample.weight / sample.by_class(sample.sizes))

    def _row_weights(self, state: ClassWeights, sample: ClassSample) -> NDArray:
        return sample.weight * sample.by_class(state.weights)

    def _class_weights(self, state: ClassWeights, sample: ClassSample) -> NDArray:
        return state.weights


class LastLearner(ClassWeighted):
    """Base of the algorithms that predict with the last learner only."""

    _last_only: ClassVar[bool] = True
    _several: ClassVar[bool] = True

    @property
    def estimator_(self) -> Any:
        """The fitted learner."""
        return self.members_[-1].learner

    @available_if(learner_has("decision_function", "predict_proba"))
    def decision_function(self, X: ArrayLike) -> NDArray:
        """Return the scores of the weighted learner, or its raw probabilities if it has none (of two classes, less one half).

        Of two classes there is one score per row, positive for ``classes_[1]``.
        """
        X, learner = self._checked(X), self.estimator_
        if hasattr(learner, "decision_function"):
            return np.asarray(learner.decision_function(X))
        raw = self._raw_probabilities(learner, X)
        return raw[:, 1] - 0.5 if raw.shape[1] == 2 else raw


class Adaptive(Streaming, ClassWeighted):
    """Base of the algorithms that raise class weights round by round until a rule stops them."""

    def __init__(
        self,
        estimator: Any = None,
        rounds: int = 50,
        tradeoff: float = 1.0,
        threshold: float = 0.001,
        early_stopping: bool = True,
        rare: Any = None,
        corrected: bool = True,
        warm_start: bool = False,
        window: int | None = None,
        forgetting: float = 1.0,
    ):
        self.estimator, self.rounds, self.rare, self.corrected = estimator, rounds, rare, corrected
        self.tradeoff, self.threshold, self.early_stopping = tradeoff, threshold, early_stopping
        self.warm_start, self.window, self.forgetting = warm_start, window, forgetting

    def _check_options(self) -> None:
        super()._check_options()
        check_number("tradeoff", self.tradeoff, 0.0)
        check_number("threshold", self.threshold, 0.0, 1.0)

    def _assess(self, state: ClassWeights, sample: ClassSample, hit: NDArray) -> Round:
        errors = sample.sums(state.distribution * ~hit)
        vote, distribution, facts = self._boost(state.distribution, sample, hit, errors)
        rule = Rule(self.tradeoff, self.threshold, self.early_stopping)
        stop, warning = rule.stopping(state.weights, sample, errors)
        after = ClassWeights(rule.raised(state.weights, errors), distribution)
        return Round(vote, sample.named("error", errors) | facts, after, stop, warning)

    def _boost(
        self, distribution: NDArray, sample: ClassSample, hit: NDArray, errors: NDArray
    ) -> tuple[float, NDArray, dict[str, float]]:
        """Return the vote of a learner, the next distribution, and more columns of the history."""
        return 1.0, distribution, {}


class AdaClassWeight(LastLearner, Adaptive):
    r"""Class weights that grow with the errors of the classes until the rare class is served; the last learner predicts.

    From :math:`w^+ = w^- = 1`, each round trains the base learner under the class weights and multiplies them by the exponential of
    the error rates :math:`\epsilon^\pm` of the classes:

    .. math:: w_{t+1}^+ = w_t^+ \exp(\epsilon_t^+), \quad w_{t+1}^- = w_t^- \exp(c\,\epsilon_t^-)

    It stops when :math:`\epsilon_t^+ < c\,\epsilon_t^-`, when :math:`\epsilon_t^+` falls below a threshold, or after T rounds. The weights
    come to rest where :math:`\epsilon^+ = c\,\epsilon^-`; the paper has c = 1, which is where both classes have the same error rate.

    Of more than two classes the most frequent is the main class; each of the others has a weight and an error rate of its own, and the
    mean of these rates decides when to stop. The base learner has to know several classes. On a stream, see :meth:`partial_fit`.

    Parameters
    ----------
    estimator : estimator, optional
        Base learner: any classifier that takes ``sample_weight`` or ``class_weight``; logistic regression without penalty by default.
    rounds : int
        T, the most rounds.
    tradeoff : float
        c: the error rate of the rare class to be reached, in units of that of the main class. 1 is the paper's rule; less gives a higher
        true and false positive rate, more a lower one; with 0 only threshold and rounds stop.
    threshold : float
        Error rate of the rare class below which to stop.
    early_stopping : bool
        Whether these two rules stop; if not, all rounds are run.
    rare : label, optional
        The rare class; by default the less frequent label, the second in sorted order if there are as many of both.
    corrected : bool
        Whether :meth:`predict_proba` undoes the class weights.
    warm_start : bool
        Whether :meth:`fit` starts from the class weights that the last fit ended with.
    window : int, optional
        Rows that :meth:`partial_fit` looks back on; all of them by default.
    forgetting : float
        What rows count for less in :meth:`partial_fit`, with every batch that came after them: a factor in (0, 1].

    References
    ----------
    He and Cheng (2021), Weighting methods for rare event identification from imbalanced datasets, Frontiers in Big Data 4, section 3.2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> y = rng.random(1000) < 1 / (1 + np.exp(4 - 2 * X[:, 0]))
    >>> model = AdaClassWeight().fit(X, y)
    >>> len(model.history_), model.stop_reason_, float(round((model.predict(X) & y).sum() / y.sum(), 2))
    (16, 'tradeoff', 0.83)
    """


class RatioWeight(LastLearner):
    r"""Class weights fixed beforehand: by default the inverse ratio of the class sizes, :math:`w^+/w^- = N^-/N^+`, also of several classes.

    Parameters
    ----------
    estimator, rare, corrected
        See :class:`AdaClassWeight`.
    ratio : float, optional
        :math:`w^+/w^-`, if another one; 1 is the unweighted learner.
    """

    rounds: ClassVar[int] = 1

    def __init__(self, estimator: Any = None, ratio: float | None = None, rare: Any = None, corrected: bool = True):
        self.estimator, self.ratio, self.rare, self.corrected = estimator, ratio, rare, corrected

    def _check_options(self) -> None:
        if self.ratio is not None:
            check_number("ratio", self.ratio, 0.0, open_low=True)

    def _start(self, sample: ClassSample) -> ClassWeights:
        ratios = sample.sizes[0] / sample.sizes if self.ratio is None else np.array([1.0, float(self.ratio)])
        if len(ratios) != len(sample.labels):
            raise InvalidOptionError(
                f"ratio={self.ratio!r} is that of two classes, but there are {len(sample.labels)}; leave it out."
            )
        return ClassWeights(ratios, super()._start(sample).distribution)

    def _assess(self, state: ClassWeights, sample: ClassSample, hit: NDArray) -> Round:
        return Round(1.0, sample.named("error", sample.rates(~hit)), state)
