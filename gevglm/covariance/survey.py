"""Covariances of survey designs: strata, units and finite populations, or replicate weights."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.covariance.base import Covariance, Fitted, GroupScores, GroupsSeen
from gevglm.covariance.degrees import Given
from gevglm.engine.base import Block, MappedEngine
from gevglm.engine.cholesky import inverse, symmetrised
from gevglm.engine.linalg import dense
from gevglm.estimation.estimate import Problem
from gevglm.exceptions import InvalidDataError

if TYPE_CHECKING:
    from gevglm.data.survey import SampleReplicates, SampleUnits

NAME = "survey"
CLOSE = 1e-9  # tolerance of refits, which standard errors are made of


def survey_covariance(sample: SampleUnits | SampleReplicates) -> Covariance:
    """Return the covariance of a sample."""
    return Replicated(sample) if hasattr(sample, "factors") else Stratified(sample)  # type: ignore[arg-type]


def design_variance(sample: SampleUnits, totals: NDArray) -> NDArray:
    r"""Return the variance of a sum, from its totals over units, one row for each of the units of the table.

    With the share f of the units of a stratum that was drawn, it is
    :math:`\sum_h (1 - f_h) \frac{n_h}{n_h - 1} \sum_j (t_{hj} - \bar t_h)(t_{hj} - \bar t_h)'`.
    """
    sizes = sample.sizes.astype(float)
    sums = [np.bincount(sample.strata, column, minlength=len(sizes)) for column in totals.T]
    means = np.transpose(sums) / sizes[:, None]
    alone = sizes == 1.0
    if sample.lonely == "adjust":
        means[alone] = 0.0  # the sum over all units is zero
    with np.errstate(divide="ignore"):
        factors = (1.0 - sample.fractions) * np.where(alone, 1.0, sizes / (sizes - 1.0))
    deviations = (totals - means[sample.strata]) * np.sqrt(factors[sample.strata])[:, None]
    variance = deviations.T @ deviations
    missing = int((alone & (sample.fractions < 1.0)).sum())
    if sample.lonely == "average" and missing:
        variance *= len(sizes) / (len(sizes) - missing)
    return variance


class Stratified(Covariance):
    """The linearised covariance of a sample of units in strata."""

    name = NAME

    def __init__(self, sample: SampleUnits):
        self.sample = sample
        strata, units = len(sample.fractions), sample.n_units
        finite = ", finite populations" if sample.finite else ""
        self.description = f"Standard errors are those of the survey design ({strata:,} strat{'um' if strata == 1 else 'a'}, {units:,} units{finite}), linearised."

    def meat(self, fit: Fitted) -> NDArray:
        grouping = self.sample.grouping
        engine = fit.engine.with_groups(grouping)
        if self._seen(fit).sum() < 2:
            raise InvalidDataError(
                "all rows with weight are in one unit of the survey, so that nothing can be told of the variance between units: look at a larger domain, or leave design out."
            )
        scores = engine.reduce(GroupScores(fit.loss, fit.params, grouping.of_block, self.sample.n_units))
        return design_variance(self.sample, dense(scores))

    def _seen(self, fit: Fitted) -> NDArray:
        """Return which units have rows in the fit."""
        grouping = self.sample.grouping
        return fit.engine.with_groups(grouping).reduce(GroupsSeen(grouping.of_block, self.sample.n_units))

    def design_degrees(self, fit: Fitted) -> Given:
        """Return units minus strata, both with rows in the fit, plus one minus the coefficients, as svyglm has them."""
        return _given(self.sample.df(self._seen(fit)), fit.rank)


class Replicated(Covariance):
    """The covariance by replicate weights: the fit is made again with each."""

    name = NAME
    defined_for_shape = False

    def __init__(self, sample: SampleReplicates):
        self.sample = sample
        number = sample.weights.shape[1]
        self.description = f"Standard errors are those of {number:,} fits with replicate weights ({sample.kind})."

    def matrix(self, fit: Fitted) -> NDArray:
        return self.sample.variance(self.estimates(fit), fit.params)

    def meat(self, fit: Fitted) -> NDArray:
        information = inverse(fit.bread)
        return symmetrised(information @ self.matrix(fit) @ information)

    def estimates(self, fit: Fitted) -> NDArray:
        """Return the estimates with each replicate of the weights, one row each."""
        found = []
        for r, weights in enumerate(self.sample.weights.T):

            def reweighted(block: Block, weights: NDArray = weights) -> Block:
                return replace(block, var=weights[block.rows])

            engine = MappedEngine(fit.engine, reweighted, fit.engine.n_cols)
            again = Problem(engine, fit.loss, start=fit.params, tol=CLOSE).estimate()
            if not again.converged:
                raise InvalidDataError(f"the fit with replicate weights {r + 1} has not converged: {again.reason}.")
            found.append(again.params)
        return np.array(found)

    def design_degrees(self, fit: Fitted) -> Given:
        """Return the rank of the replicate weights minus one, plus one minus the coefficients, as svyglm has them."""
        return _given(self.sample.df, fit.rank)


def influence_variance(sample: SampleReplicates, ratios: NDArray) -> NDArray:
    """Return the variance of averages, from their changes with each replicate of the weights, linearised; one row each."""
    return sample.variance(ratios, np.zeros(ratios.shape[1]))


def _given(df: int, rank: int) -> Given:
    left = df + 1 - rank
    if left < 1:
        note = f"The design has {df} degrees of freedom for {rank} coefficients: there is no t test of them; use fewer."
        return Given(np.nan, note)
    return Given(
        float(left),
        f"t and F tests with {left} degrees of freedom: {df} of the design, plus 1, minus {rank} coefficients.",
    )
