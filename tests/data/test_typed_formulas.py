"""Formulas as people type them in R, Stata, fixest and patsy: the design of R, or a sentence that says what to write."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm import BinaryGLM, fit
from gevglm.data.new_rows import read_table
from gevglm.exceptions import InvalidDataError

ENGINES = ("formulaic", "patsy")
GOLDEN = Path(__file__).parents[1] / "golden"
R = json.loads((GOLDEN / "formulas.json").read_text())
DATA = pd.read_csv(GOLDEN / "formulas.csv")
NEW = pd.DataFrame(R["new"])
CLOSE = 1e-10  # of the largest number of a column
DESIGNS = {each["right"]: each for each in R["designs"]}
TYPED_AS_IN_R = [right for right in DESIGNS if "I(x^2)" not in right]
BASES = [
    right
    for right in DESIGNS
    if right.startswith(("ns(", "bs(", "poly(", "rcs(")) and "*" not in right and ":" not in right
]


def matrix(stored):
    return np.reshape(stored["values"], stored["shape"], order="F")


def model_of(right, engine="formulaic", data=DATA, left="y"):
    return BinaryGLM.from_formula(f"{left} ~ {right}", data, link="logit", formula_engine=engine)


def assert_same_span(ours, theirs):
    assert ours.shape[1] <= theirs.shape[1]  # R leaves columns in that are combinations of others
    for X, columns in ((ours, theirs), (theirs, ours)):
        X, columns = (each / np.maximum(np.abs(each).max(axis=0), 1e-300) for each in (X, columns))
        assert_allclose(X @ np.linalg.lstsq(X, columns, rcond=1e-13)[0], columns, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", TYPED_AS_IN_R)
def test_designs_are_those_of_r(right, engine):
    known = DESIGNS[right]
    model = model_of(right, engine)
    assert_same_span(np.asarray(model.exog)[R["some"]], matrix(known["X"]))
    if "offset" in known:
        assert_allclose(np.asarray(model.offset)[R["some"]], known["offset"], rtol=1e-14)
    else:
        assert model.offset is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", BASES)
def test_splines_and_polynomials_have_the_columns_of_r(right, engine):
    theirs = matrix(DESIGNS[right]["X"])
    if "g" not in right:
        ours = np.asarray(model_of(right, engine).exog)[R["some"]]
        assert_allclose(ours / np.abs(theirs).max(axis=0), theirs / np.abs(theirs).max(axis=0), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", [right for right, known in DESIGNS.items() if "new" in known])
def test_new_rows_are_read_with_the_knots_of_the_fit(right, engine):
    theirs = np.vstack([matrix(DESIGNS[right]["X"]), matrix(DESIGNS[right]["new"])])
    design = model_of(right, engine).design
    ours = np.vstack([design.X[R["some"]], read_table(design.layout, NEW).X])
    assert_same_span(ours, theirs)


@pytest.mark.parametrize(
    "right", [*TYPED_AS_IN_R, "cr(x, df=4, constraints='center')", "cr(x, df=5) - 1", "cc(age, df=4)"]
)
def test_pieces_give_the_design_of_the_whole(right):
    whole = model_of(right)
    pieces = model_of(right, data=[DATA[:13], DATA[13:40], DATA[40:41], DATA[41:]]).design
    assert pieces.names == whole.exog_names
    for table in (DATA[50:60], DATA[::-1]):
        read = read_table(pieces.layout, table)
        rows = whole.design.X[table.index]
        assert_allclose(read.X, rows, rtol=0, atol=1e-12 * np.abs(rows).max())
        if whole.offset is not None:
            assert_allclose(read.offset, np.asarray(whole.offset)[table.index])


def test_few_rows_have_harrells_outer_knots():
    X = np.asarray(model_of("rcs(x, 4)", data=DATA[: R["few"]["rows"]]).exog)[:20]
    assert_allclose(X, matrix(R["few"]["X"]), rtol=0, atol=CLOSE * 100)


def translations():
    """Return the formulas of R on the page for its users, each with those that stand beside it."""
    page = (GOLDEN.parents[1] / "docs" / "from_r.md").read_text()
    table = page.partition("\n## Formulas\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `y ~ ([^`]+)`(?: \(rms\))? \| (`fit.*) \|$", table, flags=re.M)
    return [(theirs, ours) for theirs, cell in rows for ours in re.findall(r'fit\("y ~ (.*?)", d', cell)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("theirs", "ours"), translations())
def test_translations_of_formulas_are_true(theirs, ours, engine):
    model = model_of(ours, engine)
    assert_same_span(np.asarray(model.exog)[R["some"]], matrix(DESIGNS[theirs]["X"]))
    assert (model.offset is not None) == ("offset" in DESIGNS[theirs])


def test_the_page_for_users_of_r_translates_formulas():
    assert len(translations()) >= 14


# -- what is not read -------------------------------------------------------------------------

TYPED = DATA.assign(flag=DATA["x"] > 50, n=DATA["s"] + DATA["f"]).rename(columns={"half": "half life"})
SENTENCES = {
    # powers and other bits of numbers
    "I(age^2)": ["'age ^ 2'", "x**2"],
    "x^2 + I(k^2)": ["'k ^ 2'", "x**2"],
    "poly(x^2, 2)": ["'x ^ 2'", "x**2"],
    "log(age^2)": ["'age ^ 2'", "x**2"],
    "I(k^2 > 4)": ["'k ^ 2'", "x**2"],
    "np.where(k ^ 1, 0, 1)": ["'k ^ 1'", "x**2"],
    "I(k & s)": ["'k & s'", "x:z"],
    "I(k | s)": ["'k | s'", "(x > 1) | (z < 2)"],
    "C(k | s)": ["'k | s'"],
    "I(k > 1 & s > 2)": ["'1 & s'", "(x > 1) & (z < 2)"],
    "I(flag & k)": ["'flag & k'"],
    "I(~k)": ["'~k'", "~(x > 1)"],
    "I(k << 1)": ["'k << 1'"],
    "I(s >> 1)": ["'s >> 1'"],
    "I(abs(k ^ 2))": ["'k ^ 2'"],
    "center(k ^ 2)": ["'k ^ 2'"],
    "ns(k ^ 2, 3)": ["'k ^ 2'"],
    "x + offset(k ^ 2)": ["'k ^ 2'"],
    "x**0.5": ["I(x**0.5)"],
    # fixest, lme4
    "x | g": ["fixed effects", "absorb="],
    "x | g + h": ["fixed effects"],
    "x + z | g^h": ["fixed effects"],
    "k | s": ["fixed effects"],
    "1 | g": ["fixed effects"],
    ". | g": ["fixed effects"],
    "x + (1 | g)": ["random effect", "cov_type='cluster'"],
    "x + (1|k)": ["random effect"],
    "x + (x || k)": ["random effect"],
    "x + (1 + x | g)": ["random effect"],
    "i(k)": ["C(x)"],
    "i(k, x, ref = 2)": ["C(x):z"],
    "csw(x, z)": ["gevglm.compare"],
    "i(k, ref = 2)": ["Treatment('a')"],
    "x + i(g, z)": ["C(x):z"],
    "sw(x, z)": ["gevglm.compare"],
    "x | g[z]": ["fixed effects"],
    "x | g | z ~ h": ["fixed effects"],
    "x + z + x^z": ["make interactions, and need a whole number"],
    "x | g^h": ["fixed effects"],
    "x:z | g": ["fixed effects"],
    "factor(k) | g": ["fixed effects"],
    "l(x, 1)": ["groupby('unit')['x'].shift()"],
    "d(x)": ["columns to compute in the table first"],
    "f(x, 1)": ["columns to compute in the table first"],
    "x & z": ["'&'", "a:b"],
    "flag | g": ["I((a > 1) | (b < 2))"],
    "x && z": ["'&&'"],
    # mgcv, survival, rms
    "s(x)": ["ns(x, df=4)"],
    "s(x, k = 5) + te(x, z)": ["s()", "splines"],
    "te(x, z)": ["te(cr(x, df=4), cr(z, df=4))", "x:z"],
    "ti(x, z)": ["splines"],
    "lo(x)": ["splines"],
    "x + strata(g)": ["conditional", "strata='set'"],
    "x + cluster(k)": ["cov_kwds={'groups': 'id'}"],
    "x + frailty(g)": ["random effects"],
    "lsp(x, 50)": ["np.maximum(x - 50, 0)"],
    "pol(x, 2)": ["poly(x, 2, raw=True)"],
    # R
    "k %in% c(1, 2)": ["g.isin(['a', 'b'])"],
    "I(g %in% c('a', 'b'))": ["isin"],
    "g %in% h": ["a:b"],
    "I(k %% 2)": ["x % 2"],
    "d$x": ["x in place of d$x"],
    "splines::ns(x, 3)": ["ns(x, 3) in place of"],
    "I(!flag)": ["~(x > 1)"],
    "I(flag && (x > 1))": ["joined by &"],
    "ifelse(x > 50, 1, 0)": ["np.where"],
    "as.numeric(k)": ["x.astype(float)"],
    "ordered(k)": ["C(x, Poly)"],
    "interaction(g, h)": ["C(a):C(b)"],
    "pmax(x, 50)": ["np.maximum"],
    "relevel(factor(k), ref = 2)": ["place among the levels", "'2'"],
    "relevel(g, 'd')": ["'d'", "a, b, c"],
    "factor(k, labels = c('one', 'two', 'three'))": ["labels="],
    "cut(age, c(20, 40))": ["values", "(20,40]", "more breaks"],
    "cut(age)": ["needs breaks"],
    "ns(x, df = 0)": ["whole number from 1"],
    "ns(x, knots = 500)": ["knot 500", "between"],
    "ns(x, dof = 3)": ["dof"],
    "rcs(x, 2)": ["whole number from 3"],
    "poly(k, 3)": ["3 different values"],
    "offset(x):z": ["stands by itself"],
    "offset(scale(x))": ["learns from the data"],
    "offset(x, z)": ["one column"],
    "log(.)": ["all columns but the outcome"],
    "flc.gpr": ["'flc.gpr'", "Did you mean 'flc.grp'"],
    "half life": ["`half life`"],
    "as.whatever(x)": ["as.whatever()"],
    # Stata
    "i.k": ["Stata", "C(k)"],
    "i.k##c.age": ["Stata", "## is *"],
    "ib2.k": ["C(k, Treatment(2))"],
    "c.age#c.age": ["age", "# is :"],
    "x#z": ["a:b"],
    "x##z": ["a*b"],
    "L.x": ["compute in the table"],
    "L2.x": ["compute in the table"],
    "D.x + F.z": ["compute in the table"],
    "ib3.k#c.x": ["C(k, Treatment(2))"],
    "ibn.k": ["C(k"],
    "c.x": ["by its name, x"],
    "c.x##c.x": ["## is *"],
    "i.k#i.flc.grp": ["C(k)"],
    "i.g##i.h": ["C(g)"],
    "o.x": ["leave x out"],
    "i.k x": ["Stata"],
    "x##g": ["a*b"],
    "g#h": ["a:b"],
    # patsy and pandas
    "lag(x)": ["columns to compute in the table first"],
    "x + lag(x, 2)": ["columns to compute in the table first"],
    "x.shift()": ["depends on other rows"],
    "I(x - x.mean())": ["depends on other rows", "scale()"],
    "x.rank()": ["depends on other rows"],
    "C(g, Treatment('d'))": ["C(g, Treatment('d'))", "'d'", "a, b, c"],
    "x + C(k, Treatment(9))": ["C(k, Treatment(9))", "1, 2, 3"],
    "x + C(g, levels=['a'])": ["C(g, levels=['a'])", "'b'"],
    "patsy.bs(x)": ["bs()"],
    "I(k ^ s) + x": ["x**2"],
    "x @ z": ["could not be evaluated"],
    "Q('xx')": ["'xx'"],
    "x ~ z": ["is not a formula"],
    "np.logg(z)": ["logg"],
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", SENTENCES)
def test_what_has_no_meaning_here_is_refused_with_what_to_write(right, engine):
    with pytest.raises(InvalidDataError) as info:
        model_of(right, engine, TYPED)
    for words in SENTENCES[right]:
        assert words in str(info.value)
    assert info.value.__suppress_context__ or info.value.__context__ is None  # one traceback, one sentence


def test_pieces_refuse_the_same():
    for right in (
        "I(k^2)",
        "x + (1 | g)",
        "center(k ^ 2)",
        "x + offset(k ^ 2)",
        "te(x, z)",
        "flc.gpr",
        "ns(x, knots = 500)",
        "ns(x, dof = 3)",
    ):
        with pytest.raises(InvalidDataError) as info:
            model_of(right, data=[TYPED[:50], TYPED[50:]])
        for words in SENTENCES.get(right, []):
            assert words in str(info.value)


def test_the_table_is_long_enough():
    assert len(DESIGNS) >= 140 and len(SENTENCES) >= 120 and len(SPELLED) >= 50


CONDITIONS = {
    "I((x > 40) & (z < 1))": (DATA["x"] > 40) & (DATA["z"] < 1),
    "C((x > 40) | flag)": (DATA["x"] > 40) | TYPED["flag"],
    "I(~flag)": ~TYPED["flag"],
    "I(flag ^ (k == 2))": TYPED["flag"] ^ (DATA["k"] == 2),
    "I(g.isin(['a', 'b']) & ~(k > 1))": DATA["g"].isin(["a", "b"]) & ~(DATA["k"] > 1),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", CONDITIONS)
def test_conditions_are_joined(right, engine):
    assert_allclose(np.asarray(model_of(right, engine, TYPED).exog)[:, 1], CONDITIONS[right].astype(float))


def test_subsets_and_outcomes_have_no_bits_either():
    with pytest.raises(InvalidDataError, match=r"'x \^ 2'.* x\*\*2"):
        fit("y ~ x", DATA, link="logit", subset="x ^ 2 > 400")
    with pytest.raises(InvalidDataError, match="'k & 1'"):
        fit("I(k & 1) ~ x", DATA, link="logit")


# -- words and columns ------------------------------------------------------------------------


# as users of Stata (i., c., # and ## spelled in Python), fixest, patsy and formulaic write what R writes in another way
SPELLED = {
    # Stata
    "C(k)": "factor(k)",
    "C(k)*x": "factor(k) * x",
    "C(k) + x + C(k):x": "factor(k) * x",
    "C(k):C(g)": "factor(k):factor(g)",
    "C(k, Treatment(2))": "relevel(factor(k), ref = '2')",
    "C(k, Treatment(3))*x": "relevel(factor(k), '3') * x",
    "C(flc.grp, Treatment(4))": "relevel(factor(flc.grp), ref = '4')",
    "x*z": "x * z",
    "x:z": "x:z",
    "x + x:x + I(x*x)": "x + I(x**2)",
    "C(g)*C(h)*x": "g * h * x",
    "C(g)*C(h)": "g * h",
    # fixest
    "(x + z)^2": "(x + z)^2",
    "x*factor(g)": "x * g",
    "factor(k) - 1": "factor(k) - 1",
    "x + offset(log(time))": "offset(log(time)) + x",
    "poly(x, 2, raw = T)": "poly(x, 2, raw = TRUE)",
    # patsy, formulaic
    "C(g)": "g",
    "C(g, Sum)": "C(g, contr.sum)",
    "C(g, Helmert)": "g",
    "C(g, Diff)": "g",
    "C(g, Poly)": "g",
    "C(g, Treatment('b'))": "relevel(g, 'b')",
    "C(g, Treatment(reference='c'))": "relevel(g, ref = 'c')",
    "C(g, levels=['c', 'a', 'b'])": "factor(g, levels = c('c', 'a', 'b'))",
    "C(g, contr.sum)": "C(g, contr.sum)",
    "C(g, contr.treatment('b'))": "relevel(g, 'b')",
    "x - 1": "x - 1",
    "0 + x": "0 + x",
    "(x + z + age)**2": "(x + z + age)^2",
    "x + g:x + g": "x * g",
    "g/h": "g / h",
    "np.log(z)": "log(z)",
    "np.sqrt(z)": "sqrt(z)",
    "np.log10(z)": "log10(z)",
    "np.power(age, 10)": "I(age**10)",
    "age.pow(10)": "I(age**10)",
    "{x - 50}": "I(x - 50)",
    "Q('flc.grp')": "flc.grp",
    "`flc.grp`": "flc.grp",
    "C(Q('flc.grp'))": "factor(flc.grp)",
    "np.abs(x)": "abs(x)",
    "center(x)": "scale(x, scale = FALSE)",
    "standardize(x, ddof=1)": "scale(x)",
    "standardize(x)": "x",
    "scale(x, rescale=False)": "scale(x, scale = FALSE)",
    "scale(x, ddof=1)": "scale(x)",
    "bs(x, df=4)": "bs(x, 4)",
    "bs(x, df=5, degree=2, include_intercept=False)": "bs(x, df = 5, degree = 2)",
    "bs(x, knots=[40, 60], lower_bound=0, upper_bound=120)": "bs(x, knots = c(40, 60), Boundary.knots = c(0, 120))",
    "np.where(x > 50, 1, 0)": "I(x > 50)",
    "I(x > 50)": "I(x > 50)",
    "I((x > 50) & (z < 1))": "I((x > 50) & (z < 1))",
    "I(x**2) + x": "x + I(x**2)",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", SPELLED)
def test_other_spellings_of_r(right, engine):
    X = np.asarray(model_of(right, engine).exog)[R["some"]]
    assert_same_span(X, matrix(DESIGNS[SPELLED[right]]["X"]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "right", ["scale(x)", "scale(x, center = FALSE)", "scale(x, scale = FALSE)", "scale(x, 50, 10)", "scale(log(z))"]
)
def test_scale_has_the_columns_of_r(right, engine):
    theirs = matrix(DESIGNS[right]["X"])
    assert_allclose(np.asarray(model_of(right, engine).exog)[R["some"]], theirs, rtol=1e-10, atol=1e-13)
    pieces = model_of(right, data=[DATA[:13], DATA[13:40], DATA[40:]]).design
    assert_allclose(read_table(pieces.layout, DATA).X[R["some"]], theirs, rtol=1e-10, atol=1e-13)


LARGE = DATA.assign(
    income=DATA["age"].astype(np.int64) * 10**7,
    flag=DATA["x"] > 50,
    other=DATA["z"] < 1,
    byte=DATA["k"].astype(np.uint64),
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("right", "column"),
    [
        ("I(income**3)", LARGE["income"].astype(float) ** 3),
        ("I(income * income * income)", LARGE["income"].astype(float) ** 3),
        ("np.power(income, 3)", LARGE["income"].astype(float) ** 3),
        ("income.mul(income).mul(income)", LARGE["income"].astype(float) ** 3),
        ("I(income**-2)", LARGE["income"].astype(float) ** -2),
        ("I(9000000000000000000 + income)", 9e18 + LARGE["income"]),
        ("I(byte - 3)", LARGE["k"] - 3.0),
        ("I(flag + other)", LARGE["flag"].astype(float) + LARGE["other"]),
        ("I(flag - other)", LARGE["flag"].astype(float) - LARGE["other"]),
        ("I(-flag)", -LARGE["flag"].astype(float)),
        ("I(flag * income)", LARGE["flag"] * LARGE["income"]),
        ("I(income * 2 // 3)", LARGE["income"] * 2 // 3),
    ],
)
def test_whole_numbers_and_conditions_are_numbers(right, column, engine):
    assert_allclose(np.asarray(model_of(right, engine, LARGE).exog)[:, 1], column, rtol=1e-14)
    pieces = model_of(right, data=[LARGE[:50], LARGE[50:]]).design
    assert_allclose(read_table(pieces.layout, LARGE).X[:, 1], column, rtol=1e-14)


@pytest.mark.parametrize("engine", ENGINES)
def test_whole_numbers_stay_whole_in_names_of_levels(engine):
    names = model_of("C(k * 2) + C(age // 40) + C(byte + 1)", engine, LARGE).exog_names
    assert names[1:] == [
        "C(k * 2)[T.4]", "C(k * 2)[T.6]", "C(age // 40)[T.1]", "C(age // 40)[T.2]", "C(byte + 1)[T.3]", "C(byte + 1)[T.4]",
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", ["Int64", "Float64", float])
def test_missing_values_are_not_in_a_subset(dtype):
    data = DATA.assign(k=DATA["k"].where(DATA["age"] > 30).astype(dtype))
    assert fit("y ~ x", data, link="logit", subset="k * 2 > 2").nobs == ((DATA["k"] > 1) & (DATA["age"] > 30)).sum()


def test_subsets_count_conditions():
    few = fit("y ~ x", LARGE, link="logit", subset="flag + other == 2")
    assert few.nobs == (LARGE["flag"] & LARGE["other"]).sum()


@pytest.mark.parametrize("name", ["c", "factor", "cut", "ns"])
def test_columns_and_variables_may_have_the_names_of_functions(name):
    data = DATA.rename(columns={"z": name})
    right = f"{name} + factor(k) + ns(x, knots = c(40, 60)) + cut(age, c(0, 40, 100))"
    assert_allclose(model_of(right, data=data).exog, model_of(right.replace(name, "z", 1)).exog)
    c = factor = cut = ns = 3  # noqa: F841
    assert fit("y ~ factor(k) + ns(x, knots = c(40, 60)) + cut(age, c(0, 40, 100))", DATA, link="logit").converged


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_may_have_names_that_python_reserves(engine):
    data = DATA.rename(columns={"x": "lambda", "z": "class", "half": "half.1"})
    right = "lambda*class + log(class) + lambda:half.1 + ns(lambda, 3)"
    plain = "x*z + log(z) + x:half + ns(x, 3)"
    assert_allclose(model_of(right, engine, data).exog, model_of(plain, engine).exog)
    if engine == "formulaic":
        shifted = model_of("age.apply(lambda v: v + 1) + log(lambda)", data=data)
        assert_allclose(np.asarray(shifted.exog)[:, 1], DATA["age"] + 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_counts_are_bound_as_in_r(engine):
    by_hand = fit("s + f ~ x", TYPED, link="logit", formula_engine=engine)
    for left in ("cbind(s, f)", "cbind(s, n - s)"):
        assert_allclose(fit(f"{left} ~ x", TYPED, link="logit", formula_engine=engine).params, by_hand.params)
    names = fit("cbind(s, f) ~ . - y - n - flag", TYPED, link="logit", formula_engine=engine).model.exog_names
    assert not {"s", "f", "y", "n"}.intersection(names) and "Q('half life')" in names


@pytest.mark.parametrize("engine", ENGINES)
def test_an_offset_in_the_formula_is_one_of_the_options(engine):
    options = {"link": "cloglog", "formula_engine": engine}
    inside = fit("y ~ x + offset(log(time))", DATA, **options)
    both = fit("y ~ x + offset(log(time))", DATA, offset="z", **options)
    assert_allclose(inside.params, fit("y ~ x", DATA, exposure="time", **options).params, rtol=1e-12)
    assert_allclose(both.params, fit("y ~ x", DATA, exposure="time", offset="z", **options).params, rtol=1e-12)
    assert inside.model.exog_names == ["Intercept", "x"]
    new = DATA.iloc[[3, 5]].assign(time=[1.0, np.nan])
    linear = inside.predict(new, which="linear")
    assert_allclose(linear, [inside.params @ [1.0, new["x"].iloc[0]], np.nan])
    assert_allclose(inside.predict(DATA), inside.fittedvalues)
    with pytest.raises(InvalidDataError, match="offset is not finite in 1 rows"):
        inside.predict(DATA[:3].assign(time=[0.0, 1.0, 2.0]))
    with pytest.raises(InvalidDataError, match="'time'"):
        inside.predict(DATA[["x"]])


def test_an_offset_in_the_formula_goes_through_pieces_and_risks():
    whole = fit("y ~ x + h + offset(log(time))", DATA, link="cloglog")
    pieces = fit("y ~ x + h + offset(log(time))", [DATA[:50], DATA[50:]], link="cloglog")
    assert_allclose(pieces.params, whole.params, rtol=1e-8)
    assert "time" not in whole.model.design.recipe.variables
    low, high = (whole.predict(DATA.assign(h=level)).mean() for level in ("left", "right"))
    assert_allclose(whole.risk("h").risks["estimate"], [low, high], rtol=1e-12)
    row = {"x": 40, "h": "left", "time": DATA["time"].mean()}
    before = whole.risk_change({"x": (40, 60)}, at={"h": "left"}, rng=0).summary_frame().to_numpy().ravel()
    assert np.isfinite(before).all() and 0 < whole.predict(row).iloc[0] < 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("levels", "names"),
    [
        (pd.cut(DATA["age"], [0, 30, 60, 90]), ["(30, 60]", "(60, 90]"]),
        (pd.PeriodIndex(np.where(DATA["k"] > 1, "1990Q2", "1990Q1"), freq="Q"), ["1990Q2"]),
        (pd.to_datetime(np.where(DATA["k"] > 1, "1990-01-02", "1990-01-01")).date, ["1990-01-02"]),
        (DATA["k"], ["2", "3"]),
        (DATA["k"] / 2, ["1.0", "1.5"]),
    ],
)
def test_levels_go_by_their_text(levels, names, engine):
    data = DATA.assign(level=levels)
    assert model_of("C(level)", engine, data).exog_names == ["Intercept", *(f"C(level)[T.{name}]" for name in names)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", ["C(k)", "factor(k)", "relevel(factor(k), '2')", "C(k) * x"])
def test_unseen_levels_are_named_with_their_column(right, engine):
    results = fit(f"y ~ {right}", DATA, link="logit", formula_engine=engine)
    with pytest.raises(
        InvalidDataError, match=r"'k' has levels in the new data that the model has not seen: 9\. Leave their rows out"
    ):
        results.predict(DATA[:2].assign(k=[1, 9]))


@pytest.mark.parametrize("engine", ENGINES)
def test_intervals_that_are_new_are_refused(engine):
    results = fit("y ~ cut(age, c(0, 30, 50, 90, 200))", DATA, link="logit", formula_engine=engine)
    assert len(results.params) == 3  # nobody is older than 90
    with pytest.raises(InvalidDataError, match="cut"):
        results.predict(DATA[:2].assign(age=[20, 100]))


def test_effects_know_factors_by_any_spelling():
    variables = model_of("relevel(factor(k), '2') + factor(g) + ns(x, 3)").design.recipe.variables
    assert variables["k"].levels == (1, 2, 3) and variables["k"].reference == 2
    assert variables["g"].reference == "a" and not variables["x"].is_factor


def test_saved_models_keep_knots(tmp_path):
    results = fit("y ~ rcs(x, 4) + poly(z, 2) + cut(age, 3) + offset(log(time))", DATA, link="logit", bias="firth")
    expected = results.predict(DATA[:7])
    results.save(tmp_path / "fit.pickle")
    assert_allclose(gevglm.load(tmp_path / "fit.pickle").predict(DATA[:7]), expected, rtol=1e-14)
