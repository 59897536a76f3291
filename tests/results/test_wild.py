"""The wild bootstrap of clusters: against full enumeration by another package, its intervals, data in pieces, and what is refused."""

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import GevglmWarning, InvalidDataError, InvalidOptionError

FITS = {
    "logit": {"link": "logit"},
    "cloglog": {"link": "cloglog"},
    "canonical": {"xi": 0.3},
    "firth": {"link": "logit", "bias": "firth"},
}


@pytest.fixture(scope="module")
def trial():
    rng = np.random.default_rng(1)
    sizes = np.linspace(25, 110, 9).astype(int)
    clinic = np.repeat(np.arange(9), sizes)
    table = pd.DataFrame({"clinic": clinic, "x": rng.standard_normal(len(clinic)), "treat": (clinic % 3 == 0) * 1.0})
    linear = -2.2 + 0.4 * table["x"] + 0.5 * rng.standard_normal(9)[clinic]
    table["y"] = (rng.random(len(clinic)) < 1.0 / (1.0 + np.exp(-linear))).astype(float)
    return table


def fitted(table, **options):
    words = {"cov_type": "cluster", "cov_kwds": {"groups": "clinic"}, "tol": 1e-11}
    return gevglm.fit("y ~ x + treat", table, **words | options)


def restricted(table, options, j, value=0.0):
    """Scores and curvatures of the rows at the estimates with one coefficient held: for Firth's penalty by brute force."""
    X = np.column_stack([np.ones(len(table)), table["x"], table["treat"]])
    others = [c for c in range(3) if c != j]
    if "bias" in options:
        from scipy.optimize import minimize

        def penalised(free):
            b = np.insert(free, j, value)
            mu = 1.0 / (1.0 + np.exp(-X @ b))
            information = (X.T * (mu * (1 - mu))) @ X
            return -(np.log(np.where(table["y"] == 1, mu, 1 - mu)).sum() + 0.5 * np.linalg.slogdet(information)[1])

        free = minimize(
            penalised,
            np.array([-2.0, 0.0]),
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000},
        ).x
        b = np.insert(free, j, value)
        mu = 1.0 / (1.0 + np.exp(-X @ b))
        weight = mu * (1 - mu)
        leverage = weight * np.einsum("ij,jk,ik->i", X, np.linalg.inv((X.T * weight) @ X), X)
        return X, table["y"] - mu + leverage * (0.5 - mu), weight
    model = gevglm.BinaryGLM(table["y"].to_numpy(), X[:, others], offset=value * X[:, j], **options)
    res = model.fit(tol=1e-11)
    point = res.link.at(X[:, others] @ res.params + value * X[:, j])
    return X, -res.loss.slope_at(table["y"].to_numpy(), point), res.loss.expected_curvature_at(point)


@pytest.mark.parametrize("statistic", ["WL", "KS"])
@pytest.mark.parametrize("options", FITS.values(), ids=FITS)
def test_p_values_are_those_of_full_enumeration(trial, options, statistic):
    """By regressions of weighted residuals, with the cluster-robust t of statsmodels, over all vectors of signs."""
    clinic = trial["clinic"].to_numpy()
    found = fitted(trial, **options).wild_test(weights="rademacher", statistic=statistic)
    assert found.enumerated and found.draws == 2**9
    for j, name in ((1, "x"), (2, "treat")):
        X, score, weight = restricted(trial, options, j)
        Z, e = np.sqrt(weight)[:, None] * X, np.asarray(score) / np.sqrt(weight)
        a = np.linalg.inv(Z.T @ Z)[j]
        u = np.bincount(clinic, (Z @ a) * e)

        def t_squared(signs, Z=Z, e=e, u=u, j=j):
            if statistic == "KS":
                return (signs @ u) ** 2 / (u @ u)
            fit = sm.OLS(signs[clinic] * e, Z).fit()
            cov = sm.stats.sandwich_covariance.cov_cluster(fit, clinic, use_correction=False)
            return fit.params[j] ** 2 / cov[j, j]

        observed = t_squared(np.ones(9))
        every = np.array([t_squared(np.array(signs)) for signs in itertools.product([-1.0, 1.0], repeat=9)])
        rtol = 1e-4 if "bias" in options else 1e-7
        assert_allclose(found.table.loc[name, "statistic"], observed, rtol=rtol)
        assert_allclose(found.pvalues[name], (every >= observed * (1 - 1e-6)).mean(), atol=1e-12)


@pytest.mark.parametrize(("weights", "clusters"), [("rademacher", 5), ("rademacher", 12), ("webb", 4), ("webb", 5)])
def test_p_values_are_those_of_all_vectors_of_weights(weights, clusters):
    """All at once: regressions of weighted residuals on the columns, and their cluster-robust t without a factor."""
    rng = np.random.default_rng(clusters)
    code = np.repeat(np.arange(clusters), np.linspace(20, 60, clusters).astype(int))
    table = pd.DataFrame({"clinic": code, "x": rng.standard_normal(len(code)), "treat": (code % 3 == 0) * 1.0})
    linear = -1.0 + 0.5 * rng.standard_normal(clusters)[code]
    table["y"] = (rng.random(len(code)) < 1.0 / (1.0 + np.exp(-linear))).astype(float)
    options = {"link": "logit"}
    values = [1.0, -1.0] if weights == "rademacher" else [s * np.sqrt(v) for s in (1, -1) for v in (0.5, 1.0, 1.5)]
    found = fitted(table, **options).wild_test(weights=weights)
    assert found.enumerated and found.draws == len(values) ** clusters
    every = np.array([np.ones(clusters), *itertools.product(values, repeat=clusters)])
    member = (code == np.arange(clusters)[:, None]).astype(float)
    for j, name in ((1, "x"), (2, "treat")):
        X, score, weight = restricted(table, options, j)
        Z, e = np.sqrt(weight)[:, None] * X, np.asarray(score) / np.sqrt(weight)
        a, outcomes = np.linalg.inv(Z.T @ Z)[j], every[:, code] * e
        params = outcomes @ Z @ np.linalg.inv(Z.T @ Z)
        errors = (((outcomes - params @ Z.T) * (Z @ a)) @ member.T) ** 2
        squared = params[:, j] ** 2 / errors.sum(axis=1)
        assert_allclose(found.table.loc[name, "statistic"], squared[0], rtol=1e-7)
        assert_allclose(found.pvalues[name], (squared[1:] >= squared[0] * (1 - 1e-6)).mean(), atol=1e-12)


def test_intervals_end_where_hypotheses_are_rejected(trial):
    res = fitted(trial, link="logit")
    found = res.wild_test(weights="rademacher")
    limits, error = found.conf_int().loc["x"], 1e-3 * res.bse["x"]
    for limit, side in zip(limits, (-1, 1), strict=True):
        inside = res.wild_test(f"x = {limit - side * error}", weights="rademacher").pvalues.iloc[0]
        outside = res.wild_test(f"x = {limit + side * error}", weights="rademacher").pvalues.iloc[0]
        assert inside > 0.05 >= outside
    assert list(found.summary_frame().columns) == [
        "estimate",
        "hypothesis",
        "statistic",
        "pvalue",
        "ci_lower",
        "ci_upper",
    ]
    assert np.isinf(found.conf_int(alpha=0.001).to_numpy()).any()  # 2^-8 is the smallest p-value


def test_draws_are_near_enumeration_and_repeatable(trial):
    res = fitted(trial, link="logit")
    everything = res.wild_test(weights="rademacher").pvalues
    drawn = res.wild_test(weights="rademacher", draws=500, rng=3)
    assert not drawn.enumerated
    assert np.abs(drawn.pvalues - everything).max() < 4 * np.sqrt(0.25 / 500)
    pd.testing.assert_frame_equal(res.wild_test(weights="rademacher", draws=500, rng=3).table, drawn.table)
    assert res.wild_test(rng=1).weights == "webb"
    assert res.wild_test(groups=np.arange(len(trial)) % 12, rng=1).weights == "rademacher"
    assert "9 clusters (WL; 512 vectors of rademacher weights, all)" in str(res.wild_test(weights="rademacher"))


def test_webb_enumerated():
    rng = np.random.default_rng(2)
    clinic = np.repeat(np.arange(4), 40)
    y, x = (rng.random(160) < 0.3).astype(float), rng.standard_normal(160)
    res = gevglm.fit(
        y, np.column_stack([np.ones(160), x]), link="logit", cov_type="cluster", cov_kwds={"groups": clinic}
    )
    found = res.wild_test()
    assert (found.enumerated, found.draws, found.weights) == (True, 6**4, "webb")
    assert np.abs(found.pvalues - res.wild_test(draws=1200, rng=1).pvalues).max() < 0.06


def test_contrasts_are_coordinates_of_other_columns(trial):
    res = fitted(trial, link="logit")
    turned = trial.assign(both=trial["x"] + trial["treat"])
    other = gevglm.fit(
        "y ~ both + treat", turned, link="logit", cov_type="cluster", cov_kwds={"groups": "clinic"}, tol=1e-11
    )
    # b_both both + b_treat treat = b_both x + (b_both + b_treat) treat
    expected = other.wild_test("treat = 0.1", weights="rademacher").table
    found = res.wild_test("treat - x = 0.1", weights="rademacher").table
    assert_allclose(
        found[["estimate", "statistic", "pvalue"]], expected[["estimate", "statistic", "pvalue"]], rtol=1e-6
    )


def test_rows_in_pieces_and_weights(trial):
    whole = fitted(trial, link="logit").wild_test(weights="rademacher").table
    pieces = (
        fitted(lambda: iter([trial.iloc[:200], trial.iloc[200:]]), link="logit").wild_test(weights="rademacher").table
    )
    assert_allclose(pieces, whole, rtol=1e-7)
    twice = fitted(pd.concat([trial, trial]), link="logit").wild_test(weights="rademacher").table
    weighted = fitted(trial.assign(n=2), link="logit", freq_weights="n").wild_test(weights="rademacher").table
    assert_allclose(weighted, twice, rtol=1e-7)


def test_one_treated_cluster_is_refused(trial):
    table = trial.assign(treat=(trial["clinic"] == 4) * 1.0)
    res = fitted(table, link="logit")
    with pytest.raises(
        InvalidDataError, match=r"no estimate of treat \(cluster 4\), as of a treatment that one cluster has"
    ):
        res.wild_test("treat = 0")
    with pytest.warns(GevglmWarning, match="no estimate of treat"):
        found = res.wild_test(weights="rademacher")
    assert np.isnan(found.pvalues["treat"]) and found.pvalues["x"] > 0
    assert np.isnan(found.conf_int().loc["treat"]).all()


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.WeakShapeWarning")
def test_what_there_is_no_test_of_is_refused(trial):
    res = fitted(trial, link="logit")
    with pytest.raises(InvalidOptionError, match="'webb'"):
        res.wild_test(weights="normal")
    with pytest.raises(InvalidOptionError, match="'KS'"):
        res.wild_test(statistic="t")
    with pytest.raises(InvalidOptionError, match="draws=5 must be a whole number of at least 19"):
        res.wild_test(draws=5)
    with pytest.raises(InvalidOptionError, match="needs clusters: groups="):
        gevglm.fit("y ~ x", trial, link="logit").wild_test()
    with pytest.raises(InvalidDataError, match="at least three clusters, but there are 2"):
        res.wild_test(groups=np.arange(len(trial)) % 2)
    with pytest.raises(InvalidDataError, match="at least three clusters, but there is 1"):
        res.wild_test(groups=np.zeros(len(trial)))
    with pytest.raises(InvalidOptionError, match="groups has two columns; give one"):
        res.wild_test(groups=np.column_stack([trial["clinic"], trial["clinic"] % 2]))
    with pytest.raises(InvalidOptionError, match="penalised"):
        fitted(trial, link="logit", alpha=1.0).wild_test()
    with pytest.raises(InvalidOptionError, match="not for bias='median'"):
        fitted(trial, link="logit", bias="median").wild_test()
    with pytest.raises(InvalidOptionError, match="not defined when xi is estimated"):
        fitted(trial, xi="ml", loss="log").wild_test()
    with pytest.raises(InvalidOptionError, match="no coefficient but the constant"):
        gevglm.fit("y ~ 1", trial, link="logit").wild_test(groups="clinic")
