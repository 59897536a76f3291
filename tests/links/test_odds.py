"""The sampled link, beyond the properties of every link in tests/links."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gevglm.exceptions import InvalidOptionError
from gevglm.links import GEV, Cauchit, CLogLog, GEVc, Logit, LogLog, Probit, Sampled, ScaledOdds, Weighted
from gevglm.losses import Canonical
from tests.support.links_under_test import CASES
from tests.support.populations import refused

FIELDS = ("cdf", "sf", "pdf", "dlogpdf", "d2logpdf", "log_cdf", "log_sf", "reverse_hazard", "hazard", "dlog_hazard")
INNER = [GEV(0.3), GEV(-0.4), GEVc(0.3), GEV(1.2), Logit(), Probit(), CLogLog(), LogLog(), Cauchit()]
each_inner = pytest.mark.parametrize("inner", INNER, ids=repr)
shares = st.floats(1e-4, 0.999)


@each_inner
@given(tau=shares, mean=shares, p=st.floats(1e-6, 1 - 1e-6))
def test_sampling_multiplies_the_odds(inner, tau, mean, p):
    v = inner(p)
    odds = mean / (1 - mean) * (1 - tau) / tau * p / (1 - p)
    assert Sampled(inner, tau, mean).inverse(v) == pytest.approx(odds / (1 + odds), rel=1e-9)


@each_inner
@given(tau=shares, mean=shares)
def test_the_prevalence_is_seen_as_the_sample_mean(inner, tau, mean):
    assert Sampled(inner, tau, mean).inverse(inner(tau)) == pytest.approx(mean, rel=1e-9)


@given(tau=shares, mean=shares, v=st.floats(-30, 30))
def test_a_sampled_logit_is_a_shifted_logit(tau, mean, v):
    link = Sampled(Logit(), tau, mean)
    shift = np.log(mean / (1 - mean) * (1 - tau) / tau)
    point, shifted = link.at(np.array([v])), Logit().at(np.array([v + shift]))
    for name in FIELDS:
        assert_allclose(getattr(point, name), getattr(shifted, name), rtol=1e-12, atol=1e-14, err_msg=name)
    assert link.canonical_is_log
    assert link.log_concave
    for y in (0, 1):
        exact = Canonical(Logit()).value(y, v + shift)
        assert Canonical(link).value(y, v) == pytest.approx(exact, rel=1e-11, abs=1e-13)


@each_inner
@given(share=shares, v=st.floats(-3, 3))
def test_sampling_at_random_changes_nothing(inner, share, v):
    with np.errstate(all="ignore"):
        same, point = Sampled(inner, share, share).at(np.array([v])), inner.at(np.array([v]))
        for name in FIELDS:
            assert_allclose(getattr(same, name), getattr(point, name), rtol=1e-13, atol=1e-15, err_msg=name)


@each_inner
def test_sampling_back_and_forth_returns_the_link(inner):
    v = np.linspace(-1.5, 1.5, 31)
    there = Sampled(inner, 0.01, 0.4)
    back = Sampled(there, 0.4, 0.01)
    assert_allclose(back.inverse(v), inner.inverse(v), rtol=1e-12)
    assert_allclose(back.inverse_deriv2(v), inner.inverse_deriv2(v), rtol=1e-9, atol=1e-12)
    assert_allclose(ScaledOdds(inner, there.factor).inverse(v), there.inverse(v), rtol=1e-15)


@pytest.mark.parametrize("tau", [1e-5, 0.02, 0.4])
@pytest.mark.parametrize("xi", [-0.4, 0.0, 0.7])
def test_the_canonical_loss_is_the_integral_for_strong_and_weak_sampling(xi, tau):
    link = Sampled(GEV(xi), tau, 0.3)
    inner = next(case.tails for case in CASES if case.link == GEV(0.0)) if xi == 0 else None

    def tails(v):
        t = (1 + xi * v) ** (-1 / mp.mpf(xi))
        return (mp.exp(-t), -mp.expm1(-t))

    factor, of_inner = mp.mpf(link.factor), inner or tails

    def cdf(v):
        lower, upper = of_inner(v)
        return factor * lower / (upper + factor * lower)

    with mp.workdps(25):
        for low, high in ((-0.9, -0.2), (-0.2, 0.4), (0.4, 1.1)):
            area = float(mp.quad(cdf, [low, (low + high) / 2, high]))
            assert float(link.integral_cdf(high) - link.integral_cdf(low)) == pytest.approx(area, rel=1e-11)
            assert float(link.integral_sf(low) - link.integral_sf(high)) == pytest.approx(high - low - area, rel=1e-11)


@pytest.mark.parametrize("xi", [0.3, -0.4])
def test_the_derivative_in_the_shape_is_that_of_the_composition(xi):
    v, h = np.linspace(-0.8, 0.8, 9), 1e-6
    difference = (Sampled(GEV(xi + h), 0.01, 0.3).inverse(v) - Sampled(GEV(xi - h), 0.01, 0.3).inverse(v)) / (2 * h)
    assert_allclose(Sampled(GEV(xi), 0.01, 0.3).at(v).dcdf_dshape, difference, rtol=1e-7, atol=1e-10)


def test_log_concavity_depends_on_how_strongly_events_are_sampled():
    assert Sampled(LogLog(), 0.3, 0.35).log_concave
    assert not Sampled(LogLog(), 0.01, 0.5).log_concave
    assert Sampled(CLogLog(), 0.01, 0.5).log_concave
    assert not Sampled(GEV(0.3), 0.01, 0.5).log_concave


def test_the_link_of_the_population_is_inside():
    assert Sampled(GEV(0.3), 0.01, 0.5).population == GEV(0.3)
    assert Sampled(GEV(0.3), 0.01, 0.5).support == GEV(0.3).support
    assert Weighted(GEV(0.3), 5, 1).population == GEV(0.3)
    assert Weighted(GEV(0.3), 5, 1).with_shape(0.1) == Weighted(GEV(0.1), 5, 1)
    assert ScaledOdds(GEV(0.3), 5).population == ScaledOdds(GEV(0.3), 5)
    assert GEV(0.3).population == GEV(0.3)
    assert Sampled(GEV(0.3), 0.01, 0.5) != Sampled(GEVc(0.3), 0.01, 0.5)
    assert Sampled(Logit(), 0.01, 0.5) != Sampled(Probit(), 0.01, 0.5)
    assert Sampled(Logit(), 0.01, 0.5) != Sampled(Logit(), 0.02, 0.5)


@pytest.mark.parametrize("share", [0, 1, -0.1, 5, np.nan, True, "0.1", None])
def test_shares_outside_the_unit_interval_are_refused(share):
    with refused(InvalidOptionError, "prevalence=", "not a share of events", "between 0 and 1"):
        Sampled(Logit(), share, 0.5)
    with refused(InvalidOptionError, "sample_mean=", "not a share of events"):
        Sampled(Logit(), 0.1, share)


def test_a_percentage_is_recognised():
    with refused(InvalidOptionError, "prevalence=3", "3 % is prevalence=0.03"):
        Sampled(Logit(), 3, 0.5)


def test_what_is_wrapped_must_be_a_link():
    with refused(InvalidOptionError, "'logit' is not a link", r"Logit\(\)"):
        Sampled("logit", 0.01, 0.5)
    with refused(InvalidOptionError, "positive numbers only", "-1"):
        ScaledOdds(Logit(), -1)


@pytest.mark.parametrize("weights", [(0, 1), (1, 0), (-1, -1), (np.inf, 1), ("2", 1), (None, 1)])
def test_class_weights_of_a_link_must_be_positive(weights):
    with refused(InvalidOptionError, "weights of the classes must be positive numbers"):
        Weighted(Logit(), *weights)
