"""Plain sm.GLM with our families: it agrees with gevglm.fit, or a warning says that it failed."""

import copy
import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.special import expit

import gevglm
from gevglm.exceptions import ConvergenceWarning, GevglmWarning
from gevglm.families import Canonical, GEVBinomial, GEVCanonical
from gevglm.families.watched import announce_standard_errors
from gevglm.links import Logit, Probit

FAMILIES = {"log": GEVBinomial, "canonical": GEVCanonical}
SHAPES = (-1.0, -0.5, 0.5, 0.8, 1.0, 1.2, 1.5)
ORDINARY = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
AGREE = 1e-3  # standard errors

each_loss = pytest.mark.parametrize("loss", FAMILIES)


def sample(seed, n=2000, rate=-3.38):
    """Three columns and 5 % events, by a logit."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 3))])
    return (rng.random(n) < expit(X @ [rate, 0.8, 0.5, -0.4])).astype(float), X


def both(y, X, xi, loss, **options):
    """How far the coefficients of sm.GLM are from ours, in standard errors, and what was warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)
        ours = gevglm.fit(y, X, xi=xi, loss=loss, **options)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        theirs = sm.GLM(y, X, family=FAMILIES[loss](xi), **options).fit()
    failed = [str(w.message) for w in said if issubclass(w.category, ConvergenceWarning)]
    return float(np.max(np.abs(theirs.params - ours.params) / ours.bse)), failed


def counts(loss, shapes, seeds, **options):
    table = {}
    for xi in shapes:
        found = Counter()
        for seed in seeds:
            distance, failed = both(*sample(seed, **options), xi, loss)
            found["agree" if distance < AGREE else "differ", "warned" if failed else "silent"] += 1
        table[xi] = found
    return table


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(60), marks=pytest.mark.study)], ids=len)
@each_loss
def test_where_the_iteration_differs_from_ours_it_warns(loss, seeds):
    table = counts(loss, SHAPES, seeds)
    print(loss, *table.items(), sep="\n")
    assert not any(found["differ", "silent"] for found in table.values())
    assert sum(found["agree", "warned"] for found in table.values()) <= 0.01 * len(seeds) * len(SHAPES)
    if loss == "canonical":
        assert not any(found["differ", "warned"] for found in table.values())


@pytest.mark.parametrize("seeds", [range(5), pytest.param(range(200), marks=pytest.mark.study)], ids=len)
@pytest.mark.parametrize("options", [{}, {"n": 300, "rate": -2.0}], ids=["rare", "small"])
@each_loss
def test_there_is_no_false_alarm_at_ordinary_shapes(loss, options, seeds):
    table = counts(loss, ORDINARY, seeds, **options)
    print(loss, options, *table.items(), sep="\n")
    assert not any(found["agree", "warned"] for found in table.values())
    assert not any(found["differ", "silent"] for found in table.values())


def test_what_is_said_of_a_failed_iteration():
    y, X = sample(5)
    with pytest.warns(ConvergenceWarning, match="rows have outcomes with a fitted probability of exactly 0") as said:
        assert sm.GLM(y, X, family=GEVBinomial(1.2)).fit().converged  # so it says
    assert said[0].filename == __file__
    assert "gevglm.fit(y, X, link=gevglm.links.GEV(xi=1.2), loss='log')" in str(said[0].message)
    with pytest.warns(ConvergenceWarning, match="the deviance still moves after 100 steps"):
        assert not sm.GLM(y, X, family=GEVBinomial(0.5)).fit().converged
    with pytest.warns(ConvergenceWarning, match="the deviance still moves after 3 steps"):
        sm.GLM(y, X, family=GEVBinomial(0.2)).fit(maxiter=3)


def test_a_start_from_which_the_canonical_iteration_runs_away():
    y, X = sample(0)
    family = GEVCanonical(1.5)
    start = sm.GLM(y, X, family=sm.families.Binomial()).fit().params
    with pytest.warns(ConvergenceWarning, match="standard errors away from zero"):
        res = sm.GLM(y, X, family=family).fit(start_params=2 * start)
    assert abs(res.fittedvalues.sum() - y.sum()) > 1


@pytest.mark.parametrize(
    "family", [GEVBinomial(0.3), GEVCanonical(0.3), Canonical(Probit())], ids=lambda f: type(f).__name__
)
def test_ordinary_uses_are_quiet(family):
    """Starting values, other optimisers, few steps to start with, offsets, weights, the model with a constant only."""
    y, X = sample(1)
    offset, times = 0.1 * X[:, 1], np.arange(len(y)) % 3 + 1.0
    res = sm.GLM(y, X, family=family).fit(cov_type="HC0")
    again = sm.GLM(y, X, family=family).fit(start_params=res.params, cov_type="HC0")
    assert_allclose(again.params, res.params, rtol=1e-6, atol=1e-6)
    for method in ("newton", "bfgs"):
        res.model.fit(method=method, disp=False, cov_type="HC0", maxiter=200)
    sm.GLM(y, X, family=family, offset=offset).fit(cov_type="HC0", tol=1e-12).summary()
    sm.GLM(y, X, family=family, freq_weights=times).fit()
    sm.GLM(y, X[:, 1:], family=family, offset=np.full(len(y), -0.9)).fit(cov_type="HC0")
    res.predict(X[:5])
    assert np.isfinite([res.llf, res.deviance, res.null_deviance, res.pearson_chi2]).all()


@each_loss
def test_offsets_weights_and_missing_constants_are_those_of_fit(loss):
    y, X = sample(2)
    times = np.arange(len(y)) % 3 + 1.0
    for columns, options in (
        (X, {"offset": 0.1 * X[:, 1]}),
        (X, {"freq_weights": times}),
        (X[:, 1:], {"offset": np.full(len(y), -0.9)}),
    ):
        distance, failed = both(y, columns, 0.2, loss, **options)
        assert distance < AGREE and not failed


def test_the_iteration_is_no_part_of_a_pickle_or_copy():
    y, X = sample(3)
    family = GEVCanonical(0.3)
    res = sm.GLM(y, X, family=family).fit(cov_type="HC0")
    assert len(pickle.dumps(family)) < 5000
    for other in (pickle.loads(pickle.dumps(family)), copy.copy(family), copy.deepcopy(family)):
        assert_allclose(sm.GLM(y, X, family=other).fit(cov_type="HC0").params, res.params)


# -- default standard errors -----------------------------------------------------------------


@pytest.fixture
def unsaid():
    announce_standard_errors.cache_clear()
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GevglmWarning)
        announce_standard_errors()


def announced(use):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        use()
    return [str(w.message) for w in said if "default standard errors" in str(w.message)]


def test_wrong_default_standard_errors_are_announced_once(unsaid):
    y, X = sample(1)
    model = sm.GLM(y, X, family=GEVCanonical(0.5))
    assert not announced(lambda: model.fit(cov_type="HC0").summary())
    assert not announced(lambda: sm.GLM(y, X, family=GEVCanonical(0.5), offset=X[:, 1]).fit(cov_type="HC0").summary())
    assert not announced(lambda: sm.GLM(y, X, family=Canonical(Logit())).fit())
    assert not announced(lambda: sm.GLM(y, X, family=GEVBinomial(0.2)).fit())
    assert not announced(lambda: gevglm.fit(y, X, xi=0.5).summary())
    (said,) = announced(model.fit)
    assert "fit(cov_type='HC0')" in said
    assert not announced(model.fit)


def test_other_optimisers_announce_as_well(unsaid):
    y, X = sample(1)
    assert announced(lambda: sm.GLM(y, X, family=Canonical(Probit())).fit(method="newton", disp=False))


def test_default_standard_errors_are_too_large_by_what_is_said():
    y, X = sample(1)
    for xi in (0.0, 0.5):
        default, robust = (
            sm.GLM(y, X, family=GEVCanonical(xi)).fit(cov_type=kind).bse for kind in ("nonrobust", "HC0")
        )
        ratio = default / robust
        assert (ratio > 1.02).all() and (ratio < 4).all()
