"""Columns that are combinations of others: left out of the fit, in their places, and everything follows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import CollinearityError, CollinearityWarning, InvalidOptionError
from tests.support.golden import birthwt, numbers

FITS = [
    {"link": "logit"},
    {"link": "probit", "cov_type": "HC1"},
    {"link": "cauchit"},
    {"xi": 0.3},
    {"xi": 0.3, "cov_type": "HC3"},
    {"link": "gev", "xi": 0.2, "loss": "log"},
    {"link": "logit", "cov_type": "cluster", "cov_kwds": {"groups": np.arange(400) // 8}},
    *(
        {"link": "logit", "bias": bias}
        for bias in ("mean", "median", "jeffreys", "correction", "flic", "flac", "king-zeng")
    ),
    {"link": "cloglog", "bias": "median"},
    {"xi": 0.3, "bias": "mean"},
]


def rows(n=400, seed=2):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    data["y"] = (rng.random(n) < 1 / (1 + np.exp(1.5 - data["a"]))).astype(int)
    return data


def with_column(data, place, weights):
    """A design with a combination of the constant and the columns put in among them, and its name."""
    X = pd.DataFrame({"const": 1.0, "a": data["a"], "b": data["b"], "c": data["c"]})
    X.insert(place, "extra", X.to_numpy() @ weights)
    return X


@pytest.mark.parametrize("case", ["twice", "sum", "dummies", "empty"])
def test_columns_are_left_out_as_glm_of_r_does(case):
    golden = numbers("omitted")["cases"][case]
    data = birthwt()
    data = data.assign(half=data["lwt"] / 2 + 3, sum=data["age"] + data["lwt"] - data["smoke"], never=0)
    for race in ("white", "black", "other"):
        data[race] = (data["race"] == race).astype(int)
    with pytest.warns(CollinearityWarning, match=golden["omitted"][-1]):
        found = gevglm.fit(golden["formula"], data, link=golden["link"])
    assert found.omitted == golden["omitted"]
    names = [name.replace("(Intercept)", "Intercept") for name in golden["coefficients"]]
    assert_allclose(found.params[names], list(golden["coefficients"].values()), rtol=1e-6)  # as far as glm iterates
    assert_allclose(found.bse[names], golden["errors"], rtol=1e-6)
    assert_allclose(found.llf, golden["loglik"], rtol=1e-10)
    assert (found.df_model + 1, found.df_resid) == (golden["df"], golden["df_residual"])


@pytest.mark.parametrize("words", FITS, ids=lambda words: "-".join(map(str, list(words.values())[:3])))
@settings(max_examples=4)
@given(place=st.integers(0, 4), weights=st.lists(st.integers(-2, 2), min_size=4, max_size=4).filter(any))
@example(place=0, weights=[2, 0, 0, 0])  # the constant is left out, as a multiple of the column before it
def test_a_design_with_a_combination_is_the_design_without_it(words, place, weights):
    data = rows()
    assume(
        not (words.get("bias") in ("flic", "flac") and (place, weights[1:]) == (0, [0, 0, 0]))
    )  # they need the constant
    X = with_column(data, place, np.array(weights, dtype=float))
    full = gevglm.fit(data["y"], with_column(data, place, np.zeros(4)).drop(columns="extra"), **words)
    with pytest.warns(CollinearityWarning):
        found = gevglm.fit(data["y"], X, **words)
    (omitted,) = found.omitted
    assert (found.params[omitted], found.bse[omitted]) == (0, 0)
    assert np.isnan(found.pvalues[omitted])
    assert np.isnan(found.conf_int().loc[omitted]).all()
    assert found.df_resid == full.df_resid
    if omitted == "extra" or words.get("bias") not in (
        "median",
        "king-zeng",
    ):  # which depend on the coding of the columns
        assert_allclose(found.log_loss, full.log_loss, rtol=1e-8)
        assert_allclose(found.predict(X), full.predict(), rtol=1e-6)
    if omitted == "extra":
        names = list(full.params.index)
        assert_allclose(found.params[names], full.params, rtol=1e-6, atol=1e-9)
        assert_allclose(found.bse[names], full.bse, rtol=1e-6)
        assert_allclose(found.conf_int().loc[names], full.conf_int(), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.CollinearityWarning")
@pytest.mark.parametrize(
    "words", [{"link": "logit"}, {"xi": 0.3, "bias": "mean"}, {"link": "logit", "cov_type": "HC3"}]
)
def test_pieces_are_memory(words):
    data = rows().assign(d=lambda data: data["a"] - data["c"], e=0.0)
    pieces = [data[:150], data[150:]]
    found, whole = (gevglm.fit("y ~ a + e + c + d + b", source, **words) for source in (lambda: iter(pieces), data))
    assert found.omitted == whole.omitted == ["e", "d"]
    assert_allclose(found.params, whole.params, rtol=1e-9)
    assert_allclose(found.bse, whole.bse, rtol=1e-9)
    assert_allclose(found.predict(data), whole.predict(data), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.CollinearityWarning")
def test_everything_after_the_fit_follows(tmp_path):
    data = rows().assign(d=lambda data: data["a"] - data["c"])
    found, full = (gevglm.fit(f"y ~ a + c {extra} + b", data, link="logit") for extra in ("+ d", ""))
    names = list(full.params.index)
    assert_allclose(found.conf_int(method="profile").loc[names], full.conf_int(method="profile"), rtol=1e-7)
    assert_allclose(found.lr_tests().loc[names], full.lr_tests(), rtol=1e-6)
    assert_allclose(found.aic, full.aic)
    small = gevglm.fit("y ~ a", data, link="logit")
    assert_allclose(found.compare_lr_test(small), full.compare_lr_test(small), rtol=1e-7)
    assert_allclose(found.score_test(data[["a"]] ** 2), full.score_test(data[["a"]] ** 2), rtol=1e-7)
    assert_allclose(found.get_influence().cooks_distance[0], full.get_influence().cooks_distance[0], rtol=1e-6)
    assert_allclose(found.get_prediction(data).se, full.get_prediction(data).se, rtol=1e-7)
    assert_allclose(found.risk("b").summary_frame(), full.risk("b").summary_frame(), rtol=1e-6)
    margins = found.get_margeff().summary_frame()
    assert_allclose(margins.loc["b"], full.get_margeff().summary_frame().loc["b"], rtol=1e-6)
    assert np.isnan(margins.loc["d"].iloc[1])
    joint = [each.wald_test("a = 0, c = 0", scalar=True) for each in (found, full)]
    assert_allclose(joint[0].statistic, joint[1].statistic, rtol=1e-7)
    assert found.wald_test("a = 0, d = 0", scalar=True).df_denom == 1
    assert_allclose(found.refit(np.arange(300)).params[[0, 1, 2, 4]], full.refit(np.arange(300)).params, rtol=1e-6)
    with pytest.raises(InvalidOptionError, match="'d' was left out"):
        found.profile("d")
    found.save(tmp_path / "fit")
    loaded = gevglm.load(tmp_path / "fit")
    assert loaded.omitted == ["d"]
    assert_allclose(loaded.predict(data), full.predict(data))
    found.report(tmp_path / "report.html")
    tables = str(found.summary()), str(gevglm.compare({"fit": found}).summary()), (tmp_path / "report.html").read_text()
    assert all("(omitted)" in table for table in tables)
    assert "d (of a, c): an exact linear combination" in tables[0]


@pytest.mark.filterwarnings("ignore::gevglm.exceptions.WeakShapeWarning")
def test_shapes_are_estimated_without_the_column():
    data = rows().assign(d=lambda data: data["a"] - data["c"])
    full = gevglm.fit("y ~ a + c", data, xi="ml")
    with pytest.warns(CollinearityWarning, match="d"):
        found = gevglm.fit("y ~ a + c + d", data, xi="ml")
    assert_allclose(found.xi, full.xi, rtol=1e-6)
    assert_allclose(found.bse[["a", "c"]], full.bse[["a", "c"]], rtol=1e-5)
    assert_allclose(found.risk("a").summary_frame(), full.risk("a").summary_frame(), rtol=1e-5)


def test_a_column_that_is_constant_in_a_resample_is_left_out_there():
    data = rows().assign(rare=lambda data: (data.index < 3).astype(float))
    found = gevglm.fit("y ~ a + rare", data, link="logit", separation="ignore")
    again = found.refit(np.arange(3, 400))
    assert again.omitted == ["rare"]
    assert_allclose(again.params[1], gevglm.fit("y ~ a", data[3:], link="logit").params["a"], rtol=1e-8)


def test_a_penalty_that_determines_a_column_keeps_it():
    data = rows().assign(d=lambda data: 2 * data["a"])
    found = gevglm.fit("y ~ a + d", data, link="logit", alpha=1.0)
    assert not found.omitted
    assert_allclose(found.params["d"], 2 * found.params["a"], rtol=1e-7)


def test_more_columns_than_rows():
    data = rows(12).assign(y=np.arange(12) % 3 == 0)
    X = np.column_stack([np.ones(12), np.random.default_rng(1).normal(size=(12, 20))])
    with pytest.warns(CollinearityWarning):
        found = gevglm.fit(data["y"], X, link="logit", bias="firth")
    assert (found.rank, len(found.params)) == (12, 21)
    with pytest.raises(CollinearityError):
        gevglm.fit(data["y"], X[:, :12] @ np.ones((12, 2)), link="logit", collinear="raise")
    with pytest.raises(InvalidOptionError, match="collinear='omit' is not known"):
        gevglm.fit("y ~ a", data, collinear="omit")
