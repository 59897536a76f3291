"""`xi="map"`: the posterior of coefficients and shape, against a chain that shares no code with it."""

import numpy as np
import pandas as pd
import pytest

import gevglm
from gevglm.exceptions import IncompatibleOptionsError, InvalidOptionError
from gevglm.links import GEV


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.standard_normal(600), "t": (rng.random(600) < 0.5).astype(float)})
    data["y"] = (rng.random(600) < GEV(0.3).inverse(-0.6 + 0.4 * data.x + 0.3 * data.t)).astype(int)
    return data


@pytest.fixture(scope="module")
def fitted(data):
    with gevglm.exceptions.silenced():
        return gevglm.fit("y ~ x + t", data, link="gev", xi="map")


def log_posterior(data, theta):
    """The log posterior of coefficients as log odds ratios, and shape, as the documentation has it; a function of the coefficients."""
    constant, x, t, xi = theta
    if not -1.0 <= xi <= 1.5:
        return -np.inf
    z = 1.0 + xi * (constant + x * data.x + t * data.t).to_numpy()
    with np.errstate(all="ignore"):
        log_cdf = np.where(z > 0, -(np.where(z > 0, z, 1.0) ** (-1.0 / xi)), -np.inf if xi > 0 else 0.0)
        total = np.where(data.y == 1, log_cdf, np.log(-np.expm1(log_cdf))).sum()
    slopes = (x**2 * data.x.var() + t**2 * data.t.var()) / scale(data, xi) ** 2
    return total - 0.5 * slopes / 2.5**2 - 0.5 * (xi / 0.5) ** 2 if np.isfinite(total) else -np.inf


def scale(data, xi):
    """The slope of the linear predictor in the log odds: p (1 - p) / F' at the share of events p, with F' = p (-log p)^(1 + xi)."""
    p = data.y.mean()
    return (1.0 - p) / (-np.log(p)) ** (1.0 + xi)


def test_means_and_intervals_are_those_of_a_chain(data, fitted):
    posterior, rng = fitted.posterior, np.random.default_rng(3)
    root = np.linalg.cholesky(posterior.covariance) * 1.2
    here = posterior.mean
    value, chain = log_posterior(data, here) - 3 * np.log(scale(data, here[-1])), []
    for step in rng.standard_normal((20_000, 4)):
        there = here + root @ step
        other = log_posterior(data, there) - 3 * np.log(scale(data, there[-1]))
        if np.log(rng.random()) < other - value:
            here, value = there, other
        chain.append(here)
    chain = np.array(chain[1000:])
    assert np.abs((posterior.mean - chain.mean(axis=0)) / chain.std(axis=0)).max() < 0.1
    limits = np.quantile(chain, [0.025, 0.975], axis=0).T
    assert np.abs((posterior.intervals() - limits) / np.ptp(limits, axis=1)[:, None]).max() < 0.06
    assert posterior.effective_draws > 2000


def test_the_mode_is_that_of_the_posterior(data, fitted):
    mode = np.append(fitted.params, fitted.xi)
    best = log_posterior(data, mode)
    for step in np.vstack([np.eye(4), -np.eye(4)]) * 1e-3:
        assert log_posterior(data, mode + step) < best


def test_the_prior_does_not_favour_shapes_whose_coefficients_are_large(data):
    """With outcomes that say nothing but how many events there are, the posterior of the shape is its prior."""
    rng = np.random.default_rng(8)
    noise = data.assign(y=rng.permutation(data.y), x=rng.standard_normal(len(data)))
    found = gevglm.fit("y ~ 1", noise, link="gev", xi="map").posterior
    assert found.mean[-1] == pytest.approx(0.0, abs=0.05)
    assert np.sqrt(found.covariance[-1, -1]) == pytest.approx(0.47, abs=0.03)  # of the normal, cut off


def test_results_follow_the_posterior(data, fitted, tmp_path):
    posterior, rows = fitted.posterior, data.iloc[:5]
    assert fitted.inference == "posterior"
    np.testing.assert_allclose(fitted.conf_int(), posterior.intervals()[:-1])
    np.testing.assert_allclose(fitted.bse, np.sqrt(np.diagonal(posterior.covariance))[:-1])
    assert fitted.xi_conf_int() == tuple(posterior.intervals()[-1])
    with gevglm.exceptions.silenced():
        frame = fitted.get_prediction(rows).summary_frame()
        X = np.column_stack([np.ones(5), rows.x, rows.t])
        risks = np.array([GEV(xi).inverse(X @ b) for *b, xi in posterior.draws])
        limits = posterior.quantiles(risks, [0.025, 0.975])
        np.testing.assert_allclose(frame[["mean_ci_lower", "mean_ci_upper"]].to_numpy().T, limits)
        np.testing.assert_allclose(frame["mean"], fitted.predict(rows))
        np.testing.assert_allclose(fitted.corrected_risk(rows)["corrected"], posterior.weights @ risks)
        assert "posterior" in fitted.risk("t", draws=50).note
        assert "posterior mode" in str(fitted.summary())
        fitted.save(tmp_path / "map.pkl", remove_data=True)
        loaded = gevglm.load(tmp_path / "map.pkl")
        pd.testing.assert_frame_equal(loaded.get_prediction(rows).summary_frame(), frame)
        assert str(loaded.summary().tables[1]) == str(fitted.summary().tables[1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"loss": "canonical"}, "needs a likelihood"),
        ({"alpha": 1.0}, "coef_scale"),
        ({"bias": "firth"}, "posterior"),
        ({"cov_type": "HC0"}, "posterior"),
        ({"class_weight": "balanced"}, "weighted by their outcome"),
    ],
)
def test_what_is_not_a_posterior_is_refused(data, words, message):
    with pytest.raises(IncompatibleOptionsError, match=message):
        gevglm.fit("y ~ x + t", data, link="gev", xi="map", **words)


def test_any_number_of_draws(data):
    found = gevglm.fit("y ~ x + t", data, link="gev", xi="map", search_kwds={"draws": 3000}).posterior
    assert len(found.weights) == 3000 and found.effective_draws > 2000
    assert found.weights.sum() == pytest.approx(1.0)


def test_a_separated_column_has_a_posterior(data):
    rng = np.random.default_rng(4)
    separated = data.assign(s=((data.y == 1) & (rng.random(len(data)) < 0.3)).astype(float))
    found = gevglm.fit("y ~ x + s", separated, link="gev", xi="map")
    assert np.isfinite(found.conf_int().to_numpy()).all() and found.conf_int().loc["s", 0] > 0.0
    assert found.posterior.effective_draws > 200


@pytest.mark.parametrize("words", [{"xi_scale": 0.0}, {"coef_scale": "wide"}, {"draws": 1}, {"grid": [0.5]}])
def test_priors_without_a_meaning_are_refused(data, words):
    with pytest.raises(InvalidOptionError, match=next(iter(words))):
        gevglm.fit("y ~ x + t", data, link="gev", xi="map", search_kwds=words)
