"""What a row stands for: observations, shares of the population, clusters."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import gevglm
from gevglm.data.row_weights import RowWeights
from gevglm.datasets import simulate_study
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError

FREQ, VAR, TRIALS = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 2.0]), np.array([4.0, 1.0, 2.0])


def test_weights_multiply():
    weights = RowWeights(3, FREQ, VAR, TRIALS, population=np.array([10.0, 1.0, 1.0]))
    assert_array_equal(weights.counts, FREQ * TRIALS)
    assert_array_equal(weights.in_loss, FREQ * VAR * TRIALS)
    assert_array_equal(weights.population_weights, [40.0, 2.0, 6.0])
    plain = RowWeights(3)
    assert plain.counts is None and plain.population_weights is None and plain.clusters is None
    for numbers in (plain.observations, plain.in_population, plain.in_loss):
        assert_array_equal(numbers, np.ones(3))


def test_rows_become_single_observations():
    rows, y = RowWeights(3, trials=TRIALS).single_observations(np.array([0.5, 1.0, 0.0]))
    assert_array_equal(rows, [0, 0, 1, 0, 0, 2, 2])
    assert_array_equal(y, [1, 1, 1, 0, 0, 0, 0])
    with pytest.raises(InvalidDataError, match=r"not whole numbers; 1 of 3 are not \(the first is 0.5\)"):
        RowWeights(3, freq=VAR).single_observations(np.zeros(3))


def test_whole_clusters_are_drawn():
    groups = np.repeat(np.arange(10), 7)
    drawn = RowWeights(70, groups=groups).draw(np.random.default_rng(0))
    times = np.bincount(drawn, minlength=70).reshape(10, 7)
    assert (times == times[:, :1]).all() and times[:, 0].sum() == 10
    both = np.column_stack([groups, np.arange(70) % 5])
    with pytest.raises(IncompatibleOptionsError, match="clusters of one kind"):
        RowWeights(70, groups=both).draw(np.random.default_rng(0))


def test_results_know_what_their_rows_stand_for():
    data = simulate_study(rng=1).iloc[:2000].assign(copies=2.0)
    res = gevglm.fit(
        "event ~ age",
        data,
        link="logit",
        freq_weights="copies",
        prevalence=0.02,
        cov_type="cluster",
        cov_kwds={"groups": "smoker"},
    )
    weights = res.row_weights
    assert_array_equal(weights.counts, 2.0 * np.ones(2000))
    assert np.average(data["event"], weights=weights.population_weights) == pytest.approx(0.02)
    assert_array_equal(weights.groups.to_numpy().ravel(), data["smoker"])
    res.remove_data()
    with pytest.raises(InvalidDataError, match="not in memory"):
        _ = res.row_weights
