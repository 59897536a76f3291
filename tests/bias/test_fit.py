"""Bias reduction through the door: words, inference, summaries, weights, bad input."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import gevglm
from gevglm.bias import Jeffreys, LogF
from gevglm.exceptions import (
    FewEventsWarning,
    IncompatibleOptionsError,
    InvalidOptionError,
    NotDefinedForLoss,
    SeparationWarning,
)
from gevglm.links import GEV, CLogLog, GEVc, LogLog
from tests.support.golden import golden_set, named, numbers

WORDS = ["mean", "median", "jeffreys", "correction", "flic", "flac", "logf"]
CANONICAL_WORDS = ["mean", "correction", "flic", "logf"]


def study(n=300, seed=4):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {"x": rng.normal(size=n), "g": rng.choice(["a", "b", "c"], n), "clinic": rng.integers(0, 20, n)}
    )
    data["y"] = (rng.random(n) < 1 / (1 + np.exp(2.5 - data["x"] - (data["g"] == "b")))).astype(int)
    return data


FORMULA = "y ~ x + g"


each_firth_set = pytest.mark.parametrize("name", ["binaries", "birthwt"])


@each_firth_set
def test_firth_inference_equals_its_definition(name):
    data, expected = golden_set(name), numbers("firth")["cases"][name]["firth"]
    res = gevglm.fit(data.outcome, data.X, link="logit", bias="firth")
    limits, tests = res.conf_int(method="profile"), res.lr_tests()
    assert_allclose(res.params, named(expected["coef"]), rtol=1e-7)
    assert_allclose(res.bse, named(expected["se"]), rtol=1e-7)
    assert_allclose(limits[0], named(expected["ci_lower"]), rtol=1e-7)
    assert_allclose(limits[1], named(expected["ci_upper"]), rtol=1e-7)
    # restricted fits end where the likelihood is within about 1e-8 of its maximum: statistics near 0 have fewer digits
    assert_allclose(tests["statistic"], named(expected["statistic"]), rtol=1e-7, atol=3e-8)
    assert_allclose(tests["pvalue"], named(expected["p_value"]), rtol=1e-7, atol=1e-12)
    assert_allclose(res.model.fit(bias="jeffreys").conf_int(method="profile"), limits, rtol=1e-6)


def same_limits_and_tests(res, expected, rtol, coefficients=slice(None)):
    limits = res.conf_int(method="profile").to_numpy()[coefficients]
    assert_allclose(limits[:, 0], named(expected["ci_lower"])[coefficients], rtol=rtol)
    assert_allclose(limits[:, 1], named(expected["ci_upper"])[coefficients], rtol=rtol)
    assert_allclose(
        res.lr_tests()["pvalue"][coefficients], named(expected["p_value"])[coefficients], rtol=rtol, atol=1e-10
    )


SLOPES = {"firth": slice(None), "flic": slice(1, None), "flac": slice(None)}  # logistf's flic has a wrong variance


@each_firth_set
def test_flic_slopes_have_the_inference_of_firth_and_flac_its_own(name):
    data, case = golden_set(name), numbers("firth")["cases"][name]
    for word, entry in (("flic", "firth"), ("flac", "flac")):
        res = gevglm.fit(data.outcome, data.X, link="logit", bias=word)
        same_limits_and_tests(res, case[entry], 1e-7, SLOPES[word])
        assert_allclose(res.predict().mean(), case["mean_y"], rtol=1e-9)


@pytest.mark.parametrize("word", SLOPES)
def test_inference_equals_logistf(word):
    data, expected = golden_set("birthwt"), numbers("logistf")["cases"]["birthwt"][word]
    res = gevglm.fit(data.outcome, data.X, link="logit", bias=word)
    same_limits_and_tests(res, expected, 1e-6, SLOPES[word])


@pytest.mark.parametrize(
    ("name", "topic", "key"), [("binaries", "firth", "lr_statistic"), ("birthwt", "logistf", "lr_stat")]
)
def test_the_likelihood_ratio_of_all_slopes(name, topic, key):
    data, golden = golden_set(name), numbers(topic)["cases"][name]["firth"]
    full, null = (
        gevglm.fit(data.outcome, columns, link="logit", bias="firth") for columns in (data.X, data.X.iloc[:, :1])
    )
    statistic, pvalue, df = full.compare_lr_test(null)
    assert_allclose(statistic, golden[key], rtol=1e-6)
    assert_allclose([pvalue, df], [chi2.sf(statistic, golden["df"]), golden["df"]])


def test_a_restricted_fit_by_another_method_is_refused():
    full = gevglm.fit(FORMULA, study(), bias="firth")
    with pytest.raises(InvalidOptionError, match="same method"):
        full.compare_lr_test(gevglm.fit("y ~ x", study()))


@pytest.mark.parametrize("word", WORDS)
def test_every_word_names_its_estimator_in_the_summary(word):
    res = gevglm.fit(FORMULA, study(), bias=word)
    text = " ".join(str(res.summary()).split())
    assert res.converged
    assert res.bias.word == word
    assert res.bias.title in text
    assert ("profile penalised likelihood" in text) == (word in ("mean", "jeffreys", "flic", "flac", "logf"))
    assert "profile" not in str(res.summary(method="wald"))
    assert "profile" not in str(gevglm.fit(FORMULA, study(), bias=word, cov_type="HC0").summary())


def test_profile_intervals_of_a_maximum_likelihood_summary_come_on_request():
    res = gevglm.fit(FORMULA, study())
    assert "profile" not in str(res.summary())
    assert "by profile likelihood" in " ".join(str(res.summary(method="profile")).split())


@pytest.mark.parametrize(
    ("word", "options"),
    [
        (word, options)
        for options in ({}, {"link": "probit"}, {"link": "cloglog"}, {"xi": 0.2, "loss": "log"})
        for word in WORDS
        if word != "flac" or not options  # defined for the logit only
    ],
)
def test_every_word_works_with_everything_that_follows_a_fit(word, options):
    data = study()
    for covariance in ({}, {"cov_type": "HC3"}, {"cov_type": "cluster", "cov_kwds": {"groups": "clinic"}}):
        res = gevglm.fit(FORMULA, data, bias=word, **options, **covariance)
        frame = res.get_prediction(data.iloc[:5]).summary_frame()
        assert ((frame > 0) & (frame < 1)).all(axis=None)
        assert np.isfinite(res.get_margeff().margeff_se).all()
        assert np.isfinite(res.get_influence().cooks_distance[0]).all()
    with pytest.raises(InvalidOptionError, match="does not maximise the likelihood"):
        _ = res.aic


@pytest.mark.parametrize("word", CANONICAL_WORDS)
def test_the_canonical_loss_has_bias_reduction_too(word):
    data = study()
    plain, reduced = gevglm.fit(FORMULA, data, xi=0.3), gevglm.fit(FORMULA, data, xi=0.3, bias=word)
    assert abs(reduced.params["x"]) < abs(plain.params["x"])
    with pytest.raises(NotDefinedForLoss, match="canonical loss"):
        reduced.conf_int(method="profile")
    assert not reduced.has_likelihood


@pytest.mark.parametrize("word", ["mean", "median", "jeffreys", "correction"])
@pytest.mark.parametrize(("shaped", "named"), [(GEV(0), LogLog()), (GEVc(0), CLogLog())])
def test_shape_zero_is_the_named_link(word, shaped, named):
    one, other = (gevglm.fit(FORMULA, study(), link=link, loss="log", bias=word) for link in (shaped, named))
    assert_allclose(one.params, other.params, rtol=1e-9)


@pytest.mark.parametrize("word", WORDS)
def test_grouped_counts_give_the_fit_of_single_rows(word):
    rng = np.random.default_rng(1)
    single = pd.DataFrame({"a": rng.integers(0, 3, 200), "b": rng.integers(0, 2, 200)})
    single["y"] = (rng.random(200) < 1 / (1 + np.exp(2 - single["a"]))).astype(int)
    grouped = single.groupby(["a", "b"])["y"].agg(yes="sum", n="size").reset_index()
    grouped["no"] = grouped["n"] - grouped["yes"]
    one = gevglm.fit("y ~ a + b", single, bias=word)
    other = gevglm.fit("yes + no ~ a + b", grouped, bias=word)
    assert_allclose(other.params, one.params, rtol=1e-7)
    assert_allclose(other.bse, one.bse, rtol=1e-6)


def test_an_offset_and_weights_enter_the_adjustment():
    data = study()
    data["w"] = np.random.default_rng(0).integers(1, 4, len(data))
    repeated = data.loc[data.index.repeat(data["w"])].reset_index(drop=True)
    for word in WORDS:
        one = gevglm.fit(FORMULA, data, freq_weights="w", offset=0.3 * data["x"], bias=word)
        other = gevglm.fit(FORMULA, repeated, offset=0.3 * repeated["x"], bias=word)
        assert_allclose(one.params, other.params, rtol=1e-6, atol=1e-8)


def test_separation_is_found_named_and_cured():
    data, expected = golden_set("binaries"), numbers("firth")["cases"]["binaries"]["firth"]["coef"]
    y, X = data.outcome, data.X
    with pytest.warns(SeparationWarning, match="estimates of rare are infinite"):
        plain = gevglm.fit(y, X, link="logit")
    assert plain.separation.infinite == ["rare"]
    firth = gevglm.fit(y, X, link="logit", bias="firth")
    assert firth.converged
    assert firth.separation.separated
    assert firth.params["rare"] == pytest.approx(expected["rare"], abs=1e-5)


def test_a_profile_is_an_object_with_a_picture():
    res = gevglm.fit(FORMULA, study(), bias="firth")
    curve = res.profile("x", alpha=0.1)
    assert_allclose(curve.interval, res.conf_int(alpha=0.1, method="profile").loc["x"])
    inside = (curve.frame["value"] > curve.interval[0]) & (curve.frame["value"] < curve.interval[1])
    assert ((curve.frame["ratio"] < chi2.ppf(0.9, 1)) == inside).all()
    pytest.importorskip("matplotlib")
    axes = curve.plot()
    assert axes.get_xlabel() == "x"
    assert "90 % interval" in axes.get_title()
    with pytest.raises(InvalidOptionError, match=r"no coefficient 'X'.*Did you mean 'x'"):
        res.profile("X")


def test_saved_results_keep_their_estimator(tmp_path):
    res = gevglm.fit(FORMULA, study(), bias="firth")
    expected = res.params
    res.save(tmp_path / "fit.pickle")
    loaded = gevglm.load(tmp_path / "fit.pickle")
    assert_allclose(loaded.params, expected)
    assert "mean bias reduction" in str(loaded.summary())


# -- bad input -------------------------------------------------------------------------------


def test_an_unknown_word_lists_the_known_ones():
    with pytest.raises(InvalidOptionError, match=r"'logf', 'mean', 'median'.*Did you mean 'firth'"):
        gevglm.fit(FORMULA, study(), bias="firt")


@pytest.mark.parametrize("word", ["median", "jeffreys"])
def test_words_that_need_a_likelihood_are_refused_for_the_canonical_loss(word):
    with pytest.raises(IncompatibleOptionsError, match=r"needs a likelihood.*'correction', 'flic', 'logf', 'mean'"):
        gevglm.fit(FORMULA, study(), xi=0.3, bias=word)


def test_flac_is_refused_off_the_logit():
    with pytest.raises(IncompatibleOptionsError, match="logit only"):
        gevglm.fit(FORMULA, study(), link="probit", bias="flac")


@pytest.mark.parametrize("word", ["flic", "flac"])
def test_words_that_need_a_constant_say_so(word):
    with pytest.raises(IncompatibleOptionsError, match="the design has none"):
        gevglm.fit("y ~ x - 1", study(), bias=word)


def test_a_penalty_and_a_bias_reduction_are_not_combined():
    with pytest.raises(IncompatibleOptionsError, match="leave one of them out"):
        gevglm.fit(FORMULA, study(), bias="firth", alpha=1.0)


@pytest.mark.parametrize("m", [0, -1, np.nan, np.inf, "2", True])
def test_degrees_of_freedom_of_the_prior_must_be_positive(m):
    with pytest.raises(InvalidOptionError, match="positive number"):
        LogF(m)
    with pytest.raises(InvalidOptionError, match="positive number"):
        Jeffreys(m)


def test_methods_may_be_given_as_objects():
    weak, strong = (gevglm.fit(FORMULA, study(), bias=LogF(m)) for m in (0.01, 50))
    assert abs(strong.params["x"]) < abs(weak.params["x"])
    plain = gevglm.fit(FORMULA, study())
    assert_allclose(gevglm.fit(FORMULA, study(), bias=LogF(1e-9)).params, plain.params, rtol=1e-6)


def test_no_profile_without_a_penalised_likelihood():
    res = gevglm.fit(FORMULA, study(), link="probit", bias="mean")
    with pytest.raises(InvalidOptionError, match=r"bias='mean' does not have with Log.Probit.*bias='jeffreys'"):
        res.conf_int(method="profile")


@pytest.mark.parametrize("word", ["mean", "median", "jeffreys", "flic", "flac", "logf"])
def test_two_events_and_a_column_separated_on_its_own_are_finite(word):
    data = pd.DataFrame({"x": np.linspace(-1, 1, 40), "q": np.repeat([0.0, 1.0], [38, 2])})
    data["y"] = data["q"].astype(int)
    res = gevglm.fit("y ~ x + q", data, bias=word)
    assert res.converged
    assert np.abs(res.params).max() < 20


@pytest.mark.parametrize("word", ["mean", "jeffreys", "flac", "logf"])
def test_a_level_with_events_only_is_finite(word):
    data = study()
    data["y"] = np.where(data["g"] == "c", 1, data["y"])
    res = gevglm.fit(FORMULA, data, bias=word)
    assert res.converged
    assert 0 < res.params["g[T.c]"] < 20


def test_few_events_are_warned_of_unless_something_is_done():
    data = study(60)
    with pytest.warns(FewEventsWarning, match="bias='firth'"):
        gevglm.fit(FORMULA, data)
    gevglm.fit(FORMULA, data, bias="firth")  # warnings are errors


@pytest.mark.parametrize("word", ["mean", "jeffreys", "logf"])
def test_nearly_as_many_columns_as_rows(word):
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 9))])
    y = np.repeat([0.0, 1.0], 6)
    res = gevglm.fit(y, X, link="logit", bias=word)
    assert res.converged
    assert np.isfinite(res.bse).all()
