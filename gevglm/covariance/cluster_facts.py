r"""What a reader has to know of clusters: how many there are, how many have events, and how unequal they are.

With M the inverse of the expected second derivative H of the loss and :math:`H_g` the part of cluster g, its leverage is
:math:`\mathrm{tr}(H_gM)`, k/G in the mean; and its part in the variance of coefficient j is :math:`\gamma_g = (MH_gM)_{jj}`, from which
:math:`(\sum\gamma_g)^2 / \sum\gamma_g^2` is the effective number of clusters behind the coefficient (Carter, Schnepel and Steigerwald 2017).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gevglm.covariance.base import Fitted
from gevglm.engine.base import Block, Reducer, times
from gevglm.engine.linalg import add_rows, dense, group_sums, runs

FEW_WITH_EVENTS = 10
FEW_EFFECTIVE = 5.0  # clusters behind a coefficient
MOST_COLUMNS = 200  # of designs whose leverages are looked at
MANY = 0.9  # share of the observations from which clusters are as many


@dataclass(frozen=True)
class ClusterFacts:
    """Numbers of clusters."""

    n_clusters: int
    n_with_events: int
    largest_leverage: float  # NaN for designs of many columns
    effective: NDArray  # clusters behind each coefficient, of shape (k,); NaN for those that were left out
    nobs: float

    @property
    def mean_leverage(self) -> float:
        """The mean of the leverages of clusters."""
        return float(np.isfinite(self.effective).sum()) / self.n_clusters

    @property
    def few(self) -> bool:
        """Whether there are too few for normal tests."""
        with np.errstate(invalid="ignore"):
            return self.n_with_events < FEW_WITH_EVENTS or bool((self.effective < FEW_EFFECTIVE).any())

    def text(self) -> str:
        """Return the facts, in a sentence."""
        counts = f"{self.n_clusters:,} clusters, {self.n_with_events:,} of them with events"
        if np.isnan(self.largest_leverage):
            return f"{counts}."
        return (
            f"{counts}; the largest leverage of a cluster is {self.largest_leverage:.2g}, "
            f"{self.largest_leverage / self.mean_leverage:.2g} times the mean."
        )

    def notes(self, names: list[str]) -> list[str]:
        """Return what to mind, in sentences; `names` are those of the coefficients."""
        notes = [self.text()]
        if self.n_clusters > MANY * self.nobs:
            notes.append(
                f"Nearly every observation is a cluster of its own ({self.n_clusters:,} clusters, {self.nobs:,.0f} observations): groups is perhaps not the "
                "column that was meant."
            )
        if self.few:
            why = f"only {self.n_with_events} clusters have events"
            if self.n_with_events >= FEW_WITH_EVENTS:
                j = int(np.nanargmin(self.effective))
                why = f"{names[j]} is estimated from the differences of few clusters (effectively {self.effective[j]:.2g})"
            notes.append(
                f"FEW CLUSTERS: {why}. Tests with CR1 errors and normal or t quantiles reject far too often then; use cov_kwds={{'groups': ..., 'kind': 'CR2'}} "
                "with use_t='satterthwaite', and wild_test() for the coefficients that matter."
            )
        return notes


def cluster_facts(
    fit: Fitted, codes: Callable[[Block], NDArray], n_clusters: int, shares: NDArray | None = None
) -> ClusterFacts:
    """Return the facts of clusters, from one pass over the rows; `shares` as :mod:`gevglm.covariance.leverage` has them, if they are known."""
    k = len(fit.params)
    sums = fit.engine.reduce(_Sums(fit, codes, n_clusters, leverages=shares is None and k <= MOST_COLUMNS))
    sums = sums[sums[:, -1] > 0.0]
    numbers = len(sums), int((sums[:, -2] > 0).sum())
    if k > MOST_COLUMNS:
        return ClusterFacts(*numbers, np.nan, np.full(k, np.nan), float(sums[:, -1].sum()))
    shares = sums[:, : k + 1] if shares is None else shares
    parts = shares[:, :k]
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = parts.sum(axis=0) ** 2 / (parts**2).sum(axis=0)
    return ClusterFacts(*numbers, float(shares[:, k].max()), effective, float(sums[:, -1].sum()))


class _Sums(Reducer):
    """By cluster: its parts in the variances, its leverage, events, and observations with weight."""

    def __init__(self, fit: Fitted, codes: Callable[[Block], NDArray], n_clusters: int, *, leverages: bool):
        self.loss, self.params, self.bread = fit.loss, fit.params, fit.bread
        self.codes, self.n_clusters, self.leverages = codes, n_clusters, leverages

    def zero(self) -> NDArray:
        return np.zeros(())

    def map(self, block: Block) -> tuple[NDArray, NDArray]:
        observations = times(np.ones_like(block.y), block.freq, block.trials)
        if block.var is not None:
            observations = np.where(block.var > 0.0, observations, 0.0)
        codes = self.codes(block)
        order, groups, starts = runs(codes)
        columns = np.array([block.y * observations, observations])
        counted = np.add.reduceat(columns if order is None else columns[:, order], starts, axis=1).T
        if not self.leverages:
            return groups, counted
        return groups, np.hstack([*self._leverages(block, codes), counted])

    def _leverages(self, block: Block, codes: NDArray) -> tuple[NDArray, NDArray]:
        """Return the parts of clusters in the variances, and their leverages, in one column."""
        with np.errstate(all="ignore"):
            point = self.loss.link.at(block.linear_predictor(self.params))
            curvature = times(self.loss.expected_curvature_at(point), block.weight)
        curvature = np.where(np.isfinite(curvature), curvature, 0.0)
        X = dense(block.X)
        moved = X @ self.bread
        leverages = group_sums(moved * X, curvature, codes)[1].sum(axis=1)
        return group_sums(np.square(moved, out=moved), curvature, codes)[1], leverages[:, None]

    def combine(self, total: NDArray, part: tuple[NDArray, NDArray]) -> NDArray:
        return add_rows(total, self.n_clusters, *part)
