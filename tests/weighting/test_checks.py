"""scikit-learn's own checks of the weighting estimators."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is an extra")
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from gevglm.sklearn import BinaryGLMClassifier
from gevglm.weighting import CSB1, CSB2, AdaBoost, AdaC1, AdaC2, AdaC3, AdaClassWeight, AdaCost, DiffBoost, RatioWeight

RIDGE = BinaryGLMClassifier(alpha=1.0)

# the label follows the weighted score, the probability is that of the population: the point of correcting
CORRECTED = {
    "check_classifiers_train": "labels follow the weighted scores, probabilities are corrected for the weights"
}
# the score is the learners' vote, as the paper defines it; the probability is an average of theirs
VOTES = CORRECTED | {"check_decision_proba_consistency": "scores are votes, probabilities are averages"}
EXPECTED = {method: CORRECTED for method in (AdaClassWeight, DiffBoost, AdaC3, AdaCost, CSB1)} | {
    method: VOTES for method in (AdaBoost, AdaC1, AdaC2, CSB2)
}


def expected(estimator):
    allowed = EXPECTED.get(type(estimator), {}) if estimator.corrected else {}
    if estimator.estimator is None:
        # as for BinaryGLMClassifier: the check has more columns than rows, which needs a penalty
        checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
        allowed = allowed | dict.fromkeys(checks, "more columns than rows need a penalty")
    return allowed


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        AdaClassWeight(),
        AdaClassWeight(RIDGE, corrected=False),
        AdaClassWeight(LogisticRegression()),  # of several classes
        DiffBoost(RIDGE),
        RatioWeight(RIDGE),
        *(method(RIDGE, rounds=5) for method in (AdaBoost, AdaC1, AdaC2, AdaC3, AdaCost, CSB1, CSB2)),
    ],
    expected_failed_checks=expected,
)
def test_the_checks_of_scikit_learn(estimator, check):
    state = np.random.get_state()  # noqa: NPY002 (some checks of scikit-learn draw from the global generator)
    try:
        check(estimator)
    finally:
        np.random.set_state(state)  # noqa: NPY002
