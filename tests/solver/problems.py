"""Random problems that are not separated, and the paper's plain iteration to compare with."""

import numpy as np
from scipy.optimize import linprog

from gevglm.links import GEV, GEVc


def separated(X, y):
    """Whether some combination of the columns predicts the outcome without error (linear programming)."""
    signed = np.where(y > 0, 1.0, -1.0)[:, None] * X
    box = [(-1, 1)] * X.shape[1]
    found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(y)), bounds=box, method="highs")
    return found.status != 0 or -found.fun > 1e-7


def random_problem(rng):
    """Return design, outcome and a GEV link of either orientation."""
    while True:
        n = int(np.exp(rng.uniform(np.log(50), np.log(2000))))
        k = int(rng.integers(1, 16))
        rate = np.exp(rng.uniform(np.log(0.01), np.log(0.5)))
        X = np.column_stack([np.ones(n), rng.standard_normal((n, k)) * rng.uniform(0.3, 3)])
        v = X[:, 1:] @ rng.standard_normal(k) / np.sqrt(k)
        y = (rng.random(n) < 1 / (1 + np.exp(-(v + np.log(rate / (1 - rate)))))).astype(float)
        if 2 <= y.sum() <= n - 2 and not separated(X, y):
            xi = rng.choice([-1.0, 1.5, rng.uniform(-1, 1.5)])
            return X, y, (GEV if rng.random() < 0.5 else GEVc)(xi)


def relative_score(X, slopes):
    """The largest component of X'slopes, relative to the sum of absolute values of its column."""
    return np.max(np.abs(X.T @ slopes) / np.abs(X).sum(axis=0))


def unit_step_irls(X, y, link, steps=60):
    """Iteratively reweighted least squares with unit steps: Algorithm 1 of Agarwal et al. (2014)."""
    params = np.zeros(X.shape[1])
    params[0] = link(y.mean())
    with np.errstate(all="ignore"):
        for _ in range(steps):
            point = link.at(X @ params)
            weight = np.maximum(point.pdf, 1e-10)
            response = X @ params + (y - point.cdf) / weight
            root = np.sqrt(weight)
            try:
                params = np.linalg.lstsq(X * root[:, None], response * root, rcond=None)[0]
            except np.linalg.LinAlgError:
                break
            if not np.isfinite(params).all():
                return np.zeros(X.shape[1])
    return params
