"""Separated maximum likelihood: limits on one side, no errors where there are none, and words."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize
from scipy.stats import chi2, norm

import gevglm
from gevglm.exceptions import FewEventsWarning, InvalidDataError, SeparationWarning
from gevglm.results.plotting import coefficient_table

QUANTILE = chi2.ppf(0.95, 1)
FARTHEST = 40.0  # bound of the coefficients in brute force; columns have a standard deviation of about 1


def simulated(kind, n=120, seed=4):
    """Data separated by one dummy, by two of them, by a baseline level, or completely."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "g": np.arange(n) % 5})
    p = norm.cdf(0.8 * data["x"] - 0.5)
    data["y"] = (rng.random(n) < p).astype(int)
    if kind == "one":
        data.loc[data["g"] == 1, "y"] = 1
    elif kind == "two":
        data.loc[data["g"] == 1, "y"], data.loc[data["g"] == 2, "y"] = 1, 0
    elif kind == "baseline":
        data.loc[data["g"] == 0, "y"] = 0
    else:
        data["y"] = (data["x"] > 0.3).astype(int)
    return data


KINDS = {"one": "y ~ x + z + C(g)", "two": "y ~ x + z + C(g)", "baseline": "y ~ x + C(g)", "complete": "y ~ x + z"}
DISTRIBUTIONS = {
    "logit": (lambda v: -np.logaddexp(0, -v), lambda v: -np.logaddexp(0, v)),
    "probit": (norm.logcdf, norm.logsf),
}


def separated(kind, link="logit"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewEventsWarning)
        with pytest.warns(SeparationWarning, match="separated"):
            return gevglm.fit(KINDS[kind], simulated(kind), link=link)


class BruteForce:
    """Profile likelihood by bounded maximisation."""

    def __init__(self, res, link):
        self.X, self.y = np.asarray(res.model.exog), np.asarray(res.model.endog)
        self.log_p, self.log_q = DISTRIBUTIONS[link]
        self.start = np.clip(np.asarray(res.params), -FARTHEST / 2, FARTHEST / 2)
        self.top = min(self.loss(self.start * scale, None, 0.0) for scale in (0.5, 1.0))

    def loss(self, start, j, value):
        free = [i for i in range(len(start)) if i != j]

        def negative(b_free):
            b = np.empty(len(start))
            b[free] = b_free
            if j is not None:
                b[j] = value
            v = self.X @ b
            return -(self.log_p(v)[self.y == 1].sum() + self.log_q(v)[self.y == 0].sum())

        bounds = [(-FARTHEST, FARTHEST)] * len(free)
        options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000, "maxfun": 100_000}
        return minimize(negative, start[free], bounds=bounds, options=options).fun

    def limit(self, j, low, high):
        return brentq(lambda v: 2.0 * (self.loss(self.start, j, v) - self.top) - QUANTILE, low, high, xtol=1e-7)


@pytest.mark.parametrize("link", DISTRIBUTIONS)
@pytest.mark.parametrize(
    ("kind", "finite_sides"),
    [
        ("one", {"C(g)[T.1]": "lower"}),
        ("two", {"C(g)[T.1]": "lower", "C(g)[T.2]": "upper"}),
        ("baseline", {"C(g)[T.3]": "lower"}),
    ],
)
def test_profile_limits_equal_brute_force(kind, finite_sides, link):
    res = separated(kind, link)
    limits, brute = res.conf_int(method="profile"), BruteForce(res, link)
    for name, side in finite_sides.items():
        j = list(limits.index).index(name)
        lower, upper = limits.loc[name]
        assert (lower, upper)[side == "lower"] == (np.inf if side == "lower" else -np.inf)
        finite = lower if side == "lower" else upper
        assert_allclose(finite, brute.limit(j, finite - 2.0, finite + 2.0), atol=2e-4)
    if kind != "baseline":  # coefficients that are finite beside
        x, (lower, upper) = list(limits.index).index("x"), limits.loc["x"]
        assert_allclose(lower, brute.limit(x, lower - 1.0, res.params["x"]), atol=2e-4)
        assert_allclose(upper, brute.limit(x, res.params["x"], upper + 1.0), atol=2e-4)
    assert_allclose(res.conf_int(method="profile", cols=[1]), limits.iloc[[1]])


def test_complete_separation_leaves_one_side_at_most():
    res = separated("complete")
    limits = res.conf_int(method="profile")
    assert limits.loc["x", 1] == np.inf and np.isfinite(limits.loc["x", 0])
    assert res.bse.isna().all() and np.isfinite(res.lr_tests()).all(axis=None)


def test_ratios_and_profiles():
    res = separated("one")
    ratios = res.odds_ratios(method="profile").loc["C(g)[T.1]"]
    assert ratios["odds_ratio"] == np.inf and ratios["ci_upper"] == np.inf and 0 < ratios["ci_lower"] < np.inf
    profile = res.profile("C(g)[T.1]")
    assert profile.estimate == np.inf and np.isfinite(profile.interval[0]) and profile.interval[1] == np.inf
    assert profile.frame["ratio"].iloc[0] > QUANTILE and profile.frame["ratio"].iloc[-1] < 1e-6
    assert "to inf" in profile.plot().get_title()


def test_tables_show_what_is_infinite():
    res = separated("one")
    row = next(line for line in str(res.summary()).splitlines() if line.startswith("C(g)[T.1]"))
    assert row.split()[1:] == ["inf"] + ["nan"] * 5
    assert "conf_int(method='profile') has their finite limits" in str(res.summary())
    table = str(gevglm.compare({"ml": res}, folds=2).summary())
    assert "inf" in table and "(separated)" in table and "nan" not in table
    assert res.params["C(g)[T.1]"] > 8 and np.isnan(res.bse["C(g)[T.1]"]) and np.isfinite(res.bse["x"])
    assert coefficient_table(res).loc["C(g)[T.1]", "estimate"] == np.inf
    low, high = res.plot_coefficients(method="profile").get_xlim()
    assert -20 < low < high < 20


def test_saved_models_show_what_is_infinite(tmp_path):
    res = separated("one")
    res.save(tmp_path / "m.pkl")
    assert str(gevglm.load(tmp_path / "m.pkl").summary().tables[1]) == str(res.summary().tables[1])


def test_profiles_of_data_in_pieces_are_refused_in_words():
    data = simulated("one")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewEventsWarning)
        with pytest.warns(SeparationWarning, match="symptoms of separation"):
            res = gevglm.fit(KINDS["one"], lambda: (data.iloc[i : i + 50] for i in range(0, 120, 50)), link="logit")
    with pytest.raises(InvalidDataError, match=r"has not reached.*bias='firth', or rows in memory"):
        res.conf_int(method="profile")


def test_reports_say_separated(tmp_path):
    text = separated("one").report(tmp_path / "r.html").read_text()
    row = text[text.index("<th>C(g)[T.1]</th>") :].split("</tr>")[0]
    assert "infinite" in row and "separated" in row and "nan" not in row


def test_risks_that_lean_on_an_infinite_estimate_have_no_errors():
    res = separated("one")
    with pytest.warns(
        SeparationWarning, match=r"risk by g leans on infinite estimates \(C\(g\)\[T.1\]\).*bias='firth'"
    ):
        found = res.risk("g")
    assert_allclose(found.risks["estimate"].iloc[1], 1.0, atol=1e-6)
    assert found.risks["se"].isna().tolist() == [False, True, False, False, False]
    assert found.table["se"].isna().tolist() == [True, False, False, False]
    for contrast in ("ratio", "odds"):
        with pytest.warns(SeparationWarning, match="leans on"):
            assert np.isnan(res.risk("g", contrast=contrast).table["se"].iloc[0])
    with pytest.warns(SeparationWarning, match="leans on"):
        assert res.risk("g").number_needed["ci_lower"].isna().iloc[0]
    with pytest.warns(SeparationWarning, match="leans on"):
        assert res.risk("g", covariates="sampled").risks["se"].isna().tolist() == [False, True, False, False, False]
    with pytest.warns(SeparationWarning, match="leans on"):
        assert np.isnan(res.attributable_fraction("g", 0)["se"].iloc[0])
    with pytest.warns(SeparationWarning, match="leans on"):
        margins = res.get_margeff()
    assert np.isnan(margins.margeff_se).all() and np.isnan(margins.margeff).tolist() == [True] + [False] * 5
    with pytest.raises(InvalidDataError, match=r"C\(g\)\[T.1\] are infinite.*bias='firth'"):
        res.corrected_risk()
    with pytest.raises(InvalidDataError, match=r"no Wald test of infinite estimates.*lr_tests"):
        res.wald_test(np.eye(len(res.params))[1:], scalar=True)


def test_predictions_of_other_rows_keep_their_errors():
    res = separated("one")
    data = simulated("one")
    beside = data[data["g"] != 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewEventsWarning)
        rest = gevglm.fit("y ~ x + z + C(g)", beside, link="logit")  # separated rows say nothing of the others
    for which in (None, "mean", "linear"):
        found = res.get_prediction(beside, which=which).summary_frame()
        assert_allclose(found, rest.get_prediction(beside, which=which).summary_frame(), rtol=1e-5, atol=1e-8)
        with pytest.warns(SeparationWarning, match="a prediction leans on"):
            assert (res.get_prediction(data, which=which).summary_frame().isna().any(axis=1) == (data["g"] == 1)).all()
    average = res.get_prediction(beside, which="mean", average=True).summary_frame()
    assert_allclose(average, rest.get_prediction(beside, which="mean", average=True).summary_frame(), rtol=1e-5)
    with pytest.warns(SeparationWarning, match="the average leans on"):
        assert res.get_prediction(data, which="mean", average=True).summary_frame()["se"].isna().all()
