"""Where numbers end: far tails, underflow, the mode, subnormal shapes, single complex numbers."""

import mpmath as mp
import numpy as np
import pytest

from gevglm.links import GEV, Cauchit, CLogLog, GEVc, Logit, LogLog, Probit
from gevglm.links._gamma import gamma_deficit, upper_gamma
from gevglm.losses import Canonical, Log

LINKS = [
    *(kind(xi) for kind in (GEV, GEVc) for xi in (-1.0, -0.3, -1e-9, 1e-9, 0.03, 0.5, 1.5)),
    *(Logit(), Probit(), LogLog(), CLogLog(), Cauchit()),
]
FAR = np.array([-1e100, -1e6, -800.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0, 1e6, 1e100])


@pytest.mark.parametrize("link", LINKS, ids=repr)
def test_nothing_is_ever_not_a_number(link):
    for y in (0, 1):
        for loss in (Log(link), Canonical(link)):
            for quantity in (loss.value, loss.slope, loss.curvature):
                assert not np.isnan(quantity(y, FAR)).any()
    for method in (link.inverse, link.inverse_deriv, link.inverse_deriv2):
        assert np.isfinite(method(FAR)).all()
    assert np.isfinite(link.deriv([0.0, 1.0])).all()


@pytest.mark.parametrize(
    ("link", "y", "v"),
    [(LogLog(), 0, 800.0), (CLogLog(), 1, -800.0), (GEV(0.03), 0, 1e100), (GEV(-1e-9), 0, 800.0)],
    ids=repr,
)
def test_the_canonical_loss_grows_linearly_where_t_underflows(link, y, v):
    grown = Canonical(link).value(y, 2 * v) - Canonical(link).value(y, v)
    assert grown == pytest.approx(abs(v), rel=1e-12)


def test_the_log_loss_is_exact_where_the_probability_rounds_to_one():
    assert Log(LogLog()).value(0, 800.0) == pytest.approx(800.0, rel=1e-15)
    assert Log(CLogLog()).value(1, -800.0) == pytest.approx(800.0, rel=1e-15)


@pytest.mark.parametrize(
    ("link", "exact"),
    [(Logit(), -1e-9 / 8), (LogLog(), -1e-9 * np.exp(-1)), (CLogLog(), 1e-9 * -np.exp(-1))],
    ids=repr,
)
def test_the_slope_of_the_density_is_exact_next_to_the_mode(link, exact):
    assert link.inverse_deriv2(1e-9) == pytest.approx(exact, rel=1e-8, abs=0)


@pytest.mark.parametrize("v", [-30.0, -3.0, -0.1, 0.1, 3.0, 30.0])
@pytest.mark.parametrize("y", [0, 1])
def test_the_curvature_of_the_log_loss_does_not_cancel(y, v):
    distributions = {
        Logit(): lambda x: 1 / (1 + mp.exp(-x)),
        LogLog(): lambda x: mp.exp(-mp.exp(-x)),
        Probit(): mp.ncdf,
    }
    for link, cdf in distributions.items():
        with mp.workdps(500):
            exact = mp.diff(lambda x: -mp.log(cdf(x) if y else 1 - cdf(x)), mp.mpf(v), 2)  # noqa: B023
        assert Log(link).curvature(y, v) == pytest.approx(float(exact), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("link", [Logit(), Probit(), LogLog(), CLogLog(), GEV(-0.5)], ids=repr)
def test_convex_log_losses_have_no_negative_curvature(link):
    v = np.concatenate([np.linspace(-60, 60, 2001), [-1e5, 1e5]])
    for y in (0, 1):
        assert (Log(link).curvature(y, v) >= 0).all()


def test_a_subnormal_shape_is_zero():
    assert Canonical(GEV(-1e-310)).value(0, 0.5) == Canonical(LogLog()).value(0, 0.5)
    assert GEV(1e-310).support == LogLog().support == (-np.inf, np.inf)


@pytest.mark.parametrize("method", ["__call__", "deriv", "deriv2", "inverse", "inverse_deriv", "inverse_deriv2"])
def test_a_single_complex_number_passes(method):
    for link in LINKS:
        value = getattr(link, method)(0.3 + 1e-30j)
        assert np.ndim(value) == 0
        assert value == pytest.approx(getattr(link, method)(np.array([0.3 + 1e-30j]))[0])


@pytest.mark.parametrize("function", [upper_gamma, gamma_deficit])
def test_not_a_number_stays_where_it_is(function):
    assert np.isnan(function(0.3, np.nan))
    assert np.isnan(function(0.3, [1.0, np.nan])).tolist() == [False, True]
