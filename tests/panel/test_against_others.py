"""Absorbed constants: against brglm2 and our own fits with dummies, against pyfixest, and against dense matrices."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.bias import Jeffreys, MeanReduction, MedianReduction
from gevglm.engine.base import Block
from gevglm.engine.grouped import Groups
from gevglm.estimation.arrow import Arrow, BlockColumns
from gevglm.losses import Canonical, Log
from tests.support.golden import named, numbers, synthetic
from tests.support.links_under_test import each_link

GOLDEN = numbers("panel")
PANEL = synthetic("panel")


def made(units=24, periods=8, seed=3):
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), periods)
    constant = rng.normal(-1.2, 0.8, units)
    d = pd.DataFrame({"unit": unit, "year": np.tile(np.arange(periods), units)})
    d["x"] = rng.normal(size=len(d)) + constant[unit]
    d["z"] = rng.normal(size=len(d)) + 0.1 * d["year"]
    risk = 1 / (1 + np.exp(-(constant[unit] + 0.7 * d["x"] - 0.3 * d["z"])))
    d["y"] = (rng.random(len(d)) < risk).astype(int)
    d["cluster"], d["region"], d["count"] = rng.integers(0, 9, len(d)), unit // 3, rng.integers(1, 4, len(d))
    return d.sample(frac=1.0, random_state=1).reset_index(drop=True)


DATA = made()
BOTH = DATA[DATA.groupby("unit")["y"].transform("mean").between(0.001, 0.999)]


def quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gevglm.fit(*args, **options)


def same_as_dummies(formula="y ~ x + z | unit", tol=1e-8, constants=True, **options):
    plain = options.get("bias") in (None, "correction")
    right, factors = formula.split("|")
    data = DATA if "+" not in factors else DATA.sort_values("year")  # so that the references are the same
    ours = quietly(formula, data, **options, units=None if plain else "all")
    dummies = " + ".join(f"C({name.strip()})" for name in factors.split("+"))
    dense = quietly(f"{right} + 0 + {dummies}", data.loc[ours.fittedvalues.index], **options)
    assert ours.converged
    assert dense.converged or "standard errors, more than a one-step correction" in dense.reason
    assert_allclose(ours.params, dense.params[["x", "z"]], atol=tol)
    assert_allclose(ours.bse, dense.bse[["x", "z"]], atol=tol)
    if constants:
        table = ours.fixed_effects if len(ours.absorbed) == 1 else ours.fixed_effects.loc["unit"]
        names, tables = [f"C(unit)[{unit}]" for unit in table.index], [table]
        if len(ours.absorbed) > 1:
            tables.append(ours.fixed_effects.loc["year"].iloc[1:])
            names += [f"C(year)[T.{year}]" for year in tables[1].index]
        table = pd.concat(tables)
        assert_allclose(table["estimate"], dense.params[names], atol=10 * tol)
        assert_allclose(table["std_err"], dense.bse[names], atol=10 * tol)
    return ours, dense


# -- brglm2 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("bias", ["mean", "median"])
@pytest.mark.parametrize("units", ["all", "informative"])
def test_brglm2(link, bias, units):
    first = (bias, units) == ("median", "all")  # with which brglm2 takes minutes
    data, reference = PANEL[PANEL["unit"] <= 100] if first else PANEL, GOLDEN[units][bias][link]
    ours = quietly("y ~ x + z | unit", data, link=link, bias=bias, units=units)
    assert_allclose(ours.params, named(reference["params"]), atol=1e-8)
    assert_allclose(ours.bse, reference["bse"], atol=1e-8)
    assert_allclose(ours.fixed_effects["estimate"][:5], reference["constants"], atol=1e-7)
    assert_allclose(ours.fixed_effects["std_err"][:5], reference["constants_bse"], atol=1e-7)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("bias", ["mean", "median"])
def test_brglm2_two_ways(link, bias):
    reference = numbers("panel_two_ways")[bias][link]
    ours = quietly("y ~ x + z | unit + period", PANEL[PANEL["unit"] <= 40], link=link, bias=bias)
    assert_allclose(ours.params, named(reference["params"]), atol=1e-8)
    assert_allclose(ours.bse, reference["bse"], atol=1e-8)
    units, periods = ours.fixed_effects.loc["unit"], ours.fixed_effects.loc["period"].iloc[1:]
    for table, name in ((units, "units"), (periods, "periods")):
        assert_allclose(table["estimate"], reference[name], atol=1e-7)
        assert_allclose(table["std_err"], reference[f"{name}_bse"], atol=1e-7)


# -- our own fits with dummies -------------------------------------------------------------------


@pytest.mark.parametrize("bias", [None, "mean", "median", "jeffreys", "correction"])
@pytest.mark.parametrize(
    "link", ["logit", "probit", "cloglog", "loglog", gevglm.links.GEV(-0.2), gevglm.links.GEV(0.3)]
)
def test_every_link_and_bias_reduction(link, bias):
    same_as_dummies(link=link, loss="log", bias=bias)


@pytest.mark.parametrize("bias", [None, "mean", "correction"])
@pytest.mark.parametrize("link", ["probit", "cloglog", gevglm.links.GEV(0.3)])
def test_the_canonical_loss(link, bias):
    same_as_dummies(link=link, loss="canonical", bias=bias)


@pytest.mark.parametrize("cov_type", ["HC0", "HC1", "HC2", "HC3", "linearized"])
@pytest.mark.parametrize("loss", ["log", "canonical"])
def test_covariances_of_rows(cov_type, loss):
    same_as_dummies(link="cloglog", loss=loss, cov_type=cov_type)


@pytest.mark.parametrize("kind", ["CR0", "CR1", "CR1S"])
def test_clusters_across_units(kind):
    same_as_dummies(link="probit", cov_type="cluster", cov_kwds={"groups": "cluster", "kind": kind})


def test_clusters_in_two_ways():
    data = DATA.assign(both=DATA["cluster"] * 100 + DATA["year"])

    def covariance(groups):
        options = {"cov_type": "cluster", "cov_kwds": {"groups": groups, "kind": "CR0"}}
        return quietly("y ~ x + z | unit", data, **options).cov_params()

    parts = covariance("cluster") + covariance("year") - covariance("both")
    assert_allclose(covariance(["cluster", "year"]), parts, rtol=1e-9)


@pytest.mark.parametrize("groups", ["unit", "region"])
def test_clusters_of_whole_units(groups):
    same_as_dummies(link="cloglog", cov_type="cluster", cov_kwds={"groups": groups, "kind": "CR1"}, constants=False)


@pytest.mark.parametrize(("bias", "cov_type"), [(None, "HC3"), ("mean", "nonrobust"), ("mean", "HC2")])
def test_frequency_weights(bias, cov_type):
    same_as_dummies(link="cloglog", bias=bias, cov_type=cov_type, freq_weights="count")


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0", "HC3"])
@pytest.mark.parametrize("bias", [None, "mean", "median", "jeffreys"])
def test_two_ways(bias, cov_type):
    same_as_dummies("y ~ x + z | unit + year", link="cloglog", bias=bias, cov_type=cov_type)


@pytest.mark.parametrize("loss", ["log", "canonical"])
def test_two_ways_and_clusters_across_them(loss):
    kwds = {"groups": "cluster", "kind": "CR1"}
    same_as_dummies("y ~ x + z | unit + year", link="probit", loss=loss, cov_type="cluster", cov_kwds=kwds)


@pytest.mark.parametrize("link", ["logit", "cloglog"])
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0", "HC1", "cluster"])
def test_two_large_factors(link, cov_type, monkeypatch):
    options = {"link": link, "cov_type": cov_type}
    options["cov_kwds"] = {"groups": "cluster"} if cov_type == "cluster" else None
    formula = "y ~ x + z | unit + year"
    dense = quietly(formula, DATA, **options)
    monkeypatch.setattr("gevglm.panel.units.MOST_LEVELS", 2)
    ours = quietly(formula, DATA, **options)
    assert ours._fit.panel.groups.large and not dense._fit.panel.groups.large
    assert_allclose(ours.params, dense.params, rtol=1e-10)
    assert_allclose(ours.bse, dense.bse, rtol=1e-10)
    assert_allclose(ours.fixed_effects["estimate"], dense.fixed_effects["estimate"], atol=1e-9)
    assert_allclose([ours.llf, ours.llnull], [dense.llf, dense.llnull], rtol=1e-10)
    assert ours.fixed_effects["std_err"].isna().all()
    assert_allclose(ours.fittedvalues, dense.fittedvalues, atol=1e-10)


def test_two_ways_with_the_canonical_loss():
    same_as_dummies("y ~ x + z | unit + year", link="probit", loss="canonical", bias="mean")


def test_likelihoods():
    ours, dense = same_as_dummies(link="probit")
    assert_allclose([ours.llf, ours.aic, ours.bic], [dense.llf, dense.aic, dense.bic_llf], rtol=1e-9)
    null = quietly("y ~ 0 + C(unit)", BOTH, link="probit")
    assert_allclose(ours.llnull, null.llf, rtol=1e-9)
    assert_allclose(ours.lr_test()[0], 2 * (dense.llf - null.llf), rtol=1e-8)


def test_fitted_values_are_in_the_order_of_the_data():
    ours, dense = same_as_dummies(link="probit")
    assert_allclose(ours.fittedvalues, dense.fittedvalues, atol=1e-8)
    assert list(ours.fittedvalues.index) == list(BOTH.index)
    assert_allclose(ours.predict(BOTH), dense.fittedvalues, atol=1e-8)
    assert_allclose(ours.predict(BOTH, which="linear"), dense.predict(BOTH, which="linear"), atol=1e-7)


def test_fitted_values_of_two_ways():
    ours, dense = same_as_dummies("y ~ x + z | unit + year", constants=False)
    assert_allclose(ours.predict(DATA.loc[ours.fittedvalues.index]), dense.fittedvalues, atol=1e-8)


# -- pyfixest ------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("factors", ["unit", "unit + year"])
def test_pyfixest(link, factors):
    pyfixest = pytest.importorskip("pyfixest")
    formula, data = f"y ~ x + z | {factors}", made(60, 12, 5)
    tight = {"fixef_tol": 1e-12, "iwls_tol": 1e-14, "iwls_maxiter": 200}
    for vcov, options in (
        ("iid", {}),
        ({"CRV1": "unit"}, {"cov_type": "cluster", "cov_kwds": {"groups": "unit"}}),
        ({"CRV1": "region"}, {"cov_type": "cluster", "cov_kwds": {"groups": "region"}}),
    ):
        plain = vcov == "iid"
        ssc = pyfixest.ssc(k_adj=False, G_adj=False) if plain else pyfixest.ssc()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = pyfixest.feglm(formula, data, family=link, vcov=vcov, ssc=ssc, **tight)
        ours = quietly(formula, data, link=link, tol=1e-12, **options)
        assert ours.nobs == theirs._N
        assert_allclose(ours.params, theirs.coef(), atol=1e-6)
        assert_allclose(ours.bse, theirs.se(), rtol=1e-6)


# -- dense matrices and numerical derivatives ----------------------------------------------------


def test_an_arrow_is_the_dense_matrix():
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(6), [1, 3, 5, 2, 4, 5])
    levels = rng.integers(0, 4, 20)  # 3 is the level of reference
    groups = Groups(codes, levels, 3)
    X, W = np.asfortranarray(rng.normal(size=(20, 2))), rng.random(20) + 0.1
    rows = BlockColumns(groups, Block(0, X, np.zeros(20)))
    Z = np.column_stack([codes[:, None] == np.arange(6), levels[:, None] == np.arange(3), X]).astype(float)
    H = Z.T @ (W[:, None] * Z)
    D, (B, gram) = rows.sums(W), rows.moments(W)
    assert_allclose(rows.column_sums(W), B)
    arrow = Arrow(D, B / D, B / D, gram - (B / D) @ B.T)
    rhs, inverse = rng.normal(size=11), np.linalg.inv(H)
    assert arrow.positive
    assert_allclose(arrow.solve(rhs), inverse @ rhs, rtol=1e-9)
    assert_allclose(arrow.times(rhs), H @ rhs, rtol=1e-9)
    assert_allclose(arrow.log_determinant, np.linalg.slogdet(H)[1], rtol=1e-10)
    assert_allclose(arrow.forms.of(rows), np.einsum("ij,jk,ik->i", Z, inverse, Z), rtol=1e-9)
    assert_allclose(arrow.variances_of_constants, np.diagonal(inverse)[:6], rtol=1e-9)
    assert_allclose(rows.linear(rhs[6:]), Z[:, 6:] @ rhs[6:], rtol=1e-12)
    assert_allclose(rows.totals(W), Z[:, 6:].T @ W, rtol=1e-12)


@each_link
def test_derivatives_of_rates(link):
    v = link.at_probability(np.array([0.02, 0.1, 0.3, 0.6, 0.9])).v
    step = 1e-6
    for loss in (Log(link), Canonical(link)):
        functions = [loss.expected_curvature_at, loss.score_variance_at]
        slopes = [loss.expected_curvature_slope_at, loss.score_variance_slope_at]
        for method in (MeanReduction(), MedianReduction(), Jeffreys(0.3)) if loss.is_likelihood else (MeanReduction(),):
            count = len(method.rates(loss, link.at(v)))
            functions += [lambda p, m=method, j=j, loss=loss: m.rates(loss, p)[j] for j in range(count)]
            slopes += [lambda p, m=method, j=j, loss=loss: m.rate_slopes(loss, p)[j] for j in range(count)]
        for function, slope in zip(functions, slopes, strict=True):
            numeric = (function(link.at(v + step)) - function(link.at(v - step))) / (2 * step)
            scale = np.abs(numeric).max() + np.abs(function(link.at(v))).max()
            assert_allclose(slope(link.at(v)), numeric, atol=3e-6 * scale)
