"""The optimum of the weights: against SLSQP of scipy, and by its own certificate."""

import numpy as np
import pytest
from scipy.optimize import minimize

from gevglm.averaging.optimum import best_weights, floored


def problem(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(50, 1500)), int(rng.integers(2, 18))
    linear = rng.normal(-2.0, 1.0, n)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-linear))
    noise = rng.normal(size=(n, m)) * rng.choice([1e-4, 0.1, 0.5])
    p = 1.0 / (1.0 + np.exp(-(linear[:, None] * rng.normal(1.0, 0.2, m) + rng.normal(0.0, 0.4, m) + noise)))
    return np.where(y[:, None], p, 1.0 - p), rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("criterion", ["log_loss", "brier"])
def test_the_weights_are_those_of_slsqp_on_fifty_problems(criterion):
    for seed in range(50):
        observed, counts = problem(seed)
        given, shares = observed if criterion == "log_loss" else 1.0 - observed, counts / counts.sum()

        def value(w):
            return -shares @ np.log(given @ w) if criterion == "log_loss" else shares @ (given @ w) ** 2  # noqa: B023

        def slope(w):
            mixed = given @ w  # noqa: B023
            return -given.T @ (shares / mixed) if criterion == "log_loss" else 2.0 * given.T @ (shares * mixed)  # noqa: B023

        found = best_weights(given, counts, criterion)
        m = given.shape[1]
        sum_of_one = {"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like}
        peer = minimize(value, np.full(m, 1.0 / m), jac=slope, bounds=[(0.0, 1.0)] * m, constraints=sum_of_one,
                        method="SLSQP", options={"ftol": 1e-15, "maxiter": 2000})  # fmt: skip
        gradient = slope(found.weights)
        assert found.weights.min() >= 0.0 and abs(found.weights.sum() - 1.0) < 1e-12
        assert found.weights @ gradient - gradient.min() < 1e-8 and found.certificate < 1e-8
        assert abs(value(found.weights) - peer.fun) < 1e-9


def test_weights_count_as_repeated_rows_do_and_the_order_does_not_matter():
    given, counts = problem(3)
    whole = best_weights(given, counts).weights
    repeated = best_weights(np.repeat(given, counts.astype(int), axis=0), np.ones(int(counts.sum()))).weights
    turned = best_weights(given[::-1, ::-1], counts[::-1]).weights[::-1]
    np.testing.assert_allclose(repeated, whole, atol=1e-7)
    np.testing.assert_allclose(turned, whole, atol=1e-7)


def test_an_outcome_that_all_candidates_rule_out_has_no_part():
    given, counts = problem(4)
    impossible = np.vstack([given, np.zeros(given.shape[1])])
    found = best_weights(impossible, np.append(counts, 1.0))
    np.testing.assert_allclose(found.weights, best_weights(given, counts).weights, atol=1e-8)
    nothing = best_weights(np.zeros((5, 3)), np.ones(5))
    np.testing.assert_allclose(nothing.weights, 1.0 / 3.0)


def test_a_candidate_that_rules_out_some_outcome_and_candidates_that_are_the_same():
    given, counts = problem(5)
    given = np.column_stack([given, given[:, 0], np.where(np.arange(len(given)) == 0, 0.0, given.max(axis=1))])
    found = best_weights(given, counts)
    assert found.certificate < 1e-8 and np.isfinite(found.weights).all()
    perfect = best_weights(np.zeros((4, 3)), np.ones(4), "brier")
    assert perfect.certificate < 1e-8 and abs(perfect.weights.sum() - 1.0) < 1e-9


def test_the_floor():
    np.testing.assert_allclose(floored(np.array([1.0, 0.0]), 9.0), [0.95, 0.05])
