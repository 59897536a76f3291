"""More than two classes: a weight for each, and probabilities that are corrected for all of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("sklearn", reason="scikit-learn is an extra")
from sklearn.linear_model import LogisticRegression

from gevglm.weighting import AdaClassWeight, DiffBoost, RatioWeight
from gevglm.weighting.balance import balanced
from gevglm.weighting.classes import sample_of

LEARNER = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10)
CONSTANTS = np.array([0.0, -3.0, -3.3, -3.6, -4.0])
SLOPES = np.array([[0.0, 1.2, -1.2, 0.3, 0.3], [0.0, 0.2, 0.2, 1.5, -1.5]])


def five_classes(n, seed=0):
    """Rows of five classes, of which four are rare, and their true probabilities: a multinomial logit."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    odds = np.exp(CONSTANTS + X @ SLOPES)
    p = odds / odds.sum(axis=1, keepdims=True)
    return X, (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1), p


def distance(model, X, p):
    return np.abs(model.predict_proba(X) - p).mean()


@pytest.mark.parametrize("method", [AdaClassWeight, RatioWeight])
def test_corrected_probabilities_are_those_of_the_population(method):
    X, y, _ = five_classes(20_000)
    new, _, p = five_classes(5_000, seed=1)
    plain = LEARNER.fit(X, y)
    model = method(LEARNER).fit(X, y)
    assert model.rare_ == (1, 2, 3, 4)
    assert all(model.class_weight_[k] > 1.5 * model.class_weight_[0] for k in model.rare_)
    error = distance(plain, new, p)
    assert error < 0.006
    assert distance(model, new, p) < 1.5 * error  # weights cost precision, not correctness
    assert distance(model.set_params(corrected=False), new, p) > 10 * error
    assert_allclose(model.set_params(corrected=True).predict_proba(new).sum(axis=1), 1.0)


def test_weights_serve_every_rare_class():
    X, y, _ = five_classes(20_000)
    model = AdaClassWeight(LEARNER).fit(X, y)
    assert model.stop_reason_ == "tradeoff"
    first, last = model.history_.iloc[0], model.history_.iloc[-1]
    rare = [f"error_{k}" for k in range(1, 5)]
    assert first[rare].min() > 0.9
    assert last[rare].mean() < last["error_0"]
    assert last[rare].max() < last["error_0"] + 0.1
    assert_allclose(np.diff(np.log(model.history_["weight_3"])), model.history_["error_3"].iloc[:-1], rtol=1e-9)
    assert_array_equal(np.unique(model.predict(X)), np.arange(5))


def test_two_classes_and_labels_are_as_before():
    X, y, _ = five_classes(2_000)
    two = np.where(y > 0, "rare", "main")
    model = AdaClassWeight(LEARNER).fit(X, two)
    assert (model.rare_, list(model.classes_)) == ("rare", ["main", "rare"])
    assert {"weight_rare", "weight_main", "error_rare", "error_main"} <= set(model.history_)


def test_a_stream_of_several_classes_in_which_one_is_missing_at_first():
    X, y, _ = five_classes(6_000)
    model = AdaClassWeight(LEARNER, window=3_000)
    early = y[:1_000] < 4
    model.partial_fit(X[:1_000][early], y[:1_000][early], classes=range(5))
    assert_allclose(model.predict_proba(X[:5])[:, 4], 0.0)
    for start in range(1_000, 6_000, 1_000):
        model.partial_fit(X[start : start + 1_000], y[start : start + 1_000])
    assert (model.predict_proba(X)[:, 4] > 0).all()
    errors = model.history_.iloc[-1]
    assert errors[[f"error_{k}" for k in range(1, 5)]].max() < errors["error_0"] + 0.1


def test_balanced_weights_are_the_smallest_that_serve():
    # by brute force over a grid of weights, from probabilities that are right under any weights
    rng = np.random.default_rng(5)
    p = rng.beta(0.5, 4.0, 3_000)
    y = (rng.random(3_000) < p).astype(int)
    sample = sample_of(y, (0, 1), None)
    found = balanced(np.column_stack([1 - p, p]), sample, np.ones(2), 1.0, 0.001)[1]

    def served(weight):
        says = weight * p > 1 - p
        return (~says)[y == 1].mean() < says[y == 0].mean()

    assert served(found * 1.0001)
    assert not any(served(weight) for weight in np.geomspace(0.01, 0.99, 400) * found if weight < 0.999 * found)


def test_what_is_for_two_classes_only():
    X, y, _ = five_classes(300)
    with pytest.raises(
        ValueError, match=r"Only binary.*multiclass.*AdaClassWeight and RatioWeight around a learner of several"
    ):
        DiffBoost(LEARNER).fit(X, y)
    with pytest.raises(ValueError, match="Only binary"):
        AdaClassWeight().fit(X, y)  # our own learner knows two classes
    with pytest.raises(ValueError, match=r"rare=1 names one of two classes, but there are 5"):
        AdaClassWeight(LEARNER, rare=1).fit(X, y)
    with pytest.raises(ValueError, match=r"ratio=3 is that of two classes, but there are 5"):
        RatioWeight(LEARNER, ratio=3).fit(X, y)
    with pytest.raises(
        ValueError, match=r"there are 5 classes.*AdaClassWeight around BinaryGLMClassifier knows two only"
    ):
        AdaClassWeight().partial_fit(X, y)
