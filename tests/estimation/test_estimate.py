from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem, null_loss
from gevglm.estimation.objective import Ridge
from gevglm.estimation.sums import totals
from gevglm.exceptions import CollinearityError, InvalidDataError, InvalidOptionError, SupportError
from gevglm.links import GEV, Cauchit, CLogLog, GEVc, Logit, LogLog, Probit
from gevglm.losses import Canonical, Log

LOSSES = [
    *(
        loss(link)
        for loss in (Log, Canonical)
        for link in (Logit(), Probit(), GEV(0.2), GEV(-0.4), GEVc(0.3), Cauchit())
    ),
    Log(CLogLog()),
    Canonical(LogLog()),
    Canonical(GEV(1.2)),
]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    X = np.column_stack([np.ones(600), rng.standard_normal((600, 3))])
    y = (rng.random(600) < Logit().inverse(X @ [-2.0, 0.6, -0.4, 0.0])).astype(float)
    return X, y


def fit(X, y, loss, *, constant=0, penalty=None, start=None, maxiter=100, names=None, **vectors):
    engine = MemoryEngine(X, y, **vectors)
    return Problem(
        engine, loss, constant=constant, penalty=penalty, start=start, maxiter=maxiter, names=names
    ).estimate()


def score(X, y, loss, params):
    return X.T @ loss.slope(y, X @ params)


# -- where the fit ends ----------------------------------------------------------------------


@each_loss
def test_the_gradient_vanishes_and_the_hessian_is_positive(rows, loss):
    X, y = rows
    found = fit(X, y, loss)
    assert found.converged
    assert found.positive_definite
    assert_allclose(score(X, y, loss, found.params), 0, atol=1e-8)
    assert (np.linalg.eigvalsh((X.T * loss.curvature(y, X @ found.params)) @ X) > 0).all()


@each_loss
def test_the_information_is_the_expected_curvature(rows, loss):
    X, y = rows
    found = fit(X, y, loss)
    with np.errstate(all="ignore"):
        weight = loss.expected_curvature_at(loss.link.at(X @ found.params))
    information = (X.T * weight) @ X
    assert_allclose(found.information, np.diagonal(information), rtol=1e-6, atol=1e-6)
    assert_allclose(found.inverse_information @ information, np.eye(4), atol=1e-6)


@each_loss
def test_totals_and_counters_are_reported(rows, loss):
    X, y = rows
    found = fit(X, y, loss, freq=np.full(600, 2.0))
    assert (found.weight, found.events) == (1200.0, 2 * y.sum())
    assert found.n_passes > found.n_iter > 0
    assert found.decrement < 1e-10
    assert "below its tolerance" in found.reason


@pytest.mark.parametrize("loss", [Log(Logit()), Canonical(Logit())], ids=repr)
def test_logit_equals_statsmodels(rows, loss):
    X, y = rows
    plain = sm.GLM(y, X, family=sm.families.Binomial()).fit(tol=1e-14)
    assert_allclose(fit(X, y, loss).params, plain.params, atol=1e-10)
    assert_allclose(fit(X, y, loss).inverse_information, plain.normalized_cov_params, rtol=1e-6)


@pytest.mark.parametrize("link", [Probit(), CLogLog(), LogLog(), GEV(0.2), GEVc(-0.3)], ids=repr)
def test_the_log_loss_is_maximum_likelihood_of_statsmodels(rows, link):
    X, y = rows
    plain = sm.GLM(y, X, family=sm.families.Binomial(link=link)).fit(tol=1e-14, maxiter=200)
    assert_allclose(fit(X, y, Log(link)).params, plain.params, atol=1e-8)


@pytest.mark.parametrize("kind", [Log, Canonical])
def test_the_complement_of_the_outcome_has_the_mirrored_fit(rows, kind):
    X, y = rows
    assert_allclose(fit(X, y, kind(GEV(0.3))).params, -fit(X, 1 - y, kind(GEVc(0.3))).params, rtol=1e-9, atol=1e-12)


@each_loss
def test_units_of_the_columns_do_not_matter(rows, loss):
    X, y = rows
    units = np.array([1.0, 1e6, 1e-6, 3.0])
    assert_allclose(fit(X * units, y, loss).params * units, fit(X, y, loss).params, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", [Log(Logit()), Canonical(GEV(0.3)), Log(GEV(0.2))], ids=repr)
def test_starting_from_part_of_the_rows_does_not_change_the_fit(loss):
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(40_000), rng.standard_normal((40_000, 2))])
    y = (rng.random(40_000) < 0.1).astype(float)
    in_parts, whole = fit(X, y, loss, block_rows=512), fit(X, y, loss, block_rows=40_000)
    assert_allclose(in_parts.params, whole.params, rtol=1e-8, atol=1e-10)


@each_loss
def test_a_model_without_a_constant(rows, loss):
    X, y = rows
    found = fit(X[:, 1:], y, loss, constant=None)
    assert found.converged
    assert_allclose(score(X[:, 1:], y, loss, found.params), 0, atol=1e-8)


@each_loss
def test_the_constant_alone_reproduces_the_rate(rows, loss):
    _, y = rows
    found = fit(np.ones((600, 1)), y, loss)
    assert loss.link.inverse(found.params[0]) == pytest.approx(y.mean(), rel=1e-9)
    null = Problem(MemoryEngine(np.ones((600, 1)), y), loss, constant=0, weight=600.0, events=y.sum())
    assert_allclose(found.params, null.null_start, rtol=1e-9)


def test_null_quantities():
    assert null_loss(100.0, 20.0) == pytest.approx(-20 * np.log(0.2) - 80 * np.log(0.8))
    problem = Problem(MemoryEngine(np.ones((2, 3)), np.ones(2)), Log(Logit()), weight=100.0, events=20.0)
    assert_array_equal(problem.null_start, np.zeros(3))
    assert_allclose(replace(problem, constant=1).null_start, [0, np.log(0.25), 0])


# -- weights, offsets, penalties, starts -----------------------------------------------------


@each_loss
@pytest.mark.parametrize("name", ["freq", "var", "trials"])
def test_weights_are_repeated_rows(rows, loss, name):
    X, y = rows
    times = np.random.default_rng(1).integers(0, 4, len(y))
    repeated = fit(np.repeat(X, times, 0), np.repeat(y, times), loss)
    weighted = fit(X, y, loss, **{name: times.astype(float)})
    assert_allclose(weighted.params, repeated.params, rtol=1e-8, atol=1e-10)
    assert_allclose(weighted.information, repeated.information, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", [Log(Logit()), Canonical(GEV(0.5)), Log(GEV(0.2))], ids=repr)
def test_shares_of_trials_are_single_rows(loss):
    trials, successes = np.array([40.0, 60.0, 50.0, 30.0]), np.array([2.0, 9.0, 14.0, 12.0])
    X = np.column_stack([np.ones(4), np.arange(4.0)])
    single_X = np.repeat(np.vstack([X, X]), np.concatenate([successes, trials - successes]).astype(int), axis=0)
    single_y = np.repeat([1.0, 0.0], [int(successes.sum()), int((trials - successes).sum())])
    grouped = fit(X, successes / trials, loss, trials=trials)
    assert_allclose(grouped.params, fit(single_X, single_y, loss).params, rtol=1e-8)


@each_loss
def test_rows_of_weight_zero_are_ignored_wherever_they_are(rows, loss):
    X, y = rows
    weight = np.ones(600)
    weight[:5] = 0
    X, y = X.copy(), y.copy()
    X[:5, 1], y[:5] = [-1e3, 1e3, -50, 50, 1e6], [1, 0, 1, 0, 1]
    ignored = fit(X, y, loss, freq=weight)
    assert ignored.converged
    assert_allclose(ignored.params, fit(X[5:], y[5:], loss).params, rtol=1e-8, atol=1e-10)


@each_loss
def test_a_constant_offset_moves_the_constant(rows, loss):
    X, y = rows
    moved = fit(X, y, loss, offset=np.full(600, 0.25))
    assert_allclose(moved.params, fit(X, y, loss).params - [0.25, 0, 0, 0], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("loss", [Log(Logit()), Canonical(GEV(0.2)), Log(GEV(0.2))], ids=repr)
def test_an_offset_takes_the_place_of_a_column(rows, loss):
    X, y = rows
    full = fit(X, y, loss)
    reduced = fit(X[:, :3], y, loss, offset=X[:, 3] * full.params[3])
    assert_allclose(reduced.params, full.params[:3], rtol=1e-7)


@each_loss
@pytest.mark.parametrize("columns", [[0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 2.0, 0.0]])
def test_ridge_solves_its_equation(rows, loss, columns):
    X, y = rows
    penalty = Ridge(5.0, np.array(columns))
    found = fit(X, y, loss, penalty=penalty)
    assert found.converged
    assert_allclose(score(X, y, loss, found.params) + 5.0 * penalty.columns * found.params, 0, atol=1e-8)


def test_ridge_shrinks_slopes_towards_zero_and_the_constant_to_the_null_model(rows):
    X, y = rows
    columns = np.array([0.0, 1, 1, 1])
    norms = [np.linalg.norm(fit(X, y, Log(Logit()), penalty=Ridge(a, columns)).params[1:]) for a in (0, 1, 10, 1e8)]
    assert norms == sorted(norms, reverse=True)
    assert norms[-1] < 1e-5
    strong = fit(X, y, Log(Logit()), penalty=Ridge(1e8, columns))
    assert strong.params[0] == pytest.approx(Logit()(y.mean()), rel=1e-6)


@pytest.mark.parametrize("start", [[0.5, -1.0, 1.0, 1.0], [-1.0, 0.0, 0.0, 0.0]])
@each_loss
def test_starting_values_do_not_change_the_fit(rows, loss, start):
    X, y = rows
    assert_allclose(fit(X, y, loss, start=start).params, fit(X, y, loss).params, rtol=1e-7, atol=1e-9)


def test_the_solution_is_a_start_that_needs_no_steps(rows):
    X, y = rows
    again = fit(X, y, Canonical(GEV(0.2)), start=fit(X, y, Canonical(GEV(0.2))).params)
    assert again.converged
    assert again.n_iter == 0


# -- honest about failure --------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Log(Logit()), Canonical(GEV(0.5)), Log(GEV(0.2))], ids=repr)
def test_too_few_iterations_are_reported(rows, loss):
    found = fit(*rows, loss, maxiter=1, start=[-1.0, 0.0, 0.0, 1.0])
    assert not found.converged
    assert found.reason == "1 iteration was not enough"
    assert np.isfinite(found.params).all()


@pytest.mark.parametrize(
    "loss",
    [Log(Logit()), Log(Probit()), Canonical(Probit()), Canonical(GEV(0.3)), Canonical(GEV(0.5)), Canonical(GEVc(-0.3))],
    ids=repr,
)
def test_separated_data_are_never_called_converged(loss):
    X = np.column_stack([np.ones(40), np.linspace(-1, 1, 40)])
    y = (X[:, 1] > 0).astype(float)
    found = fit(X, y, loss)
    assert not found.converged
    assert (loss.link.inverse(X @ found.params) > 0.5).tolist() == (y > 0.5).tolist()


def test_a_penalty_makes_separated_data_estimable():
    X = np.column_stack([np.ones(40), np.linspace(-1, 1, 40)])
    y = (X[:, 1] > 0).astype(float)
    for loss in (Log(Logit()), Canonical(GEV(0.3))):
        found = fit(X, y, loss, penalty=Ridge(1.0, np.array([0.0, 1.0])))
        assert found.converged
        assert np.abs(found.params).max() < 10


def test_quasi_separated_data_are_never_called_converged():
    rng = np.random.default_rng(2)
    flag = np.repeat([0.0, 1.0], [80, 20])
    X = np.column_stack([np.ones(100), rng.standard_normal(100), flag])
    y = ((rng.random(100) < 0.4) | (flag > 0)).astype(float)
    for loss in (Log(Logit()), Canonical(GEV(0.5)), Log(CLogLog())):
        assert not fit(X, y, loss).converged


@pytest.mark.parametrize(
    ("loss", "constant"),
    [
        (Canonical(GEV(0.2)), -3.0),
        (Log(Logit()), 50.0),
        (Log(Logit()), -50.0),
        (Canonical(Probit()), 50.0),
        (Log(CLogLog()), 50.0),
    ],
    ids=repr,
)
def test_starting_values_beyond_all_curvature_do_not_change_the_fit(rows, loss, constant):
    found = fit(*rows, loss, start=[constant, 0.0, 0.0, 0.0])
    assert found.converged
    assert_allclose(found.params, fit(*rows, loss).params, rtol=1e-8)


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Log(Logit()), Canonical(GEV(0.5)), Log(GEV(0.2))], ids=repr)
def test_collinear_columns_are_named(rows, loss):
    X, y = rows
    names = ["const", "a", "b", "c", "twice", "sum"]
    with pytest.raises(
        CollinearityError,
        match=r"^twice \(of a\), sum \(of a, b\): an exact linear combination of the columns before it",
    ):
        fit(np.column_stack([X, 2 * X[:, 1], X[:, 1] + X[:, 2]]), y, loss, names=names)


def test_collinear_columns_without_names_are_numbered(rows):
    X, y = rows
    with pytest.raises(CollinearityError, match=r"column 4 \(of column 0, column 1\): an exact linear combination"):
        fit(np.column_stack([X, X[:, 1] + 2]), y, Log(Logit()))


def test_zero_columns_are_named(rows):
    X, y = rows
    with pytest.raises(CollinearityError, match="column 4: zero in every row"):
        fit(np.column_stack([X, np.zeros(600)]), y, Canonical(GEV(0.3)))


def test_columns_that_vary_in_unused_rows_only_are_collinear(rows):
    X, y = rows
    weight = np.ones(600)
    weight[:3] = 0
    extra = np.zeros(600)
    extra[:3] = 1
    with pytest.raises(CollinearityError, match="column 4"):
        fit(np.column_stack([X, extra]), y, Log(Logit()), freq=weight)


def test_a_penalty_makes_collinear_columns_estimable(rows):
    X, y = rows
    penalty = Ridge(1.0, np.array([0.0, 1, 1, 1, 1]))
    found = fit(np.column_stack([X, X[:, 1]]), y, Log(Logit()), penalty=penalty)
    assert found.converged
    assert found.params[1] == pytest.approx(found.params[4], rel=1e-8)


@pytest.mark.parametrize("value, shown", [(-1.0, "1 rows"), (np.nan, "1 rows")])
@pytest.mark.parametrize("name", ["freq", "var", "trials"])
def test_negative_and_missing_weights_are_refused_with_their_number(rows, name, value, shown):
    weights = np.ones(600)
    weights[7] = value
    with pytest.raises(InvalidDataError, match=f"weights must be finite and not negative; {shown} have other weights"):
        fit(*rows, Log(Logit()), **{name: weights})


def test_infinite_weights_are_refused(rows):
    weights = np.ones(600)
    weights[7] = np.inf
    with pytest.raises(InvalidDataError, match="weights must be finite"):
        fit(*rows, Log(Logit()), freq=weights)


def test_weights_that_are_all_zero_are_refused(rows):
    with pytest.raises(InvalidDataError, match="nothing to fit: the weights of the 600 rows sum to zero"):
        fit(*rows, Log(Logit()), freq=np.zeros(600))


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_one_outcome_only_is_refused(rows, outcome):
    with pytest.raises(InvalidDataError, match=f"the outcome is {outcome:g} in every row with weight"):
        fit(rows[0], np.full(600, outcome), Log(Logit()))


def test_one_outcome_among_the_rows_with_weight_is_refused(rows):
    X, y = rows
    with pytest.raises(InvalidDataError, match="the outcome is 0 in every row with weight"):
        fit(X, y, Canonical(GEV(0.2)), freq=1.0 - y)


def test_missing_outcomes_are_refused_with_their_number(rows):
    X, y = rows
    y = y.copy()
    y[:3] = np.nan, np.inf, np.nan
    with pytest.raises(InvalidDataError, match=r"missing or outside \[0, 1\] in 3 rows"):
        fit(X, y, Log(Logit()))


def test_outcomes_outside_the_unit_interval_are_refused(rows):
    with pytest.raises(InvalidDataError, match=r"outside \[0, 1\]"):
        fit(rows[0], 2.0 * rows[1], Log(Logit()))


def test_an_outcome_missing_in_a_row_without_weight_is_no_matter(rows):
    X, y = rows
    missing = np.where(np.arange(len(y)) == 0, np.nan, y)
    weight = (np.arange(len(y)) > 0).astype(float)
    assert_allclose(fit(X, missing, Log(Logit()), freq=weight).params, fit(X[1:], y[1:], Log(Logit())).params)


def test_columns_that_are_not_finite_are_named(rows):
    X = rows[0].copy()
    X[:2, 2] = np.nan, np.inf
    with pytest.raises(InvalidDataError, match=r"b \(2 rows\)"):
        fit(X, rows[1], Log(Logit()), names=["const", "a", "b", "c"])


def test_no_rows_are_refused():
    with pytest.raises(InvalidDataError, match="nothing to fit"):
        totals(MemoryEngine(np.empty((0, 2)), np.empty(0)))


def test_without_a_feasible_start_the_support_is_named(rows):
    X, y = rows
    with pytest.raises(SupportError, match=r"inside the support of GEV\(xi=0.5\) \(-2 to inf\)"):
        fit(X[:, 1:], y, Log(GEV(0.5)), constant=None, offset=np.where(y > 0, -10.0, 0.0))


def test_a_link_class_is_refused_before_anything_is_fitted():
    with pytest.raises(InvalidOptionError, match="given as the class Probit"):
        Log(Probit)


def test_columns_that_rounding_hides_are_told_from_exact_ones():
    rng = np.random.default_rng(5)
    x = rng.normal(size=500)
    y = (rng.random(500) < 0.3).astype(float)
    for column, message in (
        (1e-200 * x, "column 1: so near to zero in every row that its square is zero; give it in other units"),
        (x + 1e9, r"column 1: nearly constant: 1e\+09 on average with a standard deviation of 0.96, .*center\(\)"),
        (0.0 * x, "column 1: zero in every row"),
        (np.full(500, 3.0), r"column 1 \(of column 0\): an exact linear combination"),
    ):
        engine = MemoryEngine(np.column_stack([np.ones(500), column]), y)
        with pytest.raises(CollinearityError, match=message):
            Problem(engine, Log(Logit())).estimate()


@pytest.mark.parametrize("order", ["outcome", "column"])
@pytest.mark.parametrize(
    "options", [{"link": "logit"}, {"xi": 0.3}, {"link": "cloglog"}, {"link": "logit", "bias": "firth"}]
)
def test_a_part_of_sorted_rows_does_not_mislead(order, options):
    # every j-th block of rows that are sorted by outcome holds one outcome only, and tells nothing of the rest
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(40_000), rng.normal(size=(40_000, 2))])
    y = (rng.random(len(X)) < 1 / (1 + np.exp(2.5 - X[:, 1]))).astype(float)
    rows = np.argsort(y if order == "outcome" else X[:, 1], kind="stable")
    expected = gevglm.fit(y, X, **options)
    for sequence in (rows, rows[::-1]):
        found = gevglm.fit(y[sequence], X[sequence], **options)
        assert found.converged
        np.testing.assert_allclose(found.params, expected.params, rtol=1e-8)
        np.testing.assert_allclose(found.bse, expected.bse, rtol=1e-6)
