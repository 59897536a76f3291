"""Formulas: both engines give the same columns, and new data are read by the recipe of the old."""

import pickle

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula
from numpy.testing import assert_allclose, assert_array_equal

from gevglm import BinaryGLM, fit
from gevglm.exceptions import InvalidDataError
from gevglm.formulas import Recipe, names_in, split

ENGINES = ("formulaic", "patsy")
N = 300


def simulate():
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"x": rng.normal(size=N), "z": rng.uniform(1.0, 3.0, N), "k": rng.integers(1, 4, N)})
    data["y"] = (rng.random(N) < 0.4).astype(int)
    data["g"], data["h"] = rng.choice(list("abc"), N), rng.choice(["left", "right"], N)
    data["grade"] = pd.Categorical(rng.choice(["low", "mid", "high"], N), categories=["low", "mid", "high"])
    data["rank"] = pd.Categorical(data["grade"], categories=["high", "mid", "low"], ordered=True)
    data["flag"] = data["z"] > 2.0
    data["odd name"], data["x.1"], data["class"] = rng.normal(size=(3, N))
    return data


DATA = simulate()
LIMIT = 1.5


def squared(values):
    return values**2


BATTERY = [
    # numbers
    "1",
    "x",
    "x + z",
    "x + z - 1",
    "0 + x + z",
    "-1 + x",
    "x:z",
    "x * z",
    "x / z",
    "x + x",
    "(x + z + g)**2 - x:z",
    " x+z ",
    "x +\n z",
    # strings and factors
    "g",
    "g - 1",
    "0 + g + x",
    "g + h",
    "g:h",
    "g * h",
    "g * h - 1",
    "x:g",
    "x * g",
    "g + g:x",
    "g / x",
    "g * x - 1",
    "z:g - 1",
    "grade",
    "rank",
    "rank * x",
    "C(g)",
    "C(k)",
    "C(k) - 1",
    "C(g) * C(k)",
    "C(g):x",
    "C(grade)",
    "C(g, Treatment('b'))",
    "C(g, Treatment(reference='c'))",
    "C(k, Treatment(2))",
    "C(k, Treatment(3)) * x",
    "C(g, Sum)",
    "C(g, Helmert)",
    "C(g, levels=['c', 'b', 'a'])",
    # booleans
    "flag",
    "flag + x",
    "flag * x",
    "flag:x",
    "0 + flag",
    "C(flag)",
    "C(x > 0)",
    "I(flag * x)",
    "I(1 * flag)",
    "np.where(flag, x, 0.0)",
    "flag.astype(float)",
    "C(g) + flag + C(k)",
    "np.log(z) + flag + I(x**2)",
    "(flag + x):g",
    # functions
    "I(x**2)",
    "x + I(x**2)",
    "I(x * z)",
    "I(x / z)",
    "np.log(z)",
    "np.log(z) * g",
    "np.exp(-z) + np.sqrt(z)",
    "np.where(x > 0, 1, 0)",
    "np.minimum(x, LIMIT)",
    "squared(x)",
    "squared(values=x)",
    "squared(x) * g",
    "x.abs()",
    # stateful transforms
    "center(x)",
    "center(x) * z",
    "center(np.log(z))",
    "standardize(x)",
    "standardize(x):standardize(z)",
    "squared(center(x))",
    "I(center(x)**2)",
    "bs(x, df=4)",
    "bs(x, df=5, degree=2)",
    "bs(x, knots=[-1, 0, 1])",
    "bs(x, df=4, include_intercept=True) - 1",
    "bs(z, df=4):h",
    "bs(center(x), df=4)",
    "cr(x, df=4) - 1",
    # names
    "Q('odd name')",
    "Q('odd name') * g",
    "Q('x.1') + Q('class')",
    "I(Q('odd name')**2)",
    "C(Q('odd name') > 0)",
]


def model(right, engine, data=DATA, **options):
    return BinaryGLM.from_formula(f"y ~ {right}", data, formula_engine=engine, **options)


@pytest.mark.parametrize("right", BATTERY)
def test_both_engines_give_the_same_columns(right):
    one, other = (model(right, engine) for engine in ENGINES)
    assert one.exog_names == other.exog_names
    assert_allclose(one.exog, other.exog, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "right",
    ["I(x > 0)", "I(g == 'a')", "I(flag & (x > 0))", "g.isin(['a', 'b'])", "flag + I(flag * x)", "g * I(x > 0)"],
)
def test_boolean_expressions_have_the_same_numbers_under_other_names(right):
    one, other = (model(right, engine) for engine in ENGINES)
    assert sorted(one.exog_names) == sorted(name.replace("[T.True]", "") for name in other.exog_names)
    columns = [
        pd.DataFrame(m.exog, columns=[name.replace("[T.True]", "") for name in m.exog_names]) for m in (one, other)
    ]
    pd.testing.assert_frame_equal(*columns, check_like=True, rtol=1e-12)


@pytest.mark.xfail(reason="formulaic takes boolean expressions for numbers, and its scale() has another divisor")
@pytest.mark.parametrize(
    "right", ["scale(x)", "0 + I(x > 0)", "I(x > 0):z", "0 + flag + I(flag * x)", "flag:z + I(flag * x)"]
)
def test_known_differences_of_the_engines(right):
    """Other columns, not only other names: the same formula is another model."""
    one, other = (model(right, engine) for engine in ENGINES)
    assert one.exog.shape == other.exog.shape
    assert_allclose(one.exog, other.exog, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("right", ["(x + z)**2", "(x + z + g)**2", 'Q("odd name") + x', 'C(g, Treatment("b"))'])
def test_engines_may_differ_in_order_of_powers_and_in_quotes(right):
    one, other = (model(right, engine) for engine in ENGINES)
    columns = [pd.DataFrame(m.exog, columns=[name.replace('"', "'") for name in m.exog_names]) for m in (one, other)]
    pd.testing.assert_frame_equal(*columns, check_like=True, rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", BATTERY)
def test_new_data_are_read_by_the_recipe_of_the_old(right, engine):
    fitted = model(right, engine)
    for rows in ([4], [7, 7, 250, 12], range(0, N, 9)):
        new, _, index = fitted.design_of(DATA.iloc[rows].drop(columns="y"))
        assert_allclose(new, fitted.exog[rows], rtol=1e-12, atol=1e-13)
        assert index.equals(DATA.index[rows])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ("x + z", {"Intercept": 1.0, "x": DATA["x"], "z": DATA["z"]}),
        ("x:z - 1", {"x:z": DATA["x"] * DATA["z"]}),
        ("I(x**2)", {"Intercept": 1.0, "I(x ** 2)": DATA["x"] ** 2}),
        ("np.log(z)", {"Intercept": 1.0, "np.log(z)": np.log(DATA["z"])}),
        ("squared(z)", {"Intercept": 1.0, "squared(z)": DATA["z"] ** 2}),
        ("h", {"Intercept": 1.0, "h[T.right]": DATA["h"] == "right"}),
        ("0 + h", {"h[left]": DATA["h"] == "left", "h[right]": DATA["h"] == "right"}),
        ("C(k)", {"Intercept": 1.0, "C(k)[T.2]": DATA["k"] == 2, "C(k)[T.3]": DATA["k"] == 3}),
        (
            "C(g, Treatment('b'))",
            {
                "Intercept": 1.0,
                "C(g, Treatment('b'))[T.a]": DATA["g"] == "a",
                "C(g, Treatment('b'))[T.c]": DATA["g"] == "c",
            },
        ),
        (
            "rank",
            {"Intercept": 1.0, "rank[T.mid]": DATA["rank"] == "mid", "rank[T.low]": DATA["rank"] == "low"},
        ),
        ("flag", {"Intercept": 1.0, "flag[T.True]": DATA["flag"]}),
        ("center(x)", {"Intercept": 1.0, "center(x)": DATA["x"] - DATA["x"].mean()}),
        (
            "standardize(x)",
            {"Intercept": 1.0, "standardize(x)": (DATA["x"] - DATA["x"].mean()) / DATA["x"].std(ddof=0)},
        ),
        ("Q('odd name')", {"Intercept": 1.0, "Q('odd name')": DATA["odd name"]}),
    ],
)
def test_columns_are_what_they_say(right, expected, engine):
    fitted = model(right, engine)
    assert fitted.exog_names == list(expected)
    for j, column in enumerate(expected.values()):
        assert_allclose(fitted.exog[:, j], np.broadcast_to(np.asarray(column, dtype=float), N), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("right", ["x * g", "bs(x, df=4) + flag", "C(k, Treatment(2)) + center(z)"])
@pytest.mark.parametrize("link", [{}, {"xi": 0.3}])
def test_both_engines_give_the_same_fit(right, link):
    one, other = (fit(f"y ~ {right}", DATA, formula_engine=engine, **link) for engine in ENGINES)
    assert_allclose(one.params, other.params, rtol=1e-9)
    assert_allclose(one.bse, other.bse, rtol=1e-9)
    assert_allclose(one.predict(DATA[:9]), other.predict(DATA[:9]), rtol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtypes", ["nullable", "arrow"])
@pytest.mark.parametrize("right", ["flag * x", "g + k", "C(g):flag + C(k)", "np.log(z) * h", "center(x) + I(k**2)"])
def test_the_dtypes_of_pandas_do_not_matter(right, dtypes, engine):
    data = DATA[["y", "x", "z", "k", "g", "h", "flag"]]
    converted = data.convert_dtypes(dtype_backend="pyarrow" if dtypes == "arrow" else "numpy_nullable")
    one, other = model(right, engine, converted), model(right, engine)
    assert one.exog_names == other.exog_names
    assert_allclose(one.exog, other.exog, rtol=1e-12, atol=1e-13)
    assert_allclose(other.design_of(converted[:9])[0], other.exog[:9], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("engine", ENGINES)
def test_dropped_and_excluded_rows_do_not_shape_the_columns(engine):
    """Means, knots and levels come from the rows that are fitted."""
    data = DATA.assign(x=DATA["x"].where(DATA.index != 3, np.nan), z=DATA["z"].where(DATA.index != 3, 1e6))
    data.loc[5, "g"] = "only here"
    right = "center(x) + standardize(z) + bs(x, df=4) + g"
    with pytest.warns(match="1 of 299 rows"):
        one = model(right, engine, data, subset=data["g"] != "only here")
    other = model(right, engine, DATA.drop(index=[3, 5]))
    assert one.exog_names == other.exog_names
    assert_allclose(one.exog, other.exog, rtol=1e-12, atol=1e-13)


# -- names of the calling scope ------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_local_functions_and_values_are_found(engine):
    power = 3

    def cubed(values):
        return values**power

    for built in (
        fit("y ~ cubed(x) + I(z * power)", DATA, formula_engine=engine).model,
        BinaryGLM.from_formula("y ~ cubed(x) + I(z * power)", DATA, formula_engine=engine),
    ):
        assert built.exog_names == ["Intercept", "cubed(x)", "I(z * power)"]
        assert_allclose(built.exog[:, 1:], np.column_stack([DATA["x"] ** 3, DATA["z"] * 3]), rtol=1e-12)
        assert_allclose(built.design_of(DATA[:4])[0], built.exog[:4], rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_go_before_variables_of_the_same_name(engine):
    x = np.zeros(N)
    fitted = model("x", engine)
    assert_array_equal(fitted.exog[:, 1], DATA["x"])
    assert not x.any()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_variable_does_not_stand_in_for_a_missing_column(engine):
    x = np.zeros(N)
    results = fit("y ~ x + z", DATA, formula_engine=engine)
    with pytest.raises(InvalidDataError, match=r"'x'.*not in the"):
        results.predict(DATA.drop(columns="x"))
    assert not x.any()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_engine_of_statsmodels_stays_as_it_was(engine):
    before = statsmodels.formula.options.formula_engine
    fit("y ~ x * g", DATA, formula_engine=engine).wald_test_terms(scalar=True)
    assert statsmodels.formula.options.formula_engine == before


# -- new data that differ in kind ----------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", ["g", "C(g)", "g * x"])
@pytest.mark.parametrize(
    "recode",
    [
        lambda g: g.astype(object),
        lambda g: pd.Categorical(g, categories=["c", "b", "a"]),
        lambda g: pd.Categorical(g, categories=["c", "b", "a", "unused"]),
    ],
)
def test_levels_are_matched_by_name(right, recode, engine):
    fitted = model(right, engine)
    new = DATA.iloc[:20]
    try:
        design = fitted.design_of(new.assign(g=recode(new["g"])))[0]
    except InvalidDataError as error:  # patsy wants categories in the order of the model
        assert engine == "patsy" and "levels" in str(error)
    else:
        assert_array_equal(design, fitted.exog[:20])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("new", [1, 1.5, "d", True])
@pytest.mark.parametrize("right", ["g", "C(g)", "C(g, Treatment('b'))", "grade", "C(k)"])
def test_unseen_levels_are_refused(right, new, engine):
    column = {"grade": "grade", "C(k)": "k"}.get(right, "g")
    new = {1: 7}.get(new, new) if column == "k" and new != "d" else new
    with pytest.raises(InvalidDataError, match=str(new)):
        model(right, engine).design_of(DATA[:3].assign(**{column: new}))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", ["I(1 * (g == 'a'))", "np.where(g == 'a', 1, 0)", "g.str.len() + x - 1"])
def test_strings_that_are_no_factor_may_be_new(right, engine):
    fitted = model(right, engine)
    columns = fitted.design_of(DATA[:3].assign(g=["a", "new", "b"]))[0]
    expected = [1, 3, 1] if "len" in right else [1, 0, 0]
    assert expected in columns.T.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_cannot_become_strings(engine):
    with pytest.raises(InvalidDataError, match="x"):
        model("x + g", engine).design_of(DATA[:3].assign(x=["u", "v", "w"]))


# -- the pieces ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("x + z", ["x", "z"]),
        ("C(g, Treatment('b')) * np.log(z)", ["C", "g", "Treatment", "np", "z"]),
        ("Q('odd name') + x", ["odd name", "Q", "x"]),
        ('(answer == "yes")', ["answer"]),
        ("x.abs() + 1e3", ["x"]),
        ("I(a and b or not c)", ["I", "a", "b", "c"]),
    ],
)
def test_names_in(expression, names):
    assert set(names) - {"Q"} == set(names_in(expression)) - {"Q"}


@pytest.mark.parametrize(
    ("formula", "sides"),
    [("y ~ x", ("y", "x")), ("a + b~0+x", ("a + b", "0+x")), ("I(y > 1) ~ x\n + z", ("I(y > 1)", "x\n + z"))],
)
def test_split(formula, sides):
    assert split(formula) == sides


def test_recipes_of_formulaic_survive_pickling():
    recipe = Recipe("center(x) + np.log(z) + squared(x) + g", DATA, {"np": np, "squared": squared}, "formulaic")
    first = recipe.take_first()
    again = pickle.loads(pickle.dumps(recipe))
    assert again.names == recipe.names
    assert_allclose(again.matrix(DATA[:5]), first[:5], rtol=1e-13)


def test_recipes_of_patsy_say_what_is_lost_by_pickling():
    again = pickle.loads(pickle.dumps(Recipe("x", DATA, {}, "patsy")))
    assert again.names == ["Intercept", "x"]
    with pytest.raises(InvalidDataError, match="formula_engine='formulaic'"):
        again.matrix(DATA)
