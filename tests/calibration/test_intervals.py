"""Bootstrap intervals of ICI, E50, E90, Emax and ECE."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from gevglm.calibration import assess, expected_calibration_error, integrated_calibration
from gevglm.calibration.bins import grouped
from gevglm.calibration.inputs import predictions
from gevglm.calibration.intervals import CURVES, distance_intervals
from gevglm.calibration.validation import DISTANCES


def intervals(y, p, weights=None, *, method="spline", resamples=200, rng=0):
    sample = predictions(y, p, weights)
    data = sample.y, sample.p, sample.weight
    smooth = integrated_calibration(*data, method=method)
    values = smooth.ici, smooth.e50, smooth.e90, smooth.emax
    errors = (expected_calibration_error(*data, by=by) for by in ("width", "mass"))
    estimates = dict(zip(DISTANCES, [*values, *errors], strict=True))
    return distance_intervals(sample, estimates, method=method, bins=10, level=0.95, resamples=resamples, rng=rng)


@pytest.mark.parametrize("method", ["spline", "loess"])
def test_all_distances_have_an_interval_around_them(simulated, method):
    found = intervals(*simulated(n=800, shift=0.7), method=method, resamples=60)
    assert set(found) == set(DISTANCES)
    for name, value in found.items():
        assert 0.0 <= value.lower <= value.upper and value.se > 0.0, name
    assert found["ICI"].lower > 0.0 and found["ICI"].lower < found["ICI"] < found["ICI"].upper


def test_calibrated_predictions_have_the_lower_limit_zero(simulated):
    found = intervals(*simulated(n=3000, seed=4))
    assert all(value.lower == 0.0 for value in found.values())


def test_a_seed_gives_the_same_limits_and_the_order_of_rows_does_not_matter(simulated):
    y, p = simulated(n=500, shift=0.5)
    one, two = intervals(y, p, rng=7), intervals(y[::-1], p[::-1], rng=7)
    assert_allclose([v.interval for v in one.values()], [v.interval for v in two.values()])


def test_whole_weights_are_repeated_rows(simulated):
    y, p = simulated(n=300, shift=0.6)
    twice = np.full(300, 2.0)
    weighted, repeated = intervals(y, p, twice), intervals(np.repeat(y, 2), np.repeat(p, 2))
    assert_allclose([v.interval for v in weighted.values()], [v.interval for v in repeated.values()], rtol=1e-8)


def test_the_curve_of_all_data_is_the_smooth_curve(simulated):
    y, p = simulated(n=350)
    sample = predictions(y, p)
    groups = grouped(sample.p, sample.y, sample.weight, 400)
    fitted = CURVES["spline"](sample, groups)(np.stack([groups.events, groups.weight - groups.events])[None])[0]
    assert_allclose(np.abs(fitted - groups.score).mean(), integrated_calibration(y, p).ici, rtol=1e-5)


def test_resamples_without_events_or_with_separated_ones_do_no_harm():
    p = np.linspace(0.05, 0.95, 60)
    y = np.isin(np.arange(60), [50, 58]).astype(float)
    for name, value in intervals(y, p).items():
        assert np.isfinite([value.se, *value.interval]).all() and value.lower <= value.upper, name


def test_assess_reports_them(simulated):
    frame = assess(*simulated(n=600, shift=0.8), belt=False, rng=0, resamples=100).summary_frame()
    assert frame.loc[list(DISTANCES), ["se", "ci_lower", "ci_upper"]].notna().all(axis=None)
    plain = assess(*simulated(n=600), belt=False, rng=0, smooth="lowess", resamples=50).summary_frame()
    assert np.isnan(plain.loc["ICI", "se"]) and plain.loc["ECE, equal mass", "se"] > 0.0


@pytest.mark.study
@pytest.mark.parametrize(
    ("n", "center", "shift", "stretch"), [(1000, -2.0, 0.0, 1.0), (1000, -2.0, 0.5, 0.7), (5000, -4.0, 0.6, 0.8)]
)
def test_intervals_cover(n, center, shift, stretch):
    """Coverage of the true ICI and ECE in 300 samples; 95 % intervals, Monte Carlo standard error 0.013."""
    rng = np.random.default_rng(1)

    def draw(size):
        eta = rng.normal(center, 1.2, size)
        return expit(eta), expit(shift + stretch * eta)

    p, risk = draw(1_000_000)
    truth = np.abs(p - risk).mean()  # the curves cross hardly anywhere, so that bins do not change it
    covered = {"ICI": 0, "ECE, equal mass": 0}
    for _ in range(300):
        p, risk = draw(n)
        found = intervals((rng.random(n) < risk).astype(float), p, rng=rng)
        for name in covered:
            covered[name] += found[name].lower <= truth <= found[name].upper
    assert all(0.88 <= count / 300 <= 1.0 for count in covered.values()), covered
