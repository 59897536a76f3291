"""Saddle-point approximation of scores: against exact distributions."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import norm

import gevglm
from gevglm.inference.saddlepoint import BernoulliSum


def enumerated(factors, mean):
    """All values of the sum, with their probabilities."""
    outcomes = np.array(list(product((0.0, 1.0), repeat=len(factors))))
    return (outcomes - mean) @ factors, np.prod(np.where(outcomes == 1.0, mean, 1.0 - mean), axis=1)


@pytest.mark.parametrize("seed", range(4))
def test_tails_of_a_sum_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    factors, mean = rng.uniform(0.2, 2.0, 16) * rng.choice([-1.0, 1.0], 16, p=[0.2, 0.8]), rng.uniform(0.02, 0.15, 16)
    values, probabilities = enumerated(factors, mean)
    found = BernoulliSum(factors, mean, 1.0 - mean, None)
    assert_allclose(found.deviation, np.sqrt(probabilities @ values**2))
    errors = []
    for z in (2.0, 3.0, 4.0, 5.0):
        s = z * found.deviation
        exact = probabilities[values >= s].sum()
        errors.append((np.log(found.upper(s) / exact), np.log(norm.sf(z) / exact)))
    ours, normal = np.abs(np.array(errors)).max(axis=0)
    assert ours < 0.35  # a factor of 1.4, where the normal distribution is wrong by one of hundreds
    assert normal > 10 * ours


def test_rare_carriers_by_convolution():
    """Of a lattice, the approximation is the probability beyond a value and half of that of the value itself."""
    rng = np.random.default_rng(1)
    mean, carriers = 0.01 * rng.uniform(0.3, 2.0, 2000), rng.binomial(2, 0.05, 2000)
    exact = np.ones(1)
    for a, p in zip(carriers, mean, strict=True):
        if a:
            exact = np.convolve(exact, [1.0 - p, *[0.0] * (a - 1), p])
    center = carriers @ mean
    found = BernoulliSum(carriers.astype(float), mean, 1.0 - mean, None)
    for k in range(int(center) + 2, 15):
        middle = exact[k + 1 :].sum() + exact[k] / 2
        assert_allclose(found.upper(k - center), middle, rtol=0.25)


def test_cumulants_and_ends():
    factors, mean = np.array([1.0, -2.0, 0.5]), np.array([0.1, 0.2, 0.3])
    found = BernoulliSum(factors, mean, 1.0 - mean, None)
    values, probabilities = enumerated(factors, mean)
    for t in (-1.0, 0.3, 2.0):
        value, slope, curvature = found.cumulants(t)
        tilted = probabilities * np.exp(values * t)
        mean_there = tilted @ values / tilted.sum()
        assert_allclose(value, np.log(tilted.sum()))
        assert_allclose(slope, mean_there)
        assert_allclose(curvature, tilted @ values**2 / tilted.sum() - mean_there**2)
    assert_allclose(found.upper(values.max()), probabilities[values.argmax()])
    assert found.upper(values.max() + 1.0) == 0.0
    weighted = BernoulliSum(factors, mean, 1.0 - mean, np.array([1.0, 3.0, 2.0]))
    repeated = BernoulliSum(*(np.repeat(x, [1, 3, 2]) for x in (factors, mean, 1.0 - mean)), None)
    assert_allclose(weighted.upper(1.2), repeated.upper(1.2))


def test_level_for_rare_carriers_of_a_rare_outcome():
    """At a level of 0.001 score tests reject far too often, and their saddle-point approximation does not."""
    rng = np.random.default_rng(6)
    n, m = 2000, 4000
    data = pd.DataFrame({"x": rng.normal(size=n)})
    data["case"] = (rng.random(n) < expit(-4.2 + 0.5 * data["x"])).astype(int)
    columns = rng.binomial(2, 0.01, (n, m)).astype(float)
    columns[:100, 0] = np.nan
    tables = {test: gevglm.scan("case ~ x", data, columns=columns, test=test).table for test in ("score", "spa")}
    share = {test: (table["pvalue"] < 0.001).mean() for test, table in tables.items()}
    error = np.sqrt(0.001 * 0.999 / m)
    assert share["score"] > 0.001 + 5 * error
    assert share["spa"] < 0.001 + 3 * error
    below = tables["score"]["pvalue"] <= 0.05
    assert list(tables["spa"]["test"] == "spa") == list(below)


def test_columns_with_missing_values_are_those_of_their_rows():
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"x": rng.normal(size=400)})
    g = rng.binomial(1, 0.1, 400).astype(float)
    data["case"] = (rng.random(400) < expit(-2.5 + data["x"] + 1.5 * g)).astype(int)
    g[::5] = np.nan
    known = ~np.isnan(g)
    options = {"test": "spa", "threshold": 1.0}
    (row,) = gevglm.scan("case ~ x", data, columns=g, **options).table.itertuples()
    (alone,) = gevglm.scan("case ~ x", data[known], columns=g[known], **options).table.itertuples()
    assert_allclose(row.pvalue, alone.pvalue, rtol=1e-9)
    assert row.test == "spa" and row.pvalue != row.statistic
