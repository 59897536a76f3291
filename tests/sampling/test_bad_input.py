"""Samplings that contradict the data, or each other."""

import numpy as np
import pytest

import gevglm
from gevglm.exceptions import GevglmWarning, IncompatibleOptionsError, InvalidDataError, InvalidOptionError
from gevglm.links import Logit, Sampled
from tests.support.populations import arrays, drawn, population, refused

FORMULA = "y ~ x + smoker"


def fit(data=None, **words):
    return gevglm.fit(FORMULA, drawn().data if data is None else data, **words)


@pytest.mark.parametrize("tau", [0, 1, -0.2, 1.5, np.nan, np.inf, True])
def test_a_prevalence_outside_the_unit_interval_is_refused(tau):
    with refused(InvalidOptionError, "prevalence=", "between 0 and 1"):
        fit(prevalence=tau)


def test_a_percentage_is_told_as_a_share():
    with refused(InvalidOptionError, "prevalence=2.5", "2.5 % is prevalence=0.025"):
        fit(prevalence=2.5)


@pytest.mark.parametrize("tau", ["rare", (0.1, 0.2, 0.3), [0.1], {"low": 0.1}, 1j])
def test_what_is_neither_a_share_nor_a_range_is_refused(tau):
    with refused(InvalidOptionError, "prevalence=", r"range \(low, high\)"):
        fit(prevalence=tau)


def test_a_range_upside_down_is_refused():
    with refused(InvalidOptionError, r"prevalence=\(0.05, 0.01\)", "upside down", r"\(0.01, 0.05\)"):
        fit(prevalence=(0.05, 0.01))


@pytest.mark.parametrize("ends", [(0, 0.1), (0.1, 1), (0.1, np.nan)])
def test_ends_of_a_range_are_shares(ends):
    with refused(InvalidOptionError, "the (lower|upper) prevalence=", "not a share of events"):
        fit(prevalence=ends)


def test_unknown_words_are_refused_with_the_nearest():
    with refused(InvalidOptionError, "sampling='weights'", "'prior', 'weight'", "Did you mean 'weight'"):
        fit(prevalence=0.02, sampling="weights")
    with refused(InvalidOptionError, "class_weight='balance'", "'balanced'", "Did you mean 'balanced'"):
        fit(class_weight="balance")
    with refused(InvalidOptionError, "bias='king-zen'", "Did you mean 'king-zeng'"):
        fit(bias="king-zen")


def test_weighting_needs_a_prevalence():
    with refused(IncompatibleOptionsError, "sampling='weight' needs prevalence"):
        fit(sampling="weight")


@pytest.mark.parametrize("sampling", ["prior", "weight"])
def test_rows_that_are_weighted_already_are_refused(sampling):
    data = drawn().data.assign(w=np.where(drawn().data["y"] == 1, 0.1, 1.5))
    with refused(IncompatibleOptionsError, "prevalence and var_weights", "sampling_weights"):
        fit(data, var_weights="w", prevalence=0.02, sampling=sampling)
    with refused(InvalidDataError, f"{len(data)} freq_weights", "not whole numbers", "sampling weights"):
        fit(data, freq_weights="w", prevalence=0.02, sampling=sampling)


@pytest.mark.parametrize("words", [{"prevalence": 0.02}, {"class_weight": "balanced"}])
def test_counts_and_shares_are_refused(words):
    (option,) = words
    data = drawn().data.assign(wins=drawn().data["y"], losses=1 - drawn().data["y"])
    with refused(IncompatibleOptionsError, option, "counts or shares", "freq_weights"):
        gevglm.fit("wins + losses ~ x", data, **words)
    y, X = arrays(data)
    with refused(IncompatibleOptionsError, option, "counts or shares"):
        gevglm.fit(np.where(y == 1, 0.75, 0.25), X, freq_weights=np.full(len(y), 4), link="logit", **words)


def test_prevalence_and_class_weights_exclude_each_other():
    with refused(IncompatibleOptionsError, "prevalence and class_weight"):
        fit(prevalence=0.02, class_weight="balanced")
    with refused(IncompatibleOptionsError, "prevalence and class_weight"):
        fit(link=Sampled(Logit(), 0.02, 0.5), class_weight="balanced")


def test_a_sampling_is_described_once():
    with refused(IncompatibleOptionsError, "prevalence=0.02", r"Sampled\(Logit\(\)", "leave one out"):
        fit(link=Sampled(Logit(), 0.02, 0.5), prevalence=0.02)


@pytest.mark.parametrize(
    ("class_weight", "parts"),
    [
        ({1: 5}, ("each of the classes 0 and 1",)),
        ({0: 1, 1: 2, 2: 3}, ("each of the classes 0 and 1",)),
        ({"no": 1, "yes": 2}, ("each of the classes 0 and 1", "1 is the event")),
        ({0: -1, 1: 2}, (r"class_weight\[0\]=-1", "positive")),
        ({0: 1, 1: 0}, (r"class_weight\[1\]=0", "positive")),
        ({0: 1, 1: np.inf}, (r"class_weight\[1\]=inf", "positive")),
        ({0: 1, 1: "2"}, (r"class_weight\[1\]='2'", "positive")),
        (5.0, ("class_weight=5.0", "'balanced'", "dict")),
        ([1, 2], ("class_weight=", "'balanced'", "dict")),
    ],
)
def test_class_weights_that_are_none_are_refused(class_weight, parts):
    with refused(InvalidOptionError, *parts):
        fit(class_weight=class_weight)


@pytest.mark.parametrize("words", [{"link": "probit"}, {"xi": 0.2}, {"link": "cloglog", "prevalence": 0.02}])
def test_king_and_zeng_is_for_the_logit(words):
    with refused(IncompatibleOptionsError, "king-zeng", "logit only", "bias='correction'"):
        fit(bias="king-zeng", **words)


def test_king_and_zeng_needs_weights_that_come_from_a_prevalence():
    data = drawn().data.assign(w=1.5)
    with refused(IncompatibleOptionsError, "king-zeng", "prevalence"):
        fit(data, bias="king-zeng", var_weights="w")
    with refused(IncompatibleOptionsError, "king-zeng", "prevalence"):
        fit(data, bias="king-zeng", class_weight="balanced")
    with refused(InvalidOptionError, "event_weight=-1", "positive"):
        gevglm.bias.KingZeng(event_weight=-1)


def test_a_sample_with_fewer_events_than_the_population_is_remarked():
    with pytest.warns(GevglmWarning, match=r"fewer events \(4.75 %\) than prevalence=0.3"):
        fit(population(), prevalence=0.3)


def test_a_sample_short_of_events_by_chance_is_not_remarked():
    assert fit(population(), prevalence=population()["y"].mean() + 0.003).converged
