"""An ensemble of networks, each stopped early, as in the paper: other starts, other rows held out, and scores that are averaged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neural_network import MLPClassifier

MEMBERS = 20  # the paper has 80
VALIDATION = 2 / 9  # 20 of the 90 % of rows that are not tested
PATIENCE, EPOCHS, BATCH = 4, 60, 500
RATES = (1e-2, 1e-3)  # of learning: the next one when the validation loss does not fall any more


class NetworkEnsemble(ClassifierMixin, BaseEstimator):
    """Networks of one hidden layer, trained by Adam under the weights of the rows until the weighted loss of rows held out rises."""

    def __init__(self, members: int = MEMBERS, units: int = 24, seed: int = 0):
        self.members = members
        self.units = units
        self.seed = seed

    def fit(self, X: NDArray, y: NDArray, sample_weight: NDArray) -> NetworkEnsemble:
        self.classes_ = np.unique(y)
        self.center_, self.scale_ = X.mean(axis=0), np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
        Z = (X - self.center_) / self.scale_
        rngs = np.random.default_rng([2022, self.seed]).spawn(self.members)
        self.networks_ = [self._trained(Z, y, sample_weight, rng) for rng in rngs]
        return self

    def predict_proba(self, X: NDArray) -> NDArray:
        Z = (X - self.center_) / self.scale_
        return np.mean([network.predict_proba(Z) for network in self.networks_], axis=0)

    def _trained(self, Z: NDArray, y: NDArray, weight: NDArray, rng: np.random.Generator) -> MLPClassifier:
        """Return a network with the coefficients of its best epoch."""
        held = rng.permutation(len(y)) < VALIDATION * len(y)
        best, found = np.inf, None
        for rate in RATES:
            network = MLPClassifier((self.units,), batch_size=BATCH, alpha=0.0, learning_rate_init=rate)
            network.set_params(random_state=int(rng.integers(2**31)))
            first = np.flatnonzero(~held)[:BATCH]  # makes the layers
            network.partial_fit(Z[first], y[first], sample_weight=weight[first], classes=self.classes_)
            if found is not None:
                network.coefs_, network.intercepts_ = _copies(*found)
            waited = 0
            for _ in range(EPOCHS):
                network.partial_fit(Z[~held], y[~held], sample_weight=weight[~held])
                loss = _loss(network, Z[held], y[held], weight[held])
                waited = 0 if loss < best else waited + 1
                if loss < best:
                    best, found = loss, _copies(network.coefs_, network.intercepts_)
                if waited == PATIENCE:
                    break
        network.coefs_, network.intercepts_ = found
        return network


def _copies(coefs: list[NDArray], intercepts: list[NDArray]) -> tuple[list[NDArray], list[NDArray]]:
    return [each.copy() for each in coefs], [each.copy() for each in intercepts]


def _loss(network: MLPClassifier, Z: NDArray, y: NDArray, weight: NDArray) -> float:
    p = np.clip(network.predict_proba(Z)[:, 1], 1e-12, 1.0 - 1e-12)
    return -float(weight @ np.where(y == 1.0, np.log(p), np.log1p(-p)))
