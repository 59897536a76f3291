"""Terms whose value in a row depends on other rows are refused, in memory and in pieces; those that go row by row are not."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import gevglm
from gevglm import fit
from gevglm.exceptions import InvalidDataError

N = 600
ENGINES = ("formulaic", "patsy")


def study():
    rng = np.random.default_rng(7)
    data = pd.DataFrame(
        {"x": rng.normal(3.0, 2.0, N), "g": rng.choice(list("abc"), N), "year": 2000 + np.arange(N) // 200}
    )
    data["y"] = (rng.random(N) < expit(0.5 * data["x"] - 2.0)).astype(int)
    return data


STUDY = study()
WORTH = {"a": 1.0, "b": 3.0, "c": 0.5}
EDGES = [-20.0, 2.0, 4.0, 20.0]
NOISE = np.random.default_rng(8).normal(size=N)
PIECES = [piece for _, piece in STUDY.groupby("year")]


def guarded_score(x):
    return (x - x.mean()) / x.std() if len(x) > 1 else x


def squared(x):
    return x**2


MIXED = [
    "I(x - x.mean())", "I(x - np.mean(x))", "I(x - sum(x) / len(x))", "I(x > x.median())", "x.rank()", "I(x - x.min())", "I(x / x.max())",
    "I(x == x.max())", "x.cumsum()", "x.shift().fillna(0)", "np.gradient(x)", "I(x - x.iloc[0])", "guarded_score(x)",
    "np.clip(x, x.quantile(0.05), x.quantile(0.95))", "pd.cut(x, 3)", "pd.qcut(x, 4)", "x.groupby(g).transform('mean')",
    "g.map(g.value_counts())", "x:g.astype('category').cat.codes", "center(x.rank())", "np.random.default_rng().normal(size=len(x))",
]  # fmt: skip
ROW_BY_ROW = [
    "I(x**2)", "np.log(x + 20)", "np.where(x > 3, 1, 0)", "pd.cut(x, EDGES)", "np.digitize(x, EDGES[1:3])", "x.clip(0, 5)", "x.round(1)",
    "g.map(WORTH)", "g.isin(['a', 'b'])", "g.str.upper()", "squared(x)", "center(x.abs())", "bs(x, df=4)", "poly(x, 2)", "I(NOISE * x)", "x + NOISE",
    "scale(squared(x)):g",
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", MIXED)
def test_terms_that_depend_on_other_rows_are_refused_by_name(right, engine):
    with pytest.raises(
        InvalidDataError, match=r"depends on other rows than its own.*center\(\), standardize\(\) and scale\(\)"
    ):
        fit(f"y ~ {right}", STUDY, link="logit", formula_engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("right", ROW_BY_ROW)
def test_terms_that_go_row_by_row_are_not_refused(right, engine):
    assert fit(f"y ~ {right}", STUDY, link="logit", formula_engine=engine).converged


@pytest.mark.parametrize(
    "right", ["I(year - year.min())", "I(year / year.max())", "I(year - 0.5 * year.mean())", *MIXED[:8]]
)
def test_pieces_refuse_them_though_each_piece_may_be_constant(right):
    with pytest.raises(InvalidDataError, match="depends on other rows"):
        fit(f"y ~ {right}", PIECES, link="logit")


@pytest.mark.parametrize(("formula", "subset"), [("I(x > x.median()) ~ year", None), ("y ~ x", "x < x.quantile(0.8)")])
def test_pieces_refuse_outcomes_and_subsets_that_depend_on_other_rows(formula, subset):
    with pytest.raises(InvalidDataError, match="depends on other rows"):
        fit(formula, PIECES, link="logit", subset=subset)


def test_outcomes_and_subsets_that_go_row_by_row_are_taken_in_pieces():
    formula, subset = "I(x > 3) ~ year + g", "abs(x) > 1"
    pieces, whole = (fit(formula, data, link="logit", subset=subset) for data in (PIECES, STUDY))
    assert_allclose(pieces.params, whole.params, rtol=1e-9)


def test_arrays_of_the_caller_have_a_value_for_each_row():
    beside = fit("y ~ x + NOISE", STUDY, link="logit")
    assert_allclose(beside.params, fit("y ~ x + noise", STUDY.assign(noise=NOISE), link="logit").params, rtol=1e-12)


def test_the_ways_that_the_message_names_give_effects_and_predictions():
    centred, plain = (fit(f"y ~ {right}", STUDY, link="logit") for right in ("center(x)", "x"))
    assert_allclose(centred.risk("x", (2.0, 4.0)).table, plain.risk("x", (2.0, 4.0)).table, rtol=1e-6)
    assert_allclose(centred.predict({"x": [5.0]}), plain.predict({"x": [5.0]}), rtol=1e-9)


def test_rounding_is_no_dependence():
    weights = np.array([0.3, -0.7])

    def score(x, z):
        return np.column_stack([x, z]) @ weights

    data = STUDY.assign(z=STUDY["x"] * 0.43 + 1e-6 * NOISE)
    assert fit("y ~ score(x, z)", data, link="logit").nobs == N


def test_large_tables_are_looked_at_in_few_rows(monkeypatch):
    seen = []

    def watched(x):
        seen.append(len(x))
        return x**2

    many = pd.concat([STUDY] * 20, ignore_index=True)
    gevglm.fit("y ~ watched(x)", many, link="logit")
    assert seen[0] == len(many)
    assert sum(seen[1:]) < 2_000
