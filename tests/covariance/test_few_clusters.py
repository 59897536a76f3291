"""CR2 and CR3: the numbers of clubSandwich, what they are by definition, repeated rows, and clusters that leave nothing to estimate from."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import sqrtm
from scipy.sparse import csr_array

import gevglm
from gevglm.covariance import leverage
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError, InvalidOptionError
from tests.support.golden import arrays, numbers, quiet_fit, same_matrix, text_of

CLUSTERS = {
    "rare": lambda rows: rows // 7 % 12,
    "birthwt": lambda rows: rows % 14,
}  # as golden/make_few_clusters.R has them
FITS = {
    "logit": {"link": "logit"},
    "cloglog": {"link": "cloglog"},
    "canonical": {"xi": 0.4},
    "log loss": {"xi": 0.2, "loss": "log"},
    "firth": {"link": "logit", "bias": "firth"},
    "ridge": {"link": "logit", "alpha": 0.02},
}


def clustered(y, X, groups, kind, **options):
    return quiet_fit(y, X, cov_type="cluster", cov_kwds={"groups": groups, "kind": kind}, **options)


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(5)
    sizes = np.array([4, 7, 9, 12, 15, 20, 26, 34, 48, 70, 90, 110])
    clinic = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = np.column_stack([np.ones(len(clinic)), rng.standard_normal(len(clinic)), clinic % 3 == 0]).astype(float)
    shift = 0.4 * rng.standard_normal(len(sizes))
    y = (rng.random(len(clinic)) < 1.0 / (1.0 + np.exp(1.2 - 0.6 * X[:, 1] - shift[clinic]))).astype(float)
    return y, X, clinic


@pytest.mark.parametrize("kind", ["CR0", "CR1", "CR2", "CR3"])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("name", CLUSTERS)
def test_covariances_are_those_of_clubsandwich(name, link, kind):
    y, X = arrays(name)
    res = clustered(y, X, CLUSTERS[name](np.arange(len(X))), kind, link=link, tol=1e-14)
    same_matrix(res.cov_params(), numbers("few_clusters")["cases"][name][link][kind], 1e-8)


def by_definition(res, y, X, clinic, kind):
    """The covariance from matrices as large as the data."""
    link, loss = res.link, res.loss
    point = link.at(X @ np.asarray(res.params))
    theta = point.cdf * point.sf
    D, E = point.pdf[:, None] * X, loss.residual_factor_at(point)[:, None] * X
    M = np.asarray(res.normalized_cov_params)
    kept = np.eye(len(X)) - D @ M @ E.T
    B = kept @ np.diag(theta) @ kept.T
    meat = np.zeros_like(M)
    for code in np.unique(clinic):
        rows = np.ix_(clinic == code, clinic == code)
        if kind == "CR2":
            half = np.diag(np.sqrt(theta[clinic == code]))
            A = half @ np.linalg.inv(sqrtm(half @ B[rows] @ half).real) @ half
        else:
            A = np.linalg.inv(kept[rows])
        score = E[clinic == code].T @ A @ (y - point.cdf)[clinic == code]
        meat += np.outer(score, score)
    return M @ meat @ M


@pytest.mark.parametrize("kind", ["CR2", "CR3"])
@pytest.mark.parametrize("options", FITS.values(), ids=FITS)
def test_covariances_are_what_the_definition_says(study, options, kind):
    res = clustered(*study, kind, tol=1e-13, **options)
    same_matrix(res.cov_params(), by_definition(res, *study, kind), 1e-9)


@pytest.mark.parametrize("options", [FITS["canonical"], FITS["cloglog"]], ids=["canonical", "log"])
def test_quadrature_and_eigenvalues_agree(study, options, monkeypatch):
    expected = clustered(*study, "CR2", **options).cov_params()
    for few in (0, 1000):
        monkeypatch.setattr(leverage, "FEW_ROWS", few)
        same_matrix(clustered(*study, "CR2", **options).cov_params(), expected, 1e-11)


@pytest.mark.parametrize(
    "options", [FITS["logit"], FITS["cloglog"], FITS["canonical"]], ids=["logit", "cloglog", "canonical"]
)
def test_cr3_is_the_jackknife_of_one_fisher_scoring_step(study, options):
    y, X, clinic = study
    res = clustered(*study, "CR3", tol=1e-12, **options)
    point = res.link.at(X @ np.asarray(res.params))
    score, curvature = -res.loss.slope_at(y, point), res.loss.expected_curvature_at(point)
    steps = []
    for code in np.unique(clinic):
        kept = clinic != code
        steps.append(np.linalg.solve((X[kept].T * curvature[kept]) @ X[kept], X[kept].T @ score[kept]))
    same_matrix(res.cov_params(), np.transpose(steps) @ np.array(steps), 1e-9)


def test_risks_of_all_sizes_keep_their_digits(study):
    """Eigenvalues over sixteen orders of magnitude; the scores of the rows next to certain are next to nothing."""
    y, X, clinic = study
    X = np.column_stack([X, np.where(np.arange(len(y)) % 5 == 0, -18.0, 0.0)])
    y = np.where(X[:, 3] < 0, 0.0, y)
    res = gevglm.fit(y, X, link="logit", alpha=0.5, cov_type="cluster", cov_kwds={"groups": clinic, "kind": "CR2"})
    assert np.isfinite(res.bse).all()
    assert_allclose(res.bse, clustered(y, X, clinic, "CR3", link="logit", alpha=0.5).bse, rtol=0.2)


@pytest.mark.parametrize("kind", ["CR2", "CR3"])
@pytest.mark.parametrize(
    "options", [FITS["logit"], FITS["canonical"], FITS["firth"]], ids=["logit", "canonical", "firth"]
)
def test_weights_are_repeated_rows(study, options, kind):
    y, X, clinic = study
    copies = np.random.default_rng(1).integers(0, 4, len(y))
    expected = clustered(*(np.repeat(part, copies, axis=0) for part in study), kind, **options)
    weighted = clustered(y, X, clinic, kind, freq_weights=copies, **options)
    assert_allclose(weighted.bse, expected.bse, rtol=1e-9)
    order = np.random.default_rng(2).permutation(len(y))
    assert_allclose(
        clustered(y[order], X[order], clinic[order], kind, **options).bse,
        clustered(*study, kind, **options).bse,
        rtol=1e-9,
    )


@pytest.mark.parametrize("kind", ["CR2", "CR3"])
def test_counts_are_repeated_rows(kind):
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(24), rng.standard_normal(24)])
    trials, clinic = rng.integers(3, 9, 24), np.arange(24) // 3
    events = rng.binomial(trials, 0.3)
    counts = clustered(np.column_stack([events, trials - events]), X, clinic, kind, link="logit")
    outcomes = np.concatenate([[1.0] * won + [0.0] * (all_ - won) for won, all_ in zip(events, trials, strict=True)])
    rows = clustered(outcomes, np.repeat(X, trials, axis=0), np.repeat(clinic, trials), kind, link="logit")
    assert_allclose(counts.bse, rows.bse, rtol=1e-9)


@pytest.mark.parametrize("kind", ["CR2", "CR3"])
def test_sparse_rows_are_rows(study, kind):
    y, X, clinic = study
    assert_allclose(
        clustered(y, csr_array(X), clinic, kind, link="logit").bse,
        clustered(y, X, clinic, kind, link="logit").bse,
        rtol=1e-10,
    )


def test_a_column_of_one_cluster_has_no_jackknife_and_cr2_goes_by_the_pseudoinverse(study):
    y, X, clinic = study
    X = np.column_stack([X, clinic == 7])
    with pytest.raises(
        InvalidDataError, match=r"without cluster 7 some coefficient could not be estimated.*kind='CR2'"
    ):
        clustered(y, X, clinic, "CR3", link="logit")
    res = clustered(y, X, clinic, "CR2", link="logit", tol=1e-14)
    point = res.link.at(X @ res.params)
    theta, M = point.cdf * point.sf, res.normalized_cov_params
    meat = np.zeros_like(M)
    for code in np.unique(clinic):
        rows = clinic == code
        D, half = point.pdf[rows, None] * X[rows], np.sqrt(theta[rows])[:, None]
        values, vectors = np.linalg.eigh(half * (np.diag(theta[rows]) - D @ M @ D.T) * half.T)
        inverse = np.where(values > 1e-10, 1.0 / np.sqrt(np.maximum(values, 1e-300)), 0.0)
        A = half * ((vectors * inverse) @ vectors.T) * half.T
        score = X[rows].T @ A @ (y - point.cdf)[rows]
        meat += np.outer(score, score)
    same_matrix(res.cov_params(), M @ meat @ M, 1e-8)


def test_what_they_are_not_defined_for_is_refused(study):
    y, X, clinic = study
    with pytest.raises(IncompatibleOptionsError, match="one way, but groups has two columns"):
        clustered(y, X, np.column_stack([clinic, np.arange(len(y)) % 5]), "CR2", link="logit")
    table = pd.DataFrame({"y": y, "x": X[:, 1], "clinic": clinic})
    words = {"cov_type": "cluster", "cov_kwds": {"groups": "clinic", "kind": "CR2"}}
    with pytest.raises(InvalidOptionError, match="needs them in memory; use kind='CR1'"):
        gevglm.fit("y ~ x", lambda: iter([table]), link="logit", **words)
    with pytest.raises(InvalidOptionError, match=r"by leverages .* are not defined when xi is estimated"):
        gevglm.fit("y ~ x", table, xi="ml", loss="log", **words)


def test_the_summary_names_the_kind(study):
    assert "robust to clustering (12 clusters; CR2)" in text_of(clustered(*study, "CR2", link="logit"))


# -- degrees of freedom -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["CR0", "CR1", "CR2", "CR3"])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("name", CLUSTERS)
def test_degrees_of_freedom_and_joint_tests_are_those_of_clubsandwich(name, link, kind):
    y, X = arrays(name)
    words = {"link": link, "tol": 1e-14, "use_t": "satterthwaite"}
    res = clustered(y, X, CLUSTERS[name](np.arange(len(X))), kind, **words)
    golden, k = numbers("few_clusters")["cases"][name][link]["tests"][kind], X.shape[1]
    assert_allclose(res.df_resid_inference, golden["df"], rtol=1e-8)
    assert_allclose(res.pvalues, golden["p"], rtol=1e-8)
    equal = np.zeros((1, k))
    equal[0, -2:] = 1.0, -1.0
    for restriction, expected in ((np.eye(k)[1:], golden["slopes"]), (equal, golden["equal"])):
        test = res.wald_test(restriction, scalar=True)
        assert_allclose([test.statistic, test.df_denom, test.pvalue], list(expected.values()), rtol=1e-8)
    single = res.t_test(equal)
    assert_allclose([single.pvalue, single.df_denom[0]], [golden["equal"]["p"], golden["equal"]["df"]], rtol=1e-8)


def spread_by_definition(res, X, clinic):
    """Satterthwaite's degrees of freedom from the G x G matrix of the quadratic form of each coefficient."""
    link, loss = res.link, res.loss
    point = link.at(X @ np.asarray(res.params))
    theta = point.cdf * point.sf
    D, E = point.pdf[:, None] * X, loss.residual_factor_at(point)[:, None] * X
    M = np.asarray(res.normalized_cov_params)
    kept = np.eye(len(X)) - D @ M @ E.T
    B = kept @ np.diag(theta) @ kept.T
    sides = []
    for code in np.unique(clinic):
        rows = clinic == code
        half = np.diag(np.sqrt(theta[rows]))
        A = half @ np.linalg.inv(sqrtm(half @ B[np.ix_(rows, rows)] @ half).real) @ half
        sides.append(kept[rows].T @ A @ E[rows] @ M)  # of shape (n, k)
    found = []
    for j in range(X.shape[1]):
        vectors = np.array([side[:, j] for side in sides])
        P = (vectors * theta) @ vectors.T
        found.append(np.trace(P) ** 2 / (P**2).sum())
    return np.array(found)


@pytest.mark.parametrize("options", FITS.values(), ids=FITS)
def test_degrees_of_freedom_are_what_the_definition_says(study, options):
    res = clustered(*study, "CR2", use_t="satterthwaite", **options)
    _, X, clinic = study
    assert_allclose(res.df_resid_inference, spread_by_definition(res, X, clinic), rtol=1e-7)


def test_degrees_of_freedom_are_everywhere_in_the_results(study, tmp_path):
    y, X, clinic = study
    table = pd.DataFrame({"y": y, "x": X[:, 1], "treat": X[:, 2], "clinic": clinic})
    words = {"link": "logit", "cov_type": "cluster", "cov_kwds": {"groups": "clinic", "kind": "CR2"}}
    words["formula_engine"] = "patsy"  # for tests of terms by statsmodels before 0.15
    res = gevglm.fit("y ~ x + treat", table, use_t="satterthwaite", **words)
    df = res.df_resid_inference
    limits = res.conf_int()
    reach = scipy.stats.t(df).isf(0.025) * res.bse
    assert_allclose(limits, np.column_stack([res.params - reach, res.params + reach]))
    assert_allclose(res.anova().table["pvalue"], res.pvalues[1:], rtol=1e-9)
    assert_allclose(res.wald_test("treat = 0").pvalue, res.pvalues["treat"], rtol=1e-9)
    both = res.wald_test("x = 0, treat = 0", scalar=True)
    assert f"Wald F (2): {both.statistic:.4g}"[:18] in text_of(res)
    assert_allclose(res.f_test("treat = 0").pvalue, res.pvalues["treat"], rtol=1e-9)
    assert_allclose(res.wald_test_terms(scalar=True).pvalues[1:], res.pvalues[1:], rtol=1e-9)
    linear = res.get_prediction(table.iloc[:2], which="linear")
    assert_allclose(linear.df, res.degrees.of_contrasts(X[:2]), rtol=1e-9)
    risk = res.risk("treat", contrast="difference")
    z = risk.table["estimate"] / risk.table["se"]
    assert (risk.pvalues > 2 * scipy.stats.norm.sf(np.abs(z))).all()
    assert "Satterthwaite's degrees of freedom: Intercept" in text_of(res)
    res.save(tmp_path / "fit.pickle")
    assert_allclose(
        gevglm.load(tmp_path / "fit.pickle").wald_test("x = 0, treat = 0").pvalue,
        res.wald_test("x = 0, treat = 0").pvalue,
    )
    normal = gevglm.fit("y ~ x + treat", table, **words)
    assert_allclose(normal.pvalues, 2 * scipy.stats.norm.sf(np.abs(normal.tvalues)), rtol=1e-12)


def test_an_omitted_column_does_not_count(study):
    y, X, clinic = study
    twice = np.column_stack([X, X[:, 1]])
    with pytest.warns(gevglm.exceptions.CollinearityWarning):
        res = gevglm.fit(
            y,
            twice,
            link="logit",
            use_t="satterthwaite",
            cov_type="cluster",
            cov_kwds={"groups": clinic, "kind": "CR2"},
        )
    plain = clustered(y, X, clinic, "CR2", link="logit", use_t="satterthwaite")
    assert_allclose(res.df_resid_inference[:3], plain.df_resid_inference, rtol=1e-7)
    expected = plain.wald_test(np.eye(3)[1:], scalar=True)
    found = res.wald_test(np.eye(4)[1:3], scalar=True)
    assert_allclose([found.statistic, found.df_denom], [expected.statistic, expected.df_denom], rtol=1e-7)


@pytest.mark.filterwarnings("ignore:the two-way cluster-robust covariance")
def test_degrees_of_freedom_that_there_are_not(study):
    y, X, clinic = study
    with pytest.raises(InvalidOptionError, match="use_t='welch' must be True, False or 'satterthwaite'"):
        clustered(y, X, clinic, "CR2", link="logit", use_t="welch")
    with pytest.raises(IncompatibleOptionsError, match="the covariance is 'nonrobust'"):
        gevglm.fit(y, X, link="logit", use_t="satterthwaite")
    with pytest.raises(IncompatibleOptionsError, match="groups has two columns"):
        clustered(y, X, np.column_stack([clinic, np.arange(len(y)) % 5]), "CR1", link="logit", use_t="satterthwaite")
    with pytest.raises(IncompatibleOptionsError, match="not defined when xi is estimated"):
        clustered(y, X, clinic, "CR1", xi="ml", loss="log", use_t="satterthwaite")
    table = pd.DataFrame({"y": y, "x": X[:, 1], "clinic": clinic})
    words = {"cov_type": "cluster", "cov_kwds": {"groups": "clinic"}, "use_t": "satterthwaite"}
    with pytest.raises(InvalidOptionError, match="needs them in memory"):
        gevglm.fit("y ~ x", lambda: iter([table]), link="logit", **words)


# -- what the summary says of clusters -----------------------------------------------------------


def test_facts_of_clusters(study):
    y, X, clinic = study
    res = clustered(*study, "CR1S", link="logit")
    facts, mu = res.clusters, 1.0 / (1.0 + np.exp(-X @ res.params))
    weight, M = mu * (1 - mu), np.asarray(res.normalized_cov_params)
    parts = np.array([M @ (X[clinic == g].T * weight[clinic == g]) @ X[clinic == g] @ M for g in range(12)])
    leverage = [np.trace(part @ np.linalg.inv(M)) for part in parts]
    gamma = np.einsum("gjj->gj", parts)
    assert (facts.n_clusters, facts.n_with_events) == (12, len(np.unique(clinic[y == 1])))
    assert_allclose(facts.largest_leverage, max(leverage), rtol=1e-6)
    assert_allclose(facts.effective, gamma.sum(axis=0) ** 2 / (gamma**2).sum(axis=0), rtol=1e-6)
    assert_allclose(facts.mean_leverage, np.mean(leverage), rtol=1e-6)


def test_designs_of_many_columns_have_no_leverages(study, monkeypatch):
    monkeypatch.setattr("gevglm.covariance.cluster_facts.MOST_COLUMNS", 2)
    res = clustered(*study, "CR1S", link="logit")
    assert np.isnan(res.clusters.largest_leverage)
    assert "12 clusters, 11 of them with events." in text_of(res)
    assert "FEW" not in text_of(res)


def test_the_summary_warns_of_few_clusters(study):
    y, X, clinic = study
    text = text_of(clustered(y, X, clinic % 6, "CR1S", link="logit"))
    assert "6 clusters, 6 of them with events; the largest leverage of a cluster is" in text
    assert "FEW CLUSTERS: only 6 clusters have events" in text
    assert "kind': 'CR2'" in text and "wild_test()" in text
    lone = np.column_stack([X[:, :2], clinic == 11])
    text = text_of(clustered(y, lone, np.where(clinic == 11, 11, np.arange(len(y)) % 200 + 20), "CR1S", link="logit"))
    assert "x2 is estimated from the differences of few clusters (effectively 2)" in text
    text = text_of(clustered(y, X, np.arange(len(y)) % 430, "CR1S", link="logit"))
    assert "Nearly every observation is a cluster of its own" in text and "FEW" not in text
    text = text_of(clustered(y, lone, clinic, "CR2", link="logit", use_t="satterthwaite"))
    assert "effectively fewer than 3 clusters (x2)" in text


def test_clusters_that_are_nearly_the_rows_are_suspected(study):
    y, X, _ = study
    text = text_of(clustered(y, X, np.arange(len(y)), "CR1S", link="logit"))
    assert "Nearly every observation is a cluster of its own" in text


@pytest.mark.parametrize("options", [FITS["logit"], FITS["canonical"]], ids=["logit", "canonical"])
def test_a_cluster_among_many_is_corrected_by_a_series_as_exactly(options, monkeypatch):
    """Many clusters of many rows, where what a cluster changes is small: against the solution of its equations, and the definition."""
    rng = np.random.default_rng(8)
    clinic = np.repeat(np.arange(30), 70)
    X = np.column_stack([np.ones(len(clinic)), rng.standard_normal((len(clinic), 9))])
    y = (rng.random(len(clinic)) < 1.0 / (1.0 + np.exp(2.5 - X[:, 1]))).astype(float)
    by_series = clustered(y, X, clinic, "CR2", tol=1e-12, **options)
    assert np.diagonal(by_series.cov_params()).all()
    monkeypatch.setattr(leverage, "MANY_CLUSTERS", 0.0)
    solved = clustered(y, X, clinic, "CR2", tol=1e-12, **options)
    same_matrix(by_series.cov_params(), solved.cov_params(), 1e-12)
    if options is FITS["logit"]:  # with the other link, risks of 0 have no variance to divide by
        same_matrix(solved.cov_params(), by_definition(solved, y, X, clinic, "CR2"), 1e-10)
    assert by_series.clusters.largest_leverage == pytest.approx(
        clustered(y, X, clinic, "CR1", tol=1e-12, **options).clusters.largest_leverage, rel=1e-9
    )


def test_threads_change_nothing(study, monkeypatch):
    expected = clustered(*study, "CR2", link="logit").cov_params()
    monkeypatch.setattr(leverage, "ROWS_OF_THREAD", 50)
    assert_array_equal(clustered(*study, "CR2", link="logit").cov_params(), expected)
    y, X, clinic = study
    with pytest.raises(InvalidDataError, match="without cluster 7 some coefficient could not be estimated"):
        clustered(y, np.column_stack([X, clinic == 7]), clinic, "CR3", link="logit")
