"""Any classifier with calibrated probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _raise_for_params, process_routing
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, has_fit_parameter

from gevglm.calibration.calibrators import Calibrator, calibrator_of
from gevglm.exceptions import InvalidDataError, InvalidOptionError, unknown_option
from gevglm.sklearn.glm import base_learner
from gevglm.sklearn.inputs import as_learner, checked_rows, classes_of, row_weights


class CalibratedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier whose scores pass through a calibrator of :mod:`gevglm.calibration`.

    Parameters
    ----------
    estimator : estimator, optional
        Any classifier with ``decision_function`` or ``predict_proba``; :class:`BinaryGLMClassifier` by default.
    method : str or Calibrator
        "platt" (by smoothed outcomes), "logistic" (without), "beta", "isotonic", "piecewise", "asymmetric_laplace", or a calibrator with
        other options, such as ``gevglm.calibration.PiecewiseLogistic(pieces=2)``.
    cv : int, splitter, iterable or "prefit"
        How to get scores of rows the classifier has not seen: number of folds, each with its share of both classes, or a splitter of
        scikit-learn. The calibrator is fitted to the scores of all held-out rows together, and the classifier once more to all rows.
        "prefit": the classifier is fitted already, and all rows are for the calibrator.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    estimator_ : estimator
        The classifier, fitted to all rows; with ``cv="prefit"`` the one given.
    calibrator_ : Calibrator
        With ``summary()`` and standard errors, where there are any.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If `X` had string column names.

    Notes
    -----
    Calibrators of probabilities, such as the beta one, see ``predict_proba``. The others see ``decision_function``, or the probabilities of
    a classifier without it.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 1)).repeat(5, axis=1)  # naive Bayes counts the same evidence five times
    >>> p = 1 / (1 + np.exp(3 - X[:, 0]))
    >>> y = rng.random(2000) < p
    >>> naive = GaussianNB().fit(X, y)
    >>> calibrated = CalibratedClassifier(GaussianNB(), method="beta").fit(X, y)
    >>> [float(round(np.abs(model.predict_proba(X)[:, 1] - p).mean(), 3)) for model in (naive, calibrated)]
    [0.171, 0.004]
    """

    def __init__(self, estimator: Any = None, method: Any = "platt", cv: Any = 5):
        self.estimator, self.method, self.cv = estimator, method, cv

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> CalibratedClassifier:
        """Fit classifier and calibrator.

        Parameters
        ----------
        X : array_like of shape (n, n_features)
            Handed to the classifier unchanged.
        y : array_like of shape (n,)
            Two labels of any kind.
        sample_weight : array_like of shape (n,), optional
            How many observations each row stands for, for the calibrator and, if it takes weights, the classifier.
        **fit_params
            Metadata for the classifier's ``fit`` and the splitter's ``split``, if metadata routing is enabled.
        """
        _raise_for_params(fit_params, self, "fit")
        calibrator = calibrator_of(self.method)
        X = checked_rows(self, base_learner(self.estimator), X, reset=True)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        self.classes_ = classes_of(labels)
        weights = row_weights(sample_weight, X, labels)
        if isinstance(self.cv, str):
            self.estimator_ = self._prefit()
            scores, held_out = self._scores(self.estimator_, X, calibrator), np.arange(len(labels))
        else:
            routed = process_routing(self, "fit", **fit_params) if fit_params else None
            split_params, fit_params = (routed.splitter.split, routed.estimator.fit) if routed else ({}, {})
            folds = list(self._folds(X, labels, weights, split_params))
            parts = [
                self._scores(self._trained(X, labels, weights, train, fit_params), _safe_indexing(X, test), calibrator)
                for train, test in folds
            ]
            scores, held_out = np.concatenate(parts), np.concatenate([test for _, test in folds])
            self.estimator_ = self._trained(X, labels, weights, np.arange(len(labels)), fit_params)
        event = (labels[held_out] == self.classes_[1]).astype(float)
        self.calibrator_ = calibrator.fit(scores, event, None if weights is None else weights[held_out])
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Return the calibrated probabilities of both classes, in the order of ``classes_``."""
        check_is_fitted(self)
        X = checked_rows(self, self.estimator_, X, reset=False)
        p = self.calibrator_.predict(self._scores(self.estimator_, X, self.calibrator_))
        return np.column_stack([1.0 - p, p])

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the more probable label."""
        likely = self.predict_proba(X)[:, 1] > 0.5
        return self.classes_[likely.astype(int)]

    def _prefit(self) -> Any:
        if self.cv != "prefit":
            raise unknown_option("cv", self.cv, ["prefit"])
        if self.estimator is None:
            raise InvalidOptionError('cv="prefit" needs a fitted estimator, but none was given.')
        check_is_fitted(self.estimator)
        labels = getattr(self.estimator, "classes_", self.classes_)
        if not np.array_equal(labels, self.classes_):
            raise InvalidDataError(
                f"the fitted estimator knows the labels {np.asarray(labels).tolist()}, but the rows to calibrate with have {self.classes_.tolist()}."
            )
        return self.estimator

    def _folds(self, X: ArrayLike, y: NDArray, weights: NDArray | None, split_params: dict) -> Iterator[tuple]:
        """Yield training and held-out rows, both classes among the former."""
        used = np.ones(len(y), dtype=bool) if weights is None else weights > 0
        splitter = check_cv(self.cv, y, classifier=True)
        if isinstance(self.cv, int | np.integer) or self.cv is None:
            counts = {label: int((y[used] == label).sum()) for label in self.classes_.tolist()}
            fewest = min(counts, key=counts.__getitem__)
            if counts[fewest] < splitter.n_splits:
                raise InvalidDataError(
                    f"{splitter.n_splits} folds need as many cases of each class, but class {fewest!r} has {counts[fewest]}; "
                    'use fewer folds, or cv="prefit".'
                )
        for number, (train, test) in enumerate(splitter.split(X, y, **split_params), 1):
            present = np.unique(y[train][used[train]])
            if len(present) < 2:
                raise InvalidDataError(
                    f"the training rows of fold {number} hold one class only, {present.tolist()}; use folds that are stratified by class."
                )
            yield train, test

    def _trained(self, X: ArrayLike, y: NDArray, weights: NDArray | None, rows: NDArray, fit_params: dict) -> Any:
        learner = clone(base_learner(self.estimator))
        params = {name: _part(value, rows, len(y)) for name, value in fit_params.items()}
        if weights is not None and has_fit_parameter(learner, "sample_weight"):
            params["sample_weight"] = weights[rows]
        return learner.fit(_safe_indexing(X, rows), y[rows], **params)

    def _scores(self, learner: Any, X: ArrayLike, calibrator: Calibrator) -> NDArray:
        """Return what the calibrator sees."""
        if hasattr(learner, "decision_function") and not calibrator.of_probabilities:
            return np.asarray(learner.decision_function(X))
        if hasattr(learner, "predict_proba"):
            return np.asarray(learner.predict_proba(X))[:, 1]
        needed = f"predict_proba, as {type(calibrator).__name__} calibration needs"
        if not calibrator.of_probabilities:
            needed = "decision_function or predict_proba"
        raise InvalidOptionError(
            f"the classifier {type(learner).__name__} has no {needed}; use another method or classifier."
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata are routed: sample_weight is used here, the rest goes to the classifier and the splitter."""
        router = MetadataRouter(owner=self).add_self_request(self)
        learner = base_learner(self.estimator)
        router.add(estimator=learner, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        if not isinstance(self.cv, str):
            splitter = check_cv(self.cv, classifier=True)
            router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def __sklearn_tags__(self):
        return as_learner(super().__sklearn_tags__(), base_learner(self.estimator))


def _part(value: Any, rows: NDArray, n: int) -> Any:
    """Return the rows of metadata that have one value per row, other metadata unchanged."""
    return _safe_indexing(value, rows) if hasattr(value, "__len__") and len(value) == n else value
