import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import chi2

from gevglm.calibration import calibration_belt
from gevglm.calibration.belt import _quantile, selected_sf
from gevglm.exceptions import InvalidDataError, InvalidOptionError

CUT = chi2.isf(0.05, 1)


def test_without_added_powers_the_statistic_is_chi_squared():
    t = np.array([0.1, 2.0, 30.0])
    for df in (1, 2):
        assert_allclose(selected_sf(t, df, 0, CUT), chi2.sf(t, df), rtol=1e-12)


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("t", [4.5, 8.0, 25.0])
def test_one_added_power_is_a_convolution(first, t):
    inside = quad(lambda x: chi2.pdf(x, 1) * chi2.sf(t - x, first), CUT, t, epsabs=1e-13)[0]
    expected = (inside + chi2.sf(t, 1)) / chi2.sf(CUT, 1)
    assert_allclose(selected_sf(t, first, 1, CUT), expected, rtol=1e-7)


@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize("added", [2, 3])
def test_more_added_powers_agree_with_simulation(first, added):
    rng = np.random.default_rng(0)
    n = 400_000
    total = rng.chisquare(first, n) + sum(chi2.isf(0.05 * rng.random(n), 1) for _ in range(added))
    for share in (0.5, 0.05):
        t = np.quantile(total, 1 - share)
        assert_allclose(selected_sf(t, first, added, CUT), share, atol=4 * np.sqrt(share / n))


def test_the_distribution_starts_where_the_cuts_end():
    assert selected_sf(3 * CUT, 2, 3, CUT) == 1.0
    assert_allclose(selected_sf(_quantile(0.95, 2, 2, CUT), 2, 2, CUT), 0.05, rtol=1e-9)


@pytest.mark.parametrize("truth", ["shifted", "bent"])
def test_the_edges_are_extremes_over_the_likelihood_region(truth):
    rng = np.random.default_rng(2)
    eta = rng.normal(-1.5, 1.5, 600)
    y = (rng.random(600) < expit(0.7 * eta if truth == "shifted" else eta + 0.5 * eta**2 - 1)).astype(float)
    belt = calibration_belt(y, expit(eta), levels=(0.95,))
    assert belt.degree == (1 if truth == "shifted" else 2)
    z = (eta - eta.mean()) / eta.std()
    X = np.vander(z, belt.degree + 1, increasing=True)

    def loss(b):
        return np.logaddexp(0, X @ b).sum() - y @ X @ b

    def slope(b):
        return X.T @ (expit(X @ b) - y)

    best = minimize(loss, np.zeros(X.shape[1]), jac=slope, method="BFGS", options={"gtol": 1e-8})
    bound = best.fun + _quantile(0.95, 2, belt.degree - 1, CUT) / 2
    region = {"type": "ineq", "fun": lambda b: bound - loss(b), "jac": lambda b: -slope(b)}
    for i in (0, 60, 150, len(belt.x) - 1):
        direction = ((logit(belt.x[i]) - eta.mean()) / eta.std()) ** np.arange(X.shape[1])
        for sign, edge in ((-1, belt.bounds[0.95][0]), (1, belt.bounds[0.95][1])):
            found = minimize(
                lambda b, s=sign, g=direction: -s * g @ b,
                best.x,
                jac=lambda b, s=sign, g=direction: -s * g,
                constraints=[region],
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 300},
            )
            assert_allclose(edge[i], expit(direction @ found.x), atol=1e-7)


def test_wider_levels_contain_narrower_ones_and_the_curve(judged):
    belt = calibration_belt(judged.y, judged.p)
    (low80, high80), (low95, high95) = belt.bounds[0.8], belt.bounds[0.95]
    assert (low95 <= low80).all() and (low80 <= belt.fitted).all()
    assert (belt.fitted <= high80).all() and (high80 <= high95).all()


def test_deviations_say_where_the_belt_leaves_the_diagonal(judged):
    belt = calibration_belt(judged.y, judged.p, levels=(0.95,))
    over = belt.deviations[belt.deviations["side"] == "over"].iloc[0]
    inside = (belt.x >= over["x_from"]) & (belt.x <= over["x_to"])
    lower = belt.bounds[0.95][0]
    assert (lower[inside] > belt.x[inside]).all() and not (lower[~inside] > belt.x[~inside]).any()


def test_the_test_holds_its_level_after_choosing_the_degree(simulated):
    rejected = [calibration_belt(*simulated(300, center=-1.0, seed=s), points=4).test.pvalue < 0.05 for s in range(200)]
    assert np.mean(rejected) < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 200)


def test_grouping_many_predictions_hardly_moves_the_edges(simulated, monkeypatch):
    y, p = simulated(6000, shift=0.2)
    coarse = calibration_belt(y, p, points=40)
    monkeypatch.setattr("gevglm.calibration.belt.EDGE_GROUPS", 6000)
    exact = calibration_belt(y, p, points=40)
    assert_allclose(coarse.bounds[0.95], exact.bounds[0.95], rtol=2e-5)
    assert coarse.test == exact.test


def test_separated_outcomes_have_no_belt():
    with pytest.raises(InvalidDataError, match="no finite estimate"):
        calibration_belt([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])


def test_a_largest_degree_below_the_first_is_refused(simulated):
    with pytest.raises(InvalidOptionError, match="max_degree=1"):
        calibration_belt(*simulated(100), in_sample=True, max_degree=1)
