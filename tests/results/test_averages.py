"""Repeated rows, frequency weights and grouped counts are the same data; rows of weight zero are none."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.data.sources.frames import FramesSource
from gevglm.effects.curves import effect_curve
from gevglm.exceptions import GevglmWarning, InvalidOptionError
from gevglm.results.plotting import coefficient_table
from tests.support.golden import birthwt

FORMULA = "s ~ a * g + t"


def people():
    """2,000 persons with few distinct covariates."""
    rng = np.random.default_rng(12)
    data = pd.DataFrame({"a": rng.integers(0, 5, 2000) / 2, "g": rng.choice(["u", "v", "w"], 2000)})
    data["t"] = rng.integers(0, 2, 2000)
    risk = 1 / (1 + np.exp(2.5 - 0.7 * data["a"] - 0.6 * data["t"] - 0.4 * (data["g"] == "w")))
    return data.assign(s=(rng.random(2000) < risk).astype(int))


def spellings(**options):
    """The same fit to persons, to distinct rows with frequency weights, and to counts."""
    data = people()
    cells = data.groupby(["a", "g", "t", "s"]).size().rename("n").reset_index()
    counts = data.groupby(["a", "g", "t"])["s"].agg(s="sum", n="size").reset_index().assign(f=lambda d: d["n"] - d["s"])
    return {
        "persons": gevglm.fit(FORMULA, data, **options),
        "frequencies": gevglm.fit(FORMULA, cells, freq_weights="n", **options),
        "counts": gevglm.fit(FORMULA.replace("s ~", "s + f ~"), counts, **options),
    }


AVERAGES = {
    "risk": lambda r: r.risk("t").table,
    "risk of a sample": lambda r: r.risk("t", covariates="sampled").table,
    "risk by groups": lambda r: r.risk("t", by="g", covariates="sampled").risks,
    "risk of the quartiles": lambda r: r.risk("a", "iqr").risks,
    "risk of a deviation": lambda r: r.risk("a", "sd").risks,
    "attributable fraction": lambda r: r.attributable_fraction("t", 0),
    "average prediction": lambda r: r.get_prediction(average=True).summary_frame(),
    "margins": lambda r: r.get_margeff().summary_frame(),
    "margins at the mean": lambda r: r.get_margeff(at="mean").summary_frame(),
    "margins at the median": lambda r: r.get_margeff(at="median").summary_frame(),
    "change of the risk": lambda r: r.risk_change({"t": (0, 1)}, rng=0).table,
    "curve": lambda r: effect_curve(r, "a", by="t").frame[["risk", "ci_lower", "ci_upper"]],
    "curve at typical values": lambda r: effect_curve(r, "a", at="typical").frame[["risk", "ci_lower", "ci_upper"]],
    "scores": lambda r: np.array([r.log_loss, r.brier, r.auc]),
    "calibration": lambda r: pd.Series({k: v for k, v in r.calibration(resamples=2).indices.items() if "ICI" not in k}),
    "coefficients per deviation": lambda r: coefficient_table(r, per="sd"),
}


@pytest.mark.parametrize("options", [{"link": "logit"}, {"xi": 0.3}], ids=["logit", "gev"])
def test_the_same_data_in_three_spellings_have_the_same_averages(options):
    fits = spellings(**options)
    for name, average in AVERAGES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GevglmWarning)
            expected, *others = (np.asarray(average(fit), dtype=float) for fit in fits.values())
        for spelling, other in zip(("frequencies", "counts"), others, strict=True):
            assert_allclose(other, expected, rtol=2e-6, atol=1e-10, err_msg=f"{name} of {spelling}")
    notes = {fit.risk("t").note for fit in fits.values()}
    assert notes == {"averaged over 2,000 observations; delta method, nonrobust covariance"}


def test_standardised_penalties_of_three_spellings():
    fits = spellings(link="logit", alpha=20.0, standardize=True)
    for fit in fits.values():
        assert_allclose(fit.params, fits["persons"].params, rtol=1e-6)


@pytest.mark.parametrize("role", ["freq_weights", "var_weights", "sampling_weights"])
def test_rows_of_weight_zero_are_none(role):
    data = people().iloc[:600].assign(w=lambda d: 1.0 + d.index % 3)
    odd = data.iloc[:4].assign(a=[1e6, np.nan, -50.0, 2.0], g=["z", "u", "v", "w"], w=0.0)
    formulas = {"penalty": {"alpha": 5.0, "standardize": True}, "plain": {}}
    for options in formulas.values():
        without, padded = (
            gevglm.fit(FORMULA, rows, link="logit", **{role: "w"}, **options) for rows in (data, pd.concat([odd, data]))
        )
        assert padded.nobs == without.nobs == 600
        assert list(padded.params.index) == list(without.params.index)
        assert_allclose(padded.params, without.params, rtol=1e-9)
        assert_allclose(padded.bse, without.bse, rtol=1e-9)
    for name in ("risk", "risk of a sample", "margins at the median", "risk of the quartiles", "scores"):
        assert_allclose(AVERAGES[name](padded), AVERAGES[name](without), rtol=1e-9, err_msg=name)
    averaged = [padded.risk("a", "range", data=pd.concat([odd, data])), without.risk("a", "range")]
    assert_allclose(*(found.risks["estimate"] for found in averaged), rtol=1e-9)
    parts = FramesSource(lambda: [odd, data.iloc[:300], data.iloc[300:]])
    pieces = gevglm.fit(FORMULA, parts, link="logit", **{role: "w"})
    assert_allclose(pieces.params, without.params, rtol=1e-8)
    assert list(pieces.params.index) == list(without.params.index)


def test_empty_rows_of_counts_are_none():
    counts = pd.DataFrame({"s": [3, 5, 0, 8], "f": [9, 4, 0, 3], "x": [0.0, 1.0, 99.0, 2.0]})
    res = gevglm.fit("s + f ~ x", counts, link="logit")
    assert res.nobs == 3
    assert_allclose(res.params, gevglm.fit("s + f ~ x", counts.drop(index=2), link="logit").params, rtol=1e-10)


# -- what is compared is known from the fit ------------------------------------------------------------


def test_one_person_has_the_levels_of_the_fit():
    data = people()
    res = gevglm.fit(FORMULA, data, link="logit")
    one = data.iloc[[0]]
    found = res.risk("t", data=one)
    assert list(found.risks.index) == ["t = 0", "t = 1"]
    assert_allclose(found.risks["estimate"], [res.predict(one.assign(t=t)).iloc[0] for t in (0, 1)])
    assert list(res.risk("g", data=one).risks.index) == ["g = u", "g = v", "g = w"]
    moved = res.risk("a", "sd", data=one).scenarios[1].shift
    assert_allclose(moved, data["a"].std() / 2)
    res.remove_data()
    assert list(res.risk("t", data=one).risks.index) == ["t = 0", "t = 1"]


def test_risks_are_compared_with_the_reference_of_the_formula():
    data = people()
    res = gevglm.fit("s ~ C(g, Treatment('v')) + a", data, link="logit")
    assert list(res.risk("g").table.index) == ["u - v", "w - v"]
    assert_allclose(res.risk("g").risks, res.risk("g", ["v", "u", "w"]).risks)


def test_average_alone_averages_probabilities():
    res = gevglm.fit("low ~ age + smoke", birthwt(), link="logit")
    assert_allclose(res.get_prediction(average=True).predicted, res.predict().mean())
    assert_allclose(res.get_prediction(birthwt(), average=True).predicted, res.predict().mean())


def test_the_number_needed_is_of_a_difference():
    found = gevglm.fit("low ~ age + smoke", birthwt(), link="logit").risk("smoke", contrast="ratio")
    with pytest.raises(InvalidOptionError, match="one over a risk difference, but these are risk ratios; use risk"):
        _ = found.number_needed


def test_weights_to_a_prevalence_count_once_in_averages():
    data = people()
    drawn = gevglm.sampling.undersample(data, "s", rng=0)
    for sampling in ("prior", "weight"):
        res = gevglm.fit(FORMULA, drawn.data, link="logit", prevalence=drawn.prevalence, sampling=sampling)
        weight = np.where(drawn.data["s"] == 1, 1 / drawn.kept[1], 1 / drawn.kept[0])
        expected = np.average(res.predict(), weights=weight)
        assert_allclose(res.get_prediction(average=True).predicted, expected, rtol=1e-9)
    weighted = gevglm.fit(FORMULA, data, link="logit", class_weight={0: 1, 1: 5})
    assert_allclose(weighted.get_prediction(average=True).predicted, weighted.predict().mean(), rtol=1e-9)
    assert_allclose(weighted.brier, np.mean((data["s"] - weighted.predict()) ** 2), rtol=1e-9)
