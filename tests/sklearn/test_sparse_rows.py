"""Sparse rows in pipelines: the encoder's output goes through every estimator as it is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from gevglm.sklearn import BinaryGLMClassifier, CalibratedClassifier
from gevglm.weighting import AdaClassWeight, RatioWeight

RNG = np.random.default_rng(0)
LEVELS = RNG.choice(list("abcdef"), (1_500, 2))
Y = RNG.random(1_500) < np.where(LEVELS[:, 0] == "a", 0.3, 0.1)
ESTIMATORS = {
    "regression": BinaryGLMClassifier(link="logit", alpha=0.5),
    "cloglog": BinaryGLMClassifier(link="cloglog", alpha=0.1),
    "calibrated": CalibratedClassifier(BinaryGLMClassifier(link="logit", alpha=0.5), cv=3),
    "weighted": RatioWeight(BinaryGLMClassifier(link="logit", alpha=0.5)),
    "adaptive": AdaClassWeight(BinaryGLMClassifier(link="logit", alpha=0.5)),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_pipeline_with_an_encoder(name):
    fits = [
        make_pipeline(OneHotEncoder(sparse_output=output), ESTIMATORS[name]).fit(LEVELS, Y) for output in (True, False)
    ]
    found, expected = (pipeline.predict_proba(LEVELS) for pipeline in fits)
    assert_allclose(found, expected, rtol=1e-9)


def test_the_design_stays_sparse():
    rows = OneHotEncoder(drop="first").fit_transform(LEVELS)
    model = BinaryGLMClassifier(link="logit").fit(rows, Y)
    assert sparse.issparse(model.results_.model.exog)
    assert model.results_.model.exog_names[:2] == ["const", "x0"]
    dense = BinaryGLMClassifier(link="logit").fit(rows.toarray(), Y)
    assert_allclose(model.coef_, dense.coef_, rtol=1e-10)
    assert_allclose(
        model.decision_function(rows.tocsc()), dense.decision_function(rows.toarray()), rtol=1e-9, atol=1e-12
    )
    assert "const" in str(model.results_.summary())
