import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from gevglm.calibration import brier_score, log_loss, reliability
from gevglm.calibration.corp import RESAMPLED_GROUPS
from gevglm.exceptions import InvalidOptionError

cases = st.lists(st.tuples(st.sampled_from([0, 1]), st.integers(1, 19)), min_size=2, max_size=60).filter(
    lambda rows: len({y for y, _ in rows}) == 2
)


@given(cases)
def test_the_parts_are_not_negative_and_add_up(rows):
    y, p = np.array(rows, dtype=float).T
    p = p / 20
    corp = reliability(y, p)
    for parts, score in ((corp.brier, brier_score), (corp.log, log_loss)):
        assert min(parts.mcb, parts.dsc, parts.unc) >= -1e-14
        assert_allclose(parts.mcb - parts.dsc + parts.unc, score(y, p), atol=1e-13)
        assert_allclose(parts.score - parts.mcb, score(y, np.clip(corp.calibrated(p), 0, 1)), atol=1e-13)


@given(cases)
def test_the_curve_equals_scikit_learns_isotonic_regression(rows):
    isotonic = pytest.importorskip("sklearn.isotonic")
    y, p = np.array(rows, dtype=float).T
    fitted = isotonic.IsotonicRegression().fit(p, y)
    p_unit = p / 20
    assert_allclose(reliability(y, p_unit).calibrated(p_unit), fitted.predict(p), atol=1e-12)


def test_recalibrated_predictions_have_no_miscalibration(simulated):
    y, p = simulated(500)
    assert_allclose(reliability(y, reliability(y, p).calibrated(p)).mcb, 0.0, atol=1e-15)


def test_blocks_hold_all_rows_and_rise(judged):
    blocks = reliability(judged.y, judged.p).blocks
    assert blocks["n"].sum() == 1000 and blocks["events"].sum() == 153
    assert (np.diff(blocks["rate"]) > 0).all()
    assert_allclose(blocks["events"] / blocks["n"], blocks["rate"], atol=1e-15)


def test_an_infinite_log_score_is_all_miscalibration():
    corp = reliability([1, 0, 1], [0.0, 0.5, 0.9])
    assert corp.log.mcb == np.inf and corp.log.score == np.inf and np.isfinite([corp.log.dsc, corp.log.unc]).all()


# -- bands -------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_band(simulated):
    y, p = simulated(300)
    first, second = (reliability(y, p, band="consistency", rng=5, resamples=50).band for _ in range(2))
    assert_array_equal(first.lower, second.lower)
    generator = reliability(y, p, band="consistency", rng=np.random.default_rng(5), resamples=50).band
    assert_array_equal(first.upper, generator.upper)


def test_the_consistency_band_covers_the_curve_of_calibrated_predictions_as_often_as_it_says(simulated):
    inside = []
    for seed in range(60):
        y, p = simulated(400, center=-1.0, seed=seed)
        corp = reliability(y, p, band="consistency", level=0.9, resamples=100, rng=seed)
        middle = np.quantile(p, [0.2, 0.35, 0.5, 0.65, 0.8])
        lower, upper = (np.interp(middle, corp.band.x, edge) for edge in (corp.band.lower, corp.band.upper))
        inside.append((corp.calibrated(middle) >= lower) & (corp.calibrated(middle) <= upper))
    assert 0.82 < np.mean(inside) < 0.97


def test_the_confidence_band_follows_the_curve(simulated):
    y, p = simulated(3000, shift=1.0)
    corp = reliability(y, p, band="confidence", rng=0)
    inner = (corp.band.x > 0.05) & (corp.band.x < 0.4)
    curve = corp.calibrated(corp.band.x)[inner]
    assert ((corp.band.lower[inner] <= curve + 1e-12) & (curve <= corp.band.upper[inner] + 1e-12)).mean() > 0.95
    assert corp.test is None


def test_the_resampling_test_rejects_shifted_predictions_and_holds_its_level(simulated):
    assert reliability(*simulated(2000, shift=0.7), band="consistency", rng=0).test.pvalue < 0.01
    rejected = [
        reliability(*simulated(300, center=-1.0, seed=seed), band="consistency", resamples=99, rng=seed).test.pvalue
        <= 0.1
        for seed in range(100)
    ]
    assert 0.0 < np.mean(rejected) < 0.1 + 3.5 * 0.03


def test_grouping_many_predictions_hardly_changes_the_band(simulated, monkeypatch):
    y, p = simulated(20_000, center=-3.0)
    coarse = reliability(y, p, band="consistency", rng=1, resamples=200)
    assert len(np.unique(p)) > RESAMPLED_GROUPS
    monkeypatch.setattr("gevglm.calibration.corp.RESAMPLED_GROUPS", 20_000)
    exact = reliability(y, p, band="consistency", rng=1, resamples=200)
    for edge in ("lower", "upper"):
        gap = np.interp(exact.band.x, coarse.band.x, getattr(coarse.band, edge)) - getattr(exact.band, edge)
        assert np.abs(gap[exact.band.x < 0.2]).mean() < 0.004
    assert_allclose(coarse.mcb, exact.mcb)


def test_unknown_bands_are_refused(simulated):
    with pytest.raises(InvalidOptionError, match="Did you mean 'consistency'"):
        reliability(*simulated(50), band="consistent")
    with pytest.raises(InvalidOptionError, match="resamples=0"):
        reliability(*simulated(50), band="consistency", resamples=0)
