"""What a new user met and was not told: one test for each complaint, with the sentence asked for.

Collinear columns and few clusters have tests of their own.
"""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import GevglmError, SeparationWarning, SuspectDataWarning

DATA = gevglm.datasets.simulate_study(rng=1)[:1000].assign(
    id=lambda d: d["clinic"], other=lambda d: np.arange(len(d)) % 30
)


def said(call, *words):
    """Assert that a call is refused in one sentence with these words, and no chain of tracebacks."""
    with pytest.raises(GevglmError) as info:
        call()
    for word in words:
        assert word in str(info.value)
    assert info.value.__suppress_context__ or info.value.__context__ is None
    assert "np." not in str(info.value).replace("np.where", "").replace("np.maximum", "")


def fit(formula="event ~ age + smoker", data=DATA, **options):
    return gevglm.fit(formula, data, **{"link": "logit"} | options)


def test_profile_limits_of_separated_fits_are_infinite_on_one_side():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"y": rng.integers(0, 2, 60), "x": rng.normal(size=60)}).assign(v=0)
    data.loc[data.index[data["y"] == 1][:5], "v"] = 1
    with pytest.warns(SeparationWarning):
        separated = fit("y ~ x + v", data)
    lower, upper = separated.conf_int(method="profile").loc["v"]
    assert np.isfinite(lower) and upper == np.inf
    assert np.isfinite(separated.odds_ratios(method="profile").loc["v", "ci_lower"])
    assert separated.profile("v").interval == pytest.approx((lower, np.inf))


def test_robust_is_hc1_and_said():
    robust, named = fit(cov_type="robust"), fit(cov_type="HC1")
    assert robust.cov_type == "HC1" and "robust (HC1)" in str(robust.summary())
    assert_allclose(robust.bse, named.bse)
    pieces = fit(data=[DATA[:500], DATA[500:]], cov_type="Robust")
    assert_allclose(pieces.bse, named.bse, rtol=1e-6)


def test_robust_of_stata_after_a_likelihood_is_linearized():
    """[P] _robust: V = n/(n - 1) D (sum u'u) D, with D the inverse information and u the scores."""
    res, n = fit(), len(DATA)
    X, u = res.model.exog, (DATA["event"] - res.fittedvalues).to_numpy()
    D = np.linalg.inv(X.T * (res.fittedvalues * (1 - res.fittedvalues)).to_numpy() @ X)
    by_hand = n / (n - 1) * D @ (X.T * u**2 @ X) @ D
    assert_allclose(fit(cov_type="linearized").cov_params(), by_hand, rtol=1e-7)
    assert_allclose(fit(cov_type="robust").cov_params(), by_hand * (n - 1) / (n - 3), rtol=1e-7)


@pytest.mark.parametrize(
    ("link", "instead"),
    [
        ("linear", "res.risk('x', contrast='ratio')"),
        ("poisson", "link='log', loss='canonical'"),
        ("log-binomial", "link='log'"),
    ],
)
def test_other_words_for_ratios_and_differences(link, instead):
    said(lambda: fit(link=link), f"link='{link}'", instead)


FOREIGN = "weights cluster vcov robust family groups random penalty l1_ratio C method sample_weight vce fixef".split()


@pytest.mark.parametrize("word", FOREIGN)
def test_keywords_of_other_packages(word):
    with pytest.raises(TypeError, match=rf"fit\(\) has no argument '{word}': .*(=|C\(unit\))") as info:
        fit(**{word: "x"})
    assert "Did you mean" not in str(info.value)


@pytest.mark.parametrize(
    ("term", "words"),
    {
        "s(age)": ["splines", "What gevglm does not do"],
        "strata(clinic)": ["conditional", "strata='set'"],
        "age + (1 | clinic)": ["random effect", "What gevglm does not do"],
        "I(smoker ^ 2)": ["x**2"],
        "Surv(age, smoker)": ["survival", "cloglog"],
    }.items(),
)
def test_functions_of_r_that_are_not_there(term, words):
    said(lambda: fit(f"event ~ {term}"), *words)


@pytest.mark.parametrize(
    "term", ["ns(age, 3)", "rcs(age, 3)", "factor(smoker)", "offset(age)", "relevel(factor(smoker), '1')", "cut(age, 3)", "sqrt(abs(age))", ". - id"]
)  # fmt: skip
def test_functions_of_r_that_are(term):
    assert fit(f"event ~ {term}").converged


def test_names_with_dots():
    data = DATA.rename(columns={"age": "age.grp"})
    assert_allclose(fit("event ~ age.grp", data).params, fit("event ~ `age.grp`", data).params)
    said(lambda: fit("event ~ age.gpr", data), "'age.gpr'", "Did you mean 'age.grp'")


@pytest.mark.parametrize("groups", ["id", ["id", "other"]])
def test_missing_clusters_are_missing_rows(groups):
    data = DATA.assign(id=np.where(np.arange(1000) < 6, np.nan, DATA["id"]))
    with pytest.warns(gevglm.exceptions.GevglmWarning, match=r"6 of 1000 rows were dropped"):
        assert fit(data=data, cov_type="cluster", cov_kwds={"groups": groups}).nobs == 994


def test_three_ways_of_clusters():
    options = {"cov_type": "cluster", "cov_kwds": {"groups": ["id", "age", "smoker"]}}
    said(lambda: fit(**options), "groups has 3 columns (id, age, smoker)", "one- or two-way")


def test_prevalences_by_group():
    said(lambda: fit(prevalence={3: 0.13, 4: 0.15}), "prevalence={3: 0.13, 4: 0.15}", "shares by group")


def test_dates_and_decimal_commas():
    dates = DATA.assign(day=pd.date_range("1990-01-01", periods=1000))
    said(lambda: fit("event ~ day", dates), "day: dates are not numbers", "counts days")
    commas = DATA.assign(text=[f"{value:.1f}".replace(".", ",") for value in np.arange(1000) % 60 / 10])
    with pytest.warns(SuspectDataWarning, match=r"'text' is text of numbers with decimal commas.*60 levels"):
        gevglm.BinaryGLM.from_formula("event ~ text", commas, link="logit")


@pytest.mark.parametrize(
    ("call", "words"),
    {
        "get_margeff()": ["get_margeff() needs the rows of the fit", "risk(..., data=...)"],
        "resid_deviance": ["needs the rows of the fit"],
        "get_influence()": ["influence needs the rows of the fit"],
        "conf_int(method='profile')": ["conf_int(method='profile') needs the rows", "use method='wald'"],
        "calibration(resampling='cv')": ["resampling='cv' needs the rows", "calibration(data)"],
        "predict()": ["needs the rows of the fit", "give data"],
    }.items(),
)
def test_what_needs_the_rows_says_so_after_loading(call, words, tmp_path):
    fit().save(tmp_path / "fit.pickle")
    results = gevglm.load(tmp_path / "fit.pickle")
    said(lambda: eval(f"results.{call}", {}, {"results": results}), *words)


def test_the_number_needed_of_a_ratio():
    said(lambda: fit().risk("smoker", contrast="ratio").number_needed, "risk ratios", "contrast='difference'")


def test_a_typo_is_one_sentence():
    said(lambda: fit("event ~ aeg"), "the formula names 'aeg', not in the data. Did you mean 'age'?")


def test_unknown_levels_name_their_column():
    results = fit("event ~ C(smoker)")
    said(lambda: results.predict(DATA[:2].assign(smoker=[0, np.int64(9)])), "'smoker' has levels", "not seen: 9.")
    said(lambda: fit("event ~ age + relevel(factor(smoker), '7')"), "factor(smoker)", "no level '7'", "0, 1")
    said(lambda: fit("event ~ age", event=np.int64(7)), "event=7 is not a level of 'event' (0, 1)")


def test_links_between_commas(tmp_path):
    DATA[:300].to_csv(tmp_path / "data.csv", index=False)
    command = [sys.executable, "-m", "gevglm", "compare", "event ~ age", "data.csv", "--folds", "2", "--links"]
    done = subprocess.run([*command, "logit,probit"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "probit" in done.stdout
    wrong = subprocess.run([*command, "logit,probitt"], cwd=tmp_path, capture_output=True, text=True)
    assert wrong.returncode != 0 and "'probitt'" in wrong.stderr and "Did you mean 'probit'?" in wrong.stderr


def test_saving_changes_nothing(tmp_path):
    results = fit()
    results.save(tmp_path / "fit.pickle")
    assert results.has_data
    for still in (
        results.risk("age"),
        results.conf_int(method="profile"),
        results.calibration(),
        results.resid_deviance,
    ):
        assert still is not None


@pytest.mark.parametrize("value", ["hc0", None, 1])
def test_corrections_are_true_or_false(value):
    options = {"cov_type": "cluster", "cov_kwds": {"groups": "id", "use_correction": value}}
    said(lambda: fit(**options), f"use_correction={value!r}", "True or False", "kind='CR0'")


def test_an_exposure_goes_with_a_rate():
    said(lambda: fit(exposure="time", data=DATA.assign(time=2.0)), "exposure=", "link='cloglog'", "no meaning")


@pytest.mark.parametrize("formula", ["event ~ age + (1|clinic)", "event ~ I(smoker^2)", "event ~ smoker & age"])
def test_the_command_line_has_no_bits_either(formula, tmp_path, capsys):
    from gevglm.cli import main

    DATA[:300].to_csv(tmp_path / "data.csv", index=False)
    assert main(["fit", formula, str(tmp_path / "data.csv"), "--link", "logit"]) != 0
    message = capsys.readouterr().err
    assert any(word in message for word in ("random effect", "fixed effects", "x**2", "a:b"))
