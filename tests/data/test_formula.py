"""Formulas: both engines give the same columns, and new data are read by the recipe of the old."""

import pickle
import re

import numpy as np
import pandas as pd
import patsy
import pytest
import statsmodels.formula
from numpy.testing import assert_allclose, assert_array_equal

from gevglm import BinaryGLM, fit
from gevglm.data.formula import Recipe, names_in, split
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from tests.support.designs import design_of
from tests.support.study import reads_formulaic

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
    data["odd name"], data["x.1"], data["class"], data["it's"] = rng.normal(size=(4, N))
    data["m"], data["often"] = rng.choice(list("tuvw"), N), rng.random(N) < 0.6
    data["nullable"], data["object"] = pd.array(data["often"], dtype="boolean"), data["often"].astype(object)
    data["unused"] = pd.Categorical(rng.choice(["p", "q"], N), categories=["z", "q", "p", "r"])
    data["score"] = rng.integers(0, 3, N).astype(float)
    data["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(data["k"], unit="D")
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
    "-1 + x + 1",
    "x:z",
    "x * z",
    "x * z * k",
    "x / z",
    "x + x",
    "x**2",
    "(x + z)**2",
    "(x + z + k)**3",
    "(x + z + g)**2",
    "(x + z + g)**2 - x:z",
    " x+z ",
    "x +\n z",
    "x + (z - 1)",
    # strings and factors
    "g",
    "g - 1",
    "0 + g + x",
    "g + h",
    "g:h",
    "g * h",
    "g * h - 1",
    "g / h",
    "g / h / m",
    "g / (x + z)",
    "x:g",
    "x * g",
    "g + g:x",
    "g / x",
    "g * x - 1",
    "z:g - 1",
    "grade",
    "rank",
    "0 + rank",
    "rank * x",
    "unused",
    "0 + unused",
    "unused * x",
    "C(unused, Sum)",
    "C(day)",
    "np.where(x > 0, 'up', 'down')",
    "g.str.upper()",
    "grade.cat.codes",
    # three factors, with and without the lower terms
    "g * h * m",
    "(g + h + m)**2",
    "(g + h + m)**2 - g:h",
    "(g + h + m)**3 - 1",
    "g:h:m",
    "g:h:m - 1",
    "0 + g:h:m + g",
    "g:h + h:m + g:m",
    "x:g:h + x:m",
    "x * g * h",
    "(g + x)**2 + (h + z)**2",
    # contrasts
    "C(g)",
    "C(k)",
    "C(k) - 1",
    "C(g) * C(k)",
    "C(g):x",
    "C(grade)",
    "C(score)",
    "C(g, Treatment('b'))",
    'C(g, Treatment("b"))',
    "C(g, Treatment(reference='c'))",
    "C(g, Treatment)",
    "C(g, Treatment(1))",
    "C(g, Treatment(-1))",
    "C(k, Treatment(2))",
    "C(k, Treatment(3)) * x",
    "C(score, Treatment(1.0))",
    "C(m, Sum)",
    "C(m, Sum) - 1",
    "C(m, Sum('u'))",
    "C(m, Sum):C(g, Helmert)",
    "C(m, Sum) * C(g, Helmert) * x",
    "C(m, Helmert)",
    "C(m, Helmert) - 1",
    "C(m, Diff)",
    "0 + C(m, Diff)",
    "C(m, Poly)",
    "C(m, Poly) - 1",
    "C(rank, Poly) * x",
    "C(k, Poly([1, 2, 10]))",
    "C(m, [[0], [1], [1], [0]])",
    "C(g, levels=['c', 'b', 'a'])",
    "C(g, Treatment('b'), ['c', 'b', 'a'])",
    "C(C(g), Sum)",
    # booleans
    "flag",
    "flag + x",
    "flag * x",
    "flag:x",
    "0 + flag",
    "flag:often",
    "flag * often - 1",
    "x * flag * often",
    "C(flag)",
    "C(x > 0)",
    "nullable",
    "0 + nullable",
    "nullable:g",
    "nullable * x",
    "C(nullable)",
    "I(nullable & flag)",
    "object * x",
    "I(flag * x)",
    "I(1 * flag)",
    "np.where(flag, x, 0.0)",
    "flag.astype(float)",
    "C(g) + flag + C(k)",
    "np.log(z) + flag + I(x**2)",
    "(flag + x):g",
    "I(x > 0)",
    "0 + I(x > 0)",
    "I(x > 0):z",
    "I(x > 0) * I(z > 2)",
    "g * I(x > 0)",
    "x > 0",
    "I(~flag)",
    "I(g == 'a')",
    "I(flag & (x > 0))",
    "g.isin(['a', 'b'])",
    "flag + I(flag * x)",
    "0 + flag + I(flag * x)",
    "flag:z + I(flag * x)",
    # functions
    "I(x**2)",
    "x + I(x**2)",
    "I(x * z)",
    "I(x / z)",
    "I((x*z)+1)",
    "I( x+1e3 )",
    "np.log(z)",
    "np.log(z) * g",
    "np.exp(-z) + np.sqrt(z)",
    "np.where(x > 0, 1, 0)",
    "np.minimum(x, LIMIT)",
    "np.column_stack([x, np.log(z)])",
    "np.column_stack([x, z]):g",
    "x.to_frame()",
    "squared(x)",
    "squared(values=x)",
    "squared(x) * g",
    "x.abs()",
    # stateful transforms
    "center(x)",
    "center(x=x)",
    "center(k)",
    "center(x) * z",
    "center(np.log(z))",
    "center(np.column_stack([x, z]))",
    "standardize(x)",
    "standardize(x):standardize(z)",
    "standardize(x, center=False, ddof=1)",
    "scale(x, ddof=0)",
    "scale(x, ddof=0):g",
    "scale(k, ddof=1)",
    "scale(x, rescale=False)",
    "scale(np.column_stack([x, z]), ddof=0)",
    "squared(center(x))",
    "I(center(x)**2)",
    "I(center(x) * center(x)) + center(x)",
    "bs(x, df=4)",
    "bs(x, 5, degree=2)",
    "bs(x, knots=[1, 0, -1])",
    "bs(x, df=4, include_intercept=True)",
    "bs(x, df=4, include_intercept=True) - 1",
    "bs(x, df=4, lower_bound=-9, upper_bound=9)",
    "bs(z, df=4):h",
    "bs(center(x), df=4)",
    "scale(bs(x, df=4), ddof=0)",
    "cr(x, df=4)",
    "cr(x, df=4) - 1",
    "cr(x, df=4, constraints='center')",
    "cc(x, df=4)",
    "te(cr(x, df=3), cr(z, df=3))",
    "te(bs(x, df=4), cr(z, df=3), constraints='center')",
    # names
    "Q('odd name')",
    'Q("odd name") + x',
    "Q('odd name') * g",
    "Q('x.1') + Q('class')",
    "I(Q('odd name')**2)",
    "C(Q('odd name') > 0)",
    "center(Q('odd name'))",
    'scale(Q("it\'s"), ddof=0)',
]
BEYOND_PATSY = {  # formulas patsy itself does not read, as it would have them
    "`odd name`": "Q('odd name')",
    "`odd name` * x + center(`it's`)": "Q('odd name') * x + center(Q(\"it's\"))",
    "(x + z)^2": "(x + z)**2",
    "(g + h + I(x > 0))^3": "(g + h + I(x > 0))**3",
    "C(g, contr.treatment('b'))": "C(g, Treatment('b'))",
    "C(g, contr.treatment)": "C(g, Treatment)",
    "C(g, contr.SAS)": "C(g, Treatment(-1))",
    "C(g, contr.sum)": "C(g, Sum)",
    "C(g, contr.helmert)": "C(g, Helmert)",
    "C(g, contr.poly)": "C(g, Poly)",
    "C(g, contr.diff)": "C(g, Diff)",
    "log(z) + log2(z)": "np.log(z) + np.log2(z)",
    "exp(z) + exp2(z)": "np.exp(z) + np.exp2(z)",
    "cs(x, df=4)": "cr(x, df=4)",
    "bs(x, df=4, extrapolation='clip')": "bs(x, df=4)",
    "poly(z, 2, raw=True)": "np.column_stack([z, z**2])",
    "C(np.where(x > 0, 1, 0))": "C(1 * (x > 0))",
    "C(np.where(x > 0, 1.5, 0))": "C(1.5 * (x > 0))",
}
ROWS = ([4], [7, 7, 250, 12], range(0, N, 9))  # one row and a few have but some of the levels


def model(right, engine, data=DATA, **options):
    return BinaryGLM.from_formula(f"y ~ {right}", data, formula_engine=engine, **options)


def plain_patsy(right):
    """Return what patsy itself makes of a formula."""
    strings = {name: DATA[name].astype(object) for name in ("g", "h", "m")}  # patsy does not know the types of pandas
    data = DATA.assign(unused=DATA["unused"].cat.remove_unused_categories(), nullable=DATA["often"], **strings)
    return patsy.dmatrix(right, data)


@pytest.mark.parametrize("right", BATTERY)
def test_both_engines_give_the_columns_of_patsy(right):
    one, other = (model(right, engine) for engine in ENGINES)
    expected = plain_patsy(right)
    names = [re.sub(r"Timestamp\('(.*)'\)", r"\1", name) for name in expected.design_info.column_names]
    assert one.exog_names == other.exog_names == names
    assert_allclose(one.exog, other.exog, rtol=1e-12, atol=1e-13)
    assert_allclose(one.exog, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("right", BEYOND_PATSY)
def test_both_engines_read_more_than_patsy(right):
    one, other = (model(right, engine) for engine in ENGINES)
    expected = plain_patsy(BEYOND_PATSY[right])
    assert one.exog_names == other.exog_names
    assert [name[-4:] for name in one.exog_names] == [name[-4:] for name in expected.design_info.column_names]
    assert_allclose(one.exog, other.exog, rtol=1e-12, atol=1e-13)
    assert_allclose(one.exog, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("seed", range(12))
def test_both_engines_code_any_combination_of_terms_alike(seed):
    rng = np.random.default_rng(seed)
    factors = ["g", "h", "m", "flag", "I(x > 0)", "C(k, Sum)", "rank", "x", "z", "bs(x, df=4)"]
    for _ in range(4):
        terms = [":".join(rng.permutation(factors)[: rng.integers(1, 4)]) for _ in range(rng.integers(1, 5))]
        right = " + ".join(terms) + rng.choice(["", " - 1"])
        one, other = (model(right, engine) for engine in ENGINES)
        assert one.exog_names == other.exog_names, right
        assert_allclose(one.exog, other.exog, rtol=1e-12, atol=1e-13)
        for fitted in (one, other):
            assert_allclose(design_of(fitted, DATA[4:5])[0], one.exog[4:5], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", [*BATTERY, *BEYOND_PATSY, "poly(x, 2)", "poly(x, degree=3):g"])
def test_new_data_are_read_by_the_recipe_of_the_old(right, engine):
    fitted = model(right, engine)
    for rows in ROWS:
        new, _, index = design_of(fitted, DATA.iloc[rows].drop(columns="y"))
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
        ("exp10(x)", {"Intercept": 1.0, "exp10(x)": 10 ** DATA["x"]}),
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
    assert_allclose(design_of(other, converted[:9])[0], other.exog[:9], rtol=1e-12, atol=1e-13)


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
        assert_allclose(design_of(built, DATA[:4])[0], built.exog[:4], rtol=1e-12)


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


@reads_formulaic
@pytest.mark.parametrize("engine", ENGINES)
def test_the_engine_of_statsmodels_stays_as_it_was(engine):
    before = statsmodels.formula.options.formula_engine
    fit("y ~ x * g", DATA, formula_engine=engine).wald_test_terms(scalar=True)
    assert statsmodels.formula.options.formula_engine == before


def test_terms_of_formulaic_before_statsmodels_15(monkeypatch):
    monkeypatch.delattr(statsmodels.formula, "options", raising=False)
    results = fit("y ~ x * g", DATA, formula_engine="formulaic")
    for test in (results.wald_test_terms, lambda: results.t_test_pairwise("g")):
        with pytest.raises(InvalidOptionError, match=r"statsmodels 0\.15 .*formula_engine='patsy'"):
            test()


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
    for new in (DATA.iloc[:20], DATA.iloc[4:5]):
        design = design_of(fitted, new.assign(g=recode(new["g"])))[0]
        assert_array_equal(design, fitted.exog[new.index])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("new", [1, 1.5, "d", True])
@pytest.mark.parametrize("right", ["g", "C(g)", "C(g, Treatment('b'))", "grade", "C(k)"])
def test_unseen_levels_are_refused(right, new, engine):
    column = {"grade": "grade", "C(k)": "k"}.get(right, "g")
    new = {1: 7}.get(new, new) if column == "k" and new != "d" else new
    with pytest.raises(InvalidDataError, match=str(new)):
        design_of(model(right, engine), DATA[:3].assign(**{column: new}))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", ["I(1 * (g == 'a'))", "np.where(g == 'a', 1, 0)", "g.str.len() + x - 1"])
def test_strings_that_are_no_factor_may_be_new(right, engine):
    fitted = model(right, engine)
    columns = design_of(fitted, DATA[:3].assign(g=["a", "new", "b"]))[0]
    expected = [1, 3, 1] if "len" in right else [1, 0, 0]
    assert expected in columns.T.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_cannot_become_strings(engine):
    with pytest.raises(InvalidDataError, match="x"):
        design_of(model("x + g", engine), DATA[:3].assign(x=["u", "v", "w"]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "right", ["grade", "rank * x", "C(grade, Sum)", "grade.cat.codes", "I(grade == 'low')", "unused"]
)
@pytest.mark.parametrize("recode", [lambda c: c.astype(str), lambda c: pd.Categorical(c.astype(str))])
def test_categories_of_new_data_may_be_fewer_or_strings(right, recode, engine):
    fitted = model(right, engine)
    for rows in ROWS:
        new = DATA.iloc[rows]
        new = new.assign(**{name: recode(new[name]) for name in ("grade", "rank", "unused")})
        assert_allclose(design_of(fitted, new)[0], fitted.exog[rows])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", ["flag", "flag:x", "C(flag)", "I(flag & (x > 0))"])
@pytest.mark.parametrize("dtype", [int, float, object, "boolean", "category"])
def test_booleans_of_new_data_may_be_written_otherwise(right, dtype, engine):
    fitted = model(right, engine)
    assert_array_equal(design_of(fitted, DATA[:9].assign(flag=DATA["flag"][:9].astype(dtype)))[0], fitted.exog[:9])
    for wrong in (2, "yes"):
        with pytest.raises(InvalidDataError, match="flag"):
            design_of(fitted, DATA[:9].assign(flag=wrong))


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_of_new_data_may_be_booleans(engine):
    data = DATA.assign(x=DATA["flag"].astype(int))
    fitted = model("x * z", engine, data)
    assert_array_equal(design_of(fitted, DATA[:9].assign(x=DATA["flag"][:9]))[0], fitted.exog[:9])


@pytest.mark.parametrize(
    "right", ["g", "grade * x", "C(nullable):x", "I(nullable & flag)", "object", "C(k, Poly) + rank"]
)
def test_missing_values_of_factors(right):
    data = DATA.assign(k=DATA["k"].astype("Int64"))
    for row, name in enumerate(["g", "grade", "nullable", "object", "k", "rank"]):
        data.loc[row, name] = None
    models = []
    for engine in ENGINES:
        with pytest.warns(match="rows"):
            models.append(model(right, engine, data))
    one, other = models
    assert one.exog_names == other.exog_names == model(right, "patsy").exog_names
    assert_allclose(one.exog, other.exog, rtol=1e-12, atol=1e-13)
    new, also = (design_of(fitted, data[:20])[0] for fitted in models)
    assert 1 <= np.isnan(new).any(axis=1).sum() <= 2
    assert_allclose(new, also, rtol=1e-12, atol=1e-13)
    assert_allclose(new[6:], one.exog[-N + 6 :][:14], rtol=1e-12, atol=1e-13)


# -- where the engines differ, or both refuse ----------------------------------------------


@pytest.mark.parametrize("right", ["x.apply(lambda v: v + 1)", "sum([x for _ in range(2)])"])
def test_what_patsy_cannot_read_is_said(right):
    with pytest.raises(InvalidOptionError, match="formula_engine='formulaic' can"):
        model(right, "patsy")


def test_formulaic_reads_what_patsy_cannot():
    assert_allclose(model("x.apply(lambda v: v + 1)", "formulaic").exog[:, 1], DATA["x"] + 1)
    assert_allclose(model("sum([x for _ in range(2)])", "formulaic").exog[:, 1], 2 * DATA["x"])


def test_both_engines_hash():
    one, other = (model("hashed(g, levels=4) + x", engine) for engine in ENGINES)
    assert one.exog_names == other.exog_names and one.exog.shape == (N, 5)
    assert_array_equal(one.exog, other.exog)


def test_patsy_refuses_categories_that_an_expression_makes_of_some_levels():
    one, other = (model("g.astype('category')", engine) for engine in ENGINES)
    assert_array_equal(one.exog, other.exog)
    assert_array_equal(design_of(one, DATA[4:5])[0], one.exog[4:5])
    with pytest.raises(InvalidDataError, match="mismatching levels"):
        design_of(other, DATA[4:5])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("right", "message"),
    [
        ("patsy.bs(x, df=4)", r"patsy.bs\(\), which works under its own name only: bs\(\)"),
        ("I(patsy.center(x)**2)", r"center\(\)"),
        ("x @ @ g", r"by \+ - : \* /"),
        ("x %in% g", r"g.isin\(\['a', 'b'\]\)"),
        ("2 * x", "numbers besides '0' and '1'"),
        ("I(3)", "300"),
        ("C(np.where(x > 0, x, np.nan))", "missing values"),
        ("np.where(x > 0, None, 'a')", "missing values"),
        ("C(g, levels=['a', 'b'])", "'c'"),
        ("C(g, Treatment('d'))", "'d' not found"),
        ("C(flag, levels=[True])", "False"),
        ("bs(x, df=4, extrapolation='on')", "extrapolation='on' is not one of"),
        ("I(day - day.min())", "could not be evaluated"),
    ],
)
def test_both_engines_refuse(right, message, engine):
    assert patsy
    with pytest.raises(InvalidDataError, match=message):
        model(right, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_splines_beyond_the_data(engine):
    """Nothing is invented unless the formula says how."""
    low, high = DATA["x"].agg(["min", "max"])
    new = DATA[:3].assign(x=[low - 1.0, 0.0, high + 2.0])
    with pytest.raises(InvalidDataError, match="2 values are outside"):
        design_of(model("bs(x, df=4)", engine), new)

    def design(how, data=new):
        return design_of(model(f"bs(x, df=4, extrapolation='{how}')", engine), data)[0][:, 1:]

    assert_array_equal(design("clip"), design("clip", new.assign(x=[low, 0.0, high])))
    assert_array_equal(np.isnan(design("na")).all(axis=1), [True, False, True])
    assert_array_equal((design("zero") == 0).all(axis=1), [True, False, True])
    inside = DATA["x"].nsmallest(4).to_numpy()  # one cubic, before the first knot
    cubics = [np.polyfit(inside, column, 3) for column in design("extend", pd.DataFrame({"x": inside})).T]
    assert_allclose(design("extend")[0], [np.polyval(cubic, low - 1.0) for cubic in cubics], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["center", "bs"])
def test_functions_of_the_other_package_remember_too(name, engine):
    """``from patsy import bs`` or ``from formulaic.transforms import bs`` before a formula changes nothing."""
    import formulaic.transforms

    right = {"center": "word(x)", "bs": "word(x, df=4)"}[name]
    expected = model(right.replace("word", name), engine).exog
    for word in (getattr(patsy, name), formulaic.transforms.TRANSFORMS[name]):
        recipe = Recipe(right, DATA, {"word": word}, engine)
        assert_allclose(recipe.take_first(), expected, rtol=1e-12, atol=1e-13)
        assert_allclose(recipe.matrix(DATA[4:6]), expected[4:6], rtol=1e-12, atol=1e-13)


@reads_formulaic
def test_terms_have_the_same_names_and_tests():
    right = "g * x + flag + C(h, Sum) + scale(z)"
    one, other = (fit(f"y ~ {right}", DATA, formula_engine=engine) for engine in ENGINES)
    tables = [results.wald_test_terms(scalar=True).table.astype(float) for results in (one, other)]
    pd.testing.assert_frame_equal(*tables, rtol=1e-7)
    for term in ("g", "flag", "C(h, Sum)"):
        pairs = [results.t_test_pairwise(term).result_frame.drop(columns="reject-hs") for results in (one, other)]
        pd.testing.assert_frame_equal(*(pair.astype(float) for pair in pairs), rtol=1e-7)


@pytest.mark.parametrize("left", ["I(Q('odd name') > 0)", "I(`odd name` > 0)"])
def test_quoted_names_in_the_outcome(left):
    assert_array_equal(BinaryGLM.from_formula(f"{left} ~ x", DATA).endog, DATA["odd name"] > 0)


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


@pytest.mark.parametrize("right", [*BATTERY, *BEYOND_PATSY, "poly(x, 2)"])
def test_recipes_of_formulaic_survive_pickling(right):
    recipe = Recipe(right, DATA, {"np": np, "squared": squared, "LIMIT": LIMIT}, "formulaic")
    first = recipe.take_first()
    pickled = pickle.dumps(recipe)
    again = pickle.loads(pickled)
    assert len(pickled) < 20_000  # no rows
    assert again.names == recipe.names
    for rows in ROWS:
        assert_allclose(again.matrix(DATA.iloc[rows]), first[rows], rtol=1e-12, atol=1e-13)


def test_recipes_of_patsy_say_what_is_lost_by_pickling():
    again = pickle.loads(pickle.dumps(Recipe("x", DATA, {}, "patsy")))
    assert again.names == ["Intercept", "x"]
    with pytest.raises(InvalidDataError, match="formula_engine='formulaic'"):
        again.matrix(DATA)
