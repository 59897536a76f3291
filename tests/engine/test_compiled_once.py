"""Formulas, outcomes and subsets are compiled before threads start: no piece of the data is parsed for.

CPython 3.11 and 3.12.0 share the state of the parser between threads, so that parsing in two of them may fail at random.
"""

import ast
import builtins
import pickle
import threading
import tokenize

import numpy as np
import pandas as pd
import pytest
from formulaic.parser import DefaultFormulaParser
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.data.expressions import condition, expression, rows_where
from gevglm.data.formula import Recipe, Variable

N = 400
RIGHT = "x + C(g, Sum) * flag + bs(z, knots=[0.5], extrapolation='clip') + center(k) + I(x ** 2) + np.exp(x) + h + Q('odd name')"


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"x": rng.normal(size=N), "z": rng.uniform(size=N), "odd name": rng.normal(size=N)})
    data["g"], data["h"], data["flag"] = rng.choice(list("abc"), N), rng.choice(["u", "v"], N), rng.random(N) < 0.5
    data["k"], data["death"] = rng.integers(1, 4, N), np.where(rng.random(N) < 0.3, "dead", "alive")
    return data


@pytest.fixture
def parsed(monkeypatch):
    """Everything that is parsed in another thread than this one."""
    main, seen = threading.get_ident(), []

    def watched(name, original, is_parsing=lambda *args: True):
        def call(*args, **options):
            if threading.get_ident() != main and is_parsing(*args):
                seen.append(f"{name}({args[0]!r})")
            return original(*args, **options)

        return call

    for module, name in ((ast, "parse"), (ast, "literal_eval"), (builtins, "compile"), (tokenize, "generate_tokens")):
        monkeypatch.setattr(module, name, watched(name, getattr(module, name)))
    monkeypatch.setattr(builtins, "eval", watched("eval", eval, lambda text, *rest: isinstance(text, str)))
    monkeypatch.setattr(pd.DataFrame, "eval", watched("DataFrame.eval", pd.DataFrame.eval))
    monkeypatch.setattr(DefaultFormulaParser, "get_terms", watched("terms", DefaultFormulaParser.get_terms))
    return seen


def pieces(table):
    return [table.iloc[start : start + 50] for start in range(0, N, 50)]


def test_fits_and_predictions_in_pieces_parse_nothing(table, parsed):
    formula = f"I(death == 'dead') ~ {RIGHT}"
    found = gevglm.fit(formula, pieces(table), link="logit", subset="z > 0.1 and g in ['a', 'b', 'c']")
    predicted = found.predict(pieces(table))
    assert not parsed
    whole = gevglm.fit(formula, table, link="logit", subset=table["z"] > 0.1)
    assert_allclose(found.params, whole.params, rtol=1e-8)
    assert_allclose(predicted, whole.predict(table), rtol=1e-8)


def test_predictions_of_patsy_in_pieces_parse_nothing(table, parsed):
    right = RIGHT.replace("center(k)", "poly(k, 2)")
    whole = gevglm.fit(f"death ~ {right}", table, link="logit", event="dead", formula_engine="patsy")
    assert_allclose(whole.predict(pieces(table)), whole.predict(table), rtol=1e-12)
    assert not parsed


def test_pieces_of_dask_threads_parse_nothing(table, parsed):
    dask_frame = pytest.importorskip("dask.dataframe")
    data = dask_frame.from_pandas(table, npartitions=4)
    found = gevglm.fit("death ~ x + C(g)", data, link="logit", event="dead", subset="z > 0.1")
    assert found.nobs > 300 and not parsed


def test_an_unpickled_recipe_is_compiled_once(table, parsed):
    pickled = pickle.dumps(Recipe(RIGHT, table, {"np": np}, "formulaic"))
    found, threads = [], [threading.Thread(target=lambda: found.append(pickle.loads(pickled))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not parsed  # this process has compiled them before
    matrices = [recipe.matrix(table[:9]) for recipe in found]
    assert_array_equal(matrices[0], matrices[3])


def test_expressions_are_shared_and_survive_pickling():
    for make in (expression, condition):
        made = make("x > 1")
        assert make("x > 1") is made is pickle.loads(pickle.dumps(made))


def test_an_expression_that_cannot_be_parsed_says_so_when_it_is_evaluated():
    with pytest.raises(SyntaxError):
        expression("x +").evaluate({"x": 1})
    with pytest.raises(NameError, match="name 'f' is not defined"):
        expression("f(x)").evaluate({"x": 1})


@pytest.mark.parametrize(
    "text",
    [
        "x > 0",
        "x > 0 and z < 0.5 or not flag",
        "x > 0 & z < 0.5 | flag",
        "~flag",
        "0.2 < z <= 0.5",
        "g == 'a'",
        'g != "a & b"',
        "g in ['a', 'b']",
        "g not in ['a', 'b']",
        "g == ['a', 'c']",
        "g != ['a', 'c']",
        "`odd name` > 0",
        "sqrt(z) > 0.5",
        "abs(x) < 1",
        "x + 2 * z > 1",
        "g.str.upper() == 'A'",
        "index < 100",
        "k == 2",
        "(x > 0) & (k in (1, 2))",
    ],
)
def test_conditions_are_those_of_pandas(text, table):
    assert_array_equal(rows_where(condition(text), table), table.eval(text))


@pytest.mark.parametrize("engine", ["formulaic", "patsy"])
def test_a_recipe_knows_its_variables(table, engine):
    right = "x + C(g, Treatment('b')) + C(k, Sum):flag + h.str.len() + np.log(z + 2)"
    variables = Recipe(right, table, {"np": np}, engine).variables
    assert variables == {
        "x": Variable("x"),
        "g": Variable("g", True, ("a", "b", "c"), "b"),
        "k": Variable("k", True, (1, 2, 3), None),
        "flag": Variable("flag", True, (False, True), variables["flag"].reference),
        "h": Variable("h", True),
        "z": Variable("z"),
    }
    assert Recipe("g + Q('odd name')", table, {}, engine).variables["g"].reference == "a"
