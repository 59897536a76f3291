"""Rows outside the support of the link: counted, and those that contradict the fit named as the user knows them."""

import pickle

import numpy as np
import pandas as pd
import pytest

import gevglm
from gevglm.engine import MemoryEngine
from gevglm.estimation.checks import FirstRows, check_support
from gevglm.exceptions import FewEventsWarning, MissingRowsWarning, SeparationWarning, SupportWarning
from gevglm.links import GEV, GEVc, Logit

N = 400
LINEAR = np.linspace(-4.0, 4.0, N)  # the support of GEV(0.5) begins at -2, that of GEVc(0.5) ends at 2
X = np.column_stack([np.ones(N), LINEAR])
Y = (np.random.default_rng(3).random(N) < 0.5).astype(float)
Y[LINEAR <= -2] = 0.0
Y[LINEAR >= 2] = 1.0
OUTSIDE = int((LINEAR <= -2).sum())

pytestmark = pytest.mark.filterwarnings("ignore::gevglm.exceptions.SeparationWarning")


def flipped(*rows):
    y = Y.copy()
    y[list(rows)] = 1.0 - y[list(rows)]
    return y


def at_given(y, exog=X, link="gev", **options):
    """Results with the linear predictor LINEAR, and the one SupportWarning they come with."""
    with pytest.warns(SupportWarning) as caught:
        results = gevglm.fit(y, exog, link=link, xi=0.5, start_params=[0.0, 1.0], maxiter=0, **options)
    (message,) = [str(warning.message) for warning in caught if warning.category is SupportWarning]
    return results, message


def test_events_at_a_probability_of_zero():
    results, message = at_given(flipped(12, 40, 77))
    assert message.startswith(
        "3 events have a fitted probability of exactly 0 (rows 12, 40, 77) and 0 non-events have one of exactly 1; "
        f"{OUTSIDE} observations in all lie outside the support of GEV(xi=0.5)"
    )
    assert message.endswith("try another xi.")
    assert (results.n_outside_support, results.n_contradicted) == (OUTSIDE, 3)
    assert (results.fittedvalues[[12, 40, 77]] == 0).all()
    text = results.summary().as_text()
    assert f"{OUTSIDE} observations lie outside the support" in text
    assert "contradicts it in 3 of them" in text
    assert pickle.loads(pickle.dumps(results)).n_contradicted == 3


def test_nonevents_at_a_probability_of_one():
    results, message = at_given(flipped(N - 1), link="gevc")
    assert "0 events have a fitted probability of exactly 0 and" in message
    assert f"1 non-event has one of exactly 1 (row {N - 1}); {OUTSIDE} observations" in message
    assert "GEVc(xi=0.5)" in message
    assert results.n_contradicted == 1


def test_outcomes_that_agree_are_no_contradiction():
    results, message = at_given(Y)
    assert message == (
        f"{OUTSIDE} observations lie outside the support of GEV(xi=0.5): their fitted probability is exactly 0 or 1."
    )
    assert results.n_contradicted == 0
    assert "contradicts it in 0 of them" in results.summary().as_text()


def test_only_the_first_rows_are_named():
    assert (
        "8 events have a fitted probability of exactly 0 (rows 0, 1, 2, 3, 4 and 3 more)"
        in at_given(flipped(*range(8)))[1]
    )


def test_a_link_without_bounds_has_no_rows_outside():
    engine = MemoryEngine(1e3 * X, flipped(1))
    assert check_support(engine, Logit(), np.array([0.0, 1.0])).outside == 0
    assert gevglm.fit(Y, X, link="probit", alpha=1.0).n_contradicted == 0


# -- rows as the user knows them -------------------------------------------------------------


def test_rows_of_arrays_are_positions_in_the_data_given():
    exog = X.copy()
    exog[[3, 20], 1] = np.nan
    with pytest.warns(MissingRowsWarning):
        _, message = at_given(flipped(12, 40), exog, missing="drop")
    assert "(rows 12, 40)" in message


def frame(index=None):
    return pd.DataFrame({"y": flipped(12, 40), "x": LINEAR}, index=index)


@pytest.mark.parametrize("table", ["pandas", "dict", "polars"])
def test_rows_of_tables_without_labels_are_positions_in_the_data_given(table):
    data = frame()
    data.loc[[3, 20], "x"] = np.nan
    if table == "polars":
        data = pytest.importorskip("polars").from_pandas(data)
    with pytest.warns(MissingRowsWarning):
        _, message = at_given("y ~ x", dict(data) if table == "dict" else data)
    assert "(rows 12, 40)" in message


def test_rows_with_labels_are_named_by_them():
    labels = [f"person {i}" for i in range(N)]
    for arguments in (("y ~ x", frame(labels)), (frame(labels)["y"], X), (flipped(12, 40), pd.DataFrame(X, labels))):
        assert "(rows person 12, person 40)" in at_given(*arguments)[1]
    assert "(row person 40)" in at_given("y ~ x", frame(labels), subset=np.arange(N) > 12)[1]


# -- weights and groups ----------------------------------------------------------------------


def test_rows_of_weight_zero_do_not_count():
    weights = np.ones(N)
    weights[[12, 13]] = 0.0
    results, message = at_given(flipped(12, 40, 77), freq_weights=weights)
    assert "2 rows with events have a fitted probability of exactly 0 (rows 40, 77)" in message
    assert (results.n_outside_support, results.n_contradicted) == (OUTSIDE - 2, 2)


def test_grouped_rows_count_once_whatever_their_share():
    counts = np.column_stack([Y, 1.0 - Y])
    counts[[12, 40]] = [1, 4], [5, 0]
    results, message = at_given(counts)
    assert "2 rows with events have a fitted probability of exactly 0 (rows 12, 40)" in message
    assert (results.n_outside_support, results.n_contradicted) == (OUTSIDE, 2)


@pytest.mark.parametrize("link", [GEV(0.5), GEVc(0.5), GEV(-0.5)])
@pytest.mark.parametrize(("block_rows", "threads"), [(7, 1), (7, 2), (1000, 1)])
def test_blocks_do_not_matter(link, block_rows, threads):
    rng = np.random.default_rng(5)
    y, offset = (rng.random(N) < 0.5).astype(float), rng.normal(size=N)
    engine = MemoryEngine(X, y, offset=offset, block_rows=block_rows, threads=threads)
    support = check_support(engine, link, np.array([0.0, 1.0]))
    v, (lower, upper) = LINEAR + offset, link.support
    outside = (v <= lower) | (v >= upper)
    assert np.isin(link.inverse(v[outside]), (0.0, 1.0)).all()
    events, nonevents = np.flatnonzero((v <= lower) & (y == 1)), np.flatnonzero((v >= upper) & (y == 0))
    assert support.outside == outside.sum() and support.contradicted == len(events) + len(nonevents)
    assert support.event_rows == tuple(events[:5]) and support.nonevent_rows == tuple(nonevents[:5])
    assert engine.reduce(FirstRows(lambda block: block.y == 1, most=3)) == np.flatnonzero(y == 1)[:3].tolist()


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.ConvergenceWarning")
def test_a_fit_that_is_contradicted():
    """The canonical loss is finite outside the support, so a few low events do not keep the fit inside."""
    y = flipped(5, 60)
    with pytest.warns((SupportWarning, SeparationWarning, FewEventsWarning)):
        results = gevglm.fit(y, X, xi=0.9)
    expected = int(((np.asarray(results.fittedvalues) == 0) & (y == 1)).sum())
    assert results.n_contradicted == expected > 0


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.MissingRowsWarning")
def test_rows_of_a_constrained_fit():
    data = frame()
    data.loc[[3, 20], "x"] = np.nan
    model = gevglm.BinaryGLM.from_formula("y ~ x", data, xi=0.5)
    with pytest.warns(SupportWarning) as caught:
        results = model.fit_constrained("x = 1")
    (message,) = [str(warning.message) for warning in caught if warning.category is SupportWarning]
    assert "(rows 12, 40)" in message
    assert results.n_contradicted == 2
