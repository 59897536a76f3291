"""Three rounds by hand: four rows of the rare class, eight of the main one."""

from math import exp, log, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gevglm.weighting import CSB1, CSB2, AdaBoost, AdaC1, AdaC2, AdaC3, AdaClassWeight, AdaCost, DiffBoost

Y = np.array([1] * 4 + [-1] * 8)
X = np.zeros((12, 1))
# round 1 misses rare rows 0, 1, 2 and main row 4; round 2 rare row 0 and main rows 4, 5; round 3 rare row 1 and main rows 6, 7
ROUNDS = [
    np.array([-1, -1, -1, 1] + [1] + [-1] * 7),
    np.array([-1, 1, 1, 1] + [1, 1] + [-1] * 6),
    np.array([1, -1, 1, 1] + [-1, -1, 1, 1] + [-1] * 4),
]


def test_adaclassweight(scripted):
    model = AdaClassWeight(scripted(*ROUNDS), rounds=3, rare=1).fit(X, Y)
    h = model.history_
    assert_allclose(h["error_rare"], [3 / 4, 1 / 4, 1 / 4], rtol=1e-15)
    assert_allclose(h["error_main"], [1 / 8, 2 / 8, 2 / 8], rtol=1e-15)
    assert_allclose(h["weight_rare"], [1, exp(3 / 4), exp(1)], rtol=1e-14)
    assert_allclose(h["weight_main"], [1, exp(1 / 8), exp(3 / 8)], rtol=1e-14)
    assert model.class_weight_ == pytest.approx({1: exp(1), -1: exp(3 / 8)}, rel=1e-14)
    assert model.stop_reason_ == "rounds"
    assert (model.predict(X) == ROUNDS[2]).all()
    given = model.estimator_.given
    assert_allclose(given[1], np.where(Y == 1, exp(3 / 4), exp(1 / 8)), rtol=1e-14)


def test_it_stops_before_the_weights_change_again(scripted):
    model = AdaClassWeight(scripted(ROUNDS[0], np.r_[[1] * 4, ROUNDS[1][4:]], ROUNDS[2]), rare=1).fit(X, Y)
    assert (len(model.history_), model.stop_reason_) == (2, "threshold")
    assert model.class_weight_[1] == pytest.approx(exp(3 / 4), rel=1e-14)
    early = AdaClassWeight(scripted(*ROUNDS), rare=1, tradeoff=1.5).fit(X, Y)
    assert (len(early.history_), early.stop_reason_) == (2, "tradeoff")
    assert early.class_weight_ == pytest.approx({1: exp(3 / 4), -1: exp(1.5 / 8)}, rel=1e-14)


def test_diffboost(scripted):
    model = DiffBoost(scripted(*ROUNDS), rounds=3, rare=1).fit(X, Y)
    h = model.history_
    # round 1: e+ = 3/4, so no vote and D stays; round 2: e+ = 1/4, alpha = ln(3)/2, and the missed row gets D = 1/2, the others 1/6;
    # round 3 misses one of those: e+ = 1/6, alpha = ln(5)/2. Main class after round 2: 2 rows at sqrt(3)/8, 6 at 1/(8 sqrt 3)
    assert_allclose(h["error_rare"], [3 / 4, 1 / 4, 1 / 6], rtol=1e-14)
    z2 = (2 * sqrt(3) + 6 / sqrt(3)) / 8
    assert_allclose(h["error_main"], [1 / 8, 2 / 8, 2 / (8 * sqrt(3)) / z2], rtol=1e-14)
    assert_allclose(h["vote"], [0, log(3) / 2, log(5) / 2], rtol=1e-14, atol=0)
    assert_allclose(h["z_rare"], [1, sqrt(3) / 2, sqrt(5) / 3], rtol=1e-14)
    assert_allclose(h["bound"], [1, sqrt(3) / 2, sqrt(15) / 6], rtol=1e-14)
    assert_allclose(h["weight_rare"], [1, exp(3 / 4), exp(1)], rtol=1e-14)
    assert_allclose(h["weight_main"], [1, exp(1 / 8), exp(3 / 8)], rtol=1e-14)
    assert_allclose(h["training_error_rare"], [1, 1 / 4, 1 / 4], rtol=1e-14)
    score = log(3) / 2 * ROUNDS[1] + log(5) / 2 * ROUNDS[2]
    assert_allclose(model.decision_function(X), score, rtol=1e-14)
    assert (model.predict(X) == np.sign(score)).all()
    # votes as weights, each round's probability (0.8 or 0.2) corrected by the weights it was trained under
    p = [np.where(h_t == 1, 4.0, 0.25) * exp(m - r) for h_t, r, m in ((ROUNDS[1], 3 / 4, 1 / 8), (ROUNDS[2], 1, 3 / 8))]
    corrected = [odds / (1 + odds) for odds in p]
    assert_allclose(model.predict_proba(X)[:, 1], (log(3) * corrected[0] + log(5) * corrected[1]) / log(15), rtol=1e-14)


def second_weights(model):
    return model.members_[0].learner.given[1] / 12


ONE = np.array([-1, 1, 1, 1] + [1] + [-1] * 7)  # misses rare row 0 and main row 4
HIT = ONE == Y
COST = np.where(Y == 1, 1.0, 0.5)


def by_formula(weights, margin, alpha):
    tilted = weights * np.exp(-alpha * margin)
    return tilted / tilted.sum()


@pytest.mark.parametrize(
    ("method", "vote", "outside", "inside"),
    [
        # 2 of 12 rows are missed: alpha = ln(10/2)/2
        (AdaBoost, log(5) / 2, 1.0, 1.0),
        # sum C D over the correct rows is (3 + 7/2)/12, over the missed ones (1 + 1/2)/12: r = 5/12
        (AdaC1, log(17 / 7) / 2, 1.0, COST),
        # the ratio of the two sums, 6.5/1.5
        (AdaC2, log(13 / 3) / 2, COST, 1.0),
        # sum C D = 8/12, sum C^2 D = (3 + 7/4)/12 and (1 + 1/4)/12
        (AdaC3, log((8 + 3.5) / (8 - 3.5)) / 2, COST, COST),
        # correct: 0 and 1/4, missed: 1 and 3/4; r = (7/4 - 7/4)/12 = 0: no better than chance, tested below
    ],
)
def test_votes_and_weights(scripted, method, vote, outside, inside):
    model = method(scripted(ONE, Y), rounds=2, rare=1).fit(X, Y)
    assert model.history_["vote"].iloc[0] == pytest.approx(vote, rel=1e-14)
    expected = by_formula(np.full(12, 1 / 12) * outside, inside * np.where(HIT, 1, -1), vote)
    assert_allclose(second_weights(model), expected, rtol=1e-13)


def test_adacost(scripted):
    with pytest.warns(UserWarning, match=r"no better than chance in the first round"):
        AdaCost(scripted(ONE, Y), rounds=2, rare=1).fit(X, Y)
    only_main = np.array([1] * 5 + [-1] * 7)  # misses main row 4: r = (7/4 - 3/4)/12
    model = AdaCost(scripted(only_main, Y), rounds=2, rare=1).fit(X, Y)
    assert model.history_["vote"].iloc[0] == pytest.approx(log(13 / 11) / 2, rel=1e-14)
    beta = np.where(Y == 1, 0.0, np.where(only_main == Y, 0.25, -0.75))
    assert_allclose(second_weights(model), by_formula(np.full(12, 1 / 12), beta, log(13 / 11) / 2), rtol=1e-13)


@pytest.mark.parametrize(("method", "step"), [(CSB1, 1.0), (CSB2, log(5) / 2)])
def test_csb(scripted, method, step):
    model = method(scripted(ONE, Y), rounds=2, rare=1).fit(X, Y)
    assert model.history_["vote"].iloc[0] == pytest.approx(log(5) / 2, rel=1e-14)
    missed = np.where(HIT, 1.0, np.where(Y == 1, 2.0, 1.0))
    assert_allclose(second_weights(model), by_formula(missed, np.where(HIT, 1, -1), step), rtol=1e-13)
    # votes for the rare class count twice
    flawless = log(23) / 2  # half an error in 12
    assert model.decision_function(X)[0] == pytest.approx(2 * flawless - log(5) / 2, rel=1e-14)
