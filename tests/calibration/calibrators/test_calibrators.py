import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, logit

from gevglm.calibration import (
    AsymmetricLaplace,
    Beta,
    Isotonic,
    Logistic,
    PiecewiseLogistic,
    Platt,
    VennAbers,
    empirical_log_odds,
)
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError

ALL = [Logistic(), Platt(), AsymmetricLaplace(), PiecewiseLogistic(penalty=1.0), Isotonic(), Beta(), VennAbers()]
each_calibrator = pytest.mark.parametrize("calibrator", ALL, ids=repr)


@pytest.fixture(scope="module")
def scored():
    """Scores in (0, 1) of 1,500 cases, overconfident."""
    rng = np.random.default_rng(4)
    eta = rng.normal(-1.5, 1.5, 1500)
    return expit(2 * eta), (rng.random(1500) < expit(eta)).astype(int)


def suited(calibrator, scores):
    """Log-odds for the one calibrator that probabilities do not suit."""
    return logit(scores) if isinstance(calibrator, AsymmetricLaplace) else scores


@each_calibrator
def test_fit_returns_the_calibrator_and_probabilities_come_out(calibrator, scored):
    scores, y = suited(calibrator, scored[0]), scored[1]
    assert calibrator.fit(scores, y) is calibrator
    predicted = calibrator.predict(scores)
    assert ((predicted >= 0) & (predicted <= 1)).all()
    with np.errstate(divide="ignore"):
        assert_allclose(calibrator.log_odds(scores[:50]), logit(predicted[:50]), rtol=1e-6, atol=1e-9)


@each_calibrator
def test_calibration_improves_overconfident_scores(calibrator, scored):
    probabilities, y = scored
    scores = suited(calibrator, probabilities)
    fitted = calibrator.fit(scores[::2], y[::2])
    new = slice(1, None, 2)
    predicted = np.clip(fitted.predict(scores[new]), 1e-3, 1 - 1e-3)
    loss = [-np.mean(np.log(np.where(y[new] == 1, p, 1 - p))) for p in (predicted, probabilities[new])]
    assert loss[0] < loss[1]


@each_calibrator
def test_a_summary_names_calibrator_and_events(calibrator, scored):
    text = str(calibrator.fit(suited(calibrator, scored[0]), scored[1]).summary())
    assert type(calibrator).__name__ in text and str(int(scored[1].sum())) in text and "1,500" in text


@each_calibrator
def test_an_unfitted_calibrator_says_so(calibrator):
    with pytest.raises(GevglmError, match="not fitted yet"):
        type(calibrator)().predict([0.5])


# -- logistic and Platt ------------------------------------------------------------------------


def test_logistic_equals_statsmodels(scored):
    scores, y = scored
    logistic = Logistic().fit(scores, y)
    glm = sm.GLM(y, sm.add_constant(scores), family=sm.families.Binomial()).fit(tol=1e-12)
    assert_allclose(logistic.params, glm.params, rtol=1e-8)
    assert_allclose(logistic.bse, glm.bse, rtol=1e-6)
    assert_allclose(logistic.cov_params(), glm.cov_params(), rtol=1e-6)
    assert_allclose(logistic.llf, glm.llf, rtol=1e-12)
    assert_allclose(Platt(smoothed=False).fit(scores, y).params, logistic.params, rtol=0)
    assert_allclose(logistic.summary_frame(0.9)[["ci_lower", "ci_upper"]], glm.conf_int(0.1), rtol=1e-6)


def test_platt_with_smoothed_targets_equals_scikit_learn(scored):
    sklearn = pytest.importorskip("sklearn.calibration")
    scores, y = scored
    theirs = sklearn._SigmoidCalibration().fit(scores, y)
    assert_allclose(Platt().fit(scores, y).predict(scores), theirs.predict(scores), atol=2e-5)


def test_platt_with_smoothed_targets_minimises_its_objective(scored):
    scores, y = scored
    target = np.where(y == 1, (y.sum() + 1) / (y.sum() + 2), 1 / ((1 - y).sum() + 2))
    platt = Platt().fit(scores, y)
    design = np.column_stack([np.ones(len(y)), scores])
    gradient = design.T @ (expit(design @ platt.params) - target)
    assert_allclose(gradient, 0.0, atol=1e-8)


@pytest.mark.parametrize("penalty", [0.01, 3.0, 500.0])
def test_the_ridge_penalises_both_coefficients(scored, penalty):
    scores, y = scored
    logistic = Logistic(penalty=penalty).fit(scores, y)
    design = np.column_stack([np.ones(len(y)), scores])
    gradient = design.T @ (expit(design @ logistic.params) - y) + 2 * penalty * logistic.params
    assert_allclose(gradient, 0.0, atol=1e-8)
    assert "approximate" in str(logistic.summary())


def test_a_large_common_part_of_the_scores_does_not_matter(scored):
    scores, y = np.round(scored[0] * 2**20) / 2**20, scored[1]
    near, far = Logistic().fit(scores, y), Logistic().fit(scores + 2.0**26, y)
    assert_allclose(far.log_odds(scores + 2.0**26), near.log_odds(scores), atol=1e-7)
    assert_allclose(far.bse["slope"], near.bse["slope"], rtol=1e-9)


def test_separated_scores_need_smoothed_targets():
    with pytest.raises(InvalidDataError, match="smoothed=True"):
        Logistic().fit([1, 2, 3, 4], [0, 0, 1, 1])
    predicted = Platt().fit([1, 2, 3, 4], [0, 0, 1, 1]).predict([1, 4])
    assert_allclose(predicted.sum(), 1.0, atol=1e-9)
    assert 0 < predicted[0] < predicted[1] < 1


# -- beta and isotonic -------------------------------------------------------------------------


def test_beta_equals_statsmodels_when_both_slopes_are_positive(scored):
    scores, y = scored
    beta = Beta(clip=0.0).fit(scores, y)
    design = np.column_stack([np.ones(len(y)), np.log(scores), -np.log1p(-scores)])
    glm = sm.GLM(y, design, family=sm.families.Binomial()).fit(tol=1e-12)
    assert (glm.params[1:] > 0).all()
    assert_allclose(beta.params, glm.params, rtol=1e-6)
    assert_allclose(beta.bse, glm.bse, rtol=1e-5)


def test_beta_with_equal_slopes_is_logistic_on_the_log_odds(scored):
    scores, y = scored
    assert_allclose(
        Beta("am", clip=0.0).fit(scores, y).predict(scores),
        Logistic().fit(logit(scores), y).predict(logit(scores)),
        rtol=1e-9,
    )


@pytest.mark.parametrize("seed", range(6))
def test_beta_minimises_the_log_loss_over_slopes_that_are_not_negative(seed):
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.5 + 2 * rng.random(), 1.0, 120)
    y = (rng.random(120) < 0.2 + 0.5 * (scores - 0.6) ** 2 * (seed - 2)).astype(float)
    design = np.column_stack([np.ones(120), np.log(scores), -np.log1p(-scores)])

    def loss(b):
        return np.logaddexp(0, design @ b).sum() - y @ design @ b

    best = min(
        (
            minimize(loss, start, bounds=[(None, None), (0, None), (0, None)], options={"ftol": 1e-15, "gtol": 1e-9})
            for start in ([0, 0.5, 0.5], [-1, 0, 0])
        ),
        key=lambda result: result.fun,
    )
    beta = Beta(clip=0.0).fit(scores, y)
    assert (beta.params[1:] >= 0).all()
    assert loss(beta.params.to_numpy()) <= best.fun + 1e-8


def test_beta_says_what_it_cannot_take():
    with pytest.raises(InvalidDataError, match="2 of 4 are not"):
        Beta().fit([-1, 0.5, 0.6, 2.0], [0, 1, 0, 1])
    with pytest.raises(InvalidDataError, match=r"2 of 4 scores are exactly 0 or 1.*clip"):
        Beta(clip=0.0).fit([0, 0.5, 0.6, 1], [0, 1, 0, 1])
    for beta in (Beta(), Beta(clip=0.01)):
        assert np.isfinite(beta.fit([0, 0.5, 0.6, 1], [0, 1, 0, 1]).log_odds([0, 1])).all()
    with pytest.raises(InvalidOptionError, match="'abm', 'am'"):
        Beta("ab")
    with pytest.raises(InvalidOptionError, match=r"clip=0\.5"):
        Beta(clip=0.5)


@given(st.lists(st.tuples(st.integers(0, 8), st.sampled_from([0, 1])), min_size=4, max_size=40))
def test_isotonic_equals_scikit_learn(rows):
    isotonic = pytest.importorskip("sklearn.isotonic")
    scores, y = np.array(rows, dtype=float).T
    if len(set(y)) < 2 or len(set(scores)) < 2:
        return
    new = np.linspace(-1, 9, 41)
    for increasing in (True, False):
        theirs = isotonic.IsotonicRegression(increasing=increasing, out_of_bounds="clip").fit(scores, y)
        assert_allclose(Isotonic(increasing=increasing).fit(scores, y).predict(new), theirs.predict(new), atol=1e-12)


def test_isotonic_steps_without_interpolation():
    fitted = Isotonic(interpolate=False).fit([0, 1, 2, 3], [0, 0, 1, 1])
    assert_allclose(fitted.predict([-5, 1.9, 2.0, 9]), [0, 0, 1, 1])


def test_empirical_log_odds_are_finite_in_bins_without_events():
    frame = empirical_log_odds(np.arange(100.0), [0] * 50 + [1] * 50, bins=5)
    assert np.isfinite(frame["log_odds"]).all()
    assert frame["lower"].iloc[0] == -np.inf and frame["upper"].iloc[-1] == np.inf
    assert_allclose(frame["log_odds"].iloc[0], np.log(0.5 / 20.5))


def test_reprs_show_what_differs_from_the_defaults():
    assert (
        repr(Platt(smoothed=False)) == "Platt(smoothed=False)"
        and repr(Logistic(penalty=2.0)) == "Logistic(penalty=2.0)"
    )
    assert repr(PiecewiseLogistic("auto", criterion="bic")) == "PiecewiseLogistic(pieces='auto', criterion='bic')"


@pytest.mark.parametrize("penalty", [-1.0, np.nan, "cv", True])
def test_impossible_penalties_are_refused(penalty):
    with pytest.raises(InvalidOptionError, match="penalty="):
        Platt(penalty=penalty)
