"""Estimates from samples drawn by the outcome, against the truth of the population."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.special import expit

import gevglm
from gevglm.exceptions import GevglmWarning, SupportWarning
from gevglm.links import GEV, CLogLog, Probit
from gevglm.sampling import case_control

QUICK, FULL = 100, 1000
SIZE = 20_000
XI_TRUTH = np.array([-0.9, 0.15, 0.2])
CASES = {
    "GEV-log": ({"link": "gev", "xi": 0.3, "loss": "log"}, GEV(0.3), XI_TRUTH),
    "GEV-canonical": ({"link": "gev", "xi": 0.3}, GEV(0.3), XI_TRUTH),
    "probit": ({"link": "probit"}, Probit(), np.array([-1.8, 0.3, 0.3])),
    "cloglog": ({"link": "cloglog"}, CLogLog(), np.array([-3.2, 0.5, 0.5])),
}
replications = pytest.mark.parametrize("n", [QUICK, pytest.param(FULL, marks=pytest.mark.study)])


def rows(rng, n):
    return np.column_stack([np.ones(n), rng.normal(size=n), rng.random(n) < 0.4])


def estimates(words, link, truth, n, rng):
    """Prior correction, weighting, and the intercept shift, of case-control samples with 5 % of the controls."""
    found = {"prior": [], "weight": [], "shift": []}
    covered = []
    for _ in range(n):
        X = rows(rng, SIZE)
        y = (rng.random(SIZE) < link.inverse(X @ truth)).astype(float)
        sample = case_control(y, controls=0.05, rng=rng)
        y, X, tau = y[sample.rows], X[sample.rows], sample.prevalence
        prior = gevglm.fit(y, X, prevalence=tau, **words)
        found["prior"].append(prior.params)
        found["weight"].append(gevglm.fit(y, X, prevalence=tau, sampling="weight", **words).params)
        shifted = gevglm.fit(y, X, **words).params
        shifted[0] -= float(link(sample.sample_mean) - link(tau))
        found["shift"].append(shifted)
        covered.append(np.abs(prior.params - truth) < 1.96 * prior.bse)
    return {name: np.array(values) for name, values in found.items()}, np.mean(covered, axis=0)


def distance(values, truth):
    """The average error in Monte Carlo standard errors."""
    return (values.mean(axis=0) - truth) / (values.std(axis=0) / np.sqrt(len(values)))


@replications
@pytest.mark.parametrize("name", CASES)
def test_sampled_links_find_the_population_and_intercept_shifts_do_not(name, n):
    words, link, truth = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)  # of rows outside the support, in the naive fits
        found, covered = estimates(words, link, truth, n, np.random.default_rng(11))
    assert np.abs(distance(found["prior"], truth)).max() < 3.5
    assert np.abs(distance(found["weight"], truth)).max() < 3.5
    assert np.abs(distance(found["shift"], truth)).min() > 10
    monte_carlo_error = np.sqrt(0.95 * 0.05 / n)
    assert (covered > 0.95 - 3.5 * monte_carlo_error).all()  # that of the constant is conservative
    assert (covered[1:] < 0.95 + 3.5 * monte_carlo_error).all()


@replications
def test_weighted_logits_are_calibrated(n):
    truth, rng = np.array([-3.4, 0.8, 0.5]), np.random.default_rng(12)
    errors = []
    for _ in range(n):
        X = rows(rng, 4000)
        y = (rng.random(len(X)) < expit(X @ truth)).astype(float)
        res = gevglm.fit(y, X, link="logit", class_weight="balanced")
        at = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, -1.0, 0.0]])
        errors.append(np.append(res.predict(at) / expit(at @ truth) - 1.0, res.predict().mean() / y.mean() - 1.0))
    errors = np.array(errors)
    slack = np.array([0.01, 0.01, 0.01, 0.02])  # of order one over the number of events, 200
    assert (np.abs(errors.mean(axis=0)) < 3.5 * errors.std(axis=0) / np.sqrt(n) + slack).all()


@pytest.mark.parametrize("n", [60_000, pytest.param(400_000, marks=pytest.mark.study)])
@pytest.mark.parametrize("loss", ["log", "canonical"])
def test_class_weights_with_a_gev_link_give_risks_in_the_population(loss, n):
    rng, link, truth = np.random.default_rng(13), GEV(0.5), np.array([-0.9, 0.3])
    X = np.column_stack([np.ones(n), rng.normal(size=n)])
    y = (rng.random(n) < link.inverse(X @ truth)).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SupportWarning)  # a few rows have no risk, in truth too
        res = gevglm.fit(y, X, xi=0.5, loss=loss, class_weight={0: 1, 1: 20})
    at = np.column_stack([np.ones(4), [-1.0, 0.0, 1.0, 2.0]])
    ratio = res.predict(at) / link.inverse(at @ truth)
    assert (np.abs(ratio[1:] - 1) < 0.05).all()
    assert 1 / 1.5 < ratio[0] < 1.5
    assert (np.abs(res.params - truth) < 3.5 * res.bse).all()


@pytest.mark.parametrize(("n", "studies"), [(20_000, 6), pytest.param(100_000, 20, marks=pytest.mark.study)])
@pytest.mark.parametrize("loss", ["log", "canonical"])
def test_balanced_weights_cost_little_of_the_distance_from_the_true_risk(loss, n, studies):
    distances = []
    for seed in range(studies):
        data = gevglm.datasets.simulate_study(n, rng=seed)
        model = partial(gevglm.fit, "event ~ age + smoker", data, xi=0.5, loss=loss)
        fits = model(), model(class_weight="balanced")
        distances.append([np.abs(res.predict() - data["risk"]).mean() for res in fits])
    plain, weighted = np.mean(distances, axis=0)
    assert weighted < 1.2 * plain


@pytest.mark.study
def test_king_and_zeng_halves_the_bias_of_slopes_and_the_plain_correction_removes_it():
    """40 events and 120 others, as in the docstring of KingZeng."""
    truth, rng = np.array([-4.5, 1.0, 0.7]), np.random.default_rng(5)
    many = np.column_stack([np.ones(10**6), rng.normal(size=10**6), rng.random(10**6) < 0.3])
    tau = float(expit(many @ truth).mean())
    methods = {
        "prior": {},
        "prior king-zeng": {"bias": "king-zeng"},
        "prior correction": {"bias": "correction"},
        "weight": {"sampling": "weight"},
        "weight king-zeng": {"sampling": "weight", "bias": "king-zeng"},
    }
    found = {name: [] for name in methods}
    for _ in range(3000):
        X = np.column_stack([np.ones(12_000), rng.normal(size=12_000), rng.random(12_000) < 0.3])
        y = rng.random(len(X)) < expit(X @ truth)
        kept = np.concatenate([np.flatnonzero(y)[:40], np.flatnonzero(~y)[:120]])
        for name, words in methods.items():
            found[name].append(gevglm.fit(y[kept], X[kept], link="logit", prevalence=tau, **words).params)
    bias = {name: np.mean(values, axis=0) - truth for name, values in found.items()}
    assert bias["prior"][1] > 0.03
    assert abs(bias["prior king-zeng"][1]) < 0.6 * bias["prior"][1]
    assert abs(bias["prior correction"][1]) < 0.015
    assert abs(bias["prior correction"][0]) < abs(bias["prior king-zeng"][0])
    assert abs(bias["weight king-zeng"][1]) < 0.5 * bias["weight"][1]
