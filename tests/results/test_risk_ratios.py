"""Risk ratios, survival ratios and risk differences: results of the log, logc and identity links against R, statsmodels and closed forms."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from statsmodels.tools.sm_exceptions import DomainWarning

import gevglm
from gevglm.exceptions import (
    IncompatibleOptionsError,
    InvalidOptionError,
    SeparationWarning,
    SupportError,
    SupportWarning,
    WeakShapeWarning,
)
from gevglm.sklearn import BinaryGLMClassifier
from tests.support.golden import golden_set, named, numbers

INSIDE = ("birthwt", "rare")


@pytest.fixture(scope="module")
def inside():
    """400 rows whose fits lie inside the support."""
    rng = np.random.default_rng(23)
    data = pd.DataFrame({"treated": np.arange(400) % 2, "x": rng.random(400), "clinic": np.arange(400) % 20})
    risk = np.exp(-2.0 + 0.4 * data["treated"] + 0.6 * data["x"])
    return data.assign(y=(rng.random(400) < risk).astype(int))


@pytest.fixture(scope="module")
def bounded():
    """Two groups, one of which has events only, and a column."""
    rng = np.random.default_rng(5)
    group = np.repeat([0, 1, 2], 60)
    y = np.where(group == 1, 1, rng.random(180) < 0.4).astype(int)
    return pd.DataFrame({"y": y, "b": (group == 1) * 1, "c": (group == 2) * 1})


@pytest.fixture(scope="module")
def on_the_boundary(bounded):
    with pytest.warns(
        SupportWarning, match="the fit ends on the boundary: 60 rows have a fitted probability of exactly 1"
    ):
        return gevglm.fit("y ~ b + c", bounded, link="log")


def fitted(name, **options):
    data, columns = golden_set(name), numbers("risk_ratios")["cases"][name]["columns"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SupportWarning)
        return gevglm.fit(data.outcome, data.X[columns], **options), numbers("risk_ratios")["cases"][name]


# -- against R ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", INSIDE)
def test_log_binomial_models_are_those_of_glm(name):
    found, golden = fitted(name, link="log")
    assert_allclose(found.params, named(golden["log"]["coef"]), rtol=1e-8)
    assert_allclose(found.bse, named(golden["log"]["se"]), rtol=1e-8)
    assert_allclose(found.llf, golden["log"]["loglik"], rtol=1e-12)
    assert_allclose(found.fittedvalues.max(), golden["log"]["largest"], rtol=1e-8)
    assert found.boundary is None
    assert found.cov_type == "nonrobust"


@pytest.mark.parametrize("name", ["birthwt", "rare", "nwtco"])
def test_the_canonical_loss_is_modified_poisson_with_robust_errors(name):
    found, golden = fitted(name, link="log", loss="canonical")
    assert_allclose(found.params, named(golden["poisson"]["coef"]), rtol=1e-8)
    assert_allclose(found.bse, named(golden["poisson"]["se"]), rtol=1e-8)
    assert_allclose(found.deviance, golden["poisson"]["deviance"], rtol=1e-10)
    assert found.cov_type == "HC0"


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.parametrize(("bias", "kind"), [("mean", "AS_mean"), ("median", "AS_median")])
def test_bias_reduction_is_that_of_brglm2(name, bias, kind):
    found, golden = fitted(name, link="log", bias=bias)
    assert golden["reduced"][kind]["converged"]
    assert_allclose(found.params, named(golden["reduced"][kind]["coef"]), rtol=1e-8, atol=1e-9)
    assert_allclose(found.bse, named(golden["reduced"][kind]["se"]), rtol=1e-8)


def test_risk_differences_are_those_of_glm_and_least_squares():
    found, golden = fitted("nwtco", link="identity")
    assert_allclose(found.params, named(golden["identity"]["coef"]), rtol=1e-8)
    assert_allclose(found.bse, named(golden["identity"]["se"]), rtol=1e-8)
    for name in (*INSIDE, "nwtco"):
        found, golden = fitted(name, link="identity", loss="canonical")
        assert_allclose(found.params, named(golden["least_squares"]["coef"]), rtol=1e-8)
        assert_allclose(found.bse, named(golden["least_squares"]["se"]), rtol=1e-8)


def test_survival_ratios_are_those_of_statsmodels(inside):
    ours = gevglm.fit("y ~ treated + x", inside, link="logc")
    family = sm.families.Binomial(sm.families.links.LogC())
    X = sm.add_constant(inside[["treated", "x"]])
    start = np.r_[np.log1p(-inside["y"].mean()), 0.0, 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DomainWarning)
        theirs = sm.GLM(inside["y"], X, family=family).fit(start_params=start, tol=1e-14)
    assert_allclose(ours.params, -theirs.params, rtol=1e-6)
    assert_allclose(ours.llf, theirs.llf, rtol=1e-10)
    table = ours.exp_params()
    assert list(table)[:3] == ["survival_ratio", "ci_lower", "ci_upper"]
    assert_allclose(table["survival_ratio"], np.exp(-ours.params[1:]))
    assert (table["ci_lower"] < table["survival_ratio"]).all()
    assert (table["survival_ratio"] < table["ci_upper"]).all()


def test_two_groups_have_their_closed_form():
    """The ratio of two shares a/n and c/m has the variance 1/a - 1/n + 1/c - 1/m, by both losses."""
    counts = pd.DataFrame({"s": [15, 30], "f": [85, 120], "treated": [1, 0]})
    variance = 1 / 15 - 1 / 100 + 1 / 30 - 1 / 150
    rows = counts.loc[counts.index.repeat(counts["s"] + counts["f"]), ["treated"]]
    rows["y"] = np.r_[np.ones(15), np.zeros(85), np.ones(30), np.zeros(120)].astype(int)
    for found in (
        gevglm.fit("cbind(s, f) ~ treated", counts, link="log"),
        gevglm.fit("y ~ treated", rows, link="log"),
        gevglm.fit("y ~ treated", rows, link="log", loss="canonical"),
    ):
        assert_allclose(found.exp_params()["risk_ratio"], 0.15 / 0.2, rtol=1e-9)
        assert_allclose(found.bse["treated"], np.sqrt(variance), rtol=1e-7)


# -- in the GEV family --------------------------------------------------------------------------


def test_the_log_link_is_gev_with_a_shape_of_minus_one(inside):
    log = gevglm.fit("y ~ treated + x", inside, link="log")
    gev = gevglm.fit("y ~ treated + x", inside, link="gev", loss="log", xi=-1.0)
    assert_allclose(gev.params - [1.0, 0.0, 0.0], log.params, rtol=1e-7, atol=1e-9)
    assert_allclose(gev.bse, log.bse, rtol=1e-7)
    with pytest.warns(WeakShapeWarning, match="every xi from -1"):
        estimated = gevglm.fit("y ~ treated + x", inside, link="gev", loss="log", xi="ml")
    statistic, pvalue = estimated.xi_lr_test(-1.0)
    assert_allclose(statistic, 2.0 * (estimated.llf - log.llf), atol=1e-6)
    assert 0.0 < pvalue <= 1.0


# -- on the boundary ----------------------------------------------------------------------------


def test_a_fit_on_the_boundary_says_so(on_the_boundary):
    res = on_the_boundary
    assert res.converged
    assert len(res.boundary.rows) == 60
    assert (res.boundary.multipliers > 0.0).all()
    assert res.inference == "profile"
    text = str(res.summary())
    assert "yes, on the boundary" in text
    assert "ON THE BOUNDARY: 60 rows have a fitted probability of exactly 1" in text.replace("\n", " ")
    assert "profile likelihood" in text
    assert_allclose(res.fittedvalues[60:120], 1.0, rtol=1e-12)


def test_profile_intervals_on_the_boundary_have_their_closed_form(on_the_boundary, bounded):
    """With saturated groups the constant and b share one free parameter, the risk of the first group."""
    share = bounded.loc[(bounded["b"] == 0) & (bounded["c"] == 0), "y"].mean()
    assert_allclose(on_the_boundary.params["b"], -np.log(share), rtol=1e-9)
    assert_allclose(on_the_boundary.bse["b"], np.sqrt((1 - share) / share / 60), rtol=1e-7)
    lower, upper = on_the_boundary.conf_int().loc["b"]

    def ratio(b):  # the first group has the risk exp(-b) if the second keeps 1
        return 2 * 60 * (share * np.log(share / np.exp(-b)) + (1 - share) * np.log((1 - share) / -np.expm1(-b)))

    assert_allclose(ratio(upper), 3.841458820694124, rtol=1e-6)
    assert ratio(lower) >= 3.8414  # lower, the second group may fall below 1 and help
    assert lower < on_the_boundary.params["b"] < upper
    table = on_the_boundary.exp_params()
    assert_allclose(table.loc["b", ["ci_lower", "ci_upper"]], np.exp([lower, upper]))


def test_a_fit_on_the_boundary_can_be_saved(on_the_boundary, tmp_path):
    path = tmp_path / "fit.pickle"
    on_the_boundary.save(path)
    again = gevglm.load(path) if hasattr(gevglm, "load") else type(on_the_boundary._results).load(path)
    assert_allclose(again.boundary.rows, on_the_boundary.boundary.rows)
    assert_allclose(again.conf_int(), on_the_boundary.conf_int())
    assert "on the boundary" in str(again.summary())


def test_a_column_that_the_wall_holds_at_zero_is_exactly_zero(bounded):
    x = np.random.default_rng(1).normal(50.0, 10.0, len(bounded))
    with pytest.warns(SupportWarning, match=r"certified by 2 multipliers \(the smallest"):
        res = gevglm.fit("y ~ b + c + x", bounded.assign(x=x), link="log")
    assert res.params["x"] == 0.0
    assert res.bse["x"] == 0.0
    lower, upper = res.conf_int().loc["x"]
    assert lower < 0.0 < upper
    assert "On the boundary:" in str(res.summary())
    assert "Outside support" not in str(res.summary())
    assert "the intervals keep all bounds" in str(res.summary()).replace("\n    ", " ")


def test_robust_covariances_are_confined_to_the_boundary(bounded):
    with pytest.warns(
        SupportWarning, match="certified by a multiplier of 60.*the intervals to report of independent rows"
    ):
        res = gevglm.fit("y ~ b + c", bounded, link="log", cov_type="HC0")
    assert "intervals by them are rough, and loss='canonical'" in str(res.summary()).replace("\n    ", " ")
    assert res.inference == "wald"
    assert_allclose(res.cov_params().to_numpy() @ [1.0, 1.0, 0.0], 0.0, atol=1e-12)  # the risk of group b does not move


# -- with everything else -----------------------------------------------------------------------


def test_clusters_prevalence_pieces_and_classifiers(inside, tmp_path):
    clusters = {"cov_type": "cluster", "cov_kwds": {"groups": "clinic"}}
    for loss in ("log", "canonical"):
        by_clinic = gevglm.fit("y ~ treated + x", inside, link="log", loss=loss, **clusters)
        assert by_clinic.cov_type == "cluster"
    plain = gevglm.fit("y ~ treated + x", inside, link="log")
    sampled = gevglm.fit("y ~ treated + x", inside, link="log", prevalence=0.05)
    assert next(iter(sampled.exp_params())) == "risk_ratio"
    assert_allclose(np.asarray(sampled.predict()).mean(), 0.05, rtol=0.2)
    inside.to_csv(tmp_path / "rows.csv", index=False)
    for loss in ("log", "canonical"):
        whole = gevglm.fit("y ~ treated + x", inside, link="log", loss=loss)
        pieces = gevglm.fit("y ~ treated + x", str(tmp_path / "rows.csv"), link="log", loss=loss)
        assert_allclose(pieces.params, whole.params, rtol=1e-8)
        assert_allclose(pieces.bse, whole.bse, rtol=1e-8)
    classifier = BinaryGLMClassifier(link="log").fit(inside[["treated", "x"]], inside["y"])
    assert_allclose(classifier.predict_proba(inside[["treated", "x"]])[:, 1], plain.fittedvalues, rtol=1e-6)


def test_a_boundary_is_found_in_data_in_pieces(bounded, on_the_boundary, tmp_path):
    bounded.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.warns(SupportWarning, match="on the boundary"):
        pieces = gevglm.fit("y ~ b + c", str(tmp_path / "rows.csv"), link="log")
    assert pieces.converged
    assert_allclose(pieces.params, on_the_boundary.params, rtol=1e-8, atol=1e-10)
    assert_allclose(pieces.boundary.rows, on_the_boundary.boundary.rows)


@pytest.mark.parametrize("bias", ["mean", "median", "jeffreys", "correction", "logf"])
def test_every_bias_reduction_inside_the_support(inside, bias):
    res = gevglm.fit("y ~ treated + x", inside, link="log", bias=bias)
    assert res.converged
    assert (res.fittedvalues < 1.0).all()


def test_a_mean_above_one_is_said(inside):
    golden = golden_set("nwtco")
    with pytest.warns(SupportWarning, match="have a fitted mean that no risk can have"):
        res = gevglm.fit(golden.successes, golden.X, link="log", loss="canonical")
    assert res.fittedvalues.max() == 1.0
    plain = gevglm.fit("y ~ treated + x", inside, link="log")
    with pytest.warns(
        SupportWarning, match="1 of 2 rows lie outside the support of Log.*it would be below 0 or above 1"
    ):
        risk = plain.predict(pd.DataFrame({"treated": [1, 1], "x": [0.5, 50.0]}))
    assert risk.iloc[1] == 1.0


# -- separation -----------------------------------------------------------------------------------


def test_directions_of_the_log_link_differ_from_those_of_the_logit(bounded):
    X = sm.add_constant(bounded[["b", "c"]].astype(float))
    y = bounded["y"]
    assert gevglm.detect_separation(y, X).infinite == ["b"]
    assert not gevglm.detect_separation(y, X, link="log").separated
    without_events = gevglm.detect_separation(1 - y, X, link="log")
    assert without_events.infinite == ["b"]
    assert without_events.directions[1] == -np.inf
    assert without_events.rows == 60
    assert gevglm.detect_separation(y, X, link="logc").directions[1] == np.inf
    assert not gevglm.detect_separation(y, X, link=gevglm.links.Identity()).separated
    with pytest.raises(InvalidOptionError, match="link"):
        gevglm.detect_separation(y, X, link="logg")
    with pytest.warns(SeparationWarning, match="the estimates of b are infinite"):
        gevglm.fit(1 - y, X, link="log")
    assert np.isfinite(gevglm.fit(1 - y, X, link="log", bias="firth").params).all()


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "start", "seen"),
    [
        ("log", [0.1, 0.0, 0.0], "400 rows at risks above 1"),
        ("identity", [-0.1, 0.0, 0.0], "400 rows at risks below 0"),
        ("logc", [-0.1, 0.0, 0.0], "400 rows at risks below 0, .* between 0 and inf"),
    ],
)
def test_a_start_with_impossible_risks_is_refused(inside, link, start, seen):
    with pytest.raises(InvalidOptionError, match=f"start_params puts {seen}"):
        gevglm.fit("y ~ treated + x", inside, link=link, start_params=start)


def test_a_start_that_is_no_number_is_refused(inside):
    with pytest.raises(InvalidOptionError, match="1 of 3 values of start_params is not finite"):
        gevglm.fit("y ~ treated + x", inside, link="log", start_params=[-1.0, np.nan, 0.0])


def test_columns_that_make_every_risk_one_are_refused(inside):
    with pytest.raises(SupportError, match="rows are zero in every column, and have a risk of exactly 1"):
        gevglm.fit("y ~ treated - 1", inside, link="log")
    with pytest.raises(SupportError, match="rows are zero in every column, and have a risk of exactly 0"):
        gevglm.fit("y ~ treated - 1", inside, link="identity")


def test_shapes_do_not_go_with_the_log_link(inside):
    with pytest.raises(IncompatibleOptionsError, match=r"xi=0\.5 goes with link='gev' .*, not with 'log'"):
        gevglm.fit("y ~ x", inside, link="log", xi=0.5)
    with pytest.raises(InvalidOptionError, match=r"exp\(b\) has no meaning with Identity"):
        gevglm.fit("y ~ x", inside, link="identity").exp_params()


def test_mean_bias_reduction_of_one_risk_has_a_closed_form():
    """With a constant only the adjusted score is y - (n - y) p/(1 - p) + 1/2."""
    y = np.repeat([1.0, 0.0], [17, 3])
    res = gevglm.fit(y, np.ones((20, 1)), link="log", bias="mean")
    assert np.exp(res.params[0]) == pytest.approx(17.5 / 20.5, rel=1e-9)


@pytest.mark.parametrize(
    ("bias", "words"), [("mean", "no root"), ("median", "no root"), ("jeffreys", "grows without bound")]
)
def test_bias_reduction_against_the_wall_says_why_and_which_rows(bias, words):
    group = np.repeat(["a", "b", "c"], 30)
    data = pd.DataFrame({"group": group, "y": np.where(group == "b", 1, np.arange(90) % 3 == 0).astype(int)})
    with pytest.warns(gevglm.exceptions.GevglmWarning) as caught:
        res = gevglm.fit("y ~ group", data, link="log", bias=bias)
    (said,) = [str(w.message) for w in caught if w.category is gevglm.exceptions.ConvergenceWarning]
    assert not res.converged
    assert words in said
    assert "30, 31, 32, 33, 34, ..." in said
    assert "maxiter" not in said
