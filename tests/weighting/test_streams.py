"""Streams: batches that arrive, class shares that drift, windows, forgetting, and what may go wrong on the way."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("sklearn", reason="scikit-learn is an extra")
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from gevglm.exceptions import FewEventsWarning
from gevglm.sklearn import BinaryGLMClassifier
from gevglm.weighting import AdaClassWeight, DiffBoost


def batches(number=40, n=250, seed=0):
    """Batches whose share of events and whose coefficients drift."""
    rng = np.random.default_rng(seed)
    for t in range(number):
        X = rng.normal(size=(n, 3))
        v = -3.2 + 1.2 * np.sin(2 * np.pi * t / number) + X @ [1.0 + 0.5 * t / number, 0.8, -0.5]
        yield X, (rng.random(n) < 1 / (1 + np.exp(-v))).astype(int)


def quietly(method, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewEventsWarning)
        return method(*args, **kwargs)


def recall_and_precision(model, X, y):
    says = model.predict(X) == 1
    return np.array([says[y == 1].mean(), (y[says] == 1).mean()])


def test_weights_follow_a_drifting_stream_as_a_refit_would():
    model, seen, size = AdaClassWeight(window=3000), [], 3000
    rng = np.random.default_rng(99)
    test = rng.normal(size=(20_000, 3))
    truth = (rng.random(len(test)) < 1 / (1 + np.exp(3 - test @ [1.2, 0.8, -0.5]))).astype(int)
    for X, y in batches():
        seen.append((X, y))
        quietly(model.partial_fit, X, y, classes=[0, 1])
        rows, labels = (np.concatenate(part)[-size:] for part in zip(*seen, strict=True))
        again = quietly(AdaClassWeight().fit, rows, labels)
        assert_allclose(recall_and_precision(model, test, truth), recall_and_precision(again, test, truth), atol=0.02)
    assert model.stop_reason_ == "stream"
    assert len(model._window.y) == size


def test_one_window_of_everything_is_all_rows():
    parts = list(batches(6))
    model = AdaClassWeight()
    for X, y in parts:
        quietly(model.partial_fit, X, y, classes=[0, 1])
    assert len(model._window.y) == 6 * 250
    p = model.predict_proba(parts[0][0])
    assert_allclose(p.sum(axis=1), 1.0)
    everything = np.concatenate([y for _, y in parts])
    rows = np.concatenate([X for X, _ in parts])
    assert model.predict_proba(rows)[:, 1].mean() == pytest.approx(
        everything.mean(), rel=0.05
    )  # corrected for the weights


def test_forgetting_is_weighting_and_old_rows_go():
    parts = list(batches(5))
    model = AdaClassWeight(forgetting=0.5)
    for X, y in parts:
        quietly(model.partial_fit, X, y)
    assert_allclose(model._window.weight[::250], 0.5 ** np.arange(4, -1, -1))
    one = quietly(AdaClassWeight(forgetting=1e-9).partial_fit, *parts[0])
    quietly(one.partial_fit, *parts[1])
    assert len(one._window.y) == 250


@pytest.mark.parametrize("method", [AdaClassWeight, DiffBoost])
def test_weights_of_rows_are_repeated_rows(method):
    weight = np.random.default_rng(1).integers(1, 4, 250)
    learner = DecisionTreeClassifier(max_depth=2, random_state=0)
    one, other = method(learner, rounds=5), method(learner, rounds=5)
    for X, y in batches(4):
        one.partial_fit(X, y, classes=[0, 1], sample_weight=weight)
        other.partial_fit(np.repeat(X, weight, axis=0), np.repeat(y, weight), classes=[0, 1])
    assert_allclose(one.history_, other.history_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "convert",
    [np.asarray, sparse.csr_array, lambda X: pd.DataFrame(X, columns=["a", "b", "c"])],
    ids=["array", "sparse", "table"],
)
def test_rows_of_any_kind(convert):
    learner = LogisticRegression(C=1.0)
    model, plain = AdaClassWeight(learner, window=600), AdaClassWeight(learner, window=600)
    for X, y in batches(4):
        model.partial_fit(convert(X), y, classes=[0, 1])
        plain.partial_fit(X, y, classes=[0, 1])
    assert_allclose(model.history_, plain.history_, rtol=1e-4, atol=1e-4)  # lbfgs, to its tolerance


def test_a_learner_without_probabilities_takes_the_steps_of_the_paper():
    model = AdaClassWeight(RidgeClassifier())
    parts = list(batches(8))
    for X, y in parts:
        model.partial_fit(X, y, classes=[0, 1])
    h = model.history_.iloc[-7:]  # one round for each batch after the first
    ratio = np.log(h["weight_rare"] / h["weight_main"])
    assert_allclose(np.diff(ratio), (h["error_rare"] - h["error_main"]).iloc[:-1], rtol=1e-9)


def test_votes_of_a_stream_are_those_of_the_last_rounds():
    model = DiffBoost(rounds=6, early_stopping=False)
    for X, y in batches(10):
        quietly(model.partial_fit, X, y, classes=[0, 1])
    assert len(model.members_) == 6
    assert_allclose(model._window.tilt.shape, (2500,))
    assert set(model.predict(X)) <= {0, 1}


def test_a_warm_start_goes_on_from_the_weights_before():
    X, y = next(batches(1, n=3000))
    model = AdaClassWeight(rounds=3, warm_start=True, early_stopping=False)
    first = quietly(model.fit, X, y).history_
    second = quietly(model.fit, X, y).history_
    grown = np.log(first["weight_rare"].iloc[-1]) + first["error_rare"].iloc[-1]
    assert np.log(second["weight_rare"].iloc[0]) == pytest.approx(grown)
    cold = quietly(clone(model).fit, X, y).history_
    assert_allclose(cold, first)


def test_a_learner_that_starts_warm_finds_the_same():
    X, y = next(batches(1, n=3000))
    learner = BinaryGLMClassifier(xi=0.3, warm_start=True).fit(X, y)
    before, steps = learner.coef_, learner.n_iter_[0]
    learner.fit(X, y)
    assert_allclose(learner.coef_, before, rtol=1e-8)
    assert learner.n_iter_[0] < steps
    learner.fit(X[:, :2], y)  # other columns: from scratch
    assert learner.coef_.shape == (1, 2)


def test_a_pickle_goes_on_where_the_stream_was():
    parts = list(batches(6))
    model = AdaClassWeight(window=500)
    for X, y in parts[:3]:
        quietly(model.partial_fit, X, y, classes=[0, 1])
    other = pickle.loads(pickle.dumps(model))
    for X, y in parts[3:]:
        quietly(model.partial_fit, X, y)
        quietly(other.partial_fit, X, y)
    assert_allclose(model.history_, other.history_, rtol=1e-9)
    assert_array_equal(model.predict(X), other.predict(X))


def test_a_first_batch_of_one_class():
    X, y = next(batches(1))
    with pytest.raises(
        ValueError, match=r"the first batch has one class only, 0; say which may come, as in classes=\[0, 1\]"
    ):
        AdaClassWeight().partial_fit(X[y == 0], y[y == 0])
    model = AdaClassWeight()
    with pytest.warns(FewEventsWarning, match=r"hold one class only, 0; they are kept, and nothing is trained yet"):
        model.partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(X)
    quietly(model.partial_fit, X[y == 1], y[y == 1])
    whole = quietly(AdaClassWeight().fit, np.concatenate([X[y == 0], X[y == 1]]), np.sort(y))
    assert_allclose(model.history_, whole.history_, rtol=1e-9)  # nothing was lost


def test_a_class_that_vanishes_and_comes_back():
    parts = list(batches(6))
    model = AdaClassWeight(window=250)
    quietly(model.partial_fit, *parts[0])
    before = model.predict(parts[1][0])
    X = np.concatenate([X[y == 0] for X, y in parts[1:3]])[:250]
    with pytest.warns(FewEventsWarning, match="the learner before goes on predicting"):
        model.partial_fit(X, np.zeros(250, dtype=int))
    assert_array_equal(model.predict(parts[1][0]), before)
    quietly(model.partial_fit, *parts[4])
    assert len(model._window.y) == 250


def test_what_is_refused_changes_nothing():
    (X, y), (X2, y2) = batches(2)
    model = quietly(AdaClassWeight().partial_fit, pd.DataFrame(X, columns=list("abc")), y)
    before = model.history_
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(pd.DataFrame(X2, columns=list("abd")), y2)
    with pytest.raises(
        ValueError, match=r"labels \[2\] that are not among the classes \[0, 1\]; give all of them by classes="
    ):
        model.partial_fit(pd.DataFrame(X2, columns=list("abc")), 2 * y2)
    with pytest.raises(ValueError, match=r"classes=\[0, 1, 2\] differ from those of the first batch, \[0, 1\]"):
        model.partial_fit(pd.DataFrame(X2, columns=list("abc")), y2, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="Negative values"):
        model.partial_fit(pd.DataFrame(X2, columns=list("abc")), y2, sample_weight=-np.ones(250))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.partial_fit(pd.DataFrame(X2, columns=list("abc")), y2[:-1])
    assert len(model._window.y) == 250
    pd.testing.assert_frame_equal(model.history_, before)


@pytest.mark.parametrize(("option", "value"), [("window", 1), ("window", 2.5), ("forgetting", 0), ("forgetting", 1.5)])
def test_windows_and_factors_that_make_no_sense(option, value):
    X, y = next(batches(1))
    with pytest.raises(ValueError, match=f"{option}={value!r} is not possible"):
        AdaClassWeight(**{option: value}).partial_fit(X, y)


@pytest.mark.parametrize("method", [AdaClassWeight, DiffBoost])
@pytest.mark.parametrize(
    ("weight", "message"),
    [(-1.0, "Negative values"), (0.0, "at least one non-zero"), (np.nan, "contains NaN"), (np.inf, "infinity")],
)
def test_weights_that_are_not_positive_are_refused_with_the_first_batch_and_later(method, weight, message):
    (X, y), (X2, y2) = batches(2)
    model = method()
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y, sample_weight=np.full(250, weight))
    assert not hasattr(model, "_window")
    quietly(model.partial_fit, X, y)
    before = model.predict(X2)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X2, y2, sample_weight=np.full(250, weight))
    assert len(model._window.y) == 250
    assert_array_equal(model.predict(X2), before)


def test_arrays_with_other_columns_and_batches_without_rows_are_refused():
    (X, y), (X2, y2) = batches(2)
    model = quietly(AdaClassWeight().partial_fit, X, y)
    with pytest.raises(ValueError, match="X has 2 features, but AdaClassWeight is expecting 3"):
        model.partial_fit(X2[:, :2], y2)
    with pytest.raises(ValueError, match="0 sample"):
        model.partial_fit(X2[:0], y2[:0])
    assert len(model._window.y) == 250
