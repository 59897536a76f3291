"""Simulated studies: what their descriptions say."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import logit

from gevglm.datasets import simulate_clicks, simulate_cubic, simulate_study


def test_the_truth_of_the_cohort():
    data = simulate_study(200_000, rng=0)
    assert abs(data["event"].mean() - data["risk"].mean()) < 4 * np.sqrt(data["risk"].mean() / len(data))
    assert 1 / 24 < data["risk"].mean() < 1 / 20


def test_the_cubic_boundary():
    data = simulate_cubic(200_000, rng=0)
    x = data[["x1", "x2", "x3"]]
    assert_allclose(x.mean(), [0, 1, -2], atol=0.02)
    assert_allclose(x.std(), [1, 2, 1.5], atol=0.02)
    assert 1 / 65 < data["y"].mean() < 1 / 55
    far = (x - 5 * x**2 + x**3).sum(axis=1).abs() > 15  # five standard deviations of the noise
    assert ((x - 5 * x**2 + x**3).sum(axis=1) > 0)[far].astype(int).equals(data["y"][far])
    assert len(simulate_cubic(rng=1)) == 1832


def test_the_truth_of_the_clicks():
    log = simulate_clicks(200_000, days=5, rng=0)
    assert abs(log["click"].mean() - log["risk"].mean()) < 4 * np.sqrt(log["risk"].mean() / len(log))
    assert 1 / 300 < log["risk"].mean() < 1 / 150
    assert log["day"].is_monotonic_increasing and set(log["day"]) == {1, 2, 3, 4, 5}
    evening = (log["hour"] >= 18).astype(float)
    desktop, tablet = ((log["device"] == name).astype(float) for name in ("desktop", "tablet"))
    known = -4.6 - 0.9 * np.log(log["position"]) - 0.35 * desktop + 0.25 * tablet + 0.4 * evening
    of_site = (logit(log["risk"]) - known).groupby(log["site"])
    assert of_site.std().max() < 1e-10  # one effect per site
    assert 0.35 < of_site.mean().std() < 0.65 and of_site.size().idxmax() == "site00"
