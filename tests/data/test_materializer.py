"""The builder of model matrices: what it remembers, and that it leaves formulaic itself alone."""

import pickle

import formulaic
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gevglm.data.formula import Recipe

N = 50
DATA = pd.DataFrame({"x": np.linspace(-1.0, 1.0, N) ** 3, "flag": np.arange(N) % 3 == 0, "g": list("abcab") * (N // 5)})


def recipe(right, data=DATA, **scope):
    return Recipe(right, data, {"np": np, **scope}, "formulaic")


def test_formulaic_itself_stays_as_it_was():
    assert list(formulaic.model_matrix("flag + x", DATA).columns) == ["Intercept", "flag", "x"]


def test_a_specification_describes_the_matrix_in_the_words_of_formulaic():
    made = recipe("flag * x + g")
    with pytest.raises(formulaic.errors.FormulaMaterializerNotFoundError, match="gevglm"):
        made.spec.get_model_matrix(DATA[:4])
    assert made.spec.column_names == tuple(made.names)
    assert [str(term) for term in made.spec.terms] == ["Intercept", "flag", "g", "x", "flag:x"]
    assert list(made.spec.term_slices) == made.spec.terms


@pytest.mark.parametrize("right", ["g", "C(g, Sum)", "C(g, Poly) - 1", "C(g, Treatment('b'))", "flag"])
def test_the_coding_of_a_factor_is_kept(right):
    made = pickle.loads(pickle.dumps(recipe(right)))
    ((_, state),) = made.spec.encoder_state.values()
    reduced = "- 1" not in right
    codes, levels = state["contrasts"].get_coding_matrix(reduced_rank=reduced), state["categories"]
    values = DATA[{"flag": "flag"}.get(right, "g")]
    assert_allclose(made.matrix(DATA)[:, int(reduced) :], codes[[levels.index(value) for value in values]])


def test_recipes_of_large_factors_are_small():
    data = pd.DataFrame({"who": [f"person {i}" for i in range(2000)]})
    assert len(pickle.dumps(recipe("C(who)", data).spec)) < 200_000


def test_the_memory_of_functions_has_no_rows():
    made = recipe("center(x) + scale(x) + bs(x, df=4) + cr(x, df=4) + te(cr(x, df=3), cr(x, df=3)) + poly(x, 2)")
    arrays = [np.asarray(a) for state in made.spec.transform_state.values() for a in state.values() if a is not None]
    assert arrays and max(a.size for a in arrays) < N / 2


def test_a_matrix_of_no_rows():
    assert recipe("x + g + C(g, Sum):flag").matrix(DATA[:0]).shape == (0, 9)


def test_matrices_are_stored_by_columns():
    assert recipe("x + g").take_first().flags.f_contiguous


def test_levels_of_the_same_name_are_refused():
    with pytest.raises(ValueError, match="same name"):
        recipe("C(mixed) - 1", pd.DataFrame({"mixed": pd.Series([1, "1", "2"], dtype=object)}))


@pytest.mark.parametrize(
    "sequence", [list, tuple, np.array, lambda values: pd.Series(values, index=range(7, 7 + len(values)))]
)
def test_functions_may_return_any_sequence(sequence):
    first = DATA["x"].iloc[0]
    made = recipe("word(x)", DATA[:2], word=lambda x: sequence(["b" if value == first else "a" for value in x]))
    assert made.names == ["Intercept", "word(x)[T.b]"]
    assert_array_equal(made.take_first()[:, 1], [1, 0])


def test_functions_may_return_a_dict_of_columns():
    made = recipe("word(x)", word=lambda x: {"first": x, "second": x**2})
    assert made.names == ["Intercept", "word(x)[0]", "word(x)[1]"]
    assert_array_equal(made.take_first()[:, 2], DATA["x"] ** 2)


def test_a_factor_may_be_coded_both_in_full_and_less_one_level():
    made = recipe("0 + g + g:flag")
    assert made.names[:3] == ["g[a]", "g[b]", "g[c]"]
    assert np.linalg.matrix_rank(made.take_first()) == len(made.names) == 6
