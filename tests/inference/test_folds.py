"""Folds: every observation is held out once, events are balanced, clusters stay together."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gevglm.exceptions import InvalidDataError
from gevglm.inference.folds import make_folds


def test_observations_of_a_row_are_divided():
    rng = np.random.default_rng(0)
    trials = rng.integers(1, 40, 30)
    events = rng.binomial(trials, 0.2)
    folds = make_folds(events / trials, 4, counts=trials)
    held = sum(folds.test(k).counts for k in range(4))
    assert_array_equal(held, trials)
    assert_array_equal(sum(folds.test(k).events for k in range(4)), events)
    for k in range(4):
        train, test = folds.train(k), folds.test(k)
        assert_array_equal(train.counts + test.counts, trials)
        assert_array_equal(train.events + test.events, events)
        assert_array_equal(folds[k][1], test.counts > 0)
        assert (test.events <= test.counts).all()
    sums = [(folds.test(k).events.sum(), folds.test(k).counts.sum()) for k in range(4)]
    assert np.ptp(sums, axis=0).max() <= 2


def test_counts_of_one_are_plain_rows():
    y = np.repeat([0.0, 1.0], [40, 10])
    y = np.random.default_rng(1).permutation(y)
    divided = make_folds(y, 5, 3, counts=np.ones(50))
    for k, (train, test) in enumerate(divided):
        assert (train ^ test).all()
        assert divided.test(k).counts is None
        assert test.sum() == 10 and y[test].sum() == 2


def test_clusters_stay_together_with_their_share_of_the_events():
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 60, 2000)
    y = (rng.random(2000) < 0.05).astype(float)
    folds = make_folds(y, 5, 0, groups=groups)
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])
    assert (np.sum([test for _, test in folds], axis=0) == 1).all()
    assert np.ptp([y[test].sum() for _, test in folds]) <= 2
    assert np.ptp([test.sum() for _, test in folds]) < 200
    weighted = make_folds(y, 5, 0, groups=groups, counts=np.full(2000, 3))
    assert_array_equal(weighted[0][1], folds[0][1])


def test_few_clusters_and_fractions_are_refused():
    y = np.tile([0.0, 1.0], 20)
    with pytest.raises(InvalidDataError, match="3 clusters, too few for 5 folds"):
        make_folds(y, 5, groups=np.arange(40) % 3)
    with pytest.raises(InvalidDataError, match="not whole numbers; 40 of 40"):
        make_folds(y, 5, counts=np.full(40, 0.5))
    with pytest.raises(InvalidDataError, match="fold 0 splits 10 of 10 clusters"):
        make_folds(y, [(np.arange(20), np.arange(20, 40))], groups=np.arange(40) % 10)


def test_more_folds_than_events_where_they_are_allowed():
    y = np.repeat([0.0, 1.0], [17, 3])
    folds = make_folds(y, 20, each_outcome=False)
    assert [test.sum() for _, test in folds] == [1] * 20
    assert [test.sum() for _, test in make_folds(y, 5, each_outcome=False)] == [4] * 5
    with pytest.raises(InvalidDataError, match="too few for 20 folds"):
        make_folds(y, 20)
