"""What users meet: labels of any kind, probabilities, the trade-off, pipelines, routing, pictures."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("sklearn", reason="scikit-learn is an extra")
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import brier_score_loss, get_scorer, log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gevglm.datasets import simulate_study
from gevglm.sklearn import BinaryGLMClassifier, CalibratedClassifier
from gevglm.weighting import CSB1, CSB2, AdaBoost, AdaC1, AdaC2, AdaC3, AdaClassWeight, AdaCost, DiffBoost, RatioWeight

ALL = (AdaClassWeight, DiffBoost, RatioWeight, AdaBoost, AdaC1, AdaC2, AdaC3, AdaCost, CSB1, CSB2)
LEARNED = (AdaClassWeight, DiffBoost, RatioWeight)


def small(method, learner=None):
    return method(learner) if method is RatioWeight else method(learner, rounds=5)


@pytest.fixture(scope="module")
def few_rows(rare_rows):
    X, y = rare_rows
    return X[:1500], y[:1500]


# -- probabilities -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", LEARNED)
@pytest.mark.parametrize("learner", [None, LogisticRegression(solver="newton-cholesky")], ids=["ours", "theirs"])
def test_corrected_probabilities_are_as_good_as_unweighted_ones(rare_rows, method, learner):
    X, y = rare_rows
    train, test = slice(0, 12_000), slice(12_000, None)
    plain = RatioWeight(learner, ratio=1.0).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    model = method(learner).fit(X[train], y[train])
    corrected = model.predict_proba(X[test])[:, 1]
    raw = model.set_params(corrected=False).predict_proba(X[test])[:, 1]
    for loss in (brier_score_loss, log_loss):
        assert loss(y[test], corrected) < 1.01 * loss(y[test], plain)
        assert loss(y[test], raw) > 3.0 * loss(y[test], plain)


@pytest.mark.parametrize("method", [*LEARNED, AdaBoost])
@pytest.mark.parametrize("loss", ["log", "canonical"])
@pytest.mark.parametrize("around", [lambda learner: learner, lambda learner: make_pipeline(StandardScaler(), learner)])
def test_corrected_probabilities_of_other_links_are_those_of_the_population(method, loss, around):
    data = simulate_study(20_000, rng=0)
    X, y = data[["age", "smoker"]].to_numpy(dtype=float), data["event"].to_numpy()
    learner = around(BinaryGLMClassifier(xi=0.5, loss=loss))
    plain = clone(learner).fit(X, y).predict_proba(X)[:, 1]
    weighted = small(method, learner).fit(X, y).predict_proba(X)[:, 1]
    assert np.abs(weighted - data["risk"]).mean() < 1.1 * np.abs(plain - data["risk"]).mean()


@pytest.mark.parametrize("labels", [(0, 1), ("rare", "usual")], ids=str)
@pytest.mark.parametrize(
    "words", [{"link": "cloglog"}, {"link": "probit"}, {"link": "logit", "fit_intercept": False}], ids=str
)
def test_a_learner_trained_under_class_weights_is_the_fit_with_class_weights(few_rows, labels, words):
    X, y = few_rows
    y = np.array(labels)[y if labels[0] == 0 else 1 - y]
    model = RatioWeight(BinaryGLMClassifier(**words)).fit(X, y)
    direct = BinaryGLMClassifier(class_weight=model.class_weight_, **words).fit(X, y)
    assert_allclose(model.predict_proba(X), direct.predict_proba(X), rtol=1e-6, atol=1e-12)
    raw = model.set_params(corrected=False).predict_proba(X)
    assert_allclose(raw[:, 1], direct.results_.predict(direct._design(X), which="fitted"), rtol=1e-6)
    assert ((raw[:, 1] > 0.5) == (model.predict(X) == labels[1])).all()
    assert ((model.decision_function(X) > 0) == (raw[:, 1] > 0.5)).all()


def test_a_shape_by_maximum_likelihood_under_class_weights_is_that_of_the_population():
    data = simulate_study(20_000, rng=0)
    X, y = data[["age", "smoker"]].to_numpy(dtype=float), data["event"].to_numpy()
    learner = BinaryGLMClassifier(xi="ml", loss="log", search_kwds={"grid": np.linspace(0, 1, 5)})
    one = RatioWeight(learner).fit(X, y).estimator_.results_.xi
    other = clone(learner).set_params(class_weight="balanced").fit(X, y).results_.xi
    assert one == pytest.approx(other, abs=1e-3)


def test_the_weights_in_force_are_those_undone(few_rows):
    X, y = few_rows
    model = AdaClassWeight().fit(X, y)
    p = model.estimator_.predict_proba(X)[:, 1]
    odds = p / (1 - p) * model.class_weight_[0] / model.class_weight_[1]
    assert_allclose(model.predict_proba(X)[:, 1], odds / (1 + odds), rtol=1e-10)
    direct = BinaryGLMClassifier(link="logit").fit(
        X, y, sample_weight=np.where(y == 1, model.class_weight_[1], model.class_weight_[0])
    )
    assert_allclose(model.estimator_.coef_, direct.coef_, rtol=1e-8)
    assert model.history_[["weight_main", "weight_rare"]].iloc[-1].tolist() == pytest.approx(
        list(model.class_weight_.values())
    )


def test_a_learner_without_probabilities_gives_none(few_rows):
    X, y = few_rows
    model = AdaClassWeight(SVC(random_state=0)).fit(X[:400], y[:400])
    assert not hasattr(model, "predict_proba")
    assert ((model.decision_function(X) > 0) == (model.predict(X) == 1)).all()
    forest = AdaClassWeight(RandomForestClassifier(5, max_depth=2, random_state=0)).fit(X, y)
    assert ((forest.decision_function(X) > 0) == (forest.predict(X) == 1)).all()


# -- trade-off and weights -----------------------------------------------------------------------


def test_the_trade_off_is_under_control(rare_rows):
    X, y = rare_rows
    rates = []
    for tradeoff in (4.0, 1.0, 0.25):
        says = AdaClassWeight(tradeoff=tradeoff).fit(X, y).predict(X)
        rates.append((says[y == 1].mean(), says[y == 0].mean()))
    true, false = np.transpose(rates)
    assert (np.diff(true) > 0.03).all() and (np.diff(false) > 0.03).all()


def test_ratio_weights_are_balanced_class_weights(few_rows):
    X, y = few_rows
    theirs = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, class_weight="balanced").fit(X, y)
    model = RatioWeight().fit(X, y)
    assert_allclose(model.estimator_.coef_, theirs.coef_, rtol=1e-6)
    assert model.class_weight_[1] == pytest.approx((y == 0).sum() / (y == 1).sum())


def test_a_learner_with_class_weights_only(few_rows):
    X, y = few_rows

    class ByClass(LogisticRegression):
        def fit(self, X, y):
            return super().fit(X, y)

    one = AdaClassWeight(ByClass(solver="newton-cholesky")).fit(X, y)
    other = AdaClassWeight(LogisticRegression(solver="newton-cholesky")).fit(X, y)
    assert_allclose(one.history_, other.history_, rtol=1e-6)


# -- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("labels", [("ham", "spam"), (-1, 1), ("yes", "no"), (False, True)], ids=str)
def test_labels_of_any_kind(few_rows, method, labels):
    X, y = few_rows
    rare = labels[1]
    zero_one = small(method).fit(X, y)
    model = small(method).fit(X, np.array(labels)[y])
    assert model.rare_ == rare
    assert ((model.predict(X) == rare) == (zero_one.predict(X) == 1)).all()
    column = list(model.classes_).index(rare)
    assert_allclose(model.predict_proba(X)[:, column], zero_one.predict_proba(X)[:, 1], rtol=1e-6)
    sign = 1 if column else -1
    assert_allclose(sign * model.decision_function(X), zero_one.decision_function(X), rtol=1e-6, atol=1e-9)


# -- scikit-learn --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ALL)
def test_clones_pickles_and_history(few_rows, method):
    X, y = few_rows
    model = small(method).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict_proba(frame), model.predict_proba(frame), rtol=1e-15)
    assert clone(model).get_params() == model.get_params()
    assert isinstance(model.history_, pd.DataFrame) and model.history_.index[0] == 1
    assert {"weight_rare", "weight_main", "error_rare", "error_main"} <= set(model.history_)


def test_pipelines_and_searches(few_rows):
    X, y = few_rows
    base = make_pipeline(StandardScaler().set_output(transform="pandas"), LogisticRegression())
    search = GridSearchCV(
        make_pipeline(StandardScaler(), AdaClassWeight(base, rounds=5)),
        {"adaclassweight__tradeoff": [0.5, 2.0], "adaclassweight__estimator__logisticregression__C": [1.0]},
        scoring="balanced_accuracy",
        cv=3,
    ).fit(X, y)
    assert search.best_params_["adaclassweight__tradeoff"] in (0.5, 2.0)
    p = cross_val_predict(DiffBoost(base, rounds=5), X, y, method="predict_proba", cv=3)
    assert p.shape == (len(y), 2)
    boosted = AdaBoost(base, rounds=2).fit(X, y)  # weights of rows reach the last step
    direct = AdaBoost(LogisticRegression(), rounds=2).fit(StandardScaler().fit_transform(X), y)
    assert_allclose(boosted.history_, direct.history_, rtol=1e-6)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_texts(kind):
    texts = kind(["free money", "money now", "free now", *["lunch at noon", "free at noon", "now a meeting"] * 5])
    y = np.array(["spam"] * 3 + ["ham"] * 15)
    learner = make_pipeline(CountVectorizer(), LogisticRegression(C=100.0))
    for model in (AdaClassWeight(learner), AdaBoost(learner, rounds=3), CalibratedClassifier(learner, cv=3)):
        model.fit(texts, y)
        assert model.predict_proba(texts).shape == (18, 2)
        assert (model.predict(texts) == y).mean() > 0.8
    with pytest.raises(ValueError, match="Expected 2D array"):
        AdaClassWeight().fit(np.arange(18.0), y)


def test_routing_of_metadata(few_rows):
    X, y = few_rows
    weight = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    direct = AdaClassWeight().fit(X, y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer("accuracy").set_score_request(sample_weight=False)
        weighted = AdaClassWeight().set_fit_request(sample_weight=True)
        search = GridSearchCV(weighted, {"tradeoff": [1.0]}, cv=2, scoring=scorer).fit(X, y, sample_weight=weight)
        learner = SGDClassifier(loss="log_loss", random_state=0).set_fit_request(coef_init=True, intercept_init=False)
        AdaClassWeight(learner, rounds=1).fit(X, y, coef_init=np.zeros((1, 3)))
        base = make_pipeline(StandardScaler(), LogisticRegression().set_fit_request(sample_weight=True))
        base.steps[0][1].set_fit_request(sample_weight=False)
        DiffBoost(base).fit(X, y)
    assert_allclose(search.best_estimator_.history_, direct.history_, rtol=1e-9)
    with pytest.raises(ValueError, match="coef_init"):
        AdaClassWeight(learner).fit(X, y, coef_init=np.zeros((1, 3)))


def test_the_picture(few_rows):
    pytest.importorskip("matplotlib", reason="matplotlib is an extra")
    X, y = few_rows
    model = DiffBoost(rounds=5, early_stopping=False).fit(X, y)
    ax = model.plot_history()
    assert_allclose(ax.get_lines()[0].get_ydata(), model.history_["training_error_rare"])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any("bound" in label for label in labels) and any("weight" in label for label in labels)


@pytest.mark.parametrize("module", ["gevglm.weighting", "gevglm.sklearn"])
def test_without_scikit_learn_one_sentence_helps(module):
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        f"try:\n    import {module}\nexcept Exception as error:\n    print(type(error).__name__, error)"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said == f"GevglmError {module} needs scikit-learn 1.8 or later: pip install 'gevglm[sklearn]'.\n"
