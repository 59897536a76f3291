"""The training rows as the weighting algorithms see them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gevglm.exceptions import InvalidOptionError
from gevglm.sklearn.inputs import row_weights


@dataclass(frozen=True)
class RareClassSample:
    """Which rows are of the rare class, and how many observations each stands for."""

    labels: tuple[Any, Any]  # of the main and of the rare class
    rare: NDArray
    weight: NDArray  # observations each row stands for
    weighted: bool  # whether these were given

    @cached_property
    def sizes(self) -> tuple[float, float]:
        r"""Observations of the main and of the rare class, :math:`N^-` and :math:`N^+`."""
        return float(self.weight[~self.rare].sum()), float(self.weight[self.rare].sum())

    def by_class(self, main: float, rare: float) -> NDArray:
        """Return a number for each row: that of its class."""
        return np.where(self.rare, rare, main)

    def sums(self, values: NDArray) -> tuple[float, float]:
        """Return the sums over the main and over the rare class."""
        return float(values[~self.rare].sum()), float(values[self.rare].sum())

    def class_weights(self, weights: NDArray) -> tuple[float, float]:
        """Return the mean weight of an observation of the main and of the rare class."""
        totals = self.sums(weights)
        return totals[0] / self.sizes[0], totals[1] / self.sizes[1]


def make_sample(
    X: ArrayLike, y: NDArray, classes: NDArray, rare: Any, sample_weight: ArrayLike | None
) -> RareClassSample:
    """Return the sample; the rare class is the one named, else the less frequent one, else the second."""
    weights = row_weights(sample_weight, X, y)
    weight = np.ones(len(y)) if weights is None else weights
    labels = classes.tolist()
    if rare is None:
        first, second = (weight[y == label].sum() for label in classes)
        rare = labels[0] if first < second else labels[1]
    elif rare not in labels:
        raise InvalidOptionError(f"rare={rare!r} is not a label; the labels are {labels}.")
    main = labels[0] if rare == labels[1] else labels[1]
    return RareClassSample((main, rare), y == rare, weight, weights is not None)
