"""What may be done to the data without changing the estimates, for every method."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gevglm.bias import Correction, Flac, Flic, Jeffreys, LogF, MeanReduction, MedianReduction
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import IncompatibleOptionsError
from gevglm.links import GEV, CLogLog, GEVc, Logit, LogLog, Probit
from gevglm.losses import Canonical, Log

METHODS = [MeanReduction(), MedianReduction(), Jeffreys(), Correction(), Flic(), Flac(), LogF()]
METHODS += [Jeffreys(0.2), LogF(3.0)]
MIRROR = {
    Logit(): Logit(),
    Probit(): Probit(),
    CLogLog(): LogLog(),
    GEV(0.3): GEVc(0.3),
    GEV(-0.3): GEVc(-0.3),
}
LOSSES = [*map(Log, MIRROR), *(Canonical(link) for link in MIRROR if link != Logit())]


few = settings(max_examples=settings().max_examples // 6)  # for each of many methods and losses


def allowed(method, loss):
    try:
        method.refuse(loss, 0)
    except IncompatibleOptionsError:
        return False
    return True


WAYS = [(method, loss) for method in METHODS for loss in LOSSES if allowed(method, loss)]


def each_way(*words):
    """Every method and loss it is defined for, or those of some methods."""
    ways = [way for way in WAYS if not words or way[0].word in words]
    return pytest.mark.parametrize(
        ("method", "loss"), ways, ids=lambda thing: getattr(thing, "word", None) or repr(thing)
    )


@st.composite
def tables(draw):
    """A few dozen rows with outcomes that depend on them a little, a third of them events."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, k = draw(st.integers(25, 50)), draw(st.integers(1, 3))
    X = np.column_stack([np.ones(n), rng.standard_normal((n, k))])
    if draw(st.booleans()):
        X[:, -1] = rng.random(n) < 0.4
    y = (rng.random(n) < Logit().inverse(-0.8 + 0.5 * X[:, 1])).astype(float)
    assume(5 <= y.sum() <= n - 5 and np.linalg.matrix_rank(X) == k + 1)
    return X, y


def fitted(method, loss, X, y, *, constant=0, **vectors):
    """The estimates, where they are found: not all methods give any under separation."""
    found = method.estimate(Problem(MemoryEngine(X, y, **vectors), loss, constant=constant))
    assume(found.converged)
    return found


def same(one, other, transform=None):
    """Equal coefficients and information, up to a linear transformation of the columns."""
    transform = np.eye(len(one.params)) if transform is None else transform
    scale = np.sqrt(np.diagonal(other.inverse_information))
    assert_allclose((transform @ one.params) / scale, other.params / scale, atol=2e-7)
    assert_allclose(
        (transform @ one.inverse_information @ transform.T) / np.outer(scale, scale),
        other.inverse_information / np.outer(scale, scale),
        atol=2e-6,
    )


# -- columns ---------------------------------------------------------------------------------


@each_way("mean", "jeffreys", "correction", "flic", "flac")
@few
@given(tables(), st.integers(0, 10**6))
def test_any_coding_of_the_columns_beside_the_constant_gives_the_same_fit(method, loss, table, seed):
    X, y = table
    code = np.random.default_rng(seed).standard_normal((X.shape[1], X.shape[1]))
    code[:, 0] = np.eye(X.shape[1])[0]
    assume(np.linalg.cond(code) < 50)
    same(fitted(method, loss, X @ code, y), fitted(method, loss, X, y), code)


@each_way("mean", "jeffreys", "correction")
@few
@given(tables(), st.integers(0, 10**6))
def test_any_coding_of_all_columns_gives_the_same_fit(method, loss, table, seed):
    X, y = table
    code = np.random.default_rng(seed).standard_normal((X.shape[1], X.shape[1]))
    assume(np.linalg.cond(code) < 50)
    same(fitted(method, loss, X @ code, y, constant=None), fitted(method, loss, X, y), code)


@each_way("median")
@few
@given(tables(), st.lists(st.floats(-3, 3), min_size=4, max_size=4), st.integers(0, 15))
def test_units_and_signs_of_columns_do_not_matter_to_the_median(method, loss, table, exponents, signs):
    X, y = table
    units = np.array([(-1.0) ** (signs >> j) * 10.0**e for j, e in enumerate(exponents)])[: X.shape[1]]
    units[0] = 1.0
    same(fitted(method, loss, X * units, y), fitted(method, loss, X, y), np.diag(units))


@each_way()
@few
@given(tables(), st.integers(0, 7))
def test_signs_and_order_of_columns_do_not_matter(method, loss, table, signs):
    X, y = table
    k = X.shape[1]
    turned = np.diag([1.0, *((-1.0) ** (signs >> j) for j in range(k - 1))])
    code = turned[:, [0, *range(k - 1, 0, -1)]]
    same(fitted(method, loss, X @ code, y), fitted(method, loss, X, y), code)


# -- rows ------------------------------------------------------------------------------------


@each_way()
@few
@given(tables(), st.sampled_from(["freq", "var", "trials"]))
def test_rows_of_weight_zero_do_not_matter(method, loss, table, weights):
    X, y = table
    rng = np.random.default_rng(len(y))
    far = np.column_stack([np.ones(3), 50.0 * rng.standard_normal((3, X.shape[1] - 1))])
    weight = np.append(np.ones(len(y)), np.zeros(3))
    more = fitted(method, loss, np.vstack([X, far]), np.append(y, [1.0, 0.0, 1.0]), **{weights: weight})
    same(more, fitted(method, loss, X, y))


@each_way()
@few
@given(tables(), st.integers(0, 10**6), st.sampled_from(["freq", "var"]))
def test_a_row_is_two_rows_of_half_its_weight(method, loss, table, seed, weights):
    assume(weights == "freq" or loss.is_likelihood)  # two canonical rows of half the weight vary less than one
    X, y = table
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(y))
    whole = fitted(method, loss, X, y, **{weights: weight})
    halves = fitted(method, loss, np.vstack([X, X]), np.tile(y, 2), **{weights: np.tile(weight / 2.0, 2)})
    same(halves, whole)


@each_way()
@few
@given(tables(), st.integers(0, 10**6), st.sampled_from(["freq", "trials"]))
def test_weights_are_repeated_rows(method, loss, table, seed, weights):
    X, y = table
    times = np.random.default_rng(seed).integers(0, 3, len(y))
    assume(min(times @ y, times @ (1.0 - y)) >= 5 and np.linalg.matrix_rank(X[times > 0]) == X.shape[1])
    repeated = fitted(method, loss, np.repeat(X, times, axis=0), np.repeat(y, times))
    same(fitted(method, loss, X, y, **{weights: times.astype(float)}), repeated)


@each_way()
@few
@given(st.integers(0, 10**6))
def test_shares_of_trials_are_single_rows(method, loss, seed):
    rng = np.random.default_rng(seed)
    trials = rng.integers(5, 12, 8)
    successes = rng.binomial(trials, 0.3)
    assume(5 <= successes.sum() <= trials.sum() - 5)
    X = np.column_stack([np.ones(8), rng.standard_normal(8)])
    single_X = np.repeat(np.vstack([X, X]), np.concatenate([successes, trials - successes]), axis=0)
    single_y = np.repeat([1.0, 0.0], [successes.sum(), (trials - successes).sum()])
    grouped = fitted(method, loss, X, successes / trials, trials=trials.astype(float))
    same(grouped, fitted(method, loss, single_X, single_y))


@each_way()
@few
@given(tables())
def test_the_order_of_rows_and_their_blocks_do_not_matter(method, loss, table):
    X, y = table
    same(fitted(method, loss, X[::-1], y[::-1], block_rows=8), fitted(method, loss, X, y))


@each_way()
@few
@given(tables())
def test_a_constant_offset_moves_the_constant(method, loss, table):
    X, y = table
    moved, plain = fitted(method, loss, X, y, offset=np.full(len(y), 0.2)), fitted(method, loss, X, y)
    assert_allclose(moved.params[0] + 0.2, plain.params[0], rtol=1e-6, atol=1e-7)
    assert_allclose(moved.params[1:], plain.params[1:], rtol=1e-6, atol=1e-7)


# -- outcomes --------------------------------------------------------------------------------


@each_way()
@few
@given(tables())
def test_exchanged_outcomes_have_the_mirrored_fit(method, loss, table):
    X, y = table
    mirrored = type(loss)(MIRROR[loss.link])
    same(fitted(method, mirrored, X, 1.0 - y), fitted(method, loss, X, y), -np.eye(X.shape[1]))
