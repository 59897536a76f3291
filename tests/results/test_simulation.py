"""Coverage of 95 % intervals at 50 events per coefficient, and of the standard errors behind them."""

import numpy as np
import pytest
from scipy.stats import norm

import gevglm
from gevglm.links import GEV

REPLICATIONS, ROWS, CLUSTERS, XI = 1000, 1500, 150, 0.3
TRUTH = np.array([-0.72, 0.15, 0.2])
LINK = GEV(XI)


def sample(rng, correlation):
    """Rows in clusters; outcomes of a cluster share a normal variable, each has its probability all the same."""
    cluster = np.repeat(np.arange(CLUSTERS), ROWS // CLUSTERS)
    between, within = rng.normal(size=CLUSTERS)[cluster], rng.normal(size=ROWS)
    X = np.column_stack([np.ones(ROWS), np.sqrt(0.5) * (between + within), rng.random(CLUSTERS)[cluster] < 0.4])
    shared, own = rng.normal(size=CLUSTERS)[cluster], rng.normal(size=ROWS)
    latent = norm.cdf(np.sqrt(correlation) * shared + np.sqrt(1.0 - correlation) * own)
    return (latent < LINK.inverse(X @ TRUTH)).astype(float), X, cluster


@pytest.fixture(scope="module", params=["log", "canonical"])
def loss(request):
    return request.param


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0", "cluster"])
def test_coverage(loss, cov_type):
    rng = np.random.default_rng(20240917)
    estimates, errors, events = [], [], []
    for _ in range(REPLICATIONS):
        y, X, cluster = sample(rng, correlation=0.2 if cov_type == "cluster" else 0.0)
        options = {"cov_kwds": {"groups": cluster}} if cov_type == "cluster" else {}
        res = gevglm.fit(y, X, link="gev", xi=XI, loss=loss, cov_type=cov_type, **options)
        estimates.append(res.params)
        errors.append(res.bse)
        events.append(y.sum())
    estimates, errors = np.array(estimates), np.array(errors)
    assert min(events) / len(TRUTH) > 40
    covered = (np.abs(estimates - TRUTH) < norm.ppf(0.975) * errors).mean(axis=0)
    monte_carlo_error = np.sqrt(0.95 * 0.05 / REPLICATIONS)
    assert np.abs(covered - 0.95).max() < 3.0 * monte_carlo_error
    assert np.abs(errors.mean(axis=0) / estimates.std(axis=0) - 1.0).max() < 4.0 / np.sqrt(2 * REPLICATIONS)


def test_ignoring_clusters_is_not_covered(loss):
    """The simulation can tell right from wrong: without the clusters the intervals are too short."""
    rng = np.random.default_rng(20240918)
    covered = []
    for _ in range(200):
        y, X, _cluster = sample(rng, correlation=0.2)
        limits = gevglm.fit(y, X, link="gev", xi=XI, loss=loss).conf_int()
        covered.append((limits[:, 0] < TRUTH) & (TRUTH < limits[:, 1]))
    assert np.mean(covered, axis=0).min() < 0.9
