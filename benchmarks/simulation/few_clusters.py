"""Tests with few clusters: how often true hypotheses are rejected, by kind of covariance, degrees of freedom, and the wild bootstrap."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import norm, t

from benchmarks.report import table
from gevglm import fit
from gevglm.exceptions import GevglmWarning

USUAL = -3.4  # the constant: 3.6 % events
SETTINGS = (  # clusters, of which treated, and the constant
    (6, 2, USUAL),
    (6, 3, USUAL),
    (12, 3, USUAL),
    (12, 3, -4.0),
    (12, 3, -3.05),
    (25, 4, USUAL),
    (12, 2, USUAL),
    (25, 2, USUAL),
)
REPLICATIONS = 2_000
DRAWS = 999
ROWS = 150  # of a cluster, in the mean
SPREAD = 0.5  # standard deviation of the effects of clusters
TERMS = ("treat", "x")
METHODS = ("CR1, z", "CR1, t", "CR2, Satterthwaite", "CR3, t", "KS, signs", "WL, signs", "WL, Webb")

TEXT = """# Tests with few clusters: how often a true hypothesis is rejected at 5 %

Logit with `bias="firth"`; effects of clusters are normal with standard deviation {spread:g}, clusters have about {rows} rows in the mean and grow in size
by a factor of seven. `treat` is constant within clusters, and 1 in few of them; `x` varies within. Both have no effect. "t" has G - 1 degrees of freedom; "signs" and
"Webb" are the weights of `wild_test` ({draws} draws; all vectors of signs up to 12 clusters). {replications:,} replications; the Monte Carlo error of 5 % is {error:.1f}
points, of 20 % {larger:.1f}.

{rows_of_table}

With two treated clusters among many no test holds its level: CR1 and CR3 reject too often, all other tests almost never; degrees of freedom near 1
say so. With six clusters signs have 32 p-values, the smallest of them 3.1 %; Webb's weights have more, and reject too often where three of the six are
treated. Power was not simulated."""


def run(replications: int = REPLICATIONS) -> str:
    """Return the share of rejections by setting, term and method."""
    rows = []
    for clusters, treated, constant in SETTINGS:
        rejected, df, share = _rejections(clusters, treated, constant, replications)
        for j, term in enumerate(TERMS):
            cells = [f"{100 * value:.1f}" for value in rejected[j]]
            rows.append((f"{clusters} ({treated}) {term}", f"{100 * share:.1f}", *cells, f"{df[j]:.1f}"))
    header = ("clusters (treated), term", "events, %", *(f"{method}, %" for method in METHODS), "mean df")
    return TEXT.format(
        spread=SPREAD,
        rows=ROWS,
        draws=DRAWS,
        replications=replications,
        error=100 * np.sqrt(0.05 * 0.95 / replications),
        larger=100 * np.sqrt(0.2 * 0.8 / replications),
        rows_of_table=table(header, rows),
    )


def _sample(
    clusters: int, treated: int, constant: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    growth = np.exp(2.0 * np.arange(clusters) / clusters)
    code = np.repeat(np.arange(clusters), np.round(ROWS * growth / growth.mean()).astype(int))
    arm = np.zeros(clusters)
    arm[rng.choice(clusters, treated, replace=False)] = 1.0
    X = np.column_stack([np.ones(len(code)), arm[code], rng.standard_normal(len(code))])
    linear = constant + SPREAD * rng.standard_normal(clusters)[code]
    return (rng.random(len(code)) < 1.0 / (1.0 + np.exp(-linear))).astype(float), X, code, arm


def _rejections(
    clusters: int, treated: int, constant: float, replications: int
) -> tuple[np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng([clusters, treated, round(-100 * constant)])
    found, df, events = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)  # few events for the number of coefficients
        for _ in range(replications):
            y, X, code, _ = _sample(clusters, treated, constant, rng)
            pvalues, degrees = _pvalues(y, X, code, clusters, rng)
            found.append(pvalues)
            df.append(degrees)
            events.append(y.mean())
    return (np.array(found) <= 0.05).mean(axis=0).T, np.mean(df, axis=0), float(np.mean(events))


def _pvalues(y: np.ndarray, X: np.ndarray, code: np.ndarray, clusters: int, rng: np.random.Generator) -> tuple:
    """Return the p-values by method and term, and Satterthwaite's degrees of freedom."""

    def fitted(kind: str, **options):
        words = {"cov_type": "cluster", "cov_kwds": {"groups": code, "kind": kind}}
        return fit(y, X, link="logit", bias="firth", **words, **options)

    plain, unbiased, jackknifed = fitted("CR1"), fitted("CR2", use_t="satterthwaite"), fitted("CR3")
    z, other = np.abs(plain.params / plain.bse)[1:], np.abs(jackknifed.params / jackknifed.bse)[1:]
    by_t = t(clusters - 1)
    rows = [2.0 * norm.sf(z), 2.0 * by_t.sf(z), unbiased.pvalues[1:], 2.0 * by_t.sf(other)]
    for statistic, weights in (("KS", "rademacher"), ("WL", "rademacher"), ("WL", "webb")):
        tests = plain.wild_test(
            draws=2**12 if clusters == 12 and weights == "rademacher" else DRAWS,
            weights=weights,
            statistic=statistic,
            rng=rng,
        )
        rows.append(tests.pvalues.to_numpy())
    return np.array(rows), unbiased.df_resid_inference[1:]
