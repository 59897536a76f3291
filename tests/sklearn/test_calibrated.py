"""CalibratedClassifier: scikit-learn's checks, every calibrator, prefit and cross-fitted, pipelines, routing, bad input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("sklearn", reason="scikit-learn is an extra")
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from gevglm.calibration import Beta, Isotonic, PiecewiseLogistic, Platt
from gevglm.sklearn import BinaryGLMClassifier, CalibratedClassifier
from gevglm.weighting import AdaClassWeight

RIDGE = BinaryGLMClassifier(alpha=1.0)
WORDS = ("platt", "beta", "isotonic", "piecewise", "asymmetric_laplace")


SEPARATED = "the check's few rows separate the classes: beta calibration has no finite estimate, and says so"
ALLOWED = {
    "beta": dict.fromkeys(
        (
            "check_positive_only_tag_during_fit",
            "check_sample_weights_shape",
            "check_sample_weights_not_overwritten",
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
            "check_pipeline_consistency",
            "check_estimators_pickle",
            "check_classifiers_classes",
            "check_fit2d_1feature",
        ),
        SEPARATED,
    ),
    # five folds of three cases; and more columns than rows, which the default learner refuses without a penalty
    "default": dict.fromkeys(
        (
            "check_fit2d_1feature",
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "too few rows, and said so",
    ),
}


def allowed(estimator):
    return ALLOWED["default"] if estimator.estimator is None else ALLOWED.get(estimator.method, {})


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        CalibratedClassifier(),
        # three folds, as scikit-learn's own calibrated classifier is checked with: some checks have three rows of a class
        *(CalibratedClassifier(RIDGE, method=w, cv=3) for w in ("platt", "isotonic", "asymmetric_laplace", "beta")),
    ],
    expected_failed_checks=allowed,
)
def test_the_checks_of_scikit_learn(estimator, check):
    state = np.random.get_state()  # noqa: NPY002 (some checks of scikit-learn draw from the global generator)
    try:
        check(estimator)
    finally:
        np.random.set_state(state)  # noqa: NPY002


@pytest.fixture(scope="module")
def rows():
    """Rows whose naive Bayes scores are overconfident: each column comes twice; 12 % events."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = np.where(rng.random(4000) < 1 / (1 + np.exp(2.5 - X @ [1.0, 0.7])), "ill", "healthy")
    return np.column_stack([X, X, X]), y


def loss(model, X, y):
    return log_loss(y, np.clip(model.predict_proba(X), 1e-9, 1 - 1e-9))


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("prefit", [False, True])
def test_every_calibrator_repairs(rows, word, prefit):
    X, y = rows
    naive = GaussianNB().fit(X[:1500], y[:1500])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the Laplace density of naive scores may end at a score
        if prefit:
            model = CalibratedClassifier(naive, method=word, cv="prefit").fit(X[1500:3000], y[1500:3000])
        else:
            model = CalibratedClassifier(GaussianNB(), method=word).fit(X[:3000], y[:3000])
    assert list(model.classes_) == ["healthy", "ill"]
    # isotonic probabilities may be exactly 0, which costs log loss
    most = 0.97 if word == "isotonic" else 0.85
    assert loss(model, X[3000:], y[3000:]) < most * loss(naive, X[3000:], y[3000:])
    if prefit:
        assert model.estimator_ is naive


def test_cross_fitted_by_hand(rows):
    X, y = rows
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = CalibratedClassifier(RIDGE, method=Platt(), cv=folds).fit(X, y)
    held_out = cross_val_predict(RIDGE, X, y, cv=folds, method="decision_function")
    platt = Platt().fit(held_out, (y == "ill").astype(int))
    assert_allclose(model.calibrator_.params, platt.params, rtol=1e-9)
    everywhere = clone(RIDGE).fit(X, y)
    assert_allclose(model.predict_proba(X)[:, 1], platt.predict(everywhere.decision_function(X)), rtol=1e-9)
    assert (model.predict(X) == np.where(model.predict_proba(X)[:, 1] > 0.5, "ill", "healthy")).all()


def test_smoothed_platt_is_scikit_learns_sigmoid(rows):
    X, y = rows
    svm = LinearSVC(random_state=0, dual=False)
    ours = CalibratedClassifier(svm, cv=3).fit(X, y)
    theirs = CalibratedClassifierCV(svm, method="sigmoid", cv=3, ensemble=False).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-4)


def test_isotonic_is_scikit_learns(rows):
    X, y = rows
    forest = RandomForestClassifier(10, max_depth=4, random_state=0)
    ours = CalibratedClassifier(forest, method="isotonic", cv=3).fit(X, y)
    theirs = CalibratedClassifierCV(forest, method="isotonic", cv=3, ensemble=False).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("labels", [(-1, 1), (False, True)], ids=str)
def test_labels_of_any_kind(rows, labels):
    X, y = rows[0][:600], (rows[1][:600] == "ill").astype(int)
    zero_one = CalibratedClassifier(RIDGE, cv=3).fit(X, y)
    model = CalibratedClassifier(RIDGE, cv=3).fit(X, np.array(labels)[y])
    assert model.classes_.tolist() == list(labels)
    assert_allclose(model.predict_proba(X), zero_one.predict_proba(X), rtol=1e-12)


def test_weights_are_repeated_rows(rows):
    X, y = rows[0][:600], rows[1][:600]
    weight = np.random.default_rng(1).integers(1, 3, 600)
    fitted = clone(RIDGE).fit(X, y)
    one = CalibratedClassifier(fitted, cv="prefit").fit(X, y, sample_weight=weight)
    other = CalibratedClassifier(fitted, cv="prefit").fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(one.calibrator_.params, other.calibrator_.params, rtol=1e-8)


def test_around_weighted_learners(rows):
    X, y = rows
    model = CalibratedClassifier(AdaClassWeight(RIDGE), cv=3).fit(X[:3000], y[:3000])
    plain = clone(RIDGE).fit(X[:3000], y[:3000])
    assert loss(model, X[3000:], y[3000:]) < 1.02 * loss(plain, X[3000:], y[3000:])


def test_pipelines_searches_pickles_and_frames(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcdef"))
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), CalibratedClassifier(GaussianNB()))
    search = GridSearchCV(
        pipeline, {"calibratedclassifier__method": ["platt", "isotonic", Beta(clip=1e-4)]}, cv=2, scoring="neg_log_loss"
    ).fit(frame, y)
    calibrated = search.best_estimator_[-1]
    assert list(calibrated.feature_names_in_) == list("abcdef")
    assert_allclose(pickle.loads(pickle.dumps(search)).predict_proba(frame), search.predict_proba(frame), rtol=1e-15)
    assert cross_val_predict(pipeline, frame, y, cv=2, method="predict_proba").shape == (4000, 2)
    given = PiecewiseLogistic(pieces=2, penalty=1.0)
    model = CalibratedClassifier(GaussianNB(), method=given, cv=2).fit(X, y)
    assert not hasattr(given, "n") and model.calibrator_.pieces == 2  # what was given stays unfitted
    assert "PiecewiseLogistic" in str(model.calibrator_.summary())


def test_routing_of_metadata(rows):
    X, y = rows
    groups = np.arange(len(y)) % 7
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    direct = CalibratedClassifier(RIDGE, cv=GroupKFold(3).split(X, y, groups)).fit(X, y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        model = CalibratedClassifier(RIDGE, cv=GroupKFold(3)).fit(X, y, sample_weight=weight, groups=groups)
        inner = CalibratedClassifier(RIDGE, cv=3).set_fit_request(sample_weight=True)
        scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=True)
        search = GridSearchCV(inner, {"method": ["platt"]}, cv=2, scoring=scorer).fit(X, y, sample_weight=weight)
    assert_allclose(model.calibrator_.params, direct.calibrator_.params, rtol=1e-10)
    assert search.best_estimator_.calibrator_.n == pytest.approx(weight.sum())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CalibratedClassifier(method="plat"), r"method='plat' is not known.*Did you mean 'platt'"),
        (CalibratedClassifier(method=3), r"method=3 is not a calibrator"),
        (CalibratedClassifier(cv="refit"), r"cv='refit' is not known; use one of 'prefit'"),
        (CalibratedClassifier(cv="prefit"), r"needs a fitted estimator, but none was given"),
        (CalibratedClassifier(GaussianNB(), cv="prefit"), r"not fitted"),
        (CalibratedClassifier(cv=50), r"50 folds need as many cases of each class, but class 'ill' has \d+"),
        (CalibratedClassifier(Perceptron(random_state=0), method="beta"), r"Perceptron has no predict_proba"),
    ],
)
def test_bad_options(rows, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(rows[0][:200], rows[1][:200])


def test_bad_rows(rows):
    X, y = rows
    with pytest.raises(ValueError, match="Only binary"):
        CalibratedClassifier().fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match=r"training rows of fold 1 hold one class only, \['healthy'\]"):
        CalibratedClassifier(GaussianNB(), cv=KFold(2)).fit(X, np.sort(y)[::-1])
    fitted = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"knows the labels .*'healthy', 'ill'.*rows to calibrate with have \[0, 1\]"):
        CalibratedClassifier(fitted, cv="prefit").fit(X, (y == "ill").astype(int))
    with pytest.raises(ValueError, match="groups"):
        CalibratedClassifier(GaussianNB(), method=Isotonic()).fit(X, y, groups=y)
