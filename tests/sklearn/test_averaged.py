"""The average over links as a scikit-learn estimator: scikit-learn's own checks, equality with average_links, pipelines, routing."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gevglm

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is an extra")
from scipy.sparse import csr_matrix  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.metrics import get_scorer  # noqa: E402
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from gevglm.exceptions import InvalidDataError  # noqa: E402
from gevglm.sklearn import AveragedLinksClassifier  # noqa: E402

NOT_HERE = {
    # class weights are corrected for: the probabilities, hence the labels, are those of the population
    "check_class_weight_classifiers": "predictions are corrected for class weights",
}
FEW = ["logit", "cloglog"]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [AveragedLinksClassifier(FEW, folds=2), AveragedLinksClassifier(FEW, folds=2, alpha=1.0, criterion="brier")],
    expected_failed_checks=lambda estimator: NOT_HERE,
)
def test_the_checks_of_scikit_learn(estimator, check):
    state = np.random.get_state()  # noqa: NPY002 (some checks of scikit-learn draw from the global generator)
    try:
        check(estimator)
    finally:
        np.random.set_state(state)  # noqa: NPY002


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    return X, np.where(rng.random(600) < 1 / (1 + np.exp(2 - X[:, 0])), "yes", "no")


def test_it_is_average_links_with_a_constant(rows):
    X, y = rows
    ours = AveragedLinksClassifier().fit(X, y)
    other = gevglm.average_links((y == "yes").astype(float), np.column_stack([np.ones(len(X)), X]))
    assert_allclose(ours.predict_proba(X)[:, 1], other.predict(), rtol=1e-12)
    assert_allclose(ours.weights_, other.weights["weight"])
    assert ours.classes_.tolist() == ["no", "yes"] and ((ours.predict(X) == "yes") == (other.predict() > 0.5)).all()
    assert_allclose(AveragedLinksClassifier(FEW).fit(csr_matrix(X), y).predict_proba(csr_matrix(X)),
                    AveragedLinksClassifier(FEW).fit(X, y).predict_proba(X), rtol=1e-6)  # fmt: skip


def test_weights_are_repeated_rows_and_labels_have_class_weights(rows):
    X, y = rows
    whole = AveragedLinksClassifier(["logit"], alpha=0).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    counted = AveragedLinksClassifier(["logit"], alpha=0).fit(X, y, sample_weight=np.full(len(X), 2))
    assert_allclose(counted.predict_proba(X), whole.predict_proba(X), rtol=1e-6)
    weighted = AveragedLinksClassifier(FEW, class_weight={"yes": 5.0}).fit(X, y)
    assert abs(weighted.predict_proba(X)[:, 1].mean() - (y == "yes").mean()) < 0.02  # those of the population
    with pytest.raises(InvalidDataError, match="class_weight names"):
        AveragedLinksClassifier(FEW, class_weight={"maybe": 5.0}).fit(X, y)


def test_pickles_are_without_rows_and_pipelines_route_clusters(rows):
    X, y = rows
    model = AveragedLinksClassifier(FEW).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict_proba(X), model.predict_proba(X))
    assert len(pickle.dumps(model)) < X.nbytes * 6 and model.average_.predict().shape == (len(X),)
    with pytest.raises(InvalidDataError, match="need the rows"):
        again.average_.predict()
    towns = np.arange(len(X)) // 20
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(model).set_fit_request(groups=True, sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asked)
        scorer = get_scorer("roc_auc").set_score_request(sample_weight=True)
        params = {"groups": towns, "sample_weight": np.ones(len(X))}
        scored = cross_validate(pipeline, X, y, cv=GroupKFold(3), params=params, scoring=scorer, error_score="raise")
    assert (scored["test_score"] > 0.5).all()
    search = GridSearchCV(AveragedLinksClassifier(FEW), {"criterion": ["log_loss", "brier"]}, cv=2, error_score="raise")
    assert search.fit(X, y).best_params_["criterion"] in ("log_loss", "brier")
