import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit

from gevglm.calibration import Logistic, PiecewiseLogistic
from gevglm.calibration.calibrators._knots import ramps
from gevglm.exceptions import GevglmWarning, InvalidDataError, InvalidOptionError


def scored(n=1200, seed=0, bend=2.0):
    rng = np.random.default_rng(seed)
    s = 2 * rng.normal(size=n)
    return s, (rng.random(n) < expit(-3 + bend * np.maximum(s, 0) - 1.2 * np.maximum(s - 2, 0))).astype(float)


def paper_objective(s, y, knots, penalty):
    """The paper's objective in the values at the knots, with its gradient and Hessian."""
    hats = np.column_stack([np.interp(s, knots, row) for row in np.eye(len(knots))])
    slopes = np.diff(np.eye(len(knots)), axis=0) / np.diff(knots)[:, None]
    bends = np.diff(slopes, axis=0)

    def value(w):
        return np.logaddexp(0, -(2 * y - 1) * (hats @ w)).sum() + penalty * ((bends @ w) ** 2).sum()

    def gradient(w):
        return hats.T @ (expit(hats @ w) - y) + 2 * penalty * bends.T @ bends @ w

    def hessian(w):
        mu = expit(hats @ w)
        return (hats * (mu * (1 - mu))[:, None]).T @ hats + 2 * penalty * bends.T @ bends

    return value, gradient, hessian, hats


def direct(s, y, knots, penalty):
    value, gradient, hessian, hats = paper_objective(s, y, knots, penalty)
    found = minimize(
        value, np.zeros(len(knots)), jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-9}
    )
    polished = found.x - np.linalg.solve(hessian(found.x), gradient(found.x))
    return polished, hats


@pytest.mark.parametrize("penalty", [0.0, 0.5, 20.0, 1e4])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_fit_equals_a_direct_optimisation_of_the_papers_objective(penalty, seed):
    s, y = scored(seed=seed)
    fitted = PiecewiseLogistic(penalty=penalty).fit(s, y)
    values, hats = direct(s, y, fitted.knots_, penalty)
    assert_allclose(fitted.values_, values, atol=1e-8, rtol=1e-8)
    assert_allclose(fitted.log_odds(s), hats @ values, atol=1e-8)


def test_the_pair_of_knots_is_the_best_of_all_81():
    s, y = scored(400)  # few enough for the search to look at every score
    fitted = PiecewiseLogistic(penalty=2.0).fit(s, y)
    best = None
    for first in np.quantile(s[y == 0], np.arange(1, 10) / 10):
        for second in np.quantile(s[y == 1], np.arange(1, 10) / 10):
            knots = np.array([s.min(), *sorted([first, second]), s.max()])
            values, hats = direct(s, y, knots, 2.0)
            loss = np.logaddexp(0, -(2 * y - 1) * (hats @ values)).sum()
            if best is None or loss < best[0]:
                best = loss, knots
    assert_allclose(fitted.knots_, best[1], atol=1e-12)
    assert_allclose(-fitted.llf, best[0], rtol=1e-9)


def test_knots_are_added_while_the_likelihood_improves_by_one_percent():
    s, y = scored(400)
    fitted = PiecewiseLogistic("auto", penalty=1.0).fit(s, y)
    candidates, inner = np.quantile(s, np.arange(1, 20) / 20), []
    reached = PiecewiseLogistic(1, penalty=1.0).fit(s, y).llf
    while True:
        tried = [
            (PiecewiseLogistic(knots=[*inner, knot], penalty=1.0).fit(s, y).llf, knot)
            for knot in candidates
            if knot not in inner
        ]
        if max(tried)[0] - reached <= 0.01 * abs(reached):
            break
        reached, knot = max(tried)
        inner.append(knot)
    assert 1 <= len(inner) <= 4
    assert_allclose(fitted.knots_[1:-1], sorted(inner), atol=1e-12)


def test_criteria_stop_at_different_numbers_of_pieces():
    s, y = scored(3000)
    pieces = {c: len(PiecewiseLogistic("auto", criterion=c, penalty=0.1).fit(s, y).slopes_) for c in ("aic", "bic")}
    assert 2 <= pieces["bic"] <= pieces["aic"]
    assert len(PiecewiseLogistic(5, penalty=1.0).fit(s, y).slopes_) == 5


def test_one_piece_is_logistic():
    s, y = scored()
    assert_allclose(
        PiecewiseLogistic(1, penalty=1.0).fit(s, y).log_odds(s), Logistic().fit(s, y).log_odds(s), atol=1e-8
    )


def test_a_huge_penalty_gives_logistic():
    s, y = scored()
    assert_allclose(PiecewiseLogistic(penalty=1e9).fit(s, y).log_odds(s), Logistic().fit(s, y).log_odds(s), atol=1e-4)


def test_standard_errors_are_those_of_the_logistic_regression():
    s, y = scored()
    fitted = PiecewiseLogistic(knots=[0.0, 2.0], penalty=0.0).fit(s, y)
    columns = ramps(s, np.array([0.0, 2.0]), s.min())
    mu = fitted.predict(s)
    information = (columns * (mu * (1 - mu))[:, None]).T @ columns
    assert_allclose(fitted.cov_params(), np.linalg.inv(information), rtol=1e-7)
    assert_allclose(fitted.params.iloc[1:], fitted.slopes_)


def test_the_unit_and_origin_of_the_scores_do_not_matter():
    s, y = scored()
    plain, moved = PiecewiseLogistic().fit(s, y), PiecewiseLogistic().fit(1000 * s + 5, y)
    assert_allclose(moved.predict(1000 * s + 5), plain.predict(s), atol=1e-9)
    assert_allclose(moved.penalty_, plain.penalty_ * 1e6)


@pytest.mark.parametrize("penalty", ["cv", "holdout"])
def test_the_penalty_is_the_best_on_held_out_rows_and_the_same_each_time(penalty):
    s, y = scored(600)
    first, second = (PiecewiseLogistic(penalty=penalty).fit(s, y) for _ in range(2))
    assert first.penalty_ == first.path_["penalty"][first.path_["log_loss"].idxmin()]
    assert_array_equal(first.path_, second.path_)
    assert "Penalty" in str(first.summary())


def test_a_straight_truth_gets_a_larger_penalty_than_a_bent_one():
    chosen = {"straight": [], "bent": []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        s = 2 * rng.normal(size=800)
        for truth, eta in (("straight", s - 1), ("bent", 3 * np.maximum(s, 0) - 3)):
            fitted = PiecewiseLogistic(rng=seed).fit(s, rng.random(800) < expit(eta))
            chosen[truth].append(np.log10(fitted.penalty_ / np.var(s)))
    assert np.mean(chosen["straight"]) > np.mean(chosen["bent"]) + 0.5


# -- monotone ----------------------------------------------------------------------------------


def falling(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    s = 2 * rng.normal(size=n)
    return s, (rng.random(n) < expit(-1.5 - 0.5 * np.minimum(s + 1, 0) + 1.2 * np.maximum(s, 0))).astype(float)


def test_a_fit_that_falls_is_reported():
    fitted = PiecewiseLogistic(knots=[-1.0, 1.0], penalty=0.1).fit(*falling())
    assert not fitted.monotone_ and fitted.slopes_[0] < 0
    assert "falls with the score in piece 1" in str(fitted.summary())


@pytest.mark.parametrize("penalty", [0.1, 5.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_monotone_fit_minimises_over_slopes_that_are_not_negative(penalty, seed):
    s, y = falling(seed=seed)
    inner = np.array([-2.0, -1.0, 0.5, 1.5])
    fitted = PiecewiseLogistic(knots=inner, penalty=penalty, monotone=True).fit(s, y)
    columns = ramps(s, inner, s.min())
    bends = np.diff(np.eye(5), axis=0)

    def value(b):
        return np.logaddexp(0, columns @ b).sum() - y @ columns @ b + penalty * ((bends @ b[1:]) ** 2).sum()

    def gradient(b):
        inside = np.concatenate([[0.0], bends.T @ bends @ b[1:]])
        return columns.T @ (expit(columns @ b) - y) + 2 * penalty * inside

    at = np.concatenate([fitted.params.iloc[:1], fitted.slopes_])
    assert fitted.monotone_ and (fitted.slopes_ == 0).any()
    slope = gradient(at)
    free = np.append(True, fitted.slopes_ > 0)
    assert_allclose(slope[free], 0.0, atol=1e-6)
    assert (slope[~free] >= -1e-6).all()
    found = minimize(
        value, at + 0.1, jac=gradient, bounds=[(None, None)] + [(0, None)] * 5, options={"ftol": 1e-15, "gtol": 1e-10}
    )
    assert value(at) <= found.fun + 1e-8


def test_a_monotone_search_finds_the_best_pair_among_monotone_fits():
    s, y = falling(400)
    fitted = PiecewiseLogistic(penalty=1.0, monotone=True).fit(s, y)
    best = max(
        PiecewiseLogistic(knots=[a, b], penalty=1.0, monotone=True).fit(s, y).llf
        for a in np.quantile(s[y == 0], np.arange(1, 10) / 10)
        for b in np.quantile(s[y == 1], np.arange(1, 10) / 10)
        if a != b
    )
    assert_allclose(fitted.llf, best, rtol=1e-8)


# -- bad input ---------------------------------------------------------------------------------


def test_too_few_distinct_scores_for_the_pieces_are_refused():
    with pytest.raises(InvalidDataError, match="3 pieces needs at least 4 distinct predictions, but the 6 rows have 3"):
        PiecewiseLogistic().fit([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1])


def test_pieces_that_separate_the_outcomes_need_a_penalty():
    s = np.linspace(-1, 1, 60)
    y = (s > 0).astype(float)
    with pytest.raises(InvalidDataError, match="separate the outcomes"):
        PiecewiseLogistic(penalty=0.0).fit(s, y)


def test_a_piece_without_events_is_finite_with_a_penalty():
    s, y = scored(800)
    y[s < 0] = 0.0
    fitted = PiecewiseLogistic(penalty=1.0).fit(s, y)
    assert np.isfinite(fitted.slopes_).all()


def test_fewer_pieces_than_asked_for_are_warned_of():
    s = np.append(np.repeat([0.0, 1.0, 2.0], 50), [3.0, 4.0])  # the two last are no quantiles
    y = (np.random.default_rng(0).random(152) < expit(s - 2)).astype(float)
    with pytest.warns(GevglmWarning, match="4 pieces were asked for, but ties among the scores leave room for 3"):
        fitted = PiecewiseLogistic(4, penalty=1.0).fit(s, y)
    assert len(fitted.slopes_) == 3


def test_one_event_is_too_few_to_choose_a_penalty():
    with pytest.raises(InvalidDataError, match="needs two of each outcome, got 1 of one; give penalty"):
        PiecewiseLogistic().fit(np.arange(50.0), np.eye(1, 50, 40)[0])


def test_impossible_options_are_refused():
    for options in (
        {"pieces": 0},
        {"pieces": "three"},
        {"pieces": 2.5},
        {"pieces": None},
        {"pieces": 21},
        {"penalty": "loo"},
        {"criterion": "2%"},
    ):
        with pytest.raises(InvalidOptionError):
            PiecewiseLogistic(**options)
    with pytest.raises(InvalidDataError, match="1 of 2 do not lie there"):
        PiecewiseLogistic(knots=[0.0, 99.0], penalty=1.0).fit(*scored(100))
