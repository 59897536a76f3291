import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.optimize import linprog

from gevglm.exceptions import GevglmError, InvalidDataError
from gevglm.inference.separation import Separation, detect_separation, find_directions
from tests.support.golden import golden_set, numbers

DOSE = pd.DataFrame({"const": 1.0, "dose": [1, 2, 3, 4, 5, 6, 7, 8], "flag": [0, 0, 0, 0, 0, 0, 1, 1]})
OVERLAP, QUASI, COMPLETE = [0, 0, 1, 0, 1, 1, 0, 1], [0, 0, 1, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1]


@st.composite
def tables(draw):
    """Small integers, so that ties and separation of every kind are common."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, k = draw(st.integers(4, 24)), draw(st.integers(1, 4))
    X = np.column_stack([np.ones(n), rng.integers(-2, 3, (n, k))]).astype(float)[:, draw(st.integers(0, 1)) :]
    noise = draw(st.sampled_from([0.0, 0.5, 2.0])) * rng.standard_normal(n)
    y = (X @ rng.integers(-2, 3, X.shape[1]) + noise > 0).astype(float)
    if draw(st.booleans()):
        y[rng.integers(n)] = 0.5
    assume(y.max() > 0 and y.min() < 1)
    return X, y


def verdict(found):
    return found.separated, found.complete, found.rows


def cone(X, y):
    """The half-spaces that a separating direction lies in, for scipy."""
    signed = np.vstack([X[y > 0], -X[y < 1]])
    return {"A_ub": -signed, "b_ub": np.zeros(len(signed)), "bounds": (-1, 1), "method": "highs"}


def furthest(goal, X, y):
    return -linprog(-goal, **cone(X, y)).fun


# -- against linear programmes in R, detectseparation, and by brute force -----------------------


def directions(found):
    return dict(zip(found.names, found.directions, strict=True))


@pytest.mark.parametrize("name", numbers("separation")["cases"])
def test_verdicts_and_directions_are_those_of_linear_programmes(name):
    data, expected = golden_set(name), numbers("separation")["cases"][name]
    found = detect_separation(data.outcome, data.X)
    assert found.separated is expected["separated"]
    assert found.complete is expected["complete"]
    assert directions(found) == {coefficient: float(way) for coefficient, way in expected["direction"].items()}


@pytest.mark.parametrize("name", numbers("detectseparation")["cases"])
def test_verdicts_and_directions_are_those_of_detectseparation(name):
    data, expected = golden_set(name), numbers("detectseparation")["cases"][name]
    found = detect_separation(data.outcome, data.X)
    assert found.complete is expected["complete"]
    for fit in expected["fits"].values():
        assert found.separated is fit["separation"]
        assert directions(found) == {coefficient: float(way) for coefficient, way in fit["direction"].items()}


@given(tables())
def test_the_separated_rows_are_those_that_some_direction_separates_on_its_own(table):
    X, y = table
    reach = np.array(
        [
            min(furthest(s * x, X, y) for s in (1, -1) if (share > 0, share < 1)[s < 0])
            for x, share in zip(X, y, strict=True)
        ]
    )
    found = find_directions(X, y)
    assert verdict(found) == ((reach > 1e-6).any(), (reach > 1e-6).all(), (reach > 1e-6).sum())


@given(tables())
def test_coefficients_that_can_only_go_one_way_go_that_way(table):
    X, y = table
    assume(np.linalg.matrix_rank(X) == X.shape[1])
    directions = find_directions(X, y).directions
    for j, unit in enumerate(np.eye(X.shape[1])):
        up, down = furthest(unit, X, y) > 1e-6, furthest(-unit, X, y) > 1e-6
        if not (up and down):
            assert directions[j] == (np.inf if up else -np.inf if down else 0.0)


# -- what does and what does not change the verdict ------------------------------------------


@given(tables(), st.lists(st.floats(-8, 8), min_size=5, max_size=5), st.integers(0, 31))
def test_units_and_signs_of_columns_do_not_matter(table, exponents, signs):
    X, y = table
    units = np.array([(-1.0) ** (signs >> j) * 10.0**e for j, e in enumerate(exponents)])[: X.shape[1]]
    before, after = find_directions(X, y), find_directions(X * units, y)
    assert verdict(before) == verdict(after)


@given(tables(), st.integers(0, 10**6))
def test_the_coding_of_columns_does_not_matter(table, seed):
    X, y = table
    mix = np.random.default_rng(seed).standard_normal((X.shape[1], X.shape[1]))
    assume(np.linalg.cond(mix) < 1e4)
    assert verdict(find_directions(X, y)) == verdict(find_directions(X @ mix, y))


def test_a_column_far_from_zero_does_not_matter():
    days = 2e6 + np.arange(40.0)
    X = np.column_stack([np.ones(40), days])
    found = find_directions(X, (days > days[25]).astype(float))
    assert found.complete
    assert_array_equal(found.directions, [-np.inf, np.inf])


@given(tables())
def test_which_outcome_is_the_event_does_not_matter(table):
    X, y = table
    assert verdict(find_directions(X, y)) == verdict(find_directions(X, 1 - y))


@given(tables(), st.integers(2, 4))
def test_repeated_rows_are_counted_and_do_not_matter_otherwise(table, times):
    X, y = table
    once, often = find_directions(X, y), find_directions(np.repeat(X, times, 0), np.repeat(y, times))
    assert often.rows == times * once.rows
    assert (often.separated, often.complete) == (once.separated, once.complete)


@given(tables())
def test_rows_of_weight_zero_are_left_out(table):
    X, y = table
    more_X = np.vstack([X, X, np.full((1, X.shape[1]), np.nan)])
    more_y = np.concatenate([y, 1 - y, [np.nan]])
    weight = np.concatenate([np.full(len(y), 0.3), np.zeros(len(y) + 1)])
    assert verdict(find_directions(more_X, more_y, weight)) == verdict(find_directions(X, y))


@given(tables(), st.integers(0, 10**6))
def test_grouped_rows_are_single_rows(table, seed):
    X, y = table
    rng = np.random.default_rng(seed)
    trials = rng.integers(1, 5, len(y))
    successes = np.where(y == 0.5, 1, y * trials).astype(int)
    trials = np.maximum(trials, np.where(y == 0.5, 2, 1))
    single_X = np.repeat(np.vstack([X, X]), np.concatenate([successes, trials - successes]), axis=0)
    single_y = np.repeat([1, 0], [successes.sum(), (trials - successes).sum()])
    expected = detect_separation(single_y, single_X)
    by_counts = detect_separation(np.column_stack([successes, trials - successes]), X)
    by_shares = detect_separation(successes / trials, X, trials=trials)
    by_weights = detect_separation(successes / trials, X, freq_weights=trials)
    for found in (by_counts, by_shares, by_weights):
        assert (found.separated, found.complete) == (expected.separated, expected.complete)
        assert_array_equal(found.directions, by_counts.directions)


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_outcomes_that_balance_at_finite_coefficients_are_never_separated(seed, k):
    """Multipliers that are all positive and sum the signed rows to zero prove that nothing separates them."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(30), rng.standard_normal((30, k))])
    y = (rng.random(30) < 0.3).astype(float)
    signed = np.where(y > 0, 1.0, -1.0)[:, None] * X
    balance = -(rng.uniform(0.5, 2.0, 30) @ signed)
    X, y = np.vstack([X, balance]), np.append(y, 1.0)
    found = find_directions(X, y)
    assert not found.separated
    assert not found.directions.any()


@given(tables(), st.integers(0, 10**6))
def test_a_row_on_the_wrong_side_breaks_the_separation(table, seed):
    """Each separated row a second time with the other outcome leaves nothing separated."""
    X, y = table
    assume(find_directions(X, y).separated)
    contradicted = find_directions(np.vstack([X, X]), np.concatenate([y, 1 - y]))
    assert not contradicted.separated
    row = np.random.default_rng(seed).integers(len(y))
    one_more = find_directions(np.vstack([X, X[row]]), np.append(y, 1 - y[row]))
    assert not one_more.complete
    assert one_more.rows <= find_directions(X, y).rows


@given(tables())
def test_collinear_columns_are_not_taken_for_separation(table):
    X, y = table
    before = find_directions(X, y)
    more = np.column_stack([X, X[:, 0] - 3 * X[:, -1], np.zeros(len(y)), X[:, -1]])
    after = find_directions(more, y)
    assert verdict(after) == verdict(before)
    assert_array_equal(after.directions[: X.shape[1]], before.directions)
    assert not after.directions[X.shape[1] :].any()


def test_all_rows_are_found_where_directions_only_add_up():
    """The first direction leaves rows on its plane that a second one separates."""
    levels = np.repeat([0, 1, 2, 3], [10, 4, 4, 4])
    X = np.column_stack([np.ones(22), levels == 1, levels == 2, levels == 3, np.arange(22) % 5]).astype(float)
    y = np.where(levels == 0, np.arange(22) % 2, levels != 2).astype(float)
    found = find_directions(X, y)
    assert (found.separated, found.complete, found.rows) == (True, False, 12)
    assert_array_equal(found.directions, [0, np.inf, -np.inf, np.inf, 0])


def test_more_columns_than_rows_are_always_separated():
    X = np.random.default_rng(0).standard_normal((6, 10))
    assert find_directions(X, np.array([1.0, 0, 0, 1, 0, 1])).complete


def test_many_rows_need_few_constraints():
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(20_000), rng.random(20_000) < 0.002, rng.standard_normal((20_000, 8))])
    y = (rng.random(20_000) < 0.03) * (X[:, 1] == 0)
    assert not find_directions(np.delete(X, 1, axis=1), y.astype(float)).separated
    found = find_directions(X, y.astype(float))
    assert found.rows == X[:, 1].sum()
    assert_array_equal(np.flatnonzero(found.directions), [1])


# -- what the user sees ----------------------------------------------------------------------


def test_no_separation_reads_as_such():
    found = detect_separation(OVERLAP, DOSE)
    assert not found.separated
    assert str(found).startswith("no separation: the outcomes overlap in all 8 rows")
    assert found.infinite == []
    assert set(found.summary_frame()["direction"]) == {"finite"}


def test_quasi_complete_separation_names_its_columns():
    found = detect_separation(QUASI, DOSE)
    assert repr(found) == (
        "<Separation: quasi-complete separation: 2 of 8 rows are predicted perfectly; infinite estimates: flag (+inf)>"
    )
    assert found.infinite == ["flag"]
    assert found.summary_frame().to_dict("list") == {
        "coefficient": ["const", "dose", "flag"],
        "direction": ["finite", "finite", "+inf"],
    }


def test_complete_separation_reads_as_such():
    found = detect_separation(COMPLETE, DOSE[["const", "dose"]])
    assert found.complete
    assert str(found).startswith("complete separation: 8 of 8 rows")
    assert found.summary_frame()["direction"].tolist() == ["-inf", "+inf"]


def test_arrays_get_the_names_a_model_gives_them():
    assert detect_separation(QUASI, DOSE.to_numpy()).names == ["const", "x1", "x2"]
    assert find_directions(DOSE.to_numpy(), np.array(QUASI, dtype=float)).names == ["column 0", "column 1", "column 2"]


@pytest.mark.parametrize("endog", [np.array(QUASI, dtype=bool), pd.Series(QUASI), np.array(QUASI, dtype=np.int8)])
def test_outcomes_of_every_kind_are_understood(endog):
    assert detect_separation(endog, DOSE).infinite == ["flag"]


def test_levels_are_understood_with_the_event_named():
    levels = np.where(np.array(QUASI) > 0, "sick", "well")
    assert detect_separation(levels, DOSE, event="sick").directions[2] == np.inf
    assert detect_separation(levels, DOSE, event="well").directions[2] == -np.inf


def test_single_precision_designs_are_understood():
    assert detect_separation(QUASI, DOSE.to_numpy(np.float32)).directions[2] == np.inf


def test_the_object_cannot_be_changed():
    found = detect_separation(QUASI, DOSE)
    assert isinstance(found, Separation)
    with pytest.raises(AttributeError):
        found.separated = False


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("endog", "options", "message"),
    [
        (QUASI[:7], {}, r"the outcome has shape \(7,\); for 8 rows"),
        ([0, 1, 2, 0, 1, 2, 0, 1], {}, "3 levels"),
        ([0, 1, np.nan, 0, 1, 1, 0, 1], {}, "missing in 1 rows"),
        (["a", "b"] * 4, {}, "say which one is the event"),
        ([1] * 8, {}, "is 1 in all 8 rows"),
        ([0] * 8, {}, "is 0 in all 8 rows"),
        ([0.2] * 8, {}, "give the number of trials"),
        (QUASI, {"trials": [1, 2]}, r"n_trials has shape \(2,\)"),
        (QUASI, {"trials": [-1] + [1] * 7}, "not negative; 1 rows are not"),
        (QUASI, {"trials": [np.nan] + [1] * 7}, "not negative; 1 rows are not"),
        (QUASI, {"freq_weights": [-1] + [1] * 7}, "not negative; 1 rows are not"),
        (QUASI, {"freq_weights": QUASI}, "is 1 in all 5 rows; a binary regression needs both"),
        (np.ones((8, 3)), {}, "one column, or two of counts"),
        (np.full((8, 2), 0.5), {}, "whole numbers"),
    ],
)
def test_bad_outcomes_and_weights_are_refused(endog, options, message):
    with pytest.raises(InvalidDataError, match=message):
        detect_separation(endog, DOSE, **options)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_columns_that_are_not_finite_are_named(value):
    with pytest.raises(InvalidDataError, match=r"dose \(1 rows\)"):
        detect_separation(QUASI, DOSE.assign(dose=[value, 2, 3, 4, 5, 6, 7, 8]))


def test_designs_that_are_no_numbers_are_refused():
    with pytest.raises(InvalidDataError, match="not numbers"):
        detect_separation(QUASI, DOSE.assign(dose=list("abcdefgh")))


def test_plain_arrays_are_checked_too():
    X, y = DOSE.to_numpy(), np.array(QUASI, dtype=float)
    with pytest.raises(InvalidDataError, match=r"the outcome has shape \(7,\), but the design has 8 rows"):
        find_directions(X, y[:7])
    with pytest.raises(InvalidDataError, match=r"the weights have shape \(7,\)"):
        find_directions(X, y, np.ones(7))
    with pytest.raises(InvalidDataError, match=r"in \[0, 1\]"):
        find_directions(X, 2 * y)
    with pytest.raises(InvalidDataError, match="among the 0 rows with weight"):
        find_directions(X, y, np.zeros(8))


def test_a_programme_that_is_not_solved_is_an_error(monkeypatch):
    class Unsolved:
        x, message = None, "numerical trouble"

    monkeypatch.setattr("gevglm.inference.separation.linprog", lambda *args, **options: Unsolved)
    with pytest.raises(GevglmError, match="was not solved: numerical trouble"):
        find_directions(np.column_stack([np.ones(4), [5.0, 4.0, 3.0, 2.0]]), np.array([1.0, 1.0, 0.0, 0.0]))
