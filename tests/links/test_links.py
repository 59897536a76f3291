import pickle

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gevglm import links
from gevglm.exceptions import GevglmError, InvalidDataError, InvalidOptionError
from gevglm.links import GEV, CLogLog, GEVc, Identity, Logit, LogLog
from gevglm.losses import Log
from tests.support.links_under_test import (
    ALL_LINKS,
    DIGITS,
    EPS,
    FIELDS,
    SHAPES,
    at,
    each_bounded_link,
    each_case,
    each_link,
    gev_tails,
    inside,
    predictors,
    probabilities,
    upper_probabilities,
)

SMALLEST = 1e-290  # below it doubles lose digits
STEP = 1e-30j

few_examples = settings(max_examples=20)


@pytest.fixture(autouse=True)
def many_digits():
    with mp.workdps(DIGITS):
        yield


def error_in_ulps(value, exact, *conditions):
    """Relative error in units of the last place times the condition of the problem.

    Results come out of an exponential, so that their logarithm is part of the condition.
    """
    exact = mp.mpf(exact)
    condition = 1 + sum(abs(c) for c in conditions) + abs(mp.log(abs(exact)))
    return float(abs(mp.mpf(float(value)) - exact) / (abs(exact) * condition) / EPS)


def exact_quantile(case, p):
    """The v with F(v) = p, by Newton steps in mpmath from the value of the link."""
    v = mp.mpf(float(case.link(p)))
    for _ in range(3):
        cdf, _, pdf = case.exact(v, 1)
        v -= (cdf - mp.mpf(p)) / pdf
    return v


# -- F and its derivatives in v --------------------------------------------------------------


@each_link
@given(data=st.data())
def test_cdf_and_sf_add_up_to_one(link, data):
    point = at(link, data.draw(predictors(link)))
    assert point.cdf[0] + point.sf[0] == pytest.approx(1.0, abs=2 * EPS)


@each_case
@few_examples
@given(data=st.data())
def test_tails_density_and_hazards_match_mpmath(case, data):
    v = data.draw(predictors(case.link))
    cdf, sf, pdf, dpdf = case.exact(v, 2)
    assume(min(cdf, sf, pdf) > SMALLEST)
    point = at(case.link, v)
    of_cdf, of_sf, of_pdf = v * pdf / cdf, v * pdf / sf, v * dpdf / pdf
    assert error_in_ulps(point.cdf[0], cdf, of_cdf) <= 4
    assert error_in_ulps(point.sf[0], sf, of_sf) <= 4
    assert error_in_ulps(point.pdf[0], pdf, of_pdf) <= 4
    assert error_in_ulps(point.reverse_hazard[0], pdf / cdf, of_pdf, of_cdf, of_sf) <= 4
    assert error_in_ulps(point.hazard[0], pdf / sf, of_pdf, of_cdf, of_sf) <= 4


@each_case
@few_examples
@given(data=st.data())
def test_logarithms_of_the_tails_match_mpmath(case, data):
    v = data.draw(predictors(case.link))
    cdf, sf, pdf = case.exact(v, 1)
    assume(min(cdf, sf) > SMALLEST)
    point = at(case.link, v)
    log_cdf = mp.log(cdf) if cdf < 0.5 else mp.log1p(-sf)
    log_sf = mp.log(sf) if sf < 0.5 else mp.log1p(-cdf)
    moved = abs(v * pdf / cdf) + abs(v * pdf / sf)
    assert abs(point.log_cdf[0] - log_cdf) <= 8 * EPS * (1 + abs(log_cdf) + moved)
    assert abs(point.log_sf[0] - log_sf) <= 8 * EPS * (1 + abs(log_sf) + moved)


@each_case
@few_examples
@given(data=st.data())
def test_the_slope_of_the_density_matches_mpmath(case, data):
    v = data.draw(predictors(case.link))
    cdf, sf, pdf, dpdf, d2pdf = case.exact(v, 3)
    if isinstance(case.link, Identity):
        assert at(case.link, v).dpdf[0] == 0.0
        return
    assume(min(cdf, sf, pdf) > SMALLEST)
    assume(abs(dpdf) > 1e-6 * pdf)
    near_the_mode = pdf / dpdf
    assert error_in_ulps(at(case.link, v).dpdf[0], dpdf, v * d2pdf / dpdf, near_the_mode) <= 8


@each_case
@few_examples
@given(data=st.data())
def test_derivatives_of_the_log_density_match_mpmath(case, data):
    v = data.draw(predictors(case.link, reach=8.0))
    cdf, sf, pdf, dpdf, d2pdf = case.exact(v, 3)
    assume(min(cdf, sf) > 1e-30)
    point = at(case.link, v)
    first, second = dpdf / pdf, d2pdf / pdf - (dpdf / pdf) ** 2
    scale = 1 + abs(first) + abs(d2pdf / pdf) ** 0.5
    tolerance = 16 * EPS * (1 + abs(v) * scale)
    assert abs(point.dlogpdf[0] - first) <= tolerance * scale
    assert abs(point.d2logpdf[0] - second) <= tolerance * scale**2
    stepped = case.link.inverse_deriv2(np.array([v + STEP])).imag[0] / STEP.imag
    assert abs(stepped - d2pdf) <= 2 * tolerance * pdf * scale**2


@each_link
def test_the_tails_are_monotone(link):
    lower, upper = max(link.support[0], -50.0), min(link.support[1], 50.0)
    v = np.linspace(lower, upper, 4001)
    point = at(link, *v)
    for falling in (point.sf, point.cdf[::-1]):
        noise = 4 * EPS * (1 + np.abs(np.log(np.maximum(falling, 1e-300))))
        assert (np.diff(falling) <= falling[1:] * noise[1:]).all()


@each_link
@given(v=st.floats(-600, 600))
def test_nothing_is_ever_nan(link, v):
    point = at(link, v)
    assert not {name for name in FIELDS if np.isnan(getattr(point, name)).any()}


@each_link
@given(v=st.floats(allow_nan=False, allow_infinity=False))
def test_tails_and_density_exist_for_every_number(link, v):
    point = at(link, v)
    assert 0.0 <= point.cdf[0] <= 1.0
    assert 0.0 <= point.sf[0] <= 1.0
    assert point.pdf[0] >= 0.0


@each_bounded_link
@pytest.mark.parametrize("beyond", [1e-9, 1.0, 1e4, 1e300])
def test_outside_the_support_the_cdf_is_flat(link, beyond):
    lower, upper = link.support
    below = np.isfinite(lower)
    v = lower - beyond * max(1.0, abs(lower)) if below else upper + beyond * max(1.0, abs(upper))
    point = at(link, v)
    assert link.outside(np.array([v]))[0]
    assert (point.cdf[0], point.sf[0]) == ((0.0, 1.0) if below else (1.0, 0.0))
    assert [getattr(point, name)[0] for name in ("pdf", "dpdf", "hazard", "reverse_hazard")] == [0.0] * 4
    assert not {name for name in FIELDS if np.isnan(getattr(point, name)).any()}


@each_link
def test_the_support_is_where_the_cdf_moves(link):
    v = np.linspace(-5, 5, 101)
    point = at(link, *v)
    np.testing.assert_array_equal((point.cdf == 0.0) & (point.pdf == 0.0) & (v < link.support[0]), v < link.support[0])
    np.testing.assert_array_equal((point.sf == 0.0) & (v > link.support[1]), v > link.support[1])


@each_link
def test_log_concavity_is_the_sign_of_the_curvature(link):
    lower, upper = max(link.support[0], -30.0), min(link.support[1], 30.0)
    v = np.linspace(lower, upper, 2001)[1:-1]
    point = at(link, *v)
    scale = 1e-10 * (1 + point.reverse_hazard**2 + point.hazard**2)
    convex = all((Log(link).curvature(y, v) >= -scale).all() for y in (0, 1))
    assert convex == link.log_concave


# -- the side of the probability, and statsmodels' six methods --------------------------------


@each_case
@few_examples
@given(p=probabilities)
def test_quantiles_match_mpmath(case, p):
    value = float(case.link(p))
    assume(inside(case.link, value))
    v = exact_quantile(case, p)
    pdf = case.exact(v, 1)[2]
    assert abs(value - v) <= 8 * EPS * (1 + abs(mp.log(p))) * (abs(v) + p / pdf)


@each_link
@given(data=st.data())
def test_the_link_inverts_its_inverse(link, data):
    v = data.draw(predictors(link))
    point = at(link, v)
    p = point.cdf[0]
    assume(1e-145 < p < 1.0 and point.pdf[0] > SMALLEST)
    rounding_of_p = p * (1 + abs(np.log(p))) / point.pdf[0]
    assert abs(link(link.inverse(v)) - v) <= 16 * EPS * (abs(v) * (1 + abs(np.log(p))) + rounding_of_p)


@each_link
@given(p=probabilities)
def test_the_inverse_inverts_the_link(link, p):
    condition = 1 + abs(np.log(p)) + abs(link(p) / (p * link.deriv(p)))
    assert float(link.inverse(link(p))) == pytest.approx(p, rel=16 * EPS * condition, abs=0)


@each_case
@few_examples
@given(p=probabilities)
def test_derivatives_in_p_match_mpmath(case, p):
    assume(p > 1e-40 and inside(case.link, float(case.link(p))))
    v = exact_quantile(case, p)
    _, _, f1, f2, f3 = case.exact(v, 3)
    first, second, third = 1 / f1, -f2 / f1**3, (3 * f2**2 - f1 * f3) / f1**5
    condition = 1 + abs(mp.log(p)) + abs(mp.log(f1)) + abs(p * second / first) + abs(v * f2 / f1)
    assert abs(float(case.link.deriv(p)) - first) <= 8 * EPS * condition * first
    scale = first**2 + abs(second) + p * abs(third)
    assert abs(float(case.link.deriv2(p)) - second) <= 32 * EPS * condition * scale
    stepped = case.link.deriv2(np.array([p + STEP])).imag[0] / STEP.imag
    assert abs(stepped - third) <= 1e-6 * abs(third) + 1e-12 * condition * first**3


@each_link
@given(data=st.data())
def test_a_complex_step_gives_the_next_derivative(link, data):
    v, p = data.draw(predictors(link)), data.draw(upper_probabilities | st.floats(1e-40, 0.5))
    pairs = [
        (link, link.deriv, p),
        (link.deriv, link.deriv2, p),
        (link.inverse, link.inverse_deriv, v),
        (link.inverse_deriv, link.inverse_deriv2, v),
    ]
    for function, derivative, x in pairs:
        stepped = function(x + STEP)
        assert stepped.real == function(x)
        assert stepped.imag / STEP.imag == pytest.approx(derivative(x), rel=4 * EPS, abs=1e-250)


@each_link
def test_the_six_methods_are_the_point_seen_from_outside(link):
    lower, upper = max(link.support[0], -2.0), min(link.support[1], 2.0)
    v = np.linspace(lower, upper, 9)[1:-1]
    point = at(link, *v)
    np.testing.assert_array_equal(link.inverse(v), point.cdf)
    np.testing.assert_array_equal(link.inverse_deriv(v), point.pdf)
    np.testing.assert_array_equal(link.inverse_deriv2(v), point.dpdf)
    np.testing.assert_allclose(link.deriv(point.cdf), 1 / point.pdf, rtol=1e-10)
    np.testing.assert_allclose(link.deriv2(point.cdf), -point.dpdf / point.pdf**3, rtol=1e-9, atol=1e-12)


@each_link
def test_probabilities_zero_and_one_have_finite_links(link):
    low, high = link([0.0, 1.0])
    assert -np.inf < low < link(0.5) < high < np.inf


@each_link
def test_shapes_of_the_input_are_kept(link):
    p = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
    assert link(p).shape == (2, 3)
    assert np.ndim(link(0.3)) == 0
    assert link(0.3) == link(np.array([0.3]))[0]
    assert link.inverse(pd.Series([0, 1])).shape == (2,)
    assert link.inverse([]).shape == (0,)


@each_link
def test_the_input_is_not_written_to(link):
    v = np.array([-9.0, -0.1, 0.1, 9.0])
    v.flags.writeable = False
    link.inverse(v), link.inverse_deriv2(v), link.integral_cdf(v), link.integral_sf(v)


@each_link
def test_statsmodels_takes_the_link(link):
    family = sm.families.Binomial(link=link)
    assert family.link is link
    assert family.fitted(0.1) == pytest.approx(link.inverse(0.1))


# -- the GEV pair ----------------------------------------------------------------------------


@pytest.mark.parametrize("xi", SHAPES)
@given(v=st.floats(-300, 300))
def test_the_complement_is_the_mirror_image_to_the_last_bit(xi, v):
    point, mirror = at(GEV(xi), -v), at(GEVc(xi), v)
    assert mirror.v[0] == v
    same = [("cdf", "sf"), ("sf", "cdf"), ("log_cdf", "log_sf"), ("hazard", "reverse_hazard"), ("pdf", "pdf")]
    for name, image in same:
        assert getattr(mirror, name)[0] == getattr(point, image)[0]
    assert mirror.dpdf[0] == -point.dpdf[0]
    assert GEVc(xi).integral_cdf(v) == GEV(xi).integral_sf(-v)
    assert GEVc(xi).support == (-GEV(xi).support[1], -GEV(xi).support[0])


@pytest.mark.parametrize("xi", SHAPES)
@given(q=st.integers(1, 2**20 - 1))
def test_quantiles_of_the_complement_are_mirrored(xi, q):
    p = q / 2**20
    assert float(GEVc(xi)(p)) == pytest.approx(-float(GEV(xi)(1 - p)), rel=1e-9, abs=1e-15)


@given(v=st.floats(-600, 600), p=probabilities)
def test_shape_zero_is_loglog_and_cloglog_to_the_last_bit(v, p):
    for general, special in ((GEV(0.0), LogLog()), (GEVc(0), CLogLog())):
        for name in FIELDS:
            assert getattr(at(general, v), name)[0] == getattr(at(special, v), name)[0]
        assert general(p) == special(p)


@given(v=st.floats(-5, 30))
def test_shape_zero_equals_the_textbook_formula(v):
    assert float(LogLog().inverse(v)) == pytest.approx(np.exp(-np.exp(-v)), rel=1e-13, abs=0)
    assert float(CLogLog().inverse(-v)) == pytest.approx(-np.expm1(-np.exp(-v)), rel=1e-13, abs=0)


@pytest.mark.parametrize("link_class", [GEV, GEVc])
@given(v=st.floats(-5, 5), exponent=st.floats(6, 320), sign=st.sampled_from([-1, 1]))
def test_no_jump_through_shape_zero(link_class, v, exponent, sign):
    xi = sign * 10.0**-exponent
    near, zero = at(link_class(xi), v), at(link_class(0.0), v)
    moved = 2 * abs(xi) * (1 + v**2) * (1 + np.exp(abs(v)))
    for name in ("cdf", "sf", "pdf", "reverse_hazard", "hazard", "dlogpdf"):
        expected = getattr(zero, name)[0]
        assert getattr(near, name)[0] == pytest.approx(expected, rel=moved + 1e-13, abs=moved + 1e-13)


@pytest.mark.parametrize("xi", SHAPES)
@few_examples
@given(data=st.data())
def test_the_derivative_in_the_shape_matches_mpmath(xi, data):
    v = data.draw(predictors(GEV(xi), reach=8.0))
    assume(min(at(GEV(xi), v).cdf[0], at(GEV(xi), v).sf[0]) > 1e-30 and abs(v) > 1e-10)
    with mp.workdps(60):
        exact = float(mp.diff(lambda x: gev_tails(x)(mp.mpf(v))[0], mp.mpf(xi)))
    condition = 1 + abs(v) / (1 + xi * v) + at(GEV(xi), v).t[0] * abs(v) / (1 + xi * v)
    assert at(GEV(xi), v).dcdf_dshape[0] == pytest.approx(exact, rel=1e-14 * condition, abs=1e-300)
    assert at(GEVc(xi), -v).dcdf_dshape[0] == -at(GEV(xi), v).dcdf_dshape[0]


@pytest.mark.parametrize("xi", [-0.9, -0.2567, -0.03, 1e-3, 0.3, 1.4])
@pytest.mark.parametrize("y", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("v", [-0.6, -0.05, 0.4, 0.9])
def test_the_joint_derivatives_of_the_log_loss_match_mpmath(xi, y, v):
    def loss(v, x):
        below, above = gev_tails(x)(v)[:2]
        return -y * mp.log(below) - (1 - y) * mp.log(above)

    orders = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (0, 2)]
    with mp.workdps(60):
        exact = [
            float(mp.diff(loss, (mp.mpf(v), mp.mpf(xi)), order)) if any(order) else float(loss(mp.mpf(v), mp.mpf(xi)))
            for order in orders
        ]
    found = np.ravel(at(GEV(xi), v).joint_derivatives(np.array([y])))
    np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-13)
    mirrored = at(GEVc(xi), -v).joint_derivatives(np.array([1.0 - y]))
    np.testing.assert_allclose(np.ravel(mirrored), found * [1, -1, 1, 1, -1, 1], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("xi", [0.3, 1.5, -0.3, -1.0])
def test_outside_the_support_the_shape_does_not_matter(xi):
    v = -2.0 / xi
    assert not inside(GEV(xi), v)
    assert at(GEV(xi), v).dcdf_dshape[0] == 0.0
    with np.errstate(all="ignore"):
        assert not np.any(at(GEV(xi), v).joint_derivatives(np.array([float(xi < 0)])))


# -- identity --------------------------------------------------------------------------------


@each_link
def test_repr_rebuilds_the_link(link):
    assert eval(repr(link), vars(links)) == link


@each_link
def test_a_pickled_link_is_equal_and_works(link):
    copy = pickle.loads(pickle.dumps(link))
    assert copy == link
    assert hash(copy) == hash(link)
    assert copy(0.2) == link(0.2)


def test_links_are_equal_when_class_and_shape_are():
    assert len(set(ALL_LINKS)) == len(ALL_LINKS)
    assert GEV(0.5) == GEV(0.5)
    assert GEV(0.5) != GEVc(0.5)
    assert GEV(0.5) != GEV(0.25)
    assert Logit() != "Logit()"


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize("link_class", [GEV, GEVc])
@pytest.mark.parametrize("xi", [np.nan, np.inf, -np.inf, 5.1, -7, 1e300])
def test_an_absurd_shape_is_refused_with_the_allowed_range(link_class, xi):
    with pytest.raises(InvalidOptionError, match=r"xi=.* is not usable: .* between -5 and 5"):
        link_class(xi)


@pytest.mark.parametrize("xi", ["steep", None, [1, 2]])
def test_a_shape_that_is_no_number_is_refused(xi):
    with pytest.raises(InvalidOptionError, match="xi must be a number"):
        GEV(xi)


@pytest.mark.parametrize("xi", [-5, 5, "0.5", np.float32(0.5)])
def test_the_ends_of_the_range_and_other_numbers_are_shapes(xi):
    assert GEV(xi).xi == float(xi)


@each_link
@pytest.mark.parametrize("p", [[0.5, -0.01], [1.01, 0.5], [np.inf], [-1e-300]])
def test_probabilities_outside_the_unit_interval_are_refused(link, p):
    for method in (link, link.deriv, link.deriv2):
        with pytest.raises(InvalidDataError, match=r"1 probabilities lie outside \[0, 1\]"):
            method(p)


def test_errors_are_value_errors_of_one_tree():
    assert issubclass(InvalidOptionError, GevglmError)
    assert issubclass(InvalidOptionError, ValueError)
    assert issubclass(InvalidDataError, GevglmError)
    assert issubclass(InvalidDataError, ValueError)


@each_link
def test_missing_values_stay_missing(link):
    assert np.isnan(link([0.5, np.nan])).tolist() == [False, True]
    assert np.isnan(link.inverse([0.0, np.nan])).tolist() == [False, True]
