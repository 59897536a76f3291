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


def test_single_observations_are_drawn():
    weights, share = RowWeights(3, trials=1000.0 * TRIALS), np.array([0.5, 1.0, 0.0])
    drawn = weights.draw(share, np.random.default_rng(0))
    assert drawn.counts.sum() == 7000 and drawn.events[1] == drawn.counts[1] and drawn.events[2] == 0
    assert (np.abs(drawn.counts - 1000 * TRIALS) < 4 * np.sqrt(7000 * 0.25)).all() and (
        drawn.counts != 1000 * TRIALS
    ).any()
    assert abs(drawn.events[0] - 2000) < 4 * np.sqrt(7000 * 0.25)
    with pytest.raises(InvalidDataError, match=r"not whole numbers; 1 of 3 are not \(the first is 0.5\)"):
        RowWeights(3, freq=VAR).draw(np.zeros(3), np.random.default_rng(0))


def test_rows_of_no_observation_are_not_drawn():
    y, groups = np.tile([0.0, 1.0], 20), np.arange(40) // 4
    weight, less = np.repeat([1.0, 0.0], [32, 8]), slice(0, 32)
    for clusters in (None, groups):
        cut = None if clusters is None else clusters[less]
        one = RowWeights(40, freq=weight, groups=clusters).draw(y, np.random.default_rng(3))
        other = RowWeights(32, groups=cut).draw(y[less], np.random.default_rng(3))
        assert_array_equal(one.counts[less], other.counts)
        assert not one.rows[32:].any() and one.counts.sum() == 32


def test_whole_clusters_are_drawn():
    groups = np.repeat(np.arange(10), 7)
    y = np.random.default_rng(1).integers(0, 2, 70).astype(float)
    drawn = RowWeights(70, groups=groups).draw(y, np.random.default_rng(0))
    times = drawn.counts.reshape(10, 7)
    assert_array_equal(drawn.events, drawn.counts * y)
    assert (times == times[:, :1]).all() and times[:, 0].sum() == 10
    both = np.column_stack([groups, np.arange(70) % 5])
    with pytest.raises(IncompatibleOptionsError, match="clusters of one kind together, but there are two"):
        RowWeights(70, groups=both).draw(y, np.random.default_rng(0))


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
