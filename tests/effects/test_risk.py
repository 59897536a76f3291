"""Standardised risks: golden numbers from R, closed forms, marginaleffects, simulation, bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import gevglm
from gevglm.datasets.simulated import STUDY_XI, simulate_study
from gevglm.exceptions import GevglmError, GevglmWarning, IncompatibleOptionsError, InvalidDataError, InvalidOptionError
from gevglm.links import GEV
from tests.support.golden import birthwt, numbers

FORMULA = "low ~ age + lwt + C(race, Treatment('white')) + smoke + ptl + ht + ui + ftv"


@pytest.fixture(scope="module")
def study():
    data = simulate_study(rng=11)
    return data.assign(group=np.where(data["age"] > 0, "old", "young"))


@pytest.fixture(scope="module")
def fitted(study):
    return gevglm.fit("event ~ age + smoker", study, xi=0.5)


@pytest.mark.parametrize(("cov_type", "key"), [("nonrobust", "delta_method"), ("HC0", "delta_method_HC0")])
def test_delta_method_equals_the_reference(cov_type, key):
    res, known = gevglm.fit(FORMULA, birthwt(), link="logit", cov_type=cov_type), numbers("standardisation")[key]
    risks = res.risk("smoke").risks
    assert_allclose(risks["estimate"], [known["risk0"], known["risk1"]], rtol=1e-8)
    assert_allclose(risks["se"], [known["risk0_se"], known["risk1_se"]], rtol=1e-7)
    for contrast, name in (("difference", "risk_difference"), ("ratio", "risk_ratio")):
        row = res.risk("smoke", contrast=contrast).summary_frame().iloc[0]
        assert_allclose(row[["estimate", "se"]], [known[name], known[name + "_se"]], rtol=1e-7)
    row = res.risk("smoke", contrast="odds").summary_frame().iloc[0]
    assert_allclose(row["estimate"], known["odds_ratio_marginal"], rtol=1e-8)
    reach = 1.959963984540054 * known["log_odds_ratio_marginal_se"]
    assert_allclose(
        np.log(row[["ci_lower", "ci_upper"]]), known["log_odds_ratio_marginal"] + np.array([-reach, reach]), rtol=1e-7
    )


def test_sampled_covariates_equal_the_reference():
    res, known = gevglm.fit(FORMULA, birthwt(), link="logit"), numbers("standardisation")["m_estimation"]
    found = res.risk("smoke", covariates="sampled")
    assert_allclose(found.risks["se"], [known["risk0_se"], known["risk1_se"]], rtol=1e-7)
    assert_allclose(found.table["se"], known["risk_difference_se"], rtol=1e-7)
    ratio = res.risk("smoke", contrast="ratio", covariates="sampled").table
    assert_allclose(ratio["se"], known["risk_ratio_se"], rtol=1e-7)
    n = len(birthwt())
    scale = np.sqrt(n / (n - 1))
    assert_allclose(found.table["se"] * scale, numbers("stdreg")["difference"]["estimates"][1][1], rtol=1e-7)


def test_clusters_of_one_row_are_rows():
    plain = gevglm.fit(FORMULA, birthwt(), link="logit", cov_type="HC0").risk("smoke", covariates="sampled")
    clusters = gevglm.fit(
        FORMULA, birthwt(), link="logit", cov_type="cluster", cov_kwds={"groups": np.arange(len(birthwt()))}
    )
    assert_allclose(clusters.risk("smoke", covariates="sampled").cov, plain.cov, rtol=1e-10)


def test_weights_are_repeated_rows(study):
    freq = 1 + (np.arange(len(study)) % 3)
    weighted = gevglm.fit("event ~ age * smoker", study, xi=0.5, freq_weights=freq)
    repeated = gevglm.fit("event ~ age * smoker", study.loc[study.index.repeat(freq)], xi=0.5)
    for covariates in ("fixed", "sampled"):
        for at in ("sd", "iqr", (0.0, 10.0)):
            ours, theirs = (res.risk("age", at, covariates=covariates, by="smoker") for res in (weighted, repeated))
            assert_allclose(ours.table, theirs.table, rtol=1e-8)
            assert_allclose(ours.risks, theirs.risks, rtol=1e-8)


def test_groups_make_the_whole(fitted, study):
    whole, parts = fitted.risk("smoker").risks, fitted.risk("smoker", by="group").risks
    share = study["group"].value_counts(normalize=True)
    for arm in whole.index:
        assert_allclose(
            sum(share[g] * parts.loc[(g, arm), "estimate"] for g in share.index), whole.loc[arm, "estimate"]
        )


def test_risks_of_transforms_and_interactions_are_built_anew(study):
    res = gevglm.fit("event ~ bs(age, df=4) * smoker", study, link="logit")
    with_age = res.predict(study.assign(age=5.0)).mean()
    assert_allclose(res.risk("age", (-5.0, 5.0)).risks["estimate"].iloc[1], with_age, rtol=1e-12)
    squared = gevglm.fit("event ~ age + I(age**2)", study, link="logit").risk("age", "sd")
    assert squared.table.index[0] == "(x + sd/2) - (x - sd/2)"


def test_average_of_slopes_is_the_limit_of_small_moves(fitted, study):
    effect = fitted.get_margeff().summary_frame().loc["age"]
    small = 1e-4
    moved = gevglm.fit("event ~ age + smoker", study.assign(age=study["age"] / small), xi=0.5)
    row = moved.risk("age", "unit").table.iloc[0] / small
    assert_allclose(row[["estimate", "se"]], effect.iloc[:2], rtol=1e-5)


def test_shape_estimated_with_the_coefficients_widens_the_risks(study):
    res = gevglm.fit("event ~ age + smoker", study, link="gev", loss="log", xi="ml")
    fixed = gevglm.fit("event ~ age + smoker", study, link="gev", loss="log", xi=res.xi)
    assert_allclose(res.risk("smoker").risks["estimate"], fixed.risk("smoker").risks["estimate"], rtol=1e-6)
    predicted = res.get_prediction(study.assign(smoker=1), which="mean", average=True).summary_frame()
    assert_allclose(res.risk("smoker").risks["se"].iloc[1], predicted["se"].iloc[0], rtol=1e-6)


def test_population_weights_of_a_case_control_study(study):
    cases = gevglm.sampling.case_control(study, "event", controls=1000, rng=0).data
    prevalence = study["event"].mean()
    res = gevglm.fit("event ~ age + smoker", cases, link="logit", prevalence=prevalence)
    full = gevglm.fit("event ~ age + smoker", study, link="logit").risk("smoker")
    found = res.risk("smoker")
    assert np.all(np.abs(found.risks["estimate"] - full.risks["estimate"]) < 3 * found.risks["se"])
    assert found.risks["estimate"].max() < 0.2


def test_bootstrap_and_delta_method_agree(study):
    res = gevglm.fit("event ~ age + smoker", study, xi=0.5, cov_type="HC0")
    delta = res.risk("smoker", covariates="sampled")
    drawn = res.risk("smoker", method="bootstrap", draws=150, rng=5)
    assert_allclose(drawn.table["se"], delta.table["se"], rtol=4 / np.sqrt(2 * 150))
    assert_allclose(drawn.table["estimate"], delta.table["estimate"])
    pd.testing.assert_frame_equal(drawn.table, res.risk("smoker", method="bootstrap", draws=150, rng=5).table)


def test_bootstrap_draws_whole_clusters(study):
    twice = pd.concat([study.iloc[:800]] * 2, ignore_index=True).assign(who=np.tile(np.arange(800), 2))
    options = {"xi": 0.5, "cov_type": "cluster", "cov_kwds": {"groups": "who"}}
    clustered = gevglm.fit("event ~ age + smoker", twice, **options).risk("smoker", method="bootstrap", draws=40, rng=1)
    single = gevglm.fit("event ~ age + smoker", study.iloc[:800], xi=0.5).risk(
        "smoker", method="bootstrap", draws=40, rng=1
    )
    assert_allclose(clustered.table, single.table, rtol=1e-6)


def test_attributable_fraction_by_hand(fitted, study):
    found = fitted.attributable_fraction("smoker", 0).iloc[0]
    without = fitted.predict(study.assign(smoker=0)).mean()
    assert_allclose(found["estimate"], 1 - without / fitted.predict(study).mean(), rtol=1e-12)
    assert found["ci_lower"] < found["estimate"] < found["ci_upper"] < 1


def test_number_needed_is_one_over_the_difference(fitted):
    found = fitted.risk("smoker")
    row, difference = found.number_needed.iloc[0], found.table.iloc[0]
    assert row.pop("text").startswith("NNTH 16 (12 to 21)")
    assert_allclose(row.to_numpy(float), 1 / difference[["estimate", "ci_upper", "ci_lower"]].to_numpy())
    with pytest.raises(InvalidOptionError, match="contrast"):
        _ = fitted.risk("smoker", contrast="ratio").number_needed


def test_exponentiated_coefficients_are_named(study):
    logit = gevglm.fit("event ~ age + smoker", study, link="logit")
    table = logit.odds_ratios()
    assert list(table.columns) == ["odds_ratio", "ci_lower", "ci_upper", "pvalue"] and "Intercept" not in table.index
    assert_allclose(table["odds_ratio"], np.exp(logit.params.drop("Intercept")))
    assert "hazard_ratio" in gevglm.fit("event ~ age", study, link="cloglog").exp_params()
    profile = gevglm.fit("event ~ age", study, link="logit", bias="firth").exp_params(method="profile")
    assert profile["ci_lower"].iloc[0] < profile["odds_ratio"].iloc[0] < profile["ci_upper"].iloc[0]
    for link in ("probit", "cauchit", "loglog"):
        with pytest.raises(InvalidOptionError, match="no meaning"):
            gevglm.fit("event ~ age", study, link=link).exp_params()


def test_arrays_have_columns(study, fitted):
    X = np.column_stack([np.ones(len(study)), study["age"], study["smoker"]])
    res = gevglm.fit(study["event"].to_numpy(float), X, xi=0.5)
    assert_allclose(res.risk(res.model.exog_names[2]).table, fitted.risk("smoker").table, rtol=1e-9)


def test_given_data_replace_the_sample(fitted, study):
    part = study.iloc[:50]
    assert_allclose(
        fitted.risk("smoker", data=part).risks["estimate"].iloc[0], fitted.predict(part.assign(smoker=0)).mean()
    )
    with pytest.raises(InvalidDataError, match="1 of 50 rows"):
        fitted.risk("smoker", data=part.assign(age=[np.nan, *part["age"][1:]]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda res: res.risk("smokr"), "Did you mean 'smoker'"),
        (lambda res: res.risk("age", 5), "two values"),
        (lambda res: res.risk("age", "unti"), "unit, sd, iqr, range"),
        (lambda res: res.risk("smoker", contrast="rr"), "'difference', 'ratio', 'odds'"),
        (lambda res: res.risk("smoker", by="grp"), "by='grp'"),
        (lambda res: res.risk("smoker", by=[1, 2]), "by has 2 values"),
        (lambda res: res.risk("smoker", method="jackknife"), "'delta', 'bootstrap'"),
        (lambda res: res.risk("smoker", covariates="random"), "'fixed', 'sampled'"),
        (lambda res: res.risk("smoker", method="bootstrap", draws=1), "at least 2"),
        (lambda res: res.risk("smoker", alpha=2), "between 0 and 1"),
        (lambda res: res.odds_ratios(), "not log odds ratios"),
    ],
)
def test_bad_input_is_named(fitted, call, message):
    with pytest.raises(GevglmError, match=message):
        call(fitted)


def test_levels_that_are_not_there_and_terms_are_named():
    res = gevglm.fit("low ~ np.log(lwt) + race", birthwt(), link="logit")
    with pytest.raises(InvalidOptionError, match=r"'green'.*black"):
        res.risk("race", ["white", "green"])
    with pytest.raises(InvalidOptionError, match="name the variable in it"):
        res.risk("np.log(lwt)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InvalidOptionError, match="189 of 189 rows"):
            res.risk("lwt", (-1.0, 100.0))
    with pytest.warns(GevglmWarning, match=r"at has 500\.0, but 'lwt' is between 80 and 250"):
        res.risk("lwt", (100.0, 500.0))
    assert res.risk("lwt", "iqr").table["estimate"].iloc[0] < 0


def test_sampled_covariates_need_the_rows_of_the_fit(fitted, study):
    with pytest.raises(IncompatibleOptionsError, match="bootstrap"):
        fitted.risk("smoker", data=study, covariates="sampled")


@pytest.mark.study
@pytest.mark.filterwarnings("ignore::gevglm.exceptions.GevglmWarning")
def test_coverage_of_the_risk_difference():
    """Canonical GEV with HC0, 1,000 samples of 1,000: coverage of 95 % intervals within 93 and 97 %."""
    rng = np.random.default_rng(7)
    truth = np.array([-1.2, 0.3, 0.4])
    age = rng.standard_normal(400_000)
    true = (
        GEV(STUDY_XI).inverse(truth[0] + truth[1] * age + truth[2]).mean()
        - GEV(STUDY_XI).inverse(truth[0] + truth[1] * age).mean()
    )
    covered = []
    for _ in range(1000):
        x, smoker = rng.standard_normal(1000), rng.random(1000) < 0.3
        event = rng.random(1000) < GEV(STUDY_XI).inverse(truth[0] + truth[1] * x + truth[2] * smoker)
        data = pd.DataFrame({"event": event.astype(int), "age": x, "smoker": smoker.astype(int)})
        row = (
            gevglm.fit("event ~ age + smoker", data, xi=STUDY_XI, cov_type="HC0")
            .risk("smoker", covariates="sampled")
            .table.iloc[0]
        )
        covered.append(row["ci_lower"] <= true <= row["ci_upper"])
    assert 0.93 <= np.mean(covered) <= 0.97


def test_logistic_risk_by_hand():
    x = np.array([0.0, 1.0] * 50)
    y = (np.arange(100) % 5 == 0).astype(float)
    res = gevglm.fit("y ~ x", {"x": x, "y": y}, link="logit")
    constant, slope = res.params
    assert_allclose(res.risk("x").risks["estimate"], expit([constant, constant + slope]))
