"""From what the user has to the numbers of a regression: outcomes, tables, offsets and weights, rows."""

import dataclasses
import functools
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.special import expit

import gevglm
from gevglm import BinaryGLM, fit
from gevglm.data.design import SMALL, copied, first_look
from gevglm.exceptions import GevglmError, IncompatibleOptionsError, InvalidDataError, MissingRowsWarning

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

N = 400
ENGINES = ("formulaic", "patsy")
LINKS = {
    "logit": {},
    "cloglog": {"link": "cloglog"},
    "gev": {"xi": 0.2},
    "gevc": {"link": "gevc", "xi": 0.2},
}


def simulate():
    rng = np.random.default_rng(20)
    x = rng.normal(size=N)
    risk = expit(x - 1.0)
    trials = rng.integers(1, 6, N)
    y = (rng.random(N) < risk).astype(int)
    data = pd.DataFrame({"y": y, "x": x, "z": rng.uniform(1.0, 3.0, N), "g": rng.choice(list("abc"), N)})
    data["trials"], data["wins"] = trials, rng.binomial(trials, risk)
    data["losses"], data["share"] = trials - data["wins"], data["wins"] / trials
    data["answer"] = np.where(y == 1, "yes", "no")
    data["age"] = 5.0 + 2.0 * x + rng.normal(size=N)
    data["shift"], data["time"] = rng.normal(size=N), rng.uniform(0.5, 2.0, N)
    data["copies"], data["precision"] = rng.integers(1, 4, N), rng.uniform(0.5, 2.0, N)
    data["k"] = rng.integers(1, 4, N)
    data["clinic"], data["ward"] = rng.integers(0, 30, N), rng.choice(list("pqrst"), N)
    return data


STUDY = simulate()
X = np.column_stack([np.ones(N), STUDY["x"]])
NEW = STUDY.iloc[[3, 50, 7, 7, 200]]


@functools.cache
def plain():
    return fit("y ~ x", STUDY)


def numbers(results):
    """Coefficients and standard errors, without their labels."""
    return np.concatenate([np.asarray(results.params), np.asarray(results.bse)])


def assert_same(results, expected, rtol=1e-13):
    assert_allclose(numbers(results), numbers(expected), rtol=rtol)


def event_in_summary(results):
    return re.search(r"Event: +(\S+)", results.summary().as_text()).group(1)


def without(data, column, rows):
    """A copy with missing values in some rows of a column."""
    return data.assign(**{column: data[column].where(~data.index.isin(rows))})


def quietly(formula, data, **options):
    """A fit that may drop rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingRowsWarning)
        return fit(formula, data, **options)


# -- outcomes ------------------------------------------------------------------------------

DTYPES = ["int64", "int8", "uint8", "float64", "float32", "bool", "object", "Int64", "Float64", "boolean", "category"]
ARROW_DTYPES = ["int64[pyarrow]", "double[pyarrow]", "bool[pyarrow]"]


@pytest.mark.parametrize("dtype", DTYPES + ARROW_DTYPES)
def test_an_outcome_of_zeros_and_ones_needs_no_event(dtype):
    y = STUDY["y"].astype("bool") if dtype.startswith("bool") else STUDY["y"]
    results = fit("y ~ x", STUDY.assign(y=y.astype(dtype)))
    assert_same(results, plain())
    assert event_in_summary(results) == ("True" if dtype.startswith("bool") else "1")


@pytest.mark.parametrize("values", [STUDY["y"].to_numpy() == 1, pd.Categorical(STUDY["y"] == 1)])
def test_boolean_outcomes_count_true_as_the_event(values):
    results = fit("b ~ x", STUDY.assign(b=values))
    assert_same(results, plain())
    assert event_in_summary(results) == "True"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["str", "object", "category", "string", "string[pyarrow]"])
@pytest.mark.parametrize(("event", "sign"), [("yes", 1.0), ("no", -1.0)])
def test_the_event_named_is_the_one_modelled(dtype, event, sign, engine):
    data = STUDY.assign(answer=STUDY["answer"].astype(dtype))
    results = fit("answer ~ x", data, event=event, formula_engine=engine)
    assert_allclose(results.params, sign * plain().params, rtol=1e-9)
    assert event_in_summary(results) == event == results.event


@pytest.mark.parametrize("order", [["yes", "no"], ["no", "yes"], ["other", "yes", "no"]])
def test_the_order_of_categories_does_not_choose_the_event(order):
    answer = pd.Categorical(STUDY["answer"], categories=order, ordered=True)
    assert_same(fit("answer ~ x", STUDY.assign(answer=answer), event="yes"), plain())
    assert_same(fit(answer, X, event="yes"), plain())


@pytest.mark.parametrize(
    ("values", "event", "sign"),
    [
        (STUDY["y"] + 1, 2, 1.0),
        (STUDY["y"] + 1, 1, -1.0),
        (2 * STUDY["y"] - 1, 1, 1.0),
        (STUDY["y"], 0, -1.0),
        (STUDY["y"] == 1, False, -1.0),
        (STUDY["y"] == 1, True, 1.0),
        (STUDY["y"].astype(float), 0.0, -1.0),
    ],
)
def test_event_chooses_among_numbers_too(values, event, sign):
    results = fit("outcome ~ x", STUDY.assign(outcome=values), event=event)
    assert_allclose(results.params, sign * plain().params, rtol=1e-9)
    assert event_in_summary(results) == str(event)


@functools.cache
def expanded():
    """One row a trial."""
    wins = STUDY.loc[STUDY.index.repeat(STUDY["wins"])].assign(y=1)
    losses = STUDY.loc[STUDY.index.repeat(STUDY["losses"])].assign(y=0)
    return pd.concat([wins, losses])


COUNTS = STUDY[["wins", "losses"]]
GROUPED = {
    "sum": lambda **o: fit("wins + losses ~ x", STUDY, **o),
    "cbind": lambda **o: fit("cbind(wins, losses) ~ x", STUDY, **o),
    "no spaces": lambda **o: fit("cbind(wins,losses)~x", STUDY, **o),
    "array": lambda **o: fit(COUNTS.to_numpy(), X, **o),
    "frame": lambda **o: fit(COUNTS, X, **o),
    "share": lambda **o: fit("share ~ x", STUDY, freq_weights="trials", **o),
    "share array": lambda **o: fit(STUDY["share"].to_numpy(), X, freq_weights=STUDY["trials"].to_numpy(), **o),
    "share expression": lambda **o: fit("I(wins / trials) ~ x", STUDY, freq_weights="trials", **o),
}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("form", GROUPED)
def test_grouped_outcomes_equal_one_row_a_trial(form, link):
    results = GROUPED[form](**LINKS[link])
    assert_same(results, fit("y ~ x", expanded(), **LINKS[link]), rtol=1e-8)
    assert results.n_events == STUDY["wins"].sum()
    assert re.search(rf"Observations: +{STUDY['trials'].sum()}\b", results.summary().as_text())


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_without_trials_add_nothing(engine):
    empty = STUDY.iloc[:5].assign(wins=0, losses=0, x=30.0)
    data = pd.concat([STUDY, empty])
    results = fit("wins + losses ~ x", data, formula_engine=engine)
    assert_same(results, fit("wins + losses ~ x", STUDY), rtol=1e-9)


def test_an_event_cannot_mislabel_counts():
    """Successes come first; naming another column must not print it over the numbers of the first."""
    with pytest.raises(GevglmError, match="event"):
        fit("wins + losses ~ x", STUDY, event="losses")


def flagged(values):
    return values > 6.0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ("I(age > 6)", STUDY["age"] > 6),
        ("(age > 6)", STUDY["age"] > 6),
        ("age > 6", STUDY["age"] > 6),
        ("flagged(age)", STUDY["age"] > 6),
        ("I((age > 6) & (z < 2))", (STUDY["age"] > 6) & (STUDY["z"] < 2)),
        ('(answer == "yes")', STUDY["y"]),
        ("(answer == 'yes')", STUDY["y"]),
        ("I(answer == 'yes')", STUDY["y"]),
        ("answer.isin(['yes'])", STUDY["y"]),
        ("np.where(answer == 'yes', 1, 0)", STUDY["y"]),
        ("1 - y", 1 - STUDY["y"]),
        ("Q('y')", STUDY["y"]),
    ],
)
def test_the_left_side_may_be_an_expression(left, expected, engine):
    results = fit(f"{left} ~ x", STUDY, formula_engine=engine)
    assert_same(results, fit(expected.astype(int).to_numpy(), X), rtol=1e-9)
    assert event_in_summary(results) in ("1", "True")


def test_the_left_side_sees_the_variables_of_the_caller():
    cut = 6.0  # noqa: F841
    assert_same(fit("I(age > cut) ~ x", STUDY), fit("I(age > 6) ~ x", STUDY))


@pytest.mark.parametrize(
    ("formula", "column"),
    [("(answer == 'yes') ~ x", "answer"), ("I(age > 6) ~ x", "age"), ("np.where(age > 6, 1, 0) ~ x", "age")],
)
def test_a_missing_value_behind_an_expression_is_not_a_nonevent(formula, column):
    rows = [1, 20, 33]
    with pytest.warns(MissingRowsWarning, match=f"3 of {N} rows"):
        results = fit(formula, without(STUDY, column, rows))
    assert_same(results, fit(formula, STUDY.drop(index=rows)))


def test_the_outcome_keeps_its_name():
    assert fit("y ~ x", STUDY).model.endog_names == "y"
    assert fit(STUDY["y"], X).model.endog_names == "y"
    assert "wins" in fit("wins + losses ~ x", STUDY).model.endog_names


# -- tables --------------------------------------------------------------------------------


def written(write, suffix):
    def table(data, folder):
        path = folder / f"study.{suffix}"
        write(data, path)
        return path

    return table


TABLES = {
    "polars": lambda data, _: pl.from_pandas(data),
    "arrow": lambda data, _: pa.Table.from_pandas(data),
    "arrow columns": lambda data, _: pa.table({name: data[name].to_numpy() for name in data}),
    "dict of arrays": lambda data, _: {name: data[name].to_numpy() for name in data},
    "dict of lists": lambda data, _: {name: data[name].tolist() for name in data},
    "dict of series": lambda data, _: {name: pl.Series(data[name].to_numpy()) for name in data},
    "arrow dtypes": lambda data, _: data.convert_dtypes(dtype_backend="pyarrow"),
    "nullable dtypes": lambda data, _: data.convert_dtypes(),
    "csv": written(lambda data, path: data.to_csv(path, index=False), "csv"),
    "csv.gz": written(lambda data, path: data.to_csv(path, index=False), "csv.gz"),
    "parquet": written(lambda data, path: data.to_parquet(path), "parquet"),
    "polars parquet": written(lambda data, path: pl.from_pandas(data).write_parquet(path), "parquet"),
}
FULL = "y ~ x + C(g) * z"
USED = STUDY[["y", "x", "g", "z", "shift", "copies", "clinic"]]


def full_fit(data, **options):
    return fit(
        FULL,
        data,
        offset="shift",
        freq_weights="copies",
        cov_type="cluster",
        cov_kwds={"groups": "clinic"},
        **options,
    )


@functools.cache
def full():
    return full_fit(USED)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", TABLES)
def test_every_kind_of_table_gives_the_same_fit(form, engine, tmp_path):
    results = full_fit(TABLES[form](USED, tmp_path), formula_engine=engine)
    assert results.model.exog_names == full().model.exog_names
    assert_same(results, full())


@pytest.mark.parametrize("form", TABLES)
def test_every_kind_of_table_may_hold_new_data(form, tmp_path):
    predicted = full().predict(TABLES[form](USED.iloc[:7], tmp_path))
    assert_allclose(predicted, full().fittedvalues[:7], rtol=1e-13)


def test_paths_may_be_strings(tmp_path):
    USED.to_csv(tmp_path / "study.csv", index=False)
    assert_same(full_fit(str(tmp_path / "study.csv")), full())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "table",
    [
        pl.from_pandas(USED).with_columns(pl.col("g").cast(pl.Categorical)),
        pa.Table.from_pandas(USED).set_column(2, "g", pa.array(USED["g"]).dictionary_encode()),
    ],
    ids=["polars", "arrow"],
)
def test_the_base_level_does_not_depend_on_the_order_of_the_rows(table, engine):
    """Categories of polars and dictionaries of arrow are in the order of their first appearance."""
    assert USED["g"].iloc[0] != "a"
    assert_same(full_fit(table, formula_engine=engine), full())
    assert_allclose(full().predict(table), full().fittedvalues, rtol=1e-13)


ARRAYS = {
    "numpy": (STUDY["y"].to_numpy(), X),
    "lists": (STUDY["y"].tolist(), X.tolist()),
    "pandas": (STUDY["y"], pd.DataFrame(X, columns=["one", "x"])),
    "polars": (pl.Series("y", STUDY["y"].to_numpy()), pl.DataFrame({"one": X[:, 0], "x": X[:, 1]})),
    "arrow": (pa.array(STUDY["y"].to_numpy()), pa.table({"one": X[:, 0], "x": X[:, 1]})),
    "column of outcomes": (STUDY["y"].to_numpy()[:, None], X),
    "column order": (STUDY["y"].to_numpy(), np.asfortranarray(X)),
    "not contiguous": (STUDY["y"].to_numpy(), np.repeat(X, 2, axis=1)[:, ::2]),
    "object": (STUDY["y"].to_numpy(), X.astype(object)),
    "nullable": (STUDY["y"].astype("Int64"), pd.DataFrame(X, columns=["one", "x"]).convert_dtypes()),
    "bool": (STUDY["y"].to_numpy() == 1, X),
}


@pytest.mark.parametrize("form", ARRAYS)
def test_every_kind_of_array_gives_the_same_fit(form):
    y, exog = ARRAYS[form]
    results = fit(y, exog)
    assert_same(results, plain())
    assert results.model.exog_names == (["one", "x"] if hasattr(exog, "columns") else ["const", "x1"])


def test_single_precision_is_fitted_in_double():
    assert_same(fit(STUDY["y"], X.astype(np.float32)), fit(STUDY["y"], X.astype(np.float32).astype(float)), rtol=1e-7)


def test_no_constant_is_added_to_arrays():
    results = fit(STUDY["y"].to_numpy(), STUDY[["x"]].to_numpy())
    assert results.model.exog_names == ["x1"] and results.model.k_constant == 0
    assert_same(results, fit("y ~ x - 1", STUDY))


def test_the_data_are_left_alone():
    data, exog = STUDY.copy(), X.copy()
    quietly(
        "y ~ x + g", without(data, "z", [1]), offset="shift", exposure="time", freq_weights="copies", link="cloglog"
    )
    fit(data["y"], exog, offset=data["shift"], freq_weights=data["copies"])
    pd.testing.assert_frame_equal(data, STUDY)
    assert np.array_equal(exog, X)


# -- offsets, exposures, weights, clusters -------------------------------------------------

OPTIONS = {"offset": "shift", "exposure": "time", "freq_weights": "copies", "var_weights": "precision"}
RATES = {"cloglog": {"link": "cloglog"}, "gevc": {"link": "gevc", "xi": 0.0, "loss": "log"}}  # links of an exposure
RATE = RATES["cloglog"]
FORMS = {
    "array": lambda column: column.to_numpy(),
    "series": lambda column: column,
    "list": lambda column: column.tolist(),
    "polars": lambda column: pl.Series(column.to_numpy()),
    "arrow": lambda column: pa.array(column.to_numpy()),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("option", OPTIONS)
def test_options_are_columns_or_arrays(option, form):
    name = OPTIONS[option]
    by_name = fit("y ~ x", STUDY, **{option: name}, **RATE)
    assert np.abs(by_name.params - fit("y ~ x", STUDY, **RATE).params).max() > 1e-3
    assert_same(fit("y ~ x", STUDY, **{option: FORMS[form](STUDY[name])}, **RATE), by_name)
    assert_same(fit(STUDY["y"], X, **{option: FORMS[form](STUDY[name])}, **RATE), by_name)


@pytest.mark.parametrize("option", ["offset", "exposure"])
def test_a_single_number_stands_for_every_row(option):
    assert_same(fit("y ~ x", STUDY, **{option: 2.0}, **RATE), fit("y ~ x", STUDY, **{option: np.full(N, 2.0)}, **RATE))


@pytest.mark.parametrize("link", RATES)
def test_an_exposure_is_an_offset_on_the_log_scale(link):
    exposed = fit("y ~ x", STUDY, exposure="time", offset="shift", **RATES[link])
    shifted = fit("y ~ x", STUDY, offset=STUDY["shift"] + np.log(STUDY["time"]), **RATES[link])
    assert_same(exposed, shifted)


@pytest.mark.parametrize(
    "options", [{}, {"link": "probit"}, {"link": "loglog"}, {"xi": 0.2}, {"link": "gevc", "xi": 0.2}]
)
def test_an_exposure_without_a_rate_is_refused(options):
    with pytest.raises(IncompatibleOptionsError, match=r"exposure= .*link='cloglog'.* offset="):
        fit("y ~ x", STUDY, exposure="time", **options)


@pytest.mark.parametrize(
    ("link", "theirs"), [("logit", sm.families.links.Logit()), ("cloglog", sm.families.links.CLogLog())]
)
def test_offset_and_weights_agree_with_statsmodels(link, theirs):
    options = {name: STUDY[OPTIONS[name]].to_numpy() for name in ("offset", "freq_weights")}
    expected = sm.GLM(STUDY["y"], X, family=sm.families.Binomial(link=theirs), **options).fit(tol=1e-14)
    ours = fit("y ~ x", STUDY, offset="shift", freq_weights="copies", link=link)
    assert_allclose(ours.params, expected.params, rtol=1e-8)
    assert_allclose(ours.bse, expected.bse, rtol=1e-7)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("link", RATES)
@pytest.mark.parametrize("names", [["offset"], ["exposure"], ["offset", "exposure"], ["freq_weights", "offset"]])
def test_prediction_finds_offset_and_exposure_by_name(names, link, engine):
    results = fit("y ~ x + g", STUDY, formula_engine=engine, **{name: OPTIONS[name] for name in names}, **RATES[link])
    assert_allclose(results.predict(NEW), results.fittedvalues.iloc[[3, 50, 7, 7, 200]], rtol=1e-12)
    assert results.predict(NEW).index.equals(NEW.index)
    assert_allclose(results.get_prediction(NEW).summary_frame()["mean"], results.predict(NEW), rtol=1e-12)


@pytest.mark.parametrize("link", RATES)
def test_prediction_takes_other_offsets_and_exposures(link):
    results = fit("y ~ x", STUDY, offset="shift", exposure="time", **RATES[link])
    linear = results.predict(NEW, which="linear")
    doubled = results.predict(NEW, exposure=2.0 * NEW["time"].to_numpy(), which="linear")
    renamed = results.predict(NEW.assign(other=NEW["shift"] + 1.0), offset="other", which="linear")
    assert_allclose(doubled - linear, np.log(2.0), rtol=1e-9)
    assert_allclose(renamed - linear, 1.0, rtol=1e-9)


def test_arrays_are_predicted_with_the_offset_given():
    results = fit(STUDY["y"].to_numpy(), X, offset=STUDY["shift"].to_numpy())
    assert_allclose(results.predict(X[:9], offset=STUDY["shift"][:9]), results.predict()[:9], rtol=1e-13)


def test_columns_of_new_frames_are_matched_by_name():
    exog = pd.DataFrame(X, columns=["one", "x"])
    results = fit(STUDY["y"], exog)
    assert_allclose(results.predict(exog[["x", "one"]]), results.fittedvalues, rtol=1e-13)


@pytest.mark.parametrize("model", ["formula", "arrays"])
@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"offset": STUDY["shift"].to_numpy()}, "offset"),
        ({"exposure": STUDY["time"].to_numpy()}, "exposure"),
    ],
)
def test_an_offset_given_as_an_array_is_not_dropped_silently(model, given, match):
    given = given | RATE
    results = fit("y ~ x", STUDY, **given) if model == "formula" else fit(STUDY["y"].to_numpy(), X, **given)
    with pytest.raises(InvalidDataError, match=match):
        results.predict(NEW if model == "formula" else X[:5])


def test_an_array_offset_beside_a_named_exposure_is_not_dropped_silently():
    results = fit("y ~ x", STUDY, offset=STUDY["shift"].to_numpy(), exposure="time", **RATE)
    with pytest.raises(InvalidDataError, match="offset"):
        results.predict(NEW)


CLUSTERS = {
    "array": STUDY["clinic"].to_numpy(),
    "series": STUDY["clinic"],
    "list": STUDY["clinic"].tolist(),
    "strings": STUDY["clinic"].astype(str).to_numpy(),
    "list of strings": STUDY["clinic"].astype(str).tolist(),
    "categorical": pd.Categorical(STUDY["clinic"]),
}


@pytest.mark.parametrize("form", CLUSTERS)
def test_clusters_are_a_column_or_an_array(form):
    named = fit("y ~ x", STUDY, cov_type="cluster", cov_kwds={"groups": "clinic"})
    given = {"cov_type": "cluster", "cov_kwds": {"groups": CLUSTERS[form]}}
    assert_same(fit("y ~ x", STUDY, **given), named)
    assert_same(fit(STUDY["y"], X, **given), named)


@pytest.mark.parametrize(
    "groups", [("clinic", "ward"), STUDY[["clinic", "ward"]], STUDY[["clinic", "ward"]].to_numpy()]
)
def test_two_way_clusters_are_columns_or_arrays(groups):
    named = fit("y ~ x", STUDY, cov_type="cluster", cov_kwds={"groups": ["clinic", "ward"]})
    assert_same(fit("y ~ x", STUDY, cov_type="cluster", cov_kwds={"groups": groups}), named)


# -- rows: subset and missing values -------------------------------------------------------

CHOSEN = STUDY["z"] > 1.7
SUBSETS = {
    "boolean array": CHOSEN.to_numpy(),
    "boolean series": CHOSEN,
    "boolean list": CHOSEN.tolist(),
    "nullable": CHOSEN.astype("boolean"),
    "labels": STUDY.index[CHOSEN],
    "list of labels": STUDY.index[CHOSEN].tolist(),
    "condition": "z > 1.7",
}


@pytest.mark.parametrize("form", SUBSETS)
def test_a_subset_is_the_fit_of_those_rows(form):
    results = fit("y ~ x + center(z)", STUDY, subset=SUBSETS[form], offset="shift", freq_weights=STUDY["copies"])
    expected = fit("y ~ x + center(z)", STUDY[CHOSEN], offset="shift", freq_weights="copies")
    assert_same(results, expected)
    assert results.nobs == CHOSEN.sum() and results.model.design.n_missing == 0


def test_labels_of_any_kind_choose_rows():
    data = STUDY.set_index("r" + STUDY.index.astype(str))
    assert_same(fit("y ~ x", data, subset=data.index[CHOSEN]), fit("y ~ x", STUDY[CHOSEN]))


def test_a_boolean_series_is_matched_by_its_labels():
    """Or refused; used by position, it would choose other rows in silence."""
    try:
        results = fit("y ~ x", STUDY, subset=CHOSEN[::-1])
    except InvalidDataError as error:
        assert "index" in str(error)
    else:
        assert_same(results, fit("y ~ x", STUDY[CHOSEN]))


def test_a_subset_of_polars():
    assert_same(fit("y ~ x", pl.from_pandas(STUDY), subset=pl.Series(CHOSEN.to_numpy())), fit("y ~ x", STUDY[CHOSEN]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("column", ["y", "x", "g", "shift", "time", "copies", "precision"])
def test_incomplete_rows_are_dropped_and_the_rest_stays_aligned(column, engine):
    rows = [0, 17, 18, 399]
    options = {**OPTIONS, **RATE, "formula_engine": engine}
    with pytest.warns(MissingRowsWarning, match=f"4 of {N} rows"):
        results = fit("y ~ x + g", without(STUDY, column, rows), **options)
    assert_same(results, fit("y ~ x + g", STUDY.drop(index=rows), **options))
    assert results.model.design.n_missing == 4 and results.nobs == N - 4
    assert results.fittedvalues.index.equals(STUDY.index.drop(rows))
    assert "4 rows with missing values were dropped" in results.summary().as_text()


def test_arrays_given_beside_the_table_stay_aligned():
    rows = [0, 17, 18, 399]
    data = without(STUDY, "x", rows).iloc[::-1]
    given = {option: data[name].to_numpy() for option, name in OPTIONS.items()}
    clusters = {"cov_type": "cluster", "cov_kwds": {"groups": data["clinic"].to_numpy()}, **RATE}
    with pytest.warns(MissingRowsWarning, match=f"{CHOSEN[rows].sum()} of {CHOSEN.sum()} rows"):
        results = fit("y ~ x", data, subset="z > 1.7", **given, **clusters)
    kept = STUDY.drop(index=rows).query("z > 1.7")
    expected = fit("y ~ x", kept, **OPTIONS, **RATE, cov_type="cluster", cov_kwds={"groups": "clinic"})
    assert_same(results, expected, rtol=1e-10)


@pytest.mark.parametrize("what", ["y", "X", "offset", "exposure", "freq_weights", "var_weights"])
def test_incomplete_rows_of_arrays(what):
    rows = [2, 30]
    given = {option: STUDY[name].to_numpy().astype(float) for option, name in OPTIONS.items()}
    parts = {"y": STUDY["y"].to_numpy().astype(float), "X": X.copy(), **given}
    parts[what][rows] = np.nan
    full_rows = np.delete(np.arange(N), rows)
    y, exog = parts.pop("y"), parts.pop("X")
    with pytest.warns(MissingRowsWarning, match=f"2 of {N} rows"):
        results = fit(y, exog, missing="drop", **parts, **RATE)
    expected = fit(y[full_rows], exog[full_rows], **{name: part[full_rows] for name, part in parts.items()}, **RATE)
    assert_same(results, expected)
    with pytest.raises(InvalidDataError, match=f"2 of {N} rows"):
        fit(y, exog, missing="raise", **parts, **RATE)


@pytest.mark.parametrize("column", ["y", "x", "g", "shift", "copies"])
def test_missing_raise_counts_the_rows(column):
    with pytest.raises(InvalidDataError, match=f"3 of {N} rows"):
        fit("y ~ x + g", without(STUDY, column, [1, 2, 9]), missing="raise", offset="shift", freq_weights="copies")


def test_rows_outside_the_subset_may_be_incomplete():
    data = without(STUDY, "x", np.flatnonzero(~CHOSEN))
    assert_same(fit("y ~ x", data, subset=CHOSEN, missing="raise"), fit("y ~ x", STUDY[CHOSEN]))


@pytest.mark.parametrize("missing", ["drop", "raise", "none"])
def test_columns_the_formula_does_not_use_may_be_incomplete(missing):
    assert_same(fit("y ~ x", without(STUDY, "z", range(100)), missing=missing), plain())


@pytest.mark.parametrize("value", [None, np.nan, pd.NA])
@pytest.mark.parametrize("event", ["yes", "no"])
def test_a_missing_answer_is_no_answer(value, event):
    data = STUDY.assign(answer=STUDY["answer"].astype(object))
    data.loc[[4, 5], "answer"] = value
    with pytest.warns(MissingRowsWarning, match=f"2 of {N} rows"):
        results = fit("answer ~ x", data, event=event)
    assert_same(results, fit("answer ~ x", STUDY.drop(index=[4, 5]), event=event))


NULLS = {
    "polars": lambda data, _: pl.from_pandas(data),
    "arrow": lambda data, _: pa.Table.from_pandas(data, preserve_index=False),
    "nullable dtypes": lambda data, _: data.convert_dtypes(),
    "arrow dtypes": lambda data, _: data.convert_dtypes(dtype_backend="pyarrow"),
    "csv": TABLES["csv"],
    "parquet": TABLES["parquet"],
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", NULLS)
def test_nulls_are_missing_values_in_every_kind_of_table(form, engine, tmp_path):
    data = STUDY[["x", "g", "k", "copies"]].assign(y=(STUDY["y"] == 1).astype("boolean"))
    data = data.astype({"k": "Int64", "copies": "Int64"})
    for row, name in enumerate(data):
        data.loc[10 * row, name] = None
    with pytest.warns(MissingRowsWarning, match=f"5 of {N} rows"):
        results = fit("y ~ x + g + C(k)", NULLS[form](data, tmp_path), freq_weights="copies", formula_engine=engine)
    expected = fit("y ~ x + g + C(k)", STUDY.drop(index=[0, 10, 20, 30, 40]), freq_weights="copies")
    assert_allclose(results.params, expected.params, rtol=1e-12)
    assert event_in_summary(results) == "True"


def test_missing_counts():
    data = without(without(STUDY, "wins", [1, 2]), "losses", [2, 3])
    with pytest.warns(MissingRowsWarning, match=f"3 of {N} rows"):
        results = fit("wins + losses ~ x", data)
    assert_same(results, fit("wins + losses ~ x", STUDY.drop(index=[1, 2, 3])))


def test_clusters_stay_aligned_after_rows_are_dropped():
    rows = [5, 6, 7]
    data = without(STUDY, "x", rows)
    expected = fit("y ~ x", STUDY.drop(index=rows), cov_type="cluster", cov_kwds={"groups": "clinic"})
    for groups in ("clinic", STUDY["clinic"], STUDY["clinic"].to_numpy()):
        assert_same(quietly("y ~ x", data, cov_type="cluster", cov_kwds={"groups": groups}), expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_incomplete_new_rows_are_predicted_as_missing(engine):
    results = fit("y ~ x + g", STUDY, formula_engine=engine)
    new = without(without(STUDY[:6], "x", [1]), "g", [4])
    predicted = results.predict(new)
    assert predicted.isna().tolist() == [False, True, False, False, True, False]
    assert_allclose(predicted.dropna(), results.fittedvalues.iloc[[0, 2, 3, 5]], rtol=1e-13)


def test_new_data_need_no_outcome_and_may_be_one_row():
    results = fit("y ~ x + g", STUDY)
    row = STUDY.loc[9, ["x", "g"]].to_dict()
    assert_allclose(results.predict(row), results.fittedvalues[[9]], rtol=1e-13)
    assert_allclose(results.predict(STUDY.loc[[9], ["g", "x"]]), results.fittedvalues[[9]], rtol=1e-13)


@pytest.mark.parametrize("call", ["fit", "from_formula", "arrays"])
def test_the_warning_points_at_the_line_of_the_user(call):
    data = without(STUDY, "x", [1])
    with pytest.warns(MissingRowsWarning) as caught:
        if call == "fit":
            gevglm.fit("y ~ x", data)
        elif call == "from_formula":
            BinaryGLM.from_formula("y ~ x", data)
        else:
            BinaryGLM(data["y"], data[["x"]], missing="drop")
    assert [warning.filename for warning in caught] == [__file__]


# -- the contract of designs ---------------------------------------------------------------


def contract_of_designs():
    data = pd.DataFrame({"y": [0, 1, 0, 1, 1, 0], "x": [1.0, 2.0, 4.0, 3.0, 0.5, 2.5], "n": [1, 2, 1, 3, 1, 2]})
    whole = BinaryGLM.from_formula("y ~ x", data, freq_weights="n").design
    return whole, BinaryGLM.from_formula("y ~ x", [data[:3], data[3:]], freq_weights="n").design


@pytest.mark.parametrize("which", [0, 1], ids=["in memory", "in pieces"])
def test_designs_are_frozen_and_lose_their_rows_in_a_copy(which):
    design = contract_of_designs()[which]
    with pytest.raises(dataclasses.FrozenInstanceError):
        design.names = ["a", "b"]
    stripped = design.without_rows()
    assert not stripped.has_rows and stripped.X.shape == design.X.shape == (6, 2)
    assert stripped.freq is not None and stripped.var is None  # that there were weights is still known
    assert (stripped.constant, stripped.names, stripped.layout) == (design.constant, design.names, design.layout)
    assert design.engine().n_rows == 6
    for needs in (stripped.engine, lambda: stripped.need_rows("risk()", "give data="), lambda: stripped.y + 1):
        with pytest.raises(InvalidDataError, match=r"needs the rows of the fit, which are not in memory \(removed"):
            needs()


def test_counts_are_the_same_wherever_the_rows_are():
    one, other = contract_of_designs()
    names = ("n_rows", "n_given", "n_missing", "n_events", "n_total", "sum_freq", "n_non_integer", "constant", "event")
    assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]
    one.need_rows("risk()")
    assert not one.same_outcomes(other) and not other.same_outcomes(one)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_large_matrix_is_looked_at_and_copied_in_blocks(order, dtype):
    X = np.asarray(np.random.default_rng(0).standard_normal((SMALL // 10 + 1, 11)), dtype=dtype, order=order)
    X[0, 2], X[:, 5], X[:, 7] = 1.0, 1.0, 1.0
    assert first_look(X) == (True, 5)
    copy = copied(X)
    assert np.array_equal(copy, X) and copy.dtype == dtype and copy.flags[f"{order}_CONTIGUOUS"]
    assert not np.shares_memory(copy, X)
    X[-1, 5], X[-2, 0] = 2.0, np.nan
    assert first_look(X) == (False, 7)
