"""Sizes of studies: pmsampsize's published numbers, pmvalsampsize to the integer, closed forms, bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm

from gevglm.exceptions import GevglmError
from gevglm.planning import sample_size, validation_size
from gevglm.planning.development import r2_of_auc
from tests.support.golden import numbers

PUBLISHED = (  # R-squared, parameters, prevalence; sizes in the tests of pmsampsize 1.1.3
    (0.288, 24, 0.174, [623, 662, 221]),
    (0.55, 24, 0.174, [255, 532, 221]),
    (0.288, 36, 0.174, [934, 992, 221]),
    (0.288, 24, 0.25, [623, 590, 289]),
)
VALIDATION = numbers("validation_size")
DEVELOPMENT = numbers("development_size")["settings"]


def test_the_example_of_the_bmj_paper():
    """Riley et al. (2020): prevalence 0.05, 30 parameters, R-squared 0.05; 10 parameters, prevalence 0.3 for the error of risks."""
    size = sample_size(prevalence=0.05, parameters=30, r2=0.05)
    assert list(size.frame["n"].drop("optimism of R2")) == [5249, 73, 544]
    assert (size.n, size.events) == (5249, 263)
    assert sample_size(prevalence=0.3, parameters=10, r2=0.2).frame.loc["error of risks", "n"] == 461


@pytest.mark.parametrize(("r2", "parameters", "prevalence", "expected"), PUBLISHED)
def test_the_published_numbers_of_pmsampsize(r2, parameters, prevalence, expected):
    size = sample_size(prevalence=prevalence, parameters=parameters, r2=r2, mape=None)
    assert list(size.frame["n"]) == expected
    assert size.n == max(expected)


@pytest.mark.parametrize("case", DEVELOPMENT, ids=range(len(DEVELOPMENT)))
def test_pmsampsize(case):
    """To the integer, by the R-squared that the package used: it rounds Nagelkerke's to three decimals, and finds that of an AUC by simulation."""
    words = {word: value for word, value in case.items() if word not in ("sizes", "n", "r2_shown")}
    own = sample_size(**words, mape=None)
    used = {"r2": case["r2_shown"]} | {
        word: words[word] for word in ("prevalence", "parameters", "shrinkage") if word in words
    }
    size = sample_size(**used, mape=None)
    assert list(size.frame["n"]) == case["sizes"]
    assert size.n == case["n"]
    r2 = float(own.facts["R2 of Cox and Snell"])
    assert r2 == pytest.approx(case["r2_shown"], abs=2e-3 if "auc" in case else 6e-4)


def test_what_a_size_supports_is_what_it_needs():
    size = sample_size(prevalence=0.1, parameters=12, auc=0.75)
    assert_allclose(size.frame["at_n"], size.frame["target"], rtol=1)
    for name, row in size.frame.iterrows():
        again = sample_size(prevalence=0.1, parameters=12, auc=0.75, n=int(row["n"])).frame.loc[name]
        assert again["met"]
        assert again["at_n"] == pytest.approx(row["target"], rel=0.02)
        assert not sample_size(prevalence=0.1, parameters=12, auc=0.75, n=int(row["n"]) - 1).frame.loc[name, "met"]
    few = sample_size(prevalence=0.05, parameters=30, r2=0.05, n=1000)
    assert few.facts["Parameters that it supports"] == "5"
    assert "not enough for shrinkage" in repr(few)
    assert "Size of a study" in str(few)


@pytest.mark.parametrize(("auc", "prevalence"), [(0.6, 0.01), (0.78, 0.2), (0.9, 0.5)])
def test_r_squared_of_an_auc(auc, prevalence):
    delta = np.sqrt(2) * norm.ppf(auc)

    def lost(x):
        v = logit(prevalence) + delta * x - delta**2 / 2
        event, other = prevalence * norm.pdf(x, delta), (1 - prevalence) * norm.pdf(x)
        return event * np.log(expit(v)) + other * np.log(expit(-v))

    null = prevalence * np.log(prevalence) + (1 - prevalence) * np.log(1 - prevalence)
    expected = 1 - np.exp(-2 * (quad(lost, -9, 12, limit=200)[0] - null))
    assert r2_of_auc(auc, prevalence) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("case", VALIDATION["settings"], ids=range(50))
def test_pmvalsampsize(case):
    mean, sd = case["linear"]
    simulated = norm.rvs(mean, sd, size=VALIDATION["simulated"], random_state=np.random.RandomState(VALIDATION["seed"]))
    words = {word: value for word, value in case.items() if word not in ("linear", "sizes", "n")}
    size = validation_size(linear=simulated, **words)
    assert list(size.frame["n"]) == case["sizes"]
    assert size.n == case["n"]


def test_the_distribution_of_linear_predictors():
    """By quadrature what a large sample says; sensitivity and specificity too."""
    rng = np.random.default_rng(1)
    normal, sample = (
        validation_size(prevalence=0.1, auc=0.75, linear=linear, threshold=0.15).frame["n"]
        for linear in ((-2.4, 1.1), rng.normal(-2.4, 1.1, 400_000))
    )
    assert_allclose(normal, sample, rtol=0.02)
    event = rng.random(400_000) < 0.1
    variance = 2 * norm.ppf(0.8) ** 2
    v = rng.normal(logit(0.1) + variance * (event - 0.5), np.sqrt(variance))
    assert_allclose(
        validation_size(prevalence=0.1, auc=0.8).frame["n"],
        validation_size(prevalence=0.1, auc=0.8, linear=v).frame["n"],
        rtol=0.02,
    )


def test_widths_at_a_size():
    size = validation_size(prevalence=0.1, auc=0.8, threshold=0.1)
    for name, row in size.frame.iterrows():
        again = validation_size(prevalence=0.1, auc=0.8, threshold=0.1, n=int(row["n"])).frame.loc[name]
        assert again["met"]
        assert again["at_n"] == pytest.approx(row["target"], rel=2e-3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sample_size(prevalence=0.1, parameters=5), "one of auc=, r2= and nagelkerke=, got none"),
        (lambda: sample_size(prevalence=0.1, parameters=5, auc=0.7, r2=0.1), "got auc, r2"),
        (lambda: sample_size(prevalence=1.1, parameters=5, auc=0.7), "prevalence=1.1"),
        (lambda: sample_size(prevalence=0.1, parameters=0, auc=0.7), "parameters=0"),
        (lambda: sample_size(prevalence=0.01, parameters=5, r2=0.3), "is it Nagelkerke's"),
        (lambda: sample_size(prevalence=0.1, parameters=5, auc=0.4), "auc=0.4"),
        (lambda: sample_size(prevalence=0.3, parameters=5, r2=0.4, shrinkage=0.3), "above the R-squared"),
        (lambda: sample_size(prevalence=0.1, parameters=5, auc=0.7, n=10.5), "n=10.5"),
        (lambda: validation_size(prevalence=0.1, auc=0.7, oe_width=0), "oe_width=0"),
        (lambda: validation_size(prevalence=0.1, auc=0.7, linear=[1.0, 1.0, 1.0]), "values that differ"),
        (lambda: validation_size(prevalence=0.1, auc=0.7, linear=[np.nan, 1.0]), "not finite"),
        (lambda: validation_size(prevalence=0.1, auc=0.7, linear=(-2.0, -1.0)), "standard deviation in linear"),
        (lambda: validation_size(prevalence=0.1, auc=0.7, sensitivity=0.8), "go with threshold="),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(GevglmError, match=words):
        call()


def test_many_parameters_have_no_formula_of_the_error():
    size = sample_size(prevalence=0.1, parameters=40, auc=0.7)
    assert "error of risks" not in size.frame.index
    assert "up to 30" in size.notes[0]
