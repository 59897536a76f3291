"""The shape from a part of the rows and joint Newton steps, and searches whose folds share their passes, against the whole grid and single fits."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.estimation.objective import Ridge
from gevglm.inference import cross_validation, shape
from gevglm.inference.fold_fits import FoldFits
from gevglm.inference.shape import estimate_shape
from gevglm.inference.shape_neighbourhood import FAR, _at_most, _neighbourhood
from gevglm.inference.shape_path import ROUGH, ShapePath
from gevglm.links import GEV, GEVc, Logit
from gevglm.losses import Canonical, Log


def drawn(n, xi=0.2, kind=GEV, seed=0):
    rng = np.random.default_rng([11, seed])
    X = np.column_stack([np.ones(n), rng.normal(size=n), rng.random(n) < 0.5])
    return X, (rng.random(n) < kind(xi).inverse(X @ [kind(xi)(0.15), 0.5, 0.4])).astype(float)


def both(monkeypatch, X, y, **words):
    """Fit from a part of the rows, and by the whole grid."""
    quick = gevglm.fit(y, X, xi="ml", **words)
    with monkeypatch.context() as patch:
        patch.setattr(shape, "maximum_nearby", lambda path, grid: None)
        return quick, gevglm.fit(y, X, xi="ml", **words)


@pytest.mark.parametrize("loss", ["log", "canonical"])
@pytest.mark.parametrize(("kind", "xi"), [(GEV, 0.2), (GEVc, -0.2)])
def test_a_part_of_the_rows_leads_to_the_maximum_of_the_grid(monkeypatch, loss, kind, xi):
    X, y = drawn(40_000, xi, kind)
    weights = np.random.default_rng(3).integers(0, 3, len(y))
    words = {"link": kind.word, "loss": loss, "freq_weights": weights}
    quick, whole = both(monkeypatch, X, y, **words)
    found = quick._results._shape
    assert found.found is not None and whole._results._shape.found is None
    assert_allclose(quick.xi, whole.xi, atol=1e-8)
    assert_allclose(quick.params, whole.params, rtol=1e-7)
    assert_allclose(quick.xi_bse, whole.xi_bse, rtol=1e-6)
    assert_allclose(quick.bse, whole.bse, rtol=1e-6)
    assert_allclose(quick.xi_conf_int(), whole.xi_conf_int(), atol=1e-7)
    assert quick.n_passes < whole.n_passes
    assert "profile" not in vars(found)  # not before it is asked for
    assert_allclose(found.profile["llf"], whole._results._shape.profile["llf"], rtol=1e-7)
    assert max(found.ends) >= max(found.profile["llf"].iloc[[0, -1]]) - 1e-6


def test_rows_in_the_order_of_their_outcomes_are_searched_on_the_whole_grid(monkeypatch):
    X, y = drawn(20_000)
    order = np.argsort(y, kind="stable")
    expected = gevglm.fit(y, X, link="gev", loss="log", xi="ml")
    ordered = gevglm.fit(y[order], X[order], link="gev", loss="log", xi="ml")
    assert ordered._results._shape.found is None
    assert_allclose(ordered.xi, expected.xi, atol=1e-7)


def test_a_part_that_misleads_is_found_out():
    """The part has its events at one end of x, the other rows at the other: its shape is not that of all rows."""
    X, y = drawn(40_000)
    first = np.argsort(np.where(y > 0, -X[:, 1], X[:, 1]), kind="stable")[:8192]
    order = np.append(first, np.setdiff1d(np.arange(len(y)), first))
    problem = Problem(MemoryEngine(X[order], y[order]), Log(GEV(0.0)), constant=0)
    whole = Problem(MemoryEngine(X, y), Log(GEV(0.0)), constant=0)
    assert_allclose(
        estimate_shape(problem, lambda xi: Log(GEV(xi))).xi,
        estimate_shape(whole, lambda xi: Log(GEV(xi))).xi,
        atol=1e-7,
    )


def test_rows_that_a_part_rules_out_do_not_keep_the_bounds_from_deciding():
    """Three unlikely events outside the part lie beyond, or next to, the end of the support at the coefficients of the part."""
    X, y = drawn(60_000, -0.2)
    X[-3:, 1], y[-3:] = [-4.0, -5.0, -6.0], 1.0
    path = ShapePath(Problem(MemoryEngine(X, y), Log(GEV(0.0)), constant=0), lambda xi: Log(GEV(xi)))
    near = _neighbourhood(path, np.unique(GEV.default_grid))
    shapes = near.elsewhere
    at_highest = Log(GEV(shapes[-1])).value(y[-3:], X[-3:] @ near.part.fit(shapes[-1], np.inf).params)
    assert np.isinf(at_highest).any()
    bounds = _at_most(path, near, shapes)
    assert path.passes == 1
    assert (np.array(bounds) >= [path.log_likelihood(xi) for xi in shapes]).all()
    assert max(bounds) < path.log_likelihood(near.xi) - FAR


def test_saved_results_answer_what_was_not_asked_for_before(tmp_path):
    X, y = drawn(20_000)
    res = gevglm.fit(y, X, link="gev", loss="log", xi="ml")
    res.save(tmp_path / "fit.pickle")
    loaded = gevglm.load(tmp_path / "fit.pickle")
    assert_allclose(loaded._results._shape.profile, res._results._shape.profile)
    assert_allclose(loaded.corrected_risk(X[:5]), res.corrected_risk(X[:5]))


# -- searches ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "words", "kwds"),
    [
        (1_500, {"link": "gev", "xi": "cv"}, {"grid": [-0.5, 0.0, 0.2, 0.5]}),
        (30_000, {"link": "gevc", "xi": "cv"}, {"grid": [-0.2, 0.0, 0.2]}),
        (1_500, {"link": "gev", "loss": "log", "xi": "cv"}, {"grid": [-0.3, 0.0, 0.3], "criterion": "brier"}),
        (1_500, {"link": "logit", "alpha": "cv"}, {}),
    ],
)
def test_folds_that_share_passes_have_the_scores_of_those_that_do_not(monkeypatch, n, words, kwds):
    X, y = drawn(n)
    words = words | {"var_weights": np.random.default_rng(1).uniform(0.5, 2.0, n), "offset": 0.1 * X[:, 2]}
    shared = gevglm.fit(y, X, search_kwds=kwds, **words)
    monkeypatch.setattr(cross_validation, "held_out_by", lambda folds, engine: None)
    single = gevglm.fit(y, X, search_kwds=kwds, **words)
    assert_allclose(shared.search.table["score"], single.search.table["score"], rtol=1e-6)
    assert (shared.xi, shared.alpha) == (single.xi, single.alpha)


@pytest.mark.parametrize("alpha", [0.0, 20.0])
@pytest.mark.parametrize("loss", [Log(Logit()), Canonical(GEV(0.5)), Log(GEV(0.2))], ids=str)
def test_chords_end_at_the_fits_without_each_fold(loss, alpha):
    X, y = drawn(3_000)
    rows = {"var": np.random.default_rng(1).uniform(0.5, 2.0, len(y)), "offset": 0.1 * X[:, 2]}
    penalty = Ridge(alpha, np.array([0.0, 1.0, 1.0]))
    problem = Problem(MemoryEngine(X, y, **rows, block_rows=1_000), loss, constant=0, penalty=penalty)
    folds = cross_validation.make_folds(y, 5)
    codes = cross_validation.held_out_by(folds, problem.engine)
    found, near = FoldFits(problem, lambda xi: loss, codes, len(folds), penalty).steps(0.0)
    assert near
    for params, (train, _) in zip(found, folds.parts, strict=True):
        without = replace(problem, engine=cross_validation.rows_of(problem.engine, train), tol=1e-10).estimate()
        errors = np.sqrt(np.diagonal(without.inverse_information))
        assert_allclose((params - without.params) / errors, 0.0, atol=2e-5)


def test_folds_that_hold_rows_out_more_than_once_or_train_on_fewer_do_not_share():
    y = np.tile([0.0, 1.0], 20)
    engine, rows = MemoryEngine(np.ones((40, 1)), y), np.arange(40)
    split = cross_validation.make_folds(y, 4)
    assert (np.bincount(cross_validation.held_out_by(split, engine)) == 10).all()
    fewer = cross_validation.make_folds(y, [(rows[:20], rows[30:])])
    twice = cross_validation.make_folds(y, [(rows[:30], rows[30:]), (rows[:30], rows[30:])])
    assert cross_validation.held_out_by(fewer, engine) is None
    assert cross_validation.held_out_by(twice, engine) is None


def test_a_search_with_a_canonical_loss_far_from_its_fit_is_that_of_single_fits(monkeypatch):
    X, y = drawn(400, seed=2)
    problem = Problem(MemoryEngine(X, y), Canonical(GEV(0.0)), constant=0)
    words = {"grid": [-1.0, 0.0, 1.0, 1.4], "refine": False, "criterion": "brier"}
    folds = cross_validation.make_folds(y, np.arange(400) < 250)
    shared = cross_validation.search(problem, lambda xi: Canonical(GEV(xi)), folds, **words)
    monkeypatch.setattr(cross_validation, "held_out_by", lambda folds, engine: None)
    single = cross_validation.search(problem, lambda xi: Canonical(GEV(xi)), folds, **words)
    assert_allclose(shared.table["score"], single.table["score"], rtol=1e-5)


@pytest.mark.parametrize("xi", [-1.0, -0.4, 0.7, 1.5])
def test_a_fit_that_ends_early_bounds_the_likelihood_at_its_shape(xi):
    X, y = drawn(20_000)
    problem = Problem(MemoryEngine(X, y), Log(GEV(0.0)), constant=0)

    def path():
        return ShapePath(problem, lambda xi: Log(GEV(xi)))

    largest = path().log_likelihood(xi, 1e-6)
    for above in (1e-3, 1.0, 10.0, 100.0, np.inf):
        early = path()
        bound = early.at_most(xi, ROUGH, largest + above)
        assert largest - 1e-2 <= bound < largest + above
    assert Log(GEV(xi)).convex or xi not in early._fits  # the first look was enough
    assert_allclose(path().at_most(xi, ROUGH, -np.inf), path().log_likelihood(xi, ROUGH), rtol=1e-14)


def test_a_shape_with_a_column_left_out_is_bounded_by_the_other_columns():
    X, y = drawn(20_000)
    wider = Problem(MemoryEngine(np.column_stack([X, np.zeros(len(y))]), y), Log(GEV(0.0)), constant=0, omitted=[3])
    paths = [
        ShapePath(p, lambda xi: Log(GEV(xi))) for p in (Problem(MemoryEngine(X, y), Log(GEV(0.0)), constant=0), wider)
    ]
    assert_allclose(*(path.at_most(0.9, ROUGH, np.inf) for path in paths), rtol=1e-10)
