"""What holds for every problem and base learner: the bound of Lemma 1, the invariant of D, weights that never fall."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

pytest.importorskip("sklearn", reason="scikit-learn is an extra")
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from gevglm.sklearn import BinaryGLMClassifier
from gevglm.weighting import AdaBoost, AdaClassWeight, DiffBoost

LEARNERS = (
    BinaryGLMClassifier(alpha=0.1),
    BinaryGLMClassifier(xi=0.3, alpha=1.0),
    LogisticRegression(C=0.1, solver="newton-cholesky"),
    RidgeClassifier(),
    DecisionTreeClassifier(max_depth=1, random_state=0),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    GaussianNB(),
)

problems = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10**6),
        "n": st.integers(30, 120),
        "share": st.floats(0.05, 0.5),
        "signal": st.floats(0.0, 2.0),
        "learner": st.sampled_from(LEARNERS),
        "rounds": st.integers(1, 8),
        "weighted": st.booleans(),
    }
)


def data(problem):
    rng = np.random.default_rng(problem["seed"])
    n = problem["n"]
    y = np.zeros(n, dtype=int)
    y[: max(2, int(problem["share"] * n))] = 1
    X = rng.normal(size=(n, 3)) + problem["signal"] * y[:, None]
    weight = rng.integers(1, 4, n).astype(float) if problem["weighted"] else None
    return X, y, weight


class Watched(DiffBoost):
    """DiffBoost that remembers its distributions."""

    def _assess(self, state, sample, hit):
        verdict = super()._assess(state, sample, hit)
        self.__dict__.setdefault("seen", []).append(sample.sums(verdict.after.distribution))
        return verdict


@settings(max_examples=25)
@given(problems)
def test_the_bound_and_the_invariant(problem):
    X, y, weight = data(problem)
    model = Watched(problem["learner"], rounds=problem["rounds"], early_stopping=False, rare=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, sample_weight=weight)
    h = model.history_
    assert_allclose(model.seen, 1.0, rtol=1e-12)  # D adds up to one in each class
    assert (h["training_error_rare"] <= h["bound"] * (1 + 1e-12)).all()  # Lemma 1, after every round
    assert (np.diff(h["bound"]) <= 1e-15).all()  # Lemma 2
    assert (h["vote"] >= 0).all()
    error = h["error_rare"]
    inner = error[(error > 0) & (error < 0.5)]
    assert_allclose(h["z_rare"][inner.index], 2 * np.sqrt(inner * (1 - inner)), rtol=1e-12)
    assert_allclose(h["z_rare"][error >= 0.5], 1.0, rtol=1e-12)
    weight = np.ones(len(y)) if weight is None else weight
    wrong = weight[y == 1] @ (model.predict(X)[y == 1] != 1) / weight[y == 1].sum()
    assert wrong == pytest.approx(h["training_error_rare"].iloc[-1])


@settings(max_examples=15)
@given(problems)
def test_adaboost_is_bounded_too(problem):
    X, y, weight = data(problem)
    model = AdaBoost(problem["learner"], rounds=problem["rounds"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, sample_weight=weight)
    weight = np.ones(len(y)) if weight is None else weight
    assert weight @ (model.predict(X) != y) / weight.sum() <= model.history_["bound"].iloc[-1] * (1 + 1e-12)


@settings(max_examples=15)
@given(problems)
def test_class_weights_grow_by_the_errors_and_the_rules_stop(problem):
    X, y, weight = data(problem)
    model = AdaClassWeight(problem["learner"], rounds=problem["rounds"], rare=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, sample_weight=weight)
    h = model.history_
    for name in ("rare", "main"):
        assert_allclose(np.diff(np.log(h[f"weight_{name}"])), h[f"error_{name}"].iloc[:-1], rtol=1e-9, atol=1e-12)
    going_on = h.iloc[:-1]
    assert ((going_on["error_rare"] >= going_on["error_main"]) & (going_on["error_rare"] >= 0.001)).all()
    last = h.iloc[-1]
    expected = (
        "threshold"
        if last["error_rare"] < 0.001
        else "tradeoff"
        if last["error_rare"] < last["error_main"]
        else "rounds"
    )
    assert model.stop_reason_ == expected


@settings(max_examples=10)
@given(problems)
def test_weights_of_rows_are_repeated_rows(problem):
    X, y, _ = data(problem)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    learner = DecisionTreeClassifier(max_depth=1, random_state=0)
    for method in (AdaClassWeight, DiffBoost, AdaBoost):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = method(learner, rounds=3).fit(X, y, sample_weight=weight)
            other = method(learner, rounds=3).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert one.rare_ == other.rare_
        assert_allclose(one.history_["weight_rare"], other.history_["weight_rare"], rtol=1e-9)


def test_the_bound_need_not_reach_zero(rare_rows):
    # the learner sees class weights, not D: the rows it always misses gather D until the weighted error is one half, and nothing moves any more
    X, y = rare_rows[0][:3000], rare_rows[1][:3000]
    h = DiffBoost(rounds=40, early_stopping=False).fit(X, y).history_
    assert h["error_rare"].iloc[-1] == pytest.approx(0.5, abs=1e-3)
    assert h["bound"].iloc[20] - h["bound"].iloc[-1] < 1e-4 < h["training_error_rare"].iloc[-1]
