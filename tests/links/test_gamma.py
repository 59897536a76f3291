import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gevglm.links._gamma import deficit_constant, gamma_deficit, gamma_excess, lgamma1p, upper_gamma

TOLERANCE = 1e-12
NEAR = (1e-1, 1e-2, 1e-4, 1e-6, 1e-9, 1e-12, 1e-15)
SHAPES = sorted(
    {
        *np.arange(-2.0, 1.51, 0.125).tolist(),
        *(centre + sign * d for centre in (-1.0, 0.0, 1.0) for sign in (-1, 1) for d in NEAR),
        *(-0.2567, 0.4999, 0.5001, -0.4999, -0.5001),
    }
)
POINTS = np.array(
    [*10.0 ** np.arange(-12, 0), 0.3, 0.9, 1 - 1e-6, 1, 1 + 1e-6, 1.5, 2, 2 + 1e-12, 3, 10, 35, 100, 300, 600, 700]
)

shapes = st.floats(-2.0, 1.5, allow_subnormal=False) | st.builds(
    lambda centre, sign, e: centre + sign * 10.0**-e,
    st.sampled_from([-1.0, 0.0, 1.0]),
    st.sampled_from([-1, 1]),
    st.floats(0.5, 17),
)
points = st.floats(-12, math.log10(700)).map(lambda e: min(10.0**e, 700.0)) | st.floats(0.5, 3.0)


def order(a):
    """The order in mpmath; below 1e-30 it makes no difference, and mpmath loses its digits there."""
    return mp.mpf(a) if abs(a) > 1e-30 else mp.mpf(0)


def exact_upper_gamma(a, t):
    return mp.gammainc(order(a), mp.mpf(t))


def exact_deficit(a, t):
    a, t = order(a), mp.mpf(t)
    box_cox = (t**a - 1) / a if a else mp.log(t)
    if a <= -1:
        constant = mp.gammainc(a, 1)
    else:
        constant = (mp.gamma(1 + a) - 1) / a if a else -mp.euler
    return box_cox - constant + mp.gammainc(a, t)


def relative_error(value, exact):
    return float(abs((mp.mpf(float(value)) - exact) / exact)) if exact else abs(float(value))


@pytest.fixture(autouse=True)
def sixty_digits():
    with mp.workdps(60):
        yield


@pytest.mark.parametrize("function, exact", [(upper_gamma, exact_upper_gamma), (gamma_deficit, exact_deficit)])
@pytest.mark.parametrize("xi", SHAPES)
def test_integrals_match_mpmath_on_a_grid(function, exact, xi):
    values = function(-xi, POINTS)
    assert max(relative_error(value, exact(-xi, t)) for value, t in zip(values, POINTS, strict=True)) <= TOLERANCE


@settings(max_examples=500)
@given(xi=shapes, t=points)
def test_upper_gamma_matches_mpmath(xi, t):
    assert relative_error(upper_gamma(-xi, t), exact_upper_gamma(-xi, t)) <= TOLERANCE


@settings(max_examples=500)
@given(xi=shapes, t=points)
def test_gamma_deficit_matches_mpmath(xi, t):
    assert relative_error(gamma_deficit(-xi, t), exact_deficit(-xi, t)) <= TOLERANCE


@given(xi=shapes, t=st.floats(2.0001, 600.0))
def test_the_two_integrals_add_up_to_the_box_cox_transform(xi, t):
    a = -xi
    box_cox = math.expm1(a * math.log(t)) / a if abs(a) > 1e-300 else math.log(t)
    left = float(gamma_deficit(a, t)) - float(upper_gamma(a, t)) + deficit_constant(a)
    assert left == pytest.approx(box_cox, rel=1e-12, abs=1e-12 * abs(deficit_constant(a)))


@pytest.mark.parametrize("function", [upper_gamma, gamma_deficit])
@pytest.mark.parametrize("a", [-2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0])
def test_the_value_of_a_point_does_not_depend_on_its_company(function, a):
    alone = np.array([function(a, t) for t in POINTS])
    np.testing.assert_allclose(function(a, POINTS), alone, rtol=2e-15)
    np.testing.assert_array_equal(function(a, POINTS.reshape(3, -1)).ravel(), function(a, POINTS))


@pytest.mark.parametrize("a", [-2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0])
def test_upper_gamma_at_the_ends(a):
    at_zero, at_infinity = upper_gamma(a, [0.0, np.inf])
    assert at_zero == (math.gamma(a) if a > 0 else np.inf)
    assert at_infinity == 0.0


@pytest.mark.parametrize("a, at_zero", [(-2.0, -np.inf), (-1.0, -np.inf), (-0.3, 0.0), (0.0, 0.0), (1.3, 0.0)])
def test_gamma_deficit_at_the_ends(a, at_zero):
    values = gamma_deficit(a, [0.0, np.inf])
    assert values[0] == at_zero
    limit = np.inf if a >= 0 else -1.0 / a - deficit_constant(a)
    assert values[1] == pytest.approx(limit, rel=1e-13, abs=0)


@pytest.mark.parametrize("function", [upper_gamma, gamma_deficit])
def test_no_points_give_no_values(function):
    assert function(0.3, []).shape == (0,)


@pytest.mark.parametrize("a", [-0.999, -0.5, -0.1, -1e-8, 1e-8, 0.1, 0.5, 2.0])
def test_constants_near_order_zero_match_mpmath(a):
    assert relative_error(lgamma1p(a), mp.loggamma(1 + mp.mpf(a))) <= TOLERANCE
    assert relative_error(gamma_excess(a), (mp.gamma(1 + mp.mpf(a)) - 1) / mp.mpf(a)) <= TOLERANCE


def test_constants_at_order_zero():
    assert lgamma1p(0.0) == 0.0
    assert gamma_excess(0.0) == pytest.approx(-np.euler_gamma, rel=1e-15, abs=0)
