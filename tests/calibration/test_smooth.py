import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.special import expit, logit

from gevglm.calibration import integrated_calibration
from gevglm.calibration.loess import loess
from gevglm.calibration.smooth import KNOT_SHARES, curve_grid, spline_columns
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError

each_method = pytest.mark.parametrize("method", ["spline", "loess", "lowess"])


@each_method
def test_distances_are_small_for_calibrated_predictions_and_those_of_the_truth_for_others(simulated, method):
    y, p = simulated(40_000, center=-1.0)
    assert integrated_calibration(y, p, method=method).ici < 0.01
    y, p = simulated(40_000, center=-1.0, shift=0.5, stretch=0.6)
    found, truth = integrated_calibration(y, p, method=method), np.abs(expit(0.5 + 0.6 * logit(p)) - p)
    assert_allclose([found.ici, found.e50, found.e90], [truth.mean(), *np.quantile(truth, [0.5, 0.9])], atol=0.012)


@each_method
def test_the_curve_passes_through_what_the_distances_are_measured_from(simulated, method):
    y, p = simulated(500, shift=0.5)
    smooth = integrated_calibration(y, p, method=method)
    distance = np.abs(np.interp(p, smooth.curve.x, smooth.curve.fitted) - p)
    assert_allclose(smooth.ici, distance.mean(), atol=2e-4)
    assert_allclose(smooth.emax, distance.max(), atol=2e-3)


def test_the_default_is_the_spline(simulated):
    y, p = simulated()
    assert integrated_calibration(y, p).method == "spline"


def test_the_spline_is_a_logistic_regression_with_limits_by_the_delta_method(simulated):
    y, p = simulated(stretch=0.8)
    eta = logit(p)
    smooth = integrated_calibration(y, p, knots=3, level=0.9)
    order = np.argsort(eta)
    ends = np.cumsum((p * (1 - p))[order])
    knots = [eta[order][np.searchsorted(ends, share * ends[-1])] for share in KNOT_SHARES[3]]
    columns = spline_columns(eta, np.array(knots))
    fit = sm.GLM(y, columns, family=sm.families.Binomial()).fit()
    assert_allclose(smooth.ici, np.abs(fit.fittedvalues - p).mean(), rtol=1e-7)
    on_grid = spline_columns(logit(smooth.curve.x), np.array(knots))
    limits = fit.get_prediction(on_grid).conf_int(alpha=0.1)
    assert_allclose(np.column_stack([smooth.curve.lower, smooth.curve.upper]), limits, rtol=1e-4, atol=1e-6)


def test_a_restricted_spline_is_straight_outside_its_knots_and_smooth_at_them():
    knots, h = np.array([-1.0, 0.0, 0.5, 2.0]), 1e-4
    for place in (-3.0, -1.2, 2.1, 5.0):
        second = spline_columns(np.array([place - h, place, place + h]), knots).T @ [1, -2, 1] / h**2
        assert_allclose(second, 0.0, atol=1e-5)
    for knot in knots:
        second = [
            spline_columns(np.array([x - h, x, x + h]), knots).T @ [1, -2, 1] / h**2 for x in (knot - h, knot + h)
        ]
        assert_allclose(second[0], second[1], atol=5e-3)


def test_few_events_get_a_straight_line(simulated):
    y, p = simulated(300, center=-4.0, seed=3)
    assert 0 < y.sum() < 10
    straight = integrated_calibration(y, p, knots=2)
    assert_allclose(integrated_calibration(y, p).ici, straight.ici, rtol=1e-12)


def test_loess_equals_weighted_least_squares_at_a_vertex():
    rng = np.random.default_rng(1)
    x = np.sort(rng.random(300))
    y = np.sin(4 * x) + rng.normal(0, 0.1, 300)
    smooth = loess(x, y, np.ones(300))
    vertex = smooth.x[len(smooth.x) // 2]
    distance = np.abs(x - vertex)
    bandwidth = np.sort(distance)[224]
    weight = np.clip(1 - (distance / bandwidth) ** 3, 0, None) ** 3
    weight[distance >= 0.999 * bandwidth] = 0.0
    weight[distance <= 0.001 * bandwidth] = 1.0
    fit = sm.WLS(y, np.vander(x - vertex, 3, increasing=True), weights=weight).fit()
    assert_allclose([smooth(vertex), smooth(vertex, 1)], fit.params[:2], rtol=1e-9)


def test_loess_reproduces_a_parabola():
    x = np.random.default_rng(0).random(200)
    smooth = loess(x, 1 + 2 * x - 3 * x**2, np.ones(200))
    assert_allclose(smooth(x), 1 + 2 * x - 3 * x**2, atol=1e-10)


def test_the_grid_has_its_points_where_predictions_are():
    p = np.array([1e-6, 1e-3, 0.4])
    grid = curve_grid(p)
    assert grid[0] == 1e-6 and grid[-1] == 0.4
    assert ((grid > 1e-5) & (grid < 1e-4)).sum() > 5


def test_options_that_do_not_belong_together_are_refused(simulated):
    y, p = simulated(100)
    with pytest.raises(IncompatibleOptionsError, match="span"):
        integrated_calibration(y, p, span=0.5)
    with pytest.raises(IncompatibleOptionsError, match="knots"):
        integrated_calibration(y, p, method="loess", knots=3)
    with pytest.raises(IncompatibleOptionsError, match="no weights"):
        integrated_calibration(y, p, np.arange(1, 101), method="lowess")
    with pytest.raises(InvalidOptionError, match="'spline', 'loess', 'lowess'"):
        integrated_calibration(y, p, method="splines")
    with pytest.raises(InvalidOptionError, match=r"span=1\.5"):
        integrated_calibration(y, p, method="loess", span=1.5)
    with pytest.raises(InvalidOptionError, match="knots=9"):
        integrated_calibration(y, p, knots=9)
