"""The caller's tables and arrays: left alone, and read as what they hold, whatever the type of a column."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm import BinaryGLM, fit
from gevglm.exceptions import InvalidDataError, MissingRowsWarning

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N = 1200


def study():
    data = gevglm.datasets.simulate_study(n=N, rng=4)
    rng = np.random.default_rng(1)
    data["k"] = rng.integers(20, 100, N)
    data["price"] = rng.integers(100, 9_999, N) / 100.0
    data["w"] = rng.uniform(0.5, 2.0, N)
    return data


STUDY = study()
X = np.column_stack([np.ones(N), STUDY[["age", "smoker"]]])
Y = STUDY["event"].to_numpy(float)


def halves(data):
    return [data.iloc[:500], data.iloc[500:]]


def assert_same(results, expected, rtol=1e-9):
    assert list(results.params.index) == list(expected.params.index)
    assert_allclose(results.params, expected.params, rtol=rtol)


# -- the caller's data are the caller's --------------------------------------------------------

LATER = {
    "risk": lambda res: res.risk("smoker").table,
    "margins": lambda res: res.get_margeff().margeff,
    "residuals": lambda res: res.resid_deviance,
    "fitted": lambda res: res.fittedvalues,
    "score test": lambda res: res.score_test(np.arange(N) % 7)[0],
    "profile": lambda res: res.conf_int(method="profile"),
    "llf": lambda res: res.llf,
}


def spoil_columns(data):
    data["age"] = 0.0
    data["smoker"] = 1 - data["smoker"]
    data["w"] = 1.0


def spoil_cells(data):
    data.loc[data.index[::2], "age"] = 50.0
    data.iloc[:400, data.columns.get_loc("event")] = 1
    data.loc[:, "w"] = 1.0


@pytest.mark.parametrize("spoil", [spoil_columns, spoil_cells])
def test_results_do_not_change_when_the_table_does(spoil):
    data = STUDY.copy()
    kept, untouched = (fit("event ~ age + smoker", table, link="logit", var_weights="w") for table in (data, STUDY))
    spoil(data)
    for name in ("risk", "margins", "residuals", "fitted", "score test", "profile", "llf"):
        assert_allclose(LATER[name](kept), LATER[name](untouched), err_msg=name)


def test_results_do_not_change_when_arrays_do():
    y, exog, freq, offset = Y.copy(), X.copy(), np.full(N, 2.0), np.linspace(0, 1, N)
    kept = BinaryGLM(y, exog, link="logit", freq_weights=freq, offset=offset).fit()
    for array in (y, exog, freq, offset):
        array[:] = 7.0
    untouched = BinaryGLM(Y, X, link="logit", freq_weights=np.full(N, 2.0), offset=np.linspace(0, 1, N)).fit()
    for name in ("margins", "residuals", "fitted", "score test", "profile", "llf"):
        assert_allclose(LATER[name](kept), LATER[name](untouched), err_msg=name)


def test_results_do_not_change_when_a_frame_given_as_a_matrix_does():
    exog = pd.DataFrame(X.copy(), columns=["const", "age", "smoker"])
    kept, untouched = fit(STUDY["event"], exog, link="logit"), fit(STUDY["event"], exog.copy(), link="logit")
    exog.loc[:, "age"] = 0.0
    exog["smoker"] = 0.0
    for name in ("risk", "residuals", "fitted", "llf"):
        assert_allclose(LATER[name](kept), LATER[name](untouched), err_msg=name)


def test_results_do_not_change_when_tables_in_a_list_do():
    pieces = halves(STUDY.copy())
    kept = fit("event ~ age + smoker", pieces, link="logit")
    for piece in pieces:
        piece["age"] = 0.0
    assert_allclose(
        kept.conf_int(method="profile"),
        fit("event ~ age + smoker", STUDY, link="logit").conf_int(method="profile"),
        rtol=1e-6,
    )


def test_the_table_of_the_caller_is_not_changed():
    data = STUDY.assign(price=STUDY["price"].astype(object), k=STUDY["k"].astype("int8"))
    before = data.copy()
    fit("event ~ price + I(k**2)", data, link="logit").risk("price")
    pd.testing.assert_frame_equal(data, before)


# -- numbers of every type ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "Int8", "UInt16", "int32", "float16"])
@pytest.mark.parametrize("engine", ["formulaic", "patsy"])
def test_short_numbers_do_not_overflow_in_formulas(dtype, engine):
    data = STUDY.assign(k=STUDY["k"].astype(dtype))
    for right in ("I(k**3)", "I(k * k) + I(k - 99)"):
        if right == "I(k * k) + I(k - 99)" or dtype != "float16":
            assert_same(
                fit(f"event ~ {right}", data, link="logit", formula_engine=engine),
                fit(f"event ~ {right}", STUDY, link="logit"),
            )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "Int8"])
def test_short_numbers_do_not_overflow_in_outcomes_subsets_and_pieces(dtype):
    data = STUDY.assign(k=STUDY["k"].astype(dtype))
    formula, subset = "I(k * k > 2500) ~ age", "k * 3 > 100"
    expected = fit(formula, STUDY, link="logit", subset=subset)
    for table in (data, halves(data)):
        assert_same(fit(formula, table, link="logit", subset=subset), expected)
    assert_same(fit("event ~ I(k * k)", halves(data), link="logit"), fit("event ~ I(k * k)", STUDY, link="logit"))


def decimals(column):
    return [Decimal(str(value)) for value in column]


def tables_with_decimals(tmp_path):
    objects = STUDY.assign(price=decimals(STUDY["price"]))
    arrow = pa.table(
        {"event": STUDY["event"], "age": STUDY["age"], "price": pa.array(decimals(STUDY["price"]), pa.decimal128(9, 2))}
    )
    pa.parquet.write_table(arrow, tmp_path / "one.parquet")
    folder = tmp_path / "folder"
    folder.mkdir()
    for i in range(2):
        pa.parquet.write_table(arrow.slice(600 * i, 600), folder / f"{i}.parquet")
    return {
        "objects": objects,
        "arrow": arrow,
        "polars": pl.from_arrow(arrow),
        "arrow type": STUDY.assign(
            price=pd.Series(decimals(STUDY["price"])).astype(pd.ArrowDtype(pa.decimal128(9, 2)))
        ),
        "list": halves(objects),
        "parquet": str(tmp_path / "one.parquet"),
        "folder": str(folder),
        "floats": STUDY.assign(price=STUDY["price"].astype(object)),
        "mixed": STUDY.assign(price=[int(value) if value % 1 == 0 else value for value in STUDY["price"]]).astype(
            {"price": object}
        ),
    }


def test_decimals_and_objects_are_numbers(tmp_path):
    import pyarrow.parquet  # noqa: F401

    expected = fit("event ~ price + I(price**2)", STUDY, link="logit")
    for name, table in tables_with_decimals(tmp_path).items():
        results = fit("event ~ price + I(price**2)", table, link="logit")
        assert_same(results, expected)
        new = {"price": decimals([1.5, 20.25])}
        assert_allclose(results.predict(new), expected.predict({"price": [1.5, 20.25]}), err_msg=name)
        if results.has_data and name not in ("list", "folder"):
            assert_allclose(results.risk("price").table, expected.risk("price").table, rtol=1e-6)


def test_rows_to_average_over_may_have_decimals():
    results = fit("event ~ price + age", STUDY, link="logit")
    given = STUDY.assign(price=decimals(STUDY["price"]))
    assert_allclose(results.risk("price", data=given).table, results.risk("price", data=STUDY).table)


def test_outcomes_may_be_decimals():
    expected = fit("event ~ age", STUDY, link="logit")
    assert_same(fit("event ~ age", STUDY.assign(event=decimals(STUDY["event"])), link="logit"), expected)
    assert_allclose(fit(np.array(decimals(STUDY["event"])), X[:, :2], link="logit").params, expected.params, rtol=1e-9)


def test_missing_decimals_are_missing():
    data = STUDY.assign(price=[None if i % 10 == 0 else Decimal(str(value)) for i, value in enumerate(STUDY["price"])])
    with pytest.warns(MissingRowsWarning, match="120 of 1200"):
        results = fit("event ~ price", data, link="logit")
    assert_same(results, fit("event ~ price", STUDY[STUDY.index % 10 > 0], link="logit"))


@pytest.mark.parametrize("kind", [int, Decimal])
@pytest.mark.parametrize("first", [2**53 + 1, 2**62 + 1, 2**70 + 1])
def test_long_whole_numbers_keep_their_digits(kind, first):
    """As numbers of 64 bits, or as levels; never as floating-point numbers that are the same."""
    ids = [first + int(k) % 3 for k in STUDY["k"]]
    data = STUDY.assign(id=pd.Series([kind(value) for value in ids], dtype=object))
    assert len(fit("event ~ C(id)", data, link="logit").params) == 3


def test_text_stays_text():
    results = fit(
        "event ~ word", STUDY.assign(word=pd.Series(np.where(STUDY["k"] > 50, "1", "2"), dtype=object)), link="logit"
    )
    assert list(results.params.index) == ["Intercept", "word[T.2]"]


# -- masked and complex arrays -----------------------------------------------------------------


def test_masked_values_are_missing():
    hidden = np.zeros(N, dtype=bool)
    hidden[::10] = True
    exog = np.ma.array(X, mask=np.column_stack([hidden * 0, hidden, hidden * 0]))
    exog.data[hidden, 1] = -999.0
    expected = fit(Y[~hidden], X[~hidden], link="logit").params
    y, weights = (np.ma.array(array, mask=hidden) for array in (STUDY["event"].to_numpy().copy(), np.ones(N)))
    y.data[hidden] = 1
    weights.data[hidden] = 1000.0
    for args, options in (((Y, exog), {}), ((y, X), {}), ((Y, X), {"freq_weights": weights}), ((y > 0, X), {})):
        with pytest.warns(MissingRowsWarning, match="120 of 1200"):
            assert_allclose(fit(*args, link="logit", missing="drop", **options).params, expected, rtol=1e-9)
    predicted = fit(Y, X, link="logit").predict(exog)
    assert_array_equal(np.isnan(predicted), hidden)


def test_masked_subsets_leave_masked_rows_out():
    chosen = np.ma.array(STUDY["age"] > 0, mask=STUDY["smoker"] == 1)
    assert (
        fit("event ~ age", STUDY, link="logit", subset=chosen).nobs
        == ((STUDY["age"] > 0) & (STUDY["smoker"] == 0)).sum()
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: fit(Y, X + 1j, link="logit"),
        lambda: fit(Y, X, link="logit", offset=np.ones(N) + 1j),
        lambda: fit("event ~ z", STUDY.assign(z=STUDY["age"] + 1j), link="logit"),
        lambda: fit("event ~ I(age + 1j)", STUDY, link="logit"),
    ],
)
def test_complex_numbers_are_refused(call):
    with pytest.raises(InvalidDataError, match="complex numbers"):
        call()


# -- columns by name ---------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["const", "age", "smoker"], [0, 1, 2], [2, 0, 1], [("a", 1), ("a", 2), ("b", 1)]])
def test_new_columns_are_matched_by_name_whatever_their_type(names):
    exog = pd.DataFrame(X)
    exog.columns = pd.Index(names, tupleize_cols=False)
    results = fit(STUDY["event"], exog, link="logit")
    expected = results.predict()
    assert_allclose(results.predict(exog.iloc[:, [2, 0, 1]]), expected)
    assert_allclose(results.predict(exog.assign(other=1.0).iloc[:, [3, 2, 0, 1]]), expected)


def test_a_frame_of_other_names_is_taken_by_position():
    results = fit(Y, X, link="logit")
    assert_allclose(results.predict(pd.DataFrame(X, columns=list("abc"))), results.predict())


def test_a_frame_without_one_of_the_columns_is_refused():
    results = fit(STUDY["event"], pd.DataFrame(X, columns=["const", "age", "smoker"]), link="logit")
    with pytest.raises(InvalidDataError, match="exog has no column 'smoker'"):
        results.predict(pd.DataFrame(X, columns=["const", "age", "smokr"]))


def test_two_columns_of_one_name_are_taken_in_the_order_of_the_fit():
    exog = pd.DataFrame(np.column_stack([X, STUDY["w"]]), columns=["const", "x", "x", "w"])
    results = fit(STUDY["event"], exog, link="logit")
    assert_allclose(results.predict(exog), results.predict())
    with pytest.raises(InvalidDataError, match="more than one column 'x'"):
        results.predict(exog.iloc[:, ::-1])
