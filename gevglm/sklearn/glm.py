"""Binary regression as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from gevglm.engine.linalg import Matrix
from gevglm.links import ScaledOdds
from gevglm.model import BinaryGLM
from gevglm.options import FitOptions, ModelOptions
from gevglm.sklearn.inputs import class_weight_by_event, classes_of, row_weights, with_constant

DTYPES = (np.float64, np.float32)


def base_learner(estimator: Any) -> Any:
    """Return the learner inside another estimator: the one given, or our logistic regression."""
    return BinaryGLMClassifier(link="logit", warm_start=True) if estimator is None else estimator


class BinaryGLMClassifier(ClassifierMixin, BaseEstimator):
    """Binary regression as a scikit-learn classifier: all of :func:`gevglm.fit`.

    Parameters
    ----------
    link, loss, xi, bias, alpha, penalize_intercept, standardize, class_weight, prevalence, sampling, search_kwds, cov_type, cov_kwds
        See :func:`gevglm.fit`. With `class_weight`, whose keys are the labels, or `prevalence`, that of the second label, probabilities
        are those of the population, not of the weighted or sampled rows.
    fit_intercept : bool
        Whether to add a constant.
    maxiter, tol : int, float
        See :meth:`gevglm.BinaryGLM.fit`.
    warm_start : bool
        Whether a second :meth:`fit` starts from the coefficients of the first; the estimates are the same.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels; the second one is the event.
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
    results_ : BinaryGLMResults
        Everything else: summary, standard errors, tests. A pickle has it without the training rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If `X` had string column names.
    n_iter_ : ndarray of shape (1,)

    Examples
    --------
    >>> import numpy as np
    >>> from gevglm.sklearn import BinaryGLMClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = np.where(rng.random(500) < 0.05 + 0.1 * (X[:, 0] > 1), "ill", "healthy")
    >>> model = BinaryGLMClassifier(xi=0.3).fit(X, y)
    >>> model.classes_.tolist(), model.predict_proba(X).shape
    (['healthy', 'ill'], (500, 2))
    """

    def __init__(
        self,
        link: Any = None,
        loss: str | None = None,
        xi: float | str | None = None,
        bias: Any = None,
        alpha: float | str = 0.0,
        penalize_intercept: bool = False,
        standardize: bool | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        prevalence: float | None = None,
        sampling: str = "prior",
        search_kwds: dict[str, Any] | None = None,
        cov_type: str | None = None,
        cov_kwds: dict[str, Any] | None = None,
        maxiter: int = 100,
        tol: float = 1e-8,
        warm_start: bool = False,
    ):
        self.link, self.loss, self.xi, self.bias = link, loss, xi, bias
        self.alpha, self.penalize_intercept, self.standardize = alpha, penalize_intercept, standardize
        self.fit_intercept, self.class_weight = fit_intercept, class_weight
        self.prevalence, self.sampling, self.search_kwds = prevalence, sampling, search_kwds
        self.cov_type, self.cov_kwds, self.maxiter, self.tol = cov_type, cov_kwds, maxiter, tol
        self.warm_start = warm_start

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> BinaryGLMClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, n_features)
        y : array_like of shape (n,)
            Two labels of any kind; the second in sorted order is the event.
        sample_weight : array_like of shape (n,), optional
            How many observations each row stands for. With weights that are not whole numbers, a search by cross-validation holds out rows.
        """
        rows, labels = validate_data(self, X, y, dtype=DTYPES, accept_sparse="csr")
        self.classes_ = classes_of(labels)
        weights = row_weights(sample_weight, rows, labels)
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(rows.shape[1])]))
        counts = weights is None or bool((weights == np.rint(weights)).all())
        words = vars(self) | {"event": self.classes_.tolist()[1], "missing": "none"}
        words["freq_weights" if counts else "var_weights"] = weights
        words["class_weight"] = class_weight_by_event(self.class_weight, self.classes_)
        words["start_params"] = self._last_params(rows.shape[1])
        model = BinaryGLM.of_arrays(labels, self._design(rows), ModelOptions.of(words), owned=self.fit_intercept)
        model.data.xnames = [*(["const"] if self.fit_intercept else []), *names]
        self.results_ = model.fit_by(FitOptions.of(words))
        params = np.asarray(self.results_.params)
        self.intercept_ = params[:1] if self.fit_intercept else np.zeros(1)
        self.coef_ = params[None, int(self.fit_intercept) :]
        self.n_iter_ = np.array([self.results_.n_iter])
        return self

    def for_class_weights(self, weights: Mapping[Any, float]) -> BinaryGLMClassifier:
        r"""Return an unfitted copy for rows that will be given these class weights as ``sample_weight``, as :mod:`gevglm.weighting` does.

        Its probabilities are those of the weighted rows, with odds that are :math:`w_1/w_0` times those of the link given here
        (:class:`gevglm.links.ScaledOdds`), so that the link still describes the population. The logit with a constant stays as it is,
        because there the constant takes up the factor.

        Parameters
        ----------
        weights : mapping of label to float
        """
        other, event = (weights[label] for label in sorted(weights))
        loss, copy = ModelOptions.of(vars(self)).resolve(), clone(self)
        if event == other or (loss.link.canonical_is_log and self.fit_intercept):
            return copy
        shape = self.xi if isinstance(self.xi, str) else None
        return copy.set_params(loss=type(loss)(ScaledOdds(loss.link, event / other)), xi=shape)

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Return the linear predictor less its value at a probability of one half in the population: positive where the event is more likely."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=DTYPES, accept_sparse="csr")
        return rows @ self.coef_[0] + self.intercept_[0] - self.results_.model.population_link(0.5)

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Return the probabilities of both classes, in the order of ``classes_``."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=DTYPES, accept_sparse="csr")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p = np.asarray(self.results_.predict(self._design(rows)))
        return np.column_stack([1.0 - p, p])

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the more probable label."""
        likely = self.predict_proba(X)[:, 1] > 0.5
        return self.classes_[likely.astype(int)]

    def _last_params(self, n_features: int) -> NDArray | None:
        """Return the coefficients to start from: with `warm_start`, those of the last fit to as many columns."""
        if not (self.warm_start and hasattr(self, "coef_") and self.coef_.shape[1] == n_features):
            return None
        return np.concatenate([self.intercept_, self.coef_[0]]) if self.fit_intercept else self.coef_[0]

    def _design(self, X: Matrix) -> Matrix:
        return with_constant(X) if self.fit_intercept else X

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training rows out of a pickle; the summary, tests and predictions for other rows do without."""
        state = super().__getstate__()
        if "results_" not in state:
            return state
        results = deepcopy(state["results_"])
        results.remove_data()
        return state | {"results_": results}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
