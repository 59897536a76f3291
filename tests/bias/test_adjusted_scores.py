"""Every adjustment against something it was not derived from: enumeration, finite differences, other software."""

import itertools

import mpmath as mp
import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.stats import binom

from gevglm.bias import Correction, Flac, Flic, Jeffreys, LogF, MeanReduction, MedianReduction
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.links import GEV, Cauchit, CLogLog, GEVc, Logit, LogLog, Probit
from gevglm.losses import Canonical, Log
from tests.support.links_under_test import CASES, DIGITS

LINKS = [Logit(), Probit(), Cauchit(), CLogLog(), LogLog(), GEV(-0.2567), GEV(0.3), GEVc(0.3)]
TAILS = {case.link: case.tails for case in CASES}
X = np.array([[1.0, -1.0], [1.0, -0.4], [1.0, 0.1], [1.0, 0.5], [1.0, 0.9], [1.0, 2.0]])
TRUTH = np.array([-0.6, 0.4])

each_link = pytest.mark.parametrize("link", LINKS, ids=repr)
each_kind = pytest.mark.parametrize("kind", [Log, Canonical])


def shift(method, loss, params, X, y, **vectors):
    """What a method adds to the score."""
    engine = MemoryEngine(X, y, **vectors)
    plain, adjusted = Problem(engine, loss).objective(), Problem(engine, loss, adjustment=method).objective()
    return plain(params).gradient - adjusted(params).gradient


def information(link, X, params, weight=1.0):
    """The expected information of the log loss, from the six methods of statsmodels' links."""
    v = X @ params
    mu = link.inverse(v)
    return (X.T * (weight * link.inverse_deriv(v) ** 2 / (mu * (1.0 - mu)))) @ X


# -- mean: enumeration of all outcomes -------------------------------------------------------


def log_likelihood_derivatives(link, v):
    """First to third derivative of ln(1 - F) and of ln F at every v, by mpmath."""

    def derivatives(value, y):
        with mp.workdps(DIGITS):
            return [float(d) for d in mp.diffs(lambda s: mp.log(TAILS[link](s)[1 - y]), mp.mpf(value), 3)][1:]

    return np.array([[derivatives(value, y) for value in v] for y in (0, 1)])


def cox_snell_bias(link, X, params):
    """Bias of maximum likelihood to order 1/n, every expectation a sum over all outcomes (Cox and Snell 1968)."""
    v = X @ params
    mu = link.inverse(v)
    derivatives = log_likelihood_derivatives(link, v)
    rows = np.arange(len(v))
    hessian, third, hessian_score = np.zeros((2, 2)), np.zeros((2, 2, 2)), np.zeros((2, 2, 2))
    for outcome in itertools.product((0, 1), repeat=len(v)):
        probability = np.where(outcome, mu, 1.0 - mu).prod()
        first, second, cubic = derivatives[list(outcome), rows].T
        U, V = first @ X, (X.T * second) @ X
        hessian += probability * V
        hessian_score += probability * np.einsum("rs,t->rst", V, U)
        third += probability * np.einsum("i,ir,is,it->rst", cubic, X, X, X)
    inverse = np.linalg.inv(-hessian)
    return np.einsum("ar,st,rst->a", inverse, inverse, 0.5 * third + hessian_score)


@each_link
def test_mean_reduction_removes_the_bias_of_cox_and_snell(link):
    bias = cox_snell_bias(link, X, TRUTH)
    for y in (np.array([0.0, 1, 0, 1, 1, 0]), np.full(6, 0.3)):
        found = shift(MeanReduction(), Log(link), TRUTH, X, y)
        assert_allclose(found, -information(link, X, TRUTH) @ bias, rtol=1e-9)


# -- mean and correction, both losses: finite differences of the fits themselves ---------------


def second_order_bias(loss, params, X, variance, **vectors):
    """Half the sum of second derivatives of the estimate by each outcome times its variance, at fitted values for outcomes."""
    mu = loss.link.inverse(X @ params)

    def fitted(y):
        return Problem(MemoryEngine(X, y, **vectors), loss, constant=0, start=params, tol=1e-12).estimate().params

    def second_derivative(i, share):
        step = share * mu[i] * (1.0 - mu[i])
        unit = np.eye(len(mu))[i]
        return (fitted(mu + step * unit) - 2.0 * params + fitted(mu - step * unit)) / step**2

    curvature = [(4.0 * second_derivative(i, 0.02) - second_derivative(i, 0.04)) / 3.0 for i in range(len(mu))]
    return 0.5 * np.array(variance) @ np.array(curvature)


@each_link
@each_kind
@pytest.mark.parametrize("weights", ["none", "freq", "trials", "var"])
def test_the_bias_is_the_second_order_term_of_the_fit(link, kind, weights):
    """An estimate is a smooth function of the outcomes; its mean exceeds its value at their means by half the curvature."""
    loss = kind(link)
    mu = link.inverse(X @ TRUTH)
    size = np.array([3.0, 1, 2, 5, 1, 4])
    vectors = {} if weights == "none" else {weights: size}
    variance = mu * (1.0 - mu) / (1.0 if weights == "none" else size)  # shares of so many outcomes
    expected = second_order_bias(loss, TRUTH, X, variance, **vectors)

    problem = Problem(MemoryEngine(X, mu, **vectors), loss, constant=0)
    assert_allclose(problem.estimate().params, TRUTH, rtol=1e-9)
    assert_allclose(TRUTH - Correction().estimate(problem).params, expected, rtol=2e-5)
    removed = problem.estimate().inverse_information @ shift(MeanReduction(), loss, TRUTH, X, mu, **vectors)
    assert_allclose(-removed, expected, rtol=2e-5)


def test_both_losses_of_the_logit_have_the_same_adjustment():
    y = np.array([0.0, 1, 0, 1, 1, 0])
    one, other = (shift(MeanReduction(), kind(Logit()), TRUTH, X, y) for kind in (Log, Canonical))
    assert_allclose(one, other, rtol=1e-12)


def test_mean_reduction_of_the_logit_is_the_formula_of_firth():
    mu = Logit().inverse(X @ TRUTH)
    inverse = np.linalg.inv(information(Logit(), X, TRUTH))
    leverage = mu * (1.0 - mu) * np.einsum("ij,jk,ik->i", X, inverse, X)
    assert_allclose(
        shift(MeanReduction(), Log(Logit()), TRUTH, X, np.round(mu)), X.T @ (leverage * (0.5 - mu)), rtol=1e-12
    )


# -- Jeffreys --------------------------------------------------------------------------------


@each_link
@pytest.mark.parametrize("power", [0.5, 0.2])
def test_jeffreys_adds_the_gradient_of_the_log_determinant(link, power):
    weight = np.array([1.0, 2, 0.5, 1, 3, 1])

    def log_determinant(params):
        return np.linalg.slogdet(information(link, X, params, weight))[1]

    def slope(j, h):
        unit = h * np.eye(2)[j]
        return (log_determinant(TRUTH + unit) - log_determinant(TRUTH - unit)) / (2.0 * h)

    expected = [power * (4.0 * slope(j, 1e-3) - slope(j, 2e-3)) / 3.0 for j in range(2)]
    y = np.array([0.0, 1, 0, 1, 1, 0])
    assert_allclose(shift(Jeffreys(power), Log(link), TRUTH, X, y, freq=weight), expected, rtol=1e-7, atol=1e-10)

    engine = MemoryEngine(X, y, freq=weight)
    plain, penalised = (
        Problem(engine, Log(link)).objective(),
        Problem(engine, Log(link), adjustment=Jeffreys(power)).objective(),
    )
    assert plain(TRUTH).value - penalised(TRUTH).value == pytest.approx(power * log_determinant(TRUTH), rel=1e-10)


# -- median ----------------------------------------------------------------------------------


@each_link
def test_median_reduction_of_one_coefficient_subtracts_the_median_of_the_score(link):
    """To second order the median of a score is minus its third cumulant over six times its variance."""
    ones, weight = np.ones((4, 1)), np.array([1.0, 3, 2, 5])
    for constant in (-1.2, -0.3, 0.4):
        mu, density = link.inverse(constant), link.inverse_deriv(constant)
        slope, variance = density / (mu * (1.0 - mu)), mu * (1.0 - mu)
        second = weight.sum() * slope**2 * variance
        third = weight.sum() * slope**3 * variance * (1.0 - 2.0 * mu)
        found = shift(MedianReduction(), Log(link), np.array([constant]), ones, np.full(4, 0.2), freq=weight)
        assert_allclose(found, third / (6.0 * second), rtol=1e-9)


@pytest.mark.parametrize("link", [Logit(), CLogLog(), GEV(0.3)], ids=repr)
def test_median_reduction_of_a_constant_is_nearly_median_unbiased(link):
    """How often the estimate of a binomial share is too small, or too large."""
    trials, rate = 40.0, 0.15
    counts = np.arange(1, 40)
    probability = binom.pmf(counts, trials, rate) / binom.pmf(counts, trials, rate).sum()
    misses = []
    for method in (MedianReduction(), MeanReduction()):
        problems = [
            Problem(MemoryEngine(np.ones((1, 1)), np.array([count / trials]), trials=np.array([trials])), Log(link), 0)
            for count in counts
        ]
        estimates = np.array([method.estimate(problem).params[0] for problem in problems])
        misses.append(abs(probability @ (estimates < link(rate)) - 0.5))
    assert misses[0] < 0.1
    assert misses[0] <= misses[1]


# -- the rest --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(80), rng.standard_normal(80), rng.random(80) < 0.3])
    y = (rng.random(80) < Logit().inverse(X @ [-1.5, 0.8, 0.5])).astype(float)
    return X, y


@pytest.mark.parametrize("m", [0.5, 1.0, 3.0])
def test_the_log_f_prior_is_augmented_data(rows, m):
    X, y = rows
    found = LogF(m).estimate(Problem(MemoryEngine(X, y), Log(Logit()), constant=0))
    more_X = np.vstack([X, np.eye(3)[1:]])
    more_y, weight = np.append(y, [0.5, 0.5]), np.append(np.ones(80), [m, m])
    augmented = sm.GLM(more_y, more_X, family=sm.families.Binomial(), freq_weights=weight).fit(tol=1e-14)
    assert_allclose(found.params, augmented.params, rtol=1e-8)
    assert_allclose(found.inverse_information, augmented.normalized_cov_params, rtol=1e-6)


@pytest.mark.parametrize("loss", [Log(Probit()), Log(GEV(0.3)), Canonical(GEV(0.3)), Canonical(Probit())], ids=repr)
def test_the_log_f_prior_of_every_loss_solves_its_equation(rows, loss):
    X, y = rows
    found = LogF(2.0).estimate(Problem(MemoryEngine(X, y), loss, constant=0))
    prior = 2.0 * (0.5 - Logit().inverse(found.params)) * [0.0, 1.0, 1.0]
    assert found.converged
    assert_allclose(-(X.T @ loss.slope(y, X @ found.params)) + prior, 0.0, atol=1e-8)


def test_flac_is_maximum_likelihood_on_augmented_data(rows):
    X, y = rows
    problem = Problem(MemoryEngine(X, y), Log(Logit()), constant=0)
    firth = MeanReduction().estimate(problem)
    mu = Logit().inverse(X @ firth.params)
    leverage = mu * (1.0 - mu) * np.einsum("ij,jk,ik->i", X, firth.inverse_information, X)
    more_X = np.column_stack([np.vstack([X, X, X]), np.repeat([0.0, 1.0], [80, 160])])
    more_y = np.concatenate([y, y, 1.0 - y])
    weight = np.concatenate([np.ones(80), leverage / 2.0, leverage / 2.0])
    augmented = sm.GLM(more_y, more_X, family=sm.families.Binomial(), freq_weights=weight).fit(tol=1e-14)
    found = Flac().estimate(problem)
    assert_allclose(found.params, augmented.params[:3], rtol=1e-7)
    assert_allclose(found.inverse_information, augmented.normalized_cov_params[:3, :3], rtol=1e-6)
    assert Logit().inverse(X @ found.params).mean() == pytest.approx(y.mean(), rel=1e-7)


@pytest.mark.parametrize("loss", [Log(Logit()), Canonical(GEV(0.3)), Canonical(Probit())], ids=repr)
def test_flic_keeps_the_slopes_and_predicts_the_observed_rate(rows, loss):
    X, y = rows
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 80)
    problem = Problem(MemoryEngine(X, y, freq=weight), loss, constant=0)
    found, firth = Flic().estimate(problem), MeanReduction().estimate(problem)
    assert_allclose(found.params[1:], firth.params[1:], rtol=1e-12)
    fitted = loss.link.inverse(X @ found.params)
    assert np.average(fitted, weights=weight) == pytest.approx(np.average(y, weights=weight), rel=1e-8)
    assert abs(np.average(loss.link.inverse(X @ firth.params) - y, weights=weight)) > 1e-3
