"""The scikit-learn estimator: scikit-learn's own checks, equality with fit, pipelines."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is an extra")
from sklearn.base import clone  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from gevglm.sklearn import BinaryGLMClassifier  # noqa: E402

NOT_HERE = {
    # class weights are corrected for: the probabilities, hence the labels, are those of the population
    "check_class_weight_classifiers": "predictions are corrected for class weights",
}
SATURATED = NOT_HERE | {
    # more columns than rows separate the outcomes completely: where the iteration to infinity ends is a matter of rounding
    "check_sample_weight_equivalence_on_dense_data": "estimates are infinite",
    "check_sample_weight_equivalence_on_sparse_data": "estimates are infinite",
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        BinaryGLMClassifier(),
        BinaryGLMClassifier(alpha=1.0),
        BinaryGLMClassifier(xi=0.3),
        BinaryGLMClassifier(bias="firth"),
    ],
    expected_failed_checks=lambda estimator: NOT_HERE if estimator.xi is None else SATURATED,
)
def test_the_checks_of_scikit_learn(estimator, check):
    state = np.random.get_state()  # noqa: NPY002 (some checks of scikit-learn draw from the global generator)
    try:
        check(estimator)
    finally:
        np.random.set_state(state)  # noqa: NPY002


def rows(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(2 - X[:, 0])), "yes", "no")
    return X, y


def test_the_logit_equals_logistic_regression():
    X, y = rows()
    ours, theirs = (
        BinaryGLMClassifier().fit(X, y),
        LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky").fit(X, y),
    )
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6)
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"xi": 0.3},
        {"link": "probit"},
        {"bias": "firth"},
        {"alpha": 2.0},
        {"xi": "ml"},
        {"class_weight": "balanced"},
        {"class_weight": "balanced", "link": "cloglog"},
        {"prevalence": 0.02},
        {"prevalence": 0.02, "sampling": "weight", "link": "probit"},
        {"cov_type": "HC3"},
        {"cov_type": "cluster", "cov_kwds": {"groups": np.arange(2000) // 10}},
    ],
    ids=str,
)
def test_it_is_the_fit_of_the_same_options(options):
    X, y = rows()
    model = BinaryGLMClassifier(**options).fit(X, y)
    res = gevglm.fit((y == "yes").astype(float), np.column_stack([np.ones(len(X)), X]), **options)
    assert_allclose(np.append(model.intercept_, model.coef_), res.params, rtol=1e-9)
    assert_allclose(model.results_.bse, res.bse, rtol=1e-7)
    assert_allclose(model.predict_proba(X)[:, 1], res.predict(), rtol=1e-9)
    assert ((model.decision_function(X) > 0) == (model.predict(X) == "yes")).all()


@pytest.mark.parametrize("labels", [(-1, 1), (False, True), ("a", "b"), (2.0, 7.0)], ids=str)
def test_labels_of_any_kind(labels):
    X, y = rows(400)
    zero_one = BinaryGLMClassifier().fit(X, (y == "yes").astype(int))
    model = BinaryGLMClassifier().fit(X, np.array(labels)[(y == "yes").astype(int)])
    assert model.classes_.tolist() == list(labels)
    assert_allclose(model.predict_proba(X), zero_one.predict_proba(X), rtol=1e-12)
    assert ((model.predict(X) == labels[1]) == (zero_one.predict(X) == 1)).all()


def test_pickles_carry_no_rows():
    X, y = rows(5000)
    fitted = BinaryGLMClassifier(xi=0.1).fit(X, y)
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(fitted))))
    assert len(pickle.dumps(fitted)) < 30_000
    assert_allclose(again.predict_proba(X), fitted.predict_proba(X), rtol=1e-15)
    assert str(again.results_.summary()) == str(fitted.results_.summary())
    assert len(fitted.results_.fittedvalues) == 5000  # the object at hand keeps them


def test_names_of_columns_reach_the_summary():
    X, y = rows()
    model = BinaryGLMClassifier().fit(pd.DataFrame(X, columns=["age", "dose", "sex"]), y)
    assert list(model.feature_names_in_) == ["age", "dose", "sex"]
    summary = str(model.results_.summary())
    assert "dose" in summary
    assert "Event:" in summary and "yes" in summary.split("Event:")[1].splitlines()[0]


def test_it_lives_in_pipelines_and_searches():
    X, y = rows(600)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), BinaryGLMClassifier(xi=0.1)),
        {"binaryglmclassifier__xi": [-0.2, 0.1]},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, y)
    assert search.best_params_["binaryglmclassifier__xi"] in (-0.2, 0.1)
    assert cross_val_predict(BinaryGLMClassifier(), X, y, method="predict_proba", cv=3).shape == (600, 2)
    fitted = BinaryGLMClassifier(bias="firth").fit(X, y)
    assert_allclose(pickle.loads(pickle.dumps(fitted)).predict_proba(X), fitted.predict_proba(X))
    assert clone(fitted).get_params() == fitted.get_params()


def test_sample_weights_are_repeated_rows():
    X, y = rows(400)
    weight = np.random.default_rng(1).integers(0, 3, 400)
    one = BinaryGLMClassifier().fit(X, y, sample_weight=weight)
    other = BinaryGLMClassifier().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(one.coef_, other.coef_, rtol=1e-7)


def test_class_weights_are_corrected_for():
    X, y = rows(20_000)
    plain = BinaryGLMClassifier().fit(X, y).predict_proba(X)[:, 1]
    for weights in ("balanced", {"yes": 5.0, "no": 1.0}):
        weighted = BinaryGLMClassifier(class_weight=weights).fit(X, y).predict_proba(X)[:, 1]
        assert_allclose(weighted.mean(), plain.mean(), rtol=0.05)


@pytest.mark.parametrize("loss", ["log", "canonical"])
def test_class_weights_of_any_link_leave_risks_in_the_population(loss):
    data = gevglm.datasets.simulate_study(20_000, rng=0)
    X, y = data[["age", "smoker"]].to_numpy(dtype=float), data["event"].to_numpy()
    fits = [BinaryGLMClassifier(xi=0.5, loss=loss, class_weight=weights).fit(X, y) for weights in (None, "balanced")]
    plain, weighted = (np.abs(model.predict_proba(X)[:, 1] - data["risk"]).mean() for model in fits)
    assert weighted < 1.1 * plain
    assert_allclose(fits[1].coef_, fits[0].coef_, rtol=0.2)


@pytest.mark.parametrize(("labels", "message"), [(["a", "b", "c"], "Only binary"), (["a"], "one class")])
def test_other_than_two_labels_are_refused(labels, message):
    X, _ = rows(60)
    with pytest.raises(ValueError, match=message):
        BinaryGLMClassifier().fit(X, np.resize(labels, 60))


def test_unknown_labels_in_class_weights_are_named():
    X, y = rows(60)
    with pytest.raises(ValueError, match=r"\['maybe'\].*\['no', 'yes'\]"):
        BinaryGLMClassifier(class_weight={"maybe": 2.0}).fit(X, y)


def test_the_shape_is_chosen_by_held_out_rows():
    X, y = rows(800)
    options = {"grid": [-0.3, 0.0, 0.3], "folds": 3, "refine": False}
    model = BinaryGLMClassifier(xi="cv", search_kwds=options).fit(X, y)
    assert model.results_.xi in (-0.3, 0.0, 0.3)
    assert clone(model).get_params()["xi"] == "cv"


def test_routing_of_sample_weights_and_pandas_output():
    X, y = rows(600)
    weight = np.random.default_rng(1).integers(1, 3, 600).astype(float)
    direct = BinaryGLMClassifier(alpha=1.0).fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        model = BinaryGLMClassifier(alpha=1.0).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_output(transform="pandas").set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y, sample_weight=weight)
    assert_allclose(pipeline[-1].coef_, direct.coef_, rtol=1e-8)
    assert list(pipeline[-1].feature_names_in_) == ["a", "b", "c"]


def test_one_class_in_a_fold_is_refused():
    X, y = rows(200)
    with pytest.raises(ValueError, match="one class only"):
        cross_val_predict(BinaryGLMClassifier(), X, np.sort(y), cv=KFold(2))


def test_a_penalty_is_searched_with_weights_that_are_not_counts():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(400, 2)), rng.uniform(0.2, 3.0, 400)
    y = (rng.random(400) < 1 / (1 + np.exp(1 - X[:, 0]))).astype(int)
    found = BinaryGLMClassifier(link="logit", alpha="cv").fit(X, y, sample_weight=weight)
    penalty = {"alpha": found.results_.alpha, "standardize": True}
    given = BinaryGLMClassifier(link="logit", **penalty).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found.coef_, given.coef_)
    twice = BinaryGLMClassifier(link="logit", alpha="cv").fit(X, y, sample_weight=np.full(400, 2.0))
    assert twice.results_.model._has_freq_weights and found.results_.model._has_var_weights
