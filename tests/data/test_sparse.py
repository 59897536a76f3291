"""Sparse designs give the answers of dense ones, are never made dense, and are refused where they hold what is no number."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import gevglm
from gevglm import BinaryGLM, detect_separation, fit
from gevglm.effects.curves import effect_curve
from gevglm.engine import linalg
from gevglm.exceptions import CollinearityError, InvalidDataError, InvalidOptionError, MissingRowsWarning

N = 3_000


def rows(seed=0, n=N):
    """A constant, two columns of numbers, a rare indicator and the dummies of a factor; an outcome that depends on them."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 6, n)
    X = np.column_stack(
        [np.ones(n), rng.normal(size=n) * (rng.random(n) < 0.4), rng.normal(size=n), rng.random(n) < 0.1]
        + [levels == level for level in range(1, 6)]
    ).astype(float)
    linear = X @ rng.normal(0.0, 0.4, X.shape[1]) - 1.2
    return X, (rng.random(n) < 1 / (1 + np.exp(-linear))).astype(float)


X, Y = rows()
RNG = np.random.default_rng(1)
WEIGHTS, SHIFT, GROUPS = RNG.uniform(0.5, 2.0, N), RNG.normal(size=N), RNG.integers(0, 40, N)
COPIES = RNG.integers(0, 4, N).astype(float)
FITS = {
    **{link: {"link": link} for link in ("logit", "probit", "cloglog", "loglog", "cauchit")},
    "canonical": {"xi": 0.3},
    "canonical gevc": {"link": "gevc", "xi": -0.2},
    "canonical probit": {"link": "probit", "loss": "canonical"},
    "log": {"xi": 0.2, "loss": "log"},
    **{bias: {"link": "logit", "bias": bias} for bias in ("mean", "median", "jeffreys", "correction", "flic", "flac", "logf")},
    "canonical firth": {"xi": 0.3, "bias": "mean"},
    "king-zeng": {"link": "logit", "bias": "king-zeng", "prevalence": 0.01},
    **{cov: {"link": "logit", "cov_type": cov} for cov in ("HC0", "HC1", "HC2", "HC3")},
    "canonical HC3": {"xi": 0.3, "cov_type": "HC3"},
    "cluster": {"xi": 0.3, "cov_type": "cluster", "cov_kwds": {"groups": GROUPS}},
    "two-way": {"link": "logit", "cov_type": "cluster", "cov_kwds": {"groups": np.column_stack([GROUPS, np.arange(N) % 50])}},
    "HAC": {"link": "logit", "cov_type": "HAC", "cov_kwds": {"maxlags": 4}},
    "linearized": {"link": "logit", "sampling_weights": WEIGHTS},
    "weights": {"link": "cloglog", "freq_weights": COPIES, "var_weights": WEIGHTS, "offset": SHIFT},
    "ridge": {"link": "logit", "alpha": 2.0, "standardize": True},
    "class weights": {"link": "logit", "class_weight": "balanced"},
    "range": {"link": "logit", "prevalence": (0.01, 0.02)},
    "xi by likelihood": {"xi": "ml"},
    "xi by folds": {"xi": "cv", "search_kwds": {"grid": [0.0, 0.3], "refine": False}},
    "alpha by folds": {"link": "logit", "alpha": "cv", "search_kwds": {"alphas": [0.0, 1.0, 10.0]}},
}  # fmt: skip


def same(found, expected, rtol=1e-10):
    assert_allclose(found.params, expected.params, rtol=rtol, atol=1e-12)
    assert_allclose(found.bse, expected.bse, rtol=rtol)


@pytest.mark.parametrize("name", FITS)
def test_sparse_is_dense(name):
    tight = {} if "xi by" in name or "by folds" in name else {"tol": 1e-11}
    expected = fit(Y, X, **tight, **FITS[name])
    found = fit(Y, sparse.csr_array(X), **tight, **FITS[name])
    assert sparse.issparse(found.model.exog)
    assert found.model.exog_names == expected.model.exog_names
    same(found, expected)


@given(
    st.integers(0, 2**32 - 1), st.sampled_from(["logit", "probit", "cloglog"]), st.sampled_from(["HC1", "nonrobust"])
)
@settings(max_examples=8)
def test_sparse_is_dense_whatever_the_rows_and_their_order(seed, link, cov_type):
    X, y = rows(seed, 600)
    order = np.random.default_rng(seed).permutation(600)
    words = {"link": link, "cov_type": cov_type, "bias": "mean", "tol": 1e-11}
    expected = fit(y, X, **words)
    same(fit(y, sparse.csr_array(X), **words), expected, 1e-9)
    same(fit(y[order], sparse.csr_array(X)[order], **words), expected, 1e-8)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("container", ["matrix", "array"])
def test_every_format_is_the_same_fit(kind, container):
    given = getattr(sparse, f"{kind}_{container}")(X)
    before = given.copy()
    found = fit(Y, given, link="logit")
    expected = fit(Y, sparse.csr_array(X), link="logit")
    assert_array_equal(found.params, expected.params)
    assert_array_equal(given.toarray(), before.toarray())


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, bool, np.uint16])
def test_every_type_of_number(dtype):
    whole = (np.abs(X) > 0.2).astype(dtype)
    found, expected = (fit(Y, given, link="logit", tol=1e-11) for given in (sparse.csc_matrix(whole), whole))
    same(found, expected)


def test_elements_that_are_stored_twice_are_added_and_zeros_are_left_out():
    coo = sparse.coo_array(X)
    twice = sparse.coo_array(
        (np.concatenate([0.5 * coo.data, 0.5 * coo.data]), (np.tile(coo.row, 2), np.tile(coo.col, 2))), shape=X.shape
    )
    model = BinaryGLM(Y, twice, link="logit")
    assert model.exog.nnz == np.count_nonzero(X)
    same(model.fit(tol=1e-11), fit(Y, X, link="logit", tol=1e-11))


def test_the_matrix_given_may_change_later():
    given = sparse.csr_array(X)
    model = BinaryGLM(Y, given, link="logit")
    given.data[:] = 0.0
    same(model.fit(), fit(Y, X, link="logit"))


class TestTablesOfSparseColumns:
    names = ["const", "a", "b", "rare", *(f"level {level}" for level in range(1, 6))]

    def table(self, fill=0.0):
        frame = pd.DataFrame(X, columns=self.names, index=np.arange(N) + 10)
        frame[self.names[3:]] = frame[self.names[3:]].astype(pd.SparseDtype(float, fill))
        return frame

    @pytest.mark.parametrize("fill", [0.0, np.nan])
    def test_same_fit(self, fill):
        found = fit(Y, self.table(fill), link="logit", tol=1e-11)
        assert sparse.issparse(found.model.exog)
        assert list(found.params.index) == self.names
        same(found, fit(Y, pd.DataFrame(X, columns=self.names), link="logit", tol=1e-11))
        assert_array_equal(found.fittedvalues.index, np.arange(N) + 10)
        assert_allclose(found.predict(self.table(fill)[self.names[::-1]]), found.fittedvalues, rtol=1e-12)

    def test_dummies_of_pandas(self):
        levels = pd.Series(np.random.default_rng(2).choice(list("abcd"), N))
        dummies = pd.get_dummies(levels, sparse=True)
        found = fit(Y, dummies, link="logit", tol=1e-11)
        assert sparse.issparse(found.model.exog)
        same(found, fit(Y, pd.get_dummies(levels).astype(float), link="logit", tol=1e-11))

    def test_missing_values_and_formulas(self):
        table = self.table()
        table["a"] = table["a"].mask(table.index < 15)
        with pytest.warns(MissingRowsWarning, match="5 of 3000"):
            found = fit(Y, table, link="logit")
        assert_allclose(found.params, fit(Y[5:], X[5:], link="logit").params, rtol=1e-8)
        by_formula = fit("y ~ rare", self.table().assign(y=Y), link="logit")
        assert_allclose(by_formula.params, fit(Y, X[:, [0, 3]], link="logit").params, rtol=1e-8)

    def test_text_is_refused_by_name(self):
        with pytest.raises(InvalidDataError, match="'town' of the design is not numbers"):
            fit(Y, self.table().assign(town="here"), link="logit")


ASKED = {
    "summary": lambda res, new: res.summary().tables[1].data,
    "predict": lambda res, new: res.predict(new),
    "linear": lambda res, new: res.predict(which="linear"),
    "prediction": lambda res, new: res.get_prediction(new).summary_frame(),
    "linear prediction": lambda res, new: res.get_prediction(new, which="linear").summary_frame(),
    "own prediction": lambda res, new: res.get_prediction(which="mean").summary_frame(),
    "average": lambda res, new: res.get_prediction(new, average=True).summary_frame(),
    "profile": lambda res, new: res.conf_int(method="profile"),
    "ratio tests": lambda res, new: res.lr_tests(),
    "risk": lambda res, new: res.risk("rare").table,
    "risk over": lambda res, new: res.risk("rare", data=new).table,
    "curve": lambda res, new: effect_curve(res._results, "a", points=4).frame[["risk", "ci_lower", "ci_upper"]],
    "attributable": lambda res, new: res.attributable_fraction("rare", 0),
    "margins": lambda res, new: res.get_margeff().summary_frame(),
    "margins at means": lambda res, new: res.get_margeff(at="mean", dummy=True).summary_frame(),
    "corrected risks": lambda res, new: res.corrected_risk(new),
    "leverage": lambda res, new: res.get_hat_matrix_diag(),
    "influence": lambda res, new: np.column_stack(res.get_influence().cooks_distance),
    "score test": lambda res, new: res.score_test(SHIFT)[:2],
    "wald": lambda res, new: [res.wald_test(np.eye(9)[[2, 3]], scalar=True).statistic],
    "scores": lambda res, new: linalg.dense(res.model.score_obs(res.params)),
    "residuals": lambda res, new: res.resid_deviance,
    "statistics": lambda res, new: [res.llf, res.aic, res.auc, res.brier, res.pseudo_rsquared()],
    "calibration": lambda res, new: res.calibration(new, endog=Y[:40]).summary_frame().iloc[:4],
    "refit": lambda res, new: res.refit(np.arange(0, N, 2)).params,
}  # fmt: skip


@pytest.fixture(scope="module")
def both():
    names = TestTablesOfSparseColumns.names
    found, expected = (BinaryGLM(Y, given, link="logit").fit(tol=1e-11) for given in (sparse.csr_array(X), X))
    for res in (found, expected):
        res.model.data.xnames = res.model.design.names[:] = names
    return found, expected


@pytest.mark.parametrize("what", ASKED)
def test_results_offer_the_same(what, both):
    new = rows(5, 40)[0]
    found, expected = (ASKED[what](res, given) for res, given in zip(both, (sparse.coo_matrix(new), new), strict=True))
    if what == "summary":
        assert found == expected
    else:
        assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=1e-7, atol=1e-9)


def test_nested_models_and_saved_ones(both, tmp_path):
    found, expected = both
    restricted = [fit(Y, given, link="logit", tol=1e-11) for given in (sparse.csr_array(X[:, :4]), X[:, :4])]
    assert found.compare_lr_test(restricted[0])[0] == pytest.approx(
        expected.compare_lr_test(restricted[1])[0], rel=1e-8
    )
    found.save(tmp_path / "fit.pickle")
    loaded = gevglm.load(tmp_path / "fit.pickle")
    assert (tmp_path / "fit.pickle").stat().st_size < 60_000
    assert_allclose(loaded.predict(sparse.csr_array(X[:7])), found.fittedvalues[:7], rtol=1e-12)


# -- separation --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_separation_is_found_as_in_dense_rows(seed):
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 30, 200)
    X = np.column_stack([np.ones(200), rng.normal(size=200), *(levels == level for level in range(1, 30))]).astype(
        float
    )
    y = (rng.random(200) < 0.2).astype(float)
    found, expected = detect_separation(y, sparse.csc_array(X)), detect_separation(y, X)
    assert_array_equal(np.isinf(found.directions), np.isinf(expected.directions))  # some may go either way
    assert (found.separated, found.complete, found.rows) == (expected.separated, expected.complete, expected.rows)


def test_separation_with_dependent_and_empty_columns():
    X = np.column_stack([np.ones(6), [0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 0, 0], np.zeros(6)]).astype(float)
    y = np.array([0.0, 1, 0, 1, 1, 1])
    assert_array_equal(detect_separation(y, sparse.csr_array(X)).directions, detect_separation(y, X).directions)


# -- bad input ---------------------------------------------------------------------------------


def spoiled(value, where=(7, 3)):
    changed = sparse.lil_array(X)
    changed[where] = value
    return changed.tocsr()


def test_values_that_are_not_finite_are_named_by_column():
    with pytest.raises(InvalidDataError, match=r"not numbers: x3 \(1 rows\)"):
        fit(Y, spoiled(np.inf), link="logit")
    with pytest.raises(InvalidDataError, match=r"not numbers: x3 \(1 rows\)"):
        BinaryGLM(Y, spoiled(np.nan), link="logit").fit()
    with pytest.raises(InvalidDataError, match=r"not numbers: x3 \(1 rows\)"):
        detect_separation(Y, spoiled(np.nan))
    with pytest.warns(MissingRowsWarning, match="1 of 3000 rows"):
        found = fit(Y, spoiled(np.nan), link="logit")
    assert_allclose(found.params, fit(np.delete(Y, 7), np.delete(X, 7, 0), link="logit").params, rtol=1e-8)


@pytest.mark.parametrize(
    "exog, message",
    [
        (sparse.csr_array(X[:-1]), "the outcome has shape"),
        *(
            [(sparse.coo_array(np.ones(N)), "it needs rows and columns")]
            if sparse.coo_array(np.ones(2)).ndim == 1
            else []
        ),
        (sparse.csr_array(X).astype(complex), "complex numbers"),
        (sparse.csr_array((N, 0)), "no columns"),
        (sparse.csr_array((0, 3)), "no rows"),
    ],
)
def test_matrices_that_are_no_designs(exog, message):
    with pytest.raises(InvalidDataError, match=message):
        fit(Y, exog, link="logit")


def test_objects_are_refused():
    exog = sparse.coo_array((np.ones(3), ([0, 1, 2], [0, 1, 2])), shape=(N, 3))
    exog.data = np.array(["a", "b", 1], dtype=object)
    with pytest.raises(InvalidDataError, match="holds object, not numbers"):
        fit(Y, exog, link="logit")


def test_collinear_columns_and_other_shapes_are_named(both):
    with pytest.raises(CollinearityError, match="x9"):
        fit(Y, sparse.hstack([sparse.csr_array(X), X[:, [1]]]), link="logit", **_raise())
    with pytest.raises(InvalidDataError, match="exog has 3 columns, but the model has 9"):
        both[0].predict(sparse.csr_array(X[:, :3]))
    with pytest.raises(InvalidOptionError, match="fit_constrained does not take a sparse design"):
        both[0].model.fit_constrained("a = 0")


def _raise():
    """Words that refuse collinear columns, where leaving them out is the default."""
    import inspect

    return {"collinear": "raise"} if "collinear" in inspect.signature(fit).parameters else {}


def test_large_designs_are_not_made_dense(both, monkeypatch):
    monkeypatch.setattr("gevglm.data.design.MOST_DENSE", 10)
    with pytest.raises(InvalidDataError, match=r"get_margeff\(\) needs a dense design"):
        both[0].get_margeff()


def test_memory():
    """Nothing of the size of the dense design, and few matrices of the size of the second derivative, are ever made."""
    rng = np.random.default_rng(0)
    n, k = 20_000, 640
    columns = np.column_stack(
        [np.zeros(n, int), 1 + rng.integers(0, k // 2, n), 1 + k // 2 + rng.integers(0, k // 2 - 1, n)]
    )
    exog = sparse.csr_array((np.ones(3 * n), columns.ravel(), np.arange(n + 1) * 3), shape=(n, k))
    y = (rng.random(n) < 0.3).astype(float)
    exog = exog[:, np.r_[0, 2:k]][:, : k - 2]
    tracemalloc.start()
    res = fit(y, exog, link="logit")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert res.converged
    assert peak < 8 * (2.6 * k**2 + 12 * n)
    assert peak < 8 * n * k / 8
