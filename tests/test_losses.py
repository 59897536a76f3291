import pickle

import mpmath as mp
import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.links import GEV, Cauchit, GEVc, Logit, Probit, ScaledOdds
from gevglm.losses import Canonical, Log
from tests.support.links_under_test import (
    ALL_LINKS,
    CASES,
    EPS,
    SHAPES,
    each_bounded_link,
    each_case,
    each_link,
    inside,
    predictors,
)

each_loss = pytest.mark.parametrize("loss_class", [Log, Canonical])
outcomes = st.sampled_from([0.0, 1.0]) | st.floats(0, 1)
CONVERGENT = [link for link in ALL_LINKS if link.relative_integrals == (False, False)]
INTEGRATED = [
    case for case in CASES if case.link in (GEV(-1), GEV(-0.2567), GEV(0), GEV(0.3), GEVc(0.3), Logit(), Probit())
]


@pytest.fixture(autouse=True)
def many_digits():
    with mp.workdps(40):
        yield


def interior(link, reach=3.0, points=41):
    lower, upper = max(link.support[0], -reach), min(link.support[1], reach)
    margin = 0.05 * (upper - lower)
    return np.linspace(lower + margin, upper - margin, points)


def steps_into_the_tail(case, v, tail):
    """Points from v outwards, each step twice the last, to the end of the support or where the tail is negligible."""
    end, step, points = case.link.support[tail] * (1 - 1e-15), 1.0 if tail else -1.0, []
    while not points or (abs(points[-1]) < abs(end) and case.tails(mp.mpf(points[-1]))[tail] > 1e-30):
        following = (points[-1] if points else v) + step
        points.append(max(following, end) if tail == 0 else min(following, end))
        step *= 2
    return points


# -- value, slope and curvature belong together -----------------------------------------------


@each_link
@each_loss
@pytest.mark.parametrize("y", [0.0, 0.3, 1.0])
def test_slope_and_curvature_are_derivatives(link, loss_class, y):
    loss, v, h = loss_class(link), interior(link), 1e-5
    slope = (loss.value(y, v + h) - loss.value(y, v - h)) / (2 * h)
    curvature = (loss.slope(y, v + h) - loss.slope(y, v - h)) / (2 * h)
    np.testing.assert_allclose(loss.slope(y, v), slope, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(loss.curvature(y, v), curvature, rtol=1e-6, atol=1e-6)


@each_case
@settings(max_examples=20)
@given(data=st.data())
def test_the_log_loss_matches_mpmath(case, data):
    v = data.draw(predictors(case.link))
    cdf, sf, pdf, dpdf = case.exact(v, 2)
    assume(min(cdf, sf, pdf) > 1e-250)
    loss, r, h, c = Log(case.link), pdf / cdf, pdf / sf, dpdf / pdf
    for y, value, slope, curvature in (
        (1, -mp.log(cdf) if cdf < 0.5 else -mp.log1p(-sf), -r, r * (r - c)),
        (0, -mp.log(sf) if sf < 0.5 else -mp.log1p(-cdf), h, h * (h + c)),
    ):
        unit = 16 * EPS * (1 + abs(mp.log(pdf)) + abs(v * c) + abs(v * r) + abs(v * h))
        rate = abs(slope)
        assert abs(loss.value(y, v) - value) <= unit * (1 + abs(value))
        assert abs(loss.slope(y, v) - slope) <= unit * rate
        assert abs(loss.curvature(y, v) - curvature) <= unit * rate * (1 + rate + abs(c))


@each_link
@each_loss
@given(data=st.data())
def test_every_loss_is_linear_in_the_outcome(link, loss_class, data):
    loss, v, y = loss_class(link), data.draw(predictors(link, reach=8.0)), data.draw(st.floats(0, 1))
    for part in (loss.value, loss.slope, loss.curvature):
        at_zero, at_one = part(0, v), part(1, v)
        size = abs(at_zero) + abs(at_one)
        assume(np.isfinite(size))
        assert part(y, v) == pytest.approx(y * at_one + (1 - y) * at_zero, abs=1e-13 * size + 1e-300)


@each_link
@each_loss
def test_expected_curvature_is_the_mean_over_the_outcome(link, loss_class):
    loss, v = loss_class(link), interior(link)
    point = link.at(v)
    mean = point.cdf * loss.curvature(1, v) + point.sf * loss.curvature(0, v)
    np.testing.assert_allclose(loss.expected_curvature_at(point), mean, rtol=1e-10)
    assert loss.curvature_is_expected == np.allclose(loss.curvature(1, v), loss.curvature(0, v))


@each_loss
@given(y=st.sampled_from([0.0, 0.125, 0.5, 1.0]), v=st.floats(-300, 300))
def test_the_loss_of_the_complement_is_mirrored(loss_class, y, v):
    for xi in SHAPES:
        loss, mirror = loss_class(GEV(xi)), loss_class(GEVc(xi))
        value = loss.value(1 - y, -v)
        assert mirror.value(y, v) == value or mirror.value(y, v) == pytest.approx(value, rel=1e-15, abs=0)


# -- the canonical loss ----------------------------------------------------------------------


@pytest.mark.parametrize("case", INTEGRATED, ids=lambda case: repr(case.link))
@pytest.mark.parametrize("v", [-1.5, 0.0, 0.7])
def test_the_canonical_loss_is_the_integral_of_the_tail(case, v):
    with mp.workdps(18):
        below = mp.quad(lambda s: case.tails(s)[0], [*reversed(steps_into_the_tail(case, v, 0)), v])
        above = mp.quad(lambda s: case.tails(s)[1], [v, *steps_into_the_tail(case, v, 1)])
    assert Canonical(case.link).value(0, v) == pytest.approx(float(below), rel=1e-12, abs=0)
    assert Canonical(case.link).value(1, v) == pytest.approx(float(above), rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("case", "w"),
    [
        pytest.param(case, w, id=f"{case.link!r}, {w}")
        for case in CASES
        for w in (-0.6, -0.3, 0.3, 0.6)
        if inside(case.link, w) or not isinstance(case.link, ScaledOdds)  # whose formula ends with the support
    ],
)
def test_differences_of_the_canonical_loss_are_integrals_of_the_cdf(case, w):
    loss = Canonical(case.link)
    area = float(mp.quad(lambda s: case.tails(s)[0], [0, w]))
    assert loss.value(0, w) - loss.value(0, 0) == pytest.approx(area, rel=1e-12, abs=4 * EPS * loss.value(0, 0))
    assert loss.value(1, w) - loss.value(1, 0) == pytest.approx(area - w, rel=1e-12, abs=4 * EPS * loss.value(1, 0))


@pytest.mark.parametrize("xi", SHAPES)
@given(data=st.data())
def test_the_canonical_gev_loss_has_its_closed_form(xi, data):
    v = data.draw(predictors(GEV(xi)))
    exact_xi, exact_v = mp.mpf(xi), mp.mpf(v)
    t = (1 + exact_xi * exact_v) ** (-1 / exact_xi) if xi else mp.exp(-exact_v)
    assume(1e-12 < t < 600)
    value = mp.gammainc(-exact_xi, t)
    condition = 1 + abs(exact_v * mp.exp(-t) / value)
    assert abs(float(Canonical(GEV(xi)).value(0, v)) - value) <= 1e-13 * condition * value


@each_link
@given(v=st.floats(-600, 600))
def test_the_canonical_loss_is_convex_with_slope_between_minus_one_and_one(link, v):
    loss = Canonical(link)
    for y in (0, 1):
        assert loss.curvature(y, v) >= 0.0
        assert -y <= loss.slope(y, v) <= 1 - y or link.edge == "wall"
        assert not np.isnan(loss.value(y, v))


@each_link
@settings(max_examples=60)
@given(v=st.tuples(st.floats(-50, 50), st.floats(-50, 50)), share=st.floats(0, 1), y=outcomes)
def test_the_canonical_loss_lies_below_its_chords(link, v, share, y):
    loss = Canonical(link)
    between = share * v[0] + (1 - share) * v[1]
    left, right = loss.value(y, v[0]), loss.value(y, v[1])
    assert loss.value(y, between) <= share * left + (1 - share) * right + 1e-12 * (1 + abs(left) + abs(right))


@pytest.mark.parametrize("link", CONVERGENT, ids=repr)
@given(v=st.floats(-30, 30), y=outcomes)
def test_the_canonical_loss_is_not_negative_where_its_integrals_converge(link, v, y):
    assert Canonical(link).value(y, v) >= 0.0


@each_bounded_link
@pytest.mark.parametrize("y", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("beyond", [1e-6, 0.5, 3.0, 1e6])
def test_beyond_the_support_the_canonical_loss_is_a_straight_line(link, y, beyond):
    loss = Canonical(link)
    lower, upper = link.support
    end, slope, way = (lower, -y, -1) if np.isfinite(lower) else (upper, 1 - y, 1)
    v = end + way * beyond
    assert loss.slope(y, v) == pytest.approx(slope, abs=EPS)
    assert loss.curvature(y, v) == 0.0
    assert loss.value(y, v) == pytest.approx(loss.value(y, end) + slope * (v - end), rel=1e-13, abs=0)


@each_bounded_link
@pytest.mark.parametrize("y", [0, 1])
def test_the_canonical_loss_is_smooth_across_the_end_of_the_support(link, y):
    loss = Canonical(link)
    end = next(e for e in link.support if np.isfinite(e))
    near = np.array([end - 1e-10, end + 1e-10])
    value, slope = loss.value(y, near), loss.slope(y, near)
    assert slope[0] == pytest.approx(slope[1], abs=1e-6)
    assert value[0] == pytest.approx(value[1], abs=1e-9)


def test_diverging_integrals_start_at_zero():
    for xi in (1.0, 1.2, 1.5):
        assert Canonical(GEV(xi)).value(1, 0.0) == 0.0
        assert Canonical(GEVc(xi)).value(0, 0.0) == 0.0
        assert Canonical(GEV(xi)).value(1, 2.0) < 0.0 < Canonical(GEV(xi)).value(1, -0.5)
        assert GEV(xi).relative_integrals == (False, True)
        assert GEVc(xi).relative_integrals == (True, False)
    assert [Canonical(Cauchit()).value(y, 0.0) for y in (0, 1)] == [0.0, 0.0]


@given(v=st.floats(-3, 30), exponent=st.floats(6, 300), sign=st.sampled_from([-1, 1]))
def test_the_canonical_loss_does_not_jump_through_shape_zero(v, exponent, sign):
    xi = sign * 10.0**-exponent
    for y in (0, 1):
        zero = float(Canonical(GEV(0.0)).value(y, v))
        moved = abs(xi) * (1 + v**2) * (2 + np.exp(-v))
        assert float(Canonical(GEV(xi)).value(y, v)) == pytest.approx(zero, rel=1e-12, abs=moved)


@given(y=outcomes, v=st.floats(-700, 700))
def test_the_two_losses_of_the_logit_coincide(y, v):
    log, canonical = Log(Logit()), Canonical(Logit())
    assert log.value(y, v) == pytest.approx(canonical.value(y, v), rel=1e-14, abs=1e-300)
    assert log.slope(y, v) == pytest.approx(canonical.slope(y, v), rel=1e-14, abs=2 * EPS)
    assert log.curvature(y, v) == pytest.approx(canonical.curvature(y, v), rel=1e-14, abs=2 * EPS)


def test_only_the_logit_has_coinciding_losses():
    assert Logit().canonical_is_log
    assert not any(case.link.canonical_is_log for case in CASES if case.link.population != Logit())


# -- what kind of loss -----------------------------------------------------------------------


@each_link
def test_the_canonical_loss_is_always_convex_and_feasible(link):
    loss = Canonical(link)
    assert loss.convex
    assert not loss.is_likelihood
    assert loss.feasible(np.array([0.0, 1.0]), np.array([-1e9, 1e9]))


@each_link
def test_the_log_loss_is_a_likelihood(link):
    assert Log(link).is_likelihood
    assert Log(link).convex == link.log_concave


@each_bounded_link
def test_the_log_loss_is_finite_exactly_where_it_is_feasible(link):
    loss = Log(link)
    lower, upper = link.support
    v = np.array([lower - 1.0 if np.isfinite(lower) else upper + 1.0])
    contradicted = 1.0 if np.isfinite(lower) else 0.0
    for y in (contradicted, 0.5, 1 - contradicted):
        feasible = loss.feasible(np.array([y]), v)
        assert feasible == (y == 1 - contradicted)
        assert np.isfinite(loss.value(y, v)).all() == feasible
        assert not np.isnan(loss.slope(y, v)).any()
        assert not np.isnan(loss.curvature(y, v)).any()
    assert not inside(link, v[0])


@each_loss
def test_losses_have_identity(loss_class):
    loss = loss_class(GEV(0.5))
    assert repr(loss) == f"{loss_class.__name__}(GEV(xi=0.5))"
    assert loss == loss_class(GEV(0.5)) == pickle.loads(pickle.dumps(loss))
    assert hash(loss) == hash(loss_class(GEV(0.5)))
    assert loss != loss_class(GEV(0.4))
    assert Log(Probit()) != Canonical(Probit())


@each_loss
def test_outcomes_and_predictors_broadcast(loss_class):
    loss = loss_class(Probit())
    assert loss.value([[0], [1]], [0.0, 1.0, 2.0]).shape == (2, 3)
    assert np.ndim(loss.slope(1, 0.3)) == 0


# -- bad input -------------------------------------------------------------------------------


@each_loss
@pytest.mark.parametrize("link, advice", [(GEV, r"GEV\(xi=0.5\)"), (Logit, r"Logit\(\)")])
def test_a_link_class_instead_of_an_instance_is_refused(loss_class, link, advice):
    with pytest.raises(
        InvalidOptionError, match=f"given as the class {link.__name__}; give an instance, such as {advice}"
    ):
        loss_class(link)


@each_loss
@pytest.mark.parametrize("link", ["logit", None, sm.families.links.Logit()])
def test_what_is_not_a_link_of_ours_is_refused(loss_class, link):
    with pytest.raises(InvalidOptionError, match="is not a link of gevglm"):
        loss_class(link)


@each_loss
@pytest.mark.parametrize("y", [-0.1, 1.5, 2])
def test_outcomes_outside_the_unit_interval_are_refused(loss_class, y):
    loss = loss_class(Logit())
    for part in (loss.value, loss.slope, loss.curvature):
        with pytest.raises(InvalidDataError, match=r"outcomes must lie in \[0, 1\], got values from"):
            part([0.0, y], 0.2)


def test_the_log_loss_of_gev_links_is_convex_up_to_the_shape_zero_only():
    # the GEV-canonical paper says below 0.1; mpmath: second derivative of -log(1 - F) at v = 8 and xi = 0.02
    with mp.workdps(40):
        truth = mp.diff(lambda v: -mp.log(1 - mp.e ** (-((1 + mp.mpf("0.02") * v) ** -50))), 8, 2)
    assert float(Log(GEV(0.02)).curvature(np.zeros(1), np.array([8.0]))[0]) == pytest.approx(float(truth), rel=1e-8)
    assert truth < -0.014
    v = np.linspace(-20.0, 20.0, 4001)
    for xi in (-1.0, -0.5, 0.0):
        within = v[(GEV(xi).inverse(v) > 0) & (GEV(xi).inverse(v) < 1)]
        for y in (0.0, 1.0):
            assert (Log(GEV(xi)).curvature(np.full_like(within, y), within) >= -1e-12).all()
