"""The average over links as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from gevglm.averaging import average_links
from gevglm.sklearn.glm import DTYPES
from gevglm.sklearn.inputs import class_weight_by_event, classes_of, row_weights, with_constant


class AveragedLinksClassifier(ClassifierMixin, BaseEstimator):
    """Risks that are averages over links: all of :func:`gevglm.average_links`.

    Parameters
    ----------
    links, criterion, alpha, folds, rng, bias, penalize_intercept, standardize, class_weight, prevalence, sampling, maxiter, tol
        See :func:`gevglm.average_links`. With `class_weight`, whose keys are the labels, or `prevalence`, that of the second label, probabilities
        are those of the population, not of the weighted or sampled rows.
    fit_intercept : bool
        Whether to add a constant.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels; the second one is the event.
    average_ : AveragedLinks
        Everything else: weights, intervals, summary, calibration on held-out rows. A pickle has it without the training rows.
    weights_ : ndarray of shape (n_links,)
        The weights of the links, in the order of ``average_.weights``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If `X` had string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from gevglm.sklearn import AveragedLinksClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.where(rng.random(500) < 0.05 + 0.1 * (X[:, 0] > 1), "ill", "healthy")
    >>> model = AveragedLinksClassifier(["logit", "cloglog"]).fit(X, y)
    >>> model.classes_.tolist(), model.predict_proba(X).shape
    (['healthy', 'ill'], (500, 2))
    """

    def __init__(
        self,
        links: Any = None,
        criterion: str = "log_loss",
        alpha: float | str = "cv",
        folds: Any = 5,
        rng: Any = 0,
        bias: Any = None,
        penalize_intercept: bool = False,
        standardize: bool | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        prevalence: float | None = None,
        sampling: str = "prior",
        maxiter: int = 100,
        tol: float = 1e-8,
    ):
        self.links, self.criterion, self.alpha, self.folds, self.rng = links, criterion, alpha, folds, rng
        self.bias, self.penalize_intercept, self.standardize = bias, penalize_intercept, standardize
        self.fit_intercept, self.class_weight = fit_intercept, class_weight
        self.prevalence, self.sampling, self.maxiter, self.tol = prevalence, sampling, maxiter, tol

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> AveragedLinksClassifier:
        """Fit the candidates and their weights.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, n_features)
        y : array_like of shape (n,)
            Two labels of any kind; the second in sorted order is the event.
        sample_weight : array_like of shape (n,), optional
            How many observations each row stands for; weights that are not whole numbers count without being a number of observations.
        groups : array_like of shape (n,), optional
            Clusters that folds keep together.
        """
        rows, labels = validate_data(self, X, y, dtype=DTYPES, accept_sparse="csr")
        self.classes_ = classes_of(labels)
        weights = row_weights(sample_weight, rows, labels)
        words: dict[str, Any] = {
            name: getattr(self, name) for name in self.get_params(deep=False) if name != "fit_intercept"
        }
        counts = weights is None or bool((weights == np.rint(weights)).all())
        words["freq_weights" if counts else "var_weights"] = weights
        words["class_weight"] = class_weight_by_event(self.class_weight, self.classes_)
        event = self.classes_.tolist()[1]
        self.average_ = average_links(labels, self._design(rows), event=event, missing="none", groups=groups, **words)
        self.weights_ = self.average_.weights["weight"].to_numpy()
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Return the probabilities of both classes, in the order of ``classes_``."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=DTYPES, accept_sparse="csr")
        p = np.asarray(self.average_.predict(self._design(rows)))
        return np.column_stack([1.0 - p, p])

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the more probable label."""
        likely = self.predict_proba(X)[:, 1] > 0.5
        return self.classes_[likely.astype(int)]

    def _design(self, X: Any) -> Any:
        return with_constant(X) if self.fit_intercept else X

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training rows out of a pickle; predictions for other rows do without."""
        state = super().__getstate__()
        return state | {"average_": state["average_"].without_rows()} if "average_" in state else state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
