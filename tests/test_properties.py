"""What must not matter does not: row order, units, parametrisation, and how the rows are written down."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from gevglm import fit
from gevglm.exceptions import SupportWarning

SOME = settings(max_examples=6, derandomize=True, deadline=None, phases=[Phase.generate])  # seeds do not shrink
FEW = settings(SOME, max_examples=3)
TOL = 1e-11  # by default the covariance is that of a point within 1e-8 standard errors or so of the solution
LINKS = {
    "logit": {},
    "probit": {"link": "probit"},
    "cloglog": {"link": "cloglog"},
    "cauchit": {"link": "cauchit"},
    "gev": {"xi": 0.3},
    "gev negative": {"xi": -0.3},
    "gevc": {"link": "gevc", "xi": 0.2},
    "logit canonical": {"link": "logit", "loss": "canonical"},
    "gev log": {"xi": 0.2, "loss": "log"},
}
COVARIANCES = ["nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"]
each_link = pytest.mark.parametrize("link", LINKS)
each_covariance = pytest.mark.parametrize("cov_type", COVARIANCES)
seeds = st.integers(0, 2**32 - 1)


class Study:
    """Outcomes of a logistic model in a few columns, the first constant, all bounded; about 40 % events."""

    def __init__(self, seed, n=300, k=4):
        self.rng = np.random.default_rng(seed)
        self.X = np.column_stack([np.ones(n), self.rng.uniform(-1.0, 1.0, (n, k - 1))])
        self.risk = expit(self.X @ np.r_[-0.5, np.linspace(-0.6, 0.6, k - 1)])
        self.y = (self.rng.random(n) < self.risk).astype(float)
        self.groups = self.rng.integers(0, 25, n)
        self.n, self.k = n, k


def fitted(y, X, groups=None, *, cov_type="nonrobust", **options):
    """A fit that may meet the border of the support."""
    if cov_type == "cluster":
        options["cov_kwds"] = {"groups": groups}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SupportWarning)
        return fit(np.asarray(y), np.asarray(X), cov_type=cov_type, tol=TOL, **options)


def assert_same(results, expected, A=None, rtol=1e-8):
    """Compare coefficients and their covariance; with a matrix A, those of X A with those of X."""
    params, covariance = results.params, results.cov_params()
    if A is not None:
        params, covariance = A @ params, A @ covariance @ A.T
    assert_allclose(params, expected.params, rtol=rtol, atol=rtol * np.asarray(expected.bse).min())
    assert_same_covariance(covariance, expected.cov_params(), rtol)


def assert_same_covariance(covariance, expected, tol=1e-8):
    """Compare relative to the standard errors: covariances may be next to zero."""
    errors = np.sqrt(np.diagonal(expected))
    scale = np.outer(errors, errors)
    assert_allclose(covariance / scale, expected / scale, rtol=0.0, atol=tol)


def assert_same_quality(results, expected, rtol=1e-9):
    for name in ("n_events", "n_trials_total", "log_loss", "brier", "auc", "deviance", "pearson_chi2"):
        assert_allclose(getattr(results, name), getattr(expected, name), rtol=rtol, err_msg=name)


@SOME
@given(seeds)
@each_link
def test_the_order_of_the_rows_does_not_matter(link, seed):
    study = Study(seed)
    order = study.rng.permutation(study.n)
    offset, copies = study.rng.normal(size=study.n) / 9, study.rng.integers(1, 4, study.n)
    expected = fitted(study.y, study.X, offset=offset, freq_weights=copies, **LINKS[link])
    shuffled = fitted(study.y[order], study.X[order], offset=offset[order], freq_weights=copies[order], **LINKS[link])
    assert_same(shuffled, expected, rtol=1e-9)
    assert_same_quality(shuffled, expected)


@SOME
@given(seeds, st.lists(st.floats(-6.0, 6.0), min_size=3, max_size=3), st.booleans())
@each_link
def test_the_units_of_the_columns_do_not_matter(link, seed, powers, negative):
    study = Study(seed)
    A = np.diag(np.r_[1.0, 10.0 ** np.array(powers) * (-1.0 if negative else 1.0)])
    expected = fitted(study.y, study.X, **LINKS[link])
    assert_same(fitted(study.y, study.X @ A, **LINKS[link]), expected, A)


@FEW
@given(seeds)
@each_covariance
@each_link
def test_the_parametrisation_does_not_matter(link, cov_type, seed):
    study = Study(seed)
    A = np.eye(study.k) + study.rng.uniform(-0.2, 0.2, (study.k, study.k))
    A[1:, 0] = 0.0  # the constant stays
    options = {"groups": study.groups, "cov_type": cov_type, **LINKS[link]}
    expected = fitted(study.y, study.X, **options)
    turned = fitted(study.y, study.X @ A, **options)
    assert_same(turned, expected, A)
    assert_same_quality(turned, expected, rtol=1e-8)


@SOME
@given(seeds)
@each_link
def test_a_constant_hidden_in_the_columns_does_not_matter(link, seed):
    """Dummies of all levels instead of a constant and the rest."""
    study = Study(seed, k=3)
    level = study.rng.integers(0, 3, study.n)
    dummies = (level[:, None] == np.arange(3)).astype(float)
    with_constant = np.column_stack([study.X, dummies[:, 1:]])
    without = np.column_stack([dummies, study.X[:, 1:]])
    A = np.zeros((5, 5))
    A[0, 0] = 1.0  # constant = first level
    A[1, 3] = A[2, 4] = 1.0
    A[3, [0, 1]] = A[4, [0, 2]] = -1.0, 1.0
    assert_same(fitted(study.y, without, **LINKS[link]), fitted(study.y, with_constant, **LINKS[link]), A)


@SOME
@given(seeds)
@each_link
def test_an_offset_in_the_columns_moves_the_coefficients(link, seed):
    study = Study(seed)
    known = study.rng.uniform(-0.2, 0.2, study.k)
    expected = fitted(study.y, study.X, **LINKS[link])
    moved = fitted(study.y, study.X, offset=study.X @ known, **LINKS[link])
    assert_allclose(moved.params + known, expected.params, rtol=1e-8, atol=1e-9)
    assert_same_covariance(moved.cov_params(), expected.cov_params())


@FEW
@given(seeds)
@each_covariance
@each_link
def test_frequency_weights_are_repeated_rows(link, cov_type, seed):
    study = Study(seed)
    copies = study.rng.integers(1, 4, study.n)
    offset = study.rng.normal(size=study.n) / 9
    options = {"cov_type": cov_type, **LINKS[link]}
    rows = np.repeat(np.arange(study.n), copies)
    weighted = fitted(study.y, study.X, study.groups, freq_weights=copies, offset=offset, **options)
    repeated = fitted(study.y[rows], study.X[rows], study.groups[rows], offset=offset[rows], **options)
    assert_same(weighted, repeated)
    assert_same_quality(weighted, repeated)
    assert weighted.df_resid == repeated.df_resid
    if weighted.loss.is_likelihood:
        assert_allclose([weighted.llf, weighted.aic, weighted.bic], [repeated.llf, repeated.aic, repeated.bic])


@SOME
@given(seeds)
@each_link
def test_grouped_rows_are_ungrouped_rows(link, seed):
    study = Study(seed)
    trials = study.rng.integers(1, 6, study.n)
    wins = study.rng.binomial(trials, study.risk)
    copies = np.column_stack([wins, trials - wins]).ravel()
    one_by_one = fitted(
        np.repeat(np.tile([1.0, 0.0], study.n), copies),
        np.repeat(np.repeat(study.X, 2, axis=0), copies, axis=0),
        **LINKS[link],
    )
    counts = fitted(np.column_stack([wins, trials - wins]), study.X, **LINKS[link])
    shares = fitted(wins / trials, study.X, freq_weights=trials, **LINKS[link])
    for grouped in (counts, shares):
        assert_same(grouped, one_by_one)
        for name in ("n_events", "n_trials_total", "log_loss", "brier", "auc"):
            assert_allclose(getattr(grouped, name), getattr(one_by_one, name), rtol=1e-9, err_msg=name)


@SOME
@given(seeds)
@each_link
def test_clusters_of_grouped_rows_are_clusters_of_trials(link, seed):
    study = Study(seed)
    trials = study.rng.integers(1, 6, study.n)
    wins = study.rng.binomial(trials, study.risk)
    rows = np.repeat(np.arange(study.n), trials)
    outcomes = np.concatenate([np.arange(t) < w for t, w in zip(trials, wins, strict=True)]).astype(float)
    options = {"cov_type": "cluster", **LINKS[link]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SupportWarning)
        no_factor = {"use_correction": False}  # the number of rows is another
        grouped = fit(
            np.column_stack([wins, trials - wins]), study.X, cov_kwds={"groups": study.groups, **no_factor}, **options
        )
        single = fit(outcomes, study.X[rows], cov_kwds={"groups": study.groups[rows], **no_factor}, **options)
    assert_same(grouped, single)


@SOME
@given(seeds, st.sampled_from(["freq_weights", "var_weights"]), st.sampled_from([1.0, 30.0]))
@each_link
def test_rows_of_weight_zero_are_ignored(link, seed, kind, spread):
    """Even if they lie outside the support of the link."""
    study, rest = Study(seed), Study(seed + 1, n=40)
    y, X = np.r_[study.y, rest.y], np.vstack([study.X, rest.X * np.r_[1.0, np.full(study.k - 1, spread)]])
    weights = np.r_[study.rng.uniform(0.5, 2.0, study.n), np.zeros(rest.n)]
    if kind == "freq_weights":
        weights = np.ceil(weights)
    order = study.rng.permutation(len(y))
    options = {"cov_type": "HC0", **LINKS[link]}
    ignored = fitted(y[order], X[order], **{kind: weights[order]}, **options)
    absent = fitted(study.y, study.X, **{kind: weights[: study.n]}, **options)
    assert_same(ignored, absent)
    assert ignored.n_outside_support == absent.n_outside_support
    if kind == "freq_weights":
        assert_same_quality(ignored, absent)
        assert ignored.df_resid == absent.df_resid


@FEW
@given(seeds)
@each_covariance
def test_rows_of_frequency_zero_change_no_covariance(cov_type, seed):
    study, rest = Study(seed), Study(seed + 1, n=40)
    options = {"cov_type": cov_type, "xi": 0.2}
    weights = np.r_[np.ones(study.n), np.zeros(rest.n)]
    groups = np.r_[study.groups, rest.groups + 1000]  # clusters without any weight are no clusters
    ignored = fitted(np.r_[study.y, rest.y], np.vstack([study.X, rest.X]), groups, freq_weights=weights, **options)
    assert_same(ignored, fitted(study.y, study.X, study.groups, **options))


@SOME
@given(seeds, st.floats(0.1, 10.0))
@each_link
def test_the_scale_of_variance_weights_scales_the_covariance_of_a_model_only(link, seed, factor):
    study = Study(seed)
    weights = study.rng.uniform(0.5, 2.0, study.n)
    one = fitted(study.y, study.X, var_weights=weights, **LINKS[link])
    scaled = fitted(study.y, study.X, var_weights=factor * weights, **LINKS[link])
    assert_allclose(scaled.params, one.params, rtol=1e-8, atol=1e-9)
    assert_same_covariance(scaled.cov_params() * factor, one.cov_params())
    robust = [
        fitted(study.y, study.X, var_weights=w, cov_type="HC0", **LINKS[link]) for w in (weights, factor * weights)
    ]
    assert_same_covariance(robust[0].cov_params(), robust[1].cov_params())


@SOME
@given(seeds)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {}),
        ({"link": "probit"}, {"link": "probit"}),
        ({"link": "cauchit"}, {"link": "cauchit"}),
        ({"link": "cloglog"}, {"link": "loglog"}),
        ({"xi": 0.3}, {"link": "gevc", "xi": 0.3}),
        ({"xi": -0.2}, {"link": "gevc", "xi": -0.2}),
    ],
)
def test_the_other_event_is_the_reflected_link(one, other, seed):
    study = Study(seed)
    answer = np.where(study.y == 1, "yes", "no")
    yes, no = fitted(answer, study.X, event="yes", **one), fitted(answer, study.X, event="no", **other)
    assert_allclose(yes.params, -no.params, rtol=1e-8, atol=1e-9)
    assert_same_covariance(yes.cov_params(), no.cov_params())


@SOME
@given(seeds, st.permutations(range(4)))
@each_link
def test_the_order_of_the_columns_does_not_matter(link, seed, order):
    study = Study(seed)
    A = np.eye(study.k)[:, order]
    assert_same(fitted(study.y, study.X[:, order], **LINKS[link]), fitted(study.y, study.X, **LINKS[link]), A)


@SOME
@given(seeds)
def test_the_base_level_of_a_factor_does_not_matter(seed):
    study = Study(seed)
    data = pd.DataFrame({"y": study.y, "x": study.X[:, 1], "g": study.rng.choice(list("abc"), study.n)})
    one = fit("y ~ x + C(g)", data, xi=0.2)
    other = fit("y ~ x + C(g, Treatment('c'))", data, xi=0.2)
    assert_allclose(one.predict(data), other.predict(data), rtol=1e-8)
    contrast = one.t_test("C(g)[T.b] - C(g)[T.c] = 0")
    assert_allclose(contrast.effect, other.params["C(g, Treatment('c'))[T.b]"], rtol=1e-7, atol=1e-9)
    assert_allclose(contrast.sd.squeeze(), other.bse["C(g, Treatment('c'))[T.b]"], rtol=1e-7)
