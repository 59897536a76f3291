"""Calibration by group: metafor's REML, single groups as they are assessed alone, groups without events, bad input."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t

import gevglm
from gevglm.calibration import auc, calibration_by_group, cox_calibration
from gevglm.calibration.by_group import RandomEffects, random_effects
from gevglm.exceptions import GevglmError
from tests.support.golden import numbers

SETS = numbers("random_effects")["sets"]


@pytest.mark.parametrize("name", SETS)
def test_metafor(name):
    expected = SETS[name]
    found = random_effects(expected["y"], expected["v"])
    assert_allclose(
        [found.tau**2, found.estimate, found.se],
        [expected["tau2"], expected["estimate"], expected["se"]],
        rtol=1e-6,
        atol=1e-9,
    )
    share = found.tau**2 / (found.tau**2 + np.array(expected["v"]))
    shrunken = share * np.array(expected["y"]) + (1 - share) * found.estimate
    assert_allclose(shrunken, expected["blup"], rtol=1e-6)


def test_the_interval_for_a_new_group():
    found = RandomEffects(0.2, 0.1, 0.3, 7)
    assert_allclose(found.prediction(), 0.2 + np.array([-1, 1]) * t.isf(0.025, 5) * np.sqrt(0.1), rtol=1e-12)
    assert np.isnan(RandomEffects(0.2, 0.1, 0.3, 2).prediction()).all()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.standard_normal(3000), "hospital": np.repeat([f"h{i}" for i in range(10)], 300)})
    away = np.repeat(rng.normal(0, 0.5, 10), 300)
    frame["y"] = (rng.random(3000) < 1 / (1 + np.exp(2 - frame["x"] - away))).astype(int)
    frame.loc[frame["hospital"] == "h9", "y"] = 0
    return frame


@pytest.fixture(scope="module")
def found(data):
    return gevglm.fit("y ~ x", data.iloc[::2]).calibration(data.iloc[1::2], by="hospital")


def test_each_group_alone(data, found):
    new = data.iloc[1::2]
    own = new[new["hospital"] == "h3"]
    p = gevglm.fit("y ~ x", data.iloc[::2]).predict(own)
    row, cox = found.groups.loc["h3"], cox_calibration(own["y"], p)
    expected = [own["y"].sum() / p.sum(), cox.in_the_large, cox.slope, cox.slope.lower, auc(own["y"], p)]
    assert_allclose(row[["O/E", "constant", "slope", "slope lower", "AUC"]].to_numpy(float), expected, rtol=1e-10)
    assert min(row["O/E"], found.summary_frame().loc["O/E", "mean"]) <= row["O/E pooled"]


def test_a_group_without_events_is_named_and_counted(found):
    assert found.groups.loc["h9", "events"] == 0
    assert found.groups.loc["h9", "expected"] > 0
    assert found.pooled["slope"].k == 9
    assert "h9: without events" in found.notes[0]
    assert "h9" in str(found)
    assert found.summary_frame().loc["O/E", "new_lower"] < found.summary_frame().loc["O/E", "ci_lower"]


def test_pictures(found):
    for measure in ("O/E", "constant", "slope", "AUC"):
        assert found.plot(measure).get_xlabel() == measure


def test_bad_input(data):
    res = gevglm.fit("y ~ x", data)
    with pytest.raises(GevglmError, match="by= goes with new data"):
        res.calibration(by="hospital")
    with pytest.raises(GevglmError, match="nowhere"):
        res.calibration(data, by="nowhere")
    with pytest.raises(GevglmError, match="leave resampling and groups out"):
        res.calibration(data, by="hospital", groups="hospital")
    with pytest.raises(GevglmError, match="by is missing in 1 of 4"):
        calibration_by_group([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], ["a", "a", None, "b"])
    with pytest.raises(GevglmError, match="none of the 2 groups"):
        calibration_by_group([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], ["a", "a", "b", "b"])
    with pytest.raises(GevglmError, match="by has shape"):
        calibration_by_group([0, 1], [0.1, 0.2], ["a"])
    with pytest.raises(GevglmError, match="measure"):
        res.calibration(data, by="hospital").plot("Brier")
