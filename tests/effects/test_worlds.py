"""Averages block by block: equal to those over whole design matrices, whichever columns a variable is in."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

import gevglm
from gevglm.calibration.bins import weighted_quantile
from gevglm.calibration.discrimination import area_under_roc, counts_by_score, share_of_higher
from gevglm.calibration.sample import scores
from gevglm.effects.curves import effect_curve
from gevglm.exceptions import InvalidOptionError

N = 20_000  # several blocks


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"x": rng.uniform(1, 3, N), "z": rng.standard_normal(N), "g": rng.choice(list("abc"), N)})
    return table.assign(y=(rng.random(N) < expit(-3 + 0.5 * table["x"] + 0.2 * (table["g"] == "b"))).astype(int))


@pytest.mark.parametrize("formula", ["y ~ x + z + g", "y ~ np.log(x) * g + z", "y ~ bs(x, df=4) + x:z + g"])
@pytest.mark.parametrize("engine", ["formulaic", "patsy"])
def test_risks_equal_means_of_predictions(data, formula, engine):
    res = gevglm.fit(formula, data, link="logit", formula_engine=engine)
    for at, changed in (([1.5, 2.5], [1.5, 2.5]), ("unit", [data["x"] - 0.5, data["x"] + 0.5])):
        inside = data["x"].between(1.5, 2.5) if at == "unit" else slice(None)
        found = res.risk("x", at, data=data[inside]).risks["estimate"]
        expected = [res.predict(data.assign(x=x)[inside]).mean() for x in changed]
        assert_allclose(found, expected, rtol=1e-12)
    curve = effect_curve(res, "x", by="g", values=[1.5, 2.0])
    expected = [res.predict(data.assign(x=x, g=g)).mean() for g in "abc" for x in (1.5, 2.0)]
    assert_allclose(curve.frame["risk"], expected, rtol=1e-12)


def test_columns_from_the_callers_scope_are_taken_whole(data):
    own = np.random.default_rng(6).standard_normal(N)
    res = gevglm.fit("y ~ x * own", data, link="logit")
    X = np.asarray(res.model.exog).copy()
    X[:, 1], X[:, 3] = 2.0, 2.0 * own
    assert_allclose(
        res.risk("x", [1.5, 2.0]).risks["estimate"].iloc[1], expit(X @ res.params.to_numpy()).mean(), rtol=1e-12
    )


def test_unknown_levels_and_undefined_values_are_named(data):
    res = gevglm.fit("y ~ np.log(x) + g", data, link="logit")
    with pytest.raises(InvalidOptionError, match="values has 'd', but the levels of 'g' are"):
        effect_curve(res, "g", values=["a", "d"])
    with pytest.warns(RuntimeWarning), pytest.raises(InvalidOptionError, match=f"x = -1, {N} of {N} rows"):
        effect_curve(res, "x", values=[2.0, -1.0])


@pytest.mark.parametrize("digits", [1, 12])
def test_auc_by_sorting_equals_that_by_counting(digits):
    rng = np.random.default_rng(7)
    score = rng.standard_normal(3000).round(digits)
    y = (rng.random(3000) < expit(score - 2)).astype(float)
    counted = area_under_roc(*counts_by_score(scores(y, score), "this")[1:])
    assert_allclose(share_of_higher(y, score, None), counted, rtol=1e-14)
    assert_allclose(share_of_higher(y, score, np.ones(3000)), counted, rtol=1e-14)


def test_quantiles_of_rows_that_count_alike_are_those_of_weights():
    values, shares = np.random.default_rng(8).standard_normal(501), np.linspace(0, 1, 21)
    assert_array_equal(weighted_quantile(values, np.ones(501), shares), np.quantile(values, shares))
    twice = weighted_quantile(np.repeat(values, 2), np.ones(1002), shares)
    assert_array_equal(weighted_quantile(values, np.full(501, 2.0), shares), twice)
