"""fit_many: each row is what fit() finds; what cannot be fitted is a row with a reason."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.exceptions import (
    CollinearityError,
    GevglmWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    UnknownArgumentError,
)

MODELS = {
    "logit": {"link": "logit"},
    "probit": {"link": "probit"},
    "cloglog": {"link": "cloglog"},
    "gev": {"xi": 0.3},
    "gev log": {"xi": 0.3, "loss": "log"},
    "firth": {"link": "logit", "bias": "firth"},
    "mean canonical": {"xi": 0.3, "bias": "mean"},
    "logf": {"link": "logit", "bias": "logf"},
    "flic": {"link": "logit", "bias": "flic"},
    "ridge": {"link": "probit", "alpha": 3.0},
    "robust": {"xi": 0.3, "cov_type": "HC0"},
    "robust firth": {"link": "cloglog", "bias": "firth", "cov_type": "HC0"},
}


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(3)
    n = 500
    data = pd.DataFrame({"x": rng.standard_normal(n), "g": rng.choice(["a", "b", "c"], n), "z": rng.normal(0, 0.2, n)})
    data["y"] = (rng.random(n) < 1 / (1 + np.exp(1.5 - 0.5 * data.x))).astype(int)
    return data


@pytest.fixture(scope="module")
def drawn(study):
    n = len(study)
    return np.random.default_rng(4).multinomial(n, np.full(n, 1 / n), size=12).T.astype(float)


@pytest.mark.parametrize("words", MODELS.values(), ids=MODELS)
def test_a_weighting_is_a_fit_with_frequency_weights(study, drawn, words):
    fits = gevglm.fit_many("y ~ x + g", study, weights=drawn, offset="z", **words)
    assert fits.converged.all() and len(fits) == 12 and (fits.reason == "").all()
    for j in (0, 7):
        one = gevglm.fit("y ~ x + g", study.assign(w=drawn[:, j]), freq_weights="w", offset="z", **words)
        assert np.abs((fits.params.loc[j] - one.params) / one.bse).max() < 1e-9
        assert_allclose(fits.bse.loc[j], one.bse, rtol=1e-7)
        assert_allclose(fits.cov_params(j), one.cov_params(), rtol=1e-6, atol=1e-9)
        assert_allclose(fits.tvalues.loc[j], one.params / one.bse, rtol=1e-6)
        assert fits.nobs[j] == len(study) and fits.n_events[j] == one.n_events
        assert_allclose(fits.predict(fit=j)[drawn[:, j] > 0], one.predict(), rtol=1e-8)
        assert_allclose(fits.predict(study.head(9))[j], one.predict(study.head(9)), rtol=1e-8)


@pytest.mark.parametrize("words", [MODELS[name] for name in ("logit", "gev", "gev log", "firth", "robust")])
def test_an_outcome_is_a_fit(study, words):
    rng = np.random.default_rng(5)
    table = pd.DataFrame((rng.random((500, 6)) < 0.2).astype(int), columns=list("uvwrst"))
    fits = gevglm.fit_many("~ x + g", study.join(table), outcomes=list(table), offset="z", **words)
    assert list(fits.params.index) == list(table)
    for name in ("u", "t"):
        one = gevglm.fit(f"{name} ~ x + g", study.join(table), offset="z", **words)
        assert np.abs((fits.params.loc[name] - one.params) / one.bse).max() < 1e-9
        assert_allclose(fits.bse.loc[name], one.bse, rtol=1e-7)


def test_resamples_agree_with_statsmodels_on_repeated_rows(study, drawn):
    X = sm.add_constant(study[["x", "z"]])
    fits = gevglm.fit_many(study.y, X, weights=drawn, link="logit")
    for j in range(0, 12, 3):
        rows = np.repeat(np.arange(len(study)), drawn[:, j].astype(int))
        theirs = sm.Logit(study.y.iloc[rows].to_numpy(), X.iloc[rows].to_numpy()).fit(disp=0, tol=1e-12, maxiter=100)
        assert_allclose(fits.params.loc[j], theirs.params, rtol=1e-9)
        assert_allclose(fits.bse.loc[j], theirs.bse, rtol=1e-7)


def test_arrays_and_tables_give_the_same(study, drawn):
    X = np.column_stack([np.ones(len(study)), study.x])
    Y = np.column_stack([study.y, 1 - study.y])
    by_arrays = gevglm.fit_many(X, outcomes=Y, link="logit")
    by_table = gevglm.fit_many("~ x", study.assign(v=1 - study.y), outcomes=["y", "v"], link="logit")
    assert_allclose(by_arrays.params, by_table.params, rtol=1e-12)
    assert_allclose(by_arrays.params.loc[0], -by_arrays.params.loc[1], rtol=1e-9)  # mirrored
    assert_allclose(by_arrays.predict(X[:5]), by_table.predict(study.head(5)), rtol=1e-12)
    one = gevglm.fit_many(study.y, X, weights=drawn[:, :1], link="logit")
    assert one.params.shape == (1, 2)


def test_a_dot_in_the_formula_stands_for_no_outcome(study):
    data = study[["x", "z", "y"]].assign(v=1 - study.y)
    fits = gevglm.fit_many("~ .", data, outcomes=["y", "v"], link="logit")
    assert list(fits.params) == ["Intercept", "x", "z"]
    fits = gevglm.fit_many("~ x + y", data.assign(v=data.x > 0), outcomes=["v", "y"], link="logit", alpha=1.0)
    assert list(fits.params) == ["Intercept", "x", "y"]


def test_text_outcomes_frequency_weights_and_subset(study):
    data = study.assign(a=np.where(study.y, "yes", "no"), b=np.where(study.x > 0, "yes", "no"), w=np.arange(500) % 3)
    words = {"link": "logit", "event": "yes", "freq_weights": "w", "subset": "x < 1"}
    fits = gevglm.fit_many("~ z", data, outcomes=["a", "b"], **words)
    one = gevglm.fit("b ~ z", data, **words)
    assert_allclose(fits.params.loc["b"], one.params, rtol=1e-9)
    assert_allclose(fits.bse.loc["b"], one.bse, rtol=1e-7)


def test_rows_in_which_an_outcome_is_missing_are_left_out_of_its_fit(study):
    Y = np.column_stack([study.y, study.y]).astype(float)
    Y[:40, 1] = np.nan
    fits = gevglm.fit_many("~ x", study, outcomes=Y, link="logit")
    one = gevglm.fit("y ~ x", study.iloc[40:], link="logit")
    assert_allclose(fits.params.loc[1], one.params, rtol=1e-9)
    assert fits.nobs.tolist() == [500, 460]
    with pytest.raises(InvalidDataError, match=r"1 \(40 rows\)"):
        gevglm.fit_many("~ x", study, outcomes=Y, link="logit", missing="raise")
    with pytest.warns(GevglmWarning, match="missing in 40 rows"):
        fits = gevglm.fit_many("~ x", study, outcomes=Y, link="logit", missing="none")
    assert fits.converged.tolist() == [True, False]


def test_incomplete_rows_of_the_design_are_dropped_from_all(study, drawn):
    data = study.assign(x=study.x.where(study.index > 9))
    with pytest.warns(gevglm.exceptions.MissingRowsWarning):
        fits = gevglm.fit_many("y ~ x", data, weights=drawn, link="logit")
    one = gevglm.fit("y ~ x", study.assign(w=drawn[:, 2]).iloc[10:], freq_weights="w", link="logit")
    assert_allclose(fits.params.loc[2], one.params, rtol=1e-9)


def test_fits_without_estimates_are_rows_with_a_reason(study, drawn):
    weights = drawn.copy()
    weights[3, 0] = np.nan
    weights[5, 1] = -1.0
    weights[:, 2] = 0.0
    weights[:, 3] = np.where(study.y == 1, weights[:, 3], 0.0)
    weights[:, 4] = np.where((study.g == "b") & (study.y == 0), 0.0, weights[:, 4])
    weights[:, 5] = np.where(study.g == "c", 0.0, weights[:, 5])
    before = weights.copy()
    with pytest.warns(GevglmWarning, match=r"6 of 12 fits have no estimates.*The first \(0\)"):
        fits = gevglm.fit_many("y ~ x + g", study, weights=weights, link="logit")
    assert_array_equal(weights, before)
    assert_array_equal(fits.converged, np.arange(12) > 5)
    assert fits.params[~fits.converged].isna().all(axis=None) and fits.bse[~fits.converged].isna().all(axis=None)
    reasons = [
        "not negative; 1 rows",
        "not negative; 1 rows",
        "nothing to fit",
        "both outcomes",
        "separated",
        "zero in every",
    ]
    assert all(words in reason for words, reason in zip(reasons, fits.reason[:6], strict=True))
    assert [failure.fit for failure in fits.failures] == list(range(6))
    assert "6 of 12 fits have no estimates" in str(fits.summary()) and "6 without estimates" in repr(fits)
    whole = gevglm.fit_many("y ~ x + g", study, weights=drawn, link="logit")
    assert_allclose(fits.params[6:], whole.params[6:], rtol=1e-10)


def test_firth_has_estimates_under_separation(study, drawn):
    weights = drawn.copy()
    weights[:, 0] = np.where((study.g == "b") & (study.y == 0), 0.0, weights[:, 0])
    fits = gevglm.fit_many("y ~ x + g", study, weights=weights, link="logit", bias="firth")
    one = gevglm.fit("y ~ x + g", study.assign(w=weights[:, 0]), freq_weights="w", link="logit", bias="firth")
    assert fits.converged.all()
    assert_allclose(fits.params.loc[0], one.params, rtol=1e-7)


def test_outcomes_of_one_class_or_of_other_values_are_rows_with_a_reason(study):
    Y = np.column_stack([study.y, np.zeros(500), study.y * 2.0])
    with pytest.warns(GevglmWarning, match="2 of 3 fits"):
        fits = gevglm.fit_many("~ x", study, outcomes=Y, link="logit")
    assert fits.converged.tolist() == [True, False, False]
    assert "both outcomes" in fits.reason[1] and "event" in fits.reason[2]


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda d, W: gevglm.fit_many("y ~ x", d), IncompatibleOptionsError, "either outcomes"),
        (
            lambda d, W: gevglm.fit_many("~ x", d, outcomes=["y"], weights=W),
            IncompatibleOptionsError,
            "either outcomes",
        ),
        (lambda d, W: gevglm.fit_many("y ~ x", d, outcomes=["y"]), IncompatibleOptionsError, "write '~ x'"),
        (lambda d, W: gevglm.fit_many("~ x", d, outcomes=["why"]), InvalidDataError, "why"),
        (lambda d, W: gevglm.fit_many("y ~ x", d, weights=W[:9]), InvalidDataError, "9 rows, but the data have 500"),
        (lambda d, W: gevglm.fit_many("y ~ x", d, weights=W[:, 0]), InvalidDataError, "a column for each fit"),
        (lambda d, W: gevglm.fit_many("y ~ x", d, weights=["g"]), InvalidDataError, "must be numbers.*g"),
        (lambda d, W: gevglm.fit_many("~ x", d, outcomes=["g"]), InvalidDataError, "3 levels|'a'"),
        (lambda d, W: gevglm.fit_many("y ~ x", d, weights=W, xi="ml"), InvalidOptionError, "xi as a number"),
        (lambda d, W: gevglm.fit_many("y ~ x", d, weights=W, alpha="cv"), InvalidOptionError, "alpha as a number"),
        (lambda d, W: gevglm.fit_many("y ~ x", d, weights=W, cov_type="HC3"), InvalidOptionError, "HC3.*HC0"),
        (lambda d, W: gevglm.fit_many("y ~ x", d, weights=W, freq_weights="x"), IncompatibleOptionsError, "multiply"),
        (lambda d, W: gevglm.fit_many("y ~ x + I(2 * x)", d, weights=W), CollinearityError, "I\\(2 \\* x\\)"),
        (lambda d, W: gevglm.fit_many("y ~ x", weights=W), InvalidOptionError, "needs data"),
        (lambda d, W: gevglm.fit_many(W[:, :2] + 1, d[["x"]], weights=W), InvalidDataError, "counts of trials"),
        (
            lambda d, W: gevglm.fit_many(d.y, d[["x"]].where(d.x < 2, np.inf), weights=W, missing="none"),
            InvalidDataError,
            "infinite",
        ),
        (lambda d, W: gevglm.fit_many(d.y, d[["x"]], outcomes=W), InvalidOptionError, "fit_many\\(X, outcomes"),
        (lambda d, W: gevglm.fit_many("y ~ x", d, weight=W), UnknownArgumentError, "weights"),
        (lambda d, W: gevglm.fit_many("y ~ x", lambda: [d], weights=W), InvalidOptionError, "in memory"),
        (lambda d, W: gevglm.fit_many(d.y, d[["x"]], weights=W, subset="x"), InvalidOptionError, "subset"),
        (lambda d, W: gevglm.fit_many("y ~ x", d, weights=pd.DataFrame(W[1:])), InvalidDataError, "index|rows"),
    ],
)
def test_what_is_wrong_with_the_call_is_an_error(study, drawn, call, error, match):
    with pytest.raises(error, match=match):
        call(study, drawn)


def test_a_fit_that_is_not_there(study, drawn):
    fits = gevglm.fit_many("y ~ x", study, weights=drawn, link="logit")
    with pytest.raises(InvalidOptionError, match="no fit 99"):
        fits.cov_params(99)


def test_the_long_table_has_a_row_for_each_coefficient(study, drawn):
    fits = gevglm.fit_many("y ~ x", study, weights=drawn, link="logit")
    table = fits.summary_frame(alpha=0.1)
    assert len(table) == 24
    row, one = table.loc[(3, "x")], gevglm.fit("y ~ x", study.assign(w=drawn[:, 3]), freq_weights="w", link="logit")
    assert_allclose(row[["ci_lower", "ci_upper"]], one.conf_int(alpha=0.1).loc["x"], rtol=1e-7)
    assert_allclose(
        row[["estimate", "se", "z", "pvalue"]],
        [one.params["x"], one.bse["x"], one.tvalues["x"], one.pvalues["x"]],
        rtol=1e-6,
    )


def test_standard_errors_are_those_of_simulated_outcomes():
    """The spread of estimates over simulated outcomes is the mean standard error, up to Monte Carlo error; Firth removes the bias."""
    rng = np.random.default_rng(11)
    n, B, truth = 400, 1000, np.array([-2.0, 0.7])
    X = np.column_stack([np.ones(n), rng.standard_normal(n)])
    Y = (rng.random((n, B)) < 1 / (1 + np.exp(-X @ truth))[:, None]).astype(float)
    plain, firth = (gevglm.fit_many(X, outcomes=Y, link="logit", bias=bias) for bias in (None, "firth"))
    error = firth.params.std() / np.sqrt(B)
    assert (np.abs(firth.params.mean() - truth) < 4 * error).all()
    assert plain.params.mean()["x1"] > firth.params.mean()["x1"] + error["x1"]
    assert_allclose(firth.bse.mean(), firth.params.std(), rtol=4 / np.sqrt(2 * B))
    inside = firth.summary_frame().xs("x1", level="coefficient").eval("ci_lower < 0.7 < ci_upper").mean()
    assert abs(inside - 0.95) < 4 * np.sqrt(0.95 * 0.05 / B)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["logit", "probit", "cloglog"]))
def test_weights_are_repeated_rows_in_any_order(seed, link):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(60), rng.standard_normal(60)])
    y = np.tile([0.0, 1.0, 0.0], 20)
    weights = rng.integers(0, 4, (60, 3)).astype(float)
    weights[:6] += 1.0  # both outcomes in all
    fits = gevglm.fit_many(y, X, weights=weights, link=link, bias="firth")
    rows = rng.permutation(np.repeat(np.arange(60), weights[:, 1].astype(int)))
    repeated = gevglm.fit_many(y[rows], X[rows], weights=np.ones((len(rows), 1)), link=link, bias="firth")
    assert_allclose(fits.params.loc[1], repeated.params.loc[0], atol=1e-7)
    order = rng.permutation(60)
    permuted = gevglm.fit_many(y[order], X[order], weights=weights[order][:, ::-1], link=link, bias="firth")
    assert_allclose(permuted.params[::-1], fits.params, atol=1e-7)
