import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize, root

from gevglm.calibration import AsymmetricLaplace
from gevglm.calibration.calibrators.laplace import fit_laplace
from gevglm.exceptions import GevglmWarning, InvalidDataError


def log_likelihood(s, mode, left, right):
    """The paper's density, row by row."""
    fall = np.where(s <= mode, left * (mode - s), right * (s - mode))
    return (np.log(left * right / (left + right)) - fall).sum()


def draw(n, mode, left, right, seed=0):
    rng = np.random.default_rng(seed)
    below = rng.random(n) < right / (left + right)
    return mode + np.where(below, -rng.exponential(1 / left, n), rng.exponential(1 / right, n))


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_equals_a_direct_optimisation_over_all_modes(seed):
    s = draw(80, 1.0, 2.0, 0.5, seed)
    best = None
    for mode in s:
        found = minimize(
            lambda log_rates, mode=mode: -log_likelihood(s, mode, *np.exp(log_rates)),
            [0.0, 0.0],
            method="BFGS",
            options={"gtol": 1e-10},
        )
        if best is None or found.fun < best[0]:
            best = found.fun, mode, np.exp(found.x)
    fit = fit_laplace(s, np.ones(80))
    assert fit.mode == best[1]
    assert_allclose(fit.llf, -best[0], rtol=1e-12)
    distance = s - best[1]
    below, above = -distance[distance <= 0].sum(), distance[distance > 0].sum()

    def score(rates):
        return 80 / rates - 80 / rates.sum() - np.array([below, above])

    polished = root(score, best[2], tol=1e-14).x  # BFGS stops at about 1e-7
    assert_allclose([fit.left, fit.right], polished, rtol=1e-10)


@given(st.lists(st.floats(-50, 50), min_size=4, max_size=30).filter(lambda s: len(set(s)) > 3))
def test_no_mode_anywhere_is_better(scores):
    s = np.array(scores)
    fit = fit_laplace(s, np.ones(len(s)))
    for mode in np.concatenate([s, np.linspace(s.min(), s.max(), 50)]):
        left = np.maximum(mode - s, 0).sum()
        right = np.maximum(s - mode, 0).sum()
        reached = len(s) * (np.log(len(s)) - 1 - 2 * np.log(np.sqrt(left) + np.sqrt(right)))
        assert reached <= fit.llf + 1e-8 * (1 + abs(fit.llf))


def test_the_density_integrates_to_one_and_the_log_likelihood_is_its_sum():
    s = draw(500, -1.0, 0.7, 3.0)
    fit = fit_laplace(s, np.ones(500))
    area = quad(lambda x: np.exp(fit.log_density(np.array([x]))[0]), -40, 40, points=[fit.mode], limit=200)[0]
    assert_allclose(area, 1.0, rtol=1e-8)
    assert_allclose(fit.log_density(s).sum(), fit.llf, rtol=1e-11)


def test_parameters_are_recovered():
    fit = fit_laplace(draw(40_000, 2.0, 1.5, 0.4), np.ones(40_000))
    assert_allclose([fit.mode, fit.left, fit.right], [2.0, 1.5, 0.4], rtol=0.03)


def test_a_large_common_part_of_the_scores_does_not_matter():
    s = np.round(draw(2000, 0.0, 1.0, 2.0) * 2**20) / 2**20
    near, far = fit_laplace(s, np.ones(2000)), fit_laplace(s + 2.0**30, np.ones(2000))
    assert_allclose([far.mode - 2.0**30, far.left, far.right, far.llf], [near.mode, near.left, near.right, near.llf])


def test_the_posterior_is_bayes_rule_with_smoothed_priors():
    events, others = draw(60, 1.0, 1.0, 2.0, 1), draw(140, -1.0, 1.5, 1.0, 2)
    s, y = np.concatenate([events, others]), np.repeat([1, 0], [60, 140])
    fitted = AsymmetricLaplace().fit(s, y)
    new = np.linspace(-3, 3, 13)
    densities = [np.exp(fit.log_density(new)) for fit in (fitted.events, fitted.others)]
    weights = [61 / 202 * densities[0], 141 / 202 * densities[1]]
    assert_allclose(fitted.predict(new), weights[0] / (weights[0] + weights[1]), rtol=1e-12)
    assert fitted.prior == 61 / 202


def test_the_log_odds_are_linear_in_three_pieces_with_knots_at_the_modes():
    s = np.concatenate([draw(300, 1.0, 1.0, 2.0, 1), draw(700, -1.0, 1.5, 1.0, 2)])
    fitted = AsymmetricLaplace().fit(s, np.repeat([1, 0], [300, 700]))
    for low, high in ((-5, fitted.others.mode), (fitted.others.mode, fitted.events.mode), (fitted.events.mode, 5)):
        values = fitted.log_odds(np.linspace(low + 1e-9, high - 1e-9, 5))
        assert_allclose(np.diff(values, 2), 0.0, atol=1e-7)


def test_a_mode_at_the_edge_is_warned_of_and_gives_certain_probabilities():
    events = 1.0 + np.random.default_rng(0).exponential(1.0, 50)
    others = draw(50, 0.0, 1.0, 1.0)
    with pytest.warns(GevglmWarning, match="events is their smallest score"):
        fitted = AsymmetricLaplace().fit(np.concatenate([events, others]), np.repeat([1, 0], 50))
    assert fitted.events.left == np.inf
    assert fitted.predict([events.min() - 0.01])[0] == 0.0
    assert 0 < fitted.predict([events.min()])[0] < 1
    assert fitted.params["left, events"] == np.inf


def test_scores_that_neither_class_allows_get_the_prior():
    with pytest.warns(GevglmWarning):
        fitted = AsymmetricLaplace().fit([0, 1, 2, 5, 0, 0.5, 1, 9], [0, 0, 0, 0, 1, 1, 1, 1])
    assert fitted.events.left == fitted.others.left == np.inf
    assert fitted.predict([-1.0])[0] == pytest.approx(0.5)


def test_a_class_with_a_single_score_is_refused():
    with pytest.raises(InvalidDataError, match="the 2 events all have the score 1"):
        AsymmetricLaplace().fit([0, 0.5, 1, 1], [0, 0, 1, 1])
