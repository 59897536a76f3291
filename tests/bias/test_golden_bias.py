"""Bias-reduced estimates against brglm2, the older brglm, logistf, and their definitions in R."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gevglm.bias import Correction, Flac, Flic, Jeffreys, MeanReduction, MedianReduction
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.links import GEV, Cauchit, CLogLog, GEVc, Logit, LogLog, Probit
from gevglm.losses import Canonical, Log
from tests.support.golden import golden_set, named, numbers

SETS = ("separated", "lizards", "birthwt", "binaries", "nwtco", "rare")
SEPARATED = ("separated", "binaries")
LINKS = {"logit": Logit(), "probit": Probit(), "cloglog": CLogLog(), "cauchit": Cauchit()}
METHODS = {"AS_mean": MeanReduction(), "AS_median": MedianReduction(), "MPL_Jeffreys": Jeffreys()}
MIRRORED = {"cloglog": LogLog(), "logit": Logit(), "probit": Probit(), "cauchit": Cauchit()}

each_set = pytest.mark.parametrize("name", SETS)
each_link = pytest.mark.parametrize("link", LINKS)
each_method = pytest.mark.parametrize("method", METHODS)


def problem(name, loss, *, exchanged=False):
    """A golden set as a problem, its outcomes exchanged on request."""
    data = golden_set(name)
    y, trials = data.share, data.trials if data.counted else None
    engine = MemoryEngine(data.X.to_numpy(), 1.0 - y if exchanged else y, trials=trials)
    return Problem(engine, loss, constant=0, names=list(data.X))


def same_errors(found, expected, rtol):
    """Equal standard errors, and covariances to the same share of them."""
    scale = named(expected["se"])
    assert_allclose(np.sqrt(np.diagonal(found.inverse_information)), scale, rtol=rtol)
    assert_allclose(
        found.inverse_information / np.outer(scale, scale), expected["vcov"] / np.outer(scale, scale), atol=rtol
    )


# -- brglm2 ----------------------------------------------------------------------------------


@each_set
@each_link
@each_method
def test_adjusted_scores_have_the_roots_of_brglm2(name, link, method):
    expected = numbers("bias_reduction")["cases"][name]["brglm2"][f"{method}/{link}"]
    assert expected["status"] == "converged"
    found = METHODS[method].estimate(problem(name, Log(LINKS[link])))
    assert found.converged
    assert_allclose(found.params, named(expected["coef"]), atol=3e-8, rtol=1e-8)
    same_errors(found, expected, rtol=3e-8)


@pytest.mark.parametrize("name", [name for name in SETS if name not in SEPARATED])
@each_link
def test_the_one_step_correction_is_that_of_brglm2(name, link):
    expected = numbers("bias_reduction")["cases"][name]["brglm2"][f"correction/{link}"]
    found = Correction().estimate(problem(name, Log(LINKS[link])))
    assert found.converged
    assert_allclose(found.params, named(expected["by_hand"]), rtol=1e-10)
    same_errors(found, expected, rtol=1e-6)  # brglm2 starts from estimates that are good to that


@pytest.mark.parametrize("name", SEPARATED)
@each_link
def test_there_is_no_one_step_correction_of_infinite_estimates(name, link):
    expected = numbers("bias_reduction")["cases"][name]["brglm2"][f"correction/{link}"]
    assert expected["status"] == "not applicable"
    found = Correction().estimate(problem(name, Log(LINKS[link])))
    assert not found.converged
    assert "separation" in found.reason


def test_every_fit_of_the_reference_is_tested():
    cases = numbers("bias_reduction")["cases"]
    assert set(cases) == set(SETS)
    words = {f"{method}/{link}" for method in (*METHODS, "correction") for link in LINKS}
    assert all(set(case["brglm2"]) == words for case in cases.values())


@pytest.mark.parametrize(
    ("name", "link"), [(name, link) for name in SETS for link in LINKS if (name in SEPARATED) <= (link != "cauchit")]
)
def test_the_older_brglm_agrees(name, link):
    expected = numbers("bias_reduction")["cases"][name]["brglm"][link]
    assert expected["status"] == "converged"  # it diverges with the cauchit where the outcomes are separated
    found = MeanReduction().estimate(problem(name, Log(LINKS[link])))
    assert_allclose(found.params, named(expected["coef"]), rtol=1e-6, atol=1e-8)


# -- other links with the same numbers -------------------------------------------------------


@each_set
@each_method
def test_gevc_with_shape_zero_is_the_cloglog_of_brglm2(name, method):
    expected = numbers("bias_reduction")["cases"][name]["brglm2"][f"{method}/cloglog"]
    found = METHODS[method].estimate(problem(name, Log(GEVc(0.0))))
    assert_allclose(found.params, named(expected["coef"]), atol=3e-8, rtol=1e-8)
    same_errors(found, expected, rtol=3e-8)


@each_set
@each_method
def test_gev_with_shape_zero_is_the_mirrored_cloglog_of_brglm2(name, method):
    expected = numbers("bias_reduction")["cases"][name]["brglm2"][f"{method}/cloglog"]
    found = METHODS[method].estimate(problem(name, Log(GEV(0.0)), exchanged=True))
    assert_allclose(-found.params, named(expected["coef"]), atol=3e-8, rtol=1e-8)
    same_errors(found, expected, rtol=3e-8)


@each_set
@each_link
@each_method
def test_exchanged_outcomes_have_the_mirrored_roots(name, link, method):
    expected = numbers("bias_reduction")["cases"][name]["brglm2"][f"{method}/{link}"]
    found = METHODS[method].estimate(problem(name, Log(MIRRORED[link]), exchanged=True))
    assert_allclose(-found.params, named(expected["coef"]), atol=3e-8, rtol=1e-8)


@pytest.mark.parametrize(
    ("kind", "method"),
    [(Log, method) for method in (*METHODS.values(), Correction(), Flic())]
    + [(Canonical, method) for method in (MeanReduction(), Correction(), Flic())],
    ids=lambda value: getattr(value, "word", None) or value.__name__,
)
@pytest.mark.parametrize(("gev", "plain"), [(GEV(0.0), LogLog()), (GEVc(0.0), CLogLog())], ids=repr)
def test_shape_zero_is_the_link_it_tends_to_for_every_method(method, gev, plain, kind):
    one, other = (method.estimate(problem("birthwt", kind(link))) for link in (gev, plain))
    near = method.estimate(problem("birthwt", kind(type(gev)(1e-9))))
    assert_allclose(one.params, other.params, rtol=1e-12, atol=1e-14)
    assert_allclose(one.inverse_information, other.inverse_information, rtol=1e-10)
    assert_allclose(near.params, other.params, rtol=1e-6, atol=1e-8)


# -- logistf, and the definitions of Firth, FLIC and FLAC -------------------------------------

FIRTH = {"mean": (MeanReduction(), "firth"), "flic": (Flic(), "flic"), "flac": (Flac(), "flac")}
LIKELIHOOD_ONLY = {"jeffreys": (Jeffreys(), "firth")}
each_firth_set = pytest.mark.parametrize("name", ["binaries", "birthwt"])


@each_firth_set
@pytest.mark.parametrize(
    ("word", "loss"),
    [
        (word, loss(Logit()))
        for loss in (Log, Canonical)
        for word in (*FIRTH, *(LIKELIHOOD_ONLY if loss is Log else ()))
    ],
    ids=str,
)
def test_firth_flic_and_flac_are_those_of_their_definitions(name, word, loss):
    method, entry = (FIRTH | LIKELIHOOD_ONLY)[word]
    expected = numbers("firth")["cases"][name][entry]
    found = method.estimate(problem(name, loss))
    assert found.converged
    assert_allclose(found.params, named(expected["coef"]), atol=2e-8, rtol=1e-8)
    if "se" in expected:
        assert_allclose(np.sqrt(np.diagonal(found.inverse_information)), named(expected["se"]), rtol=1e-8)


@pytest.mark.parametrize("word", FIRTH)
def test_firth_flic_and_flac_are_those_of_logistf(word):
    method, entry = FIRTH[word]
    expected = numbers("logistf")["cases"]["birthwt"][entry]
    # logistf's flic stops at 1e-8
    assert_allclose(
        method.estimate(problem("birthwt", Log(Logit()))).params, named(expected["coef"]), atol=2e-8, rtol=1e-8
    )


def test_flac_has_the_covariance_of_logistf():
    expected = numbers("logistf")["cases"]["birthwt"]["flac"]
    found = Flac().estimate(problem("birthwt", Log(Logit())))
    assert_allclose(np.sqrt(np.diagonal(found.inverse_information)), named(expected["se"]), rtol=1e-7)


@each_firth_set
@pytest.mark.parametrize("word", ["flic", "flac"])
def test_flic_and_flac_predict_the_observed_rate(name, word):
    case = numbers("firth")["cases"][name]
    found = FIRTH[word][0].estimate(problem(name, Log(Logit())))
    fitted = Logit().inverse(golden_set(name).X.to_numpy() @ found.params)
    assert_allclose(fitted, case[word]["fitted"], rtol=1e-7)
    assert fitted.mean() == pytest.approx(case["mean_y"], rel=1e-8)
