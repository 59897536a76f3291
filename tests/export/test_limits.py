"""Limits in JavaScript: those of get_prediction, for every link and whatever the columns are made of."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.export import scoring_formula
from gevglm.export.javascript import to_prediction
from gevglm.export.scoring import Limits
from tests.export.test_scoring import LINKS
from tests.support.javascript import plain, run

FORMULA = "y ~ bs(age, df=4) + rcs(bmi, 4)*sex + C(ward) + log(dose) + smoker*dose"
FITS = {
    "Firth": {"link": "logit", "bias": "firth"},
    "t": {"link": "logit", "use_t": True},
    "robust": {"link": "probit", "cov_type": "HC1"},
    "cauchit": {"link": "cauchit"},
    "cloglog": {"link": "cloglog"},
    "loglog": {"link": "loglog"},
    "canonical": {"xi": 0.5},
    "negative shape": {"xi": -0.3, "loss": "log"},
    "mirrored": {"link": "gevc", "xi": 0.3, "loss": "log"},
    "boundary": {"link": "log"},
    "population": {"link": "cloglog", "prevalence": 0.01},
    "weighted classes": {"link": "probit", "class_weight": "balanced", "loss": "log"},
    "penalised": {"link": "logit", "alpha": 1.0},
}


@pytest.fixture(scope="module")
def data():
    return rows_of(6, 3000)


def rows_of(seed, n):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20.0, 80.0, n),
            "bmi": rng.normal(27.0, 4.0, n),
            "dose": rng.integers(1, 9, n),
            "sex": rng.choice(["m", "f"], n),
            "smoker": rng.random(n) < 0.3,
            "ward": rng.integers(0, 3, n),
        }
    )
    linear = -2.6 + 0.02 * (frame["age"] - 50) + 0.4 * frame["smoker"]
    return frame.assign(y=(rng.random(n) < 1 / (1 + np.exp(-linear))).astype(int))


def predicted(source, frame):
    rows = json.dumps([plain(row) for row in frame.to_dict("records")])
    return pd.DataFrame(run(source, f"{rows}.map(prediction)"), dtype=float)


@pytest.mark.parametrize("name", FITS)
def test_limits_are_those_of_get_prediction(name, data):
    res = gevglm.fit(FORMULA, data, **FITS[name])
    new = rows_of(7, 1100)
    new = new[new["age"].between(data["age"].min(), data["age"].max())].head(1000)  # where the spline is defined
    found = predicted(res.to_javascript(alpha=0.1), new)
    expected = res.get_prediction(new).summary_frame(alpha=0.1).iloc[:, [0, 2, 3]]
    assert len(found) == 1000
    assert_allclose(found[["risk", "lower", "upper"]], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("link", ["gev", "gevc"])
def test_an_estimated_shape_is_part_of_the_limits(link, data):
    rng = np.random.default_rng(3)
    x = rng.standard_normal(4000)
    truth = {"gev": gevglm.links.GEV(0.3), "gevc": gevglm.links.GEVc(0.3)}[link]
    frame = pd.DataFrame({"x": x, "y": (rng.random(4000) < truth.inverse(-0.8 + 0.5 * x)).astype(int)})
    res = gevglm.fit("y ~ x", frame, link=link, loss="log", xi="ml")
    new = pd.DataFrame({"x": np.linspace(-2.0, 2.0, 101)})
    found, expected = predicted(res.to_javascript(alpha=0.05), new), res.get_prediction(new).summary_frame()
    assert_allclose(found[["lower", "upper"]], expected.iloc[:, [2, 3]], rtol=0, atol=1e-12)


@pytest.mark.parametrize("link", LINKS, ids=repr)
def test_every_link_has_its_limits(link):
    frame = pd.DataFrame({"x": np.linspace(-6.0, 6.0, 61), "y": np.arange(61) % 2})
    res = gevglm.fit("y ~ x", frame)
    covariance, params = np.array([[0.2, 0.05], [0.05, 0.1]]), np.array([0.1, 0.9])
    formula = scoring_formula(res.model.design.layout, params, link)
    found = predicted(to_prediction(formula, Limits(covariance, 1.5)), frame)
    X = np.column_stack([np.ones(61), frame["x"]])
    reach = 1.5 * np.sqrt(np.einsum("ij,jk,ik->i", X, covariance, X))
    assert_allclose(found["lower"], link.inverse(np.minimum(X @ params - reach, _top(link))), rtol=0, atol=1e-13)
    assert_allclose(found["upper"], link.inverse(np.minimum(X @ params + reach, _top(link))), rtol=0, atol=1e-13)


def _top(link):
    return 0.0 if isinstance(link, gevglm.links.Log) else np.inf


def test_limits_that_a_formula_does_not_have_are_refused(data):
    frame = data.assign(unit=np.arange(len(data)) // 40)
    res = gevglm.fit(
        "y ~ age", frame, cov_type="cluster", cov_kwds={"groups": "unit", "kind": "CR2"}, use_t="satterthwaite"
    )
    with pytest.raises(InvalidOptionError, match="Satterthwaite"):
        res.to_javascript(alpha=0.05)
    with pytest.raises(InvalidOptionError, match="xi='map'"):
        gevglm.fit("y ~ age", data, link="gev", loss="log", xi="map").to_javascript(alpha=0.05)
    with pytest.raises(InvalidOptionError, match="between 0 and 1"):
        gevglm.fit("y ~ age", data).to_javascript(alpha=5)
    apart = pd.DataFrame({"x": np.arange(20.0), "y": np.arange(20) > 9})
    with pytest.warns(gevglm.exceptions.SeparationWarning):
        res = gevglm.fit("y ~ x", apart)
    with pytest.raises(InvalidDataError, match="bias='firth'"):
        res.to_javascript(alpha=0.05)
