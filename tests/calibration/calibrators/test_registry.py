"""One meaning of a word everywhere, and calibrators from outside the package."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit

import gevglm
from gevglm import calibration
from gevglm.calibration import Calibrator, Logistic
from gevglm.calibration.calibrators import CALIBRATORS, calibrator_of
from gevglm.exceptions import InvalidOptionError


class Shifted(Calibrator):
    """From outside the package: moves the odds of probabilities until as many events are expected as happened."""

    of_probabilities = True

    def _fit(self, sample):
        if not ((sample.p > 0.0) & (sample.p < 1.0)).all():
            raise AssertionError("not probabilities")
        expected = sample.mean(sample.p)
        self.shift = logit(sample.rate) - logit(expected)

    def _log_odds(self, scores):
        return logit(scores) + self.shift


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3000, 2))
    y = (rng.random(3000) < expit(x[:, 0] - 2.0)).astype(int)
    return pd.DataFrame({"y": y, "a": x[:, 0], "b": x[:, 1]})


def test_every_calibrator_has_a_word_that_makes_it():
    public = {name for name in calibration.__all__ if isinstance(getattr(calibration, name), type)} - {"Calibrator"}
    assert {type(calibrator_of(word)).__name__ for word in CALIBRATORS} == public
    assert all(word == made.word == calibrator_of(word).word for word, made in CALIBRATORS.items())


def test_unknown_words_and_things_that_are_not_calibrators_are_refused():
    with pytest.raises(InvalidOptionError, match="Did you mean 'logistic'"):
        calibrator_of("logistc")
    with pytest.raises(InvalidOptionError, match="is not a calibrator; give one of"):
        calibrator_of(Logistic)


def test_a_calibrator_with_a_word_is_known_by_it(rows):
    class Named(Shifted):
        word = "shifted"

    try:
        p = rows["a"].rank(pct=True).clip(0.01, 0.99)
        found = gevglm.fit("y ~ a", rows, link="logit").recalibrate(rows.assign(a=p), method="shifted")
        assert isinstance(calibrator_of("shifted"), Named)
        assert_allclose(found.predict(rows.assign(a=p)).mean(), rows["y"].mean(), rtol=1e-2)
    finally:
        del CALIBRATORS["shifted"]


@pytest.mark.parametrize("word", CALIBRATORS)
def test_a_word_means_the_same_in_results_and_in_scikit_learn(word, rows):
    """The logit of a logistic regression is its decision function, so that both see the same scores."""
    pytest.importorskip("sklearn")
    from gevglm.sklearn import BinaryGLMClassifier, CalibratedClassifier

    X, y = rows[["a", "b"]].to_numpy(), rows["y"].to_numpy()
    prefit = BinaryGLMClassifier(link="logit").fit(X, y)
    theirs = CalibratedClassifier(prefit, method=word, cv="prefit").fit(X, y)
    ours = gevglm.fit("y ~ a + b", rows, link="logit").recalibrate(method=word)
    assert type(ours.calibrator) is type(theirs.calibrator_)
    assert_allclose(ours.predict(), theirs.predict_proba(X)[:, 1], rtol=1e-6, atol=1e-9)


def test_a_calibrator_of_probabilities_from_outside_recalibrates_a_fit(rows):
    fitted = gevglm.fit("y ~ a + b", rows, link="probit")
    half = rows.assign(y=rows["y"] * (np.arange(len(rows)) % 2))
    found = fitted.recalibrate(half, Shifted())
    assert found.predict(half).mean() == pytest.approx(half["y"].mean(), rel=0.1)
    assert_allclose(found.predict(half), Shifted().fit(fitted.predict(half), half["y"]).predict(fitted.predict(half)))


@pytest.mark.parametrize("cv", [3, "prefit"])
def test_a_calibrator_of_probabilities_from_outside_serves_a_classifier(rows, cv):
    linear_model = pytest.importorskip("sklearn.linear_model")
    from gevglm.sklearn import CalibratedClassifier

    X, y = rows[["a", "b"]].to_numpy(), rows["y"].to_numpy()
    classifier = linear_model.LogisticRegression(class_weight="balanced")
    classifier = classifier.fit(X, y) if cv == "prefit" else classifier
    model = CalibratedClassifier(classifier, method=Shifted(), cv=cv).fit(X, y)
    raw = model.estimator_.predict_proba(X)[:, 1]
    assert raw.mean() > 2.0 * y.mean()
    assert_allclose(model.predict_proba(X)[:, 1], expit(logit(raw) + model.calibrator_.shift))


def test_a_calibrator_from_outside_is_cross_validated(rows):
    p = expit(rows["a"].to_numpy())
    found = calibration.cross_validated(lambda p, y: Shifted().fit(p, y), p, rows["y"], folds=4, rng=0)
    assert found.mean() == pytest.approx(rows["y"].mean(), rel=0.3)
    assert_allclose(logit(found), logit(p) - 1.9, atol=0.4)
