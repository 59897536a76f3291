"""Power by simulation: the closed form of two arms, few events with Firth, other links, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from gevglm.exceptions import GevglmError
from gevglm.planning import power

ARMS = pd.DataFrame({"treated": [0, 1]})


def test_two_large_arms_have_the_power_of_the_normal_distribution():
    truth, n = {"Intercept": -2.0, "treated": 0.35}, [1500, 3000]
    found = power("~ treated", ARMS, truth, coefficient="treated", n=n, simulations=1000, rng=1)
    p = 1 / (1 + np.exp([2.0, 2.0 - 0.35]))
    for size, row in found.frame.iterrows():
        se = np.sqrt((1 / (size / 2 * p * (1 - p))).sum())
        expected = norm.cdf(0.35 / se - norm.isf(0.025)) + norm.cdf(-0.35 / se - norm.isf(0.025))
        assert row["power"] == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 1000) + 0.005)
        assert row["ci_lower"] < row["power"] < row["ci_upper"]
        assert row["sd"] == pytest.approx(se, rel=0.1)
        assert row["events"] == pytest.approx(size * p.mean(), rel=0.02)


def test_few_events():
    """Firth has estimates everywhere; maximum likelihood fails where an arm has no event, and these count as not rejected."""
    truth, words = {"Intercept": -4.0, "treated": 1.0}, {"coefficient": "treated", "n": 150, "simulations": 300}
    plain, firth = (power("~ treated", ARMS, truth, bias=bias, **words) for bias in (None, "firth"))
    assert plain.frame["failed"].item() > 0.1
    assert firth.frame["failed"].item() < 0.05  # samples without any event
    assert abs(firth.frame["mean"].item() - 1.0) < 0.4
    assert "bias='firth'" in str(firth)
    assert "with n = 150" in repr(firth)


def test_level_and_other_links():
    data = pd.DataFrame({"x": np.random.default_rng(3).standard_normal(500), "kind": list("abcde") * 100})
    truth = {"Intercept": -1.0, "kind[T.b]": 0.2, "kind[T.c]": 0, "kind[T.d]": 0, "kind[T.e]": 0, "x": 0.0}
    found = power("~ kind + x", data, truth, coefficient="x", n=400, simulations=1000, link="cloglog")
    assert found.frame["power"].item() == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 1000))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"params": {"Intercept": -1.0}}, "without treated"),
        ({"params": {"Intercept": -1.0, "treated": 1.0, "z": 1.0}}, "with z, which it does not have"),
        ({"coefficient": "z"}, "and not 'z'"),
        ({"formula": "~ treated + offset(treated)"}, "no place for an offset"),
        ({"n": 0}, "n=0"),
        ({"simulations": 1}, "simulations=1"),
        ({"alpha": 2}, "alpha=2"),
        ({"bias": "frith"}, "frith"),
        ({"data": ARMS.iloc[:0]}, "no rows"),
    ],
)
def test_bad_input(words, message):
    given = {"formula": "~ treated", "data": ARMS, "params": {"Intercept": -1.0, "treated": 1.0}}
    given |= {"coefficient": "treated", "n": 100, "simulations": 10} | words
    with pytest.raises(GevglmError, match=message):
        power(**given)
