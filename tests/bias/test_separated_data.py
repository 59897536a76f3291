"""Separated and nearly separated data: every method ends at a finite estimate, or says why not."""

from functools import cache

import numpy as np
import pytest

from gevglm.bias import Adjusted, Correction, Flac, Flic, Jeffreys, LogF, MeanReduction, MedianReduction
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import IncompatibleOptionsError
from gevglm.inference.separation import find_directions
from gevglm.links import GEV, CLogLog, Logit, Probit
from gevglm.losses import Canonical, Log

LINKS = [Logit(), Probit(), CLogLog(), GEV(0.3)]
METHODS = [MeanReduction(), MedianReduction(), Jeffreys(), Correction(), Flic(), Flac(), LogF()]
CERTAIN = ("mean", "jeffreys", "flac", "logf")  # always finite for the logit
REASONS = (
    "more than a one-step correction can fix",
    "the coefficients grow without bound while the loss hardly falls",
    "iterations were not enough",
    "no step along the Newton direction improves the fit",
    "no root of the adjusted score was found",
)
MANY, SOME = 2_000, 150


def allowed(method, loss):
    try:
        method.refuse(loss, 0)
    except IncompatibleOptionsError:
        return False
    return True


WAYS = [
    (method, kind(link))
    for method in METHODS
    for kind in (Log, Canonical)
    for link in LINKS
    if allowed(method, kind(link)) and not (kind is Canonical and link == Logit())
]
CERTAIN_WAYS = [(method, loss) for method, loss in WAYS if loss == Log(Logit()) and method.word in CERTAIN]


def each_way(ways):
    return pytest.mark.parametrize(
        ("method", "loss"), ways, ids=lambda thing: getattr(thing, "word", None) or repr(thing)
    )


@cache
def data_sets(number):
    """Designs of 20 to 200 rows with 3 to 15 events, those of the largest scores, with more, less or no noise."""
    rng = np.random.default_rng(2024)
    found = []
    while len(found) < number:
        n, k = int(rng.integers(20, 200)), int(rng.integers(1, 5))
        events = min(int(rng.integers(3, 16)), n // 2)
        columns = rng.standard_normal((n, k))
        if rng.random() < 0.6:
            columns[:, 0] = rng.random(n) < rng.uniform(0.05, 0.5)
        X = np.column_stack([np.ones(n), columns])
        score = columns @ rng.standard_normal(k) * rng.uniform(0.5, 4.0) + rng.choice(
            [0.0, 0.3, 1.0]
        ) * rng.standard_normal(n)
        y = np.zeros(n)
        y[np.argsort(-score)[:events]] = 1.0
        if np.linalg.matrix_rank(X) == k + 1:
            found.append((X, y))
    return found


def check(method, loss, X, y):
    """Return whether an estimate was found; fail if it is not one."""
    problem = Problem(MemoryEngine(X, y), loss, constant=0)
    found = method.estimate(problem)
    assert np.isfinite(found.params).all()
    if not found.converged:
        assert any(reason in found.reason for reason in REASONS)
        return False
    assert np.isfinite(found.inverse_information).all()
    assert found.decrement < 1e-12
    if isinstance(method, Adjusted):
        assert np.abs(Problem(problem.engine, loss, adjustment=method).objective()(found.params).gradient).max() < 1e-6
    return True


def test_most_of_the_data_sets_are_separated():
    separated = [find_directions(X, y) for X, y in data_sets(SOME)]
    assert 60 < sum(found.separated for found in separated) < 130
    assert sum(found.complete for found in separated) > 20


@each_way(CERTAIN_WAYS)
def test_the_logit_always_has_a_finite_estimate(method, loss):
    assert all(check(method, loss, X, y) for X, y in data_sets(SOME))


@each_way(WAYS)
def test_every_method_ends_at_a_finite_estimate_or_says_why_not(method, loss):
    ended = [check(method, loss, X, y) for X, y in data_sets(SOME)[WAYS.index((method, loss)) % 5 :: 5]]
    if method.word == "correction":
        assert not all(ended)
    else:
        assert np.mean(ended) >= 0.9


@pytest.mark.study
@each_way(WAYS)
def test_two_thousand_data_sets(method, loss):
    ended = [check(method, loss, X, y) for X, y in data_sets(MANY)]
    print(f"{method.word}, {loss!r}: {MANY - sum(ended)} of {MANY} without an estimate")
    if (method, loss) in CERTAIN_WAYS:
        assert all(ended)
    elif method.word != "correction":
        assert np.mean(ended) > 0.98
