"""The fit of one loss on one engine: golden coefficients, weights, penalties, bad input."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

from gevglm import families
from gevglm.engine import MemoryEngine
from gevglm.estimation import Penalty, estimate
from gevglm.exceptions import CollinearityError, InvalidDataError, SupportError
from gevglm.links import GEV, CLogLog, GEVc, Logit, Probit
from gevglm.losses import Canonical, Log

FORMS = {"gev": GEV, "cgev": GEVc}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    X = np.column_stack([np.ones(600), rng.standard_normal((600, 3))])
    y = (rng.random(600) < Logit().inverse(X @ [-2.0, 0.6, -0.4, 0.0])).astype(float)
    return X, y


def fit(X, y, loss, engine_options=None, **options):
    return estimate(MemoryEngine(X, y, **(engine_options or {})), loss, constant=0, **options)


def rare(data_path):
    table = pd.read_csv(data_path / "design_rare.csv")
    return table.iloc[:, 1:].to_numpy(float), table["y"].to_numpy(float)


@pytest.mark.parametrize("name", ["birthwt", "rare"])
def test_canonical_coefficients_equal_the_reference(reference, name):
    table = reference(f"design_{name}.csv")
    X, y = table.iloc[:, 1:].to_numpy(float), table.iloc[:, 0].to_numpy(float)
    for case in reference("f_gev_canonical.json")["cases"][name]["fits"].values():
        found = fit(X, y, Canonical(FORMS[case["form"]](case["xi"])))
        assert_allclose(found.params, list(case["coef"].values()), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["birthwt", "rare"])
def test_likelihood_coefficients_equal_the_reference(reference, name):
    table = reference(f"design_{name}.csv")
    X, y = table.iloc[:, 1:].to_numpy(float), table.iloc[:, 0].to_numpy(float)
    for form, cases in reference("e_gev_link.json")["cases"][name]["forms"].items():
        fixed = cases["fixed_xi"]
        for case in fixed.values() if isinstance(fixed, dict) else fixed:
            found = fit(X, y, Log(FORMS[form](case["xi"])))
            assert found.converged and found.positive_definite
            assert_allclose(found.params, list(case["coef"].values()), rtol=1e-9, atol=1e-11)


# Coefficients of the synthetic set 'rare': reference files e and f, xi = 0.25 and 0.5 (R 4.2.2, checked with nleqslv and optim)
@pytest.mark.parametrize(
    ("loss", "file"), [(Canonical(GEV(0.5)), "f"), (Log(GEV(0.25)), "e"), (Canonical(GEVc(0.5)), "fc")]
)
def test_coefficients_of_the_set_that_travels_with_the_tests(data_path, loss, file):
    golden = pd.read_json(data_path / "rare_coefficients.json", typ="series")
    assert_allclose(fit(*rare(data_path), loss).params, golden[file], rtol=1e-9)


def test_logit_equals_statsmodels(rows):
    X, y = rows
    plain = sm.GLM(y, X, family=sm.families.Binomial()).fit(tol=1e-14)
    for loss in (Log(Logit()), Canonical(Logit())):
        assert_allclose(fit(X, y, loss).params, plain.params, atol=1e-10)
        assert_allclose(fit(X, y, loss).inverse_information, plain.normalized_cov_params, rtol=1e-6)


@pytest.mark.parametrize("link", [GEV(0.3), GEV(-0.4), GEVc(0.2), Probit(), CLogLog()])
def test_canonical_fit_equals_statsmodels_with_our_family(rows, link):
    X, y = rows
    plain = sm.GLM(y, X, family=families.Canonical(link)).fit(tol=1e-14)
    assert_allclose(fit(X, y, Canonical(link)).params, plain.params, atol=1e-8)


@pytest.mark.parametrize("loss", [Log(GEV(0.2)), Canonical(GEV(0.2)), Log(Probit())])
def test_weights_are_repeated_rows(rows, loss):
    X, y = rows
    times = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = fit(X, y, loss, {"freq": times.astype(float)})
    assert_allclose(weighted.params, fit(np.repeat(X, times, 0), np.repeat(y, times), loss).params, rtol=1e-9)


@pytest.mark.parametrize("loss", [Log(GEV(0.2)), Canonical(GEV(0.2)), Log(Logit())])
def test_a_constant_offset_moves_the_constant(rows, loss):
    X, y = rows
    moved = fit(X, y, loss, {"offset": np.full(len(y), 0.25)})
    expected = fit(X, y, loss).params - np.array([0.25, 0, 0, 0])
    assert_allclose(moved.params, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("loss", [Log(GEV(0.2)), Canonical(GEV(0.5)), Log(Logit())])
def test_ridge_solves_its_equation(rows, loss):
    X, y = rows
    penalty = Penalty(5.0, np.array([0.0, 1.0, 1.0, 1.0]))
    found = fit(X, y, loss, penalty=penalty)
    score = X.T @ loss.slope(y, X @ found.params) + 5.0 * penalty.columns * found.params
    assert np.max(np.abs(score)) < 1e-9
    assert np.linalg.norm(found.params[1:]) < np.linalg.norm(fit(X, y, loss).params[1:])


def test_starting_values_do_not_matter_for_a_convex_loss(rows):
    X, y = rows
    far = fit(X, y, Canonical(GEV(0.5)), start=np.array([3.0, -2.0, 2.0, 1.0]))
    assert_allclose(far.params, fit(X, y, Canonical(GEV(0.5))).params, rtol=1e-9)


def test_too_few_iterations_are_reported(rows):
    found = fit(*rows, Log(Logit()), maxiter=1)
    assert not found.converged
    assert "1 iterations" in found.reason
    assert found.decrement > 1e-6


def test_collinear_columns_are_named(rows):
    X, y = rows
    with pytest.raises(CollinearityError, match="twice: an exact linear combination"):
        fit(np.column_stack([X, X[:, 1] + 2]), y, Log(Logit()), names=["const", "a", "b", "c", "twice"])


def test_zero_columns_are_named(rows):
    X, y = rows
    with pytest.raises(CollinearityError, match="column 4: zero in every row"):
        fit(np.column_stack([X, np.zeros(len(y))]), y, Canonical(GEV(0.3)))


def test_a_penalty_makes_collinear_columns_estimable(rows):
    X, y = rows
    twice = np.column_stack([X, X[:, 1]])
    found = fit(twice, y, Log(Logit()), penalty=Penalty(1.0, np.array([0.0, 1, 1, 1, 1])))
    assert found.converged
    assert_allclose(found.params[1], found.params[4], rtol=1e-8)


@pytest.mark.parametrize(
    ("weights", "message"),
    [([-1.0], "not negative; 1 rows"), ([np.nan], "finite and not negative"), ([0.0], "sum to zero")],
)
def test_bad_weights_are_refused(rows, weights, message):
    X, y = rows
    weights = np.zeros(len(y)) if weights == [0.0] else np.append(np.ones(len(y) - 1), weights)
    with pytest.raises(InvalidDataError, match=message):
        fit(X, y, Log(Logit()), {"freq": weights})


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_one_outcome_only_is_refused(rows, outcome):
    with pytest.raises(InvalidDataError, match=f"the outcome is {outcome:g} in every row"):
        fit(rows[0], np.full(len(rows[1]), outcome), Log(Logit()))


def test_without_a_feasible_start_the_support_is_named(rows):
    X, y = rows
    offset = np.where(y > 0, -10.0, 0.0)
    with pytest.raises(SupportError, match=r"support of GEV\(xi=0.5\)"):
        estimate(MemoryEngine(X[:, 1:], y, offset=offset), Log(GEV(0.5)))
