import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is an extra")
from sklearn.base import BaseEstimator, ClassifierMixin


class Scripted(ClassifierMixin, BaseEstimator):
    """A learner that predicts, round by round, what it was told to; it keeps the weights it was given."""

    script: list = []
    given: list = []

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.round_ = len(Scripted.given)
        Scripted.given.append(np.array(sample_weight))
        return self

    def predict(self, X):
        return np.asarray(Scripted.script[min(self.round_, len(Scripted.script) - 1)])

    def predict_proba(self, X):
        p = np.where(self.predict(X) == self.classes_[1], 0.8, 0.2)
        return np.column_stack([1 - p, p])


@pytest.fixture
def scripted():
    """Return a function that sets the script."""

    def prepare(*rounds):
        Scripted.script, Scripted.given = [np.array(r) for r in rounds], []
        return Scripted()

    return prepare


@pytest.fixture(scope="session")
def rare_rows():
    """20,000 rows, a tenth of them held-out probabilities can be judged by: 5 % events, a logistic truth."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    p = 1 / (1 + np.exp(4 - X @ [1.0, 0.8, -0.5]))
    y = (rng.random(len(X)) < p).astype(int)
    return X, y
