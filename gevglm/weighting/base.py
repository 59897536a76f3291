"""The one loop behind all weighting algorithms: train under weights, look at the errors, change the weights."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _raise_for_params, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from gevglm.calibration.correction import loss_corrected_multiclass
from gevglm.exceptions import (
    ConvergenceWarning,
    FewEventsWarning,
    InvalidOptionError,
    SeparationWarning,
    warn,
    whole_number,
)
from gevglm.sklearn.glm import base_learner
from gevglm.sklearn.inputs import as_learner, checked_rows, classes_of, knows_several, row_weights
from gevglm.weighting.classes import ClassSample, main_class_first, sample_of
from gevglm.weighting.learners import check_learner, trained

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAID_ONCE = (SeparationWarning, FewEventsWarning)  # weights change neither; the first round has said so


@dataclass(frozen=True)
class Round:
    """What an algorithm makes of a trained learner."""

    vote: float  # the learner's weight in the final vote
    facts: dict[str, float]  # columns of the history
    after: Any  # the weights of the next round
    stop: str | None = None  # why the loop ends here
    warning: str | None = None  # what the user must know about that
    kept: bool = True  # whether the learner takes part in the vote


@dataclass(frozen=True)
class Member:
    """A learner, its vote, and the weight of each label that it was trained under."""

    learner: Any
    vote: float
    class_weight: dict[Any, float]


def learner_has(*methods: str):
    """Make a method available if the base learner, or one fitted, has one of these methods."""

    def check(self: WeightedClassifier) -> bool:
        learner = self.members_[0].learner if hasattr(self, "members_") else base_learner(self.estimator)
        return any(hasattr(learner, method) for method in methods)

    return check


class WeightedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator, ABC):
    """Base of the estimators: the loop, and the predictions of what it found.

    An algorithm says how it starts, how it weights the rows, and what it makes of a trained learner.

    Attributes
    ----------
    classes_ : ndarray of shape (2,), or of as many as there are classes
    rare_ : label, or tuple of labels
        The rare class, or classes.
    members_ : list of Member
        The fitted learners (``learner``) that take part in a prediction, their ``vote`` and the ``class_weight`` of each label that they
        were trained under.
    class_weight_ : dict
        Weight of each label in force when the last of them was trained.
    history_ : DataFrame
        One row per round.
    stop_reason_ : str
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If `X` had string column names.
    """

    _individual: ClassVar[bool] = True  # each row has its own weight
    _last_only: ClassVar[bool] = False  # only the last learner predicts
    _several: ClassVar[bool] = False  # also for more than two classes, with a learner of several classes
    _bound: ClassVar[str | None] = None  # column of the history whose running product bounds a training error

    # -- what an algorithm says ----------------------------------------------------------------

    @abstractmethod
    def _start(self, sample: ClassSample) -> Any:
        """Return the first weights."""

    @abstractmethod
    def _row_weights(self, state: Any, sample: ClassSample) -> NDArray:
        """Return the weights to train under."""

    def _class_weights(self, state: Any, sample: ClassSample) -> NDArray:
        """Return the mean weight of an observation of each class."""
        return sample.sums(self._row_weights(state, sample)) / sample.sizes

    @abstractmethod
    def _assess(self, state: Any, sample: ClassSample, hit: NDArray) -> Round:
        """Return the vote, the new weights and whether to stop, given which rows were classified correctly."""

    def _ballot(self, vote: float, says_rare: NDArray) -> NDArray:
        """Return what a learner adds to the score of the rare class."""
        return np.where(says_rare, vote, -vote)

    def _check_options(self) -> None:
        whole_number("rounds", self.rounds, 1)

    # -- fitting -------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any):
        """Find the weights and train under them.

        Parameters
        ----------
        X : array_like of shape (n, n_features)
            Handed to the base learner unchanged.
        y : array_like of shape (n,)
            Two labels of any kind; more where the algorithm and its learner know several classes.
        sample_weight : array_like of shape (n,), optional
            How many observations each row stands for.
        **fit_params
            Metadata for the base learner's ``fit``, if metadata routing is enabled.
        """
        _raise_for_params(fit_params, self, "fit")
        self._check_options()
        learner = base_learner(self.estimator)
        X = checked_rows(self, learner, X, reset=True)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        check_learner(learner, individual=self._individual)
        classes = classes_of(labels, several=self._several and knows_several(learner))
        weights = row_weights(sample_weight, X, labels)
        counts = np.ones(len(labels)) if weights is None else weights
        sample = sample_of(labels, main_class_first(labels, counts, classes, self.rare), weights)
        routed = process_routing(self, "fit", **fit_params).estimator.fit if fit_params else {}
        self.classes_ = classes
        self._search(learner, X, labels, sample, self._first_state(sample), routed)
        return self

    def _first_state(self, sample: ClassSample) -> Any:
        """Return the weights that a fit begins with."""
        return self._start(sample)

    def _search(self, learner: Any, X: ArrayLike, y: NDArray, sample: ClassSample, state: Any, fit_params: dict) -> Any:
        """Train and change the weights, round by round, from the given weights; return those after the last round."""
        members: list[Member] = []
        records: list[dict[str, float]] = []
        score = np.zeros(len(y))
        for number in range(self.rounds):
            with warnings.catch_warnings():
                if number:
                    for category in SAID_ONCE:
                        warnings.simplefilter("ignore", category)
                member, hit, found = self._round(learner, X, y, sample, state, fit_params)
            if self._last_only:
                members = []
            if found.kept or not members:
                members.append(member)
                score += self._ballot(found.vote, hit == sample.rare)
            wrong = ~hit if self._last_only else (score > 0.0) != sample.rare
            training = sample.named("training_error", sample.rates(wrong))
            records.append(sample.named("weight", member.class_weight.values()) | found.facts | training)
            state = found.after
            if found.stop:
                break
        self._keep(sample, members, records, found.stop or "rounds")
        if found.warning:
            warn(found.warning, ConvergenceWarning)
        elif not any(member.vote for member in members):
            warn(
                f"no learner in {len(records)} rounds got half of the rare class ({self.rare_}) right, so that none has a vote and every case "
                "is predicted to be of the main class; allow more rounds, or choose another base learner.",
                ConvergenceWarning,
            )
        return state

    def _round(
        self,
        learner: Any,
        X: ArrayLike,
        y: NDArray,
        sample: ClassSample,
        state: Any,
        fit_params: dict,
        *,
        last: Any = None,
    ) -> tuple[Member, NDArray, Round]:
        """Train under weights, starting from the `last` learner if there is one; return the learner, its hits and what follows."""
        weights = self._row_weights(state, sample)
        by_label = dict(zip(sample.labels, self._class_weights(state, sample).tolist(), strict=True))
        fitted = trained(learner, X, y, weights, by_label, sample.weighted, fit_params, last)
        hit = np.asarray(fitted.predict(X)) == y
        found = self._assess(state, sample, hit)
        return Member(fitted, found.vote, by_label), hit, found

    def _keep(self, sample: ClassSample, members: list[Member], records: list[dict[str, float]], reason: str) -> None:
        self.rare_ = sample.labels[1] if len(sample.labels) == 2 else sample.labels[1:]
        self.members_, self._records, self.stop_reason_ = members, records, reason
        self.class_weight_ = members[-1].class_weight

    @property
    def history_(self) -> pd.DataFrame:
        """Weights and errors, round by round."""
        check_is_fitted(self, "members_")
        history = pd.DataFrame(self._records, index=pd.RangeIndex(1, len(self._records) + 1, name="round"))
        return history.assign(bound=history[self._bound].cumprod()) if self._bound else history

    # -- predicting ----------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the labels the weighted classifier decides for; ties go to the main class."""
        X = self._checked(X)
        if self._last_only:
            return np.asarray(self.members_[-1].learner.predict(X))
        main = self.classes_[self.classes_ != self.rare_][0]
        return np.where(self._votes(X) > 0.0, self.rare_, main).astype(self.classes_.dtype)

    @available_if(learner_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> NDArray:
        r"""Return the probabilities of the classes, in the order of ``classes_``.

        Each learner's probabilities are corrected for the class weights it was trained under (unless ``corrected=False``),

        .. math:: \frac{p_t}{1 - p_t} \Big/ \frac{w_t^+}{w_t^-} \quad\text{or, of k classes,}\quad \frac{p_{tk}}{w_{tk}} \Big/ \sum_j \frac{p_{tj}}{w_{tj}},

        and averaged with their votes as weights. Weights of single rows are undone as far as they changed the total weight of the
        classes. :meth:`predict` decides by weighted scores, so that a case may be classified as rare below a probability of one half.
        """
        X = self._checked(X)
        votes = np.array([member.vote for member in self.members_])
        votes = votes / votes.sum() if votes.any() else np.full(len(votes), 1.0 / len(votes))
        p: Any = 0.0
        for share, member in zip(votes, self.members_, strict=True):
            if share:
                raw = np.clip(self._raw_probabilities(member.learner, X), 0.0, 1.0)
                weights = [member.class_weight[label] for label in self.classes_.tolist()]
                p = p + share * (loss_corrected_multiclass(raw, weights) if self.corrected else raw)
        return np.clip(p, 0.0, 1.0)

    def _raw_probabilities(self, learner: Any, X: ArrayLike) -> NDArray:
        """Return a learner's probabilities in the order of `classes_`; zero for a class that it has not seen."""
        raw = np.asarray(learner.predict_proba(X))
        if raw.shape[1] == len(self.classes_):
            return raw
        full = np.zeros((len(raw), len(self.classes_)))
        full[:, np.searchsorted(self.classes_, learner.classes_)] = raw
        return full

    def _votes(self, X: ArrayLike) -> NDArray:
        """Return the score of the rare class."""
        ballots = (self._ballot(m.vote, np.asarray(m.learner.predict(X)) == self.rare_) for m in self.members_)
        return reduce(np.add, ballots)

    def _checked(self, X: ArrayLike) -> ArrayLike:
        check_is_fitted(self, "members_")
        return checked_rows(self, self.members_[0].learner, X, reset=False)

    # -- looking back --------------------------------------------------------------------------

    def plot_history(self, ax: Axes | None = None) -> Axes:
        """Draw the errors, their bound and the class weights over the rounds."""
        from gevglm.plots.weighting import plot_history

        check_is_fitted(self, "members_")
        return plot_history(self.history_, ax=ax)

    # -- scikit-learn --------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata are routed: sample_weight is used here, the rest goes to the base learner."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=base_learner(self.estimator), method_mapping=mapping)
        )

    def __sklearn_tags__(self):
        learner = base_learner(self.estimator)
        tags = as_learner(super().__sklearn_tags__(), learner)
        tags.classifier_tags.multi_class = self._several and knows_several(learner)
        return tags


def check_number(name: str, value: Any, low: float, high: float = np.inf, *, open_low: bool = False) -> None:
    """Refuse a value outside [low, high), or (low, high)."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not (low < value < high or (value == low and not open_low)):
        span = f"above {low:g}" if open_low else f"from {low:g}"
        raise InvalidOptionError(
            f"{name}={value!r} is not possible; give a number {span}{f', below {high:g}' if high < np.inf else ''}."
        )
