"""Bad input: what is wrong, the number or name seen, what to do."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is an extra")
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gevglm.exceptions import ConvergenceWarning
from gevglm.sklearn import BinaryGLMClassifier
from gevglm.weighting import CSB1, CSB2, AdaBoost, AdaC1, AdaC2, AdaC3, AdaClassWeight, AdaCost, DiffBoost, RatioWeight

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = (np.arange(60) % 4 == 0).astype(int)
COSTLY = (AdaC1, AdaC2, AdaC3, AdaCost, CSB1, CSB2)


@pytest.mark.parametrize("method", [AdaClassWeight, DiffBoost, RatioWeight])
def test_a_learner_without_weights(method):
    with pytest.raises(ValueError, match=r"KNeighborsClassifier takes neither sample_weight in fit nor class_weight"):
        method(KNeighborsClassifier()).fit(X, Y)


@pytest.mark.parametrize("method", [AdaBoost, *COSTLY])
def test_a_learner_without_weights_of_rows(method):
    class ByClass(LogisticRegression):
        def fit(self, X, y):
            return super().fit(X, y)

    for learner in (KNeighborsClassifier(), ByClass()):
        with pytest.raises(ValueError, match=f"{type(learner).__name__} takes no sample_weight in fit"):
            method(learner).fit(X, Y)
    with pytest.raises(ValueError, match="ByClass takes class weights only; leave it out"):
        AdaClassWeight(ByClass()).fit(X, Y, sample_weight=np.ones(60))


@pytest.mark.parametrize("method", [AdaClassWeight, DiffBoost, AdaBoost, AdaC2])
def test_a_learner_with_class_weights_of_its_own(method):
    with pytest.raises(
        ValueError, match=r"LogisticRegression already has class_weight='balanced'.*set class_weight=None"
    ):
        method(LogisticRegression(class_weight="balanced")).fit(X, Y)
    nested = make_pipeline(StandardScaler(), LogisticRegression(class_weight={0: 1, 1: 3}))
    with pytest.raises(ValueError, match=r"logisticregression__class_weight=\{0: 1, 1: 3\}"):
        method(nested).fit(X, Y)


@pytest.mark.parametrize("method", [AdaClassWeight, DiffBoost, AdaBoost, *COSTLY])
@pytest.mark.parametrize("rounds", [0, -3, 2.5, "many", True])
def test_fewer_than_one_round(method, rounds):
    with pytest.raises(ValueError, match=f"rounds={rounds!r} is not possible; give a whole number from 1"):
        method(rounds=rounds).fit(X, Y)


@pytest.mark.parametrize("method", COSTLY)
@pytest.mark.parametrize("cost", [0, -1.0, np.nan, np.inf, "high"])
def test_costs_that_are_not_positive(method, cost):
    with pytest.raises(ValueError, match=r"cost_ratio=.* is not possible; give a number above 0"):
        method(cost_ratio=cost).fit(X, Y)


def test_other_options():
    with pytest.raises(ValueError, match=r"ratio=0 is not possible"):
        RatioWeight(ratio=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"tradeoff=-1 is not possible; give a number from 0"):
        AdaClassWeight(tradeoff=-1).fit(X, Y)
    with pytest.raises(ValueError, match=r"threshold=1.5 is not possible; give a number from 0, below 1"):
        DiffBoost(threshold=1.5).fit(X, Y)
    with pytest.raises(ValueError, match=r"rare='spam' is not a label; the labels are \[0, 1\]"):
        AdaClassWeight(rare="spam").fit(X, Y)


def test_more_than_two_classes():
    with pytest.raises(ValueError, match=r"Only binary.*\[0, 1, 2\].*a learner of several classes"):
        AdaClassWeight().fit(X, np.arange(60) % 3)


def test_one_class():
    with pytest.raises(ValueError, match="one class only, 0;"):
        AdaClassWeight().fit(X, np.zeros(60, dtype=int))
    with pytest.raises(ValueError, match="positive sample_weight hold one class only"):
        AdaBoost().fit(X, Y, sample_weight=1 - Y)
    ordered = np.sort(Y)  # without shuffling, the last fold holds all cases of the rare class
    with pytest.raises(ValueError, match="one class only"):
        cross_val_predict(DiffBoost(), X, ordered, cv=KFold(4))


def test_rare_cases_misclassified_for_ever():
    deaf = DummyClassifier(strategy="constant", constant=0)
    with pytest.warns(
        ConvergenceWarning, match=r"all cases of the rare class \(1\) are still misclassified.*stopped"
    ) as seen:
        model = AdaClassWeight(deaf, rounds=500).fit(X, Y)
    assert len(seen) == 1
    assert model.stop_reason_ == "hopeless" and len(model.history_) < 20
    assert (model.predict(X) == 0).all()
    with pytest.warns(ConvergenceWarning, match="still misclassified"):
        model = DiffBoost(deaf, rounds=500).fit(X, Y)
    assert (model.predict(X) == 0).all() and (model.decision_function(X) == 0).all()
    with pytest.warns(ConvergenceWarning, match=r"no learner in 2 rounds got half of the rare class \(1\) right"):
        DiffBoost(deaf, rounds=2).fit(X, Y)


def test_a_learner_no_better_than_chance():
    wrong = DummyClassifier(strategy="constant", constant=1)
    with pytest.warns(ConvergenceWarning, match=r"no better than chance in the first round \(edge -0.5\)"):
        model = AdaBoost(wrong).fit(X, Y)
    assert (model.predict(X) == 1).all() and model.stop_reason_ == "no better than chance"


def test_a_search_around_a_learner_that_corrects_its_labels():
    search = GridSearchCV(BinaryGLMClassifier(), {"alpha": [0.0, 1.0]})
    with pytest.raises(ValueError, match=r"BinaryGLMClassifier in it corrects its labels.*put GridSearchCV around"):
        AdaClassWeight(search).fit(X, Y)
