"""Streams: batches that arrive, classes whose shares drift, and class weights that follow them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from gevglm.exceptions import FewEventsWarning, InvalidDataError, InvalidOptionError, warn, whole_number
from gevglm.sklearn.glm import base_learner
from gevglm.sklearn.inputs import checked_rows, knows_several
from gevglm.weighting.balance import balanced
from gevglm.weighting.base import WeightedClassifier, check_number
from gevglm.weighting.classes import ClassSample, main_class_first, sample_of
from gevglm.weighting.learners import check_learner

TRAININGS = 2  # with a batch, at most
AT_REST = 0.05  # relative change of class weights that is not worth a second training
FORGOTTEN = 1e-6  # what a row has to count at least to be kept


@dataclass(frozen=True)
class Window:
    """The rows that are looked back on, the oldest first."""

    X: Any
    y: NDArray
    weight: NDArray  # observations each row stands for, less what has been forgotten
    tilt: NDArray  # what boosting has made of each row's part in the distribution over its class
    weighted: bool  # whether rows stand for other than one observation

    def followed_by(self, batch: Window, size: int | None, forgetting: float) -> Window:
        """Return the window after a batch: what was there counts less, the oldest rows beyond `size` are gone."""
        n = len(self.y) + len(batch.y)
        weight = np.concatenate([forgetting * self.weight, batch.weight])
        kept = (np.arange(n) >= n - (n if size is None else size)) & (weight >= FORGOTTEN)
        joined = Window(
            stacked(self.X, batch.X),
            np.concatenate([self.y, batch.y]),
            weight,
            np.concatenate([self.tilt, batch.tilt]),
            self.weighted or batch.weighted or forgetting < 1.0,
        )
        return joined if kept.all() else joined.of_rows(np.flatnonzero(kept))

    def of_rows(self, rows: NDArray) -> Window:
        """Return some of the rows."""
        return replace(
            self, X=_safe_indexing(self.X, rows), y=self.y[rows], weight=self.weight[rows], tilt=self.tilt[rows]
        )


def stacked(first: Any, second: Any) -> Any:
    """Return the rows of one table, array or list after those of another."""
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    if hasattr(first, "iloc"):
        return pd.concat([first, second], ignore_index=True)
    return np.concatenate([first, second]) if hasattr(first, "shape") else [*first, *second]


class Streaming(WeightedClassifier):
    """What algorithms offer whose class weights can go on from where they are."""

    tradeoff: float
    threshold: float
    warm_start: bool
    window: int | None
    forgetting: float

    def _check_options(self) -> None:
        super()._check_options()
        if self.window is not None:
            whole_number("window", self.window, 2)
        check_number("forgetting", self.forgetting, 0.0, 1.0 + 1e-12, open_low=True)

    def _first_state(self, sample: ClassSample) -> Any:
        """Return the weights that a fit begins with: with ``warm_start``, those that the last one ended with."""
        self.__dict__.pop("_window", None)
        state = self._start(sample)
        last = getattr(self, "_weights", None) if self.warm_start else None
        return (
            state
            if last is None or list(last) != list(sample.labels)
            else replace(state, weights=np.array([*last.values()]))
        )

    def _search(self, learner: Any, X: ArrayLike, y: NDArray, sample: ClassSample, state: Any, fit_params: dict) -> Any:
        after = super()._search(learner, X, y, sample, state, fit_params)
        self._weights = dict(zip(sample.labels, after.weights.tolist(), strict=True))
        return after

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ):
        r"""Go on with a batch of a stream: one round of the algorithm on the rows looked back on.

        The first batch that completes two classes is fitted as by :meth:`fit`. Every later one costs one training, on the last `window`
        rows, older batches counting less by the factor `forgetting` each. Where only the last learner predicts and has probabilities, the class
        weights then go to where the rare class is served, up or down: they multiply the odds, so that errors under other weights are known
        without training; if they moved by more than a few per cent, the learner is trained again. Otherwise the errors of the round move
        the weights as in :meth:`fit`. A base learner with ``warm_start=True`` starts from what it had found before, where only the last
        learner predicts.

        Parameters
        ----------
        X : array_like of shape (n, n_features)
            The same columns in every batch.
        y : array_like of shape (n,)
        classes : array_like, optional
            All labels that may come; needed with the first batch if that has not all of them.
        sample_weight : array_like of shape (n,), optional
            How many observations each row stands for.

        Notes
        -----
        While the rows looked back on hold one class only, they are kept and the last learner, if there is one, goes on predicting; a
        warning says so. A batch that is refused changes nothing.
        """
        self._check_options()
        window = getattr(self, "_window", None)
        labels = column_or_1d(y, warn=True)
        known = self._known_classes(labels, classes, first=window is None)
        learner = base_learner(self.estimator)
        if window is None:
            check_learner(learner, individual=self._individual)
        if len(known) > 2 and not (self._several and knows_several(learner)):
            raise InvalidDataError(
                f"there are {len(known)} classes, {known.tolist()}, but {type(self).__name__} around {type(learner).__name__} knows two only."
            )
        rows = checked_rows(self, learner, X, reset=window is None)
        check_consistent_length(rows, labels)
        given = None if sample_weight is None else _check_sample_weight(sample_weight, rows, ensure_non_negative=True)
        if given is not None and not given.any():
            raise InvalidDataError(
                f"sample_weight is zero in all {len(labels)} rows; at least one non-zero weight is needed."
            )
        weight = np.ones(len(labels)) if given is None else given
        batch = Window(rows, labels, weight, np.ones(len(labels)), given is not None)
        empty = batch.of_rows(np.arange(0))
        window = (empty if window is None else window).followed_by(batch, self.window, self.forgetting)
        if len(np.unique(window.y[window.weight > 0.0])) < 2:
            warn(
                f"the last {len(window.y)} rows of the stream hold one class only, {window.y[-1]!s}; they are kept, and "
                + (
                    "the learner before goes on predicting." if hasattr(self, "members_") else "nothing is trained yet."
                ),
                FewEventsWarning,
            )
            self._window, self.classes_ = window, known
            return self
        self._follow(learner, window, known)
        return self

    def _follow(self, learner: Any, window: Window, classes: NDArray) -> None:
        """Train on the rows looked back on: round by round where nothing is known yet, else once."""
        weighted = window.weight if window.weighted else None
        last = getattr(self, "_weights", None)
        labels = tuple(last) if last else main_class_first(window.y, window.weight, classes, self.rare)
        sample = sample_of(window.y, labels, weighted)
        uniform = self._start(sample)
        self.classes_ = classes
        if last is None or not hasattr(self, "members_") or not hasattr(self, "_window"):
            after = self._search(learner, window.X, window.y, sample, uniform, {})
        else:
            after = self._one_round(learner, window, sample, uniform)
        self._window = replace(window, tilt=after.distribution / uniform.distribution)

    def _one_round(self, learner: Any, window: Window, sample: ClassSample, uniform: Any) -> Any:
        """Train under weights that follow the stream, a second time if they are not yet where they rest; return those after it."""
        tilted = uniform.distribution * window.tilt
        weights = np.array([*self._weights.values()])
        state = replace(uniform, weights=weights, distribution=tilted / sample.by_class(sample.sums(tilted)))
        last = self.members_[-1].learner if self._last_only else None
        for _ in range(TRAININGS):
            member, hit, found = self._round(learner, window.X, window.y, sample, state, {}, last=last)
            last, after = member.learner, found.after
            if not (self._last_only and hasattr(last, "predict_proba")):
                break
            after = replace(after, weights=self._balanced(last, window.X, sample, state.weights))
            if np.abs(np.log(after.weights / state.weights)).max() < AT_REST:
                break
            state = replace(state, weights=after.weights)
        members = [member] if self._last_only else [*self.members_, member][-self.rounds :]
        record = sample.named("weight", member.class_weight.values()) | found.facts
        self._records.append(record | sample.named("training_error", sample.rates(~hit)))
        self._keep(sample, members, self._records, "stream")
        self._weights = dict(zip(sample.labels, (after.weights / after.weights[0]).tolist(), strict=True))
        return after

    def _balanced(self, learner: Any, X: Any, sample: ClassSample, weights: NDArray) -> NDArray:
        """Return the class weights at which the rare classes are served, told from a learner trained under others."""
        places = np.searchsorted(self.classes_, np.array(sample.labels))
        probabilities = self._raw_probabilities(learner, X)[:, places]
        return balanced(probabilities, sample, weights, self.tradeoff, self.threshold)

    def _known_classes(self, labels: NDArray, classes: ArrayLike | None, *, first: bool) -> NDArray:
        """Return the classes of the stream; those of a batch have to be among them."""
        seen = np.unique(labels)
        if not first:
            known = self.classes_
            if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
                raise InvalidOptionError(
                    f"classes={np.asarray(classes).tolist()} differ from those of the first batch, {known.tolist()}."
                )
        elif classes is not None:
            known = np.unique(np.asarray(classes))
        else:
            known = seen
        if len(known) < 2:
            raise InvalidDataError(
                f"the first batch has one class only, {known.tolist()[0]!r}; say which may come, as in classes=[0, 1]."
            )
        unknown = np.setdiff1d(seen, known)
        if len(unknown):
            raise InvalidDataError(
                f"the batch has labels {unknown.tolist()} that are not among the classes {known.tolist()}; give all of them by classes= with the first batch."
            )
        return known
