"""CR2 and CR3: the numbers of clubSandwich, what they are by definition, repeated rows, and clusters that leave nothing to estimate from."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import sqrtm
from scipy.sparse import csr_array

import gevglm
from gevglm.covariance import leverage
from gevglm.exceptions import IncompatibleOptionsError, InvalidDataError, InvalidOptionError
from tests.support.golden import arrays, numbers, quiet_fit, same_matrix

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


@pytest.mark.parametrize("kind", ["CR0", "CR2", "CR3"])
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
    res = clustered(*study, kind, **options)
    same_matrix(res.cov_params(), by_definition(res, *study, kind), 1e-9)


@pytest.mark.parametrize("options", [FITS["canonical"], FITS["cloglog"]], ids=["canonical", "log"])
def test_quadrature_and_eigenvalues_agree(study, options, monkeypatch):
    expected = clustered(*study, "CR2", **options).cov_params()
    for few in (0, 1000):
        monkeypatch.setattr(leverage, "FEW_ROWS", few)
        same_matrix(clustered(*study, "CR2", **options).cov_params(), expected, 1e-11)


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
    assert "robust to clustering (12 clusters; CR2)" in str(clustered(*study, "CR2", link="logit").summary())
