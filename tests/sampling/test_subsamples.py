"""Drawing samples by the outcome."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from populations import population, refused

import gevglm
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.sampling import case_control, undersample


def test_undersampling_keeps_the_rarer_class_and_some_of_the_other():
    data = population()
    events = int(data["y"].sum())
    part = undersample(data, "y", ratio=2.0, rng=1)
    assert part.data["y"].sum() == events
    assert len(part.data) == 3 * events
    assert part.kept == {0: 2 * events / (len(data) - events), 1: 1.0}
    assert part.prevalence == data["y"].mean()
    assert part.sample_mean == pytest.approx(1 / 3)
    assert_array_equal(np.diff(part.rows) > 0, True)
    pd.testing.assert_frame_equal(part.data, data.iloc[part.rows])


def test_the_majority_may_be_the_events():
    y = 1 - population()["y"].to_numpy()
    part = undersample(y, ratio=1.0, rng=1)
    assert part.data is None
    assert part.kept[0] == 1.0
    assert part.kept[1] < 0.1
    assert y[part.rows].mean() == part.sample_mean == 0.5


def test_corrected_probabilities_are_those_of_the_prior_correction():
    part = undersample(population(), "y", rng=2)
    plain = gevglm.fit("y ~ x + smoker", part.data, link="logit")
    res = gevglm.fit("y ~ x + smoker", part.data, link="logit", prevalence=part.prevalence)
    assert_allclose(part.correct(plain.predict()), res.predict(), rtol=1e-9)
    assert part.odds_factor == pytest.approx(1 / res.link.factor)


def test_cases_and_controls_are_numbers_or_shares():
    data = population()
    events = int(data["y"].sum())
    others = len(data) - events
    counts = [
        (case_control(data, "y", rng=1, **words), expected)
        for words, expected in (
            ({}, (events, events)),
            ({"controls": 0.05}, (events, round(0.05 * others))),
            ({"cases": 100, "controls": 300}, (100, 300)),
            ({"cases": 0.5}, (round(0.5 * events), round(0.5 * events))),
            ({"cases": 1.0, "controls": 1.0}, (events, others)),
        )
    ]
    for sample, expected in counts:
        found = (int(sample.data["y"].sum()), int((sample.data["y"] == 0).sum()))
        assert found == expected
        assert sample.kept == {0: expected[1] / others, 1: expected[0] / events}
        assert sample.prevalence == events / len(data)


def test_samples_are_repeated_by_their_seed():
    y = population()["y"].to_numpy()
    assert_array_equal(case_control(y, rng=7).rows, case_control(y, rng=np.random.default_rng(7)).rows)
    assert not np.array_equal(case_control(y, rng=7).rows, case_control(y, rng=8).rows)


def test_tables_of_other_kinds_and_other_outcomes_are_taken():
    polars = pytest.importorskip("polars")
    data = population().assign(answer=np.where(population()["y"] == 1, "yes", "no"))
    by_name = undersample(polars.from_pandas(data), "answer", event="yes", rng=1)
    assert_array_equal(by_name.rows, undersample(data["y"], rng=1).rows)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ({"ratio": 0}, ("ratio=0", "positive")),
        ({"ratio": "one"}, ("ratio='one'", "positive")),
        ({"ratio": 1000}, ("ratio=1000", "up to")),
    ],
)
def test_ratios_that_cannot_be_had_are_refused(words, parts):
    with refused(InvalidOptionError, *parts):
        undersample(population(), "y", **words)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ({"cases": 10**6}, ("cases=1000000", "but there are")),
        ({"controls": 0}, ("controls=0", "asks for 0 rows")),
        ({"controls": -0.1}, ("controls=-0.1", "not a share")),
        ({"controls": 2.0}, ("controls=2.0", "not a share", "int for a number")),
        ({"cases": "all"}, ("cases='all'", "number of rows")),
    ],
)
def test_numbers_that_cannot_be_drawn_are_refused(words, parts):
    with refused(InvalidOptionError, *parts):
        case_control(population(), "y", **words)


def test_outcomes_that_are_not_two_classes_are_refused():
    with refused(InvalidOptionError, "name of its outcome"):
        undersample(population())
    with refused(InvalidDataError, "'Y' is not a column", "Did you mean 'y'"):
        undersample(population(), "Y")
    with refused(InvalidDataError, "x", "levels"):
        undersample(population().assign(x=np.arange(len(population()))), "x")
    with refused(InvalidDataError, "0 in all"):
        undersample(np.zeros(10))
