r"""Median bias reduction with a constant for each group: the third powers of rows, summed without the inverse of an arrow.

For weights :math:`\kappa` of rows, and :math:`s_g = S^{-1} \bar z_g`, the sums :math:`\sum_i \kappa_i (H^{-1} z_i)_j^3` are those of
:math:`S^{-1} (z_i - \bar z_g)` for the slopes, and for the constant of group g

.. math:: -\sum_i \kappa_i (s_g'\tilde z_i)^3 + \sum_{i \in g} \kappa_i \left[ \frac{1}{D_g^3} - \frac{3 s_g'\tilde z_i}{D_g^2} + \frac{3 (s_g'\tilde z_i)^2}{D_g} \right],

of which the first term is a form of third degree in :math:`s_g`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gevglm.engine.base import ArraySum, Block
from gevglm.engine.grouped import Groups
from gevglm.engine.memory import MemoryEngine
from gevglm.estimation.arrow import Arrow, BlockColumns
from gevglm.estimation.arrow_sums import linear_predictor
from gevglm.links.base import Point
from gevglm.losses import Loss


def median_direction(
    engine: MemoryEngine,
    groups: Groups,
    loss: Loss,
    params: NDArray,
    arrow: Arrow,
    centres: NDArray,
    cubes: Callable[[Loss, Block, Point], NDArray],
) -> NDArray:
    """Return u, of which H u is added to the score: sums of third powers over variances; of shape (G + p,).

    `centres`, of shape (k, G), are what was taken off the columns: medians are those of the constants of columns as they were.
    """
    inverse, D, m = arrow.inverse, arrow.diagonal, groups.n_levels
    means = arrow.upper.copy()
    means[m:] += centres
    pulled = inverse @ means  # s_g
    variances = 1.0 / D + (pulled * means).sum(axis=0)
    own = np.zeros(len(D))

    def weights(block: Block) -> tuple[BlockColumns, NDArray]:
        rows = BlockColumns(groups, block)
        return rows, cubes(loss, block, loss.link.at(linear_predictor(rows, block, params)))

    def add_own(rows: BlockColumns, kappa: NDArray, t: NDArray) -> None:
        per = 1.0 / rows.at_rows(D[rows.groups])
        own[rows.groups] = rows.sums(kappa * per * (per**2 - 3.0 * t * per + 3.0 * t**2))

    def add_form(block: Block) -> NDArray:
        rows, kappa = weights(block)
        centred = rows.centred(arrow.upper)
        add_own(rows, kappa, np.einsum("ij,ji->i", centred, rows.at_rows(pulled[:, rows.groups])))
        pairs = (centred[:, :, None] * centred[:, None, :]).reshape(len(centred), -1)
        return (centred.T * kappa) @ pairs

    def add_each(block: Block) -> NDArray:
        rows, kappa = weights(block)
        t = _centred_times(rows, arrow.upper, pulled)
        add_own(rows, kappa, t[np.arange(len(t)), rows.codes + rows.groups.start])
        return kappa @ np.hstack([t, _centred_times(rows, arrow.upper, inverse)]) ** 3

    if m:  # a form in as many columns as the second factor has levels would be larger than the third powers one by one
        cubed, of_others = np.split(engine.reduce(ArraySum(add_each)), [len(D)])
    else:
        k = len(inverse)
        third = engine.reduce(ArraySum(add_form)).reshape(k, k, k)
        of_others = np.array([np.einsum("abc,a,b,c", third, row, row, row) for row in inverse])
        cubed = np.einsum("ag,bg,cg,abc->g", pulled, pulled, pulled, third, optimize=True)
    others = of_others / np.diagonal(inverse)
    return np.concatenate([(own - cubed) / variances + others[m:] @ centres, others])


def _centred_times(rows: BlockColumns, means: NDArray, matrix: NDArray) -> NDArray:
    """Return the columns minus their means, times a matrix of shape (p, q); of shape (n, q)."""
    m = rows.n_levels
    found = rows.X @ matrix[m:] - (means[:, rows.groups].T @ matrix)[rows.codes]
    return found if rows.levels is None else found + np.vstack([matrix[:m], np.zeros(matrix.shape[1])])[rows.levels]
