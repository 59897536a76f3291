"""Bias, spread and coverage of bias-reduced estimates, by simulation; the tables are in benchmarks/results."""

import numpy as np
import pytest

from benchmarks.simulation import bias as simulation

SETTINGS = [(xi, rate) for xi in simulation.SHAPES for rate in simulation.RATES]


@pytest.mark.parametrize("xi", [-0.2567, 0.5])
def test_bias_reduction_of_the_canonical_loss_reduces_bias_and_spread(xi):
    sample = simulation.simulate("normal", xi, 0.12, replications=150)
    assert sample.finite("mean").all()
    bias, error = sample.bias("none")
    assert (np.abs(bias) > 3.0 * error).all()
    assert (sample.reduction() > 0.6).all()
    assert (sample.rmse("mean") < sample.rmse("none")).all()
    assert (sample.coverage("mean") > 0.89).all()


def test_the_linear_term_has_mean_zero():
    sample = simulation.simulate("dummy", 0.3, 0.12, replications=150)
    error = sample.linear.std(axis=0) / np.sqrt(150)
    assert (np.abs(sample.linear.mean(axis=0)) < 3.5 * error).all()


def test_the_settings_have_the_rates_they_are_named_after():
    rng = np.random.default_rng(1)
    for design in simulation.DESIGNS:
        for xi, rate in SETTINGS:
            link = simulation.GEV(xi)
            truth = simulation.true_coefficients(design, link, rate)
            events = [simulation.draw(rng, design, link, truth)[1].mean() for _ in range(200)]
            assert np.mean(events) == pytest.approx(rate, abs=4.0 * np.sqrt(rate / 40_000))


@pytest.mark.study
@pytest.mark.parametrize(("xi", "rate"), SETTINGS)
def test_two_thousand_replications(xi, rate):
    """The goals, and where intervals are wider than need be: at ten events they cover up to 98 %."""
    sample = simulation.simulate("normal", xi, rate, simulation.REPLICATIONS)
    covered = sample.coverage("mean")
    assert sample.finite("mean").all()
    assert (sample.reduction() >= 0.7).all()
    assert (sample.rmse("mean") < sample.rmse("none")).all()
    assert (covered >= 0.93).all()
    assert (covered <= (0.97 if rate > 0.1 else 0.98)).all()


@pytest.mark.study
@pytest.mark.parametrize(("xi", "rate"), SETTINGS)
def test_two_thousand_replications_with_a_dummy(xi, rate):
    """At ten events the dummy is often separated, so that its uncorrected bias is infinite; the corrected one is small."""
    sample = simulation.simulate("dummy", xi, rate, simulation.REPLICATIONS)
    bias, _ = sample.bias("mean")
    covered = sample.coverage("mean")
    assert sample.finite("mean").all()
    assert (np.abs(bias) < 0.03 * sample.rmse("mean", everywhere=True)).all()
    assert (sample.reduction() >= 0.7)[: 2 if rate < 0.1 else 3].all()
    assert (sample.rmse("mean") < sample.rmse("none")).all()
    assert (covered >= 0.93).all()
    assert (covered <= (0.97 if rate > 0.1 else 0.98)).all()
