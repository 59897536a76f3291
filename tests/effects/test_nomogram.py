"""Nomograms: points by rms, totals that give the predicted risk, and what has no points."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.effects.nomogram import pretty
from gevglm.exceptions import InvalidOptionError

GOLDEN = Path(__file__).parents[1] / "golden"
STORED = json.loads((GOLDEN / "nomogram.json").read_text())
DATA = pd.read_csv(GOLDEN / "nomogram.csv")


@pytest.mark.parametrize("stored", STORED["models"], ids=lambda stored: stored["formula"])
def test_points_are_those_of_rms(stored):
    found = gevglm.fit("y ~ " + stored["formula"], DATA, link="logit").nomogram()
    axes = dict(iter(found.points.groupby(["variable", "given"])))
    assert len(axes) == len(stored["axes"])
    for axis in stored["axes"]:
        rows = axes[axis["variable"], ", ".join(f"{name} = {level}" for name, level in axis["given"].items())]
        if isinstance(axis["values"][0], str):
            assert rows["value"].tolist() == axis["values"]
        else:
            assert_allclose(rows["value"].to_numpy(float), axis["values"], rtol=1e-12)
        assert_allclose(rows["points"], axis["points"], rtol=1e-8, atol=1e-8)
    assert_allclose(found.totals["points"], stored["total"], rtol=1e-12)
    assert_allclose(found.linear["linear"], stored["linear"], rtol=1e-12, atol=1e-12)
    assert_allclose(found.linear["points"], stored["linear_points"], rtol=1e-8, atol=1e-8)
    assert_allclose([found.at_zero, found.scale], [stored["intercept"], stored["scale"]], rtol=1e-8)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "gev"])
def test_points_add_up_to_the_predicted_risk(link):
    options = {"xi": -0.2} if link == "gev" else {}
    res = gevglm.fit("y ~ rcs(pressure, 4) + stage * age + visits", DATA, link=link, **options)
    found = res.nomogram()
    points = found.points.set_index(["variable", "given", "value"])["points"]
    person = {"pressure": 130.0, "stage": "late", "age": 45.0, "visits": 3}
    total = points["pressure", "", 130.0] + points["age", "stage = late", 45.0] + points["visits", "", 3]
    risk = float(np.asarray(res.predict(pd.DataFrame([person])))[0])
    assert_allclose(res.model.population_link.inverse(found.at_zero + total / found.scale), risk, rtol=1e-10)
    read = np.interp(found.risks["points"], found.totals["points"], found.totals["linear"])
    assert_allclose(res.model.population_link.inverse(read), found.risks["risk"], rtol=1e-9)


def test_points_in_the_population_of_a_case_control_sample():
    res = gevglm.fit("y ~ age + stage", DATA, link="logit", prevalence=0.01)
    found = res.nomogram()
    points = found.points.set_index(["variable", "value"])["points"]
    total = points["age", 50.0] + points["stage", "late"]
    risk = np.asarray(res.predict(pd.DataFrame({"age": [50.0], "stage": ["late"]})))[0]
    assert_allclose(res.model.population_link.inverse(found.at_zero + total / found.scale), risk, rtol=1e-10)


def test_a_design_without_a_formula_has_an_axis_for_each_column():
    X = DATA[["age", "pressure"]].assign(const=1.0)
    by_array = gevglm.fit(DATA["y"], X, link="logit").nomogram()
    by_formula = gevglm.fit("y ~ age + pressure", DATA, link="logit").nomogram()
    assert by_array.points["variable"].unique().tolist() == ["age", "pressure"]
    assert_allclose(by_array.points["points"], by_formula.points["points"], atol=1e-6)


def test_round_numbers_are_those_of_r():
    # pretty(c(0.013, 0.21), 10), pretty(c(-3.3, 97), 10), pretty(c(1e5, 9.1e5), 10)
    assert_allclose(pretty(0.013, 0.21), np.arange(0, 12) * 0.02)
    assert_allclose(pretty(-3.3, 97.0), np.arange(-10, 101, 10))
    assert_allclose(pretty(1e5, 9.1e5), np.arange(1, 11) * 1e5)


def test_what_has_no_points_is_refused_by_name():
    with pytest.raises(InvalidOptionError, match="'age' and 'pressure' interact"):
        gevglm.fit("y ~ age * pressure", DATA, link="logit").nomogram()
    with pytest.raises(InvalidOptionError, match="offset or an exposure"):
        gevglm.fit("y ~ age + offset(pressure / 100)", DATA, link="logit").nomogram()
    with pytest.raises(InvalidOptionError, match="needs a variable"):
        gevglm.fit("y ~ 1", DATA, link="logit").nomogram()


def test_marks_stay_in_the_data_where_a_transform_ends():
    shown = gevglm.fit("y ~ log(age - 20.5)", DATA, link="logit").nomogram().points["value"].astype(float)
    assert shown.min() == DATA["age"].min()
    assert shown.max() == DATA["age"].max()
