"""The likelihood of a GEV link maximised over coefficients and shape by scipy alone, from many starting values."""

import numpy as np
from scipy.optimize import minimize

STARTS = (-0.9, -0.5, -0.2, 0.1, 0.5, 0.9, 1.4)


def log_likelihood(y, v, xi, mirrored):
    """The Bernoulli log-likelihood; GEVc is GEV of the mirrored linear predictor."""
    if mirrored:
        y, v = 1 - y, -v
    xi = xi if abs(xi) > 1e-9 else 1e-9
    with np.errstate(all="ignore"):
        log_t = -np.log1p(np.maximum(xi * v, -1.0)) / xi
        t = np.exp(log_t)
        value = -t[y == 1].sum() + np.where(t > 1e-10, np.log(-np.expm1(-t)), log_t)[y == 0].sum()
    return value if np.isfinite(value) else -np.inf


def largest(X, y, held=(), values=(), mirrored=False, span=(-1.0, 1.5), starts=STARTS):
    """The largest log-likelihood over the coefficients that are not held and the shape within its span."""
    free = [j for j in range(X.shape[1]) if j not in held]
    fixed = X[:, list(held)] @ np.asarray(values, dtype=float)

    def negative(theta):
        return -log_likelihood(y, X[:, free] @ theta[:-1] + fixed, theta[-1], mirrored)

    best = np.inf
    for xi in starts:
        constants = np.append(np.linspace(-4, 4, 81), np.linspace(-100, 100, 81)) if 0 in free else [0.0]
        tried = [np.append(np.eye(len(free))[0] * c if len(free) else [], xi) for c in constants]
        theta = min(tried, key=negative)
        last = np.inf
        while np.isfinite(negative(theta)):  # restarted until it no longer helps
            step = np.vstack([theta, theta + np.diag(np.maximum(0.1, 0.1 * np.abs(theta)))])
            found = minimize(
                negative, theta, method="Nelder-Mead", bounds=[(None, None)] * len(free) + [span],
                options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000, "initial_simplex": step},
            )  # fmt: skip
            theta = found.x
            if last - found.fun < 1e-10:
                break
            last = found.fun
        best = min(best, last)
    return -best
