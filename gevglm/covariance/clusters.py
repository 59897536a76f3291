"""Cluster-robust covariances, in one way or in two."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.covariance.base import Covariance, Fitted, GroupScores, GroupsSeen
from gevglm.covariance.cluster_facts import ClusterFacts, cluster_facts
from gevglm.covariance.degrees import Degrees, Given, Satterthwaite
from gevglm.covariance.leverage import Corrected, SingularCluster, corrected
from gevglm.covariance.leverage_within import CorrectedWithin, corrected_within
from gevglm.engine.base import Block, Engine
from gevglm.engine.factored_matrix import products_of_scores
from gevglm.exceptions import (
    GevglmWarning,
    IncompatibleOptionsError,
    InvalidDataError,
    InvalidOptionError,
    unknown_option,
    warn,
)

if TYPE_CHECKING:
    from gevglm.data.grouping import Grouping

BY_LEVERAGE = ("CR2", "CR3")
CLUSTER_KINDS = ("CR0", "CR1", "CR1S", *BY_LEVERAGE)
MOST_PRODUCTS = 1 << 28  # numbers that degrees of freedom may keep of all clusters
ROUNDING = 1e-12  # of eigenvalues, as a share of the largest


class Cluster(Covariance):
    r"""One- or two-way cluster-robust sandwich.

    Parameters
    ----------
    grouping : Grouping
        Cluster of each row, in one way or in two.
    kind : {"CR1S", "CR1", "CR0", "CR2", "CR3"}
        The small-sample correction. For few clusters "CR2", which is unbiased under the model, or "CR3", the one-step jackknife, both by the
        leverages of the clusters and equal to those of R's clubSandwich (:mod:`gevglm.covariance.leverage`). For many clusters a factor, for G clusters, n observations and k coefficients: :math:`\frac{G}{G-1}\frac{n-1}{n-k}` (statsmodels;
        ``vcovCL(type = "HC1")`` of R's sandwich), :math:`\frac{G}{G-1}` (Stata's after maximum likelihood; ``vcovCL`` of a glm), or none
        (``robcov`` of rms; ``vcovCL(cadjust = FALSE)``).

    Notes
    -----
    Two-way: the sum over both clusterings minus that over their intersection, each with the factor of its own number of clusters. The
    difference need not be positive semi-definite; negative eigenvalues are set to zero then, with a warning (Cameron, Gelbach and Miller 2011;
    ``vcovCL(fix = TRUE)`` of sandwich).
    """

    name = "cluster"

    def __init__(self, grouping: Grouping, kind: str = "CR1S"):
        if kind not in CLUSTER_KINDS:
            raise unknown_option("kind", kind, CLUSTER_KINDS)
        self.grouping = grouping
        self.kind = kind
        self.defined_for_shape = kind not in BY_LEVERAGE
        self._known: tuple[NDArray, NDArray, Corrected | CorrectedWithin] | None = (
            None  # of the last fit, by its estimates and bread
        )
        self.repaired = False  # whether negative eigenvalues were set to zero in the last matrix
        self.counts = [int(code.max()) + 1 for sign, code in grouping.ways if sign > 0]
        if min(self.counts) < 2:
            way = self.counts.index(1)
            raise InvalidDataError(
                f"all rows are in one cluster ({grouping.keys.iloc[0, way]!r}); cluster-robust errors need at least two. Give the column that tells "
                "clusters apart, or another cov_type."
            )
        if kind in BY_LEVERAGE and len(self.counts) > 1:
            raise IncompatibleOptionsError(
                f"kind={kind!r} is defined for clusters in one way, but groups has two columns; use kind='CR1' or one column."
            )

    @property
    def description(self) -> str:  # type: ignore[override]
        """What the covariance is, in a sentence."""
        clusters = " and ".join(f"{count} clusters" for count in self.counts)
        repaired = " Negative eigenvalues of the two-way covariance were set to zero." if self.repaired else ""
        kind = "" if self.kind == "CR1S" else f"; {self.kind}"
        nested = len(self.counts) > 1 and len(self.grouping.keys) == max(self.counts)
        within = " Those of one kind lie within those of the other, and change nothing." if nested else ""
        return f"Standard errors are robust to clustering ({clusters}{kind}).{within}{repaired}"

    def finished(self, covariance: NDArray) -> NDArray:
        covariance = super().finished(covariance)
        if len(self.counts) == 1:
            return covariance
        covariance = np.asarray(covariance)
        values, vectors = np.linalg.eigh(covariance)
        self.repaired = bool(values[0] < -ROUNDING * values[-1])
        if not self.repaired:
            return covariance
        negative = int((np.diagonal(covariance) < 0).sum())
        warn(
            "the two-way cluster-robust covariance is not positive semi-definite"
            + (f" ({negative} of {len(covariance)} variances are negative)" if negative else "")
            + ": its negative eigenvalues were set to zero (Cameron, Gelbach and Miller 2011), which makes standard errors larger. "
            f"There are few clusters ({' and '.join(map(str, self.counts))}); compare with clusters in one way.",
            GevglmWarning,
        )
        return super().finished((vectors * np.maximum(values, 0.0)) @ vectors.T)

    def meat(self, fit: Fitted) -> NDArray:
        if self.kind in BY_LEVERAGE:
            if not fit.engine.in_memory:
                raise InvalidOptionError(
                    f"kind={self.kind!r} looks at all rows of a cluster at once and needs them in memory; use kind='CR1'."
                )
            scores = self._corrected(fit).scores
            return scores.T @ scores
        engine = fit.engine.with_groups(self.grouping)
        parts = []
        for sign, code in self.grouping.ways:
            groups = partial(codes_of, self.grouping, code)
            scores = engine.reduce(GroupScores(fit.loss, fit.params, groups, int(code.max()) + 1))
            parts.append((sign * self._factor(fit, engine, code), scores))
        return products_of_scores(parts, fit.bread)

    def weighted_ways(self, fit: Fitted) -> list[tuple[float, NDArray]]:
        """Return what the products of the scores of clusters are multiplied with, and the cluster of each row in memory, for each way."""
        rows = self.grouping.codes
        assert rows is not None, "the rows are in memory"
        return [(sign * self._factor(fit, fit.engine, code), code[rows]) for sign, code in self.grouping.ways]

    def _factor(self, fit: Fitted, engine: Engine, code: NDArray) -> float:
        """Return the factor for few clusters."""
        if self.kind == "CR0":
            return 1.0
        used = self._used(engine, code)
        factor = used / (used - 1)
        return factor * (fit.nobs - 1) / (fit.nobs - fit.rank) if self.kind == "CR1S" else factor

    def _used(self, engine: Engine, code: NDArray) -> int:
        """Return how many clusters have a row with weight."""
        return int(engine.reduce(GroupsSeen(partial(codes_of, self.grouping, code), int(code.max()) + 1)).sum())

    def degrees(self, fit: Fitted) -> Given:
        """Return the clusters minus one, those of the kind that has fewer, as statsmodels, fixest and Stata's linear models have it."""
        engine = fit.engine.with_groups(self.grouping)
        used = min(self._used(engine, code) for sign, code in self.grouping.ways if sign > 0)
        return Given(float(used - 1), f"t and F tests with {used - 1:,} degrees of freedom: {used:,} clusters minus 1.")

    def clusters(self, fit: Fitted) -> ClusterFacts:
        """Return what a reader has to know of the clusters, the first kind where there are two."""
        (_, code), *_ = self.grouping.ways
        found = self._corrected(fit) if self.kind in BY_LEVERAGE else None
        shares = found.shares if isinstance(found, Corrected) else None
        fit = replace(fit, engine=fit.engine.with_groups(self.grouping))
        return cluster_facts(fit, partial(codes_of, self.grouping, code), self.counts[0], shares)

    def satterthwaite(self, fit: Fitted) -> Degrees:
        """Return Satterthwaite's degrees of freedom, for every kind of correction."""
        if len(self.counts) > 1:
            raise IncompatibleOptionsError(
                "use_t='satterthwaite' is defined for clusters in one way, but groups has two columns."
            )
        if not fit.engine.in_memory:
            raise InvalidOptionError(
                "use_t='satterthwaite' looks at all rows of a cluster at once and needs them in memory; use_t=True does not."
            )
        needed = self.counts[0] * (3 * len(fit.bread) ** 2 + (0 if fit.units is None else self.counts[0]))
        if needed > MOST_PRODUCTS:
            raise InvalidOptionError(
                f"use_t='satterthwaite' is for few clusters; for {self.counts[0]:,} clusters it would take {8e-9 * needed:.0f} GB and change nothing. Leave it out."
            )
        found = self._corrected(fit, with_products=True)
        if isinstance(found, Corrected):
            return Satterthwaite.of(found)
        assert found.degrees is not None
        return found.degrees

    def _corrected(self, fit: Fitted, with_products: bool = False) -> Corrected | CorrectedWithin:
        if self._known is not None:
            params, bread, found = self._known
            known = params is fit.params and bread is fit.bread
            if known and (found.has_products or not with_products):
                return found
        ((_, code),) = self.grouping.ways
        correct = corrected if fit.units is None else corrected_within
        try:
            found = correct(fit, partial(codes_of, self.grouping, code), self.kind, with_products)
        except SingularCluster as singular:
            name = self.grouping.keys.iloc[singular.args[0], 0]
            raise InvalidDataError(
                f"kind='CR3' is not defined: without cluster {name!r} some coefficient could not be estimated (a column varies in that cluster "
                "only, such as its indicator or a treatment it alone has). Leave the column out, or use kind='CR2'."
            ) from None
        self._known = fit.params, fit.bread, found
        return found


def codes_of(grouping: Grouping, code: NDArray, block: Block) -> NDArray:
    """Return the cluster of each row of a block."""
    return code[grouping.of_block(block)]
