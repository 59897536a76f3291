"""Comparisons see the names of whoever asks for them, and none of their own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.datasets import simulate_study


def test_formulas_of_comparisons_name_the_callers_objects():
    def halved(x):
        return x / 2

    center = 3.0  # noqa: F841
    study = simulate_study(n=800, rng=3)
    found = gevglm.fit_links("event ~ halved(age - center) + smoker", study, links=["logit"], folds=2)
    alone = gevglm.fit("event ~ halved(age - center) + smoker", study, link="logit")
    assert_allclose(found.results["logit"].params, alone.params)


def test_names_of_the_package_are_not_lent_to_formulas():
    study = simulate_study(n=300, rng=3)
    with pytest.raises(gevglm.exceptions.GevglmError, match="'folds', not in the data"):
        gevglm.fit_links("event ~ age + folds", study, links=["logit"], folds=2)
    assert np.isfinite(gevglm.BinaryGLM.from_formula("event ~ age", study, link="logit").fit().llf)
