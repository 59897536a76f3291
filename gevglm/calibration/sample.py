"""Outcomes, scores and weights as clean arrays that fit together, or an error that counts what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from scipy.stats import norm, t

from gevglm.calibration.estimates import Measured, checked_level
from gevglm.covariance.survey import design_variance
from gevglm.data.observations import numbered
from gevglm.data.survey import SampleReplicates, SampleUnits
from gevglm.exceptions import InvalidDataError

# the cluster of each row, the units of a survey design, or replicates of the weights, as factors of these
Clusters = ArrayLike | SampleUnits | SampleReplicates


@dataclass(frozen=True)
class Sample:
    """Outcomes and what was predicted for them; rows of weight zero are left out."""

    y: NDArray  # outcomes
    p: NDArray  # probabilities, or scores of any kind
    weight: NDArray  # how many observations each row stands for
    groups: NDArray | None = None  # number of the cluster of each row; None where observations are independent
    units: SampleUnits | None = None  # the survey design whose units the clusters are
    replicates: SampleReplicates | None = None  # factors of the weights

    @cached_property
    def total(self) -> float:
        """Number of observations."""
        return float(self.weight.sum())

    @cached_property
    def events(self) -> float:
        """Number of events."""
        return float(self.weight @ self.y)

    @property
    def rate(self) -> float:
        """Share of events."""
        return self.events / self.total

    @cached_property
    def log_odds(self) -> NDArray:
        """Log-odds of the probabilities; refuses 0 and 1."""
        zero, one = int((self.p == 0.0).sum()), int((self.p == 1.0).sum())
        if zero or one:
            raise InvalidDataError(
                f"{zero} probabilities are exactly 0 and {one} exactly 1, so that their log-odds are infinite; "
                "move them inside, for example by np.clip(p, 1e-6, 1 - 1e-6), or leave these rows out."
            )
        return logit(self.p)

    def mean(self, values: NDArray) -> float:
        """Return the weighted mean."""
        return float(self.weight @ values / self.total)

    @property
    def clusters(self) -> NDArray | SampleUnits | SampleReplicates | None:
        """What says how rows depend on each other, as functions take it for ``groups``."""
        if self.replicates is not None:
            return self.replicates
        return self.groups if self.units is None else self.units

    @cached_property
    def df(self) -> int | None:
        """Degrees of freedom of a survey design, of the units that have rows; None for other samples."""
        if self.replicates is not None:
            return self.replicates.df
        if self.units is None or self.groups is None:
            return None
        return self.units.df(np.bincount(self.groups, minlength=self.n_clusters) > 0)

    def distribution(self, more: int = 0) -> Any:
        """Return what intervals and tests go by: normal, or t with the degrees of freedom of a survey design, less `more` coefficients."""
        return norm() if self.df is None else t(self.df - more)

    def measured(self, value: float, se: float, level: float, more: int = 0) -> Measured:
        """Return a number with its limits."""
        reach = self.distribution(more).isf((1.0 - checked_level(level)) / 2.0) * se
        return Measured(value, se, value - reach, value + reach, level)

    def reweighted(self, factor: NDArray) -> Sample:
        """Return the sample with weights times factors, without replicates."""
        return replace(self, weight=self.weight * factor, replicates=None)

    def variance_by_replicates(self, statistic: Callable[[Sample], ArrayLike]) -> NDArray:
        """Return the covariance of statistics of the sample, computed again with each replicate of the weights."""
        assert self.replicates is not None, "there are replicate weights"
        estimates = [np.atleast_1d(statistic(self.reweighted(factor))) for factor in self.replicates.weights.T]
        return self.replicates.variance(np.array(estimates), np.atleast_1d(statistic(replace(self, replicates=None))))

    @property
    def n_clusters(self) -> int:
        """Number of clusters, those of a survey design without rows included."""
        assert self.groups is not None, "there are clusters"
        return int(self.groups.max()) + 1 if self.units is None else self.units.n_units

    def taken(self, order: NDArray) -> Sample:
        """Return the rows at some positions."""
        groups = None if self.groups is None else self.groups[order]
        units = None if self.units is None else self.units.taken(order)
        replicates = None if self.replicates is None else self.replicates.taken(order)
        return Sample(self.y[order], self.p[order], self.weight[order], groups, units, replicates)

    def cluster_sums(self, values: NDArray) -> NDArray:
        """Return the sum over each cluster of values that observations have, of shape (clusters,) or (clusters, k)."""
        assert self.groups is not None, "there are clusters"
        weighted = values * (self.weight if values.ndim == 1 else self.weight[:, None])
        columns = np.reshape(weighted, (len(weighted), -1)).T
        sums = [np.bincount(self.groups, column, minlength=self.n_clusters) for column in columns]
        return np.transpose(sums).reshape(-1, *values.shape[1:])

    def variance_of_sum(self, values: NDArray) -> NDArray:
        r"""Return the covariance of the sum of values of shape (n, k) that observations in clusters have, and whose sum is zero.

        It is :math:`\frac{G}{G-1} \sum_c t_c t_c'` with the totals t of G clusters, or that of a survey design
        (:func:`gevglm.covariance.survey.design_variance`).
        """
        totals = self.cluster_sums(values)
        if self.units is not None:
            return design_variance(self.units, totals)
        return len(totals) / (len(totals) - 1.0) * (totals.T @ totals)

    def squares_of_sums(self, values: NDArray) -> NDArray:
        """Return the covariance of the sum of values of shape (n, k) whose mean under a hypothesis is zero: without centring, but by strata."""
        if self.units is not None:
            return self.variance_of_sum(values)
        totals = self.cluster_sums(values)
        return totals.T @ totals

    def standard_error(
        self,
        influence: NDArray,
        values: Sequence[NDArray] | None = None,
        of_means: Callable[..., NDArray] = np.asarray,
    ) -> float:
        r"""Return the standard error of a function of means of values, from its influences, whose mean is zero; of a mean, if no values are given.

        .. math:: \frac 1n \Big( \sum_i u_i^2 \Big)^{1/2}, \quad \frac 1n \Big( \frac{G}{G-1} \sum_c \big( \sum_{i \in c} u_i \big)^2 \Big)^{1/2}

        for independent observations, and for G clusters c of them; by the design of a survey, if they are of one. With replicate weights the
        function is computed again with each.
        """
        if self.replicates is not None:
            values = [influence] if values is None else values
            columns = np.column_stack([np.ones_like(self.y), *values]) * self.weight[:, None]
            sums = self.replicates.weights.T @ columns
            center = of_means(*(self.mean(value) for value in values))
            estimates = of_means(*(sums[:, 1:] / sums[:, :1]).T)
            return float(np.sqrt(self.replicates.variance(estimates[:, None], np.atleast_1d(center))[0, 0]))
        if self.groups is None:
            return float(np.sqrt(self.mean(influence**2) / self.total))
        return float(np.sqrt(self.variance_of_sum(influence[:, None])[0, 0]) / self.total)

    def need_both_outcomes(self, what: str) -> Sample:
        """Return the sample if it has events and others."""
        if not 0.0 < self.events < self.total:
            raise InvalidDataError(
                f"{what} needs both outcomes, but all {self.total:g} observations are {'events' if self.events else 'non-events'}."
            )
        return self

    def need_counts(self, what: str) -> Sample:
        """Return the sample if it has events and others, and its weights can be numbers of observations."""
        self.need_both_outcomes(what)
        if self.total < 2.0:
            raise InvalidDataError(
                f"{what} takes weights as numbers of observations, but they add up to {self.total:g}; "
                "multiply normalised weights by the number of rows."
            )
        return self

    def need_distinct(self, what: str, number: int = 2) -> Sample:
        """Return the sample if there are at least `number` distinct predictions."""
        distinct = len(np.unique(self.p)) if number > 2 else 1 + int((self.p != self.p[0]).any())
        if distinct < number:
            raise InvalidDataError(
                f"{what} needs at least {number} distinct predictions, but the {len(self.p)} rows have {distinct} "
                f"(the first is {self.p[0]:g})."
            )
        return self


def predictions(
    y: ArrayLike,
    p: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    groups: Clusters | None = None,
    shares: bool = False,
) -> Sample:
    """Return outcomes (0 or 1, or on request shares of events) and probabilities as a sample, in clusters if there are."""
    sample = scores(y, p, weights, groups=groups, shares=shares, name="p")
    outside = ~((sample.p >= 0.0) & (sample.p <= 1.0))
    if outside.any():
        raise InvalidDataError(
            f"{int(outside.sum())} of {len(outside)} probabilities are not in [0, 1] (the first is {sample.p[outside][0]:g}); "
            "scores that are not probabilities need a calibrator first, such as gevglm.calibration.Platt."
        )
    return sample


def scores(
    y: ArrayLike,
    s: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    groups: Clusters | None = None,
    shares: bool = False,
    infinite: bool = False,
    name: str = "scores",
) -> Sample:
    """Return outcomes and scores of any size (infinite ones on request) as a sample; see :func:`predictions`."""
    series = {
        word: given.index
        for word, given in (("y", y), (name, s), ("weights", weights), ("groups", groups))
        if isinstance(given, pd.Series)
    }
    for word, index in list(series.items())[1:]:
        first = next(iter(series))
        if not index.equals(series[first]):
            raise InvalidDataError(
                f"{first} and {word} are Series with different indexes; align them, or give .to_numpy()."
            )
    y, s = vector(y, "y"), vector(s, name, infinite=infinite)
    if len(y) != len(s):
        raise InvalidDataError(f"y has {len(y)} rows, but {name} has {len(s)}.")
    if len(y) == 0:
        raise InvalidDataError(f"y and {name} have no rows.")
    wrong = ~((y >= 0.0) & (y <= 1.0)) if shares else (y != 0.0) & (y != 1.0)
    if wrong.any():
        allowed = "in [0, 1]" if shares else "0 or 1"
        swapped = " Were y and the predictions swapped?" if np.isin(s, (0.0, 1.0)).all() else ""
        raise InvalidDataError(
            f"{int(wrong.sum())} of {len(y)} outcomes are not {allowed} (the first is {y[wrong][0]:g}).{swapped}"
        )
    if weights is None:
        return Sample(y, s, np.ones_like(y), *_clusters(groups, len(y)))
    weight = vector(weights, "weights")
    if len(weight) != len(y):
        raise InvalidDataError(f"weights has {len(weight)} rows, but y has {len(y)}.")
    if (weight < 0.0).any():
        raise InvalidDataError(f"{int((weight < 0.0).sum())} weights are negative (the smallest is {weight.min():g}).")
    used = weight > 0.0
    if not used.any():
        raise InvalidDataError(f"all {len(weight)} weights are zero.")
    clusters = _clusters(groups, len(y), used)
    return Sample(y, s, weight, *clusters) if used.all() else Sample(y[used], s[used], weight[used], *clusters)


def vector(values: ArrayLike, name: str, *, infinite: bool = False) -> NDArray:
    """Return finite numbers (or, on request, infinite ones) as a float vector, or say which are not."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidDataError(f"{name} must be numbers, got values such as {str(np.ravel(values)[0])!r}.") from None
    if array.ndim != 1:
        raise InvalidDataError(f"{name} must be one column of numbers, got an array of shape {array.shape}.")
    good = ~np.isnan(array) if infinite else np.isfinite(array)
    if not good.all():
        raise InvalidDataError(
            f"{name} has {int(np.isnan(array).sum())} missing and {int(np.isinf(array).sum())} infinite values among {len(array)} "
            f"(the first in row {int(np.argmin(good))}); leave these rows out of all of y, predictions and weights."
        )
    return array


def _clusters(
    groups: Clusters | None, n: int, used: NDArray | None = None
) -> tuple[NDArray | None, SampleUnits | None, SampleReplicates | None]:
    """Return the cluster of each row by number, the survey design whose units they are, and replicates of the weights; None for what there is not."""
    if isinstance(groups, SampleReplicates):
        if len(groups.weights) != n:
            raise InvalidDataError(f"there are {n} rows, but replicate weights of {len(groups.weights)}.")
        return None, None, groups if used is None else groups.taken(np.flatnonzero(used))
    if not isinstance(groups, SampleUnits):
        return checked_groups(groups, n, used), None, None
    units = groups if used is None else groups.taken(np.flatnonzero(used))
    return units.grouping.codes, units, None


def checked_groups(groups: ArrayLike | None, n: int, used: NDArray | None = None) -> NDArray | None:
    """Return the cluster of each row by number, of the rows used only if they are given; None where rows are independent."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise InvalidDataError(f"groups has shape {labels.shape}, but there are {n} rows; give the cluster of each.")
    missing = int(pd.isna(labels).sum())
    if missing:
        raise InvalidDataError(
            f"groups are missing in {missing} of {n} rows; leave these rows out, or give them a cluster."
        )
    codes, distinct = numbered(labels if used is None else labels[used])
    if len(distinct) < 2:
        raise InvalidDataError("all rows are in one cluster; intervals and resamples need at least two.")
    return codes
