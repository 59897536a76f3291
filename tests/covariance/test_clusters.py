"""Cluster-robust covariances: the factors of R and Stata, ids of any type, labels, missing clusters, repaired matrices."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.exceptions import (
    GevglmWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    MissingRowsWarning,
)
from tests.support.golden import arrays, golden_set, numbers, quiet_fit, same_matrix

RTOL = 1e-8
FORMULA = "event ~ age + smoker"
SECOND = {"rare": 7, "birthwt": 3}  # the second clustering of golden/make_clusters.R is by row modulo these


@pytest.fixture(scope="module")
def study():
    data = gevglm.datasets.simulate_study(n=1500, rng=3)
    data["clinic"] = np.arange(len(data)) // 10
    data["year"] = np.arange(len(data)) % 12
    return data


def clustered(data, groups, **options):
    words = {"groups": groups} | {name: options.pop(name) for name in ("kind", "use_correction") if name in options}
    return gevglm.fit(FORMULA, data, link="logit", cov_type="cluster", cov_kwds=words, **options)


# -- the numbers of R ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SECOND)
@pytest.mark.parametrize(
    ("words", "reference"),
    [
        ({"kind": "CR0"}, "HC0"),
        ({"kind": "CR0"}, "robcov"),
        ({"use_correction": False}, "robcov"),
        ({"kind": "CR1"}, "default"),
        ({"kind": "CR1"}, "HC0_cadjust"),
        ({"kind": "CR1S"}, "HC1"),
        ({"use_correction": True}, "HC1"),
        ({}, "HC1"),
    ],
)
def test_factors_are_those_of_sandwich_and_rms(name, words, reference):
    y, X = arrays(name)
    res = quiet_fit(y, X, link="logit", cov_type="cluster", cov_kwds={"groups": golden_set(name).clusters, **words})
    same_matrix(res.cov_params(), numbers("clusters")["cases"][name][reference], RTOL)


def two_way(name, **words):
    y, X = arrays(name)
    groups = pd.DataFrame({"one": golden_set(name).clusters, "two": np.arange(len(X)) % SECOND[name]})
    return quiet_fit(y, X, link="logit", cov_type="cluster", cov_kwds={"groups": groups, **words})


@pytest.mark.parametrize(("kind", "reference"), [("CR0", "HC0"), ("CR1", "default"), ("CR1S", "HC1")])
def test_two_way_factors_are_those_of_sandwich(kind, reference):
    res = two_way("rare", kind=kind)
    same_matrix(res.cov_params(), numbers("clusters")["cases"]["rare"]["two_way"][reference], RTOL)
    named = "" if kind == "CR1S" else f"; {kind}"
    assert f"(100 clusters and 7 clusters{named})" in res.cov_kwds["description"]


def test_a_negative_two_way_variance_is_repaired_and_said():
    reference = numbers("clusters")["cases"]["birthwt"]
    assert np.diagonal(reference["two_way"]["HC0"]).min() < 0
    with pytest.warns(GevglmWarning, match="1 of 10 variances are negative.*eigenvalues were set to zero"):
        res = two_way("birthwt", kind="CR0")
    same_matrix(res.cov_params(), reference["two_way_fixed"], RTOL)
    assert np.isfinite(res.bse).all()
    assert "were set to zero" in str(res.summary())


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.WeakShapeWarning")
def test_the_covariance_of_an_estimated_shape_is_repaired_too():
    data = gevglm.datasets.simulate_study(n=6000, rng=4)
    groups = np.column_stack([np.arange(6000) % 3, np.arange(6000) // 3 % 2])
    words = {"cov_type": "cluster", "cov_kwds": {"groups": groups, "kind": "CR0"}}
    with pytest.warns(GevglmWarning, match="eigenvalues were set to zero"):
        res = gevglm.fit(FORMULA, data, link="gev", loss="log", xi="ml", **words)
    assert np.linalg.eigvalsh(res.joint_covariance).min() > -1e-12
    assert np.isfinite(res.bse).all() and np.isfinite(res.xi_bse)


# -- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["hc0", None, 1, "False"])
def test_a_correction_that_is_no_switch_is_refused(study, value):
    with pytest.raises(InvalidOptionError, match=r"use_correction=.*True or False.*'CR0'"):
        clustered(study, "clinic", use_correction=value)
    with pytest.raises(InvalidOptionError, match=r"use_correction=.*True or False"):
        gevglm.fit(FORMULA, study, xi=0.5, cov_type="HAC", cov_kwds={"maxlags": 2, "use_correction": value})


def test_unknown_factors_are_refused(study):
    with pytest.raises(
        InvalidOptionError, match="kind='CR4' is not known; use one of 'CR0', 'CR1', 'CR1S', 'CR2', 'CR3'"
    ):
        clustered(study, "clinic", kind="CR4")
    with pytest.raises(IncompatibleOptionsError, match="both kind and use_correction"):
        clustered(study, "clinic", kind="CR1", use_correction=True)


def test_three_columns_are_named(study):
    data = study.assign(oil=study["year"] % 2)
    with pytest.raises(InvalidOptionError, match=r"3 columns \(clinic, year, oil\); clustering is one- or two-way"):
        clustered(data, ["clinic", "year", "oil"])
    with pytest.raises(InvalidOptionError, match=r"3 columns \(clinic, year, oil\)"):
        clustered(lambda: iter([data]), ["clinic", "year", "oil"])


# -- ids -------------------------------------------------------------------------------------------

BIG = 2**60


@pytest.mark.parametrize(
    "second",
    [
        lambda years: years.astype(float),
        lambda years: years.astype(np.uint64) + np.uint64(2**63),
        lambda years: years.astype(str),
        lambda years: years,
    ],
    ids=["float", "uint64", "text", "int64"],
)
def test_ids_keep_their_type_beside_another_column(study, second):
    """As one array, of floats, neighbouring ids beyond 2**53 would be one."""
    data = study.assign(big=study["clinic"].to_numpy() + BIG, other=second(study["year"].to_numpy()))
    expected = clustered(study, ["clinic", "year"]).bse
    for groups in (["big", "other"], data[["big", "other"]]):
        found = clustered(data, groups)
        assert "150 clusters and 12 clusters" in found.cov_kwds["description"]
        assert_allclose(found.bse, expected, rtol=1e-12)


def test_ids_of_a_list_keep_their_types(study):
    ids = [code if code % 2 else str(code - 1) for code in study["clinic"]]  # 1 and "1" are different
    assert "150 clusters" in clustered(study, ids).cov_kwds["description"]


# -- labels ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labelled(study):
    return study.set_axis([f"p{i}" for i in range(len(study))])


def test_clusters_with_the_labels_of_the_data_are_put_in_order(labelled):
    shuffled = labelled["clinic"].sample(frac=1.0, random_state=1)
    expected = clustered(labelled, "clinic").bse
    assert_allclose(clustered(labelled, shuffled).bse, expected, rtol=1e-13)
    assert_allclose(clustered(labelled, shuffled.to_frame()).bse, expected, rtol=1e-13)
    some = labelled[labelled["age"] > 0].index
    expected = clustered(labelled.loc[some], "clinic").bse
    assert_allclose(clustered(labelled, shuffled, subset="age > 0").bse, expected, rtol=1e-13)
    assert_allclose(
        clustered(labelled, shuffled[shuffled.index.isin(some)], subset="age > 0").bse, expected, rtol=1e-13
    )


def test_rows_with_other_labels_are_refused_or_aligned_everywhere(labelled):
    res = gevglm.fit(FORMULA, labelled, link="logit")
    square, smoker = labelled["age"] ** 2, labelled["smoker"]
    for series in (square[::-1], square.sample(frac=1.0, random_state=2)):
        assert_allclose(res.score_test(series).statistic, res.score_test(square.to_numpy()).statistic, rtol=1e-10)
        by = res.risk("age", by=smoker.loc[series.index]).table
        assert_array_equal(by, res.risk("age", by="smoker").table)
    other = square.set_axis(range(len(square)))
    with pytest.raises(InvalidDataError, match="the index of groups is not that of the data"):
        clustered(labelled, labelled["clinic"].set_axis(range(len(labelled))))
    with pytest.raises(InvalidDataError, match="index of exog_extra"):
        res.score_test(other)
    with pytest.raises(InvalidDataError, match="index of by"):
        res.risk("age", by=other > 50)
    twice = labelled["clinic"].set_axis([*labelled.index[:-1], labelled.index[0]])
    with pytest.raises(InvalidDataError, match="index of groups"):
        clustered(labelled, twice)


def test_rows_without_labels_are_taken_in_their_order(study):
    X = np.column_stack([np.ones(len(study)), study["age"], study["smoker"]])
    groups = study["clinic"].set_axis(np.arange(len(study))[::-1])
    res = gevglm.fit(study["event"].to_numpy(), X, link="logit", cov_type="cluster", cov_kwds={"groups": groups})
    assert_allclose(res.bse, clustered(study, "clinic").bse, rtol=1e-10)


# -- missing clusters ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [float, "Int64", object, "category"])
def test_rows_without_a_cluster_are_dropped_as_missing_says(study, kind):
    data = study.assign(clinic=study["clinic"].astype(kind).where(study["clinic"] != 3))
    kept = study[study["clinic"] != 3]
    for groups in ("clinic", ["clinic", "year"], data["clinic"], data[["clinic", "year"]]):
        expected = clustered(kept, ["clinic", "year"] if np.ndim(groups) == 2 or isinstance(groups, list) else "clinic")
        with pytest.warns(MissingRowsWarning, match="10 of 1500 rows were dropped"):
            found = clustered(data, groups)
        assert_allclose(found.params, expected.params, rtol=1e-10)
        assert_allclose(found.bse, expected.bse, rtol=1e-10)
        assert found.model.design.n_missing == 10
        with pytest.raises(InvalidDataError, match="10 of 1500 rows have missing values"):
            clustered(data, groups, missing="raise")


def test_rows_without_a_cluster_are_dropped_from_pieces_and_arrays(study):
    data = study.assign(clinic=study["clinic"].where(study["clinic"] != 3))
    expected = clustered(study[study["clinic"] != 3], "clinic").bse
    with pytest.warns(MissingRowsWarning, match="10 of 1500"):
        pieces = clustered(lambda: (data.iloc[i : i + 400] for i in range(0, 1500, 400)), "clinic")
    assert_allclose(pieces.bse, expected, rtol=1e-8)
    X = data.assign(one=1.0)[["one", "age", "smoker"]]
    with pytest.warns(MissingRowsWarning, match="10 of 1500"):
        plain = gevglm.fit(
            data["event"], X, link="logit", cov_type="cluster", cov_kwds={"groups": data["clinic"].to_numpy()}
        )
    assert_allclose(plain.bse, expected, rtol=1e-10)


def test_a_model_whose_rows_are_chosen_refuses_rows_without_a_cluster(study):
    data = study.assign(clinic=study["clinic"].where(study["clinic"] != 3))
    model = gevglm.BinaryGLM.from_formula(FORMULA, data, link="logit")
    with pytest.raises(InvalidDataError, match=r"missing in 10 of the 1500 rows.*Leave those rows out.*missing='drop'"):
        model.fit(cov_type="cluster", cov_kwds={"groups": "clinic"})
    with pytest.raises(InvalidDataError, match="missing in 10 of the 1500 rows"):
        clustered(data, "clinic", missing="none")
