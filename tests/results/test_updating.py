"""Updates: likelihoods maximised directly, R's formulas by statsmodels, weights and clusters, standard errors and levels by simulation, bad input."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import gevglm
from gevglm.exceptions import GevglmError, GevglmWarning, InvalidDataError

HOW = ("none", "constant", "slope", "refit")
FORMULA = "y ~ x + C(k)"
SETTINGS = {
    "logit": {},
    "firth": {"bias": "firth"},
    "median probit": {"bias": "median", "link": "probit"},
    "cloglog": {"link": "cloglog"},
    "gev canonical": {"xi": 0.3},
    "gev log": {"link": "gev", "xi": -0.2, "loss": "log"},
    "log": {"link": "log"},
    "weights": {"freq_weights": "w"},
    "sampling weights": {"sampling_weights": "w"},
    "offset": {"offset": "o"},
    "clusters": {"cov_type": "cluster", "cov_kwds": {"groups": "c"}},
    "prevalence": {"prevalence": 0.05},
    "class weights": {"class_weight": "balanced"},
    "ridge": {"alpha": 1.0},
}


def sample(n, rng, shift=0.0, slope=1.0, own=0.0):
    rng = np.random.default_rng(rng)
    x, k = rng.standard_normal(n), rng.integers(0, 3, n)
    v = -2.5 + 0.8 * x + 0.5 * (k == 1) - 0.4 * (k == 2)
    v = shift + slope * v + own * (x - (k == 1))
    y = (rng.random(n) < 1 / (1 + np.exp(-v))).astype(int)
    facts = {"w": rng.integers(1, 4, n), "o": rng.normal(0, 0.2, n), "c": rng.integers(0, 40, n)}
    return pd.DataFrame({"y": y, "x": x, "k": k} | facts)


OLD, NEW = sample(2500, 1), sample(1200, 2, shift=-0.6, slope=0.8)


@pytest.fixture(scope="module", params=SETTINGS, ids=str)
def fitted(request):
    words = SETTINGS[request.param]
    return request.param, words, gevglm.fit(FORMULA, OLD, **words)


def test_recalibrations_are_fits_with_an_offset(fitted):
    """The constant and the slope of an update are those of fits of the package to the linear predictor."""
    _, words, res = fitted
    offset = NEW["o"].to_numpy() if "offset" in words else np.zeros(len(NEW))
    before = np.asarray(res.predict(NEW, which="linear")) - offset
    kept = {name: value for name, value in words.items() if name in ("bias", "freq_weights", "sampling_weights")}
    kept |= {"cov_type": words.get("cov_type"), "cov_kwds": words.get("cov_kwds")}
    loss = type(res.loss)(res.model.population_link)
    rows = NEW.assign(v=before, all=before + offset, o=offset)
    one = gevglm.fit("y ~ 1", rows, loss=loss, offset="all", **kept)
    two = gevglm.fit("y ~ v", rows, loss=loss, offset="o", **kept)
    constant, slope = res.update(NEW, "constant"), res.update(NEW, "slope")
    assert_allclose(constant.updated.constant, one.params.iloc[0], rtol=1e-6)
    assert_allclose(constant.updated.constant.se, one.bse.iloc[0], rtol=1e-6)
    assert_allclose([slope.updated.constant, slope.updated.slope], two.params, rtol=1e-5)
    assert_allclose([slope.updated.constant.se, slope.updated.slope.se], two.bse, rtol=1e-5)
    assert_allclose(constant.predict(NEW, which="linear"), float(one.params.iloc[0]) + before + offset, rtol=1e-7)
    both = two.params.iloc[0] + two.params.iloc[1] * before + offset
    assert_allclose(slope.predict(NEW, which="linear"), both, rtol=1e-5)
    again = res.update(NEW, "refit")
    direct = gevglm.fit(FORMULA, NEW, loss=loss, **kept | {n: words[n] for n in ("offset", "alpha") if n in words})
    assert_allclose(again.params, direct.params, rtol=1e-5, atol=1e-8)
    assert_allclose(again.bse, direct.bse, rtol=1e-5)


def test_every_way_gives_ordinary_results(fitted, tmp_path):
    name, _, res = fitted
    for how in HOW:
        updated = res.update(NEW, how)
        text = str(updated.summary())
        assert "Done:" in text
        assert "Nothing was tested" in text
        assert updated.updated.how == how
        assert np.isfinite(updated.get_prediction(NEW.head()).summary_frame()).all(axis=None)
        assert updated.classification(0.1, NEW) is not None
        updated.save(tmp_path / "updated.pkl")
        loaded = gevglm.load(tmp_path / "updated.pkl")
        assert_allclose(loaded.predict(NEW.head()), updated.predict(NEW.head()), rtol=1e-12)
        assert str(loaded.summary()) == text
        if how == "none":
            assert_allclose(updated.params, res.params)
            assert_allclose(updated.bse, res.bse)
        if how != "refit":
            assert_allclose(updated.updated.estimated, updated.df_model + 1)
    if name in ("logit", "weights", "offset"):  # a new constant makes O/E one
        once = res.update(NEW, "constant")
        weight = NEW["w"] if name == "weights" else np.ones(len(NEW))
        assert (weight * NEW["y"]).sum() == pytest.approx((weight * once.predict(NEW)).sum(), rel=1e-6)


def test_tests_are_score_tests_by_hand():
    """The statistics by statsmodels' score test and by sums of the rows."""
    res = gevglm.fit(FORMULA, OLD)
    tests = res.update(NEW, alpha=0.999).updated.tests  # goes on where it would stop
    X = np.asarray(res.update(NEW, "none").model.exog)
    v = X @ res.params.to_numpy()
    p = 1 / (1 + np.exp(-v))
    score, information = X.T @ (NEW["y"] - p), X.T @ (X * (p * (1 - p))[:, None])
    assert_allclose(tests["statistic"].iloc[0], score @ np.linalg.solve(information, score), rtol=1e-8)
    assert list(tests["df"]) == [4, 3, 2][: len(tests)]
    null = sm.GLM(NEW["y"], np.ones(len(NEW)), family=sm.families.Binomial(), offset=v).fit()
    statistic, pvalue = null.score_test(exog_extra=X[:, 1:])[:2]
    assert_allclose(tests["statistic"].iloc[1], statistic, rtol=1e-6)
    assert_allclose(tests["pvalue"].iloc[1], pvalue, rtol=1e-5)
    ratio = 2 * (sm.Logit(NEW["y"], X).fit(disp=0).llf - null.llf)
    assert tests["statistic"].iloc[1] == pytest.approx(ratio, rel=0.15)
    updated = res.update(NEW, "constant")
    assert_allclose(updated.score_test().statistic, statistic, rtol=1e-6)


def test_the_closed_test_stops_where_it_does_not_reject():
    res = gevglm.fit(FORMULA, sample(20_000, 3))
    for number, (how, truth) in enumerate(
        {"none": {}, "constant": {"shift": 1.0}, "slope": {"slope": 0.5}, "refit": {"own": 1.0}}.items()
    ):
        done = res.update(sample(5000, 10, **truth))
        assert done.updated.how == how
        assert len(done.updated.tests) == min(number + 1, 3)
        assert (done.updated.tests["pvalue"] < 0.05).sum() == number
    assert "all coefficients fitted again" in repr(done.updated)
    assert "a new constant and slope was rejected" in " ".join(str(done.updated).split())


def test_weights_are_repeated_rows():
    res = gevglm.fit(FORMULA, OLD)
    counted = gevglm.fit(FORMULA, OLD.assign(w=1), freq_weights="w")
    for how in ("auto", *HOW):
        one, other = counted.update(NEW, how), res.update(NEW.loc[NEW.index.repeat(NEW["w"])], how)
        assert_allclose(one.params, other.params, rtol=1e-7)
        assert_allclose(one.bse, other.bse, rtol=1e-6)
        assert_allclose(one.updated.tests, other.updated.tests, rtol=1e-6)
        assert one.updated.expected == pytest.approx(other.updated.expected)


def test_clusters_count_and_are_named_or_said_to_be_unknown():
    res = gevglm.fit(FORMULA, OLD, cov_type="cluster", cov_kwds={"groups": "c"})
    plain, own = gevglm.fit(FORMULA, OLD).update(NEW, "constant"), res.update(NEW, "constant")
    assert own.cov_type == "cluster"
    assert own.updated.constant.se != pytest.approx(plain.updated.constant.se, rel=1e-6)
    other = gevglm.fit(FORMULA, OLD).update(NEW, "constant", groups="c")
    assert other.updated.constant.se == pytest.approx(own.updated.constant.se)
    unknown = res.update(NEW.drop(columns="c"), "constant")
    assert "clusters of the new rows are not known" in str(unknown.summary())
    with pytest.raises(InvalidDataError, match="more than the 4 that the new data have"):
        res.update(NEW.assign(c=NEW["c"] % 4))


def test_the_columns_of_the_model_are_those_it_learned():
    old, new = OLD.assign(u=OLD["x"].abs()), NEW.assign(u=NEW["x"].abs() * 0.5)
    res = gevglm.fit("y ~ ns(u, df=3) + scale(x)", old)
    updated = res.update(new, "slope")
    factor = float(updated.updated.slope)
    assert_allclose(updated.params.iloc[1:], factor * res.params.iloc[1:])
    gone = res.update(new.sample(frac=1, random_state=1), "slope")
    assert_allclose(gone.params, updated.params, rtol=1e-8)


def test_one_predictor_and_a_constant_alone():
    res = gevglm.fit("y ~ x", OLD)
    tests = res.update(NEW, alpha=0.99).updated.tests
    if len(tests) == 3:
        assert tests["df"].iloc[2] == 0
    assert_allclose(res.update(NEW, "slope").params, res.update(NEW, "refit").params, rtol=1e-5)
    alone = gevglm.fit("y ~ 1", OLD)
    with pytest.raises(InvalidDataError, match="no slope"):
        alone.update(NEW, "slope")
    assert_allclose(alone.update(NEW, "constant").params, alone.update(NEW, "refit").params, rtol=1e-6)


def test_few_events_keep_the_bias_reduction():
    """Predictions that separate the new outcomes: Firth's slope is finite, that of maximum likelihood is refused."""
    few = pd.DataFrame({"x": np.linspace(-2, 2, 40), "k": [0, 1] * 20, "y": np.repeat([0, 1], [37, 3])})
    firth = gevglm.fit("y ~ x", OLD, bias="firth").update(few, "slope")
    assert np.isfinite(firth.updated.slope)
    with pytest.raises(InvalidDataError, match="no finite estimate"):
        gevglm.fit("y ~ x", OLD).update(few, "slope")


@pytest.mark.parametrize(
    ("data", "words", "message"),
    [
        (NEW, {"how": "intercept"}, "how='intercept'"),
        (NEW, {"alpha": 2}, "alpha=2"),
        (NEW.assign(k=NEW["k"] + 5), {}, "levels in the new data that the model has not seen: 5, 6, 7"),
        (NEW.assign(y=0), {}, "y"),
        (NEW.drop(columns="y"), {}, "y"),
        (NEW.drop(columns="x"), {}, "x"),
        (NEW.iloc[:0], {}, "rows"),
        (NEW.assign(x=np.nan), {}, "none of the 1200"),
        (NEW, {"endog": np.zeros(3)}, "1200 rows, and 3 outcomes"),
        (NEW, {"groups": "hospital"}, "hospital"),
    ],
)
def test_bad_input(data, words, message):
    res = gevglm.fit(FORMULA, OLD)
    with pytest.raises(GevglmError, match=message):
        res.update(data, **words)


def test_incomplete_rows_and_models_that_cannot_be_updated():
    res = gevglm.fit(FORMULA, OLD)
    with pytest.warns(GevglmWarning, match="100 of 1200 new rows lack"):
        some = res.update(NEW.assign(x=NEW["x"].where(np.arange(len(NEW)) >= 100)), "constant")
    assert some.nobs == 1100
    with pytest.raises(GevglmError, match="cannot be refitted"):
        some.stability(2)
    with pytest.raises(GevglmError, match="needs a model with a constant"):
        gevglm.fit("y ~ 0 + x", OLD).update(NEW, "constant")
    X = np.column_stack([np.ones(len(NEW)), NEW["x"]])
    of_arrays = gevglm.fit(OLD["y"].to_numpy(), np.column_stack([np.ones(len(OLD)), OLD["x"]]))
    by_name = gevglm.fit("y ~ x", OLD).update(NEW, "slope")
    assert_allclose(of_arrays.update(X, "slope", endog=NEW["y"]).params, by_name.params, rtol=1e-8)
    with pytest.raises(InvalidDataError, match="endog="):
        of_arrays.update(X)


def test_standard_errors_by_simulation():
    """Model and update from new data each time: the errors of the coefficients after a new slope are those of the draws."""
    estimates, errors = [], []
    for number in range(150):
        res = gevglm.fit("y ~ x", sample(800, 2 * number, own=0.0))
        updated = res.update(sample(800, 2 * number + 1, shift=0.5, slope=0.7), "constant")
        estimates.append(updated.params.to_numpy())
        errors.append(updated.bse.to_numpy())
    sd, mean = np.std(estimates, axis=0, ddof=1), np.mean(errors, axis=0)
    assert_allclose(mean / sd, 1.0, atol=4 / np.sqrt(2 * 149))
