"""The pieces of a piecewise linear log-odds: their columns, their fit for given knots, and the search for knots."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gevglm.calibration._logistic import LogisticBatch, LogisticFit, Quadratic, fit_logistic
from gevglm.calibration.bins import grouped
from gevglm.calibration.sample import Sample
from gevglm.engine.linalg import one_blas_thread

CRITERIA = ("1%", "aic", "bic")
SEARCH_GROUPS = 500  # groups of neighbouring scores that the search looks at
FLAT = 1e-10  # downhill slope, as a share of its largest possible size, that counts as none
CLOSE = 1e-10  # Newton decrement, per observation, at which a candidate is compared


def ramps(s: NDArray, inner: NDArray, lowest: float) -> NDArray:
    """Return the columns of a piecewise linear function: the constant, and for each piece the way gone inside it.

    The coefficients are the value at `lowest` and the slopes of the pieces; the end pieces have no end.
    """
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    starts = np.concatenate([[lowest], inner])
    pieces = [np.clip(s, low, high) - start for low, high, start in zip(edges[:-1], edges[1:], starts, strict=True)]
    return np.column_stack([np.ones_like(s), *pieces])


def slope_penalty(penalty: float, pieces: int) -> NDArray:
    r"""Return the matrix of :math:`\lambda \sum_j (b_j - b_{j-1})^2`."""
    differences = np.diff(np.eye(pieces), axis=0) if pieces > 1 else np.zeros((0, pieces))
    matrix = np.zeros((pieces + 1, pieces + 1))
    matrix[1:, 1:] = penalty * differences.T @ differences
    return matrix


def fit_pieces(
    sample: Sample, inner: NDArray, penalty: float, monotone: bool, what: str
) -> tuple[LogisticFit, NDArray]:
    """Fit the pieces between given knots.

    Coefficients are the value at the lowest score and the slopes; slopes at the bound 0 have no covariance.
    """
    columns = ramps(sample.p, inner, float(sample.p.min()))
    matrix = slope_penalty(penalty, columns.shape[1] - 1)

    def fit(used: list[int]) -> LogisticFit:
        found = fit_logistic(
            columns[:, used],
            sample.y,
            sample.weight,
            what=what,
            penalty=Quadratic(matrix[np.ix_(used, used)]) if penalty else None,
            advice="The scores separate the outcomes, in a piece or as a whole; take fewer pieces, a larger penalty, "
            "or Platt(smoothed=True).",
        )
        return found.padded(used, columns.shape[1])

    everything = list(range(columns.shape[1]))
    found = fit(everything)
    if monotone and (found.params[1:] < 0.0).any():

        def gradient(params: NDArray) -> NDArray:
            residual = sample.weight * (expit(columns @ params) - sample.y)
            return (residual @ columns + 2.0 * matrix @ params) / (sample.weight @ np.abs(columns))

        found = _not_negative(fit, gradient, everything[1:])
    return found, found.params[1:]


def _not_negative(
    fit: Callable[[list[int]], LogisticFit], gradient: Callable[[NDArray], NDArray], slopes: list[int]
) -> LogisticFit:
    """Minimise over slopes that are not negative: Lawson and Hanson's active sets, for a convex function."""
    free: set[int] = set()
    found, seen = fit([0]), [free]
    while True:
        uphill = gradient(found.params)
        blocked = [j for j in slopes if j not in free and uphill[j] < -FLAT]
        if not blocked:
            return found
        free = free | {min(blocked, key=lambda j: uphill[j])}
        params, trial = found.params, fit([0, *sorted(free)])
        while any(trial.params[j] < 0.0 for j in free):
            shares = {j: params[j] / (params[j] - trial.params[j]) for j in free if trial.params[j] < 0.0}
            params = params + min(shares.values()) * (trial.params - params)
            free = free - {j for j, share in shares.items() if share == min(shares.values())}
            trial = fit([0, *sorted(free)])
        if free in seen:  # rounding: what remains to be gained is none
            return found
        seen.append(free)
        found = trial


class KnotSearch:
    """Search for the inner knots with the largest training likelihood."""

    def __init__(self, sample: Sample, penalty: float, monotone: bool):
        groups = grouped(sample.p, sample.y, sample.weight, SEARCH_GROUPS)
        self.sample = Sample(groups.rate, groups.score, groups.weight)
        self.penalty, self.monotone = penalty, monotone
        self.low, self.high = float(groups.score[0]), float(groups.score[-1])

    def best_pair(self, first: NDArray, second: NDArray) -> NDArray:
        """Return the best pair of one knot from each list."""
        sorted_pairs = {tuple(sorted(pair)) for pair in itertools.product(first, second)}
        pairs = sorted(pair for pair in sorted_pairs if self.low < pair[0] < pair[1] < self.high)
        if not pairs:
            return np.array([])
        return self._best(np.array(pairs))[0]

    def climb(self, candidates: NDArray, most: int, criterion: str | None) -> NDArray:
        """Add knots one by one, up to `most`, or until the criterion says enough."""
        candidates = np.unique(candidates[(candidates > self.low) & (candidates < self.high)])
        knots, llf = self._best(np.empty((1, 0)))
        while len(knots) < most:
            rest = np.setdiff1d(candidates, knots)
            if not len(rest):
                break
            larger, larger_llf = self._best(np.sort([[*knots, knot] for knot in rest], axis=1))
            if criterion is not None and not self._better(criterion, larger_llf, llf):
                break
            knots, llf = larger, larger_llf
        return knots

    def _better(self, criterion: str, larger: float, smaller: float) -> bool:
        gain = {"1%": 0.01 * abs(smaller), "aic": 1.0, "bic": 0.5 * np.log(self.sample.total)}[criterion]
        return larger - smaller > gain

    def _best(self, knots: NDArray) -> tuple[NDArray, float]:
        """Return the row of knots with the largest likelihood, and that likelihood."""
        llf, rising = self._likelihoods(knots)
        if not self.monotone or rising.all():
            best = int(np.argmax(llf))
            return knots[best], float(llf[best])
        best, highest = -1, float(llf[rising].max(initial=-np.inf))
        if rising.any():
            best = int(np.flatnonzero(rising)[np.argmax(llf[rising])])
        for i in np.flatnonzero(~rising)[np.argsort(-llf[~rising])]:
            if llf[i] <= highest:
                break
            bounded = fit_pieces(self.sample, knots[i], self.penalty, True, "the search for knots")[0].llf
            best, highest = (int(i), bounded) if bounded > highest else (best, highest)
        return knots[best], highest

    def _likelihoods(self, knots: NDArray) -> tuple[NDArray, NDArray]:
        """Fit all candidates at once; return likelihoods, and whether all slopes rise.

        Candidates are many and small, and only compared: the fit itself is the package's solver's.
        """
        s, weight, events = self.sample.p, self.sample.weight, self.sample.weight * self.sample.y
        columns = np.stack([ramps(s, inner, self.low) for inner in knots])
        start = np.zeros((len(knots), columns.shape[2]))
        start[:, 0] = np.log(events.sum()) - np.log(weight.sum() - events.sum())
        with one_blas_thread():
            batch = LogisticBatch(columns, weight, events @ columns, slope_penalty(self.penalty, columns.shape[2] - 1))
            params, _ = batch.minimise(start, CLOSE * self.sample.total)
            return batch.llf(params), np.all(params[:, 1:] >= 0.0, axis=1)
