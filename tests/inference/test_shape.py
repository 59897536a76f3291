"""The shape by maximum likelihood: golden numbers, stacked covariances, intervals, weak and boundary cases."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import chi2

import gevglm
from gevglm.covariance import Nonrobust
from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import (
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    NotDefinedForLoss,
    SeparationWarning,
    SupportWarning,
    WeakShapeWarning,
)
from gevglm.inference.shape import estimate_shape
from gevglm.inference.shape_equations import joint_covariance, observed_information, shape_score
from gevglm.inference.shape_search import best_on_grid
from gevglm.links import GEV, GEVc
from gevglm.links.gev import PAPER_GRID
from gevglm.losses import Canonical, Log
from tests.support.golden import golden_set, numbers, synthetic

FORMS = {"gev": GEV, "cgev": GEVc}


@pytest.fixture(scope="module")
def rare():
    return synthetic("rare")


def rows(rare):
    return np.column_stack([np.ones(len(rare)), rare[["x1", "x2", "x3"]]]), rare["y"].to_numpy(float)


@pytest.mark.parametrize("form", FORMS)
def test_joint_maximum_likelihood_equals_the_reference(form):
    data, golden = golden_set("rare"), numbers("gev")["cases"]["rare"]["shape"][form]
    engine = MemoryEngine(data.X.to_numpy(), data.outcome)
    found = estimate_shape(Problem(engine, Log(FORMS[form](0.0)), constant=0), lambda xi: Log(FORMS[form](xi)))
    joint = golden["joint_ml"]
    assert_allclose(found.xi, joint["xi"], rtol=1e-8)
    assert_allclose(found.fitted.params, list(joint["coef"].values()), rtol=1e-8)
    assert_allclose(found.llf, joint["loglik"], rtol=1e-12)
    covariance = joint_covariance(engine, found.loss, found.fitted.params, Nonrobust(), len(data.X))
    assert_allclose(covariance, joint["vcov_observed"], rtol=2e-6)
    assert_allclose(found.interval(0.05)[1], joint["xi_upper"], rtol=1e-7)
    if joint["xi_lower"] > -1:
        assert_allclose(found.interval(0.05)[0], joint["xi_lower"], rtol=1e-7)
    profile = dict(zip(golden["profile"]["xi"], golden["profile"]["loglik"], strict=True))
    for xi, llf in found.profile.to_numpy():
        if xi in profile:
            assert_allclose(llf, profile[xi], rtol=1e-7)


def test_a_likelihood_without_an_interior_maximum_is_reported():
    data = golden_set("birthwt")
    with pytest.warns((WeakShapeWarning, SupportWarning)) as caught:
        res = gevglm.fit(data.outcome, data.X, link="gev", loss="log", xi="ml")
    assert any("an end of the grid" in str(warning.message) for warning in caught)
    assert res.xi == 1.5
    assert "not determined by these data" in " ".join(str(res.summary()).split())


@pytest.mark.parametrize("loss", [Log, Canonical])
@pytest.mark.parametrize("kind", [GEV, GEVc])
def test_the_estimate_maximises_the_bernoulli_likelihood_of_the_fits(rare, loss, kind):
    X, y = rows(rare)
    engine = MemoryEngine(X, y)
    found = estimate_shape(Problem(engine, loss(kind(0.0)), constant=0), lambda xi: loss(kind(xi)))
    around = [found.path.log_likelihood(found.xi + step) for step in (-1e-3, 0.0, 1e-3)]
    assert around[1] == max(around)
    assert shape_score(engine, found.loss, found.fitted.params) == pytest.approx(0.0, abs=1e-5)


def test_the_shape_score_is_the_derivative_along_the_path(rare):
    X, y = rows(rare)
    engine = MemoryEngine(X, y)
    for loss in (Log, Canonical):

        def llf(xi, loss=loss):
            params = Problem(engine, loss(GEV(xi)), constant=0, tol=1e-12).estimate().params
            return -Log(GEV(xi)).value(y, X @ params).sum()

        params = Problem(engine, loss(GEV(0.4)), constant=0, tol=1e-12).estimate().params
        numeric = (llf(0.4 + 1e-4) - llf(0.4 - 1e-4)) / 2e-4
        assert_allclose(shape_score(engine, loss(GEV(0.4)), params), numeric, rtol=1e-6)


def test_the_joint_information_is_that_of_a_direct_minimisation(rare):
    X, y = rows(rare)

    def loss(theta):
        return Log(GEV(theta[-1])).value(y, X @ theta[:-1]).sum()

    res = gevglm.fit(y, X, link="gev", loss="log", xi="ml")
    theta = np.append(res.params, res.xi)
    direct = minimize(
        loss, theta + 0.01, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-12}
    )
    assert loss(theta) <= direct.fun + 1e-9
    information = observed_information(MemoryEngine(X, y), res.loss, np.asarray(res.params))
    step = 1e-4
    for j in range(len(theta)):
        unit = np.eye(len(theta))[j] * step
        second = (loss(theta + unit) - 2 * loss(theta) + loss(theta - unit)) / step**2
        assert_allclose(information[j, j], second, rtol=1e-4)


@pytest.mark.parametrize("loss", ["log", "canonical"])
@pytest.mark.parametrize("kind", [GEV, GEVc])
def test_covariances_agree_in_a_large_sample_from_the_model(loss, kind):
    rng = np.random.default_rng(6)
    n = 40_000
    X = np.column_stack([np.ones(n), rng.normal(size=n), rng.random(n) < 0.4])
    y = (rng.random(n) < kind(-0.2).inverse(X @ [-1.2, 0.4, 0.3])).astype(float)
    word = {GEV: "gev", GEVc: "gevc"}[kind]
    fits = [
        gevglm.BinaryGLM(y, X, link=word, loss=loss, xi="ml").fit(cov_type=cov_type, cov_kwds=cov_kwds)
        for cov_type, cov_kwds in (("nonrobust", None), ("HC0", None), ("cluster", {"groups": np.arange(n) // 2}))
    ]
    for other in fits[1:]:
        assert_allclose(other.bse, fits[0].bse, rtol=0.1)
        assert_allclose(other.xi_bse, fits[0].xi_bse, rtol=0.1)
    assert abs(fits[0].xi + 0.2) < 4 * fits[0].xi_bse
    assert (np.abs(fits[0].params - [-1.2, 0.4, 0.3]) < 4 * fits[0].bse).all()


@pytest.mark.parametrize("options", [{"link": "gevc", "loss": "log"}, {"link": "gevc"}, {"link": "gev", "loss": "log"}])
def test_results_of_an_estimated_shape(rare, options):
    with pytest.warns(SupportWarning) if options["link"] == "gevc" else _nothing():
        res = gevglm.fit("y ~ x1 + x2 + x3", rare, xi="ml", **options)
    fixed = gevglm.BinaryGLM.from_formula("y ~ x1 + x2 + x3", rare, **(options | {"xi": res.xi})).at_shape(res.xi)
    wald = res.xi_conf_int(method="wald")
    assert_allclose(np.mean(wald), res.xi)
    assert_allclose(wald[1] - wald[0], 2 * 1.959964 * res.xi_bse, rtol=1e-6)
    assert f"xi = {res.xi:.4g} was estimated" in str(res.summary())
    assert fixed.link == res.link
    if options.get("loss") == "log":
        lower, upper = res.xi_conf_int()
        assert lower < res.xi < upper
        statistic, pvalue = res.xi_lr_test(0.0)
        named = gevglm.fit("y ~ x1 + x2 + x3", rare, link={"gev": "loglog", "gevc": "cloglog"}[options["link"]])
        assert_allclose(statistic, 2 * (res.llf - named.llf), rtol=1e-7)
        assert_allclose(pvalue, chi2.sf(statistic, 1))
        assert_allclose(res.aic, -2 * res.llf + 2 * 5)
    else:
        with pytest.raises(NotDefinedForLoss, match="wald"):
            res.xi_lr_test(0.0)


class _nothing:
    def __enter__(self):
        return None

    def __exit__(self, *error):
        return False


def test_the_uncertainty_of_the_shape_is_in_everything_that_follows(rare):
    res = gevglm.fit("y ~ x1 + x2 + x3", rare, link="gev", loss="log", xi="ml")
    fixed = gevglm.fit("y ~ x1 + x2 + x3", rare, link="gev", loss="log", xi=res.xi)
    assert (res.bse > 1.5 * fixed.bse).all()
    new = rare.iloc[:50]
    wide, narrow = (r.get_prediction(new).summary_frame() for r in (res, fixed))
    assert_allclose(wide["mean"], narrow["mean"], rtol=1e-9)
    assert (wide["mean_se"] >= narrow["mean_se"] * (1 - 1e-3)).mean() > 0.8
    assert ((wide > 0) & (wide < 1)).all(axis=None)
    assert np.isfinite(res.get_margeff().margeff_se).all()
    average = res.get_prediction(new, which="mean", average=True).summary_frame()
    assert average.iloc[0, 2] < average.iloc[0, 0] < average.iloc[0, 3]


def test_the_standard_error_of_a_probability_is_by_the_delta_method_in_all_parameters(rare):
    res = gevglm.fit("y ~ x1 + x2 + x3", rare, link="gev", loss="log", xi="ml")
    row = rare.iloc[[3]]
    x = np.append(1.0, row[["x1", "x2", "x3"]].to_numpy())
    theta = np.append(res.params, res.xi)

    def probability(theta):
        return float(GEV(theta[-1]).inverse(x @ theta[:-1]))

    step = 1e-6
    gradient = [
        (probability(theta + step * unit) - probability(theta - step * unit)) / (2 * step) for unit in np.eye(5)
    ]
    expected = np.sqrt(gradient @ res._results._joint @ gradient)
    assert_allclose(res.get_prediction(row).summary_frame()["mean_se"], expected, rtol=1e-6)


def test_saved_results_keep_the_shape(rare, tmp_path):
    res = gevglm.fit("y ~ x1 + x2 + x3", rare, link="gev", loss="log", xi="ml")
    expected = res.xi_conf_int(method="wald")
    res.save(tmp_path / "fit.pickle")
    loaded = gevglm.load(tmp_path / "fit.pickle")
    assert_allclose(loaded.xi_conf_int(method="wald"), expected)
    with pytest.raises(InvalidDataError, match="method='wald'"):
        loaded.xi_conf_int()
    assert "was estimated" in str(loaded.summary())


def test_flat_likelihoods_are_warned_of():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=150)})
    data["y"] = (rng.random(150) < 0.3).astype(int)
    with pytest.warns((WeakShapeWarning, SupportWarning)) as caught:
        gevglm.fit("y ~ x", data, link="gev", loss="log", xi="ml")
    assert any(issubclass(warning.category, WeakShapeWarning) for warning in caught)


def test_the_paper_grid_has_twenty_seven_points():
    assert len(PAPER_GRID) == 27
    assert (min(PAPER_GRID), max(PAPER_GRID)) == (-1.0, 1.5)
    assert -0.2567 in PAPER_GRID


@pytest.mark.parametrize("xi", ["mle", "auto", ""])
def test_other_words_for_the_shape_are_refused(rare, xi):
    with pytest.raises(InvalidOptionError, match="'ml', 'map', 'cv'"):
        gevglm.fit("y ~ x1", rare, xi=xi)


def test_words_that_do_not_go_together_are_refused(rare):
    with pytest.raises(IncompatibleOptionsError, match="link='gev' or 'gevc'"):
        gevglm.fit("y ~ x1", rare, link="logit", xi="ml")
    with pytest.raises(IncompatibleOptionsError, match="xi='cv'"):
        gevglm.fit("y ~ x1", rare, xi="ml", alpha=1.0)
    with pytest.raises(InvalidOptionError, match=r"does not take; it takes \['grid'\]"):
        gevglm.fit("y ~ x1", rare, xi="ml", search_kwds={"folds": 3})
    with pytest.raises(InvalidOptionError, match="goes with xi='ml'"):
        gevglm.fit("y ~ x1", rare, xi=0.3, search_kwds={"grid": [0]})
    with pytest.raises(InvalidOptionError, match="between -5 and 5"):
        gevglm.fit("y ~ x1", rare, xi="ml", search_kwds={"grid": [0, 7]})
    with pytest.raises(InvalidOptionError, match="HC0, HC1, or cluster"):
        gevglm.fit("y ~ x1", rare, xi="ml", cov_type="HC3")
    with pytest.raises(InvalidOptionError, match="fit with xi='ml'"):
        gevglm.fit("y ~ x1", rare, xi=0.3).xi_conf_int()


@pytest.mark.parametrize("options", [{}, {"link": "gev", "loss": "log"}])
def test_separated_data_do_not_determine_a_shape(options):
    x = np.linspace(-1, 1, 60)
    with pytest.warns((WeakShapeWarning, SeparationWarning, SupportWarning)) as caught:
        res = gevglm.fit("y ~ x", pd.DataFrame({"x": x, "y": (x > 0).astype(int)}), xi="ml", **options)
    assert {WeakShapeWarning, SeparationWarning} <= {warning.category for warning in caught}
    assert not res.converged


# -- irregular maxima --------------------------------------------------------------------------


def ordinary(seed):
    """200 to 1,000 rows from a logit."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(200, 1001))
    x, z = rng.normal(size=n), (rng.random(n) < 0.5) * 1.0
    eta = rng.uniform(-3, 0) + rng.uniform(0.3, 1.5) * x + rng.uniform(-1, 1) * z
    return pd.DataFrame({"x": x, "z": z, "y": (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)})


@pytest.mark.parametrize(
    ("seed", "seen"),
    [
        (31, "not positive definite"),
        (110, "by its curvature the standard error would be 0.0077"),
        (303, "by its profile"),
    ],
)
def test_irregular_maxima_are_said_and_their_errors_come_from_the_profile(seed, seen):
    with pytest.warns((WeakShapeWarning, SupportWarning)) as caught:
        res = gevglm.fit("y ~ x + z", ordinary(seed), link="gev", loss="log", xi="ml")
    (said,) = [str(warning.message) for warning in caught if warning.category is WeakShapeWarning]
    assert f"xi={res.xi:.4g} is an irregular maximum" in said and seen in said and "xi_conf_int()" in said
    lower, upper = res.xi_conf_int()
    assert 0.5 < res.xi_bse / ((upper - lower) / 3.92) < 2
    logit = gevglm.fit("y ~ x + z", ordinary(seed), link="logit")
    assert (res.get_margeff().margeff_se < 3 * logit.get_margeff().margeff_se).all()
    assert "The maximum is irregular" in str(res.summary())


@pytest.mark.parametrize("seed", [2, 41])
def test_a_shape_at_an_end_of_the_grid_has_no_standard_error(seed):
    with pytest.warns(WeakShapeWarning, match="xi_bse is NaN"):  # a warning of the square root would be an error
        res = gevglm.fit("y ~ x + z", ordinary(seed), link="gev", loss="log", xi="ml")
    assert res.xi in (-1.0, 1.5)
    assert np.isnan(res.xi_bse)
    assert np.isfinite(res.bse).all()
    assert (res.bse > gevglm.fit("y ~ x + z", ordinary(seed), link="gev", loss="log", xi=res.xi).bse * 0.999).all()
    assert "nan" not in str(res.summary())
    logit = gevglm.fit("y ~ x + z", ordinary(seed), link="logit")
    assert (res.get_margeff().margeff_se < 2 * logit.get_margeff().margeff_se).all()


def test_regular_maxima_keep_their_covariance_by_curvature(rare):
    res = gevglm.fit("y ~ x1 + x2 + x3", rare, link="gev", loss="log", xi="ml")
    assert res._results._shape.irregular == ""
    X, y = rows(rare)
    information = observed_information(MemoryEngine(X, y), res.loss, np.asarray(res.params))
    assert_allclose(res._results.joint_covariance, np.linalg.inv(information), rtol=1e-6)


class Mountains:
    """A likelihood over the shape with a low and a high maximum, of which the grid sees the low one better."""

    def log_likelihood(self, xi):
        return -50.0 + np.exp(-0.5 * ((xi + 0.4) / 0.15) ** 2) + 1.2 * np.exp(-0.5 * ((xi - 0.45) / 0.05) ** 2)

    def score(self, xi):
        return (self.log_likelihood(xi + 1e-7) - self.log_likelihood(xi - 1e-7)) / 2e-7


def test_the_largest_of_several_maxima_is_found():
    grid = np.round(np.arange(-1.0, 1.51, 0.2), 1)
    values = Mountains().log_likelihood(grid)
    assert grid[values.argmax()] == -0.4
    xi, boundary = best_on_grid(Mountains(), grid, values)
    assert_allclose(xi, 0.45, atol=1e-4)
    assert not boundary


@pytest.mark.study
def test_no_fit_is_called_converged_with_an_error_far_below_its_profile():
    for seed in range(150):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            res = gevglm.fit("y ~ x + z", ordinary(seed), link="gev", loss="log", xi="ml")
        lower, upper = res.xi_conf_int()
        assert not res.converged or np.isnan(res.xi_bse) or res.xi_bse > (upper - lower) / 3.92 / 5, seed


def test_constrained_fits_need_a_fixed_shape(rare):
    with pytest.raises(InvalidOptionError, match="fixed shape"):
        gevglm.BinaryGLM.from_formula("y ~ x1 + x2", rare, xi="ml").fit_constrained("x1 = 0")
