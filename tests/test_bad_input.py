"""Every kind of bad input meets an error or warning that names the thing, the number, and what to do."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from gevglm import BinaryGLM, fit
from gevglm.exceptions import (
    CollinearityError,
    ConvergenceWarning,
    FewEventsWarning,
    GevglmError,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    SeparationWarning,
    SupportWarning,
)

N = 200
ENGINES = ("formulaic", "patsy")
each_engine = pytest.mark.parametrize("engine", ENGINES)


def simulate():
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"x": rng.normal(size=N), "z": rng.uniform(1.0, 3.0, N), "g": rng.choice(list("abc"), N)})
    data["y"] = (rng.random(N) < expit(data["x"] - 0.5)).astype(int)
    data["answer"] = np.where(data["y"] == 1, "yes", "no")
    data["wins"], data["losses"] = 3 * data["y"], 3 - 3 * data["y"]
    data["share"] = np.where(data["y"] == 1, 0.75, 0.25)
    data["Weight"], data["time"] = 1.0, rng.uniform(0.5, 2.0, N)
    data["clinic"] = rng.integers(0, 20, N)
    return data


DATA = simulate()
Y, X = DATA["y"].to_numpy(), np.column_stack([np.ones(N), DATA["x"]])


def with_values(values, **where):
    """DATA with some values put into the first rows of columns."""
    data = DATA.copy()
    for name, count in where.items():
        data[name] = data[name].astype(object if name == "g" else float)
        data.loc[data.index[:count], name] = values
    return data


def refused(error, *words):
    """Expect an error whose message holds all the words, on one line and without terminal colours."""
    pattern = "".join(f"(?=.*(?:{word}))" for word in words)
    return pytest.raises(error, match=rf"\A{pattern}[^\x1b\n]*\Z")


# -- values that are not finite ------------------------------------------------------------


@each_engine
@pytest.mark.parametrize("missing", ["drop", "raise", "none"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_columns(value, missing, engine):
    with refused(InvalidDataError, r"\bx\b", "2 rows") as caught:
        fit("y ~ z + x", with_values(value, x=2), missing=missing, formula_engine=engine)
    assert "missing='drop'" not in str(caught.value), "infinite values are not dropped"


@each_engine
def test_missing_values_that_are_kept(engine):
    with refused(InvalidDataError, r"\bx\b", "2 rows"):
        fit("y ~ z + x", with_values(np.nan, x=2), missing="none", formula_engine=engine)


@each_engine
def test_missing_factors_that_are_kept(engine):
    with refused(InvalidDataError, r"\bg\b", "(2|rows)"):
        fit("y ~ x + g", with_values(None, g=2), missing="none", formula_engine=engine)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_arrays_that_are_not_finite(value):
    exog = X.copy()
    exog[:3, 1] = value
    with refused(InvalidDataError, "x1", "3 rows"):
        BinaryGLM(Y, exog).fit()


@pytest.mark.parametrize(
    ("value", "missing"), [(np.nan, "none"), (np.inf, "none"), (np.inf, "drop"), (-np.inf, "none"), (-np.inf, "drop")]
)
def test_outcomes_that_are_not_finite(value, missing):
    with refused(InvalidDataError, "'y'", "2"):
        fit("y ~ x", with_values(value, y=2), missing=missing)


def test_missing_answers_that_are_kept():
    data = DATA.assign(answer=DATA["answer"].where(DATA.index > 2))
    with refused(InvalidDataError, "answer", "3"):
        fit("answer ~ x", data, event="yes", missing="none")


@pytest.mark.parametrize("option", ["freq_weights", "var_weights", "offset", "exposure"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_options_that_are_not_finite(option, value):
    column = np.ones(N)
    column[:4] = value
    with refused(InvalidDataError, option, "4 rows"):
        fit("y ~ x", DATA, **{option: column}, missing="none")
    with refused(InvalidDataError, option, "4 rows"):
        BinaryGLM(Y, X, **{option: column})


@each_engine
def test_values_that_the_formula_makes_missing(engine):
    negative = int((DATA["x"] <= 0).sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's own
        with refused(InvalidDataError, r"np\.log\(x\)", f"{negative} rows"):
            fit("y ~ np.log(x)", DATA, formula_engine=engine)


# -- outcomes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "event"),
    [(0, None), (1.0, None), (True, None), ("yes", "yes"), ("no", "yes"), ("yes", None), (0.0, 0.0)],
)
def test_outcomes_of_one_level(values, event):
    with refused(InvalidDataError, "'state'", "(both outcomes|two|not a level)"):
        fit("state ~ x", DATA.assign(state=values), event=event)


@pytest.mark.parametrize("event", [None, "a"])
def test_outcomes_of_three_levels(event):
    with refused(InvalidDataError, "'g'", "3 levels", "'a'", "'b'", "'c'"):
        fit("g ~ x", DATA, event=event)
    with refused(InvalidDataError, "'k'", "3 levels", r"\(0, 1, 2\)"):
        fit("k ~ x", DATA.assign(k=np.arange(N) % 3), event=event and 1)


@pytest.mark.parametrize("values", [DATA["x"], 10 * DATA["x"] ** 2, DATA["y"] + 0.5])
def test_outcomes_that_are_measurements(values):
    with refused(InvalidDataError, "'m'", "levels|event"):
        fit("m ~ x", DATA.assign(m=values))


@pytest.mark.parametrize("dtype", ["str", "object", "category"])
def test_strings_without_event(dtype):
    with refused(InvalidDataError, "'answer'", "'no'", "'yes'", "event="):
        fit("answer ~ x", DATA.astype({"answer": dtype}))


def test_numbers_without_event():
    with refused(InvalidDataError, "'y'", r"\b1, 2\b", r"event=2\b"):
        fit("y ~ x", DATA.assign(y=DATA["y"] + 1))


@pytest.mark.parametrize(
    ("event", "words"), [("Yes", ["'yes'", "[Dd]id you mean"]), ("maybe", ["'no'", "'yes'"]), (1, ["'no'", "'yes'"])]
)
def test_unknown_events(event, words):
    with refused(InvalidDataError, f"event={event!r}", "'answer'", *words):
        fit("answer ~ x", DATA, event=event)


def test_an_event_of_another_type():
    with refused(InvalidDataError, "event='1'", r"\b0, 1\b"):
        fit("y ~ x", DATA, event="1")


@pytest.mark.parametrize("call", [lambda: fit("share ~ x", DATA), lambda: fit(DATA["share"].to_numpy(), X)])
def test_shares_without_trials(call):
    with refused(InvalidDataError, "shares", "freq_weights", "counts"):
        call()


@pytest.mark.parametrize("low", [-1, -0.5])
def test_negative_counts(low):
    with refused(InvalidDataError, "counts", "negative"):
        fit("wins + losses ~ x", with_values(low, wins=1))


def test_counts_that_are_not_whole():
    data = with_values(0.5, wins=3)
    data["losses"] = data["losses"] + np.where(data.index == 1, 0.25, 0.0)
    words = ["3 rows", "'wins \\+ losses'", "first is 0.5", "freq_weights", "proportions"]
    with refused(InvalidDataError, *words):
        fit("wins + losses ~ x", data)
    with refused(InvalidDataError, *words[:1], *words[2:]):
        fit(data[["wins", "losses"]].to_numpy(), X)


def test_counts_computed_from_shares_are_whole():
    share, trials = DATA["share"], np.full(N, 4)
    counts = np.column_stack([share * trials, (1 - share) * trials]) * (1 + 1e-12)
    expected = fit(DATA["share"].to_numpy(), X, freq_weights=trials).params
    np.testing.assert_allclose(fit(counts, X).params, expected, rtol=1e-8)


def test_counts_that_are_no_numbers():
    with refused(InvalidDataError, "'?g'?"):
        fit("wins + g ~ x", DATA)


@pytest.mark.parametrize(
    ("formula", "name"),
    [("cbind(wins, Losses) ~ x", "losses"), ("wins + Losses ~ x", "losses"), ("Y ~ x", "y"), ("anser ~ x", "answer")],
)
def test_unknown_outcomes(formula, name):
    with refused(InvalidDataError, "outcome", f"Did you mean '{name}'"):
        fit(formula, DATA)


def test_outcomes_of_three_columns():
    with refused(InvalidDataError, r"\(200, 3\)|3 columns", "two"):
        fit(np.column_stack([Y, Y, Y]), X)


@each_engine
@pytest.mark.parametrize(
    "formula",
    [
        "y ~ x + y",
        "y ~ I(y**2) + x",
        "y ~ np.log(1 + y)",
        "y ~ C(y)",
        "I(y == 1) ~ y",
        "wins + losses ~ x + wins",
        "Q('y') ~ x + y",
        "y ~ Q('y')",
    ],
)
def test_an_outcome_on_the_right(formula, engine):
    name = "wins" if "wins" in formula else "y"
    with refused(InvalidDataError, f"'{name}'", "right-hand side"):
        fit(formula, DATA, formula_engine=engine)


# -- rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: fit("y ~ x", DATA.iloc[:0]),
        lambda: fit("y ~ x", {"y": [], "x": []}),
        lambda: fit("y ~ x", {}),
        lambda: fit(Y[:0], X[:0]),
    ],
)
def test_empty_data(call):
    with refused(InvalidDataError, "no (rows|columns)"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: fit("y ~ x", with_values(np.nan, x=N)),
        lambda: fit("y ~ x + z", DATA.assign(x=DATA["x"].where(DATA.index < 99), z=DATA["z"].where(DATA.index >= 99))),
        lambda: fit(Y, np.nan * X),
    ],
)
def test_all_rows_dropped(call):
    with refused(InvalidDataError, f"{N} rows", "missing", "nothing is left"):
        call()


@pytest.mark.parametrize(
    ("subset", "words"),
    [
        ("z > 100", ["none of the 200 rows"]),
        (np.zeros(N, dtype=bool), ["none of the 200 rows"]),
        ([True, False], ["2 entries", "200 rows"]),
        ("z >", ["subset='z >'"]),
        ("zz > 2", ["subset='zz > 2'", "zz"]),
        ("z", ["subset", "condition"]),
        ([0, 1, 2, 5000], ["subset", "5000"]),
        (3, ["subset"]),
        (slice(0, 100), ["subset"]),
    ],
)
def test_bad_subsets(subset, words):
    with refused(GevglmError, *words):
        fit("y ~ x", DATA, subset=subset)


def test_outcome_and_design_of_different_length():
    with refused(InvalidDataError, "199", "200"):
        fit(Y[:-1], X)


def test_outcome_and_design_with_different_labels():
    with refused(InvalidDataError, "index|labels|rows"):
        fit(DATA["y"].iloc[::-1], DATA[["x", "z"]])


# -- columns -------------------------------------------------------------------------------


@each_engine
@pytest.mark.parametrize("link", [{}, {"xi": 0.3}])
@pytest.mark.parametrize(
    "column", [3.0, 0.0, DATA["x"], -2.0 * DATA["x"], DATA["x"] - 3.0 * DATA["z"] + 1.0], ids=lambda c: np.size(c)
)
def test_collinear_columns_are_named(column, link, engine):
    with refused(CollinearityError, r"\bk\b", "[Dd]rop"):
        fit("y ~ x + z + k", DATA.assign(k=column), formula_engine=engine, collinear="raise", **link)


@pytest.mark.parametrize("link", ["probit", "cloglog", "loglog", "cauchit"])
def test_collinear_columns_are_named_for_every_link(link):
    with refused(CollinearityError, r"\bk\b", "[Dd]rop"):
        fit("y ~ x + k", DATA.assign(k=1.0 - DATA["x"]), link=link, collinear="raise")


def test_collinear_dummies_are_named():
    exog = pd.get_dummies(DATA["g"], prefix="g").assign(one=1.0)
    with refused(CollinearityError, "one", "dummies"):
        fit(Y, exog, collinear="raise")


@each_engine
def test_levels_without_rows_are_named(engine):
    data = DATA.assign(g=pd.Categorical(DATA["g"], categories=["a", "b", "c", "d"]))
    try:
        results = fit("y ~ x + g", data, formula_engine=engine)
    except CollinearityError as error:
        assert "g[T.d]" in str(error) and re.search("zero|no rows|level", str(error))
    else:
        assert "g[T.d]" not in results.params


def test_a_penalty_allows_collinear_columns():
    results = fit("y ~ x + k", DATA.assign(k=2.0 * DATA["x"]), alpha=1.0)
    assert results.params["k"] == pytest.approx(2.0 * results.params["x"])


@pytest.mark.parametrize(
    "call",
    [
        lambda: fit(Y[:12], np.vander(DATA["x"][:12], 14), collinear="raise"),
        lambda: fit("y ~ x * g * np.log(z)", DATA[:11], collinear="raise"),
    ],
)
def test_more_columns_than_rows(call):
    with refused(InvalidDataError, r"more columns \(1[24]\) than rows \(1[12]\)"):
        call()


@pytest.mark.parametrize("call", [lambda: fit("y ~ 0", DATA), lambda: fit(Y, np.empty((N, 0)))])
def test_no_columns(call):
    with refused(InvalidDataError, "column"):
        call()


def test_columns_that_are_no_numbers():
    with refused(InvalidDataError, "not numbers", "formula"):
        fit(Y, DATA[["x", "g"]])


@each_engine
def test_a_column_that_occurs_twice(engine):
    with refused(InvalidDataError, "'x'"):
        fit("y ~ x", pd.concat([DATA[["y", "x"]], DATA[["x"]]], axis=1), formula_engine=engine)


# -- separation, few events, convergence ---------------------------------------------------

SEPARATED = DATA.assign(y=(DATA["x"] > 0).astype(int))
QUASI = DATA.assign(q=((DATA["z"] > 2) & (DATA["y"] == 1)).astype(float))


@pytest.mark.parametrize(
    "link",
    [
        {},
        {"link": "probit"},
        {"link": "cloglog"},
        {"link": "loglog"},
        {"link": "cauchit"},
        {"xi": 0.3},
        {"xi": -0.3},
        {"link": "gevc", "xi": 0.2},
    ],
)
@pytest.mark.parametrize(("formula", "data"), [("y ~ x", SEPARATED), ("y ~ x + q", QUASI)])
def test_separation_is_not_silent(formula, data, link):
    with pytest.warns((SeparationWarning, ConvergenceWarning, SupportWarning)) as caught:
        fit(formula, data, **link)
    messages = " ".join(str(warning.message) for warning in caught)
    assert re.search("separat|[Ss]eparation|exactly 0 or 1", messages)


def test_separation_names_the_column():
    with pytest.warns(
        SeparationWarning, match=r"quasi-completely separated .* estimates of q are infinite.*bias='firth'"
    ):
        results = fit("y ~ x + q", QUASI)
    assert not results.converged
    assert results.separation.infinite == ["q"]
    assert "SEPARATED, quasi-complete separation" in str(results.summary())


def test_no_separation_is_seen_where_there_is_none():
    for link in ({}, {"link": "probit"}, {"link": "cloglog"}, {"xi": 0.1}):
        fit("y ~ x + z + g", DATA, **link)  # warnings are errors


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_no_separation_is_seen_in_odd_units(scale):
    fit("y ~ x + z", DATA.assign(x=scale * DATA["x"], z=DATA["z"] / scale))


def test_few_events():
    data = DATA.assign(y=0)
    data.loc[data["x"].sort_values().index[[20, 90, 120, 170]], "y"] = 1
    with pytest.warns(FewEventsWarning, match="4 observations of the rarer outcome for 2 coefficients"):
        results = fit("y ~ x", data)
    assert "rarer outcome" in results.summary().as_text()


@pytest.mark.parametrize("link", [{}, {"xi": 0.3}, {"link": "cloglog"}])
def test_too_few_iterations(link):
    with pytest.warns(ConvergenceWarning, match="not converged.*1 iteration was.*maxiter"):
        results = fit("y ~ x + z", DATA, maxiter=1, **link)
    assert not results.converged
    assert "NOT CONVERGED" in results.summary().as_text()


def test_a_model_at_given_coefficients_is_not_called_converged():
    results = fit("y ~ x", DATA, start_params=[-0.5, 0.5], maxiter=0)  # asked for, so without a warning
    assert results.params.tolist() == [-0.5, 0.5]
    assert not results.converged
    assert "NOT CONVERGED" in results.summary().as_text()


@pytest.mark.parametrize("call", ["fit", "model"])
def test_warnings_point_at_the_line_of_the_user(call):
    with pytest.warns(ConvergenceWarning) as caught:
        if call == "fit":
            fit("y ~ x", DATA, maxiter=1)
        else:
            BinaryGLM.from_formula("y ~ x", DATA).fit(maxiter=1)
    assert {warning.filename for warning in caught} == {__file__}


# -- weights, offsets, clusters ------------------------------------------------------------


@pytest.mark.parametrize("option", ["freq_weights", "var_weights"])
@pytest.mark.parametrize(("call", "data"), [("formula", DATA), ("arrays", X)])
def test_bad_weights(option, call, data):
    outcome = "y ~ x" if call == "formula" else Y
    negative = np.where(np.arange(N) < 3, -2.0, 1.0)
    with refused(InvalidDataError, option, "negative", "3 rows", "-2"):
        fit(outcome, data, **{option: negative})
    with refused(InvalidDataError, option, "zero", "200 rows"):
        fit(outcome, data, **{option: np.zeros(N)})
    with refused(InvalidDataError, option, "199", "200 rows"):
        fit(outcome, data, **{option: np.ones(N - 1)})
    with refused(InvalidDataError, option, r"\(200, 2\)", "200 rows"):
        fit(outcome, data, **{option: np.ones((N, 2))})
    with refused(InvalidDataError, option, "numbers", "'c'|'a'|'b'"):
        fit(outcome, data, **{option: DATA["g"].to_numpy()})


@pytest.mark.parametrize("option", ["offset", "exposure"])
@pytest.mark.parametrize(("call", "data"), [("formula", DATA), ("arrays", X)])
def test_offsets_of_wrong_length(option, call, data):
    with refused(InvalidDataError, option, "201", "200 rows"):
        fit("y ~ x" if call == "formula" else Y, data, **{option: np.ones(N + 1)})


@pytest.mark.parametrize("option", ["offset", "exposure", "freq_weights", "var_weights"])
def test_series_with_other_labels(option):
    """Used by position they would go to the wrong rows in silence."""
    other = DATA["time"].set_axis(DATA.index + 1)
    with refused(InvalidDataError, option, "index"):
        fit("y ~ x", DATA, **{option: other})
    with refused(InvalidDataError, option, "index"):
        fit(DATA["y"], DATA[["x"]], **{option: other})


@pytest.mark.parametrize("option", ["offset", "exposure", "freq_weights", "var_weights"])
def test_series_with_the_same_labels_are_put_in_order(option):
    for outcome, data in (("y ~ x", DATA), (DATA["y"], DATA[["x"]])):
        series = (DATA["time"], DATA["time"][::-1])
        plain, reversed_ = (fit(outcome, data, link="cloglog", **{option: s}).params for s in series)
        assert (plain == reversed_).all()


@pytest.mark.parametrize("option", ["offset", "exposure", "freq_weights", "var_weights"])
def test_unknown_names(option):
    with refused(InvalidDataError, f"{option}='weight'", "Did you mean 'Weight'", "case"):
        fit("y ~ x", DATA, **{option: "weight"})
    with refused(InvalidDataError, f"{option}='tme'", "Did you mean 'time'"):
        fit("y ~ x", DATA, **{option: "tme"})
    with refused(InvalidDataError, f"{option}='qqqq'", "The columns are 'x', 'z', 'g'"):
        fit("y ~ x", DATA, **{option: "qqqq"})
    with refused(InvalidDataError, f"{option}='time'", "arrays"):
        fit(Y, X, **{option: "time"})


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_exposures_that_are_not_positive(value):
    with refused(InvalidDataError, "exposure", "positive", "2 rows"):
        fit("y ~ x", with_values(value, time=2), exposure="time", link="cloglog")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"groups": "Clinic"}, ["groups='Clinic'", "Did you mean 'clinic'"]),
        ({"groups": DATA["clinic"][:-1]}, ["groups", "199", "200"]),
        ({"groups": np.ones(N)}, ["one cluster"]),
        ({"groups": DATA[["clinic", "g", "y"]]}, ["groups", "3 columns"]),
        ({"group": "clinic"}, ["'group'", "'groups'"]),
        ({}, ["'groups'"]),
        ("clinic", ["cov_kwds"]),
    ],
)
def test_bad_clusters(options, words):
    with refused(GevglmError, *words):
        fit("y ~ x", DATA, cov_type="cluster", cov_kwds=options)


@pytest.mark.parametrize("groups", [np.arange(N - 5), np.arange(2 * N)])
def test_clusters_of_wrong_length_beside_a_subset(groups):
    with refused(InvalidDataError, "groups", str(len(groups)), "200|rows"):
        fit("y ~ x", DATA, subset="z > 2", cov_type="cluster", cov_kwds={"groups": groups})


# -- words ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"link": "logitt"},
            [
                "link='logitt'",
                "'cauchit', 'cloglog', 'identity', 'log', 'logc', 'logit', 'loglog', 'probit', 'gev', 'gevc'",
                "Did you mean 'logit'",
            ],
        ),
        ({"link": "GEVD", "xi": 0.2}, ["link='GEVD'", "Did you mean 'gev"]),
        ({"loss": "cannonical"}, ["loss='cannonical'", "'log', 'canonical'", "Did you mean 'canonical'"]),
        ({"loss": 3}, ["loss=3", "'log', 'canonical'"]),
        ({"cov_type": "clustr"}, ["cov_type='clustr'", "'nonrobust', 'HC0'", "Did you mean 'cluster'"]),
        ({"cov_type": "HC9"}, ["cov_type='HC9'", "'HC0', 'HC1', 'HC2', 'HC3'"]),
        ({"missing": "dorp"}, ["missing='dorp'", "'drop', 'raise', 'none'", "Did you mean 'drop'"]),
        ({"formula_engine": "patsi"}, ["formula_engine='patsi'", "Did you mean 'patsy'"]),
        ({"link": "gev"}, ["xi"]),
        ({"xi": "large"}, ["xi", "'large'"]),
        ({"xi": np.nan}, ["xi=nan"]),
        ({"xi": True}, ["xi=True", "number"]),
        ({"xi": False, "link": "gevc"}, ["xi=False", "number"]),
        ({"xi": np.True_}, ["xi=", "True", "number"]),
        ({"xi": np.array(False)}, ["xi=", "False", "number"]),
        ({"alpha": -1}, ["alpha=-1"]),
        ({"alpha": "strong"}, ["alpha='strong'"]),
        ({"tol": -1.0}, ["tol=-1.0"]),
        ({"tol": "small"}, ["tol='small'"]),
        ({"maxiter": -1}, ["maxiter=-1"]),
        ({"maxiter": "many"}, ["maxiter='many'"]),
        ({"start_params": [1.0]}, ["start_params", r"\(1,\)", "2 coefficients"]),
        ({"link": 3}, ["3 is not a link"]),
        ({"cov_type": "HAC"}, ["maxlags"]),
        ({"cov_type": "HC1", "cov_kwds": {"groups": "clinic"}}, ["groups", "HC1"]),
    ],
)
def test_unknown_words_and_numbers(options, words):
    with refused(InvalidOptionError, *words):
        fit("y ~ x", DATA, **options)


def test_xi_beside_a_link_without_shape():
    with refused(IncompatibleOptionsError, "xi=0.3", "logit"):
        fit("y ~ x", DATA, link="logit", xi=0.3)


def test_unknown_kinds_of_prediction():
    with refused(InvalidOptionError, "which='meen'", "Did you mean 'mean'"):
        fit("y ~ x", DATA).predict(which="meen")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fit("y ~ x"), ["'y ~ x'", "data"]),
        (lambda: fit(Y), ["design matrix"]),
        (lambda: fit(Y, X, subset="z > 2"), ["subset"]),
        (lambda: fit(Y, X, formula_engine="patsy"), ["formula_engine"]),
    ],
)
def test_options_that_do_not_go_together(call, words):
    with refused(GevglmError, *words):
        call()


# -- formulas ------------------------------------------------------------------------------


@each_engine
@pytest.mark.parametrize(
    "formula",
    [
        "y ~ x +",
        "y ~ x + (",
        "y ~ x +* z",
        "y ~ ",
        "~ x",
        "y",
        "y ~ x ~ z",
        "y ~ x $ z",
        "y ~ x + 'z",
        "[y] ~ x",
        "y + ~ x",
    ],
)
def test_formula_syntax(formula, engine):
    with refused(InvalidDataError, "formula|outcome"):
        fit(formula, DATA, formula_engine=engine)


@each_engine
@pytest.mark.parametrize(
    ("right", "words"),
    [
        ("Z", ["'Z'", "Did you mean 'z'", "case"]),
        ("x + C(G)", ["'G'", "Did you mean 'g'"]),
        ("np.log(Time)", ["'Time'", "Did you mean 'time'"]),
        ("Q('Time')", ["'Time'", "Did you mean 'time'"]),
        ("x + clinik", ["'clinik'", "Did you mean 'clinic'"]),
        ("qqqq", ["'qqqq'", "The columns are"]),
        ("unknown_function(x)", ["'unknown_function'"]),
    ],
)
def test_unknown_columns(right, words, engine):
    with refused(InvalidDataError, *words):
        fit(f"y ~ {right}", DATA, formula_engine=engine)


@each_engine
@pytest.mark.parametrize(
    ("right", "words"),
    [
        ("C(g, Treatment('zz'))", ["zz|Treatment"]),
        ("C(g, Treatment(reference='zz'))", ["zz|Treatment"]),
        ("np.lgo(z)", ["lgo"]),
        ("bs(x, df=1)", ["df"]),
        ("I(g + 1)", [r"g \+ 1"]),
    ],
)
def test_errors_inside_a_formula(right, words, engine):
    with refused(InvalidDataError, "could not be evaluated", *words):
        fit(f"y ~ {right}", DATA, formula_engine=engine)


# -- tables and files ----------------------------------------------------------------------


@pytest.mark.parametrize("data", [DATA.to_numpy(), [1, 2], 5])
def test_things_that_are_no_tables(data):
    with refused(InvalidDataError, type(data).__name__, "pandas", "csv"):
        fit("y ~ x", data)


def test_columns_of_different_length():
    with refused(InvalidDataError, "'y': 2", "'x': 3"):
        fit("y ~ x", {"y": [0, 1], "x": [1, 2, 3]})


@pytest.mark.parametrize("name", ["ghost.csv", "ghost.parquet", "ghost"])
def test_files_that_do_not_exist(name, tmp_path):
    with refused(InvalidDataError, "no file", name):
        fit("y ~ x", str(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "content"),
    [("bad.parquet", b"not parquet"), ("bad.csv", b'\xff\xfe\x00"'), ("empty.csv", b""), ("empty.parquet", b"")],
)
def test_files_that_cannot_be_read(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidDataError, match=rf"{name}.*(could not be read|is not utf-8|is empty)"):
        fit("y ~ x", path)


@pytest.mark.parametrize("name", ["data.pdf", "data.rds", "folder"])
def test_files_of_unknown_kind(name, tmp_path):
    path = tmp_path / name
    path.mkdir() if name == "folder" else path.write_text("y,x\n0,1\n")
    with refused(InvalidDataError, name, "csv", "parquet"):
        fit("y ~ x", path)


# -- new data ------------------------------------------------------------------------------


@each_engine
@pytest.mark.parametrize("column", ["x", "g", "time"])
def test_new_data_without_a_column(column, engine):
    results = fit("y ~ x + g", DATA, exposure="time", link="cloglog", formula_engine=engine)
    with refused(InvalidDataError, f"'{column}'"):
        results.predict(DATA.drop(columns=column))
    with refused(InvalidDataError, f"'{column}'", f"Did you mean '{column.upper()}'"):
        results.predict(DATA.rename(columns={column: column.upper()}))


@each_engine
def test_new_data_with_unseen_levels(engine):
    results = fit("y ~ x + g", DATA, formula_engine=engine)
    with refused(InvalidDataError, "'?g'?", "'new'"):
        results.predict(DATA[:4].assign(g=["a", "new", "b", "c"]))
    with refused(InvalidDataError, "'?g'?", "7"):
        results.predict(DATA[:4].assign(g=7))


@pytest.mark.parametrize("method", ["predict", "get_prediction"])
def test_new_rows_outside_the_support(method):
    results = fit("y ~ x", DATA, xi=0.1)
    with pytest.warns(SupportWarning, match=r"2 of 3 rows.*GEV\(xi=0.1\).*exactly 0 or 1"):
        getattr(results, method)({"x": [-1000.0, 0.0, -500.0]})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.predict(DATA[:5], offset=np.ones(6)), ["offset", "6", "5 rows"]),
        (lambda r: r.predict(DATA[:5], offset="tme"), ["offset='tme'", "Did you mean 'time'"]),
        (lambda r: r.predict(DATA[:5], exposure=-np.ones(5)), ["exposure", "positive", "5 rows"]),
        (lambda r: r.predict(DATA[:5].assign(time=0.0)), ["exposure", "positive", "5 rows"]),
        (lambda r: r.predict(X[:5]), ["exposure"]),
        (lambda r: r.predict(X[:5], transform=False), ["exposure"]),
        (lambda r: r.predict(offset="Time"), ["offset"]),
    ],
)
def test_bad_offsets_of_new_data(call, words):
    results = fit("y ~ x", DATA, exposure="time", link="cloglog")
    with refused(InvalidDataError, *words):
        call(results)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.predict(X[:5, :1]), ["1 columns", "2 coefficients"]),
        (lambda r: r.predict(X[:5], offset=np.ones(6)), ["offset", "6", "5"]),
        (lambda r: r.predict([["a", "b"]]), ["numbers"]),
    ],
)
def test_bad_new_arrays(call, words):
    with refused(InvalidDataError, *words):
        call(fit(Y, X))
