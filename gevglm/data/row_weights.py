"""RowWeights: how many observations a row is, how much it stands for in the population, which cluster it is in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gevglm.data.grouping import Grouping
from gevglm.data.observations import Part, drawn, one_way
from gevglm.engine.base import Block, product

if TYPE_CHECKING:
    import pandas as pd

    from gevglm.data.design import Design


@dataclass(frozen=True)
class RowWeights:
    """What each row stands for. Everything that averages, holds out or draws rows after a fit asks here."""

    n_rows: int
    # frequency weights, variance weights and number of trials; None for ones
    freq: NDArray | None = None
    var: NDArray | None = None
    trials: NDArray | None = None
    # what makes an observation of a sample drawn by the outcome represent the population; None for ones
    population: NDArray | None = None
    groups: pd.DataFrame | None = None  # cluster of each row, for cluster-robust fits: one column or two
    # variance times sampling weights, as the user gave them: how much an observation counts in averages; None for ones
    represents: NDArray | None = None
    strata: NDArray | None = None  # of a survey, in which rows or their clusters were drawn

    @classmethod
    def of(
        cls, rows: Design | Block, population: NDArray | None = None, groups: pd.DataFrame | None = None
    ) -> RowWeights:
        """Return the weights of the rows of a design or a block."""
        return cls(len(rows.y), rows.freq, rows.var, rows.trials, population, groups, rows.represents)

    @property
    def counts(self) -> NDArray | None:
        """Observations behind each row, by frequency weight and trials; None where each row is one."""
        return product(self.freq, self.trials)

    @property
    def observations(self) -> NDArray:
        """Observations behind each row, as numbers."""
        return self._numbers(self.counts)

    @property
    def population_weights(self) -> NDArray | None:
        """How much each row counts in averages over the population; None for ones."""
        return product(self.counts, self.represents, self.population)

    @property
    def in_population(self) -> NDArray:
        """:attr:`population_weights`, as numbers."""
        return self._numbers(self.population_weights)

    @property
    def effective_counts(self) -> NDArray | None:
        r"""Observations behind each row, for what takes weights for numbers of them; None where each row is one.

        Rows with variance or sampling weights :math:`r_i` and :math:`c_i` observations each have :math:`c_i r_i`, scaled to add up to
        Kish's effective size :math:`(\sum c_i r_i)^2 / \sum c_i r_i^2`.
        """
        if self.represents is None:
            return self.counts
        weights = self.in_sample
        return weights * (weights.sum() / self.sum_of_squares)

    @property
    def in_sample(self) -> NDArray:
        """How much each row counts by the weights of the user, whatever its outcome."""
        return self._numbers(product(self.counts, self.represents))

    @property
    def sum_of_squares(self) -> float:
        """The sum over observations of the squared weights of the user; that of ones, where there are none, is 0."""
        return 0.0 if self.represents is None else float(self.in_sample @ self.represents)

    @property
    def in_loss(self) -> NDArray:
        """The weight of each row in the loss that the fit minimises: the product of all three weights."""
        return self._numbers(product(self.freq, self.var, self.trials))

    @cached_property
    def clusters(self) -> Grouping | None:
        """The clusters of the rows; None where rows are independent."""
        return None if self.groups is None else Grouping.of(self.groups)

    def draw(self, y: NDArray, generator: np.random.Generator) -> Part:
        """Draw as many observations as there are, with replacement; as many whole clusters, where rows are in clusters.

        Those of a survey are drawn by its strata (:func:`gevglm.data.observations.times_within`).
        `y` are the outcomes of the rows, or their shares of events.
        """
        counts, clusters = self.observations, None if self.clusters is None else one_way(self.clusters)
        events = counts * y if clusters is not None else np.rint(counts * y)
        return drawn(events, counts - events, clusters, generator, self.strata)

    def _numbers(self, weights: NDArray | None) -> NDArray:
        return np.ones(self.n_rows) if weights is None else np.asarray(weights, dtype=float)
