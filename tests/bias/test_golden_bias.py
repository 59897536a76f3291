"""Bias-reduced estimates against brglm2, the older brglm, and logistf."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gevglm.bias import Correction, Flac, Flic, Jeffreys, MeanReduction, MedianReduction
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.links import GEV, Cauchit, CLogLog, GEVc, Logit, LogLog, Probit
from gevglm.losses import Canonical, Log

SETS = ("endometrial", "lizards", "birthwt", "sex2", "mid", "rare")
SEPARATED = ("endometrial", "sex2")
LINKS = {"logit": Logit(), "probit": Probit(), "cloglog": CLogLog(), "cauchit": Cauchit()}
METHODS = {"AS_mean": MeanReduction(), "AS_median": MedianReduction(), "MPL_Jeffreys": Jeffreys()}
MIRRORED = {"cloglog": LogLog(), "logit": Logit(), "probit": Probit(), "cauchit": Cauchit()}

each_set = pytest.mark.parametrize("name", SETS)
each_link = pytest.mark.parametrize("link", LINKS)
each_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def problem(reference):
    """A reference set as a problem, its outcomes exchanged on request."""

    def build(name, loss, *, exchanged=False):
        table = reference(f"design_{name}.csv")
        if "trials" in table:
            trials = table.pop("trials").to_numpy(float)
            y = table.pop("successes").to_numpy(float) / trials
        else:
            y, trials = table.pop("y").to_numpy(float), None
        engine = MemoryEngine(table.to_numpy(float), 1.0 - y if exchanged else y, trials=trials)
        return Problem(engine, loss, constant=0, names=list(table.columns))

    return build


def named(numbers):
    return np.array(list(numbers.values()), dtype=float)


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
def test_adjusted_scores_have_the_roots_of_brglm2(reference, problem, name, link, method):
    expected = reference("a_bias_reduction.json")["cases"][name]["brglm2"][f"{method}/{link}"]
    assert expected["status"] == "converged"
    found = METHODS[method].estimate(problem(name, Log(LINKS[link])))
    assert found.converged
    # brglm2 itself is good to 1e-8 on endometrial with the cauchit
    assert_allclose(found.params, named(expected["coef"]), atol=3e-8, rtol=1e-8)
    same_errors(found, expected, rtol=3e-8)


@pytest.mark.parametrize("name", [name for name in SETS if name not in SEPARATED])
@each_link
def test_the_one_step_correction_is_that_of_brglm2(reference, problem, name, link):
    expected = reference("a_bias_reduction.json")["cases"][name]["brglm2"][f"correction/{link}"]
    found = Correction().estimate(problem(name, Log(LINKS[link])))
    assert found.converged
    assert_allclose(found.params, named(expected["hand_from_polished_ml"]), rtol=1e-10)
    same_errors(found, expected, rtol=1e-6)  # brglm2 starts from estimates that are good to that


@pytest.mark.parametrize("name", SEPARATED)
@each_link
def test_there_is_no_one_step_correction_of_infinite_estimates(reference, problem, name, link):
    expected = reference("a_bias_reduction.json")["cases"][name]["brglm2"][f"correction/{link}"]
    assert expected["status"] == "not applicable"
    found = Correction().estimate(problem(name, Log(LINKS[link])))
    assert not found.converged
    assert "separation" in found.reason


def test_every_fit_of_the_reference_is_tested(reference):
    cases = reference("a_bias_reduction.json")["cases"]
    assert set(cases) == set(SETS)
    words = {f"{method}/{link}" for method in (*METHODS, "correction", "ML") for link in LINKS}
    assert all(set(case["brglm2"]) == words for case in cases.values())


@each_set
@each_link
def test_the_older_brglm_agrees(reference, problem, name, link):
    expected = reference("a_bias_reduction.json")["cases"][name]["brglm_AS_mean"]["fits"][link]
    if name in SEPARATED and link == "cauchit":
        pytest.skip("brglm diverges there")
    found = MeanReduction().estimate(problem(name, Log(LINKS[link])))
    assert_allclose(found.params, named(expected["coef"]), rtol=1e-6, atol=1e-8)


# -- other links with the same numbers -------------------------------------------------------


@each_set
@each_method
def test_gevc_with_shape_zero_is_the_cloglog_of_brglm2(reference, problem, name, method):
    expected = reference("a_bias_reduction.json")["cases"][name]["brglm2"][f"{method}/cloglog"]
    found = METHODS[method].estimate(problem(name, Log(GEVc(0.0))))
    assert_allclose(found.params, named(expected["coef"]), atol=3e-8, rtol=1e-8)
    same_errors(found, expected, rtol=3e-8)


@each_set
@each_method
def test_gev_with_shape_zero_is_the_mirrored_cloglog_of_brglm2(reference, problem, name, method):
    expected = reference("a_bias_reduction.json")["cases"][name]["brglm2"][f"{method}/cloglog"]
    found = METHODS[method].estimate(problem(name, Log(GEV(0.0)), exchanged=True))
    assert_allclose(-found.params, named(expected["coef"]), atol=3e-8, rtol=1e-8)
    same_errors(found, expected, rtol=3e-8)


@each_set
@each_link
@each_method
def test_exchanged_outcomes_have_the_mirrored_roots(reference, problem, name, link, method):
    expected = reference("a_bias_reduction.json")["cases"][name]["brglm2"][f"{method}/{link}"]
    found = METHODS[method].estimate(problem(name, Log(MIRRORED[link]), exchanged=True))
    assert_allclose(-found.params, named(expected["coef"]), atol=3e-8, rtol=1e-8)


@pytest.mark.parametrize("method", [*METHODS.values(), Correction(), Flic()], ids=lambda method: method.word)
@pytest.mark.parametrize(("gev", "plain"), [(GEV(0.0), LogLog()), (GEVc(0.0), CLogLog())], ids=repr)
@pytest.mark.parametrize("kind", [Log, Canonical])
def test_shape_zero_is_the_link_it_tends_to_for_every_method(problem, method, gev, plain, kind):
    if kind is Canonical and method.word in ("median", "jeffreys"):
        pytest.skip("not defined for the canonical loss")
    one, other = (method.estimate(problem("birthwt", kind(link))) for link in (gev, plain))
    near = method.estimate(problem("birthwt", kind(type(gev)(1e-9))))
    assert_allclose(one.params, other.params, rtol=1e-12, atol=1e-14)
    assert_allclose(one.inverse_information, other.inverse_information, rtol=1e-10)
    assert_allclose(near.params, other.params, rtol=1e-6, atol=1e-8)


# -- logistf ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sex2", "birthwt"])
@pytest.mark.parametrize(
    ("method", "entry"),
    [
        (MeanReduction(), "second_opinion"),
        (Jeffreys(), "second_opinion"),
        (Flic(), "second_opinion_flic"),
        (Flac(), "second_opinion_flac"),
    ],
    ids=["mean", "jeffreys", "flic", "flac"],
)
@pytest.mark.parametrize("loss", [Log(Logit()), Canonical(Logit())], ids=repr)
def test_firth_flic_and_flac_are_those_of_logistf(reference, problem, name, method, entry, loss):
    if method.word == "jeffreys" and not loss.is_likelihood:
        pytest.skip("not defined for the canonical loss")
    expected = reference("b_logistf.json")["cases"][name][entry]
    found = method.estimate(problem(name, loss))
    assert found.converged
    assert_allclose(found.params, named(expected["coef"]), atol=2e-8, rtol=1e-8)
    if "se" in expected:
        assert_allclose(np.sqrt(np.diagonal(found.inverse_information)), named(expected["se"]), rtol=1e-8)


@pytest.mark.parametrize("name", ["sex2", "birthwt"])
def test_flac_has_the_covariance_of_logistf(reference, problem, name):
    expected = reference("b_logistf.json")["cases"][name]["flac"]
    found = Flac().estimate(problem(name, Log(Logit())))
    assert_allclose(np.sqrt(np.diagonal(found.inverse_information)), named(expected["se"]), rtol=1e-7)


@pytest.mark.parametrize("name", ["sex2", "birthwt"])
@pytest.mark.parametrize(("method", "entry"), [(Flic(), "second_opinion_flic"), (Flac(), "second_opinion_flac")])
def test_flic_and_flac_predict_the_observed_rate(reference, problem, name, method, entry):
    expected = reference("b_logistf.json")["cases"][name][entry]
    task = problem(name, Log(Logit()))
    X = reference(f"design_{name}.csv").iloc[:, 1:].to_numpy(float)
    fitted = Logit().inverse(X @ method.estimate(task).params)
    assert_allclose(fitted, expected["fitted"], rtol=1e-7)
    assert fitted.mean() == pytest.approx(expected["mean_y"], rel=1e-8)
