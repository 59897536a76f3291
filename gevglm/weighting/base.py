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

from gevglm.calibration.correction import loss_corrected
from gevglm.exceptions import (
    ConvergenceWarning,
    FewEventsWarning,
    InvalidOptionError,
    SeparationWarning,
    warn,
    whole_number,
)
from gevglm.sklearn.glm import base_learner
from gevglm.sklearn.inputs import as_learner, checked_rows, two_classes
from gevglm.weighting.learners import check_learner, trained
from gevglm.weighting.rare_class import RareClassSample, make_sample

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
    """A learner, its vote, and the class weights it was trained under."""

    learner: Any
    vote: float
    class_weight: tuple[float, float]


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
    classes_ : ndarray of shape (2,)
    rare_ : label
        The rare class.
    members_ : list of Member
        The fitted learners (``learner``) that take part in a prediction, their ``vote`` and the ``class_weight`` (main, rare) they were
        trained under.
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
    _bound: ClassVar[str | None] = None  # column of the history whose running product bounds a training error

    # -- what an algorithm says ----------------------------------------------------------------

    @abstractmethod
    def _start(self, sample: RareClassSample) -> Any:
        """Return the first weights."""

    @abstractmethod
    def _row_weights(self, state: Any, sample: RareClassSample) -> NDArray:
        """Return the weights to train under."""

    @abstractmethod
    def _assess(self, state: Any, sample: RareClassSample, hit: NDArray) -> Round:
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
            Two labels of any kind.
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
        self.classes_ = two_classes(labels)
        sample = make_sample(X, labels, self.classes_, self.rare, sample_weight)
        self.rare_ = sample.labels[1]
        routed = process_routing(self, "fit", **fit_params).estimator.fit if fit_params else {}
        self._loop(learner, X, labels, sample, routed)
        return self

    def _loop(self, learner: Any, X: ArrayLike, y: NDArray, sample: RareClassSample, fit_params: dict) -> None:
        state = self._start(sample)
        members: list[Member] = []
        records: list[dict[str, float]] = []
        score = np.zeros(len(y))
        for number in range(self.rounds):
            weights = self._row_weights(state, sample)
            with warnings.catch_warnings():
                if number:
                    for category in SAID_ONCE:
                        warnings.simplefilter("ignore", category)
                fitted = trained(learner, X, y, sample, weights, fit_params)
            hit = np.asarray(fitted.predict(X)) == y
            found = self._assess(state, sample, hit)
            if self._last_only:
                members, score = [], np.zeros(len(y))
            if found.kept or not members:
                members.append(Member(fitted, found.vote, sample.class_weights(weights)))
                score += self._ballot(found.vote, hit == sample.rare)
            wrong = sample.sums(sample.weight * ((score > 0.0) != sample.rare))
            main, rare = sample.class_weights(weights)
            records.append(
                {"weight_rare": rare, "weight_main": main}
                | found.facts
                | {"training_error_rare": wrong[1] / sample.sizes[1], "training_error_main": wrong[0] / sample.sizes[0]}
            )
            if found.stop:
                break
            state = found.after
        self.members_ = members
        self.class_weight_ = dict(zip(sample.labels, members[-1].class_weight, strict=True))
        self.history_ = pd.DataFrame(records, index=pd.RangeIndex(1, len(records) + 1, name="round"))
        if self._bound:
            self.history_["bound"] = self.history_[self._bound].cumprod()
        self.stop_reason_ = found.stop or "rounds"
        if found.warning:
            warn(found.warning, ConvergenceWarning)
        elif not any(member.vote for member in members):
            warn(
                f"no learner in {len(records)} rounds got half of the rare class ({self.rare_}) right, so that none has a vote and every case "
                "is predicted to be of the main class; allow more rounds, or choose another base learner.",
                ConvergenceWarning,
            )

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
        r"""Return the probabilities of both classes, in the order of ``classes_``.

        Each learner's probabilities are corrected for the class weights it was trained under (unless ``corrected=False``),

        .. math:: \frac{p_t}{1 - p_t} \Big/ \frac{w_t^+}{w_t^-},

        and averaged with their votes as weights. Weights of single rows are undone as far as they changed the total weight of the
        classes. :meth:`predict` decides by weighted scores, so that a case may be classified as rare below a probability of one half.
        """
        X = self._checked(X)
        column = int(np.flatnonzero(self.classes_ == self.rare_)[0])
        votes = np.array([member.vote for member in self.members_])
        votes = votes / votes.sum() if votes.any() else np.full(len(votes), 1.0 / len(votes))
        p = np.zeros(len(self.members_[0].learner.predict_proba(X)))
        for share, member in zip(votes, self.members_, strict=True):
            if share:
                raw = np.clip(member.learner.predict_proba(X)[:, column], 0.0, 1.0)
                p += share * (loss_corrected(raw, dict(enumerate(member.class_weight))) if self.corrected else raw)
        p = np.clip(p, 0.0, 1.0)
        return np.column_stack([p, 1.0 - p] if column == 0 else [1.0 - p, p])

    def _votes(self, X: ArrayLike) -> NDArray:
        """Return the score of the rare class."""
        ballots = (self._ballot(m.vote, np.asarray(m.learner.predict(X)) == self.rare_) for m in self.members_)
        return reduce(np.add, ballots)

    def _checked(self, X: ArrayLike) -> ArrayLike:
        check_is_fitted(self)
        return checked_rows(self, self.members_[0].learner, X, reset=False)

    # -- looking back --------------------------------------------------------------------------

    def plot_history(self, ax: Axes | None = None) -> Axes:
        """Draw the errors, their bound and the class weights over the rounds."""
        from gevglm.plots.weighting import plot_history

        check_is_fitted(self)
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
        return as_learner(super().__sklearn_tags__(), base_learner(self.estimator))


def check_number(name: str, value: Any, low: float, high: float = np.inf, *, open_low: bool = False) -> None:
    """Refuse a value outside [low, high), or (low, high)."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not (low < value < high or (value == low and not open_low)):
        span = f"above {low:g}" if open_low else f"from {low:g}"
        raise InvalidOptionError(
            f"{name}={value!r} is not possible; give a number {span}{f', below {high:g}' if high < np.inf else ''}."
        )
