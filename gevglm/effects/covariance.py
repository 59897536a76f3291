r"""Uncertainty of standardised risks beside the delta method: rows that are a sample, and the bootstrap of the whole procedure.

With :math:`\psi_i` the score of an observation, :math:`A^{-1}` the bread of the covariance of the coefficients, and R, G as in
:mod:`gevglm.effects.standardised`, its influence on a risk that is averaged over a sample of n observations is

.. math:: \frac{F(x_i(a)'b) - R_a}{n} + G_a A^{-1} \psi_i .
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gevglm.data.observations import Part
from gevglm.data.row_weights import RowWeights
from gevglm.effects.standardised import Averages
from gevglm.engine.linalg import group_sums
from gevglm.engine.monitor import progress_bar
from gevglm.exceptions import GevglmError, GevglmWarning, InvalidOptionError, warn


def sampled_covariance(
    found: Averages, of_params: NDArray, risks: Sequence[NDArray], averaged: NDArray, weights: RowWeights
) -> NDArray:
    """Return the covariance of risks averaged over a sample: the sum over observations, or clusters, of squared influences.

    `of_params`, of shape (n, k), is the influence of one observation of each row on the coefficients; `risks` are those of each row, design
    by design; `averaged`, of shape (g, n), the weights of the rows in the average of each group.
    """
    size = weights.observations
    influence = np.dot(of_params, found.gradient.T)
    share = averaged / size / averaged.sum(axis=1, keepdims=True)
    for column, (part, risk) in enumerate(product(share, risks)):
        influence[:, column] += part * (risk - found.risks[column])
    if weights.clusters is None:
        return (influence * size[:, None]).T @ influence
    codes, total = weights.clusters.codes, np.zeros((found.risks.size, found.risks.size))
    assert codes is not None  # the rows are in memory
    for sign, cluster_of in weights.clusters.ways:
        _, sums = group_sums(influence, size, cluster_of[codes])
        total += sign * np.dot(np.transpose(sums), sums)
    return total


def bootstrap_risks(
    risks_of: Callable[[Part], NDArray], y: NDArray, weights: RowWeights, draws: int, rng: Any, progress: bool
) -> NDArray:
    """Return the risks by refits to resamples of the observations (of the clusters, if there are), one row per resample."""
    risks, failures = [], []
    for generator in progress_bar(np.random.default_rng(rng).spawn(int(draws)), int(draws), progress):
        try:
            risks.append(risks_of(weights.draw(y, generator).need_both_outcomes()))
        except GevglmError as error:
            failures.append(error)
    if failures:
        message = f"{len(failures)} of {draws} refits failed and are left out; the first because {failures[0]}"
        if len(risks) < 2:
            raise GevglmError(message)
        warn(message, GevglmWarning)
    return np.array(risks)


def check_draws(draws: int) -> None:
    """Refuse a number of resamples that has no standard deviation."""
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 2:
        raise InvalidOptionError(f"draws={draws!r} must be a whole number of at least 2.")
