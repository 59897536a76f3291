"""One inference per fit: what the summary shows is what every other door gives."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import gevglm
from gevglm.cli.numbers import numbers_of
from gevglm.exceptions import ConvergenceWarning, InvalidDataError, InvalidOptionError
from gevglm.inference.profile import PenalisedLikelihood
from gevglm.report.tables import coefficients
from gevglm.results.plotting import coefficient_table
from tests.support.golden import synthetic

FORMULA = "y ~ x1 + x2 + level"


@pytest.fixture(scope="module")
def data():
    return synthetic("separated")


def fitted(data, **options):
    return gevglm.fit(FORMULA, data, link="logit", **({"bias": "firth"} | options))


def shown(res):
    """Tests and limits of the summary, from its text."""
    rows = [line.split() for line in res.summary().tables[1].as_csv().replace(",", " ").splitlines()[1:]]
    return np.array([row[-4:] for row in rows], dtype=float)


@pytest.mark.parametrize("bias", ["firth", "jeffreys", "logf", "flic", "flac", "median", "none"])
def test_every_door_gives_what_the_summary_shows(data, bias):
    res = fitted(data, bias=bias) if bias != "none" else gevglm.fit("y ~ x1", data, link="logit")
    assert res.inference == ("wald" if bias in ("median", "none") else "profile")
    table, limits = shown(res), res.conf_int().to_numpy()
    assert_allclose(res.tvalues, table[:, 0], atol=6e-4)
    assert_allclose(res.pvalues, table[:, 1], atol=6e-4)
    assert_allclose(limits, table[:, 2:], atol=6e-4)
    assert_allclose(res.pvalues, chi2.sf(np.asarray(res.tvalues) ** 2, 1), rtol=1e-9)
    slopes = slice(1, None)
    assert_allclose(res.odds_ratios()[["ci_lower", "ci_upper"]], np.exp(limits[slopes]), rtol=1e-12)
    assert_allclose(res.exp_params()[["ci_lower", "ci_upper"]], np.exp(limits[slopes]), rtol=1e-12)
    assert_allclose(coefficient_table(res)[["ci_lower", "ci_upper"]], limits[slopes], rtol=1e-12)
    numbers = pd.DataFrame(numbers_of(res, FORMULA, "data", 0.05)["coefficients"])
    assert_allclose(
        numbers[["z", "pvalue", "ci_lower", "ci_upper"]], np.column_stack([res.tvalues, res.pvalues, limits])
    )
    published = gevglm.compare({"m": res}, folds=2).summary(interval=True, stars=True).frame["m"]
    assert published.iloc[3] == f"({limits[1, 0]:.3f}, {limits[1, 1]:.3f})"
    assert published.iloc[2].count("*") == sum(res.pvalues.iloc[1] < level for level in (0.05, 0.01, 0.001))
    assert ("profile penalised" in str(coefficients(res._results, 0.05))) == (res.inference == "profile")


def test_another_method_may_be_chosen(data):
    res = fitted(data)
    wald = np.column_stack([res.params - 1.959964 * res.bse, res.params + 1.959964 * res.bse])
    assert_allclose(res.conf_int(method="wald"), wald, rtol=1e-6)
    assert_allclose(res.odds_ratios(method="wald").iloc[:, 1:3], np.exp(wald[1:]), rtol=1e-5)
    assert_allclose(res.tests("wald")[0], res.params / res.bse, rtol=1e-12)
    assert_allclose(res.wald_test(np.eye(4)[1], scalar=True).statistic, (res.params / res.bse).iloc[1] ** 2, rtol=1e-9)
    assert np.abs(wald - res.conf_int()).to_numpy().max() > 0.1
    with pytest.raises(InvalidOptionError, match="method='walt' is not known"):
        res.conf_int(method="walt")


@pytest.mark.parametrize("options", [{"cov_type": "HC0"}, {"bias": "median"}, {"bias": None, "alpha": 1.0}])
def test_fits_without_a_profile_have_wald_inference(data, options):
    res = fitted(data, **options)
    assert res.inference == "wald"
    assert_allclose(res.tvalues, res.params / res.bse, rtol=1e-12)
    assert_allclose(res.conf_int(), res.conf_int(method="wald"))


def test_data_in_pieces_have_the_same_inference(data):
    res, pieces = fitted(data), fitted(lambda: (data.iloc[i : i + 30] for i in range(0, 80, 30)))
    assert pieces.inference == "profile"
    assert_allclose(pieces.pvalues, res.pvalues, rtol=1e-6)
    assert_allclose(pieces.conf_int(), res.conf_int(), rtol=1e-6)
    assert str(pieces.summary().tables[1]) == str(res.summary().tables[1])


def test_profiles_are_made_once(data, monkeypatch):
    made = []
    at = PenalisedLikelihood.at.__func__
    monkeypatch.setattr(PenalisedLikelihood, "at", classmethod(lambda cls, *args: made.append(1) or at(cls, *args)))
    res = fitted(data)
    res.summary(), res.conf_int(), res.pvalues, res.tvalues, res.odds_ratios(), res.lr_tests()
    assert len(made) == 3  # limits, tests, and the whole model
    for table in (res.lr_tests(), res._results.conf_int()):  # copies
        table[:] = 0.0
    assert (res.pvalues > 0).all() and (res.conf_int() != 0).all(axis=None)


def test_saved_models_show_what_was_shown(data, tmp_path):
    res = fitted(data)
    res.save(tmp_path / "m.pkl")
    loaded = gevglm.load(tmp_path / "m.pkl")
    assert str(loaded.summary().tables[1]) == str(res.summary().tables[1])
    assert_allclose(loaded.pvalues, res.pvalues)
    with pytest.raises(InvalidDataError, match=r"needs the rows.*method='wald', or alpha=0.05, whose limits were kept"):
        loaded.conf_int(alpha=0.1)
    assert_allclose(loaded.conf_int(alpha=0.1, method="wald"), res.conf_int(alpha=0.1, method="wald"))


# -- what the summary says -------------------------------------------------------------------------


def test_the_summary_speaks_of_what_was_chosen_and_of_no_bias_on_purpose(data):
    ridge = gevglm.fit("y ~ x1 + x2", data, link="logit", alpha="cv", search_kwds={"alphas": [1.0, 2.0], "folds": 2})
    text = " ".join(str(ridge.summary()).split())
    assert "alpha was chosen by" in text and "conditional on it" in text and "xi and" not in text
    assert "biased away from zero" not in text
    shape = gevglm.fit("y ~ x1", data, xi="cv", search_kwds={"grid": [-0.1, 0.2], "folds": 2})
    assert "xi was chosen by" in str(shape.summary())


@pytest.mark.parametrize(
    ("options", "cause"), [({"link": "logit"}, "maxiter is the"), ({"xi": 0.5}, "and a xi that does not")]
)
def test_the_cause_of_no_convergence_is_one_the_model_has(data, options, cause):
    with pytest.warns(ConvergenceWarning, match=f"1 iteration was not enough .* after 1 step.*{cause}"):
        gevglm.fit("y ~ x1", data, maxiter=1, **options)
