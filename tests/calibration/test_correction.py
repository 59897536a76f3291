import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from gevglm import calibration
from gevglm.exceptions import InvalidDataError, InvalidOptionError

inside = st.floats(1e-6, 1 - 1e-6)


@given(inside, inside)
def test_the_formulas_are_those_of_the_paper(a, b):
    assert_allclose(calibration.loss_corrected(a, b), (1 - b) * a / (b + (1 - 2 * b) * a), rtol=1e-9)
    assert_allclose(calibration.optimal_score(a, b), b * a / (1 - b - a + 2 * b * a), rtol=1e-9)
    assert_allclose(calibration.undersampling_corrected(a, b), b * a / (1 + (b - 1) * a), rtol=1e-9)


@given(inside, st.floats(0.001, 0.999))
def test_correction_and_optimal_score_undo_each_other(p, b):
    assert_allclose(calibration.loss_corrected(calibration.optimal_score(p, b), b), p, rtol=1e-9)


@pytest.mark.parametrize("gamma", [0.01, 0.3, 0.8])
@pytest.mark.parametrize("b", [0.2, 0.9, 0.99])
def test_the_optimal_score_minimises_the_weighted_loss(gamma, b):
    for loss in (lambda a: (-np.log(a), -np.log1p(-a)), lambda a: ((1 - a) ** 2, a**2)):
        expected = minimize_scalar(
            lambda a, loss=loss: gamma * b * loss(a)[0] + (1 - gamma) * (1 - b) * loss(a)[1],
            bounds=(1e-9, 1 - 1e-9),
            method="bounded",
            options={"xatol": 1e-12},
        ).x
        assert_allclose(calibration.optimal_score(gamma, b), expected, atol=1e-6)


def test_class_weights_are_a_way_to_write_beta1():
    p = np.array([0.0, 0.2, 1.0])
    assert_allclose(calibration.loss_corrected(p, {0: 1, 1: 9}), calibration.loss_corrected(p, 0.9), rtol=1e-14)
    assert_allclose(calibration.loss_corrected(p, {0: 2.0, 1: 2.0}), p)


def test_the_prior_correction_shifts_the_intercept_as_king_and_zeng_do():
    eta, tau, mean = np.linspace(-4, 4, 9), 0.02, 0.4
    expected = expit(eta - np.log((1 - tau) / tau * mean / (1 - mean)))
    assert_allclose(calibration.prior_corrected(expit(eta), sample=mean, population=tau), expected, rtol=1e-12)


def test_odds_are_multiplied_and_shapes_kept():
    p = np.array([[0.1, 0.5], [0.0, 1.0]])
    shifted = calibration.shift_odds(p, np.array([2.0, 3.0]))
    assert_allclose(logit(shifted[0]) - logit(p[0]), np.log([2.0, 3.0]))
    assert_allclose(shifted[1], [0.0, 1.0])
    assert isinstance(calibration.shift_odds(0.3, 2), float)


@pytest.mark.parametrize(
    "weight", [0.0, 1.0, 99, "balanced", True, {1: 2.0}, {0: 1.0, 1: -1.0}, {0: 1.0, 1: "a"}, [1, 2]]
)
def test_impossible_class_weights_are_refused(weight):
    with pytest.raises(InvalidOptionError, match="weight="):
        calibration.loss_corrected(0.5, weight)


def test_impossible_shares_and_factors_are_refused():
    with pytest.raises(InvalidOptionError, match="kept=0"):
        calibration.undersampling_corrected(0.5, 0)
    with pytest.raises(InvalidOptionError, match="population=1"):
        calibration.prior_corrected(0.5, sample=0.5, population=1)
    with pytest.raises(InvalidOptionError, match="got -1"):
        calibration.shift_odds(0.5, [1.0, -1.0])
    for wrong in ("much", [0.5]):
        with pytest.raises(InvalidOptionError, match="kept="):
            calibration.undersampling_corrected(0.5, wrong)
        with pytest.raises(InvalidOptionError, match="sample="):
            calibration.prior_corrected(0.5, sample=wrong, population=0.1)
    with pytest.raises(InvalidDataError, match="must be numbers, got 'much'"):
        calibration.shift_odds(0.5, "much")
    with pytest.raises(InvalidDataError, match=r"factors of shape \(3,\) do not fit probabilities of shape \(2,\)"):
        calibration.shift_odds([0.5, 0.5], [1, 2, 3])
    with pytest.raises(InvalidDataError, match="2 of 3 probabilities are not in"):
        calibration.shift_odds([0.5, 1.2, np.nan], 2.0)


# -- more than two classes ---------------------------------------------------------------------


def posteriors(classes, n=200, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.7), size=n)


def optimal_scores(gamma, b):
    return gamma * np.diagonal(b) / (gamma @ b)


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_posteriors_are_recovered_from_optimal_scores(classes):
    b = np.random.default_rng(classes).uniform(0.05, 4.0, (classes, classes))
    gamma = posteriors(classes)
    assert_allclose(calibration.loss_corrected_multiclass(optimal_scores(gamma, b), b), gamma, atol=1e-11)


def test_the_answer_spans_the_null_space_of_proposition_3():
    b = np.random.default_rng(1).uniform(0.1, 2.0, (4, 4))
    a = optimal_scores(posteriors(4, 1), b)[0]
    found = calibration.loss_corrected_multiclass(a, b)
    assert_allclose((np.diag(a) @ b.T - np.diag(np.diagonal(b))) @ found, 0.0, atol=1e-14)
    assert found.shape == (4,) and found.sum() == pytest.approx(1.0)


def test_one_weight_a_class_stands_for_constant_rows():
    weights, a = np.array([1.0, 5.0, 20.0]), posteriors(3)
    expected = calibration.loss_corrected_multiclass(a, np.outer(weights, np.ones(3)))
    assert_allclose(calibration.loss_corrected_multiclass(a, weights), expected, atol=1e-12)
    assert_allclose(calibration.loss_corrected_multiclass(a, dict(enumerate(weights))), expected, atol=1e-12)


def test_two_classes_give_the_binary_correction():
    a = np.linspace(0.05, 0.95, 7)
    found = calibration.loss_corrected_multiclass(np.column_stack([1 - a, a]), [1.0, 9.0])
    assert_allclose(found[:, 1], calibration.loss_corrected(a, 0.9), rtol=1e-12)


def test_scores_that_are_optimal_for_nothing_still_give_probabilities():
    found = calibration.loss_corrected_multiclass([[0.9, 0.8, 0.7]], np.random.default_rng(0).uniform(0.5, 2, (3, 3)))
    assert (found > 0).all() and found.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.eye(3), r"cannot be inverted: no weights connect the classes \[\[0\], \[1\], \[2\]\]"),
        (np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1.0]]), "cannot be inverted: no weights connect"),
        (np.ones((3, 3)) - np.eye(3), r"classes \[0, 1, 2\] have the weight 0 on the diagonal"),
        (-np.ones((3, 3)), "9 entries of the weight matrix are negative"),
        (np.ones((2, 2)), r"shape \(3, 3\), got \(2, 2\)"),
        (np.array([1.0, 0.0, 1.0]), "class weights must be positive"),
        ({0: 1.0, 1: 1.0}, r"classes \[0, 1\]"),
        ("balanced", "weights of classes must be numbers"),
    ],
)
def test_weight_matrices_that_cannot_be_inverted_are_refused(matrix, message):
    with pytest.raises(InvalidDataError, match=message):
        calibration.loss_corrected_multiclass([[0.2, 0.3, 0.5]], matrix)


def test_rows_at_which_several_posteriors_have_the_same_scores_are_refused():
    chain = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    with pytest.raises(InvalidDataError, match="cannot be inverted at 1 of 1 rows"):
        calibration.loss_corrected_multiclass([[1.0, 1.0, 0.5]], chain)


def test_scores_that_are_all_zero_are_refused():
    with pytest.raises(InvalidDataError, match="1 of 2 rows have the score 0"):
        calibration.loss_corrected_multiclass([[0.0, 0.0], [0.5, 0.5]], [1.0, 2.0])


# -- loss calibration --------------------------------------------------------------------------


def test_the_curve_of_a_loss_calibrated_learner_lies_on_the_theoretical_one(simulated):
    y, p = simulated(60_000, center=-4.0)
    for b in (0.5, 0.9, 0.99):
        curve = calibration.loss_calibration_curve(y, calibration.optimal_score(p, b), b)
        assert curve.beta1 == pytest.approx(b)
        assert_allclose(curve.theory, calibration.loss_corrected(curve.score, b))
        covered = (curve.bins["lower"] <= curve.bins["corrected"]) & (curve.bins["corrected"] <= curve.bins["upper"])
        assert covered.sum() >= 8
        assert curve.bins["n"].sum() == 60_000


def test_bins_without_events_are_counted():
    y, p = np.array([0] * 90 + [1] * 10), np.repeat(np.arange(1, 11) / 11, 10)
    curve = calibration.loss_calibration_curve(y, p, 0.9)
    assert curve.n_without_events == 9
    assert (curve.bins["lower"][curve.bins["events"] == 0] == 0.0).all()


def test_the_test_accepts_the_right_weight_and_rejects_a_wrong_one(simulated):
    y, p = simulated(20_000, center=-4.0)
    scores = calibration.optimal_score(p, 0.95)
    right = calibration.loss_calibration_test(y, scores, {0: 1, 1: 19})
    assert right.pvalue > 0.01 and right.df == 2
    assert calibration.loss_calibration_test(y, scores, 0.9).pvalue < 1e-6
    assert_allclose(right.statistic, calibration.cox_calibration(y, p).test.statistic, rtol=1e-7)
