"""Corrected probabilities, first differences and relative risks."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import InvalidDataError, InvalidOptionError
from gevglm.links import GEV
from gevglm.losses import Log
from tests.support.designs import design_of
from tests.support.populations import arrays, drawn, population, refused

FORMULA = "y ~ x + smoker + group"
NEW = {"x": [0.0, 1.5, -2.0], "smoker": [0, 1, 0], "group": ["a", "b", "c"]}
FITS = {
    "logit": {"link": "logit"},
    "probit": {"link": "probit", "prevalence": 0.05},
    "gev-canonical": {"link": "gev", "xi": 0.2, "prevalence": 0.05},
    "class weights": {"link": "logit", "class_weight": {0: 1, 1: 0.2}},
}
each_fit = pytest.mark.parametrize("words", FITS.values(), ids=FITS)


def small(**words):
    """A fit with few rows, so that its uncertainty matters."""
    sample = drawn().data
    return gevglm.fit(FORMULA, sample.iloc[:150], **words)


# -- probabilities with their uncertainty averaged in ----------------------------------------


def test_the_correction_of_the_logit_is_that_of_king_and_zeng():
    res = small(link="logit")
    X = design_of(res.model, NEW)[0]
    pi = res.predict(NEW)
    C = (0.5 - pi) * pi * (1 - pi) * np.einsum("ij,jk,ik->i", X, res.cov_params(), X)
    risks = res.corrected_risk(NEW)
    assert_allclose(risks["corrected"], pi + C, rtol=1e-12)
    assert_allclose(risks["risk"], pi)
    assert_allclose(res.corrected_risk(NEW, method="unbiased")["corrected"], pi - C, rtol=1e-12)


@each_fit
def test_the_correction_is_half_the_second_derivative_times_the_variance(words):
    res = small(**words)
    X = design_of(res.model, NEW)[0]
    variance = np.einsum("ij,jk,ik->i", X, res.cov_params(), X)
    v, h = X @ res.params.to_numpy(), 1e-4
    F = res.model.population_link.inverse
    curvature = (F(v + h) - 2 * F(v) + F(v - h)) / h**2
    corrected = res.corrected_risk(NEW)["corrected"]
    assert_allclose(corrected, F(v) + 0.5 * curvature * variance, rtol=1e-5)


@each_fit
def test_simulation_agrees_with_the_second_order(words):
    res = gevglm.fit(FORMULA, drawn().data, **words)
    exact, simulated = res.corrected_risk(NEW), res.corrected_risk(NEW, method="simulation", draws=20_000, rng=1)
    shift = np.abs(exact["corrected"] - exact["risk"])
    assert (np.abs(simulated["corrected"] - exact["corrected"]) < 0.25 * shift + 1e-5).all()
    assert_allclose(simulated["ci_lower"], exact["ci_lower"], rtol=0.03)
    assert_allclose(simulated["ci_upper"], exact["ci_upper"], rtol=0.03)


def test_limits_are_those_of_get_prediction():
    res = small(link="logit")
    frame, risks = res.get_prediction(NEW).summary_frame(alpha=0.1), res.corrected_risk(NEW, alpha=0.1)
    assert_allclose(risks["ci_lower"], frame["mean_ci_lower"], rtol=1e-10)
    assert_allclose(risks["ci_upper"], frame["mean_ci_upper"], rtol=1e-10)


def test_simulations_are_repeated_by_their_seed_and_do_not_depend_on_the_other_rows():
    res = small(link="logit")
    words = {"method": "simulation", "draws": 501}
    first, again = (res.corrected_risk(NEW, rng=5, **words) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(res.corrected_risk(NEW, rng=6, **words))
    big = pd.concat([pd.DataFrame(NEW)] * 1000, ignore_index=True)
    assert_allclose(res.corrected_risk(big, rng=5, **words).iloc[-3:], first, rtol=1e-12)


def test_own_rows_keep_their_labels_and_offset():
    data = drawn().data.iloc[:300]
    res = gevglm.fit("y ~ x", data, offset="shift")
    risks = res.corrected_risk()
    assert risks.index.equals(data.index)
    assert_allclose(risks["risk"], res.predict(), rtol=1e-14)


# -- before and after a change ---------------------------------------------------------------


@each_fit
def test_a_change_is_the_difference_and_the_ratio_of_two_risks(words):
    res = gevglm.fit(FORMULA, drawn().data, **words)
    change = res.risk_change({"x": (-1, 1)}, at={"smoker": 1, "group": "b"}, draws=40_000, rng=2)
    rows = {"x": [-1.0, 1.0], "smoker": [1, 1], "group": ["b", "b"]}
    risk, table = res.corrected_risk(rows)["corrected"], change.summary_frame()
    assert_allclose(table.loc[["before", "after"], "estimate"], risk, rtol=0.01)
    assert change.difference == pytest.approx(risk[1] - risk[0], rel=0.02)
    assert change.ratio == pytest.approx(res.predict(rows)[1] / res.predict(rows)[0], rel=0.02)
    assert (table["ci_lower"] < table["estimate"]).all()
    assert (table["estimate"] < table["ci_upper"]).all()
    assert_allclose(table.loc["after", "estimate"] - table.loc["before", "estimate"], change.difference, rtol=1e-12)


def test_standard_errors_of_a_change_are_those_of_the_delta_method():
    res = gevglm.fit(FORMULA, drawn().data, link="logit")
    X = design_of(res.model, {"x": [0.0, 0.0], "smoker": [0, 1], "group": ["a", "a"]})[0]
    slopes = X * res.model.link.inverse_deriv(X @ res.params.to_numpy())[:, None]
    gradient = slopes[1] - slopes[0]
    table = res.risk_change({"smoker": (0, 1)}, at={"x": 0, "group": "a"}, rng=3).summary_frame()
    expected = np.sqrt(gradient @ res.cov_params().to_numpy() @ gradient)
    assert table.loc["difference", "se"] == pytest.approx(expected, rel=0.03)


def test_other_variables_are_held_at_their_mean_or_most_frequent_level():
    data = population()
    change = gevglm.fit("y ~ x + smoker + group", data).risk_change({"smoker": (0, 1)}, rng=1)
    assert change.at["x"] == pytest.approx(data["x"].mean())
    assert change.at["group"] == "a"
    numbered = data.assign(code=data["group"].map({"a": 3, "b": 1, "c": 2}))
    assert gevglm.fit("y ~ x + C(code)", numbered).risk_change({"x": (0, 1)}, rng=1).at == {"code": 3}


def test_means_are_those_of_the_population_not_of_the_sample():
    sample, words = drawn(), {"change": {"smoker": (0, 1)}, "rng": 1}
    at = [
        gevglm.fit("y ~ x + smoker", sample.data, **options).risk_change(**words).at["x"]
        for options in ({}, {"prevalence": sample.prevalence}, {"prevalence": sample.prevalence, "sampling": "weight"})
    ]
    assert at[0] == pytest.approx(sample.data["x"].mean())
    assert at[1] == at[2] == pytest.approx(population()["x"].mean(), abs=0.05)
    assert abs(at[1] - at[0]) > 0.1


def test_columns_of_a_design_are_changed_by_name():
    y, X = arrays(drawn().data)
    by_arrays = gevglm.fit(y, X, link="logit").risk_change({"x2": (0, 1)}, at={"x1": 0.5}, rng=1)
    by_formula = gevglm.fit("y ~ x + smoker", drawn().data).risk_change({"smoker": (0, 1)}, at={"x": 0.5}, rng=1)
    assert_allclose(by_arrays.table, by_formula.table, rtol=1e-6)
    assert by_arrays.at == {"const": 1.0, "x1": 0.5}


def test_a_change_of_several_variables_and_a_transformed_one():
    data = drawn().data
    res = gevglm.fit("y ~ np.exp(x) + smoker + group", data)
    change = res.risk_change({"x": (0, 1), "group": ("a", "c")}, at={"smoker": 0}, draws=20_000, rng=1)
    rows = {"x": [0, 1], "smoker": [0, 0], "group": ["a", "c"]}
    assert_allclose(change.table["estimate"].iloc[:2], res.corrected_risk(rows)["corrected"], rtol=0.02)
    assert "x from 0 to 1" in str(change)
    assert "smoker = 0" in str(change)


def test_the_offset_is_held_at_its_mean_or_given():
    data = drawn().data
    named = gevglm.fit("y ~ x", data, offset="shift")
    assert named.risk_change({"x": (0, 1)}, rng=1).at["shift"] == pytest.approx(data["shift"].mean())
    array = gevglm.fit("y ~ x", data, offset=data["shift"].to_numpy())
    at_mean = array.risk_change({"x": (0, 1)}, offset=data["shift"].mean(), rng=1)
    assert_allclose(at_mean.table, named.risk_change({"x": (0, 1)}, rng=1).table, rtol=1e-9)
    with refused(InvalidDataError, "offset"):
        array.risk_change({"x": (0, 1)}, rng=1)


def test_without_the_data_values_have_to_be_given(tmp_path):
    res = gevglm.fit("y ~ x + smoker", drawn().data)
    before = res.risk_change({"smoker": (0, 1)}, at={"x": 0}, rng=1)
    res.save(tmp_path / "fit.pkl")
    loaded = gevglm.load(tmp_path / "fit.pkl")
    assert_allclose(loaded.risk_change({"smoker": (0, 1)}, at={"x": 0}, rng=1).table, before.table)
    with refused(InvalidDataError, "needs the rows of the fit", "'x'", "at="):
        loaded.risk_change({"smoker": (0, 1)})


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ({"change": {}}, ("change=", "dict")),
        ({"change": [("x", 0, 1)]}, ("change=", "dict")),
        ({"change": {"smoking": (0, 1)}}, ("'smoking'", "not a variable of the model", "Did you mean 'smoker'")),
        ({"change": {"x": 1}}, ("two values, before and after",)),
        ({"change": {"x": (0, 1, 2)}}, ("two values, before and after",)),
        ({"change": {"smoker": "ab"}}, ("two values, before and after",)),
        ({"change": {"x": (0, 1)}, "at": {"x": 0}}, ("'x' is both",)),
        ({"change": {"x": (0, 1)}, "at": {"z": 0}}, ("at has 'z'",)),
        ({"change": {"x": (0, 1)}, "draws": 1}, ("draws=1", "at least 2")),
    ],
)
def test_changes_that_make_no_sense_are_refused(words, parts):
    res = gevglm.fit("y ~ x + smoker", drawn().data)
    with refused(InvalidOptionError, *parts):
        res.risk_change(**words)


def test_unknown_methods_and_levels_are_refused():
    res = gevglm.fit("y ~ x + group", drawn().data)
    with refused(InvalidOptionError, "method='bayse'", "'bayes', 'unbiased', 'simulation'", "Did you mean 'bayes'"):
        res.corrected_risk(method="bayse")
    with refused(InvalidOptionError, "alpha=2"):
        res.corrected_risk(alpha=2)
    with refused(InvalidDataError, "'group' has levels", "'z'"):
        res.risk_change({"group": ("a", "z")}, rng=1)


# -- an estimated shape ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def shaped():
    return gevglm.fit(
        "event ~ age + smoker", gevglm.datasets.simulate_study(n=6000, rng=4), link="gev", loss="log", xi="ml"
    )


def posterior(res, data, draws=4000):
    """Draws of coefficients and shape, and weights that make them draws from the likelihood under a flat prior."""
    rng, model = np.random.default_rng(0), res._results.risk_model
    joint, track = model.covariance, model.track
    error = 1.2 * np.sqrt(joint[-1, -1])
    at_shape = joint[:-1, :-1] - np.outer(joint[:-1, -1], joint[:-1, -1]) / joint[-1, -1]
    xi = rng.normal(res.xi, error, size=6 * draws)
    xi = xi[(xi > -1) & (xi < 1.5)][:draws]
    normal = rng.normal(size=(len(xi), len(model.params)))
    shift, scale = track.moved(xi)
    params = model.params + shift + 1.2 * scale * (normal @ np.linalg.cholesky(at_shape).T)
    proposal = -0.5 * ((xi - res.xi) / error) ** 2 - 0.5 * (normal**2).sum(axis=1) - np.log(scale).sum(axis=1)
    X, y = design_of(res.model, data)[0], data["event"].to_numpy(float)
    with np.errstate(all="ignore"):
        likelihood = np.array([-Log(GEV(s)).value(y, X @ b).sum() for s, b in zip(xi, params, strict=True)])
    log_weight = likelihood - proposal
    weight = np.exp(log_weight - log_weight[np.isfinite(log_weight)].max())
    return params, xi, np.where(np.isfinite(weight), weight, 0.0)


def weighted_quantiles(values, weights, shares):
    order = np.argsort(values)
    return np.interp(shares, np.cumsum(weights[order]) / weights.sum(), values[order])


def test_risks_with_an_estimated_shape_are_those_of_the_likelihood_over_all_parameters(shaped):
    """Corrected risks were 69 % too large and their limits 16 times too wide; the ratio had limits 1.12 to 678."""
    data = gevglm.datasets.simulate_study(n=6000, rng=4)
    params, xi, weight = posterior(shaped, data)
    assert weight.sum() ** 2 / (weight**2).sum() > 500  # as many independent draws
    new = {"age": [0.0, 0.0], "smoker": [0, 1]}
    X = design_of(shaped.model, new)[0]
    risks = np.array([GEV(s).inverse(X @ b) for s, b in zip(xi, params, strict=True)])
    mean = weight @ risks / weight.sum()
    for method, words in {"bayes": {}, "simulation": {"rng": 0}}.items():
        found = shaped.corrected_risk(new, method=method, **words)
        assert_allclose(found["corrected"], mean, rtol=0.05)
        for row in range(2):
            limits = weighted_quantiles(risks[:, row], weight, [0.025, 0.975])
            assert_allclose(found[["ci_lower", "ci_upper"]].iloc[row], limits, rtol=0.08)
    change = shaped.risk_change({"smoker": (0, 1)}, at={"age": 0.0}, rng=0).table.loc["ratio"]
    ratio = weighted_quantiles(risks[:, 1] / risks[:, 0], weight, [0.025, 0.5, 0.975])
    assert_allclose(change[["ci_lower", "estimate", "ci_upper"]], ratio, rtol=0.08)


def test_limits_with_an_estimated_shape_are_those_of_get_prediction(shaped):
    new = {"age": [0.0, 20.0, -10.0], "smoker": [0, 1, 1]}
    frame, risks = shaped.get_prediction(new).summary_frame(alpha=0.1), shaped.corrected_risk(new, alpha=0.1)
    assert_allclose(risks["ci_lower"], frame["mean_ci_lower"], rtol=1e-10)
    assert_allclose(risks["ci_upper"], frame["mean_ci_upper"], rtol=1e-10)


@pytest.mark.parametrize("loss", ["log", "canonical"])
def test_second_order_and_simulation_agree_with_an_estimated_shape(loss):
    data = gevglm.datasets.simulate_study(n=6000, rng=4)
    res = gevglm.fit("event ~ age + smoker", data, link="gev", loss=loss, xi="ml")
    new = {"age": [0.0, 15.0], "smoker": [0, 1]}
    exact, drawn_ = res.corrected_risk(new), res.corrected_risk(new, method="simulation", draws=4000, rng=1)
    assert_allclose(drawn_["corrected"], exact["corrected"], rtol=0.01)


def test_bounds_of_a_range_of_prevalences_estimate_the_shape_at_its_ends():
    data = gevglm.datasets.simulate_study(n=6000, rng=4)
    words = {"link": "gev", "loss": "log", "xi": "ml"}
    res = gevglm.fit("event ~ age + smoker", data, prevalence=(0.01, 0.03), **words)
    new = {"age": [0.0], "smoker": [0]}
    ends = [gevglm.fit("event ~ age + smoker", data, prevalence=end, **words) for end in (0.01, 0.03)]
    frames = [end.get_prediction(new).summary_frame() for end in ends]
    bounds = res.risk_bounds(new)
    assert_allclose(bounds["lower"], frames[0]["mean"], rtol=1e-6)
    assert_allclose(bounds["upper"], frames[1]["mean"], rtol=1e-6)
    assert_allclose(bounds["ci_lower"], frames[0]["mean_ci_lower"], rtol=1e-5)
    assert_allclose(bounds["ci_upper"], frames[1]["mean_ci_upper"], rtol=1e-5)
    assert [model.link.shape for model in res.range_fits] == pytest.approx([end.xi for end in ends], rel=1e-6)
