"""Stability: what refits one by one say, simulation, clusters and weights, pictures, bad input."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.calibration import cox_calibration
from gevglm.exceptions import GevglmError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.standard_normal(400), "z": rng.integers(0, 2, 400), "place": np.arange(400) // 20})
    return frame.assign(y=(rng.random(400) < 1 / (1 + np.exp(2 - frame["x"]))).astype(int))


@pytest.fixture(scope="module")
def found(data):
    return gevglm.fit("y ~ x + z", data).stability(40, threshold=0.2, rng=3)


def test_as_refits_one_by_one(data, found):
    """Each risk is that of a fit to the rows that were drawn, by the same generators."""
    res = gevglm.fit("y ~ x + z", data)
    p = res.predict()
    risks = []
    for generator in np.random.default_rng(3).spawn(40):
        part = res.row_weights.draw(res.model.design.y, generator)
        rows = np.repeat(np.arange(400), np.asarray(part.counts).astype(int))
        risks.append(np.asarray(gevglm.fit("y ~ x + z", data.iloc[rows].reset_index()).predict(data)))
    risks = np.stack(risks, axis=1)
    assert_allclose(found.risks, risks, rtol=1e-6)
    assert_allclose(found.rows["mape"], np.abs(risks - np.asarray(p)[:, None]).mean(axis=1), rtol=1e-6)
    other = ((risks >= 0.2) != (np.asarray(p) >= 0.2)[:, None]).mean(axis=1)
    assert_allclose(found.rows["reclassified"], other)
    assert found.calibration["slope"][0] == pytest.approx(cox_calibration(data["y"], risks[:, 0]).slope, rel=1e-6)


def test_more_data_are_more_stable(data, found):
    more = gevglm.fit("y ~ x + z", pd.concat([data] * 4, ignore_index=True)).stability(40, rng=3)
    ratio = more.rows["mape"].mean() / found.rows["mape"].mean()
    assert ratio == pytest.approx(0.5, abs=0.12)
    assert more.rows["reclassified"].isna().all()


def test_clusters_are_drawn_whole(data):
    res = gevglm.fit("y ~ x", data)
    assert not np.allclose(res.stability(5, groups="place").risks, res.stability(5).risks)


def test_summary_and_pictures(found):
    assert "share reclassified" in str(found)
    assert "40 refits" in repr(found)
    for kind in ("prediction", "mape", "classification", "calibration"):
        assert found.plot(kind).get_xlabel()


def test_bad_input(data):
    res = gevglm.fit("y ~ x", data)
    with pytest.raises(GevglmError, match="threshold=2"):
        res.stability(5, threshold=2)
    with pytest.raises(GevglmError, match="resamples=1"):
        res.stability(1)
    stable = res.stability(2)
    with pytest.raises(GevglmError, match="threshold="):
        stable.plot("classification")
    with pytest.raises(GevglmError, match="kind"):
        stable.plot("roc")
