"""Losses: derivatives, integrals, the extension beyond the support, the coincidence for the logit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad

from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.links import GEV, Cauchit, CLogLog, GEVc, Logit, LogLog, Probit
from gevglm.losses import Canonical, Log

LINKS = [GEV(xi) for xi in (-1.5, -1, -0.2567, 0, 0.3, 0.9, 1.2)] + [GEVc(-0.4), GEVc(0.5)]
LINKS += [Logit(), Probit(), CLogLog(), LogLog(), Cauchit()]
P = np.array([0.001, 0.05, 0.3, 0.6, 0.95])


@pytest.mark.parametrize("link", LINKS, ids=repr)
@pytest.mark.parametrize("kind", [Log, Canonical])
@pytest.mark.parametrize("y", [0.0, 0.3, 1.0])
def test_slope_and_curvature_are_derivatives(link, kind, y):
    loss, v, h = kind(link), link(P), 1e-6
    slope = (loss.value(y, v + h) - loss.value(y, v - h)) / (2 * h)
    curvature = (loss.slope(y, v + h) - loss.slope(y, v - h)) / (2 * h)
    assert_allclose(loss.slope(y, v), slope, rtol=1e-5, atol=1e-7)
    assert_allclose(loss.curvature(y, v), curvature, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("link", [GEV(-0.5), GEV(0.0), GEV(0.4), GEVc(-0.3), Probit(), Logit()], ids=repr)
def test_canonical_loss_is_the_integral_of_the_distribution_function(link):
    for v in link(P):
        low, high = max(link.support[0], v - 60), min(link.support[1], v + 60)
        below = quad(link.inverse, low, v, points=[max(low, v - 5)], epsabs=0, epsrel=1e-11, limit=500)[0]
        assert Canonical(link).value(0, v) == pytest.approx(below, rel=1e-8)
        if link.parameters.get("xi", 0) <= 0:  # a power tail is no task for quadrature; mpmath has the closed form
            above = quad(lambda s: 1 - link.inverse(s), v, high, points=[min(high, v + 5)], epsrel=1e-11, limit=500)[0]
            assert Canonical(link).value(1, v) == pytest.approx(above, rel=1e-8)


@given(st.floats(-1.5, 1.5), st.floats(-60, 60), st.floats(0.01, 20))
def test_canonical_loss_is_convex_on_the_whole_line(xi, v, width):
    for loss in (Canonical(GEV(xi)), Canonical(GEVc(xi))):
        for y in (0, 1):
            left, middle, right = loss.value(y, np.array([v - width, v, v + width]))
            assert left + right - 2 * middle >= -1e-9 * (abs(left) + abs(right))


@pytest.mark.parametrize(("link", "y", "end"), [(GEV(0.5), 1, -2.0), (GEV(-0.5), 0, 2.0), (GEVc(0.5), 0, 2.0)])
def test_beyond_the_support_the_loss_is_linear(link, y, end):
    loss, away = Canonical(link), np.array([0.0, 1.0, 7.0])
    direction = np.sign(end)
    assert_allclose(loss.value(y, end + direction * away), loss.value(y, end) + away, rtol=1e-13)
    assert_allclose(loss.value(1 - y, end + direction * away), 0, atol=1e-300)
    assert_allclose(loss.slope(y, end + direction * away), direction)
    assert_allclose(loss.curvature(y, end + direction * away[1:]), 0)


@pytest.mark.parametrize("loss", [Canonical(GEV(1.0)), Canonical(GEV(1.4)), Canonical(Cauchit())], ids=repr)
def test_divergent_losses_start_at_zero(loss):
    assert loss.value(1, 0.0) == pytest.approx(0, abs=1e-15)
    assert loss.link.relative_integrals[1]


def test_far_from_zero_the_loss_stays_finite():
    assert Canonical(GEV(0.0)).value(1, -1000.0) == pytest.approx(1000.5772156649015, rel=1e-14)
    assert Canonical(Logit()).value(1, -1000.0) == 1000.0
    assert Log(Probit()).value(1, -1000.0) == pytest.approx(500007.8266948, rel=1e-9)


def test_for_the_logit_both_losses_are_one():
    v = np.linspace(-30, 30, 61)
    for y in (0.0, 0.4, 1.0):
        for what in ("value", "slope", "curvature"):
            both = (getattr(loss(Logit()), what)(y, v) for loss in (Log, Canonical))
            assert_allclose(*both, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("link", LINKS, ids=repr)
def test_expected_curvature_is_the_mean_over_outcomes(link):
    v = link(P)
    for loss in (Log(link), Canonical(link)):
        mean = P * loss.curvature(1, v) + (1 - P) * loss.curvature(0, v)
        assert_allclose(loss.expected_curvature_at(link.at(v)), mean, rtol=1e-9, atol=1e-12)


def test_a_class_is_no_link():
    with pytest.raises(InvalidOptionError, match=r"class GEV; give an instance, such as GEV\(xi=0.5\)"):
        Log(GEV)
    with pytest.raises(InvalidOptionError, match="not a link of gevglm"):
        Canonical("logit")


def test_outcomes_lie_between_zero_and_one():
    with pytest.raises(InvalidDataError, match="from -1 to 1"):
        Log(Logit()).value([-1, 1], [0.0, 0.0])
