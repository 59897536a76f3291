"""Whole weights are repeated rows, in every function."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logit

from gevglm import calibration
from gevglm.calibration.bins import grouped, weighted_quantile
from gevglm.exceptions import GevglmWarning

FUNCTIONS = {
    "brier_score": calibration.brier_score,
    "scaled_brier_score": calibration.scaled_brier_score,
    "log_loss": calibration.log_loss,
    "auc": calibration.auc,
    "auc_se": lambda y, p, w=None: calibration.auc_interval(y, p, w).se,
    "average_precision": calibration.average_precision,
    "brier_decomposition": lambda y, p, w=None: list(vars(calibration.brier_decomposition(y, p, w)).values()),
    "calibration_loss": calibration.calibration_loss,
    "ece_width": calibration.expected_calibration_error,
    "ece_mass": lambda y, p, w=None: calibration.expected_calibration_error(y, p, w, by="mass"),
    "hosmer_lemeshow": lambda y, p, w=None: calibration.hosmer_lemeshow(y, p, w).statistic,
    "spiegelhalter": lambda y, p, w=None: calibration.spiegelhalter(y, p, w).statistic,
    "stukel": lambda y, p, w=None: calibration.stukel(y, p, w).statistic,
    "pregibon": lambda y, p, w=None: calibration.pregibon(y, p, w).statistic,
    "cox": lambda y, p, w=None: [
        getattr(calibration.cox_calibration(y, p, w), name) for name in ("intercept", "slope", "in_the_large", "llf")
    ],
    "cox_se": lambda y, p, w=None: calibration.cox_calibration(y, p, w).slope.se,
    "spline": lambda y, p, w=None: calibration.integrated_calibration(y, p, w).ici,
    "loess": lambda y, p, w=None: list(vars(calibration.integrated_calibration(y, p, w, method="loess")).values())[:5],
    "corp": lambda y, p, w=None: [calibration.reliability(y, p, w).mcb, calibration.reliability(y, p, w).log.dsc],
    "belt": lambda y, p, w=None: np.concatenate(calibration.calibration_belt(y, p, w, points=10).bounds[0.95]),
    "loss_curve": lambda y, p, w=None: (
        calibration.loss_calibration_curve(y, p, 0.9, weights=w).bins.drop(columns="n").to_numpy()
    ),
    "platt": lambda y, p, w=None: calibration.Platt().fit(p, y, w).params,
    "beta": lambda y, p, w=None: calibration.Beta().fit(p, y, w).params,
    "isotonic": lambda y, p, w=None: calibration.Isotonic().fit(p, y, w).predict(np.linspace(0, 1, 20)),
    "laplace": lambda y, p, w=None: calibration.AsymmetricLaplace().fit(logit(p), y, w).params,
    "piecewise": lambda y, p, w=None: calibration.PiecewiseLogistic(penalty=1.0).fit(logit(p), y, w).params,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_whole_weights_repeat_rows(name, simulated):
    y, p = simulated(200, center=-1.0)
    weights = np.random.default_rng(1).integers(0, 4, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)  # a mode at the edge
        weighted = FUNCTIONS[name](y, p, weights)
        repeated = FUNCTIONS[name](np.repeat(y, weights), np.repeat(p, weights))
    assert_allclose(weighted, repeated, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_order_of_the_rows_does_not_matter(name, simulated):
    y, p = simulated(200, center=-1.0)
    shuffled = np.random.default_rng(2).permutation(200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)
        assert_allclose(FUNCTIONS[name](y, p), FUNCTIONS[name](y[shuffled], p[shuffled]), rtol=1e-8, atol=1e-10)


def test_quantiles_are_those_of_numpy():
    values, shares = np.random.default_rng(0).normal(size=37), np.linspace(0, 1, 13)
    assert_allclose(weighted_quantile(values, np.ones(37), shares), np.quantile(values, shares), rtol=1e-13)


def test_quantiles_do_not_depend_on_the_size_of_fractional_weights():
    rng = np.random.default_rng(0)
    values, weights, shares = rng.normal(size=50), rng.random(50), np.array([0.1, 0.5, 0.9])
    first, second = (weighted_quantile(values, scale * weights, shares) for scale in (1.0, 1e-6))
    assert_allclose(first, second)


def test_groups_keep_totals_and_stay_below_their_number():
    rng = np.random.default_rng(0)
    s, y, w = rng.standard_cauchy(5000), rng.integers(0, 2, 5000).astype(float), rng.random(5000)
    groups = grouped(s, y, w, 300)
    assert 150 <= len(groups.score) <= 300
    assert (np.diff(groups.score) > 0).all()
    assert_allclose([groups.weight.sum(), groups.events.sum(), groups.weight @ groups.score], [w.sum(), w @ y, w @ s])
    exact = grouped(np.array([2.0, 1.0, 2.0]), np.array([1.0, 0.0, 0.0]), np.ones(3), 10)
    assert_allclose([exact.score, exact.weight, exact.events], [[1, 2], [1, 2], [0, 1]])
