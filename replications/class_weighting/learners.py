"""Base learners of the class-weighting study, among them those of the authors' own code.

What the authors ran is known from their repository, JiaHe-yogurt/Identification-of-Rare-Events-from-Imbalanced-Datasets-main on GitHub; the
classes here do the same arithmetic and share no code with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from gevglm.sklearn import BinaryGLMClassifier

EPS = np.finfo(float).eps


class UndampedLogistic(ClassifierMixin, BaseEstimator):
    """Logistic regression by Fisher scoring as R's ``glm`` runs it: no step control, at most 25 steps, collinear columns left out.

    Probabilities are kept `EPS` away from 0 and 1 beyond a linear predictor of 30, so that the deviance stays finite and a step that
    overshoots is never halved.
    """

    def __init__(self, maxiter: int = 25):
        self.maxiter = maxiter

    def fit(self, X: ArrayLike, y: NDArray, sample_weight: NDArray | None = None) -> UndampedLogistic:
        self.classes_ = np.unique(y)
        event = (y == self.classes_[1]).astype(float)
        weight = np.ones(len(event)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        design = np.column_stack([np.ones(len(event)), X])
        mu = (weight * event + 0.5) / (weight + 1.0)
        linear = np.log(mu / (1.0 - mu))
        deviance, self.converged_ = _deviance(event, mu, weight), False
        for _ in range(self.maxiter):
            slope = np.where(np.abs(linear) > 30.0, EPS, mu * (1.0 - mu))
            root = np.sqrt(weight * slope**2 / (mu * (1.0 - mu)))
            self.params_ = _least_squares(design * root[:, None], root * (linear + (event - mu) / slope))
            linear = design @ self.params_
            mu = np.clip(1.0 / (1.0 + np.exp(-np.clip(linear, -40.0, 40.0))), EPS, 1.0 - EPS)
            before, deviance = deviance, _deviance(event, mu, weight)
            if abs(deviance - before) < 1e-8 * (abs(deviance) + 0.1):
                self.converged_ = True
                break
        self.deviance_ = deviance
        return self

    def decision_function(self, X: ArrayLike) -> NDArray:
        return self.params_[0] + np.asarray(X) @ self.params_[1:]

    def predict(self, X: ArrayLike) -> NDArray:
        return self.classes_[(self.decision_function(X) > 0.0).astype(int)]


def _deviance(event: NDArray, mu: NDArray, weight: NDArray) -> float:
    return -2.0 * float(weight @ np.where(event == 1.0, np.log(mu), np.log1p(-mu)))


def _least_squares(A: NDArray, b: NDArray, tolerance: float = 1e-11) -> NDArray:
    """Return least-squares coefficients; of collinear columns the later ones get 0."""
    norms = np.sqrt((A**2).sum(axis=0))
    kept = np.flatnonzero(norms > 0.0)
    while True:
        Q, R = np.linalg.qr(A[:, kept])
        collinear = np.flatnonzero(np.abs(np.diag(R)) < tolerance * norms[kept[: len(R)]])
        if len(collinear) == 0 and len(kept) <= len(A):
            break
        kept = np.delete(kept, collinear[0] if len(collinear) else len(A))
    found = np.zeros(A.shape[1])
    found[kept] = solve_triangular(R, Q.T @ b)
    return found


class SumToOneSVC(SVC):
    """A support vector machine whose two class weights are scaled to add up to one, which also makes its penalty stronger."""

    def fit(self, X: ArrayLike, y: NDArray, sample_weight: NDArray) -> SumToOneSVC:
        by_class = sum(sample_weight[y == label].mean() for label in np.unique(y))
        return super().fit(X, y, sample_weight / by_class)


class RepeatedCosts(ClassifierMixin, BaseEstimator):
    """Cost-sensitive boosting of stumps with the costs entering as in the authors' code: at the start, in each stump, and in each update.

    Only the weights of misclassified rows change, by half the published step.
    """

    def __init__(self, kind: str = "AdaC2", cost_ratio: float = 2.0, rounds: int = 50):
        self.kind = kind
        self.cost_ratio = cost_ratio
        self.rounds = rounds

    def fit(self, X: ArrayLike, y: NDArray) -> RepeatedCosts:
        cost = np.where(y == 1, self.cost_ratio, 1.0)
        weight, self.members_ = cost.copy(), []
        judged_by = {"AdaCost": 1.0, "AdaC1": cost, "AdaC2": cost, "AdaC3": cost**2}[self.kind]
        inside = {"AdaCost": 0.5 + 0.5 * cost, "AdaC1": cost, "AdaC2": 1.0, "AdaC3": cost}[self.kind]
        outside = cost if self.kind in ("AdaC2", "AdaC3") else 1.0
        for _ in range(self.rounds):
            stump = DecisionTreeClassifier(max_depth=1, class_weight={0: 1.0, 1: self.cost_ratio}).fit(X, y, weight)
            wrong = stump.predict(X) != y
            error = np.average(wrong, weights=weight * judged_by)
            if not 0.0 < error < 0.5:
                break
            total = (weight * cost).sum() if self.kind == "AdaC3" else 1.0
            vote = 0.5 * np.log((total + 1.0 - 2.0 * error) / (total - 1.0 + 2.0 * error))
            self.members_.append((vote, stump))
            weight = weight * outside * np.exp(vote * inside * wrong)
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        score = sum(
            (vote * np.where(stump.predict(X) == 1, 1.0, -1.0) for vote, stump in self.members_), np.zeros(len(X))
        )
        return (score > 0.0).astype(int)


def logistic(C: float, transform: Any = None) -> Any:
    learner = LogisticRegression(C=C, solver="newton-cholesky")
    return learner if transform is None else make_pipeline(transform, learner)


def stopped(iterations: int) -> Any:
    """Logistic regression by a quasi-Newton method that is stopped before it has converged."""
    return LogisticRegression(C=np.inf, solver="lbfgs", max_iter=iterations)


UNDAMPED = "columns as they are, undamped (R's glm)"
CONVERGED = "columns as they are, converged (ours, alpha = 0.001)"
SHRUNK = "standardised, C = 0.001"
LOGARITHMS = "logarithms, C = 1"
CHOICES = {
    UNDAMPED: UndampedLogistic(),
    CONVERGED: BinaryGLMClassifier(link="logit", alpha=0.001),
    "columns as they are, C = 1": logistic(1.0),
    "columns as they are, C = 0.01": logistic(0.01),
    "columns as they are, stopped after 50 iterations": stopped(50),
    "standardised, C = 1": logistic(1.0, StandardScaler()),
    SHRUNK: logistic(0.001, StandardScaler()),
    LOGARITHMS: logistic(1.0, FunctionTransformer(np.log1p)),
    "radial SVM, standardised": make_pipeline(StandardScaler(), SVC(gamma=1 / 57)),
    "radial SVM, standardised, class weights add up to one": make_pipeline(StandardScaler(), SumToOneSVC(gamma=1 / 57)),
    "random forest, 10 trees of depth 5": RandomForestClassifier(10, max_depth=5, random_state=0),
    "stump": DecisionTreeClassifier(max_depth=1),
}
LEARNERS = {
    "LR": logistic(1.0, StandardScaler()),
    "RF": RandomForestClassifier(10, max_depth=5, random_state=0),
    "SVM": make_pipeline(StandardScaler(), SVC()),
}
