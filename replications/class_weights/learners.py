"""Class-weighted learners, and simulated rare events with known probabilities for them to learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from replications.class_weights.ensemble import MEMBERS, NetworkEnsemble
from replications.common.rare_events import Events

FOLDS = 5
CLOSEST = 1e-9  # to 0 and 1 that a score comes, so that its log-odds are finite


def simulated(n: int, rng: np.random.Generator) -> Events:
    """Six covariates, curved and joint effects, 3 % events."""
    x = rng.normal(size=(n, 6))
    truth = expit(features(x) @ (0.9, 0.7, 0.6, 0.5) - 4.6)
    return Events(x, (rng.random(n) < truth).astype(float), truth)


def features(x: NDArray) -> NDArray:
    """What the log-odds of simulated events are linear in."""
    return np.column_stack([x[:, 0], np.sin(2.0 * x[:, 1]), x[:, 2] * x[:, 3], np.abs(x[:, 4])])


# -- learners ----------------------------------------------------------------------------------


def boosting(seed: int) -> Any:
    return HistGradientBoostingClassifier(
        learning_rate=0.1, max_leaf_nodes=6, min_samples_leaf=50, max_iter=200, early_stopping=False, random_state=seed
    )


def network(seed: int) -> Any:
    return make_pipeline(
        StandardScaler(), MLPClassifier((12,), solver="lbfgs", alpha=1.0, max_iter=200, random_state=seed)
    )


def right_model(seed: int) -> Any:
    """Logistic regression on the features that the simulated log-odds are linear in."""
    return make_pipeline(FunctionTransformer(features), LogisticRegression(C=np.inf, tol=1e-8))


LEARNERS: dict[str, Callable[[int], Any]] = {
    "gradient boosting": boosting,
    "neural network": network,
    "ensemble of networks": lambda seed: NetworkEnsemble(MEMBERS, seed=seed),
}
CROSS_VALIDATED = LEARNERS | {"ensemble of networks": lambda seed: NetworkEnsemble(MEMBERS // FOLDS, seed=seed)}


def learned(make: Callable[[int], Any], data: Events, beta1: float, seed: int = 0) -> Callable[[NDArray], NDArray]:
    """Fit a learner with weight beta1 on events and 1 - beta1 on others; return its scores as a function of covariates."""
    weight = np.where(data.y == 1.0, beta1, 1.0 - beta1)
    learner = make(seed)
    last = learner.steps[-1][0] + "__" if hasattr(learner, "steps") else ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the penalty, not the last step, decides
        learner.fit(data.x, data.y, **{f"{last}sample_weight": weight / weight.mean()})
    return lambda x: np.clip(learner.predict_proba(x)[:, 1], CLOSEST, 1.0 - CLOSEST)


def held_out(make: Callable[[int], Any], data: Events, beta1: float) -> NDArray:
    """Scores of all rows, each by a learner fitted to the other folds."""
    scores = np.empty(len(data.y))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(data.x, data.y)
    for seed, (rows, out) in enumerate(folds):
        scores[out] = learned(make, Events(data.x[rows], data.y[rows]), beta1, seed)(data.x[out])
    return scores
