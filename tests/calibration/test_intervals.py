"""Intervals of indices, by the bootstrap and by the delta method."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from gevglm.calibration import (
    assess,
    expected_calibration_error,
    integrated_calibration,
    reliability,
    scaled_brier_score,
)
from gevglm.calibration.bins import grouped
from gevglm.calibration.bootstrap import CURVES, bootstrap_intervals
from gevglm.calibration.loess import loess, loess_of_resamples
from gevglm.calibration.sample import predictions

DISTANCES = ("ICI", "E50", "E90", "Emax", "ECE, equal width", "ECE, equal mass")


def intervals(y, p, weights=None, *, method="spline", resamples=200, rng=0):
    sample = predictions(y, p, weights)
    data = sample.y, sample.p, sample.weight
    smooth = integrated_calibration(*data, method=method)
    values = smooth.ici, smooth.e50, smooth.e90, smooth.emax
    errors = (expected_calibration_error(*data, by=by) for by in ("width", "mass"))
    estimates = dict(zip(DISTANCES, [*values, *errors], strict=True))
    return bootstrap_intervals(sample, estimates, method=method, bins=10, level=0.95, resamples=resamples, rng=rng)


@pytest.mark.parametrize("method", ["spline", "loess"])
def test_all_distances_have_an_interval_around_them(simulated, method):
    found = intervals(*simulated(n=800, shift=0.7), method=method, resamples=60)
    assert set(found) == set(DISTANCES)
    for name, value in found.items():
        assert 0.0 <= value.lower <= value <= value.upper and value.se > 0.0, name
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
    indices = assess(*simulated(n=600, shift=0.8), belt=False, rng=0, resamples=100).indices
    assert all(np.isfinite([value.se, *value.interval]).all() for value in indices.values())
    plain = assess(*simulated(n=600), belt=False, rng=0, smooth="lowess", resamples=50).summary_frame()
    assert np.isnan(plain.loc["ICI", "se"]) and plain.loc["ECE, equal mass", "se"] > 0.0


def test_an_infinite_log_loss_has_no_interval(simulated):
    y, p = simulated(n=400)
    p[:3], y[0] = 0.0, 1.0
    frame = assess(y, p, rng=0, resamples=20).summary_frame()
    assert np.isnan(frame.loc[["log loss", "miscalibration (log)"], ["se", "ci_lower", "ci_upper"]]).all(axis=None)


def test_rough_indices_of_few_predictions_are_the_indices(simulated):
    y, p = simulated(n=350)
    sample = predictions(y, p)
    indices = assess(y, p, belt=False, rng=0, resamples=5).indices
    plain = {name: float(value) for name, value in indices.items()}
    found = bootstrap_intervals(sample, plain, method="spline", bins=10, level=0.95, resamples=300, rng=0)
    groups = grouped(sample.p, sample.y, sample.weight, 400)
    assert len(groups.score) == 350  # so that the measures of the resamples are those of the rows
    for name in ("average precision", "calibration loss, 10 bins", "miscalibration (log)", "discrimination (Brier)"):
        middle = (found[name].lower + found[name].upper) / 2
        assert abs(middle - plain[name]) < 3 * found[name].se, name


def test_the_scaled_brier_score_varies_as_the_bootstrap_says(simulated):
    y, p = simulated(n=500, shift=0.3)
    indices = assess(y, p, band=None, belt=False, resamples=5).indices
    rng = np.random.default_rng(0)
    drawn = [rng.integers(500, size=500) for _ in range(2000)]
    for name, index in (
        ("scaled Brier score", scaled_brier_score),
        ("uncertainty (Brier)", lambda y, p: y.mean() * (1 - y.mean())),
        ("uncertainty (log)", lambda y, p: reliability(y, p).log.unc),
    ):
        spread = np.std([index(y[rows], p[rows]) for rows in drawn[: 2000 if "log" not in name else 400]])
        assert_allclose(indices[name].se, spread, rtol=0.12, err_msg=name)


def test_resamples_are_smoothed_as_by_loess_with_the_same_neighbourhoods(simulated):
    y, p = simulated(n=300)
    p = np.sort(p)
    smooth = loess_of_resamples(p, np.ones(300))
    counts = np.ones((2, 300))
    fitted = smooth(np.stack([y, 2 * y]), counts * np.array([[1.0], [2.0]]))
    assert_allclose(fitted, [loess(p, y, np.ones(300))(p)] * 2, atol=1e-8)


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
