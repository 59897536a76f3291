r"""Few clusters beside absorbed constants: :mod:`gevglm.covariance.leverage` with the indicators of units among the columns.

With columns minus their means in each unit, weighted by the curvature, the bread is block-diagonal: :math:`1/D_u` for units, M for the others. A cluster needs
the indicators of its own units only. A unit that lies in one cluster has a constant that is not estimated without that cluster; CR3, which leaves
the cluster out, then leaves it out too, and is the one-step jackknife of the slopes. Its residuals add up to zero under the model; after bias reduction, where
they do not, they are those one scoring step of the constant away, with which the score of the slopes is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.sparse import csr_array

from gevglm.covariance.base import Fitted
from gevglm.covariance.degrees_within import Products, SatterthwaiteWithin
from gevglm.covariance.leverage import Clusters, OfCluster, SingularCluster, correction_of
from gevglm.engine.base import Block
from gevglm.engine.linalg import dense


@dataclass(frozen=True)
class CorrectedWithin:
    """Clusters with corrected residuals: one entry for each."""

    scores: NDArray  # of the columns that are not indicators of units; of shape (clusters, q)
    degrees: SatterthwaiteWithin | None  # where they were asked for

    @property
    def has_products(self) -> bool:
        """Whether degrees of freedom were asked for."""
        return self.degrees is not None


@dataclass(frozen=True)
class _Constants:
    """The parts of bread and variance that indicators of units have."""

    counts: NDArray  # rows of each unit
    of_units: NDArray  # the bread 1/D; of shape (units,)
    M: NDArray  # that of the other columns
    # N: of the units, of both, of shape (units, q), and of the others
    N: tuple[NDArray, NDArray, NDArray]
    likelihood: bool

    @classmethod
    def of(cls, rows: OfCluster, unit: NDArray, fit: Fitted, n_units: int) -> _Constants:
        """Sum up over the rows."""
        X, M = rows.X, fit.bread
        D = np.bincount(unit, rows.derivative * rows.weight, n_units)
        with np.errstate(divide="ignore"):
            inverse = np.where(D > 0.0, 1.0 / D, 0.0)
        counts = np.bincount(unit, minlength=n_units)
        if fit.loss.is_likelihood:
            return cls(counts, inverse, M, (inverse, np.zeros((n_units, len(M))), M), True)
        m = rows.weight**2 * rows.variance
        crossed = np.column_stack([np.bincount(unit, m * column, n_units) for column in X.T])
        spread = M @ (X.T @ (m[:, None] * X)) @ M
        N = (np.bincount(unit, m, n_units) * inverse**2, inverse[:, None] * (crossed @ M), spread)
        return cls(counts, inverse, M, N, False)

    def around(self, units: NDArray) -> tuple[NDArray, NDArray]:
        """Return bread and variance of the indicators of some units and of the other columns."""
        of_units, crossed, spread = self.N
        M = block_diag(np.diag(self.of_units[units]), self.M)
        if self.likelihood:
            return M, M
        return M, np.block([[np.diag(of_units[units]), crossed[units]], [crossed[units].T, spread]])


def corrected_within(
    fit: Fitted, codes: Callable[[Block], NDArray], kind: str, with_products: bool = False
) -> CorrectedWithin:
    """Return the clusters with residuals as CR2 and CR3 correct them, as they are for other kinds.

    Raises SingularCluster with the code of a cluster that has no correction.
    """
    assert fit.units is not None, "columns are free of constants"
    units, n_units = fit.units, int(fit.units.max()) + 1
    cells = Clusters(fit.loss, fit.params, lambda block: codes(block).astype(np.int64) * n_units + units[block.rows])
    found = fit.engine.reduce(cells)  # a cell is the rows of a unit in a cluster
    parts = [part for code in sorted(found) for part in found[code]]
    rows, cell = OfCluster.joined(parts), np.repeat([p.code for p in parts], [len(p.residual) for p in parts])
    constants = _Constants.of(rows, cell % n_units, fit, n_units)
    q, scores, products = len(fit.bread), [], []
    for cluster, there, inside in _clusters(rows, *np.divmod(cell, n_units)):
        complete = inside == constants.counts[there]
        if complete.any():
            cluster = _without_sums(cluster, cluster.X[:, : len(there)] * complete)
        complete &= kind == "CR3"
        M, N = constants.around(there[~complete])
        used = replace(cluster, X=np.delete(cluster.X, np.flatnonzero(complete), axis=1)) if complete.any() else cluster
        correction = correction_of(kind, M, N, constants.likelihood)
        try:
            if with_products:
                adjusted = correction.of_columns(used)[:, -q:]
                spread = cluster.variance[:, None] * adjusted
                scores.append(cluster.residual @ adjusted)
                products.append((there, adjusted.T @ spread[:, -q:], adjusted.T @ cluster.D, spread.T @ cluster.E))
            else:
                scores.append(correction.score(used)[-q:])
        except np.linalg.LinAlgError:
            raise SingularCluster(cluster.code) from None
    return CorrectedWithin(np.array(scores), _degrees(products, constants) if with_products else None)


def _clusters(rows: OfCluster, cluster: NDArray, unit: NDArray) -> Iterator[tuple[OfCluster, NDArray, NDArray]]:
    """Yield each cluster, with indicators of its units before the other columns, the units, and how many rows of theirs it has."""
    order = np.argsort(cluster, kind="stable")
    cluster, unit = cluster[order], unit[order]
    starts = np.flatnonzero(np.diff(cluster, prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        chosen = order[start:end]
        there, place, counts = np.unique(unit[start:end], return_inverse=True, return_counts=True)
        X = np.hstack([np.eye(len(there))[place], dense(rows.X)[chosen]])
        yield rows.taken(int(cluster[start]), chosen, X), there, counts


def _without_sums(cluster: OfCluster, units: NDArray) -> OfCluster:
    """Return a cluster whose residuals have no weighted sum over units, given by their indicators, after a step of their constants."""
    step = (
        (cluster.weight * cluster.residual) @ units / np.maximum((cluster.weight * cluster.derivative) @ units, 1e-300)
    )
    return replace(cluster, residual=cluster.residual - cluster.derivative * (units @ step))


def _degrees(products: list, constants: _Constants) -> SatterthwaiteWithin:
    there, own, of_T, of_R = zip(*products, strict=True)
    shape = len(own), len(constants.counts)
    places = np.repeat(np.arange(len(own)), [len(one) for one in there]), np.concatenate(there)

    def stacked(sides: tuple[NDArray, ...]) -> Products:
        pairs = list(zip(sides, there, strict=True))
        values = np.concatenate([side[:, : len(units)] for side, units in pairs], axis=1)
        of_units = [csr_array((row, places), shape) for row in values]
        return Products(of_units, np.array([side[:, len(units) :] for side, units in pairs]))

    T, R = stacked(of_T), stacked(of_R)
    return SatterthwaiteWithin(np.array(own), T, R, constants.of_units, constants.M, constants.N)
