"""The seven methods of the paper: a ridge penalty for all, lambda and xi by the Brier score of held-out training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gevglm.engine import MemoryEngine
from gevglm.estimation.estimate import Estimate, Problem
from gevglm.estimation.objective import Ridge
from gevglm.inference.cross_validation import search
from gevglm.inference.folds import make_folds
from gevglm.links import GEV, BinaryLink, CLogLog, Logit, Probit
from gevglm.links.gev import PAPER_GRID
from gevglm.losses import Canonical, Log, Loss
from replications.gev_canonical.splits import Split

LAMBDAS = tuple(10.0**j for j in range(-3, 4))
STEPS = 20  # Newton steps of a candidate; only fits that run away under separation, and the log loss at xi = -1 with its kink, want more


@dataclass(frozen=True)
class Trained:
    """A linear score with a link, and how it was chosen.

    Attributes
    ----------
    link : BinaryLink
    params : ndarray of shape (k,)
    xi, alpha : float
        Missing where a method has none.
    score : float
        The cross-validated score of the choice, where there is one.
    converged : bool
        Whether the last fit, that with all training rows, has.
    """

    link: BinaryLink
    params: NDArray
    xi: float = np.nan
    alpha: float = np.nan
    score: float = np.nan
    converged: bool = True


@dataclass(frozen=True)
class Rows:
    """Rows as a method sees them, and what it adds to the constant afterwards."""

    X: NDArray
    y: NDArray
    weights: NDArray | None = None
    shift: float = 0.0


Method = Callable[[Split], Trained]
Arrange = Callable[[NDArray, NDArray, np.random.Generator], Rows]


def as_they_are(X: NDArray, y: NDArray, rng: np.random.Generator) -> Rows:
    return Rows(X, y)


def undersampled(X: NDArray, y: NDArray, rng: np.random.Generator) -> Rows:
    r"""As many of the common class as of the rare one; King and Zeng's prior correction of the constant.

    .. math:: b_0 - \ln\left[\frac{1-\tau}{\tau} \frac{\bar y}{1-\bar y}\right]

    with :math:`\tau` the share of events before and :math:`\bar y = 1/2` after sampling.
    """
    events, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    kept = np.concatenate([events, rng.choice(others, min(len(events), len(others)), replace=False)])
    tau, share = y.mean(), y[kept].mean()
    return Rows(X[kept], y[kept], shift=-float(np.log((1 - tau) / tau * share / (1 - share))))


def weighted(X: NDArray, y: NDArray, rng: np.random.Generator) -> Rows:
    """Weights 1/p for events and 1/(1 - p) for the rest, p the share of events; the constant is moved back by their log ratio."""
    p = y.mean()
    return Rows(X, y, np.where(y == 1, 1 / p, 1 / (1 - p)), shift=-float(np.log((1 - p) / p)))


def ridge_fit(rows: Rows, loss: Loss, alpha: float, start: NDArray | None = None) -> Estimate:
    """Minimise loss plus penalty, all coefficients penalised as in the paper."""
    engine = MemoryEngine(rows.X, rows.y, var=rows.weights, threads=1)
    return Problem(engine, loss, constant=0, start=start, penalty=Ridge(alpha, np.ones(rows.X.shape[1]))).estimate()


def corrected(params: NDArray, shift: float) -> NDArray:
    """Return coefficients with the constant moved."""
    return np.append(params[0] + shift, params[1:])


def fixed_link(link: BinaryLink, arrange: Arrange = as_they_are) -> Method:
    """A method whose link has no shape; lambda is chosen by the held-out rows, as they are."""
    loss = Log(link)

    def train(split: Split) -> Trained:
        part = arrange(split.X[~split.held], split.y[~split.held], split.rng)
        X, y = split.X[split.held], split.y[split.held]
        scores, start = {}, None
        for alpha in LAMBDAS[::-1]:
            start = ridge_fit(part, loss, alpha, start).params
            scores[alpha] = np.mean((link.inverse(X @ corrected(start, part.shift)) - y) ** 2)
        best = min(scores, key=scores.get)
        whole = arrange(split.X, split.y, split.rng)
        last = ridge_fit(whole, loss, best)
        return Trained(link, corrected(last.params, whole.shift), alpha=best, converged=last.converged)

    return train


def shaped_link(kind: type[Loss]) -> Method:
    """A method with a GEV link; xi and lambda are chosen together."""

    def train(split: Split) -> Trained:
        everything = np.ones(split.X.shape[1])
        engine = MemoryEngine(split.X, split.y, threads=1)
        found = search(
            Problem(engine, kind(GEV(0.0)), constant=0, maxiter=STEPS),
            lambda xi: kind(GEV(xi)),
            make_folds(split.y, split.held),
            grid=PAPER_GRID,
            alphas=LAMBDAS,
            penalty_of=lambda alpha: Ridge(alpha, everything),
            criterion="brier",
            refine=False,
        ).best
        link = GEV(found["xi"])
        last = ridge_fit(Rows(split.X, split.y), kind(link), found["alpha"])
        return Trained(link, last.params, found["xi"], found["alpha"], converged=last.converged)

    return train


PAPER_METHODS: dict[str, Method] = {
    "logistic": fixed_link(Logit()),
    "probit": fixed_link(Probit()),
    "cloglog": fixed_link(CLogLog()),
    "under-sampling": fixed_link(Logit(), undersampled),
    "weighted": fixed_link(Logit(), weighted),
    "GEV-log": shaped_link(Log),
    "GEV-canonical": shaped_link(Canonical),
}
