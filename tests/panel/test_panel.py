"""Absorbed constants: what holds for every panel, which units are used, predictions and risks, and what is refused."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.data.csv_dialect import ROUNDS_EXACTLY
from gevglm.data.dialect import absorbed_in
from gevglm.estimation.absorbed import AbsorbedProblem
from gevglm.estimation.newton import CONVERGED, PREDICTED
from gevglm.exceptions import (
    CollinearityError,
    CollinearityWarning,
    FewEventsWarning,
    GevglmWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    NotDefinedForLoss,
    SeparationWarning,
)
from tests.panel.test_against_others import BOTH, DATA, made, quietly

FIRTH = {"bias": "firth", "units": "all"}


def fit(formula="y ~ x + z | unit", data=DATA, **options):
    return quietly(formula, data, **options)


# -- what holds for every panel ------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), link=st.sampled_from(["logit", "probit", "cloglog"]))
def test_the_order_of_rows_and_the_names_of_units_do_not_matter(seed, link):
    data = made(12, 6, seed % 7)
    other = data.sample(frac=1.0, random_state=seed).assign(unit=lambda d: "u" + d["unit"].astype(str))
    a, b = fit(data=data, link=link, **FIRTH), fit(data=other, link=link, **FIRTH)
    assert_allclose(a.params, b.params, rtol=1e-9)
    assert_allclose(a.bse, b.bse, rtol=1e-9)
    constants = b.fixed_effects["estimate"].rename(lambda name: int(name[1:]))
    assert_allclose(a.fixed_effects["estimate"], constants[a.fixed_effects.index], rtol=1e-7, atol=1e-9)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 6), bias=st.sampled_from([None, "mean", "correction"]))
def test_weights_are_repeated_rows(seed, bias):
    data = made(12, 6, seed)
    repeated = data.loc[np.repeat(data.index, data["count"])].reset_index(drop=True)
    for cov_type in ("nonrobust", "HC3"):
        a = fit(data=data, freq_weights="count", bias=bias, cov_type=cov_type)
        b = fit(data=repeated, bias=bias, cov_type=cov_type)
        assert_allclose(a.params, b.params, atol=1e-9)
        assert_allclose(a.bse, b.bse, rtol=1e-8)
    assert_allclose(a.fixed_effects["std_err"], b.fixed_effects["std_err"], rtol=1e-7)


def test_arrays_counts_and_offsets():
    a, b = fit(), quietly(DATA["y"].to_numpy(), DATA[["x", "z"]].to_numpy(), absorb=DATA["unit"].to_numpy())
    assert_allclose(a.params, b.params, rtol=1e-12)
    c = fit("y ~ x | unit", offset=DATA["z"] * a.params["z"])
    assert_allclose(c.params["x"], a.params["x"], rtol=1e-8)
    assert_allclose(c.llf, a.llf, rtol=1e-10)
    cells = DATA.assign(x=DATA["x"].round(), z=0.0).groupby(["unit", "x"], as_index=False)["y"].agg(["sum", "count"])
    cells["rest"] = cells["count"] - cells["sum"]
    grouped = fit("cbind(sum, rest) ~ x | unit", cells)
    single = fit("y ~ x | unit", DATA.assign(x=DATA["x"].round()))
    assert_allclose(grouped.params, single.params, rtol=1e-9)
    assert_allclose(grouped.bse, single.bse, rtol=1e-8)


def test_same_bits_whatever_the_threads(monkeypatch):
    data = made(3000, 9, 1)
    found = []
    for cores in (1, 2, 3):
        monkeypatch.setattr("gevglm.engine.memory.available_cores", lambda cores=cores: cores)
        found.append(fit(data=data, bias="firth"))
    for other in found[1:]:
        assert np.array_equal(found[0].params, other.params)
        assert np.array_equal(found[0].bse, other.bse)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), link=st.sampled_from(["logit", "probit", "cloglog", "cauchit"]))
def test_an_end_that_was_predicted_is_the_end(seed, link):
    problem = fit("y ~ x + z | unit", made(15, 9, seed), link=link)._fit.problem
    found, plain = problem.estimate(), problem._iterate(problem._start(None))
    if plain.converged:
        assert found.converged and found.reason == CONVERGED
        assert found.decrement <= problem.tol**2 * problem._scale
        assert_allclose(found.params, plain.params, rtol=1e-7, atol=1e-7)


def test_an_end_that_was_wrongly_predicted_is_none(monkeypatch):
    problem, iterate = fit()._fit.problem, AbsorbedProblem._iterate
    expected = problem.estimate()

    def too_early(self, start, slopes=None, *, predict_below=0.0):
        if not predict_below:
            return iterate(self, start, slopes)
        return replace(iterate(replace(self, maxiter=2), start), converged=True, reason=PREDICTED)

    monkeypatch.setattr(AbsorbedProblem, "_iterate", too_early)
    found = problem.estimate()
    assert found.converged and found.decrement <= problem.tol**2 * problem._scale
    assert_allclose(found.params, expected.params, rtol=1e-9)
    assert_allclose(found.value, expected.value, rtol=1e-12)


def test_firth_adds_half_an_event_per_unit():
    res = fit(**FIRTH)
    mu = res.fittedvalues.to_numpy()
    dense = quietly("y ~ 0 + x + z + C(unit)", DATA, bias="firth")
    leverage = dense.get_influence().hat_matrix_diag
    assert_allclose(leverage.sum(), 24 + 2, rtol=1e-8)
    assert_allclose(mu.mean() - DATA["y"].mean(), (leverage * (0.5 - mu)).mean(), atol=1e-9)
    assert_allclose(res.mean_risk_over_share, mu.mean() / DATA["y"].mean(), rtol=1e-9)


def test_units_of_one_row():
    single = pd.DataFrame({"unit": [100, 101], "y": [1, 0], "x": [0.3, -2.0], "z": [1.0, 0.0]})
    res = fit(data=pd.concat([DATA, single], ignore_index=True), **FIRTH, cov_type="HC3")
    assert_allclose(res.predict(single, which="linear"), [np.log(3), -np.log(3)], atol=1e-8)
    assert_allclose(res.params, fit(**FIRTH).params, atol=1e-8)  # they say nothing about slopes
    assert np.isfinite(res.bse).all()


def test_large_means_of_units_do_not_cost_digits():
    far = DATA.assign(x=DATA["x"] + 1e6 * DATA["unit"])
    assert_allclose(fit(data=far).params, fit().params, rtol=1e-7)


# -- which units are used ------------------------------------------------------------------------


def test_units_with_one_outcome_are_left_out_and_counted():
    res = fit()
    share = DATA.groupby("unit")["y"].mean()
    assert res.n_units == share.between(0.001, 0.999).sum()
    assert res.n_units_dropped == (~share.between(0.001, 0.999)).sum()
    assert res.n_rows_dropped == len(DATA) - len(BOTH) == len(DATA) - res.nobs
    assert_allclose(res.params, fit(data=BOTH).params, rtol=1e-12)
    assert res.df_resid == len(BOTH) - res.n_units - 2
    assert "have one outcome only" in str(res.summary())


def test_bias_reduction_is_for_informative_units_unless_all_are_asked_for():
    assert_allclose(fit(bias="firth").params, fit(data=BOTH, **FIRTH).params, rtol=1e-9)
    assert fit(**FIRTH).n_units == 24


def test_all_units_with_few_events_are_warned_of():
    with pytest.warns(
        FewEventsWarning, match=r"units='all' with 1\.\d+ events per unit.*mean fitted risk is \d\.\d+ times"
    ):
        res = gevglm.fit("y ~ x + z | unit", DATA, **FIRTH)
    assert res.events_per_unit < 2


def test_the_bias_of_maximum_likelihood_is_warned_of():
    with pytest.warns(FewEventsWarning, match=r"biased: by [+-].* standard errors"):
        plain = gevglm.fit("y ~ x + z | unit", made(200, 4, 1))
    corrected = fit(data=made(200, 4, 1), bias="fernandez-val")
    assert_allclose(corrected.params, plain.params - plain.bias_of_slopes, rtol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gevglm.fit("y ~ x + z | unit", made(3, 400, 1))


@pytest.mark.parametrize("link", ["probit", "cloglog", "logit"])
def test_leaving_out_most_units_is_warned_of_but_for_the_logit(link):
    rare = DATA.assign(y=DATA["y"] * (DATA["unit"] % 3 == 0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        res = gevglm.fit("y ~ x + z | unit", rare, link=link, bias="firth")
    assert res.n_units_dropped > res.n_units
    said = [str(one.message) for one in caught if "selection by the outcome" in str(one.message)]
    assert len(said) == (link != "logit")
    assert all(f"{res.n_units_dropped} of 24 levels of 'unit'" in text for text in said)


def test_a_level_of_one_factor_may_leave_one_of_the_other_without_events():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {"unit": np.repeat(np.arange(6), 6), "year": np.tile(np.arange(6), 6), "x": rng.normal(size=36)}
    )
    data["y"] = rng.integers(0, 2, 36)
    data.loc[data["unit"] == 5, "y"] = 0
    data.loc[(data["year"] == 0) & (data["unit"] < 5), "y"] = 1  # without unit 5 this year has events only
    res = fit("y ~ x | unit + year", data, bias="firth")
    assert res.n_levels == [5, 5]
    assert [left.units for left in res.left_out] == [1, 1]


def test_parts_that_share_no_level_have_a_reference_each():
    a, b = made(10, 8, 1), made(10, 8, 2)
    both = pd.concat([a, b.assign(unit=b["unit"] + 10, year=b["year"] + 8)], ignore_index=True)
    res = fit("y ~ x + z | unit + year", both, bias="firth", units="all")
    assert res._fit.panel.components == 2
    years = res.fixed_effects.loc["year"]
    assert (years["estimate"] == 0).sum() == 2
    assert years["std_err"].isna().sum() == 2
    dense = quietly("y ~ x + z + C(unit) + C(year)", both, bias="firth")
    assert_allclose(res.params, dense.params[["x", "z"]], atol=1e-7)


@pytest.mark.parametrize("large", [False, True])
def test_every_part_takes_a_degree_of_freedom(large, monkeypatch):
    """Of G and H levels in c parts, G + H - c constants are estimated: HC1 counts them, as it does those of dummies."""
    parts = [made(8, 12, seed) for seed in range(5)]
    data = pd.concat(
        [part.assign(unit=part["unit"] + 8 * j, year=part["year"] + 12 * j) for j, part in enumerate(parts)]
    )
    data = data.reset_index(drop=True)
    if large:
        monkeypatch.setattr("gevglm.panel.units.MOST_LEVELS", 2)
    options = {"cov_type": "HC1"}
    res = fit("y ~ x + z | unit + year", data, **options)
    assert res._fit.panel.groups.large is large
    kept = data.iloc[res._fit.panel.positions]
    dense = quietly("y ~ x + z + C(unit) + C(year)", kept, collinear="drop", **options)
    components = res._fit.panel.components
    assert components >= 4
    assert res._fit.counted + 2 == dense.rank == kept["unit"].nunique() + kept["year"].nunique() - components + 2
    assert_allclose(res.params, dense.params[["x", "z"]], rtol=1e-7)
    assert_allclose(res.bse, dense.bse[["x", "z"]], rtol=1e-7)


# -- predictions, constants and risks ------------------------------------------------------------


def test_predictions_of_units_without_a_constant():
    res = fit(bias="firth")
    new = DATA.head(3).assign(unit=999)
    with pytest.raises(InvalidDataError, match=r"3 rows have levels of unit without a constant.*new_units='average'"):
        res.predict(new)
    constants = res._all_units.constants
    weight = DATA.groupby("unit").size().to_numpy()
    slopes = new[["x", "z"]].to_numpy() @ res.params.to_numpy()
    by_hand = [np.average(1 / (1 + np.exp(-(v + constants))), weights=weight) for v in slopes]
    assert_allclose(res.predict(new, new_units="average"), by_hand, rtol=1e-12)
    with pytest.raises(InvalidDataError, match="only probabilities"):
        res.predict(new, new_units="average", which="linear")
    with pytest.raises(InvalidOptionError, match="new_units"):
        res.predict(new, new_units="zero")
    arrays = quietly(DATA["y"], DATA[["x", "z"]].to_numpy(), absorb=DATA["unit"])
    with pytest.raises(InvalidOptionError, match="needs absorb="):
        arrays.predict(np.zeros((2, 2)))
    unit = arrays.fixed_effects.index[0]
    assert_allclose(
        arrays.predict(np.zeros((1, 2)), absorb=[unit], which="linear"), arrays.fixed_effects["estimate"].iloc[0]
    )


def test_risks_average_to_the_share_of_events():
    for options in ({}, {"link": "cloglog", "bias": "firth"}, {"link": "probit", "loss": "canonical"}):
        risks = fit(**options).risks()
        assert list(risks.index) == list(DATA.index)
        assert_allclose(risks.mean(), DATA["y"].mean(), rtol=1e-10)
        assert risks.between(0, 1, inclusive="neither").all()


def test_marginal_effects():
    res = fit(bias="firth")
    table = res.marginal_effects(replications=40, rng=1)
    step = 1e-5
    v = res._all_units.linear
    slope = ((1 / (1 + np.exp(-(v + step)))).mean() - (1 / (1 + np.exp(-(v - step)))).mean()) / (2 * step)
    assert_allclose(table["dy/dx"], slope * res.params, rtol=1e-6)
    assert (table["ci_lower"] < table["dy/dx"]).all() and (table["dy/dx"] < table["ci_upper"]).all()
    assert_allclose(table, res.marginal_effects(replications=40, rng=1))
    assert list(res.marginal_effects(replications=0).columns) == ["dy/dx"]
    with pytest.raises(InvalidOptionError, match="one absorbed factor"):
        fit("y ~ x | unit + year").risks()


def test_marginal_effects_of_maximum_likelihood_are_by_its_own_constants():
    for formula in ("y ~ x + z | unit", "y ~ x + z | unit + year"):
        res = fit(formula, link="probit")
        v = res.predict(which="linear")
        density = np.exp(-0.5 * v**2).sum() / np.sqrt(2 * np.pi) / len(DATA)
        assert_allclose(res.marginal_effects(replications=0)["dy/dx"], density * res.params, rtol=1e-9)
    table = fit().marginal_effects(replications=30)
    assert (table["std_err"] > 0).all()
    with pytest.raises(InvalidOptionError, match="replications=0"):
        res.marginal_effects()


@pytest.mark.parametrize("options", [{"bias": "firth"}, {}, {"bias": "firth", "units": "all"}, {"bias": "correction"}])
def test_effects_by_conditional_slopes(options):
    res = fit(**options)
    slopes = quietly("y ~ x + z", DATA, strata="unit", bias="firth").params
    risks = res.risks(slopes="conditional")
    assert_allclose(risks.mean(), DATA["y"].mean(), rtol=1e-10)
    apart = np.log(risks / (1 - risks)) - DATA[["x", "z"]] @ slopes  # the constants of the units
    assert_allclose(apart.groupby(DATA["unit"]).agg(np.ptp), 0.0, atol=1e-9)
    table = res.marginal_effects(slopes="conditional", replications=20, rng=1)
    assert_allclose(table["dy/dx"], slopes * (risks * (1 - risks)).mean(), rtol=1e-9)
    assert (table["std_err"] > 0).all()
    assert_allclose(table, res.marginal_effects(slopes="conditional", replications=20, rng=1))
    assert not np.allclose(table["dy/dx"], res.marginal_effects(replications=0)["dy/dx"], rtol=1e-6)


def test_effects_by_conditional_slopes_are_of_plain_logits():
    weighted = DATA.assign(w=2)
    for found, message in (
        (fit(link="probit", bias="firth"), "needs the logit, not Probit"),
        (fit("y ~ x | unit + year", bias="firth"), "needs one absorbed factor"),
        (fit(data=weighted, freq_weights="w", bias="firth"), "needs rows without weights"),
    ):
        with pytest.raises(IncompatibleOptionsError, match=message):
            found.marginal_effects(slopes="conditional", replications=0)
    with pytest.raises(InvalidOptionError, match="slopes"):
        fit(bias="firth").risks(slopes="strata")


def test_clusters_of_units_say_nothing_about_constants():
    res = fit(cov_type="cluster", cov_kwds={"groups": "unit"})
    with pytest.warns(GevglmWarning, match="scores of a unit sum to zero"):
        table = res.fixed_effects
    assert table["std_err"].isna().all()


def test_statsmodels_words():
    res = fit(bias="firth")
    assert list(res.params.index) == ["x", "z"]
    assert_allclose(res.wald_test("x = 0", scalar=True).statistic, res.tvalues["x"] ** 2, rtol=1e-10)
    assert_allclose(res.conf_int().loc["x"], res.params["x"] + np.array([-1, 1]) * 1.959963984540054 * res.bse["x"])
    text = str(res.summary())
    assert "mean bias reduction" in text and "unit (" in text and "Units left out" in text
    again = pickle.loads(pickle.dumps(res))
    assert_allclose(again.params, res.params)
    with pytest.raises(InvalidOptionError, match="bias-reduced"):
        _ = res.aic
    with pytest.raises(InvalidOptionError, match="bias='median' does not have"):
        fit(bias="median").lr_test()
    with pytest.raises(NotDefinedForLoss):
        _ = fit(link="probit", loss="canonical").llf


# -- what is refused -----------------------------------------------------------------------------


def test_formulas():
    columns = ["y", "x", "unit", "year", "my unit"]
    assert absorbed_in("y ~ x", columns) == ("y ~ x", [])
    assert absorbed_in("y ~ I((x > 1) | (x < 0))", columns) == ("y ~ I((x > 1) | (x < 0))", [])
    assert absorbed_in("y ~ x | C(unit) + `my unit`", columns) == ("y ~ x", ["unit", "my unit"])
    for wrong, message in (
        ("y ~ x | unti", "Did you mean 'unit'"),
        ("y ~ x | unit^year", "column of their own"),
        ("y ~ x | unit | z ~ w", "instrumental"),
        ("y ~ x | x > 1", "goes into I"),
    ):
        with pytest.raises(InvalidDataError, match=message):
            absorbed_in(wrong, columns)


def test_bad_units():
    rng = np.random.default_rng(1)
    cases = {
        "different value in each of the 192 rows": DATA.assign(unit=np.arange(len(DATA))),
        "looks like a measurement": DATA.assign(unit=rng.normal(size=len(DATA)).round(2)),
        "has both outcomes": DATA.assign(y=DATA["unit"] % 2),
        "one level only": DATA.assign(unit="a"),
    }
    for message, data in cases.items():
        with pytest.raises(InvalidDataError, match=message):
            fit(data=data)
    with pytest.raises(InvalidDataError, match="missing in 5 of the 192 rows"):
        fit(data=DATA.assign(unit=DATA["unit"].where(DATA.index >= 5)), missing="none")
    with pytest.raises(InvalidOptionError, match="3 columns"):
        fit("y ~ x", absorb=["unit", "year", "region"])


def test_missing_units_are_missing_rows():
    data = DATA.assign(unit=DATA["unit"].where(DATA.index >= 5))
    with pytest.warns(GevglmWarning):
        res = gevglm.fit("y ~ x + z | unit", data, bias="firth")
    assert_allclose(res.params, fit(data=DATA.iloc[5:], bias="firth").params, rtol=1e-9)
    assert "5 rows with missing values" in str(res.summary())


def test_columns_that_do_not_vary_within_units():
    data = DATA.assign(size=DATA["unit"] ** 2 / 7, twice=2 * DATA["x"] + DATA["region"])
    with pytest.warns(CollinearityWarning, match="size: no variation within 'unit'"):
        res = gevglm.fit("y ~ x + z + size | unit", data, bias="firth")
    assert res.omitted == ["size"]
    assert (res.params["size"], res.bse["size"]) == (0, 0)
    assert_allclose(res.params[["x", "z"]], fit(bias="firth").params, rtol=1e-9)
    with pytest.warns(CollinearityWarning, match=r"twice \(of x\): a linear combination"):
        gevglm.fit("y ~ x + twice | unit", data, bias="firth")
    with pytest.raises(CollinearityError, match="size"):
        fit("y ~ x + size | unit", data, collinear="raise")
    with pytest.raises(CollinearityError):
        fit("y ~ size | unit", data)
    two = data.assign(trend=data["unit"] * 3.0 + data["year"] ** 2)
    with pytest.warns(CollinearityWarning, match="trend: no variation within 'unit' and 'year'"):
        both = gevglm.fit("y ~ x + trend | unit + year", two, bias="firth")
    assert_allclose(both.params["x"], fit("y ~ x | unit + year", two, bias="firth").params["x"], rtol=1e-9)


def test_separation_within_units():
    data = DATA.assign(late=((DATA["y"] == 1) & (DATA["year"] > 3)).astype(float))
    with pytest.warns(SeparationWarning, match="separated within units: the estimates of late"):
        res = gevglm.fit("y ~ x + late | unit", data)
    assert np.isnan(res.bse["late"])
    assert np.isfinite(fit("y ~ x + late | unit", data, bias="firth").params).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"units": "all"}, "units='all' needs bias='firth'"),
        ({"units": "some"}, "units"),
        ({"bias": "flic"}, "not defined for absorbed constants"),
        ({"bias": "logf"}, "not defined for absorbed constants"),
        ({"alpha": 0.1}, "no ridge penalty"),
        ({"prevalence": 0.01}, "prevalence= and absorbed"),
        ({"class_weight": "balanced"}, "class_weight= and absorbed"),
        ({"xi": "ml"}, "give xi as a number"),
        ({"strata": "unit"}, "cannot be combined"),
        ({"absorb": "unit"}, "say the same"),
        ({"separation": "drop"}, "separation='drop'"),
        ({"cov_type": "HAC", "cov_kwds": {"maxlags": 2}}, "not available with absorbed constants"),
        ({"bias": "firth", "var_weights": "count"}, "numbers of observations"),
    ],
)
def test_options_that_have_no_meaning(options, message):
    with pytest.raises((IncompatibleOptionsError, InvalidOptionError), match=message):
        fit(**options)


def test_two_large_factors_have_no_leverages(monkeypatch):
    monkeypatch.setattr("gevglm.panel.units.MOST_LEVELS", 2)
    for options, word in (({"bias": "firth"}, "bias='mean'"), ({"cov_type": "HC3"}, "cov_type='HC3'")):
        with pytest.raises(IncompatibleOptionsError, match=f"{word} needs leverages.* levels of 'unit'"):
            fit("y ~ x | unit + year", **options)
    two = DATA.assign(trend=DATA["unit"] * 3.0 + DATA["year"] ** 2)
    with pytest.warns(CollinearityWarning, match="trend: no variation within 'unit' and 'year'"):
        res = gevglm.fit("y ~ x + trend | unit + year", two)
    assert_allclose(res.params["x"], fit("y ~ x | unit + year", two).params["x"], rtol=1e-9)


def test_a_factor_is_absorbed_or_a_term(monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(IncompatibleOptionsError, match="every row with every unit"):
        patch.setattr("gevglm.panel.estimation.MOST_PRODUCTS", 100)
        fit("y ~ x | unit + year", bias="median")
    with pytest.raises(InvalidDataError, match="'unit' is absorbed and also among the terms"):
        fit("y ~ x + C(unit) | unit")
    with pytest.raises(InvalidDataError, match="constant only"):
        fit("y ~ 1 | unit")
    with pytest.raises(IncompatibleOptionsError, match="units= goes with absorbed"):
        gevglm.fit("y ~ x", DATA, units="all")


@pytest.mark.parametrize("bias", [None, "firth"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "generator", "dask", "dask, sorted"])
def test_rows_in_pieces_give_the_same_bits(kind, bias, tmp_path):
    table = DATA.sort_values("unit", kind="stable", ignore_index=True) if "sorted" in kind else DATA
    sizes = np.array_split(np.arange(len(DATA)), 3)  # units have rows in several pieces
    parts = [table.assign(other=1).iloc[rows] for rows in sizes]
    if kind == "generator":
        data = lambda: iter(parts)  # noqa: E731
    elif "dask" in kind:
        data = pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=3, sort=False)
    else:
        for j, part in enumerate(parts):
            write = part.to_csv if kind == "csv" else part.to_parquet
            write(tmp_path / f"part{j}.{kind}", index=False)
        data = str(tmp_path / f"part*.{kind}")
    if kind == "csv":  # numbers in text are read as they were written
        exact = {} if ROUNDS_EXACTLY else {"float_precision": "round_trip"}
        read = [pd.read_csv(tmp_path / f"part{j}.csv", **exact) for j in range(3)]
        data_in_memory = pd.concat(read, ignore_index=True)
    else:
        data_in_memory = table
    words = {"bias": bias, "cov_type": "cluster", "cov_kwds": {"groups": "unit"}, "subset": "x < 2"}
    found, known = fit(data=data, **words), fit(data=data_in_memory, **words)
    assert_array_equal(found.params, known.params)
    assert_array_equal(found.bse, known.bse)
    assert_array_equal(found.predict(), known.predict())


def test_pieces_that_are_too_large_are_refused(tmp_path, monkeypatch):
    DATA.to_csv(tmp_path / "part0.csv", index=False)
    monkeypatch.setattr("gevglm.data.gathered.physical_memory", lambda: 20_000.0)  # 192 rows of four columns take more
    message = r"columns of the model in memory \(unit, x, z, y\): 192 rows were read, which take about 4.92e-05 GB"
    with pytest.raises(InvalidDataError, match=message):
        fit(data=str(tmp_path / "part*.csv"))
    monkeypatch.setattr("gevglm.data.gathered.physical_memory", lambda: 100_000.0)
    assert fit(data=str(tmp_path / "part*.csv")).converged
