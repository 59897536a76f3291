"""Results of fits whose data are read in pieces."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gevglm
from gevglm.calibration import bins
from gevglm.exceptions import InvalidDataError, InvalidOptionError, SeparationWarning, SupportWarning
from tests.support.study import reads_formulaic

FORMULA = "y ~ x0 + x1 + C(group)"


@pytest.fixture(scope="module")
def fits(pattern, table):
    return gevglm.fit(FORMULA, pattern, link="logit"), gevglm.fit(FORMULA, table, link="logit")


@pytest.mark.parametrize(
    "name",
    [
        "llf",
        "llnull",
        "aic",
        "bic",
        "deviance",
        "null_deviance",
        "pearson_chi2",
        "log_loss",
        "brier",
        "auc",
        "df_resid",
        "n_events",
    ],
)
def test_statistics_of_fit(name, fits):
    found, expected = fits
    assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)


def test_the_area_under_the_curve_is_exact_with_ties_and_weights(table):
    data = table.head(2_000).assign(x0=table["x0"].round(1))
    for outcome in ("y", "1 - y"):
        parts = [data.iloc[:900], data.iloc[900:]]
        found, expected = (
            gevglm.fit(f"I({outcome}) ~ x0", rows, link="logit", freq_weights="copies") for rows in (parts, data)
        )
        assert found.auc == pytest.approx(expected.auc, rel=1e-13)


def test_inference_from_the_likelihood(fits, pattern, table):
    found, expected = fits
    assert_array_equal(found.lr_tests(), expected.lr_tests())
    assert_array_equal(found.conf_int(method="profile", cols=[1]), expected.conf_int(method="profile", cols=[1]))
    smaller = [gevglm.fit("y ~ x0", data, link="logit") for data in (pattern, table)]
    assert found.compare_lr_test(smaller[0]) == expected.compare_lr_test(smaller[1])


@reads_formulaic
def test_tests_of_terms(fits):
    found, expected = fits
    assert str(found.wald_test_terms()) == str(expected.wald_test_terms())


def test_predictions_of_new_data(fits, table, pattern):
    found, expected = fits
    new = table.head(20)
    assert_array_equal(found.predict(new), expected.predict(new))
    assert_array_equal(found.get_prediction(new).summary_frame(), expected.get_prediction(new).summary_frame())
    for which in ("mean", "linear", "var_unscaled", "fitted"):
        assert_allclose(found.predict(pattern, which=which), expected.predict(table, which=which), rtol=1e-13)


@pytest.mark.parametrize("fit", [0, 1], ids=["pieces", "memory"])
def test_predictions_to_a_file(fit, fits, table, pattern, tmp_path):
    path = tmp_path / "scored.parquet"
    assert fits[fit].predict(pattern, to=path) == path
    scored = pd.read_parquet(path)
    assert_allclose(scored["prediction"], fits[1].predict(table), rtol=1e-13)
    pd.testing.assert_frame_equal(scored.drop(columns="prediction"), table)
    assert [file.name for file in tmp_path.iterdir()] == ["scored.parquet"]


def test_predictions_of_a_table_to_a_file(fits, table, tmp_path):
    fits[1].predict(table.head(10), to=tmp_path / "few.parquet")
    assert_allclose(pd.read_parquet(tmp_path / "few.parquet")["prediction"], fits[1].predict(table.head(10)))


def test_predictions_of_dask(fits, table):
    dd = pytest.importorskip("dask.dataframe")
    found = fits[1].predict(dd.from_pandas(table, npartitions=3))
    assert_allclose(found, fits[1].predict(table), rtol=1e-13)


def test_incomplete_rows_have_no_prediction(fits, table):
    new = [table.head(3).assign(x0=[np.nan, 1.0, 2.0]), table.head(2)]
    found = fits[0].predict(new)
    assert_array_equal(np.isnan(found), [True, False, False, False, False])


def test_rows_outside_the_support_are_counted_over_all_pieces(table):
    results = gevglm.fit("y ~ x0 + x1", [table.iloc[:9_000], table.iloc[9_000:]], xi=0.5)
    new = pd.DataFrame({"x0": [-50.0, 0.0], "x1": [0.0, 0.0]})
    with pytest.warns(SupportWarning, match="2 of 4 rows"):
        results.predict([new, new])


def test_half_a_file_is_never_left(fits, pattern, table, tmp_path, monkeypatch):
    def fail(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("gevglm.results.prediction.Scorer.__call__", fail)
    with pytest.raises(KeyboardInterrupt):
        fits[0].predict(pattern, to=tmp_path / "scored.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("exact", [True, False], ids=["all rows", "bins"])
def test_calibration(exact, table, monkeypatch):
    data = table.head(3_000)
    parts = [data.iloc[:1_000], data.iloc[1_000:]]
    if not exact:
        monkeypatch.setattr(bins, "EXACT_ROWS", 1_500)
    found, expected = (gevglm.fit("y ~ x0 + x1", rows, link="logit") for rows in (parts, data))
    known = expected.calibration().summary_frame().loc["Brier score":"calibration intercept", "estimate"]
    for assessed in (found.calibration(), found.calibration(parts)):
        numbers = assessed.summary_frame().loc[known.index, "estimate"]
        assert_allclose(numbers, known, rtol=1e-12 if exact else 2e-5, atol=1e-12 if exact else 2e-5)
    assert not assessed.in_sample


def test_saved_in_kilobytes_without_the_data(fits, table, tmp_path):
    path = tmp_path / "fit.pickle"
    results = gevglm.fit(FORMULA, [table.iloc[:9_000], table.iloc[9_000:]], link="logit")
    text = str(results.summary())
    results.save(path)
    assert path.stat().st_size < 50_000
    again = gevglm.load(path)
    assert str(again.summary()) == text
    assert_array_equal(again.predict(table.head()), results.predict(table.head()))
    with pytest.raises(InvalidDataError, match="needs the rows of the fit, which are not in memory"):
        again.lr_tests()


def test_saved_with_the_names_of_the_files(fits, tmp_path):
    path = tmp_path / "fit.pickle"
    fits[0].save(path, remove_data=False)
    assert_array_equal(gevglm.load(path).lr_tests(), fits[0].lr_tests())


@pytest.mark.parametrize(
    "what",
    [
        lambda res: res.fittedvalues,
        lambda res: res.mu,
        lambda res: res.resid_pearson,
        lambda res: res.resid_deviance,
        lambda res: res.resid_response,
        lambda res: res.predict(),
        lambda res: res.get_prediction(),
        lambda res: res.get_influence(),
        lambda res: res.get_margeff(),
        lambda res: res.get_hat_matrix_diag(),
        lambda res: res.score_test(np.ones(len(res.model.endog))),
        lambda res: np.asarray(res.model.exog),
        lambda res: res.model.endog + 1,
        lambda res: res.model.endog[0],
        lambda res: res.recalibrate(),
    ],
)
def test_what_needs_all_rows_says_so(what, fits):
    with pytest.raises(InvalidDataError, match="needs the rows of the fit, which are not in memory"):
        what(fits[0])


@pytest.mark.parametrize("options", [{"xi": "cv"}, {"link": "logit", "alpha": "cv"}])
def test_cross_validation_needs_all_rows(options, pattern):
    with pytest.raises(InvalidOptionError, match="cross-validation needs the rows in memory"):
        gevglm.fit(FORMULA, pattern, **options)


def test_lags_need_all_rows(pattern):
    with pytest.raises(InvalidOptionError, match="HAC"):
        gevglm.fit(FORMULA, pattern, link="logit", cov_type="HAC", cov_kwds={"maxlags": 2})


def test_resampling_needs_all_rows(fits):
    with pytest.raises(InvalidDataError, match=r"resampling=.cv. needs the rows of the fit"):
        fits[0].calibration(resampling="cv")


def test_shapes_by_maximum_likelihood(pattern, table):
    options = {"xi": "ml", "loss": "log", "search_kwds": {"grid": [-1.0, -0.6, -0.3, 0.0]}}
    found, expected = (gevglm.fit("y ~ x0 + x1", data, **options) for data in (pattern, table))
    assert found.xi == pytest.approx(expected.xi, abs=1e-6)
    assert_allclose(found.params, expected.params, rtol=1e-5)
    assert found.xi_bse == pytest.approx(expected.xi_bse, rel=1e-4)


@pytest.mark.parametrize("rows", [2_000, 20_000])
def test_separation_shows_in_its_symptoms(rows, table):
    data = table.head(rows).assign(never=np.arange(rows) % 50 == 0)
    data.loc[data["never"], "y"] = 0
    with pytest.warns(SeparationWarning, match=r"symptoms of separation: .* never\[T.True\]"):
        gevglm.fit("y ~ x0 + never", [data.iloc[:900], data.iloc[900:]], link="logit")
    assert gevglm.fit("y ~ x0 + never", [data.iloc[:900], data.iloc[900:]], link="logit", bias="firth").converged
