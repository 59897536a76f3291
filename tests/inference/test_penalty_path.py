"""Coefficients along a penalty."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import InvalidOptionError


def model(**options):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=500), "z": 100 * rng.normal(size=500)})
    data["y"] = (rng.random(500) < 1 / (1 + np.exp(1.5 - data["x"] - data["z"] / 200))).astype(int)
    return gevglm.BinaryGLM.from_formula("y ~ x + z", data, **options)


@pytest.mark.parametrize("options", [{}, {"xi": 0.2}, {"link": "cloglog"}])
@pytest.mark.parametrize("standardize", [False, True])
def test_a_path_is_made_of_single_fits(options, standardize):
    glm = model(**options)
    path = gevglm.penalty_path(glm, [0.0, 1.0, 30.0], standardize=standardize)
    for alpha in path.frame.index:
        assert_allclose(path.frame.loc[alpha], glm.fit(alpha=alpha, standardize=standardize).params, rtol=1e-6)


def test_coefficients_shrink_to_the_null_model():
    glm = model()
    frame = gevglm.penalty_path(glm).frame
    assert (frame["x"].abs().diff().dropna() <= 1e-9).all()
    strong = gevglm.penalty_path(glm, [1e9], standardize=True).frame.iloc[0]
    assert_allclose(strong["Intercept"], np.log(glm.endog.mean() / (1 - glm.endog.mean())), rtol=1e-4)


def test_a_path_is_drawn_without_the_constant():
    pytest.importorskip("matplotlib")
    axes = gevglm.penalty_path(model(), [0.0, 1.0, 10.0]).plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["x", "z"]


def test_paths_without_penalties_or_with_a_shape_to_choose_are_refused():
    with pytest.raises(InvalidOptionError, match="alphas is empty"):
        gevglm.penalty_path(model(), [])
    with pytest.raises(InvalidOptionError, match="not negative"):
        gevglm.penalty_path(model(), [-1.0])
    with pytest.raises(InvalidOptionError, match="fixed shape"):
        gevglm.penalty_path(model(xi="ml"))
