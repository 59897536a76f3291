"""Quantities derived from coefficients are tested by the degrees of freedom of the fit: against clubSandwich, and the same everywhere."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import statsmodels.api as sm
from numpy.testing import assert_allclose

import gevglm
from gevglm.effects.curves import effect_curve
from tests.covariance.test_few_clusters import CLUSTERS
from tests.support.golden import golden_set, numbers, quiet_fit, text_of


def fit_of(name, link, kind):
    data, codes = golden_set(name), CLUSTERS[name](np.arange(len(golden_set(name).X)))
    words = {"cov_type": "cluster", "cov_kwds": {"groups": codes, "kind": kind}, "use_t": "satterthwaite"}
    return quiet_fit(data.successes, data.X, link=link, tol=1e-14, **words)


@pytest.mark.parametrize("kind", ["CR0", "CR1", "CR2", "CR3"])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("name", CLUSTERS)
def test_they_are_linear_contrasts_of_clubsandwich(name, link, kind):
    golden = numbers("few_clusters")["cases"][name][link]["derived"]
    values, expected = np.array(golden["values"]), {word: np.array(part) for word, part in golden[kind].items()}
    res = fit_of(name, link, kind)

    def same(found, i):
        wanted = [values[i], *(expected[word][i] for word in ("se", "df", "p", "lower", "upper"))]
        assert_allclose(np.asarray(found, dtype=float), wanted, rtol=1e-7, atol=1e-12)
        assert_allclose(found[1:3], wanted[1:3], rtol=1e-8)

    column = golden["column"]
    risk, ratio = (res.risk(column, [0, 1], contrast=word) for word in ("difference", "ratio"))
    limits = risk.table[["ci_lower", "ci_upper"]].to_numpy()[0]
    same([risk.table["estimate"].iloc[0], risk.table["se"].iloc[0], risk.df.iloc[0], risk.pvalues.iloc[0], *limits], 2)
    row = ratio.table.iloc[0]
    error = row["se"] / row["estimate"]
    log_limits = np.log(row[["ci_lower", "ci_upper"]].to_numpy(float))
    same([np.log(row["estimate"]), error, ratio.df.iloc[0], ratio.pvalues.iloc[0], *log_limits], 3)
    combination = risk.t_test([-1, 1])
    same(combination[["estimate", "se", "df", "pvalue", "ci_lower", "ci_upper"]].to_numpy()[0], 2)
    assert list(combination) == ["estimate", "se", "t", "df", "pvalue", "ci_lower", "ci_upper"]
    for i in (0, 1):  # risks, whose limits are symmetric for their log odds
        found, se = risk.risks.iloc[i], expected["se"][i]
        reach = scipy.stats.t.isf(0.025, expected["df"][i]) * se / (values[i] * (1 - values[i]))
        expit = scipy.special.expit(scipy.special.logit(values[i]) + np.array([-reach, reach]))
        assert_allclose(found[["se", "ci_lower", "ci_upper"]].to_numpy(float), [se, *expit], rtol=1e-7)
    slope = res.get_margeff()
    where = [0, 0, *np.ravel(slope.conf_int()[:1])]
    same([slope.margeff[0], slope.margeff_se[0], slope.uncertainty.df[0], slope.pvalues[0], *where[2:]], 4)
    margins = res.margins(res.model.exog_names[1])
    if len(np.unique(res.model.exog[:, 1])) > 2:
        assert_allclose(margins.table["se"].iloc[0], expected["se"][4], rtol=1e-5)  # by differences
        assert_allclose(margins.table["df"].iloc[0], expected["df"][4], rtol=1e-5)
    linear = res.get_prediction(res.model.exog[:1], which="linear")
    ends = linear.conf_int()[0]
    same([linear.predicted[0], linear.se[0], np.ravel(linear.df)[0], float(linear.t_test()[1][0]), *ends], 5)


@pytest.fixture(scope="module")
def trial():
    rng = np.random.default_rng(4)
    clinic = np.repeat(np.arange(14), 60)
    x, smoker = rng.standard_normal(len(clinic)), rng.integers(0, 2, len(clinic))
    treat = np.isin(clinic, [1, 4, 8, 11]).astype(int)
    linear = -2.5 + 0.5 * x + 0.6 * treat + 0.4 * smoker + 0.4 * rng.standard_normal(14)[clinic]
    y = (rng.random(len(clinic)) < 1 / (1 + np.exp(-linear))).astype(int)
    frame = {"y": y, "x": x, "smoker": smoker, "treat": treat, "clinic": clinic, "weight": rng.uniform(1, 5, len(y))}
    return pd.DataFrame(frame)


def both(trial, **words):
    """The fit with t tests and the same fit with normal ones."""
    with_t = gevglm.fit("y ~ x + smoker + treat", trial, link="logit", **words)
    words["use_t"] = False
    return with_t, gevglm.fit("y ~ x + smoker + treat", trial, link="logit", **words)


DESIGNS = {
    "satterthwaite": {
        "cov_type": "cluster",
        "cov_kwds": {"groups": "clinic", "kind": "CR2"},
        "use_t": "satterthwaite",
    },
    "clusters": {"cov_type": "cluster", "cov_kwds": {"groups": "clinic"}, "use_t": True},
    "survey": {"design": gevglm.survey("weight", psu="clinic")},
    "residual": {"use_t": True},
}


@pytest.mark.parametrize("word", DESIGNS)
def test_nothing_is_tested_by_another_distribution_than_the_coefficients(trial, word):
    res, normal = both(trial, **DESIGNS[word])
    if word in ("clusters", "survey"):
        assert res.degrees.df == {"clusters": 13, "survey": 10}[word]

    def stretched(wide, narrow, df, transform=lambda v: v):
        """Limits around the same estimates, the one by t and the other by the normal distribution."""
        wide, narrow = (transform(np.asarray(each, dtype=float)) for each in (wide, narrow))
        ratio = scipy.stats.t.isf(0.025, df) / scipy.stats.norm.isf(0.025)
        assert_allclose(np.ptp(wide, axis=-1) / np.ptp(narrow, axis=-1), ratio, rtol=1e-6)

    ends, of_t = ["ci_lower", "ci_upper"], res.degrees.of_contrasts
    logit = scipy.special.logit
    for contrast, transform in (("difference", lambda v: v), ("ratio", np.log), ("odds", np.log)):
        risk, plain = (each.risk("treat", contrast=contrast) for each in (res, normal))
        stretched(risk.table[ends], plain.table[ends], risk.df, transform)
        stretched(risk.risks[ends], plain.risks[ends], risk.uncertainty.df, logit)
        assert_allclose(risk.pvalues, 2 * scipy.stats.t.sf(np.abs(risk.zvalues), risk.df), rtol=1e-10)
    margins, plain = res.margins(), normal.margins()
    stretched(margins.table[ends], plain.table[ends], margins.table["df"])
    stretched(margins.t_test(np.eye(3))[ends], plain.t_test(np.eye(3))[ends], margins.table["df"])
    slopes = res.get_margeff(at="mean")
    stretched(slopes.conf_int(), normal.get_margeff(at="mean").conf_int(), slopes.uncertainty.df)
    assert "P>|t|" in str(slopes.summary()) and "P>|z|" in str(normal.get_margeff().summary())
    assert list(slopes.summary_frame())[2:4] == ["t", "Pr(>|t|)"]
    curve, plain = (effect_curve(each, "x", points=5).frame for each in (res, normal))
    of_curve = res.risk("x", list(curve["value"])).uncertainty.df
    stretched(curve[ends], plain[ends], of_curve, logit)
    of_odds = of_t(np.array([[0.0, 0.0, 0.0, 1.0]]))
    stretched(res.odds_ratios().loc[["treat"], ends], normal.odds_ratios().loc[["treat"], ends], of_odds, np.log)
    joint, plain = (each.interaction("smoker", "treat", contrast="coefficients") for each in (res, normal))
    stretched(
        joint.ratios.loc[["smoker = 0, treat = 1"], ends],
        plain.ratios.loc[["smoker = 0, treat = 1"], ends],
        of_odds,
        np.log,
    )
    stretched(joint.table.loc[["RERI"], ends], plain.table.loc[["RERI"], ends], _df_of_reri(res, joint))
    share, plain = (each.attributable_fraction("treat", 0)[ends] for each in (res, normal))
    assert (np.ptp(share.to_numpy()) > np.ptp(plain.to_numpy())).all()
    rows = trial.iloc[:3]
    predicted, plain = (each.get_prediction(rows).conf_int() for each in (res, normal))
    stretched(predicted, plain, of_t(res.model.exog[:3]), logit)
    average, plain = (each.get_prediction(average=True).summary_frame() for each in (res, normal))
    stretched(average[ends], plain[ends], _df_of_the_average(res, trial), logit)
    corrected, plain = (each.corrected_risk(rows)[ends] for each in (res, normal))
    stretched(corrected, plain, of_t(res.model.exog[:3]), logit)


def _df_of_reri(res, joint):
    """Degrees of freedom of the RERI, by its gradient."""
    a, b, ab = joint.ratios["estimate"]
    first, second = np.eye(4)[2], np.eye(4)[3]
    return res.degrees.of_contrasts((ab * (first + second) - a * first - b * second)[None])


def _df_of_the_average(res, trial):
    risks = np.asarray(res.predict(trial))
    weight = trial["weight"] if res.model.design.sample is not None else np.ones(len(trial))
    return res.degrees.of_contrasts((np.asarray(weight * risks * (1 - risks)) @ res.model.exog)[None])


def test_an_effect_and_a_coefficient_that_say_the_same_have_the_same_p_value(trial):
    """With one column the odds ratio of standardised risks is that of the coefficient."""
    res = gevglm.fit("y ~ treat", trial, link="logit", **DESIGNS["satterthwaite"])
    odds = res.risk("treat", contrast="odds")
    assert_allclose(odds.pvalues, res.pvalues["treat"], rtol=1e-8)
    assert_allclose(odds.table[["ci_lower", "ci_upper"]], np.exp(res.conf_int().to_numpy()[1:] @ np.eye(2)), rtol=1e-8)
    assert "t" in odds.tests and f" {odds.df.iloc[0]:.1f} " in str(odds)


def test_clusters_have_one_degree_of_freedom_less_than_they_are(trial):
    res = gevglm.fit("y ~ x + treat", trial, link="logit", **DESIGNS["clusters"])
    assert_allclose(res.pvalues, 2 * scipy.stats.t.sf(np.abs(res.tvalues), 13), rtol=1e-10)
    assert_allclose(res.wald_test("x = 0, treat = 0", scalar=True).df_denom, 13)
    assert "t and F tests with 13 degrees of freedom: 14 clusters minus 1" in text_of(res)
    peer = sm.GLM(trial["y"], res.model.exog, sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": trial["clinic"]}, use_t=True, tol=1e-14
    )
    assert_allclose(res.pvalues, peer.pvalues, rtol=1e-6)
    assert_allclose(res.conf_int(), peer.conf_int(), rtol=1e-7)
    ways = {"cov_type": "cluster", "cov_kwds": {"groups": ["clinic", "half"]}, "use_t": True}
    halves = trial.assign(half=np.arange(len(trial)) % 8)
    assert gevglm.fit("y ~ x", halves, link="logit", **ways).degrees.df == 7
    weighted = gevglm.fit(
        "y ~ x + treat",
        trial.assign(n=(trial["clinic"] > 1).astype(int)),
        link="logit",
        freq_weights="n",
        **DESIGNS["clusters"],
    )
    assert weighted.degrees.df == 11  # clusters without weight do not count


def test_joint_tests_of_levels_in_reports_are_f_tests(trial):
    from gevglm.report.effects import _joint

    data = trial.assign(level=np.array(list("abc"))[np.arange(len(trial)) % 3])
    words = DESIGNS["satterthwaite"]
    res = gevglm.fit("y ~ C(level)", data, link="logit", **words)
    risk = res.risk("level")
    found = _joint(risk.risks["estimate"].to_numpy(), risk.uncertainty)
    # with nothing but the factor in the model, the restrictions are those of the coefficients on another scale
    gradient = np.array([[-1, 1, 0], [-1, 0, 1]]) @ risk.uncertainty.gradient
    eta, factor = res.degrees.of_joint_test(gradient)
    same = res.degrees.of_joint_test(np.eye(3)[1:])
    assert_allclose([eta, factor], same, rtol=1e-8)
    difference = np.array([[-1, 1, 0], [-1, 0, 1]]) @ risk.risks["estimate"].to_numpy()
    V = gradient @ res.cov_params().to_numpy() @ gradient.T
    statistic = factor * difference @ np.linalg.solve(V, difference) / 2
    assert_allclose(found, scipy.stats.f.sf(statistic, 2, eta), rtol=1e-8)
